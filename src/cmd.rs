// SPDX-License-Identifier: MIT OR Apache-2.0
//! The subcommands, apart from `bench`.

pub mod check;
pub mod compare;
pub mod exec;
pub mod fuzz;
pub mod link_use;
mod memory;
pub mod record;
mod recorded;
pub mod run;
mod subject;
pub mod sweep;
mod values;
pub mod why;
pub mod workload;
