// SPDX-License-Identifier: MIT OR Apache-2.0
//! Verilator testbenches of RTL units, of a node and of the flat fabric, with scoreboards in Rust.
//!
//! Units are compiled when a test asks for one, and kept in `target/units`. `node1`, of one dimension, is the smallest node.
//!
//! - [`Unit`] is any unit of `units`.
//! - [`cell`] is a leaf cell beside a model of it.
//! - [`collective`] is the reference of collectives, [`tree`] a tree of collective networks under them.
//! - [`collective_alu`] is the arithmetic of collectives as the host does it.
//! - [`counter`] proves the build support.
//! - [`dma`] is a few DMA engines over a network in Rust, with [`axi`] memories.
//! - [`fabric`] is a machine of routers under raw traffic, judged by [`scoreboard`].
//! - [`flat_fabric`] is the fabric of 2x2 nodes.
//! - [`flow`] is the bench of ordered-dynamic flows.
//! - [`layout_probe`] reads the packed structs of `gyre_pkg`.
//! - [`link_check`] computes the check bits of links.
//! - [`node`] is one node with its registers and a memory.
//! - [`routes`] follows the router's decisions through a machine and checks them.
//! - [`structs`] are the packed structs of leaf cells.

/// A structure of ports, each with its name in SystemVerilog unless that is the field's, and its constructor from a unit.
#[macro_export]
macro_rules! ports {
    (@name $field:ident) => {
        stringify!($field)
    };
    (@name $field:ident $port:literal) => {
        $port
    };
    ($(#[$doc:meta])* $vis:vis struct $name:ident { $($field:ident $(: $port:literal)?),* $(,)? }) => {
        $(#[$doc])*
        $vis struct $name {
            $($vis $field: $crate::Port),*
        }

        impl $name {
            $vis fn of(unit: &$crate::Unit) -> Self {
                Self {
                    $($field: unit.port($crate::ports!(@name $field $($port)?))),*
                }
            }
        }
    };
}

pub mod axi;
pub mod cell;
pub mod collective;
pub mod collective_alu;
pub mod counter;
pub mod dma;
pub mod dma_bench;
pub mod dma_collective;
pub mod fabric;
pub mod flat_fabric;
pub mod flow;
pub mod layout_probe;
mod library;
pub mod link_check;
pub mod node;
pub mod packet;
pub mod routes;
pub mod scoreboard;
pub mod structs;
pub mod tree;
mod unit;
mod units;

/// Settings of a property test: `cases` random inputs from a fixed seed, so that every run is the same.
/// A failing input is shrunk and printed.
pub fn cases(cases: u32) -> proptest::test_runner::Config {
    proptest::test_runner::Config {
        cases,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(0x6779_7265),
        ..Default::default()
    }
}

pub use unit::{Failure, Port, Unit};
