//! Clients: collections of a node's resources for one user of the driver (EP-1, EP-5, EP-6).

use core::ops::Range;

use gyre_layout::Coord;
use serde::Deserialize;

use crate::ack::{AckConfig, AckDispatcher};
use crate::buffer::BufferRange;
use crate::context::{Context, ContextInfo};
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::injection::{InjectionFifo, RING_ALIGN};
use crate::platform::{Platform, PlatformLock};
use crate::region::{MemoryRegion, RegionRights, SlotShare};
use crate::registers;
use crate::route::Network;
use crate::shared_memory::EndpointTable;
use crate::sync::{Arc, Mutex, short};
use crate::task::{TaskId, TaskLocation, TaskMap};

/// Wake groups of a node.
const WAKE_GROUPS: u32 = 16;
/// Most bytes of a ring.
const RING_MAX: usize = 1 << 20;

/// The share of every node's resources that a client has. It is the same on every node, so that a task
/// knows which reception FIFO leads to a context of another: process `p`, context `c` of `n` uses the
/// numbers from `first + (p * n + c) * per_context` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resources {
    /// First injection FIFO.
    pub injection_first: u16,
    /// Whether the contexts of a process share its injection FIFOs and lock each before use (EP-2); else
    /// each context has its own.
    pub shared_injection: bool,
    /// Injection FIFOs of each context, or of each process that shares them, at least 1. A flow keeps to one of them, chosen by its
    /// destination node; several let one context feed several links.
    pub injection_per_context: u16,
    /// Ring of an injection FIFO in bytes: a power of two, 4 KiB to 1 MiB; 64 B a descriptor. Beside it
    /// goes a staging area of eight times its size, for what is copied when it is sent.
    pub injection_ring: usize,
    /// First remote-get injection FIFO; each context has one, for the gets of others from it.
    pub remote_get_first: u16,
    /// Ring of a remote-get FIFO in bytes: a power of two, 4 KiB to 1 MiB; 64 B a get under way.
    pub remote_get_ring: usize,
    /// Byte counters of each context, at least 1: most gets, rendezvous receives and fences that it has
    /// under way at once; more wait.
    pub counters: u16,
    /// First base slot of the memory regions.
    pub slot_first: u16,
    /// Base slots of each process: most memory regions that it has at once.
    pub slots_per_process: u16,
    /// First reception FIFO; each context has one.
    pub reception_first: u16,
    /// Ring of a reception FIFO in bytes: a power of two, 4 KiB to 1 MiB.
    pub reception_ring: usize,
    /// Ring in the node's shared memory through which messages of the same node reach a context, in
    /// bytes: a power of two, 4 KiB to 1 MiB. Used with [`SameNode::SharedMemory`] alone.
    pub shared_ring: usize,
    /// First wake group; each context has one.
    pub wake_first: u8,
    /// Owner of the FIFOs, 0 to 15: that of the slots of the client's buffers.
    pub owner: u8,
}

impl Default for Resources {
    /// Injection, reception FIFOs and wake groups from number 0 on, remote-get FIFOs and base slots from
    /// 16 on; one injection FIFO and 256 counters a context, 4 base slots a process, rings of 64 KiB,
    /// owner 0.
    fn default() -> Self {
        Self {
            injection_first: 0,
            shared_injection: false,
            injection_per_context: 1,
            injection_ring: 64 << 10,
            remote_get_first: 16,
            remote_get_ring: 64 << 10,
            counters: 256,
            slot_first: 16,
            slots_per_process: 4,
            reception_first: 0,
            reception_ring: 64 << 10,
            shared_ring: 64 << 10,
            wake_first: 0,
            owner: 0,
        }
    }
}

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
}

/// How messages go between contexts of one node, a context to itself included (HW-7). What is sent, in
/// which order it arrives and which callbacks run is the same. Puts, gets, read-modify-writes, and the
/// data that a rendezvous fetches, are moved by the DMA engine in either case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
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
        let groups = u32::from(parameters.groups);
        let available = [
            u32::from(parameters.injection_fifos) * groups,
            u32::from(parameters.reception_fifos) * groups,
            u32::from(parameters.injection_fifos) * groups,
            WAKE_GROUPS,
            u32::from(parameters.slots) * groups,
        ];
        let used = resources.used(u64::from(processes), *contexts);
        for ((what, numbers), available) in used.iter().zip(available) {
            if numbers.end > u64::from(available) {
                return Err(Error::Resources {
                    client: name.clone(),
                    what,
                    // From a field of 16 bits.
                    first: numbers.start as u32,
                    end: u32::try_from(numbers.end).unwrap_or(u32::MAX),
                    processes,
                    contexts: u32::from(*contexts),
                    available,
                });
            }
        }
        let [(_, injection), _, (_, remote_get), ..] = used;
        if remote_get.start < injection.end && injection.start < remote_get.end {
            return refuse(
                "remote_get_first",
                remote_get.start,
                "FIFOs that are none of the client's other injection FIFOs",
            );
        }
        Ok(())
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

impl Resources {
    /// Refuses values that make no sense on any node: gives field, value and what it must be.
    pub(crate) fn check(&self) -> Result<(), (&'static str, u64, &'static str)> {
        for (field, value) in [
            ("injection_per_context", self.injection_per_context),
            ("counters", self.counters),
        ] {
            if value == 0 {
                return Err((field, 0, "at least 1"));
            }
        }
        for (field, bytes) in [
            ("injection_ring", self.injection_ring),
            ("remote_get_ring", self.remote_get_ring),
            ("reception_ring", self.reception_ring),
            ("shared_ring", self.shared_ring),
        ] {
            if !bytes.is_power_of_two() || !(RING_ALIGN..=RING_MAX).contains(&bytes) {
                let expected = "a power of two from 4096 to 1048576 bytes";
                return Err((field, bytes as u64, expected));
            }
        }
        if self.owner > 15 {
            return Err(("owner", u64::from(self.owner), "0 to 15"));
        }
        Ok(())
    }

    /// What a node with `processes` processes of `contexts` contexts needs: injection, reception and
    /// remote-get FIFOs, wake groups, and base slots. Remote-get FIFOs are injection FIFOs too.
    pub(crate) fn used(&self, processes: u64, contexts: u8) -> [(&'static str, Range<u64>); 5] {
        // At most 256 processes of 255 contexts with 65535 FIFOs each: fits 64 bits.
        let count = processes * u64::from(contexts);
        let injecting = if self.shared_injection {
            processes
        } else {
            count
        };
        [
            (
                "injection FIFOs",
                self.injection_first,
                injecting * u64::from(self.injection_per_context),
            ),
            ("reception FIFOs", self.reception_first, count),
            ("remote-get injection FIFOs", self.remote_get_first, count),
            ("wake groups", u16::from(self.wake_first), count),
            (
                "base slots",
                self.slot_first,
                processes * u64::from(self.slots_per_process),
            ),
        ]
        .map(|(what, first, needed)| (what, u64::from(first)..u64::from(first) + needed))
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
        let plan = Plan { config, location };
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
                Err(error) => return self.or_close(&fifos, Err(error)),
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

    /// Destroys the contexts that are left, as [`Context::destroy`] does, and gives up the client's part in
    /// the node's endpoint table. Then a new client may have the same resources.
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
        outcome
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
