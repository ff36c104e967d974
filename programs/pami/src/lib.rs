// SPDX-License-Identifier: MIT OR Apache-2.0
//! PAMI for C programs: `libpami.so` and its headers in `include/`, on the driver of the machine that `gyre exec` runs
//!
//!
//! * [`abi`] has the types of the headers. The other modules have the functions, in the order of the header; missing ones return
//!   `PAMI_UNIMPL`, and `PAMI_Error_text` names them.
//! * A handle is a number, never an address (`handles`), so an invalid one is refused.
//! * Buffers are the program's own memory, which the DMA engine accesses in place.
//! * Every function is a boundary (`boundary`): no unwinding leaves it, its error becomes a result code.
//!
//! `unsafe` is confined to the C boundary: memory and callbacks that the program passes by address, and exported names. The
//! conditions for programs are those of `pami.h`.

// `PAMI_Client_create` and the others are named by the interface.
#![allow(non_snake_case, reason = "names of the C interface")]

pub mod abi;
mod agreement;
mod algorithms;
mod amcollective;
mod arguments;
mod async_progress;
mod boundary;
mod buffers;
mod client;
mod clock;
mod collective;
mod collective_kinds;
mod combining;
mod context;
mod creation;
mod dispatch;
mod elements;
mod endpoint;
mod endpoint_code;
mod event;
mod exclusive;
mod extension;
mod failure;
mod fence;
mod geometry;
mod group;
mod handles;
mod headers;
mod hints;
mod memory;
mod memregion;
mod metadata;
mod operations;
mod optimization;
mod packing;
mod parameters;
mod query;
mod reduction;
mod requests;
mod rma;
mod rma_typed;
mod send;
mod settings;
mod type_functions;
mod type_handles;
mod typed_data;
mod types;
mod variables;
