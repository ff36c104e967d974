//! Finds the project's Verilator, turns SystemVerilog into C++ and compiles it.
//!
//! A [`Library`] is a model with C++ around it as a shared library, made when a program asks for it and kept in a cache.
//! [`add_models`] compiles models for the build scripts of test crates that link them behind a `cxx` bridge:
//!
//! ```no_run
//! use gyre_verilate::{Error, Model, add_models};
//!
//! fn main() -> Result<(), Error> {
//!     let node = Model::new("gyre_node").file_list("rtl/gyre.f").parameter("NDim", 3);
//!     let mut build = cc::Build::new(); // or cxx_build::bridge("src/ffi.rs")
//!     add_models(&mut build, &[
//!         node.clone().prefix("Vnode3"),
//!         node.prefix("Vnode3Traced").trace(true),
//!     ])?;
//!     build.file("src/node.cpp").compile("node");
//!     Ok(())
//! }
//! ```
//!
//! - Paths are relative to the workspace root.
//! - A traced model writes VCD. Verilator builds one trace format into a model, and VCD is the one
//!   that needs no library beside it; the crate `gyre-wave` turns a VCD file into FST.
//! - Assertions are always on. A failed one throws `std::runtime_error` with its text out of
//!   `eval()`: declare the bridge function that calls it as `-> Result<()>`.
//! - Registers and memories without a reset value start as `VerilatedContext::randReset` says:
//!   0 for zeros, 2 for noise from `randSeed` that is the same for the same seed and instance name.
//! - What build scripts make is kept in `target/verilated` by the hash of what it is made from, so profiles, tests and
//!   clippy share it.

mod cache;
mod compiler;
mod error;
mod file_list;
mod header;
mod library;
mod model;
mod root;
mod script;
mod store;
mod toolchain;
mod version;

pub use error::Error;
pub use header::{Port, read_ports};
pub use library::{Generated, Library};
pub use model::Model;
pub use root::{checkout, workspace_root};
pub use script::add_models;
pub use store::{Held, Progress};
pub use toolchain::{Toolchain, locate};
pub use version::{MINIMUM, Version};
