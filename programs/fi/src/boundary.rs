// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boundary of the functions in libfabric's tables.

use gyre_driver::Error;

use crate::steps::Inside;

/// Refusal of a function: libfabric's error number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal(pub i32);

impl Refusal {
    /// Invalid argument.
    pub const INVALID: Self = Self(libc::EINVAL);
    /// Nothing is available now.
    pub const AGAIN: Self = Self(libc::EAGAIN);
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        eprintln!("libgyre-fi: {error}");
        Self(match error {
            Error::Alloc(_) | Error::Segment(_) => libc::ENOMEM,
            Error::UnknownTask { .. } | Error::UnknownContext { .. } => libc::EINVAL,
            _ => libc::EIO,
        })
    }
}

impl From<gyre_collectives::Error> for Refusal {
    fn from(error: gyre_collectives::Error) -> Self {
        eprintln!("libgyre-fi: {error}");
        Self(libc::EIO)
    }
}

/// Runs the body of a function: time passes in the library meanwhile.
fn entered<T>(body: impl FnOnce() -> T) -> T {
    gyre_interpose::boundary::value(|| {
        let _inside = Inside::begin();
        body()
    })
}

/// Runs the body of a function that returns 0 or a negative error.
pub fn status(body: impl FnOnce() -> Result<(), Refusal>) -> i32 {
    match entered(body) {
        Ok(()) => 0,
        Err(Refusal(error)) => -error,
    }
}

/// Runs the body of a function that returns a count or a negative error.
pub fn count(body: impl FnOnce() -> Result<usize, Refusal>) -> isize {
    match entered(body) {
        // A count of things in memory.
        Ok(count) => count as isize,
        Err(Refusal(error)) => -(error as isize),
    }
}

/// Runs the body of a function that returns 0 as a count, or a negative error.
pub fn size(body: impl FnOnce() -> Result<(), Refusal>) -> isize {
    count(|| body().map(|()| 0))
}
