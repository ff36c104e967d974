// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre sweep`: a bench or a program at many points, as tables, files and curves.
//!
//! A key of `--set` with several values is an axis. Points are all combinations of the values of the axes; an axis that is
//! a range chooses its own, most where a curve is steep. Points are independent machines, so that several run at a time and
//! each repeats bit for bit.

mod axis;
mod curve;
mod plot;
mod swept;
mod table;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::ProgressBar;
use rayon::ThreadPool;
use rayon::prelude::*;
use serde_json::{Map, Value};

use gyre::options::{MachineOptions, UsageError, check_output};
use gyre::outcome::{Outcome, SimFigures, Stopwatch};
use gyre::progress;
use gyre::waves::CommandLine;

use self::axis::{Axis, Points};
use self::curve::Curve;
pub use self::swept::Swept;
use crate::cmd::subject::{Subject, apply};
use crate::error::{CommandError, PointError};

/// Arguments of `gyre sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// A bench (see `gyre bench --list`), a .goal file, or a bundled program
    subject: String,
    /// Figures in the table and the picture, joined by commas [default: those that the subject is measured for]
    #[arg(long, value_name = "METRICS")]
    show: Option<String>,
    /// Writes every figure of every point, a line each
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    /// Draws the curves, a panel for each figure that is shown: .svg or .png
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    machine: MachineOptions,
    /// Prints one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Text of `--help` behind the options.
pub const HELP: &str = "\
Axes, each by --set KEY=VALUES; without them it is one point:
    KEY=a,b,c      these values
    KEY=a:b:step   numbers from a to b
    KEY=a:b        numbers from a to b, chosen where the curves are steep; of one axis
  KEY is a setting of the subject or of the machine (`gyre bench --help`, `gyre run --help`), or shape, mesh, link_latency, seed, rtl or machine.
";

impl Swept {
    /// The result as text for standard output: one JSON object, or a table.
    ///
    /// # Errors
    /// A figure that JSON cannot hold.
    pub fn text(&self, json: bool) -> Result<String, serde_json::Error> {
        match json {
            true => Ok(serde_json::to_string_pretty(self)? + "\n"),
            false => Ok(table::text(self)),
        }
    }

    /// Whether every point verified itself.
    pub const fn passed(&self) -> bool {
        self.passed
    }
}

/// Points that are measured at a time, at most.
const MAX_THREADS: usize = 256;

/// Figures that are shown of a subject that names none, at most.
const SHOWN: usize = 3;

/// Runs the sweep.
///
/// # Errors
/// Wrong options; a point that did not run to its end, by its values.
pub fn run(args: &SweepArgs, command: &CommandLine) -> Result<Swept, CommandError> {
    let subject = Subject::named(&args.subject);
    args.machine.refuse_observers("a sweep makes many")?;
    for (option, file) in [("--csv", &args.csv), ("--plot", &args.plot)] {
        if let Some(file) = file {
            check_ending(option, file)?;
            check_output(option, file)?;
        }
    }
    if !(1..=MAX_THREADS).contains(&args.machine.threads) {
        return Err(UsageError::Value {
            option: "--threads".into(),
            value: args.machine.threads.to_string(),
            expected: format!("1 to {MAX_THREADS}"),
        }
        .into());
    }
    let (axes, options) = axis::split(&args.machine)?;
    if args.plot.is_some() && !axes.last().is_some_and(Axis::is_numeric) {
        let text = "--plot: expected an axis of numbers, such as --set load=0.1:0.8";
        return Err(UsageError::Combination(text.into()).into());
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(args.machine.threads)
        .build()
        .map_err(|error| UsageError::Combination(format!("--threads: {error}")))?;
    let sweep = Sweep {
        subject,
        options,
        axes,
        command,
        pool,
    };
    let clock = Stopwatch::start();
    let given = args.show.as_deref().map(words);
    let Found {
        curves,
        show,
        params,
    } = sweep.run(given)?;
    let points = || curves.iter().flat_map(Curve::points);
    let cycles = points().map(|point| point.cycles).sum();
    // A cycle of each point is one of all its nodes.
    let mut sim = SimFigures::new(cycles, 1, &clock, args.machine.threads);
    let node_cycles: u64 = points().map(|point| point.node_cycles).sum();
    sim.node_cycles_per_s = node_cycles as f64 / sim.wall_s.max(1e-9);
    let passed = points().all(|point| point.passed);
    let mut swept = Swept {
        sweep: sweep.subject.name().into(),
        version: env!("CARGO_PKG_VERSION"),
        params,
        axes: sweep.axes.iter().map(|axis| axis.key.clone()).collect(),
        show,
        passed,
        curves,
        sim,
        files: Vec::new(),
    };
    if let Some(file) = &args.csv {
        table::write_csv(&swept, file)?;
        swept.files.push(format!("figures: {}", file.display()));
    }
    if let Some(file) = &args.plot {
        plot::draw(&swept, file)?;
        swept.files.push(format!("curves: {}", file.display()));
    }
    Ok(swept)
}

/// Words joined by commas.
fn words(text: &str) -> Vec<String> {
    text.split(',').map(|word| word.trim().into()).collect()
}

/// Refuses a file whose ending promises another format.
fn check_ending(option: &str, file: &Path) -> Result<(), UsageError> {
    let wanted: &[&str] = match option {
        "--csv" => &["csv"],
        _ => &["svg", "png"],
    };
    let ending = file.extension().and_then(|ending| ending.to_str());
    // A device has no ending.
    if ending.is_some_and(|ending| wanted.contains(&ending)) || file.starts_with("/dev") {
        return Ok(());
    }
    Err(UsageError::Value {
        option: option.into(),
        value: file.display().to_string(),
        expected: format!("a file name ending in .{}", wanted.join(" or .")),
    })
}

/// A sweep that is to run.
struct Sweep<'a> {
    subject: Subject<'a>,
    /// Those of every point.
    options: MachineOptions,
    /// The axis along the curves last.
    axes: Vec<Axis>,
    command: &'a CommandLine,
    /// Measures points, several at a time.
    pool: ThreadPool,
}

/// What a sweep has measured.
struct Found {
    curves: Vec<Curve>,
    /// Figures to show.
    show: Vec<String>,
    /// Parameters of the first point.
    params: Map<String, Value>,
}

/// A point that is to be measured: its curve, and its values by axis.
struct Job {
    curve: usize,
    values: Vec<String>,
}

impl Sweep<'_> {
    /// Measures all points; those that an axis chooses come in rounds. Figures to show are `given`, or follow from the
    /// first point.
    fn run(&self, given: Option<Vec<String>>) -> Result<Found, CommandError> {
        let along = self.axes.last();
        let others = &self.axes[..self.axes.len().saturating_sub(1)];
        let variants = axis::combinations(others);
        let first = along.map_or_else(
            || vec![None],
            |axis| axis.first().into_iter().map(Some).collect(),
        );
        let keys: Vec<&str> = self.axes.iter().map(|axis| &*axis.key).collect();
        let mut curves: Vec<Curve> = variants
            .iter()
            .map(|values| Curve::new(&keys, values))
            .collect();
        let mut jobs: Vec<Job> = Vec::new();
        for (curve, values) in variants.iter().enumerate() {
            for point in &first {
                let values = values.iter().chain(point).cloned().collect();
                jobs.push(Job { curve, values });
            }
        }
        // All are refused before the first is measured.
        for job in &jobs {
            let checked = self.options_of(job).map_err(CommandError::from);
            let checked = checked.and_then(|options| self.subject.check(&options));
            checked.map_err(|error| self.named(job, &error))?;
        }
        let rounds = along.map_or(0, Axis::rounds);
        let bar = progress::bar((jobs.len() + rounds * curves.len()) as u64, "points");
        bar.tick();
        let is_given = given.is_some();
        let mut show = given;
        let mut params = None;
        for round in 0..=rounds {
            for (job, outcome) in self.measure(&jobs, &bar)? {
                show = show.or_else(|| Some(self.shown(&outcome)));
                params.get_or_insert_with(|| outcome.params.clone());
                let value = along.and(job.values.last());
                curves[job.curve].add(value.map(String::as_str), &outcome);
            }
            if let (Some(show), 0, true) = (&show, round, is_given) {
                check_shown(show, &curves)?;
            }
            let (Some(Points::Range(range)), Some(show)) = (along.map(|axis| &axis.points), &show)
            else {
                break;
            };
            jobs.clear();
            for (curve, values) in variants.iter().enumerate() {
                if let Some(point) = curves[curve].next(range, show) {
                    let values = values.iter().cloned().chain([point]).collect();
                    jobs.push(Job { curve, values });
                }
            }
        }
        bar.finish_and_clear();
        Ok(Found {
            curves,
            show: show.unwrap_or_default(),
            params: params.unwrap_or_default(),
        })
    }

    /// Measures points, several at a time; results are in the order of `jobs`.
    fn measure<'j>(
        &self,
        jobs: &'j [Job],
        bar: &ProgressBar,
    ) -> Result<Vec<(&'j Job, Outcome)>, CommandError> {
        let one = |job: &'j Job| {
            let measured = progress::hidden(|| {
                let options = self.options_of(job)?;
                self.subject.measure(&options, self.command)
            });
            bar.inc(1);
            match measured {
                Ok(outcome) => Ok((job, outcome)),
                Err(error) => Err(self.named(job, &error)),
            }
        };
        let measured: Result<_, PointError> =
            self.pool.install(|| jobs.par_iter().map(one).collect());
        Ok(measured?)
    }

    /// Options of a point: with its values, on one thread.
    fn options_of(&self, job: &Job) -> Result<MachineOptions, UsageError> {
        let mut options = self.options.clone();
        options.threads = 1;
        for (axis, value) in self.axes.iter().zip(&job.values) {
            apply(&mut options, &axis.key, value)?;
        }
        Ok(options)
    }

    /// An error of a point, with its values.
    fn named(&self, job: &Job, error: &CommandError) -> PointError {
        let values = self.axes.iter().zip(&job.values);
        let values: Vec<String> = values
            .map(|(axis, value)| format!("{}={value}", axis.key))
            .collect();
        PointError::new(&values.join(" "), error)
    }

    /// Figures of a subject that are shown unless told otherwise: its own, or the first that it measures.
    fn shown(&self, outcome: &Outcome) -> Vec<String> {
        let own = self.subject.shown();
        if !own.is_empty() {
            return own;
        }
        let numbers = outcome
            .metrics
            .iter()
            .filter(|(_, value)| value.is_number());
        numbers.map(|(name, _)| name.clone()).take(SHOWN).collect()
    }
}

/// Refuses figures that no point has.
fn check_shown(show: &[String], curves: &[Curve]) -> Result<(), UsageError> {
    let figures = curves
        .iter()
        .flat_map(Curve::points)
        .flat_map(|point| &point.metrics);
    let numbers: BTreeSet<&str> = figures
        .filter(|(_, value)| value.is_number())
        .map(|(name, _)| &**name)
        .collect();
    match show.iter().find(|name| !numbers.contains(name.as_str())) {
        Some(wrong) => Err(UsageError::Value {
            option: "--show".into(),
            value: wrong.clone(),
            expected: format!(
                "figures joined by commas, of {}",
                numbers.into_iter().collect::<Vec<_>>().join(", ")
            ),
        }),
        None => Ok(()),
    }
}
