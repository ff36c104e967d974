// SPDX-License-Identifier: MIT OR Apache-2.0
//! Description of the job that a task's process needs before it can open a client.

use std::sync::Arc;

use gyre_driver::{
    AckConfig, ClientConfig, DEFAULT_EAGER_LIMIT, Ordered, Resources, SameNode, TaskId, TaskMap,
};
use gyre_layout::Coord;
use gyre_layout::registers::group_page::SLOT_COUNT;
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
    /// Most contexts of a client in each task.
    pub contexts: u8,
    /// Contexts of a node, which the clients of its tasks share.
    pub node_contexts: u16,
    /// Names of the program's clients, if it has said so.
    pub clients: Vec<String>,
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

/// Share of every node that a client has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientShare {
    /// Its number.
    pub number: u8,
    /// Contexts of each task.
    contexts: u8,
    /// Contexts of a node that belong to the shares before it.
    before: u16,
}

impl TaskDescription {
    /// Share `number` of the nodes, the same in all tasks: as many contexts as each before it, if they have left as many. `None`:
    /// they have left none.
    #[must_use]
    pub fn share(&self, number: u8) -> Option<ClientShare> {
        // A node has fewer than 2^16 tasks.
        let tasks = self.tasks_per_node.max(1) as u16;
        let mut share = ClientShare {
            number: 0,
            contexts: self.contexts,
            before: 0,
        };
        while share.number < number {
            share.number += 1;
            share.before += u16::from(share.contexts) * tasks;
            let left = self.node_contexts.checked_sub(share.before)? / tasks;
            share.contexts = u8::try_from(left).unwrap_or(u8::MAX).min(self.contexts);
            if share.contexts == 0 {
                return None;
            }
        }
        Some(share)
    }

    /// Configuration of a client of all tasks, with this name and share of the nodes, and the driver's defaults otherwise.
    ///
    /// # Errors
    /// A node has invalid coordinates.
    pub fn client(
        &self,
        name: &str,
        share: ClientShare,
    ) -> Result<ClientConfig, gyre_driver::Error> {
        let nodes = self.nodes.iter().map(|&node| Coord(node));
        let first = Resources::default();
        // Few, as the tasks of a node and the names of clients are.
        let tasks = self.tasks_per_node.max(1) as u16;
        let each = self.slots_per_process / self.clients.len().max(1) as u16;
        let slots = SLOT_COUNT as u16;
        let slot_first = (first.slot_first + u16::from(share.number) * tasks * each).min(slots);
        Ok(ClientConfig {
            name: name.into(),
            id: share.number,
            tasks: Arc::new(TaskMap::new(nodes)?),
            task: TaskId(self.task),
            contexts: share.contexts,
            resources: Resources {
                owner: self.owner,
                injection_first: first.injection_first + share.before,
                remote_get_first: first.remote_get_first + share.before,
                reception_first: first.reception_first + share.before,
                // A node has 16 contexts at most.
                wake_first: first.wake_first + share.before as u8,
                slot_first,
                slots_per_process: match share.number {
                    0 => each,
                    _ => each.min((slots - slot_first) / tasks),
                },
                ..first
            },
            eager_limit: DEFAULT_EAGER_LIMIT,
            ack: AckConfig::default(),
            same_node: SameNode::default(),
            ordered: Ordered::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(tasks_per_node: usize, contexts: u8) -> Vec<(u8, u16)> {
        let task = TaskDescription {
            tasks_per_node,
            contexts,
            node_contexts: 16,
            ..crate::tests::description()
        };
        let shares = (0..).map_while(|number| task.share(number));
        shares.map(|share| (share.contexts, share.before)).collect()
    }

    #[test]
    fn ep5_clients_have_equal_shares_of_a_node_as_long_as_it_has_contexts() {
        assert_eq!(shares(1, 4), [(4, 0), (4, 4), (4, 8), (4, 12)]);
        assert_eq!(shares(2, 4), [(4, 0), (4, 8)]);
        assert_eq!(shares(3, 4), [(4, 0), (1, 12)]);
        assert_eq!(shares(4, 4), [(4, 0)]);
        assert_eq!(shares(4, 2), [(2, 0), (2, 8)]);
        assert_eq!(shares(16, 1), [(1, 0)]);
        // The driver refuses it in words.
        assert_eq!(shares(20, 1), [(1, 0)]);
    }
}
