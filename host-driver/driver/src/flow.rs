// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ordered-dynamic flows (HW-4): the node's registers of them, the flows of a context, and what contexts that
//! are gone have left.

pub(crate) mod ordered;
pub(crate) mod orphaned;
pub(crate) mod peers;
mod registers;
