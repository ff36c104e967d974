//! Tasks and where they live.

use core::fmt;
use std::collections::BTreeMap;

use gyre_layout::Coord;
use rustc_hash::FxHashMap;

use crate::error::Error;

/// A task: one process of the parallel application, numbered from 0 in its client's task list (EP-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.0)
    }
}

/// Where a task lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskLocation {
    /// Coordinates of its node.
    pub node: Coord,
    /// Number of the process among the client's processes of that node, from 0.
    pub process: u8,
}

impl TaskLocation {
    /// The location as a number, which is hashed faster.
    fn key(self) -> u64 {
        let [a, b, c, d, e] = self.node.0;
        u64::from_le_bytes([a, b, c, d, e, self.process, 0, 0])
    }
}

/// A client's task list: task to place and back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskMap {
    locations: Vec<TaskLocation>,
    /// Looked up for every packet, never walked.
    tasks: FxHashMap<u64, TaskId>,
}

impl TaskMap {
    /// Task `t` lives on `nodes[t]`; the tasks of a node are its processes 0, 1, ... in task order.
    ///
    /// # Errors
    /// [`Error::TooManyProcesses`] for more than 256 tasks on a node, [`Error::TooManyTasks`] for more
    /// than 2^32 - 1.
    pub fn new(nodes: impl IntoIterator<Item = Coord>) -> Result<Self, Error> {
        let mut locations = Vec::new();
        let mut tasks = FxHashMap::default();
        let mut processes: BTreeMap<Coord, usize> = BTreeMap::new();
        for node in nodes {
            let task = u32::try_from(locations.len())
                .ok()
                .filter(|&task| task < u32::MAX)
                .ok_or(Error::TooManyTasks)?;
            let count = processes.entry(node).or_default();
            let process = u8::try_from(*count).map_err(|_| Error::TooManyProcesses { node })?;
            *count += 1;
            let location = TaskLocation { node, process };
            locations.push(location);
            tasks.insert(location.key(), TaskId(task));
        }
        Ok(Self { locations, tasks })
    }

    /// Number of tasks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.locations.len()
    }

    /// Whether there is no task.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.locations.is_empty()
    }

    /// Where `task` lives.
    ///
    /// # Errors
    /// [`Error::UnknownTask`] for a task that is not in the list.
    pub fn location(&self, task: TaskId) -> Result<TaskLocation, Error> {
        match self.locations.get(task.0 as usize) {
            Some(&location) => Ok(location),
            None => Err(Error::UnknownTask {
                task,
                tasks: self.locations.len(),
            }),
        }
    }

    /// The task that lives at `location`.
    #[must_use]
    pub fn task_at(&self, location: TaskLocation) -> Option<TaskId> {
        self.tasks.get(&location.key()).copied()
    }

    /// Processes of this client on `node`.
    #[must_use]
    pub fn processes_on(&self, node: Coord) -> usize {
        let there = |location: &&TaskLocation| location.node == node;
        self.locations.iter().filter(there).count()
    }
}
