//! Builds the counter as a fast and as a traced model.

use gyre_verilate::{Error, Model, add_models};

fn main() -> Result<(), Error> {
    let counter = Model::new("counter").source("tests/verilate/rtl/counter.sv");
    let mut build = cxx_build::bridge("src/lib.rs");
    add_models(
        &mut build,
        &[
            counter.clone().prefix("Vcounter"),
            counter.prefix("VcounterTraced").trace(true),
        ],
    )?;
    println!("cargo::rerun-if-changed=src");
    build.file("src/counter.cpp").compile("counter");
    Ok(())
}
