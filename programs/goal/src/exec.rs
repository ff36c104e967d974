// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order in which a rank's operations may run: a state machine without a machine.
//!
//! A runner takes operations with [`RankState::next_ready`], one simulated thread a processor
//! number, and reports [`RankState::started`] and [`RankState::finished`]. What starting and
//! finishing mean is the runner's business (see [`OpKind`](crate::OpKind)).

use std::collections::VecDeque;
use std::ops::Deref;

use crate::program::{OpId, OpLists, RankProgram};

mod blocked;

pub use blocked::{BlockedOp, BlockedReport, WaitingFor};

/// How far an operation has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpState {
    /// Waits for other operations.
    Waiting,
    /// May start, and waits for its processor to take it.
    Ready,
    /// Taken by [`RankState::next_ready`].
    Taken,
    /// Has started.
    Started,
    /// Has finished.
    Finished,
}

/// Progress of one rank. `P` is any pointer to its program: `&RankProgram`, `Arc<RankProgram>`.
///
/// Operations of a processor are handed out in the order in which they became ready; those that
/// became ready by the same report, in file order.
#[derive(Debug, Clone)]
pub struct RankState<P> {
    program: P,
    states: Vec<OpState>,
    /// Dependencies that do not hold yet.
    unmet: Vec<u32>,
    after_finish: OpLists,
    after_start: OpLists,
    cpus: Vec<u8>,
    /// Ready operations, one queue for each element of `cpus`.
    ready: Vec<VecDeque<OpId>>,
    unfinished: usize,
}

impl<P: Deref<Target = RankProgram>> RankState<P> {
    /// The rank before anything has started.
    pub fn new(program: P) -> Self {
        let cpus = program.cpus();
        let unmet: Vec<u32> = program
            .op_ids()
            .map(|op| (program.requires.of(op).len() + program.irequires.of(op).len()) as u32)
            .collect();
        let mut state = Self {
            states: vec![OpState::Waiting; unmet.len()],
            unfinished: unmet.len(),
            unmet,
            after_finish: program.requires.reversed(),
            after_start: program.irequires.reversed(),
            ready: vec![VecDeque::new(); cpus.len()],
            cpus,
            program,
        };
        for op in state.program.op_ids() {
            if state.unmet[op.index()] == 0 {
                state.make_ready(op);
            }
        }
        state
    }

    /// The program that runs.
    pub fn program(&self) -> &RankProgram {
        &self.program
    }

    /// The processor numbers of the rank, ascending.
    pub fn cpus(&self) -> &[u8] {
        &self.cpus
    }

    /// How far `op` has come.
    ///
    /// # Panics
    /// If `op` is no operation of this rank.
    pub fn state(&self, op: OpId) -> OpState {
        self.states[op.index()]
    }

    /// Takes the next operation that may start on `cpu`, if there is one. The caller must start
    /// it; it is not handed out again.
    pub fn next_ready(&mut self, cpu: u8) -> Option<OpId> {
        let queue = self.cpus.binary_search(&cpu).ok()?;
        let op = self.ready[queue].pop_front()?;
        self.states[op.index()] = OpState::Taken;
        Some(op)
    }

    /// Whether [`next_ready`](Self::next_ready) would give an operation.
    pub fn has_ready(&self, cpu: u8) -> bool {
        let queue = self.cpus.binary_search(&cpu);
        queue.is_ok_and(|queue| !self.ready[queue].is_empty())
    }

    /// Reports that `op` has started: a calc runs, a send is handed over, a receive is posted.
    /// Makes ready what waits for that.
    ///
    /// # Panics
    /// If `op` was not taken, or has started before.
    pub fn started(&mut self, op: OpId) {
        self.advance(op, OpState::Taken, OpState::Started);
        for i in 0..self.after_start.of(op).len() {
            self.meet(self.after_start.of(op)[i]);
        }
    }

    /// Reports that `op` has finished. Makes ready what waits for that.
    ///
    /// # Panics
    /// If `op` has not started, or has finished before.
    pub fn finished(&mut self, op: OpId) {
        self.advance(op, OpState::Started, OpState::Finished);
        self.unfinished -= 1;
        for i in 0..self.after_finish.of(op).len() {
            self.meet(self.after_finish.of(op)[i]);
        }
    }

    /// Whether every operation has finished.
    pub fn is_done(&self) -> bool {
        self.unfinished == 0
    }

    /// How many operations have not finished.
    pub fn unfinished(&self) -> usize {
        self.unfinished
    }

    fn advance(&mut self, op: OpId, from: OpState, to: OpState) {
        let state = &mut self.states[op.index()];
        assert!(
            *state == from,
            "rank {}: operation {} is {state:?}, so it cannot become {to:?}",
            self.program.rank(),
            op.0
        );
        *state = to;
    }

    /// One dependency of `op` holds now.
    fn meet(&mut self, op: OpId) {
        let unmet = &mut self.unmet[op.index()];
        *unmet -= 1;
        if *unmet == 0 {
            self.make_ready(op);
        }
    }

    fn make_ready(&mut self, op: OpId) {
        self.states[op.index()] = OpState::Ready;
        let cpu = self.program.op(op).cpu;
        let queue = self.cpus.binary_search(&cpu);
        let queue = queue.expect("`cpus` holds the processor of every operation");
        self.ready[queue].push_back(op);
    }
}
