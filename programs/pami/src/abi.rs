//! Types of `pami.h`, `pami_ext_torus.h` and `pami_ext_async_progress.h` in Rust, which `abi.py` makes from the headers; tests
//! compare them with C (`layout`).
//!
//! Values of enumerations come from C, so these are numbers with names. A structure of bit fields is one word, and [`Bits`] has the
//! place of each field in it.

use std::ffi::{c_uint, c_void};

mod generated;
#[cfg(test)]
mod layout;

pub use generated::*;

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

impl Recv {
    /// Initial value; the program fills it in.
    pub const UNSAID: Self = Self {
        cookie: std::ptr::null_mut(),
        local_fn: None,
        addr: std::ptr::null_mut(),
        r#type: std::ptr::null_mut(),
        offset: 0,
        data_fn: None,
        data_cookie: std::ptr::null_mut(),
    };
}
