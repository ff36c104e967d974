// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre check`: properties of a machine that are proven, not simulated.

mod routing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, Subcommand};
use comfy_table::Table;
use gyre_deadlock::{
    ClassRoutes, Fault, Report, Rules, Shape, Torus, TreeReport, decomposed, every_shape,
    exhaustive, tree,
};
use gyre_sim::RoutingFunctions;
use rayon::prelude::*;
use serde::Serialize;

use gyre::error::RunError;
use gyre::options::{UsageError, parse_mesh, parse_shape, rtl_tree, shape_text};
use gyre::outcome::{Origin, table};
use gyre::progress;

/// Nodes up to which the routes of all pairs are followed when one shape is asked for.
const EXHAUSTIVE_ONE: usize = 1024;
/// The same for the check of every shape.
const EXHAUSTIVE_ALL: usize = 256;
/// Most nodes of one shape: their channels and dependencies are kept in memory.
const MAX_NODES: usize = 64 * 64 * 64;
/// Nodes up to which the collective network is checked with routes made from their members; above with any that registers
/// can describe, so many at once.
const TREE_MEMBERS: usize = 1024;
const TREE_ROUTES: usize = 2;

/// Property to check.
#[derive(Debug, Subcommand)]
pub enum CheckCommand {
    /// Shows that the virtual channels of torus and collective network depend on each other without a cycle, or prints
    /// the cycle
    Deadlock(DeadlockArgs),
}

/// Options of `gyre check deadlock`.
#[derive(Debug, Args)]
pub struct DeadlockArgs {
    /// Nodes in each of 1 to 5 dimensions, such as 4x4x4
    #[arg(long, value_name = "AxBxC", required_unless_present = "all")]
    shape: Option<String>,
    /// Dimensions without a wrap link: `all`, or letters from `a` on, such as `ac`
    #[arg(long, value_name = "DIMS", conflicts_with = "all")]
    mesh: Option<String>,
    /// Every shape of up to 5 dimensions of 1, 2, 3, 4, 5 and 8 nodes, with every mixture of rings and lines
    #[arg(long, conflicts_with = "shape")]
    all: bool,
    /// Breaks a rule on purpose: dateline, order, classes, cut-through, escape or reordering; of the collective network
    /// tree-routes, tree-channels, tree-cut-through or tree-fifo
    #[arg(long = "break", value_name = "RULE")]
    fault: Option<Fault>,
    /// Tree of RTL that takes the place of the checkout's rtl/; refused if it routes in another way than this check
    #[arg(long, value_name = "DIR")]
    rtl: Option<PathBuf>,
    /// Prints one JSON object instead of tables
    #[arg(long)]
    pub json: bool,
}

/// How a verdict was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Method {
    /// The routes of all pairs of nodes were followed.
    Exhaustive,
    /// Each dimension was checked alone.
    ByDimension,
}

/// A check's result.
#[derive(Debug, Serialize)]
pub struct Checked {
    check: &'static str,
    #[serde(flatten)]
    origin: Option<Origin>,
    shape: String,
    /// The rule broken on purpose.
    broken: Option<&'static str>,
    free: bool,
    /// Machines checked, a mixture of rings and lines each one; by method.
    exhaustive: usize,
    by_dimension: usize,
    /// Machines for which both methods were used, and gave the same answer.
    compared: usize,
    /// Machines with dimensions of one node that those stand for, themselves included.
    stands_for: usize,
    /// Virtual channels, injection and ejection buffers, remote-get engines.
    resources: usize,
    dependencies: usize,
    /// Sets of class routes checked, with the counts above.
    trees: usize,
    tree_resources: usize,
    tree_dependencies: usize,
    /// Steps of the cycle, each with what it waits for.
    cycle: Vec<String>,
    wall_s: f64,
}

impl Checked {
    fn new(shape: String, rules: &Rules) -> Self {
        let broken = Fault::ALL.iter().find(|(_, fault)| rules.breaks(*fault));
        Self {
            check: "deadlock",
            origin: None,
            shape,
            broken: broken.map(|(name, _)| *name),
            free: true,
            exhaustive: 0,
            by_dimension: 0,
            compared: 0,
            stands_for: 0,
            resources: 0,
            dependencies: 0,
            trees: 0,
            tree_resources: 0,
            tree_dependencies: 0,
            cycle: Vec::new(),
            wall_s: 0.0,
        }
    }

    /// Adds the findings for one machine; the first cycle is kept.
    fn add(&mut self, torus: &Torus, method: Method, report: &Report) {
        match method {
            Method::Exhaustive => self.exhaustive += 1,
            Method::ByDimension => self.by_dimension += 1,
        }
        self.resources += report.resources;
        self.dependencies += report.dependencies;
        if self.free && !report.cycle.is_empty() {
            self.free = false;
            self.cycle = report.cycle.iter().map(|wait| wait.text(torus)).collect();
        }
    }

    /// The same for the class routes of a machine.
    fn add_tree(&mut self, torus: &Torus, report: &TreeReport) {
        self.trees += 1;
        self.tree_resources += report.resources;
        self.tree_dependencies += report.dependencies;
        if self.free && !report.cycle.is_empty() {
            self.free = false;
            self.cycle = report.text(torus);
        }
    }

    /// Whether no cycle was found; else the command ends with status 1.
    pub fn passed(&self) -> bool {
        self.free
    }

    /// The result as text for standard output.
    ///
    /// # Errors
    /// A figure that JSON cannot hold.
    pub fn text(&self, json: bool) -> Result<String, serde_json::Error> {
        if json {
            return Ok(serde_json::to_string_pretty(self)? + "\n");
        }
        let rule = self
            .broken
            .map_or(String::new(), |rule| format!(", without rule `{rule}`"));
        let verdict = if self.free {
            "no cycle: it cannot deadlock".to_owned()
        } else {
            let steps: String = self
                .cycle
                .iter()
                .map(|step| format!("\n  {step}"))
                .collect();
            format!("a cycle of {}:{steps}", self.cycle.len())
        };
        Ok(format!(
            "deadlock on {}{rule}\n{}\n{verdict}\n",
            self.shape,
            self.figures()
        ))
    }

    fn figures(&self) -> Table {
        let mut table = table(&["checked", "number"]);
        let rows = [
            ("machines, route by route", self.exhaustive),
            ("machines, dimension by dimension", self.by_dimension),
            ("machines, both ways", self.compared),
            ("machines they stand for", self.stands_for),
            ("resources", self.resources),
            ("dependencies", self.dependencies),
            ("sets of class routes", self.trees),
            ("their resources", self.tree_resources),
            ("their dependencies", self.tree_dependencies),
        ];
        for (name, number) in rows.into_iter().filter(|row| row.1 > 0) {
            table.add_row([name.to_owned(), number.to_string()]);
        }
        table
    }
}

/// Carries out `gyre check`.
///
/// # Errors
/// Wrong options; two methods that disagree.
pub fn run(command: &CheckCommand) -> Result<Checked, RunError> {
    let CheckCommand::Deadlock(args) = command;
    let started = Instant::now();
    let rules = Rules {
        fault: args.fault,
        ..Rules::default()
    };
    if let Some(tree) = rtl_tree(args.rtl.as_deref())? {
        compare(&tree, args.shape.as_deref(), args.mesh.as_deref())?;
    }
    let mut checked = match &args.shape {
        Some(shape) => one(shape, args.mesh.as_deref(), &rules)?,
        None => all(&rules)?,
    };
    checked.origin = Some(Origin::of(args.rtl.as_deref()));
    checked.wall_s = started.elapsed().as_secs_f64();
    Ok(checked)
}

/// The machine that `--shape` and `--mesh` ask for.
fn torus_of(shape: &str, mesh: Option<&str>) -> Result<(Vec<u16>, Torus), UsageError> {
    let sizes = parse_shape(shape)?;
    let nodes: usize = sizes.iter().map(|&size| usize::from(size)).product();
    if nodes > MAX_NODES {
        return Err(UsageError::Value {
            option: "--shape".into(),
            value: shape.into(),
            expected: format!("at most {MAX_NODES} nodes"),
        });
    }
    let lines = parse_mesh(mesh, sizes.len())?;
    let dims: Vec<(u8, bool)> = sizes
        .iter()
        .zip(&lines)
        .map(|(&size, &line)| (size as u8, !line))
        .collect();
    let torus = Torus::new(&dims);
    Ok((sizes, torus))
}

/// Refuses a tree whose routing functions are not those that the check follows.
fn compare(tree: &Path, shape: Option<&str>, mesh: Option<&str>) -> Result<(), RunError> {
    let functions = RoutingFunctions::new(Some(tree))?;
    let mut machines = routing::samples();
    if let Some(shape) = shape {
        machines.push(torus_of(shape, mesh)?.1);
    }
    for torus in &machines {
        routing::compare(&functions, torus)
            .map_err(|text| UsageError::Combination(format!("--rtl {}: {text}", tree.display())))?;
    }
    Ok(())
}

/// Sets of class routes that stand for those of a machine: as software makes them, and any that registers can describe.
fn class_routes(nodes: usize) -> Vec<ClassRoutes> {
    let any = ClassRoutes::any(nodes, TREE_ROUTES);
    let made = (nodes <= TREE_MEMBERS).then(|| ClassRoutes::overlapping(nodes));
    made.into_iter().chain([any]).collect()
}

fn one(shape: &str, mesh: Option<&str>, rules: &Rules) -> Result<Checked, RunError> {
    let (sizes, torus) = torus_of(shape, mesh)?;
    let mut checked = Checked::new(shape_text(&sizes), rules);
    checked.stands_for = 1;
    for routes in class_routes(torus.nodes()) {
        checked.add_tree(&torus, &tree(&routes, rules));
    }
    if torus.nodes() <= EXHAUSTIVE_ONE {
        checked.add(&torus, Method::Exhaustive, &exhaustive(&torus, rules));
        return Ok(checked);
    }
    let report = decomposed(&torus, rules).ok_or_else(|| {
        UsageError::Combination(format!(
            "--break: with this rule broken the dimensions depend on each other; expected a shape of at most \
             {EXHAUSTIVE_ONE} nodes, found {}",
            torus.nodes()
        ))
    })?;
    checked.add(&torus, Method::ByDimension, &report);
    Ok(checked)
}

fn all(rules: &Rules) -> Result<Checked, RunError> {
    let shapes = every_shape();
    let bar = progress::bar(shapes.len() as u64, "machines");
    let reports: Vec<_> = shapes
        .par_iter()
        .map(|shape| {
            let torus = shape.torus();
            let small = torus.nodes() <= EXHAUSTIVE_ALL;
            let whole = small.then(|| exhaustive(&torus, rules));
            let by_dimension = decomposed(&torus, rules);
            bar.inc(1);
            (whole, by_dimension)
        })
        .collect();
    bar.finish_and_clear();

    let name = "every shape of sizes 1, 2, 3, 4, 5, 8".to_owned();
    let mut checked = Checked::new(name, rules);
    for (shape, (whole, by_dimension)) in shapes.iter().zip(&reports) {
        let torus = shape.torus();
        checked.stands_for += shape.stands_for();
        match (whole, by_dimension) {
            (Some(whole), by_dimension) => {
                if let Some(by_dimension) = by_dimension {
                    if by_dimension.cycle.is_empty() != whole.cycle.is_empty() {
                        return Err(RunError::Check(format!(
                            "{shape:?}: the check by dimension and that of the whole machine disagree"
                        )));
                    }
                    checked.compared += 1;
                }
                checked.add(&torus, Method::Exhaustive, whole);
            }
            (None, Some(report)) => checked.add(&torus, Method::ByDimension, report),
            (None, None) => {}
        }
    }
    for (torus, reports) in trees(&shapes, rules) {
        for report in reports {
            checked.add_tree(&torus, &report);
        }
    }
    Ok(checked)
}

/// The collective network of every number of nodes that is among `shapes`; its wiring knows no more of a shape. Above
/// [`TREE_MEMBERS`] the largest stands for the others: their trees are the beginning of its.
fn trees(shapes: &[Shape], rules: &Rules) -> Vec<(Torus, Vec<TreeReport>)> {
    let machines: BTreeMap<usize, Torus> = shapes
        .iter()
        .map(|shape| shape.torus())
        .map(|torus| (torus.nodes(), torus))
        .collect();
    let largest = machines.keys().next_back().copied().unwrap_or(0);
    let machines: Vec<Torus> = machines
        .into_iter()
        .filter(|&(nodes, _)| nodes <= TREE_MEMBERS || nodes == largest)
        .map(|(_, torus)| torus)
        .collect();
    let reports: Vec<_> = machines
        .par_iter()
        .map(|torus| {
            let routes = class_routes(torus.nodes());
            routes.iter().map(|routes| tree(routes, rules)).collect()
        })
        .collect();
    machines.into_iter().zip(reports).collect()
}
