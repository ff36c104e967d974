//! The command line `gyre`: traces of parallel programs, programs as processes, benches, checks and the fuzzer.

pub mod bench;
pub mod check;
pub mod cli;
pub mod exec;
pub mod fuzz;
pub mod goal_run;
pub mod heat_map;
pub mod run;
pub mod why;
pub mod workload;
