//! The command line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use gyre::console::{complain, print};
use gyre::error::RunError;
use thiserror::Error;

use crate::bench;
use crate::check::{self, CheckCommand};
use crate::exec;
use crate::fuzz;
use crate::goal_run::GoalError;
use crate::run;
use crate::why;
use crate::workload;
use gyre::options::{MachineOptions, UsageError};
use gyre::progress;
use gyre::waves::CommandLine;

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
    #[command(after_help = workload::settings_help())]
    Run(run::RunArgs),
    /// Runs processes as the tasks of a program
    #[command(after_help = exec::settings_help())]
    Exec(exec::ExecArgs),
    /// Ends what is left of the tasks of `exec` when its machine has ended
    #[command(name = exec::GUARD, hide = true)]
    GuardJob(exec::GuardArgs),
    /// Says where the time of a program went
    #[command(after_help = workload::settings_help())]
    Why(why::WhyArgs),
    /// Measures the machine
    #[command(after_help = bench::settings_help())]
    Bench(BenchArgs),
    /// Proves a property of the machine without simulating it
    #[command(subcommand)]
    Check(CheckCommand),
    /// Draws machines and stimuli at random and checks what the RTL makes of them
    Fuzz(fuzz::FuzzArgs),
}

#[derive(Debug, clap::Args)]
struct BenchArgs {
    /// Which bench; see --list
    name: Option<String>,
    /// Names every bench
    #[arg(long, exclusive = true)]
    list: bool,
    /// Draws the curve of a sweep, for `bench traffic --set load=sweep`
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// The machine that `--trace` shows, by number, in a bench that makes several [default: 1]
    #[arg(
        long,
        value_name = "NUMBER",
        requires = "trace",
        conflicts_with = "trace_on_failure",
        value_parser = number
    )]
    trace_machine: Option<usize>,
    #[command(flatten)]
    machine: MachineOptions,
    /// Prints one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// A number that counts from 1, refused in words that say so.
fn number(text: &str) -> Result<usize, &'static str> {
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or("expected a whole number, 1 or more")
}

/// Why a command did not succeed.
#[derive(Debug, Error)]
pub enum CommandError {
    /// The run did not succeed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A program that cannot be understood: status 2.
    #[error("{0:?}")]
    Program(miette::Report),
    /// The program did not run to its end.
    #[error(transparent)]
    Goal(#[from] GoalError),
}

impl From<UsageError> for CommandError {
    fn from(error: UsageError) -> Self {
        RunError::from(error).into()
    }
}

impl From<gyre_sim::SimError> for CommandError {
    fn from(error: gyre_sim::SimError) -> Self {
        RunError::from(error).into()
    }
}

impl CommandError {
    /// Exit status of a command that ended with it.
    pub fn status(&self) -> u8 {
        match self {
            Self::Run(error) => error.status(),
            Self::Goal(error) => error.status(),
            Self::Program(_) => 2,
        }
    }
}

/// Runs the command of the process's arguments and returns its exit status.
pub fn main() -> ExitCode {
    progress::show_builds();
    let cli = Cli::parse();
    let command = CommandLine {
        program: "gyre".into(),
        arguments: std::env::args_os().skip(1).collect(),
    };
    match cli.command {
        Command::Run(args) => show(run::run(&args, &command), |outcome| {
            (outcome.text(args.workload.json), outcome.passed)
        }),
        Command::Exec(args) => exec::main(&args, &command),
        Command::GuardJob(args) => exec::guard(&args),
        Command::Why(args) => show(why::run(&args), |reasons| {
            (reasons.text(args.workload.json), true)
        }),
        Command::Bench(BenchArgs { list: true, .. }) => print(&bench::list(), ExitCode::SUCCESS),
        Command::Bench(args) => {
            let name = args.name.unwrap_or_default();
            let shown = args.trace_machine;
            show(
                bench::run(&name, &args.machine, shown, &command, args.plot.as_deref()),
                |outcome| (outcome.text(args.json), outcome.passed),
            )
        }
        Command::Check(command) => show(check::run(&command), |checked| {
            let CheckCommand::Deadlock(args) = &command;
            (checked.text(args.json), checked.passed())
        }),
        Command::Fuzz(args) => show(fuzz::run(&args), |fuzzed| {
            (fuzzed.text(args.json), fuzzed.passed())
        }),
    }
}

/// Prints what a command found, as `text` writes it; status 1 if that did not pass.
fn show<T>(
    result: Result<T, impl Into<CommandError>>,
    text: impl FnOnce(&T) -> (Result<String, serde_json::Error>, bool),
) -> ExitCode {
    match result.map(|found| text(&found)) {
        Ok((Ok(text), passed)) => print(&text, ExitCode::from(u8::from(!passed))),
        Ok((Err(error), _)) => {
            complain(format_args!(
                "the result cannot be written as JSON: {error}"
            ));
            ExitCode::from(1)
        }
        Err(error) => {
            let error = error.into();
            complain(format_args!("{error}"));
            ExitCode::from(error.status())
        }
    }
}
