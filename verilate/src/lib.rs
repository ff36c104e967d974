//! Build support: finds the project's Verilator, turns SystemVerilog into C++ and compiles it.
//!
//! Used from the build scripts of crates that hold a Verilated model behind a `cxx` bridge:
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
//! - Generated sources and objects are kept in `target/verilated` by the hash of what they are made
//!   from, so profiles, tests and clippy share them and a change of the wrapper compiles no model.

mod cache;
mod compile;
mod error;
mod file_list;
mod model;
mod toolchain;

pub use compile::add_models;
pub use error::Error;
pub use model::Model;
pub use toolchain::{MINIMUM, Toolchain, Version, locate};

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The workspace root, which relative paths start from: of the crate whose build script or test runs. (A path that
/// is compiled in would lead a copy of the workspace with its `target/` back to the original.)
pub fn workspace_root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let package = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let mut above = package.ancestors();
        above
            .find(|dir| dir.join("Cargo.lock").is_file())
            .map_or(package.clone(), Path::to_path_buf)
    })
}

/// `path` as an absolute path; relative paths start from the workspace root.
fn absolute(path: &Path) -> PathBuf {
    workspace_root().join(path)
}
