// SPDX-License-Identifier: MIT OR Apache-2.0
//! The dependency graph of a whole machine, made of the route of every pair of nodes.

use std::collections::{BTreeSet, VecDeque};

use petgraph::algo::toposort;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::resource::{Class, Resource, place};
use crate::routing::{Hop, Route, minimal_ports, odd_distance};
use crate::rules::{Fault, Rules};
use crate::torus::Torus;

/// One step of a cycle: who holds a resource waits for the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Held resource.
    pub holds: Resource,
    /// Awaited resource.
    pub wants: Resource,
    /// A packet that does so: where it entered these channels, and its destination. None behind ejection, where packets
    /// end and begin.
    pub packet: Option<(usize, usize)>,
}

impl Wait {
    /// The step in words, with coordinates of `torus`.
    pub fn text(&self, torus: &Torus) -> String {
        let (holds, wants) = (self.holds.name(torus), self.wants.name(torus));
        let packet = self.packet.map_or(String::new(), |(src, dst)| {
            format!(" (packet {} to {})", place(torus, src), place(torus, dst))
        });
        format!("{holds} waits for {wants}{packet}")
    }
}

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Resources in use.
    pub resources: usize,
    /// Pairs of resources of which one is held while the other is waited for.
    pub dependencies: usize,
    /// A shortest cycle through one of its resources; empty without a cycle.
    pub cycle: Vec<Wait>,
}

/// Builds the graph of `torus` under `rules` from the routes of all pairs and looks for a cycle. Time and memory
/// grow with the square of the number of nodes.
pub fn exhaustive(torus: &Torus, rules: &Rules) -> Report {
    let builder = Builder { torus, rules };
    let edges = builder.edges();
    let mut graph = DiGraph::<(), (), u32>::with_capacity(builder.ids(), edges.len());
    for _ in 0..builder.ids() {
        graph.add_node(());
    }
    let mut used = vec![false; builder.ids()];
    for &(from, to) in &edges {
        graph.add_edge(NodeIndex::from(from), NodeIndex::from(to), ());
        used[from as usize] = true;
        used[to as usize] = true;
    }
    let cycle = match toposort(&graph, None) {
        Ok(_) => Vec::new(),
        Err(cycle) => builder.explain(&shortest_cycle(&graph, cycle.node_id())),
    };
    Report {
        resources: used.iter().filter(|&&used| used).count(),
        dependencies: edges.len(),
        cycle,
    }
}

/// The fewest nodes that lead from `start`, which lies on a cycle, back to it.
pub(crate) fn shortest_cycle(graph: &DiGraph<(), (), u32>, start: NodeIndex) -> Vec<usize> {
    let mut parent = vec![None; graph.node_count()];
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for next in graph.neighbors(node) {
            if next == start {
                let mut path = vec![node];
                while let Some(before) = parent[path[path.len() - 1].index()] {
                    path.push(before);
                }
                path.reverse();
                return path.iter().map(|node| node.index()).collect();
            }
            if parent[next.index()].is_none() {
                parent[next.index()] = Some(node);
                queue.push_back(next);
            }
        }
    }
    Vec::new()
}

/// Number of classes.
const CLASSES: usize = Class::ALL.len();

struct Builder<'a> {
    torus: &'a Torus,
    rules: &'a Rules,
}

impl Builder<'_> {
    fn links(&self) -> usize {
        self.torus.nodes() * self.torus.ports()
    }

    /// Numbers of resources: channels, dynamic channels, injections, ejections, remote gets, reordering.
    fn ids(&self) -> usize {
        5 * CLASSES * self.links() + (1 + CLASSES) * self.torus.nodes()
    }

    fn id(&self, resource: Resource) -> u32 {
        let link =
            |node, port, class| CLASSES * (node * self.torus.ports() + port) + class as usize;
        let links = CLASSES * self.links();
        let id = match resource {
            Resource::Channel {
                node,
                port,
                class,
                dateline,
            } => 2 * link(node, port, class) + dateline,
            Resource::Dynamic { node, port, class } => 2 * links + link(node, port, class),
            Resource::Injection { node, port, class } => 3 * links + link(node, port, class),
            Resource::Ejection { node, port, class } => 4 * links + link(node, port, class),
            Resource::RemoteGet { node } => 5 * links + node,
            Resource::Reordering { node, class } => {
                5 * links + self.torus.nodes() + CLASSES * node + class as usize
            }
        };
        id as u32
    }

    fn resource(&self, id: usize) -> Resource {
        let links = CLASSES * self.links();
        let parts = |link: usize| {
            let (port, class) = (link / CLASSES, Class::ALL[link % CLASSES]);
            (port / self.torus.ports(), port % self.torus.ports(), class)
        };
        if let Some(id) = id.checked_sub(5 * links) {
            return match id.checked_sub(self.torus.nodes()) {
                None => Resource::RemoteGet { node: id },
                Some(id) => Resource::Reordering {
                    node: id / CLASSES,
                    class: Class::ALL[id % CLASSES],
                },
            };
        }
        let kind = id / links;
        let (node, port, class) = parts(if kind < 2 { id / 2 } else { id % links });
        match kind {
            0 | 1 => Resource::Channel {
                node,
                port,
                class,
                dateline: id % 2,
            },
            2 => Resource::Dynamic { node, port, class },
            3 => Resource::Injection { node, port, class },
            _ => Resource::Ejection { node, port, class },
        }
    }

    /// Class in whose channels the packets of `class` travel.
    fn travels_as(&self, class: Class) -> Class {
        if self.rules.breaks(Fault::Classes) {
            Class::Request
        } else {
            class
        }
    }

    /// Every (held, waited for), each once.
    fn edges(&self) -> Vec<(u32, u32)> {
        // Resources that each resource waits for: few, found again for many pairs of nodes.
        let mut wanted: Vec<Vec<u32>> = vec![Vec::new(); self.ids()];
        let mut add = |holds: Resource, wants: Resource| {
            let (list, wants) = (&mut wanted[self.id(holds) as usize], self.id(wants));
            if !list.contains(&wants) {
                list.push(wants);
            }
        };
        self.walk(&mut |holds, wants, _| add(holds, wants));
        for node in 0..self.torus.nodes() {
            let ports = 0..self.torus.ports();
            for port in ports.filter(|&port| self.torus.neighbour(node, port).is_some()) {
                let ejection = Resource::Ejection {
                    node,
                    port,
                    class: Class::Request,
                };
                let injection = Resource::Injection {
                    node,
                    port,
                    class: self.travels_as(Class::Response),
                };
                let service = Resource::RemoteGet { node };
                add(ejection, service);
                add(service, injection);
                for class in Class::ALL.into_iter().filter(|class| class.dynamic()) {
                    self.reorder(node, port, class, &mut add);
                }
            }
        }
        let held = (0..).zip(wanted);
        held.flat_map(|(holds, wants)| wants.into_iter().map(move |wants| (holds, wants)))
            .collect()
    }

    /// Packets of a flow that come to `node` by `port`: one in its place waits for those before it, which may come by any
    /// link, and a request then for what stands behind ejection. Every packet that arrives has a place.
    fn reorder(
        &self,
        node: usize,
        port: usize,
        class: Class,
        add: &mut dyn FnMut(Resource, Resource),
    ) {
        let class = self.travels_as(class);
        let place = Resource::Reordering { node, class };
        let ejection = Resource::Ejection { node, port, class };
        add(place, ejection);
        if class == Class::Request {
            add(place, Resource::RemoteGet { node });
        }
        if self.rules.breaks(Fault::Reordering) {
            add(ejection, place);
        }
    }

    /// The waits of `cycle`, each with a packet that shows it.
    fn explain(&self, cycle: &[usize]) -> Vec<Wait> {
        let next = cycle.iter().cycle().skip(1);
        let mut waits: Vec<Wait> = cycle
            .iter()
            .zip(next)
            .map(|(&holds, &wants)| Wait {
                holds: self.resource(holds),
                wants: self.resource(wants),
                packet: None,
            })
            .collect();
        self.walk(&mut |holds, wants, packet| {
            for wait in &mut waits {
                if wait.packet.is_none() && wait.holds == holds && wait.wants == wants {
                    wait.packet = Some(packet);
                }
            }
        });
        waits
    }

    /// Calls `visit` with what packets hold, what they then wait for, and (where such a packet entered these channels,
    /// its destination). Each pair comes at least once for each destination it occurs with.
    fn walk(&self, visit: &mut dyn FnMut(Resource, Resource, (usize, usize))) {
        // All classes take the same routes.
        let mut classes = Class::ALL.map(|class| self.travels_as(class)).to_vec();
        classes.dedup();
        let mut dynamic = classes.clone();
        dynamic.retain(|class| class.dynamic());
        for dst in 0..self.torus.nodes() {
            self.deterministic_to(dst, &classes, visit);
            self.dynamic_to(dst, &dynamic, visit);
        }
    }

    /// Routes to `dst` in deterministic channels. Each node is an entry, for packets that are injected there and
    /// for those that come from a dynamic channel.
    fn deterministic_to(
        &self,
        dst: usize,
        classes: &[Class],
        visit: &mut dyn FnMut(Resource, Resource, (usize, usize)),
    ) {
        let mut seen = vec![false; 4 * self.links()];
        let nodes = (0..self.torus.nodes()).filter(|&entry| entry != dst);
        for (entry, src) in nodes.flat_map(|entry| origins(self.torus, entry, dst)) {
            let packet = (src, dst);
            let Hop::Link(mut route) = Hop::next(self.torus, self.rules, packet, entry, None)
            else {
                continue;
            };
            let odd = usize::from(odd_distance(self.torus, packet));
            let mut here = entry;
            let mut came = None;
            loop {
                let next = self.torus.neighbour(here, route.port);
                let next = next.expect("routes follow links");
                for &class in classes {
                    let wants = channel(here, route, class);
                    let holds = match came {
                        Some((before, by)) => channel(before, by, class),
                        // Those of other nodes hold a dynamic channel: `dynamic_to`.
                        None if src != entry => continue,
                        None => Resource::Injection {
                            node: src,
                            port: route.port,
                            class,
                        },
                    };
                    visit(holds, wants, packet);
                    if class.dynamic() && self.rules.breaks(Fault::CutThrough) {
                        self.leave_and_return(next, dst, class, (wants, src), visit);
                    }
                }
                let number = 2 * (here * self.torus.ports() + route.port) + route.dateline;
                if std::mem::replace(&mut seen[2 * number + odd], true) {
                    break;
                }
                let arrival = Route {
                    port: route.port ^ 1,
                    ..route
                };
                let (before, by) = (here, route);
                let ejection = |class| Resource::Ejection {
                    node: next,
                    port: arrival.port,
                    class,
                };
                match Hop::next(self.torus, self.rules, packet, next, Some(arrival)) {
                    Hop::Link(onward) => {
                        if classes.contains(&Class::Request) {
                            // It may leave a copy here, and has claimed its next channel by then.
                            let ejection = ejection(Class::Request);
                            visit(channel(before, by, Class::Request), ejection, packet);
                            visit(channel(next, onward, Class::Request), ejection, packet);
                        }
                        (here, route, came) = (next, onward, Some((before, by)));
                    }
                    Hop::Eject => {
                        for &class in classes {
                            visit(channel(before, by, class), ejection(class), packet);
                        }
                        break;
                    }
                }
            }
        }
    }

    /// A packet that still holds `held` goes on from `here` in dynamic channels, anywhere on its minimal routes, and
    /// asks for a deterministic channel there.
    fn leave_and_return(
        &self,
        here: usize,
        dst: usize,
        class: Class,
        (held, src): (Resource, usize),
        visit: &mut dyn FnMut(Resource, Resource, (usize, usize)),
    ) {
        let mut reached = BTreeSet::new();
        let mut queue = vec![here];
        while let Some(at) = queue.pop() {
            if at == dst || !reached.insert(at) {
                continue;
            }
            if let Hop::Link(route) = Hop::next(self.torus, self.rules, (src, dst), at, None) {
                visit(held, channel(at, route, class), (src, dst));
            }
            let ports = minimal_ports(self.torus, at, dst);
            queue.extend(
                ports
                    .iter()
                    .filter_map(|&port| self.torus.neighbour(at, port)),
            );
        }
    }

    /// Minimal routes to `dst` in dynamic channels. Who sits in one waits for its deterministic channel: that it
    /// may also go on in dynamic ones is one more way, no other wait.
    fn dynamic_to(
        &self,
        dst: usize,
        classes: &[Class],
        visit: &mut dyn FnMut(Resource, Resource, (usize, usize)),
    ) {
        let nodes = (0..self.torus.nodes()).filter(|&here| here != dst);
        for (here, src) in nodes.flat_map(|here| origins(self.torus, here, dst)) {
            for port in minimal_ports(self.torus, here, dst) {
                let next = self
                    .torus
                    .neighbour(here, port)
                    .expect("routes follow links");
                let hop = Hop::next(self.torus, self.rules, (src, dst), next, None);
                for &class in classes {
                    let dynamic = |node, port| Resource::Dynamic { node, port, class };
                    let holds = dynamic(here, port);
                    let injection = Resource::Injection {
                        node: here,
                        port,
                        class,
                    };
                    if src == here {
                        visit(injection, holds, (src, dst));
                    }
                    match hop {
                        Hop::Eject => {
                            let ejection = Resource::Ejection {
                                node: next,
                                port: port ^ 1,
                                class,
                            };
                            visit(holds, ejection, (src, dst));
                        }
                        Hop::Link(_) if self.rules.breaks(Fault::Escape) => {
                            for onward in minimal_ports(self.torus, next, dst) {
                                visit(holds, dynamic(next, onward), (src, dst));
                            }
                        }
                        Hop::Link(route) => visit(holds, channel(next, route, class), (src, dst)),
                    }
                }
            }
        }
    }
}

/// `here` with nodes whose packets to `dst` may come by: itself, and one whose ties in rings of two go the other way.
fn origins(torus: &Torus, here: usize, dst: usize) -> impl Iterator<Item = (usize, usize)> {
    [Some(here), other_origin(torus, here, dst)]
        .into_iter()
        .flatten()
        .map(move |src| (here, src))
}

/// A node at an odd distance from `here` with a shortest way to `dst` that goes by `here`; none if no ring of two is
/// left to cross, where alone it matters.
fn other_origin(torus: &Torus, here: usize, dst: usize) -> Option<usize> {
    let (at, to) = (torus.coord(here), torus.coord(dst));
    let mut tie = (0..torus.dims()).filter(|&d| torus.ring(d) && torus.size(d) == 2);
    tie.find(|&d| at[d] != to[d])?;
    let mut stride = 1;
    (0..torus.dims()).find_map(|d| {
        let distance = |a: u8, b: u8| match torus.ring(d) {
            true => a.abs_diff(b).min(torus.size(d) - a.abs_diff(b)),
            false => a.abs_diff(b),
        };
        let mut places = 0..torus.size(d);
        let from = places.find(|&from| {
            from.abs_diff(at[d]) % 2 == 1
                && distance(from, at[d]) + distance(at[d], to[d]) == distance(from, to[d])
        });
        let origin =
            from.map(|from| here + usize::from(from) * stride - usize::from(at[d]) * stride);
        stride *= usize::from(torus.size(d));
        origin
    })
}

fn channel(node: usize, route: Route, class: Class) -> Resource {
    Resource::Channel {
        node,
        port: route.port,
        class,
        dateline: route.dateline,
    }
}
