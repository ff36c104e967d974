// SPDX-License-Identifier: MIT OR Apache-2.0
//! Libraries of Verilated models, compiled when a test asks for one.

use std::env;
use std::ffi::{CStr, c_char};
use std::mem;
use std::path::PathBuf;

use gyre_verilate::Library;

/// Cargo's target folder.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from)
}

/// The library, kept in `target/units` and compiled as one of many small ones.
pub(crate) fn small(library: Library) -> Library {
    library.small_in(target().join("units"))
}

/// Compiles the library unless the cache has it, loads it for the rest of the process, and returns what its entry `symbol`
/// returns.
///
/// # Panics
/// If it cannot be compiled or loaded.
///
/// # Safety
/// The entry is a C function without arguments that returns an `Entry` which is never freed.
pub(crate) unsafe fn load<Entry>(library: &Library, symbol: &str) -> &'static Entry {
    let held = match library.get(&|_| {}) {
        Ok(held) => held,
        Err(error) => panic!("{}: {error}", library.name()),
    };
    // SAFETY: the constructors in it are those of Verilator's runtime, which depend on nothing.
    let loaded = unsafe { libloading::Library::new(held.library()) };
    let loaded = loaded.expect("what was just linked can be loaded");
    // SAFETY: by the contract of this function.
    let entry = unsafe { loaded.get::<extern "C" fn() -> &'static Entry>(symbol) };
    let entry = entry.expect("the library has its entry")();
    // It stays loaded, and in the cache.
    mem::forget(loaded);
    mem::forget(held);
    entry
}

/// Success if C++ returns null, else the text of its failure.
///
/// # Safety
/// `text` is null, or a string that ends with a zero and lives during the call.
pub(crate) unsafe fn failure(text: *const c_char) -> Result<(), String> {
    if text.is_null() {
        return Ok(());
    }
    // SAFETY: by the contract of this function.
    let text = unsafe { CStr::from_ptr(text) };
    Err(text.to_string_lossy().into_owned())
}
