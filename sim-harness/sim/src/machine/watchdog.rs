// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines that stand still: when they are stopped, and the report of who waits for what.

use super::Machine;
use crate::error::SimError;
use crate::probe;
use crate::report::Until;
use crate::stall::{StallReport, StalledNode};

/// Nodes whose registers a report reads.
const REPORTED_NODES: usize = 32;

impl Machine {
    /// Stops a machine that does nothing useful for too long, before it runs on from its cycle.
    pub(super) fn check_progress(&mut self, until: Until) -> Result<(), SimError> {
        let useful_ps = self.software.progress_ps();
        self.progress
            .note(useful_ps.map(|ps| ps / self.config.cycle_ps));
        let ended = self.progress.enter(self.cycle);
        if !ended || self.config.watchdog == 0 || self.progress.idle < self.config.watchdog {
            return Ok(());
        }
        // Without software it is for the caller to say how long hardware may wait, or that it must not.
        let unattended = self.software.all_ended() && until != Until::Quiet;
        // A computation is progress, however long it takes.
        if self.software.is_computing() || unattended {
            self.progress.idle = 0;
            return Ok(());
        }
        Err(SimError::Watchdog {
            cycles: self.progress.idle,
            report: Box::new(self.stall_report()),
        })
    }

    /// Lists waiting actors and nodes. Reads registers through the debug port, after which the machine cannot go on.
    pub(super) fn stall_report(&mut self) -> StallReport {
        self.stopped = true;
        let actors = self.software.stalled();
        let involved: Vec<usize> = (0..self.hardware.len())
            .filter(|&node| {
                !self.hardware.node(node).ports.quiet
                    || actors.iter().any(|actor| actor.node == node)
            })
            .take(REPORTED_NODES)
            .collect();
        let nodes = involved
            .into_iter()
            .filter_map(|node| self.stalled_node(node))
            .collect();
        let useful_ps = self.software.progress_ps();
        self.progress
            .note(useful_ps.map(|ps| ps / self.config.cycle_ps));
        StallReport {
            cycle: self.cycle,
            last_progress: self.progress.last.unwrap_or(0),
            actors,
            nodes,
        }
    }

    /// Work that a node has left; `None` if it is idle.
    fn stalled_node(&mut self, index: usize) -> Option<StalledNode> {
        let registers = probe::busy_registers(&self.hardware, &mut self.links, index, self.cycle);
        let ports = &self.hardware.node(index).ports;
        let stalled = StalledNode {
            node: index,
            idle: ports.quiet,
            reads_open: ports.axi.reads_open,
            writes_open: ports.axi.writes_open,
            registers,
        };
        let busy = !stalled.idle || stalled.reads_open + stalled.writes_open > 0;
        (busy || !stalled.registers.is_empty()).then_some(stalled)
    }
}
