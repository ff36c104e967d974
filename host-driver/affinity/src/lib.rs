// SPDX-License-Identifier: MIT OR Apache-2.0
//! Affinity of software threads to the hardware threads of a node (AF-1 to AF-4).
//!
//! * A [`Place`] is a hardware thread: its processor, multi-chip module, core and number in the core. Places come
//!   from the [`Processor`] of the machine description on a simulated node, and from the operating system on a real
//!   machine ([`Host`]). [`ThreadPlace`] gives the place of the calling thread.
//! * [`Domains`] are the software threads of each core, module and processor, each with a leader and an n-ary
//!   tree. Only leaders join threads of different domains, so that all trees form one [`Tree`].

#![forbid(unsafe_code)]

mod domain;
mod host;
mod place;
mod processor;
mod thread_place;
mod tree;

pub use domain::{Domain, Domains};
pub use host::{Affinity, Host, HostError};
pub use place::{Place, Unit};
pub use processor::{Processor, ProcessorError};
pub use thread_place::{PlaceError, ThreadPlace};
pub use tree::{Tree, TreeError};
