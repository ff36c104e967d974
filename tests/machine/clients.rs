// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two clients of one application side by side on the Verilated machine, from a configuration file: matched
//! messages in one with resources of its own for each context, active messages in the other whose contexts
//! share their injection FIFOs under locks. Each has its tasks, contexts and threads, and neither knows of the
//! other (EP-1, EP-2, EP-3, EP-5, EP-6, HW-9).

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre::attempt::Machines;
use gyre::clients::ClientFile;
use gyre::job::{Job, Process};
use gyre::machine_file::MachineSpec;
use gyre::placement::Placement;
use gyre::platform::SimPlatform;
use gyre_affinity::Processor;
use gyre_collectives::{
    Algorithm, Collectives, DataType, Geometry, Initiator, Member, ReduceOp, Request,
};
use gyre_driver::{
    Arrival, BufferRange, Client, ClientConfig, Communicator, Completion, Configuration, Context,
    CostTable, DmaBuffer, Messaging, MessagingConfig, Platform, Rank, Receive, RegionRights,
    Resources, SameNode, SendMessage, TaskId, advancev,
};
use gyre_layout::Coord;
use gyre_sim::{MachineConfig, RunReport, Until};
use gyre_testkit::contents;
use parking_lot::Mutex;

type Failure = Box<dyn Error>;
type Buffer = <SimPlatform as Platform>::Buffer;

const CONFIGURATION: &str = r#"
[[application.pair.client]]
name = "matched"
tasks = "all"
contexts = 2
same_node = "shared_memory"

[application.pair.client.resources]
injection_ring = 4096
remote_get_first = 8
shared_ring = 4096

[[application.pair.client]]
name = "active"
tasks = [3, 1, 0]
contexts = 3
eager_limit = 1024

[application.pair.client.resources]
injection_first = 4
shared_injection = true
injection_per_context = 2
injection_ring = 4096
remote_get_first = 12
slot_first = 24
reception_first = 4
wake_first = 4

[application.other]
"#;

/// Tasks of the application: processes 0 and 1 live on node 0, 2 and 3 on node 1.
const TASKS: u32 = 4;
/// Process of each task of the second client.
const ACTIVE: [u32; 3] = [3, 1, 0];
/// Lengths of the messages between two contexts: the last ones go by rendezvous.
const MATCHED: [usize; 5] = [0, 40, 512, 3000, 9000];
const SENT: [usize; 3] = [0, 200, 2500];
const SINK: u8 = 1;

fn bytes_of(from: u32, to: u32, what: usize, length: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (from as usize * 67 + to as usize * 19 + what * 5 + i * 11 + i / 256) as u8)
        .collect()
}

fn buffer(platform: &SimPlatform, data: &[u8]) -> Result<BufferRange<Buffer>, Failure> {
    if data.is_empty() {
        return Ok(BufferRange::empty());
    }
    let memory = platform.alloc(data.len(), 64)?;
    memory.write(0, data)?;
    Ok(BufferRange::whole(memory))
}

/// A context of a client, with what has ended there.
struct Part<T> {
    context: T,
    sent: AtomicCell<usize>,
    received: AtomicCell<usize>,
}

impl<T> Part<T> {
    fn new(context: T) -> Arc<Self> {
        Arc::new(Self {
            context,
            sent: AtomicCell::new(0),
            received: AtomicCell::new(0),
        })
    }
}

type Matched = Part<Messaging<SimPlatform>>;
type Active = Part<Context<SimPlatform>>;

/// A process with its clients.
struct Program {
    platform: SimPlatform,
    clients: Mutex<Vec<Client<SimPlatform>>>,
    matched: Vec<Arc<Matched>>,
    active: Vec<Arc<Active>>,
}

/// The clients of the application that this process has.
fn configurations(process: &Process) -> Result<Vec<ClientConfig>, Failure> {
    let place = |task| Ok(process.tasks.location(TaskId(task))?.node);
    let nodes: Vec<Coord> = (0..TASKS).map(place).collect::<Result<_, Failure>>()?;
    let file = Configuration::from_toml("clients.toml", CONFIGURATION)?;
    Ok(file.clients("pair", &nodes, process.task.0)?)
}

impl Program {
    fn open(process: Process) -> Result<Arc<Self>, Failure> {
        let platform = process.platform.clone();
        let (mut clients, mut matched, mut active) = (Vec::new(), Vec::new(), Vec::new());
        for config in configurations(&process)? {
            let client = Client::create(&platform, config)?;
            for offset in 0..client.contexts() {
                let context = client.create_context(offset)?;
                if client.name() == "matched" {
                    let module = Messaging::create(&context, MessagingConfig::new(SINK))?;
                    matched.push(Part::new(module));
                } else {
                    active.push(Part::new(context));
                }
            }
            clients.push(client);
        }
        for part in &active {
            let this = Arc::clone(part);
            let sink = move |context: &Context<SimPlatform>, arrival: &Arrival<'_>| {
                let (from, to) = (arrival.origin.task().0, context.task().0);
                let expected = bytes_of(from, to, arrival.tag as usize, arrival.length);
                let into = buffer(context.platform(), &vec![0; arrival.length]);
                let into = into.expect("there is memory");
                let (copy, this) = (into.clone(), Arc::clone(&this));
                Receive::Into {
                    into,
                    done: Some(Box::new(move |_, result| {
                        result.expect("it fits");
                        assert_eq!(contents(&copy), expected);
                        this.received.fetch_add(1);
                    })),
                }
            };
            part.context.set_dispatch(SINK, Box::new(sink))?;
        }
        Ok(Arc::new(Self {
            platform,
            clients: Mutex::new(clients),
            matched,
            active,
        }))
    }

    /// One of the threads of the process.
    fn run(&self, thread: usize) -> Result<(), Failure> {
        match (thread, &self.active[..]) {
            (0 | 1, _) => self.run_matched(&self.matched[thread]),
            (_, []) => Ok(()),
            // Two threads take turns at one context; both have posted to it.
            (2 | 3, [first, ..]) => {
                self.post_active(first, thread - 2)?;
                take_turns(first)
            }
            // One thread advances several contexts.
            (_, [_, rest @ ..]) => {
                for part in rest {
                    self.post_active(part, 0)?;
                    self.post_active(part, 1)?;
                }
                let contexts: Vec<_> = rest.iter().map(|part| part.context.clone()).collect();
                while !rest.iter().all(|part| part.is_over()) {
                    if advancev(&contexts, 1)?.is_idle() {
                        contexts[0].wait(Some(self.platform.now_ps() + 1_000_000))?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Exchanges messages with the same context of every task.
    fn run_matched(&self, part: &Arc<Matched>) -> Result<(), Failure> {
        let module = &part.context;
        let me = module.context().task().0;
        let comm = Communicator::WORLD;
        let receive = |peer: u32, what: usize| -> Result<(), Failure> {
            let into = buffer(&self.platform, &vec![0; MATCHED[what]])?;
            let (copy, part) = (into.clone(), Arc::clone(part));
            let done = move |_: &Context<_>, result: Result<_, _>| {
                let received: gyre_driver::matching::Received = result.expect("received");
                assert_eq!(received.length, MATCHED[what]);
                assert_eq!(contents(&copy), bytes_of(peer, me, what, MATCHED[what]));
                part.received.fetch_add(1);
            };
            module.receive(
                Some(Rank(peer)),
                Some(what as u32),
                &comm,
                into,
                Some(Box::new(done)),
            )?;
            Ok(())
        };
        for peer in 0..TASKS {
            for (what, &length) in MATCHED.iter().enumerate() {
                // Some messages find their receive, some receives their message.
                if peer % 2 == 0 {
                    receive(peer, what)?;
                }
                let data = buffer(&self.platform, &bytes_of(me, peer, what, length))?;
                let part = Arc::clone(part);
                let done = move |_: &Context<_>, result: Result<(), _>| {
                    result.expect("sent");
                    part.sent.fetch_add(1);
                };
                let done = Some(Box::new(done) as _);
                module.send(Rank(peer), what as u32, &comm, data, done)?;
            }
        }
        for peer in (1..TASKS).step_by(2) {
            for what in 0..MATCHED.len() {
                receive(peer, what)?;
            }
        }
        let all = TASKS as usize * MATCHED.len();
        module.context().advance_until(|| {
            part.sent.load() == all && part.received.load() == all && module.context().is_at_rest()
        })?;
        Ok(())
    }

    /// Posts every other message from a context to all contexts of the client.
    fn post_active(&self, part: &Arc<Active>, half: usize) -> Result<(), Failure> {
        let context = &part.context;
        let contexts = self.active.len() as u8;
        let pairs = (0..ACTIVE.len() as u32).flat_map(|task| (0..contexts).map(move |c| (task, c)));
        for (number, (task, offset)) in pairs.enumerate() {
            if number % 2 != half {
                continue;
            }
            for (what, &length) in SENT.iter().enumerate() {
                let data = bytes_of(context.task().0, task, what, length);
                let part = Arc::clone(part);
                let destination = context.endpoint(TaskId(task), offset)?;
                context.send(SendMessage {
                    tag: what as u32,
                    remote_done: Some(Box::new(move |_, result| {
                        result.expect("acknowledged");
                        part.sent.fetch_add(1);
                    })),
                    ..SendMessage::new(destination, SINK, buffer(&self.platform, &data)?)
                })?;
            }
        }
        Ok(())
    }

    /// Destroys the clients.
    fn close(&self) -> Result<(), Failure> {
        let clients = std::mem::take(&mut *self.clients.lock());
        for client in clients {
            client.destroy()?;
        }
        Ok(())
    }
}

impl Active {
    fn is_over(&self) -> bool {
        let all = ACTIVE.len() * 3 * SENT.len();
        self.sent.load() == all && self.received.load() == all && self.context.is_at_rest()
    }
}

/// A thread that advances a context whenever no other one does, until its messages have ended.
fn take_turns(part: &Active) -> Result<(), Failure> {
    let context = &part.context;
    loop {
        let seen = context.epoch();
        if part.is_over() {
            return Ok(());
        }
        let mut idle = true;
        if let Some(context) = context.try_lock() {
            idle = context.advance(1)?.is_idle();
        }
        if idle {
            context.wait_since(seen, None)?;
        }
    }
}

fn job() -> Job {
    let config = MachineConfig {
        dims: vec![2],
        ..MachineConfig::default()
    };
    let placement = Placement::new(TASKS as usize, &config.dims, None).expect("they fit");
    Job::new(&config, &CostTable::default(), &placement, None).expect("a machine")
}

/// Runs the application twice on one machine: the second time its clients get what the first ones had.
fn run_twice() -> RunReport {
    let mut job = job();
    let mut report = None;
    for _ in 0..2 {
        let (programs, _) = job
            .each("opens", Until::Done, Program::open)
            .expect("all contexts open");
        for (process, program) in (0..).zip(&programs) {
            let is_active = ACTIVE.contains(&process);
            assert_eq!(program.clients.lock().len(), 1 + usize::from(is_active));
            assert_eq!(program.matched.len(), 2);
            let [first, second] = [0, 1].map(|c| program.matched[c].context.context().query());
            assert_ne!(first.injection_fifos, second.injection_fifos);
            assert_eq!(
                program.clients.lock()[0].query().same_node,
                SameNode::SharedMemory
            );
            for part in &program.active {
                let shared = &program.active[0].context.query().injection_fifos;
                assert_eq!(part.context.query().injection_fifos, *shared);
                assert_ne!(first.injection_fifos, *shared);
            }
        }
        let all = programs.clone();
        let (_, ran) = job
            .threads("runs", 5, Until::Quiet, move |process, thread| {
                all[process.task.0 as usize].run(thread)
            })
            .expect("the program ends");
        let close = move |process: Process| programs[process.task.0 as usize].close();
        job.each("closes", Until::Done, close)
            .expect("all is at rest");
        report = Some(ran);
    }
    report.expect("two rounds")
}

#[test]
fn ep1_ep2_ep3_ep5_ep6_hw9_two_clients_of_a_file_run_side_by_side_and_again() {
    let report = run_twice();
    let again = run_twice();
    assert_eq!((again.hash, again.cycles), (report.hash, report.cycles));
}

#[test]
fn ep2_hw9_missing_resources_are_errors_and_leave_nothing_behind() {
    let exhaust = |process: Process| -> Result<(), Failure> {
        let platform = &process.platform;
        let client = |contexts: u8, resources: Resources| {
            let config = ClientConfig {
                contexts,
                resources,
                ..process.client("greedy")
            };
            Client::create(platform, config)
        };
        if process.task != TaskId(0) {
            return Ok(());
        }
        let resources = process.client("greedy").resources;
        let error = client(9, resources).err().map(|error| error.to_string());
        let expected = "client `greedy`: reception FIFOs 0..18 are needed for 2 processes with 9 contexts, \
                        the node has 16";
        assert_eq!(error.as_deref(), Some(expected));

        // The last of its FIFOs is in use: those before it are not left enabled.
        let first = client(1, resources)?;
        let kept = first.create_context(0)?;
        let beside = Resources {
            injection_first: 8,
            remote_get_first: 20,
            wake_first: 8,
            ..resources
        };
        for _ in 0..2 {
            let refused = client(1, beside)?.create_context(0).err();
            let error = refused.expect("its reception FIFO is in use").to_string();
            assert!(error.starts_with("set-up of a reception FIFO"), "{error}");
        }
        let fits = client(
            1,
            Resources {
                reception_first: 8,
                ..beside
            },
        )?;
        fits.create_context(0)?;
        let slots = usize::from(resources.slots_per_process);
        let memory = BufferRange::whole(platform.alloc(64, 64)?);
        let regions: Vec<_> = (0..slots)
            .map(|_| first.create_region(&memory, RegionRights::ALL))
            .collect::<Result<_, _>>()?;
        let error = first.create_region(&memory, RegionRights::ALL).err();
        let expected = format!("client `greedy`: all {slots} base slots of the process are in use");
        assert_eq!(error.map(|error| error.to_string()), Some(expected));
        for region in regions {
            region.destroy()?;
        }
        fits.destroy()?;
        kept.destroy()?;
        Ok(first.destroy()?)
    };
    job()
        .each("exhausts", Until::Done, exhaust)
        .expect("nothing else fails");
}

/// Four tasks on two nodes, with geometries of an odd number of endpoints, of an even one that is no power of two, and
/// of one that is; each list has an algorithm for every condition.
const GEOMETRIES: &str = r#"
[[application.chosen.client]]
name = "summing"
tasks = "all"
contexts = 2

[[application.chosen.client.geometry]]
name = "power"
number = 1
tasks = "all"
algorithms.allreduce = [LIST]

[[application.chosen.client.geometry]]
name = "even"
number = 2
endpoints = [[3, 0], [0, 0], [0, 1], [1, 0], [2, 0], [2, 1]]
algorithms.allreduce = [LIST]

[[application.chosen.client.geometry]]
name = "odd"
number = 3
tasks = { first = 0, last = 2 }
algorithms.allreduce = [LIST]
"#;

/// The list of each of them.
const LIST: &str = r#"
    { algorithm = "ring", when = { aligned = 256, at_least = 64 } },
    { algorithm = "recursive_doubling", when = { endpoints = "power_of_two" } },
    { algorithm = "there_and_back", when = { endpoints = "even" } },
    { algorithm = "shared_memory", when = { endpoints = "odd" } },
"#;

/// What a member found: the geometry, what was asked for, the algorithm that the list chooses, and the messages sent by
/// that choice and by the same algorithm when it is named.
type Chosen = (String, &'static str, Algorithm, [u64; 2]);

/// Sums in all geometries of the file, by one thread for each context.
fn sum_in_geometries(
    process: &Process,
    (contexts, members): &Opened,
    thread: usize,
) -> Result<Vec<Chosen>, Failure> {
    let platform = &process.platform;
    let context = &contexts[thread];
    let mut chosen = Vec::new();
    for member in &members[thread] {
        let tasks = member.geometry().tasks().len() as u64;
        let elements = |bytes: usize| -> Vec<u8> {
            let value = |i: usize| (u64::from(process.task.0) + 1) * (i as u64 + 1);
            (0..bytes / 8)
                .flat_map(|i| value(i).to_le_bytes())
                .collect()
        };
        let numbers = member
            .geometry()
            .tasks()
            .iter()
            .map(|task| u64::from(task.0) + 1);
        let all: u64 = numbers.sum();
        for (what, bytes, offset, alignment) in [
            ("short", 32, 0, 256),
            ("unaligned", 1024, 8, 8),
            ("aligned", 1024, 0, 256),
        ] {
            let memory = platform.alloc(2048, 256)?;
            let whole = BufferRange::whole(memory);
            let receive = whole.part(offset, bytes)?;
            let request = || -> Result<_, Failure> {
                receive.write(0, &elements(bytes))?;
                let sum = (DataType::U64, ReduceOp::Sum);
                Ok(Request::allreduce(sum, None, receive.clone()).aligned(alignment))
            };
            let algorithm = member.algorithm(&request()?)?;
            let mut sent = [0; 2];
            for (sent, named) in sent.iter_mut().zip([None, Some(algorithm)]) {
                let before = member.collectives().stats().messages;
                let end = Completion::<gyre_collectives::Error>::new();
                member.post_as(Initiator::All, named, request()?, Some(end.callback()))?;
                end.wait(context)?;
                *sent = member.collectives().stats().messages - before;
                let mut sum = vec![0; bytes];
                receive.read(0, &mut sum)?;
                let expected = (1..=bytes as u64 / 8).flat_map(|i| (all * i).to_le_bytes());
                // Of the endpoints of a task the first has its result.
                let leads = member.geometry().ranks_of(member.position())[0] == member.rank();
                assert!(
                    !leads || expected.eq(sum),
                    "{what} sum of {tasks} tasks by {algorithm:?}"
                );
            }
            chosen.push((member.geometry().name().to_owned(), what, algorithm, sent));
        }
    }
    context.advance_until(|| context.is_at_rest())?;
    Ok(chosen)
}

/// The contexts of a process, and of each the memberships of the geometries.
type Opened = (Vec<Context<SimPlatform>>, Vec<Vec<Member<SimPlatform>>>);

#[test]
fn ep5_ep7_ep8_file_lists_select_by_size_length_and_alignment() -> Result<(), Failure> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("geometries.toml");
    std::fs::write(&path, GEOMETRIES.replace("LIST", LIST))?;
    let config = MachineConfig {
        dims: vec![2],
        ..MachineConfig::default()
    };
    let spec = MachineSpec {
        config,
        processor: Processor::default(),
        costs: CostTable::default(),
        seed: 0,
        machines: Machines::default(),
        clients: Some(ClientFile::read(&path, "chosen")?),
    };
    let mut job = Job::of(&spec, &Placement::filled(2, &spec.config.dims)?)?;
    let open = |process: Process| -> Result<Arc<Opened>, Failure> {
        let config = process.clients("summing", 2).swap_remove(0);
        let client = Client::create(&process.platform, config)?;
        let contexts = [client.create_context(0)?, client.create_context(1)?];
        let mut members = vec![Vec::new(), Vec::new()];
        let geometries = process.geometries(client.name()).iter();
        let geometries: Vec<_> = geometries
            .map(|g| Geometry::from_config(&client, g))
            .collect::<Result<_, _>>()?;
        for (context, members) in contexts.iter().zip(&mut members) {
            let collectives = Collectives::attach(context, 7)?;
            let endpoint = context.query().endpoint;
            for geometry in geometries.iter().filter(|g| g.rank(endpoint).is_some()) {
                members.push(collectives.join(geometry)?);
            }
        }
        Ok(Arc::new((contexts.into(), members)))
    };
    let (opened, _) = job.each("opens", Until::Done, open)?;
    let run = move |process: Process, thread: usize| {
        sum_in_geometries(&process, &opened[process.task.0 as usize], thread)
    };
    let (chosen, _) = job.threads("sums", 2, Until::Quiet, run)?;
    use Algorithm as A;
    let mut seen = BTreeSet::new();
    for (geometry, what, algorithm, [listed, named]) in chosen.into_iter().flatten() {
        let expected = match (geometry.as_str(), what) {
            (_, "aligned") => A::Ring,
            ("power", _) => A::RecursiveDoubling,
            ("even", _) => A::ThereAndBack,
            _ => A::SharedMemory,
        };
        assert_eq!(algorithm, expected, "{geometry}, {what}");
        assert_eq!(listed, named, "{geometry}, {what}: the same algorithm");
        seen.insert(algorithm);
    }
    assert_eq!(seen.len(), 4);
    Ok(())
}
