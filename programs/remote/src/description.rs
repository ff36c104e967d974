// SPDX-License-Identifier: MIT OR Apache-2.0
//! Description of the job that a task's process needs before it can open a client.

use std::sync::Arc;

use gyre_driver::{
    AckConfig, ClientConfig, DEFAULT_EAGER_LIMIT, Ordered, Resources, SameNode, TaskId, TaskMap,
};
use gyre_layout::Coord;
use serde::{Deserialize, Serialize};

/// Place of a process's windows in node memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowPlace {
    /// Base slot.
    pub slot: u16,
    /// Node memory address of offset 0 of the slot.
    pub address: u64,
}

/// A task of a job: its number, the nodes of all tasks, and the node's resources for each process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDescription {
    /// Number of the task.
    pub task: u32,
    /// Coordinates of the node of every task.
    pub nodes: Vec<[u8; 5]>,
    /// Owner of the process's FIFOs and base slots.
    pub owner: u8,
    /// Base slots of each process.
    pub slots_per_process: u16,
    /// Place of the process's own memory in node memory, if it has one, see [`windows`](crate::windows).
    pub windows: Option<WindowPlace>,
    /// Most contexts of each task.
    pub contexts: u8,
    /// Tasks on the fullest node.
    pub tasks_per_node: usize,
    /// Hardware threads of the task's core, which its threads share.
    pub hardware_threads: u16,
    /// Clock of a processor, MHz.
    pub clock_mhz: u32,
    /// Simulated time of one operation, picoseconds, by its place in [`Op::ALL`](gyre_driver::Op::ALL): with them a process knows its
    /// time without a request. Empty: it makes requests.
    pub operation_ps: Vec<u64>,
    /// Simulated time that a microsecond of the program's processor time takes, picoseconds; 0: computation takes none.
    pub compute_ps: u64,
    /// Whether the machine records events: then the process sends the driver's notes.
    pub recorded: bool,
}

impl TaskDescription {
    /// Configuration of a client of all tasks, with this name and number of contexts, and the driver's defaults otherwise.
    ///
    /// # Errors
    /// A node has invalid coordinates.
    pub fn client(&self, name: &str, contexts: u8) -> Result<ClientConfig, gyre_driver::Error> {
        let nodes = self.nodes.iter().map(|&node| Coord(node));
        Ok(ClientConfig {
            name: name.into(),
            id: 0,
            tasks: Arc::new(TaskMap::new(nodes)?),
            task: TaskId(self.task),
            contexts,
            resources: Resources {
                owner: self.owner,
                slots_per_process: self.slots_per_process,
                ..Resources::default()
            },
            eager_limit: DEFAULT_EAGER_LIMIT,
            ack: AckConfig::default(),
            same_node: SameNode::default(),
            ordered: Ordered::default(),
        })
    }
}
