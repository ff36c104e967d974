// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints as programs hold them: numbers of 32 bits, the same in all tasks.

use gyre_driver::Endpoint;

use crate::abi;

/// Bits of an endpoint's code for the offset of its context; higher bits are its task.
const OFFSET_BITS: u32 = 8;

/// The code of an endpoint.
pub fn endpoint_code(endpoint: Endpoint) -> abi::Endpoint {
    (endpoint.task().0 << OFFSET_BITS) | u32::from(endpoint.context_offset())
}

/// Task and offset of the context of an endpoint's code.
pub fn parts(code: abi::Endpoint) -> (u32, u8) {
    // The low bits alone.
    (code >> OFFSET_BITS, code as u8)
}
