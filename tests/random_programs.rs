//! Random programs of sends, puts, gets, read-modify-writes, fences, acknowledgements and matched messages
//! between the tasks of random Verilated machines, against what must hold whatever the timing: order of each
//! pair, everything once, every byte, read-modify-writes one after the other, and what fences promise. Faults
//! that are planted between program and driver must be caught.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use gyre::job::{Job, Process};
use gyre::placement::Placement;
use gyre::platform::SimPlatform;
use gyre_driver::messaging::{Messaging, MessagingConfig, Received};
use gyre_driver::{
    Arrival, BufferRange, Client, ClientConfig, Context, CostTable, DoneFn, Endpoint, Error, Fence,
    Instruction, MemoryRegion, Platform, Receive, RegionRights, Resources, Rget, Rmw, RmwOp,
    RmwWidth, Rput, SendImmediate, SendMessage, TaskId,
};
use gyre_sim::{MachineConfig, Until};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

type Buffer = <SimPlatform as Platform>::Buffer;

const DATA: u8 = 1;
const ACKNOWLEDGE: u8 = 2;
const OVER: u8 = 3;
const MATCHED: u8 = 10;

/// What a program does in one step, from one task to another.
#[derive(Debug, Clone, Copy)]
enum Action {
    Immediate {
        length: usize,
    },
    /// Eager or rendezvous, by its length.
    Send {
        header: usize,
        length: usize,
    },
    Put {
        length: usize,
    },
    Get {
        length: usize,
    },
    /// Fetch and add to a word that everybody adds to.
    Add {
        value: u64,
    },
    /// An acknowledgement that the program asks for itself.
    Acknowledge,
    /// A matched message. The communication context says what its receive leaves open: 0 task and tag, 1 the
    /// tag, 2 the task, 3 nothing.
    Match {
        comm: u8,
        tag: u32,
        length: usize,
        /// The receive is posted before anything is sent.
        early: bool,
    },
    Fence,
    FenceAll,
}

#[derive(Debug, Clone, Copy)]
struct Step {
    from: usize,
    to: usize,
    action: Action,
}

#[derive(Debug, Clone)]
struct Program {
    dims: Vec<u16>,
    mesh: bool,
    tasks: usize,
    jitter: u64,
    steps: Vec<Step>,
}

/// A fault between a program and the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// A fence's callback runs at once.
    EarlyFence,
    LostAcknowledgement,
    DoubledAcknowledgement,
    /// Every other receive stands behind the one posted after it.
    MatchOutOfOrder,
}

fn actions() -> impl Strategy<Value = Action> {
    let length = || select(vec![0, 1, 31, 64, 512, 513, 2000, 4096, 4097, 9000]);
    let some = || select(vec![1, 8, 63, 512, 1500, 6000]);
    prop_oneof![
        2 => select(vec![0, 5, 64, 400]).prop_map(|length| Action::Immediate { length }),
        4 => (select(vec![0, 3, 100]), length())
            .prop_map(|(header, length)| Action::Send { header, length }),
        3 => some().prop_map(|length| Action::Put { length }),
        2 => some().prop_map(|length| Action::Get { length }),
        2 => (1..1000_u64).prop_map(|value| Action::Add { value }),
        2 => Just(Action::Acknowledge),
        4 => (0..4_u8, 0..2_u32, select(vec![4, 64, 600, 5000]), any::<bool>())
            .prop_map(|(comm, tag, length, early)| Action::Match { comm, tag, length, early }),
        3 => Just(Action::Fence),
        1 => Just(Action::FenceAll),
    ]
}

fn programs() -> impl Strategy<Value = Program> {
    let dims = select(vec![
        vec![1],
        vec![2],
        vec![3],
        vec![2, 1],
        vec![2, 2],
        vec![1, 2, 2],
        vec![3, 1, 2],
        vec![2, 1, 1, 2],
    ]);
    (dims, any::<bool>(), 1..=2_usize, 0..40_u64).prop_flat_map(|(dims, mesh, each, jitter)| {
        let nodes: usize = dims.iter().map(|&size| usize::from(size)).product();
        let tasks = nodes * each;
        let step = (0..tasks, 0..tasks, actions()).prop_map(|(from, to, action)| Step {
            from,
            to,
            action,
        });
        proptest::collection::vec(step, 1..60).prop_map(move |steps| Program {
            dims: dims.clone(),
            mesh,
            tasks,
            jitter,
            steps,
        })
    })
}

/// Data of step `number`: its number, then bytes that depend on it.
fn bytes_of(number: usize, length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..length)
        .map(|i| (number * 37 + i * 13 + i / 256 + 1) as u8)
        .collect();
    for (byte, number) in bytes.iter_mut().zip((number as u32).to_le_bytes()) {
        *byte = number;
    }
    bytes
}

/// A receive of a matched message: what it leaves open, in the order posted, and what it got.
#[derive(Debug, Clone)]
struct Posted {
    comm: u8,
    source: Option<TaskId>,
    tag: Option<u32>,
    got: Option<usize>,
}

/// What a task has seen.
#[derive(Default)]
struct Seen {
    /// Steps whose message came, by origin, in the order of their dispatch.
    dispatched: BTreeMap<usize, Vec<usize>>,
    received: BTreeSet<usize>,
    /// Steps of this task that are done, and how often their callbacks ran.
    done: BTreeMap<usize, usize>,
    /// Values before this task's additions.
    before: BTreeMap<usize, u64>,
    posted: Vec<Posted>,
    over: usize,
    /// This task's region at the end.
    memory: Vec<u8>,
    wrong: Vec<String>,
}

struct Task {
    number: usize,
    planted: Planted,
    program: Rc<Program>,
    /// Where in the target's region a step writes or reads.
    places: Rc<Vec<usize>>,
    context: Context<SimPlatform>,
    module: Messaging<SimPlatform>,
    region: MemoryRegion<SimPlatform>,
    /// What gets have fetched, by step.
    fetched: RefCell<BTreeMap<usize, BufferRange<Buffer>>>,
    seen: RefCell<Seen>,
    left: Cell<usize>,
}

/// Offsets for all steps, and the bytes of every task's region: first the word that everybody adds to.
fn layout(program: &Program) -> (Vec<usize>, Vec<usize>) {
    let mut ends = vec![64; program.tasks];
    let mut places = Vec::new();
    for step in &program.steps {
        let end = &mut ends[step.to];
        places.push(*end);
        if let Action::Put { length } | Action::Get { length } = step.action {
            *end += length + 3;
        }
    }
    (places, ends)
}

fn contents(range: &BufferRange<Buffer>) -> Vec<u8> {
    let mut bytes = vec![0; range.len()];
    range.read(0, &mut bytes).expect("inside");
    bytes
}

impl Task {
    fn open(
        process: Process,
        program: &Rc<Program>,
        places: &Rc<Vec<usize>>,
        bytes: usize,
        planted: Planted,
    ) -> Result<Rc<Self>, Error> {
        let number = process.task.0 as usize;
        let config = process.client("random");
        let config = ClientConfig {
            resources: Resources {
                injection_ring: 4096,
                reception_ring: 8192,
                counters: 3,
                ..config.resources
            },
            ..config
        };
        let platform = process.platform;
        let client = Client::create(&platform, config)?;
        let context = client.create_context(0)?;
        let memory = BufferRange::whole(platform.alloc(bytes, 64)?);
        for (index, step) in program.steps.iter().enumerate() {
            if let (true, Action::Get { length }) = (step.to == number, step.action) {
                memory.write(places[index], &bytes_of(index, length))?;
            }
        }
        let region = client.create_region(&memory, RegionRights::ALL)?;
        let module = Messaging::create(&context, MessagingConfig::new(MATCHED))?;
        let task = Rc::new(Self {
            number,
            planted,
            program: Rc::clone(program),
            places: Rc::clone(places),
            context,
            module,
            region,
            fetched: RefCell::default(),
            seen: RefCell::default(),
            left: Cell::new(0),
        });
        let this = Rc::clone(&task);
        let data = move |context: &Context<SimPlatform>, arrival: &Arrival<'_>| {
            this.arrived(context, arrival)
        };
        task.context.set_dispatch(DATA, Box::new(data))?;
        let times = match planted {
            Planted::LostAcknowledgement => 0,
            Planted::DoubledAcknowledgement => 2,
            _ => 1,
        };
        let acknowledge = move |context: &Context<SimPlatform>, arrival: &Arrival<'_>| {
            for _ in 0..times {
                let acknowledged = context.acknowledge(arrival.origin, arrival.tag);
                acknowledged.expect("the origin exists");
            }
            Receive::Consumed
        };
        task.context
            .set_dispatch(ACKNOWLEDGE, Box::new(acknowledge))?;
        let this = Rc::clone(&task);
        let over = move |_: &Context<SimPlatform>, _: &Arrival<'_>| {
            this.seen.borrow_mut().over += 1;
            Receive::Consumed
        };
        task.context.set_dispatch(OVER, Box::new(over))?;
        Ok(task)
    }

    fn wrong(&self, what: String) {
        let what = format!("task {}: {what}", self.number);
        self.seen.borrow_mut().wrong.push(what);
    }

    fn buffer(&self, data: &[u8]) -> BufferRange<Buffer> {
        if data.is_empty() {
            return BufferRange::empty();
        }
        let memory = self.context.platform().alloc(data.len(), 64);
        let range = BufferRange::whole(memory.expect("there is memory"));
        range.write(0, data).expect("it fits");
        range
    }

    /// The message of a step has come.
    fn arrived(
        self: &Rc<Self>,
        context: &Context<SimPlatform>,
        arrival: &Arrival<'_>,
    ) -> Receive<SimPlatform> {
        let (index, origin) = (arrival.tag as usize, arrival.origin.task().0 as usize);
        let (header, length) = match self.program.steps[index].action {
            Action::Immediate { length } => (0, length),
            Action::Send { header, length } => (header, length),
            _ => (usize::MAX, usize::MAX),
        };
        if (arrival.length, arrival.header) != (length, &bytes_of(index, header)[..]) {
            self.wrong(format!("step {index} came with another header or length"));
        }
        let mut seen = self.seen.borrow_mut();
        seen.dispatched.entry(origin).or_default().push(index);
        drop(seen);
        if let Some(data) = arrival.immediate {
            self.take(index, data);
            return Receive::Consumed;
        }
        let memory = context.platform().alloc(length.max(1), 64);
        let into = BufferRange::whole(memory.expect("there is memory"));
        let (this, copy) = (Rc::clone(self), into.clone());
        Receive::Into {
            into,
            done: Some(Box::new(move |_, result| {
                result.expect("it fits");
                this.take(index, &contents(&copy)[..length]);
            })),
        }
    }

    fn take(&self, index: usize, data: &[u8]) {
        if data != bytes_of(index, data.len()) {
            self.wrong(format!("step {index} came with other data"));
        }
        if !self.seen.borrow_mut().received.insert(index) {
            self.wrong(format!("step {index} came twice"));
        }
    }

    /// Counts a callback that has to come.
    fn done(self: &Rc<Self>, index: usize) -> Option<DoneFn<SimPlatform>> {
        self.left.set(self.left.get() + 1);
        let this = Rc::clone(self);
        Some(Box::new(move |_, result| {
            if let Err(error) = result {
                this.wrong(format!("step {index} failed: {error}"));
            }
            *this.seen.borrow_mut().done.entry(index).or_default() += 1;
            this.left.set(this.left.get().saturating_sub(1));
        }))
    }

    /// Posts the receive of matched message `index`.
    fn receive(self: &Rc<Self>, index: usize) -> Result<(), Error> {
        let step = self.program.steps[index];
        let Action::Match { comm, tag, .. } = step.action else {
            return Ok(());
        };
        let source = matches!(comm, 1 | 3).then_some(TaskId(step.from as u32));
        let tag = (comm >= 2).then_some(tag);
        let mut seen = self.seen.borrow_mut();
        let mut place = seen.posted.len();
        seen.posted.push(Posted {
            comm,
            source,
            tag,
            got: None,
        });
        drop(seen);
        if self.planted == Planted::MatchOutOfOrder {
            place ^= 1;
        }
        self.left.set(self.left.get() + 1);
        let into = self.buffer(&[0; 5000]);
        let (this, copy) = (Rc::clone(self), into.clone());
        let done = move |_: &Context<SimPlatform>, result: Result<Received, Error>| {
            this.left.set(this.left.get() - 1);
            match result {
                Ok(received) => this.matched(place, received, &contents(&copy)),
                Err(error) => this.wrong(format!("a receive failed: {error}")),
            }
        };
        self.module
            .receive(source, tag, comm, into, Some(Box::new(done)))?;
        Ok(())
    }

    /// Receive number `place` has got a message.
    fn matched(&self, place: usize, received: Received, data: &[u8]) {
        let mut number = [0; 4];
        number.copy_from_slice(&data[..4]);
        let index = u32::from_le_bytes(number) as usize;
        let sent = match self.program.steps.get(index) {
            Some(&Step {
                from,
                to,
                action: Action::Match {
                    comm, tag, length, ..
                },
            }) if to == self.number => Some(Received {
                source: TaskId(from as u32),
                tag,
                comm,
                length,
            }),
            _ => None,
        };
        if sent != Some(received) || data[..received.length] != bytes_of(index, received.length) {
            self.wrong(format!("{received:?} is not what step {index} sent"));
        }
        let mut seen = self.seen.borrow_mut();
        if let Some(posted) = seen.posted.get_mut(place) {
            posted.got = Some(index);
        }
    }

    fn run(self: &Rc<Self>, all: &[Rc<Self>]) -> Result<(), Error> {
        let program = Rc::clone(&self.program);
        let steps = || program.steps.iter().enumerate();
        let receives = |early| {
            steps()
                .filter(move |(_, step)| {
                    step.to == self.number
                        && matches!(step.action, Action::Match { early: e, .. } if e == early)
                })
                .map(|(index, _)| index)
        };
        for index in receives(true) {
            self.receive(index)?;
        }
        for (index, step) in steps().filter(|(_, step)| step.from == self.number) {
            self.step(index, *step, all)?;
            if index % 3 == 0 {
                self.context.advance(1)?;
            }
        }
        for index in receives(false) {
            self.receive(index)?;
        }
        self.context.advance_until(|| self.left.get() == 0)?;
        // Nobody stops before the others have got what they wait for.
        for peer in 0..program.tasks {
            let to = self.context.endpoint(TaskId(peer as u32), 0)?;
            self.context.send_immediate(&SendImmediate::new(to, OVER))?;
        }
        self.context.advance_until(|| {
            self.seen.borrow().over == program.tasks && self.context.is_at_rest()
        })?;
        self.seen.borrow_mut().memory = contents(self.region.range());
        Ok(())
    }

    fn step(self: &Rc<Self>, index: usize, step: Step, all: &[Rc<Self>]) -> Result<(), Error> {
        let context = &self.context;
        let to = context.endpoint(TaskId(step.to as u32), 0)?;
        let region = all[step.to].region.remote();
        let offset = self.places[index] as u64;
        match step.action {
            Action::Immediate { length } => context.send_immediate(&SendImmediate {
                tag: index as u32,
                data: &bytes_of(index, length),
                ..SendImmediate::new(to, DATA)
            }),
            Action::Send { header, length } => context.send(SendMessage {
                tag: index as u32,
                header: bytes_of(index, header),
                remote_done: self.done(index),
                ..SendMessage::new(to, DATA, self.buffer(&bytes_of(index, length)))
            }),
            Action::Put { length } => context.rput(Rput {
                destination: to,
                data: self.buffer(&bytes_of(index, length)),
                region,
                offset,
                local_done: None,
                remote_done: self.done(index),
            }),
            Action::Get { length } => {
                let into = self.buffer(&vec![0; length]);
                self.fetched.borrow_mut().insert(index, into.clone());
                context.rget(Rget {
                    source: to,
                    region,
                    offset,
                    into,
                    done: self.done(index),
                })
            }
            Action::Add { value } => self.add(index, to, value, all),
            Action::Acknowledge => {
                let done = self.done(index).expect("always one");
                let cookie = context.expect_ack(to, done)?;
                context.send_immediate(&SendImmediate {
                    tag: cookie,
                    ..SendImmediate::new(to, ACKNOWLEDGE)
                })
            }
            Action::Match {
                comm, tag, length, ..
            } => {
                let data = self.buffer(&bytes_of(index, length));
                let done = self.done(index);
                self.module.send(to.task(), tag, comm, data, done).map(drop)
            }
            Action::Fence => {
                let done = self.fenced(index, Some(step.to), all);
                if self.planted == Planted::EarlyFence {
                    let call = move |context: &Context<SimPlatform>| done(context, Ok(()));
                    return context.post(Instruction::Call(Box::new(call)));
                }
                context.fence(Fence {
                    destination: to,
                    done: Some(done),
                })
            }
            Action::FenceAll => context.fence_all(Some(self.fenced(index, None, all))),
        }
    }

    fn add(
        self: &Rc<Self>,
        index: usize,
        destination: Endpoint,
        value: u64,
        all: &[Rc<Self>],
    ) -> Result<(), Error> {
        let result = self.buffer(&[0; 8]);
        let (this, before) = (Rc::clone(self), result.clone());
        let count = self.done(index).expect("always one");
        self.context.rmw(Rmw {
            destination,
            region: all[destination.task().0 as usize].region.remote(),
            offset: 0,
            op: RmwOp::Add,
            width: RmwWidth::Eight,
            value,
            test: None,
            result: Some(result),
            done: Some(Box::new(move |context, result| {
                let word = contents(&before).try_into().expect("8 bytes");
                let mut seen = this.seen.borrow_mut();
                seen.before.insert(index, u64::from_le_bytes(word));
                drop(seen);
                count(context, result);
            })),
        })
    }

    /// The callback of fence `index`: everything that this task started to `to`, or to anybody, before it has
    /// completed.
    fn fenced(
        self: &Rc<Self>,
        index: usize,
        to: Option<usize>,
        all: &[Rc<Self>],
    ) -> DoneFn<SimPlatform> {
        let count = self.done(index).expect("always one");
        let (this, all) = (Rc::clone(self), all.to_vec());
        Box::new(move |context, result| {
            for (earlier, step) in this.program.steps[..index].iter().enumerate() {
                if step.from == this.number && to.is_none_or(|to| to == step.to) {
                    this.check_fenced(index, earlier, &all[step.to]);
                }
            }
            count(context, result);
        })
    }

    /// Whether step `earlier` has completed, as fence `index` promises.
    fn check_fenced(&self, index: usize, earlier: usize, target: &Self) {
        let completed = match self.program.steps[earlier].action {
            Action::Immediate { .. } | Action::Send { .. } => {
                target.seen.borrow().received.contains(&earlier)
            }
            // The target's memory is not this task's to look at.
            Action::Put { .. } => self.seen.borrow().done.contains_key(&earlier),
            Action::Get { length } => {
                contents(&self.fetched.borrow()[&earlier]) == bytes_of(earlier, length)
            }
            Action::Add { .. } => self.seen.borrow().before.contains_key(&earlier),
            Action::Acknowledge | Action::Match { .. } | Action::Fence | Action::FenceAll => true,
        };
        if !completed {
            self.wrong(format!("fence {index} returns before step {earlier}"));
        }
    }

    /// Whether the put of step `index` is in memory at the end.
    fn holds(&self, index: usize, length: usize) -> bool {
        let start = self.places[index];
        let bytes = bytes_of(index, length);
        self.seen.borrow().memory.get(start..start + length) == Some(&bytes[..])
    }

    /// What must hold when everything has ended.
    fn check_end(&self, all: &[Rc<Self>]) {
        let steps = self.program.steps.iter().enumerate();
        let mut sent: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut additions = BTreeMap::new();
        let mut messages = BTreeSet::new();
        for (index, step) in steps.filter(|(_, step)| step.to == self.number) {
            match step.action {
                Action::Immediate { .. } | Action::Send { .. } => {
                    sent.entry(step.from).or_default().push(index);
                }
                Action::Put { length } if !self.holds(index, length) => {
                    self.wrong(format!("the put of step {index} is not in memory"));
                }
                Action::Add { value } => match all[step.from].seen.borrow().before.get(&index) {
                    Some(&before) => {
                        additions.insert(before, value);
                    }
                    None => self.wrong(format!("step {index} fetched nothing")),
                },
                Action::Match { .. } => {
                    messages.insert(index);
                }
                _ => {}
            }
        }
        let seen = self.seen.borrow();
        let dispatched = seen.dispatched.clone();
        let posted = seen.posted.clone();
        let often: Vec<_> = seen.done.iter().filter(|(_, times)| **times != 1).collect();
        let often = (!often.is_empty()).then(|| format!("callbacks ran not once: {often:?}"));
        drop(seen);
        if let Some(often) = often {
            self.wrong(often);
        }
        if dispatched != sent {
            self.wrong(format!(
                "messages came as {dispatched:?}, were sent as {sent:?}"
            ));
        }
        // One addition after the other: each finds what the one before has left.
        let mut word = 0;
        for (before, value) in additions {
            if before != word {
                self.wrong(format!("an addition found {before}, not {word}"));
            }
            word = before + value;
        }
        let at_end = self.seen.borrow().memory.first_chunk().copied();
        if at_end.map(u64::from_le_bytes) != Some(word) {
            self.wrong(format!("the word is {at_end:?}, not {word}"));
        }
        self.check_matches(&posted, messages);
    }

    /// Every message has one receive, and receives of one kind get the messages of a task in the order sent.
    fn check_matches(&self, posted: &[Posted], mut messages: BTreeSet<usize>) {
        let mut last: BTreeMap<_, usize> = BTreeMap::new();
        for receive in posted {
            let Some(index) = receive.got.filter(|index| messages.remove(index)) else {
                self.wrong(format!("{receive:?} has no message of its own"));
                continue;
            };
            let from = self.program.steps[index].from;
            let kind = (receive.comm, receive.source, receive.tag, from);
            let before = last.insert(kind, index);
            if before.is_some_and(|before| before > index) {
                self.wrong(format!("step {before:?} matched before step {index}"));
            }
        }
    }
}

/// Runs a program; says what was wrong.
fn run(program: &Program, planted: Planted) -> Result<(), String> {
    let mut config = MachineConfig {
        dims: program.dims.clone(),
        mesh: vec![program.mesh; program.dims.len()],
        ..MachineConfig::default()
    };
    config.memory.jitter = program.jitter;
    config.memory.reorder = program.jitter > 20;
    let placement = Placement::new(program.tasks, &config.dims, None).map_err(|e| e.to_string())?;
    let mut job = Job::new(&config, &CostTable::default(), &placement, None)
        .map_err(|error| error.to_string())?;
    let (places, ends) = layout(program);
    let (program, places) = (Rc::new(program.clone()), Rc::new(places));
    let open = move |process: Process| {
        let bytes = ends[process.task.0 as usize];
        Task::open(process, &program, &places, bytes, planted)
    };
    let (all, _) = job
        .each("opens", Until::Done, open)
        .map_err(|error| error.to_string())?;
    let tasks = all.clone();
    let body = move |process: Process| tasks[process.task.0 as usize].run(&tasks);
    job.each("runs", Until::Quiet, body)
        .map_err(|error| error.to_string())?;
    for task in &all {
        task.check_end(&all);
    }
    let wrong: Vec<_> = all
        .iter()
        .flat_map(|task| task.seen.borrow().wrong.clone())
        .collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

/// Runs `cases` random programs, always the same ones; the smallest one that fails is the error.
fn check(cases: u32, shrinks: u32, planted: Planted) -> Result<(), String> {
    let config = Config {
        cases,
        max_shrink_iters: shrinks,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(config, rng)
        .run(&programs(), |program| {
            run(&program, planted).map_err(TestCaseError::fail)
        })
        .map_err(|error| error.to_string())
}

#[test]
fn ep4_ct1_fn1_ak1_random_programs_hold_on_random_machines() {
    check(40, 64, Planted::Nothing).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn fn1_a_fence_that_returns_early_is_caught() {
    let error = check(8, 4, Planted::EarlyFence).expect_err("caught");
    assert!(error.contains("returns before step"), "{error}");
}

#[test]
fn ak1_a_lost_acknowledgement_is_caught() {
    let error = check(8, 4, Planted::LostAcknowledgement).expect_err("caught");
    assert!(error.contains("nothing is left to happen"), "{error}");
}

#[test]
fn ak1_a_doubled_acknowledgement_is_caught() {
    let error = check(8, 4, Planted::DoubledAcknowledgement).expect_err("caught");
    assert!(error.contains("nothing waits for it"), "{error}");
}

#[test]
fn ct1_a_match_out_of_order_is_caught() {
    let error = check(8, 4, Planted::MatchOutOfOrder).expect_err("caught");
    assert!(
        error.contains("matched before") || error.contains("no message of its own"),
        "{error}"
    );
}
