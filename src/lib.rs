// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line `gyre`: traces of parallel programs, programs as processes, benches, checks and the fuzzer.

pub mod bench;
pub mod cli;
pub mod cmd;
pub mod error;
pub mod settings;
