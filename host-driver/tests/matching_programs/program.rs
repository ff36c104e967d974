//! Programs of sends, receives, probes and cancellations, and the settings under which they run.

use gyre_driver::matching::{Protocol, Received};
use gyre_driver::{Ordered, TaskId};
use proptest::prelude::*;

/// What a receive or probe asks for.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    pub source: Option<TaskId>,
    pub tag: Option<u32>,
    pub comm: u8,
}

impl Pattern {
    /// Whether it asks for a message.
    pub fn matches(&self, message: &Received) -> bool {
        self.comm == message.comm
            && self.source.is_none_or(|source| source == message.source)
            && self.tag.is_none_or(|tag| tag == message.tag)
    }
}

/// One step of a program.
#[derive(Debug, Clone)]
pub enum Step {
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

/// Tags and communication contexts of which one is far more frequent, so that messages are alike.
fn tag() -> impl Strategy<Value = u32> {
    prop_oneof![4 => Just(0_u32), 1 => 1..3_u32]
}

fn comm() -> impl Strategy<Value = u8> {
    prop_oneof![6 => Just(0_u8), 1 => Just(1_u8)]
}

fn pattern(tasks: usize) -> impl Strategy<Value = Pattern> {
    (
        proptest::option::weighted(0.6, 0..tasks as u32),
        proptest::option::weighted(0.6, tag()),
        comm(),
    )
        .prop_map(|(source, tag, comm)| Pattern {
            source: source.map(TaskId),
            tag,
            comm,
        })
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
