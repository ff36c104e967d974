//! Runs a case on a machine that has just been made.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

use gyre_layout::registers::{
    self as reg, COLL, coll_network, flow_page, flow_source, injection_fifo, node, reception_fifo,
};
use gyre_layout::{
    CollOp, CollType, Collective, CounterRef, Descriptor, ErrorReason, HEADER_BYTES, Header,
    LayoutError, Rmw, RmwOp, Source, VClass,
};
use gyre_sim::{
    FlipTime, Forgery, Machine, MemoryWrite, ModelKind, SimError, Topology, Until, WireFlip,
};

use crate::case::{Action, Carried, Case, FlipWhen, Send, SendKind, hex};
use crate::descriptor::Bits;
use crate::map;
use crate::registers::{Answer, answer, place};
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

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What must not be; empty for a good case.
    pub findings: Vec<Finding>,
    /// What was reached.
    pub coverage: BTreeSet<String>,
    /// Lines and branches of the RTL that were run; none unless [`Rtl::coverage`] asked for them.
    pub rtl: RtlCoverage,
    /// Cycles of the machine.
    pub cycles: u64,
    /// Digest of the machine.
    pub hash: u64,
    /// What has not arrived in the end, also where a flip, a reset or a memory error excuses that.
    pub lost: Vec<Finding>,
    /// First error that each node has recorded, of those that have one.
    pub reports: Vec<Report>,
    /// Cycles in which wires were flipped.
    pub flips: Vec<u64>,
}

/// The RTL that a case is run on.
#[derive(Clone, Debug, Default)]
pub struct Rtl {
    /// A tree in the place of the checkout's `rtl/`.
    pub tree: Option<PathBuf>,
    /// Lines and branches are counted, which takes some ten times as long.
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

/// What an answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Nothing,
    /// TAIL of a reception FIFO, to take what it holds.
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
/// [`FuzzError`]: what is wrong with the hardware is in the verdict.
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

    fn state_changes(&self) -> Vec<Vec<u64>> {
        let ports = self.case.machine.torus_ports() + 3;
        let changes = |node, port| {
            let book = self.machine.link_book(node, port);
            book.map_or(0, |book| book.state_changes)
        };
        (0..self.nodes.len())
            .map(|node| (0..ports).map(|port| changes(node, port)).collect())
            .collect()
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

    /// Takes what the machine has done.
    fn look(&mut self) -> Result<(), FuzzError> {
        for write in self.machine.take_writes() {
            self.see(&write);
            if let Some(finding) = self.board.written(&write) {
                self.found(&finding.signature, finding.detail);
            }
        }
        for got in self.machine.take_answers() {
            let state = &mut self.nodes[got.node];
            let Some(pending) = state.pending[usize::from(got.port)].pop_front() else {
                continue;
            };
            state.answered = self.machine.cycles();
            let wrong = match pending.expect {
                Answer::Okay => got.refused,
                Answer::Refused => !got.refused,
                Answer::Either => false,
            };
            let how = if pending.write.is_some() {
                "write"
            } else {
                "read"
            };
            let at = place(pending.addr);
            let verdict = if got.refused { "SLVERR" } else { "OKAY" };
            self.cover(format!("register {how} {at}: {verdict}"));
            if wrong {
                let detail = format!(
                    "node {}, port {}, cycle {}: {how} of {:#x} ({:#x?}) answered {verdict}",
                    got.node, got.port, got.cycle, pending.addr, pending.write
                );
                self.found(&format!("register {how} of {at} answers {verdict}"), detail);
            }
            match pending.purpose {
                Purpose::Tail(fifo) if !got.refused => self.take(got.node, fifo, got.data),
                Purpose::Look if !got.refused => {
                    self.nodes[got.node].looks.insert(pending.addr, got.data);
                }
                _ => {}
            }
        }
        let now = self.machine.cycles();
        for number in 0..self.nodes.len() {
            for (cycle, levels) in self.machine.take_levels(number) {
                let state = &mut self.nodes[number];
                if levels >> 16 & 1 == 1 && state.irq.is_none() {
                    state.irq = Some(cycle);
                }
                self.cover(format!("outputs {levels:#x}"));
            }
            let state = &mut self.nodes[number];
            let waits = |queue: &VecDeque<Pending>| {
                let front = queue.front()?;
                let since = front.issued.max(state.answered);
                (now > since + REGISTER_BOUND).then_some((front.addr, since))
            };
            if let (false, Some((addr, since))) = (state.dead, state.pending.iter().find_map(waits))
            {
                state.dead = true;
                let text = format!(
                    "node {number}: access to {addr:#x} of cycle {since} without an answer in cycle {now}"
                );
                self.found("register access without an answer", text);
            }
        }
        Ok(())
    }

    /// Notes when the first packet of a message reaches a reception FIFO.
    fn see(&mut self, write: &MemoryWrite) {
        let within = |ring: &map::Ring| (ring.base..ring.base + ring.bytes).contains(&write.line);
        if !map::RECEPTION.iter().any(within) {
            return;
        }
        let bytes: Vec<u8> = write
            .data
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        for (half, part) in bytes.chunks_exact(HEADER_BYTES).enumerate() {
            let whole = write.strobe >> (32 * half) & 0xffff_ffff == 0xffff_ffff;
            let header = <[u8; HEADER_BYTES]>::try_from(part).ok();
            let header = header.and_then(|bytes| Header::decode(&bytes).ok());
            if let (true, Some(header)) = (whole, header) {
                self.seen.entry(header.sw0.into()).or_insert(write.cycle);
            }
        }
    }

    /// No message waited too long for its turn.
    fn check_latency(&mut self) {
        if self.board.weak || self.board.wild {
            return;
        }
        let waits = |action: &Action| match action {
            Action::WithholdMemory { cycles } | Action::StallMemory { cycles, .. } => {
                u64::from(*cycles)
            }
            _ => 0,
        };
        let slow: u64 = self.case.stimulus.iter().map(|s| waits(&s.action)).sum();
        for (id, posted) in std::mem::take(&mut self.posted) {
            let Some(&seen) = self.seen.get(&id) else {
                continue;
            };
            let octave = seen.saturating_sub(posted).max(1).ilog2();
            self.cover(format!("latency 2^{octave}"));
            if seen > posted + LATENCY_BOUND + slow {
                let text = format!(
                    "message {id}: posted in cycle {posted}, first packet in memory in cycle {seen}"
                );
                self.found("message waits longer than the bound", text);
            }
        }
    }

    /// Takes packets from a reception FIFO up to `tail`.
    fn take(&mut self, node: usize, fifo: u16, tail: u64) {
        let Some(ring) = map::RECEPTION.iter().find(|ring| ring.fifo == fifo) else {
            return;
        };
        let mut head = self.nodes[node].heads.get(&fifo).copied().unwrap_or(0);
        if head == tail || self.board.wild {
            return;
        }
        if (tail.wrapping_sub(head) & 0xffff_ffff) > ring.bytes {
            // The FIFO was opened again since.
            if !self.board.weak {
                let text =
                    format!("node {node}, reception FIFO {fifo}: head {head:#x}, tail {tail:#x}");
                self.found("reception FIFO beyond its ring", text);
            }
            return;
        }
        // What memory withheld before a reset may land in the ring after it: nothing is read there.
        while head != tail && self.nodes[node].resets == 0 {
            let mut bytes = [0; HEADER_BYTES];
            self.read_ring(node, ring, head, &mut bytes);
            let Ok(header) = Header::decode(&bytes) else {
                let text =
                    format!("node {node}, reception FIFO {fifo}, head {head:#x}: {bytes:x?}");
                self.found("packet without a header", text);
                break;
            };
            let mut payload = vec![0; usize::from(header.len.min(512))];
            self.read_ring(node, ring, head + 32, &mut payload);
            let finding = self
                .board
                .received(node, fifo, &header, &payload, &self.topology);
            if let Some(finding) = finding {
                self.found(&finding.signature, finding.detail);
            }
            head = (head + 32 + u64::from(header.len).next_multiple_of(32)) & 0xffff_ffff;
        }
        self.nodes[node].heads.insert(fifo, tail);
        let expect = self.promised(Answer::Okay);
        self.write(
            node,
            map::reception(fifo, reception_fifo::HEAD),
            tail,
            expect,
        );
    }

    fn read_ring(&self, node: usize, ring: &map::Ring, at: u64, out: &mut [u8]) {
        for (i, byte) in (0..).zip(out) {
            let offset = (at + i) % ring.bytes;
            self.machine
                .peek(node, ring.base + offset, std::slice::from_mut(byte));
        }
    }

    /// What is promised as long as nothing was reset, cut or written wildly.
    fn promised(&self, answer: Answer) -> Answer {
        match self.board.weak || self.board.wild {
            true => Answer::Either,
            false => answer,
        }
    }

    fn apply(&mut self, node: usize, action: &Action) -> Result<(), FuzzError> {
        match action {
            Action::Send(send) => self.send(node, send)?,
            Action::Reduce {
                length,
                source,
                offset,
            } => self.reduce(*length, *source, *offset)?,
            Action::Barrier {} => {
                if !std::mem::replace(&mut self.nodes[node].entered, true) {
                    self.write(node, COLL + coll_network::BARRIER_ENTER, 1, Answer::Okay);
                }
            }
            Action::Read { port, addr } => {
                let addr = u64::from(*addr);
                let expect = answer(addr, None, self.case.machine.torus_ports() as u64);
                self.access(node, *port, addr, None, expect, Purpose::Nothing);
            }
            Action::Write { port, addr, value } => {
                let (addr, value) = (u64::from(*addr), hex(value).unwrap_or(0));
                let expect = answer(addr, Some(value), self.case.machine.torus_ports() as u64);
                let harmless = addr == node::SCRATCH
                    || addr == node::INT_CAUSE
                    || addr % 8 != 0
                    || (0x100..0x200).contains(&addr);
                if expect != Answer::Refused && !harmless {
                    self.board.weak = true;
                    self.board.wild = true;
                }
                self.access(node, *port, addr, Some(value), expect, Purpose::Nothing);
            }
            Action::Skip { fifo } => {
                let addr = map::injection(*fifo, injection_fifo::STATUS);
                let expect = self.promised(match *fifo {
                    31 => Answer::Either,
                    _ => Answer::Okay,
                });
                self.write(node, addr, 1, expect);
            }
            Action::Blank { fifo, count } => {
                let at = usize::from(*fifo);
                for _ in 0..*count {
                    self.put_descriptor(node, at, &Bits([0; 64]));
                    self.board
                        .posted(&Bits([0; 64]), &self.topology, node, *fifo, &[]);
                }
                self.ring_doorbell(node, at);
            }
            Action::Consume { fifo } => {
                let addr = map::reception(*fifo, reception_fifo::TAIL);
                self.access(node, 0, addr, None, Answer::Okay, Purpose::Tail(*fifo));
            }
            Action::Grant { slot, base, limit } => {
                use gyre_layout::registers::base_slot;
                let (base, limit) = (hex(base).unwrap_or(0), hex(limit).unwrap_or(0));
                let ports = self.case.machine.torus_ports() as u64;
                let register = |register| map::slot(*slot, register);
                self.write(node, register(base_slot::CTRL), 0, Answer::Okay);
                let expect = answer(register(base_slot::BASE), Some(base), ports);
                self.write(node, register(base_slot::BASE), base, expect);
                self.write(node, register(base_slot::LIMIT), limit, Answer::Either);
                // Valid, write, atomic.
                let ctrl = 0b01101 | map::OWNER << 8;
                self.write(node, register(base_slot::CTRL), ctrl, Answer::Okay);
                self.board.granted(node, *slot, base, limit);
                // Landing areas of others and rings may be granted as well.
                self.board.weak = true;
            }
            Action::FailMemory { start, bytes } => {
                let start = u64::from(*start);
                self.machine
                    .fail_memory(node, start..start + u64::from(*bytes));
                self.board.weak = true;
            }
            Action::RepairMemory {} => self.machine.repair_memory(node),
            Action::StallMemory { channel, cycles } => {
                use gyre_sim::AxiChannels;
                let channels = match channel {
                    0 => AxiChannels::ReadAddress,
                    1 => AxiChannels::WriteAddress,
                    2 => AxiChannels::WriteData,
                    _ => AxiChannels::All,
                };
                self.machine
                    .stall_axi(node, 0, channels, u64::from(*cycles));
            }
            Action::WithholdMemory { cycles } => {
                let until = self.machine.cycles() + u64::from(*cycles);
                self.machine.withhold_memory(node, until);
            }
            Action::ResetNode {} => {
                self.machine.reset_node(node)?;
                let now = self.machine.cycles();
                let state = &mut self.nodes[node];
                state.pending.iter_mut().for_each(VecDeque::clear);
                state.restart = Some(now + RESET_PAUSE);
                self.mark_reset(node);
                self.machine.take_answers();
            }
            Action::SoftReset {} => {
                self.mark_reset(node);
                self.write(
                    node,
                    node::CTRL,
                    node::ctrl::SOFT_RESET.put(1),
                    Answer::Okay,
                );
                self.nodes[node].restart = Some(self.machine.cycles() + RESET_PAUSE);
            }
            Action::CutLinks { ports, cycles } => {
                self.board.weak = true;
                self.broken = true;
                let links = self.topology.network_config(node).links() & !ports;
                self.write(node, node::LINK_ENABLE, links.into(), Answer::Okay);
                self.nodes[node].rejoin = Some(self.machine.cycles() + u64::from(*cycles));
            }
            Action::Flip(flip) => {
                self.board.weak = true;
                self.flips = true;
                let now = self.machine.cycles();
                self.machine.flip_wires(WireFlip {
                    node,
                    port: flip.port,
                    time: match flip.when {
                        FlipWhen::Now => FlipTime::Cycle(now),
                        FlipWhen::Flit => FlipTime::Flit(now),
                        FlipWhen::Tail => FlipTime::Tail(now),
                        FlipWhen::Credit => FlipTime::Credit(now),
                    },
                    word: flip.word,
                    data: flip.mask().unwrap_or([0; 2]),
                });
            }
            Action::Forge(forge) => {
                self.board.weak = true;
                self.board.forged = true;
                self.machine.forge(Forgery {
                    node,
                    port: forge.port,
                    from: self.machine.cycles(),
                    header: forge.mask().unwrap_or([0; 4]),
                });
            }
            Action::RaiseError { reason } => {
                self.board.raised(node, *reason);
                self.write(node, node::ERR_SET, u64::from(*reason), Answer::Okay);
            }
        }
        Ok(())
    }

    fn mark_reset(&mut self, node: usize) {
        self.board.weak = true;
        self.broken = true;
        self.nodes[node].resets += 1;
    }

    fn put_descriptor(&mut self, node: usize, fifo: usize, bits: &Bits) {
        let ring = map::injection_ring(fifo, self.nodes[node].resets);
        let tail = &mut self.nodes[node].tails[fifo];
        let at = ring.base + *tail % ring.bytes;
        *tail += 64;
        self.machine.poke(node, at, &bits.0);
    }

    fn ring_doorbell(&mut self, node: usize, fifo: usize) {
        let tail = self.nodes[node].tails[fifo];
        let addr = map::injection(map::INJECTION[fifo].fifo, injection_fifo::TAIL);
        let expect = self.promised(Answer::Okay);
        self.write(node, addr, tail, expect);
    }

    fn send(&mut self, node: usize, send: &Send) -> Result<(), FuzzError> {
        let to = self.topology.header_coord(send.to);
        let mut source = Source {
            slot: send.slot,
            offset: send.source,
            length: send.length,
        };
        let mut carried = Vec::new();
        let mut descriptor = match send.kind {
            SendKind::Message => Descriptor::memory_fifo(to, source, send.target),
            SendKind::Put => Descriptor::put(to, source, send.target, send.offset),
            SendKind::RemoteGet => {
                for put in &send.carries {
                    carried.push(self.carried(node, put)?);
                }
                let state = &mut self.nodes[node];
                let at = state.carried * 512 % map::CARRIED.bytes;
                state.carried += 1;
                source = Source {
                    slot: map::CARRIED.slot,
                    offset: at,
                    length: 64 * carried.len() as u32,
                };
                let bytes: Vec<u8> = carried.iter().flat_map(|bits| bits.0).collect();
                self.machine.poke(node, map::CARRIED.base + at, &bytes);
                Descriptor::remote_get(to, source, send.target)
            }
            SendKind::Add => {
                let rmw = Rmw {
                    op: RmwOp::Add,
                    wide: true,
                    value: u64::from(send.length),
                    test: None,
                    fetch: None,
                };
                Descriptor::rmw(to, send.target, send.offset, rmw)
            }
        };
        descriptor.vclass = VClass::try_from(send.class)?;
        descriptor.deposit = send.deposit;
        if send.dynamic {
            descriptor = descriptor.with_dynamic_route();
        }
        if send.flow {
            descriptor = descriptor.with_flow(0);
        }
        descriptor.counter = send.counter.map(|index| CounterRef {
            slot: map::COUNTERS.slot,
            index,
        });
        if send.kind != SendKind::Add {
            self.messages += 1;
            descriptor = descriptor.with_software(self.messages, 0);
        }
        let bits = Bits(descriptor.encode()?).spoilt(&send.spoil);
        let first = self.nodes[node].tails[usize::from(send.fifo)] == 0;
        if first && send.kind == SendKind::Message && send.spoil.is_empty() {
            let id = u64::from(self.messages);
            self.posted.insert(id, self.machine.cycles());
        }
        if send.kind == SendKind::Add && !send.spoil.is_empty() {
            self.board.weak = true;
        }
        if !send.spoil.is_empty() && send.kind == SendKind::RemoteGet {
            // It may carry what nobody prepared, or what was prepared for another.
            self.board.stray(&self.topology);
        }
        self.board
            .posted(&bits, &self.topology, node, send.fifo, &carried);
        self.put_descriptor(node, usize::from(send.fifo), &bits);
        self.ring_doorbell(node, usize::from(send.fifo));
        Ok(())
    }

    /// A put to `node` that a remote get carries.
    fn carried(&self, node: usize, put: &Carried) -> Result<Bits, FuzzError> {
        let source = Source {
            slot: map::SOURCE.slot,
            offset: put.source,
            length: put.length,
        };
        let to = self.topology.header_coord(node);
        let descriptor = Descriptor::put(to, source, put.target, put.offset);
        Ok(Bits(descriptor.encode()?).spoilt(&put.spoil))
    }

    fn reduce(&mut self, length: u32, source: u64, offset: u64) -> Result<(), FuzzError> {
        let nodes = self.nodes.len();
        let collective = Collective {
            op: CollOp::Add,
            dtype: CollType::U32,
            route: 0,
        };
        let source_field = Source {
            slot: map::SOURCE.slot,
            offset: source,
            length,
        };
        let descriptor =
            Descriptor::collective_put(collective, None, source_field, map::LANDING.slot, offset)?;
        let bits = Bits(descriptor.encode()?);
        self.reduced += 1;
        self.board.reduced(nodes, length, source, offset);
        for node in 0..nodes {
            self.put_descriptor(node, 3, &bits);
            self.ring_doorbell(node, 3);
        }
        Ok(())
    }

    /// Reads registers of a node; those that did not answer in time are absent.
    fn read_all(&mut self, addrs: &[Vec<u64>]) -> Result<(), FuzzError> {
        for (number, list) in addrs.iter().enumerate() {
            self.nodes[number].looks.clear();
            for &addr in list {
                self.access(number, 0, addr, None, Answer::Either, Purpose::Look);
            }
        }
        let most = addrs.iter().map(Vec::len).max().unwrap_or(0) as u64;
        let waits = |state: &NodeState| !state.dead && !state.pending[0].is_empty();
        for _ in 0..most + REGISTER_BOUND / 64 + 2 {
            if !self.nodes.iter().any(waits) {
                break;
            }
            self.run_to(self.machine.cycles() + 64)?;
        }
        Ok(())
    }

    /// Waits until all that was asked for is done; software starts again what an error has halted.
    fn drain(&mut self) -> Result<(), FuzzError> {
        let nodes = self.nodes.len();
        for number in 0..nodes {
            self.machine.repair_memory(number);
        }
        // What memory was told to withhold comes at last.
        let held = |action: &Action| match action {
            Action::WithholdMemory { cycles } => u64::from(*cycles),
            _ => 0,
        };
        let held = self
            .case
            .stimulus
            .iter()
            .map(|s| u64::from(s.cycle) + held(&s.action))
            .max();
        let answers = self.started + held.unwrap_or(0);
        for number in 0..nodes {
            self.machine.withhold_memory(number, 0);
        }
        let bytes = |action: &Action| match action {
            Action::Send(send) => u64::from(send.length.min(0x1_0000)),
            _ => 0,
        };
        let bytes: u64 = self.case.stimulus.iter().map(|s| bytes(&s.action)).sum();
        let mut bound = answers.max(self.machine.cycles()) + DRAIN_BOUND + bytes;
        let mut forced = false;
        let fifos: Vec<u16> = (0..4).chain([map::REMOTE.fifo]).collect();
        let mut pause = 128;
        let mut calm = 0;
        let mut stands = String::new();
        while self.machine.cycles() < bound {
            self.run_to(self.machine.cycles() + pause)?;
            pause = (pause * 2).min(4_096);
            let mut addrs = vec![node::STATUS];
            addrs.extend(
                fifos
                    .iter()
                    .map(|&f| map::injection(f, injection_fifo::STATUS)),
            );
            for ring in map::RECEPTION {
                addrs.push(map::reception(ring.fifo, reception_fifo::TAIL));
                addrs.push(map::reception(ring.fifo, reception_fifo::STATUS));
            }
            self.read_all(&vec![addrs; nodes])?;
            stands.clear();
            for number in 0..nodes {
                self.tend(number, &fifos, &mut stands);
            }
            calm = if stands.is_empty() { calm + 1 } else { 0 };
            if calm == 2 {
                self.drained = true;
                return Ok(());
            }
            if calm == 1 {
                pause = 64;
            }
            // What waits for a packet that is lost goes on when its flow is closed.
            if self.machine.cycles() >= bound && self.board.weak && !forced {
                forced = true;
                self.force_flows()?;
                bound = self.machine.cycles() + DRAIN_BOUND / 2;
                // What waited behind the flow comes now, and software looks at it as often as before.
                pause = 128;
            }
        }
        // A reduction that lost a contribution waits for it.
        let excused = self.board.wild || (self.board.weak && self.reduced > 0);
        if !stands.is_empty() && !excused {
            let status = reg::FLOW + flow_page::source(0) + 8;
            self.read_all(&vec![vec![status]; nodes])?;
            let in_use =
                |state: &NodeState| state.looks.get(&status).is_some_and(|s| s >> 16 & 1 == 1);
            let reset = self.nodes.iter().any(|state| state.resets > 0);
            if self.board.weak && self.nodes.iter().any(in_use) {
                // The two ends of a flow do not agree after a reset of one, until software opens both anew.
                if reset {
                    return Ok(());
                }
                self.found(
                    "hang: a flow that lost a packet holds its injection FIFO",
                    stands,
                );
                return Ok(());
            }
            let kind = stands.split(';').next().unwrap_or_default();
            let kind = kind.split(": ").nth(1).unwrap_or(kind);
            self.found(&format!("hang: {}", nameless(kind)), stands);
        }
        Ok(())
    }

    /// Does what software owes a node, and says what stands still.
    fn tend(&mut self, number: usize, fifos: &[u16], stands: &mut String) {
        use std::fmt::Write;
        let looks = std::mem::take(&mut self.nodes[number].looks);
        if self.nodes[number].dead {
            return;
        }
        let mut say = |text: std::fmt::Arguments<'_>| {
            // Writing to a string cannot fail.
            let _ = write!(stands, "node {number}: {text}; ");
        };
        for &fifo in fifos {
            let addr = map::injection(fifo, injection_fifo::STATUS);
            let Some(&status) = looks.get(&addr) else {
                continue;
            };
            let reason = status >> 8 & 0xff;
            self.cover(format!("injection {fifo} status {status:#x}"));
            let remote = fifo == map::REMOTE.fifo;
            if status & 1 == 1 {
                say(format_args!("injection FIFO {fifo} halted again and again"));
                if reason == u64::from(u8::from(ErrorReason::Write)) {
                    let ctrl = map::injection(fifo, injection_fifo::CTRL);
                    self.write(number, ctrl, 0, Answer::Either);
                    let open = map::injection_ctrl(remote);
                    self.write(number, ctrl, open, Answer::Either);
                } else {
                    self.write(number, addr, 1, Answer::Either);
                }
            } else if status & 4 == 0 {
                let kind = if remote { "remote-get" } else { "software" };
                say(format_args!(
                    "injection FIFO {fifo} ({kind}) holds work and does not run"
                ));
            }
        }
        for ring in map::RECEPTION {
            let addr = map::reception(ring.fifo, reception_fifo::TAIL);
            if let Some(&tail) = looks.get(&addr) {
                let head = self.nodes[number].heads.get(&ring.fifo).copied();
                if head.unwrap_or(0) != tail && !self.board.wild {
                    say(format_args!(
                        "reception FIFO {} filled again and again",
                        ring.fifo
                    ));
                    self.take(number, ring.fifo, tail);
                }
            }
            let addr = map::reception(ring.fifo, reception_fifo::STATUS);
            if let Some(&status) = looks.get(&addr) {
                self.cover(format!("reception {} status {status:#x}", ring.fifo));
                if status & 4 != 0 {
                    say(format_args!("reception FIFO {} halted", ring.fifo));
                    let ctrl = map::reception(ring.fifo, reception_fifo::CTRL);
                    self.write(number, ctrl, map::reception_ctrl(), Answer::Either);
                    self.nodes[number].heads.insert(ring.fifo, 0);
                }
            }
        }
        if let Some(&status) = looks.get(&node::STATUS) {
            self.cover(format!("status {status:#x}"));
            if status & 1 == 0 {
                say(format_args!("never idle, status {status:#x}"));
            }
        }
    }

    /// Links are up, and every credit is back where the link never went down.
    fn check_links(&mut self, baseline: &[Vec<u64>]) {
        if self.board.wild || !self.drained {
            return;
        }
        // A reduction that lost a contribution holds those of others.
        let machine = &self.machine;
        let peek = |node, addr, out: &mut [u8]| machine.peek(node, addr, out);
        let reduced = self.board.reductions_landed(peek);
        let torus = self.case.machine.torus_ports();
        let after = self.state_changes();
        for number in 0..self.nodes.len() {
            for port in 0..if reduced { torus + 3 } else { torus } {
                let peer = match port < torus {
                    true => self.topology.neighbour(number, port),
                    false => self
                        .topology
                        .tree_neighbour(number, port - torus)
                        .map(|(peer, back)| (peer, torus + back)),
                };
                let Some((peer, back)) = peer else { continue };
                let (Some(mine), Some(its)) = (
                    self.machine.link_book(number, port),
                    self.machine.link_book(peer, back),
                ) else {
                    continue;
                };
                self.cover(format!("link state {}", mine.state()));
                let network = if port < torus { "torus" } else { "tree" };
                let steady = after[number][port] == baseline[number][port]
                    && after[peer][back] == baseline[peer][back];
                if !steady {
                    continue;
                }
                for channel in 0..gyre_sim::LINK_CHANNELS {
                    let (sent, back) = (mine.flits[channel], its.credits[channel]);
                    if sent == back {
                        continue;
                    }
                    let how = if sent > back { "lost" } else { "spurious" };
                    let text = format!(
                        "node {number}, port {port}, virtual channel {channel}: {sent} flits, {back} credits, link up all the time"
                    );
                    self.found(
                        &format!("credit {how} on a {network} link that stays up"),
                        text,
                    );
                }
            }
        }
    }

    fn check_end(&mut self) -> Result<(), FuzzError> {
        let nodes = self.nodes.len();
        let done = COLL + coll_network::BARRIER_DONE;
        let flows = [
            reg::FLOW + flow_page::source(0) + 8,
            reg::FLOW + flow_page::target(0) + 8,
        ];
        if self.board.weak && !self.board.wild {
            self.force_flows()?;
        }
        let mut addrs = vec![node::ERR_STATUS, node::ERR_TIME, node::LINK_STATUS, done];
        addrs.extend(flows);
        addrs.extend(map::RECEPTION.map(|ring| map::reception(ring.fifo, reception_fifo::STATUS)));
        self.read_all(&vec![addrs; nodes])?;
        let hung = self
            .findings
            .iter()
            .any(|f| f.signature.starts_with("hang"));
        if self.board.wild {
            return Ok(());
        }
        let all_entered = self.nodes.iter().all(|state| state.entered);
        let looks: Vec<BTreeMap<u64, u64>> =
            self.nodes.iter().map(|state| state.looks.clone()).collect();
        let reported = looks
            .iter()
            .any(|l| l.get(&node::ERR_STATUS).is_some_and(|s| s >> 32 != 0));
        for (number, looks) in looks.iter().enumerate() {
            let Some(&status) = looks.get(&node::ERR_STATUS) else {
                continue;
            };
            let (reason, count) = (status as u8, status >> 32);
            if status >> 31 & 1 == 1 {
                self.reports.push(Report {
                    node: number,
                    reason,
                    cycle: looks.get(&node::ERR_TIME).copied().unwrap_or(u64::MAX),
                });
                self.cover(format!("error {reason:#04x} at node {number}"));
            }
            if let Some(&bits) = looks.get(&done)
                && !self.broken
            {
                let is_done = bits & 1 == 1;
                if is_done && !all_entered {
                    let text = format!("node {number}: barrier 0 is done");
                    self.found("barrier done before all have entered", text);
                }
                if !is_done && all_entered && !(self.board.weak && reported) {
                    let text = format!("node {number}: all have entered, no error is reported");
                    self.found("barrier never done", text);
                }
            }
            self.check_errors(number, status, reason, count, looks);
            if self.nodes.iter().any(|state| state.resets > 0) || hung {
                continue;
            }
            self.check_flows(number, looks, &flows);
        }
        let full = |looks: &BTreeMap<u64, u64>| {
            map::RECEPTION.iter().any(|ring| {
                let addr = map::reception(ring.fifo, reception_fifo::STATUS);
                looks.get(&addr).is_none_or(|status| status & 2 != 0)
            })
        };
        if !looks.iter().any(full) {
            self.check_latency();
        }
        self.close_flows(hung)?;
        let machine = &self.machine;
        let lost = self
            .board
            .lost(|node, addr, out| machine.peek(node, addr, out));
        self.lost = lost;
        if !hung {
            let machine = &self.machine;
            let missing = self
                .board
                .missing(|node, addr, out| machine.peek(node, addr, out));
            for finding in missing {
                self.found(&finding.signature, finding.detail);
            }
        }
        Ok(())
    }

    fn check_errors(
        &mut self,
        number: usize,
        status: u64,
        reason: u8,
        count: u64,
        looks: &BTreeMap<u64, u64>,
    ) {
        let weak = self.board.weak;
        let expected = self.board.errors.get(&number).copied().unwrap_or(0);
        let words = |reason: u8| {
            ErrorReason::try_from(reason).map_or("unknown".to_owned(), |name| name.to_string())
        };
        if !weak && count < expected {
            let text = format!("node {number}: {count} errors counted, {expected} expected");
            self.found("error not recorded", text);
        }
        let allowed = self.board.reasons.get(&number);
        let known = allowed.is_some_and(|reasons| reasons.contains(&reason));
        if !weak && count > 0 && !known {
            let text = format!("node {number}: {reason:#04x} ({})", words(reason));
            self.found(&format!("error without a cause: {}", words(reason)), text);
        }
        let state = &self.nodes[number];
        if let (Some(&time), Some(irq), true) = (looks.get(&node::ERR_TIME), state.irq, count > 1)
            && status >> 31 & 1 == 1
            && state.resets == 0
            && time + ERROR_TO_INTERRUPT > irq
        {
            let text = format!(
                "node {number}: error of cycle {time} recorded, but the interrupt came in cycle {irq}"
            );
            self.found("first error overwritten by a later one", text);
        }
    }

    fn check_flows(&mut self, number: usize, looks: &BTreeMap<u64, u64>, flows: &[u64; 2]) {
        for (addr, end) in flows.iter().zip(["source", "target"]) {
            if let Some(&status) = looks.get(addr) {
                self.cover(format!("flow {end} in use {}", status >> 16 & 1));
                if status >> 16 & 1 == 1 {
                    let text = format!("node {number}: flow {end} 0, status {status:#x}");
                    self.found(&format!("flow {end} in use for ever"), text);
                }
            }
        }
    }

    /// Closes every flow, in use or not.
    fn force_flows(&mut self) -> Result<(), FuzzError> {
        for number in 0..self.nodes.len() {
            let expect = match self.nodes[number].resets > 0 || self.board.wild {
                true => Answer::Either,
                false => Answer::Okay,
            };
            for addr in [flow_page::source(0), flow_page::target(0)] {
                let force = flow_source::ctrl::FORCE.put(1);
                self.write(number, reg::FLOW + addr, force, expect);
            }
        }
        self.run_to(self.machine.cycles() + 1_024)
    }

    /// Every flow can be closed.
    fn close_flows(&mut self, hung: bool) -> Result<(), FuzzError> {
        if hung || self.board.weak {
            return Ok(());
        }
        for number in 0..self.nodes.len() {
            for addr in [flow_page::source(0), flow_page::target(0)] {
                self.write(number, reg::FLOW + addr, 0, Answer::Okay);
            }
        }
        self.run_to(self.machine.cycles() + 64)
    }
}
