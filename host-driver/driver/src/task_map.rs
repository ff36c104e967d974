// SPDX-License-Identifier: MIT OR Apache-2.0
//! The task list of a client.

use core::ops::Range;
use std::collections::BTreeMap;

use gyre_layout::{Coord, PackedCoord};
use rustc_hash::FxHashMap;

use crate::error::{Error, Fault};
use crate::task::{Destination, TaskId, TaskLocation};

/// Contexts of a task that live on another node than the task.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Away {
    task: TaskId,
    contexts: Range<u8>,
    destination: Destination,
}

/// A client's task list: task to place and back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskMap {
    /// By task. Looked up for every message.
    destinations: Vec<Destination>,
    /// Few entries, if any.
    away: Vec<Away>,
    /// By node and process, as packets name them. Looked up for every packet, never iterated.
    tasks: FxHashMap<u64, TaskId>,
}

/// A process of a node as a number, which is hashed fast.
fn key(node: PackedCoord, process: u8) -> u64 {
    u64::from(node.bits()) << 8 | u64::from(process)
}

impl TaskMap {
    /// Task `t` lives on `nodes[t]`; the tasks of a node are its processes 0, 1, ... in task order.
    ///
    /// # Errors
    /// [`Error::TooManyProcesses`] for more than 256 tasks on a node, [`Error::TooManyTasks`] for more
    /// than 2^32 - 1, [`Error::Layout`] for a coordinate that no packet can name.
    pub fn new(nodes: impl IntoIterator<Item = Coord>) -> Result<Self, Error> {
        let mut destinations = Vec::new();
        let mut tasks = FxHashMap::default();
        let mut processes: BTreeMap<Coord, usize> = BTreeMap::new();
        for node in nodes {
            let task = u32::try_from(destinations.len())
                .ok()
                .filter(|&task| task < u32::MAX)
                .ok_or(Error::TooManyTasks)?;
            let count = processes.entry(node).or_default();
            let process = u8::try_from(*count).map_err(|_| Error::TooManyProcesses { node })?;
            *count += 1;
            let destination = Destination::try_from(TaskLocation { node, process })?;
            destinations.push(destination);
            tasks.insert(key(destination.node, process), TaskId(task));
        }
        Ok(Self {
            destinations,
            away: Vec::new(),
            tasks,
        })
    }

    /// The list with contexts `contexts` of `task` on `node`, which is not the task's (EP-15): in a further process of
    /// that node.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::TooManyProcesses`]; [`Error::Away`] for contexts that live on another node
    /// already, for context 0, which stays with its task, and for a second part of a task on one node; [`Error::Layout`].
    pub fn with_away(
        mut self,
        task: TaskId,
        contexts: Range<u8>,
        node: Coord,
    ) -> Result<Self, Error> {
        let home = self.location(task)?.node;
        let overlaps = |away: &Away| {
            let apart = away.contexts.end <= contexts.start || contexts.end <= away.contexts.start;
            away.task == task && (!apart || away.destination.location().node == node)
        };
        if contexts.is_empty()
            || contexts.start == 0
            || home == node
            || self.away.iter().any(overlaps)
        {
            let (first, end) = (contexts.start, contexts.end);
            return Err(Error::Away {
                task,
                first,
                end,
                node,
            });
        }
        let process = self.processes_on(node);
        let process = u8::try_from(process).map_err(|_| Error::TooManyProcesses { node })?;
        let destination = Destination::try_from(TaskLocation { node, process })?;
        self.tasks.insert(key(destination.node, process), task);
        self.away.push(Away {
            task,
            contexts,
            destination,
        });
        Ok(self)
    }

    /// Number of tasks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.destinations.len()
    }

    /// Whether there is no task.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.destinations.is_empty()
    }

    /// Place of context `context` of `task`.
    ///
    /// # Errors
    /// As [`TaskMap::location`].
    pub fn place(&self, task: TaskId, context: u8) -> Result<TaskLocation, Error> {
        Ok(self.destination(task, context)?.location())
    }

    fn away(&self, task: TaskId, context: u8) -> Option<&Away> {
        let here = |away: &&Away| away.task == task && away.contexts.contains(&context);
        self.away.iter().find(here)
    }

    /// Place of context `context` of `task`, as descriptors name it.
    ///
    /// # Errors
    /// As [`TaskMap::location`].
    #[inline]
    pub(crate) fn destination(&self, task: TaskId, context: u8) -> Result<Destination, Fault> {
        if !self.away.is_empty()
            && let Some(away) = self.away(task, context)
        {
            return Ok(away.destination);
        }
        match self.destinations.get(task.0 as usize) {
            Some(&destination) => Ok(destination),
            None => Err(self.unknown(task).into()),
        }
    }

    #[cold]
    fn unknown(&self, task: TaskId) -> Error {
        Error::UnknownTask {
            task,
            tasks: self.destinations.len(),
        }
    }

    /// Whether contexts of `task` live on other nodes than the task.
    #[must_use]
    pub fn has_away(&self, task: TaskId) -> bool {
        self.away.iter().any(|away| away.task == task)
    }

    /// Place of the process of `task` on `node`.
    ///
    /// # Errors
    /// [`Error::UnknownTask`]; [`Error::NoProcess`] when there is none.
    pub fn process_of(&self, task: TaskId, node: Coord) -> Result<TaskLocation, Error> {
        let away = self.away.iter().filter(|away| away.task == task);
        [self.location(task)?]
            .into_iter()
            .chain(away.map(|away| away.destination.location()))
            .find(|location| location.node == node)
            .ok_or(Error::NoProcess { task, node })
    }

    /// Place of `task` and of its contexts, except those on other nodes.
    ///
    /// # Errors
    /// [`Error::UnknownTask`] for a task that is not in the list.
    pub fn location(&self, task: TaskId) -> Result<TaskLocation, Error> {
        match self.destinations.get(task.0 as usize) {
            Some(destination) => Ok(destination.location()),
            None => Err(self.unknown(task)),
        }
    }

    /// The task that lives at `location`.
    #[must_use]
    pub fn task_at(&self, location: TaskLocation) -> Option<TaskId> {
        self.task_of(location.node.try_into().ok()?, location.process)
    }

    /// The task of a process of `node`.
    #[inline]
    pub(crate) fn task_of(&self, node: PackedCoord, process: u8) -> Option<TaskId> {
        self.tasks.get(&key(node, process)).copied()
    }

    /// Processes of this client on `node`.
    #[must_use]
    pub fn processes_on(&self, node: Coord) -> usize {
        let away = self.away.iter().map(|away| &away.destination);
        let all = self.destinations.iter().chain(away);
        all.filter(|destination| destination.location().node == node)
            .count()
    }
}
