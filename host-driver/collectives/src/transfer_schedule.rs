// SPDX-License-Identifier: MIT OR Apache-2.0
//! Assignment of members to endpoints of the root's task in endpoint-parallel collectives, which balances the load of
//! the links (EP-10 to EP-12, EP-15).

use gyre_driver::{Coord, Network, Routing};

use crate::link_loads::{LinkLoads, choices, links};

/// Rounds in which every transfer is placed again, given the places of all others.
const ROUNDS: usize = 3;

/// Work of the endpoints of a root's task, numbered in the order of their ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TransferSchedule {
    /// Members that each endpoint serves, in order.
    pub parts: Vec<Vec<Share>>,
    /// Transfers between the task's own node and its endpoints on others.
    pub feeds: Vec<Feed>,
}

/// A member that an endpoint serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub rank: u32,
    /// Routing of data between endpoint and member.
    pub routing: Routing,
}

/// Transfer between an endpoint at home and one on another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Feed {
    /// Number of the endpoint at home.
    pub home: usize,
    /// Number of the endpoint on the other node; for data of all members, the first of its node, which forwards it to
    /// the rest.
    pub away: usize,
    /// Member that the data belongs to; `None` for data of all.
    pub rank: Option<u32>,
}

/// Data relayed by an endpoint on another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transit {
    /// The same data for all members: once for each node with endpoints.
    Once,
    /// Data of each member served there.
    Each,
}

/// Destination of a transfer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Served {
    pub rank: u32,
    pub node: Option<Coord>,
    /// Whether the member receives data.
    pub data: bool,
}

/// A node with endpoints of the root's task. The first is the task's own.
struct Site {
    node: Option<Coord>,
    endpoints: Vec<usize>,
}

/// Candidate path to a member.
struct Choice {
    site: usize,
    routing: Routing,
    /// Links of the path.
    links: Vec<(Coord, usize)>,
}

impl TransferSchedule {
    /// Divides `members` among endpoints on `nodes`, for data that leaves the first of these nodes.
    pub fn out(
        network: Option<&Network>,
        nodes: &[Option<Coord>],
        members: &[Served],
        transit: Transit,
    ) -> Self {
        let sites = sites(nodes);
        let feed = |site: usize| links(network, sites[0].node, sites[site].node, Routing::Fixed);
        let moves = |site: usize| usize::from(transit == Transit::Each && site > 0);
        let mut loads = LinkLoads::default();
        let mut work = vec![0; sites.len()];
        if transit == Transit::Once {
            for site in 1..sites.len() {
                loads.add(&feed(site));
                work[0] += 1;
            }
        }
        let choice = |site: usize, to, routing| {
            let mut links = links(network, sites[site].node, to, routing);
            if moves(site) > 0 {
                links.extend(feed(site));
            }
            Choice {
                site,
                routing,
                links,
            }
        };
        let of = |member: &Served| -> Vec<Choice> {
            let count = if member.data { sites.len() } else { 0 };
            let of_site = |site: usize| {
                let ways = choices(network, sites[site].node, member.node);
                let made = ways
                    .into_iter()
                    .map(|routing| choice(site, member.node, routing));
                made.collect::<Vec<_>>()
            };
            (0..count).flat_map(of_site).collect()
        };
        let choices: Vec<Vec<Choice>> = members.iter().map(of).collect();
        // An endpoint sends its data serially.
        let each =
            |work: &[usize], site: usize| (work[site] + 1).div_ceil(sites[site].endpoints.len());
        let mut chosen: Vec<Option<usize>> = vec![None; members.len()];
        for _ in 0..ROUNDS {
            for (choices, chosen) in choices.iter().zip(&mut chosen) {
                if let Some(before) = chosen.take() {
                    let Choice { site, links, .. } = &choices[before];
                    loads.remove(links);
                    work[*site] -= 1;
                    work[0] -= moves(*site);
                }
                let cost = |&number: &usize| {
                    let Choice { site, links, .. } = &choices[number];
                    let (busiest, sum) = loads.of(links);
                    let mut most = (busiest + 1).max(each(&work, *site));
                    if moves(*site) > 0 {
                        most = most.max(each(&work, 0));
                    }
                    (most, sum)
                };
                *chosen = (0..choices.len()).min_by_key(cost);
                if let Some(Choice { site, links, .. }) = chosen.map(|number| &choices[number]) {
                    loads.add(links);
                    work[*site] += 1;
                    work[0] += moves(*site);
                }
            }
        }
        let chosen = choices
            .iter()
            .zip(chosen)
            .map(|(c, number)| Some(&c[number?]));
        Self::divide(
            network,
            &sites,
            members,
            &chosen.collect::<Vec<_>>(),
            transit,
        )
    }

    /// Divides `members`, ordered by position, among receiving endpoints on `nodes`: each takes a range (EP-12). Data
    /// received on other nodes is forwarded to the first.
    pub fn into(network: Option<&Network>, nodes: &[Option<Coord>], members: &[Served]) -> Self {
        let sites = sites(nodes);
        let mut schedule = Self {
            parts: vec![Vec::new(); nodes.len()],
            feeds: Vec::new(),
        };
        let home = &sites[0].endpoints;
        let mut loads = LinkLoads::default();
        for (index, member) in members.iter().enumerate() {
            let endpoint = index * nodes.len() / members.len();
            let way = |routing| links(network, member.node, nodes[endpoint], routing);
            let choices = choices(network, member.node, nodes[endpoint]);
            let best = choices
                .into_iter()
                .min_by_key(|&routing| loads.of(&way(routing)));
            let routing = best.unwrap_or_default();
            loads.add(&way(routing));
            let rank = member.rank;
            schedule.parts[endpoint].push(Share { rank, routing });
            if !home.contains(&endpoint) {
                schedule.feeds.push(Feed {
                    home: home[schedule.feeds.len() % home.len()],
                    away: endpoint,
                    rank: Some(rank),
                });
            }
        }
        schedule
    }

    /// Divides the work of each node among its endpoints, by first link.
    fn divide(
        network: Option<&Network>,
        sites: &[Site],
        members: &[Served],
        chosen: &[Option<&Choice>],
        transit: Transit,
    ) -> Self {
        let count = sites.iter().map(|site| site.endpoints.len()).sum();
        let mut schedule = Self {
            parts: vec![Vec::new(); count],
            feeds: Vec::new(),
        };
        // Endpoints on other nodes first: they determine the feeds.
        for (number, site) in sites.iter().enumerate().rev() {
            let mut jobs: Vec<(Option<usize>, Job)> = Vec::new();
            if number == 0 {
                for other in &sites[1..] {
                    let way = links(network, site.node, other.node, Routing::Fixed);
                    let link = way.first().map(|link| link.1);
                    let fed: Vec<(usize, Option<u32>)> = match transit {
                        Transit::Once => {
                            let works = |&e: &usize| !schedule.parts[e].is_empty();
                            let any = other.endpoints.iter().any(works);
                            any.then_some((other.endpoints[0], None))
                                .into_iter()
                                .collect()
                        }
                        Transit::Each => {
                            let of = |&away: &usize| {
                                let ranks = schedule.parts[away].iter().map(|share| share.rank);
                                ranks.map(move |rank| (away, Some(rank)))
                            };
                            other.endpoints.iter().flat_map(of).collect()
                        }
                    };
                    let feed = |(away, rank)| (link, Job::Feed { away, rank });
                    jobs.extend(fed.into_iter().map(feed));
                }
            }
            for (member, chosen) in members.iter().zip(chosen) {
                if let Some(choice) = chosen
                    && choice.site == number
                {
                    let share = Share {
                        rank: member.rank,
                        routing: choice.routing,
                    };
                    let link = choice.links.first().map(|link| link.1);
                    jobs.push((link, Job::Serve(share)));
                }
            }
            // Feeds come first on their link, since others wait for them. Transfers without a link come last.
            jobs.sort_by_key(|(link, job)| (link.is_none(), *link, matches!(job, Job::Serve(_))));
            let (jobs, endpoints) = (jobs.into_iter().map(|(_, job)| job), &site.endpoints);
            let total = jobs.len();
            for (index, job) in jobs.enumerate() {
                let endpoint = endpoints[index * endpoints.len() / total];
                match job {
                    Job::Serve(share) => schedule.parts[endpoint].push(share),
                    Job::Feed { away, rank } => schedule.feeds.push(Feed {
                        home: endpoint,
                        away,
                        rank,
                    }),
                }
            }
        }
        // Members without data are notified by endpoints at home.
        let told = members.iter().filter(|member| !member.data);
        for (member, &endpoint) in told.zip(sites[0].endpoints.iter().cycle()) {
            schedule.parts[endpoint].push(Share {
                rank: member.rank,
                routing: Routing::Fixed,
            });
        }
        schedule
    }

    /// Endpoint that serves a member, and the routing between them.
    pub fn of(&self, rank: u32) -> Option<(usize, Routing)> {
        self.parts.iter().enumerate().find_map(|(endpoint, part)| {
            let share = part.iter().find(|share| share.rank == rank)?;
            Some((endpoint, share.routing))
        })
    }
}

enum Job {
    Serve(Share),
    Feed { away: usize, rank: Option<u32> },
}

/// Nodes of the endpoints, each with its endpoints.
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
