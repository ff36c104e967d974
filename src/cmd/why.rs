// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre why`: where the time of a program went.

mod observed;
mod prove;

use clap::Args;
use comfy_table::CellAlignment;
use gyre_timeline::{Message, Messages, Stages};
use gyre_why::{Analysis, Explained, Kind, Segment};
use serde_json::{Map, Value, json};

use self::observed::Observed;
use crate::cmd::workload::{Workload, WorkloadArgs};
use crate::error::CommandError;
use gyre::options::UsageError;
use gyre::outcome::{Outcome, SimFigures, Stopwatch, object, table};
use gyre::progress;
use gyre_replay::GoalReport;

/// Messages that are told of unless one is chosen: the slowest.
const SLOWEST: usize = 10;

/// Causes that people are shown, and that `--prove` looks at.
const CAUSES: usize = 6;

/// Kinds of segments of the critical path that people are shown.
const PARTS: usize = 6;

/// Slow messages that people are shown.
const SHOWN: usize = 5;

/// Ranks that people are shown.
const RANKS: usize = 16;

/// Arguments of `gyre why`.
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// The program and its machine.
    #[command(flatten)]
    pub workload: WorkloadArgs,
    /// Explains this message, by its number in the order of posts [default: the slowest]
    #[arg(long, value_name = "NUMBER", value_parser = gyre::options::whole::<u64>, allow_negative_numbers = true)]
    pub message: Option<u64>,
    /// Runs the program again without each of the first causes, and shows the measured gain beside the predicted one
    #[arg(long)]
    pub prove: bool,
}

/// Findings of `gyre why`.
pub struct Reasons {
    outcome: Outcome,
    text: String,
}

impl Reasons {
    /// As one JSON object, or for people.
    ///
    /// # Errors
    /// A figure that JSON cannot hold.
    pub fn text(&self, json: bool) -> Result<String, serde_json::Error> {
        match json {
            true => self.outcome.text(true),
            false => Ok(self.text.clone()),
        }
    }
}

/// Runs the program and says where its time went.
///
/// # Errors
/// Wrong options, a malformed program, or a program that did not run to its end.
pub fn run(args: &WhyArgs) -> Result<Reasons, CommandError> {
    refuse(args)?;
    let workload = Workload::prepare(&args.workload)?;
    let clock = Stopwatch::start();
    let bar = progress::bar(workload.operations(), "operations");
    let observed = Observed::of(&workload, &bar);
    bar.finish_and_clear();
    let observed = observed?;
    let Observed {
        report,
        recording,
        messages,
    } = &observed;
    let chosen = chosen(args, messages)?;
    let found = gyre_why::explain(recording, messages, &chosen);
    let (analysis, explained) = found.ok_or_else(|| {
        UsageError::Combination(format!(
            "{}: no operation of a rank took any time: there is nothing to explain",
            args.workload.workload
        ))
    })?;
    let proofs = match args.prove {
        true => prove::all(&workload, &observed, &analysis, CAUSES)?,
        false => Vec::new(),
    };
    let spec = &workload.goal.spec;
    let sim = SimFigures::new(report.sim.cycles, spec.nodes(), &clock, spec.config.threads);
    let cycles = Cycles(recording.cycle_ps);
    let metrics = metrics(report, &analysis, (messages, &explained), &proofs, cycles);
    let text = text(&analysis, (messages, &explained), &proofs, args, cycles);
    let outcome = Outcome {
        bench: "why".into(),
        shape: spec.shape(),
        params: workload.params(&args.workload),
        metrics,
        sim,
        hash: format!("{:016x}", report.sim.hash),
        pictures: Vec::new(),
        passed: true,
    };
    Ok(Reasons { outcome, text })
}

/// Files are written by `gyre run`.
fn refuse(args: &WhyArgs) -> Result<(), UsageError> {
    let options = &args.workload.machine;
    let given = [
        ("--trace", options.trace.is_some()),
        ("--trace-on-failure", options.trace_on_failure.is_some()),
        ("--timeline", options.timeline.is_some()),
        ("--log", options.log.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(UsageError::Combination(format!(
            "{option}: `gyre why` writes no file; `gyre run` does, of the same run"
        ))),
        None => Ok(()),
    }
}

/// The messages to explain: the chosen one, or the slowest.
fn chosen(args: &WhyArgs, messages: &Messages) -> Result<Vec<u64>, UsageError> {
    let all = messages.all();
    let Some(number) = args.message else {
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

/// Picoseconds of a cycle.
#[derive(Clone, Copy)]
struct Cycles(u64);

impl Cycles {
    fn of(self, ps: u64) -> f64 {
        ps as f64 / self.0 as f64
    }
}

/// Name and share of each kind that is there.
fn shares(times: [impl Into<u128>; Kind::ALL.len()]) -> Map<String, Value> {
    let times = times.map(Into::into);
    let total: u128 = times.iter().sum();
    let share = |ps: u128| ps as f64 / total.max(1) as f64;
    let all = Kind::ALL.iter().zip(times);
    all.map(|(kind, ps)| (kind.name().to_owned(), share(ps).into()))
        .collect()
}

/// Parts of the critical path by kind, longest first.
fn parts(path: &[Segment]) -> Vec<(Kind, &'static str, u64)> {
    let mut parts: Vec<(Kind, &'static str, u64)> = Vec::new();
    for segment in path {
        let ps = segment.to_ps - segment.from_ps;
        let own = |part: &&mut (Kind, &'static str, u64)| {
            (part.0, part.1) == (segment.kind, segment.what)
        };
        match parts.iter_mut().find(own) {
            Some(part) => part.2 += ps,
            None => parts.push((segment.kind, segment.what, ps)),
        }
    }
    parts.sort_by_key(|&(kind, what, ps)| (std::cmp::Reverse(ps), kind, what));
    parts
}

fn metrics(
    report: &GoalReport,
    analysis: &Analysis,
    (messages, explained): (&Messages, &[Explained]),
    proofs: &[prove::Proof],
    cycles: Cycles,
) -> Map<String, Value> {
    let path_ps: u64 = analysis.path_times().iter().sum();
    let per_rank = analysis.ranks.iter().map(|rank| {
        let mut row = object(json!({"rank": rank.rank}));
        row.append(&mut shares(rank.times));
        Value::Object(row)
    });
    let critical_path = parts(&analysis.path).into_iter().map(|(kind, what, ps)| {
        json!({"kind": kind.name(), "what": what, "cycles": cycles.of(ps), "ps": ps})
    });
    let told = explained.iter().map(|explained| {
        let message = &messages.all()[explained.serial as usize - 1];
        message_json(message, explained, cycles)
    });
    let causes = analysis.causes.iter().enumerate().map(|(number, cause)| {
        json!({
            "cause": cause.text,
            "predicted_cycles": cycles.of(cause.gain_ps),
            "measured_cycles": proofs.get(number).map(|proof| proof.gain_ps as f64 / cycles.0 as f64),
        })
    });
    let causes: Vec<Value> = match proofs.len() {
        0 => causes.collect(),
        proven => causes.take(proven).collect(),
    };
    object(json!({
        "makespan_cycles": report.makespan_cycles,
        "makespan_ps": report.makespan_ps,
        "critical_path_cycles": path_ps.div_ceil(cycles.0),
        "critical_path_ps": path_ps,
        "verdict": analysis.verdict,
        "shares": shares(analysis.rank_times()),
        "critical_path_shares": shares(analysis.path_times()),
        "critical_path": critical_path.collect::<Vec<_>>(),
        "per_rank": per_rank.collect::<Vec<_>>(),
        "causes": causes,
        "messages": told.collect::<Vec<_>>(),
    }))
}

fn message_json(message: &Message, explained: &Explained, cycles: Cycles) -> Value {
    let stages = |of: &dyn Fn(u64) -> Value| -> Map<String, Value> {
        let all = explained.stages.iter();
        all.map(|stage| (stage.stage.name().to_owned(), of(stage.ps)))
            .collect()
    };
    let blame = explained.stages.iter().flat_map(|stage| {
        stage.blame.iter().map(
            |(text, ps)| json!({"stage": stage.stage.name(), "by": text, "cycles": cycles.of(*ps)}),
        )
    });
    json!({
        "message": message.serial,
        "source": message.source.task,
        "destination": message.destination.task,
        "tag": message.tag,
        "bytes": message.bytes,
        "posted_ps": message.posted_ps,
        "cycles": cycles.of(explained.total_ps),
        "ps": explained.total_ps,
        "stages": stages(&|ps| cycles.of(ps).into()),
        "stages_ps": stages(&|ps| ps.into()),
        "blame": blame.collect::<Vec<_>>(),
    })
}

fn percent(ps: impl Into<u128>, total: impl Into<u128>) -> String {
    let (ps, total): (u128, u128) = (ps.into(), total.into());
    format!("{:.1} %", ps as f64 * 100.0 / total.max(1) as f64)
}

fn text(
    analysis: &Analysis,
    (messages, explained): (&Messages, &[Explained]),
    proofs: &[prove::Proof],
    args: &WhyArgs,
    cycles: Cycles,
) -> String {
    let mut parts = vec![format!("{}\n", analysis.verdict)];
    parts.push(kinds_text(analysis, cycles));
    parts.push(path_text(analysis, cycles));
    parts.push(causes_text(analysis, proofs, cycles));
    match args.message {
        Some(_) => {}
        None => {
            parts.push(ranks_text(analysis));
            parts.push(messages_text(messages, explained, cycles));
        }
    }
    parts.extend(explained.first().map(|slowest| {
        let message = &messages.all()[slowest.serial as usize - 1];
        message_text(message, slowest, cycles)
    }));
    parts.join("\n")
}

fn kinds_text(analysis: &Analysis, cycles: Cycles) -> String {
    let (path, ranks) = (analysis.path_times(), analysis.rank_times());
    let (path_ps, ranks_ps): (u64, u128) = (path.iter().sum(), ranks.iter().sum());
    let mut kinds = table(&["", "critical path, cycles", "share", "all ranks, share"]);
    for ((kind, path), ranks) in Kind::ALL.iter().zip(path).zip(ranks) {
        if path > 0 || ranks > 0 {
            kinds.add_row(vec![
                kind.words().to_owned(),
                format!("{:.0}", cycles.of(path)),
                percent(path, path_ps),
                percent(ranks, ranks_ps),
            ]);
        }
    }
    kinds.add_row(vec![
        "program".to_owned(),
        format!("{:.0}", cycles.of(path_ps)),
        percent(path_ps, path_ps),
        percent(ranks_ps, ranks_ps),
    ]);
    format!("{kinds}\n")
}

fn path_text(analysis: &Analysis, cycles: Cycles) -> String {
    let total: u64 = analysis.path_times().iter().sum();
    let mut rows = table(&["critical path", "of", "cycles", "share"]);
    if let Some(column) = rows.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for (kind, what, ps) in parts(&analysis.path).into_iter().take(PARTS) {
        rows.add_row(vec![
            what.to_owned(),
            kind.words().to_owned(),
            format!("{:.0}", cycles.of(ps)),
            percent(ps, total),
        ]);
    }
    format!("{rows}\n")
}

fn causes_text(analysis: &Analysis, proofs: &[prove::Proof], cycles: Cycles) -> String {
    let measured = !proofs.is_empty();
    let mut rows = table(match measured {
        true => &["what if", "predicted gain, cycles", "measured"],
        false => &["what if", "predicted gain, cycles"],
    });
    for (number, cause) in analysis.causes.iter().take(CAUSES).enumerate() {
        let mut row = vec![
            cause.text.clone(),
            format!("{:.0}", cycles.of(cause.gain_ps)),
        ];
        row.extend(
            proofs
                .get(number)
                .map(|proof| format!("{:.0}", proof.gain_ps as f64 / cycles.0 as f64)),
        );
        rows.add_row(row);
    }
    format!("{rows}\n")
}

fn ranks_text(analysis: &Analysis) -> String {
    let kinds: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|&kind| analysis.rank_times()[kind as usize] > 0)
        .collect();
    let header: Vec<&str> = std::iter::once("rank")
        .chain(kinds.iter().map(|kind| kind.words()))
        .collect();
    let mut rows = table(&header);
    for rank in analysis.ranks.iter().take(RANKS) {
        let total: u64 = rank.times.iter().sum();
        let shares = kinds
            .iter()
            .map(|&kind| percent(rank.times[kind as usize], total));
        rows.add_row(std::iter::once(rank.rank.to_string()).chain(shares));
    }
    match analysis.ranks.len().checked_sub(RANKS) {
        Some(more) if more > 0 => format!("{rows}\n{more} more ranks: see --json\n"),
        _ => format!("{rows}\n"),
    }
}

fn messages_text(messages: &Messages, explained: &[Explained], cycles: Cycles) -> String {
    let mut rows = table(&[
        "slowest message",
        "from",
        "to",
        "bytes",
        "cycles",
        "most of it",
        "share",
    ]);
    for explained in explained.iter().take(SHOWN) {
        let message = &messages.all()[explained.serial as usize - 1];
        let Some(most) = explained.stages.iter().max_by_key(|stage| stage.ps) else {
            continue;
        };
        rows.add_row(vec![
            message.serial.to_string(),
            message.source.task.to_string(),
            message.destination.task.to_string(),
            message.bytes.to_string(),
            format!("{:.0}", cycles.of(explained.total_ps)),
            most.stage.words().to_owned(),
            percent(most.ps, explained.total_ps),
        ]);
    }
    format!("{rows}\n")
}

fn message_text(message: &Message, explained: &Explained, cycles: Cycles) -> String {
    let mut rows = table(&["stage", "cycles", "meanwhile"]);
    if let Some(column) = rows.column_mut(2) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for stage in &explained.stages {
        let blame: Vec<String> = stage
            .blame
            .iter()
            .map(|(text, ps)| format!("{text} {:.0}", cycles.of(*ps)))
            .collect();
        rows.add_row(vec![
            stage.stage.words().to_owned(),
            format!("{:.0}", cycles.of(stage.ps)),
            blame.join("; "),
        ]);
    }
    rows.add_row(vec![
        "whole".to_owned(),
        format!("{:.0}", cycles.of(explained.total_ps)),
        String::new(),
    ]);
    format!(
        "message {} of {} bytes from rank {} to rank {}, tag {}\n{rows}\n",
        message.serial, message.bytes, message.source.task, message.destination.task, message.tag
    )
}
