// SPDX-License-Identifier: MIT OR Apache-2.0
//! Report of a run.

/// When [`crate::Machine::run`] stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// At this cycle.
    Cycle(u64),
    /// When all actors have ended; the cycle is then rounded up to a multiple of 64.
    Done,
    /// When all actors have ended and the hardware is quiet; rounded up likewise.
    Quiet,
}

/// Counts since a machine was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunReport {
    /// Cycles.
    pub cycles: u64,
    /// Time at which the last actor that ended did so, picoseconds.
    pub makespan_ps: u64,
    /// Actors that have ended.
    pub actors_ended: u64,
    /// Digest of all link transfers and of all memory writes that count, see [`Machine::hash`](crate::Machine::hash).
    pub hash: u64,
    /// Node-cycles that were evaluated; the rest was quiet.
    pub node_cycles_evaluated: u64,
    /// Flits sent on all links of the torus.
    pub link_flits: u64,
    /// Flits sent on all links of the tree of the collective network.
    pub tree_flits: u64,
    /// Bytes of node memory that were ever written, in whole pages.
    pub resident_bytes: u64,
}
