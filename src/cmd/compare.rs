// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre compare`: two machines, or two recorded results, figure by figure.

mod compared;
mod figures;
mod limit;
mod side;
mod text;

use clap::Args;

use gyre::options::{MachineOptions, UsageError};
use gyre::waves::CommandLine;

pub use self::compared::Compared;
use self::figures::rows;
use self::limit::Limit;
use self::side::Side;
use crate::cmd::subject::Subject;
use crate::error::CommandError;

/// Arguments of `gyre compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The first: a result FILE.json, a tree of RTL, KEY=VALUE joined by commas, or `base`
    a: String,
    /// The second, which is held against it
    b: String,
    /// A bench (see `gyre bench --list`), a .goal file, or a bundled program; not needed for two results
    subject: Option<String>,
    /// Ends with status 1 if a figure changes by more: `20%` either way, `+20%` or `-20%` one way; may be repeated
    #[arg(long, value_name = "METRIC=PERCENT", allow_hyphen_values = true)]
    limit: Vec<String>,
    /// Figures in the table, joined by commas [default: all that differ, of lists those that differ most]
    #[arg(long, value_name = "METRICS")]
    show: Option<String>,
    #[command(flatten)]
    machine: MachineOptions,
    /// Prints one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Text of `--help` behind the options.
pub const HELP: &str = "\
Keys of KEY=VALUE: a setting of the subject or of the machine (`gyre bench --help`, `gyre run --help`), or shape, mesh, link_latency, seed,
rtl, machine, or commit: the RTL of a commit of the checkout.
    gyre compare rtl my-rtl traffic --shape 8x8 --set load=0.7
    gyre compare node.lanes=2 node.lanes=4,node.arbiter=round_robin traffic --shape 8x8 --set load=0.7
    gyre compare commit=HEAD base lulesh --limit makespan_ns=+1%
    gyre compare before.json after.json --limit latency_mean_cycles=5%
";

/// Runs the comparison.
///
/// # Errors
/// Wrong options or files; a side that did not run to its end.
pub fn run(args: &CompareArgs, command: &CommandLine) -> Result<Compared, CommandError> {
    let sides = [Side::parse(&args.a)?, Side::parse(&args.b)?];
    let limits: Vec<Limit> = args
        .limit
        .iter()
        .map(|text| Limit::parse(text))
        .collect::<Result<_, _>>()?;
    let subject = args.subject.as_deref().map(Subject::named);
    check(args, &sides, subject.as_ref())?;
    // Both are refused before one is simulated.
    let [a, b] = sides.map(|side| side.prepare(subject.as_ref(), &args.machine));
    let (a, b) = (a?.measure(command)?, b?.measure(command)?);
    let figures = rows(&a.figures, &b.figures);
    let verdicts = limit::judge(&limits, &figures)?;
    let show = args
        .show
        .as_deref()
        .map(|text| figures::chosen(text, &figures));
    Ok(Compared {
        subject: args.subject.clone(),
        parameters: rows(&a.parameters, &b.parameters),
        a: a.into(),
        b: b.into(),
        figures,
        limits: verdicts,
        show: show.transpose()?,
    })
}

/// Refuses what makes no comparison, before anything is simulated.
fn check(
    args: &CompareArgs,
    sides: &[Side; 2],
    subject: Option<&Subject<'_>>,
) -> Result<(), CommandError> {
    let wrong = |text: &str| Err(UsageError::Combination(text.into()).into());
    let recorded = sides.iter().filter(|side| side.is_recorded()).count();
    match subject {
        None if recorded < 2 => {
            return wrong("compare: expected a bench or a program behind the two machines");
        }
        Some(subject) if recorded == 2 => {
            return wrong(&format!(
                "compare: `{}` behind two results: expected nothing, they are measured already",
                subject.name()
            ));
        }
        _ => {}
    }
    args.machine.refuse_observers("a comparison makes two")?;
    Ok(())
}
