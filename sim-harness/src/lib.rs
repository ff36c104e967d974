//! The simulated machine: Verilated nodes, links, memory, clock and software tasks.
