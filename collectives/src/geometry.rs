//! Geometries: the endpoints that take part in collectives (EP-7).

mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use gyre_affinity::Place;
use gyre_driver::{
    Client, Coord, Endpoint, GeometryConfig, GeometryMembers, Platform, Routing, TaskId,
};

use crate::algorithm::{Algorithm, Algorithms};
use crate::error::Error;
use crate::plan::{Plan, Served, Transit};
use crate::request::Collective;
use crate::torus::{Places, Torus};

/// A set of tasks and the endpoints of each that take part in collectives, with the algorithms valid for
/// them. Made alike in all tasks without communication; clones are handles to the same geometry.
///
/// The *rank* of an endpoint is its place in the list of endpoints. The *position* of a task is its place
/// in the order in which tasks first appear there: roots, and blocks of scatter, gather and the like, are
/// counted in positions. The first endpoint of a task is its leader. All endpoints of a task use the same
/// send and receive buffer, but those that live on another node than the task (EP-15): these bring buffers of
/// that node, of the same size and layout, which data passes through; what is in them afterwards is no result.
#[derive(Debug, Clone)]
pub struct Geometry(Arc<Inner>);

/// Plans made so far, by root and collective.
type Plans = Arc<Mutex<BTreeMap<(usize, Collective), Arc<Plan>>>>;

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
    /// Where the endpoints are in the network, if known.
    places: Option<Places>,
    plans: Plans,
    /// Node and hardware thread of each position; empty when unknown.
    threads: Vec<(usize, Place)>,
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
            places: None,
            plans: Arc::default(),
            threads: Vec::new(),
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
        geometry.with_algorithms(algorithms).on_network(client)
    }

    /// The same geometry with other lists of algorithms.
    #[must_use]
    pub fn with_algorithms(self, algorithms: Algorithms) -> Self {
        Self(Arc::new(Inner {
            algorithms,
            ..self.into_inner()
        }))
    }

    /// The same geometry, whose algorithms know the network and where its endpoints are. All members do this, or
    /// none. A geometry with endpoints on other nodes than their tasks needs it.
    ///
    /// # Errors
    /// [`Error::LeaderAway`]; [`Error::Driver`] when the node cannot be asked.
    pub fn on_network<P: Platform>(self, client: &Client<P>) -> Result<Self, Error> {
        let places = Some(Places::new(&self, client)?);
        Ok(Self(Arc::new(Inner {
            places,
            plans: Arc::default(),
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

    /// What the endpoints of the task at `root` do in an endpoint-parallel broadcast, scatter or gather. Who gets
    /// data is the leaders of the other tasks.
    pub(crate) fn plan(&self, root: usize, collective: Collective) -> Arc<Plan> {
        let mut plans = self.0.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(self.new_plan(root, collective));
        Arc::clone(plans.entry((root, collective)).or_insert_with(new))
    }

    fn new_plan(&self, root: usize, collective: Collective) -> Plan {
        let places = self.0.places.as_ref();
        let node = |rank: u32| places.map(|places| places.node(rank));
        let nodes: Vec<_> = self.ranks_of(root).iter().map(|&rank| node(rank)).collect();
        let leaders = (0..self.tasks().len()).map(|position| self.ranks_of(position)[0]);
        let network = places.map(|places| &places.network);
        let served = |rank: u32| Served {
            rank,
            node: node(rank),
            data: self.ranks_of(self.position(rank))[0] == rank,
        };
        if collective == Collective::Gather {
            let root = self.ranks_of(root)[0];
            let mut plan = Plan::into(network, &nodes, &leaders.map(served).collect::<Vec<_>>());
            // The root's own block stays where it is.
            let parts = plan.parts.iter_mut();
            parts.for_each(|part| part.retain(|share| share.rank != root));
            plan.feeds.retain(|feed| feed.rank != Some(root));
            return plan;
        }
        let all = 0..self.endpoints().len() as u32;
        let (members, transit): (Vec<u32>, _) = match collective {
            Collective::Broadcast => (all.collect(), Transit::Once),
            _ => (leaders.collect(), Transit::Each),
        };
        let members = members.into_iter().filter(|&r| self.position(r) != root);
        Plan::out(
            network,
            &nodes,
            &members.map(served).collect::<Vec<_>>(),
            transit,
        )
    }

    /// Between which endpoints the endpoint-parallel broadcast, scatter or gather with the task at `root` as root
    /// moves the data of a task, or a broadcast's data: what a checker of the load of links asks.
    #[must_use]
    pub fn transfers(&self, root: usize, collective: Collective) -> Vec<Transfer> {
        let plan = self.plan(root, collective);
        let endpoint = |rank: u32| self.endpoints()[rank as usize];
        let own = |number: usize| endpoint(self.ranks_of(root)[number]);
        let leads = |rank: u32| self.ranks_of(self.position(rank))[0] == rank;
        let served = plan.parts.iter().enumerate().flat_map(|(number, part)| {
            let leaders = part.iter().filter(|share| leads(share.rank));
            leaders.map(move |share| (own(number), endpoint(share.rank), share.routing))
        });
        let feeds = plan.feeds.iter();
        let fed = feeds.map(|feed| (own(feed.home), own(feed.away), Routing::Fixed));
        let out = |(home, other, routing)| {
            let (from, to) = match collective {
                Collective::Gather => (other, home),
                _ => (home, other),
            };
            Transfer { from, to, routing }
        };
        served.chain(fed).map(out).collect()
    }

    /// Whether the geometry knows where its endpoints are.
    pub(crate) fn knows_network(&self) -> bool {
        self.0.places.is_some()
    }

    /// Node of an endpoint, if known.
    pub(crate) fn node(&self, rank: u32) -> Option<Coord> {
        self.0.places.as_ref().map(|places| places.node(rank))
    }

    /// Whether an endpoint lives on another node than its task.
    pub(crate) fn is_away(&self, rank: u32) -> bool {
        let leader = self.ranks_of(self.position(rank))[0];
        let places = self.0.places.as_ref();
        places.is_some_and(|places| places.node(rank) != places.node(leader))
    }

    /// Ranks of the endpoints of the task at `position` that live with it.
    pub(crate) fn at_home(&self, position: usize) -> Vec<u32> {
        let ranks = self.ranks_of(position).iter().copied();
        ranks.filter(|&rank| !self.is_away(rank)).collect()
    }

    /// The torus that the tasks make up, if there is one on every node of a machine whose dimensions are all
    /// rings, and the geometry knows its network.
    pub(crate) fn torus(&self) -> Option<&Torus> {
        self.0.places.as_ref()?.torus()
    }

    /// Endpoints that every task has at least on its own node.
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

/// Data that moves between two endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Where it is.
    pub from: Endpoint,
    /// Where it goes.
    pub to: Endpoint,
    /// How its packets find their way.
    pub routing: Routing,
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
