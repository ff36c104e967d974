// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks links, errors, flows, latency and memory when a case is over.

use std::collections::BTreeMap;

use gyre_layout::ErrorReason;
use gyre_layout::registers::flow_source::status::IN_USE;
use gyre_layout::registers::node::err_status::{COUNT as ERROR_COUNT, REASON, VALID};
use gyre_layout::registers::{
    self as reg, COLL, coll_network, flow_page, flow_source, flow_target, node, reception_fifo,
};

use super::{ERROR_TO_INTERRUPT, FuzzError, LATENCY_BOUND, Report, Runner};
use crate::case::Action;
use crate::map;
use crate::registers::Answer;

impl Runner<'_> {
    pub(super) fn state_changes(&self) -> Vec<Vec<u64>> {
        let ports = self.case.machine.torus_ports() + 3;
        let changes = |node, port| {
            let book = self.machine.link_book(node, port);
            book.map_or(0, |book| book.state_changes)
        };
        (0..self.nodes.len())
            .map(|node| (0..ports).map(|port| changes(node, port)).collect())
            .collect()
    }

    /// Checks that links are up, and that every credit is back where the link never went down.
    pub(super) fn check_links(&mut self, baseline: &[Vec<u64>]) {
        if self.board.wild || !self.drained {
            return;
        }
        // A reduction that lost a contribution holds the other contributions.
        let machine = &self.machine;
        let peek = |node, addr, out: &mut [u8]| machine.peek(node, addr, out);
        let reduced = self.board.reductions_landed(peek);
        let torus = self.case.machine.torus_ports();
        let after = self.state_changes();
        for number in 0..self.nodes.len() {
            for port in 0..if reduced { torus + 3 } else { torus } {
                let peer = match port < torus {
                    true => self.topology.neighbour(number, port),
                    false => self
                        .topology
                        .tree_neighbour(number, port - torus)
                        .map(|(peer, back)| (peer, torus + back)),
                };
                let Some((peer, back)) = peer else { continue };
                let (Some(mine), Some(its)) = (
                    self.machine.link_book(number, port),
                    self.machine.link_book(peer, back),
                ) else {
                    continue;
                };
                self.cover(format!("link state {}", mine.state()));
                let network = if port < torus { "torus" } else { "tree" };
                let steady = after[number][port] == baseline[number][port]
                    && after[peer][back] == baseline[peer][back];
                if !steady {
                    continue;
                }
                for channel in 0..gyre_sim::LINK_CHANNELS {
                    let (sent, back) = (mine.flits[channel], its.credits[channel]);
                    if sent == back {
                        continue;
                    }
                    let how = if sent > back { "lost" } else { "spurious" };
                    let text = format!(
                        "node {number}, port {port}, virtual channel {channel}: {sent} flits, {back} credits, link up all the time"
                    );
                    self.found(
                        &format!("credit {how} on a {network} link that stays up"),
                        text,
                    );
                }
            }
        }
    }

    /// Checks that no message waited too long.
    pub(super) fn check_latency(&mut self) {
        if self.board.weak || self.board.wild {
            return;
        }
        let waits = |action: &Action| match action {
            Action::WithholdMemory { cycles } | Action::StallMemory { cycles, .. } => {
                u64::from(*cycles)
            }
            _ => 0,
        };
        let slow: u64 = self.case.stimulus.iter().map(|s| waits(&s.action)).sum();
        for (id, posted) in std::mem::take(&mut self.posted) {
            let Some(&seen) = self.seen.get(&id) else {
                continue;
            };
            let octave = seen.saturating_sub(posted).max(1).ilog2();
            self.cover(format!("latency 2^{octave}"));
            if seen > posted + LATENCY_BOUND + slow {
                let text = format!(
                    "message {id}: posted in cycle {posted}, first packet in memory in cycle {seen}"
                );
                self.found("message waits longer than the bound", text);
            }
        }
    }

    pub(super) fn check_end(&mut self) -> Result<(), FuzzError> {
        let nodes = self.nodes.len();
        let done = COLL + coll_network::BARRIER_DONE;
        let flows = [
            reg::FLOW + flow_page::source(0) + flow_source::STATUS,
            reg::FLOW + flow_page::target(0) + flow_target::STATUS,
        ];
        if self.board.weak && !self.board.wild {
            self.force_flows()?;
        }
        let mut addrs = vec![node::ERR_STATUS, node::ERR_TIME, node::LINK_STATUS, done];
        addrs.extend(flows);
        addrs.extend(map::RECEPTION.map(|ring| map::reception(ring.fifo, reception_fifo::STATUS)));
        self.read_all(&vec![addrs; nodes])?;
        let hung = self
            .findings
            .iter()
            .any(|f| f.signature.starts_with("hang"));
        if self.board.wild {
            return Ok(());
        }
        let all_entered = self.nodes.iter().all(|state| state.entered);
        let looks: Vec<BTreeMap<u64, u64>> =
            self.nodes.iter().map(|state| state.looks.clone()).collect();
        let reported = looks.iter().any(|l| {
            l.get(&node::ERR_STATUS)
                .is_some_and(|s| ERROR_COUNT.is_set(*s))
        });
        for (number, looks) in looks.iter().enumerate() {
            let Some(&status) = looks.get(&node::ERR_STATUS) else {
                continue;
            };
            let (reason, count) = (REASON.get(status) as u8, ERROR_COUNT.get(status));
            if VALID.is_set(status) {
                self.reports.push(Report {
                    node: number,
                    reason,
                    cycle: looks.get(&node::ERR_TIME).copied().unwrap_or(u64::MAX),
                });
                self.cover(format!("error {reason:#04x} at node {number}"));
            }
            if let Some(&bits) = looks.get(&done)
                && !self.broken
            {
                let is_done = bits & 1 == 1;
                if is_done && !all_entered {
                    let text = format!("node {number}: barrier 0 is done");
                    self.found("barrier done before all have entered", text);
                }
                if !is_done && all_entered && !(self.board.weak && reported) {
                    let text = format!("node {number}: all have entered, no error is reported");
                    self.found("barrier never done", text);
                }
            }
            self.check_errors(number, status, reason, count, looks);
            if self.nodes.iter().any(|state| state.resets > 0) || hung {
                continue;
            }
            self.check_flows(number, looks, &flows);
        }
        let full = |looks: &BTreeMap<u64, u64>| {
            map::RECEPTION.iter().any(|ring| {
                let addr = map::reception(ring.fifo, reception_fifo::STATUS);
                looks
                    .get(&addr)
                    .is_none_or(|&status| reception_fifo::status::FULL.is_set(status))
            })
        };
        if !looks.iter().any(full) {
            self.check_latency();
        }
        self.close_flows(hung)?;
        let machine = &self.machine;
        let lost = self
            .board
            .lost(|node, addr, out| machine.peek(node, addr, out));
        self.lost = lost;
        if !hung {
            let machine = &self.machine;
            let missing = self
                .board
                .missing(|node, addr, out| machine.peek(node, addr, out));
            for finding in missing {
                self.found(&finding.signature, finding.detail);
            }
        }
        Ok(())
    }

    pub(super) fn check_errors(
        &mut self,
        number: usize,
        status: u64,
        reason: u8,
        count: u64,
        looks: &BTreeMap<u64, u64>,
    ) {
        let weak = self.board.weak;
        let expected = self.board.errors.get(&number).copied().unwrap_or(0);
        let words = |reason: u8| {
            ErrorReason::try_from(reason).map_or("unknown".to_owned(), |name| name.to_string())
        };
        if !weak && count < expected {
            let text = format!("node {number}: {count} errors counted, {expected} expected");
            self.found("error not recorded", text);
        }
        let allowed = self.board.reasons.get(&number);
        let known = allowed.is_some_and(|reasons| reasons.contains(&reason));
        if !weak && count > 0 && !known {
            let text = format!("node {number}: {reason:#04x} ({})", words(reason));
            self.found(&format!("error without a cause: {}", words(reason)), text);
        }
        let state = &self.nodes[number];
        if let (Some(&time), Some(irq), true) = (looks.get(&node::ERR_TIME), state.irq, count > 1)
            && VALID.is_set(status)
            && state.resets == 0
            && time + ERROR_TO_INTERRUPT > irq
        {
            let text = format!(
                "node {number}: error of cycle {time} recorded, but the interrupt came in cycle {irq}"
            );
            self.found("first error overwritten by a later one", text);
        }
    }

    pub(super) fn check_flows(
        &mut self,
        number: usize,
        looks: &BTreeMap<u64, u64>,
        flows: &[u64; 2],
    ) {
        for (addr, end) in flows.iter().zip(["source", "target"]) {
            if let Some(&status) = looks.get(addr) {
                self.cover(format!("flow {end} in use {}", IN_USE.get(status)));
                if IN_USE.is_set(status) {
                    let text = format!("node {number}: flow {end} 0, status {status:#x}");
                    self.found(&format!("flow {end} in use for ever"), text);
                }
            }
        }
    }

    /// Checks that every flow can be closed.
    pub(super) fn close_flows(&mut self, hung: bool) -> Result<(), FuzzError> {
        if hung || self.board.weak {
            return Ok(());
        }
        for number in 0..self.nodes.len() {
            for addr in [flow_page::source(0), flow_page::target(0)] {
                self.write(number, reg::FLOW + addr, 0, Answer::Okay);
            }
        }
        self.run_to(self.machine.cycles() + 64)
    }
}
