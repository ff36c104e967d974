// SPDX-License-Identifier: MIT OR Apache-2.0
//! A reception FIFO: a ring of packets of messages.

use gyre_layout::registers::reception_fifo as register;

/// A reception FIFO, as its registers hold it.
#[derive(Default)]
pub(crate) struct Reception {
    base: u64,
    size: u64,
    head: u32,
    tail: u32,
    ctrl: u64,
    threshold: u64,
    pub halted: bool,
    /// Writes of HEAD so far.
    pub head_writes: u64,
}

impl Reception {
    /// Whether it takes packets.
    pub fn is_open(&self) -> bool {
        register::ctrl::ENABLE.is_set(self.ctrl)
    }

    /// Whether it holds a packet.
    pub fn has_data(&self) -> bool {
        self.head != self.tail
    }

    /// Whether `bytes` bytes of packets fit.
    pub fn has_room(&self, bytes: usize) -> bool {
        let level = self.tail.wrapping_sub(self.head) as usize;
        !self.halted && level + bytes <= self.size as usize
    }

    /// Puts the bytes of a packet into the ring, which is in `memory`.
    pub fn push(&mut self, memory: &mut [u8], bytes: &[u8]) {
        for &byte in bytes {
            memory[(self.base + u64::from(self.tail) % self.size) as usize] = byte;
            self.tail = self.tail.wrapping_add(1);
        }
    }

    /// Reads a register.
    pub fn read(&self, offset: u64) -> Option<u64> {
        Some(match offset {
            register::BASE => self.base,
            register::SIZE => self.size,
            register::HEAD => u64::from(self.head),
            register::TAIL => u64::from(self.tail),
            register::CTRL => self.ctrl,
            register::THRESHOLD => self.threshold,
            register::STATUS => register::status::HALTED.put(self.halted.into()),
            _ => return None,
        })
    }

    /// Writes a register.
    pub fn write(&mut self, offset: u64, value: u64) -> Option<()> {
        match offset {
            register::BASE => self.base = value,
            register::SIZE => self.size = value,
            register::THRESHOLD => self.threshold = value,
            register::HEAD => {
                let step = (value as u32).wrapping_sub(self.head);
                if step > self.tail.wrapping_sub(self.head) {
                    return None;
                }
                self.head = value as u32;
                self.head_writes += 1;
            }
            register::CTRL => {
                if register::ctrl::ENABLE.is_set(value & !self.ctrl) {
                    (self.head, self.tail) = (0, 0);
                }
                self.ctrl = value;
            }
            _ => return None,
        }
        Some(())
    }
}
