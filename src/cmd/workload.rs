// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that `gyre run` and `gyre why` run: what they are, and the machine that they are run on.

use std::path::Path;

use clap::Args;
use gyre_driver::{DEFAULT_EAGER_LIMIT, Ordered};
use gyre_goal::{LoadError, OpId, OpKind, Program, parse, parse_file};
use serde_json::{Map, Value, json};

use crate::cmd::memory;
use crate::error::CommandError;
use crate::settings::SAME_NODE;
use gyre::console::complain;
use gyre::machine_file::{self, MachineSpec};
use gyre::options::{MachineOptions, UsageError, cubic_shape};
use gyre::outcome::object;
use gyre::placement::Placement;
use gyre::settings::{self, Default as Unless, Setting, Settings, Table, Values};
use gyre_replay::{Change, GoalRun, MAX_MESSAGE_BYTES};

/// Bundled programs by name: traces of real MPI programs, see `workloads/README.md`.
const BUNDLED: [(&str, &str); 5] = [
    ("lulesh", include_str!("../../workloads/lulesh_8.goal")),
    ("lulesh27", include_str!("../../workloads/lulesh_27.goal")),
    ("amg", include_str!("../../workloads/amg-anysrc_8.goal")),
    (
        "stencil",
        include_str!("../../workloads/prk-stencil_16.goal"),
    ),
    ("cg", include_str!("../../workloads/npb-cg-S_16.goal")),
];

/// Longest computation of a program, nanoseconds: half the range of 64 bits of picoseconds.
const MAX_CALC_NS: u64 = u64::MAX / 2000;

/// Longest eager message that can be asked for, bytes.
const MAX_EAGER_LIMIT: usize = 1 << 30;

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

const ACK_THRESHOLD: Setting<u32> = Setting::number(
    "ack_threshold",
    "",
    8,
    (1, 1000),
    "turns of a rank's driver without a new message after which it acknowledges those that it has",
);

/// The settings beside those of the machine.
const SETTINGS: &Table = &[
    &RECEPTION_FIFO,
    &INJECTION_FIFO,
    &EAGER_LIMIT,
    &SAME_NODE,
    &ORDERED,
    &COMM_THREAD,
    &ACK_THRESHOLD,
];

/// Settings by which ranks use the driver as tasks of MPI do: each advances its context itself and acknowledges at once.
pub const AS_MPI: [&str; 2] = ["comm_thread=false", "ack_threshold=1"];

/// Settings, for `--help`.
pub fn settings_help() -> String {
    settings::help([("program", SETTINGS), ("machine", machine_file::SETTINGS)])
}

/// Arguments of a command that runs a program.
#[derive(Debug, Args)]
pub struct WorkloadArgs {
    /// A .goal file, or a bundled program: lulesh, lulesh27, amg, stencil, cg
    pub workload: String,
    /// Order in which ranks take places: letters of the dimensions and t (place on the node), the last
    /// varying fastest [default for three dimensions: cbat]
    #[arg(long, value_name = "ORDER")]
    pub map: Option<String>,
    /// Options of the machine.
    #[command(flatten)]
    pub machine: MachineOptions,
    /// Prints one JSON object instead of tables
    #[arg(long)]
    pub json: bool,
}

/// A program and the machine that it is to run on.
pub struct Workload {
    /// The program.
    pub program: Program,
    /// The machine, and how it is used.
    pub goal: GoalRun,
}

impl Workload {
    /// Program and machine that `args` ask for.
    ///
    /// # Errors
    /// Wrong options, a malformed program, or one that no machine can hold.
    pub fn prepare(args: &WorkloadArgs) -> Result<Self, CommandError> {
        let options = &args.machine;
        let program = load(&args.workload)?;
        check_limits(&args.workload, &program)?;
        memory::check(&args.workload, &program)?;
        for cut in program.cuts() {
            complain(format_args!("{}:{cut}", args.workload));
        }
        let ranks = program.ranks().len();
        let settings = Settings::parse(&options.set, &[SETTINGS, machine_file::SETTINGS])?;
        let shape = match options.shape {
            Some(_) => None,
            None => cubic_shape(ranks).map(Some)?,
        };
        let spec = MachineSpec::new(options, &settings, shape)?;
        let placement = Placement::new(ranks, &spec.config.dims, args.map.as_deref())?;
        let goal = replayed(&settings, spec, placement);
        Ok(Self { program, goal })
    }

    /// Operations of all ranks.
    pub fn operations(&self) -> u64 {
        let ranks = self.program.ranks().iter();
        ranks.map(|rank| rank.ops().len() as u64).sum()
    }

    /// Every parameter that the figures depend on. `args` are those of [`Workload::prepare`].
    pub fn params(&self, args: &WorkloadArgs) -> Map<String, Value> {
        let goal = &self.goal;
        let mut params = goal.spec.params();
        params.append(&mut object(json!({
            "workload": args.workload,
            "ranks": self.program.ranks().len(),
            "ranks_per_node": goal.placement.per_node,
            "map": args.map,
            "reception_fifo": goal.reception_fifo,
            "injection_fifo": goal.injection_fifo,
            "eager_limit": goal.eager_limit,
            "same_node": goal.same_node.name(),
            "ordered": goal.ordered.name(),
            "comm_thread": goal.comm_thread,
            "ack_threshold": goal.ack_threshold,
        })));
        params
    }
}

/// A run as the settings say.
fn replayed(settings: &Settings, spec: MachineSpec, placement: Placement) -> GoalRun {
    GoalRun {
        spec,
        placement,
        reception_fifo: settings.get(&RECEPTION_FIFO),
        injection_fifo: settings.get(&INJECTION_FIFO),
        eager_limit: settings.get(&EAGER_LIMIT),
        same_node: settings.get(&SAME_NODE),
        ordered: settings.get(&ORDERED),
        comm_thread: settings.get(&COMM_THREAD),
        ack_threshold: settings.get(&ACK_THRESHOLD),
        change: Change::default(),
    }
}

/// A run with [`AS_MPI`].
///
/// # Errors
/// None that a user causes.
pub fn replayed_as_mpi(spec: &MachineSpec, placement: &Placement) -> Result<GoalRun, UsageError> {
    let settings = Settings::parse(&AS_MPI.map(String::from), &[SETTINGS])?;
    Ok(replayed(&settings, spec.clone(), placement.clone()))
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
        _ => parse_file(path).map_err(|error| match error {
            LoadError::Read { .. } => UsageError::Combination(in_full(&error)).into(),
            error => CommandError::Program(miette::Report::new(error)),
        }),
    }
}

/// An error with its cause.
fn in_full(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Refuses programs beyond the limits of the machine.
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
