// SPDX-License-Identifier: MIT OR Apache-2.0
//! Base slots: windows of a node's memory, with rights.

use gyre_layout::Field;
use gyre_layout::registers::{base_slot, base_slot::ctrl};

/// The slot that covers all memory of a node.
pub const SLOT: u16 = 3;
/// Its base.
pub(crate) const SLOT_BASE: u64 = 0x8000;

/// Slots of a node.
const SLOTS: usize = 32;

/// Why a range of a slot cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// The slot is not valid, or grants too little.
    Slot,
    /// The range leaves the slot.
    Bounds,
}

/// A base slot, as its registers hold it.
#[derive(Default, Clone, Copy)]
struct Slot {
    base: u64,
    limit: u64,
    ctrl: u64,
}

/// The base slots of a node.
pub(crate) struct Slots([Slot; SLOTS]);

impl Slots {
    /// Slots of which one covers a memory of `memory` bytes from [`SLOT_BASE`] on, with all rights.
    pub fn new(memory: u64) -> Self {
        let mut slots = [Slot::default(); SLOTS];
        slots[usize::from(SLOT)] = Slot {
            base: SLOT_BASE,
            limit: memory - SLOT_BASE,
            ctrl: ctrl::VALID.put(1)
                | ctrl::READ.put(1)
                | ctrl::WRITE.put(1)
                | ctrl::ATOMIC.put(1)
                | ctrl::REMOTE_READ.put(1),
        };
        Self(slots)
    }

    /// Number of slots.
    pub fn count() -> u64 {
        SLOTS as u64
    }

    /// Gives the slot of all memory to `owner`.
    pub fn own(&mut self, owner: u8) {
        let slot = &mut self.0[usize::from(SLOT)];
        slot.ctrl = ctrl::OWNER.set(slot.ctrl, owner.into());
    }

    /// Owner of a slot.
    pub fn owner(&self, slot: u16) -> u64 {
        ctrl::OWNER.get(self.0[usize::from(slot)].ctrl)
    }

    /// Address in memory of a range of a slot that has all of `rights`.
    pub fn place(
        &self,
        slot: u16,
        offset: u64,
        bytes: usize,
        rights: &[Field],
    ) -> Result<usize, NoPlace> {
        let slot = self.0.get(usize::from(slot)).ok_or(NoPlace::Slot)?;
        if !ctrl::VALID.is_set(slot.ctrl) || rights.iter().any(|r| !r.is_set(slot.ctrl)) {
            return Err(NoPlace::Slot);
        }
        if offset + bytes as u64 > slot.limit {
            return Err(NoPlace::Bounds);
        }
        Ok((slot.base + offset) as usize)
    }

    /// Reads a register of a slot.
    pub fn read(&self, slot: usize, offset: u64) -> Option<u64> {
        let slot = self.0.get(slot)?;
        Some(match offset {
            base_slot::BASE => slot.base,
            base_slot::LIMIT => slot.limit,
            base_slot::CTRL => slot.ctrl,
            _ => return None,
        })
    }

    /// Writes a register of a slot.
    pub fn write(&mut self, slot: usize, offset: u64, value: u64) -> Option<()> {
        let slot = self.0.get_mut(slot)?;
        let register = match offset {
            base_slot::BASE => &mut slot.base,
            base_slot::LIMIT => &mut slot.limit,
            base_slot::CTRL => &mut slot.ctrl,
            _ => return None,
        };
        *register = value;
        Some(())
    }
}
