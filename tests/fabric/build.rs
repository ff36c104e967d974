//! Builds a fabric of 2x2 nodes, a ring in dimension 0 and a line in dimension 1. The nodes are those of
//! `gyre-sim`'s model of 3 dimensions.

use gyre_verilate::{Error, Model, add_models, workspace_root};

fn main() -> Result<(), Error> {
    let fabric = Model::new("gyre_fabric")
        .file_list("rtl/gyre.f")
        .parameter("NDim", 3)
        .parameter("Ring", "5'b00001")
        .prefix("Vfabric")
        .opt_level(0);
    let mut build = cxx_build::bridge("src/lib.rs");
    add_models(&mut build, &[fabric])?;
    println!("cargo::rerun-if-changed=src");
    // The wires of each node are driven by the code that drives a single node.
    let wires = workspace_root().join("sim-harness/sim/cpp");
    println!("cargo::rerun-if-changed={}", wires.display());
    build
        .include(wires)
        .file("src/fabric.cpp")
        .compile("fabric2x2");
    Ok(())
}
