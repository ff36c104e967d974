//! The machine: nodes, links, memory and software on one clock.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use cxx::SharedPtr;

use crate::actor::{Actor, ActorError, ActorId, Shared, Signal, Wait};
use crate::axi::{AxiMemory, ReadBurst, WriteBurst};
use crate::config::{EPOCH, MachineConfig, ModelKind};
use crate::cpu::Cpu;
use crate::crew::Crew;
use crate::error::SimError;
use crate::event::Event;
use crate::ffi;
use crate::hardware::{Fault, HardNode, Hardware, Planned, Window};
use crate::hash;
use crate::links::Links;
use crate::memory::Memory;
use crate::models::{LoadedModel, Optimisation, Top};
use crate::regbus::Response;
use crate::report::{RunReport, Until};
use crate::topology::{TREE_PORTS, Topology};
use crate::trace::Trace;
use crate::watchdog::{StallReport, StalledActor, StalledNode};

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
    pub(crate) shared: Rc<Shared>,
    pub(crate) config: MachineConfig,
    model: Arc<LoadedModel>,
    // Before `hardware`, which its threads use.
    crew: Option<Crew>,
    pub(crate) hardware: Arc<Hardware>,
    pub(crate) links: Links,
    /// Of the waveform, if the models can write one.
    pub(crate) context: SharedPtr<ffi::SimContext>,
    pub(crate) trace: Option<Trace>,
    pub(crate) cycle: u64,
    window: u64,
    /// The nodes of the last window have run from the last to the first.
    backwards: bool,
    /// Nodes of the window under way.
    active: Vec<usize>,
    /// First failure of an actor in the window under way.
    failed: Option<(u64, SimError)>,
    stopped: bool,
    makespan_ps: u64,
    actors_ended: u64,
    /// Cycles run since something useful happened.
    since_progress: u64,
    progress: bool,
}

impl Machine {
    /// Makes a machine, all nodes just out of reset, at cycle 0.
    pub fn new(config: MachineConfig) -> Result<Self, SimError> {
        let topology = config.topology()?;
        let traced = config.model == ModelKind::Traced;
        let spec = config.model_spec(Top::Node(config.model));
        let loaded = spec.load()?;
        let seed = |node: usize| config.noise.unwrap_or(0).wrapping_add(node as u32);
        let new_context =
            |node| ffi::new_context(&loaded.entry, config.noise.is_some(), seed(node));
        let shared_context = new_context(0);
        let mut nodes = Vec::with_capacity(topology.nodes());
        for node in 0..topology.nodes() {
            // A waveform is of one context. Otherwise each model has its own, and can run on any thread.
            let context = match traced {
                true => shared_context.clone(),
                false => new_context(node),
            };
            let model = ffi::new_node(
                &loaded.entry,
                &context,
                &format!("node{node}"),
                config.memory.seed.wrapping_add(node as u64),
                config.memory.stall_percent.into(),
            )
            .map_err(|error| SimError::Model {
                node,
                message: error.what().to_owned(),
            })?;
            let axi = AxiMemory::new(&config.memory, node, model.masters() as usize);
            nodes.push(HardNode::new(model, axi));
        }
        let links = Links::whole(&topology, 2 * spec.dims, config.link_latency);
        let hardware = Arc::new(Hardware::new(&config, nodes));
        let memories = (0..topology.nodes()).map(|_| Memory::new(&config.memory.error_ranges));
        let clock = (config.cycle_ps, config.cpu_ps, config.reg_latency);
        let shared = Rc::new(Shared::new(topology, clock, memories));
        let others = config.threads.min(hardware.len()) - 1;
        Ok(Self {
            actors: BTreeMap::new(),
            window: config.window_cycles(),
            backwards: false,
            shared,
            crew: (others > 0 && !traced).then(|| Crew::new(&hardware, others)),
            config,
            model: loaded,
            hardware,
            links,
            context: shared_context,
            trace: None,
            cycle: 0,
            active: Vec::new(),
            failed: None,
            stopped: false,
            makespan_ps: 0,
            actors_ended: 0,
            since_progress: 0,
            progress: false,
        })
    }

    /// The configuration it was made from.
    pub fn config(&self) -> &MachineConfig {
        &self.config
    }

    /// How much its models are optimised.
    pub fn optimisation(&self) -> Optimisation {
        self.model.optimisation
    }

    /// Shape and wiring.
    pub fn topology(&self) -> &Topology {
        &self.shared.topology
    }

    /// Cycles since reset.
    pub fn cycles(&self) -> u64 {
        self.cycle
    }

    /// Digest of all link transfers, all memory writes of the hardware and all of software into memory that
    /// processes share, so far (X-1).
    pub fn hash(&self) -> u64 {
        let node = |node| self.hardware.node(node).ports.digest.value();
        let hardware = (0..self.hardware.len()).map(node);
        let software = self.shared.nodes.iter();
        hash::combine(hardware.chain(software.map(|node| node.borrow().digest.value())))
    }

    /// Flits sent so far by each port of a node in the torus.
    pub fn link_flits(&self, node: usize) -> Vec<u64> {
        self.hardware.node(node).ports.link_flits.clone()
    }

    /// Flits sent so far by each port of a node in the tree of the collective network: parent, child 0, child 1.
    pub fn tree_flits(&self, node: usize) -> [u64; TREE_PORTS] {
        self.hardware.node(node).ports.tree_flits
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
        self.hardware.look_at(node, self.cycle);
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
        let mut evaluated = 0;
        let (mut link_flits, mut tree_flits) = (0, 0);
        for node in 0..self.hardware.len() {
            let ports = &self.hardware.node(node).ports;
            evaluated += ports.evaluated;
            link_flits += ports.link_flits.iter().sum::<u64>();
            tree_flits += ports.tree_flits.iter().sum::<u64>();
        }
        RunReport {
            cycles: self.cycle,
            makespan_ps: self.makespan_ps,
            actors_ended: self.actors_ended,
            hash: self.hash(),
            node_cycles_evaluated: evaluated,
            link_flits,
            tree_flits,
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

    /// Cycle in which a node must be looked at again; `u64::MAX` if nothing is to come.
    fn next_of(&self, node: usize) -> u64 {
        let arrival = self.links.next_arrival(node).unwrap_or(u64::MAX);
        self.hardware.next_cycle(node).min(arrival)
    }

    /// The first cycle in which something happens anywhere.
    fn next_cycle(&self) -> Option<u64> {
        (0..self.hardware.len())
            .map(|node| self.next_of(node))
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
        let mut active = std::mem::take(&mut self.active);
        active.clear();
        active.extend((0..self.hardware.len()).filter(|&node| {
            let shown = tracing && self.trace.as_ref().is_some_and(|trace| trace.shows(node));
            self.next_of(node) < end || shown || !self.config.skip_idle
        }));
        self.run_nodes(&active, start, end, tracing);
        self.cycle = end;
        self.since_progress += end - start;
        let settled = self.settle(&active);
        self.active = active;
        settled?;
        self.finish_window(start, tracing)
    }

    /// Runs software and memory, then hardware, of each node for a window.
    fn run_nodes(&mut self, active: &[usize], start: u64, end: u64, tracing: bool) {
        let window = |skip| Window { start, end, skip };
        let skip = self.config.skip_idle;
        match self.crew.take() {
            Some(crew) if active.len() > 1 => {
                crew.run(window(skip), active, |node| self.run_software(node, end));
                self.crew = Some(crew);
            }
            crew => {
                self.crew = crew;
                for &node in active {
                    self.run_software(node, end);
                }
                let run = |&node: &usize| {
                    let shown =
                        tracing && self.trace.as_ref().is_some_and(|trace| trace.shows(node));
                    self.hardware.run(node, window(skip && !shown));
                };
                // To and fro: the nodes that a window ends with are in the processor's cache still, which does not hold
                // all of them.
                self.backwards = !self.backwards;
                if self.backwards {
                    active.iter().rev().for_each(run);
                } else {
                    active.iter().for_each(run);
                }
            }
        }
    }

    /// Software and memory of a node in a window that ends at `end`; what they want of hardware, and what arrives on its
    /// links, waits there.
    fn run_software(&mut self, index: usize, end: u64) {
        self.run_events(index, end * self.config.cycle_ps);
        let mut soft = self.shared.nodes[index].borrow_mut();
        let next = soft.events.next_ps();
        let ports = &mut self.hardware.node(index).ports;
        for request in soft.regs.outbox.drain(..) {
            ports.input.register(0, &request);
        }
        self.links.receive(index, end, &mut ports.arrivals);
        ports.next_event = next.map_or(u64::MAX, |ps| ps / self.config.cycle_ps);
    }

    /// Takes over what the hardware of nodes that have run leaves for their software and memory and on their links.
    fn settle(&mut self, active: &[usize]) -> Result<(), SimError> {
        for &index in active {
            let ports = &mut self.hardware.node(index).ports;
            self.progress |= std::mem::take(&mut ports.progress);
            let fault = |Fault { cycle, message }| SimError::Hardware {
                node: index,
                cycle,
                message,
            };
            for (port, word) in ports.sent.drain(..) {
                self.links.send(index, port, word);
            }
            let soft = &mut *self.shared.nodes[index].borrow_mut();
            for planned in ports.planned.drain(..) {
                let (ps, event) = match planned {
                    Planned::Event(ps, event) => (ps, event),
                    Planned::Response { cycle, resp, data } => {
                        let response = soft.regs.answered(resp, data).ok_or_else(|| {
                            let message = "register response without an access".to_owned();
                            fault(Fault { cycle, message })
                        })?;
                        let ps = cycle * self.config.cycle_ps;
                        (ps, Event::RegisterResponse(response))
                    }
                };
                soft.events.push(ps, event);
            }
            if let Some(broken) = ports.failed.take() {
                return Err(fault(broken));
            }
        }
        Ok(())
    }

    /// What follows when all nodes have run a window.
    fn finish_window(&mut self, start: u64, tracing: bool) -> Result<(), SimError> {
        if let Some(trace) = &mut self.trace {
            if tracing {
                let ps = start * self.config.cycle_ps;
                trace.dump(start, ps)?;
                for number in 0..self.hardware.len() {
                    let mut node = self.hardware.node(number);
                    let fallen = node.model.pin_mut().fall();
                    fallen.map_err(|error| hardware_error(number, start, &error))?;
                }
                trace.dump(start, ps + self.config.cycle_ps / 2)?;
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

    pub(crate) fn plan(&self, index: usize, ps: u64, event: Event) {
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
        let ports = &mut self.hardware.node(index).ports;
        let memory = &mut self.shared.nodes[index].borrow_mut().memory;
        let mut resp = 0;
        for (beat, number) in burst.beats.iter().zip(0..) {
            if memory.is_faulty(burst.address.beat_range(number)) {
                resp = SLVERR;
            } else {
                memory.write_line(burst.address.beat_line(number), &beat.data, beat.strobe);
            }
        }
        if burst.epoch == ports.axi.epoch {
            ports.axi.writes_open -= 1;
            let address = &burst.address;
            ports
                .input
                .write_response(address.master, address.id, resp, burst.due);
        }
    }

    fn read_memory(&mut self, index: usize, burst: &ReadBurst) {
        let ports = &mut self.hardware.node(index).ports;
        if burst.epoch != ports.axi.epoch {
            return;
        }
        ports.axi.reads_open -= 1;
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
        ports.input.read_data(burst, beats);
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
        let involved: Vec<usize> = (0..self.hardware.len())
            .filter(|&node| {
                !self.hardware.node(node).ports.quiet
                    || actors.iter().any(|actor| actor.node == node)
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
        let ports = &self.hardware.node(index).ports;
        let stalled = StalledNode {
            node: index,
            idle: ports.quiet,
            reads_open: ports.axi.reads_open,
            writes_open: ports.axi.writes_open,
            registers,
        };
        let busy = !stalled.idle || stalled.reads_open + stalled.writes_open > 0;
        (busy || !stalled.registers.is_empty()).then_some(stalled)
    }
}

/// AXI's slave error.
const SLVERR: u8 = 2;

/// Nodes whose registers a report of a machine that stands still reads.
const REPORTED_NODES: usize = 32;

pub(crate) fn hardware_error(node: usize, cycle: u64, error: &cxx::Exception) -> SimError {
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
