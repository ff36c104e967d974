//! Data of a send: pieces of the program's memory.

use std::ffi::c_void;

use crate::abi::Iovec;
use crate::boundary::Refusal;
use crate::landing::Piece;

/// Most pieces of an operation.
pub const MOST_PIECES: usize = 8;

/// Pieces that the program passes, without those of nothing.
///
/// # Safety
/// `pieces` points to `count` of them.
pub unsafe fn pieces(pieces: *const Iovec, count: usize) -> Result<Vec<Piece>, Refusal> {
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

/// One piece, or none.
pub fn piece(memory: *const c_void, bytes: usize) -> Result<Vec<Piece>, Refusal> {
    match bytes {
        0 => Ok(Vec::new()),
        _ => Ok(vec![one(memory, bytes)?]),
    }
}

/// Bytes of all.
pub fn total(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| piece.bytes).sum()
}

/// Copies all, one behind the other.
///
/// # Safety
/// They are the program's memory, which nobody changes, and `into` has room for [`total`] bytes.
pub unsafe fn copy(pieces: &[Piece], mut into: *mut u8) {
    for piece in pieces {
        // SAFETY: what the caller promises.
        unsafe {
            into.copy_from_nonoverlapping(piece.address as *const u8, piece.bytes);
            into = into.add(piece.bytes);
        }
    }
}
