// SPDX-License-Identifier: MIT OR Apache-2.0
//! Disturbances by tests, without software and simulated time: memory that fails, stalls or withholds its answers,
//! disturbed links, resets, register accesses over both ports.

use std::ops::Range;

use super::{Machine, hardware_error};
use crate::disturbances::{AxiChannels, FlipTime, Forgery, LinkFault, WireFlip};
use crate::error::SimError;
use crate::record::Request;
use crate::software::Event;

impl Machine {
    /// Writes a node's memory, at no time.
    pub fn poke(&mut self, node: usize, addr: u64, data: &[u8]) {
        self.software.node(node).memory.write(addr, data);
    }

    /// Makes a node's memory answer accesses of the DMA engine to a byte range with a slave error.
    pub fn fail_memory(&mut self, node: usize, range: Range<u64>) {
        self.software.node(node).memory.add_error_range(range);
    }

    /// Makes all of a node's memory answer again.
    pub fn repair_memory(&mut self, node: usize) {
        self.software.node(node).memory.clear_error_ranges();
    }

    /// A node's memory answers requests accepted from now on in cycle `until` or later.
    pub fn withhold_memory(&mut self, node: usize, until: u64) {
        self.hardware.node(node).ports.axi.withheld_until = until;
    }

    /// Holds memory channels of a node's AXI master not ready for some cycles from now on.
    pub fn stall_axi(&mut self, node: usize, master: u8, channels: AxiChannels, cycles: u64) {
        let until = self.cycle + cycles;
        let ports = &mut self.hardware.node(node).ports;
        ports.input.stall(master, channels.mask(), until);
        self.hardware.look_at(node, self.cycle);
    }

    /// Asks for a register over a port (0 the host's, 1 the debugger's), now; see [`Machine::take_answers`]. Needs
    /// [`Machine::watch`].
    pub fn access_register(&mut self, node: usize, port: u8, addr: u64, write: Option<u64>) {
        let cycle = self.cycle;
        let request = Request {
            cycle,
            write: write.is_some(),
            addr,
            data: write.unwrap_or(0),
        };
        let ports = &mut self.hardware.node(node).ports;
        ports.input.register(port, &request);
        self.hardware.look_at(node, cycle);
    }

    /// Resets one node, now, for 4 cycles. Its memory stays, its accesses under way are dropped, and
    /// register accesses of software that were not answered fail.
    pub fn reset_node(&mut self, node: usize) -> Result<(), SimError> {
        let cycle = self.cycle;
        {
            let mut hard = self.hardware.node(node);
            let reset = hard.model.pin_mut().reset(cycle);
            reset.map_err(|error| hardware_error(node, cycle, &error))?;
            hard.ports.axi.reset();
            hard.ports.input.clear();
        }
        self.hardware.look_at(node, cycle);
        let now = cycle * self.config.cycle_ps;
        let soft = &mut *self.software.node(node);
        for response in soft.regs.reset() {
            soft.events.push(now, Event::RegisterResponse(response));
        }
        Ok(())
    }

    /// Disturbs one flit of a link.
    pub fn disturb_link(&mut self, fault: LinkFault) {
        self.hardware.node(fault.node).ports.faults.push(fault);
    }

    /// Flips wires for a cycle, unless another flip waits for its cycle at the port: a word is flipped once. Needs
    /// [`Machine::watch`].
    pub fn flip_wires(&mut self, flip: WireFlip) {
        self.hardware.node(flip.node).ports.tap.flip(flip);
        if let FlipTime::Cycle(cycle) = flip.time {
            let next = self.hardware.next_cycle(flip.node);
            self.hardware
                .look_at(flip.node, next.min(cycle.max(self.cycle)));
        }
    }

    /// Changes the header of a packet on a link. Needs [`Machine::watch`].
    pub fn forge(&mut self, forgery: Forgery) {
        self.hardware.node(forgery.node).ports.tap.forge(forgery);
    }
}
