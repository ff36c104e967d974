// SPDX-License-Identifier: MIT OR Apache-2.0
//! A bench of counters, Verilated from `sv/counter.sv`: proves the build support end to end.

use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::sync::OnceLock;

use gyre_verilate::{Library, Model};

use crate::library::{failure, load, small};

/// Functions of a counter's library, as `cpp/counter.cpp` describes them.
#[repr(C)]
struct Entry {
    make: unsafe extern "C" fn(*const *const c_char, usize, bool, i32) -> *mut c_void,
    drop: unsafe extern "C" fn(*mut c_void),
    open_trace: unsafe extern "C" fn(*mut c_void, *const c_char),
    close_trace: unsafe extern "C" fn(*mut c_void),
    cycle: unsafe extern "C" fn(*mut c_void, u32) -> *const c_char,
    count: unsafe extern "C" fn(*mut c_void, usize) -> u64,
    noise: unsafe extern "C" fn(*mut c_void, usize) -> u64,
}

const WRAPPER: &[(&str, &str)] = &[("counter.cpp", include_str!("../cpp/counter.cpp"))];

fn entry(traced: bool) -> &'static Entry {
    static LOADED: [OnceLock<&Entry>; 2] = [const { OnceLock::new() }; 2];
    LOADED[usize::from(traced)].get_or_init(|| {
        let model = Model::new("counter")
            .prefix("Vcounter")
            .source("tests/rtl/sv/counter.sv")
            .trace(traced);
        let name = if traced { "counter_traced" } else { "counter" };
        let library = small(Library::new(name, model, "gyre_counters"))
            .opt_level(1)
            .wrapper(WRAPPER);
        // SAFETY: `cpp/counter.cpp` defines this entry.
        unsafe { load(&library, "gyre_counters") }
    })
}

/// Several counters on one clock.
pub struct Counters {
    entry: &'static Entry,
    bench: *mut c_void,
}

impl Counters {
    /// Counters out of reset, one a name. `seed` fills memories with noise; without, with zeros.
    ///
    /// # Panics
    /// If a name has a zero in it.
    pub fn new(names: &[&str], traced: bool, seed: Option<i32>) -> Self {
        let names: Vec<CString> = names.iter().map(|&name| text(name)).collect();
        let names: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let entry = entry(traced);
        // SAFETY: as many strings as are said, which end with a zero and are copied.
        let bench = unsafe {
            (entry.make)(
                names.as_ptr(),
                names.len(),
                seed.is_some(),
                seed.unwrap_or(0),
            )
        };
        Self { entry, bench }
    }

    /// Starts a VCD file with the signals of all counters.
    ///
    /// # Panics
    /// If the path is not UTF-8 or has a zero in it.
    pub fn open_trace(&mut self, file: &Path) {
        let file = text(file.to_str().expect("UTF-8"));
        // SAFETY: the bench is one of the library, and the string ends with a zero.
        unsafe { (self.entry.open_trace)(self.bench, file.as_ptr()) };
    }

    /// Ends the VCD file.
    pub fn close_trace(&mut self) {
        // SAFETY: the bench is one of the library.
        unsafe { (self.entry.close_trace)(self.bench) };
    }

    /// Runs one cycle; bit i of `enabled` enables counter i.
    ///
    /// # Errors
    /// The text of a failed assertion.
    pub fn cycle(&mut self, enabled: u32) -> Result<(), String> {
        // SAFETY: the bench is one of the library; the text lives until the next call.
        unsafe { failure((self.entry.cycle)(self.bench, enabled)) }
    }

    /// Value of a counter.
    pub fn count(&self, index: usize) -> u64 {
        // SAFETY: the bench is one of the library, which checks the index.
        unsafe { (self.entry.count)(self.bench, index) }
    }

    /// Content of a counter's memory at the start.
    pub fn noise(&self, index: usize) -> u64 {
        // SAFETY: the bench is one of the library, which checks the index.
        unsafe { (self.entry.noise)(self.bench, index) }
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        // SAFETY: the bench is one of the library and used no more.
        unsafe { (self.entry.drop)(self.bench) };
    }
}

fn text(text: &str) -> CString {
    CString::new(text).expect("no zero in it")
}
