// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators: numbers that separate messages, and groups of tasks by whose ranks sends and receives name tasks.

use crate::error::{Error, Fault};
use crate::sync::Arc;
use crate::task::{Rank, TaskId};
use crate::task_map::TaskMap;

/// A list of tasks: rank r is the task at place r.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Group {
    tasks: Vec<TaskId>,
    /// By task.
    ranks: Vec<(TaskId, Rank)>,
}

impl Group {
    /// The group of `tasks`, for communicator `comm`.
    ///
    /// # Errors
    /// [`Error::UnknownTask`] for a task that the client does not have, [`Error::GroupTask`] for one that is in the list
    /// twice.
    pub fn new(known: &TaskMap, comm: u32, tasks: &[TaskId]) -> Result<Self, Error> {
        for &task in tasks {
            known.location(task)?;
        }
        let mut ranks: Vec<_> = tasks.iter().copied().zip((0..).map(Rank)).collect();
        ranks.sort_unstable();
        if let Some([(task, _), _]) = ranks.array_windows().find(|[(a, _), (b, _)]| a == b) {
            return Err(Error::GroupTask { comm, task: *task });
        }
        Ok(Self {
            tasks: tasks.to_vec(),
            ranks,
        })
    }
}

/// A communicator, as sends, receives and probes name it: a number, the same at all tasks that use it, and the group whose
/// ranks they name (CT-1). Messages of one number never match receives of another. Cheap to clone.
///
/// The group is that of the peers: where sender and receiver belong to different groups, as with an intercommunicator of
/// MPI, each names the other's. Numbers up to 254 travel in the packet header; larger ones take 4 bytes of the payload.
#[derive(Debug, Clone)]
pub struct Communicator {
    number: u32,
    /// `None`: every task, and its rank is its number.
    group: Option<Arc<Group>>,
}

impl Communicator {
    /// Communicator 0 of all tasks of the client.
    pub const WORLD: Self = Self::world(0);

    /// Communicator `number` of all tasks of the client: rank r is task r. It needs no registration.
    #[must_use]
    pub const fn world(number: u32) -> Self {
        Self {
            number,
            group: None,
        }
    }

    pub(super) fn of(number: u32, group: Arc<Group>) -> Self {
        Self {
            number,
            group: Some(group),
        }
    }

    /// The number.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The task of `rank`; `None` when the group has no such rank.
    #[must_use]
    pub fn task(&self, rank: Rank) -> Option<TaskId> {
        match &self.group {
            None => Some(TaskId(rank.0)),
            Some(group) => group.tasks.get(rank.0 as usize).copied(),
        }
    }

    /// The rank of `task`; `None` when it is not in the group.
    #[must_use]
    pub fn rank(&self, task: TaskId) -> Option<Rank> {
        let Some(Group { ranks, .. }) = self.group.as_deref() else {
            return Some(Rank(task.0));
        };
        let place = ranks.binary_search_by_key(&task, |&(task, _)| task).ok()?;
        Some(ranks[place].1)
    }

    /// The task of `rank`, which a program has named.
    ///
    /// # Errors
    /// [`Error::UnknownRank`]; [`Error::UnknownTask`] where ranks are tasks.
    pub(super) fn peer(&self, known: &TaskMap, rank: Rank) -> Result<TaskId, Fault> {
        let Some(group) = &self.group else {
            let task = TaskId(rank.0);
            return known.destination(task, 0).map(|_| task);
        };
        let task = group.tasks.get(rank.0 as usize).copied();
        task.ok_or_else(|| self.unknown(rank, group))
    }

    #[cold]
    fn unknown(&self, rank: Rank, group: &Group) -> Fault {
        let (comm, ranks) = (self.number, group.tasks.len());
        Error::UnknownRank { comm, rank, ranks }.into()
    }
}

#[cfg(test)]
mod tests {
    use gyre_layout::Coord;

    use super::*;

    #[test]
    fn ct1_ranks_of_a_group_are_places_in_its_list() {
        let known = TaskMap::new([Coord([0; 5]); 9]).expect("few tasks");
        let tasks = [7, 0, 3].map(TaskId);
        let group = Group::new(&known, 5, &tasks).expect("tasks of the client");
        let comm = Communicator::of(5, Arc::new(group));
        for (rank, task) in (0..).map(Rank).zip(tasks) {
            assert_eq!(comm.task(rank), Some(task));
            assert_eq!(comm.rank(task), Some(rank));
        }
        assert_eq!((comm.task(Rank(3)), comm.rank(TaskId(1))), (None, None));
        assert_eq!(comm.peer(&known, Rank(1)), Ok(TaskId(0)));
        let unknown = Error::UnknownRank {
            comm: 5,
            rank: Rank(3),
            ranks: 3,
        };
        assert_eq!(comm.peer(&known, Rank(3)), Err(unknown.into()));
        let world = Communicator::world(5);
        assert_eq!(world.peer(&known, Rank(8)), Ok(TaskId(8)));
        assert!(world.peer(&known, Rank(9)).is_err());
    }

    #[test]
    fn ct1_x5_unknown_and_double_tasks_of_a_group_are_refused() {
        let known = TaskMap::new([Coord([0; 5]); 4]).expect("few tasks");
        let refused = |tasks: &[u32]| {
            let tasks: Vec<_> = tasks.iter().copied().map(TaskId).collect();
            Group::new(&known, 300, &tasks)
                .expect_err("refused")
                .to_string()
        };
        assert_eq!(refused(&[0, 4]), "task 4 is not in a task list of 4 tasks");
        assert_eq!(
            refused(&[2, 1, 0, 2]),
            "communicator 300: task 2 is in its group twice"
        );
    }
}
