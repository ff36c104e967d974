// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data of a send: pieces of the program's memory.

use std::ffi::c_void;

use gyre_driver::{Op, Platform as _};
use gyre_interpose::Staging;

use crate::abi::Iovec;
use crate::boundary::Refusal;
use crate::destination::Piece;
use crate::port::Port;

/// Most pieces of an operation.
pub const MOST_PIECES: usize = 8;

/// Pieces from the program, without empty ones.
///
/// # Safety
/// `pieces` points to `count` of them.
unsafe fn pieces(pieces: *const Iovec, count: usize) -> Result<Vec<Piece>, Refusal> {
    if count > MOST_PIECES || (count > 0 && pieces.is_null()) {
        return Err(Refusal::INVALID);
    }
    // SAFETY: what the caller promises.
    let all = (0..count).map(|place| unsafe { pieces.add(place).read() });
    let all = all.filter(|piece| piece.len > 0);
    all.map(|piece| one(piece.base, piece.len)).collect()
}

fn one(memory: *const c_void, bytes: usize) -> Result<Piece, Refusal> {
    if memory.is_null() {
        return Err(Refusal::INVALID);
    }
    Ok(Piece {
        address: memory as usize,
        bytes,
    })
}

/// Memory that a function was called with.
pub enum Memory {
    /// In one piece.
    One(*const c_void, usize),
    /// In several pieces.
    Vector(*const Iovec, usize),
}

impl Memory {
    /// Its pieces.
    ///
    /// # Errors
    /// `FI_EINVAL` for too many, and for bytes at no address.
    ///
    /// # Safety
    /// The vector has the given number of elements.
    pub unsafe fn pieces(&self) -> Result<Vec<Piece>, Refusal> {
        match *self {
            Self::One(_, 0) => Ok(Vec::new()),
            Self::One(memory, bytes) => Ok(vec![one(memory, bytes)?]),
            // SAFETY: what the caller promises.
            Self::Vector(vector, count) => unsafe { pieces(vector, count) },
        }
    }
}

/// Bytes of all pieces.
pub fn total(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| piece.bytes).sum()
}

/// Copies all pieces, contiguously.
///
/// # Safety
/// They are memory of the program that does not change, and `into` has space for [`total`] bytes.
pub unsafe fn copy(pieces: &[Piece], mut into: *mut u8) {
    for piece in pieces {
        // SAFETY: what the caller promises.
        unsafe {
            into.copy_from_nonoverlapping(piece.address as *const u8, piece.bytes);
            into = into.add(piece.bytes);
        }
    }
}

/// Copies all pieces to staging memory, contiguously; charges the copy.
///
/// # Errors
/// `FI_ENOMEM`.
///
/// # Safety
/// They are memory of the program that does not change.
pub unsafe fn staged(port: &Port, pieces: &[Piece]) -> Result<Staging, Refusal> {
    let bytes = total(pieces);
    port.platform().charge(Op::Allocate, 1);
    port.charge_copy(bytes);
    let staging = Staging::zeroed(bytes).map_err(|_| Refusal(libc::ENOMEM))?;
    // SAFETY: what the caller promises, and room for all.
    unsafe { copy(pieces, staging.address()) };
    Ok(staging)
}
