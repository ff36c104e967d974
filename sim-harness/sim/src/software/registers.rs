// SPDX-License-Identifier: MIT OR Apache-2.0
//! Software's accesses to the registers of its node.

use std::rc::Rc;

use gyre_firmware::RegisterAccess;

use super::actor::ActorState;
use super::cpu::Cpu;
use super::register_bus::Pending;
use super::wait::{Signal, Wait};
use crate::error::BusError;
use crate::record::Request;

impl Cpu {
    /// Reads a register: the time to the node, of its bus, and back. Fails on a slave error, of this
    /// read or of a posted write before it.
    pub fn read_reg(&self, addr: u64) -> Result<u64, BusError> {
        let actor = self.access(addr)?;
        let ticket = actor.new_ticket();
        self.issue(&actor, addr, None, Some(ticket));
        let signal = actor.suspend(Wait::Read { addr });
        take_posted_error(&actor)?;
        match signal {
            Signal::Value(value) => value,
            Signal::Go | Signal::By(_) | Signal::Deadline => Err(BusError::Reset { addr }),
        }
    }

    /// Writes a register. Posted: costs the actor no waiting, arrives in order with its other
    /// accesses. A slave error surfaces at the next read or fence.
    pub fn write_reg(&self, addr: u64, value: u64) -> Result<(), BusError> {
        let actor = self.access(addr)?;
        actor.posted.set(actor.posted.get() + 1);
        self.issue(&actor, addr, Some(value), None);
        Ok(())
    }

    /// Waits until all of the actor's posted writes are answered, and reports the first refused one.
    pub fn fence(&self) -> Result<(), BusError> {
        let Some(actor) = self.actor() else {
            return Ok(());
        };
        if actor.posted.get() > 0 {
            actor.new_ticket();
            actor.suspend(Wait::Fence);
        }
        take_posted_error(&actor)
    }

    fn access(&self, addr: u64) -> Result<Rc<ActorState>, BusError> {
        if !addr.is_multiple_of(8) || addr >> 24 != 0 {
            return Err(BusError::Address { addr });
        }
        self.synced().ok_or(BusError::Reset { addr })
    }

    fn issue(&self, actor: &ActorState, addr: u64, write: Option<u64>, ticket: Option<u64>) {
        let issued = actor.local_ps.get().div_ceil(self.shared.cycle_ps);
        let request = Request {
            cycle: issued + self.shared.reg_latency,
            write: write.is_some(),
            addr,
            data: write.unwrap_or(0),
        };
        let pending = Pending {
            actor: actor.id,
            ticket,
            addr,
        };
        let mut node = self.shared.nodes[self.node].borrow_mut();
        node.regs.issue(request, pending);
    }
}

impl RegisterAccess for Cpu {
    type Error = BusError;

    fn read(&mut self, address: u64) -> Result<u64, BusError> {
        self.read_reg(address)
    }

    fn write(&mut self, address: u64, value: u64) -> Result<(), BusError> {
        self.write_reg(address, value)
    }
}

fn take_posted_error(actor: &ActorState) -> Result<(), BusError> {
    actor.posted_error.take().map_or(Ok(()), Err)
}
