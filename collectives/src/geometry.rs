//! Geometries: the endpoints that take part in collectives (EP-7).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use gyre_driver::{Client, Endpoint, Platform, TaskId};

use crate::algorithm::Algorithms;
use crate::error::Error;

/// A set of tasks and the endpoints of each that take part in collectives, with the algorithms valid for
/// them. Made alike in all tasks without communication; clones are handles to the same geometry.
///
/// The *rank* of an endpoint is its place in the list of endpoints. The *position* of a task is its place
/// in the order in which tasks first appear there: roots, and blocks of scatter, gather and the like, are
/// counted in positions. The first endpoint of a task is its leader. All endpoints of a task use the same
/// send and receive buffer.
#[derive(Debug, Clone)]
pub struct Geometry(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    name: String,
    number: u16,
    endpoints: Vec<Endpoint>,
    tasks: Vec<TaskId>,
    /// Ranks of each position, ascending.
    ranks: Vec<Vec<u32>>,
    /// Position of each rank.
    positions: Vec<u32>,
    algorithms: Algorithms,
}

impl Geometry {
    /// Contexts `0..contexts` of all tasks of the client.
    ///
    /// # Errors
    /// As [`Geometry::endpoint_list`]; [`Error::Driver`] when the client has fewer contexts.
    pub fn world<P: Platform>(
        client: &Client<P>,
        name: &str,
        number: u16,
        contexts: u8,
    ) -> Result<Self, Error> {
        // A task list is at most 2^32 - 1 long.
        Self::task_range(
            client,
            name,
            number,
            0..client.tasks().len() as u32,
            contexts,
        )
    }

    /// Contexts `0..contexts` of the tasks in a range.
    ///
    /// # Errors
    /// As [`Geometry::world`].
    pub fn task_range<P: Platform>(
        client: &Client<P>,
        name: &str,
        number: u16,
        tasks: Range<u32>,
        contexts: u8,
    ) -> Result<Self, Error> {
        Self::task_list(client, name, number, tasks.map(TaskId), contexts)
    }

    /// Contexts `0..contexts` of the tasks listed, in that order.
    ///
    /// # Errors
    /// As [`Geometry::world`].
    pub fn task_list<P: Platform>(
        client: &Client<P>,
        name: &str,
        number: u16,
        tasks: impl IntoIterator<Item = TaskId>,
        contexts: u8,
    ) -> Result<Self, Error> {
        let mut endpoints = Vec::new();
        for task in tasks {
            for context in 0..contexts {
                endpoints.push(client.endpoint(task, context)?);
            }
        }
        Self::endpoint_list(name, number, endpoints)
    }

    /// The endpoints listed, in that order. `number` tells the geometries of a client apart in all tasks.
    ///
    /// # Errors
    /// [`Error::EmptyGeometry`], [`Error::RepeatedEndpoint`].
    pub fn endpoint_list(
        name: &str,
        number: u16,
        endpoints: impl IntoIterator<Item = Endpoint>,
    ) -> Result<Self, Error> {
        let endpoints: Vec<_> = endpoints.into_iter().collect();
        if endpoints.is_empty() {
            return Err(Error::EmptyGeometry { name: name.into() });
        }
        let mut seen = BTreeSet::new();
        let mut tasks = Vec::new();
        let mut ranks: Vec<Vec<u32>> = Vec::new();
        let mut positions = Vec::new();
        let mut by_task = BTreeMap::new();
        for (rank, &endpoint) in (0..).zip(&endpoints) {
            if !seen.insert(endpoint) {
                return Err(Error::RepeatedEndpoint {
                    name: name.into(),
                    task: endpoint.task(),
                    context: endpoint.context_offset(),
                });
            }
            let position = *by_task.entry(endpoint.task()).or_insert_with(|| {
                tasks.push(endpoint.task());
                ranks.push(Vec::new());
                tasks.len() as u32 - 1
            });
            ranks[position as usize].push(rank);
            positions.push(position);
        }
        Ok(Self(Arc::new(Inner {
            name: name.into(),
            number,
            endpoints,
            tasks,
            ranks,
            positions,
            algorithms: Algorithms::default(),
        })))
    }

    /// The same geometry with other lists of algorithms.
    #[must_use]
    pub fn with_algorithms(self, algorithms: Algorithms) -> Self {
        let old = &self.0;
        Self(Arc::new(Inner {
            name: old.name.clone(),
            number: old.number,
            endpoints: old.endpoints.clone(),
            tasks: old.tasks.clone(),
            ranks: old.ranks.clone(),
            positions: old.positions.clone(),
            algorithms,
        }))
    }

    /// Name, for errors.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Number by which messages name the geometry.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.0.number
    }

    /// The endpoints, by rank.
    #[must_use]
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.0.endpoints
    }

    /// The tasks, by position.
    #[must_use]
    pub fn tasks(&self) -> &[TaskId] {
        &self.0.tasks
    }

    /// Rank of an endpoint.
    #[must_use]
    pub fn rank(&self, endpoint: Endpoint) -> Option<u32> {
        let rank = self.0.endpoints.iter().position(|&e| e == endpoint)?;
        Some(rank as u32)
    }

    /// Position of the task of the endpoint with rank `rank`.
    ///
    /// # Panics
    /// When there is no such rank.
    #[must_use]
    pub fn position(&self, rank: u32) -> usize {
        self.0.positions[rank as usize] as usize
    }

    /// Ranks of the endpoints of the task at `position`, ascending; the first is its leader.
    ///
    /// # Panics
    /// When there is no such position.
    #[must_use]
    pub fn ranks_of(&self, position: usize) -> &[u32] {
        &self.0.ranks[position]
    }

    /// The endpoints that each endpoint of the task at `root` sends to or receives from in endpoint-parallel
    /// algorithms: all ranks but those of that task, in as many parts.
    pub(crate) fn parts(&self, root: usize) -> Vec<Vec<u32>> {
        let ranks = 0..self.0.endpoints.len() as u32;
        let others: Vec<u32> = ranks.filter(|&r| self.position(r) != root).collect();
        let count = self.ranks_of(root).len();
        let bound = |part| part * others.len() / count;
        let parts = (0..count).map(|part| others[bound(part)..bound(part + 1)].to_vec());
        parts.collect()
    }

    /// The lists of algorithms.
    #[must_use]
    pub fn algorithms(&self) -> &Algorithms {
        &self.0.algorithms
    }
}
