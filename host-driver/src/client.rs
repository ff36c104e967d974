//! Clients: collections of a node's resources for one user of the driver (EP-1, EP-5, EP-6).

use core::fmt;
use core::ops::Range;
use core::str::FromStr;

use gyre_layout::Coord;
use serde::Deserialize;

use crate::ack::{AckConfig, AckDispatcher};
use crate::buffer::BufferRange;
use crate::context::{Context, ContextInfo};
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::engine::KeptEnds;
use crate::error::Error;
use crate::flow::Ordered;
use crate::injection::InjectionFifo;
use crate::platform::{Platform, PlatformLock};
use crate::region::{MemoryRegion, RegionRights, SlotShare};
use crate::registers;
use crate::resources::Resources;
use crate::route::Network;
use crate::shared_memory::EndpointTable;
use crate::sync::{Arc, Mutex, short};
use crate::task::{TaskId, TaskLocation, TaskMap};

/// How to create a client.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// Name, for errors and logs.
    pub name: String,
    /// Number of the client; equal in all tasks, different between the clients of an application.
    pub id: u8,
    /// The client's task list.
    pub tasks: Arc<TaskMap>,
    /// Which of them this process is.
    pub task: TaskId,
    /// Contexts of every task, 1 to 255.
    pub contexts: u8,
    /// The share of every node.
    pub resources: Resources,
    /// Most bytes of data that a send carries itself (eager); above, the destination fetches them
    /// (rendezvous). 0: always rendezvous, but for no data at all.
    pub eager_limit: usize,
    /// When contexts acknowledge what they have received.
    pub ack: AckConfig,
    /// How messages go between contexts of one node; equal in all tasks.
    pub same_node: SameNode,
    /// How traffic that has to stay in order goes between nodes.
    pub ordered: Ordered,
}

/// How messages go between contexts of one node, a context to itself included (HW-7). What is sent, in
/// which order it arrives and which callbacks run is the same. Puts, gets, read-modify-writes, and the
/// data that a rendezvous fetches, are moved by the DMA engine in either case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SameNode {
    /// Through the DMA engine, which loops back what is for its own node.
    #[default]
    Loopback,
    /// By processor copies through rings in the node's shared memory.
    SharedMemory,
}

/// The default of [`ClientConfig::eager_limit`], bytes.
pub const DEFAULT_EAGER_LIMIT: usize = 4096;

/// A client in one task.
pub struct Client<P: Platform> {
    platform: P,
    plan: Arc<Plan>,
    table: Arc<EndpointTable<P>>,
    contexts: Mutex<Vec<Offset<P>>>,
    slots: Arc<SlotShare>,
    /// Taken while a context of a client with shared injection FIFOs is created.
    creation: P::Lock,
    /// The shared injection FIFOs, once a context has been created.
    shared: Mutex<Vec<Arc<InjectionFifo<P>>>>,
}

/// What is at a context offset.
enum Offset<P: Platform> {
    Free,
    /// A context is being created.
    Taken,
    /// A context, unless it has been destroyed.
    Context(Context<P>),
}

/// What every context of a client knows about it.
#[derive(Debug)]
pub(crate) struct Plan {
    pub config: ClientConfig,
    pub location: TaskLocation,
    /// Ends of flows that nobody of the client's contexts here has.
    pub kept_ends: KeptEnds,
}

impl Plan {
    /// The endpoint (task, context offset), checked.
    pub fn endpoint(&self, task: TaskId, context: u8) -> Result<Endpoint, Error> {
        self.config.tasks.location(task)?;
        if context >= self.config.contexts {
            return Err(Error::UnknownContext {
                client: self.config.name.clone(),
                offset: context,
                contexts: self.config.contexts,
            });
        }
        Ok(Endpoint {
            client: self.config.id,
            context,
            task,
        })
    }

    /// Contexts of the client on this node, created or not.
    pub fn contexts_here(&self) -> u16 {
        // At most 256 processes of 255 contexts.
        let processes = self.config.tasks.processes_on(self.location.node) as u16;
        processes * u16::from(self.config.contexts)
    }

    /// Number of a context among all contexts of the client on its node.
    pub fn index(&self, process: u8, context: u8) -> u16 {
        u16::from(process) * u16::from(self.config.contexts) + u16::from(context)
    }

    /// The same of a context of this process.
    pub fn index_here(&self, context: u8) -> u16 {
        self.index(self.location.process, context)
    }

    /// Reception FIFO of (process, context), on every node.
    pub fn reception_fifo(&self, process: u8, context: u8) -> u16 {
        self.config.resources.reception_first + self.index(process, context)
    }

    /// Injection FIFOs of (process, context), on every node.
    pub fn injection_fifos(&self, process: u8, context: u8) -> Range<u16> {
        let resources = &self.config.resources;
        let each = resources.injection_per_context;
        let owner = if resources.shared_injection {
            u16::from(process)
        } else {
            self.index(process, context)
        };
        let first = resources.injection_first + owner * each;
        first..first + each
    }

    /// Remote-get FIFO of (process, context), on every node.
    pub fn remote_get_fifo(&self, process: u8, context: u8) -> u16 {
        self.config.resources.remote_get_first + self.index(process, context)
    }

    /// Wake group of (process, context), on every node.
    pub fn wake_group(&self, process: u8, context: u8) -> u8 {
        // Checked when the client is created: less than the groups of a node.
        self.config.resources.wake_first + self.index(process, context) as u8
    }

    fn check(&self, parameters: &gyre_firmware::Parameters) -> Result<(), Error> {
        let ClientConfig {
            name,
            contexts,
            resources,
            tasks,
            ..
        } = &self.config;
        let refuse = |field, value: u64, expected| {
            Err(Error::Config {
                client: name.clone(),
                field,
                value,
                expected,
            })
        };
        if *contexts == 0 {
            return refuse("contexts", 0, "at least 1");
        }
        if u32::try_from(self.config.eager_limit).is_err() {
            let limit = self.config.eager_limit as u64;
            return refuse("eager_limit", limit, "at most 2^32 - 1");
        }
        if let Err((field, value, expected)) = resources.check() {
            return refuse(field, value, expected);
        }
        AckDispatcher::new(self.config.ack.clone())?;
        // At most 256 processes.
        let processes = tasks.processes_on(self.location.node) as u32;
        resources.check_room(name, processes, *contexts, parameters)
    }
}

impl SameNode {
    /// Its name in configuration files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::SharedMemory => "shared_memory",
        }
    }
}

impl fmt::Display for SameNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SameNode {
    type Err = ();

    /// The way of that [name](Self::name).
    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Loopback, Self::SharedMemory]
            .into_iter()
            .find(|way| way.name() == text)
            .ok_or(())
    }
}

impl<P: Platform> Client<P> {
    /// Creates the client in one task and checks that the node has its resources. The process is that of the
    /// task on the platform's node, if the task has several.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::NoProcess`], [`Error::Config`], [`Error::Resources`] when the node has not enough FIFOs
    /// or wake groups for the processes on it, [`Error::SetUp`] when the node cannot be identified,
    /// [`Error::Segment`] when there is no shared memory for the endpoint table.
    pub fn create(platform: &P, config: ClientConfig) -> Result<Self, Error> {
        let location = match config.tasks.has_away(config.task) {
            true => config
                .tasks
                .process_of(config.task, registers::coord(platform)?)?,
            false => config.tasks.location(config.task)?,
        };
        let plan = Plan {
            config,
            location,
            kept_ends: KeptEnds::new(),
        };
        let node = registers::node(platform)?;
        plan.check(node.parameters())?;
        let table = Arc::new(EndpointTable::open(platform, &plan)?);
        let contexts = (0..plan.config.contexts).map(|_| Offset::Free).collect();
        let resources = &plan.config.resources;
        let slots = resources.slots_per_process;
        let first = resources.slot_first + u16::from(location.process) * slots;
        Ok(Self {
            platform: platform.clone(),
            plan: Arc::new(plan),
            table,
            contexts: Mutex::new(contexts),
            slots: Arc::new(SlotShare::new(first, slots)),
            creation: platform.new_lock(),
            shared: Mutex::new(Vec::new()),
        })
    }

    /// Name of the client.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.plan.config.name
    }

    /// How the client was created.
    #[must_use]
    pub fn query(&self) -> &ClientConfig {
        &self.plan.config
    }

    /// The task that this process is.
    #[must_use]
    pub fn task(&self) -> TaskId {
        self.plan.config.task
    }

    /// The node of this process.
    #[must_use]
    pub fn node(&self) -> Coord {
        self.plan.location.node
    }

    /// The client's task list.
    #[must_use]
    pub fn tasks(&self) -> &TaskMap {
        &self.plan.config.tasks
    }

    /// Contexts of every task.
    #[must_use]
    pub fn contexts(&self) -> u8 {
        self.plan.config.contexts
    }

    /// The network that the node belongs to.
    ///
    /// # Errors
    /// [`Error::Bus`] when its registers cannot be read.
    pub fn network(&self) -> Result<Network, Error> {
        Network::read(&self.platform)
    }

    /// Creates the context at `offset`, which may have been that of a context that is destroyed, and sets its
    /// FIFOs up. Do that in all tasks before any sends to it.
    ///
    /// # Errors
    /// [`Error::UnknownContext`], [`Error::ContextAway`], [`Error::ContextExists`], [`Error::Alloc`] for the rings,
    /// [`Error::SetUp`] when a FIFO is in use already or cannot be set up.
    pub fn create_context(&self, offset: u8) -> Result<Context<P>, Error> {
        let endpoint = self.plan.endpoint(self.task(), offset)?;
        let location = self.plan.location;
        if self.tasks().place(self.task(), offset)? != location {
            return Err(Error::ContextAway {
                task: self.task(),
                offset,
                node: location.node,
            });
        }
        self.take_offset(offset)?;
        let process = self.plan.location.process;
        let info = ContextInfo {
            endpoint,
            injection_fifos: self.plan.injection_fifos(process, offset),
            remote_get_fifo: self.plan.remote_get_fifo(process, offset),
            reception_fifo: self.plan.reception_fifo(process, offset),
            wake_group: self.plan.wake_group(process, offset),
        };
        let context = self.open_context(info);
        short(&self.contexts)[usize::from(offset)] = match &context {
            Ok(context) => Offset::Context(context.clone()),
            Err(_) => Offset::Free,
        };
        context
    }

    /// Reserves a context offset that is free, or whose context has been destroyed.
    fn take_offset(&self, offset: u8) -> Result<(), Error> {
        let place = usize::from(offset);
        let there = core::mem::replace(&mut short(&self.contexts)[place], Offset::Taken);
        match there {
            Offset::Free => return Ok(()),
            Offset::Taken => {}
            Offset::Context(context) if context.is_closed() => return Ok(()),
            Offset::Context(context) => {
                short(&self.contexts)[place] = Offset::Context(context);
            }
        }
        Err(Error::ContextExists {
            client: self.name().to_owned(),
            offset,
        })
    }

    fn open_context(&self, info: ContextInfo) -> Result<Context<P>, Error> {
        let platform = &self.platform;
        let create = |fifos: &[_]| {
            Context::create(
                platform.clone(),
                Arc::clone(&self.plan),
                Arc::clone(&self.table),
                info.clone(),
                fifos,
            )
        };
        if !self.plan.config.resources.shared_injection {
            let fifos = self.open_injection(&info)?;
            return self.or_close(&fifos, create(&fifos));
        }
        platform.charge(Op::Lock, 1);
        self.creation.lock();
        let open = short(&self.shared).clone();
        let fifos = if open.is_empty() || open.iter().any(|fifo| fifo.is_closed(platform)) {
            self.open_injection(&info)
        } else {
            Ok(open)
        };
        let context = fifos.and_then(|fifos| {
            *short(&self.shared) = fifos.clone();
            self.or_close(&fifos, create(&fifos))
        });
        platform.charge(Op::Lock, 1);
        self.creation.unlock();
        context
    }

    /// Sets up the injection FIFOs that a context names, all of them or none.
    fn open_injection(&self, info: &ContextInfo) -> Result<Vec<Arc<InjectionFifo<P>>>, Error> {
        let resources = &self.plan.config.resources;
        let mut node = registers::node(&self.platform)?;
        let mut fifos = Vec::new();
        for id in info.injection_fifos.clone() {
            let fifo = InjectionFifo::open(
                &self.platform,
                &mut node,
                id,
                resources.injection_ring,
                resources.owner,
                resources.shared_injection,
            );
            match fifo {
                Ok(fifo) => fifos.push(Arc::new(fifo)),
                Err(error) => return self.or_close(&fifos, Err(*error)),
            }
        }
        Ok(fifos)
    }

    /// `result`, after the FIFOs that nobody uses have been disabled if it is an error.
    fn or_close<T>(
        &self,
        fifos: &[Arc<InjectionFifo<P>>],
        result: Result<T, Error>,
    ) -> Result<T, Error> {
        if result.is_err() {
            let mut node = registers::node(&self.platform)?;
            for fifo in fifos {
                fifo.close_unused(&self.platform, &mut node)?;
            }
        }
        result
    }

    /// Destroys the contexts that are left, as [`Context::destroy`] does, closes the flows of peers that end
    /// here, and gives up the client's part in the node's endpoint table. Then a new client may have the same
    /// resources.
    ///
    /// # Errors
    /// The first error of a context; the others have been destroyed nevertheless.
    pub fn destroy(self) -> Result<(), Error> {
        let contexts = core::mem::take(&mut *short(&self.contexts));
        let mut outcome = Ok(());
        for offset in contexts {
            if let Offset::Context(context) = offset
                && !context.is_closed()
            {
                outcome = outcome.and(context.destroy());
            }
        }
        let closed = self.plan.kept_ends.close(&self.platform);
        outcome.and(closed.map_err(Error::from))
    }

    /// The contexts of the client that are open on this node, in whichever process: what the node's endpoint
    /// table says, in the order of processes and context offsets (HW-7).
    ///
    /// # Errors
    /// [`Error::Range`] when the table is not what it should be.
    pub fn open_contexts(&self) -> Result<Vec<ContextInfo>, Error> {
        self.table.all(&self.platform)
    }

    /// Makes `range` a memory region that peers reach by rput and rget, behind a base slot of its own
    /// from the process's share.
    ///
    /// # Errors
    /// [`Error::RegionAway`], [`Error::EmptyRegion`], [`Error::RegionAlignment`], [`Error::RegionSlots`] when all slots are in use, [`Error::SetUp`].
    pub fn create_region(
        &self,
        range: &BufferRange<P::Buffer>,
        rights: RegionRights,
    ) -> Result<MemoryRegion<P>, Error> {
        let (task, node) = (self.task(), self.plan.location.node);
        if self.tasks().location(task)?.node != node {
            return Err(Error::RegionAway { task, node });
        }
        let owner = self.plan.config.resources.owner;
        MemoryRegion::create(
            &self.platform,
            self.name(),
            self.task(),
            owner,
            &self.slots,
            range,
            rights,
        )
    }

    /// The endpoint (task, context offset) of this client.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::UnknownContext`].
    pub fn endpoint(&self, task: TaskId, context: u8) -> Result<Endpoint, Error> {
        self.plan.endpoint(task, context)
    }
}

impl<P: Platform> Drop for Client<P> {
    /// Contexts that outlive their client keep no ends of flows for others.
    fn drop(&mut self) {
        self.plan.kept_ends.keep_no_more();
    }
}
