// SPDX-License-Identifier: MIT OR Apache-2.0
//! Firmware of a node: identification, self-test, network set-up, routes of the collective network, FIFO and slot
//! set-up, interrupt service, drain and reset (HW-1), through a [`RegisterAccess`] trait.
//!
//! It runs wherever registers can be reached: a host processor, an embedded controller inside the node,
//! or a test. It allocates nothing and waits by polling a status register at most a given number of
//! times, so it always ends.
//!
//! ```no_run
//! # use gyre_firmware::{Node, NetworkConfig, RegisterAccess, NodeError, SelfTest};
//! # fn demo<A: RegisterAccess>(bus: A, network: &NetworkConfig) -> Result<(), NodeError<A::Error>> {
//! let mut node = Node::identify(bus)?;
//! node.bring_up(network, SelfTest::Run, 10_000)?; // links up, DMA engine on
//! # Ok(()) }
//! ```

#![no_std]
#![forbid(unsafe_code)]

mod access;
mod collective;
mod error;
mod fifo;
mod interrupt;
mod network;
mod node;
mod power;
mod refused;
mod self_test;
mod slot;
mod tree;

pub use access::{Register, RegisterAccess};
pub use collective::{BARRIER_DONE, BARRIER_ENTER};
pub use error::NodeError;
pub use fifo::{InjectionConfig, ReceptionConfig};
pub use interrupt::{Causes, ErrorReport, InterruptReport};
pub use network::NetworkConfig;
pub use node::{Node, Parameters};
pub use refused::{RefusedPackets, WORD_BITS};
pub use self_test::SelfTest;
pub use slot::{Rights, SlotConfig};
pub use tree::{RoutePart, TREE_ROUTES, parent, tree_links};

#[cfg(test)]
mod register_file;
#[cfg(test)]
mod tests;
