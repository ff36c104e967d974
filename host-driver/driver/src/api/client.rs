// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clients: collections of a node's resources for one user of the driver (EP-1, EP-5, EP-6).

use crate::api::context::Context;
use crate::buffer::BufferRange;
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::engine::Parts;
use crate::error::Error;
use crate::flow::orphaned::OrphanedFlows;
use crate::layout::{ClientConfig, ClientLayout, ContextInfo};
use crate::platform::{Platform, PlatformLock};
use crate::region::{MemoryRegion, RegionRights, SlotShare};
use crate::route::Network;
use crate::sync::{Arc, Mutex, lock};
use crate::task::TaskId;
use crate::task_map::TaskMap;
use crate::transport::injection::InjectionFifo;
use crate::transport::registers;
use crate::transport::shared_memory::EndpointTable;
use gyre_layout::Coord;
/// A client in one task.
pub struct Client<P: Platform> {
    platform: P,
    layout: Arc<ClientLayout>,
    table: Arc<EndpointTable<P>>,
    contexts: Mutex<Vec<Offset<P>>>,
    orphaned: Arc<OrphanedFlows>,
    slots: Arc<SlotShare>,
    /// Taken while a context of a client with shared injection FIFOs is created.
    creation: P::Lock,
    /// The shared injection FIFOs, once a context has been created.
    shared: Mutex<Vec<Arc<InjectionFifo<P>>>>,
}

/// State of a context offset.
enum Offset<P: Platform> {
    Free,
    /// A context is being created.
    Taken,
    /// A context, unless it has been destroyed.
    Context(Context<P>),
}

impl<P: Platform> Client<P> {
    /// Creates the client in one task and checks that the node has its resources. The process is that of the
    /// task on the platform's node, if the task has several.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::NoProcess`], [`Error::Config`], [`Error::Resources`] when the node has too few
    /// FIFOs or wake groups for the processes on it, [`Error::SetUp`] when the node cannot be identified,
    /// [`Error::Segment`] when there is no shared memory for the endpoint table.
    pub fn create(platform: &P, config: ClientConfig) -> Result<Self, Error> {
        let location = match config.tasks.has_away(config.task) {
            true => config
                .tasks
                .process_of(config.task, registers::coord(platform)?)?,
            false => config.tasks.location(config.task)?,
        };
        let layout = ClientLayout {
            here: location.try_into()?,
            config,
            location,
        };
        let node = registers::node(platform)?;
        layout.check(node.parameters())?;
        let table = Arc::new(EndpointTable::open(platform, &layout)?);
        let contexts = (0..layout.config.contexts).map(|_| Offset::Free).collect();
        let resources = &layout.config.resources;
        let slots = resources.slots_per_process;
        let first = resources.slot_first + u16::from(location.process) * slots;
        Ok(Self {
            platform: platform.clone(),
            layout: Arc::new(layout),
            table,
            contexts: Mutex::new(contexts),
            orphaned: Arc::new(OrphanedFlows::new()),
            slots: Arc::new(SlotShare::new(first, slots)),
            creation: platform.new_lock(),
            shared: Mutex::new(Vec::new()),
        })
    }

    /// Name of the client.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.layout.config.name
    }

    /// Configuration of the client.
    #[must_use]
    pub fn query(&self) -> &ClientConfig {
        &self.layout.config
    }

    /// The task that this process is.
    #[must_use]
    pub fn task(&self) -> TaskId {
        self.layout.config.task
    }

    /// The node of this process.
    #[must_use]
    pub fn node(&self) -> Coord {
        self.layout.location.node
    }

    /// The client's task list.
    #[must_use]
    pub fn tasks(&self) -> &TaskMap {
        &self.layout.config.tasks
    }

    /// Contexts of every task.
    #[must_use]
    pub fn contexts(&self) -> u8 {
        self.layout.config.contexts
    }

    /// The network that the node belongs to.
    ///
    /// # Errors
    /// [`Error::Bus`] when its registers cannot be read.
    pub fn network(&self) -> Result<Network, Error> {
        Network::read(&self.platform)
    }

    /// Creates the context at `offset`, which may have been that of a context that is destroyed, and sets its FIFOs up.
    /// Create it in all tasks before any task sends to it.
    ///
    /// # Errors
    /// [`Error::UnknownContext`], [`Error::ContextAway`], [`Error::ContextExists`], [`Error::Alloc`] for the rings,
    /// [`Error::SetUp`] when a FIFO is in use already or cannot be set up.
    pub fn create_context(&self, offset: u8) -> Result<Context<P>, Error> {
        let endpoint = self.layout.endpoint(self.task(), offset)?;
        let location = self.layout.location;
        if self.tasks().place(self.task(), offset)? != location {
            return Err(Error::ContextAway {
                task: self.task(),
                offset,
                node: location.node,
            });
        }
        self.take_offset(offset)?;
        let process = self.layout.location.process;
        let info = ContextInfo {
            endpoint,
            injection_fifos: self.layout.injection_fifos(process, offset),
            remote_get_fifo: self.layout.remote_get_fifo(process, offset),
            reception_fifo: self.layout.reception_fifo(process, offset),
            wake_group: self.layout.wake_group(process, offset),
        };
        let context = self.open_context(info);
        lock(&self.contexts)[usize::from(offset)] = match &context {
            Ok(context) => Offset::Context(context.clone()),
            Err(_) => Offset::Free,
        };
        context
    }

    /// Reserves a context offset that is free, or whose context has been destroyed.
    fn take_offset(&self, offset: u8) -> Result<(), Error> {
        let place = usize::from(offset);
        let there = core::mem::replace(&mut lock(&self.contexts)[place], Offset::Taken);
        match there {
            Offset::Free => return Ok(()),
            Offset::Taken => {}
            Offset::Context(context) if context.is_closed() => return Ok(()),
            Offset::Context(context) => {
                lock(&self.contexts)[place] = Offset::Context(context);
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
            let parts = Parts {
                table: &self.table,
                orphaned: &self.orphaned,
                fifos,
            };
            let layout = Arc::clone(&self.layout);
            Context::create(platform.clone(), layout, info.clone(), &parts)
        };
        if !self.layout.config.resources.shared_injection {
            let fifos = self.open_injection(&info)?;
            return self.or_close(&fifos, create(&fifos));
        }
        platform.charge(Op::Lock, 1);
        self.creation.lock();
        let open = lock(&self.shared).clone();
        let fifos = if open.is_empty() || open.iter().any(|fifo| fifo.is_closed(platform)) {
            self.open_injection(&info)
        } else {
            Ok(open)
        };
        let context = fifos.and_then(|fifos| {
            *lock(&self.shared) = fifos.clone();
            self.or_close(&fifos, create(&fifos))
        });
        platform.charge(Op::Lock, 1);
        self.creation.unlock();
        context
    }

    /// Sets up the injection FIFOs of a context, all of them or none.
    fn open_injection(&self, info: &ContextInfo) -> Result<Vec<Arc<InjectionFifo<P>>>, Error> {
        let resources = &self.layout.config.resources;
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

    /// Returns `result`, after disabling the unused FIFOs if it is an error.
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
        let contexts = core::mem::take(&mut *lock(&self.contexts));
        let mut outcome = Ok(());
        for offset in contexts {
            if let Offset::Context(context) = offset
                && !context.is_closed()
            {
                outcome = outcome.and(context.destroy());
            }
        }
        let closed = self.orphaned.close(&self.platform);
        outcome.and(closed.map_err(Error::from))
    }

    /// The contexts of the client that are open on this node, in any process, by the node's endpoint table, in the
    /// order of processes and context offsets (HW-7).
    ///
    /// # Errors
    /// [`Error::Range`] when the table is malformed.
    pub fn open_contexts(&self) -> Result<Vec<ContextInfo>, Error> {
        self.table.all(&self.platform)
    }

    /// Makes `range` a memory region that peers reach by rput and rget, behind a base slot of its own
    /// from the process's share.
    ///
    /// # Errors
    /// [`Error::RegionAway`], [`Error::EmptyRegion`], [`Error::RegionAlignment`],
    /// [`Error::RegionSlots`] when all slots are in use, [`Error::SetUp`].
    pub fn create_region(
        &self,
        range: &BufferRange<P::Buffer>,
        rights: RegionRights,
    ) -> Result<MemoryRegion<P>, Error> {
        let (task, node) = (self.task(), self.layout.location.node);
        if self.tasks().location(task)?.node != node {
            return Err(Error::RegionAway { task, node });
        }
        let owner = self.layout.config.resources.owner;
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
        self.layout.endpoint(task, context)
    }
}

impl<P: Platform> Drop for Client<P> {
    /// Contexts that outlive their client leave no flows open.
    fn drop(&mut self) {
        // The error has no receiver: a flow that the node does not close stays open until its reset.
        let _ = self.orphaned.close(&self.platform);
    }
}
