// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds the program of one rank, operation by operation.

use thiserror::Error;

use crate::program::{Dependency, Op, OpId, OpLists, RankProgram};

/// Operations that wait for each other, so that none can ever start.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("dependency cycle through {} operations", ops.len())]
pub struct Cycle {
    /// The cycle: each operation waits for the next one, the last for the first.
    pub ops: Vec<OpId>,
    /// The last source line that takes part in the cycle, from 1; 0 if built in memory.
    pub line: u32,
}

/// A dependency as it was stated.
#[derive(Debug, Clone, Copy)]
struct Edge {
    op: OpId,
    on: OpId,
    dependency: Dependency,
    line: u32,
}

/// Collects the operations and dependencies of one rank.
#[derive(Debug, Clone, Default)]
pub struct RankBuilder {
    rank: u32,
    ops: Vec<Op>,
    lines: Vec<u32>,
    edges: Vec<Edge>,
}

impl RankBuilder {
    /// An empty program for `rank`.
    pub fn new(rank: u32) -> Self {
        Self {
            rank,
            ..Self::default()
        }
    }

    /// Adds an operation that comes from no file.
    ///
    /// # Panics
    /// On more than 4,294,967,295 operations.
    pub fn op(&mut self, op: Op) -> OpId {
        self.op_at(op, 0)
    }

    /// Adds an operation that stands on `line` of its file.
    pub(crate) fn op_at(&mut self, op: Op, line: u32) -> OpId {
        let id = self.next_id();
        self.ops.push(op);
        self.lines.push(line);
        id
    }

    /// The number of the operation that is added next.
    pub(crate) fn next_id(&self) -> OpId {
        OpId(u32::try_from(self.ops.len()).expect("fewer than 2^32 operations a rank"))
    }

    /// Makes `op` wait for `on`. Stating a dependency twice is the same as stating it once.
    ///
    /// # Panics
    /// If either operation does not exist yet.
    pub fn depend(&mut self, op: OpId, dependency: Dependency, on: OpId) {
        self.depend_at(op, dependency, on, 0);
    }

    /// Like [`depend`](Self::depend), stated on `line` of the file.
    pub(crate) fn depend_at(&mut self, op: OpId, dependency: Dependency, on: OpId, line: u32) {
        assert!(
            op.index() < self.ops.len() && on.index() < self.ops.len(),
            "both operations of a dependency exist"
        );
        self.edges.push(Edge {
            op,
            on,
            dependency,
            line,
        });
    }

    /// Finishes the rank.
    ///
    /// # Errors
    /// [`Cycle`] if operations wait for each other, a self-dependency included.
    pub fn build(self) -> Result<RankProgram, Cycle> {
        let lists = |kind: Dependency| {
            let pairs = self.edges.iter().filter(|e| e.dependency == kind);
            OpLists::new(self.ops.len(), pairs.map(|e| (e.op, e.on)).collect())
        };
        let requires = lists(Dependency::Requires);
        let irequires = lists(Dependency::Irequires);
        if let Some(ops) = find_cycle(self.ops.len(), &requires, &irequires) {
            let line = self.last_line_of(&ops);
            return Err(Cycle { ops, line });
        }
        Ok(RankProgram {
            rank: self.rank,
            ops: self.ops,
            lines: self.lines,
            requires,
            irequires,
        })
    }

    /// The last line that states one of the dependencies of a cycle.
    fn last_line_of(&self, cycle: &[OpId]) -> u32 {
        let mut next_in_cycle = vec![None; self.ops.len()];
        for (i, op) in cycle.iter().enumerate() {
            next_in_cycle[op.index()] = Some(cycle[(i + 1) % cycle.len()]);
        }
        let in_cycle = |e: &&Edge| next_in_cycle[e.op.index()] == Some(e.on);
        let lines = self.edges.iter().filter(in_cycle).map(|e| e.line);
        lines.max().unwrap_or(0)
    }
}

/// Looks for operations that can never start. Both kinds of dependency count: an operation
/// starts before it finishes, so a cycle through either kind never ends.
fn find_cycle(ops: usize, requires: &OpLists, irequires: &OpLists) -> Option<Vec<OpId>> {
    let (after_finish, after_start) = (requires.reversed(), irequires.reversed());
    let awaited = |op: OpId| requires.of(op).iter().chain(irequires.of(op)).copied();
    let ids = || (0..ops as u32).map(OpId);
    let mut waits: Vec<u32> = ids().map(|op| awaited(op).count() as u32).collect();
    let mut free: Vec<OpId> = ids().filter(|op| waits[op.index()] == 0).collect();
    while let Some(op) = free.pop() {
        for &dependent in after_finish.of(op).iter().chain(after_start.of(op)) {
            waits[dependent.index()] -= 1;
            if waits[dependent.index()] == 0 {
                free.push(dependent);
            }
        }
    }
    // Every operation that is left waits for another one that is left, so following those leads
    // into a cycle.
    let mut op = ids().find(|op| waits[op.index()] > 0)?;
    let mut seen_at = vec![None; ops];
    let mut path = Vec::new();
    loop {
        if let Some(start) = seen_at[op.index()] {
            return Some(path.split_off(start));
        }
        seen_at[op.index()] = Some(path.len());
        path.push(op);
        op = awaited(op).find(|on| waits[on.index()] > 0)?;
    }
}
