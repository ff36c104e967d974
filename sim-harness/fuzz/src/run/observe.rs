// SPDX-License-Identifier: MIT OR Apache-2.0
//! Takes what the machine has done: memory writes, register answers, packets in reception FIFOs.

use std::collections::VecDeque;

use gyre_layout::registers::reception_fifo;
use gyre_layout::{HEADER_BYTES, Header};
use gyre_sim::MemoryWrite;

use super::{FuzzError, Pending, Purpose, REGISTER_BOUND, Runner};
use crate::map;
use crate::registers::{Answer, place};

impl Runner<'_> {
    /// Takes writes, answers and output levels of the machine.
    pub(super) fn look(&mut self) -> Result<(), FuzzError> {
        for write in self.machine.take_writes() {
            self.see(&write);
            if let Some(finding) = self.board.written(&write) {
                self.found(&finding.signature, finding.detail);
            }
        }
        for got in self.machine.take_answers() {
            let state = &mut self.nodes[got.node];
            let Some(pending) = state.pending[usize::from(got.port)].pop_front() else {
                continue;
            };
            state.answered = self.machine.cycles();
            let wrong = match pending.expect {
                Answer::Okay => got.refused,
                Answer::Refused => !got.refused,
                Answer::Either => false,
            };
            let how = if pending.write.is_some() {
                "write"
            } else {
                "read"
            };
            let at = place(pending.addr);
            let verdict = if got.refused { "SLVERR" } else { "OKAY" };
            self.cover(format!("register {how} {at}: {verdict}"));
            if wrong {
                let detail = format!(
                    "node {}, port {}, cycle {}: {how} of {:#x} ({:#x?}) answered {verdict}",
                    got.node, got.port, got.cycle, pending.addr, pending.write
                );
                self.found(&format!("register {how} of {at} answers {verdict}"), detail);
            }
            match pending.purpose {
                Purpose::Tail(fifo) if !got.refused => self.take(got.node, fifo, got.data),
                Purpose::Look if !got.refused => {
                    self.nodes[got.node].looks.insert(pending.addr, got.data);
                }
                _ => {}
            }
        }
        let now = self.machine.cycles();
        for number in 0..self.nodes.len() {
            for (cycle, levels) in self.machine.take_levels(number) {
                let state = &mut self.nodes[number];
                if levels >> 16 & 1 == 1 && state.irq.is_none() {
                    state.irq = Some(cycle);
                }
                self.cover(format!("outputs {levels:#x}"));
            }
            let state = &mut self.nodes[number];
            let waits = |queue: &VecDeque<Pending>| {
                let front = queue.front()?;
                let since = front.issued.max(state.answered);
                (now > since + REGISTER_BOUND).then_some((front.addr, since))
            };
            if let (false, Some((addr, since))) = (state.dead, state.pending.iter().find_map(waits))
            {
                state.dead = true;
                let text = format!(
                    "node {number}: access to {addr:#x} of cycle {since} without an answer in cycle {now}"
                );
                self.found("register access without an answer", text);
            }
        }
        Ok(())
    }

    /// Notes when the first packet of a message reaches a reception FIFO.
    pub(super) fn see(&mut self, write: &MemoryWrite) {
        let within = |ring: &map::Ring| (ring.base..ring.base + ring.bytes).contains(&write.line);
        if !map::RECEPTION.iter().any(within) {
            return;
        }
        let bytes: Vec<u8> = write
            .data
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        for (half, part) in bytes.chunks_exact(HEADER_BYTES).enumerate() {
            let whole = write.strobe >> (32 * half) & 0xffff_ffff == 0xffff_ffff;
            let header = <[u8; HEADER_BYTES]>::try_from(part).ok();
            let header = header.and_then(|bytes| Header::decode(&bytes).ok());
            if let (true, Some(header)) = (whole, header) {
                self.seen.entry(header.sw0.into()).or_insert(write.cycle);
            }
        }
    }

    /// Takes packets from a reception FIFO up to `tail`.
    pub(super) fn take(&mut self, node: usize, fifo: u16, tail: u64) {
        let Some(ring) = map::RECEPTION.iter().find(|ring| ring.fifo == fifo) else {
            return;
        };
        let mut head = self.nodes[node].heads.get(&fifo).copied().unwrap_or(0);
        if head == tail || self.board.wild {
            return;
        }
        if (tail.wrapping_sub(head) & 0xffff_ffff) > ring.bytes {
            // The FIFO was opened again since.
            if !self.board.weak {
                let text =
                    format!("node {node}, reception FIFO {fifo}: head {head:#x}, tail {tail:#x}");
                self.found("reception FIFO beyond its ring", text);
            }
            return;
        }
        // Writes withheld before a reset may land in the ring after it: nothing is read there.
        while head != tail && self.nodes[node].resets == 0 {
            let mut bytes = [0; HEADER_BYTES];
            self.read_ring(node, ring, head, &mut bytes);
            let Ok(header) = Header::decode(&bytes) else {
                let text =
                    format!("node {node}, reception FIFO {fifo}, head {head:#x}: {bytes:x?}");
                self.found("packet without a header", text);
                break;
            };
            let mut payload = vec![0; usize::from(header.len.min(512))];
            self.read_ring(node, ring, head + 32, &mut payload);
            let finding = self
                .board
                .received(node, fifo, &header, &payload, &self.topology);
            if let Some(finding) = finding {
                self.found(&finding.signature, finding.detail);
            }
            head = (head + 32 + u64::from(header.len).next_multiple_of(32)) & 0xffff_ffff;
        }
        self.nodes[node].heads.insert(fifo, tail);
        let expect = self.promised(Answer::Okay);
        self.write(
            node,
            map::reception(fifo, reception_fifo::HEAD),
            tail,
            expect,
        );
    }

    pub(super) fn read_ring(&self, node: usize, ring: &map::Ring, at: u64, out: &mut [u8]) {
        for (i, byte) in (0..).zip(out) {
            let offset = (at + i) % ring.bytes;
            self.machine
                .peek(node, ring.base + offset, std::slice::from_mut(byte));
        }
    }
}
