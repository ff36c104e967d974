//! Which endpoint of the root's task serves which member in endpoint-parallel collectives, so that the links
//! carry as equal shares as the network allows (EP-10 to EP-12, EP-15).

use std::collections::BTreeMap;

use gyre_driver::{Coord, Network};

/// Times that every transfer is placed anew, once all others have their places.
const ROUNDS: usize = 3;

/// The work of the endpoints of a root's task, which are numbered in the order of their ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The members that each endpoint serves, by rank, in the order in which it does.
    pub parts: Vec<Vec<u32>>,
    /// What passes between the task's own node and its endpoints on others.
    pub feeds: Vec<Feed>,
}

/// Data between an endpoint at home and one that is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Feed {
    /// Number of the endpoint at home.
    pub home: usize,
    /// Number of the endpoint away.
    pub away: usize,
    /// The member whose data it is; `None` for that of all.
    pub rank: Option<u32>,
}

/// What travels with the help of an endpoint that is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transit {
    /// The same data for everybody: once for each node that has endpoints.
    Once,
    /// The data of every member that is served there.
    Each,
}

/// A member to be served.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Served {
    pub rank: u32,
    pub node: Option<Coord>,
    /// Whether data goes there.
    pub data: bool,
}

/// A node on which endpoints of the root's task live. The first is the task's own.
struct Site {
    node: Option<Coord>,
    endpoints: Vec<usize>,
}

/// Links, by the node that they leave and its port, with the messages that they carry.
#[derive(Default)]
struct Loads {
    links: BTreeMap<(Coord, usize), usize>,
}

impl Loads {
    fn add(&mut self, way: &[(Coord, usize)]) {
        for &link in way {
            *self.links.entry(link).or_default() += 1;
        }
    }

    fn remove(&mut self, way: &[(Coord, usize)]) {
        for link in way {
            if let Some(load) = self.links.get_mut(link) {
                *load -= 1;
            }
        }
    }

    /// Load of the busiest link of a way, and of all its links together.
    fn of(&self, way: &[(Coord, usize)]) -> (usize, usize) {
        let loads = way
            .iter()
            .map(|link| self.links.get(link).copied().unwrap_or(0));
        loads.fold((0, 0), |(most, sum), load| (most.max(load), sum + load))
    }
}

/// Links of the way between two nodes; none when the network is not known.
fn links(network: Option<&Network>, from: Option<Coord>, to: Option<Coord>) -> Vec<(Coord, usize)> {
    let (Some(network), Some(from), Some(to)) = (network, from, to) else {
        return Vec::new();
    };
    let mut at = from;
    let hops = network.way(from, to).into_iter();
    hops.map(|hop| (std::mem::replace(&mut at, hop.to), hop.port))
        .collect()
}

impl Plan {
    /// Divides `members` among endpoints on `nodes`, for data that goes out from the first of these nodes.
    pub fn out(
        network: Option<&Network>,
        nodes: &[Option<Coord>],
        members: &[Served],
        transit: Transit,
    ) -> Self {
        let sites = sites(nodes);
        let home = sites[0].node;
        let feed = |site: usize| links(network, home, sites[site].node);
        let mut loads = Loads::default();
        let mut work = vec![0; sites.len()];
        if transit == Transit::Once {
            for site in 1..sites.len() {
                loads.add(&feed(site));
                work[0] += 1;
            }
        }
        let way = |site: usize, to: Option<Coord>| {
            let mut way = links(network, sites[site].node, to);
            if transit == Transit::Each {
                way.extend(feed(site));
            }
            way
        };
        // Endpoints send one after the other what they have to send.
        let share =
            |work: &[usize], site: usize| (work[site] + 1).div_ceil(sites[site].endpoints.len());
        let mut chosen: Vec<Option<usize>> = vec![None; members.len()];
        for _ in 0..ROUNDS {
            for (member, chosen) in members.iter().zip(&mut chosen) {
                if !member.data {
                    continue;
                }
                let moves = |site: usize| usize::from(transit == Transit::Each && site > 0);
                if let Some(site) = chosen.take() {
                    loads.remove(&way(site, member.node));
                    work[site] -= 1;
                    work[0] -= moves(site);
                }
                let cost = |&site: &usize| {
                    let (busiest, sum) = loads.of(&way(site, member.node));
                    let mut most = (busiest + 1).max(share(&work, site));
                    if moves(site) > 0 {
                        most = most.max(share(&work, 0));
                    }
                    (most, sum, site)
                };
                let site = (0..sites.len()).min_by_key(cost).unwrap_or(0);
                loads.add(&way(site, member.node));
                work[site] += 1;
                work[0] += moves(site);
                *chosen = Some(site);
            }
        }
        Self::divide(network, &sites, members, &chosen, transit)
    }

    /// Divides `members`, which are given in the order of their positions, among endpoints on `nodes` that data
    /// comes in to: each takes a range (EP-12). What comes to other nodes than the first goes on from there.
    pub fn into(nodes: &[Option<Coord>], members: &[u32]) -> Self {
        let sites = sites(nodes);
        let mut plan = Self {
            parts: vec![Vec::new(); nodes.len()],
            feeds: Vec::new(),
        };
        let home = &sites[0].endpoints;
        for (index, &rank) in members.iter().enumerate() {
            let endpoint = index * nodes.len() / members.len();
            plan.parts[endpoint].push(rank);
            if !home.contains(&endpoint) {
                plan.feeds.push(Feed {
                    home: home[plan.feeds.len() % home.len()],
                    away: endpoint,
                    rank: Some(rank),
                });
            }
        }
        plan
    }

    /// Divides what each node has to do among its endpoints, by first link.
    fn divide(
        network: Option<&Network>,
        sites: &[Site],
        members: &[Served],
        chosen: &[Option<usize>],
        transit: Transit,
    ) -> Self {
        let count = sites.iter().map(|site| site.endpoints.len()).sum();
        let mut plan = Self {
            parts: vec![Vec::new(); count],
            feeds: Vec::new(),
        };
        let first = |from: Option<Coord>, to| links(network, from, to).first().map(|link| link.1);
        // Those away first: then it is known who is fed.
        for (number, site) in sites.iter().enumerate().rev() {
            let mut jobs: Vec<(Option<usize>, Job)> = Vec::new();
            if number == 0 {
                for other in &sites[1..] {
                    let link = first(site.node, other.node);
                    let fed = match transit {
                        Transit::Once => vec![(other.endpoints[0], None)],
                        Transit::Each => {
                            let of = |&away: &usize| {
                                plan.parts[away].iter().map(move |&rank| (away, Some(rank)))
                            };
                            other.endpoints.iter().flat_map(of).collect()
                        }
                    };
                    jobs.extend(
                        fed.into_iter()
                            .map(|(away, rank)| (link, Job::Feed { away, rank })),
                    );
                }
            }
            for (member, _) in members
                .iter()
                .zip(chosen)
                .filter(|(_, c)| **c == Some(number))
            {
                jobs.push((first(site.node, member.node), Job::Serve(member.rank)));
            }
            // Feeds come first of their link: others wait for them.
            jobs.sort_by_key(|(link, job)| (*link, matches!(job, Job::Serve(_))));
            let (jobs, endpoints) = (jobs.into_iter().map(|(_, job)| job), &site.endpoints);
            let total = jobs.len();
            for (index, job) in jobs.enumerate() {
                let endpoint = endpoints[index * endpoints.len() / total];
                match job {
                    Job::Serve(rank) => plan.parts[endpoint].push(rank),
                    Job::Feed { away, rank } => plan.feeds.push(Feed {
                        home: endpoint,
                        away,
                        rank,
                    }),
                }
            }
        }
        // Who gets no data is told by endpoints at home.
        let told = members.iter().filter(|member| !member.data);
        for (member, &endpoint) in told.zip(sites[0].endpoints.iter().cycle()) {
            plan.parts[endpoint].push(member.rank);
        }
        plan
    }
}

enum Job {
    Serve(u32),
    Feed { away: usize, rank: Option<u32> },
}

/// The nodes of the endpoints, each with those that live there.
fn sites(nodes: &[Option<Coord>]) -> Vec<Site> {
    let mut sites: Vec<Site> = Vec::new();
    for (endpoint, &node) in nodes.iter().enumerate() {
        match sites.iter_mut().find(|site| site.node == node) {
            Some(site) => site.endpoints.push(endpoint),
            None => sites.push(Site {
                node,
                endpoints: vec![endpoint],
            }),
        }
    }
    sites
}
