// SPDX-License-Identifier: MIT OR Apache-2.0
//! A parallel program on the machine: tasks, each a process of a node, whose software is the driver's user.
//!
//! A [`Job`] makes and brings up the machine and then runs phases: [`Job::each`] starts one thread in every
//! task, [`Job::threads`] several, and runs the machine until all have ended. What the threads return, the
//! next phase may use.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use gyre_affinity::{Place as HardwarePlace, Processor};
use gyre_driver::{
    AckConfig, ClientConfig, CostTable, DEFAULT_EAGER_LIMIT, GeometryConfig, Ordered, Resources,
    SameNode, TaskId, TaskMap,
};
use gyre_layout::registers::group_page;
use gyre_sim::{ActorError, Machine, MachineConfig, RunReport, SimError, TraceConfig, Until};

use crate::attempt::Observed;
use crate::bring_up::{OWNER, bring_up};
use crate::clients::{ClientFile, Geometries};
use crate::error::{JobError, RunError};
use crate::machine_file::MachineSpec;
use crate::placement::Placement;
use crate::platform::{NodeSegments, SimPlatform, Transfers};

/// One task as its software sees it: who it is, and the process that it runs in.
#[derive(Clone)]
pub struct Process {
    /// The task.
    pub task: TaskId,
    /// Number of the process: that of its task; parts of tasks on other nodes come after all tasks.
    pub number: usize,
    /// Where all tasks are.
    pub tasks: Arc<TaskMap>,
    /// Node of the process; node numbers count dimension a fastest.
    pub node: usize,
    /// The node as the process sees it. Every phase gets the same.
    pub platform: SimPlatform,
    /// The clients that a configuration gives the process.
    configured: Arc<[ClientConfig]>,
    geometries: Arc<Geometries>,
    /// Most processes on a node of the job, at least one.
    per_node: usize,
    /// Number of the process on its node.
    on_node: u8,
}

impl Process {
    /// Hardware thread of the node that thread `number` of the process runs on, unless it says otherwise: as
    /// [`Job::hardware_thread`].
    pub fn hardware_thread(&self, number: usize) -> usize {
        hardware_thread(self.platform.processor(), self.on_node, number)
    }

    /// The geometries that a file gives the client of this name, the same in all processes: each is made by
    /// [`Geometry::from_config`](gyre_collectives::Geometry::from_config) (EP-5, EP-7).
    pub fn geometries(&self, client: &str) -> &[GeometryConfig] {
        self.geometries.get(client).map_or(&[], Vec::as_slice)
    }

    /// The clients that a configuration gives the process, or without one: that of all tasks of this name, with so many
    /// contexts each.
    pub fn clients(&self, name: &str, contexts: u8) -> Vec<ClientConfig> {
        match &*self.configured {
            [] => vec![ClientConfig {
                contexts,
                ..self.client(name)
            }],
            configured => configured.to_vec(),
        }
    }

    /// A client of all tasks, of this name, with one context each, the default resources, eager limit and rules of
    /// acknowledgement. Where many share a node, each has fewer memory regions.
    pub fn client(&self, name: &str) -> ClientConfig {
        client(name, (self.task, &self.tasks), self.per_node)
    }
}

/// As [`Process::client`], of a task among `tasks`, where the fullest node has `per_node` processes.
fn client(name: &str, (task, tasks): (TaskId, &Arc<TaskMap>), per_node: usize) -> ClientConfig {
    let resources = Resources::default();
    let free = group_page::SLOT_COUNT as usize - usize::from(resources.slot_first);
    // At most 32.
    let most = (free / per_node) as u16;
    ClientConfig {
        name: name.into(),
        id: 0,
        tasks: Arc::clone(tasks),
        task,
        contexts: 1,
        resources: Resources {
            owner: OWNER,
            slots_per_process: resources.slots_per_process.min(most),
            ..resources
        },
        eager_limit: DEFAULT_EAGER_LIMIT,
        ack: AckConfig::default(),
        same_node: SameNode::default(),
        ordered: Ordered::default(),
    }
}

/// Cores of a node.
fn cores(processor: &Processor) -> usize {
    processor.hardware_threads() / usize::from(processor.threads)
}

/// Hardware thread of thread `number` of process `process` of a node, as [`Job::hardware_thread`] says.
fn hardware_thread(processor: &Processor, process: u8, number: usize) -> usize {
    let (process, threads) = (usize::from(process), usize::from(processor.threads));
    let cores = cores(processor);
    process % cores * threads + (process / cores + number) % threads
}

/// Place of a process.
struct Place {
    task: TaskId,
    node: usize,
    process: u8,
    segments: NodeSegments,
    platform: Rc<OnceCell<SimPlatform>>,
    configured: Arc<[ClientConfig]>,
}

/// The shared segments of `nodes` nodes with this processor.
fn node_segments(nodes: usize, processor: &Processor) -> Vec<NodeSegments> {
    (0..nodes).map(|_| NodeSegments::new(processor)).collect()
}

/// A machine that is brought up, with tasks on its nodes.
pub struct Job {
    machine: Observed<Machine>,
    costs: Arc<CostTable>,
    tasks: Arc<TaskMap>,
    places: Vec<Place>,
    /// Of the program's clients, from a file.
    geometries: Arc<Geometries>,
    /// Most processes on a node, at least one.
    per_node: usize,
    processor: Processor,
}

impl Job {
    /// Makes the machine and brings it up for the tasks of `placement`. A waveform, if one is asked for, may
    /// begin at reset.
    ///
    /// # Errors
    /// [`JobError`].
    pub fn new(
        config: &MachineConfig,
        costs: &CostTable,
        placement: &Placement,
        trace: Option<TraceConfig>,
    ) -> Result<Self, JobError> {
        Self::on(Observed::alone(config, trace)?, costs, placement)
    }

    /// The same on a machine that has been made.
    ///
    /// # Errors
    /// [`JobError`].
    pub fn on(
        mut machine: Observed<Machine>,
        costs: &CostTable,
        placement: &Placement,
    ) -> Result<Self, JobError> {
        let topology = machine.topology().clone();
        let place = |node| topology.header_coord(node);
        let mut tasks = TaskMap::new(placement.node.iter().map(|&n| place(n)))?;
        for away in &placement.away {
            tasks = tasks.with_away(TaskId(away.rank), away.contexts.clone(), place(away.node))?;
        }
        // At most 256 tasks a node, which placement checks.
        bring_up(&mut machine, placement.per_node.min(255) as u8)?;
        let home = placement.node.iter().zip(&placement.process);
        let home = (0..)
            .zip(home)
            .map(|(task, (&node, &process))| (task, node, process));
        let away = placement
            .away
            .iter()
            .map(|away| (away.rank, away.node, away.process));
        let processor = Processor::default();
        let segments = node_segments(topology.nodes(), &processor);
        Ok(Self {
            machine,
            costs: Arc::new(costs.clone()),
            tasks: Arc::new(tasks),
            places: home
                .chain(away)
                .map(|(task, node, process)| Place {
                    task: TaskId(task),
                    node,
                    process,
                    segments: segments[node].clone(),
                    platform: Rc::default(),
                    configured: Arc::default(),
                })
                .collect(),
            geometries: Arc::default(),
            per_node: placement.per_node.max(1),
            processor,
        })
    }

    /// The job on the next machine of `spec`, with its processors, its costs and the clients of its configuration, if there
    /// is one.
    ///
    /// # Errors
    /// As [`Job::new`]; clients that the program or the nodes have no use or no room for, before anything is
    /// simulated.
    pub fn of(spec: &MachineSpec, placement: &Placement) -> Result<Self, RunError> {
        let topology = spec.config.topology().map_err(SimError::from)?;
        let nodes: Vec<_> = placement
            .node
            .iter()
            .map(|&n| topology.header_coord(n))
            .collect();
        let clients = spec.clients.as_ref().map(|file| file.of_processes(&nodes));
        let clients = clients.transpose()?;
        let of_clients = |file: &ClientFile| file.geometries(clients.iter().flatten().flatten());
        let geometries = spec.clients.as_ref().map(of_clients).transpose()?;
        let mut job = Self::on(spec.machine()?, &spec.costs, placement)?;
        for (place, clients) in job.places.iter_mut().zip(clients.into_iter().flatten()) {
            place.configured = clients.into();
        }
        job.geometries = Arc::new(geometries.unwrap_or_default());
        Ok(job.with_processor(&spec.processor))
    }

    /// The same job on nodes with another processor than the reference machine's. Before its first phase.
    #[must_use]
    pub fn with_processor(mut self, processor: &Processor) -> Self {
        let segments = node_segments(self.machine.topology().nodes(), processor);
        for place in &mut self.places {
            place.segments = segments[place.node].clone();
        }
        self.processor = processor.clone();
        self
    }

    /// Hardware thread of its node that thread `number` of process `process` of the job runs on, unless it says
    /// otherwise: a node's processes take a core each, in their order, and their threads those of the core. Where there are
    /// more, they begin again.
    pub fn hardware_thread(&self, process: usize, number: usize) -> usize {
        hardware_thread(&self.processor, self.places[process].process, number)
    }

    /// A client of `task`, as [`Process::client`].
    pub fn client(&self, task: TaskId, name: &str) -> ClientConfig {
        client(name, (task, &self.tasks), self.per_node)
    }

    /// The processor of every node.
    pub fn processor(&self) -> &Processor {
        &self.processor
    }

    /// Node of a task, and the hardware thread there on which it has its first thread: a node's processes take a core
    /// each, in their order. `None` when the processor has fewer cores.
    pub fn hardware_place(&self, task: TaskId) -> Option<(usize, HardwarePlace)> {
        let place = &self.places[task.0 as usize];
        let has_core = usize::from(place.process) < cores(&self.processor);
        let thread = hardware_thread(&self.processor, place.process, 0);
        has_core.then_some((place.node, self.processor.place(thread)?))
    }

    /// The machine.
    pub fn machine(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// Number of tasks.
    pub fn tasks(&self) -> u32 {
        // A task map has fewer than 2^32.
        self.tasks.len() as u32
    }

    /// Node of `task`.
    pub fn node(&self, task: TaskId) -> usize {
        self.places[task.0 as usize].node
    }

    /// Cache lines of shared segments that have gone from one hardware thread to another on the node of
    /// `task`.
    pub fn transfers(&self, task: TaskId) -> Transfers {
        self.places[task.0 as usize].segments.transfers()
    }

    /// Runs `body` in one thread of every process, and the machine until `until`. Gives what the threads
    /// returned, in the order of the processes, and the machine's report.
    ///
    /// # Errors
    /// The first thread's error, or a machine that stopped.
    pub fn each<T, E>(
        &mut self,
        name: &str,
        until: Until,
        body: impl Fn(Process) -> Result<T, E> + 'static,
    ) -> Result<(Vec<T>, RunReport), SimError>
    where
        T: 'static,
        E: Into<ActorError> + 'static,
    {
        self.threads(name, 1, until, move |process, _| body(process))
    }

    /// As [`Job::each`], with one of `states` for every process: what an earlier phase returned, say. All
    /// processes have ended that phase before one begins this.
    ///
    /// # Errors
    /// As [`Job::each`].
    ///
    /// # Panics
    /// When there is not one state a process.
    pub fn each_with<S, T, E>(
        &mut self,
        name: &str,
        until: Until,
        states: Vec<S>,
        body: impl Fn(Process, S) -> Result<T, E> + 'static,
    ) -> Result<(Vec<T>, RunReport), SimError>
    where
        S: 'static,
        T: 'static,
        E: Into<ActorError> + 'static,
    {
        assert_eq!(states.len(), self.places.len(), "one state a process");
        let states: Vec<_> = states.into_iter().map(|s| Cell::new(Some(s))).collect();
        self.each(name, until, move |process| {
            let state = states[process.number].take();
            body(
                process,
                state.expect("a process has one thread in this phase"),
            )
        })
    }

    /// As [`Job::each`], with threads 0 to `count` - 1 in every process: `body` gets the thread's number. What
    /// they returned is ordered by process, then by thread.
    ///
    /// # Errors
    /// As [`Job::each`].
    pub fn threads<T, E>(
        &mut self,
        name: &str,
        count: usize,
        until: Until,
        body: impl Fn(Process, usize) -> Result<T, E> + 'static,
    ) -> Result<(Vec<T>, RunReport), SimError>
    where
        T: 'static,
        E: Into<ActorError> + 'static,
    {
        let body = Rc::new(body);
        let results = Rc::new(RefCell::new(Vec::new()));
        let per_node = self.per_node;
        for (number, place) in self.places.iter().enumerate() {
            for thread in 0..count {
                let body = Rc::clone(&body);
                let results = Rc::clone(&results);
                let costs = Arc::clone(&self.costs);
                let tasks = Arc::clone(&self.tasks);
                let (task, node, process) = (place.task, place.node, place.process);
                let segments = place.segments.clone();
                let platform = Rc::clone(&place.platform);
                let configured = Arc::clone(&place.configured);
                let geometries = Arc::clone(&self.geometries);
                let hardware = self.hardware_thread(number, thread);
                let actor = match count {
                    1 => format!("task {number} {name}"),
                    _ => format!("task {number} {name} {thread}"),
                };
                self.machine.spawn(node, &actor, move |cpu| {
                    cpu.run_on(hardware);
                    cpu.belong_to(task.0);
                    // The memory of process p lies behind base slot p.
                    let slot = u16::from(process);
                    let new = || SimPlatform::new(cpu, process, slot, costs, segments);
                    let process = Process {
                        task,
                        number,
                        tasks,
                        node,
                        platform: platform.get_or_init(new).clone(),
                        configured,
                        geometries,
                        per_node,
                        on_node: process,
                    };
                    let result = body(process, thread)?;
                    results.borrow_mut().push(((number, thread), result));
                    Ok::<(), E>(())
                });
            }
        }
        let report = self.machine.run(until)?;
        let mut results = std::mem::take(&mut *results.borrow_mut());
        results.sort_by_key(|(place, _)| *place);
        Ok((
            results.into_iter().map(|(_, result)| result).collect(),
            report,
        ))
    }
}
