// SPDX-License-Identifier: MIT OR Apache-2.0
//! The collective network (HW-5, HW-9): routes of the node, and the operations of a context on them.

pub(crate) mod routes;
pub(crate) mod state;
pub(crate) mod transfers;
