//! The layout of a client: its configuration, and the resources of each of its contexts on a node.

use core::fmt;
use core::ops::Range;
use core::str::FromStr;

use serde::Deserialize;

use crate::ack::config::AckConfig;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::flow::ordered::Ordered;
use crate::resources::Resources;
use crate::sync::Arc;
use crate::task::{Destination, TaskId, TaskLocation};
use crate::task_map::TaskMap;

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

/// Which resources a context has: the answer of [`Context::query`](crate::Context::query).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextInfo {
    /// The endpoint that leads here.
    pub endpoint: Endpoint,
    /// Its injection FIFOs.
    pub injection_fifos: Range<u16>,
    /// Its remote-get FIFO.
    pub remote_get_fifo: u16,
    /// Its reception FIFO.
    pub reception_fifo: u16,
    /// Its wake group.
    pub wake_group: u8,
}

/// The layout of a client: where its tasks are, and which resources each of their contexts has on its node.
#[derive(Debug)]
pub(crate) struct ClientLayout {
    pub config: ClientConfig,
    pub location: TaskLocation,
    /// The same as descriptors and packets have it.
    pub here: Destination,
}

impl ClientLayout {
    /// The endpoint (task, context offset), checked.
    pub fn endpoint(&self, task: TaskId, context: u8) -> Result<Endpoint, Error> {
        let endpoint = Endpoint {
            client: self.config.id,
            context,
            task,
        };
        self.destination(endpoint)?;
        Ok(endpoint)
    }

    /// Where an endpoint of this client is, checked.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::UnknownContext`].
    #[inline]
    pub fn destination(&self, endpoint: Endpoint) -> Result<Destination, Fault> {
        let destination = self
            .config
            .tasks
            .destination(endpoint.task, endpoint.context)?;
        if endpoint.context >= self.config.contexts {
            return Err(self.unknown_context(endpoint.context));
        }
        Ok(destination)
    }

    #[cold]
    fn unknown_context(&self, offset: u8) -> Fault {
        Error::UnknownContext {
            client: self.config.name.clone(),
            offset,
            contexts: self.config.contexts,
        }
        .into()
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

    /// Refuses a configuration that is not possible, or not on a node of these parameters.
    ///
    /// # Errors
    /// [`Error::Config`], [`Error::Ack`], [`Error::Resources`].
    pub fn check(&self, parameters: &gyre_firmware::Parameters) -> Result<(), Error> {
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
        self.config.ack.check()?;
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

    /// The setting of that [name](Self::name).
    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Loopback, Self::SharedMemory]
            .into_iter()
            .find(|way| way.name() == text)
            .ok_or(())
    }
}
