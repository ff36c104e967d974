//! Puts and read-modify-writes that the hardware of their target refuses, on the Verilated machine: their callbacks
//! and the fence behind them end and say so, and the peers beside them notice nothing (FN-1, X-5).

use std::cell::RefCell;
use std::rc::Rc;

use gyre::job::{Job, Process};
use gyre::placement::Placement;
use gyre::platform::SimPlatform;
use gyre_driver::{
    Arrival, BufferRange, Client, Context, CostTable, DoneFn, Error, Fence, MemoryRegion, Receive,
    RegionRights, RemoteRegion, Rmw, RmwOp, RmwWidth, Rput, SendImmediate, TaskId,
};
use gyre_sim::{MachineConfig, Until};

const END: u8 = 1;
/// Puts of the culprit that nobody but a fence tells of.
const PLAIN: usize = 20;

type Noted = Vec<(&'static str, Result<(), Error>)>;

/// A task and what it has of the others.
struct Task {
    context: Context<SimPlatform>,
    region: MemoryRegion<SimPlatform>,
    /// Revoked.
    gone: RemoteRegion,
    ends: Rc<RefCell<u32>>,
    noted: Rc<RefCell<Noted>>,
}

impl Task {
    fn open(process: Process) -> Result<Rc<Self>, Error> {
        let client = Client::create(&process.platform, process.client("refused"))?;
        let context = client.create_context(0)?;
        let region = || {
            let memory = BufferRange::zeroed(&process.platform, 64)?;
            client.create_region(&memory, RegionRights::ALL)
        };
        let dead = region()?;
        let gone = dead.remote();
        let region = region()?;
        dead.destroy()?;
        let ends = Rc::new(RefCell::new(0));
        let count = Rc::clone(&ends);
        let end = move |_: &Context<SimPlatform>, _: &Arrival<'_>| {
            *count.borrow_mut() += 1;
            Receive::Consumed
        };
        context.set_dispatch(END, Box::new(end))?;
        Ok(Rc::new(Self {
            context,
            region,
            gone,
            ends,
            noted: Rc::default(),
        }))
    }

    fn note(&self, what: &'static str) -> Option<DoneFn<SimPlatform>> {
        let noted = Rc::clone(&self.noted);
        Some(Box::new(move |_, result| {
            noted.borrow_mut().push((what, result))
        }))
    }

    fn put(&self, region: RemoteRegion, what: Option<&'static str>) -> Result<(), Error> {
        self.context.rput(Rput {
            destination: self.context.endpoint(TaskId(0), 0)?,
            data: BufferRange::zeroed(self.context.platform(), 8)?,
            region,
            offset: 8,
            local_done: None,
            remote_done: what.and_then(|what| self.note(what)),
        })
    }

    fn add(&self, region: RemoteRegion, fetch: bool, what: &'static str) -> Result<(), Error> {
        let result = fetch.then(|| BufferRange::zeroed(self.context.platform(), 8));
        self.context.rmw(Rmw {
            destination: self.context.endpoint(TaskId(0), 0)?,
            region,
            offset: 0,
            op: RmwOp::Add,
            width: RmwWidth::Eight,
            value: 1,
            test: None,
            result: result.transpose()?,
            done: self.note(what),
        })
    }

    fn fence(&self, what: &'static str) -> Result<(), Error> {
        let destination = self.context.endpoint(TaskId(0), 0)?;
        let done = self.note(what);
        self.context.fence(Fence { destination, done })
    }

    /// What is refused stands between what is not, and nobody waits.
    fn culprit(&self, target: &Self) -> Result<(), Error> {
        let (region, gone) = (target.region.remote(), target.gone);
        self.put(region, Some("a put"))?;
        self.put(gone, Some("b refused put"))?;
        self.put(region, Some("c put"))?;
        self.fence("d fence")?;
        self.put(region, Some("e put"))?;
        self.fence("f fence")?;
        for _ in 0..PLAIN {
            self.put(gone, None)?;
        }
        self.fence("g fence")?;
        for fetch in [false, true] {
            self.add(region, fetch, "h added")?;
            self.add(gone, fetch, "i refused add")?;
        }
        self.add(region, true, "j added")?;
        self.fence("k fence")
    }

    fn innocent(&self, target: &Self) -> Result<(), Error> {
        for _ in 0..8 {
            self.put(target.region.remote(), Some("put"))?;
            self.add(target.region.remote(), false, "added")?;
            self.fence("fence")?;
        }
        Ok(())
    }

    fn run(&self, target: &Self) -> Result<Noted, Error> {
        let context = &self.context;
        match context.task() {
            TaskId(0) => {}
            TaskId(1) => self.culprit(target)?,
            _ => self.innocent(target)?,
        }
        context.advance_until(|| context.is_at_rest())?;
        for task in 0..3 {
            let everybody = context.endpoint(TaskId(task), 0)?;
            context.send_immediate(&SendImmediate::new(everybody, END))?;
        }
        context.advance_until(|| *self.ends.borrow() == 3 && context.is_at_rest())?;
        let mut noted = self.noted.take();
        noted.sort_by_key(|(what, _)| *what);
        Ok(noted)
    }
}

#[test]
fn fn1_x5_what_a_node_refuses_is_told_to_who_asked_for_it_and_to_nobody_else() {
    let config = MachineConfig {
        dims: vec![3],
        ..MachineConfig::default()
    };
    let placement = Placement::new(3, &config.dims, None).expect("one a node");
    let mut job = Job::new(&config, &CostTable::default(), &placement, None).expect("a machine");
    let (tasks, _) = job
        .each("opens", Until::Done, Task::open)
        .expect("all open");
    let all = tasks.clone();
    let run = move |process: Process| all[process.task.0 as usize].run(&all[0]);
    let (noted, _) = job.each("runs", Until::Quiet, run).expect("all end");
    let puts = Err(Error::PutsRefused { peer: TaskId(0) });
    let rmw = Err(Error::RmwRefused { peer: TaskId(0) });
    let expected = [
        ("a put", Ok(())),
        ("b refused put", puts.clone()),
        ("c put", Ok(())),
        ("d fence", puts.clone()),
        ("e put", Ok(())),
        ("f fence", Ok(())),
        ("g fence", puts),
        ("h added", Ok(())),
        ("h added", Ok(())),
        ("i refused add", rmw.clone()),
        ("i refused add", rmw),
        ("j added", Ok(())),
        ("k fence", Ok(())),
    ];
    assert_eq!(noted[1], expected);
    assert_eq!(noted[2].len(), 24);
    assert!(noted[2].iter().all(|(_, result)| result.is_ok()));
    let mut word = [0; 8];
    tasks[0].region.range().read(0, &mut word).expect("inside");
    assert_eq!(u64::from_le_bytes(word), 3 + 8);
}
