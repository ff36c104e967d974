// SPDX-License-Identifier: MIT OR Apache-2.0
//! The subcommands, apart from `bench`.

pub mod check;
pub mod exec;
pub mod fuzz;
pub mod link_use;
mod memory;
pub mod run;
pub mod sweep;
pub mod why;
pub mod workload;
