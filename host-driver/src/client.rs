//! Clients: collections of a node's resources for one user of the driver (EP-1, EP-5, EP-6).

use core::ops::Range;

use crate::context::{Context, ContextInfo};
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::injection::RING_ALIGN;
use crate::platform::Platform;
use crate::registers;
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
    /// Injection FIFOs of each context, at least 1. A flow keeps to one of them, chosen by its
    /// destination node; several let one context feed several links.
    pub injection_per_context: u16,
    /// Ring of an injection FIFO in bytes: a power of two, 4 KiB to 1 MiB; 64 B a descriptor.
    pub injection_ring: usize,
    /// First reception FIFO; each context has one.
    pub reception_first: u16,
    /// Ring of a reception FIFO in bytes: a power of two, 4 KiB to 1 MiB.
    pub reception_ring: usize,
    /// First wake group; each context has one.
    pub wake_first: u8,
    /// Owner of the FIFOs, 0 to 15: that of the slots of the client's buffers.
    pub owner: u8,
}

impl Default for Resources {
    /// Everything from number 0 on, one injection FIFO a context, rings of 64 KiB, owner 0.
    fn default() -> Self {
        Self {
            injection_first: 0,
            injection_per_context: 1,
            injection_ring: 64 << 10,
            reception_first: 0,
            reception_ring: 64 << 10,
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
}

/// A client in one task.
pub struct Client<P: Platform> {
    platform: P,
    plan: Arc<Plan>,
    created: Mutex<Vec<bool>>,
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

    /// Number of a context among all contexts of the client on its node.
    fn index(&self, process: u8, context: u8) -> u16 {
        u16::from(process) * u16::from(self.config.contexts) + u16::from(context)
    }

    /// Reception FIFO of (process, context), on every node.
    pub fn reception_fifo(&self, process: u8, context: u8) -> u16 {
        self.config.resources.reception_first + self.index(process, context)
    }

    /// Injection FIFOs of (process, context), on every node.
    pub fn injection_fifos(&self, process: u8, context: u8) -> Range<u16> {
        let each = self.config.resources.injection_per_context;
        let first = self.config.resources.injection_first + self.index(process, context) * each;
        first..first + each
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
        let refuse = |field, value: usize, expected| {
            Err(Error::Config {
                client: name.clone(),
                field,
                value: value as u64,
                expected,
            })
        };
        if *contexts == 0 {
            return refuse("contexts", 0, "at least 1");
        }
        if resources.injection_per_context == 0 {
            return refuse("injection_per_context", 0, "at least 1");
        }
        for (field, bytes) in [
            ("injection_ring", resources.injection_ring),
            ("reception_ring", resources.reception_ring),
        ] {
            if !bytes.is_power_of_two() || !(RING_ALIGN..=RING_MAX).contains(&bytes) {
                return refuse(field, bytes, "a power of two from 4096 to 1048576 bytes");
            }
        }
        if resources.owner > 15 {
            return refuse("owner", usize::from(resources.owner), "0 to 15");
        }
        // At most 256 processes of 255 contexts with 65535 FIFOs each: fits 64 bits, then compared.
        let processes = tasks.processes_on(self.location.node) as u32;
        let count = u64::from(processes) * u64::from(*contexts);
        for (what, first, each, available) in [
            (
                "injection FIFOs",
                u64::from(resources.injection_first),
                u64::from(resources.injection_per_context),
                u32::from(parameters.injection_fifos) * u32::from(parameters.groups),
            ),
            (
                "reception FIFOs",
                u64::from(resources.reception_first),
                1,
                u32::from(parameters.reception_fifos) * u32::from(parameters.groups),
            ),
            (
                "wake groups",
                u64::from(resources.wake_first),
                1,
                WAKE_GROUPS,
            ),
        ] {
            let end = first + count * each;
            if end > u64::from(available) {
                return Err(Error::Resources {
                    client: name.clone(),
                    what,
                    first: first as u32,
                    end: u32::try_from(end).unwrap_or(u32::MAX),
                    processes,
                    contexts: u32::from(*contexts),
                    available,
                });
            }
        }
        Ok(())
    }
}

impl<P: Platform> Client<P> {
    /// Creates the client in one task and checks that the node has its resources.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::Config`], [`Error::Resources`] when the node has not enough FIFOs
    /// or wake groups for the processes on it, [`Error::SetUp`] when the node cannot be identified.
    pub fn create(platform: &P, config: ClientConfig) -> Result<Self, Error> {
        let location = config.tasks.location(config.task)?;
        let plan = Plan { config, location };
        let node = registers::node(platform)?;
        plan.check(node.parameters())?;
        let created = vec![false; usize::from(plan.config.contexts)];
        Ok(Self {
            platform: platform.clone(),
            plan: Arc::new(plan),
            created: Mutex::new(created),
        })
    }

    /// Name of the client.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.plan.config.name
    }

    /// The task that this process is.
    #[must_use]
    pub fn task(&self) -> TaskId {
        self.plan.config.task
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

    /// Creates the context at `offset` and sets its FIFOs up. Do that in all tasks before any sends to it.
    ///
    /// # Errors
    /// [`Error::UnknownContext`], [`Error::ContextExists`], [`Error::Alloc`] for the rings,
    /// [`Error::SetUp`] when a FIFO is in use already or cannot be set up.
    pub fn create_context(&self, offset: u8) -> Result<Context<P>, Error> {
        let endpoint = self.plan.endpoint(self.task(), offset)?;
        {
            let mut created = short(&self.created);
            let taken = &mut created[usize::from(offset)];
            if *taken {
                return Err(Error::ContextExists {
                    client: self.name().to_owned(),
                    offset,
                });
            }
            *taken = true;
        }
        let process = self.plan.location.process;
        let info = ContextInfo {
            endpoint,
            injection_fifos: self.plan.injection_fifos(process, offset),
            reception_fifo: self.plan.reception_fifo(process, offset),
            wake_group: self.plan.wake_group(process, offset),
        };
        let context = Context::create(self.platform.clone(), Arc::clone(&self.plan), info);
        if context.is_err() {
            short(&self.created)[usize::from(offset)] = false;
        }
        context
    }

    /// The endpoint (task, context offset) of this client.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::UnknownContext`].
    pub fn endpoint(&self, task: TaskId, context: u8) -> Result<Endpoint, Error> {
        self.plan.endpoint(task, context)
    }
}
