// SPDX-License-Identifier: MIT OR Apache-2.0
//! DMA memory of the double.

use gyre_driver::{AllocError, DmaBuffer, RangeError};

use crate::double::Double;
use crate::node::MEMORY;
use crate::segment::range;
use crate::slots::{SLOT, SLOT_BASE};

/// Contents of freed memory.
const FREED: u8 = 0xdd;

/// Memory of a node of the double.
pub struct Memory {
    machine: Double,
    node: usize,
    address: u64,
    len: usize,
    slot: u16,
}

impl Memory {
    /// Memory of a node that has never been allocated.
    pub(crate) fn alloc(
        machine: &Double,
        node: usize,
        bytes: usize,
        align: usize,
    ) -> Result<Self, AllocError> {
        let mut state = machine.state();
        let of = &mut state.nodes[node];
        let address = of.next.next_multiple_of(align as u64);
        let end = address + bytes as u64;
        if end > MEMORY as u64 {
            return Err(AllocError {
                bytes,
                align,
                reason: format!("{MEMORY} bytes used up"),
            });
        }
        of.next = end;
        of.allocated += bytes;
        of.memory[address as usize..end as usize].fill(0);
        Ok(Self {
            machine: machine.clone(),
            node,
            address,
            len: bytes,
            slot: SLOT,
        })
    }

    /// The same memory, which claims to be in another slot.
    pub(crate) fn in_slot(mut self, slot: u16) -> Self {
        self.slot = slot;
        self
    }

    /// Address in the node's memory of a range.
    fn at(&self, offset: usize, bytes: usize) -> Result<usize, RangeError> {
        Ok(self.address as usize + range(self.len, offset, bytes)?.start)
    }
}

impl DmaBuffer for Memory {
    fn len(&self) -> usize {
        self.len
    }

    fn slot(&self) -> u16 {
        self.slot
    }

    fn offset(&self) -> u64 {
        self.address - SLOT_BASE
    }

    fn address(&self) -> u64 {
        self.address
    }

    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        let at = self.at(offset, out.len())?;
        let state = self.machine.state();
        out.copy_from_slice(&state.nodes[self.node].memory[at..at + out.len()]);
        Ok(())
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        let at = self.at(offset, data.len())?;
        let mut state = self.machine.state();
        state.nodes[self.node].memory[at..at + data.len()].copy_from_slice(data);
        Ok(())
    }
}

impl Drop for Memory {
    /// Overwrites freed memory, which exposes a DMA engine that still reads it.
    fn drop(&mut self) {
        let mut state = self.machine.state();
        let at = self.address as usize;
        let node = &mut state.nodes[self.node];
        node.memory[at..at + self.len].fill(FREED);
        node.allocated -= self.len;
    }
}
