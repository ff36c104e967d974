// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine of Verilated `gyre_network` units, wired in Rust, under raw traffic.

use std::collections::{BTreeMap, VecDeque};

use gyre_layout::ErrorReason;

use crate::packet::{Assembler, CLASSES, Flit, FramingError, MAX_FLIT_WORDS, Packet};
use crate::routes::{Channel, NodeSettings, Place, RtlRouter, Shape, follow, reference_route};
use crate::scoreboard::{Discrepancy, Scoreboard};
use crate::{Failure, Unit};

/// Word on a link in one cycle: `link_word_t`, data, debug id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Bits of `link_word_t`.
    pub ctl: u32,
    /// Flit data.
    pub data: [u32; MAX_FLIT_WORDS],
    /// Debug id.
    pub dbg: u32,
}

impl Word {
    /// A flit is on the data wires.
    pub fn valid(&self) -> bool {
        self.ctl >> 2 & 1 != 0
    }

    /// Gives the word the parity that a sender gives it; `beside` are the wires beside it.
    pub fn seal(&mut self, beside: u16) {
        const COVERED: u32 = 0x1f << 25 | 7;
        let ones = (self.ctl & COVERED).count_ones() + beside.count_ones();
        self.ctl = self.ctl & !(1 << 31) | ones << 31;
    }
}

/// A machine and its traffic are in trouble.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// An assertion of the RTL.
    #[error("node {0}: {1}")]
    Assertion(usize, Failure),
    /// A packet that should not have come.
    #[error("cycle {0}: {1}")]
    Scoreboard(u64, Discrepancy),
    /// Flits that make no packet.
    #[error("cycle {0}: node {1}, path {2}, class {3}: {4}")]
    Framing(u64, usize, usize, usize, FramingError),
    /// A packet by an ejection path that is not its last link.
    #[error("packet {0} ejected by path {1}, its last link is {2}")]
    Path(u32, usize, usize),
    /// A packet on a virtual channel that is not on its way: class, then sending node, port, virtual channel.
    #[error("packet {0} of class {1} leaves node {2} by port {3} on channel {4}")]
    Channel(u32, usize, usize, u8, u32),
    /// A dynamic packet that took another number of links than the shortest way has.
    #[error("packet {0} took {1} links, the shortest way has {2}")]
    Detour(u32, usize, usize),
    /// The counters of flits differ from the flits on the links.
    #[error("cycle {0}: performance outputs told of {1} flits, {2} were on links")]
    Performance(u64, u64, u64),
    /// Packets that do not come.
    #[error("cycle {cycle}: packets {missing:?} have not arrived")]
    Stuck {
        /// When it was given up.
        cycle: u64,
        /// Packets outstanding.
        missing: Vec<u32>,
    },
    /// Nothing is under way, and a node does not say that it is idle, or the reverse.
    #[error("cycle {0}: node {1}: {2}")]
    Idle(u64, usize, &'static str),
    /// An error report that nothing explains.
    #[error("cycle {0}: node {1} reports {2:?} at {3}")]
    Report(u64, usize, ErrorReason, u16),
}

/// An error that a node reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// When.
    pub cycle: u64,
    /// Which node.
    pub node: usize,
    /// Why.
    pub reason: ErrorReason,
    /// Port number.
    pub place: u16,
}

/// How a machine is made.
#[derive(Clone, Debug)]
pub struct Config {
    /// Unit of `build/models.rs`.
    pub unit: &'static str,
    /// Bytes of a flit.
    pub flit_bytes: usize,
    /// Flits of injection buffer a path and class.
    pub inj_depth: usize,
    /// The machine's form.
    pub shape: Shape,
    /// Cycles from output register to input register.
    pub latency: usize,
    /// Of everything random.
    pub seed: u64,
}

/// How willing the outside world is.
#[derive(Clone, Debug)]
pub struct Willingness {
    /// Probability that a path with something to send sends in a cycle.
    pub inject: f64,
    /// Probability that an ejection queue is ready in a cycle, by class.
    pub eject: [f64; CLASSES],
}

impl Default for Willingness {
    fn default() -> Self {
        Self {
            inject: 1.0,
            eject: [1.0; CLASSES],
        }
    }
}

/// A tap on a wire, which may change its words. Arguments: cycle, sending node, port, word.
pub type WireTap = Box<dyn FnMut(u64, usize, usize, &mut Word)>;

/// A tap on flits that leave a machine; the scoreboard sees the flits that it returns.
pub type EjectTap = Box<dyn FnMut(&Flit) -> Vec<Flit>>;

ports! {
    /// Ports of a `gyre_network`.
    struct Ports {
        cfg: "cfg_i", time: "time_i", reset: "rst_ni", link_ctl_i, link_data_i, link_dbg_i, link_ctl_o, link_data_o,
        link_dbg_o, inj_valid: "inj_valid_i", inj_class: "inj_class_i", inj_ctl: "inj_ctl_i", inj_data: "inj_data_i",
        inj_credit: "inj_credit_o", ej_valid: "ej_valid_o", ej_ready: "ej_ready_i", ej_ctl: "ej_ctl_o",
        ej_data: "ej_data_o", state: "link_state_o", perf_flit: "perf_flit_o", perf_vc: "perf_vc_o",
        perf_stall: "perf_stall_o", err: "err_o", idle: "idle_o",
    }
}

/// One node with its attachments.
struct Node {
    unit: Unit,
    /// Flits to inject, by path and class.
    queues: Vec<[VecDeque<Flit>; CLASSES]>,
    /// Credits of the injection buffers.
    credits: Vec<[usize; CLASSES]>,
    assemblers: Vec<[Assembler; CLASSES]>,
    link_enable: u64,
    in_reset: bool,
}

/// The machine.
pub struct Fabric {
    config: Config,
    ports: Ports,
    /// Link ports of a node.
    p: usize,
    nodes: Vec<Node>,
    /// Words on each wire, by sending node and port; the front arrives next.
    wires: Vec<Vec<VecDeque<Word>>>,
    /// Receiving node of each wire.
    targets: Vec<Vec<Option<usize>>>,
    /// The virtual channels that each packet takes, and its class.
    channels: BTreeMap<u32, (usize, Vec<Channel>)>,
    /// Class of each dynamic packet, links of its shortest way, and links that its head has taken.
    hops: BTreeMap<u32, (usize, usize, usize)>,
    /// Heads of dynamic packets seen on dynamic and on deterministic channels.
    pub dynamic_heads: [u64; 2],
    /// A node was misplaced: packets go astray.
    misplaced: bool,
    router: RtlRouter,
    rng: fastrand::Rng,
    cycle: u64,
    next_id: u32,
    /// How willing the outside world is.
    pub willing: Willingness,
    /// Tap on the wires.
    pub wire_tap: Option<WireTap>,
    /// Tap on flits that leave the machine.
    pub eject_tap: Option<EjectTap>,
    /// Packets sent, to be matched with arrivals.
    pub scoreboard: Scoreboard,
    /// Errors reported so far.
    pub reports: Vec<Report>,
    /// Flits that were on links.
    link_flits: u64,
    /// Flits that the performance outputs reported, with the right virtual channel.
    counted_flits: u64,
    /// Cycles in which a flit waited for credit, summed over the outputs.
    pub stalls: u64,
    /// Cycle in which the last packet came out whole.
    pub last_delivery: u64,
}

impl Fabric {
    /// A machine with all links enabled, not yet up.
    pub fn new(config: Config) -> Self {
        let places = config.shape.places();
        let mut rng = fastrand::Rng::with_seed(config.seed);
        let units: Vec<Unit> = places
            .iter()
            .map(|_| Unit::new(config.unit, rng.u32(..)))
            .collect();
        let ports = Ports::of(&units[0]);
        let p = ports.link_ctl_i.elements;
        let nodes: Vec<Node> = units
            .into_iter()
            .map(|unit| Node {
                unit,
                queues: (0..p).map(|_| Default::default()).collect(),
                credits: vec![[config.inj_depth; CLASSES]; p],
                assemblers: (0..p).map(|_| Default::default()).collect(),
                link_enable: 0,
                in_reset: false,
            })
            .collect();
        let targets: Vec<Vec<Option<usize>>> = places
            .iter()
            .map(|place| {
                (0..p as u8)
                    .map(|port| config.shape.neighbour(place, port))
                    .map(|next| next.map(|next| config.shape.index(&next)))
                    .collect()
            })
            .collect();
        let wire = || VecDeque::from(vec![Word::default(); config.latency]);
        let wires = vec![vec![wire(); p]; nodes.len()];
        let mut fabric = Self {
            ports,
            p,
            nodes,
            wires,
            targets,
            channels: BTreeMap::new(),
            hops: BTreeMap::new(),
            dynamic_heads: [0; 2],
            misplaced: false,
            router: RtlRouter::default(),
            rng,
            cycle: 0,
            next_id: 1,
            willing: Willingness::default(),
            wire_tap: None,
            eject_tap: None,
            scoreboard: Scoreboard::default(),
            reports: Vec::new(),
            link_flits: 0,
            counted_flits: 0,
            stalls: 0,
            last_delivery: 0,
            config,
        };
        for node in 0..fabric.nodes.len() {
            let enable = (0..p)
                .filter(|&port| fabric.targets[node][port].is_some())
                .fold(0, |mask, port| mask | 1 << port);
            fabric.enable_links(node, enable);
        }
        fabric
    }

    /// Cycles so far.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node; there always is one.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Ports of `node` that have a link.
    pub fn linked_ports(&self, node: usize) -> u64 {
        (0..self.p)
            .filter(|&port| self.targets[node][port].is_some())
            .fold(0, |mask, port| mask | 1 << port)
    }

    /// Writes a node's configuration with these links enabled.
    pub fn enable_links(&mut self, node: usize, enable: u64) {
        let (shape, place) = (self.config.shape.clone(), self.config.shape.places()[node]);
        self.configure(node, enable, &shape, &place);
    }

    /// Lets a node believe that it is alone in the machine, at its origin, with its links as they are.
    pub fn isolate(&mut self, node: usize) {
        let alone = Shape::new(&[]);
        self.configure(
            node,
            self.nodes[node].link_enable,
            &alone,
            &Default::default(),
        );
    }

    /// Lets a node believe that it is in the place of another one, with its links as they are.
    pub fn misplace(&mut self, node: usize, other: usize) {
        self.misplaced = true;
        let (shape, place) = (self.config.shape.clone(), self.config.shape.places()[other]);
        self.configure(node, self.nodes[node].link_enable, &shape, &place);
    }

    fn configure(&mut self, node: usize, enable: u64, shape: &Shape, place: &Place) {
        let settings = NodeSettings {
            links: enable,
            ..NodeSettings::default()
        };
        let cfg = shape.node_cfg(place, settings);
        self.nodes[node].link_enable = enable;
        let unit = &mut self.nodes[node].unit;
        unit.set_u128(self.ports.cfg, 0, cfg);
    }

    /// Holds a node in reset, or lets it go. What was inside and to be injected is gone.
    pub fn hold_in_reset(&mut self, node: usize, hold: bool) {
        let depth = self.config.inj_depth;
        let node = &mut self.nodes[node];
        node.in_reset = hold;
        node.unit.set(self.ports.reset, 0, (!hold).into());
        if hold {
            node.queues.iter_mut().flatten().for_each(VecDeque::clear);
            node.credits.fill([depth; CLASSES]);
            node.assemblers = (0..self.p).map(|_| Default::default()).collect();
        }
    }

    /// State of a link unit: 0 reset, 1 init, 2 ack, 3 up.
    pub fn link_state(&self, node: usize, port: usize) -> u64 {
        self.nodes[node].unit.get(self.ports.state, port)
    }

    /// Whether all enabled links are up.
    pub fn links_up(&self) -> bool {
        (0..self.nodes.len()).all(|node| {
            (0..self.p).all(|port| {
                self.nodes[node].link_enable >> port & 1 == 0 || self.link_state(node, port) == 3
            })
        })
    }

    /// Runs until all links are up.
    ///
    /// # Errors
    /// [`Trouble::Stuck`] if that takes more than 400 cycles.
    pub fn bring_up(&mut self) -> Result<(), Trouble> {
        for _ in 0..400 {
            if self.links_up() {
                return Ok(());
            }
            self.step()?;
        }
        Err(Trouble::Stuck {
            cycle: self.cycle,
            missing: Vec::new(),
        })
    }

    /// Queues a packet with `len` random payload bytes for injection; with `deposit` it leaves a copy at
    /// every node on its way. Returns its id.
    ///
    /// # Panics
    /// If the packet has no link to leave by.
    pub fn send_with(
        &mut self,
        src: usize,
        dst: usize,
        class: usize,
        len: u16,
        deposit: bool,
    ) -> u32 {
        let id = self.next_id;
        self.next_id += 1;
        let shape = &self.config.shape;
        let packet = Packet::random(shape, id, (src, dst), class, len, deposit, &mut self.rng);
        let places = shape.places();
        let route = reference_route(shape, &places[src], &places[dst]);
        let path = usize::from(*route.first().expect("packets to oneself use no link"));
        let channels = follow(&mut self.router, shape, &places[src], &places[dst]);
        let channels = channels.expect("every pair has a route");
        self.channels.insert(id, (class, channels));
        self.nodes[src].queues[path][class].extend(packet.flits(self.config.flit_bytes));
        self.scoreboard.sent(packet);
        id
    }

    /// Queues a packet that may take any shortest way, by its hint and order, on a random one of its productive
    /// injection paths. Returns its id.
    ///
    /// # Panics
    /// If the packet has no link to leave by.
    pub fn send_dynamic(
        &mut self,
        (src, dst): (usize, usize),
        class: usize,
        len: u16,
        hint: u16,
        order: u8,
    ) -> u32 {
        let id = self.next_id;
        self.next_id += 1;
        let shape = &self.config.shape;
        let places = shape.places();
        let packet = Packet::random(shape, id, (src, dst), class, len, false, &mut self.rng)
            .into_dynamic(hint, order);
        let paths = shape.minimal_ports(&places[src], &places[dst]);
        let path = *self
            .rng
            .choice(&paths)
            .expect("packets to oneself use no link");
        let links = shape.distance(&places[src], &places[dst]);
        self.hops.insert(id, (class, links, 0));
        let flits = packet.flits(self.config.flit_bytes);
        self.nodes[src].queues[usize::from(path)][class].extend(flits);
        self.scoreboard.sent(packet);
        id
    }

    /// Queues a packet that leaves no copies, as [`Fabric::send_with`].
    pub fn send(&mut self, src: usize, dst: usize, class: usize, len: u16) -> u32 {
        self.send_with(src, dst, class, len, false)
    }

    /// Something random, of the machine's seed.
    pub fn rng(&mut self) -> &mut fastrand::Rng {
        &mut self.rng
    }

    /// One cycle of the whole machine.
    ///
    /// # Errors
    /// [`Trouble`] if an assertion fails or something comes out wrong.
    pub fn step(&mut self) -> Result<(), Trouble> {
        for node in 0..self.nodes.len() {
            self.nodes[node].unit.set(self.ports.time, 0, self.cycle);
            self.inputs_from_links(node);
            self.inject(node);
            self.eject(node)?;
        }
        for node in 0..self.nodes.len() {
            let ticked = self.nodes[node].unit.tick();
            ticked.map_err(|failure| Trouble::Assertion(node, failure))?;
        }
        for node in 0..self.nodes.len() {
            self.outputs(node)?;
        }
        self.cycle += 1;
        Ok(())
    }

    /// Drives the link inputs of a node.
    fn inputs_from_links(&mut self, node: usize) {
        for port in 0..self.p {
            let Some(peer) = self.targets[node][port] else {
                continue;
            };
            let word = self.wires[peer][port ^ 1][0];
            let unit = &mut self.nodes[node].unit;
            unit.set(self.ports.link_ctl_i, port, word.ctl.into());
            if word.valid() {
                let words = &word.data[..self.config.flit_bytes / 4];
                unit.set_wide(self.ports.link_data_i, port, words);
                unit.set(self.ports.link_dbg_i, port, word.dbg.into());
            }
        }
    }

    /// A flit of a random class on each path that has credit and will.
    fn inject(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        let (mut valid, mut classes) = (0, 0);
        for path in 0..self.p {
            if node.in_reset || self.rng.f64() >= self.willing.inject {
                continue;
            }
            let ready = |class: &usize| {
                !node.queues[path][*class].is_empty() && node.credits[path][*class] > 0
            };
            let can: Vec<usize> = (0..CLASSES).filter(ready).collect();
            let Some(&class) = self.rng.choice(&can) else {
                continue;
            };
            let Some(flit) = node.queues[path][class].pop_front() else {
                continue;
            };
            node.credits[path][class] -= 1;
            valid |= 1 << path;
            classes |= (class as u64) << (2 * path);
            node.unit.set(self.ports.inj_ctl, path, flit.ctl());
            let words = &flit.data[..self.config.flit_bytes / 4];
            node.unit.set_wide(self.ports.inj_data, path, words);
        }
        node.unit.set(self.ports.inj_valid, 0, valid);
        node.unit.set(self.ports.inj_class, 0, classes);
    }

    /// Takes flits from the ejection queues that are ready.
    fn eject(&mut self, index: usize) -> Result<(), Trouble> {
        let valid = self.nodes[index].unit.get(self.ports.ej_valid, 0);
        let mut ready = 0;
        for path in 0..self.p {
            for class in 0..CLASSES {
                let queue = path * CLASSES + class;
                if self.rng.f64() < self.willing.eject[class] {
                    ready |= 1 << queue;
                    if valid >> queue & 1 != 0 && !self.nodes[index].in_reset {
                        self.take(index, path, class)?;
                    }
                }
            }
        }
        let unit = &mut self.nodes[index].unit;
        unit.set(self.ports.ej_ready, 0, ready);
        Ok(())
    }

    /// The flit at the front of an ejection queue.
    fn take(&mut self, index: usize, path: usize, class: usize) -> Result<(), Trouble> {
        let unit = &self.nodes[index].unit;
        let queue = path * CLASSES + class;
        let ctl = unit.get(self.ports.ej_ctl, queue);
        let flit = Flit::from_ctl(ctl, &unit.get_wide(self.ports.ej_data, queue));
        let flits = match &mut self.eject_tap {
            Some(tap) => tap(&flit),
            None => vec![flit],
        };
        for flit in flits {
            let assembled = self.nodes[index].assemblers[path][class]
                .push(&flit, self.config.flit_bytes)
                .map_err(|error| Trouble::Framing(self.cycle, index, path, class, error))?;
            let Some(received) = assembled else { continue };
            let judged = self.scoreboard.received(index, class, &received);
            judged.map_err(|discrepancy| Trouble::Scoreboard(self.cycle, discrepancy))?;
            self.last_delivery = self.cycle;
            if !received.err {
                match self.hops.get(&received.id) {
                    Some(&(_, links, taken)) if links != taken => {
                        return Err(Trouble::Detour(received.id, taken, links));
                    }
                    Some(_) => {}
                    None => self.check_path(index, path, &received.bytes, received.id)?,
                }
            }
        }
        Ok(())
    }

    /// A packet leaves by the path of the link it came in by.
    fn check_path(&self, index: usize, path: usize, bytes: &[u8], id: u32) -> Result<(), Trouble> {
        let shape = &self.config.shape;
        let places = shape.places();
        let packed = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        let src = gyre_layout::Coord::unpack(packed).0;
        let route = reference_route(shape, &src, &places[index]);
        let last = route
            .last()
            .map_or(usize::MAX, |&port| usize::from(port ^ 1));
        if path == last {
            Ok(())
        } else {
            Err(Trouble::Path(id, path, last))
        }
    }

    /// Takes a node's link outputs, returned credits and reported errors.
    fn outputs(&mut self, index: usize) -> Result<(), Trouble> {
        let node = &mut self.nodes[index];
        let unit = &node.unit;
        let counted = unit.get(self.ports.perf_flit, 0);
        let counted_vc = unit.get(self.ports.perf_vc, 0);
        self.stalls += u64::from(unit.get(self.ports.perf_stall, 0).count_ones());
        for port in 0..self.p {
            let mut word = Word {
                ctl: unit.get(self.ports.link_ctl_o, port) as u32,
                ..Word::default()
            };
            if word.valid() {
                let data = unit.get_wide(self.ports.link_data_o, port);
                word.data[..data.len()].copy_from_slice(&data);
                word.dbg = unit.get(self.ports.link_dbg_o, port) as u32;
                self.link_flits += 1;
                let vc = word.ctl >> 3 & 7 | word.ctl >> 27 & 8;
                let vc_counted = (counted_vc >> (4 * port)) as u32 & 15;
                self.counted_flits += u64::from(counted >> port & 1 != 0 && vc_counted == vc);
                let dynamic = vc & 8 != 0;
                let queue = if dynamic { vc >> 2 & 1 } else { vc >> 1 } as usize;
                if word.ctl >> 6 & 1 != 0 {
                    let (class, allowed) = match self.hops.get_mut(&word.dbg) {
                        Some((class, _, taken)) => {
                            *taken += 1;
                            self.dynamic_heads[usize::from(!dynamic)] += 1;
                            (*class, true)
                        }
                        None => match self.channels.get(&word.dbg) {
                            Some((class, channels)) => {
                                let channel = (index, port as u8, vc & 1 != 0);
                                (*class, !dynamic && channels.contains(&channel))
                            }
                            None => (queue, true),
                        },
                    };
                    if class != queue || !(allowed || self.misplaced) {
                        return Err(Trouble::Channel(word.dbg, class, index, port as u8, vc));
                    }
                }
            } else if counted >> port & 1 != 0 {
                self.counted_flits += 1;
            }
            if let Some(tap) = &mut self.wire_tap {
                tap(self.cycle, index, port, &mut word);
            }
            let wire = &mut self.wires[index][port];
            wire.pop_front();
            wire.push_back(word);
        }
        if !node.in_reset {
            let credits = unit.get(self.ports.inj_credit, 0);
            for queue in 0..self.p * CLASSES {
                if credits >> queue & 1 != 0 {
                    node.credits[queue / CLASSES][queue % CLASSES] += 1;
                }
            }
        }
        let err = unit.get_u128(self.ports.err, 0);
        if err >> 82 & 1 != 0 {
            let reason = ErrorReason::try_from((err >> 74) as u8);
            self.reports.push(Report {
                cycle: self.cycle,
                node: index,
                reason: reason.unwrap_or(ErrorReason::None),
                place: (err >> 64 & 0x3ff) as u16,
            });
        }
        Ok(())
    }

    /// Whether nothing waits for injection.
    pub fn all_injected(&self) -> bool {
        let queues = self.nodes.iter().flat_map(|node| &node.queues);
        queues.flatten().all(VecDeque::is_empty)
    }

    /// Whether every node says that it is idle and no word with content is on a wire.
    pub fn idle(&self) -> bool {
        let silent = |word: &Word| word.ctl & !(1 << 31 | 3) == 0;
        self.nodes
            .iter()
            .all(|node| node.unit.get(self.ports.idle, 0) != 0)
            && self.wires.iter().flatten().flatten().all(silent)
    }

    /// Runs until every packet has come out, then until all is idle, and checks that idle nodes stay as
    /// they are. Without broken links no error may have been reported.
    ///
    /// # Errors
    /// [`Trouble`], above all [`Trouble::Stuck`] after `limit` cycles.
    pub fn drain(&mut self, limit: u64) -> Result<(), Trouble> {
        let end = self.cycle + limit;
        while !self.scoreboard.outstanding().is_empty() {
            if self.cycle == end {
                return Err(Trouble::Stuck {
                    cycle: self.cycle,
                    missing: self.scoreboard.outstanding(),
                });
            }
            self.step()?;
        }
        if let Some(report) = self.reports.first() {
            let Report {
                cycle,
                node,
                reason,
                place,
            } = *report;
            return Err(Trouble::Report(cycle, node, reason, place));
        }
        if self.counted_flits != self.link_flits {
            let (counted, flits) = (self.counted_flits, self.link_flits);
            return Err(Trouble::Performance(self.cycle, counted, flits));
        }
        self.settle(100)
    }

    /// Runs until all is idle, at most `limit` cycles, and checks that idle nodes stay as they are and
    /// have given back all credits.
    ///
    /// # Errors
    /// [`Trouble::Idle`] if not.
    pub fn settle(&mut self, limit: u64) -> Result<(), Trouble> {
        for _ in 0..limit {
            if self.idle() && self.all_injected() {
                break;
            }
            self.step()?;
        }
        let outputs = self.visible();
        for _ in 0..2 * self.config.latency + 4 {
            self.step()?;
            for node in 0..self.nodes.len() {
                let unit = &self.nodes[node].unit;
                if unit.get(self.ports.idle, 0) == 0 {
                    return Err(Trouble::Idle(self.cycle, node, "is not idle in the end"));
                }
            }
        }
        if outputs != self.visible() {
            return Err(Trouble::Idle(self.cycle, 0, "outputs changed while idle"));
        }
        let depth = self.config.inj_depth;
        for (index, node) in self.nodes.iter().enumerate() {
            if node
                .credits
                .iter()
                .flatten()
                .any(|&credits| credits != depth)
            {
                return Err(Trouble::Idle(self.cycle, index, "kept injection credits"));
            }
            if node.assemblers.iter().flatten().any(Assembler::is_open) {
                return Err(Trouble::Idle(
                    self.cycle,
                    index,
                    "left a packet without tail",
                ));
            }
        }
        Ok(())
    }

    /// All link words and ejection flags.
    fn visible(&self) -> Vec<u64> {
        let mut values = Vec::new();
        for node in &self.nodes {
            for port in 0..self.p {
                values.push(node.unit.get(self.ports.link_ctl_o, port));
            }
            values.push(node.unit.get(self.ports.ej_valid, 0));
        }
        values
    }
}
