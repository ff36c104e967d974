// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messaging driver: clients, contexts and endpoints over any bus (EP-1 to EP-5), and the
//! matching module on top of them (CT-1, CT-8).
//!
//! * A [`Platform`] is the machine: registers, DMA memory, time, waiting, locks. The driver depends on no
//!   simulator and no foreign code.
//! * A [`Configuration`] gives the clients of an application by its name, with tasks and resources.
//! * A [`Client`] owns [`Resources`] of the node; its [`Context`]s share them out, so that
//!   [`Context::advance`] needs no resource lock.
//! * Work is [posted](Context::post) as [`Instruction`]s and carried out by
//!   [`advance`](Context::advance), which also runs all callbacks. Callbacks may post, and may not
//!   advance. Nothing blocks except [`Context::wait`].
//! * A SEND goes by one of three protocols, chosen by its length: immediate, eager, rendezvous. PUT and
//!   GET, and RPUT and RGET with memory regions, move data without software at the target. FENCE reports when
//!   all earlier operations have completed (FN). Full rings make work wait inside the context; that is
//!   never an error.
//! * Between contexts of one node, messages go by loop-back or through shared memory, as the client is
//!   configured ([`SameNode`]); the node's endpoint table, in shared memory, lists its open contexts.
//! * [`Messaging`] pairs sends with receives by (origin rank, tag, communicator).
//!
//! A thread waits for the operations that it has posted by a [`Completion`], for a matched message by its
//! [`Request`](matching::Request), for active messages by an [`Inbox`], and for any other result of callbacks by
//! [`Context::advance_until`]; a communication thread does the same for other threads. [`BufferSlice`]s are buffers of
//! numbers.

#![forbid(unsafe_code)]

mod ack;
mod am;
mod api;
mod attention;
mod buffer;
mod collnet;
mod config;
mod core;
mod cost;
mod done_table;
mod endpoint;
mod engine;
mod error;
mod flow;
mod io;
mod layout;
pub mod matching;
pub mod operation;
mod platform;
mod progress;
mod refusal;
mod region;
mod rendezvous;
mod resources;
mod rma;
mod route;
mod slice;
mod sync;
mod task;
mod task_map;
mod transport;
mod upcalls;

/// Initial capacity of lists, so that small numbers of operations do not allocate.
const PREPARED: usize = 16;

pub use ack::config::{AckConfig, AckConfigError, AckMethod, CoalescingRule, Together};
pub use ack::{AckDispatcher, AckPacket, AckStats, MAX_COOKIES, Recipients};
pub use am::deferred_messages::{DEFERRED_LIMIT, DeferredStats};
pub use am::dispatch::Arrival;
pub use api::advance::advancev;
pub use api::client::Client;
pub use api::completion::{Completion, CompletionFn};
pub use api::context::{
    CallFn, Context, ContextLock, DeferFn, DeferredReceive, DispatchFn, DoneFn, ProgressFn, PutFn,
    Receive,
};
pub use api::counter::ByteCounter;
pub use api::inbox::{Inbox, Message};
pub use api::operation::{
    CollnetTransfer, Fence, Get, Instruction, Put, Rget, Rmw, Rput, SendMessage,
};
pub use buffer::{BufferRange, RemoteAddress};
pub use collnet::routes::{CollnetChoice, CollnetRoutes, CollnetShare, NodeNumbers};
pub use config::Configuration;
pub use config::error::ConfigError;
pub use config::geometry::{
    AlgorithmConfig, AlgorithmList, ConditionConfig, ConditionValue, GeometryConfig,
    GeometryMembers,
};
pub use cost::{COPY_CHUNK, CostTable, CostTableError, Op};
pub use endpoint::Endpoint;
pub use error::Error;
pub use flow::ordered::Ordered;
pub use gyre_firmware::{RoutePart, parent as tree_parent};
pub use gyre_layout::{CollOp, CollType, Coord, RmwOp};
pub use gyre_note::Note;
pub use layout::{ClientConfig, ContextInfo, DEFAULT_EAGER_LIMIT, SameNode};
pub use matching::{Communicator, Messaging, MessagingConfig};
pub use operation::{ImmediateMessage, RmwWidth, SendImmediate, SendProtocol};
pub use platform::{
    AllocError, BusError, BusErrorKind, DmaBuffer, Platform, PlatformLock, RangeError,
    SegmentError, SharedSegment, WakeReason,
};
pub use progress::Progress;
pub use region::{MemoryRegion, RegionRights, RemoteRegion};
pub use resources::Resources;
pub use rma::notify::{PutArrival, PutNotify};
pub use rma::target_counter::RemoteCounter;
pub use route::{Hop, Network, Routing};
pub use slice::{BufferSlice, Element};
pub use task::{Rank, TaskId, TaskLocation};
pub use task_map::TaskMap;
pub use transport::wire::{MAX_HEADER, control_message};
pub use zerocopy::IntoBytes;
