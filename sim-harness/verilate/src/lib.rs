// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the project's Verilator, turns SystemVerilog into C++ and compiles it.
//!
//! A [`Library`] is a model with C++ around it as a shared library, made when a program asks for it and kept in a cache.
//!
//! - Paths are relative to the workspace root.
//! - A traced model writes VCD. Verilator builds one trace format into a model, and VCD is the one
//!   that needs no library beside it; the crate `gyre-wave` turns a VCD file into FST.
//! - Assertions are always on. A failed one throws `std::runtime_error` with its text out of `eval()`.
//! - Registers and memories without a reset value start as `VerilatedContext::randReset` says:
//!   0 for zeros, 2 for noise from `randSeed` that is the same for the same seed and instance name.

mod compiler;
mod digest;
mod error;
mod file_list;
mod header;
mod includes;
mod library;
mod model;
mod root;
mod store;
mod toolchain;
mod version;

pub use error::Error;
pub use header::Port;
pub use library::{Generated, Library};
pub use model::Model;
pub use root::{checkout, workspace_root};
pub use store::{Held, Progress};
pub use toolchain::{Toolchain, locate};
pub use version::{MINIMUM, Version};
