// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs of sends, receives, probes and cancellations, and the settings under which they run.

use gyre_driver::Ordered;
use gyre_driver::matching::Protocol;
use proptest::prelude::*;

/// A communicator of a program.
#[derive(Debug, Clone)]
pub struct Comm {
    pub number: u32,
    /// Task of each rank; `None`: all tasks, by their numbers.
    pub group: Option<Vec<usize>>,
}

impl Comm {
    /// The rank of a task.
    pub fn rank(&self, task: usize) -> Option<usize> {
        match &self.group {
            None => Some(task),
            Some(group) => group.iter().position(|&member| member == task),
        }
    }
}

/// Communicators in a program: see [`comms`].
const COMMS: usize = 5;

/// The communicators of a program of `tasks` tasks. Their numbers have low bytes and halves in common; some groups do not
/// have all tasks, which send to them all the same.
pub fn comms(tasks: usize) -> [Comm; COMMS] {
    let comm = |number, group| Comm { number, group };
    [
        comm(0, None),
        comm(1, None),
        comm(0x100, Some((0..tasks).rev().collect())),
        comm(0xffff_0001, Some((0..tasks).step_by(2).collect())),
        comm(200, Some((1..tasks).chain([0]).skip(1).collect())),
    ]
}

/// A message, as receives match it.
#[derive(Debug, Clone, Copy)]
pub struct Label {
    pub from: usize,
    pub tag: u32,
    /// Place among the communicators.
    pub comm: usize,
    pub length: usize,
}

/// What a receive or probe asks for.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    /// A task, which is to be in the communicator's group.
    pub source: Option<usize>,
    pub tag: Option<u32>,
    /// Place among the communicators.
    pub comm: usize,
}

impl Pattern {
    /// Whether it asks for a message, `comm` being its communicator.
    pub fn matches(&self, message: &Label, comm: &Comm) -> bool {
        self.comm == message.comm
            && self.source.is_none_or(|source| source == message.from)
            && self.tag.is_none_or(|tag| tag == message.tag)
            && comm.rank(message.from).is_some()
    }
}

/// One step of a program.
#[derive(Debug, Clone)]
pub enum Step {
    Send {
        from: usize,
        to: usize,
        tag: u32,
        comm: usize,
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

/// Tags and communicators of which one is far more frequent, so that messages are alike.
fn tag() -> impl Strategy<Value = u32> {
    prop_oneof![4 => Just(0_u32), 1 => 1..3_u32]
}

fn comm() -> impl Strategy<Value = usize> {
    prop_oneof![6 => Just(0_usize), 1 => Just(1), 6 => 2..COMMS]
}

fn pattern(tasks: usize) -> impl Strategy<Value = Pattern> {
    (
        proptest::option::weighted(0.6, 0..tasks),
        proptest::option::weighted(0.6, tag()),
        comm(),
    )
        .prop_map(|(source, tag, comm)| Pattern { source, tag, comm })
}

/// A random step of `tasks` tasks.
pub fn step(tasks: usize) -> impl Strategy<Value = Step> {
    let length = prop_oneof![
        2 => Just(0_usize),
        4 => 1..64_usize,
        4 => 500..530_usize,
        6 => 1000..ROOM,
        1 => Just(LONG),
    ];
    let room = prop_oneof![10 => Just(ROOM), 1 => Just(100_usize)];
    prop_oneof![
        8 => (0..tasks, 0..tasks, tag(), comm(), length).prop_map(
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
pub struct Setting {
    pub protocol: Protocol,
    pub switch_over: usize,
    /// Packets overtake where the network lets them.
    pub reorder: bool,
    pub ordered: Ordered,
    pub seed: u64,
}

/// A random setting.
pub fn setting() -> impl Strategy<Value = Setting> {
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

/// Settings in which nothing overtakes: of each protocol, without and with messages that travel at once.
pub fn settings() -> impl Iterator<Item = Setting> {
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

/// A program in which every order matters: several messages of one kind each way, receives before and after.
pub fn program() -> Vec<Step> {
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
