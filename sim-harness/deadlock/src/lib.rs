// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a machine's networks can deadlock (X-3, HW-3, HW-4, HW-5): who may hold one resource while it waits for
//! another, as a graph over virtual channels, injection and ejection paths, places of flows and the remote-get engine of
//! every node. A graph without a cycle cannot deadlock (Dally and Seitz).
//!
//! Packets of the dynamic virtual channels need room for all of them before they start (virtual cut-through)
//! and always have a deterministic virtual channel as their way out; so they hold nothing else while they wait,
//! and it suffices that the deterministic channels, entered at any node, have no cycle (Duato). A packet that leaves
//! copies on its way (deposit) holds its next channel while it waits for an ejection buffer.
//!
//! Packets of an ordered-dynamic flow wait for each other where they end, in places that were reserved for them: they hold
//! no ejection buffer meanwhile.
//!
//! The routing functions are those of `rtl/pkg/gyre_pkg.sv`; `tests/rtl/tests/routing.rs` compares them with
//! Verilated RTL input by input. The collective network's graph (`tree.rs`) is made from the registers of class routes as
//! software writes them; `tests/rtl/tests/collective_choice.rs` compares its steps with the RTL's engines.

#![forbid(unsafe_code)]

mod decomposition;
mod graph;
mod resource;
mod routing;
mod rules;
mod shapes;
#[cfg(test)]
mod tests;
mod torus;
mod tree;

pub use decomposition::decomposed;
pub use graph::{Report, Wait, exhaustive};
pub use resource::{Class, Resource};
pub use routing::{Hop, Route, minimal_ports};
pub use rules::{Fault, Rules};
pub use shapes::{Shape, every_shape};
pub use torus::{MAX_DIMS, Torus};
pub use tree::{ClassRoutes, Front, TreeReport, TreeResource, TreeRoute, tree};
