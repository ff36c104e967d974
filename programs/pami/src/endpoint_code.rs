// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints as programs hold them: numbers of 32 bits, the same in all tasks. An endpoint of context 0 is the number of its task, which
//! programs use in its place.

use gyre_driver::Endpoint;

use crate::abi;

/// Bits of an endpoint's code for its task; higher bits are the offset of its context.
const TASK_BITS: u32 = 24;

/// The code of an endpoint.
pub fn endpoint_code(endpoint: Endpoint) -> abi::Endpoint {
    // A machine has fewer than 2^24 tasks.
    u32::from(endpoint.context_offset()) << TASK_BITS | endpoint.task().0
}

/// Task and offset of the context of an endpoint's code.
pub fn parts(code: abi::Endpoint) -> (u32, u8) {
    // The offset has the upper 8 bits.
    (code & ((1 << TASK_BITS) - 1), (code >> TASK_BITS) as u8)
}
