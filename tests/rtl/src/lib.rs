//! Verilator testbenches of single RTL units, with scoreboards in Rust.
