//! The messaging driver: clients, contexts and endpoints over any bus (EP-1 to EP-5), and the
//! matching module on top of them (CT-1, CT-8).
//!
//! * A [`Platform`] is the machine: registers, DMA memory, time, waiting, locks. The driver knows no
//!   simulator and no foreign code.
//! * A [`Configuration`] gives the clients of an application by its name, with tasks and resources.
//! * A [`Client`] owns [`Resources`] of the node; its [`Context`]s share them out, so that
//!   [`Context::advance`] needs no resource lock.
//! * Work is [posted](Context::post) as [`Instruction`]s and carried out by
//!   [`advance`](Context::advance), which also runs all callbacks. Callbacks may post, and may not
//!   advance. Nothing blocks except [`Context::wait`].
//! * A SEND goes by one of three protocols, chosen by its length: immediate, eager, rendezvous. PUT and
//!   GET, and RPUT and RGET with memory regions, move data without software at the target. FENCE says when
//!   everything before it has completed (FN). Rings that are full make work wait inside the context; that
//!   is never an error.
//! * Between contexts of one node, messages go by loop-back or through shared memory, as the client says
//!   ([`SameNode`]); the node's endpoint table, in shared memory, says which contexts are open there.
//! * [`Messaging`] pairs sends with receives by (origin task, tag, communication context).
//!
//! A thread that has posted work and waits for a callback to note its end calls
//! [`Context::advance_until`]; a communication thread does the same for others.

#![forbid(unsafe_code)]

// The test double of the machine names the driver as its users do.
#[cfg(test)]
extern crate self as gyre_driver;

mod ack;
mod buffer;
mod client;
mod config;
mod context;
mod cookie;
mod cost;
mod counter;
mod dispatch;
mod endpoint;
mod engine;
mod envelope;
mod error;
mod flow;
mod gets;
mod injection;
mod instruction;
pub mod messaging;
mod platform;
mod reception;
mod region;
mod registers;
mod remote_get;
mod resources;
mod route;
mod shared_memory;
mod sync;
mod task;
mod tree;
mod wire;

pub use ack::{
    AckConfig, AckConfigError, AckDispatcher, AckMethod, AckPacket, AckStats, CoalescingRule,
    MAX_COOKIES, Together, Ways,
};
pub use buffer::BufferRange;
pub use client::{Client, ClientConfig, DEFAULT_EAGER_LIMIT, SameNode};
pub use config::{ConfigError, Configuration, GeometryConfig, GeometryMembers};
pub use context::{Context, ContextInfo, Progress, advancev};
pub use cost::{CostTable, CostTableError, Op};
pub use dispatch::{Arrival, DispatchFn, ProgressFn, Receive};
pub use endpoint::Endpoint;
pub use error::Error;
pub use flow::Ordered;
pub use gyre_firmware::{RoutePart, parent as tree_parent};
pub use gyre_layout::{CollOp, CollType, Coord, RmwOp};
pub use instruction::{
    CallFn, DoneFn, Fence, Get, ImmediateMessage, Instruction, Put, RemoteAddress, Rget, Rmw,
    RmwWidth, Rput, SendImmediate, SendMessage, TreeTransfer,
};
pub use messaging::{Messaging, MessagingConfig};
pub use platform::{
    AllocError, BusError, BusErrorKind, DmaBuffer, Platform, PlatformLock, RangeError,
    SegmentError, SharedSegment, WakeReason,
};
pub use region::{MemoryRegion, RegionRights, RemoteRegion};
pub use resources::Resources;
pub use route::{Hop, Network, Routing};
pub use task::{TaskId, TaskLocation, TaskMap};
pub use tree::{NodeNumbers, TreeChoice, TreeRoutes, TreeShare};
pub use wire::MAX_HEADER;
