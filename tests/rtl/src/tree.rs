// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tree of Verilated `gyre_collective` units, wired in Rust: collectives judged by
//! [`crate::collective::Book`], and barriers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use gyre_layout::{CollOp, ErrorReason};

use crate::Unit;
use crate::collective::{
    Book, Operation, ROUTES, Route, contribution, flits, parent, place, result,
};
use crate::fabric::Word;
use crate::packet::{Assembler, Flit};

mod checks;
mod ports;
mod record;

use ports::Ports;
pub use record::{Config, Done, LinkUse, Report, Trouble, Wire};

/// Ports of a node: 0 parent, 1 and 2 children.
pub const PORTS: usize = 3;
const CLASSES: usize = 2;

/// A tap on a wire, which may change its words. Arguments: cycle, sending node, port, word.
pub type WireTap = Box<dyn FnMut(u64, usize, usize, &mut Wire)>;

struct Node {
    unit: Unit,
    /// Flits to inject, by route.
    queues: [VecDeque<Flit>; ROUTES],
    credits: [usize; ROUTES],
    /// Route of a packet whose injection has begun, if they do not mix.
    open: Option<usize>,
    assemblers: [Assembler; CLASSES],
    /// `coll_cfg_t`: class routes, barrier routes, enabled links.
    routes: [u64; ROUTES],
    barriers: [u64; ROUTES],
    link_enable: u64,
    enter: u16,
    in_reset: bool,
}

/// The machine.
pub struct Tree {
    config: Config,
    ports: Ports,
    nodes: Vec<Node>,
    /// Words on each wire, by sending node and port; the front arrives next.
    wires: Vec<[VecDeque<Wire>; PORTS]>,
    routes: BTreeMap<usize, Route>,
    /// Expected results.
    pub book: Book,
    /// Probability that a node with something to inject does so in a cycle.
    pub inject: f64,
    /// Flits of different routes mix when they are injected; else a packet begins when there is room for all
    /// of it, and is injected to its end.
    pub mix: bool,
    /// Probability that an ejection queue is ready in a cycle, by class.
    pub eject: [f64; CLASSES],
    /// Sees all wires.
    pub tap: Option<WireTap>,
    /// Error reports so far.
    pub reports: Vec<Report>,
    /// Barriers that let members go.
    pub done: Vec<Done>,
    /// Use of each link, by sending node and port.
    pub used: BTreeMap<(usize, usize), LinkUse>,
    /// Random numbers.
    pub rng: fastrand::Rng,
    cycle: u64,
    next_id: u32,
    counted: u64,
}

impl Config {
    /// `nodes` nodes with flits of 16 B and 64 flits of buffer a route.
    pub fn reference(nodes: usize, latency: usize, seed: u64) -> Self {
        Self {
            unit: "collective",
            flit_bytes: 16,
            depth: 64,
            nodes,
            latency,
            seed,
        }
    }
}

impl Tree {
    /// A tree with its links up.
    ///
    /// # Panics
    /// When they do not come up.
    pub fn up(config: Config) -> Self {
        let mut tree = Self::new(config);
        let up = tree.bring_up();
        up.unwrap_or_else(|trouble| panic!("links do not come up: {trouble}"));
        tree
    }

    /// A tree with its links enabled and no routes.
    pub fn new(config: Config) -> Self {
        let mut rng = fastrand::Rng::with_seed(config.seed);
        let nodes: Vec<Node> = (0..config.nodes)
            .map(|_| Node {
                unit: Unit::new(config.unit, rng.u32(..)),
                queues: Default::default(),
                credits: [config.depth; ROUTES],
                open: None,
                assemblers: Default::default(),
                routes: [0; ROUTES],
                barriers: [0; ROUTES],
                link_enable: 0,
                enter: 0,
                in_reset: false,
            })
            .collect();
        let quiet = || VecDeque::from(vec![Wire::default(); config.latency]);
        let mut tree = Self {
            ports: Ports::of(&nodes[0].unit),
            wires: (0..config.nodes)
                .map(|_| [(); 3].map(|()| quiet()))
                .collect(),
            nodes,
            routes: BTreeMap::new(),
            book: Book::default(),
            inject: 1.0,
            mix: false,
            eject: [1.0; CLASSES],
            tap: None,
            reports: Vec::new(),
            done: Vec::new(),
            used: BTreeMap::new(),
            rng,
            cycle: 0,
            next_id: 1,
            counted: 0,
            config,
        };
        for node in 0..tree.nodes.len() {
            let present = |port: &usize| tree.peer(node, *port).is_some();
            let enable = (0..PORTS).filter(present).map(|port| 1 << port).sum();
            let coord = place(node).pack().expect("small coordinates");
            let port = tree.ports.coord;
            tree.nodes[node].unit.set(port, 0, coord.into());
            tree.enable_links(node, enable);
        }
        tree
    }

    /// Node and port at the other end of a link.
    fn peer(&self, node: usize, port: usize) -> Option<(usize, usize)> {
        match port {
            0 => parent(node).map(|up| (up, 1 + (node - 1) % 2)),
            _ => Some((2 * node + port, 0)).filter(|&(down, _)| down < self.nodes.len()),
        }
    }

    /// Nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// A tree has at least one node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Cycles so far.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Enabled links of a node, bit p = port p.
    pub fn links_of(&self, node: usize) -> u64 {
        self.nodes[node].link_enable
    }

    /// Enables the links of a node, bit p = port p.
    pub fn enable_links(&mut self, node: usize, enable: u64) {
        self.nodes[node].link_enable = enable;
        self.configure(node);
    }

    /// Sets a class route at all its nodes, and clears it at the others.
    pub fn set_route(&mut self, number: usize, route: &Route) {
        for node in 0..self.nodes.len() {
            let bits = route.parts.get(&node).map_or(0, |part| part.bits());
            self.nodes[node].routes[number] = bits;
            self.configure(node);
        }
        self.routes.insert(number, route.clone());
    }

    /// Sets the bits of one node's `coll_route_t` of a class route.
    pub fn override_route(&mut self, node: usize, number: usize, bits: u64) {
        self.nodes[node].routes[number] = bits;
        self.configure(node);
    }

    /// Sets a barrier route at all its nodes, and clears it at the others.
    pub fn set_barrier(&mut self, number: usize, route: &Route) {
        for node in 0..self.nodes.len() {
            let bits = route.parts.get(&node).map_or(0, |part| part.bits());
            self.nodes[node].barriers[number] = bits;
            self.configure(node);
        }
    }

    fn configure(&mut self, index: usize) {
        // coll_cfg_t from bit 0: 16 barrier routes of 9 bits, 16 class routes, link_enable.
        let node = &mut self.nodes[index];
        let mut cfg = [0; 10];
        let fields = node.barriers.iter().chain(&node.routes);
        let enable = [node.link_enable];
        for (field, &value) in fields.chain(&enable).enumerate() {
            for bit in 0..9 {
                let at = 9 * field + bit;
                cfg[at / 32] |= ((value >> bit & 1) as u32) << (at % 32);
            }
        }
        node.unit.set_wide(self.ports.cfg, 0, &cfg);
    }

    /// Holds a node in reset, or lets it go. What was inside and to be injected is gone.
    pub fn hold_in_reset(&mut self, node: usize, hold: bool) {
        let depth = self.config.depth;
        let reset = self.ports.reset;
        let node = &mut self.nodes[node];
        node.in_reset = hold;
        node.unit.set(reset, 0, (!hold).into());
        node.queues = Default::default();
        node.credits = [depth; ROUTES];
        node.open = None;
        node.assemblers = Default::default();
    }

    /// Whether all enabled links are up.
    pub fn links_up(&self) -> bool {
        self.nodes.iter().all(|node| {
            (0..PORTS).all(|port| {
                node.link_enable >> port & 1 == 0 || node.unit.get(self.ports.state, port) == 3
            })
        })
    }

    /// Runs until all links are up.
    ///
    /// # Errors
    /// [`Trouble::Stuck`] if that takes more than 1500 cycles.
    pub fn bring_up(&mut self) -> Result<(), Trouble> {
        for _ in 0..1500 {
            if self.links_up() {
                return Ok(());
            }
            self.step()?;
        }
        Err(Trouble::Stuck(self.cycle, Vec::new()))
    }

    /// Queues the packets of an operation on a route that is set, with random payloads from `fill`; returns
    /// its id. The contributions of `late` are kept back and returned, as node and flits; their order is not
    /// checked.
    ///
    /// # Panics
    /// If the route is not set.
    pub fn start(
        &mut self,
        operation: &Operation,
        late: &[usize],
        mut fill: impl FnMut(&mut fastrand::Rng, usize) -> Vec<u8>,
    ) -> (u32, Vec<(usize, Vec<Flit>)>) {
        let id = self.next_id;
        self.next_id += 1;
        let route = self.routes[&operation.route].clone();
        let members = route.members();
        let senders = match operation.op {
            CollOp::Broadcast => vec![operation.from],
            _ => members.clone(),
        };
        let mut packets = BTreeMap::new();
        let mut kept = Vec::new();
        for &node in &senders {
            let payload = fill(&mut self.rng, operation.len.into());
            let bytes = contribution(operation, id, node, &payload);
            let flits = flits(&bytes, self.config.flit_bytes, id);
            packets.insert(node, bytes);
            if late.contains(&node) {
                kept.push((node, flits));
            } else {
                self.queue(node, operation.route, flits);
            }
        }
        let bytes = match operation.op {
            CollOp::Broadcast => packets[&operation.from].clone(),
            _ => result(&route, operation, &packets),
        };
        let receivers: BTreeSet<usize> = match operation.to {
            Some(node) => [node].into(),
            None => members.into_iter().collect(),
        };
        let ordered: Vec<usize> = (senders.into_iter())
            .filter(|node| !late.contains(node))
            .collect();
        self.book.sent(id, operation, &ordered, receivers, bytes);
        (id, kept)
    }

    /// Queues flits for injection.
    pub fn queue(&mut self, node: usize, route: usize, flits: impl IntoIterator<Item = Flit>) {
        self.nodes[node].queues[route].extend(flits);
    }

    /// Flits that a node has still to inject on a route.
    pub fn queued(&self, node: usize, route: usize) -> usize {
        self.nodes[node].queues[route].len()
    }

    /// A node enters barriers in the next cycle, bit r = route r.
    pub fn enter(&mut self, node: usize, routes: u16) {
        self.nodes[node].enter |= routes;
    }

    /// One cycle of the whole machine.
    ///
    /// # Errors
    /// [`Trouble`] if an assertion fails or something comes out wrong.
    pub fn step(&mut self) -> Result<(), Trouble> {
        for node in 0..self.nodes.len() {
            self.inputs_from_links(node);
            self.inject(node);
            self.eject(node)?;
        }
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let ticked = node.unit.tick();
            ticked.map_err(|failure| Trouble::Assertion(index, failure))?;
        }
        self.cycle += 1;
        for node in 0..self.nodes.len() {
            self.outputs(node);
        }
        Ok(())
    }

    /// Runs `cycles` cycles.
    ///
    /// # Errors
    /// [`Trouble`] as [`Tree::step`].
    pub fn run(&mut self, cycles: usize) -> Result<(), Trouble> {
        (0..cycles).try_for_each(|_| self.step())
    }

    fn inputs_from_links(&mut self, node: usize) {
        for port in 0..PORTS {
            let Some((peer, from)) = self.peer(node, port) else {
                continue;
            };
            let wire = self.wires[peer][from][0];
            let unit = &mut self.nodes[node].unit;
            unit.set(self.ports.link_ctl_i, port, wire.word.ctl.into());
            unit.set(self.ports.bar_i, port, wire.bar.into());
            if wire.word.valid() {
                let words = &wire.word.data[..self.config.flit_bytes / 4];
                unit.set_wide(self.ports.link_data_i, port, words);
                unit.set(self.ports.link_dbg_i, port, wire.word.dbg.into());
            }
        }
    }

    /// A flit of a random route that has credit.
    fn inject(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        node.unit.set(self.ports.bar_enter, 0, node.enter.into());
        node.enter = 0;
        node.unit.set(self.ports.inj_valid, 0, 0);
        if node.in_reset || self.rng.f64() >= self.inject {
            return;
        }
        let ready = |&route: &usize| {
            let tail = node.queues[route].iter().position(|flit| flit.tail);
            let need = if self.mix {
                1
            } else {
                tail.map_or(usize::MAX, |at| at + 1)
            };
            !node.queues[route].is_empty() && node.credits[route] >= need
        };
        let can: Vec<usize> = match node.open {
            Some(route) => vec![route],
            None => (0..ROUTES).filter(ready).collect(),
        };
        let Some(&route) = self.rng.choice(&can) else {
            return;
        };
        let Some(flit) = node.queues[route].pop_front() else {
            return;
        };
        node.credits[route] -= 1;
        node.open = (!self.mix && !flit.tail).then_some(route);
        node.unit.set(self.ports.inj_valid, 0, 1);
        node.unit.set(self.ports.inj_route, 0, route as u64);
        node.unit.set(self.ports.inj_ctl, 0, flit.ctl());
        let words = &flit.data[..self.config.flit_bytes / 4];
        node.unit.set_wide(self.ports.inj_data, 0, words);
    }

    fn eject(&mut self, index: usize) -> Result<(), Trouble> {
        let valid = self.nodes[index].unit.get(self.ports.ej_valid, 0);
        let mut ready = 0;
        for class in 0..CLASSES {
            if self.rng.f64() >= self.eject[class] {
                continue;
            }
            ready |= 1 << class;
            let node = &mut self.nodes[index];
            if valid >> class & 1 == 0 || node.in_reset {
                continue;
            }
            let ctl = node.unit.get(self.ports.ej_ctl, class);
            let data = node.unit.get_wide(self.ports.ej_data, class);
            let assembled = node.assemblers[class]
                .push(&Flit::from_ctl(ctl, &data), self.config.flit_bytes)
                .map_err(|error| Trouble::Framing(self.cycle, index, class, error))?;
            if let Some(received) = assembled {
                let judged = self.book.received(index, class, &received);
                judged.map_err(|discrepancy| Trouble::Book(self.cycle, discrepancy))?;
            }
        }
        let unit = &mut self.nodes[index].unit;
        unit.set(self.ports.ej_ready, 0, ready);
        Ok(())
    }

    /// Takes a node's link outputs, returned credits, reports and barrier releases.
    fn outputs(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        let unit = &node.unit;
        let counted = unit.get(self.ports.perf_flit, 0);
        for port in 0..PORTS {
            let mut wire = Wire {
                word: Word {
                    ctl: unit.get(self.ports.link_ctl_o, port) as u32,
                    ..Word::default()
                },
                bar: unit.get(self.ports.bar_o, port) as u16,
            };
            self.counted += counted >> port & 1;
            if wire.word.valid() {
                let data = unit.get_wide(self.ports.link_data_o, port);
                wire.word.data[..data.len()].copy_from_slice(&data);
                wire.word.dbg = unit.get(self.ports.link_dbg_o, port) as u32;
                let used = self.used.entry((index, port)).or_insert(LinkUse {
                    first: self.cycle,
                    ..LinkUse::default()
                });
                used.flits += 1;
                used.last = self.cycle;
            }
            if let Some(tap) = &mut self.tap {
                tap(self.cycle, index, port, &mut wire);
            }
            let line = &mut self.wires[index][port];
            line.pop_front();
            line.push_back(wire);
        }
        if !node.in_reset {
            let credits = unit.get(self.ports.inj_credit, 0);
            for (route, credit) in node.credits.iter_mut().enumerate() {
                *credit += (credits >> route & 1) as usize;
            }
        }
        let done = unit.get(self.ports.bar_done, 0);
        for route in (0..ROUTES).filter(|route| done >> route & 1 != 0) {
            self.done.push(Done {
                cycle: self.cycle,
                node: index,
                route,
            });
        }
        let err = unit.get_u128(self.ports.err, 0);
        if err >> 82 & 1 != 0 {
            let reason = ErrorReason::try_from((err >> 74) as u8);
            self.reports.push(Report {
                cycle: self.cycle,
                node: index,
                reason: reason.unwrap_or(ErrorReason::None),
                place: (err >> 64 & 0x3ff) as u16,
                info: err as u64,
            });
        }
    }
}
