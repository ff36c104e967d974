//! The machine: nodes, links, memory and software on one clock.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;

use cxx::{SharedPtr, UniquePtr};

use crate::actor::{Actor, ActorError, ActorId, LogEntry, Shared, Signal, Wait};
use crate::axi::{Address, AxiMemory, ReadBurst, WriteBurst};
use crate::config::{ConfigError, EPOCH, MachineConfig, ModelKind};
use crate::cpu::Cpu;
use crate::error::SimError;
use crate::event::Event;
use crate::ffi;
use crate::hash::{self, Digest};
use crate::links::Links;
use crate::memory::Memory;
use crate::record::{FLIT_WORDS, InBuffer, LinkWord, Out, OutReader};
use crate::regbus::Response;
use crate::report::{RunReport, Until};
use crate::topology::{TREE_PORTS, Topology};
use crate::trace::{Trace, TraceConfig};
use crate::watchdog::{StallReport, StalledActor, StalledNode};

/// A flit or a change of the control word on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkTransfer {
    /// Cycle of the sender's output register.
    pub cycle: u64,
    /// Sending node.
    pub node: usize,
    /// Sending port: torus, tree (parent, child 0, child 1), barrier wires of these three.
    pub port: usize,
    /// Control word, `link_word_t` of the RTL package. Of barrier wires its `valid` alone: with any pulse.
    pub word: u32,
    /// Debug side-band: message id.
    pub dbg: u32,
    /// Data, zero without a flit. Of barrier wires one bit a barrier route.
    pub data: [u64; 2],
}

/// What the memory and the register ports of a node were fed with before a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeInput {
    /// Cycle.
    pub cycle: u64,
    /// Node.
    pub node: usize,
    /// Records as in `cpp/records.h`, without those of the links.
    pub words: Vec<u64>,
}

/// What a node put out in a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOutput {
    /// First cycle of the window.
    pub cycle: u64,
    /// Node.
    pub node: usize,
    /// Records as in `cpp/records.h`.
    pub words: Vec<u64>,
}

/// A disturbance of a link, for tests of its checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFault {
    /// Sending node.
    pub node: usize,
    /// Sending port, as in [`LinkTransfer`].
    pub port: usize,
    /// The first flit sent in this cycle or later is disturbed.
    pub from_cycle: u64,
    /// Bits of the control word that flip.
    pub word: u32,
    /// Bits of the data that flip.
    pub data: [u64; 2],
}

/// Memory channels of an AXI master that can be held not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxiChannels {
    /// Read addresses.
    ReadAddress,
    /// Write addresses.
    WriteAddress,
    /// Write data.
    WriteData,
    /// All three.
    All,
}

impl AxiChannels {
    fn mask(self) -> u8 {
        match self {
            AxiChannels::ReadAddress => 1,
            AxiChannels::WriteAddress => 2,
            AxiChannels::WriteData => 4,
            AxiChannels::All => 7,
        }
    }
}

/// Hardware's side of a node.
struct HardNode {
    model: UniquePtr<ffi::SimNode>,
    axi: AxiMemory,
    digest: Digest,
    /// Gathered for the next run of the model.
    input: InBuffer,
    /// Flits sent by port of the torus.
    link_flits: Vec<u64>,
    /// Flits sent by port of the tree.
    tree_flits: [u64; TREE_PORTS],
    /// Cycle in which the node must be looked at again.
    next: u64,
    /// The model and its surroundings are quiet.
    quiet: bool,
}

/// A machine of Verilated nodes with software on them.
///
/// ```no_run
/// use gyre_sim::{BusError, Machine, MachineConfig, Until};
///
/// let mut machine = Machine::new(MachineConfig { dims: vec![2, 2], ..Default::default() })?;
/// machine.spawn(0, "hello", |cpu| {
///     println!("{:#x}", cpu.read_reg(0)?);
///     Ok::<(), BusError>(())
/// });
/// let report = machine.run(Until::Done)?;
/// println!("{} cycles", report.cycles);
/// # Ok::<(), gyre_sim::SimError>(())
/// ```
pub struct Machine {
    // Before `shared`: actors own handles to it.
    actors: BTreeMap<ActorId, Actor>,
    shared: Rc<Shared>,
    config: MachineConfig,
    nodes: Vec<HardNode>,
    links: Links,
    context: SharedPtr<ffi::SimContext>,
    trace: Option<Trace>,
    cycle: u64,
    window: u64,
    scratch: Vec<u64>,
    faults: Vec<LinkFault>,
    transfers: Option<Vec<LinkTransfer>>,
    inputs: Option<Vec<NodeInput>>,
    outputs: Option<Vec<NodeOutput>>,
    /// First failure of an actor in the window under way.
    failed: Option<(u64, SimError)>,
    stopped: bool,
    makespan_ps: u64,
    actors_ended: u64,
    evaluated: u64,
    /// Cycles run since something useful happened.
    since_progress: u64,
    progress: bool,
}

/// Dimensions of the node model for a machine of `dims` dimensions.
pub(crate) fn model_dims(dims: usize) -> u32 {
    if dims <= 3 { 3 } else { 5 }
}

impl Machine {
    /// Makes a machine, all nodes just out of reset, at cycle 0.
    pub fn new(config: MachineConfig) -> Result<Self, SimError> {
        let topology = config.topology()?;
        let model_dims = model_dims(topology.dims());
        let traced = config.model == ModelKind::Traced;
        let context = ffi::new_context(traced, config.noise.is_some(), config.noise.unwrap_or(0));
        let mut nodes = Vec::with_capacity(topology.nodes());
        for node in 0..topology.nodes() {
            let model = ffi::new_node(
                &context,
                model_dims,
                traced,
                &format!("node{node}"),
                config.memory.seed.wrapping_add(node as u64),
                config.memory.stall_percent.into(),
            )
            .map_err(|error| SimError::Model {
                node,
                message: error.what().to_owned(),
            })?;
            nodes.push(HardNode {
                axi: AxiMemory::new(&config.memory, node, model.masters() as usize),
                digest: Digest::default(),
                input: InBuffer::default(),
                link_flits: vec![0; model.ports() as usize - TREE_PORTS],
                tree_flits: [0; TREE_PORTS],
                next: 0,
                quiet: false,
                model,
            });
        }
        let links = Links::whole(&topology, 2 * model_dims as usize, config.link_latency);
        let memories = (0..topology.nodes()).map(|_| Memory::new(&config.memory.error_ranges));
        let clock = (config.cycle_ps, config.cpu_ps, config.reg_latency);
        let shared = Rc::new(Shared::new(topology, clock, memories));
        Ok(Self {
            actors: BTreeMap::new(),
            window: config.window_cycles(),
            shared,
            config,
            nodes,
            links,
            context,
            trace: None,
            cycle: 0,
            scratch: Vec::new(),
            faults: Vec::new(),
            transfers: None,
            inputs: None,
            outputs: None,
            failed: None,
            stopped: false,
            makespan_ps: 0,
            actors_ended: 0,
            evaluated: 0,
            since_progress: 0,
            progress: false,
        })
    }

    /// The configuration it was made from.
    pub fn config(&self) -> &MachineConfig {
        &self.config
    }

    /// Shape and wiring.
    pub fn topology(&self) -> &Topology {
        &self.shared.topology
    }

    /// Cycles since reset.
    pub fn cycles(&self) -> u64 {
        self.cycle
    }

    /// Digest of all link transfers and memory writes so far (X-1).
    pub fn hash(&self) -> u64 {
        hash::combine(self.nodes.iter().map(|node| node.digest.value()))
    }

    /// Flits sent so far by each port of a node in the torus.
    pub fn link_flits(&self, node: usize) -> &[u64] {
        &self.nodes[node].link_flits
    }

    /// Flits sent so far by each port of a node in the tree of the collective network: parent, child 0, child 1.
    pub fn tree_flits(&self, node: usize) -> &[u64; TREE_PORTS] {
        &self.nodes[node].tree_flits
    }

    /// Starts an actor on a node, now. See [`Cpu`] for what it can do.
    pub fn spawn<E: Into<ActorError>>(
        &mut self,
        node: usize,
        name: &str,
        body: impl FnOnce(Cpu) -> Result<(), E> + 'static,
    ) -> ActorId {
        let now = self.cycle * self.config.cycle_ps;
        let id = self
            .shared
            .spawn(node, name, now, move |cpu| body(cpu).map_err(Into::into));
        self.adopt_actors();
        self.nodes[node].next = self.cycle;
        id
    }

    /// Whether an actor has ended.
    pub fn has_ended(&self, actor: ActorId) -> bool {
        !self.actors.contains_key(&actor)
    }

    /// Runs the machine. What it has done since it was made is the report.
    pub fn run(&mut self, until: Until) -> Result<RunReport, SimError> {
        if self.stopped {
            return Err(SimError::Stopped);
        }
        let result = self.run_until(until);
        self.stopped = result.is_err();
        result?;
        Ok(self.report())
    }

    /// What the machine has done since it was made.
    pub fn report(&self) -> RunReport {
        let resident = |node: &RefCell<_>| -> u64 {
            let node: std::cell::Ref<'_, crate::actor::SoftNode> = node.borrow();
            node.memory.resident_bytes()
        };
        RunReport {
            cycles: self.cycle,
            makespan_ps: self.makespan_ps,
            actors_ended: self.actors_ended,
            hash: self.hash(),
            node_cycles_evaluated: self.evaluated,
            link_flits: self.nodes.iter().flat_map(|node| &node.link_flits).sum(),
            tree_flits: self.nodes.iter().flat_map(|node| &node.tree_flits).sum(),
            resident_bytes: self.shared.nodes.iter().map(resident).sum(),
        }
    }

    fn run_until(&mut self, until: Until) -> Result<(), SimError> {
        loop {
            let ended = self.actors.is_empty();
            let next = self.next_cycle();
            let limit = match until {
                Until::Cycle(cycle) => cycle,
                Until::Done if ended => self.cycle.next_multiple_of(EPOCH),
                Until::Quiet if ended && next.is_none() => self.cycle.next_multiple_of(EPOCH),
                Until::Done | Until::Quiet => u64::MAX,
            };
            if self.cycle >= limit {
                return Ok(());
            }
            if next.is_none() && limit == u64::MAX {
                return Err(SimError::Deadlock(Box::new(self.stall_report())));
            }
            self.advance(next, limit)?;
            self.check_progress(until)?;
        }
    }

    /// The first cycle in which something happens anywhere.
    fn next_cycle(&self) -> Option<u64> {
        self.nodes
            .iter()
            .map(|node| node.next)
            .min()
            .filter(|&next| next != u64::MAX)
    }

    /// Runs one window, at most to `limit`; jumps to where something happens first.
    fn advance(&mut self, next: Option<u64>, limit: u64) -> Result<(), SimError> {
        if self.config.skip_idle {
            let mut start = next.unwrap_or(u64::MAX).clamp(self.cycle, limit);
            let trace = self.trace.as_ref();
            if let Some(first) = trace.and_then(|trace| trace.begins_between(self.cycle, start)) {
                start = first;
            }
            self.cycle = start;
            if start == limit {
                return Ok(());
            }
        }
        let start = self.cycle;
        let mut end = (start + self.window)
            .min((start + 1).next_multiple_of(EPOCH))
            .min(limit);
        let mut tracing = false;
        if let Some(trace) = &self.trace {
            tracing = trace.covers(start);
            if tracing {
                end = start + 1;
            } else if let Some(first) = trace.starts_after(start) {
                end = end.min(first);
            }
        }
        self.shared
            .window_end_ps
            .set(end.saturating_mul(self.config.cycle_ps));
        for node in 0..self.nodes.len() {
            let shown = tracing && self.trace.as_ref().is_some_and(|trace| trace.shows(node));
            if self.nodes[node].next < end || shown || !self.config.skip_idle {
                let skip = self.config.skip_idle && !shown;
                self.run_node(node, start, end, skip)?;
            }
        }
        self.cycle = end;
        self.since_progress += end - start;
        self.finish_window(start, tracing)
    }

    /// What follows when all nodes have run a window.
    fn finish_window(&mut self, start: u64, tracing: bool) -> Result<(), SimError> {
        if let Some(trace) = &mut self.trace {
            if tracing {
                let ps = start * self.config.cycle_ps;
                trace.dump(ps)?;
                for (number, node) in self.nodes.iter_mut().enumerate() {
                    node.model
                        .pin_mut()
                        .fall()
                        .map_err(|error| hardware_error(number, start, &error))?;
                }
                trace.dump(ps + self.config.cycle_ps / 2)?;
            }
            if trace.is_over(self.cycle) {
                trace.finish()?;
            }
        }
        match self.failed.take() {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// Runs software and memory, then hardware, of one node from `start` to `end`.
    fn run_node(&mut self, index: usize, start: u64, end: u64, skip: bool) -> Result<(), SimError> {
        self.run_events(index, end * self.config.cycle_ps);
        let hard = &mut self.nodes[index];
        for request in self.shared.nodes[index].borrow_mut().regs.outbox.drain(..) {
            hard.input.register(0, &request);
        }
        let input = &mut self.scratch;
        input.clear();
        self.links.receive(index, end, input);
        input.extend_from_slice(hard.input.words());
        if let Some(inputs) = self
            .inputs
            .as_mut()
            .filter(|_| !hard.input.words().is_empty())
        {
            inputs.push(NodeInput {
                cycle: start,
                node: index,
                words: hard.input.words().to_vec(),
            });
        }
        hard.input.clear();
        let result = hard
            .model
            .pin_mut()
            .run(start, (end - start) as u32, skip, input);
        let words = match result {
            Ok(words) => words.to_vec(),
            Err(error) => {
                let cycle = hard.model.cycle();
                return Err(hardware_error(index, cycle, &error));
            }
        };
        if let Some(outputs) = &mut self.outputs {
            outputs.push(NodeOutput {
                cycle: start,
                node: index,
                words: words.clone(),
            });
        }
        for record in OutReader::new(&words, start) {
            self.take_record(index, record)
                .map_err(|(cycle, message)| SimError::Hardware {
                    node: index,
                    cycle,
                    message,
                })?;
        }
        let arrival = self.links.next_arrival(index).unwrap_or(u64::MAX);
        let event = self.next_event_cycle(index);
        let hard = &mut self.nodes[index];
        hard.next = hard.next.min(arrival).min(event).max(end);
        Ok(())
    }

    /// Cycle of the next software or memory event of a node.
    fn next_event_cycle(&self, index: usize) -> u64 {
        let soft = self.shared.nodes[index].borrow();
        soft.events
            .next_ps()
            .map_or(u64::MAX, |ps| ps / self.config.cycle_ps)
    }

    /// Handles what came out of a node's model.
    fn take_record(&mut self, index: usize, record: Out) -> Result<(), (u64, String)> {
        let cycle_ps = self.config.cycle_ps;
        let hard = &mut self.nodes[index];
        match record {
            Out::Link { port, word } => self.send(index, port.into(), word),
            Out::ReadAddr {
                cycle,
                master,
                addr,
                fields,
            } => {
                let address =
                    Address::decode(master, addr, fields).map_err(|text| (cycle, text))?;
                let (sampled, burst) = hard.axi.read(cycle, address);
                self.plan(index, sampled * cycle_ps, Event::MemoryRead(burst));
            }
            Out::WriteAddr {
                cycle,
                master,
                addr,
                fields,
            } => {
                let address =
                    Address::decode(master, addr, fields).map_err(|text| (cycle, text))?;
                let burst = hard.axi.write_address(cycle, address);
                self.take_write(index, cycle, burst)?;
            }
            Out::WriteData {
                cycle,
                master,
                beat,
            } => {
                let burst = hard.axi.write_data(cycle, master, beat);
                self.take_write(index, cycle, burst)?;
            }
            Out::RegisterResp {
                cycle,
                port: 0,
                resp,
                data,
            } => {
                let response = self.shared.nodes[index]
                    .borrow_mut()
                    .regs
                    .answered(resp, data)
                    .ok_or_else(|| (cycle, "register response without an access".to_owned()))?;
                let back = (cycle + self.config.reg_latency) * cycle_ps;
                self.plan(index, back, Event::RegisterResponse(response));
            }
            // The debug port is read when the machine has stopped only.
            Out::RegisterResp { .. } => {}
            Out::Levels { cycle, levels } => {
                let seen = (cycle + self.config.wake_latency) * cycle_ps;
                self.plan(index, seen, Event::Levels(levels));
            }
            Out::Packet { .. } => return Err((self.cycle, "raw packet from a node".to_owned())),
            Out::End {
                quiet,
                next,
                evaluated,
            } => {
                hard.quiet = quiet;
                hard.next = next;
                self.evaluated += evaluated;
            }
        }
        Ok(())
    }

    /// Puts a word on a link.
    fn send(&mut self, index: usize, port: usize, mut word: LinkWord) {
        if word.is_flit() {
            if !self.faults.is_empty() {
                self.disturb(index, port, &mut word);
            }
            let hard = &mut self.nodes[index];
            let torus = hard.link_flits.len();
            if port < torus {
                hard.link_flits[port] += 1;
            } else if port < torus + TREE_PORTS {
                hard.tree_flits[port - torus] += 1;
            }
            hard.digest
                .link_flit(word.cycle, port, word.word, &word.data);
            self.progress = true;
        }
        if let Some(transfers) = &mut self.transfers {
            transfers.push(LinkTransfer {
                cycle: word.cycle,
                node: index,
                port,
                word: word.word,
                dbg: word.dbg,
                data: word.data,
            });
        }
        if let Some((to, arrival)) = self.links.send(index, port, word) {
            let next = &mut self.nodes[to].next;
            *next = arrival.min(*next);
        }
    }

    /// Applies a fault that waits for this flit.
    fn disturb(&mut self, index: usize, port: usize, word: &mut LinkWord) {
        let hit = self.faults.iter().position(|fault| {
            (fault.node, fault.port) == (index, port) && fault.from_cycle <= word.cycle
        });
        if let Some(hit) = hit {
            let fault = self.faults.swap_remove(hit);
            word.word ^= fault.word;
            for i in 0..FLIT_WORDS {
                word.data[i] ^= fault.data[i];
            }
        }
    }

    fn take_write(
        &mut self,
        index: usize,
        cycle: u64,
        burst: Result<Option<Box<WriteBurst>>, String>,
    ) -> Result<(), (u64, String)> {
        let Some(burst) = burst.map_err(|text| (cycle, text))? else {
            return Ok(());
        };
        let digest = &mut self.nodes[index].digest;
        for (beat, number) in burst.beats.iter().zip(0..) {
            let line = burst.address.beat_line(number);
            digest.memory_write(cycle, line, &beat.data, beat.strobe);
        }
        self.progress = true;
        let due = burst.due * self.config.cycle_ps;
        self.plan(index, due, Event::MemoryWrite(burst));
        Ok(())
    }

    fn plan(&self, index: usize, ps: u64, event: Event) {
        self.shared.nodes[index].borrow_mut().events.push(ps, event);
    }

    /// Lets happen what happens to memory and software of a node before `end_ps`.
    fn run_events(&mut self, index: usize, end_ps: u64) {
        loop {
            let event = {
                let mut soft = self.shared.nodes[index].borrow_mut();
                let Some((ps, event)) = soft.events.pop_before(end_ps) else {
                    return;
                };
                soft.now_ps = ps;
                (ps, event)
            };
            match event {
                (_, Event::MemoryWrite(burst)) => self.write_memory(index, &burst),
                (_, Event::MemoryRead(burst)) => self.read_memory(index, &burst),
                (ps, Event::RegisterResponse(response)) => self.answer(index, ps, response),
                (ps, Event::Levels(levels)) => self.set_levels(index, ps, levels),
                (
                    ps,
                    Event::Resume {
                        actor,
                        ticket,
                        signal,
                    },
                ) => self.resume(actor, ticket, ps, signal),
            }
        }
    }

    fn write_memory(&mut self, index: usize, burst: &WriteBurst) {
        let hard = &mut self.nodes[index];
        let memory = &mut self.shared.nodes[index].borrow_mut().memory;
        let mut resp = 0;
        for (beat, number) in burst.beats.iter().zip(0..) {
            if memory.is_faulty(burst.address.beat_range(number)) {
                resp = SLVERR;
            } else {
                memory.write_line(burst.address.beat_line(number), &beat.data, beat.strobe);
            }
        }
        if burst.epoch == hard.axi.epoch {
            hard.axi.writes_open -= 1;
            let address = &burst.address;
            hard.input
                .write_response(address.master, address.id, resp, burst.due);
        }
    }

    fn read_memory(&mut self, index: usize, burst: &ReadBurst) {
        let hard = &mut self.nodes[index];
        if burst.epoch != hard.axi.epoch {
            return;
        }
        hard.axi.reads_open -= 1;
        let memory = &self.shared.nodes[index].borrow().memory;
        let address = &burst.address;
        let beats = (0..address.beats).map(|number| {
            let resp = if memory.is_faulty(address.beat_range(number)) {
                SLVERR
            } else {
                0
            };
            (resp, memory.read_line(address.beat_line(number)))
        });
        hard.input.read_data(burst, beats);
    }

    /// Software sees the answer to a register access.
    fn answer(&mut self, index: usize, ps: u64, response: Response) {
        let access = response.access;
        let Some(actor) = self.actors.get(&access.actor) else {
            return;
        };
        let state = &actor.state;
        match access.ticket {
            Some(ticket) => {
                let signal = Signal::Value(response.value);
                self.shared
                    .resume_at(index, access.actor, ticket, ps, signal);
            }
            None => {
                state.posted.set(state.posted.get() - 1);
                if let (Err(error), None) = (response.value, state.posted_error.get()) {
                    state.posted_error.set(Some(error));
                }
                if state.posted.get() == 0 && state.wait.get() == Wait::Fence {
                    let ticket = state.ticket.get();
                    self.shared
                        .resume_at(index, access.actor, ticket, ps, Signal::Go);
                }
            }
        }
    }

    /// Software sees the interrupt and wake-up outputs change.
    fn set_levels(&mut self, index: usize, ps: u64, levels: u32) {
        let woken: Vec<_> = {
            let mut soft = self.shared.nodes[index].borrow_mut();
            soft.levels = levels;
            soft.waiters
                .extract_if(.., |(_, _, mask)| *mask & levels != 0)
                .collect()
        };
        for (actor, ticket, _) in woken {
            self.shared.resume_at(index, actor, ticket, ps, Signal::Go);
        }
    }

    fn resume(&mut self, id: ActorId, ticket: u64, ps: u64, signal: Signal) {
        let Some(actor) = self.actors.get_mut(&id) else {
            return;
        };
        let state = Rc::clone(&actor.state);
        if state.ticket.get() != ticket || state.wait.get() == Wait::Finished {
            return;
        }
        // A ticket is good for one resume.
        state.new_ticket();
        if matches!(state.wait.get(), Wait::Sleep { .. }) {
            self.progress = true;
        }
        state.local_ps.set(ps);
        let ended = actor.resume(&self.shared, signal);
        self.adopt_actors();
        let Some(result) = ended else {
            return;
        };
        self.actors.remove(&id);
        self.actors_ended += 1;
        self.progress = true;
        let end_ps = state.local_ps.get();
        self.makespan_ps = self.makespan_ps.max(end_ps);
        if let Err(source) = result {
            let earlier = self.failed.as_ref().is_some_and(|(ps, _)| *ps <= end_ps);
            if !earlier {
                let error = SimError::Actor {
                    node: state.node,
                    actor: state.name.clone(),
                    ps: end_ps,
                    source,
                };
                self.failed = Some((end_ps, error));
            }
        }
    }

    /// Takes over actors that were started.
    fn adopt_actors(&mut self) {
        for actor in self.shared.spawned.borrow_mut().drain(..) {
            self.actors.insert(actor.state.id, actor);
        }
    }

    /// Stops a machine that does nothing useful for too long.
    fn check_progress(&mut self, until: Until) -> Result<(), SimError> {
        if std::mem::take(&mut self.progress) {
            self.since_progress = 0;
        }
        if self.config.watchdog == 0 || self.since_progress < self.config.watchdog {
            return Ok(());
        }
        // A computation is progress, however long it takes.
        let computing = |actor: &Actor| matches!(actor.state.wait.get(), Wait::Sleep { .. });
        // Without software it is for the caller to say how long hardware may wait, or that it must not.
        let unattended = self.actors.is_empty() && until != Until::Quiet;
        if self.actors.values().any(computing) || unattended {
            self.since_progress = 0;
            return Ok(());
        }
        Err(SimError::Watchdog {
            cycles: self.since_progress,
            report: Box::new(self.stall_report()),
        })
    }

    /// Who waits for what. Reads registers through the debug port, after which the machine cannot go on.
    fn stall_report(&mut self) -> StallReport {
        self.stopped = true;
        let mut actors: Vec<StalledActor> = self
            .actors
            .values()
            .map(|actor| StalledActor {
                node: actor.state.node,
                name: actor.state.name.clone(),
                since_ps: actor.state.local_ps.get(),
                waits_for: actor.state.wait.get().to_string(),
                description: actor.state.description.borrow().clone(),
            })
            .collect();
        actors.sort_by(|a, b| (a.node, &a.name).cmp(&(b.node, &b.name)));
        let involved: Vec<usize> = (0..self.nodes.len())
            .filter(|&node| {
                !self.nodes[node].quiet || actors.iter().any(|actor| actor.node == node)
            })
            .take(REPORTED_NODES)
            .collect();
        let nodes = involved
            .into_iter()
            .filter_map(|node| self.stalled_node(node))
            .collect();
        StallReport {
            cycle: self.cycle,
            actors,
            nodes,
        }
    }

    /// What a node has left to do; none if nothing.
    fn stalled_node(&mut self, index: usize) -> Option<StalledNode> {
        let registers = self.busy_registers(index);
        let node = &self.nodes[index];
        let stalled = StalledNode {
            node: index,
            idle: node.quiet,
            reads_open: node.axi.reads_open,
            writes_open: node.axi.writes_open,
            registers,
        };
        let busy = !stalled.idle || stalled.reads_open + stalled.writes_open > 0;
        (busy || !stalled.registers.is_empty()).then_some(stalled)
    }

    /// What a node's model takes until `end`: arriving link words, then `control`.
    pub(crate) fn input_until(&mut self, index: usize, end: u64, control: &InBuffer) -> Vec<u64> {
        let mut input = Vec::new();
        self.links.receive(index, end, &mut input);
        input.extend_from_slice(control.words());
        input
    }

    /// Runs a node's model alone.
    pub(crate) fn run_model(
        &mut self,
        index: usize,
        start: u64,
        cycles: u32,
        input: &[u64],
    ) -> Result<&[u64], cxx::Exception> {
        self.nodes[index]
            .model
            .pin_mut()
            .run(start, cycles, true, input)
    }

    // ---- back doors for tests and debugging -------------------------------------------------

    /// Reads a node's memory, at no time.
    pub fn peek(&self, node: usize, addr: u64, out: &mut [u8]) {
        self.shared.nodes[node].borrow().memory.read(addr, out);
    }

    /// Writes a node's memory, at no time.
    pub fn poke(&mut self, node: usize, addr: u64, data: &[u8]) {
        self.shared.nodes[node]
            .borrow_mut()
            .memory
            .write(addr, data);
    }

    /// Makes a node's memory answer accesses of the DMA engine to a byte range with a slave error.
    pub fn fail_memory(&mut self, node: usize, range: Range<u64>) {
        self.shared.nodes[node]
            .borrow_mut()
            .memory
            .add_error_range(range);
    }

    /// Makes all of a node's memory answer again.
    pub fn repair_memory(&mut self, node: usize) {
        self.shared.nodes[node]
            .borrow_mut()
            .memory
            .clear_error_ranges();
    }

    /// Disturbs one flit of a link.
    pub fn disturb_link(&mut self, fault: LinkFault) {
        self.faults.push(fault);
    }

    /// Resets one node, now, for 4 cycles. Its memory stays, its accesses under way are dropped, and
    /// register accesses of software that were not answered fail.
    pub fn reset_node(&mut self, node: usize) -> Result<(), SimError> {
        let cycle = self.cycle;
        let hard = &mut self.nodes[node];
        hard.model
            .pin_mut()
            .reset(cycle)
            .map_err(|error| hardware_error(node, cycle, &error))?;
        hard.axi.reset();
        hard.input.clear();
        hard.next = cycle;
        let cut = self.shared.nodes[node].borrow_mut().regs.reset();
        let now = cycle * self.config.cycle_ps;
        for response in cut {
            self.plan(node, now, Event::RegisterResponse(response));
        }
        Ok(())
    }

    /// Holds memory channels of a node's AXI master not ready for some cycles from now on.
    pub fn stall_axi(&mut self, node: usize, master: u8, channels: AxiChannels, cycles: u64) {
        let until = self.cycle + cycles;
        let hard = &mut self.nodes[node];
        hard.input.stall(master, channels.mask(), until);
        hard.next = self.cycle;
    }

    /// Keeps a list of all link transfers from now on; see [`Machine::take_transfers`].
    pub fn record_transfers(&mut self) {
        self.transfers.get_or_insert_default();
    }

    /// The link transfers since the last call, in order of cycle, node and port.
    pub fn take_transfers(&mut self) -> Vec<LinkTransfer> {
        let mut transfers = self
            .transfers
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default();
        transfers.sort();
        transfers
    }

    /// Keeps a list of what is fed to the nodes from now on, to replay it; see
    /// [`Machine::take_inputs`].
    pub fn record_inputs(&mut self) {
        self.inputs.get_or_insert_default();
    }

    /// What the nodes were fed with since the last call, in order of cycle and node.
    pub fn take_inputs(&mut self) -> Vec<NodeInput> {
        self.inputs.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Keeps a list of what the nodes put out from now on; see [`Machine::take_outputs`].
    pub fn record_outputs(&mut self) {
        self.outputs.get_or_insert_default();
    }

    /// What the nodes put out since the last call, in order of cycle and node.
    pub fn take_outputs(&mut self) -> Vec<NodeOutput> {
        self.outputs
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Keeps a log of what software notes about messages; see [`Cpu::log_message`].
    pub fn keep_log(&mut self) {
        self.shared.log.borrow_mut().get_or_insert_default();
    }

    /// The log since the last call, in order of time and node.
    pub fn take_log(&mut self) -> Vec<LogEntry> {
        let mut log = self
            .shared
            .log
            .borrow_mut()
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default();
        log.sort_by_key(|entry| (entry.ps, entry.node));
        log
    }

    // ---- waveforms --------------------------------------------------------------------------

    /// Writes a waveform. The machine must be made of traced models. Timing does not change.
    pub fn trace(&mut self, config: TraceConfig) -> Result<(), SimError> {
        if self.config.model != ModelKind::Traced {
            return Err(ConfigError::new("model", "fast", "traced, to write waveforms").into());
        }
        self.finish_trace()?;
        config.check_scopes(self.shared.topology.dims())?;
        let context = self.context.clone();
        self.trace = Some(Trace::new(config, context, self.nodes.len())?);
        Ok(())
    }

    /// Ends the waveform before its window does. Returns the file, if anything was written.
    pub fn finish_trace(&mut self) -> Result<Option<PathBuf>, SimError> {
        self.trace.as_mut().map_or(Ok(None), Trace::finish)
    }
}

/// AXI's slave error.
const SLVERR: u8 = 2;

/// Nodes whose registers a report of a machine that stands still reads.
const REPORTED_NODES: usize = 32;

fn hardware_error(node: usize, cycle: u64, error: &cxx::Exception) -> SimError {
    SimError::Hardware {
        node,
        cycle,
        message: error.what().to_owned(),
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Actors that have not ended are unwound; what they call then must not block.
        self.shared.closing.set(true);
        self.actors.clear();
    }
}
