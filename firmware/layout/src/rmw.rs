//! Read-modify-writes: the request of software, and the word `aux` of a request packet's header.

use crate::RmwOp;
use crate::field::bit_fields;

bit_fields! {
    /// Fields of the word `aux` of a request, lowest bit first: `rmw_aux_t` in SystemVerilog. The payload of a
    /// request is bytes 32 to 63 of its descriptor.
    32 bits;
    OFFSET_HI "offset_hi" 0 +: 8;
    CTR_VALID "ctr_valid" 8 +: 1;
    RESULT_SLOT "result_slot" 9 +: 10;
    RESULT_OFF_HI "result_off_hi" 19 +: 8;
    OWNER "owner" 27 +: 4;
    WIDE "wide" 31 +: 1;
}

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
    /// Where the value before goes at the requester, with or without a match: slot (with write right, and of
    /// the injection FIFO's owner) and byte offset. The answer writes nothing without.
    pub fetch: Option<(u16, u64)>,
}
