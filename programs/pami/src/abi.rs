// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types of `pami.h`, `pami_ext_torus.h` and `pami_ext_async_progress.h` in Rust, which `abi.py` makes from the headers; tests
//! compare them with C (`layout`).
//!
//! Values of enumerations come from C, so these are numbers with names. A structure of bit fields is one word, and [`Bits`] has the
//! place of each field in it.

mod generated;
#[cfg(test)]
mod layout;
mod primitives;

pub use generated::*;
pub use primitives::{Bits, Iovec};

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
