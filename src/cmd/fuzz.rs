// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre fuzz`: random stimuli against the RTL.

use std::path::{Path, PathBuf};

use clap::Args;
use gyre_fuzz::{
    Campaign, CampaignOptions, Case, CaseError, FoundKind, FuzzError, Rtl, RtlCoverage, draw_case,
    read_case, run_case, write_case,
};
use serde::Serialize;

use gyre::error::RunError;
use gyre::options::{UsageError, parse_shape, rtl_tree, whole};
use gyre::outcome::{Origin, Stopwatch, table};
use gyre::progress;

/// Options of `gyre fuzz`.
#[derive(Debug, Args)]
pub struct FuzzArgs {
    /// Cases to run
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = cases)]
    cases: u64,
    /// Seed of all cases
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    seed: u64,
    /// Only machines of this shape, such as 2x1; 2 to 32 nodes
    #[arg(long, value_name = "AxBxC")]
    shape: Option<String>,
    /// Cases run at a time; results do not depend on it
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Ends soon after the first finding
    #[arg(long)]
    stop: bool,
    /// Runs that may be spent on making the first case of each kind small; 0 leaves it as it is
    #[arg(long, default_value_t = 150, value_name = "RUNS", value_parser = whole::<u64>)]
    shrink: u64,
    /// Repeats the case of a file
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = ["cases", "seed", "shape", "stop", "case"])]
    repeat: Option<PathBuf>,
    /// Runs the one case that the seed draws at this number, not one that coverage has guided to
    #[arg(long, value_name = "NUMBER", value_parser = whole::<u64>, conflicts_with = "cases")]
    case: Option<u64>,
    /// Folder for the cases that failed
    #[arg(long, default_value = "out/fuzz", value_name = "DIR")]
    out: PathBuf,
    /// Tree of RTL that takes the place of the checkout's rtl/
    #[arg(long, value_name = "DIR")]
    rtl: Option<PathBuf>,
    /// Counts the lines and branches of the RTL that are run, keeps cases that run new ones, and takes some ten times as long
    #[arg(long)]
    coverage: bool,
    /// Prints one JSON object instead of tables
    #[arg(long)]
    pub json: bool,
}

fn cases(text: &str) -> Result<u64, &'static str> {
    let number = text.parse().ok();
    number
        .filter(|number| (1..=100_000_000).contains(number))
        .ok_or("expected a whole number from 1 to 100000000")
}

/// `1 case`, `2 cases`.
fn counted(number: u64, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}

/// A kind of failure.
#[derive(Debug, Serialize)]
struct Found {
    signature: String,
    cases: u64,
    first_case: u64,
    detail: String,
    /// Stimuli of the case before and after shrinking.
    stimuli: usize,
    shrunk_to: usize,
    /// The case in words.
    case: Vec<String>,
    file: String,
    command: String,
}

/// Lines and branches of the RTL of a model.
#[derive(Debug, Serialize)]
struct LinesRun {
    /// Dimensions of the model.
    dims: usize,
    run: usize,
    of: usize,
}

fn lines_run(coverage: &[RtlCoverage]) -> Vec<LinesRun> {
    let counted = coverage.iter().filter(|model| model.points > 0);
    counted
        .map(|model| LinesRun {
            dims: model.dims,
            run: model.run.len(),
            of: model.points,
        })
        .collect()
}

/// Cases and findings of a run.
#[derive(Debug, Serialize)]
pub struct Fuzzed {
    fuzz: &'static str,
    #[serde(flatten)]
    origin: Origin,
    seed: u64,
    cases: u64,
    good: u64,
    cycles: u64,
    /// Things reached, by group.
    coverage: std::collections::BTreeMap<String, usize>,
    /// Lines and branches of the RTL that were run, by model; empty without `--coverage`.
    rtl: Vec<LinesRun>,
    /// Cases that reached something new.
    corpus: usize,
    found: Vec<Found>,
    hash: String,
    wall_s: f64,
    cases_per_minute: f64,
}

fn misused(error: CaseError) -> UsageError {
    UsageError::Combination(error.to_string())
}

fn broken(error: FuzzError) -> RunError {
    match error {
        FuzzError::Machine {
            reason,
            refused: true,
        } => UsageError::Combination(reason).into(),
        other => RunError::Check(other.to_string()),
    }
}

/// Runs the command.
///
/// # Errors
/// [`RunError`]: findings are not errors, but part of the result.
pub fn run(args: &FuzzArgs) -> Result<Fuzzed, RunError> {
    let rtl = Rtl {
        tree: rtl_tree(args.rtl.as_deref())?,
        coverage: args.coverage,
    };
    let dims = args.shape.as_deref().map(parse_shape).transpose()?;
    if let (Some(dims), Some(text)) = (&dims, &args.shape) {
        let nodes: usize = dims.iter().map(|&size| usize::from(size)).product();
        if !(2..=32).contains(&nodes) {
            return Err(UsageError::Value {
                option: "--shape".into(),
                value: text.clone(),
                expected: "2 to 32 nodes".into(),
            }
            .into());
        }
    }
    let started = Stopwatch::start();
    if let Some(path) = &args.repeat {
        let case = read_case(path).map_err(misused)?;
        return repeat(args, case, 0, Some(path), &rtl, started);
    }
    // Before anything is simulated: what is found could not be kept.
    std::fs::create_dir_all(&args.out).map_err(|error| UsageError::Value {
        option: "--out".into(),
        value: args.out.display().to_string(),
        expected: format!("a folder that can be written ({error})"),
    })?;
    if let Some(number) = args.case {
        let case = draw_case(args.seed, number, dims.as_deref());
        return repeat(args, case, number, None, &rtl, started);
    }
    let bar = progress::bar(args.cases, "cases");
    let options = CampaignOptions {
        seed: args.seed,
        cases: args.cases,
        dims,
        threads: args.threads.into(),
        stop_at_first: args.stop,
        shrink_runs: args.shrink,
        rtl,
    };
    let report = Campaign::new(options)
        .run(|done, kinds| {
            bar.set_position(done);
            bar.set_message(format!("{kinds} kinds"));
        })
        .map_err(broken)?;
    bar.finish_and_clear();
    let found = report
        .found
        .iter()
        .enumerate()
        .map(|(number, kind)| found(args, number, kind));
    let found = found.collect::<Result<Vec<Found>, UsageError>>()?;
    let wall_s = started.seconds();
    Ok(Fuzzed {
        fuzz: "campaign",
        origin: Origin::of(args.rtl.as_deref()),
        seed: args.seed,
        cases: report.cases,
        good: report.good,
        cycles: report.cycles,
        coverage: report.coverage,
        rtl: lines_run(&report.rtl),
        corpus: report.corpus,
        found,
        hash: format!("{:016x}", report.hash),
        wall_s,
        cases_per_minute: report.cases as f64 / wall_s.max(1e-9) * 60.0,
    })
}

/// The command that repeats a case.
fn command(args: &FuzzArgs, path: &Path) -> String {
    let rtl = args
        .rtl
        .as_ref()
        .map(|rtl| format!(" --rtl {}", rtl.display()));
    format!(
        "gyre fuzz --repeat {}{}",
        path.display(),
        rtl.unwrap_or_default()
    )
}

fn found(args: &FuzzArgs, number: usize, kind: &FoundKind) -> Result<Found, UsageError> {
    let name: String = kind
        .signature
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .take(60)
        .collect();
    let file = args
        .out
        .join(format!("{number:02}-{}.toml", name.trim_matches('-')));
    let words = kind.case.in_words();
    let mut about = vec![
        kind.signature.clone(),
        kind.detail.clone(),
        format!("seed {}, case {}", args.seed, kind.first),
        command(args, &file),
    ];
    about.extend(words.iter().cloned());
    write_case(&file, &kind.case, &about).map_err(misused)?;
    Ok(Found {
        signature: kind.signature.clone(),
        cases: kind.cases,
        first_case: kind.first,
        detail: kind.detail.clone(),
        stimuli: kind.stimuli,
        shrunk_to: kind.case.stimulus.len(),
        case: words,
        command: command(args, &file),
        file: file.display().to_string(),
    })
}

/// Runs one case.
fn repeat(
    args: &FuzzArgs,
    case: Case,
    number: u64,
    path: Option<&Path>,
    rtl: &Rtl,
    started: Stopwatch,
) -> Result<Fuzzed, RunError> {
    let verdict = run_case(&case, rtl).map_err(broken)?;
    let path = path.map(Path::to_owned);
    let path = match path {
        Some(path) => path,
        None => {
            let path = args
                .out
                .join(format!("seed-{}-case-{number}.toml", args.seed));
            write_case(&path, &case, &case.in_words()).map_err(misused)?;
            path
        }
    };
    let found = verdict.findings.iter().map(|finding| Found {
        signature: finding.signature.clone(),
        cases: 1,
        first_case: number,
        detail: finding.detail.clone(),
        stimuli: case.stimulus.len(),
        shrunk_to: case.stimulus.len(),
        case: case.in_words(),
        file: path.display().to_string(),
        command: command(args, &path),
    });
    let mut coverage = std::collections::BTreeMap::new();
    for name in &verdict.coverage {
        let group = name.split(' ').next().unwrap_or(name);
        *coverage.entry(group.to_owned()).or_insert(0) += 1;
    }
    let wall_s = started.seconds();
    Ok(Fuzzed {
        fuzz: "case",
        origin: Origin::of(args.rtl.as_deref()),
        seed: args.seed,
        cases: 1,
        good: u64::from(verdict.findings.is_empty()),
        cycles: verdict.cycles,
        coverage,
        rtl: lines_run(std::slice::from_ref(&verdict.rtl)),
        corpus: 0,
        found: found.collect(),
        hash: format!("{:016x}", verdict.hash),
        wall_s,
        cases_per_minute: 60.0 / wall_s.max(1e-9),
    })
}

impl Fuzzed {
    /// Whether nothing was found.
    pub fn passed(&self) -> bool {
        self.found.is_empty()
    }

    /// The result as text for standard output: one JSON object, or tables.
    ///
    /// # Errors
    /// A figure that JSON cannot hold.
    pub fn text(&self, json: bool) -> Result<String, serde_json::Error> {
        use std::fmt::Write;
        if json {
            return Ok(serde_json::to_string_pretty(self)? + "\n");
        }
        let mut text = String::new();
        // Writing to a string cannot fail.
        for found in &self.found {
            let _ = writeln!(text, "{}\n  {}", found.signature, found.detail.trim_end());
            for line in &found.case {
                let _ = writeln!(text, "    {line}");
            }
            let _ = writeln!(text, "  {}\n", found.command);
        }
        let rows: Vec<Vec<String>> = self
            .found
            .iter()
            .map(|found| {
                vec![
                    found.signature.clone(),
                    found.cases.to_string(),
                    found.first_case.to_string(),
                    format!("{} of {}", found.shrunk_to, found.stimuli),
                    found.file.clone(),
                ]
            })
            .collect();
        if !rows.is_empty() {
            let mut findings = table(&["finding", "cases", "first case", "stimuli", "file"]);
            findings.add_rows(rows);
            let _ = writeln!(text, "{findings}");
        }
        let reached: Vec<String> = self
            .coverage
            .iter()
            .map(|(group, count)| format!("{group} {count}"))
            .collect();
        let _ = writeln!(
            text,
            "{} of seed {}, {} good, {} of findings; {} cycles in {:.1} s, {:.0} cases a minute",
            counted(self.cases, "case"),
            self.seed,
            self.good,
            counted(self.found.len() as u64, "kind"),
            self.cycles,
            self.wall_s,
            self.cases_per_minute
        );
        let _ = writeln!(
            text,
            "coverage: {}; {} kept; hash {}",
            reached.join(", "),
            counted(self.corpus as u64, "case"),
            self.hash
        );
        for model in &self.rtl {
            let _ = writeln!(
                text,
                "RTL, model of {} dimensions: {} of {} lines and branches run ({:.1} %)",
                model.dims,
                model.run,
                model.of,
                100.0 * model.run as f64 / model.of.max(1) as f64
            );
        }
        Ok(text)
    }
}
