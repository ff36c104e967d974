// SPDX-License-Identifier: MIT OR Apache-2.0
//! Result of a command: one JSON object, or tables for people.

use std::path::Path;
use std::time::{Duration, Instant};

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use gyre_sim::{model_use, rtl_digest};
use serde::Serialize;
use serde_json::{Map, Value};

/// What a result was made by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// Version of Gyre.
    pub version: &'static str,
    /// Hash of the RTL; none where its files cannot be read any more.
    pub rtl_digest: Option<String>,
}

impl Origin {
    /// Of this program, and the RTL of a tree, else of the checkout.
    pub fn of(rtl: Option<&Path>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            rtl_digest: rtl_digest(rtl).ok(),
        }
    }
}

/// Speed and extent of a simulation. Wall-clock figures vary from run to run; nothing else does.
#[derive(Debug, Clone, Serialize)]
pub struct SimFigures {
    /// Simulated node cycles from reset to the end.
    pub cycles: u64,
    /// Host seconds.
    pub wall_s: f64,
    /// Simulated cycles a host second.
    pub cycles_per_s: f64,
    /// Cycles a host second summed over all nodes; skipped cycles of idle nodes count.
    pub node_cycles_per_s: f64,
    /// Threads of the simulator.
    pub threads: usize,
    /// How much the models were optimised: `quick`, `full`, or both; see `--model`. No result depends on it.
    pub model: String,
}

impl SimFigures {
    /// Figures of `nodes` nodes simulated for `cycles` in `wall_s` host seconds.
    pub fn new(cycles: u64, nodes: usize, clock: &Stopwatch, threads: usize) -> Self {
        let (wall_s, model) = clock.read();
        let rate = cycles as f64 / wall_s.max(1e-9);
        Self {
            cycles,
            wall_s,
            cycles_per_s: rate,
            node_cycles_per_s: rate * nodes as f64,
            threads,
            model,
        }
    }
}

/// Measures host time of simulation, without that in which models are compiled and loaded.
#[derive(Debug)]
pub struct Stopwatch {
    started: Instant,
    loading: Duration,
}

impl Stopwatch {
    /// Starts one.
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
            loading: model_use().loading,
        }
    }

    /// Host seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.read().0
    }

    /// Host seconds since the start, and how much the models used are optimised.
    fn read(&self) -> (f64, String) {
        let used = model_use();
        let simulating = self.started.elapsed() + self.loading;
        let names: Vec<&str> = used
            .optimisations
            .iter()
            .map(|level| level.name())
            .collect();
        (
            simulating.saturating_sub(used.loading).as_secs_f64(),
            names.join("+"),
        )
    }
}

/// The members of an object that is written down.
///
/// # Panics
/// When `value` is no object.
pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => unreachable!("{other} is no object"),
    }
}

/// Result of `gyre run` or `gyre bench`.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// Name of the bench, or `run`.
    pub bench: String,
    /// Shape of the machine, as given to `--shape`.
    pub shape: String,
    /// Every parameter that the figures depend on.
    pub params: Map<String, Value>,
    /// Figures in simulated cycles, bytes and ratios.
    pub metrics: Map<String, Value>,
    /// Extent and speed of the simulation.
    pub sim: SimFigures,
    /// State hash of the machine.
    pub hash: String,
    /// Text for people, printed after the tables.
    #[serde(skip)]
    pub pictures: Vec<String>,
    /// Whether the workload verified itself; false ends the command with status 1.
    #[serde(skip)]
    pub passed: bool,
}

impl Outcome {
    /// The outcome as text for standard output: one JSON object, or tables.
    ///
    /// # Errors
    /// A figure that JSON cannot hold.
    pub fn text(&self, json: bool) -> Result<String, serde_json::Error> {
        if json {
            return Ok(serde_json::to_string_pretty(self)? + "\n");
        }
        let pictures = self.pictures.iter().map(|text| format!("\n{text}\n"));
        let program = self.params.get("workload").and_then(Value::as_str);
        let program = program.map_or_else(String::new, |program| format!(" {program}"));
        Ok(format!(
            "{}{program} on {}\n{}\n{}\n{} cycles simulated in {:.2} s: {:.0} cycles/s, {:.0} node-cycles/s, {} \
             thread{}, {} model\nhash {}\n",
            self.bench,
            self.shape,
            figures(&self.metrics),
            pictures.collect::<String>(),
            self.sim.cycles,
            self.sim.wall_s,
            self.sim.cycles_per_s,
            self.sim.node_cycles_per_s,
            self.sim.threads,
            if self.sim.threads == 1 { "" } else { "s" },
            self.sim.model,
            self.hash
        ))
    }
}

/// How tables look: a line below the header, and no other.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table with a header, its columns aligned: the first to the left, others to the right.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// The scalar metrics as a table, if there are any; lists of objects and objects become tables of their own.
fn figures(metrics: &Map<String, Value>) -> String {
    let mut scalars = table(&["metric", "value"]);
    let mut others = Vec::new();
    for (name, value) in metrics {
        match value {
            Value::Array(rows) if rows.first().is_some_and(Value::is_object) => {
                others.push(format!("{name}\n{}", rows_table(rows)));
            }
            Value::Object(_) => {
                others.push(format!(
                    "{name}\n{}",
                    rows_table(std::slice::from_ref(value))
                ));
            }
            Value::Array(_) => {}
            scalar => {
                scalars.add_row(vec![name.clone(), scalar_text(scalar)]);
            }
        }
    }
    if scalars.row_count() > 0 {
        others.insert(0, scalars.to_string());
    }
    others.join("\n")
}

fn rows_table(rows: &[Value]) -> String {
    let first = rows.first().and_then(Value::as_object);
    let columns: Vec<&str> = first
        .map(|o| o.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let mut table = table(&columns);
    if let (Some(name), Some(column)) = (columns.first(), table.column_mut(0))
        && rows.iter().all(|row| row[name].is_number())
    {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for row in rows {
        table.add_row(columns.iter().map(|&c| scalar_text(&row[c])));
    }
    table.to_string()
}

fn scalar_text(value: &Value) -> String {
    match value {
        Value::Number(n) if n.is_f64() => format!("{:.4}", n.as_f64().unwrap_or(f64::NAN)),
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}
