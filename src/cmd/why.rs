// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre why`: where the time of a program went.

mod cycles;
mod figures;
mod observed;
mod program;
mod prove;
mod text;

use clap::{Args, Subcommand};
use gyre_timeline::{Message, Messages, Stages};

use self::cycles::Cycles;
use self::program::Program;
use self::prove::CAUSES;
use crate::cmd::exec::{self, ExecArgs};
use crate::cmd::workload::WorkloadArgs;
use crate::error::CommandError;
use gyre::options::{MachineOptions, UsageError};
use gyre::outcome::{Outcome, SimFigures, Stopwatch};

/// Messages that are told of unless one is chosen: the slowest.
const SLOWEST: usize = 10;

/// Arguments of `gyre why`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct WhyArgs {
    #[command(subcommand)]
    processes: Option<Processes>,
    /// A .goal file, or a bundled program: lulesh, lulesh27, amg, stencil, cg
    #[arg(required = true)]
    workload: Option<String>,
    /// Order in which ranks take places: letters of the dimensions and t (place on the node), the last
    /// varying fastest [default for three dimensions: cbat]
    #[arg(long, value_name = "ORDER")]
    map: Option<String>,
    #[command(flatten)]
    machine: MachineOptions,
    /// Prints one JSON object instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    question: Question,
}

/// Programs that are no traces.
#[derive(Debug, Subcommand)]
enum Processes {
    /// Explains processes as the tasks of a program, as `gyre exec` runs them; behind what they print
    #[command(after_help = exec::settings_help())]
    Exec {
        #[command(flatten)]
        exec: ExecArgs,
        #[command(flatten)]
        question: Question,
    },
}

/// What is asked.
#[derive(Debug, Args)]
struct Question {
    /// Explains this message, by its number in the order of posts [default: the slowest]
    #[arg(long, value_name = "NUMBER", value_parser = gyre::options::whole::<u64>, allow_negative_numbers = true)]
    message: Option<u64>,
    /// Runs the program again without each of the first causes, and shows the measured gain beside the predicted one
    #[arg(long)]
    prove: bool,
}

/// Findings of `gyre why`.
pub struct Reasons {
    outcome: Outcome,
    text: String,
    json: bool,
}

impl Reasons {
    /// As one JSON object, or for people.
    ///
    /// # Errors
    /// A figure that JSON cannot hold.
    pub fn text(&self) -> Result<String, serde_json::Error> {
        match self.json {
            true => self.outcome.text(true),
            false => Ok(self.text.clone()),
        }
    }
}

/// Runs the program and says where its time went.
///
/// # Errors
/// Wrong options, a malformed program, or a program that did not run to its end.
pub fn run(args: WhyArgs) -> Result<Reasons, CommandError> {
    let (program, question, json) = match args.processes {
        Some(Processes::Exec { exec, question }) => {
            refuse(&exec.machine, "gyre exec")?;
            (Program::processes(exec)?, question, false)
        }
        None => {
            refuse(&args.machine, "gyre run")?;
            let workload = WorkloadArgs {
                workload: args.workload.unwrap_or_default(),
                map: args.map,
                machine: args.machine,
                json: args.json,
            };
            (Program::trace(workload)?, args.question, args.json)
        }
    };
    let clock = Stopwatch::start();
    let observed = program.observe()?;
    let chosen = chosen(&question, &observed.messages)?;
    let found = gyre_why::explain(&observed.recording, &observed.messages, &chosen);
    let (analysis, explained) = found.ok_or_else(|| {
        UsageError::Combination(format!(
            "{}: no operation of a rank took any time: there is nothing to explain",
            program.name()
        ))
    })?;
    let proofs = match question.prove {
        true => prove::all(&program, &observed, &analysis, CAUSES)?,
        false => Vec::new(),
    };
    let spec = program.spec();
    let sim = SimFigures::new(
        observed.ended.cycles,
        spec.nodes(),
        &clock,
        spec.config.threads,
    );
    let cycles = Cycles(observed.recording.cycle_ps);
    let text = text::text(
        &analysis,
        (&observed.messages, &explained),
        &proofs,
        question.message.is_some(),
        cycles,
    );
    let outcome = Outcome {
        bench: "why".into(),
        shape: spec.shape(),
        params: program.params(),
        metrics: figures::metrics(&observed, &analysis, &explained, &proofs, cycles),
        sim,
        hash: format!("{:016x}", observed.ended.hash),
        pictures: Vec::new(),
        passed: true,
    };
    if let Some(path) = program.json_file() {
        exec::write_json(&outcome, path)?;
    }
    Ok(Reasons {
        outcome,
        text,
        json,
    })
}

/// Refuses files, which `other` writes.
fn refuse(options: &MachineOptions, other: &str) -> Result<(), UsageError> {
    match options.observer() {
        Some(option) => Err(UsageError::Combination(format!(
            "{option}: `gyre why` writes no file; `{other}` does, of the same run"
        ))),
        None => Ok(()),
    }
}

/// The messages to explain: the chosen one, or the slowest.
fn chosen(question: &Question, messages: &Messages) -> Result<Vec<u64>, UsageError> {
    let all = messages.all();
    let Some(number) = question.message else {
        let total = |message: &Message| Stages::of(messages, message).map(|s| s.total_ps());
        let mut done: Vec<(u64, u64)> = all
            .iter()
            .filter_map(|message| Some((total(message)?, message.serial)))
            .collect();
        done.sort_by_key(|&(ps, serial)| (std::cmp::Reverse(ps), serial));
        return Ok(done
            .into_iter()
            .map(|(_, serial)| serial)
            .take(SLOWEST)
            .collect());
    };
    match all.iter().find(|message| message.serial == number) {
        Some(_) => Ok(vec![number]),
        None => Err(UsageError::Value {
            option: "--message".into(),
            value: number.to_string(),
            expected: match all.len() {
                0 => "none: the program sends no message".into(),
                last => format!("a number from 1 to {last}, as many messages as the program sends"),
            },
        }),
    }
}
