// SPDX-License-Identifier: MIT OR Apache-2.0
//! An injection FIFO: a ring of descriptors that a node carries out.

use gyre_layout::registers::injection_fifo as register;
use gyre_layout::{DESCRIPTOR_BYTES, Descriptor, ErrorReason};

/// An injection FIFO, as its registers hold it.
#[derive(Default)]
pub(crate) struct Injection {
    base: u64,
    size: u64,
    pub head: u32,
    pub tail: u32,
    pub ctrl: u64,
    pub halted: Option<ErrorReason>,
    /// The descriptor at HEAD, and how many bytes of it have been sent.
    pub sent: Option<(Descriptor, usize)>,
}

impl Injection {
    /// Whether it is enabled.
    pub fn is_open(&self) -> bool {
        register::ctrl::ENABLE.is_set(self.ctrl)
    }

    /// Whether it has a descriptor to carry out.
    pub fn is_ready(&self) -> bool {
        self.is_open() && self.halted.is_none() && (self.head != self.tail || self.sent.is_some())
    }

    /// Whether it takes descriptors from other nodes.
    pub fn takes_remote_gets(&self) -> bool {
        self.is_open() && register::ctrl::REMOTE_GET.is_set(self.ctrl)
    }

    /// Whether `bytes` bytes of descriptors from other nodes fit.
    pub fn has_room(&self, bytes: usize) -> bool {
        let level = self.tail.wrapping_sub(self.head) as usize;
        self.halted.is_none() && level + bytes <= self.size as usize
    }

    /// Address in memory of a position in the ring.
    pub fn address(&self, position: u32) -> usize {
        (self.base + u64::from(position) % self.size) as usize
    }

    /// Goes on to the next descriptor.
    pub fn retire(&mut self) {
        self.head = self.head.wrapping_add(DESCRIPTOR_BYTES as u32);
    }

    /// Reads a register.
    pub fn read(&self, offset: u64) -> Option<u64> {
        let reason = self.halted.map_or(0, |reason| u64::from(u8::from(reason)));
        Some(match offset {
            register::BASE => self.base,
            register::SIZE => self.size,
            register::HEAD => u64::from(self.head),
            register::TAIL => u64::from(self.tail),
            register::CTRL => self.ctrl,
            register::STATUS => {
                register::status::HALTED.put(self.halted.is_some().into())
                    | register::status::REASON.put(reason)
            }
            _ => return None,
        })
    }

    /// Writes a register.
    pub fn write(&mut self, offset: u64, value: u64) -> Option<()> {
        match offset {
            register::BASE => self.base = value,
            register::SIZE => self.size = value,
            register::TAIL => {
                let level = (value as u32).wrapping_sub(self.head);
                assert!(u64::from(level) <= self.size, "ring overrun");
                self.tail = value as u32;
            }
            register::CTRL => {
                if register::ctrl::ENABLE.is_set(value & !self.ctrl) {
                    (self.head, self.tail) = (0, 0);
                }
                self.ctrl = value;
            }
            register::STATUS => {
                if register::status::HALTED.is_set(value) && self.halted.take().is_some() {
                    self.retire();
                }
            }
            _ => return None,
        }
        Some(())
    }
}
