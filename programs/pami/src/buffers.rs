// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffers of collectives: parts of the program's memory, in repetitions of a type.

use std::ffi::{c_char, c_int};

use gyre_remote::windows::ALL_BYTES;

use crate::abi::Type;
use crate::failure::Failure;
use crate::reduction::bytes_of;

/// A number of repetitions or a displacement.
pub trait Count: Copy {
    /// Not negative.
    fn count(self) -> Result<usize, Failure>;

    /// Converts to the program's type.
    fn from_count(count: usize) -> Result<Self, Failure>;

    /// A list of the library's own, for [`Counts`].
    fn list(list: Vec<Self>) -> Counts;

    /// Wraps the address of a list of this type.
    fn address(list: &mut Counts) -> *mut Self;
}

/// A list of counts or displacements.
pub enum Counts {
    /// Of `size_t`.
    Size(Vec<usize>),
    /// Of `int`.
    Int(Vec<c_int>),
}

impl Count for usize {
    fn count(self) -> Result<usize, Failure> {
        Ok(self)
    }

    fn from_count(count: usize) -> Result<Self, Failure> {
        Ok(count)
    }

    fn list(list: Vec<Self>) -> Counts {
        Counts::Size(list)
    }

    fn address(list: &mut Counts) -> *mut Self {
        match list {
            Counts::Size(list) => list.as_mut_ptr(),
            Counts::Int(_) => std::ptr::null_mut(),
        }
    }
}

impl Count for c_int {
    fn count(self) -> Result<usize, Failure> {
        let count = usize::try_from(self);
        count.map_err(|_| Failure::invalid(format!("a count or displacement is {self}")))
    }

    fn from_count(count: usize) -> Result<Self, Failure> {
        let fits = Self::try_from(count);
        fits.map_err(|_| Failure::invalid(format!("{count} bytes are more than an int counts")))
    }

    fn list(list: Vec<Self>) -> Counts {
        Counts::Int(list)
    }

    fn address(list: &mut Counts) -> *mut Self {
        match list {
            Counts::Int(list) => list.as_mut_ptr(),
            Counts::Size(_) => std::ptr::null_mut(),
        }
    }
}

/// `count` repetitions of `bytes` bytes, no more than a task has.
pub fn product(count: usize, bytes: usize) -> Result<usize, Failure> {
    let product = count.checked_mul(bytes).filter(|&all| all <= ALL_BYTES);
    product.ok_or_else(|| Failure::invalid(format!("{count} times {bytes} bytes are too many")))
}

/// A part of the program's memory.
#[derive(Clone, Copy)]
pub struct Part {
    pub address: *mut u8,
    pub bytes: usize,
}

/// A buffer of the program, with type and repetitions.
pub type Typed<T> = (*mut c_char, Type, T);

impl Part {
    pub fn of<T: Count>((address, type_, count): Typed<T>) -> Result<Self, Failure> {
        Ok(Self {
            address: address.cast(),
            bytes: product(count.count()?, bytes_of(type_)?)?,
        })
    }

    /// `count` such parts, contiguous.
    pub fn times(self, count: usize) -> Result<Self, Failure> {
        Ok(Self {
            bytes: product(count, self.bytes)?,
            ..self
        })
    }

    /// Refuses a part of another length.
    pub fn expect(self, bytes: usize) -> Result<Self, Failure> {
        if self.bytes == bytes {
            return Ok(self);
        }
        let text = format!("{} bytes are received where {bytes} are sent", self.bytes);
        Err(Failure::invalid(text))
    }

    pub fn at(self, block: usize) -> *mut u8 {
        self.address.wrapping_add(block * self.bytes)
    }
}
