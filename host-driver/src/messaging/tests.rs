//! Random programs against an executable reference, and planted faults that it must notice.

#[path = "../../tests/double/mod.rs"]
mod double;

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use proptest::prelude::*;

use super::*;
use crate::{Client, ClientConfig, Ordered, Resources, advancev};
use double::{Double, Process};

/// A planted fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Planted {
    /// A message takes the receive posted last.
    YoungestReceive,
    /// A receive takes the message that came last.
    YoungestMessage,
    /// Acknowledgement number n is not sent.
    LoseAcknowledgement(u64),
    /// Acknowledgement number n is sent twice.
    DoubleAcknowledgement(u64),
}

/// What a module has seen, and the fault in its acknowledgements.
#[derive(Default)]
pub(super) struct Trace {
    arrived: RefCell<Vec<Received>>,
    planted: Cell<Option<Planted>>,
    acknowledged: Cell<u64>,
}

impl Trace {
    /// A message reaches the match table.
    pub fn arrived(&self, message: Received) {
        self.arrived.borrow_mut().push(message);
    }

    /// How often to send the next acknowledgement.
    pub fn acknowledgements(&self) -> u64 {
        let number = self.acknowledged.get();
        self.acknowledged.set(number + 1);
        match self.planted.get() {
            Some(Planted::LoseAcknowledgement(at)) if at == number => 0,
            Some(Planted::DoubleAcknowledgement(at)) if at == number => 2,
            _ => 1,
        }
    }
}

type Module = Messaging<Process>;

/// One step of a random program.
#[derive(Debug, Clone)]
enum Step {
    Send {
        from: usize,
        to: usize,
        tag: u32,
        comm: u8,
        length: usize,
    },
    Receive {
        at: usize,
        pattern: Pattern,
        room: usize,
    },
    Probe {
        at: usize,
        pattern: Pattern,
    },
    /// Receive number n, modulo those posted so far.
    Cancel(usize),
    Advance(usize),
    Packets(usize),
}

/// Long enough for every message but those of [`LONG`] bytes.
const ROOM: usize = 3000;
const LONG: usize = 3100;

fn pattern(tasks: usize) -> impl Strategy<Value = Pattern> {
    (
        proptest::option::weighted(0.6, 0..tasks as u32),
        proptest::option::weighted(0.6, 0..3_u32),
        0..2_u8,
    )
        .prop_map(|(source, tag, comm)| Pattern {
            source: source.map(TaskId),
            tag,
            comm,
        })
}

fn step(tasks: usize) -> impl Strategy<Value = Step> {
    let length = prop_oneof![
        2 => Just(0_usize),
        4 => 1..64_usize,
        4 => 500..530_usize,
        6 => 1000..ROOM,
        1 => Just(LONG),
    ];
    let room = prop_oneof![10 => Just(ROOM), 1 => Just(100_usize)];
    prop_oneof![
        8 => (0..tasks, 0..tasks, 0..3_u32, 0..2_u8, length).prop_map(
            |(from, to, tag, comm, length)| Step::Send { from, to, tag, comm, length }
        ),
        8 => (0..tasks, pattern(tasks), room)
            .prop_map(|(at, pattern, room)| Step::Receive { at, pattern, room }),
        2 => (0..tasks, pattern(tasks)).prop_map(|(at, pattern)| Step::Probe { at, pattern }),
        2 => (0..100_usize).prop_map(Step::Cancel),
        8 => (0..tasks).prop_map(Step::Advance),
        4 => (1..8_usize).prop_map(Step::Packets),
    ]
}

/// How the modules of a run work, and the network under them.
#[derive(Debug, Clone, Copy)]
struct Setting {
    protocol: Protocol,
    switch_over: usize,
    /// Packets overtake where the network lets them.
    reorder: bool,
    ordered: Ordered,
    seed: u64,
}

fn setting() -> impl Strategy<Value = Setting> {
    (
        prop_oneof![Just(Protocol::RemoteGet), Just(Protocol::TemporaryBuffer)],
        prop_oneof![Just(0_usize), Just(64), Just(600), Just(100_000)],
        any::<bool>(),
        prop_oneof![Just(Ordered::Fixed), Just(Ordered::Flow)],
        any::<u64>(),
    )
        .prop_map(|(protocol, switch_over, reorder, ordered, seed)| Setting {
            protocol,
            switch_over,
            reorder,
            ordered,
            seed,
        })
}

fn content(length: usize, number: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (i * 13 + number * 101 + i / 251) as u8)
        .collect()
}

/// A message of the program.
#[derive(Debug)]
struct Sent {
    from: usize,
    to: usize,
    tag: u32,
    comm: u8,
    length: usize,
    request: Request,
    done: Rc<Cell<u32>>,
}

/// A receive of the program.
struct Posted {
    at: usize,
    pattern: Pattern,
    room: usize,
    request: Request,
    into: BufferRange<double::Memory>,
    /// What its callback has got, a value a call.
    done: Rc<RefCell<Vec<Result<Received, Error>>>>,
}

/// What becomes of a receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Waits,
    Gets(usize),
    Cancelled,
}

/// MPI matching at one task, as simply as can be: two lists.
#[derive(Default)]
struct Reference {
    posted: Vec<usize>,
    pending: Vec<usize>,
}

fn matches(pattern: &Pattern, message: &Sent) -> bool {
    pattern.comm == message.comm
        && pattern.source.is_none_or(|s| s.0 as usize == message.from)
        && pattern.tag.is_none_or(|tag| tag == message.tag)
}

/// A run of a program beside its reference.
struct Run {
    machine: Double,
    modules: Vec<Module>,
    setting: Setting,
    sent: Vec<Sent>,
    posted: Vec<Posted>,
    fates: Vec<Fate>,
    references: Vec<Reference>,
    /// Arrivals at each task that the reference has seen, in all and from each task.
    seen: Vec<usize>,
    seen_from: Vec<Vec<usize>>,
}

/// Fails with a text.
macro_rules! ensure {
    ($condition:expr, $($text:tt)*) => {
        if !$condition {
            return Err(format!($($text)*));
        }
    };
}

impl Run {
    fn new(nodes: &[usize], setting: Setting, planted: Option<Planted>) -> Self {
        let machine = Double::new(3, setting.seed);
        if setting.reorder {
            machine.reorder();
        }
        if setting.ordered == Ordered::Flow {
            machine.diagonal();
        }
        let resources = Resources {
            injection_ring: 4096,
            remote_get_ring: 4096,
            reception_ring: 4096,
            counters: 8,
            ..Resources::default()
        };
        let config = MessagingConfig {
            dispatch: 1,
            protocol: setting.protocol,
            switch_over: setting.switch_over,
        };
        let places = machine.tasks(nodes);
        let modules: Vec<Module> = (0_u32..)
            .zip(nodes)
            .map(|(task, &node)| {
                let client = ClientConfig {
                    ordered: setting.ordered,
                    ..double::config(&places, task, resources)
                };
                let context = Client::create(&machine.process(node), client)
                    .and_then(|client| client.create_context(0))
                    .unwrap();
                Messaging::create(&context, config).unwrap()
            })
            .collect();
        for module in &modules {
            short(&module.inner.table).planted = planted;
            module.inner.trace.planted.set(planted);
        }
        let tasks = nodes.len();
        Self {
            machine,
            modules,
            setting,
            sent: Vec::new(),
            posted: Vec::new(),
            fates: Vec::new(),
            references: (0..tasks).map(|_| Reference::default()).collect(),
            seen: vec![0; tasks],
            seen_from: vec![vec![0; tasks]; tasks],
        }
    }

    fn take(&mut self, step: &Step) -> Result<(), String> {
        match *step {
            Step::Send {
                from,
                to,
                tag,
                comm,
                length,
            } => {
                let data = content(length, self.sent.len());
                let data = self.modules[from].context().platform().buffer(&data);
                let done = Rc::new(Cell::new(0));
                let count = Rc::clone(&done);
                let callback = move |_: &Context<Process>, result: Result<(), Error>| {
                    assert_eq!(result, Ok(()));
                    count.set(count.get() + 1);
                };
                let request = self.modules[from]
                    .send(TaskId(to as u32), tag, comm, data, Some(Box::new(callback)))
                    .map_err(|error| error.to_string())?;
                self.sent.push(Sent {
                    from,
                    to,
                    tag,
                    comm,
                    length,
                    request,
                    done,
                });
            }
            Step::Receive { at, pattern, room } => {
                let into = self.modules[at]
                    .context()
                    .platform()
                    .buffer(&vec![0xee; room]);
                let done = Rc::new(RefCell::new(Vec::new()));
                let log = Rc::clone(&done);
                let callback = move |_: &Context<Process>, result| log.borrow_mut().push(result);
                let request = self.modules[at]
                    .receive(
                        pattern.source,
                        pattern.tag,
                        pattern.comm,
                        into.clone(),
                        Some(Box::new(callback)),
                    )
                    .map_err(|error| error.to_string())?;
                let number = self.posted.len();
                let reference = &mut self.references[at];
                let found = reference
                    .pending
                    .iter()
                    .position(|&message| matches(&pattern, &self.sent[message]));
                self.fates.push(match found {
                    Some(index) => Fate::Gets(reference.pending.remove(index)),
                    None => {
                        reference.posted.push(number);
                        Fate::Waits
                    }
                });
                self.posted.push(Posted {
                    at,
                    pattern,
                    room,
                    request,
                    into,
                    done,
                });
            }
            Step::Probe { at, pattern } => {
                let found = self.modules[at]
                    .probe(pattern.source, pattern.tag, pattern.comm)
                    .map_err(|error| error.to_string())?;
                let pending = self.references[at].pending.iter();
                let expected = pending
                    .map(|&message| &self.sent[message])
                    .find(|message| matches(&pattern, message))
                    .map(received);
                ensure!(found == expected, "probe: {found:?}, expected {expected:?}");
            }
            Step::Cancel(number) if !self.posted.is_empty() => {
                let number = number % self.posted.len();
                let at = self.posted[number].at;
                let cancelled = self.modules[at]
                    .cancel(&self.posted[number].request)
                    .map_err(|error| error.to_string())?;
                let reference = &mut self.references[at];
                let index = reference.posted.iter().position(|&n| n == number);
                ensure!(cancelled == index.is_some(), "cancel: {cancelled}");
                if let Some(index) = index {
                    reference.posted.remove(index);
                    self.fates[number] = Fate::Cancelled;
                }
            }
            Step::Cancel(_) => {}
            Step::Advance(task) => {
                let advanced = self.modules[task].context().advance(1);
                advanced.map_err(|error| error.to_string())?;
                self.follow()?;
            }
            Step::Packets(count) => {
                for _ in 0..count {
                    self.machine.step();
                }
            }
        }
        Ok(())
    }

    /// Tells the reference what has arrived, and checks that messages of one origin come in order (CT-8).
    fn follow(&mut self) -> Result<(), String> {
        for (at, module) in self.modules.iter().enumerate() {
            let arrived = module.inner.trace.arrived.borrow();
            for arrival in &arrived[self.seen[at]..] {
                let from = arrival.source.0 as usize;
                let number = self.seen_from[at][from];
                let mut of_flow = self.sent.iter().enumerate();
                let next = of_flow
                    .by_ref()
                    .filter(|(_, sent)| (sent.from, sent.to) == (from, at))
                    .nth(number);
                let Some((message, sent)) = next else {
                    return Err(format!("{arrival:?} at {at} was never sent"));
                };
                ensure!(received(sent) == *arrival, "{arrival:?} overtakes {sent:?}");
                self.seen_from[at][from] += 1;
                let reference = &mut self.references[at];
                let found = reference
                    .posted
                    .iter()
                    .position(|&receive| matches(&self.posted[receive].pattern, sent));
                match found {
                    Some(index) => {
                        self.fates[reference.posted.remove(index)] = Fate::Gets(message);
                    }
                    None => reference.pending.push(message),
                }
            }
            self.seen[at] = arrived.len();
        }
        Ok(())
    }

    /// Goes on until nothing happens, and checks what has become of everything.
    fn end(&mut self) -> Result<(), String> {
        let contexts: Vec<_> = self.modules.iter().map(|m| m.context().clone()).collect();
        let mut idle = 0;
        // Acknowledgements wait for some idle turns.
        while idle < 20 {
            let moved = self.machine.step();
            let progress = advancev(&contexts, 1).map_err(|error| error.to_string())?;
            self.follow()?;
            idle = if moved || !progress.is_idle() {
                0
            } else {
                idle + 1
            };
        }
        let arrived: usize = self.seen.iter().sum();
        ensure!(
            arrived == self.sent.len(),
            "{arrived} messages have arrived"
        );
        for (number, posted) in self.posted.iter().enumerate() {
            self.check_receive(number, posted)?;
        }
        for (number, sent) in self.sent.iter().enumerate() {
            let matched = self.fates.contains(&Fate::Gets(number));
            let held = self.setting.protocol == Protocol::TemporaryBuffer;
            let free = matched || held || sent.length < self.setting.switch_over;
            ensure!(
                sent.done.get() == u32::from(free) && sent.request.is_complete() == free,
                "send {number} is done {} times: {sent:?}",
                sent.done.get()
            );
        }
        for (at, module) in self.modules.iter().enumerate() {
            let stats = module.stats();
            let lengths = self.references[at]
                .pending
                .iter()
                .map(|&m| self.sent[m].length);
            let held: usize = match self.setting.protocol {
                Protocol::RemoteGet => lengths.filter(|&l| l < self.setting.switch_over).sum(),
                Protocol::TemporaryBuffer => lengths.sum(),
            };
            ensure!(stats.held_bytes == held, "{stats:?}, expected {held} held");
            let queues = (stats.posted, stats.pending);
            let expected = (
                self.references[at].posted.len(),
                self.references[at].pending.len(),
            );
            ensure!(
                queues == expected,
                "queues {queues:?}, expected {expected:?}"
            );
            let waits = (self.setting.protocol, self.setting.switch_over);
            ensure!(
                waits != (Protocol::RemoteGet, 0) || stats.peak_held_bytes == 0,
                "payload was held: {stats:?}"
            );
        }
        Ok(())
    }

    fn check_receive(&self, number: usize, posted: &Posted) -> Result<(), String> {
        let mut bytes = vec![0; posted.room];
        posted
            .into
            .read(0, &mut bytes)
            .map_err(|error| error.to_string())?;
        let mut expected = vec![0xee; posted.room];
        let result = match self.fates[number] {
            Fate::Waits => None,
            Fate::Cancelled => Some(Err(Error::Cancelled)),
            Fate::Gets(message) if self.sent[message].length > posted.room => {
                Some(Err(Error::MessageTooLong {
                    message: self.sent[message].length,
                    receive: posted.room,
                }))
            }
            Fate::Gets(message) => {
                let sent = &self.sent[message];
                expected[..sent.length].copy_from_slice(&content(sent.length, message));
                Some(Ok(received(sent)))
            }
        };
        let done = posted.done.borrow();
        ensure!(
            done.iter().eq(result.iter()),
            "receive {number} gets {done:?}, expected {result:?}"
        );
        ensure!(
            posted.request.is_complete() == result.is_some(),
            "request {number}"
        );
        ensure!(bytes == expected, "receive {number} has other bytes");
        Ok(())
    }
}

fn received(sent: &Sent) -> Received {
    Received {
        source: TaskId(sent.from as u32),
        tag: sent.tag,
        comm: sent.comm,
        length: sent.length,
    }
}

/// Runs a program with all its faults, and says what is wrong.
fn run(setting: Setting, steps: &[Step], planted: Option<Planted>) -> Result<(), String> {
    // Two tasks share node 0, two share node 2.
    let mut run = Run::new(&[0, 1, 2, 0, 2], setting, planted);
    for step in steps {
        run.take(step)?;
    }
    run.end()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn ct1_ct8_random_programs_do_what_the_reference_says(
        setting in setting(),
        steps in proptest::collection::vec(step(5), 1..100),
    ) {
        prop_assert_eq!(run(setting, &steps, None), Ok(()));
    }
}

/// A program in which every order matters: several messages of one kind each way, receives before and after.
fn program() -> Vec<Step> {
    let any = Pattern {
        source: None,
        tag: None,
        comm: 0,
    };
    let mut steps = Vec::new();
    for round in 0..4 {
        for at in 0..2 {
            let receive = Step::Receive {
                at,
                pattern: any,
                room: ROOM,
            };
            let send = |length| Step::Send {
                from: 1 - at,
                to: at,
                tag: round,
                comm: 0,
                length,
            };
            steps.extend([receive.clone(), receive.clone()]);
            steps.extend([send(700), send(900), send(1100), send(20)]);
            for _ in 0..20 {
                steps.extend([Step::Advance(0), Step::Packets(4), Step::Advance(1)]);
            }
            steps.extend([receive.clone(), receive]);
        }
    }
    steps
}

fn settings() -> impl Iterator<Item = Setting> {
    [Protocol::RemoteGet, Protocol::TemporaryBuffer]
        .into_iter()
        .flat_map(|protocol| {
            [0, 64].map(|switch_over| Setting {
                protocol,
                switch_over,
                reorder: false,
                ordered: Ordered::Fixed,
                seed: 1,
            })
        })
}

#[test]
fn ct8_a_match_out_of_order_is_caught() {
    for setting in settings() {
        assert_eq!(run(setting, &program(), None), Ok(()));
        for planted in [Planted::YoungestReceive, Planted::YoungestMessage] {
            let outcome = run(setting, &program(), Some(planted));
            assert!(outcome.is_err(), "{planted:?} goes unnoticed: {setting:?}");
        }
    }
}

#[test]
fn ct6_a_lost_and_a_doubled_acknowledgement_are_caught() {
    for setting in settings() {
        for number in [0, 1, 5] {
            for planted in [
                Planted::LoseAcknowledgement(number),
                Planted::DoubleAcknowledgement(number),
            ] {
                let outcome = run(setting, &program(), Some(planted));
                assert!(outcome.is_err(), "{planted:?} goes unnoticed: {setting:?}");
            }
        }
    }
}

/// Not one packet of the whole program, RTS, CTS, get, put, acknowledgement or data, can be lost or come
/// twice without being noticed.
#[test]
fn ct6_every_packet_that_is_lost_or_comes_twice_is_caught() {
    let steps = &program()[..70];
    for setting in settings() {
        let packets = {
            let mut run = Run::new(&[0, 1], setting, None);
            steps.iter().for_each(|step| run.take(step).unwrap());
            run.end().unwrap();
            run.machine.packets()
        };
        assert!(packets > 10, "{packets} packets");
        for number in 0..packets {
            for fault in [
                double::Fault::LosePacket(number),
                double::Fault::DoublePacket(number),
            ] {
                // The double stops the test when a counter goes below zero: noticed as well.
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    let mut run = Run::new(&[0, 1], setting, None);
                    run.machine.plant(fault);
                    steps.iter().try_for_each(|step| run.take(step))?;
                    run.end()
                }));
                let noticed = outcome.is_err() || outcome.is_ok_and(|o| o.is_err());
                assert!(noticed, "{fault:?} goes unnoticed: {setting:?}");
            }
        }
    }
}
