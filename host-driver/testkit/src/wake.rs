// SPDX-License-Identifier: MIT OR Apache-2.0
//! The wake-up unit of a node: events that its hardware and software raise, by wake group.

use gyre_layout::registers::wake_group;

/// Wake groups of a node.
const GROUPS: usize = 16;

/// The wake groups of a node.
#[derive(Default)]
pub(crate) struct Wake {
    mask: [u64; GROUPS],
    cause: [u64; GROUPS],
    notified: [bool; GROUPS],
}

impl Wake {
    /// Raises events of the hardware.
    pub fn raise(&mut self, events: u64) {
        for group in 0..GROUPS {
            self.cause[group] |= events & self.mask[group];
        }
    }

    /// Signals a group from software.
    pub fn notify(&mut self, group: usize) {
        self.notified[group] = true;
    }

    /// Whether a group is signalled; takes the signal of software.
    pub fn take(&mut self, group: usize) -> bool {
        let signalled = self.is_signalled(group);
        self.notified[group] = false;
        signalled
    }

    /// Whether a group is signalled.
    pub fn is_signalled(&self, group: usize) -> bool {
        self.notified[group] || self.cause[group] != 0
    }

    /// Reads a register of a group.
    pub fn read(&self, group: usize, offset: u64) -> Option<u64> {
        match offset {
            wake_group::MASK => Some(self.mask[group]),
            wake_group::CAUSE => Some(self.cause[group]),
            _ => None,
        }
    }

    /// Writes a register of a group.
    pub fn write(&mut self, group: usize, offset: u64, value: u64) -> Option<()> {
        match offset {
            wake_group::MASK => self.mask[group] = value,
            wake_group::CAUSE => self.cause[group] &= !value,
            _ => return None,
        }
        Some(())
    }
}
