// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre run`: runs a program and reports what it did.

use std::path::Path;

use clap::Args;
use gyre_sim::{SimError, Until};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use crate::cmd::link_use::{heat_map, link_table};
use crate::cmd::workload::{Workload, WorkloadArgs};
use crate::error::CommandError;
use gyre::attempt::Wave;
use gyre::first_view::{Subject, Written};
use gyre::options::{FAILURE_CYCLES, MachineOptions, OnFailure, UsageError};
use gyre::outcome::{Outcome, SimFigures, Stopwatch, object};
use gyre::progress;
use gyre::timeline::{Timeline, Told};
use gyre::waves::{self, CommandLine, Failed, Failure, trace_config};
use gyre_replay::{self, GoalError, GoalReport, GoalRun, Loaded, MessageSpan};

/// Cycles before and after a message that a waveform of it shows.
const MARGIN: u64 = 64;

/// Arguments of `gyre run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The program and its machine.
    #[command(flatten)]
    pub workload: WorkloadArgs,
}

/// Runs the program.
///
/// # Errors
/// Wrong options, a malformed program, or a program that did not run to its end.
pub fn run(args: &RunArgs, command: &CommandLine) -> Result<Outcome, CommandError> {
    let options = &args.workload.machine;
    let mut workload = Workload::prepare(&args.workload)?;
    let spec = workload.goal.spec.clone();
    waves::check(options, &spec)?;
    waves::check_scopes(options, &spec)?;
    let timeline = Timeline::create(options, &mut workload.goal.spec.config)?;

    let runs = Runs {
        workload: &workload,
        options,
        command,
    };
    let bar = progress::bar(workload.operations(), "operations");
    let clock = Stopwatch::start();
    let (result, _) = runs.attempt(&bar, None, Loaded::run);
    bar.finish_and_clear();
    let name = &args.workload.workload;
    let file = Path::new(name).file_name();
    let told = Told {
        title: &format!("run {}", file.unwrap_or(name.as_ref()).display()),
        spec: &spec,
        command,
        numbers_machines: false,
    };
    let report = match result {
        Ok(report) => report,
        Err(error) => {
            timeline.failed(told, || {
                let cycle_ps = workload.goal.spec.config.cycle_ps;
                gyre_replay::failure(&error, &workload.goal.placement, cycle_ps)
            });
            return Err(runs.shown(error)?.into());
        }
    };
    let sim = SimFigures::new(report.sim.cycles, spec.nodes(), &clock, spec.config.threads);
    let wrong = runs.wrong(&report);
    let trace = match &wrong {
        None => runs.trace(&report)?,
        Some(wrong) => runs.show(wrong.clone(), Some(Failure::at_end(report.sim.cycles)))?,
    };
    let (messages, bytes) = arrived(&report);
    let metrics = object(json!({
        "makespan_cycles": report.makespan_cycles,
        "makespan_us": report.makespan_ps as f64 / 1e6,
        "makespan_ns": report.makespan_ps / 1000,
        "messages": messages,
        "bytes": bytes,
        "verified": wrong.is_none(),
        "peak_held_bytes": report.ranks.iter().map(|r| r.peak_held_bytes).max(),
        "first_message": report.first_message.map(span_json),
        "links": link_table(&spec.config, &report.link_flits, report.makespan_cycles),
        "per_rank": per_rank(&workload.goal, &report),
    }));
    let timeline = timeline.ended(told, &metrics, wrong.as_deref())?;
    let mut pictures = vec![heat_map(
        &spec.config,
        &report.link_flits,
        report.makespan_cycles,
    )];
    pictures.extend(trace);
    pictures.extend(timeline);
    let passed = wrong.is_none();
    pictures.extend(wrong);
    Ok(Outcome {
        bench: "run".into(),
        shape: spec.shape(),
        params: workload.params(&args.workload),
        metrics,
        sim,
        hash: format!("{:016x}", report.sim.hash),
        pictures,
        passed,
    })
}

fn span_json(span: MessageSpan) -> Value {
    json!({
        "source": span.source,
        "destination": span.destination,
        "from_cycle": span.from,
        "to_cycle": span.to,
    })
}

fn per_rank(goal: &GoalRun, report: &GoalReport) -> Vec<Value> {
    let places = goal.placement.node.iter();
    places
        .zip(&report.ranks)
        .enumerate()
        .map(|(rank, (node, counts))| {
            json!({
                "rank": rank,
                "node": node,
                "sent": counts.sent,
                "sent_bytes": counts.sent_bytes,
                "received": counts.received,
                "received_bytes": counts.received_bytes,
            })
        })
        .collect()
}

/// Runs the program, with a waveform if there is one to write. The same machine does the same each time, with or without.
struct Runs<'a> {
    workload: &'a Workload,
    options: &'a MachineOptions,
    command: &'a CommandLine,
}

impl Runs<'_> {
    /// Runs it as far as `run` does. Gives the file of the waveform, if anything was written, as well.
    fn attempt<T>(
        &self,
        bar: &ProgressBar,
        wave: Option<Wave>,
        run: impl FnOnce(Loaded) -> Result<T, GoalError>,
    ) -> (Result<T, GoalError>, Result<Option<Written>, SimError>) {
        let spec = match wave {
            Some(wave) => self.workload.goal.spec.repetition(wave),
            None => self.workload.goal.spec.attempt(None),
        };
        let loaded = self
            .workload
            .goal
            .load(&spec, self.workload.program.clone(), bar);
        (loaded.and_then(run), spec.machines.finish(None))
    }

    /// Repeats a run that failed, with the waveform that the options ask for. What to say of it, in lines; nothing if they
    /// ask for none.
    fn show(&self, text: String, failure: Option<Failure>) -> Result<Option<String>, UsageError> {
        let options = self.options;
        let on_failure = match (&options.trace_on_failure, &options.trace) {
            (Some(on_failure), _) => on_failure.clone(),
            (None, Some(path)) => OnFailure {
                path: path.clone(),
                cycles: FAILURE_CYCLES,
            },
            (None, None) => return Ok(None),
        };
        let Some(failure) = failure else {
            return Ok(None);
        };
        let failed = Failed {
            text,
            failure,
            machine: 0,
            nodes: self.workload.goal.spec.nodes(),
            options,
            command: self.command,
        };
        let again = |wave| {
            let (result, written) = self.attempt(&ProgressBar::hidden(), Some(wave), Loaded::run);
            let text = match result {
                Ok(report) => self.wrong(&report),
                Err(error) => Some(error.to_string()),
            };
            (text, written)
        };
        failed.repeat(&on_failure, again).map(Some)
    }

    /// Adds the waveform to an error.
    fn shown(&self, error: GoalError) -> Result<GoalError, UsageError> {
        let failure = match &error {
            GoalError::Machine { source, .. } => {
                Failure::of(source, self.workload.goal.spec.config.cycle_ps)
            }
            GoalError::Placement(_) | GoalError::Shown { .. } => None,
        };
        Ok(match self.show(error.to_string(), failure)? {
            Some(shown) => GoalError::Shown {
                source: error.into(),
                shown,
            },
            None => error,
        })
    }

    /// The error of a completed run; none if it is right.
    fn wrong(&self, report: &GoalReport) -> Option<String> {
        let totals = self.workload.program.totals().all;
        let (messages, bytes) = arrived(report);
        (messages != totals.sends || bytes != totals.bytes).then(|| {
            format!(
                "NOT VERIFIED: {messages} of {} messages and {bytes} of {} bytes arrived and were checked",
                totals.sends, totals.bytes
            )
        })
    }

    /// Runs the program again, up to the end of the waveform's window. Unless told otherwise the window is that of the first
    /// message, the scope its two nodes.
    fn trace(&self, report: &GoalReport) -> Result<Option<String>, CommandError> {
        let (window, scopes) = match report.first_message {
            Some(span) => {
                let node =
                    |rank: u32| format!("node{}", self.workload.goal.placement.node[rank as usize]);
                let mut scopes = vec![node(span.source), node(span.destination)];
                scopes.dedup();
                let window = (span.from.saturating_sub(MARGIN), span.to + MARGIN);
                (window, scopes)
            }
            None => ((0, report.sim.cycles.max(1)), Vec::new()),
        };
        let Some(config) = trace_config(self.options, window, scopes)? else {
            return Ok(None);
        };
        let window = config.window.clone();
        if window.start >= report.sim.cycles {
            return Err(waves::begins_late(&config, report.sim.cycles).into());
        }
        let end = window.end.min(report.sim.cycles);
        let subject = report
            .first_message
            .filter(|span| window.contains(&span.from));
        let wave = Wave {
            machine: 0,
            config,
            subject: subject.map_or(Subject::Window, |span| Subject::Message {
                from_cycle: span.from,
                source: span.source,
                destination: span.destination,
            }),
        };
        let run = |mut loaded: Loaded| Ok(loaded.machine().run(Until::Cycle(end))?);
        let (result, written) = self.attempt(&ProgressBar::hidden(), Some(wave), run);
        result?;
        Ok(written?.map(|written| {
            format!(
                "waveform of cycles {} to {}: {}",
                window.start,
                window.end,
                written.names()
            )
        }))
    }
}

/// Messages and bytes that have arrived and were checked.
fn arrived(report: &GoalReport) -> (u64, u64) {
    let ranks = report.ranks.iter();
    ranks.fold((0, 0), |(messages, bytes), rank| {
        (messages + rank.received, bytes + rank.received_bytes)
    })
}
