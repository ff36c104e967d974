// SPDX-License-Identifier: MIT OR Apache-2.0
//! Test double of a machine: nodes with the registers of the DMA engine, and memory-FIFO messages, puts with byte
//! counters, read-modify-writes and remote gets between them, in host memory. It models no timing of the
//! hardware; it drives the driver through every order of events, by seed, and plants faults.
//!
//! Initially a packet arrives in the step of its injection. [`Double::reorder`] makes packets travel: packets
//! of one class between two nodes stay in order, anything else may overtake, and counters are lowered some time
//! after their puts, as the hardware may.
//!
//! Packets move in steps: of [`Double::step`], of [`Platform::wait`](gyre_driver::Platform::wait) and of
//! [`Platform::yield_now`](gyre_driver::Platform::yield_now). Everything is `Send` and `Sync`: several host threads
//! may be threads of the nodes. On one host thread a run repeats exactly.

#![forbid(unsafe_code)]

mod access;
mod counters;
mod delivery;
mod double;
mod fault;
mod flows;
mod hooks;
mod injection;
mod lock;
mod memory;
mod node;
mod packet;
mod process;
mod reception;
mod refusals;
mod refuse;
mod registers;
mod rmw;
mod segment;
mod send;
mod slots;
mod state;
mod step;
mod wake;
mod world;

pub use access::{Access, Refusal};
pub use double::Double;
pub use fault::{Commit, Fault};
pub use lock::DoubleLock;
pub use memory::Memory;
pub use process::Process;
pub use segment::Segment;
pub use slots::SLOT;
pub use world::{config, contents, small};
