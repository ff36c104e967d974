// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the loader of the models that machines are made of.

fn main() {
    println!("cargo::rerun-if-changed=src/ffi.rs");
    println!("cargo::rerun-if-changed=cpp");
    cxx_build::bridge("src/ffi.rs")
        .std("c++17")
        .file("cpp/loader.cpp")
        .compile("gyre_sim_cxx");
    println!("cargo::rustc-link-lib=dl");
}
