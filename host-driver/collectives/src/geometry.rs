// SPDX-License-Identifier: MIT OR Apache-2.0
//! Geometries: the endpoints that take part in collectives (EP-7).

mod affinity;
mod make;
mod transfers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use gyre_affinity::Place;
use gyre_driver::{Client, Coord, Endpoint, Platform, TaskId};

use crate::collective::Collective;
use crate::error::Error;
use crate::network_places::NetworkPlaces;
use crate::selection::lists::Algorithms;
use crate::torus::Torus;
use crate::transfer_schedule::TransferSchedule;

pub use transfers::Transfer;

/// A set of tasks and their endpoints for collectives, with the valid algorithms. All tasks make it alike, without
/// communication; clones share it.
///
/// The *rank* of an endpoint is its place in the list of endpoints. The *position* of a task is its place
/// in the order in which tasks first appear there: roots, and blocks of scatter, gather and the like, are
/// counted in positions. The first endpoint of a task is its leader. All endpoints of a task use the same send and
/// receive buffers. Endpoints on another node than their task (EP-15) instead pass buffers of that node, of the same
/// size and layout, for data in transit; their final contents are undefined.
///
/// In a geometry of [`each_endpoint`](Self::each_endpoint), every endpoint has a position and data of its own; a task
/// is then listed once for each of its endpoints.
#[derive(Debug, Clone)]
pub struct Geometry(Arc<Inner>);

/// Schedules made so far, by root and collective.
type Schedules = Arc<Mutex<BTreeMap<(usize, Collective), Arc<TransferSchedule>>>>;

#[derive(Debug, Clone)]
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
    /// Network places of the endpoints, if known.
    places: Option<NetworkPlaces>,
    schedules: Schedules,
    /// Node and hardware thread of each position; empty when unknown.
    threads: Vec<(usize, Place)>,
    /// Arity of the trees along affinity domains.
    arity: usize,
}

impl Geometry {
    /// A geometry of the listed endpoints, in order. `number` identifies it among the client's geometries in all
    /// tasks.
    ///
    /// # Errors
    /// [`Error::EmptyGeometry`], [`Error::RepeatedEndpoint`].
    pub fn endpoint_list(
        name: &str,
        number: u16,
        endpoints: impl IntoIterator<Item = Endpoint>,
    ) -> Result<Self, Error> {
        Self::list(name, number, endpoints.into_iter().collect(), false)
    }

    /// The same, where every endpoint has a position and data of its own, as a task with one endpoint has.
    ///
    /// # Errors
    /// As [`endpoint_list`](Self::endpoint_list).
    pub fn each_endpoint(
        name: &str,
        number: u16,
        endpoints: impl IntoIterator<Item = Endpoint>,
    ) -> Result<Self, Error> {
        Self::list(name, number, endpoints.into_iter().collect(), true)
    }

    fn list(name: &str, number: u16, endpoints: Vec<Endpoint>, each: bool) -> Result<Self, Error> {
        if endpoints.is_empty() {
            return Err(Error::EmptyGeometry { name: name.into() });
        }
        let mut seen = BTreeSet::new();
        let mut tasks = Vec::new();
        let mut ranks: Vec<Vec<u32>> = Vec::new();
        let mut positions = Vec::new();
        // By task, and by rank where each endpoint counts for itself.
        let mut known = BTreeMap::new();
        for (rank, &endpoint) in (0..).zip(&endpoints) {
            if !seen.insert(endpoint) {
                return Err(Error::RepeatedEndpoint {
                    name: name.into(),
                    task: endpoint.task(),
                    context: endpoint.context_offset(),
                });
            }
            let key = (endpoint.task(), each.then_some(rank));
            let position = *known.entry(key).or_insert_with(|| {
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
            places: None,
            schedules: Arc::default(),
            threads: Vec::new(),
            arity: 1,
        })))
    }

    /// The same geometry with other lists of algorithms.
    #[must_use]
    pub fn with_algorithms(self, algorithms: Algorithms) -> Self {
        Self(Arc::new(Inner {
            algorithms,
            ..self.into_inner()
        }))
    }

    /// The same geometry with network places for its algorithms. All members call this, or none. Required for
    /// endpoints on other nodes than their tasks.
    ///
    /// # Errors
    /// [`Error::LeaderAway`]; [`Error::Driver`] if the node cannot be queried.
    pub fn on_network<P: Platform>(self, client: &Client<P>) -> Result<Self, Error> {
        let Inner {
            name,
            endpoints,
            tasks,
            ranks,
            ..
        } = &*self.0;
        let leaders = tasks
            .iter()
            .zip(ranks)
            .map(|(&task, ranks)| (task, ranks[0]));
        let places = Some(NetworkPlaces::new(client, name, endpoints, leaders)?);
        Ok(Self(Arc::new(Inner {
            places,
            schedules: Arc::default(),
            ..self.into_inner()
        })))
    }

    fn into_inner(self) -> Inner {
        Arc::try_unwrap(self.0).unwrap_or_else(|shared| (*shared).clone())
    }

    /// Name, for errors.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Number of the geometry in messages.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.0.number
    }

    /// The endpoints, by rank.
    #[must_use]
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.0.endpoints
    }

    /// The tasks, by position; repeated for endpoints with positions of their own.
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

    /// Whether network places are known.
    pub(crate) fn knows_network(&self) -> bool {
        self.0.places.is_some()
    }

    /// Node of an endpoint, if known.
    pub(crate) fn node(&self, rank: u32) -> Option<Coord> {
        self.0.places.as_ref().map(|places| places.node(rank))
    }

    /// Whether an endpoint is on another node than its task.
    pub(crate) fn is_away(&self, rank: u32) -> bool {
        let leader = self.ranks_of(self.position(rank))[0];
        let places = self.0.places.as_ref();
        places.is_some_and(|places| places.node(rank) != places.node(leader))
    }

    /// Ranks of the endpoints of the task at `position` on the task's node.
    pub(crate) fn at_home(&self, position: usize) -> Vec<u32> {
        let ranks = self.ranks_of(position).iter().copied();
        ranks.filter(|&rank| !self.is_away(rank)).collect()
    }

    /// The torus of the tasks, if every node of a machine with ring dimensions has one and network places are known.
    pub(crate) fn torus(&self) -> Option<&Torus> {
        self.0.places.as_ref()?.torus()
    }

    /// Minimum number of endpoints of a task on its own node.
    pub(crate) fn least_endpoints(&self) -> usize {
        let tasks = 0..self.tasks().len();
        tasks.map(|p| self.at_home(p).len()).min().unwrap_or(0)
    }

    /// The lists of algorithms.
    #[must_use]
    pub fn algorithms(&self) -> &Algorithms {
        &self.0.algorithms
    }
}
