// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages between DMA engines, and the scoreboard that judges them.

use std::collections::{BTreeMap, VecDeque};

use gyre_layout::registers::{self, flow_page, flow_source, flow_target};
use gyre_layout::{
    Collective, Coord, CounterRef, DESCRIPTOR_BYTES, Descriptor, HEADER_BYTES, Header, Kind,
    MAX_PAYLOAD_BYTES, Source, VClass, packet_bytes,
};

use crate::axi::Timing;
use crate::dma::{Config, DMA1, DMA1_FLIT8, DMA2_FLIT32, DMA3, Machine, Model, Trouble};
use crate::dma_collective::{ROUTES, Route};
use crate::packet::EDGE_LENGTHS;
use crate::routes::Shape;

/// Bytes of each ring of a machine that is not told otherwise.
pub const RING: u64 = 4096;
/// Injection FIFOs of an engine.
pub const INJECTION_FIFOS: usize = 8;
/// Injection FIFOs that software fills; the last one is filled by remote gets.
pub const SOFTWARE_FIFOS: usize = 6;
/// The injection FIFO open to remote gets.
pub const REMOTE_FIFO: usize = 6;
/// Reception FIFOs of an engine.
pub const RECEPTION_FIFOS: usize = 4;

/// Bytes of each memory.
const MEMORY: usize = 0x20_0000;
/// Ring of injection FIFO f at `INJECTION` + f rings.
pub const INJECTION: u64 = 0;
/// Ring of reception FIFO f at `RECEPTION` + f rings.
pub const RECEPTION: u64 = 0x1_0000;
/// Byte counters.
pub const COUNTERS: u64 = 0x2_0000;
/// Random bytes that messages are made of.
pub const SOURCE: u64 = 0x4_0000;
/// Bytes of [`SOURCE`].
pub const SOURCE_BYTES: u64 = 0x4_0000;
/// Where puts go.
pub const TARGET: u64 = 0x10_0000;

/// Slots of every engine.
pub mod slot {
    /// Readable, at an odd address.
    pub const SOURCE: u16 = 0;
    /// Writable.
    pub const TARGET: u16 = 1;
    /// Counters.
    pub const COUNTERS: u16 = 2;
    /// Readable by another owner only.
    pub const FOREIGN: u16 = 3;
    /// Readable, also by descriptors of remote gets.
    pub const GRANTED: u16 = 4;
    /// Of 100 bytes, all rights.
    pub const SMALL: u16 = 5;
    /// Not valid.
    pub const INVALID: u16 = 6;
    /// Descriptors of remote gets are read from here.
    pub const DESCRIPTORS: u16 = 7;
}

/// Address of the first byte of each slot.
pub const SLOT_BASE: [u64; 8] = [
    SOURCE + 13,
    TARGET,
    COUNTERS,
    SOURCE,
    SOURCE + 7,
    TARGET + 0xf_0000,
    SOURCE,
    0x3_0000,
];

/// Class routes of the collective network: of owner 0 but for [`route::FOREIGN`].
pub mod route {
    /// In use by this engine.
    pub const MEMBER: [u8; 3] = [0, 7, 15];
    /// Of another owner.
    pub const FOREIGN: u8 = 4;
    /// Passes by this engine, which is no member.
    pub const PASSING: u8 = 5;
    /// Not valid.
    pub const INVALID: u8 = 6;
}

/// Register addresses in the group page.
pub mod reg {
    /// Injection FIFO `f`, register at byte `offset`.
    pub const fn injection(f: usize, offset: u64) -> u64 {
        f as u64 * 0x40 + offset
    }
    /// Reception FIFO `f`.
    pub const fn reception(f: usize, offset: u64) -> u64 {
        0x800 + f as u64 * 0x40 + offset
    }
    /// Slot `s`.
    pub const fn slot(s: usize, offset: u64) -> u64 {
        0xc00 + s as u64 * 0x20 + offset
    }
    /// Ring address.
    pub const BASE: u64 = 0x00;
    /// Ring bytes.
    pub const SIZE: u64 = 0x08;
    /// Bytes consumed.
    pub const HEAD: u64 = 0x10;
    /// Bytes posted, or committed.
    pub const TAIL: u64 = 0x18;
    /// Enable, remote-get FIFO, owner, event.
    pub const CTRL: u64 = 0x20;
    /// State.
    pub const STATUS: u64 = 0x28;
    /// Injection FIFO: descriptors completed.
    pub const COUNT: u64 = 0x30;
    /// Reception FIFO: level above which its interrupt comes.
    pub const THRESHOLD: u64 = 0x30;
    /// Highest level.
    pub const HIGHWATER: u64 = 0x38;
}

/// A packet that a reception FIFO must get.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Expected {
    bytes: Vec<u8>,
}

/// Packets of one source FIFO and class for one reception FIFO arrive in order: (source engine, source FIFO, class,
/// target engine, reception FIFO).
type Flow = (usize, usize, VClass, usize, usize);

/// Bytes of a put, and the accesses that its counter must wait for.
#[derive(Clone, Debug)]
struct Landing {
    engine: usize,
    addr: u64,
    bytes: Vec<u8>,
    counter: Option<(usize, u64)>,
}

/// How a bench is made.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Parameters of the engines.
    pub model: Model,
    /// How many of them, and their coordinates.
    pub shape: Shape,
    /// Bytes of each ring, 4 or 8 KiB.
    pub ring: u64,
    /// How the memories answer.
    pub timing: Timing,
    /// Of everything random.
    pub seed: u64,
}

impl Setup {
    /// Engines of one dimension in a ring, with rings of [`RING`] bytes.
    pub fn ring(engines: usize, timing: Timing, seed: u64) -> Self {
        Self {
            model: DMA1,
            shape: Shape::new(&[(engines as u8, true)]),
            ring: RING,
            timing,
            seed,
        }
    }
}

/// The machine under test with its software: fills injection FIFOs, empties reception FIFOs, judges.
pub struct Bench {
    /// The engines.
    pub machine: Machine,
    /// Bytes of each ring.
    ring: u64,
    /// Content of [`SOURCE`], by engine.
    sources: Vec<Vec<u8>>,
    /// Descriptors not posted yet, by engine and FIFO.
    waiting: Vec<Vec<VecDeque<[u8; DESCRIPTOR_BYTES]>>>,
    /// Descriptors posted, by engine and FIFO.
    posted: Vec<Vec<u64>>,
    /// Numbers of the ones that software skipped.
    skipped: Vec<Vec<u64>>,
    /// Reception FIFOs that software leaves alone.
    ignored: Vec<(usize, usize)>,
    /// Bytes taken from each reception FIFO.
    taken: Vec<Vec<u64>>,
    flows: BTreeMap<Flow, VecDeque<Expected>>,
    landings: Vec<Landing>,
    next_target: Vec<u64>,
    next_descriptor: Vec<u64>,
    next_message: u32,
    counters: BTreeMap<(usize, u64), u64>,
    /// Probability that software empties a reception FIFO when it looks at it.
    pub receive: f64,
    /// Packets taken from reception FIFOs.
    pub received: usize,
    /// Injection FIFOs that software leaves alone, since they are halted.
    pub parked: Vec<(usize, usize)>,
    /// Open flows: engine, class and target, to their numbers at both ends.
    ordered: BTreeMap<(usize, VClass, usize), (u8, u8)>,
    /// Counters of puts by flows, in the order in which they must get to memory, by flow.
    ordered_counters: BTreeMap<(usize, u8), Vec<(usize, u64)>>,
}

/// Length of a message, bytes: often one at an edge.
pub fn random_length(rng: &mut fastrand::Rng) -> u32 {
    match rng.usize(0..10) {
        edge @ 0..6 => u32::from(EDGE_LENGTHS[edge]),
        6 | 7 => rng.u32(0..=600),
        _ => rng.u32(0..=2600),
    }
}

/// The value, for tests.
///
/// # Panics
/// With the trouble, if there is any.
pub fn ok<T>(result: Result<T, Trouble>) -> T {
    result.unwrap_or_else(|trouble| panic!("{trouble}"))
}

/// Every engine's part in the class routes: see [`route`].
fn class_routes() -> [Route; ROUTES] {
    let member = Route {
        valid: true,
        member: true,
        owner: 0,
    };
    let mut routes = [Route::default(); ROUTES];
    for index in route::MEMBER {
        routes[usize::from(index)] = member;
    }
    routes[usize::from(route::FOREIGN)] = Route { owner: 5, ..member };
    routes[usize::from(route::PASSING)] = Route {
        member: false,
        ..member
    };
    routes[usize::from(route::INVALID)] = Route {
        valid: false,
        ..member
    };
    routes
}

/// Engines of [`Setup::ring`] with memories of moderate, varying latency.
///
/// # Panics
/// If they do not come up.
pub fn bench(engines: usize, seed: u64) -> Bench {
    let timing = Timing::new(5..40, 5..60, 0.9);
    ok(Bench::new(&Setup::ring(engines, timing, seed)))
}

/// Benches of two engines, one of every model.
///
/// # Panics
/// If they do not come up.
pub fn pairs() -> impl Iterator<Item = Bench> {
    let models: [(Model, &[(u8, bool)]); 4] = [
        (DMA1, &[(2, true)]),
        (DMA1_FLIT8, &[(2, false)]),
        (DMA2_FLIT32, &[(1, true), (2, true)]),
        (DMA3, &[(1, true), (1, false), (2, true)]),
    ];
    models.into_iter().map(|(model, dims)| {
        let timing = Timing::new(5..40, 5..60, 0.9);
        let setup = Setup::ring(2, timing, 3);
        let shape = Shape::new(dims);
        ok(Bench::new(&Setup {
            model,
            shape,
            ..setup
        }))
    })
}

impl Bench {
    /// Engines brought up: FIFOs enabled, slots set, random bytes to send.
    ///
    /// # Errors
    /// [`Trouble`] of the bring-up.
    pub fn new(setup: &Setup) -> Result<Self, Trouble> {
        let (engines, ring_bytes) = (setup.shape.nodes(), setup.ring);
        let mut machine = Machine::new(&Config {
            model: setup.model,
            shape: setup.shape.clone(),
            memory: MEMORY,
            timing: setup.timing.clone(),
            seed: setup.seed,
        });
        let mut sources = Vec::new();
        let routes = class_routes();
        for engine in 0..engines {
            machine.configure_routes(engine, &routes);
            let mut bytes = vec![0; SOURCE_BYTES as usize];
            machine.rng().fill(&mut bytes);
            machine.engines[engine].memory.poke(SOURCE, &bytes);
            sources.push(bytes);
            for f in 0..=REMOTE_FIFO {
                let ring = INJECTION + f as u64 * ring_bytes;
                machine.write(engine, reg::injection(f, reg::BASE), ring)?;
                machine.write(engine, reg::injection(f, reg::SIZE), ring_bytes)?;
                let ctrl = if f == REMOTE_FIFO { 0b11 } else { 0b01 };
                machine.write(engine, reg::injection(f, reg::CTRL), ctrl | 1 << 8)?;
            }
            // The last reception FIFO stays disabled.
            for f in 0..RECEPTION_FIFOS - 1 {
                let ring = RECEPTION + f as u64 * ring_bytes;
                machine.write(engine, reg::reception(f, reg::BASE), ring)?;
                machine.write(engine, reg::reception(f, reg::SIZE), ring_bytes)?;
                machine.write(engine, reg::reception(f, reg::CTRL), 1)?;
            }
            // Limit; valid, read, write, atomic, remote read, owner from bit 8.
            let slots: [(u64, u64); 8] = [
                (0x3_f000, 0b00011),
                (0xf_0000, 0b00101),
                (0x1000, 0b01001),
                (0x1000, 0x503),
                (0x3_f000, 0b10011),
                (100, 0b11111),
                (0x1000, 0b11110),
                (0x1_0000, 0b00011),
            ];
            for (s, (base, (limit, rights))) in SLOT_BASE.into_iter().zip(slots).enumerate() {
                machine.write(engine, reg::slot(s, 0x00), base)?;
                machine.write(engine, reg::slot(s, 0x08), limit)?;
                machine.write(engine, reg::slot(s, 0x10), rights)?;
            }
        }
        Ok(Self {
            machine,
            ring: ring_bytes,
            sources,
            waiting: vec![vec![VecDeque::new(); INJECTION_FIFOS]; engines],
            posted: vec![vec![0; INJECTION_FIFOS]; engines],
            skipped: vec![vec![0; INJECTION_FIFOS]; engines],
            ignored: Vec::new(),
            taken: vec![vec![0; RECEPTION_FIFOS]; engines],
            flows: BTreeMap::new(),
            landings: Vec::new(),
            next_target: vec![0; engines],
            next_descriptor: vec![0; engines],
            next_message: 1,
            counters: BTreeMap::new(),
            receive: 1.0,
            received: 0,
            parked: Vec::new(),
            ordered: BTreeMap::new(),
            ordered_counters: BTreeMap::new(),
        })
    }

    /// Opens a flow for packets of `class`, by which messages or puts from `engine` to `to` go from now on. `None`: no flow
    /// is free at one of them.
    ///
    /// # Errors
    /// [`Trouble`] of the register accesses.
    pub fn open_flow(
        &mut self,
        engine: usize,
        to: usize,
        class: VClass,
    ) -> Result<Option<(u8, u8)>, Trouble> {
        let base = registers::FLOW - registers::page(0);
        let params = self.machine.read(engine, base + flow_page::PARAMS)?;
        let flows = flow_page::params::FLOWS.get(params) as u8;
        let open = &self.ordered;
        let here = |flow: &u8| {
            !open
                .iter()
                .any(|(key, pair)| key.0 == engine && pair.0 == *flow)
        };
        let there = |flow: &u8| {
            !open
                .iter()
                .any(|(key, pair)| key.2 == to && pair.1 == *flow)
        };
        let pair = ((0..flows).find(here), (0..flows).find(there));
        let (Some(here), Some(there)) = pair else {
            return Ok(None);
        };
        let pack = |coord: Coord| coord.pack().expect("a node of the machine");
        let target = flow_target::ctrl::PEER.put(pack(self.machine.coord(engine)).into())
            | flow_target::ctrl::PEER_FLOW.put(here.into())
            | flow_target::ctrl::VCLASS.put(u8::from(class).into())
            | flow_target::ctrl::OPEN.put(1);
        let source = flow_source::ctrl::PEER.put(pack(self.machine.coord(to)).into())
            | flow_source::ctrl::PEER_FLOW.put(there.into())
            | flow_source::ctrl::VCLASS.put(u8::from(class).into())
            | flow_source::ctrl::OPEN.put(1);
        let at = base + flow_page::target(there.into());
        self.machine.write(to, at, target)?;
        let at = base + flow_page::source(here.into());
        self.machine.write(engine, at, source)?;
        self.ordered.insert((engine, class, to), (here, there));
        Ok(Some((here, there)))
    }

    /// STATUS of the source's and of the target's end of every flow.
    ///
    /// # Errors
    /// [`Trouble`] of the register accesses.
    pub fn flow_states(&mut self) -> Result<Vec<[u64; 2]>, Trouble> {
        let base = registers::FLOW - registers::page(0);
        let flows: Vec<_> = (self.ordered.iter())
            .map(|(&(engine, _, to), &pair)| (engine, to, pair))
            .collect();
        let mut states = Vec::new();
        for (engine, to, (here, there)) in flows {
            let source = base + flow_page::source(here.into()) + flow_source::STATUS;
            let target = base + flow_page::target(there.into()) + flow_target::STATUS;
            states.push([
                self.machine.read(engine, source)?,
                self.machine.read(to, target)?,
            ]);
        }
        Ok(states)
    }

    fn by_flow(&self, engine: usize, to: usize, descriptor: Descriptor) -> Descriptor {
        let flow = self.ordered.get(&(engine, descriptor.vclass, to));
        flow.map_or(descriptor, |pair| descriptor.with_flow(pair.0))
    }

    fn engines(&self) -> usize {
        self.machine.engines.len()
    }

    /// Queues a descriptor as it is, with nothing expected of it.
    ///
    /// # Panics
    /// If a value does not fit into its field.
    pub fn post(&mut self, engine: usize, fifo: usize, descriptor: &Descriptor) {
        let bytes = descriptor.encode().expect("every value fits");
        self.post_bytes(engine, fifo, bytes);
    }

    /// Queues the bytes of a descriptor, with nothing expected of it.
    pub fn post_bytes(&mut self, engine: usize, fifo: usize, bytes: [u8; DESCRIPTOR_BYTES]) {
        self.waiting[engine][fifo].push_back(bytes);
    }

    /// A source at a random offset of a slot of [`SOURCE`].
    pub fn source(&mut self, slot: u16, length: u32) -> Source {
        let offset = self.machine.rng().u64(0..0x2_0000);
        Source {
            slot,
            offset,
            length,
        }
    }

    fn payload(&self, engine: usize, source: Source) -> Vec<u8> {
        let addr = SLOT_BASE[usize::from(source.slot)] + source.offset;
        let memory = &self.machine.engines[engine].memory;
        memory.peek(addr, source.length as usize).to_vec()
    }

    /// Sends a message of `length` bytes to a reception FIFO.
    /// Returns its message id.
    pub fn send(&mut self, from: (usize, usize), to: (usize, usize), length: u32) -> u32 {
        self.send_in(VClass::Request, from, to, length)
    }

    /// The same, in a class.
    pub fn send_in(
        &mut self,
        class: VClass,
        (engine, fifo): (usize, usize),
        (to, rec): (usize, usize),
        length: u32,
    ) -> u32 {
        let source = self.source(slot::SOURCE, length);
        let mut descriptor = Descriptor::memory_fifo(self.machine.coord(to), source, rec as u16);
        descriptor.vclass = class;
        let descriptor = self.by_flow(engine, to, descriptor);
        self.send_as((engine, fifo), (to, rec), descriptor)
    }

    /// Contributes `length` bytes to a collective whose result goes into a reception FIFO of `to`, which
    /// [`Machine::coll_to`] says. Returns its message id.
    ///
    /// # Panics
    /// If the class route does not exist.
    pub fn contribute(
        &mut self,
        (engine, fifo): (usize, usize),
        (to, rec): (usize, usize),
        collective: Collective,
        length: u32,
    ) -> u32 {
        let source = self.source(slot::SOURCE, length);
        let descriptor = Descriptor::collective_fifo(collective, None, source, rec as u16);
        let descriptor = descriptor.expect("the route exists");
        self.send_as((engine, fifo), (to, rec), descriptor)
    }

    /// Contributes `length` bytes to a collective whose result goes into the memory of `to`, which
    /// [`Machine::coll_to`] says.
    pub fn contribute_put(
        &mut self,
        (engine, fifo): (usize, usize),
        to: usize,
        collective: Collective,
        length: u32,
        counter: Option<u32>,
    ) {
        let source = self.source(slot::SOURCE, length);
        let offset = self.place(to, length);
        let mut descriptor = self.put_descriptor(engine, (to, offset), source, counter);
        descriptor.kind = Kind::Collective;
        descriptor.dst = Coord::default();
        descriptor.deposit = true;
        descriptor.hint = collective.hint().expect("the route exists");
        self.post(engine, fifo, &descriptor);
    }

    fn send_as(
        &mut self,
        (engine, fifo): (usize, usize),
        (to, rec): (usize, usize),
        descriptor: Descriptor,
    ) -> u32 {
        let source = descriptor.source;
        let message = self.next_message;
        self.next_message += 1;
        let flow = (engine as u32) << 8 | fifo as u32;
        let descriptor = descriptor
            .with_software(flow, message)
            .with_message_id(message);
        let payload = self.payload(engine, source);
        let step = MAX_PAYLOAD_BYTES;
        let packets = payload.len().div_ceil(step).max(1);
        for index in 0..packets {
            let part = &payload[index * step..payload.len().min((index + 1) * step)];
            let header = Header {
                dst: descriptor.dst,
                vclass: descriptor.vclass,
                src: self.machine.coord(engine),
                deposit: descriptor.deposit,
                dynamic_route: descriptor.dynamic_route,
                kind: descriptor.kind,
                len: part.len() as u16,
                hint: descriptor.hint,
                order: descriptor.order,
                flow: None,
                first: index == 0,
                last: index + 1 == packets,
                seq: (index % 1024) as u16,
                target: rec as u16,
                offset: (index * step) as u32,
                aux: source.length,
                sw0: flow,
                sw1: message,
            };
            let mut bytes = header.encode().expect("every value fits").to_vec();
            bytes.extend(part);
            bytes.resize(packet_bytes(part.len()), 0);
            let flow = self
                .flows
                .entry((engine, fifo, descriptor.vclass, to, rec))
                .or_default();
            flow.push_back(Expected { bytes });
        }
        self.post(engine, fifo, &descriptor);
        message
    }

    /// A place for `length` bytes at engine `to`, after a random gap, so that all alignments occur.
    fn place(&mut self, to: usize, length: u32) -> u64 {
        let gap = self.machine.rng().u64(0..80);
        self.place_at(to, length, self.next_target[to] + gap)
    }

    fn place_at(&mut self, to: usize, length: u32, offset: u64) -> u64 {
        self.next_target[to] = offset + u64::from(length);
        assert!(self.next_target[to] < 0xe_0000, "test puts too much");
        offset
    }

    /// Puts `source` to `offset` in the memory of `to`, and lowers its counter `counter`, if any.
    fn put_descriptor(
        &mut self,
        from: usize,
        (to, offset): (usize, u64),
        source: Source,
        counter: Option<u32>,
    ) -> Descriptor {
        let message = self.next_message;
        self.next_message += 1;
        let mut descriptor = Descriptor::put(self.machine.coord(to), source, slot::TARGET, offset)
            .with_message_id(message);
        // A put without payload counts as one.
        let lowers = u64::from(source.length.max(1));
        if let Some(index) = counter {
            descriptor = descriptor.with_counter(CounterRef {
                slot: slot::COUNTERS,
                index,
            });
            // A counter waits for all its puts from the start.
            let addr = COUNTERS + 8 * u64::from(index);
            *self.counters.entry((to, addr)).or_default() += lowers;
            let memory = &mut self.machine.engines[to].memory;
            let value = memory.word(addr) + lowers;
            memory.poke(addr, &value.to_le_bytes());
        }
        self.landings.push(Landing {
            engine: to,
            addr: TARGET + offset,
            bytes: self.payload(from, source),
            counter: counter.map(|index| (to, COUNTERS + 8 * u64::from(index))),
        });
        descriptor
    }

    /// Has counter `index` of `to` promise the bytes of the last put as well, which does not lower it.
    pub fn cover_last_put(&mut self, to: usize, index: u32) {
        if let Some(landing) = self.landings.last_mut() {
            landing.counter = Some((to, COUNTERS + 8 * u64::from(index)));
        }
    }

    /// Puts `length` bytes into the memory of `to`. Counters are to be used before anything runs. Returns
    /// its message id.
    pub fn put(
        &mut self,
        (engine, fifo): (usize, usize),
        to: usize,
        length: u32,
        counter: Option<u32>,
    ) -> u32 {
        let source = self.source(slot::SOURCE, length);
        let offset = self.place(to, length);
        let descriptor = self.put_descriptor(engine, (to, offset), source, counter);
        let descriptor = self.by_flow(engine, to, descriptor);
        if let (Some(flow), Some(index)) = (descriptor.flow, counter) {
            let counters = self.ordered_counters.entry((engine, flow)).or_default();
            counters.push((to, COUNTERS + 8 * u64::from(index)));
        }
        self.post(engine, fifo, &descriptor);
        descriptor.msg_id
    }

    /// Counters that were lowered by puts of one flow, each by one put, were written in the order of the puts.
    ///
    /// # Errors
    /// [`Trouble::Wrong`] if not.
    pub fn check_flow_order(&self) -> Result<(), Trouble> {
        for (flow, counters) in &self.ordered_counters {
            let written = |&(engine, addr): &(usize, u64)| {
                self.machine.engines[engine].memory.last_write(addr, 8)
            };
            let times: Vec<u64> = counters.iter().map(written).collect();
            if let Some(at) = times.windows(2).position(|pair| pair[0] >= pair[1]) {
                let text = format!("flow {flow:?}: put {at} and the next completed at {times:?}");
                return Err(self.wrong(text));
            }
        }
        Ok(())
    }

    /// Puts the bytes of `source` into the memory of `to`.
    pub fn put_from(&mut self, (engine, fifo): (usize, usize), to: usize, source: Source) {
        let offset = self.place(to, source.length);
        let descriptor = self.put_descriptor(engine, (to, offset), source, None);
        self.post(engine, fifo, &descriptor);
    }

    /// Puts the bytes of `source` into the memory of `to`, to the next free address that is `residue`
    /// modulo `modulus`.
    pub fn put_aligned(
        &mut self,
        (engine, fifo): (usize, usize),
        to: usize,
        source: Source,
        (modulus, residue): (u64, u64),
    ) {
        let next = SLOT_BASE[usize::from(slot::TARGET)] + self.next_target[to];
        let gap = (residue + modulus - next % modulus) % modulus;
        let offset = self.place_at(to, source.length, self.next_target[to] + gap);
        let descriptor = self.put_descriptor(engine, (to, offset), source, None);
        self.post(engine, fifo, &descriptor);
    }

    /// Notes that software skipped a descriptor, which will not count as completed.
    pub fn skipped(&mut self, engine: usize, fifo: usize) {
        self.skipped[engine][fifo] += 1;
    }

    /// Enables an injection FIFO again, with its incomplete descriptors queued again from the start of
    /// its ring.
    ///
    /// # Errors
    /// [`Trouble`] of the register accesses.
    pub fn restart(&mut self, engine: usize, fifo: usize) -> Result<(), Trouble> {
        let count = self
            .machine
            .read(engine, reg::injection(fifo, reg::COUNT))?;
        let ring = INJECTION + fifo as u64 * self.ring;
        for index in (count..std::mem::take(&mut self.posted[engine][fifo])).rev() {
            let at = index * DESCRIPTOR_BYTES as u64 % self.ring;
            let memory = &self.machine.engines[engine].memory;
            let mut bytes = [0; DESCRIPTOR_BYTES];
            bytes.copy_from_slice(memory.peek(ring + at, DESCRIPTOR_BYTES));
            self.waiting[engine][fifo].push_front(bytes);
        }
        let ctrl = reg::injection(fifo, reg::CTRL);
        self.machine.write(engine, ctrl, 1 | 1 << 8)
    }

    /// Leaves a reception FIFO alone, since it is halted.
    pub fn ignore_reception(&mut self, engine: usize, fifo: usize) {
        self.ignored.push((engine, fifo));
    }

    /// Empties a reception FIFO again that was left alone.
    pub fn heed_reception(&mut self, engine: usize, fifo: usize) {
        self.ignored.retain(|&left| left != (engine, fifo));
    }

    /// Has engine `to` put pieces of the given lengths back into the memory of `engine`.
    pub fn get(
        &mut self,
        (engine, fifo): (usize, usize),
        to: usize,
        lengths: &[u32],
        counter: Option<u32>,
    ) {
        let descriptors: Vec<Descriptor> = lengths
            .iter()
            .map(|&length| {
                let source = self.source(slot::GRANTED, length);
                let offset = self.place(engine, length);
                self.put_descriptor(to, (engine, offset), source, counter)
            })
            .collect();
        self.request(engine, fifo, to, &descriptors);
    }

    /// Sends descriptors to the remote-get FIFO of `to`, with nothing expected of them.
    ///
    /// # Panics
    /// If a value does not fit into its field.
    pub fn request(&mut self, engine: usize, fifo: usize, to: usize, descriptors: &[Descriptor]) {
        let offset = self.next_descriptor[engine];
        for (index, descriptor) in descriptors.iter().enumerate() {
            let bytes = descriptor.encode().expect("every value fits");
            let at = offset + (index * DESCRIPTOR_BYTES) as u64;
            let base = SLOT_BASE[usize::from(slot::DESCRIPTORS)];
            let memory = &mut self.machine.engines[engine].memory;
            memory.poke(base + at, &bytes);
        }
        let length = descriptors.len() * DESCRIPTOR_BYTES;
        // Not only whole lines.
        self.next_descriptor[engine] = offset + length as u64 + 3;
        let source = Source {
            slot: slot::DESCRIPTORS,
            offset,
            length: length as u32,
        };
        let get = Descriptor::remote_get(self.machine.coord(to), source, REMOTE_FIFO as u16);
        self.post(engine, fifo, &get);
    }

    /// Writes some of the queued descriptors into a ring and moves its TAIL.
    fn fill(&mut self, engine: usize, fifo: usize) -> Result<(), Trouble> {
        let head = self.machine.read(engine, reg::injection(fifo, reg::HEAD))?;
        let posted = self.posted[engine][fifo];
        let room = self.ring / DESCRIPTOR_BYTES as u64 - (posted - head / DESCRIPTOR_BYTES as u64);
        let count = room.min(self.waiting[engine][fifo].len() as u64);
        let some = self.machine.rng().u64(0..=count);
        for index in posted..posted + some {
            if let Some(bytes) = self.waiting[engine][fifo].pop_front() {
                let at = index * DESCRIPTOR_BYTES as u64 % self.ring;
                let ring = INJECTION + fifo as u64 * self.ring;
                self.machine.engines[engine].memory.poke(ring + at, &bytes);
            }
        }
        self.posted[engine][fifo] += some;
        let tail = self.posted[engine][fifo] * DESCRIPTOR_BYTES as u64;
        self.machine
            .write(engine, reg::injection(fifo, reg::TAIL), tail)
    }

    fn wrong(&self, text: String) -> Trouble {
        Trouble::Wrong(self.machine.cycle(), text)
    }

    /// Judges every packet that a reception FIFO has committed, and gives its space back.
    fn drain(&mut self, engine: usize, fifo: usize) -> Result<(), Trouble> {
        let tail = self.machine.read(engine, reg::reception(fifo, reg::TAIL))?;
        if self.taken[engine][fifo] == tail {
            return Ok(());
        }
        while self.taken[engine][fifo] < tail {
            self.judge_next(engine, fifo)?;
        }
        let at = self.taken[engine][fifo];
        if at != tail {
            let text =
                format!("engine {engine} reception FIFO {fifo}: TAIL {tail} inside a packet");
            return Err(self.wrong(text));
        }
        self.machine
            .write(engine, reg::reception(fifo, reg::HEAD), at)
    }

    /// Judges the oldest packet of a reception FIFO and gives its space back.
    ///
    /// # Errors
    /// [`Trouble`] if it is not the expected one.
    pub fn take_one(&mut self, engine: usize, fifo: usize) -> Result<(), Trouble> {
        self.judge_next(engine, fifo)?;
        let at = self.taken[engine][fifo];
        self.machine
            .write(engine, reg::reception(fifo, reg::HEAD), at)
    }

    fn judge_next(&mut self, engine: usize, fifo: usize) -> Result<(), Trouble> {
        let at = self.taken[engine][fifo];
        let header = self.ring_bytes(engine, fifo, at, HEADER_BYTES);
        // Length: header bits 77:68.
        let len = (usize::from(header[8]) >> 4) | (usize::from(header[9] & 0x3f) << 4);
        let bytes = self.ring_bytes(engine, fifo, at, packet_bytes(len));
        self.taken[engine][fifo] += bytes.len() as u64;
        self.judge(engine, fifo, &bytes)
    }

    fn ring_bytes(&self, engine: usize, fifo: usize, at: u64, len: usize) -> Vec<u8> {
        let ring = RECEPTION + fifo as u64 * self.ring;
        let memory = &self.machine.engines[engine].memory;
        (at..at + len as u64)
            .map(|at| memory.bytes[(ring + at % self.ring) as usize])
            .collect()
    }

    fn judge(&mut self, engine: usize, fifo: usize, bytes: &[u8]) -> Result<(), Trouble> {
        let packed = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        let source = self.machine.engine_at(Coord::unpack(packed));
        let source = source.unwrap_or(usize::MAX);
        let from = usize::from(bytes[24]);
        // Class: header bits 31:30.
        let flow = VClass::try_from(bytes[3] >> 6).ok();
        let flow = flow.and_then(|class| self.flows.get_mut(&(source, from, class, engine, fifo)));
        let Some(expected) = flow.and_then(VecDeque::pop_front) else {
            let text = format!("engine {engine} FIFO {fifo}: unexpected packet {bytes:02x?}");
            return Err(self.wrong(text));
        };
        // Pad bytes are zero on the wire; in the ring they are not promised.
        let len = (usize::from(bytes[8]) >> 4) | (usize::from(bytes[9] & 0x3f) << 4);
        let used = HEADER_BYTES + len;
        if bytes.len() != expected.bytes.len() || bytes[..used] != expected.bytes[..used] {
            let text = format!(
                "engine {engine} FIFO {fifo}: packet {bytes:02x?}, expected {:02x?}",
                expected.bytes
            );
            return Err(self.wrong(text));
        }
        self.received += 1;
        Ok(())
    }

    /// Runs until every message has gone and every packet expected has come, emptying FIFOs on the way,
    /// then until all is idle; then compares memories and counters.
    ///
    /// # Errors
    /// [`Trouble`], above all [`Trouble::Stuck`] after `limit` cycles.
    pub fn finish(&mut self, limit: u64) -> Result<(), Trouble> {
        let end = self.machine.cycle() + limit;
        while !self.done()? {
            if self.machine.cycle() > end {
                let left: usize = self.flows.values().map(VecDeque::len).sum();
                let text = format!("{left} packets have not come: {:?}", self.flow_levels());
                return Err(Trouble::Stuck(self.machine.cycle(), text));
            }
            self.turn()?;
        }
        self.machine.settle(4_000)?;
        self.compare()
    }

    fn flow_levels(&self) -> Vec<(Flow, usize)> {
        let levels = self.flows.iter().map(|(&flow, queue)| (flow, queue.len()));
        levels.filter(|level| level.1 != 0).collect()
    }

    /// One turn of the software over all FIFOs.
    ///
    /// # Errors
    /// [`Trouble`] of the machine, or of a packet taken.
    pub fn turn(&mut self) -> Result<(), Trouble> {
        for engine in 0..self.engines() {
            for fifo in 0..INJECTION_FIFOS {
                let parked = self.parked.contains(&(engine, fifo));
                if !parked && !self.waiting[engine][fifo].is_empty() {
                    self.fill(engine, fifo)?;
                }
            }
            for fifo in 0..RECEPTION_FIFOS {
                let ignored = self.ignored.contains(&(engine, fifo));
                if !ignored && self.machine.rng().f64() < self.receive {
                    self.drain(engine, fifo)?;
                }
            }
            self.check_counters(engine)?;
        }
        let cycles = self.machine.rng().u64(1..10);
        self.machine.run(cycles)
    }

    /// A counter at zero promises that the bytes of all its puts are in memory.
    fn check_counters(&self, engine: usize) -> Result<(), Trouble> {
        for &(owner, addr) in self.counters.keys() {
            let memory = &self.machine.engines[owner].memory;
            if owner == engine && memory.word(addr) == 0 {
                for landing in &self.landings {
                    if landing.counter == Some((owner, addr)) {
                        self.check_landing(landing)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn check_landing(&self, landing: &Landing) -> Result<(), Trouble> {
        let memory = &self.machine.engines[landing.engine].memory;
        let found = memory.peek(landing.addr, landing.bytes.len());
        let same = found.iter().zip(&landing.bytes).take_while(|(a, b)| a == b);
        let same = same.count();
        if same == landing.bytes.len() {
            return Ok(());
        }
        Err(self.wrong(format!(
            "engine {}: {} bytes put at {:#x} differ from byte {same}",
            landing.engine,
            landing.bytes.len(),
            landing.addr
        )))
    }

    /// A counter came to rest only after the last byte of every put that it counts.
    fn check_order(&self, landing: &Landing) -> Result<(), Trouble> {
        let (Some((_, counter)), false) = (landing.counter, landing.bytes.is_empty()) else {
            return Ok(());
        };
        let memory = &self.machine.engines[landing.engine].memory;
        let data = memory.last_write(landing.addr, landing.bytes.len() as u64);
        let counted = memory.last_write(counter, 8);
        if counted > data {
            return Ok(());
        }
        Err(self.wrong(format!(
            "engine {}: counter {counter:#x} was written in cycle {counted}, a byte of its put at {:#x} in {data}",
            landing.engine, landing.addr
        )))
    }

    fn done(&mut self) -> Result<bool, Trouble> {
        if self.flows.values().any(|flow| !flow.is_empty()) {
            return Ok(false);
        }
        for engine in 0..self.engines() {
            for fifo in 0..SOFTWARE_FIFOS {
                if self.parked.contains(&(engine, fifo)) {
                    continue;
                }
                let count = self
                    .machine
                    .read(engine, reg::injection(fifo, reg::COUNT))?;
                if !self.waiting[engine][fifo].is_empty()
                    || count + self.skipped[engine][fifo] != self.posted[engine][fifo]
                {
                    return Ok(false);
                }
            }
        }
        Ok(self.machine.quiet())
    }

    /// Compares the target area of every memory, and every counter, with the expected content.
    fn compare(&self) -> Result<(), Trouble> {
        for landing in &self.landings {
            self.check_landing(landing)?;
            self.check_order(landing)?;
        }
        for (index, engine) in self.machine.engines.iter().enumerate() {
            let mut expected = vec![0; MEMORY - TARGET as usize];
            for landing in self
                .landings
                .iter()
                .filter(|landing| landing.engine == index)
            {
                let at = (landing.addr - TARGET) as usize;
                expected[at..at + landing.bytes.len()].copy_from_slice(&landing.bytes);
            }
            let found = engine.memory.peek(TARGET, expected.len());
            if let Some(at) = (0..expected.len()).find(|&at| found[at] != expected[at]) {
                let addr = TARGET + at as u64;
                return Err(self.wrong(format!("engine {index}: stray byte at {addr:#x}")));
            }
            let sources = engine.memory.peek(SOURCE, SOURCE_BYTES as usize);
            if sources != self.sources[index] {
                return Err(self.wrong(format!("engine {index}: what it sends from has changed")));
            }
            let counters = engine.memory.peek(COUNTERS, 0x1000);
            if let Some(at) = counters.iter().position(|&byte| byte != 0) {
                return Err(self.wrong(format!("engine {index}: counter byte {at} is not zero")));
            }
        }
        Ok(())
    }

    /// Counters that reach zero in the end, of engine `engine`.
    pub fn counters_of(&self, engine: usize) -> u64 {
        let counters = self.counters.iter();
        counters
            .filter(|(key, total)| key.0 == engine && **total != 0)
            .count() as u64
    }
}
