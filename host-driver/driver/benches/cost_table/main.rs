// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures the cost of the driver's operations and writes `cost-table.toml`: `make cost-table`.
//!
//! The compiled driver is executed under callgrind, which counts its instructions, on a test double of the machine,
//! whose instructions are not counted. Each scenario gives one equation: the operations that the driver has charged,
//! times their costs, are the counted instructions. The table is the solution with the least sum of squared relative
//! errors, at least one instruction an operation.
//!
//! The counts repeat exactly with the same compiler and C library. They use this computer's instruction set in place of
//! the node processor's.
//!
//! `cargo bench -p gyre-driver --bench cost_table -- list` prints the scenarios with their numbers. With a number the
//! program executes one, which shows something under callgrind alone.

mod book;
mod callgrind;
mod platform;
mod scenarios;
mod solve;

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};

use book::{Access, Book};
use callgrind::Counts;
use gyre_driver::Op;
use scenarios::{Scenario, overheads};
use solve::Row;

/// Uses before counting starts: rings, tables and the allocator have reached their steady state then.
const WARM_UP: usize = 32;
/// Scenarios executed at once.
const WORKERS: usize = 2;
/// Printed keys of values other than operations.
const USES: &str = "uses";
const CHARGES: &str = "charges";
const SECTIONS: &str = "sections";
/// The load or store that an access is.
const ACCESS: f64 = 1.0;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    // Cargo adds --bench.
    let argument = std::env::args().nth(1).filter(|text| text != "--bench");
    let result = match argument.as_deref() {
        None => measure_all(),
        Some("list") => {
            for (number, scenario) in scenarios::scenarios().iter().enumerate() {
                println!("{number:>4}  {}", scenario.name);
            }
            Ok(())
        }
        Some(scenario) => execute(scenario),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cost-table: {error}");
            ExitCode::from(2)
        }
    }
}

/// Executes one scenario, by its number or the name of an overhead, and prints the driver's charges.
fn execute(scenario: &str) -> Result<(), Failure> {
    let found = match scenario.parse::<usize>() {
        Ok(number) => scenarios::scenarios().into_iter().nth(number),
        Err(_) => overheads::find(scenario),
    };
    let Scenario { uses, make, .. } = found.ok_or("there is no such scenario")?;
    let mut body = make();
    (0..WARM_UP).for_each(|_| body());
    book::start_over();
    (0..uses).for_each(|_| body());
    let book = Book::copy();
    println!("{USES} {uses}");
    println!("{CHARGES} {}", book.charges);
    println!("{SECTIONS} {}", book.sections);
    for (access, count) in Access::ALL.into_iter().zip(book.accesses) {
        println!("{} {count}", access.name());
    }
    for (op, count) in book.charged {
        println!("{} {count}", op.key());
    }
    Ok(())
}

/// Counted instructions that hardware does not have.
struct Overhead {
    /// Of one counted section.
    section: f64,
    /// Of the rest of a section that is counted from a point inside it on.
    rest: f64,
    /// Of one call of `charge`.
    charge: f64,
    /// Of one access to memory, except its load or store.
    accesses: [f64; Access::ALL.len()],
}

impl Overhead {
    fn measure() -> Result<Self, Failure> {
        let sections = count(overheads::SECTIONS)?;
        let section = sections.instructions / sections.printed[SECTIONS];
        // The rest is the loop around the calls.
        let each = |name: &str, key: &str| {
            let counts = count(name)?;
            let within = counts.instructions - section * counts.printed[SECTIONS];
            Ok::<_, Failure>((within / counts.printed[key]).floor())
        };
        let mut accesses = [0.0; Access::ALL.len()];
        for (access, around) in Access::ALL.into_iter().zip(&mut accesses) {
            *around = each(access.name(), access.name())? - ACCESS;
        }
        Ok(Self {
            section,
            rest: count(overheads::REST)?.instructions,
            charge: each(overheads::CHARGES, CHARGES)?,
            accesses,
        })
    }

    /// One use of a scenario without them.
    fn row(&self, scenario: Scenario, counts: &Counts) -> Row {
        let uses = counts.printed[USES];
        let section = match scenario.from_inside {
            true => self.rest,
            false => self.section,
        };
        let accesses = Access::ALL.into_iter().zip(self.accesses);
        let accesses = accesses.map(|(access, each)| each * counts.printed[access.name()]);
        let around = section * counts.printed[SECTIONS]
            + self.charge * counts.printed[CHARGES]
            + accesses.sum::<f64>();
        Row {
            name: scenario.name,
            fits: scenario.fits,
            instructions: (counts.instructions - around) / uses,
            charged: Op::ALL.map(|op| counts.printed.get(op.key()).map_or(0.0, |n| n / uses)),
        }
    }
}

/// Counts one scenario, by the argument of [`execute`].
fn count(scenario: &str) -> Result<Counts, Failure> {
    let file = format!("gyre-cost-{}-{scenario}", std::process::id());
    callgrind::execute(scenario, &std::env::temp_dir().join(file))
}

/// Counts the first `scenarios` scenarios, several at once.
fn count_all(scenarios: usize) -> Result<Vec<Counts>, Failure> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= scenarios {
                return Ok::<_, Failure>(done);
            }
            done.push((number, count(&number.to_string())?));
        }
    };
    let mut all = std::thread::scope(|scope| {
        let workers = [(); WORKERS].map(|()| scope.spawn(work));
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().expect("workers report errors")?);
        }
        Ok::<_, Failure>(all)
    })?;
    all.sort_unstable_by_key(|(number, _)| *number);
    Ok(all.into_iter().map(|(_, counts)| counts).collect())
}

/// Measures all scenarios, solves for the costs and writes the table.
fn measure_all() -> Result<(), Failure> {
    let overhead = Overhead::measure()?;
    let scenarios = scenarios::scenarios();
    let counts = count_all(scenarios.len())?;
    let rows: Vec<Row> = scenarios
        .into_iter()
        .zip(&counts)
        .map(|(scenario, counts)| overhead.row(scenario, counts))
        .collect();
    let costs = solve::solve(&rows)?;
    report(&rows, &costs.map(f64::from));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cost-table.toml");
    std::fs::write(&path, table(&costs)?)?;
    println!("wrote {}", path.display());
    Ok(())
}

/// Prints the errors of the fit.
fn report(rows: &[Row], costs: &[f64; Op::ALL.len()]) {
    println!("Scenarios in parentheses are not fitted: collectives charge less than they execute.");
    println!(
        "{:>10} {:>10} {:>7}  scenario",
        "measured", "table", "error"
    );
    let mut errors = Vec::new();
    for row in rows {
        let table = row.with(costs);
        let error = 100.0 * (table / row.instructions - 1.0);
        let (open, close) = match row.fits {
            true => ("", ""),
            false => ("(", ")"),
        };
        if row.fits {
            errors.push(error);
        }
        println!(
            "{:>10.1} {table:>10.1} {error:>6.1}%  {open}{}{close}",
            row.instructions, row.name
        );
    }
    let squares: f64 = errors.iter().map(|error| error * error).sum();
    let mean = (squares / errors.len() as f64).sqrt();
    let worst = errors.iter().fold(0.0, |worst: f64, e| worst.max(e.abs()));
    let fitted = errors.len();
    println!("error of {fitted} fitted: {mean:.1}% root mean square, {worst:.1}% at worst");
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
