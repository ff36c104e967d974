// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every unit under test.
//!
//! Ports are read from the header that Verilator writes, so there is no port list to maintain: a new unit needs a line in
//! [`models`] or [`cells`] only.

mod cells;
mod faults;
mod models;
mod spec;

use std::path::Path;

use gyre_verilate::{Library, Model};

use crate::library::small;
use cells::CELLS;
use faults::plant;
use models::MODELS;

/// The library of the unit `name`, with the C symbol `entry`.
///
/// # Panics
/// If there is no such unit, or no place for its fault.
pub(crate) fn library(name: &str, entry: &'static str) -> Library {
    let spec = MODELS.iter().chain(CELLS).find(|spec| spec.name == name);
    let Some(spec) = spec else {
        panic!("no unit {name} in tests/rtl/src/units");
    };
    let mut model = Model::new(spec.top)
        .prefix("Vunit")
        .source("rtl/pkg/gyre_pkg.sv")
        .source("rtl/pkg/gyre_dma_pkg.sv")
        .source("rtl/csr/generated/gyre_csr_pkg.sv")
        .library_dir("rtl/pkg")
        .library_dir("tests/rtl/sv")
        .library_dir("sim-harness/sim/sv");
    // Compiling takes longer than running; units with faults run for few cycles.
    let mut opt_level = 1;
    if !spec.faults.is_empty() {
        // Ahead of the folders with the files as they are.
        model = model.library_dir(plant(spec));
        opt_level = 0;
    }
    for folder in spec.folders {
        model = model.library_dir(Path::new("rtl").join(folder));
    }
    for (name, value) in spec.parameters {
        model = model.parameter(name, value);
    }
    small(Library::new(name, model, entry)).opt_level(opt_level)
}
