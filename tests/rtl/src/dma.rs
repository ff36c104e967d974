// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine of DMA engines: `gyre_dma` units with AXI memories, over a lossless network in Rust. Packets of a fixed route
//! keep their order; dynamic ones arrive by any link, in any order.

use std::collections::VecDeque;

use gyre_layout::{Coord, ErrorReason, HEADER_BYTES, packet_bytes};

use crate::axi::{Memory, Timing};
use crate::dma_collective::{self, Attachment, ROUTES, Route};
use crate::packet::{Assembler, CLASSES, Flit};
use crate::routes::{NodeSettings, Shape, reference_route};
use crate::{Failure, Unit};

/// Flits that wait before an engine's reception.
const EJ_DEPTH: usize = 4;

/// A Verilated engine of `build/models.rs`, with those of its parameters that its surroundings share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Name of the unit.
    pub unit: &'static str,
    /// Bytes of a flit.
    pub flit_bytes: usize,
    /// Flits of the injection buffers that the engine believes in.
    pub inj_depth: usize,
    /// Flits of the collective network's buffers of a class route, likewise.
    pub coll_depth: usize,
}

/// One dimension, flits of 16 bytes, two masters.
pub const DMA1: Model = Model {
    unit: "dma1",
    flit_bytes: 16,
    inj_depth: 70,
    coll_depth: 64,
};
/// One dimension, flits of 8 bytes, one master, injection buffers of one packet.
pub const DMA1_FLIT8: Model = Model {
    unit: "dma1_flit8",
    flit_bytes: 8,
    inj_depth: 68,
    coll_depth: 128,
};
/// Two dimensions, flits of 32 bytes, two masters, injection buffers of one packet.
pub const DMA2_FLIT32: Model = Model {
    unit: "dma2_flit32",
    flit_bytes: 32,
    inj_depth: 17,
    coll_depth: 64,
};
/// Three dimensions, flits of 16 bytes, two masters.
pub const DMA3: Model = Model {
    unit: "dma3",
    flit_bytes: 16,
    inj_depth: 40,
    coll_depth: 64,
};

/// An engine, its memory or the traffic is in trouble.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// An assertion of the RTL.
    #[error("engine {0}: {1}")]
    Assertion(usize, Failure),
    /// A breach of the AXI protocol.
    #[error("cycle {0}: engine {1}: {2}")]
    Axi(u64, usize, String),
    /// A breach of the rules of the injection paths.
    #[error("cycle {0}: engine {1}: {2}")]
    Injection(u64, usize, String),
    /// Arrived data differs from sent data.
    #[error("cycle {0}: {1}")]
    Wrong(u64, String),
    /// Something that should happen does not.
    #[error("cycle {0}: {1}")]
    Stuck(u64, String),
}

/// A register access that the engine refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// An error that an engine reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Why.
    pub reason: ErrorReason,
    /// FIFO or slot.
    pub place: u16,
    /// Address or header words.
    pub info: u64,
}

/// A tap on the flits of the injection paths. Arguments: engine, path, class, flit; the flits that it returns
/// travel on.
pub type FlitTap = Box<dyn FnMut(usize, usize, usize, &Flit) -> Vec<Flit>>;

ports! {
    struct Ports {
        cfg: "cfg_i", inj_valid: "inj_valid_o", inj_class: "inj_class_o", inj_ctl: "inj_ctl_o",
        inj_data: "inj_data_o", inj_credit: "inj_credit_i", ej_valid: "ej_valid_i", ej_ready: "ej_ready_o",
        ej_ctl: "ej_ctl_i", ej_data: "ej_data_i", reg_req: "reg_req_i", reg_we: "reg_we_i", reg_addr: "reg_addr_i",
        reg_wdata: "reg_wdata_i", reg_ack: "reg_ack_o", reg_err: "reg_err_o", reg_rdata: "reg_rdata_o",
        event: "event_o", threshold: "irq_threshold_o", descriptor: "irq_descriptor_o", err: "err_o",
        pkt_tx: "pkt_tx_o", pkt_rx: "pkt_rx_o", idle: "idle_o", unit_active: "unit_active_o", r_valid: "r_valid_i",
        r_id: "r_id_i", b_valid: "b_valid_i", b_id: "b_id_i",
    }
}

/// Flit queues by path and class.
type Queues = Vec<[VecDeque<Flit>; CLASSES]>;

/// Where the flits of a packet come out: engine and path.
type Exit = (usize, usize);

/// Route of a dynamic packet: engine alone.
const ANYWHERE: usize = usize::MAX;

/// A dynamic packet under way.
struct Wanderer {
    target: usize,
    class: usize,
    flits: Vec<Flit>,
}

/// An engine with its attachments.
pub struct Engine {
    unit: Unit,
    /// Its memory.
    pub memory: Memory,
    injected: Queues,
    assemblers: Vec<[Assembler; CLASSES]>,
    arriving: Queues,
    /// Exit of the packet at the front of each injection buffer, from its head to its tail.
    exits: Vec<[Option<Exit>; CLASSES]>,
    /// Dynamic packet at the front of each injection buffer, as far as it has left it.
    gathered: Vec<[Vec<Flit>; CLASSES]>,
    /// Sender and path whose packet is arriving, from its head to its tail.
    held_by: Vec<[Option<Exit>; CLASSES]>,
    credits: u64,
    coll: Attachment,
    /// Errors reported so far.
    pub reports: Vec<Report>,
    /// Pulses of each event so far.
    pub events: [u64; 64],
    /// Pulses so far of the interrupt that a reception FIFO holds more than its threshold.
    pub thresholds: u64,
    /// Pulses so far of the interrupt that a descriptor completed.
    pub descriptors: u64,
    /// Packets sent so far, by kind.
    pub sent: [u64; 8],
    /// Packets accepted so far, by kind.
    pub accepted: [u64; 8],
}

/// How a machine is made.
#[derive(Clone, Debug)]
pub struct Config {
    /// Parameters of the engines.
    pub model: Model,
    /// How many of them, and their coordinates.
    pub shape: Shape,
    /// Bytes of each memory.
    pub memory: usize,
    /// How the memories answer.
    pub timing: Timing,
    /// Of everything random.
    pub seed: u64,
}

/// The engines and the network between them.
pub struct Machine {
    model: Model,
    shape: Shape,
    ports: Ports,
    coll_ports: dma_collective::Ports,
    /// Link paths of an engine.
    paths: usize,
    /// The engines, by coordinate.
    pub engines: Vec<Engine>,
    rng: fastrand::Rng,
    cycle: u64,
    wandering: Vec<Wanderer>,
    /// Probability that a path of the network moves a flit in a cycle.
    pub network: f64,
    /// Whether units have their clocks only when they need them.
    pub gated: bool,
    /// Tap on injected flits.
    pub tap: Option<FlitTap>,
    /// The engine to which each class route of the collective network leads.
    pub coll_to: [Option<usize>; ROUTES],
}

/// Fault in the form of a packet, if any: its class, its number of flits, padding.
fn bad_packet(bytes: &[u8], class: usize) -> Option<String> {
    // Class: header bits 31:30. Length: header bits 77:68.
    let vclass = usize::from(bytes[3] >> 6);
    let len = (usize::from(bytes[8]) >> 4) | (usize::from(bytes[9] & 0x3f) << 4);
    if vclass != class {
        Some(format!("packet of class {vclass} in class {class}"))
    } else if bytes.len() != packet_bytes(len) {
        Some(format!("{} B for {len} B of payload", bytes.len()))
    } else if bytes[HEADER_BYTES + len..].iter().any(|&byte| byte != 0) {
        Some(format!("packet of {len} B padded with {bytes:02x?}"))
    } else {
        None
    }
}

/// Coordinates of engine `index` of a machine of one dimension.
pub fn coord(index: usize) -> Coord {
    Coord([index as u8, 0, 0, 0, 0])
}

impl Machine {
    /// Engines that may run, with everything disabled.
    pub fn new(config: &Config) -> Self {
        let mut rng = fastrand::Rng::with_seed(config.seed);
        let units: Vec<Unit> = (0..config.shape.nodes())
            .map(|_| Unit::new(config.model.unit, rng.u32(..)))
            .collect();
        let ports = Ports::of(&units[0]);
        let coll_ports = dma_collective::Ports::of(&units[0]);
        let paths = ports.inj_ctl.elements;
        let queues = || -> Queues { (0..paths).map(|_| Default::default()).collect() };
        let engines = units
            .into_iter()
            .map(|unit| {
                let memory = Memory::new(&unit, config.memory, config.timing.clone(), rng.u64(..));
                Engine {
                    unit,
                    memory,
                    injected: queues(),
                    assemblers: (0..paths).map(|_| Default::default()).collect(),
                    arriving: queues(),
                    exits: vec![[None; CLASSES]; paths],
                    gathered: (0..paths).map(|_| Default::default()).collect(),
                    held_by: vec![[None; CLASSES]; paths],
                    credits: 0,
                    coll: Attachment::default(),
                    reports: Vec::new(),
                    events: [0; 64],
                    thresholds: 0,
                    descriptors: 0,
                    sent: [0; 8],
                    accepted: [0; 8],
                }
            })
            .collect();
        let mut machine = Self {
            model: config.model,
            shape: config.shape.clone(),
            ports,
            coll_ports,
            paths,
            engines,
            rng,
            cycle: 0,
            wandering: Vec::new(),
            network: 1.0,
            gated: true,
            tap: None,
            coll_to: [None; ROUTES],
        };
        for engine in 0..machine.engines.len() {
            machine.configure(engine, true, false);
        }
        machine
    }

    /// Coordinates of an engine.
    pub fn coord(&self, engine: usize) -> Coord {
        Coord(self.shape.places()[engine])
    }

    /// The engine at some coordinates, if there is one.
    pub fn engine_at(&self, coord: Coord) -> Option<usize> {
        let inside = (coord.0.iter().zip(&self.shape.size)).all(|(c, size)| c < size);
        inside.then(|| self.shape.index(&coord.0))
    }

    /// Sets an engine's configuration.
    pub fn configure(&mut self, engine: usize, enable: bool, drain: bool) {
        let place = self.shape.places()[engine];
        let links = (0..self.paths)
            .filter(|&port| self.shape.neighbour(&place, port as u8).is_some())
            .fold(0, |mask, port| mask | 1 << port);
        let settings = NodeSettings {
            links,
            dma: enable,
            drain,
        };
        let cfg = self.shape.node_cfg(&place, settings);
        let unit = &mut self.engines[engine].unit;
        unit.set_u128(self.ports.cfg, 0, cfg);
    }

    /// Sets an engine's part in the class routes of the collective network.
    pub fn configure_routes(&mut self, engine: usize, routes: &[Route; ROUTES]) {
        let unit = &mut self.engines[engine].unit;
        self.coll_ports.configure(unit, routes);
    }

    /// Cycles so far.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Something random, of the machine's seed.
    pub fn rng(&mut self) -> &mut fastrand::Rng {
        &mut self.rng
    }

    /// Where a packet comes out that `engine` injected by `path`, from its first flit.
    fn exit(&self, engine: usize, path: usize, head: &Flit) -> Result<Exit, Trouble> {
        let trouble = |text| Trouble::Injection(self.cycle, engine, text);
        let dst = Coord::unpack(head.data[0]);
        let target = self.engine_at(dst).ok_or_else(|| {
            trouble(format!(
                "path {path}: packet for {dst:?}, outside the machine"
            ))
        })?;
        let route = reference_route(&self.shape, &self.coord(engine).0, &dst.0);
        // Header bit 63.
        if head.data[1] >> 31 != 0 {
            let next = self.shape.neighbour(&self.coord(engine).0, path as u8);
            let left = next.map(|next| reference_route(&self.shape, &next, &dst.0).len());
            return match left {
                Some(left) if left < route.len() => Ok((target, ANYWHERE)),
                _ => Err(trouble(format!(
                    "path {path}: packet for engine {target} does not come nearer"
                ))),
            };
        }
        match (route.first(), route.last()) {
            // What leaves a link by its + end arrives by its - end, and the reverse.
            (Some(&first), Some(&last)) if usize::from(first) == path => {
                Ok((target, usize::from(last ^ 1)))
            }
            _ => Err(trouble(format!(
                "path {path}: packet for engine {target}, whose route is {route:?}"
            ))),
        }
    }

    /// One cycle of the whole machine.
    ///
    /// # Errors
    /// [`Trouble`] if an assertion fails or a rule is broken.
    pub fn step(&mut self) -> Result<(), Trouble> {
        self.move_flits()?;
        self.move_collectives();
        for index in 0..self.engines.len() {
            self.drive(index);
            let engine = &mut self.engines[index];
            let assertion = |failure| Trouble::Assertion(index, failure);
            engine.unit.settle().map_err(assertion)?;
            let accepted = engine.memory.accept(&engine.unit);
            accepted.map_err(|text| Trouble::Axi(self.cycle, index, text))?;
            self.take_arriving(index);
            self.take_injected(index)?;
            let engine = &mut self.engines[index];
            let clocks = engine.clocks(&self.ports, self.paths, self.gated);
            engine.unit.edge_of(clocks).map_err(assertion)?;
            engine.watch(&self.ports);
        }
        self.cycle += 1;
        Ok(())
    }

    /// Moves flits from the injection buffers to the engines where their packets come out. Packets that
    /// come out by the same path and class follow each other whole.
    fn move_flits(&mut self) -> Result<(), Trouble> {
        let queues = self.engines.len() * self.paths * CLASSES;
        // Somebody else is first in every cycle.
        let first = self.cycle as usize % queues;
        for queue in (first..queues).chain(0..first) {
            let (index, path) = (queue / CLASSES / self.paths, queue / CLASSES % self.paths);
            let class = queue % CLASSES;
            let Some(&flit) = self.engines[index].injected[path][class].front() else {
                continue;
            };
            let (target, exit) = match self.engines[index].exits[path][class] {
                Some(exit) => exit,
                None => self.exit(index, path, &flit)?,
            };
            if exit == ANYWHERE {
                self.gather((index, path, class), target);
                continue;
            }
            let arrival = &self.engines[target];
            let room = arrival.arriving[exit][class].len() < EJ_DEPTH;
            let free = arrival.held_by[exit][class].is_none_or(|holder| holder == (index, path));
            if !room || !free || self.rng.f64() >= self.network {
                continue;
            }
            let sender = &mut self.engines[index];
            sender.injected[path][class].pop_front();
            sender.credits |= 1 << (path * CLASSES + class);
            sender.exits[path][class] = (!flit.tail).then_some((target, exit));
            let flits = match &mut self.tap {
                Some(tap) => tap(index, path, class, &flit),
                None => vec![flit],
            };
            let arrival = &mut self.engines[target];
            arrival.arriving[exit][class].extend(flits);
            arrival.held_by[exit][class] = (!flit.tail).then_some((index, path));
        }
        self.arrive();
        Ok(())
    }

    /// Takes a flit of a dynamic packet out of an injection buffer.
    fn gather(&mut self, (index, path, class): (usize, usize, usize), target: usize) {
        let sender = &mut self.engines[index];
        let Some(flit) = sender.injected[path][class].pop_front() else {
            return;
        };
        sender.credits |= 1 << (path * CLASSES + class);
        sender.exits[path][class] = (!flit.tail).then_some((target, ANYWHERE));
        let flits = match &mut self.tap {
            Some(tap) => tap(index, path, class, &flit),
            None => vec![flit],
        };
        sender.gathered[path][class].extend(flits);
        if flit.tail {
            let flits = std::mem::take(&mut sender.gathered[path][class]);
            self.wandering.push(Wanderer {
                target,
                class,
                flits,
            });
        }
    }

    /// Lets one of the dynamic packets arrive, by any link where no other is arriving.
    fn arrive(&mut self) {
        if self.wandering.is_empty() || self.rng.f64() >= self.network / 4.0 {
            return;
        }
        let any = self.rng.usize(0..self.wandering.len());
        let Wanderer { target, class, .. } = self.wandering[any];
        let path = self.rng.usize(0..self.paths);
        let arrival = &mut self.engines[target];
        let waits = arrival.arriving[path][class].len() >= EJ_DEPTH;
        if arrival.held_by[path][class].is_none() && !waits {
            let packet = self.wandering.swap_remove(any);
            arrival.arriving[path][class].extend(packet.flits);
        }
    }

    /// Moves a whole packet of each class route to the engine that the route leads to.
    fn move_collectives(&mut self) {
        for index in 0..self.engines.len() {
            for route in 0..ROUTES {
                let Some(to) = self.coll_to[route] else {
                    continue;
                };
                if let Some(flits) = self.engines[index].coll.take_packet(route) {
                    let class = (flits[0].data[0] >> 30 & 1) as usize;
                    self.engines[to].coll.deliver(class, &flits);
                }
            }
        }
    }

    fn drive(&mut self, index: usize) {
        let ports = &self.ports;
        let engine = &mut self.engines[index];
        engine.memory.drive(&mut engine.unit);
        let unit = &mut engine.unit;
        unit.set(ports.inj_credit, 0, std::mem::take(&mut engine.credits));
        let mut valid = 0;
        for queue in 0..self.paths * CLASSES {
            if let Some(flit) = engine.arriving[queue / CLASSES][queue % CLASSES].front() {
                valid |= 1 << queue;
                unit.set(ports.ej_ctl, queue, flit.ctl());
                unit.set_wide(
                    ports.ej_data,
                    queue,
                    &flit.data[..self.model.flit_bytes / 4],
                );
            }
        }
        unit.set(ports.ej_valid, 0, valid);
        engine
            .coll
            .drive(unit, &self.coll_ports, self.model.flit_bytes);
    }

    fn take_arriving(&mut self, index: usize) {
        let engine = &mut self.engines[index];
        let ready = engine.unit.get(self.ports.ej_ready, 0);
        for queue in 0..self.paths * CLASSES {
            if ready >> queue & 1 != 0 {
                engine.arriving[queue / CLASSES][queue % CLASSES].pop_front();
            }
        }
    }

    fn take_injected(&mut self, index: usize) -> Result<(), Trouble> {
        let ports = &self.ports;
        let engine = &mut self.engines[index];
        let valid = engine.unit.get(ports.inj_valid, 0);
        let classes = engine.unit.get(ports.inj_class, 0);
        for path in (0..self.paths).filter(|path| valid >> path & 1 != 0) {
            let ctl = engine.unit.get(ports.inj_ctl, path);
            let flit = Flit::from_ctl(ctl, &engine.unit.get_wide(ports.inj_data, path));
            let class = (classes >> (2 * path) & 3) as usize;
            let assembled = engine.assemblers[path][class].push(&flit, self.model.flit_bytes);
            let wrong = match assembled {
                // Only the marked header is left of a dropped packet of a flow.
                Ok(Some(packet)) if packet.err => None,
                Ok(Some(packet)) => bad_packet(&packet.bytes, class),
                Ok(None) => None,
                Err(error) => Some(error.to_string()),
            };
            if let Some(text) = wrong {
                let text = format!("path {path}: {text}");
                return Err(Trouble::Injection(self.cycle, index, text));
            }
            let queue = &mut engine.injected[path][class];
            queue.push_back(flit);
            if queue.len() > self.model.inj_depth {
                let text = format!("path {path}: flit without credit");
                return Err(Trouble::Injection(self.cycle, index, text));
            }
        }
        let (flit_bytes, depth) = (self.model.flit_bytes, self.model.coll_depth);
        let wrong = (engine.coll).take(
            &engine.unit,
            &self.coll_ports,
            flit_bytes,
            depth,
            bad_packet,
        );
        wrong.map_or(Ok(()), |text| {
            Err(Trouble::Injection(self.cycle, index, text))
        })
    }

    /// Runs a number of cycles.
    ///
    /// # Errors
    /// [`Trouble`] as [`Machine::step`].
    pub fn run(&mut self, cycles: u64) -> Result<(), Trouble> {
        (0..cycles).try_for_each(|_| self.step())
    }

    /// Runs until every engine is idle with nothing under way.
    ///
    /// # Errors
    /// [`Trouble::Stuck`] after `limit` cycles.
    pub fn settle(&mut self, limit: u64) -> Result<(), Trouble> {
        for _ in 0..limit {
            if self.quiet() {
                return Ok(());
            }
            self.step()?;
        }
        Err(Trouble::Stuck(
            self.cycle,
            "engines do not become idle".to_owned(),
        ))
    }

    /// Whether all is idle.
    pub fn quiet(&self) -> bool {
        self.wandering.is_empty()
            && self.engines.iter().all(|engine| {
                let empty = |queues: &Queues| queues.iter().flatten().all(VecDeque::is_empty);
                engine.unit.get(self.ports.idle, 0) != 0
                    && engine.credits == 0
                    && engine.memory.quiet()
                    && empty(&engine.injected)
                    && empty(&engine.arriving)
                    && engine.coll.is_empty()
            })
    }

    /// Lets flits arrive at an engine by a path as if the network had brought them.
    pub fn deliver(&mut self, engine: usize, path: usize, class: usize, flits: &[Flit]) {
        self.engines[engine].arriving[path][class].extend(flits);
    }

    /// Lets flits arrive at an engine as if the collective network had brought them.
    pub fn deliver_collective(&mut self, engine: usize, class: usize, flits: &[Flit]) {
        self.engines[engine].coll.deliver(class, flits);
    }

    fn access(
        &mut self,
        engine: usize,
        addr: u64,
        write: Option<u64>,
    ) -> Result<Result<u64, Refused>, Trouble> {
        let unit = &mut self.engines[engine].unit;
        unit.set(self.ports.reg_req, 0, 1);
        unit.set(self.ports.reg_we, 0, write.is_some().into());
        unit.set(self.ports.reg_addr, 0, addr);
        unit.set(self.ports.reg_wdata, 0, write.unwrap_or(0));
        self.step()?;
        let req = self.ports.reg_req;
        self.engines[engine].unit.set(req, 0, 0);
        for _ in 0..8 {
            let unit = &self.engines[engine].unit;
            if unit.get(self.ports.reg_ack, 0) != 0 {
                let refused = unit.get(self.ports.reg_err, 0) != 0;
                let data = unit.get(self.ports.reg_rdata, 0);
                // The answer is taken before the next access begins.
                self.step()?;
                return Ok(if refused { Err(Refused) } else { Ok(data) });
            }
            self.step()?;
        }
        let text = format!("register {addr:#x} of engine {engine} does not answer");
        Err(Trouble::Stuck(self.cycle, text))
    }

    /// Reads a register of the group page.
    ///
    /// # Errors
    /// [`Trouble`] as [`Machine::step`], or when the engine refuses.
    pub fn read(&mut self, engine: usize, addr: u64) -> Result<u64, Trouble> {
        let text = format!("read of {addr:#x} refused");
        self.access(engine, addr, None)?
            .map_err(|Refused| Trouble::Stuck(self.cycle, text))
    }

    /// Writes a register of the group page.
    ///
    /// # Errors
    /// [`Trouble`] as [`Machine::step`], or when the engine refuses.
    pub fn write(&mut self, engine: usize, addr: u64, value: u64) -> Result<(), Trouble> {
        let text = format!("write of {value:#x} to {addr:#x} refused");
        self.access(engine, addr, Some(value))?
            .map(|_| ())
            .map_err(|Refused| Trouble::Stuck(self.cycle, text))
    }

    /// Whether the engine refuses a write.
    ///
    /// # Errors
    /// [`Trouble`] as [`Machine::step`].
    pub fn refuses(&mut self, engine: usize, addr: u64, value: u64) -> Result<bool, Trouble> {
        Ok(self.access(engine, addr, Some(value))?.is_err())
    }
}

impl Engine {
    /// The clocks of this cycle: of all units, or of those that need it.
    fn clocks(&self, ports: &Ports, links: usize, gated: bool) -> u64 {
        if !gated {
            return (1 << (5 + 2 * links)) - 1;
        }
        // Beside those of links, with one clock for all: loop-back and collective network, and for reception priority and
        // system.
        let paths = [links + 2, links + 4];
        let mut clocks = self.unit.get(ports.unit_active, 0);
        let answers = [(ports.r_valid, ports.r_id), (ports.b_valid, ports.b_id)];
        for (side, (valid, id)) in answers.into_iter().enumerate() {
            let valid = self.unit.get(valid, 0);
            for master in (0..id.elements).filter(|m| valid >> m & 1 != 0) {
                clocks |= 1 << (1 + side);
                // Higher ids are not of paths.
                let path = self.unit.get(id, master) as usize;
                if path < paths[side] {
                    clocks |= 1 << (3 + side * (links + 1) + path.min(links));
                }
            }
        }
        clocks
    }

    /// Notes events and errors.
    fn watch(&mut self, ports: &Ports) {
        let events = self.unit.get(ports.event, 0);
        for (bit, count) in self.events.iter_mut().enumerate() {
            *count += events >> bit & 1;
        }
        let pulses = |port| self.unit.get(port, 0);
        self.thresholds += pulses(ports.threshold);
        self.descriptors += pulses(ports.descriptor);
        for kind in 0..8 {
            self.sent[kind] += pulses(ports.pkt_tx) >> kind & 1;
            self.accepted[kind] += pulses(ports.pkt_rx) >> kind & 1;
        }
        let err = self.unit.get_u128(ports.err, 0);
        if err >> 82 & 1 != 0 {
            let reason = ErrorReason::try_from((err >> 74) as u8);
            self.reports.push(Report {
                reason: reason.unwrap_or(ErrorReason::None),
                place: (err >> 64 & 0x3ff) as u16,
                info: err as u64,
            });
        }
    }
}
