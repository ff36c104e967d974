//! Build support: finds the pinned Verilator, turns SystemVerilog into C++ and compiles it.
