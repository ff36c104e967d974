//! Builds the probe that answers what the structs of gyre_pkg hold.

use gyre_verilate::{Error, Model, add_models};

fn main() -> Result<(), Error> {
    let probe = Model::new("layout_probe")
        .file_list("rtl/gyre.f")
        .source("rtl/pkg/layout_probe.sv")
        .prefix("Vlayout_probe");
    let mut build = cxx_build::bridge("src/lib.rs");
    add_models(&mut build, &[probe])?;
    println!("cargo::rerun-if-changed=src");
    build.file("src/probe.cpp").compile("layout_probe");
    Ok(())
}
