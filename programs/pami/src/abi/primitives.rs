// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bit fields, and a structure of the system.

use std::ffi::{c_uint, c_void};

/// A bit field: `width` bits of a word from bit `shift` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// Its lowest bit.
    pub shift: u32,
    /// Its bits.
    pub width: u32,
}

impl Bits {
    /// The field's bits in the word.
    pub const fn mask(self) -> c_uint {
        ((1 << self.width) - 1) << self.shift
    }

    /// The field's value in `word`.
    pub const fn get(self, word: c_uint) -> c_uint {
        (word & self.mask()) >> self.shift
    }

    /// `word` with the field set to the low bits of `value`.
    pub const fn set(self, word: c_uint, value: c_uint) -> c_uint {
        (word & !self.mask()) | ((value << self.shift) & self.mask())
    }
}

/// A range of bytes. C: `struct iovec`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Iovec {
    /// First byte.
    pub iov_base: *mut c_void,
    /// Number of bytes.
    pub iov_len: usize,
}
