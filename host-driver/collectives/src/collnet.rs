// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives on the collective network (HW-5, HW-9): the routes of a geometry, their negotiation by its nodes, and
//! the order in which collectives enter.

mod agreement;
mod member;
pub(crate) mod message;
pub(crate) mod negotiation;
pub(crate) mod operation;
pub(crate) mod order;
mod path;
pub(crate) mod routes;
mod state;
pub(crate) mod table;
