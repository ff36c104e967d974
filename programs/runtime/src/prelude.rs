// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prelude of programs: `use gyre::prelude::*`. Types of the driver are those of the simulated machine.

pub use std::process::ExitCode;

pub use gyre_driver::matching::{Communicator, MessagingConfig, Received};
pub use gyre_driver::{
    Arrival, Completion, Endpoint, Error, IntoBytes, Message, Platform, Rank, RegionRights,
    RemoteRegion, SendImmediate, TaskId,
};
pub use serde_json::{Value, json};

use crate::platform::{NodeBuffer, SimPlatform};

pub use crate::error::RunError;
pub use crate::launch::Launch;
pub use crate::options::UsageError;
pub use crate::program::Program;
pub use crate::report::Report;
pub use crate::settings::{Default as Unless, Setting, Values};
pub use crate::task::{OpenClient, Task, TaskResult};

/// A client, see [`gyre_driver::Client`].
pub type Client = gyre_driver::Client<SimPlatform>;
/// A context, see [`gyre_driver::Context`].
pub type Context = gyre_driver::Context<SimPlatform>;
/// Active messages that wait for a thread, see [`gyre_driver::Inbox`].
pub type Inbox = gyre_driver::Inbox<SimPlatform>;
/// Answer of a dispatch callback: where its message goes, see [`gyre_driver::Receive`].
pub type Receive = gyre_driver::Receive<SimPlatform>;
/// SEND, see [`gyre_driver::operation::SendMessage`].
pub type SendMessage = gyre_driver::SendMessage<SimPlatform>;
/// RPUT, see [`gyre_driver::operation::Rput`].
pub type Rput = gyre_driver::Rput<SimPlatform>;
/// Memory that peers may reach, see [`gyre_driver::MemoryRegion`].
pub type MemoryRegion = gyre_driver::MemoryRegion<SimPlatform>;
/// Matched messages, see [`gyre_driver::matching::Messaging`].
pub type Messaging = gyre_driver::matching::Messaging<SimPlatform>;
/// A part of a buffer, in bytes, see [`gyre_driver::BufferRange`].
pub type BufferRange = gyre_driver::BufferRange<NodeBuffer>;
/// A part of a buffer as numbers, see [`gyre_driver::BufferSlice`].
pub type Slice<T> = gyre_driver::BufferSlice<NodeBuffer, T>;
