//! The command line `gyre` and what joins the driver to the simulated machine.

pub mod bench;
pub mod bring_up;
pub mod check;
pub mod cli;
pub mod clients;
pub mod fuzz;
pub mod goal_run;
pub mod heat_map;
pub mod job;
pub mod machine_file;
pub mod options;
pub mod outcome;
pub mod placement;
pub mod platform;
pub mod program;
pub mod progress;
pub mod run;
pub mod settings;
pub mod team;
pub mod thread_team;
