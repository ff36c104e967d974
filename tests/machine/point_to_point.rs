// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver's protocols on the Verilated machine: every task sends to, writes to, reads from and adds to
//! every other, on its own node too, and fences what it has done (EP-4, CT-4, FN-1, FN-6, FN-7, HW-1).

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre::job::{Job, Process};
use gyre::placement::Placement;
use gyre::platform::SimPlatform;
use gyre_driver::{
    Arrival, BufferRange, ByteCounter, Client, ClientConfig, CollnetChoice, CollnetRoutes, Context,
    CostTable, DeferredReceive, DoneFn, Fence, Instruction, MemoryRegion, Ordered, Platform,
    PutArrival, PutNotify, Receive, RegionRights, RemoteRegion, Resources, Rget, Rmw, RmwOp,
    RmwWidth, RoutePart, Routing, Rput, SameNode, SendImmediate, SendMessage, TaskId,
};
use gyre_sim::{MachineConfig, RunReport, Until};
use parking_lot::Mutex;

type Failure = Box<dyn Error>;
type Buffer = <SimPlatform as Platform>::Buffer;

const REGION: u8 = 1;
const DATA: u8 = 2;
const DONE: u8 = 3;
/// Bytes of a region that belong to one peer: what it writes, then what it reads.
const SHARE: usize = 8192;
/// Offset of a word of every region that all tasks add to; what task 0 writes ends before it.
const COMMON: u64 = 4000;
/// Lengths of the messages of a pair; those above 4096 go by rendezvous.
const LENGTHS: [usize; 5] = [600, 5000, 17, 20_000, 0];

fn bytes_of(from: u32, to: u32, what: usize, length: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (from as usize * 91 + to as usize * 17 + what * 7 + i * 13 + i / 256) as u8)
        .collect()
}

/// One task of the program, with what it has seen.
struct Task {
    number: u32,
    tasks: u32,
    client: Client<SimPlatform>,
    context: Context<SimPlatform>,
    region: MemoryRegion<SimPlatform>,
    regions: Mutex<BTreeMap<u32, RemoteRegion>>,
    /// Messages received, by origin and number.
    received: Mutex<BTreeSet<(u32, usize)>>,
    written: AtomicCell<u32>,
    added: AtomicCell<u32>,
    fences: AtomicCell<u32>,
    over: AtomicCell<u32>,
}

impl Task {
    fn open(platform: SimPlatform, config: ClientConfig) -> Result<Arc<Self>, Failure> {
        let (number, tasks) = (config.task.0, config.tasks.len() as u32);
        let client = Client::create(&platform, config)?;
        let context = client.create_context(0)?;
        let memory = BufferRange::zeroed(&platform, SHARE * tasks as usize)?;
        for peer in 0..tasks {
            let readable = bytes_of(number, peer, 90, SHARE / 2);
            memory.write(peer as usize * SHARE + SHARE / 2, &readable)?;
        }
        let region = client.create_region(&memory, RegionRights::ALL)?;
        let task = Arc::new(Self {
            number,
            tasks,
            client,
            context,
            region,
            regions: Mutex::default(),
            received: Mutex::default(),
            written: AtomicCell::new(0),
            added: AtomicCell::new(0),
            fences: AtomicCell::new(0),
            over: AtomicCell::new(0),
        });
        let this = Arc::clone(&task);
        task.context.set_dispatch(
            REGION,
            Box::new(move |_, arrival| {
                let bytes = arrival.immediate.and_then(|data| data.try_into().ok());
                let region = RemoteRegion::decode(bytes.expect("16 bytes")).expect("a region");
                let origin = arrival.origin.task().0;
                this.regions.lock().insert(origin, region);
                Receive::Consumed
            }),
        )?;
        let this = Arc::clone(&task);
        let data = move |context: &Context<SimPlatform>, arrival: &Arrival<'_>| {
            let (origin, what) = (arrival.origin.task().0, arrival.tag as usize);
            assert_eq!(arrival.header, [what as u8; 3]);
            let expected = bytes_of(origin, this.number, what, arrival.length);
            let this = Arc::clone(&this);
            let into = BufferRange::zeroed(context.platform(), arrival.length);
            let into = into.expect("there is memory");
            let copy = into.clone();
            Receive::Into {
                into,
                done: Some(Box::new(move |_, result| {
                    result.expect("it fits");
                    let mut got = vec![0; expected.len()];
                    copy.read(0, &mut got).expect("inside");
                    assert_eq!(got, expected);
                    assert!(this.received.lock().insert((origin, what)));
                })),
            }
        };
        task.context.set_dispatch(DATA, Box::new(data))?;
        let this = Arc::clone(&task);
        task.context.set_dispatch(
            DONE,
            Box::new(move |_, _| {
                this.over.fetch_add(1);
                Receive::Consumed
            }),
        )?;
        Ok(task)
    }

    fn buffer(&self, data: &[u8]) -> Result<BufferRange<Buffer>, gyre_driver::Error> {
        BufferRange::copied(self.context.platform(), data)
    }

    /// Tells every task something short.
    fn tell(&self, dispatch: u8, data: &[u8]) -> Result<(), Failure> {
        for peer in 0..self.tasks {
            let destination = self.context.endpoint(TaskId(peer), 0)?;
            self.context.send_immediate(&SendImmediate {
                data,
                ..SendImmediate::new(destination, dispatch)
            })?;
        }
        Ok(())
    }

    fn run(self: &Arc<Self>, all: &[Arc<Self>]) -> Result<(), Failure> {
        self.tell(REGION, &self.region.remote().encode())?;
        self.context
            .advance_until(|| self.regions.lock().len() == self.tasks as usize)?;
        for step in 0..self.tasks {
            let peer = (self.number + step) % self.tasks;
            self.exchange(peer, Arc::clone(&all[peer as usize]))?;
        }
        self.context
            .advance_until(|| self.fences.load() == self.tasks)?;
        let all_fenced = Arc::new(AtomicCell::new(false));
        let flag = Arc::clone(&all_fenced);
        self.context.fence_all(Some(Box::new(move |_, result| {
            result.expect("all tasks advance");
            flag.store(true);
        })))?;
        self.context.advance_until(|| all_fenced.load())?;
        self.tell(DONE, &[])?;
        self.context
            .advance_until(|| self.over.load() == self.tasks && self.context.is_at_rest())?;
        let mut word = [0; 8];
        self.region.range().read(COMMON as usize, &mut word)?;
        assert_eq!(u64::from_le_bytes(word), u64::from(self.tasks));
        Ok(())
    }

    /// Sends, writes and reads, and fences that.
    fn exchange(self: &Arc<Self>, peer: u32, target: Arc<Self>) -> Result<(), Failure> {
        let me = self.number;
        let destination = self.context.endpoint(TaskId(peer), 0)?;
        let region = self.regions.lock()[&peer];
        let at = u64::from(me) * SHARE as u64;
        for (what, &length) in LENGTHS.iter().enumerate() {
            self.context.send(SendMessage {
                tag: what as u32,
                header: vec![what as u8; 3],
                ..SendMessage::new(
                    destination,
                    DATA,
                    self.buffer(&bytes_of(me, peer, what, length))?,
                )
            })?;
        }
        let this = Arc::clone(self);
        self.context.rput(Rput {
            destination,
            data: self.buffer(&bytes_of(me, peer, 80, 3000))?,
            region,
            offset: at + 5,
            notify: PutNotify::None,
            local_done: None,
            remote_done: Some(Box::new(move |_, result| {
                result.expect("the region allows it");
                this.written.fetch_add(1);
            })),
        })?;
        let read = self.buffer(&[0; 4000])?;
        self.context.rget(Rget {
            source: destination,
            region,
            offset: at + SHARE as u64 / 2 + 3,
            into: read.clone(),
            done: None,
        })?;
        // Every task adds one to the same word of every other, and fetches what it was.
        let result = self.buffer(&[0; 8])?;
        let (this, before) = (Arc::clone(self), result.clone());
        self.context.rmw(Rmw {
            destination,
            region,
            offset: COMMON,
            op: RmwOp::Add,
            width: RmwWidth::Eight,
            value: 1,
            test: None,
            result: Some(result),
            done: Some(Box::new(move |_, result| {
                result.expect("the region allows it");
                let mut word = [0; 8];
                before.read(0, &mut word).expect("inside");
                assert!(u64::from_le_bytes(word) < u64::from(this.tasks));
                this.added.fetch_add(1);
            })),
        })?;
        let (this, written, added) = (Arc::clone(self), self.written.load(), self.added.load());
        self.context.fence(Fence {
            destination,
            done: Some(Box::new(move |context, result| {
                result.expect("the target advances");
                // The target's callbacks have run, the put has arrived, the get has landed.
                for what in 0..LENGTHS.len() {
                    assert!(target.received.lock().contains(&(me, what)));
                }
                assert!(this.written.load() > written);
                assert!(this.added.load() > added);
                let mut got = vec![0; 4000];
                read.read(0, &mut got).expect("inside");
                assert_eq!(got, bytes_of(peer, me, 90, SHARE / 2)[3..4003]);
                // The written bytes come back, and none were fetched before they were there.
                let back = this.buffer(&[0; 3000]).expect("there is memory");
                let (copy, count) = (back.clone(), Arc::clone(&this));
                let rget = Rget {
                    source: destination,
                    region,
                    offset: at + 5,
                    into: back,
                    done: Some(Box::new(move |_, result| {
                        result.expect("the region allows it");
                        let mut put = vec![0; 3000];
                        copy.read(0, &mut put).expect("inside");
                        assert_eq!(put, bytes_of(me, peer, 80, 3000));
                        count.fences.fetch_add(1);
                    })),
                };
                context.rget(rget).expect("valid");
            })),
        })?;
        Ok(())
    }
}

/// Six tasks on four nodes, two nodes with two each, run the program; returns the machine's report.
fn program(same_node: SameNode, ordered: Ordered) -> RunReport {
    let config = MachineConfig {
        dims: vec![2, 2, 1],
        ..MachineConfig::default()
    };
    // Tasks 4 and 5 live beside tasks 0 and 1.
    let placement = Placement::new(6, &config.dims, Some("tcba")).expect("six tasks");
    let mut job = Job::new(&config, &CostTable::default(), &placement, None).expect("a machine");
    let open = move |process: Process| {
        let client = process.client("test");
        let config = ClientConfig {
            resources: Resources {
                injection_per_context: 2,
                injection_ring: 4096,
                counters: 4,
                shared_ring: 4096,
                ..client.resources
            },
            same_node,
            ordered,
            ..client
        };
        Task::open(process.platform, config)
    };
    let (all, _) = job
        .each("opens", Until::Done, open)
        .expect("all contexts open");
    let tasks = all.clone();
    let run = move |process: Process| tasks[process.task.0 as usize].run(&tasks);
    let (_, report) = job
        .each("runs", Until::Quiet, run)
        .expect("the program ends");
    for task in &all {
        assert_eq!(task.fences.load(), 6);
        assert_eq!(task.received.lock().len(), 6 * LENGTHS.len());
        let seen = task.client.open_contexts().expect("a table");
        let here: Vec<_> = seen.iter().map(|info| info.endpoint.task().0).collect();
        let expected: &[u32] = match task.number {
            0 | 4 => &[0, 4],
            1 | 5 => &[1, 5],
            other => &[other],
        };
        assert_eq!(here, expected, "task {}", task.number);
    }
    report
}

#[test]
fn hw7_fn1_fn6_fn7_ct4_protocols_and_fences_hold_on_the_machine_by_loop_back() {
    program(SameNode::Loopback, Ordered::Fixed);
}

#[test]
fn hw4_fn1_fn6_fn7_ct4_protocols_and_fences_hold_by_flows() {
    for same_node in [SameNode::Loopback, SameNode::SharedMemory] {
        program(same_node, Ordered::Flow);
    }
}

#[test]
fn hw7_fn1_fn6_fn7_ct4_protocols_and_fences_hold_by_shared_memory() {
    let report = program(SameNode::SharedMemory, Ordered::Fixed);
    let again = program(SameNode::SharedMemory, Ordered::Fixed);
    assert_eq!(
        (again.hash, again.cycles),
        (report.hash, report.cycles),
        "the same run again"
    );
}

/// A machine of two nodes with a task on each.
fn two_nodes() -> Result<Job, Failure> {
    let config = MachineConfig {
        dims: vec![2],
        ..MachineConfig::default()
    };
    let placement = Placement::filled(1, &config.dims)?;
    Ok(Job::new(&config, &CostTable::default(), &placement, None)?)
}

/// Routes among which there is none: no barrier can start on them.
fn no_routes(context: &Context<SimPlatform>) -> Result<Arc<CollnetRoutes<SimPlatform>>, Failure> {
    let part = RoutePart {
        member: true,
        parent: false,
        children: [false; 2],
    };
    let routes = context.take_collnet_routes(&CollnetChoice::default(), &part)?;
    Ok(routes.ok_or("nothing of these routes is in use")?)
}

/// Task 0 posts a barrier on routes without one, then a message; then it sends one that leaves at the call.
#[test]
fn ep4_x5_a_failed_start_does_not_hold_up_later_posts() -> Result<(), Failure> {
    let mut job = two_nodes()?;
    type Tags = Arc<Mutex<Vec<u32>>>;
    let open = |process: Process| -> Result<(Context<SimPlatform>, Tags), Failure> {
        let client = Client::create(&process.platform, process.client("order"))?;
        let context = client.create_context(0)?;
        let tags = Tags::default();
        let note = Arc::clone(&tags);
        let dispatch = move |_: &Context<SimPlatform>, arrival: &Arrival<'_>| {
            note.lock().push(arrival.tag);
            Receive::Consumed
        };
        context.set_dispatch(DATA, Box::new(dispatch))?;
        Ok((context, tags))
    };
    let (contexts, _) = job.each("opens", Until::Done, open)?;
    let run = |process: Process, (context, tags): (Context<SimPlatform>, Tags)| {
        if process.task == TaskId(0) {
            let routes = no_routes(&context)?;
            context.post(Instruction::CollnetBarrier { routes, done: None })?;
            let destination = context.endpoint(TaskId(1), 0)?;
            context.send(SendMessage {
                tag: 1,
                ..SendMessage::new(destination, DATA, BufferRange::empty())
            })?;
            let refused = context.advance(1);
            assert_eq!(
                refused,
                Err(gyre_driver::Error::NoCollnetRoute { kind: "barrier" })
            );
            context.send_immediate(&SendImmediate {
                tag: 2,
                ..SendImmediate::new(destination, DATA)
            })?;
            context.advance_until(|| context.is_at_rest())?;
        } else {
            context.advance_until(|| tags.lock().len() == 2)?;
        }
        let tags = std::mem::take(&mut *tags.lock());
        Ok::<_, Failure>(tags)
    };
    let (tags, _) = job.each_with("sends", Until::Quiet, contexts, run)?;
    assert_eq!(tags, [vec![], vec![1, 2]]);
    Ok(())
}

/// Task 0 calls a barrier at once, on routes that have none: its callback hears of it in `advance`, not inside the call.
#[test]
fn ep3_x5_what_is_called_at_once_and_ends_there_is_told_by_advance() -> Result<(), Failure> {
    let mut job = two_nodes()?;
    let run = |process: Process| -> Result<(), Failure> {
        let client = Client::create(&process.platform, process.client("at once"))?;
        let context = client.create_context(0)?;
        let routes = no_routes(&context)?;
        let told = Arc::new(Mutex::new(Vec::new()));
        let ends = Arc::clone(&told);
        let barrier = Instruction::CollnetBarrier {
            routes,
            done: Some(Box::new(move |_, result| ends.lock().push(result))),
        };
        let left = context.call_at_once(barrier, |_, barrier| Some(barrier))?;
        assert!(left.is_none());
        assert_eq!(*told.lock(), [], "callbacks run in advance");
        assert!(!context.is_at_rest());
        context.advance_until(|| context.is_at_rest())?;
        let refused = gyre_driver::Error::NoCollnetRoute { kind: "barrier" };
        assert_eq!(*told.lock(), [Err(refused)]);
        Ok(())
    };
    job.each("calls", Until::Quiet, run)?;
    Ok(())
}

/// A task whose memory others put into, or one of these.
struct Told {
    context: Context<SimPlatform>,
    region: MemoryRegion<SimPlatform>,
    counter: ByteCounter<SimPlatform>,
    /// Words of the puts of which it was notified.
    words: Arc<Mutex<BTreeSet<u64>>>,
}

/// Every other task puts `LENGTHS.len()` pieces, which notify the target by a callback, and as many more, which
/// lower a byte counter there.
fn told(ordered: Ordered) -> Result<RunReport, Failure> {
    const PIECE: usize = 20_000;
    const TOLD: u8 = 4;
    let config = MachineConfig {
        dims: vec![2, 2],
        ..MachineConfig::default()
    };
    let placement = Placement::filled(2, &config.dims)?;
    let mut job = Job::new(&config, &CostTable::default(), &placement, None)?;
    let (pieces, tasks) = (2 * LENGTHS.len(), 8);
    let open = move |process: Process| -> Result<Arc<Told>, Failure> {
        let config = ClientConfig {
            ordered,
            ..process.client("told")
        };
        let client = Client::create(&process.platform, config)?;
        let context = client.create_context(0)?;
        let memory = BufferRange::zeroed(&process.platform, PIECE * pieces * tasks)?;
        let region = client.create_region(&memory, RegionRights::ALL)?;
        let words = Arc::<Mutex<BTreeSet<u64>>>::default();
        let log = Arc::clone(&words);
        let arrived = move |_: &Context<SimPlatform>, put: &PutArrival| {
            let origin = put.origin.task().0;
            let number = put.word as usize;
            assert_eq!(put.length, LENGTHS[number]);
            let mut bytes = vec![0; put.length];
            let at = put.remote.offset as usize;
            memory.read(at, &mut bytes).expect("inside");
            let right = bytes == bytes_of(origin, 0, number, put.length);
            assert!(right, "put {number} of task {origin}");
            assert!(log.lock().insert(u64::from(origin) << 32 | put.word));
        };
        context.set_put_dispatch(TOLD, Box::new(arrived))?;
        let counter = context.create_counter()?;
        if process.task == TaskId(0) {
            let bytes: usize = LENGTHS.iter().map(|&length| length.max(1)).sum();
            counter.arm(((tasks - 1) * bytes) as u64, None)?;
        }
        Ok(Arc::new(Told {
            context,
            region,
            counter,
            words,
        }))
    };
    let (all, _) = job.each("opens", Until::Done, open)?;
    let run = move |process: Process| -> Result<(), Failure> {
        let me = process.task.0;
        let (own, target) = (&all[me as usize], &all[0]);
        let context = &own.context;
        if me == 0 {
            let told = (tasks - 1) * LENGTHS.len();
            context.advance_until(|| own.words.lock().len() == told && context.is_at_rest())?;
            assert_eq!(own.counter.left()?, 0);
            let mut bytes = vec![0; PIECE];
            for peer in 1..tasks {
                for (number, length) in LENGTHS.into_iter().enumerate() {
                    let at = PIECE * (pieces * peer + LENGTHS.len() + number);
                    own.region.range().read(at, &mut bytes[..length])?;
                    let right = bytes[..length] == bytes_of(peer as u32, 0, number, length);
                    assert!(right, "counted put {number} of task {peer}");
                }
            }
            return Ok(());
        }
        for (number, length) in LENGTHS.into_iter().enumerate() {
            let told = PutNotify::Dispatch {
                dispatch: TOLD,
                word: number as u64,
            };
            let counted = PutNotify::Counter(target.counter.remote());
            for (piece, notify) in [(number, told), (LENGTHS.len() + number, counted)] {
                let data = BufferRange::zeroed(&process.platform, length)?;
                data.write(0, &bytes_of(me, 0, number, length))?;
                let region = target.region.remote();
                context.rput(Rput {
                    offset: (PIECE * (pieces * me as usize + piece)) as u64,
                    notify,
                    ..Rput::new(target.context.query().endpoint, data, region)
                })?;
            }
        }
        Ok(context.advance_until(|| context.is_at_rest())?)
    };
    let (_, report) = job.each("puts", Until::Quiet, run)?;
    Ok(report)
}

#[test]
fn ep16_hw1_put_targets_are_notified_by_callback_and_counter() -> Result<(), Failure> {
    told(Ordered::Fixed)?;
    told(Ordered::Flow)?;
    Ok(())
}

/// Task 1 keeps every message that comes, receives them when all are there, the last first, and refuses the last one.
#[test]
fn ep4_x5_deferred_receives_get_their_data_and_tell_both_ends() -> Result<(), Failure> {
    type Results = Arc<Mutex<BTreeMap<usize, Result<(), gyre_driver::Error>>>>;
    type Kept = Arc<Mutex<Vec<DeferredReceive<SimPlatform>>>>;
    const COUNT: usize = LENGTHS.len() + 1;
    let config = MachineConfig {
        dims: vec![2],
        ..MachineConfig::default()
    };
    let placement = Placement::filled(1, &config.dims)?;
    let mut job = Job::new(&config, &CostTable::default(), &placement, None)?;
    let open = |process: Process| -> Result<(Context<SimPlatform>, Kept), Failure> {
        let client = Client::create(&process.platform, process.client("deferred"))?;
        let context = client.create_context(0)?;
        let kept = Kept::default();
        let keep = Arc::clone(&kept);
        let dispatch = move |_: &Context<SimPlatform>, _: &Arrival<'_>| {
            let keep = Arc::clone(&keep);
            Receive::Deferred(Box::new(move |_, message| keep.lock().push(message)))
        };
        context.set_dispatch(DATA, Box::new(dispatch))?;
        Ok((context, kept))
    };
    let (contexts, _) = job.each("opens", Until::Done, open)?;
    let lengths = || LENGTHS.into_iter().chain([5000]).enumerate();
    let run = move |process: Process, (context, kept): (Context<SimPlatform>, Kept)| {
        let results = Results::default();
        let note = |what: usize| -> Option<DoneFn<SimPlatform>> {
            let results = Arc::clone(&results);
            Some(Box::new(move |_, result| {
                assert!(results.lock().insert(what, result).is_none());
            }))
        };
        if process.task == TaskId(0) {
            for (what, length) in lengths() {
                let data = BufferRange::copied(&process.platform, &bytes_of(0, 1, what, length))?;
                context.send(SendMessage {
                    remote_done: note(what),
                    ..SendMessage::new(context.endpoint(TaskId(1), 0)?, DATA, data)
                })?;
            }
        } else {
            context.advance_until(|| kept.lock().len() == COUNT)?;
            // What waits long waits no differently.
            let until = process.platform.now_ps() + 20_000_000;
            while process.platform.now_ps() < until {
                context.wait(Some(until))?;
                context.advance(1)?;
            }
            drop(kept.lock().pop());
            let mut ranges = Vec::new();
            for (what, length) in lengths()
                .take(LENGTHS.len())
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
            {
                let into = BufferRange::zeroed(&process.platform, length)?;
                let message = kept.lock().pop().ok_or("one was kept")?;
                message.receive(into.clone(), Routing::Fixed, note(what))?;
                ranges.push((what, into));
            }
            context.advance_until(|| results.lock().len() == LENGTHS.len())?;
            for (what, into) in ranges {
                let mut got = vec![0; into.len()];
                into.read(0, &mut got)?;
                assert_eq!(got, bytes_of(0, 1, what, into.len()), "message {what}");
            }
            let stats = context.deferred_stats()?;
            assert_eq!((stats.messages, stats.held_bytes), (0, 0));
            assert_eq!(stats.peak_held_bytes, 600 + 17);
        }
        context.advance_until(|| context.is_at_rest())?;
        let results = std::mem::take(&mut *results.lock());
        Ok::<_, Failure>(results)
    };
    let (results, _) = job.each_with("sends", Until::Quiet, contexts, run)?;
    let received = |what| (what, Ok(()));
    let mut told: BTreeMap<_, _> = (0..LENGTHS.len()).map(received).collect();
    assert_eq!(results[1], told);
    let refused = gyre_driver::Error::NotFetched { peer: TaskId(1) };
    told.insert(LENGTHS.len(), Err(refused));
    assert_eq!(results[0], told);
    Ok(())
}
