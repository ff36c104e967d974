//! Verilates and compiles the nodes and networks that machines are made of.

use gyre_verilate::{Error, Model, add_models};

fn main() -> Result<(), Error> {
    let top = |name: &str, dims: u32| {
        Model::new(name)
            .file_list("rtl/gyre.f")
            .parameter("NDim", dims)
    };
    let models = [
        top("gyre_node", 3).prefix("Vnode3"),
        top("gyre_node", 3).prefix("Vnode3Traced").trace(true),
        top("gyre_node", 5).prefix("Vnode5"),
        top("gyre_node", 5).prefix("Vnode5Traced").trace(true),
        top("gyre_network", 3).prefix("Vnetwork3"),
        top("gyre_network", 5).prefix("Vnetwork5"),
    ];
    let mut build = cxx_build::bridge("src/ffi.rs");
    add_models(&mut build, &models)?;
    println!("cargo::rerun-if-changed=src/ffi.rs");
    println!("cargo::rerun-if-changed=cpp");
    build.file("cpp/node.cpp").compile("gyre_sim_cxx");
    Ok(())
}
