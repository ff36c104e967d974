// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hardware of a node as one context uses it: FIFOs, counters, shared memory, and the formats of what they
//! carry.

pub(crate) mod counter;
pub(crate) mod envelope;
pub(crate) mod injection;
pub(crate) mod lanes;
mod notes;
pub(crate) mod reception;
pub(crate) mod registers;
pub(crate) mod remote_get_fifo;
pub(crate) mod shared_memory;
pub(crate) mod wire;
