// SPDX-License-Identifier: MIT OR Apache-2.0
//! Remote memory access: puts, gets, read-modify-writes and fences (EP-4, FN).

pub(crate) mod descriptors;
pub(crate) mod fence;
pub(crate) mod gets;
pub(crate) mod notify;
pub(crate) mod target_counter;
