// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets that the hardware refuses, on the Verilated machine: puts and read-modify-writes at their target, messages
//! and gets to a context that is not open, data of a get where it was asked for, and puts that memory does not take. Callbacks and the fence behind
//! them end and say so, and the peers beside them notice nothing (FN-1, X-5).

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre::job::{Job, Process};
use gyre::placement::Placement;
use gyre::platform::{NodeBuffer, SimPlatform};
use gyre_driver::{
    Arrival, BufferRange, Client, ClientConfig, Context, CostTable, DmaBuffer, DoneFn, Endpoint,
    Error, Fence, Get, MemoryRegion, Platform, Put, PutNotify, Receive, RegionRights,
    RemoteAddress, RemoteRegion, Rmw, RmwOp, RmwWidth, Routing, Rput, SendImmediate, SendMessage,
    TaskId,
};
use gyre_layout::ErrorReason;
use gyre_layout::registers::{base_slot, base_slot::ctrl, group_page, page};
use gyre_sim::{MachineConfig, Until};
use parking_lot::Mutex;

const END: u8 = 1;
const STORE: u8 = 2;
/// Bytes of a rendezvous.
const LONG: usize = 6000;
/// Puts of the culprit that only a fence reports.
const PLAIN: usize = 20;

type Noted = Vec<(&'static str, Result<(), Error>)>;

/// A task and what it has of the others.
struct Task {
    context: Context<SimPlatform>,
    region: MemoryRegion<SimPlatform>,
    /// Revoked.
    gone: RemoteRegion,
    /// A line of memory that may fail, and its address.
    line: (BufferRange<NodeBuffer>, u64),
    ends: Arc<AtomicCell<u32>>,
    noted: Arc<Mutex<Noted>>,
}

impl Task {
    fn open(process: Process) -> Result<Arc<Self>, Error> {
        let client = Client::create(
            &process.platform,
            ClientConfig {
                contexts: 2,
                ..process.client("refused")
            },
        )?;
        let context = client.create_context(0)?;
        let region = || {
            let memory = BufferRange::zeroed(&process.platform, 64)?;
            client.create_region(&memory, RegionRights::ALL)
        };
        let dead = region()?;
        let gone = dead.remote();
        let region = region()?;
        dead.destroy()?;
        let line = process.platform.alloc(64, 64)?;
        let address = line.address();
        let ends = Arc::new(AtomicCell::new(0_u32));
        let count = Arc::clone(&ends);
        let end = move |_: &Context<SimPlatform>, _: &Arrival<'_>| {
            count.fetch_add(1);
            Receive::Consumed
        };
        context.set_dispatch(END, Box::new(end))?;
        let platform = process.platform.clone();
        let store = move |_: &Context<SimPlatform>, arrival: &Arrival<'_>| match BufferRange::zeroed(
            &platform,
            arrival.length,
        ) {
            Ok(into) => Receive::Into { into, done: None },
            Err(error) => Receive::Refused(error.into()),
        };
        context.set_dispatch(STORE, Box::new(store))?;
        Ok(Arc::new(Self {
            context,
            region,
            gone,
            line: (BufferRange::whole(line), address),
            ends,
            noted: Arc::default(),
        }))
    }

    fn note(&self, what: &'static str) -> Option<DoneFn<SimPlatform>> {
        let noted = Arc::clone(&self.noted);
        Some(Box::new(move |_, result| noted.lock().push((what, result))))
    }

    fn put(&self, region: RemoteRegion, what: Option<&'static str>) -> Result<(), Error> {
        self.context.rput(Rput {
            destination: self.context.endpoint(TaskId(0), 0)?,
            data: BufferRange::zeroed(self.context.platform(), 8)?,
            region,
            offset: 8,
            notify: PutNotify::None,
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

    /// Sends refused packets between accepted ones, without waiting.
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
        match self.context.task() {
            TaskId(0) => {}
            TaskId(1) => self.culprit(target)?,
            _ => self.innocent(target)?,
        }
        self.end()
    }

    fn send(&self, to: Endpoint, length: usize, what: &'static str) -> Result<(), Error> {
        let data = BufferRange::zeroed(self.context.platform(), length)?;
        self.context.send(SendMessage {
            remote_done: self.note(what),
            ..SendMessage::new(to, STORE, data)
        })
    }

    fn get(
        &self,
        source: Endpoint,
        remote: RemoteAddress,
        what: &'static str,
    ) -> Result<(), Error> {
        let get = Get {
            source,
            remote,
            into: BufferRange::zeroed(self.context.platform(), 64)?,
            routing: Routing::Fixed,
            done: self.note(what),
        };
        self.context.get(get)
    }

    /// Every operation with a response, to a context that is not open.
    fn to_nobody(&self, target: &Self) -> Result<(), Error> {
        let context = &self.context;
        let nobody = context.endpoint(TaskId(0), 1)?;
        let range = target.region.range();
        let remote = range.remote_address().expect("a buffer");
        self.send(nobody, 64, "a eager")?;
        self.send(nobody, LONG, "b rendezvous")?;
        let put = Put {
            destination: nobody,
            data: BufferRange::zeroed(context.platform(), 8)?,
            remote,
            notify: PutNotify::None,
            local_done: None,
            remote_done: self.note("c put"),
        };
        context.put(put)?;
        self.get(nobody, remote, "d get")?;
        // One after the other, so that each is refused for itself.
        context.advance_until(|| context.is_at_rest())?;
        let (destination, done) = (nobody, self.note("e fence"));
        context.fence(Fence { destination, done })?;
        context.advance_until(|| context.is_at_rest())?;
        // Beside them.
        let somebody = context.endpoint(TaskId(0), 0)?;
        self.send(somebody, LONG, "f rendezvous")?;
        self.get(somebody, remote, "g get")?;
        self.fence("h fence")
    }

    /// Gets data that the own node may not write for a while.
    fn without_right(&self, target: &Self) -> Result<(), Error> {
        let context = &self.context;
        let source = context.endpoint(TaskId(0), 0)?;
        let remote = target.region.range().remote_address().expect("a buffer");
        let slot = self.region.range().remote_address().expect("a buffer").slot;
        let register = page(0) + group_page::slot(u64::from(slot)) + base_slot::CTRL;
        let rights = context.platform().read_reg(register)?;
        let fewer = ctrl::WRITE.set(rights, 0);
        context.platform().write_reg(register, fewer)?;
        self.get(source, remote, "a refused get")?;
        context.advance_until(|| context.is_at_rest())?;
        context.platform().write_reg(register, rights)?;
        self.get(source, remote, "b get")?;
        self.fence("c fence")
    }

    /// Puts to a line of memory that fails, and beside it.
    fn put_where_memory_fails(&self, target: &Self) -> Result<(), Error> {
        let context = &self.context;
        let region = target.region.remote();
        self.put(region, Some("a put"))?;
        for what in [Some("b lost put"), None] {
            let put = Put {
                destination: context.endpoint(TaskId(0), 0)?,
                data: BufferRange::zeroed(context.platform(), 8)?,
                remote: target.line.0.remote_address().expect("a buffer"),
                notify: PutNotify::None,
                local_done: None,
                remote_done: what.and_then(|what| self.note(what)),
            };
            context.put(put)?;
        }
        self.put(region, Some("c put"))?;
        self.fence("d fence")?;
        self.put(region, Some("e put"))?;
        self.fence("f fence")
    }

    /// Runs until all tasks have come to rest.
    fn end(&self) -> Result<Noted, Error> {
        let context = &self.context;
        context.advance_until(|| context.is_at_rest())?;
        for task in 0..3 {
            let everybody = context.endpoint(TaskId(task), 0)?;
            context.send_immediate(&SendImmediate::new(everybody, END))?;
        }
        context.advance_until(|| self.ends.load() == 3 && context.is_at_rest())?;
        let mut noted = std::mem::take(&mut *self.noted.lock());
        noted.sort_by_key(|(what, _)| *what);
        Ok(noted)
    }
}

/// Runs three tasks, each on a node of its own.
fn run(
    body: impl Fn(&Task, &Task) -> Result<Noted, Error> + Clone + 'static,
) -> (Vec<Arc<Task>>, Vec<Noted>) {
    run_after(|_, _| (), body)
}

/// The same after `prepare`.
fn run_after(
    prepare: impl FnOnce(&mut Job, &Task),
    body: impl Fn(&Task, &Task) -> Result<Noted, Error> + Clone + 'static,
) -> (Vec<Arc<Task>>, Vec<Noted>) {
    let config = MachineConfig {
        dims: vec![3],
        ..MachineConfig::default()
    };
    let placement = Placement::new(3, &config.dims, None).expect("one a node");
    let mut job = Job::new(&config, &CostTable::default(), &placement, None).expect("a machine");
    let (tasks, _) = job
        .each("opens", Until::Done, Task::open)
        .expect("all open");
    prepare(&mut job, &tasks[0]);
    let all = tasks.clone();
    let run = move |process: Process| body(&all[process.task.0 as usize], &all[0]);
    let (noted, _) = job.each("runs", Until::Quiet, run).expect("all end");
    (tasks, noted)
}

#[test]
fn ep3_x5_requests_to_a_context_that_is_not_open_fail() {
    let (_, noted) = run(|task, target| {
        match task.context.task() {
            TaskId(0) => {}
            TaskId(1) => task.to_nobody(target)?,
            _ => task.innocent(target)?,
        }
        task.end()
    });
    let messages = Err(Error::MessagesRefused {
        peer: TaskId(0),
        context: 1,
        reason: Ok(ErrorReason::PktRecFifo),
    });
    let get = Err(Error::RemoteRefused {
        peer: TaskId(0),
        reason: Ok(ErrorReason::PktInjFifo),
    });
    assert_eq!(noted[1].len(), 8);
    let (fence, others): (Noted, Noted) = noted[1]
        .clone()
        .into_iter()
        .partition(|(what, _)| *what == "e fence");
    // Its message and its get are refused: the first report gives the reason.
    assert!([&messages, &get].contains(&&fence[0].1), "{fence:?}");
    let expected = [
        ("a eager", messages.clone()),
        ("b rendezvous", messages.clone()),
        ("c put", messages),
        ("d get", get),
        ("f rendezvous", Ok(())),
        ("g get", Ok(())),
        ("h fence", Ok(())),
    ];
    assert_eq!(others, expected);
    assert!(noted[2].iter().all(|(_, result)| result.is_ok()));
}

#[test]
fn hw9_x5_get_data_refused_by_the_own_hardware_fails_the_get() {
    let (_, noted) = run(|task, target| {
        if task.context.task() == TaskId(1) {
            task.without_right(target)?;
        }
        task.end()
    });
    let expected = [
        (
            "a refused get",
            Err(Error::GetDataRefused { peer: TaskId(0) }),
        ),
        ("b get", Ok(())),
        ("c fence", Ok(())),
    ];
    assert_eq!(noted[1], expected);
}

#[test]
fn fn1_x5_puts_refused_by_memory_fail_at_origin_and_fence() {
    let fail = |job: &mut Job, target: &Task| {
        let line = target.line.1;
        let node = 0; // of task 0
        job.machine().fail_memory(node, line..line + 64);
    };
    let (_, noted) = run_after(fail, |task, target| {
        match task.context.task() {
            TaskId(0) => {}
            TaskId(1) => task.put_where_memory_fails(target)?,
            _ => task.innocent(target)?,
        }
        task.end()
    });
    let lost = Err(Error::PutsRefused { peer: TaskId(0) });
    let expected = [
        ("a put", Ok(())),
        ("b lost put", lost.clone()),
        ("c put", Ok(())),
        ("d fence", lost),
        ("e put", Ok(())),
        ("f fence", Ok(())),
    ];
    assert_eq!(noted[1], expected);
    assert!(noted[2].iter().all(|(_, result)| result.is_ok()));
}

#[test]
fn fn1_x5_a_refusal_is_reported_to_its_origin_alone() {
    let (tasks, noted) = run(Task::run);
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
