// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre record`: a GOAL trace of an MPI program.

mod rank;
mod trace;

use std::path::PathBuf;

use clap::Args;
use gyre::error::RunError;
use gyre::options::{UsageError, check_output, unwritable};
use gyre::outcome::{Outcome, SimFigures, Stopwatch, object};
use gyre_goal::Program;
use gyre_timeline::Recording;
use indicatif::ProgressBar;
use serde_json::json;

use self::trace::Trace;
use crate::cmd::exec::{self, ExecArgs, Prepared};
use crate::cmd::recorded::recorded;
use crate::cmd::workload::{AS_MPI, replayed_as_mpi};
use crate::error::CommandError;

/// Arguments of `gyre record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// The trace
    #[arg(short = 'o', long, value_name = "FILE.goal")]
    output: PathBuf,
    #[command(flatten)]
    exec: ExecArgs,
}

/// Runs the program, writes its trace, and returns the figures of the run.
///
/// # Errors
/// Wrong options, a program that did not run to its end, or one of which no trace can be made.
pub fn run(args: RecordArgs) -> Result<Outcome, CommandError> {
    let RecordArgs { output, mut exec } = args;
    if let Some(option) = exec.machine.observer() {
        return Err(UsageError::Combination(format!(
            "{option}: `gyre record` writes a trace for `gyre run` alone; `gyre exec` writes that file, of the same run"
        ))
        .into());
    }
    exec.messages_alone = true;
    let prepared = Prepared::new(&exec)?;
    check_output("--output", &output)?;
    let clock = Stopwatch::start();
    let (ran, recording) = recorded(&prepared.spec, |spec| {
        exec::execute(&exec, spec, &prepared.placement)
    })?;
    let file = output.to_string_lossy();
    let tasks = prepared.placement.node.len();
    let trace = Trace::of(&recording, tasks).map_err(RunError::Check)?;
    // The second replay has what the first lacked.
    let first = trace.program(&file, &vec![u64::MAX; tasks]);
    let (_, replay) = replayed(&prepared, &first.map_err(RunError::Check)?)?;
    let program = trace.program(&file, &trace::work(&replay, tasks));
    let program = program.map_err(RunError::Check)?;
    let (replay_ps, _) = replayed(&prepared, &program)?;
    gyre_files::write(&output, program.to_string().as_bytes())
        .map_err(|error| RunError::Output(unwritable("--output", &output, error)))?;
    let totals = program.totals().all;
    let makespan_ps = trace.makespan_ps();
    let more = 100.0 * (replay_ps as f64 / makespan_ps.max(1) as f64 - 1.0);
    let spec = &prepared.spec;
    let outcome = Outcome {
        bench: "record".into(),
        shape: spec.shape(),
        params: prepared.params(&exec),
        metrics: object(json!({
            "makespan_ns": makespan_ps / 1000,
            "replay_makespan_ns": replay_ps / 1000,
            "messages": totals.sends,
            "bytes": totals.bytes,
        })),
        sim: SimFigures::new(
            ran.machine.cycles,
            spec.nodes(),
            &clock,
            spec.config.threads,
        ),
        hash: format!("{:016x}", ran.machine.hash),
        pictures: [
            format!(
                "trace of {} messages with {} bytes: {file}",
                totals.sends, totals.bytes
            ),
            format!(
                "{:.3} us between MPI_Init and MPI_Finalize, {:.3} us in replay ({more:+.1} %), on the same machine by:",
                makespan_ps as f64 / 1e6,
                replay_ps as f64 / 1e6,
            ),
            format!("  {}", replay_command(&prepared, &exec, &file)),
        ]
        .into_iter()
        .chain(ran.does_not_repeat)
        .collect(),
        passed: true,
    };
    if let Some(path) = &exec.json {
        exec::write_json(&outcome, path)?;
    }
    Ok(outcome)
}

/// Replays a trace on the machine of the program; its makespan, picoseconds, and the recording.
fn replayed(prepared: &Prepared, program: &Program) -> Result<(u64, Recording), CommandError> {
    let goal = replayed_as_mpi(&prepared.spec, &prepared.placement)?;
    recorded(&prepared.spec, |spec| {
        let loaded = goal.load(spec, program.clone(), &ProgressBar::hidden())?;
        Ok(loaded.run()?.makespan_ps)
    })
}

/// The command that replays the trace, apart from further options of the machine.
fn replay_command(prepared: &Prepared, exec: &ExecArgs, file: &str) -> String {
    let map = exec.map.as_ref();
    let map = map.map_or_else(String::new, |map| format!(" --map {map}"));
    let set = AS_MPI.map(|setting| format!(" --set {setting}")).concat();
    format!(
        "gyre run {file} --shape {}{map}{set}",
        prepared.spec.shape()
    )
}
