// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs parallel programs on the simulated machine: the only crate that knows both the driver and the machine.
//!
//! - [`prelude`] is what a program imports. [`program`] is one with a command line of its own, [`launch`] the run that it was
//!   called for, [`task`] what each of its tasks gets, [`report`] what it has found; [`options`], [`settings`] and [`machine_file`] are what a user
//!   can say there, [`clients`] the file of its clients, [`error`] why a run did not succeed.
//! - [`job`] is a machine that is brought up ([`bring_up`]), with tasks on its nodes ([`placement`]).
//! - [`platform`] is a node as the driver of a task sees it.
//! - [`team`] and [`thread_team`] are tasks and threads as members of geometries.
//! - [`attempt`] is the machines that an attempt at a command makes, [`waves`] the waveforms of a command: of which of them, and
//!   of the end of a run that failed.
//!   [`first_view`] is what a viewer shows of one at first.
//! - [`outcome`] is what a command shows at its end, [`progress`] what it shows before, [`console`] where, [`memory`] what the process
//!   may hold.

pub mod attempt;
pub mod bring_up;
pub mod clients;
pub mod console;
pub mod driver_log;
pub mod error;
pub mod first_view;
pub mod job;
pub mod launch;
pub mod machine_file;
pub mod memory;
pub mod options;
pub mod outcome;
pub mod placement;
pub mod platform;
pub mod prelude;
pub mod program;
pub mod progress;
pub mod report;
pub mod settings;
mod spool;
pub mod task;
pub mod team;
pub mod thread_team;
pub mod timeline;
pub mod waves;
