//! Verilator testbenches of single RTL units, with scoreboards in Rust.
//!
//! - [`Unit`] is any unit of `build/`.
//! - [`cell`] is a leaf cell beside a model of it.
//! - [`collective`] is what collectives must give, [`tree`] a tree of collective networks under them.
//! - [`collective_alu`] is the arithmetic of collectives as the host does it.
//! - [`dma`] is a few DMA engines over a network in Rust, with [`axi`] memories.
//! - [`fabric`] is a machine of routers under raw traffic, judged by [`scoreboard`].
//! - [`flow`] is what an ordered-dynamic flow must give.
//! - [`link_check`] computes the check bits of links.
//! - [`routes`] follows the router's decisions through a machine and checks what they must give.
//! - [`structs`] are the packed structs of leaf cells.

pub mod axi;
pub mod cell;
pub mod collective;
pub mod collective_alu;
pub mod dma;
pub mod dma_bench;
pub mod dma_collective;
pub mod fabric;
pub mod flow;
pub mod link_check;
pub mod packet;
pub mod routes;
pub mod scoreboard;
pub mod structs;
pub mod tree;
mod unit;

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
