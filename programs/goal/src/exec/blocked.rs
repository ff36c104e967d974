// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text about the operations that a stopped rank waits for.

use std::fmt::{self, Display, Formatter};
use std::ops::Deref;

use super::{OpState, RankState};
use crate::program::{Op, OpId, OpKind, RankProgram};

/// Cause of the wait of the next operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitingFor {
    /// The processor with its number: something else runs there.
    Processor,
    /// The runner: taken, but not started.
    Start,
    /// A calc: the end of its time.
    Time,
    /// A send: room on the way, or the matching receive.
    Handover,
    /// A receive: the message.
    Arrival,
}

/// One operation that others wait for and that waits for no other operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockedOp {
    /// Which one.
    pub op: OpId,
    /// The operation itself.
    pub kind: Op,
    /// Its line in the source, from 1, if it comes from a file.
    pub line: Option<u32>,
    /// Cause of the wait.
    pub waiting_for: WaitingFor,
    /// How many operations wait for it, directly or through others.
    pub behind: usize,
}

/// The state of a rank that does not get on; its `Display` has one line for each blocked
/// operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedReport {
    /// The rank.
    pub rank: u32,
    /// Operations that have not finished.
    pub unfinished: usize,
    /// The first [`BlockedReport::LISTED`] operations, in file order, that wait for no other
    /// operation.
    pub ops: Vec<BlockedOp>,
    /// How many more there are.
    pub not_listed: usize,
}

impl BlockedReport {
    /// How many operations a report lists at most.
    pub const LISTED: usize = 16;
}

impl<P: Deref<Target = RankProgram>> RankState<P> {
    /// Says what the rank waits for; empty if the rank is done.
    pub fn blocked_report(&self) -> BlockedReport {
        let heads: Vec<(OpId, WaitingFor)> = self
            .program
            .op_ids()
            .filter_map(|op| Some((op, self.waits_outside(op)?)))
            .collect();
        let listed = heads.iter().take(BlockedReport::LISTED);
        let ops: Vec<_> = listed
            .map(|&(op, waiting_for)| BlockedOp {
                op,
                kind: *self.program.op(op),
                line: self.program.line(op),
                waiting_for,
                behind: self.behind(op),
            })
            .collect();
        BlockedReport {
            rank: self.program.rank(),
            unfinished: self.unfinished,
            not_listed: heads.len() - ops.len(),
            ops,
        }
    }

    /// Cause outside of this rank.
    fn waits_outside(&self, op: OpId) -> Option<WaitingFor> {
        match self.states[op.index()] {
            OpState::Waiting | OpState::Finished => None,
            OpState::Ready => Some(WaitingFor::Processor),
            OpState::Taken => Some(WaitingFor::Start),
            OpState::Started => Some(match self.program.op(op).kind {
                OpKind::Calc { .. } => WaitingFor::Time,
                OpKind::Send { .. } => WaitingFor::Handover,
                OpKind::Recv { .. } => WaitingFor::Arrival,
            }),
        }
    }

    /// Counts the operations that cannot start before `op` has moved on.
    fn behind(&self, op: OpId) -> usize {
        let mut seen = vec![false; self.states.len()];
        let mut queue = vec![op];
        let mut count = 0;
        while let Some(op) = queue.pop() {
            let after_start = match self.states[op.index()] {
                OpState::Started => &[],
                _ => self.after_start.of(op),
            };
            for &next in after_start.iter().chain(self.after_finish.of(op)) {
                if !seen[next.index()] {
                    seen[next.index()] = true;
                    count += 1;
                    queue.push(next);
                }
            }
        }
        count
    }
}

impl Display for BlockedReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let rank = self.rank;
        for (i, blocked) in self.ops.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "rank {rank}: ")?;
            match blocked.line {
                Some(line) => write!(f, "line {line}: ")?,
                None => write!(f, "operation {}: ", blocked.op.0)?,
            }
            write!(f, "{}", blocked.kind)?;
            match blocked.waiting_for {
                WaitingFor::Processor => write!(f, " ready, waits for cpu {}", blocked.kind.cpu)?,
                WaitingFor::Start => write!(f, " taken, not started")?,
                WaitingFor::Time => write!(f, " running")?,
                WaitingFor::Handover => write!(f, " started, not finished")?,
                WaitingFor::Arrival => write!(f, " posted, not arrived")?,
            }
            let plural = if blocked.behind == 1 { "" } else { "s" };
            write!(f, "; {} operation{plural} behind it", blocked.behind)?;
        }
        if self.not_listed > 0 {
            write!(f, "\nrank {rank}: and {} more", self.not_listed)?;
        }
        Ok(())
    }
}
