// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a case on a machine that has just been made.

mod drain;
mod end_checks;
mod observe;
mod stimulus;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

use gyre_layout::LayoutError;
use gyre_layout::registers::node;
use gyre_sim::{Machine, ModelKind, SimError, Topology, Until};

use crate::case::Case;
use crate::map;
use crate::registers::Answer;
use crate::scoreboard::{Finding, Scoreboard};

/// Cycles in which a machine is up: register writes of its set-up, links.
const UP: u64 = 1_000;
/// Cycles within which a register access is answered, whatever memory does.
pub(crate) const REGISTER_BOUND: u64 = 4_096;
/// Cycles within which a machine is idle after the last stimulus, once memory answers.
pub(crate) const DRAIN_BOUND: u64 = 30_000;
/// Cycles within which the first packet of a message that is first in its injection FIFO reaches memory, where no
/// reception FIFO was full and memory answers.
const LATENCY_BOUND: u64 = 4_096;
/// Cycles that software waits before it sets up a node that was reset.
const RESET_PAUSE: u64 = 100;
/// Cycles from the time of an error to the interrupt.
const ERROR_TO_INTERRUPT: u64 = 1;

/// Result of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Violations; empty for a good case.
    pub findings: Vec<Finding>,
    /// States reached.
    pub coverage: BTreeSet<String>,
    /// Lines and branches of the RTL that were run; empty unless [`Rtl::coverage`] is set.
    pub rtl: RtlCoverage,
    /// Cycles of the machine.
    pub cycles: u64,
    /// Digest of the machine.
    pub hash: u64,
    /// Data that never arrived, also where a flip, a reset or a memory error excuses that.
    pub lost: Vec<Finding>,
    /// First error that each node has recorded, of those that have one.
    pub reports: Vec<Report>,
    /// Cycles in which wires were flipped.
    pub flips: Vec<u64>,
}

/// The RTL that a case is run on.
#[derive(Clone, Debug, Default)]
pub struct Rtl {
    /// Tree to use instead of the checkout's `rtl/`.
    pub tree: Option<PathBuf>,
    /// Counts lines and branches, which takes about ten times as long.
    pub coverage: bool,
}

/// Lines and branches of the RTL that were run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtlCoverage {
    /// Dimensions of the model: lines of different models do not compare.
    pub dims: usize,
    /// Lines and branches of the model.
    pub points: usize,
    /// Numbers of those that were run, in order.
    pub run: Vec<u32>,
}

/// The first error that a node has recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Node.
    pub node: usize,
    /// Reason code.
    pub reason: u8,
    /// Cycle.
    pub cycle: u64,
}

/// Why a case could not be run.
#[derive(Debug, thiserror::Error)]
pub enum FuzzError {
    /// The machine cannot be made, or broke for another reason than its hardware.
    #[error("{reason}")]
    Machine {
        /// Why.
        reason: String,
        /// The configuration or the RTL was refused.
        refused: bool,
    },
    /// The hardware broke a rule; in a verdict it is a finding.
    #[error("node {node}, cycle {cycle}: {message}")]
    Hardware {
        /// Node.
        node: usize,
        /// Cycle.
        cycle: u64,
        /// The assertion's text, or the rule that was broken.
        message: String,
    },
    /// A field of a case does not fit.
    #[error("a case that was checked has a field that does not fit: {0}")]
    Layout(#[from] LayoutError),
}

impl From<SimError> for FuzzError {
    fn from(error: SimError) -> Self {
        let refused = match &error {
            SimError::Config(_) => true,
            SimError::Build(build) => build.refuses_rtl(),
            _ => false,
        };
        match error {
            SimError::Hardware {
                node,
                cycle,
                message,
            } => Self::Hardware {
                node,
                cycle,
                message,
            },
            other => Self::Machine {
                reason: other.to_string(),
                refused,
            },
        }
    }
}

/// Use of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Nothing,
    /// TAIL of a reception FIFO, to take its packets.
    Tail(u16),
    /// A look at a register at the end.
    Look,
}

struct Pending {
    addr: u64,
    write: Option<u64>,
    expect: Answer,
    purpose: Purpose,
    issued: u64,
}

#[derive(Default)]
struct NodeState {
    /// Bytes posted, by injection FIFO.
    tails: [u64; 4],
    /// Bytes taken, by reception FIFO.
    heads: BTreeMap<u16, u64>,
    /// Remote gets so far.
    carried: u64,
    pending: [VecDeque<Pending>; 2],
    /// The registers no longer answer.
    dead: bool,
    answered: u64,
    entered: bool,
    looks: BTreeMap<u64, u64>,
    irq: Option<u64>,
    /// Set up again in this cycle.
    restart: Option<u64>,
    /// Resets that were asked for.
    resets: u64,
    /// Links to be switched on again: cycle, mask.
    rejoin: Option<u64>,
}

struct Runner<'a> {
    case: &'a Case,
    machine: Machine,
    topology: Topology,
    board: Scoreboard,
    nodes: Vec<NodeState>,
    findings: Vec<Finding>,
    coverage: BTreeSet<String>,
    messages: u32,
    reduced: u64,
    flips: bool,
    /// Resets, links that were cut.
    broken: bool,
    /// All that was asked for is done.
    drained: bool,
    /// Cycle in which messages that are first in their FIFO were posted, by software word 0.
    posted: BTreeMap<u64, u64>,
    /// Cycle in which the first packet of a message was written.
    seen: BTreeMap<u64, u64>,
    started: u64,
    lost: Vec<Finding>,
    reports: Vec<Report>,
}

/// Runs a case.
///
/// # Errors
/// [`FuzzError`]; faults of the hardware are in the verdict.
pub fn run_case(case: &Case, rtl: &Rtl) -> Result<Verdict, FuzzError> {
    let mut config = case.machine.config();
    config.rtl.clone_from(&rtl.tree);
    if rtl.coverage {
        config.model = ModelKind::Covered;
    }
    let machine = Machine::new(config)?;
    let topology = machine.topology().clone();
    let mut runner = Runner {
        case,
        nodes: (0..topology.nodes())
            .map(|_| NodeState::default())
            .collect(),
        machine,
        topology,
        board: Scoreboard::default(),
        findings: Vec::new(),
        coverage: BTreeSet::new(),
        messages: 0,
        reduced: 0,
        flips: false,
        broken: false,
        drained: false,
        posted: BTreeMap::new(),
        seen: BTreeMap::new(),
        started: 0,
        lost: Vec::new(),
        reports: Vec::new(),
    };
    match runner.all() {
        Ok(()) => {}
        Err(FuzzError::Hardware {
            node,
            cycle,
            message,
        }) => runner.assertion(node, cycle, &message),
        Err(error) => return Err(error),
    }
    let counts = runner.machine.rtl_coverage();
    let run = (0..).zip(&counts).filter(|(_, count)| **count > 0);
    let rtl = RtlCoverage {
        dims: runner.machine.model_dims(),
        points: counts.len(),
        run: run.map(|(point, _)| point).collect(),
    };
    let flips = runner.machine.take_flips();
    Ok(Verdict {
        findings: runner.findings,
        lost: runner.lost,
        reports: runner.reports,
        flips: flips.into_iter().map(|(cycle, _)| cycle).collect(),
        coverage: runner.coverage,
        rtl,
        cycles: runner.machine.cycles(),
        hash: runner.machine.hash(),
    })
}

/// A text without its numbers and paths, so that alike failures have one name.
fn nameless(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        let c = if c.is_ascii_digit() { '#' } else { c };
        if c != '#' || !out.ends_with('#') {
            out.push(c);
        }
    }
    out
}

impl Runner<'_> {
    fn found(&mut self, signature: &str, detail: String) {
        if !self.findings.iter().any(|f| f.signature == signature) {
            self.findings.push(Finding::new(signature, detail));
        }
    }

    fn assertion(&mut self, node: usize, cycle: u64, message: &str) {
        let line = message.lines().next().unwrap_or(message);
        // The last parts of the path and the text.
        let text = line.rsplit("gyre_node.").next().unwrap_or(line);
        let signature = format!("assertion: {}", nameless(text.trim()));
        let text = format!("node {node}, cycle {cycle}: {message}");
        self.found(&signature, text);
    }

    fn all(&mut self) -> Result<(), FuzzError> {
        self.machine.watch();
        for number in 0..self.nodes.len() {
            self.fill_memory(number);
            self.set_up(number);
        }
        self.run_to(UP)?;
        self.started = self.machine.cycles();
        let baseline = self.state_changes();
        let case = self.case;
        let mut last = "";
        for stimulus in &case.stimulus {
            self.run_to(self.started + u64::from(stimulus.cycle))?;
            let class = stimulus.action.class();
            self.cover(format!("pair {last} > {class}"));
            last = class;
            self.apply(stimulus.node, &stimulus.action)?;
        }
        self.drain()?;
        self.check_links(&baseline);
        self.check_end()
    }

    fn cover(&mut self, what: String) {
        self.coverage.insert(what);
    }

    fn fill_memory(&mut self, node: usize) {
        let source: Vec<u8> = (0..map::SOURCE.bytes)
            .map(|at| map::pattern(node, at))
            .collect();
        self.machine.poke(node, map::SOURCE.base, &source);
        let words = map::COUNTERS.bytes / 8;
        let counters: Vec<u8> = (0..words)
            .flat_map(|_| map::COUNTER_START.to_le_bytes())
            .collect();
        self.machine.poke(node, map::COUNTERS.base, &counters);
    }

    fn set_up(&mut self, node: usize) {
        let resets = self.nodes[node].resets;
        for (addr, value) in map::set_up(&self.topology, node, resets) {
            let expect = match resets > 0 {
                true => Answer::Either,
                false => Answer::Okay,
            };
            self.access(node, 0, addr, Some(value), expect, Purpose::Nothing);
        }
        let state = &mut self.nodes[node];
        state.tails = [0; 4];
        state.heads.clear();
    }

    fn access(
        &mut self,
        node: usize,
        port: u8,
        addr: u64,
        write: Option<u64>,
        expect: Answer,
        purpose: Purpose,
    ) {
        let issued = self.machine.cycles();
        let state = &mut self.nodes[node];
        if state.dead {
            return;
        }
        state.pending[usize::from(port)].push_back(Pending {
            addr,
            write,
            expect,
            purpose,
            issued,
        });
        self.machine.access_register(node, port, addr, write);
    }

    fn write(&mut self, node: usize, addr: u64, value: u64, expect: Answer) {
        self.access(node, 0, addr, Some(value), expect, Purpose::Nothing);
    }

    /// Runs to a cycle; software reacts every 64 cycles.
    fn run_to(&mut self, cycle: u64) -> Result<(), FuzzError> {
        loop {
            let now = self.machine.cycles();
            for number in 0..self.nodes.len() {
                if self.nodes[number].restart.is_some_and(|at| at <= now) {
                    self.nodes[number].restart = None;
                    self.set_up(number);
                }
                if self.nodes[number].rejoin.is_some_and(|at| at <= now) {
                    self.nodes[number].rejoin = None;
                    let links = self.topology.network_config(number).links();
                    self.write(number, node::LINK_ENABLE, links.into(), Answer::Okay);
                }
            }
            if now >= cycle {
                return Ok(());
            }
            let next = (now + 64).min(cycle);
            self.machine.run(Until::Cycle(next))?;
            self.look()?;
        }
    }

    /// `answer` as long as nothing was reset, cut or written wildly; else either answer.
    fn promised(&self, answer: Answer) -> Answer {
        match self.board.weak || self.board.wild {
            true => Answer::Either,
            false => answer,
        }
    }
}
