// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine: nodes, links, memory and software on one clock.

mod disturb;
mod observe;
mod recording;
mod watchdog;
mod window;

use std::sync::Arc;

use cxx::SharedPtr;
use gyre_timeline::Spool;

use crate::config::MachineConfig;
use crate::crew::Crew;
use crate::error::{ActorError, SimError};
use crate::ffi;
use crate::hardware::{HardNode, Hardware};
use crate::hash;
use crate::links::Links;
use crate::model_kind::{ModelKind, Optimisation, model_dims};
use crate::models::{LoadedModel, ModelSpec, Top};
use crate::progress::Progress;
use crate::report::{RunReport, Until};
use crate::software::{ActorId, Cpu, Software};
use crate::topology::{TREE_PORTS, Topology};
use crate::trace::Trace;

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
    software: Software,
    config: MachineConfig,
    model: Arc<LoadedModel>,
    // Before `hardware`, which its threads use.
    crew: Option<Crew>,
    hardware: Arc<Hardware>,
    links: Links,
    /// Of the waveform, if the models can write one.
    context: SharedPtr<ffi::SimContext>,
    trace: Option<Trace>,
    cycle: u64,
    window: u64,
    /// The nodes of the last window have run from the last to the first.
    backwards: bool,
    /// Nodes of the window under way.
    active: Vec<usize>,
    stopped: bool,
    progress: Progress,
    /// Where events go that are recorded, and where the recording begins.
    spool: Option<Spool>,
    recorded_from: u64,
}

impl Machine {
    /// Makes a machine, all nodes just out of reset, at cycle 0.
    pub fn new(config: MachineConfig) -> Result<Self, SimError> {
        let topology = config.topology()?;
        let load = |kind| ModelSpec::of(&config, Top::Node(kind)).load();
        let loaded = load(config.model)?;
        let others = match config.traced_nodes {
            Some(_) => load(ModelKind::Fast)?,
            None => Arc::clone(&loaded),
        };
        let seed = |node: usize| config.noise.unwrap_or(0).wrapping_add(node as u32);
        let new_context = |model: &LoadedModel, node| {
            ffi::new_context(&model.entry, config.noise.is_some(), seed(node))
        };
        let shared_context = new_context(&loaded, 0);
        let mut nodes = Vec::with_capacity(topology.nodes());
        for node in 0..topology.nodes() {
            // A waveform is of one context. Otherwise each model has its own, and can run on any thread.
            let (model, context) = match config.model_of(node) {
                ModelKind::Traced => (&loaded, shared_context.clone()),
                kind if kind == config.model => (&loaded, new_context(&loaded, node)),
                _ => (&others, new_context(&others, node)),
            };
            let model = ffi::new_node(
                &model.entry,
                &context,
                &format!("node{node}"),
                config.memory.seed.wrapping_add(node as u64),
                config.memory.stall_percent.into(),
            )
            .map_err(|error| SimError::model(node, &error))?;
            nodes.push(HardNode::new(node, model, &config));
        }
        let ports = 2 * model_dims(config.dims.len());
        let links = Links::whole(&topology, ports, config.link_latency);
        let traced = config.model == ModelKind::Traced;
        let hardware = Arc::new(Hardware::new(nodes));
        let others = config.threads.min(hardware.len()) - 1;
        let mut machine = Self {
            software: Software::new(&config, topology),
            window: config.window_cycles(),
            backwards: false,
            crew: (others > 0 && !traced).then(|| Crew::new(&hardware, others)),
            config,
            model: loaded,
            hardware,
            links,
            context: shared_context,
            trace: None,
            cycle: 0,
            active: Vec::new(),
            stopped: false,
            progress: Progress::default(),
            spool: None,
            recorded_from: 0,
        };
        machine.record_events();
        Ok(machine)
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
        self.software.topology()
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
        hash::combine(hardware.chain(self.software.digests()))
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
        let id = self.software.spawn(node, name, now, body);
        self.hardware.look_at(node, self.cycle);
        id
    }

    /// Whether an actor has ended.
    pub fn has_ended(&self, actor: ActorId) -> bool {
        self.software.has_ended(actor)
    }

    /// Runs the machine. What it has done since it was made is the report.
    pub fn run(&mut self, until: Until) -> Result<RunReport, SimError> {
        if self.stopped {
            return Err(SimError::Stopped);
        }
        let result = self.run_until(until);
        if result.is_err() {
            self.stopped = true;
            // The file is complete then. What is wrong with it hears who asks for it, see `finish_trace`.
            drop(self.finish_trace());
        }
        result?;
        Ok(self.report())
    }

    /// Counts since the machine was made.
    pub fn report(&self) -> RunReport {
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
            makespan_ps: self.software.makespan_ps(),
            actors_ended: self.software.ended(),
            hash: self.hash(),
            node_cycles_evaluated: evaluated,
            link_flits,
            tree_flits,
            resident_bytes: self.software.resident_bytes(),
        }
    }
}

fn hardware_error(node: usize, cycle: u64, error: &cxx::Exception) -> SimError {
    SimError::Hardware {
        node,
        cycle,
        message: error.what().to_owned(),
    }
}
