//! Measures what the operations of the driver cost and writes `cost-table.toml`: `make cost-table`.
//!
//! The compiled driver is executed under callgrind, which counts its instructions, on a test double of the
//! machine, whose instructions are not counted, nor those of calling it. Each scenario gives one equation: the operations that the
//! driver has charged, times what they cost, are the instructions that were counted. The table is the
//! solution with the least sum of squared relative errors, at least one instruction an operation.
//!
//! The counts repeat exactly with the same compiler and C library. They are those of this computer's
//! instruction set, and stand for the node processor's.

mod platform;
mod scenarios;
mod solve;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use gyre_driver::Op;
use platform::{Access, Account};
use scenarios::Scenario;
use solve::Row;

/// Uses before counting starts: rings, tables and the allocator are then as they will be.
const WARM_UP: usize = 32;
/// Uses that are counted.
const USES: usize = 16;
/// Calls of `charge`, and accesses of each kind, by which their own cost is measured.
const CALLS: usize = 1000;
/// What stands for those in the place of a scenario's number: of accesses, followed by the kind's.
const CHARGES_ONLY: &str = "charges";
const ACCESSES_ONLY: &str = "accesses";
/// The load or store that an access is.
const ACCESS: f64 = 1.0;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    // Cargo adds --bench.
    let argument = std::env::args().nth(1).filter(|text| text != "--bench");
    let result = match argument {
        None => measure_all(),
        Some(number) => execute(&number),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cost-table: {error}");
            ExitCode::from(2)
        }
    }
}

/// Executes one scenario, under callgrind, and prints what the driver has charged.
fn execute(number: &str) -> Result<(), Failure> {
    let account = Arc::new(Account::default());
    if number == CHARGES_ONLY {
        account.open.store(true);
        scenarios::charges(&account, CALLS);
    } else if let Some(kind) = number.strip_prefix(ACCESSES_ONLY) {
        account.open.store(true);
        let kind: usize = kind.parse()?;
        let kind = Access::ALL.get(kind).ok_or("no such access")?;
        scenarios::accesses(&account, *kind, CALLS);
    } else {
        let Scenario { make, .. } = scenarios::scenarios().swap_remove(number.parse()?);
        let mut body = make(&account);
        (0..WARM_UP).for_each(|_| body());
        account.open.store(true);
        (0..USES).for_each(|_| body());
    }
    println!("calls {}", account.calls());
    for (number, count) in platform::accesses().into_iter().enumerate() {
        println!("{ACCESSES_ONLY}{number} {count}");
    }
    for (op, count) in account.charged() {
        println!("{} {count}", op.key());
    }
    Ok(())
}

/// Counts of one execution.
struct Counts {
    instructions: f64,
    calls: f64,
    accesses: [f64; Access::ALL.len()],
    charged: BTreeMap<String, f64>,
}

/// Executes scenario `number` under callgrind.
fn count(number: &str, scratch: &Path) -> Result<Counts, Failure> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no"])
        .args([
            "--toggle-collect=*::counted_section*",
            "--toggle-collect=*::uncounted_*",
        ])
        // Callgrind counts every byte that one `rep` instruction moves; long copies are loops of moves instead.
        .env(
            "GLIBC_TUNABLES",
            "glibc.cpu.x86_rep_movsb_threshold=1073741824:glibc.cpu.x86_rep_stosb_threshold=1073741824",
        )
        .arg(format!("--callgrind-out-file={}", scratch.display()))
        .arg(std::env::current_exe()?)
        .arg(number)
        .output()
        .map_err(|error| {
            format!(
                "valgrind cannot be started: {error}; install it, e.g. `apt-get install valgrind`"
            )
        })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("scenario {number} failed under valgrind:\n{said}").into());
    }
    let profile = std::fs::read_to_string(scratch)?;
    let total = profile
        .lines()
        .find_map(|line| {
            line.strip_prefix("totals: ")
                .or(line.strip_prefix("summary: "))
        })
        .ok_or("callgrind's file has no total")?;
    let mut charged = BTreeMap::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let (key, value) = line.split_once(' ').ok_or("a count without a value")?;
        charged.insert(key.to_owned(), value.parse()?);
    }
    let mut take = |key: &str| {
        let missing = || format!("{key} are not counted");
        charged.remove(key).ok_or_else(missing)
    };
    let mut accesses = [0.0; Access::ALL.len()];
    for (number, count) in accesses.iter_mut().enumerate() {
        *count = take(&format!("{ACCESSES_ONLY}{number}"))?;
    }
    Ok(Counts {
        instructions: total.trim().parse()?,
        calls: take("calls")?,
        accesses,
        charged,
    })
}

/// Measures all scenarios, solves for the costs and writes the table.
fn measure_all() -> Result<(), Failure> {
    let scratch = std::env::temp_dir().join(format!("gyre-cost-{}", std::process::id()));
    let charges = count(CHARGES_ONLY, &scratch)?;
    let per_charge = (charges.instructions / charges.calls).floor();
    let mut per_access = [0.0; Access::ALL.len()];
    for (number, each) in per_access.iter_mut().enumerate() {
        let counts = count(&format!("{ACCESSES_ONLY}{number}"), &scratch)?;
        *each = (counts.instructions / counts.accesses[number]).floor() - ACCESS;
    }
    let mut rows = Vec::new();
    for (number, scenario) in scenarios::scenarios().into_iter().enumerate() {
        let counts = count(&number.to_string(), &scratch)?;
        let uses = USES as f64;
        let around: f64 = counts
            .accesses
            .iter()
            .zip(per_access)
            .map(|(n, each)| n * each)
            .sum();
        rows.push(Row {
            name: scenario.name,
            fits: scenario.fits,
            instructions: (counts.instructions - per_charge * counts.calls - around) / uses,
            charged: Op::ALL.map(|op| counts.charged.get(op.key()).map_or(0.0, |n| n / uses)),
        });
    }
    std::fs::remove_file(&scratch)?;
    let costs = solve::solve(&rows)?;
    println!("Scenarios in parentheses are not fitted: collectives charge less than they execute.");
    println!(
        "{:>10} {:>10} {:>7}  scenario",
        "measured", "table", "error"
    );
    for row in &rows {
        let table = row.with(&costs.map(|cost| cost as f64));
        let error = 100.0 * (table / row.instructions - 1.0);
        let (open, close) = match row.fits {
            true => ("", ""),
            false => ("(", ")"),
        };
        println!(
            "{:>10.1} {table:>10.1} {error:>6.1}%  {open}{}{close}",
            row.instructions, row.name
        );
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cost-table.toml");
    std::fs::write(&path, table(&costs)?)?;
    println!("wrote {}", path.display());
    Ok(())
}

/// The text of the table.
fn table(costs: &[u32; Op::ALL.len()]) -> Result<String, Failure> {
    let compiler = Command::new("rustc").arg("--version").output()?.stdout;
    let compiler = String::from_utf8(compiler)?;
    let mut text = format!(
        "\
# Instructions that each operation of the driver takes on the node's processor. The platform turns
# them into time (reference machine: 1.6 GHz, one instruction a cycle). Register and memory latencies
# are not in here: the machine itself takes them.
#
# Measured on the compiled driver by `make cost-table`, which writes this file; do not edit. A machine
# file may give a table of its own. Compiler: {}, {}.
",
        compiler.trim(),
        std::env::consts::ARCH,
    );
    for (op, cost) in Op::ALL.into_iter().zip(costs) {
        write!(text, "\n# {}\n{} = {cost}\n", op.description(), op.key())?;
    }
    Ok(text)
}
