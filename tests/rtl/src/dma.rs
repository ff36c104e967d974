//! A ring of DMA engines: `gyre_dma` units with AXI memories, over a lossless network in Rust.

use std::collections::VecDeque;

use gyre_layout::{Coord, ErrorReason};

use crate::axi::{Memory, Timing};
use crate::packet::Flit;
use crate::routes::pack;
use crate::{Failure, Port, Unit};

/// Link paths of an engine of one dimension.
pub const PATHS: usize = 2;
/// Virtual-channel classes.
pub const CLASSES: usize = 2;
/// Bytes of a flit.
pub const FLIT_BYTES: usize = 16;
/// Flits of the injection buffers that the engine believes in.
const INJ_DEPTH: usize = 70;
/// Flits that wait before an engine's reception.
const EJ_DEPTH: usize = 4;

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
    /// What arrived is not what was sent.
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

/// A view of the flits on the injection paths. Arguments: engine, path, class, flit; what it returns
/// travels on.
pub type FlitTap = Box<dyn FnMut(usize, usize, usize, &Flit) -> Vec<Flit>>;

struct Ports {
    cfg: Port,
    inj_valid: Port,
    inj_class: Port,
    inj_ctl: Port,
    inj_data: Port,
    inj_credit: Port,
    ej_valid: Port,
    ej_ready: Port,
    ej_ctl: Port,
    ej_data: Port,
    reg_req: Port,
    reg_we: Port,
    reg_addr: Port,
    reg_wdata: Port,
    reg_ack: Port,
    reg_err: Port,
    reg_rdata: Port,
    event: Port,
    err: Port,
    idle: Port,
}

impl Ports {
    fn of(unit: &Unit) -> Self {
        let port = |name| unit.port(name);
        Self {
            cfg: port("cfg_i"),
            inj_valid: port("inj_valid_o"),
            inj_class: port("inj_class_o"),
            inj_ctl: port("inj_ctl_o"),
            inj_data: port("inj_data_o"),
            inj_credit: port("inj_credit_i"),
            ej_valid: port("ej_valid_i"),
            ej_ready: port("ej_ready_o"),
            ej_ctl: port("ej_ctl_i"),
            ej_data: port("ej_data_i"),
            reg_req: port("reg_req_i"),
            reg_we: port("reg_we_i"),
            reg_addr: port("reg_addr_i"),
            reg_wdata: port("reg_wdata_i"),
            reg_ack: port("reg_ack_o"),
            reg_err: port("reg_err_o"),
            reg_rdata: port("reg_rdata_o"),
            event: port("event_o"),
            err: port("err_o"),
            idle: port("idle_o"),
        }
    }
}

/// Flit queues by path and class.
type Queues = [[VecDeque<Flit>; CLASSES]; PATHS];

/// An engine with what is attached to it.
pub struct Engine {
    unit: Unit,
    /// Its memory.
    pub memory: Memory,
    injected: Queues,
    arriving: Queues,
    credits: u64,
    /// Errors reported so far.
    pub reports: Vec<Report>,
    /// Pulses of each event so far.
    pub events: [u64; 64],
}

/// How a machine is made.
#[derive(Clone, Debug)]
pub struct Config {
    /// Engines in the ring, 1 to 3: each is a neighbour of each.
    pub engines: usize,
    /// Bytes of each memory.
    pub memory: usize,
    /// How the memories answer.
    pub timing: Timing,
    /// Of everything random.
    pub seed: u64,
}

/// The ring of engines.
pub struct Machine {
    ports: Ports,
    /// The engines, by coordinate.
    pub engines: Vec<Engine>,
    rng: fastrand::Rng,
    cycle: u64,
    /// Probability that a path of the network moves a flit in a cycle.
    pub network: f64,
    /// Sees, and may change, what is injected.
    pub tap: Option<FlitTap>,
}

/// Coordinates of engine `index`.
pub fn coord(index: usize) -> Coord {
    Coord([index as u8, 0, 0, 0, 0])
}

impl Machine {
    /// Engines that may run, with everything disabled.
    pub fn new(config: &Config) -> Self {
        let mut rng = fastrand::Rng::with_seed(config.seed);
        let engines: Vec<Engine> = (0..config.engines)
            .map(|_| {
                let unit = Unit::new("dma", rng.u32(..));
                let memory = Memory::new(&unit, config.memory, config.timing.clone(), rng.u64(..));
                Engine {
                    unit,
                    memory,
                    injected: Default::default(),
                    arriving: Default::default(),
                    credits: 0,
                    reports: Vec::new(),
                    events: [0; 64],
                }
            })
            .collect();
        let ports = Ports::of(&engines[0].unit);
        let mut machine = Self {
            ports,
            engines,
            rng,
            cycle: 0,
            network: 1.0,
            tap: None,
        };
        for engine in 0..config.engines {
            machine.configure(engine, true, false);
        }
        machine
    }

    /// Sets an engine's configuration.
    pub fn configure(&mut self, engine: usize, enable: bool, drain: bool) {
        let sizes = [self.engines.len() as u8, 1, 1, 1, 1];
        // node_cfg_t from bit 0: drain, dma_enable, link_enable[10], ring[5], size[35], coord[30].
        let cfg = u128::from(drain)
            | u128::from(enable) << 1
            | 3 << 2
            | 1 << 12
            | u128::from(pack(&sizes, 7)) << 17
            | u128::from(pack(&coord(engine).0, 6)) << 52;
        let unit = &mut self.engines[engine].unit;
        unit.set_u128(self.ports.cfg, 0, cfg);
    }

    /// Cycles so far.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Something random, of the machine's seed.
    pub fn rng(&mut self) -> &mut fastrand::Rng {
        &mut self.rng
    }

    /// The engine that path `path` of `engine` leads to: + to the next, - to the one before.
    fn target(&self, engine: usize, path: usize) -> usize {
        let count = self.engines.len();
        (engine + if path == 0 { 1 } else { count - 1 }) % count
    }

    /// One cycle of the whole machine.
    ///
    /// # Errors
    /// [`Trouble`] if an assertion fails or a rule is broken.
    pub fn step(&mut self) -> Result<(), Trouble> {
        self.move_flits();
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
            engine.unit.edge().map_err(assertion)?;
            engine.watch(&self.ports);
        }
        self.cycle += 1;
        Ok(())
    }

    /// Moves flits from the injection buffers over the links.
    fn move_flits(&mut self) {
        for index in 0..self.engines.len() {
            for path in 0..PATHS {
                let target = self.target(index, path);
                for class in 0..CLASSES {
                    // What leaves by + arrives by -, and the reverse.
                    let room = self.engines[target].arriving[path ^ 1][class].len() < EJ_DEPTH;
                    if !room || self.rng.f64() >= self.network {
                        continue;
                    }
                    if let Some(flit) = self.engines[index].injected[path][class].pop_front() {
                        self.engines[index].credits |= 1 << (path * CLASSES + class);
                        let flits = match &mut self.tap {
                            Some(tap) => tap(index, path, class, &flit),
                            None => vec![flit],
                        };
                        self.engines[target].arriving[path ^ 1][class].extend(flits);
                    }
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
        for queue in 0..PATHS * CLASSES {
            if let Some(flit) = engine.arriving[queue / CLASSES][queue % CLASSES].front() {
                valid |= 1 << queue;
                unit.set(ports.ej_ctl, queue, flit.ctl());
                unit.set_wide(ports.ej_data, queue, &flit.data[..FLIT_BYTES / 4]);
            }
        }
        unit.set(ports.ej_valid, 0, valid);
    }

    fn take_arriving(&mut self, index: usize) {
        let engine = &mut self.engines[index];
        let ready = engine.unit.get(self.ports.ej_ready, 0);
        for queue in 0..PATHS * CLASSES {
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
        for path in (0..PATHS).filter(|path| valid >> path & 1 != 0) {
            let ctl = engine.unit.get(ports.inj_ctl, path);
            let flit = Flit::from_ctl(ctl, &engine.unit.get_wide(ports.inj_data, path));
            let queue = &mut engine.injected[path][(classes >> path & 1) as usize];
            queue.push_back(flit);
            if queue.len() > INJ_DEPTH {
                let text = format!("path {path}: flit without credit");
                return Err(Trouble::Injection(self.cycle, index, text));
            }
        }
        Ok(())
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
        self.engines.iter().all(|engine| {
            let empty = |queues: &Queues| queues.iter().flatten().all(VecDeque::is_empty);
            engine.unit.get(self.ports.idle, 0) != 0
                && engine.credits == 0
                && engine.memory.quiet()
                && empty(&engine.injected)
                && empty(&engine.arriving)
        })
    }

    /// Lets flits arrive at an engine by a path as if the network had brought them.
    pub fn deliver(&mut self, engine: usize, path: usize, class: usize, flits: &[Flit]) {
        self.engines[engine].arriving[path][class].extend(flits);
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
    /// Notes events and errors.
    fn watch(&mut self, ports: &Ports) {
        let events = self.unit.get(ports.event, 0);
        for (bit, count) in self.events.iter_mut().enumerate() {
            *count += events >> bit & 1;
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
