// SPDX-License-Identifier: MIT OR Apache-2.0
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

/// Parameters of a client.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// Name, for errors and logs.
    pub name: String,
    /// Number of the client; equal in all tasks, different between the clients of an application.
    pub id: u8,
    /// The client's task list.
    pub tasks: Arc<TaskMap>,
    /// Task of this process.
    pub task: TaskId,
    /// Contexts of every task, 1 to 255.
    pub contexts: u8,
    /// The share of every node.
    pub resources: Resources,
    /// Most bytes of data that travel with a send (eager); longer data is fetched by the destination (rendezvous). 0:
    /// always rendezvous, except for no data.
    pub eager_limit: usize,
    /// Time of acknowledgements of received messages.
    pub ack: AckConfig,
    /// Path of messages between contexts of one node; equal in all tasks.
    pub same_node: SameNode,
    /// Routing of ordered traffic between nodes.
    pub ordered: Ordered,
}

/// Path of messages between contexts of one node, from a context to itself too (HW-7). Order of arrival and callbacks
/// do not depend on it. Puts, gets, read-modify-writes, and the data of a rendezvous are moved by the DMA engine in
/// either case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SameNode {
    /// Through the DMA engine, which loops messages for its own node back.
    #[default]
    Loopback,
    /// By processor copies through rings in the node's shared memory.
    SharedMemory,
}

/// The default of [`ClientConfig::eager_limit`], bytes.
pub const DEFAULT_EAGER_LIMIT: usize = 4096;

/// Resources of a context: the result of [`Context::query`](crate::Context::query).
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

/// The layout of a client: the places of its tasks, and the resources of each of their contexts on its node.
#[derive(Debug)]
pub(crate) struct ClientLayout {
    pub config: ClientConfig,
    pub location: TaskLocation,
    /// The node as descriptors and packets name it.
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

    /// Place of an endpoint of this client, checked.
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

    /// Number of a context of this process among all contexts of the client on its node.
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

    /// Refuses a configuration that is impossible, or impossible on a node of these parameters.
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
