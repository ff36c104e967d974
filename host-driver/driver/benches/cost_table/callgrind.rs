// SPDX-License-Identifier: MIT OR Apache-2.0
//! Executes a scenario under callgrind and reads its counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use crate::Failure;

/// Names of functions of the machine, whose instructions are not the driver's.
const UNCOUNTED: &str = "::uncounted_";
/// Callgrind counts by the names of the functions of [`crate::book`].
const OPTIONS: [&str; 4] = [
    "--tool=callgrind",
    "--collect-atstart=no",
    "--toggle-collect=*::counted_section*",
    "--zero-before=*::counted_from_here*",
];
/// Callgrind counts every byte that one `rep` instruction moves; long copies are loops of moves instead.
const TUNABLES: &str =
    "glibc.cpu.x86_rep_movsb_threshold=1073741824:glibc.cpu.x86_rep_stosb_threshold=1073741824";

/// Result of one execution.
pub struct Counts {
    /// Instructions of counted sections, without the machine's.
    pub instructions: f64,
    /// Printed values of the execution, by key.
    pub printed: BTreeMap<String, f64>,
}

/// Executes this program with `scenario` as its argument; callgrind's file is `scratch`.
pub fn execute(scenario: &str, scratch: &Path) -> Result<Counts, Failure> {
    let output = Command::new("valgrind")
        .args(OPTIONS)
        .env("GLIBC_TUNABLES", TUNABLES)
        .arg(format!("--callgrind-out-file={}", scratch.display()))
        .arg(std::env::current_exe()?)
        .arg(scenario)
        .output()
        .map_err(|error| {
            format!(
                "valgrind cannot be started: {error}; install it, e.g. `apt-get install valgrind`"
            )
        })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("scenario {scenario} failed under valgrind:\n{said}").into());
    }
    let profile = std::fs::read_to_string(scratch)?;
    std::fs::remove_file(scratch)?;
    let mut printed = BTreeMap::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let (key, value) = line.split_once(' ').ok_or("a count without a value")?;
        printed.insert(key.to_owned(), value.parse()?);
    }
    Ok(Counts {
        instructions: driver_instructions(&profile)?,
        printed,
    })
}

/// The total of a profile without the inclusive cost of calls of the machine's functions.
fn driver_instructions(profile: &str) -> Result<f64, Failure> {
    let mut total = None;
    let mut machine = BTreeSet::new();
    let (mut caller_is_machine, mut callee_is_machine) = (false, false);
    let mut uncounted = 0.0;
    let mut lines = profile.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("fn=") {
            caller_is_machine = is_machine(name, &mut machine);
        } else if let Some(name) = line.strip_prefix("cfn=") {
            callee_is_machine = is_machine(name, &mut machine);
        } else if line.starts_with("calls=") {
            // The next line: place and cost of the call.
            let cost = lines.next().and_then(|line| line.split(' ').nth(1));
            // Parts of one of these functions may be functions of their own.
            if callee_is_machine && !caller_is_machine {
                uncounted += cost.ok_or("a call without a cost")?.parse::<f64>()?;
            }
        } else if let Some(number) = line.strip_prefix("totals: ") {
            total = Some(number.trim().parse::<f64>()?);
        }
    }
    Ok(total.ok_or("callgrind's file has no total")? - uncounted)
}

/// Whether a function is the machine's, by its compressed name: `(7) name` at first, `(7)` from then on. `machine` are
/// the numbers of those that are.
fn is_machine<'a>(name: &'a str, machine: &mut BTreeSet<&'a str>) -> bool {
    let (number, name) = name.split_once(' ').unwrap_or((name, ""));
    if name.contains(UNCOUNTED) {
        machine.insert(number);
    }
    machine.contains(number)
}
