//! What is found about a run.

use crate::path::{Kind, Segment};

/// Where the time of a run of a program went. Times are picoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// When the program began.
    pub from_ps: u64,
    /// When its last rank ended.
    pub to_ps: u64,
    /// The critical path, in order of time, without gap from begin to end.
    pub path: Vec<Segment>,
    /// By rank: where its time went, from begin to end.
    pub ranks: Vec<RankTime>,
    /// What could be removed, what would gain most first.
    pub causes: Vec<Cause>,
    /// In a sentence: what the program spent its time on, and the first cause.
    pub verdict: String,
}

/// Where the time of a rank went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankTime {
    /// The rank.
    pub rank: u32,
    /// Picoseconds by kind, in the order of [`Kind::ALL`]. They add up to the time of the program.
    pub times: [u64; Kind::ALL.len()],
}

/// Something whose removal would make the program faster.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// What it is.
    pub culprit: Culprit,
    /// In words: what it is, where, and what is removed.
    pub text: String,
    /// Picoseconds that the program would take less without it, as the dependencies between recorded events say.
    pub gain_ps: u64,
}

/// What is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Culprit {
    /// All cost of an operation of the driver, by its number in
    /// [`Recording::operations`](gyre_timeline::Recording::operations).
    Operation(u8),
    /// Latency of memories, down to 2 cycles.
    MemoryLatency,
    /// Latency of links, down to 1 cycle.
    LinkLatency,
    /// Half of the computation of a rank.
    Computation(u32),
    /// A message, by its serial: it uses no link, and completes when it did.
    Message(u64),
}
