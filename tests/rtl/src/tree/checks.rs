// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of a network that has nothing left to do.

use std::collections::VecDeque;

use super::{CLASSES, Node, ROUTES, Tree, Trouble, Wire};
use crate::packet::Assembler;

impl Tree {
    /// Whether every node says that it is idle and nothing is on a wire.
    pub fn quiet(&self) -> bool {
        let silent = |wire: &Wire| wire.word.ctl & !(1 << 31 | 3) == 0 && wire.bar == 0;
        let idle = |node: &Node| node.unit.get(self.ports.idle, 0) != 0;
        self.nodes.iter().all(idle) && self.wires.iter().flatten().flatten().all(silent)
    }

    /// Whether all is quiet and nothing is to be injected.
    pub fn idle(&self) -> bool {
        let injected = |node: &Node| node.queues.iter().all(VecDeque::is_empty);
        self.quiet() && self.nodes.iter().all(injected)
    }

    /// Runs until every packet has come out, then until all is idle, and checks that idle nodes stay as
    /// they are. No error may have been reported.
    ///
    /// # Errors
    /// [`Trouble`], above all [`Trouble::Stuck`] after `limit` cycles.
    pub fn drain(&mut self, limit: u64) -> Result<(), Trouble> {
        let end = self.cycle + limit;
        while !self.book.outstanding().is_empty() {
            if self.cycle >= end {
                return Err(Trouble::Stuck(self.cycle, self.book.outstanding()));
            }
            self.run(16)?;
        }
        if let Some(&report) = self.reports.first() {
            return Err(Trouble::Report(report));
        }
        self.settle(200)
    }

    /// Runs until all is idle, at most `limit` cycles, and checks that idle nodes stay as they are and
    /// have given back all credits.
    ///
    /// # Errors
    /// [`Trouble::Idle`] if not.
    pub fn settle(&mut self, limit: u64) -> Result<(), Trouble> {
        for _ in 0..limit {
            if self.idle() {
                break;
            }
            self.step()?;
        }
        self.stays_idle()?;
        for (index, node) in self.nodes.iter().enumerate() {
            if node.credits != [self.config.depth; ROUTES] {
                return Err(Trouble::Idle(self.cycle, index, "kept injection credits"));
            }
            if node.assemblers.iter().any(Assembler::is_open) {
                return Err(Trouble::Idle(
                    self.cycle,
                    index,
                    "left a packet without tail",
                ));
            }
        }
        let flits: u64 = self.used.values().map(|used| used.flits).sum();
        if self.counted != flits {
            return Err(Trouble::Idle(
                self.cycle,
                0,
                "performance outputs count wrong",
            ));
        }
        Ok(())
    }

    /// Checks that nodes that say they are idle stay as they are: no register changes.
    ///
    /// # Errors
    /// [`Trouble::Idle`] if not.
    pub fn stays_idle(&mut self) -> Result<(), Trouble> {
        let eject = std::mem::replace(&mut self.eject, [1.0; CLASSES]);
        let mut states = Vec::new();
        for cycle in 0..2 * self.config.latency + 24 {
            if !self.quiet() {
                return Err(Trouble::Idle(self.cycle, 0, "not all are idle"));
            }
            self.step()?;
            let now: Vec<u64> = self.nodes.iter().map(|node| node.unit.state()).collect();
            let changed = now
                .iter()
                .zip(&states)
                .position(|(now, before)| now != before);
            // The inputs of the first cycle may differ from those before.
            if let Some(node) = changed.filter(|_| cycle > 0) {
                return Err(Trouble::Idle(self.cycle, node, "changes while idle"));
            }
            states = now;
        }
        self.eject = eject;
        Ok(())
    }
}
