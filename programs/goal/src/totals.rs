// SPDX-License-Identifier: MIT OR Apache-2.0
//! Totals of a program, counted from its text alone.

use crate::program::{OpKind, Program, RankProgram};

/// Counts for one rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RankTotals {
    /// Messages sent.
    pub sends: u64,
    /// Messages received.
    pub receives: u64,
    /// `calc` operations.
    pub calcs: u64,
    /// Payload bytes sent.
    pub bytes: u64,
    /// Nanoseconds of all `calc` operations.
    pub calc_ns: u64,
    /// Messages sent to the rank itself.
    pub self_sends: u64,
    /// Messages sent without payload.
    pub empty_sends: u64,
    /// Receives from any source.
    pub any_source_receives: u64,
}

impl RankTotals {
    fn of(rank: &RankProgram) -> Self {
        let mut totals = Self::default();
        for op in rank.ops() {
            match op.kind {
                OpKind::Send { bytes, to, .. } => {
                    totals.sends += 1;
                    totals.bytes = totals.bytes.saturating_add(bytes);
                    totals.self_sends += u64::from(to == rank.rank());
                    totals.empty_sends += u64::from(bytes == 0);
                }
                OpKind::Recv { from, .. } => {
                    totals.receives += 1;
                    totals.any_source_receives += u64::from(from.is_none());
                }
                OpKind::Calc { ns } => {
                    totals.calcs += 1;
                    totals.calc_ns = totals.calc_ns.saturating_add(ns);
                }
            }
        }
        totals
    }

    fn add(&mut self, other: &Self) {
        self.sends += other.sends;
        self.receives += other.receives;
        self.calcs += other.calcs;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.calc_ns = self.calc_ns.saturating_add(other.calc_ns);
        self.self_sends += other.self_sends;
        self.empty_sends += other.empty_sends;
        self.any_source_receives += other.any_source_receives;
    }
}

/// Counts for a whole program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sums over all ranks. Sums of a parsed program are exact; others stop at `u64::MAX`.
    pub all: RankTotals,
    /// One element a rank, in rank order.
    pub per_rank: Vec<RankTotals>,
}

impl Program {
    /// Counts messages, bytes and computation, per rank and in all.
    pub fn totals(&self) -> Totals {
        let per_rank: Vec<_> = self.ranks().iter().map(RankTotals::of).collect();
        let mut all = RankTotals::default();
        for rank in &per_rank {
            all.add(rank);
        }
        Totals { all, per_rank }
    }
}
