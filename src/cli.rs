// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use gyre::console::{complain, print, short};
use gyre::memory;
use gyre::options::whole;
use gyre::progress;
use gyre::waves::CommandLine;

use crate::bench;
use crate::cmd::check::{self, CheckCommand};
use crate::cmd::{compare, exec, fuzz, record, run, sweep, why, workload};
use crate::error::CommandError;

/// Runs parallel programs on the RTL of a torus machine, cycle by cycle.
#[derive(Debug, Parser)]
#[command(name = "gyre", version, about)]
struct Cli {
    /// Memory of the simulator at most; a command that holds more ends [default: what is free]
    #[arg(long, global = true, value_name = "MIB", value_parser = whole::<u64>, allow_negative_numbers = true)]
    memory_limit: Option<u64>,
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
    /// Runs an MPI program as `exec` does, and writes its trace, which `run` replays
    #[command(after_help = exec::settings_help())]
    Record(record::RecordArgs),
    /// Ends the remaining tasks of `exec` when its machine has ended
    #[command(name = exec::GUARD, hide = true)]
    GuardJob(exec::GuardArgs),
    /// Explains where the time of a program went
    #[command(after_help = workload::settings_help())]
    Why(Box<why::WhyArgs>),
    /// Measures the machine
    #[command(after_help = bench::settings_help())]
    Bench(bench::BenchArgs),
    /// Measures a bench or a program at many points
    #[command(after_help = sweep::HELP)]
    Sweep(sweep::SweepArgs),
    /// Holds two machines, or two results, against each other
    #[command(after_help = compare::HELP)]
    Compare(compare::CompareArgs),
    /// Proves a property of the machine without simulating it
    #[command(subcommand)]
    Check(CheckCommand),
    /// Runs random machines and stimuli on the RTL and checks the results
    Fuzz(fuzz::FuzzArgs),
    /// Writes the completions of a shell to standard output
    #[command(hide = true)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Writes the manual pages into a folder
    #[command(hide = true)]
    Man {
        /// The folder
        folder: PathBuf,
    },
}

/// Runs the command of the process's arguments and returns its exit status.
pub fn main() -> ExitCode {
    progress::show_builds();
    let cli = Cli::parse();
    let command = CommandLine {
        program: "gyre".into(),
        arguments: std::env::args_os().skip(1).collect(),
    };
    // The guardian of a job outlives what it guards.
    if !matches!(cli.command, Command::GuardJob(_)) {
        let prepared = gyre_files::end_by_signals().and_then(|()| memory::limit(cli.memory_limit));
        if let Err(error) = prepared {
            complain(format_args!("signals, memory: {error}"));
            return ExitCode::from(1);
        }
    }
    match cli.command {
        Command::Run(args) => show(run::run(&args, &command), |outcome| {
            (outcome.text(args.workload.json), outcome.passed)
        }),
        Command::Exec(args) => exec::main(&args, &command),
        Command::Record(args) => exec::report(record::run(args)),
        Command::GuardJob(args) => exec::guard(&args),
        Command::Why(args) => show(why::run(*args), |reasons| (reasons.text(), true)),
        Command::Bench(args) if args.list => print(&bench::list(), ExitCode::SUCCESS),
        Command::Bench(args) => show(bench::run(&args, &command), |outcome| {
            (outcome.text(args.json), outcome.passed)
        }),
        Command::Sweep(args) => show(sweep::run(&args, &command), |swept| {
            (swept.text(args.json), swept.passed())
        }),
        Command::Compare(args) => show(compare::run(&args, &command), |compared| {
            (compared.text(args.json), compared.passed())
        }),
        Command::Check(command) => show(check::run(&command), |checked| {
            let CheckCommand::Deadlock(args) = &command;
            (checked.text(args.json), checked.passed())
        }),
        Command::Fuzz(args) => show(fuzz::run(&args), |fuzzed| {
            (fuzzed.text(args.json), fuzzed.passed())
        }),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "gyre", &mut text);
            print(&String::from_utf8_lossy(&text), ExitCode::SUCCESS)
        }
        Command::Man { folder } => match clap_mangen::generate_to(Cli::command(), &folder) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                complain(format_args!("{}: {error}", folder.display()));
                ExitCode::from(2)
            }
        },
    }
}

/// Prints the result of a command as `text` writes it; status 1 if it did not pass.
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
            match &error {
                // Coloured on a terminal; what it shows of the program is plain.
                CommandError::Program(report) => {
                    eprintln!("gyre: {}", short(&format!("{report:?}")))
                }
                error => complain(format_args!("{error}")),
            }
            ExitCode::from(error.status())
        }
    }
}
