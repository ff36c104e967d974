// SPDX-License-Identifier: MIT OR Apache-2.0
//! The collective network: who waits for whom among the packets of class routes (X-3, HW-5).
//!
//! A node's part in a class route is what its register holds, and the tree's wiring is the firmware's. Each class route
//! is a virtual channel of every tree link. A packet at the front of one waits for room for all of it wherever it goes
//! next, for an engine that carries another packet, and, if it combines, for the contributions of the other inputs.
//! Engines start only with room for a whole packet at each output, and one that turns around only with the way down
//! its own: a packet under way waits for nothing but its own flits, from nodes that have started it before.
//!
//! Contributions to a route come in order. What stands before the earliest one that anybody waits for finds no packet that
//! combines in the buffers ahead of it, for that would be an earlier one: it waits for packets that go alone only
//! ([`Front::Ahead`]).
//!
//! As on the torus, ejected packets are taken (software empties reception FIFOs), and every member contributes.

use gyre_firmware::{RoutePart, TREE_ROUTES, parent};
use gyre_layout::registers::coll_route;
use petgraph::algo::toposort;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::graph::shortest_cycle;
use crate::resource::{Class, place};
use crate::rules::{Fault, Rules};
use crate::torus::Torus;

/// Routing of a class route's packets by coll_select and coll_down, from the route's register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeRoute {
    /// Packets go on to the parent, and come down from it; else they turn around here.
    pub parent: bool,
    /// The children that contribute and get copies.
    pub children: [bool; 2],
    /// The node itself contributes and receives.
    pub member: bool,
}

impl TreeRoute {
    /// The route that a register of a node describes; none if it is not valid.
    pub fn of_register(word: u64) -> Option<Self> {
        let set = |field: gyre_layout::Field| field.get(word) != 0;
        set(coll_route::VALID).then(|| Self {
            parent: set(coll_route::PARENT),
            children: [set(coll_route::CHILD0), set(coll_route::CHILD1)],
            member: set(coll_route::LOCAL),
        })
    }

    /// Inputs whose packets are combined, and on which a packet of the route may come up: this node, child 0, child 1.
    pub fn inputs(self) -> [bool; 3] {
        [self.member, self.children[0], self.children[1]]
    }

    /// Outputs of a packet that comes up, for this node too if `mine`: parent, child 0, child 1, ejection.
    pub fn outputs_up(self, mine: bool) -> [bool; 4] {
        if self.parent {
            [true, false, false, false]
        } else {
            self.outputs_down(mine)
        }
    }

    /// The same of one that comes from the parent, or has turned around.
    pub fn outputs_down(self, mine: bool) -> [bool; 4] {
        let [child0, child1] = self.children;
        [false, child0, child1, self.member && mine]
    }
}

/// A machine's class routes, as its nodes' registers hold them.
#[derive(Clone, Debug)]
pub struct ClassRoutes {
    nodes: usize,
    /// By node and route, the possible values of the register.
    parts: Vec<Vec<TreeRoute>>,
    routes: usize,
}

impl ClassRoutes {
    /// Routes that join these sets of nodes, with the register values that software writes for them.
    ///
    /// # Panics
    /// With more routes than the hardware has.
    pub fn joining(nodes: usize, members: &[Vec<u32>]) -> Self {
        assert!(members.len() <= usize::from(TREE_ROUTES), "too many routes");
        let mut parts = Vec::with_capacity(nodes * members.len());
        for node in 0..nodes as u32 {
            for set in members {
                let part = RoutePart::of(set, node);
                let word = part.map_or(0, |part| part.class_register(0));
                parts.push(TreeRoute::of_register(word).into_iter().collect());
            }
        }
        Self {
            nodes,
            parts,
            routes: members.len(),
        }
    }

    /// Routes of all kinds that overlap: of everybody, of those with a remainder, of halves and ends, of single nodes.
    pub fn overlapping(nodes: usize) -> Self {
        let all = 0..nodes as u32;
        let pick = |wanted: &dyn Fn(u32) -> bool| -> Vec<u32> {
            all.clone().filter(|&node| wanted(node)).collect()
        };
        let half = all.end / 2;
        let last = all.end - 1;
        let mut sets = vec![
            all.clone().collect(),
            pick(&|n| n % 2 == 0),
            pick(&|n| n % 2 == 1),
            pick(&|n| n % 3 == 0),
            pick(&|n| n % 3 == 1),
            pick(&|n| n % 7 == 2),
            pick(&|n| n < half),
            pick(&|n| n >= half),
            pick(&|n| n == 0 || n == last),
            pick(&|n| n == last || n == half),
            pick(&|n| n == last),
            pick(&|n| n.count_ones() % 2 == 0),
            pick(&|n| n.count_ones() % 2 == 1),
            pick(&|n| n.wrapping_mul(0x9e37_79b9) >> 30 == 0),
            pick(&|n| n.wrapping_mul(0x85eb_ca6b) >> 30 != 0),
        ];
        // The whole machine once more: transfers are shared by two routes.
        sets.push(all.collect());
        Self::joining(nodes, &sets)
    }

    /// Any routes at all: every register of `routes` routes may hold whatever its flags allow. The tree of a
    /// machine is the beginning of that of a larger one, so this stands for smaller machines too.
    pub fn any(nodes: usize, routes: usize) -> Self {
        let every: Vec<TreeRoute> = (0..16_u64)
            .filter_map(|bits| {
                TreeRoute::of_register(
                    coll_route::VALID.put(1)
                        | coll_route::PARENT.put(bits & 1)
                        | coll_route::CHILD0.put(bits >> 1 & 1)
                        | coll_route::CHILD1.put(bits >> 2 & 1)
                        | coll_route::LOCAL.put(bits >> 3),
                )
            })
            .collect();
        Self {
            nodes,
            parts: vec![every; nodes * routes],
            routes,
        }
    }

    fn at(&self, node: usize, route: usize) -> &[TreeRoute] {
        &self.parts[node * self.routes + route]
    }
}

/// Packet at the front of a virtual channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Front {
    /// It combines with those of the other inputs.
    Combines,
    /// It goes alone: a broadcast, or one to be discarded.
    Alone,
    /// It goes alone, and the earliest contribution that others wait for comes behind it.
    Ahead,
}

/// Something that a packet of the collective network holds or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeResource {
    /// Virtual channel of a route on the link from `node` to its parent, with its buffer there.
    Up(usize, usize, Front),
    /// Injection buffer of a route at `node`.
    Local(usize, usize, Front),
    /// Virtual channel of a route on the link from the parent to `node`, with its buffer here.
    Down(usize, usize),
    /// The next contribution to a route that `node` sends its parent.
    Contribution(usize, usize),
    /// The next contribution of `node` itself, from the route's injection FIFO.
    Own(usize, usize),
    /// The engine of the way up carries a packet of the route.
    UpPacket(usize, usize),
    /// The engine of the way down carries a packet of the route.
    DownPacket(usize, usize),
    /// The engine of the way up.
    UpEngine(usize),
    /// The engine of the way down.
    DownEngine(usize),
    /// Ejection buffer of a class, and what stands behind it.
    Ejection(usize, Class),
}

/// Kinds of resources of each route of a node, and of each node alone.
const PER_ROUTE: usize = 11;
const PER_NODE: usize = 4;

impl TreeResource {
    /// The resource in words, with coordinates of `torus`.
    pub fn name(&self, torus: &Torus) -> String {
        let at = |node| place(torus, node);
        match *self {
            Self::Up(node, route, front) => {
                format!(
                    "{} of route {route} on the link up from {}",
                    front.name(),
                    at(node)
                )
            }
            Self::Local(node, route, front) => {
                format!(
                    "{} of route {route} in the injection buffer at {}",
                    front.name(),
                    at(node)
                )
            }
            Self::Down(node, route) => {
                format!("packet of route {route} on the link down to {}", at(node))
            }
            Self::Contribution(node, route) => {
                format!("contribution to route {route} from below {}", at(node))
            }
            Self::Own(node, route) => format!("contribution to route {route} of {}", at(node)),
            Self::UpPacket(node, route) => {
                format!("packet of route {route} under way up at {}", at(node))
            }
            Self::DownPacket(node, route) => {
                format!("packet of route {route} under way down at {}", at(node))
            }
            Self::UpEngine(node) => format!("way up at {}", at(node)),
            Self::DownEngine(node) => format!("way down at {}", at(node)),
            Self::Ejection(node, class) => format!("{class} ejection of the tree at {}", at(node)),
        }
    }
}

impl Front {
    const ALL: [Self; 3] = [Self::Combines, Self::Alone, Self::Ahead];

    fn name(self) -> &'static str {
        match self {
            Self::Combines => "packet to be combined",
            Self::Alone | Self::Ahead => "packet that goes alone",
        }
    }
}

/// Result of a check of class routes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeReport {
    /// Resources in use.
    pub resources: usize,
    /// Pairs of resources of which one is held, or outstanding, while the other is waited for.
    pub dependencies: usize,
    /// A shortest cycle through one of its resources, each of which waits for the next; empty if there is none.
    pub cycle: Vec<TreeResource>,
}

impl TreeReport {
    /// The cycle in words, one step each, with coordinates of `torus`.
    pub fn text(&self, torus: &Torus) -> Vec<String> {
        let next = self.cycle.iter().cycle().skip(1);
        let steps = self.cycle.iter().zip(next);
        steps
            .map(|(holds, wants)| format!("{} waits for {}", holds.name(torus), wants.name(torus)))
            .collect()
    }
}

/// Builds the graph of these class routes under `rules` and looks for a cycle.
pub fn tree(routes: &ClassRoutes, rules: &Rules) -> TreeReport {
    let mut builder = Builder {
        routes,
        rules,
        edges: Vec::new(),
    };
    let mut edges = Vec::new();
    for node in 0..routes.nodes {
        builder.node(node);
        // Few edges are found by two nodes.
        builder.edges.sort_unstable();
        builder.edges.dedup();
        edges.append(&mut builder.edges);
    }
    edges.sort_unstable();
    edges.dedup();
    let mut used = vec![false; ids(routes)];
    for &(from, to) in &edges {
        used[from as usize] = true;
        used[to as usize] = true;
    }
    let mut graph = DiGraph::<(), (), u32>::with_capacity(ids(routes), edges.len());
    for _ in 0..ids(routes) {
        graph.add_node(());
    }
    for &(from, to) in &edges {
        graph.add_edge(NodeIndex::from(from), NodeIndex::from(to), ());
    }
    let cycle = match toposort(&graph, None) {
        Ok(_) => Vec::new(),
        Err(cycle) => shortest_cycle(&graph, cycle.node_id()),
    };
    TreeReport {
        resources: used.into_iter().filter(|&used| used).count(),
        dependencies: edges.len(),
        cycle: cycle.into_iter().map(|id| resource(routes, id)).collect(),
    }
}

fn ids(routes: &ClassRoutes) -> usize {
    routes.nodes * (routes.routes * PER_ROUTE + PER_NODE)
}

fn id(routes: &ClassRoutes, resource: TreeResource) -> u32 {
    let of_route =
        |node: usize, route: usize, kind: usize| (node * routes.routes + route) * PER_ROUTE + kind;
    let of_node = |node: usize, kind: usize| {
        routes.nodes * routes.routes * PER_ROUTE + node * PER_NODE + kind
    };
    let id = match resource {
        TreeResource::Up(node, route, front) => of_route(node, route, front as usize),
        TreeResource::Local(node, route, front) => of_route(node, route, 3 + front as usize),
        TreeResource::Down(node, route) => of_route(node, route, 6),
        TreeResource::Contribution(node, route) => of_route(node, route, 7),
        TreeResource::Own(node, route) => of_route(node, route, 8),
        TreeResource::UpPacket(node, route) => of_route(node, route, 9),
        TreeResource::DownPacket(node, route) => of_route(node, route, 10),
        TreeResource::UpEngine(node) => of_node(node, 0),
        TreeResource::DownEngine(node) => of_node(node, 1),
        TreeResource::Ejection(node, class) => of_node(node, 2 + class as usize),
    };
    id as u32 // Torus has fewer nodes than would need more.
}

/// The resource with this number.
fn resource(routes: &ClassRoutes, id: usize) -> TreeResource {
    let of_routes = routes.nodes * routes.routes * PER_ROUTE;
    if let Some(id) = id.checked_sub(of_routes) {
        let node = id / PER_NODE;
        return match id % PER_NODE {
            0 => TreeResource::UpEngine(node),
            1 => TreeResource::DownEngine(node),
            2 => TreeResource::Ejection(node, Class::Request),
            _ => TreeResource::Ejection(node, Class::Response),
        };
    }
    let (pair, kind) = (id / PER_ROUTE, id % PER_ROUTE);
    let (node, route) = (pair / routes.routes, pair % routes.routes);
    match kind {
        0..=2 => TreeResource::Up(node, route, Front::ALL[kind]),
        3..=5 => TreeResource::Local(node, route, Front::ALL[kind - 3]),
        6 => TreeResource::Down(node, route),
        7 => TreeResource::Contribution(node, route),
        8 => TreeResource::Own(node, route),
        9 => TreeResource::UpPacket(node, route),
        _ => TreeResource::DownPacket(node, route),
    }
}

struct Builder<'a> {
    routes: &'a ClassRoutes,
    rules: &'a Rules,
    edges: Vec<(u32, u32)>,
}

impl Builder<'_> {
    fn add(&mut self, holds: TreeResource, wants: TreeResource) {
        self.edges
            .push((id(self.routes, holds), id(self.routes, wants)));
    }

    /// The children of `node` that there are, by port.
    fn children(&self, node: usize) -> [Option<usize>; 2] {
        [2 * node + 1, 2 * node + 2].map(|child| {
            let there = child < self.routes.nodes && parent(child as u32) == Some(node as u32);
            there.then_some(child)
        })
    }

    fn others(&self, route: usize) -> impl Iterator<Item = usize> + use<> {
        (0..self.routes.routes).filter(move |&other| other != route)
    }

    /// All waits of packets that are at `node`.
    fn node(&mut self, node: usize) {
        for route in 0..self.routes.routes {
            let parts = self.routes;
            for &part in parts.at(node, route) {
                self.way_up(node, route, part);
                self.way_down(node, route, part);
                self.contribution(node, route, part);
            }
            if parts.at(node, route).is_empty() {
                continue;
            }
            // Each engine has one packet at a time.
            self.add(
                TreeResource::UpEngine(node),
                TreeResource::UpPacket(node, route),
            );
            self.add(
                TreeResource::DownEngine(node),
                TreeResource::DownPacket(node, route),
            );
        }
    }

    /// The packets at the front of the inputs of the way up.
    fn way_up(&mut self, node: usize, route: usize, part: TreeRoute) {
        let [child0, child1] = self.children(node);
        let inputs = [Some(node), child0, child1];
        let present: Vec<(usize, usize)> = (0..3)
            .filter(|&input| part.inputs()[input])
            .filter_map(|input| inputs[input].map(|from| (input, from)))
            .collect();
        let up = TreeResource::UpPacket(node, route);
        for &(input, from) in &present {
            for front in Front::ALL {
                let holds = match input {
                    0 => TreeResource::Local(from, route, front),
                    _ => TreeResource::Up(from, route, front),
                };
                self.add(holds, TreeResource::UpEngine(node));
                self.outputs(holds, node, route, part.outputs_up(true), front);
                if !part.parent {
                    self.add(holds, TreeResource::DownEngine(node));
                }
                if front == Front::Combines {
                    for &(other, of) in present.iter().filter(|other| other.0 != input) {
                        self.add(holds, awaited(other, of, route));
                    }
                }
            }
            if input > 0 && !self.rules.breaks(Fault::TreeCutThrough) {
                // Its flits come from there, where it has been started. Where it may stand still there, the wait below is
                // the one to be shown.
                self.add(up, TreeResource::UpPacket(from, route));
            }
        }
        if part.parent && self.rules.breaks(Fault::TreeCutThrough) {
            // The packet ahead of it on the link waits for the packet of the other link.
            let above = parent(node as u32).map(|above| above as usize);
            let below = above.map_or([None; 2], |above| self.children(above));
            for other in below.into_iter().flatten().filter(|&other| other != node) {
                if !self.routes.at(other, route).is_empty() {
                    self.add(up, TreeResource::Contribution(other, route));
                }
            }
        }
    }

    /// The packets that come from the parent.
    fn way_down(&mut self, node: usize, route: usize, part: TreeRoute) {
        let under_way = TreeResource::DownPacket(node, route);
        if !part.parent {
            // It has turned around.
            self.add(under_way, TreeResource::UpPacket(node, route));
            return;
        }
        if node == 0 {
            return;
        }
        let holds = TreeResource::Down(node, route);
        self.add(holds, TreeResource::DownEngine(node));
        self.outputs(holds, node, route, part.outputs_down(true), Front::Alone);
        let above = (node - 1) / 2;
        self.add(under_way, TreeResource::DownPacket(above, route));
        if self.rules.breaks(Fault::TreeChannels) {
            self.add(holds, TreeResource::Up(node, route, Front::Combines));
        }
    }

    /// Adds the waits of a contribution that leaves `node` for its parent.
    fn contribution(&mut self, node: usize, route: usize, part: TreeRoute) {
        let outstanding = TreeResource::Contribution(node, route);
        let [child0, child1] = self.children(node);
        for (input, from) in [Some(node), child0, child1].into_iter().enumerate() {
            let Some(from) = from.filter(|_| part.inputs()[input]) else {
                continue;
            };
            if part.parent {
                self.add(outstanding, awaited(input, from, route));
            }
            if input == 0 {
                self.own(node, route);
            }
        }
        if !part.parent || node == 0 {
            return;
        }
        self.add(outstanding, TreeResource::Up(node, route, Front::Ahead));
        let shared = self.rules.breaks(Fault::TreeRoutes);
        for other in self.others(route) {
            if !self.routes.at(node, other).is_empty() {
                self.add(outstanding, TreeResource::UpPacket(node, other));
            }
            if shared && self.routes.at(node, other).iter().any(|part| part.parent) {
                self.add(outstanding, TreeResource::Up(node, other, Front::Combines));
            }
        }
    }

    /// Adds the waits of the node's own contribution on its way to the injection buffer.
    fn own(&mut self, node: usize, route: usize) {
        let outstanding = TreeResource::Own(node, route);
        self.add(outstanding, TreeResource::Local(node, route, Front::Ahead));
        if self.rules.breaks(Fault::TreeFifo) {
            for other in self.others(route) {
                if self.routes.at(node, other).iter().any(|part| part.member) {
                    self.add(
                        outstanding,
                        TreeResource::Local(node, other, Front::Combines),
                    );
                }
            }
        }
    }

    /// `holds` waits for room at these outputs of `node`.
    fn outputs(
        &mut self,
        holds: TreeResource,
        node: usize,
        route: usize,
        outputs: [bool; 4],
        front: Front,
    ) {
        let [to_parent, child0, child1, eject] = outputs;
        if to_parent && node > 0 {
            self.add(holds, TreeResource::Up(node, route, front));
            match front {
                // Its channel may hold packets of either kind.
                Front::Combines => self.add(holds, TreeResource::Up(node, route, Front::Alone)),
                Front::Alone => self.add(holds, TreeResource::Up(node, route, Front::Combines)),
                Front::Ahead => {}
            }
        }
        for (_, child) in [child0, child1]
            .into_iter()
            .zip(self.children(node))
            .filter(|(part, _)| *part)
        {
            if let Some(child) = child {
                self.add(holds, TreeResource::Down(child, route));
            }
        }
        if eject {
            for class in [Class::Request, Class::Response] {
                self.add(holds, TreeResource::Ejection(node, class));
            }
        }
    }
}

/// Resource that an input without a packet to combine waits for: the node itself, or one of its children.
fn awaited(input: usize, from: usize, route: usize) -> TreeResource {
    match input {
        0 => TreeResource::Own(from, route),
        _ => TreeResource::Contribution(from, route),
    }
}
