// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre exec`: runs processes as the tasks of a program, in lock-step with the machine.

mod barrier;
mod core_pin;
mod environment;
mod linkage;
mod polls;
mod screen;
mod services;
mod shared;

use std::cell::{Cell, RefCell};
use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, ExitCode, Stdio};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use clap::Args;
use gyre::console::complain;
use gyre::error::{JobError, RunError};
use gyre::job::Job;
use gyre::machine_file::{self, MachineSpec};
use gyre::options::{
    FAILURE_CYCLES, MachineOptions, UsageError, check_output, cubic_shape, unwritable,
};
use gyre::outcome::{Outcome, SimFigures, Stopwatch, object};
use gyre::placement::Placement;
use gyre::settings::{self, Settings};
use gyre::timeline::{self, Timeline, Told};
use gyre::waves::{self, CommandLine, Failure};
use gyre_driver::{Op, TaskId};
use gyre_remote::{
    Guardian, JobName, Limits, PmiServer, ProcessError, TaskDescription, TaskProcess,
};
use gyre_sim::{RunReport, SimError, Until};
use serde_json::{Map, Value, json};

use self::barrier::Barrier;
use self::core_pin::CorePin;
use self::polls::Polls;
use self::screen::{RANDOM, Screen};
use self::services::Services;
use self::shared::JobWide;
use crate::cmd::link_use::link_table;
use crate::error::CommandError;
use gyre_replay::flits;

/// Reception FIFOs of a node, which the contexts of its tasks share.
const FIFOS: usize = 16;

/// Most contexts of a task.
const MOST_CONTEXTS: u8 = 4;

/// Least time without progress after which a machine counts as stuck, picoseconds: programs poll for late events.
const STUCK_PS: u64 = 1_000_000_000_000;

/// The subcommand of the process that guards a job.
pub const GUARD: &str = "guard-job";

/// Arguments of `gyre exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// Tasks [default: one a node of the machine]
    #[arg(short = 'n', long = "tasks", value_name = "TASKS", value_parser = tasks)]
    pub tasks: Option<usize>,
    /// Order in which tasks take places: letters of the dimensions and t (place on the node), the last
    /// varying fastest [default for three dimensions: cbat]
    #[arg(long, value_name = "ORDER")]
    pub map: Option<String>,
    /// Begins each line that a task prints with its number
    #[arg(long)]
    pub tag: bool,
    /// Seconds of the host's time after which the machine goes on without a task that asks for nothing; the run does not repeat
    /// then
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub host_slice: u64,
    /// Seconds of the host's time after which a task that asks the machine for nothing ends the run
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds)]
    pub host_limit: u64,
    /// Has programs compute in simulated time: their processor time on the host times FACTOR, outside of the library; the run
    /// does not repeat then [default: computation takes no time]
    #[arg(long, value_name = "FACTOR", value_parser = compute_factor)]
    pub compute: Option<u64>,
    /// Writes the figures of the run, one JSON object
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Collectives of MPI send messages, as its library has them, in place of the driver's.
    #[arg(skip)]
    pub messages_alone: bool,
    /// Options of the machine.
    #[command(flatten)]
    pub machine: MachineOptions,
    /// The program that each task runs, and its arguments
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    pub program: Vec<std::ffi::OsString>,
}

/// Arguments of the guardian of a job.
#[derive(Debug, Args)]
pub struct GuardArgs {
    /// Name of the job
    job: String,
}

fn tasks(text: &str) -> Result<usize, &'static str> {
    let tasks = text.parse().ok().filter(|&tasks| tasks > 0);
    tasks.ok_or("expected a whole number, 1 or more")
}

/// Picoseconds of simulated time for a microsecond of processor time.
fn compute_factor(text: &str) -> Result<u64, &'static str> {
    let factor = text.parse::<f64>().ok();
    let factor = factor.filter(|factor| (0.000_001..=1e6).contains(factor));
    let factor = factor.ok_or("expected a number from 0.000001 to 1000000")?;
    // At least 1, at most 10^12.
    Ok((factor * 1e6).round() as u64)
}

fn seconds(text: &str) -> Result<u64, &'static str> {
    let seconds = text.parse().ok().filter(|&seconds| seconds > 0);
    seconds.ok_or("expected a whole number of seconds, 1 or more")
}

/// Settings, for `--help`.
pub fn settings_help() -> String {
    settings::help([("machine", machine_file::SETTINGS)])
}

/// Runs the program. Standard output and standard error are its own; the last lines of standard error say how many cycles
/// were simulated, and the hash.
pub fn main(args: &ExecArgs, command: &CommandLine) -> ExitCode {
    let result = run(args, command).and_then(|outcome| {
        if let Some(path) = &args.json {
            write_json(&outcome, path)?;
        }
        Ok(outcome)
    });
    report(result.map_err(CommandError::from))
}

/// Ends a command that has run a program: standard output and standard error are the program's, so few lines follow.
pub fn report(result: Result<Outcome, CommandError>) -> ExitCode {
    let outcome = match result {
        Ok(outcome) => outcome,
        Err(error) => {
            complain(format_args!("{error}"));
            return ExitCode::from(error.status());
        }
    };
    let mut lines = outcome.pictures;
    lines.push(format!("{} cycles simulated", outcome.sim.cycles));
    lines.push(format!("hash {}", outcome.hash));
    // Where that cannot be written, the exit status alone says how it ended.
    let _ = writeln!(io::stderr().lock(), "{}", lines.join("\n"));
    ExitCode::SUCCESS
}

/// Writes the figures of a run, one JSON object, where standard output is the program's.
///
/// # Errors
/// A figure that JSON cannot hold, or a file that cannot be written.
pub(super) fn write_json(outcome: &Outcome, path: &Path) -> Result<(), RunError> {
    let text = outcome.text(true).map_err(io::Error::from);
    let written = text.and_then(|text| gyre_files::write(path, text.as_bytes()));
    written.map_err(|error| RunError::Output(unwritable("--json", path, error)))
}

/// Result of a run of a program.
pub(super) struct Ran {
    /// What the machine did.
    pub(super) machine: RunReport,
    /// From the start of the tasks to the end of the last, picoseconds.
    pub(super) makespan_ps: u64,
    /// Flits sent by each port of each node.
    flits: Vec<Vec<u64>>,
    /// Why the run need not repeat, if so.
    pub(super) does_not_repeat: Vec<String>,
    /// Tasks that have ended with open clients, in that order.
    amid: Vec<u32>,
    /// Requests for whose answers processes have waited.
    requests: u64,
}

/// The machine of a program and the places of its tasks.
pub(super) struct Prepared {
    pub(super) spec: MachineSpec,
    pub(super) placement: Placement,
}

impl Prepared {
    /// As the arguments say.
    ///
    /// # Errors
    /// Wrong options.
    pub(super) fn new(args: &ExecArgs) -> Result<Self, UsageError> {
        let options = &args.machine;
        let settings = Settings::parse(&options.set, &[machine_file::SETTINGS])?;
        let shape = args.tasks.filter(|_| options.shape.is_none());
        let mut spec = MachineSpec::new(options, &settings, shape.map(cubic_shape).transpose()?)?;
        let tasks = args.tasks.unwrap_or(spec.nodes());
        let placement = Placement::new(tasks, &spec.config.dims, args.map.as_deref())?;
        let program = Path::new(&args.program[0]);
        gyre_files::keep(program)
            .map_err(|error| UsageError::Combination(format!("{}: {error}", program.display())))?;
        linkage::refuse_static(program)?;
        if let Some(path) = &args.json {
            check_output("--json", path)?;
        }
        let stuck = STUCK_PS / spec.config.cycle_ps;
        spec.config.watchdog = spec.config.watchdog.max(stuck);
        Ok(Self { spec, placement })
    }

    /// Every parameter that the figures depend on.
    pub(super) fn params(&self, args: &ExecArgs) -> Map<String, Value> {
        let mut params = self.spec.params();
        let words = args.program.iter().map(|word| word.to_string_lossy());
        params.append(&mut object(json!({
            "program": words.collect::<Vec<_>>(),
            "tasks": self.placement.node.len(),
            "tasks_per_node": self.placement.per_node,
            "map": args.map,
        })));
        params
    }
}

fn run(args: &ExecArgs, command: &CommandLine) -> Result<Outcome, RunError> {
    let options = &args.machine;
    if options.trace_on_failure.is_some() {
        let text = "--trace-on-failure: a program is never run twice by itself; expected --trace and --trace-window, \
                    which an error names";
        return Err(UsageError::Combination(text.into()).into());
    }
    let mut prepared = Prepared::new(args)?;
    waves::check(options, &prepared.spec)?;
    waves::check_scopes(options, &prepared.spec)?;
    let timeline = Timeline::create(options, &mut prepared.spec.config)?;
    let spec = prepared.spec.clone();

    let clock = Stopwatch::start();
    let execute = |spec: &MachineSpec| execute(args, spec, &prepared.placement);
    let observed = waves::observed(&spec, options, None, command, |_| None, execute);
    let name = args.program[0].to_string_lossy();
    let told = Told {
        title: &format!("exec {name}"),
        spec: &spec,
        command,
        numbers_machines: false,
    };
    let (ran, wave) = match observed {
        Ok(observed) => observed,
        Err(error) => {
            timeline.failed(told, || timeline::failure(&error, spec.config.cycle_ps));
            return Err(with_command(error, &spec, command));
        }
    };
    let sim = SimFigures::new(
        ran.machine.cycles,
        spec.nodes(),
        &clock,
        spec.config.threads,
    );
    let makespan_cycles = ran.makespan_ps.div_ceil(spec.config.cycle_ps);
    let metrics = object(json!({
        "makespan_cycles": makespan_cycles,
        "makespan_us": ran.makespan_ps as f64 / 1e6,
        "makespan_ns": ran.makespan_ps / 1000,
        "requests": ran.requests,
        "links": link_table(&spec.config, &ran.flits, makespan_cycles),
    }));
    let amid: Vec<String> = ran.amid.iter().map(u32::to_string).collect();
    let amid = (!amid.is_empty()).then(|| {
        format!(
            "tasks that ended without destroying their clients: {}",
            amid.join(", ")
        )
    });
    let timeline = timeline.ended(told, &metrics, None)?;
    let pictures = [wave, timeline, amid].into_iter().flatten();
    let pictures = pictures.chain(ran.does_not_repeat);
    Ok(Outcome {
        bench: "exec".into(),
        shape: spec.shape(),
        params: prepared.params(args),
        metrics,
        sim,
        hash: format!("{:016x}", ran.machine.hash),
        pictures: pictures.collect(),
        passed: true,
    })
}

/// Time of the last progress of a program that is stuck, picoseconds.
fn stuck_since_ps(error: &SimError) -> Option<u64> {
    let SimError::Actor { source, .. } = error else {
        return None;
    };
    source.downcast_ref::<ProcessError>()?.stuck_since_ps()
}

/// Adds to an error of a run without waveform the command that shows its last cycles.
fn with_command(error: RunError, spec: &MachineSpec, command: &CommandLine) -> RunError {
    let RunError::Sim(source) = &error else {
        return error;
    };
    let Some(failure) = Failure::of(source, spec.config.cycle_ps) else {
        return error;
    };
    let failure = match stuck_since_ps(source) {
        Some(ps) => failure.since(ps / spec.config.cycle_ps),
        None => failure,
    };
    let window = failure.window(FAILURE_CYCLES);
    let option = format!(
        "--trace failure.fst --trace-window {}:{}",
        window.start, window.end
    );
    let shown = format!("for a waveform of it: {}", command.with(&option));
    RunError::Shown {
        source: error.into(),
        shown,
    }
}

/// Runs a process for each task, on a machine that is made for them, until all have ended.
///
/// # Errors
/// A task that failed, or a machine that stopped.
pub(super) fn execute(
    args: &ExecArgs,
    spec: &MachineSpec,
    placement: &Placement,
) -> Result<Ran, RunError> {
    gyre_remote::raise_descriptor_limit();
    let mut job = Job::on(spec.machine()?, &spec.costs, placement).map_err(RunError::from)?;
    // With more simulator threads than one, they have the other cores.
    let _pin = (spec.config.threads == 1).then(CorePin::claim).flatten();
    let name = JobName::unique();
    let guardian = start_guardian(&name).map_err(|error| {
        RunError::Check(format!(
            "the guardian of the job cannot be started: {error}"
        ))
    })?;
    let screen = Rc::new(RefCell::new(Screen::new(placement.node.len(), args.tag)));
    screen.borrow_mut().measured = args.compute.is_some();
    let of_task = |task| {
        let compute_ps = args.compute.unwrap_or(0);
        describe(&job, TaskId(task), (spec, placement.per_node), compute_ps)
            .map(|task| Process::new(args, &name, task))
    };
    let processes = (0..job.tasks()).map(of_task);
    let processes = processes
        .collect::<Result<_, _>>()
        .map_err(JobError::Placement)?;
    job.machine().restart_recording();
    let start_ps = job.machine().cycles() * spec.config.cycle_ps;
    let before = flits(job.machine());
    let shown = Rc::clone(&screen);
    // The machine ends the cycle in which a task fails: no other task starts in it.
    let failed = Cell::new(false);
    let job_wide = Rc::new(JobWide {
        barrier: Barrier::new(placement.node.len(), spec),
        start_up: Barrier::new(placement.node.len(), spec),
        pmi: RefCell::new(PmiServer::new(&placement.node)),
        polls: Polls::new(placement.node.len()),
        limit: Duration::from_secs(args.host_limit),
        trouble: Rc::default(),
        requests: Cell::new(0),
    });
    let of_tasks = Rc::clone(&job_wide);
    let run = move |task: gyre::job::Process, process: Process| {
        if !failed.get() {
            let result = process.run(&task, &shown, &of_tasks);
            failed.set(failed.get() || result.is_err());
            result?;
        }
        Ok::<_, ProcessError>(task.platform.cpu().now_ps())
    };
    let served = job.each_with("program", Until::Quiet, processes, run);
    screen.borrow_mut().end();
    drop(guardian);
    let does_not_repeat = screen.borrow().does_not_repeat();
    let amid = std::mem::take(&mut screen.borrow_mut().amid);
    if let Some(text) = job_wide.trouble.take() {
        // Whatever else has gone wrong comes of it.
        return Err(RunError::Check(text));
    }
    if served.is_err() && screen.borrow().random {
        // Memory at random addresses may be where other tasks cannot name it.
        complain(format_args!("{RANDOM}"));
    }
    let (ends_ps, machine) = served?;
    if let Some(error) = screen.borrow_mut().failed.take() {
        return Err(RunError::Output(format!("standard output: {error}")));
    }
    let mut flits = flits(job.machine());
    for (now, before) in flits.iter_mut().flatten().zip(before.iter().flatten()) {
        *now -= before;
    }
    let end_ps = ends_ps.into_iter().max().unwrap_or(0);
    Ok(Ran {
        machine,
        makespan_ps: end_ps.saturating_sub(start_ps),
        flits,
        does_not_repeat,
        amid,
        requests: job_wide.requests.get(),
    })
}

/// Description of its job for the process of a task.
fn describe(
    job: &Job,
    task: TaskId,
    (spec, tasks_per_node): (&MachineSpec, usize),
    compute_ps: u64,
) -> Result<TaskDescription, gyre_driver::Error> {
    let client = job.client(task, "exec");
    let clients = environment::clients();
    let nodes = (0..job.tasks()).map(|task| Ok(client.tasks.location(TaskId(task))?.node.0));
    Ok(TaskDescription {
        task: task.0,
        nodes: nodes.collect::<Result<_, gyre_driver::Error>>()?,
        owner: client.resources.owner,
        slots_per_process: client.resources.slots_per_process,
        // Whoever serves the process says so.
        windows: None,
        contexts: u8::try_from(FIFOS / tasks_per_node / clients.len().max(1))
            .unwrap_or(1)
            .clamp(1, MOST_CONTEXTS),
        node_contexts: FIFOS as u16,
        clients,
        tasks_per_node,
        hardware_threads: job.processor().threads,
        // Picoseconds of a cycle.
        clock_mhz: (1_000_000 / spec.config.cpu_ps) as u32,
        operation_ps: Op::ALL
            .map(|op| (spec.costs.instructions(op)).saturating_mul(spec.config.cpu_ps))
            .to_vec(),
        compute_ps,
        recorded: spec.config.recorder.is_some(),
    })
}

/// The process of a task, before it starts.
struct Process {
    command: Command,
    description: TaskDescription,
    limits: Limits,
}

impl Process {
    fn new(args: &ExecArgs, name: &JobName, description: TaskDescription) -> Self {
        let mut command = Command::new(&args.program[0]);
        command.args(&args.program[1..]);
        environment::prepare(&mut command);
        if args.messages_alone {
            environment::leave_collectives(&mut command);
        }
        name.give(&mut command);
        command.stdin(match description.task {
            // A process group of its own may not read a terminal: what is typed goes through a pipe.
            0 if io::stdin().is_terminal() => Stdio::piped(),
            0 => Stdio::inherit(),
            _ => Stdio::null(),
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self {
            command,
            description,
            limits: Limits {
                slice: Duration::from_secs(args.host_slice),
                end: Duration::from_secs(args.host_limit),
            },
        }
    }

    /// Starts it when the task has its turn, so that no two processes ever run at once, and carries its requests out to
    /// its end.
    fn run(
        self,
        at: &gyre::job::Process,
        screen: &Rc<RefCell<Screen>>,
        job: &Rc<JobWide>,
    ) -> Result<(), ProcessError> {
        let task = self.description.task;
        let mut process = TaskProcess::spawn_with_pmi(self.command, self.description, self.limits)?;
        if process.is_random() {
            screen.borrow_mut().random = true;
        }
        if process.is_long() {
            screen.borrow_mut().long = true;
        }
        if let Some(input) = process.input() {
            type_into(input);
        }
        let shown = Rc::clone(screen);
        let print = move |stream, bytes: &[u8]| shown.borrow_mut().print(task, stream, bytes);
        process.collect(print)?;
        let services = Services::of_first(at, job, screen);
        let end = process.serve(&at.platform, &services);
        at.platform.cpu().record_operation(0);
        services.task_ended(end)
    }
}

/// Starts the process that ends the remaining tasks of the job when this process ends, however it ends.
fn start_guardian(name: &JobName) -> io::Result<Guardian> {
    let mut command = Command::new(env::current_exe()?);
    command.arg(GUARD);
    Guardian::start(command, name)
}

/// Guards a job that another process runs.
pub fn guard(args: &GuardArgs) -> ExitCode {
    match gyre_remote::guard(&JobName::from_text(&args.job)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(format_args!("what a job has left: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Copies standard input to the program until one of the two ends.
fn type_into(mut input: ChildStdin) {
    thread::spawn(move || {
        // The program need not read all of it.
        let _ = io::copy(&mut io::stdin().lock(), &mut input);
    });
}
