//! PAMI for C programs: `libpami.so` and its headers in `include/`, on the driver of the machine that `gyre exec` runs
//!
//!
//! * [`abi`] has the types of the headers. The other modules have the functions, in the order of the header; what cannot
//!   be here answers `PAMI_UNIMPL`, and `PAMI_Error_text` says what it is.
//! * A handle is a number that the library has given out (`handles`), so a wrong one is refused and never followed.
//! * Buffers are the program's own memory, which the DMA engine reaches where it is.
//! * Every function is a boundary (`boundary`): no unwinding leaves it, its error becomes a result code.
//!
//! `unsafe` is what C makes so: memory that the program passes by address, functions that it passes as callbacks, and
//! the names under which it finds this library's. What the program must keep to is what `pami.h` says.

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
