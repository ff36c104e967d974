//! Geometries: the endpoints that take part in collectives (EP-7).

mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use gyre_affinity::Place;
use gyre_driver::{Client, Endpoint, GeometryConfig, GeometryMembers, Platform, TaskId};

use crate::algorithm::{Algorithm, Algorithms};
use crate::error::Error;
use crate::request::Collective;

/// A set of tasks and the endpoints of each that take part in collectives, with the algorithms valid for
/// them. Made alike in all tasks without communication; clones are handles to the same geometry.
///
/// The *rank* of an endpoint is its place in the list of endpoints. The *position* of a task is its place
/// in the order in which tasks first appear there: roots, and blocks of scatter, gather and the like, are
/// counted in positions. The first endpoint of a task is its leader. All endpoints of a task use the same
/// send and receive buffer.
#[derive(Debug, Clone)]
pub struct Geometry(Arc<Inner>);

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
    /// First link of the route from each position to each other, by position of the source, then of the
    /// destination; empty when unknown.
    links: Vec<Vec<Option<usize>>>,
    /// Node of each position, and where on it; empty when unknown.
    places: Vec<(usize, Place)>,
    /// Arity of the trees along affinity domains.
    arity: usize,
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
            links: Vec::new(),
            places: Vec::new(),
            arity: 1,
        })))
    }

    /// The geometry that a configuration file gives, with its lists of algorithms (EP-5, EP-7, EP-8).
    ///
    /// # Errors
    /// [`Error::Configured`].
    pub fn from_config<P: Platform>(
        client: &Client<P>,
        config: &GeometryConfig,
    ) -> Result<Self, Error> {
        let made = Self::configured(client, config);
        made.map_err(|source| Error::Configured {
            place: config.place.clone(),
            source: Box::new(source),
        })
    }

    fn configured<P: Platform>(client: &Client<P>, config: &GeometryConfig) -> Result<Self, Error> {
        let (name, number) = (config.name.as_str(), config.number);
        let geometry = match &config.members {
            GeometryMembers::World { contexts } => Self::world(client, name, number, *contexts),
            GeometryMembers::Range {
                first,
                last,
                contexts,
            } => Self::task_range(
                client,
                name,
                number,
                *first..last.saturating_add(1),
                *contexts,
            ),
            GeometryMembers::Tasks { tasks, contexts } => {
                let tasks = tasks.iter().copied().map(TaskId);
                Self::task_list(client, name, number, tasks, *contexts)
            }
            GeometryMembers::Endpoints(list) => {
                let list = list.iter().map(|&(t, c)| client.endpoint(TaskId(t), c));
                Self::endpoint_list(name, number, list.collect::<Result<Vec<_>, _>>()?)
            }
        }?;
        let mut algorithms = geometry.algorithms().clone();
        for (collective, list) in &config.algorithms {
            let all = Collective::ALL.map(|c| (c.name(), c));
            let collective = find(name, "collective", collective, &all)?;
            let all = Algorithm::ALL.map(|a| (a.name(), a));
            let list = list.iter().map(|a| find(name, "algorithm", a, &all));
            let list = list.collect::<Result<Vec<_>, _>>()?;
            algorithms = algorithms.with_only(collective, &list)?;
        }
        Ok(geometry.with_algorithms(algorithms))
    }

    /// The same geometry with other lists of algorithms.
    #[must_use]
    pub fn with_algorithms(self, algorithms: Algorithms) -> Self {
        Self(Arc::new(Inner {
            algorithms,
            ..self.into_inner()
        }))
    }

    /// The same geometry on a network of which `first_link` says by which link of its node a packet leaves one
    /// task for another; `None` for tasks of one node. Endpoints of a task that work in parallel then feed
    /// different links.
    #[must_use]
    pub fn with_links(self, first_link: impl Fn(TaskId, TaskId) -> Option<usize>) -> Self {
        let tasks = self.tasks();
        let row = |&from| tasks.iter().map(|&to| first_link(from, to)).collect();
        let links = tasks.iter().map(row).collect();
        Self(Arc::new(Inner {
            links,
            ..self.into_inner()
        }))
    }

    fn into_inner(self) -> Inner {
        Arc::try_unwrap(self.0).unwrap_or_else(|shared| (*shared).clone())
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

    /// The endpoints that each endpoint of the task at `root` sends to in endpoint-parallel algorithms: all
    /// ranks but those of that task, in as many parts. Parts are of much the same size, and share as few
    /// first links as that allows.
    pub(crate) fn parts(&self, root: usize) -> Vec<Vec<u32>> {
        let ranks = 0..self.0.endpoints.len() as u32;
        let others = ranks.filter(|&rank| self.position(rank) != root);
        let mut groups: BTreeMap<Option<usize>, Vec<u32>> = BTreeMap::new();
        for rank in others {
            let row = self.0.links.get(root);
            let link = row.and_then(|row| row[self.position(rank)]);
            groups.entry(link).or_default().push(rank);
        }
        let count = self.ranks_of(root).len();
        let mut groups: Vec<Vec<u32>> = groups.into_values().collect();
        // The largest groups are cut in two until there is one for everybody.
        while groups.len() < count {
            let largest = groups.iter_mut().max_by_key(|group| group.len());
            let Some(group) = largest.filter(|group| group.len() > 1) else {
                break;
            };
            let half = group.split_off(group.len() / 2);
            groups.push(half);
        }
        // The largest first, each to the endpoint that has least.
        groups.sort_by_key(|group| (core::cmp::Reverse(group.len()), group.first().copied()));
        let mut parts = vec![Vec::new(); count];
        for group in groups {
            if let Some(part) = parts
                .iter_mut()
                .min_by_key(|part: &&mut Vec<u32>| part.len())
            {
                part.extend(group);
            }
        }
        parts
    }

    /// The lists of algorithms.
    #[must_use]
    pub fn algorithms(&self) -> &Algorithms {
        &self.0.algorithms
    }
}

/// What a name means.
fn find<T: Copy>(
    geometry: &str,
    what: &'static str,
    name: &str,
    known: &[(&'static str, T)],
) -> Result<T, Error> {
    let found = known.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| Error::UnknownName {
            geometry: geometry.into(),
            what,
            name: name.into(),
            known: known.iter().map(|(name, _)| *name).collect(),
        })
}
