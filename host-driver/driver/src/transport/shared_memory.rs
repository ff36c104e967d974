// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communication of the processes of a client on one node, in the node's shared memory (HW-7).
//!
//! * The endpoint table, one segment for each client: the open contexts on the node, with their
//!   resources. All processes read it; a context writes its entry when it is created and destroyed.
//! * A ring of packets for each context, in a segment for each, when the client's messages on the node go through
//!   shared memory. Any context of the node writes to it, under the segment's lock; its context alone reads it,
//!   without.

pub(crate) mod lane;
pub(crate) mod ring;
mod segment;
pub(crate) mod table;

pub(crate) use lane::{Message, SharedLane};
pub(crate) use ring::Inbox;
pub(crate) use table::EndpointTable;
