// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits for the end of all work, and restarts what an error has halted.

use gyre_layout::ErrorReason;
use gyre_layout::registers::{
    self as reg, flow_page, flow_source, injection_fifo, node, reception_fifo,
};

use super::{DRAIN_BOUND, FuzzError, NodeState, Purpose, REGISTER_BOUND, Runner, nameless};
use crate::case::Action;
use crate::map;
use crate::registers::Answer;

impl Runner<'_> {
    /// Reads registers of a node; those that did not answer in time are absent.
    pub(super) fn read_all(&mut self, addrs: &[Vec<u64>]) -> Result<(), FuzzError> {
        for (number, list) in addrs.iter().enumerate() {
            self.nodes[number].looks.clear();
            for &addr in list {
                self.access(number, 0, addr, None, Answer::Either, Purpose::Look);
            }
        }
        let most = addrs.iter().map(Vec::len).max().unwrap_or(0) as u64;
        let waits = |state: &NodeState| !state.dead && !state.pending[0].is_empty();
        for _ in 0..most + REGISTER_BOUND / 64 + 2 {
            if !self.nodes.iter().any(waits) {
                break;
            }
            self.run_to(self.machine.cycles() + 64)?;
        }
        Ok(())
    }

    /// Waits until all work is done; restarts FIFOs that an error has halted.
    pub(super) fn drain(&mut self) -> Result<(), FuzzError> {
        let nodes = self.nodes.len();
        for number in 0..nodes {
            self.machine.repair_memory(number);
        }
        // Withheld answers of memory come at the end.
        let held = |action: &Action| match action {
            Action::WithholdMemory { cycles } => u64::from(*cycles),
            _ => 0,
        };
        let held = self
            .case
            .stimulus
            .iter()
            .map(|s| u64::from(s.cycle) + held(&s.action))
            .max();
        let answers = self.started + held.unwrap_or(0);
        for number in 0..nodes {
            self.machine.withhold_memory(number, 0);
        }
        let bytes = |action: &Action| match action {
            Action::Send(send) => u64::from(send.length.min(0x1_0000)),
            _ => 0,
        };
        let bytes: u64 = self.case.stimulus.iter().map(|s| bytes(&s.action)).sum();
        let mut bound = answers.max(self.machine.cycles()) + DRAIN_BOUND + bytes;
        let mut forced = false;
        let fifos: Vec<u16> = (0..4).chain([map::REMOTE.fifo]).collect();
        let mut pause = 128;
        let mut calm = 0;
        let mut stands = String::new();
        while self.machine.cycles() < bound {
            self.run_to(self.machine.cycles() + pause)?;
            pause = (pause * 2).min(4_096);
            let mut addrs = vec![node::STATUS];
            addrs.extend(
                fifos
                    .iter()
                    .map(|&f| map::injection(f, injection_fifo::STATUS)),
            );
            for ring in map::RECEPTION {
                addrs.push(map::reception(ring.fifo, reception_fifo::TAIL));
                addrs.push(map::reception(ring.fifo, reception_fifo::STATUS));
            }
            self.read_all(&vec![addrs; nodes])?;
            stands.clear();
            for number in 0..nodes {
                self.tend(number, &fifos, &mut stands);
            }
            calm = if stands.is_empty() { calm + 1 } else { 0 };
            if calm == 2 {
                self.drained = true;
                return Ok(());
            }
            if calm == 1 {
                pause = 64;
            }
            // Closing a flow releases packets that wait for a lost one.
            if self.machine.cycles() >= bound && self.board.weak && !forced {
                forced = true;
                self.force_flows()?;
                bound = self.machine.cycles() + DRAIN_BOUND / 2;
                // Packets behind the flow come now; software polls as often as before.
                pause = 128;
            }
        }
        // A reduction that lost a contribution waits for it.
        let excused = self.board.wild || (self.board.weak && self.reduced > 0);
        if !stands.is_empty() && !excused {
            let status = reg::FLOW + flow_page::source(0) + flow_source::STATUS;
            self.read_all(&vec![vec![status]; nodes])?;
            use flow_source::status::IN_USE;
            let in_use =
                |state: &NodeState| state.looks.get(&status).is_some_and(|&s| IN_USE.is_set(s));
            let reset = self.nodes.iter().any(|state| state.resets > 0);
            if self.board.weak && self.nodes.iter().any(in_use) {
                // The two ends of a flow do not agree after a reset of one, until software opens both anew.
                if reset {
                    return Ok(());
                }
                self.found(
                    "hang: a flow that lost a packet holds its injection FIFO",
                    stands,
                );
                return Ok(());
            }
            let kind = stands.split(';').next().unwrap_or_default();
            let kind = kind.split(": ").nth(1).unwrap_or(kind);
            self.found(&format!("hang: {}", nameless(kind)), stands);
        }
        Ok(())
    }

    /// Does software's part at a node, and lists stalled parts.
    pub(super) fn tend(&mut self, number: usize, fifos: &[u16], stands: &mut String) {
        use std::fmt::Write;
        let looks = std::mem::take(&mut self.nodes[number].looks);
        if self.nodes[number].dead {
            return;
        }
        let mut say = |text: std::fmt::Arguments<'_>| {
            // Writing to a string cannot fail.
            let _ = write!(stands, "node {number}: {text}; ");
        };
        for &fifo in fifos {
            let addr = map::injection(fifo, injection_fifo::STATUS);
            let Some(&status) = looks.get(&addr) else {
                continue;
            };
            let reason = injection_fifo::status::REASON.get(status);
            self.cover(format!("injection {fifo} status {status:#x}"));
            let remote = fifo == map::REMOTE.fifo;
            if injection_fifo::status::HALTED.is_set(status) {
                say(format_args!("injection FIFO {fifo} halted again and again"));
                if reason == u64::from(u8::from(ErrorReason::Write)) {
                    let ctrl = map::injection(fifo, injection_fifo::CTRL);
                    self.write(number, ctrl, 0, Answer::Either);
                    let open = map::injection_ctrl(remote);
                    self.write(number, ctrl, open, Answer::Either);
                } else {
                    self.write(number, addr, 1, Answer::Either);
                }
            } else if !injection_fifo::status::EMPTY.is_set(status) {
                let kind = if remote { "remote-get" } else { "software" };
                say(format_args!(
                    "injection FIFO {fifo} ({kind}) holds work and does not run"
                ));
            }
        }
        for ring in map::RECEPTION {
            let addr = map::reception(ring.fifo, reception_fifo::TAIL);
            if let Some(&tail) = looks.get(&addr) {
                let head = self.nodes[number].heads.get(&ring.fifo).copied();
                if head.unwrap_or(0) != tail && !self.board.wild {
                    say(format_args!(
                        "reception FIFO {} filled again and again",
                        ring.fifo
                    ));
                    self.take(number, ring.fifo, tail);
                }
            }
            let addr = map::reception(ring.fifo, reception_fifo::STATUS);
            if let Some(&status) = looks.get(&addr) {
                self.cover(format!("reception {} status {status:#x}", ring.fifo));
                if reception_fifo::status::HALTED.is_set(status) {
                    say(format_args!("reception FIFO {} halted", ring.fifo));
                    let ctrl = map::reception(ring.fifo, reception_fifo::CTRL);
                    self.write(number, ctrl, map::reception_ctrl(), Answer::Either);
                    self.nodes[number].heads.insert(ring.fifo, 0);
                }
            }
        }
        if let Some(&status) = looks.get(&node::STATUS) {
            self.cover(format!("status {status:#x}"));
            if !node::status::IDLE.is_set(status) {
                say(format_args!("never idle, status {status:#x}"));
            }
        }
    }

    /// Closes every flow, in use or not.
    pub(super) fn force_flows(&mut self) -> Result<(), FuzzError> {
        for number in 0..self.nodes.len() {
            let expect = match self.nodes[number].resets > 0 || self.board.wild {
                true => Answer::Either,
                false => Answer::Okay,
            };
            for addr in [flow_page::source(0), flow_page::target(0)] {
                let force = flow_source::ctrl::FORCE.put(1);
                self.write(number, reg::FLOW + addr, force, expect);
            }
        }
        self.run_to(self.machine.cycles() + 1_024)
    }
}
