//! `gyre run`: runs a program and reports what it did.

use clap::Args;
use gyre_driver::{DEFAULT_EAGER_LIMIT, Ordered, SameNode};
use gyre_goal::{OpId, OpKind, Program, parse, parse_file};
use gyre_sim::{SimError, Until};
use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::path::Path;

use crate::cli::CommandError;
use crate::goal_run::{GoalError, GoalReport, GoalRun, Loaded, MAX_MESSAGE_BYTES, MessageSpan};
use crate::heat_map::{heat_map, link_table};
use gyre::first_view::{Subject, Written};
use gyre::machine_file::{self, MachineSpec};
use gyre::options::{FAILURE_CYCLES, MachineOptions, OnFailure, UsageError, cubic_shape};
use gyre::outcome::{Outcome, SimFigures, Stopwatch, object};
use gyre::placement::Placement;
use gyre::progress;
use gyre::settings::{self, Default as Unless, Setting, Settings, Table, Values};
use gyre::timeline::TimelineFile;
use gyre::waves::{self, CommandLine, Failed, Failure, Wave, trace_config};

/// Bundled programs by name: traces of real MPI programs, see `workloads/README.md`.
const BUNDLED: [(&str, &str); 5] = [
    ("lulesh", include_str!("../workloads/lulesh_8.goal")),
    ("lulesh27", include_str!("../workloads/lulesh_27.goal")),
    ("amg", include_str!("../workloads/amg-anysrc_8.goal")),
    ("stencil", include_str!("../workloads/prk-stencil_16.goal")),
    ("cg", include_str!("../workloads/npb-cg-S_16.goal")),
];

/// Nanoseconds of computation in a program: half of what 64 bits of picoseconds hold.
const MAX_CALC_NS: u64 = u64::MAX / 2000;

/// Longest eager message that can be asked for, bytes.
const MAX_EAGER_LIMIT: usize = 1 << 30;

/// Cycles before and after a message that a waveform of it shows.
const MARGIN: u64 = 64;

const RECEPTION_FIFO: Setting<usize> = ring("reception_fifo", "size of each reception FIFO");
const INJECTION_FIFO: Setting<usize> = ring(
    "injection_fifo",
    "size of each injection FIFO; 64 B a descriptor",
);
const EAGER_LIMIT: Setting<usize> = Setting::number(
    "eager_limit",
    "bytes",
    DEFAULT_EAGER_LIMIT,
    (0, MAX_EAGER_LIMIT),
    "longest message that travels at once; longer ones stay at their origin until they have their receive",
);
pub(crate) const SAME_NODE: Setting<SameNode> = Setting::choice(
    "same_node",
    SameNode::Loopback,
    "loopback or shared_memory",
    "messages between ranks of one node: through the DMA engine, or by processor copies in shared memory",
);
const ORDERED: Setting<Ordered> = Setting::choice(
    "ordered",
    Ordered::Fixed,
    "fixed or flow",
    "messages between nodes: all of a pair by one way, or by ordered-dynamic flows while there are some",
);
const COMM_THREAD: Setting<bool> = Setting::flag(
    "comm_thread",
    true,
    "a communication thread advances each rank's context",
);

/// The settings beside those of the machine.
const SETTINGS: &Table = &[
    &RECEPTION_FIFO,
    &INJECTION_FIFO,
    &EAGER_LIMIT,
    &SAME_NODE,
    &ORDERED,
    &COMM_THREAD,
];

/// What `--help` says about settings.
pub fn settings_help() -> String {
    settings::help([("program", SETTINGS), ("machine", machine_file::SETTINGS)])
}

/// Arguments of `gyre run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// A .goal file, or a bundled program: lulesh, lulesh27, amg, stencil, cg
    pub workload: String,
    /// Order in which ranks take places: letters of the dimensions and t (place on the node), the last
    /// varying fastest [default for three dimensions: cbat]
    #[arg(long, value_name = "ORDER")]
    pub map: Option<String>,
    /// Options of the machine.
    #[command(flatten)]
    pub machine: MachineOptions,
}

/// Runs the program.
///
/// # Errors
/// Wrong options, a malformed program, or a program that did not run to its end.
pub fn run(args: &RunArgs, command: &CommandLine) -> Result<Outcome, CommandError> {
    let options = &args.machine;
    let program = load(&args.workload)?;
    check_limits(&args.workload, &program)?;
    let totals = program.totals();
    let ranks = totals.per_rank.len();
    let operations: u64 = program.ranks().iter().map(|r| r.ops().len() as u64).sum();

    let settings = Settings::parse(&options.set, &[SETTINGS, machine_file::SETTINGS])?;
    let shape = match options.shape {
        Some(_) => None,
        None => cubic_shape(ranks).map(Some)?,
    };
    let spec = MachineSpec::new(options, &settings, shape)?;
    let mut goal = GoalRun {
        spec: spec.clone(),
        placement: Placement::new(ranks, &spec.config.dims, args.map.as_deref())?,
        reception_fifo: settings.get(&RECEPTION_FIFO),
        injection_fifo: settings.get(&INJECTION_FIFO),
        eager_limit: settings.get(&EAGER_LIMIT),
        same_node: settings.get(&SAME_NODE),
        ordered: settings.get(&ORDERED),
        comm_thread: settings.get(&COMM_THREAD),
    };
    waves::check(options, &spec)?;
    waves::check_scopes(options, &spec)?;
    let timeline = TimelineFile::create(options, &mut goal.spec.config)?;

    let runs = Runs {
        goal: &goal,
        program: &program,
        options,
        command,
    };
    let bar = progress::bar(operations, "operations");
    let clock = Stopwatch::start();
    let (result, _) = runs.attempt(&bar, None, Loaded::run);
    bar.finish_and_clear();
    // Of a run that fails it shows what went before.
    let timeline = timeline.map(|file| file.write()).transpose();
    let report = match result {
        Ok(report) => report,
        Err(error) => return Err(runs.shown(error)?.into()),
    };
    let timeline = timeline?;
    let sim = SimFigures::new(report.sim.cycles, spec.nodes(), &clock, spec.config.threads);
    let wrong = runs.wrong(&report);
    let trace = match &wrong {
        None => runs.trace(&report)?,
        Some(wrong) => runs.show(wrong.clone(), Some(Failure::at_end(report.sim.cycles)))?,
    };
    let (messages, bytes) = arrived(&report);
    let mut params = spec.params();
    params.insert("workload".into(), args.workload.clone().into());
    params.insert("ranks".into(), ranks.into());
    params.insert("ranks_per_node".into(), goal.placement.per_node.into());
    params.insert("map".into(), json!(args.map));
    params.insert("reception_fifo".into(), goal.reception_fifo.into());
    params.insert("injection_fifo".into(), goal.injection_fifo.into());
    params.insert("eager_limit".into(), goal.eager_limit.into());
    params.insert("same_node".into(), goal.same_node.name().into());
    params.insert("ordered".into(), goal.ordered.name().into());
    params.insert("comm_thread".into(), goal.comm_thread.into());

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
        "per_rank": per_rank(&goal, &report),
    }));
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
        params,
        metrics,
        sim,
        hash: format!("{:016x}", report.sim.hash),
        pictures,
        passed,
    })
}

/// The setting of a FIFO's ring.
const fn ring(key: &'static str, about: &'static str) -> Setting<usize> {
    Setting {
        key,
        about,
        unit: "bytes",
        default: Unless::Value(65_536),
        values: Values::Such(
            |bytes| bytes.is_power_of_two() && (4096..=1_048_576).contains(&bytes),
            "a power of two from 4096 to 1048576",
        ),
    }
}

fn load(workload: &str) -> Result<Program, CommandError> {
    let path = Path::new(workload);
    let bundled = BUNDLED.iter().find(|(name, _)| *name == workload);
    match bundled {
        Some((name, text)) if !path.exists() => parse(name, text.as_bytes())
            .map_err(|error| CommandError::Program(miette::Report::new(*error))),
        None if !path.exists() => {
            let names = BUNDLED.map(|(name, _)| name).join(", ");
            Err(UsageError::Combination(format!(
                "`{workload}` is no file and no bundled program; bundled are {names}"
            ))
            .into())
        }
        _ => parse_file(path).map_err(|error| CommandError::Program(miette::Report::new(error))),
    }
}

/// Refuses programs beyond what the machine can hold or count.
fn check_limits(workload: &str, program: &Program) -> Result<(), UsageError> {
    let calc_ns = program.totals().all.calc_ns;
    if calc_ns > MAX_CALC_NS {
        return Err(UsageError::Combination(format!(
            "{workload}: its calc times add up to {calc_ns} ns, expected at most {MAX_CALC_NS}"
        )));
    }
    for rank in program.ranks() {
        for (number, op) in (0..).zip(rank.ops()) {
            let (OpKind::Send { bytes, .. } | OpKind::Recv { bytes, .. }) = op.kind else {
                continue;
            };
            if bytes > MAX_MESSAGE_BYTES {
                let line = rank.line(OpId(number)).unwrap_or(0);
                return Err(UsageError::Combination(format!(
                    "{workload}:{line}: {op}: expected at most {MAX_MESSAGE_BYTES} bytes"
                )));
            }
        }
    }
    Ok(())
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
    goal: &'a GoalRun,
    program: &'a Program,
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
            Some(wave) => self.goal.spec.repetition(wave),
            None => self.goal.spec.attempt(None),
        };
        let loaded = self.goal.load(&spec, self.program.clone(), bar);
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
            nodes: self.goal.spec.nodes(),
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

    /// An error with what the waveform shows of it.
    fn shown(&self, error: GoalError) -> Result<GoalError, UsageError> {
        let failure = match &error {
            GoalError::Machine { source, .. } => {
                Failure::of(source, self.goal.spec.config.cycle_ps)
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

    /// What is wrong with a run that has come to its end.
    fn wrong(&self, report: &GoalReport) -> Option<String> {
        let totals = self.program.totals().all;
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
                let node = |rank: u32| format!("node{}", self.goal.placement.node[rank as usize]);
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
