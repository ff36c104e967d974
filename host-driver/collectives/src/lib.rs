// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives over the messaging driver (EP-7 to EP-13, AF-4, AF-5).
//!
//! * A [`Geometry`] lists the endpoints that take part, any number of each task, with their valid [`Algorithms`].
//! * [`Collectives`] attaches to a context; [`Collectives::join`] makes the context a [`Member`] of a geometry, on which
//!   [`Request`]s are posted. The context's `advance` does all the work: it chooses the algorithm, and reports the end by
//!   a done callback. No call blocks.
//! * An algorithm makes a schedule: a graph of sends, receives, copies and combinations over the send buffer, the
//!   receive buffer and a scratch buffer. One executor runs all schedules.
//! * Software threads without contexts work together in a [`ThreadGroup`], through the memory of their node.
//! * Endpoints that share a node may work in its shared memory, while one of them communicates with other nodes.
//! * All members call the collectives of a geometry in the same order. Messages carry a signature of the collective, so
//!   that members that disagree get an error, never a hang.
//! * A geometry can take routes of the collective network ([`Member::take_routes`]). Barriers, broadcasts, reductions
//!   and allreductions may then use the hardware tree; all others use the torus.
//!
//! Short data travels in a few packets. Longer data stays with its sender, is announced, and is fetched by the DMA
//! engine when the receive is ready, without intermediate buffers.

#![forbid(unsafe_code)]

mod algorithm;
mod blocks;
mod callback;
mod collective;
mod collnet;
mod error;
mod geometry;
mod header;
mod initiator;
mod link_loads;
mod member;
mod network_places;
mod node;
mod reduction;
mod request;
mod schedule;
mod selection;
mod signature;
mod threads;
mod torus;
mod transfer_schedule;

pub use algorithm::Algorithm;
pub use blocks::Blocks;
pub use callback::{Call, Done, Follow, FollowFn};
pub use collective::Collective;
pub use collnet::operation::tree_operation;
pub use collnet::routes::RoutesTaken;
pub use error::Error;
pub use geometry::{Geometry, Transfer};
pub use initiator::Initiator;
pub use member::stats::Stats;
pub use member::{Collectives, Member};
pub use node::sharing::Sharing;
pub use reduction::any::Reduction;
pub use reduction::kind::ReduceKind;
pub use reduction::user::UserOp;
pub use reduction::{DataType, ReduceOp};
pub use request::Request;
pub use selection::choose::Query;
pub use selection::condition::Condition;
pub use selection::entry::Entry;
pub use selection::lists::Algorithms;
pub use threads::{ThreadGroup, ThreadMember, ThreadRoot};
