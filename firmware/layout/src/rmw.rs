// SPDX-License-Identifier: MIT OR Apache-2.0
//! Read-modify-writes as software requests them.

use crate::RmwOp;

/// A read-modify-write of 4 or 8 bytes (HW-1): the target's DMA engine applies `op` with `value` to the memory,
/// all other accesses by read-modify-write and byte counters excluded, and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rmw {
    /// Operation.
    pub op: RmwOp,
    /// Operand of 8 bytes, aligned to 8; else of 4, aligned to 4, and the upper halves below are ignored.
    pub wide: bool,
    /// Operand.
    pub value: u64,
    /// Apply `op` only where memory equals this.
    pub test: Option<u64>,
    /// Place of the previous value at the requester, with or without a match: slot (with write right, and of the
    /// injection FIFO's owner) and byte offset. `None`: the answer writes nothing.
    pub fetch: Option<(u16, u64)>,
}
