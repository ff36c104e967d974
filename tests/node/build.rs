//! Builds a node of one dimension: the smallest with every part.

use gyre_verilate::{Error, Model, add_models};

fn main() -> Result<(), Error> {
    let node = Model::new("gyre_node")
        .file_list("rtl/gyre.f")
        .parameter("NDim", 1)
        .prefix("Vnode1");
    let mut build = cxx_build::bridge("src/lib.rs");
    add_models(&mut build, &[node])?;
    println!("cargo::rerun-if-changed=src");
    build.file("src/node.cpp").compile("node1");
    Ok(())
}
