// SPDX-License-Identifier: MIT OR Apache-2.0
//! A libfabric provider for MPI programs, for `libgyre-fi.so`, on the driver of the machine that `gyre exec` runs.
//!
//! libfabric loads it by `FI_PROVIDER_PATH` and calls [`fi_prov_ini`]. It provides reliable datagram endpoints with tagged
//! and untagged messages, multi-receive buffers, one-sided reads and writes by virtual address, address vectors,
//! completion queues and counters:
//!
//! * An endpoint is a context of the driver. Short messages are sent at once, longer ones eagerly, and those above the eager
//!   limit by rendezvous: their data stays at the origin until the receive is posted.
//! * The network loses nothing and keeps the order, so a message counts as delivered (`FI_DELIVERY_COMPLETE`) when it has
//!   left, with rendezvous when it has been fetched. One-sided operations end when the data is in memory.
//! * Messages are matched here (`matcher`), in the order in which they were sent, by source, 64-bit tag and mask. What
//!   matching and copies take is charged from the driver's cost table; MPI's own instructions above are free.
//! * Buffers are the program's own memory, which the DMA engine accesses in place: a registration is a number, and a peer may
//!   write all memory of the process, as between processes that trust each other.
//! * Reads of a completion queue or a counter make progress. After some reads without a result a thread that waits sleeps until an
//!   event, so the machine skips the time.
//!
//! The library is also loaded before the program (`mpi`): then collectives of MPI go over the collective network, and
//! clocks and sleeps are the machine's. Open MPI finds its start-up there (`pmix`).
//!
//! `unsafe` is confined to the C boundary: memory that the program passes by address, and the tables of functions that libfabric
//! calls. The conditions for programs are those of libfabric's manual pages.

// `MPI_Barrier` and the others are named by the interface.
#![allow(non_snake_case, reason = "names of MPI's interface")]

pub mod abi;
mod arrival;
mod av;
mod boundary;
mod cntr;
mod cq;
mod destination;
mod domain;
mod endpoint;
mod fabric;
mod handle;
mod info;
mod matcher;
mod message;
mod message_functions;
mod mpi;
mod mr;
mod node;
mod object;
mod pmix;
mod port;
mod progress;
mod receive;
mod rma;
mod send;
mod send_data;
mod short_write;
mod steps;
mod unanswered;

pub use fabric::fi_prov_ini;
