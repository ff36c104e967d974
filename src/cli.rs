//! The command line.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use thiserror::Error;

use crate::bench;
use crate::goal_run::GoalError;
use crate::options::{MachineOptions, UsageError};
use crate::outcome::Outcome;
use crate::run;

/// Runs parallel programs on the RTL of a torus machine, cycle by cycle.
#[derive(Debug, Parser)]
#[command(name = "gyre", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a program: a GOAL trace, or the name of a bundled one
    Run(run::RunArgs),
    /// Measures the machine
    Bench(BenchArgs),
}

#[derive(Debug, clap::Args)]
struct BenchArgs {
    /// Which bench; see --list
    #[arg(required_unless_present = "list")]
    name: Option<String>,
    /// Names every bench
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    machine: MachineOptions,
}

/// Why a command did not succeed.
#[derive(Debug, Error)]
pub enum CommandError {
    /// Wrong options or configuration: status 2.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// A program that cannot be understood: status 2.
    #[error("{0:?}")]
    Program(miette::Report),
    /// The machine was refused (status 2) or stopped (status 1).
    #[error(transparent)]
    Sim(#[from] gyre_sim::SimError),
    /// The program did not run to its end.
    #[error(transparent)]
    Goal(#[from] GoalError),
    /// A bench found the machine at fault.
    #[error("{0}")]
    Check(String),
}

impl CommandError {
    fn status(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Program(_) => 2,
            Self::Sim(error) | Self::Goal(GoalError::Machine { source: error, .. }) => {
                match error {
                    gyre_sim::SimError::Config(_) => 2,
                    _ => 1,
                }
            }
            Self::Goal(GoalError::Placement(_)) => 2,
            Self::Check(_) => 1,
        }
    }
}

/// Runs the command of the process's arguments and gives its exit status.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let (result, json) = match cli.command {
        Command::Run(args) => (run::run(&args), args.machine.json),
        Command::Bench(BenchArgs { list: true, .. }) => {
            print!("{}", bench::list());
            return ExitCode::SUCCESS;
        }
        Command::Bench(args) => {
            let name = args.name.unwrap_or_default();
            (bench::run(&name, &args.machine), args.machine.json)
        }
    };
    match result {
        Ok(outcome) => finish(&outcome, json),
        Err(error) => {
            eprintln!("gyre: {error}");
            ExitCode::from(error.status())
        }
    }
}

fn finish(outcome: &Outcome, json: bool) -> ExitCode {
    outcome.print(json);
    if outcome.passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    }
}
