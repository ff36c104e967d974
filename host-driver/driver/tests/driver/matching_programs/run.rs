// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run of a program on the test double, and the check of what has become of it.

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::matching::{
    Communicator, Messaging, MessagingConfig, Protocol, Received, Request,
};
use gyre_driver::{
    BufferRange, Client, ClientConfig, Context, Error, Ordered, Rank, Resources, TaskId, advancev,
};
use gyre_testkit::{Double, Memory, Process, config};
use parking_lot::Mutex;

use super::history::{Event, Facts, Fate, Matching, explain};
use super::program::{Comm, Label, Pattern, Setting, Step, comms};

/// A message of the program.
#[derive(Debug)]
struct Sent {
    to: usize,
    label: Label,
    request: Request<Process, ()>,
    done: Arc<AtomicCell<u32>>,
}

/// A receive of the program.
struct Posted {
    at: usize,
    pattern: Pattern,
    request: Request<Process, Received>,
    into: BufferRange<Memory>,
    /// What its callback has got, a value a call.
    done: Arc<Mutex<Vec<Result<Received, Error>>>>,
}

/// A run of a program.
pub struct Run {
    pub machine: Double,
    modules: Vec<Messaging<Process>>,
    comms: Vec<Comm>,
    /// Of each task, as its module knows them.
    communicators: Vec<Vec<Communicator>>,
    setting: Setting,
    sent: Vec<Sent>,
    posted: Vec<Posted>,
    /// Of each task: what has happened, and the arrivals in it, expected and unexpected.
    histories: Vec<Vec<Event>>,
    arrivals: Vec<(u64, u64)>,
}

/// Fails with a text.
macro_rules! ensure {
    ($condition:expr, $($text:tt)*) => {
        if !$condition {
            return Err(format!($($text)*));
        }
    };
}

/// What bytes no message has written contain.
const UNTOUCHED: u8 = 0xee;
/// Turns in which nothing happens, after which all has happened: acknowledgements wait for some.
const IDLE: usize = 20;

/// The data of message `number`.
fn content(length: usize, number: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (i * 13 + number * 101 + i / 251) as u8)
        .collect()
}

fn text(error: Error) -> String {
    error.to_string()
}

impl Run {
    /// A run of tasks of which task `t` is on node `nodes[t]` of three.
    pub fn new(nodes: &[usize], setting: Setting) -> Self {
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
        let messaging = MessagingConfig {
            dispatch: 1,
            protocol: setting.protocol,
            switch_over: setting.switch_over,
        };
        let places = machine.tasks(nodes);
        let open = |(task, &node): (u32, &usize)| {
            let client = ClientConfig {
                ordered: setting.ordered,
                ..config(&places, task, resources)
            };
            Client::create(&machine.process(node), client)
                .and_then(|client| client.create_context(0))
                .and_then(|context| Messaging::create(&context, messaging))
                .expect("the double has the resources")
        };
        let modules: Vec<_> = (0_u32..).zip(nodes).map(open).collect();
        let comms = Vec::from(comms(nodes.len()));
        let register = |module: &Messaging<Process>, comm: &Comm| match &comm.group {
            None => Communicator::world(comm.number),
            Some(group) => {
                let tasks: Vec<_> = group.iter().map(|&task| TaskId(task as u32)).collect();
                module.register(comm.number, &tasks).expect("a new one")
            }
        };
        let of_task = |module| comms.iter().map(|comm| register(module, comm)).collect();
        Self {
            communicators: modules.iter().map(of_task).collect(),
            comms,
            modules,
            machine,
            setting,
            sent: Vec::new(),
            posted: Vec::new(),
            histories: vec![Vec::new(); nodes.len()],
            arrivals: vec![(0, 0); nodes.len()],
        }
    }

    /// Takes a step.
    pub fn take(&mut self, step: &Step) -> Result<(), String> {
        match *step {
            Step::Send {
                from,
                to,
                tag,
                comm,
                length,
            } => {
                let label = Label {
                    from,
                    tag,
                    comm,
                    length,
                };
                self.send(label, to)?;
            }
            Step::Receive { at, pattern, room } => self.receive(at, pattern, room)?,
            Step::Probe { at, pattern } => {
                let comm = &self.communicators[at][pattern.comm];
                if let Some(source) = self.source(&pattern) {
                    let found = self.modules[at]
                        .probe(source, pattern.tag, comm)
                        .map_err(text)?;
                    self.histories[at].push(Event::Probe(pattern, found));
                }
            }
            Step::Cancel(number) if !self.posted.is_empty() => {
                let number = number % self.posted.len();
                let Posted { at, request, .. } = &self.posted[number];
                let cancelled = self.modules[*at].cancel(request).map_err(text)?;
                self.histories[*at].push(Event::Cancel(number, cancelled));
            }
            Step::Cancel(_) => {}
            Step::Advance(task) => {
                self.modules[task].context().advance(1).map_err(text)?;
            }
            Step::Packets(count) => {
                for _ in 0..count {
                    self.machine.step();
                }
            }
        }
        self.observe();
        Ok(())
    }

    /// The rank that a receive or probe names, if any; `None` when its group does not have the task.
    fn source(&self, pattern: &Pattern) -> Option<Option<Rank>> {
        let Some(task) = pattern.source else {
            return Some(None);
        };
        let rank = self.comms[pattern.comm].rank(task)?;
        Some(Some(Rank(rank as u32)))
    }

    fn send(&mut self, label: Label, to: usize) -> Result<(), String> {
        let Label {
            from,
            tag,
            comm,
            length,
        } = label;
        let Some(rank) = self.comms[comm].rank(to) else {
            return Ok(());
        };
        let data = content(length, self.sent.len());
        let data = self.modules[from].context().platform().buffer(&data);
        let done = Arc::new(AtomicCell::new(0_u32));
        let count = Arc::clone(&done);
        let callback = move |_: &Context<Process>, result: Result<(), Error>| {
            assert_eq!(result, Ok(()));
            count.fetch_add(1);
        };
        let request = self.modules[from]
            .send(
                Rank(rank as u32),
                tag,
                &self.communicators[from][comm],
                data,
                Some(Box::new(callback)),
            )
            .map_err(text)?;
        self.sent.push(Sent {
            to,
            label,
            request,
            done,
        });
        Ok(())
    }

    fn receive(&mut self, at: usize, pattern: Pattern, room: usize) -> Result<(), String> {
        let Some(source) = self.source(&pattern) else {
            return Ok(());
        };
        let module = &self.modules[at];
        let into = module.context().platform().buffer(&vec![UNTOUCHED; room]);
        let done = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&done);
        let request = module
            .receive(
                source,
                pattern.tag,
                &self.communicators[at][pattern.comm],
                into.clone(),
                Some(Box::new(move |_, result| log.lock().push(result))),
            )
            .map_err(text)?;
        self.histories[at].push(Event::Receive(self.posted.len()));
        self.posted.push(Posted {
            at,
            pattern,
            request,
            into,
            done,
        });
        Ok(())
    }

    /// Notes what has arrived since the last time.
    fn observe(&mut self) {
        for (at, module) in self.modules.iter().enumerate() {
            let stats = module.stats();
            let (expected, unexpected) = self.arrivals[at];
            let arrivals = Event::Arrivals {
                expected: stats.expected - expected,
                unexpected: stats.unexpected - unexpected,
            };
            if (stats.expected, stats.unexpected) != self.arrivals[at] {
                self.histories[at].push(arrivals);
                self.arrivals[at] = (stats.expected, stats.unexpected);
            }
        }
    }

    /// Goes on until nothing happens, and checks what has become of everything.
    pub fn end(&mut self) -> Result<(), String> {
        let contexts: Vec<_> = self.modules.iter().map(|m| m.context().clone()).collect();
        let mut idle = 0;
        while idle < IDLE {
            let moved = self.machine.step();
            let progress = advancev(&contexts, 1).map_err(text)?;
            self.observe();
            idle = if moved || !progress.is_idle() {
                0
            } else {
                idle + 1
            };
        }
        let mut matched = vec![false; self.sent.len()];
        for at in 0..self.modules.len() {
            let origins: Vec<Vec<usize>> = (0..self.modules.len())
                .map(|from| self.messages(from, at))
                .collect();
            let matching = explain(&self.histories[at], &origins, self)
                .map_err(|error| format!("task {at}: {error}"))?;
            for &(_, message) in &matching.pairs {
                matched[message] = true;
            }
            self.check_queues(at, &matching)?;
        }
        for (number, posted) in self.posted.iter().enumerate() {
            let calls = posted.done.lock().len();
            ensure!(calls <= 1, "receive {number} is done {calls} times");
            ensure!(
                posted.request.is_complete() == (calls == 1),
                "request {number}"
            );
        }
        for (number, sent) in self.sent.iter().enumerate() {
            let held = self.setting.protocol == Protocol::TemporaryBuffer;
            let free = matched[number] || held || sent.label.length < self.setting.switch_over;
            ensure!(
                sent.done.load() == u32::from(free) && sent.request.is_complete() == free,
                "send {number} is done {} times: {sent:?}",
                sent.done.load()
            );
        }
        Ok(())
    }

    /// The messages from one task to another, in their order.
    fn messages(&self, from: usize, to: usize) -> Vec<usize> {
        let label = |sent: &Sent| (sent.label.from, sent.to);
        let sent = self.sent.iter().enumerate();
        sent.filter(|(_, sent)| label(sent) == (from, to))
            .map(|(number, _)| number)
            .collect()
    }

    /// Checks the queues of a task, and what is held for it.
    fn check_queues(&self, at: usize, matching: &Matching) -> Result<(), String> {
        let stats = self.modules[at].stats();
        let queues = (stats.posted, stats.pending);
        let expected = (matching.posted.len(), matching.pending.len());
        ensure!(
            queues == expected,
            "queues {queues:?}, expected {expected:?}"
        );
        let Setting {
            protocol,
            switch_over,
            ..
        } = self.setting;
        let pending = matching.pending.iter();
        let lengths = pending.map(|&message| self.sent[message].label.length);
        let held: usize = match protocol {
            Protocol::RemoteGet => lengths.filter(|&length| length < switch_over).sum(),
            Protocol::TemporaryBuffer => lengths.sum(),
        };
        ensure!(stats.held_bytes == held, "{stats:?}, expected {held} held");
        ensure!(
            (protocol, switch_over) != (Protocol::RemoteGet, 0) || stats.peak_held_bytes == 0,
            "payload was held: {stats:?}"
        );
        Ok(())
    }
}

impl Facts for Run {
    fn received(&self, message: usize) -> Option<Received> {
        let label = self.sent[message].label;
        let comm = &self.comms[label.comm];
        Some(Received {
            source: Rank(comm.rank(label.from)? as u32),
            tag: label.tag,
            comm: comm.number,
            length: label.length,
        })
    }

    fn matches(&self, pattern: &Pattern, message: usize) -> bool {
        pattern.matches(&self.sent[message].label, &self.comms[pattern.comm])
    }

    fn pattern(&self, receive: usize) -> Pattern {
        self.posted[receive].pattern
    }

    fn has_ended(&self, receive: usize, fate: Fate) -> bool {
        let posted = &self.posted[receive];
        let room = posted.into.len();
        let mut bytes = vec![0; room];
        posted.into.read(0, &mut bytes).expect("inside");
        let mut expected = vec![UNTOUCHED; room];
        let result = match fate {
            Fate::Waits => None,
            Fate::Cancelled => Some(Err(Error::Cancelled)),
            Fate::Gets(message) => {
                // Of a message too long for its receive only the end of the send tells which one it was.
                if self.sent[message].done.load() == 0 {
                    return false;
                }
                let label = self.sent[message].label;
                let Some(received) = self.received(message) else {
                    return false;
                };
                Some(if label.length > room {
                    Err(Error::MessageTooLong {
                        message: label.length,
                        receive: room,
                    })
                } else {
                    expected[..label.length].copy_from_slice(&content(label.length, message));
                    Ok(received)
                })
            }
        };
        posted.done.lock().first() == result.as_ref() && bytes == expected
    }
}
