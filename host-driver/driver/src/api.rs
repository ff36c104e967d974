// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interface of programs: clients, contexts, operations and completions.

pub(crate) mod advance;
mod callbacks;
mod check;
pub(crate) mod client;
mod collnet;
pub(crate) mod completion;
pub(crate) mod context;
pub(crate) mod counter;
mod deferred;
mod destroy;
pub(crate) mod inbox;
pub(crate) mod operation;
mod post;
mod queue;
mod wait;
