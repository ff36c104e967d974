// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random traffic of every kind between all nodes. Every byte is checked: messages of memory FIFOs in order
//! and exactly once, puts and remote gets by their byte counters and by what they wrote, and all memory that
//! nobody was granted for writing.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

use gyre_firmware::{
    InjectionConfig, Node, NodeError, ReceptionConfig, Rights, SelfTest, SlotConfig,
};
use gyre_layout::registers::{self, group_page, injection_fifo, node, reception_fifo, wake_group};
use gyre_layout::{
    CounterRef, DESCRIPTOR_BYTES, Descriptor, HEADER_BYTES, Header, Source, event, packet_bytes,
};
use gyre_sim::{ActorId, BusError, Cpu, Machine, Topology, Until, WakeReason};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::Failure;

/// A part of a node's memory, and the base slot that grants it.
#[derive(Clone, Copy)]
pub struct Region {
    pub slot: u16,
    pub base: u64,
    pub bytes: u64,
}

/// Bytes of memory that the traffic uses and checks.
pub const MEMORY: u64 = 0x10_0000;
/// Rings of the injection FIFOs that software fills, 4 KiB each: two for messages, one for remote gets.
pub const INJECTION_RINGS: u64 = 0x1000;
pub const INJECTION_FIFOS: u16 = 3;
/// Injection FIFO that remote gets of other nodes fill.
pub const REMOTE_GET_FIFO: u16 = 31;
pub const REMOTE_GET_RING: u64 = 0x8000;
pub const RING_BYTES: u64 = 0x1000;
/// Reception FIFOs: number, ring, bytes. The second is small, to be full at times.
pub const RECEPTION: [(u16, u64, u64); 2] = [(0, 0x1_0000, 0x4000), (5, 0x1_8000, 0x1000)];
/// Data to send, at an odd address.
pub const SOURCE: Region = Region {
    slot: 0,
    base: 0x4_0025,
    bytes: 0x1_0000,
};
/// Where puts write.
pub const LANDING: Region = Region {
    slot: 1,
    base: 0x6_0005,
    bytes: 0x6_0000,
};
/// Byte counters: of puts from node n at n, of gets from node n at nodes + n.
pub const COUNTERS: Region = Region {
    slot: 2,
    base: 0xd_0000,
    bytes: 0x1000,
};
/// Descriptors that remote gets carry.
pub const DESCRIPTORS: Region = Region {
    slot: 3,
    base: 0xe_0000,
    bytes: 0x1_0000,
};
/// Memory for the rings of a test's own FIFOs.
pub const SPARE: Range<u64> = 0x9000..0xc000;
/// Contents of memory that was never written.
pub const UNTOUCHED: u8 = 0xee;

/// Byte at an offset of a node's source region.
pub fn pattern(node: usize, offset: u64) -> u8 {
    let x = (node as u64 + 1).wrapping_mul(0x9e37_79b9) ^ offset.wrapping_mul(0x85eb_ca6b);
    (x ^ x >> 13 ^ x >> 21) as u8
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From the initiator into a reception FIFO of the peer.
    Fifo { reception: u16 },
    /// From the initiator to an offset of the peer's landing region.
    Put { landing: u64 },
    /// From the peer to an offset of the initiator's landing region.
    Get { landing: u64 },
}

#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub kind: Kind,
    pub peer: usize,
    /// Injection FIFO of the initiator.
    pub injection: u16,
    /// Offset in the source region of the node that has the data.
    pub source: u64,
    pub length: u32,
    pub id: u32,
}

impl Message {
    /// Packets that carry its payload.
    pub fn packets(&self) -> u64 {
        u64::from(self.length.div_ceil(512).max(1))
    }
}

/// All messages of a run, by initiator.
#[derive(Clone, Debug)]
pub struct Plan {
    pub messages: Vec<Vec<Message>>,
}

impl Plan {
    /// `count` messages a node, of all kinds, to all nodes, itself included.
    pub fn random(nodes: usize, count: usize, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut landing = vec![0; nodes];
        let mut messages = vec![Vec::new(); nodes];
        for number in 0..count {
            for (node, list) in messages.iter_mut().enumerate() {
                let length = match random.random_range(0..8) {
                    0 => [0, 1, 31, 32, 33, 64][random.random_range(0..6)],
                    1 => [511, 512, 513, 1024, 1025][random.random_range(0..5)],
                    2..5 => random.random_range(0..200),
                    _ => random.random_range(0..2500),
                };
                let peer = random.random_range(0..nodes);
                let receiver = match random.random_range(0..4) {
                    0 => None,
                    1 => Some(node),
                    _ => Some(peer),
                };
                let source = random.random_range(0..SOURCE.bytes - u64::from(length));
                let mut place = |receiver: usize| {
                    let at = landing[receiver] + random.random_range(0..70);
                    landing[receiver] = at + u64::from(length) + 1;
                    assert!(
                        landing[receiver] <= LANDING.bytes,
                        "too much for the landing region"
                    );
                    at
                };
                let (kind, injection) = match receiver {
                    Some(receiver) if receiver == node && peer != node => {
                        let landing = place(node);
                        (Kind::Get { landing }, 2)
                    }
                    Some(receiver) => {
                        let landing = place(receiver);
                        (Kind::Put { landing }, number as u16 % 2)
                    }
                    None => {
                        let (reception, ..) = RECEPTION[number / 2 % 2];
                        (Kind::Fifo { reception }, number as u16 % 2)
                    }
                };
                list.push(Message {
                    kind,
                    peer,
                    injection,
                    source,
                    length,
                    id: (node as u32) << 16 | (number as u32 + 1),
                });
            }
        }
        Self { messages }
    }

    pub fn nodes(&self) -> usize {
        self.messages.len()
    }

    /// Every message with its initiator.
    pub fn all(&self) -> impl Iterator<Item = (usize, &Message)> {
        let by_node = self.messages.iter().enumerate();
        by_node.flat_map(|(node, list)| list.iter().map(move |message| (node, message)))
    }

    /// By how much puts and gets lower each counter of a node: their bytes, one for those without.
    fn counters(&self, node: usize) -> BTreeMap<u64, u64> {
        let mut counters = BTreeMap::new();
        for (initiator, message) in self.all() {
            let index = match message.kind {
                Kind::Put { .. } if message.peer == node => initiator,
                Kind::Get { .. } if initiator == node => self.nodes() + message.peer,
                _ => continue,
            };
            *counters.entry(index as u64).or_insert(0) += u64::from(message.length.max(1));
        }
        counters
    }

    /// Final contents of a node's landing region.
    pub fn landing(&self, node: usize) -> Vec<u8> {
        let mut bytes = vec![UNTOUCHED; LANDING.bytes as usize];
        for (initiator, message) in self.all() {
            let (from, landing) = match message.kind {
                Kind::Put { landing } if message.peer == node => (initiator, landing),
                Kind::Get { landing } if initiator == node => (message.peer, landing),
                _ => continue,
            };
            for at in 0..u64::from(message.length) {
                bytes[(landing + at) as usize] = pattern(from, message.source + at);
            }
        }
        bytes
    }

    /// The descriptor that the initiator posts; for a get also the one that it carries.
    pub fn descriptors(
        &self,
        topology: &Topology,
        node: usize,
        number: usize,
    ) -> (Descriptor, Option<Descriptor>) {
        let message = &self.messages[node][number];
        let payload = Source {
            slot: SOURCE.slot,
            offset: message.source,
            length: message.length,
        };
        let counter = |index: usize| CounterRef {
            slot: COUNTERS.slot,
            index: index as u32,
        };
        let peer = topology.header_coord(message.peer);
        let (posted, carried) = match message.kind {
            Kind::Fifo { reception } => {
                let software = (node as u32) << 8 | u32::from(message.injection);
                let descriptor = Descriptor::memory_fifo(peer, payload, reception)
                    .with_software(software, number as u32);
                (descriptor, None)
            }
            Kind::Put { landing } => {
                let descriptor = Descriptor::put(peer, payload, LANDING.slot, landing)
                    .with_counter(counter(node));
                (descriptor, None)
            }
            Kind::Get { landing } => {
                let here = topology.header_coord(node);
                let carried = Descriptor::put(here, payload, LANDING.slot, landing)
                    .with_counter(counter(self.nodes() + message.peer))
                    .with_message_id(message.id);
                let source = Source {
                    slot: DESCRIPTORS.slot,
                    offset: (DESCRIPTOR_BYTES * number) as u64,
                    length: DESCRIPTOR_BYTES as u32,
                };
                let posted = Descriptor::remote_get(peer, source, REMOTE_GET_FIFO);
                (posted, Some(carried))
            }
        };
        (posted.with_message_id(message.id), carried)
    }
}

/// Fills memory, brings the node up by its firmware, without self-test, and opens FIFOs and slots.
pub fn set_up(cpu: &Cpu) -> Result<(), NodeError<BusError>> {
    fill(cpu);
    let mut node = Node::identify(cpu.clone())?;
    node.bring_up(
        &cpu.topology().network_config(cpu.node()),
        SelfTest::Skip,
        1000,
    )?;
    open(&mut node)
}

/// Memory before any traffic.
pub fn fill(cpu: &Cpu) {
    cpu.mem_write(0, &vec![UNTOUCHED; MEMORY as usize]);
    cpu.mem_write(SOURCE.base, &source_bytes(cpu.node()));
}

fn source_bytes(node: usize) -> Vec<u8> {
    (0..SOURCE.bytes).map(|at| pattern(node, at)).collect()
}

/// Opens the FIFOs and grants the slots of the traffic.
pub fn open(node: &mut Node<Cpu>) -> Result<(), NodeError<BusError>> {
    for fifo in 0..INJECTION_FIFOS {
        let config = InjectionConfig {
            base: INJECTION_RINGS + RING_BYTES * u64::from(fifo),
            size: RING_BYTES,
            owner: 0,
            remote_get: false,
            interrupt: true,
        };
        node.open_injection(fifo, &config)?;
    }
    let remote = InjectionConfig {
        base: REMOTE_GET_RING,
        size: RING_BYTES,
        owner: 0,
        remote_get: true,
        interrupt: false,
    };
    node.open_injection(REMOTE_GET_FIFO, &remote)?;
    for (fifo, base, size) in RECEPTION {
        let config = ReceptionConfig {
            base,
            size,
            owner: 0,
            threshold: 0,
        };
        node.open_reception(fifo, &config)?;
    }
    let read = Rights {
        read: true,
        ..Rights::default()
    };
    for (region, rights) in [
        (
            SOURCE,
            Rights {
                remote_read: true,
                ..read
            },
        ),
        (
            LANDING,
            Rights {
                write: true,
                ..Rights::default()
            },
        ),
        (
            COUNTERS,
            Rights {
                atomic: true,
                ..Rights::default()
            },
        ),
        (DESCRIPTORS, read),
    ] {
        let config = SlotConfig {
            base: region.base,
            limit: region.bytes,
            owner: 0,
            rights,
        };
        node.grant_slot(region.slot, &config)?;
    }
    Ok(())
}

pub fn injection(fifo: u16, register: u64) -> u64 {
    registers::page(0) + group_page::inj(fifo.into()) + register
}

pub fn reception(fifo: u16, register: u64) -> u64 {
    registers::page(0) + group_page::rec(fifo.into()) + register
}

/// Packets, errors and wake-ups that a node's software has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Packets and whole messages taken from reception FIFOs.
    pub packets: u64,
    pub messages: u64,
    /// Descriptors posted and completed, by injection FIFO.
    pub posted: [u64; INJECTION_FIFOS as usize],
    pub completed: [u64; INJECTION_FIFOS as usize],
    /// Everything that was expected is here.
    pub done: bool,
    /// Messages that did not come before the node gave up, by initiator.
    pub missing: BTreeMap<usize, usize>,
}

/// Nodes whose packets may get lost; packets that arrive are checked all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lossy {
    #[default]
    None,
    From(usize),
    All,
}

/// How a node takes part.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Cycles after which the node stops taking part, done or not.
    pub give_up: Option<u64>,
    /// Packets of these nodes may get lost.
    pub lossy: Lossy,
    /// Node that is reset meanwhile; its software does not know and may stumble over it.
    pub victim: Option<usize>,
    /// Processor cycles between two descriptors, at most.
    pub pace: u64,
}

type Stream = (usize, u16, u16);

/// A node's part of a plan.
struct Part<'a> {
    cpu: &'a Cpu,
    plan: &'a Plan,
    seen: &'a RefCell<Seen>,
    lossy: Lossy,
    random: ChaCha8Rng,
    pace: u64,
    /// Numbers of the messages of each injection FIFO.
    lists: [Vec<usize>; INJECTION_FIFOS as usize],
    /// TAIL and COUNT of each injection FIFO before the first message.
    tails: [u64; INJECTION_FIFOS as usize],
    counts: [u64; INJECTION_FIFOS as usize],
    heads: [u64; RECEPTION.len()],
    /// Messages to come, in order, by initiator, its injection FIFO, and reception FIFO here.
    expected: BTreeMap<Stream, VecDeque<usize>>,
    /// Bytes that have come of the first of them.
    progress: BTreeMap<Stream, u32>,
    counters: BTreeMap<u64, u64>,
}

impl<'a> Part<'a> {
    fn new(
        cpu: &'a Cpu,
        plan: &'a Plan,
        style: Style,
        seen: &'a RefCell<Seen>,
    ) -> Result<Self, Failure> {
        let me = cpu.node();
        let mut lists: [Vec<usize>; INJECTION_FIFOS as usize] = Default::default();
        for (number, message) in plan.messages[me].iter().enumerate() {
            lists[usize::from(message.injection)].push(number);
        }
        let mut expected: BTreeMap<Stream, VecDeque<usize>> = BTreeMap::new();
        for (src, list) in plan.messages.iter().enumerate() {
            for (number, message) in list.iter().enumerate() {
                if let Kind::Fifo { reception } = message.kind
                    && message.peer == me
                {
                    let stream = (src, message.injection, reception);
                    expected.entry(stream).or_default().push_back(number);
                }
            }
        }
        let mut part = Self {
            cpu,
            plan,
            seen,
            lossy: style.lossy,
            random: ChaCha8Rng::seed_from_u64(me as u64 + 77),
            pace: style.pace,
            lists,
            tails: [0; 3],
            counts: [0; 3],
            heads: [0; 2],
            expected,
            progress: BTreeMap::new(),
            counters: plan.counters(me),
        };
        for fifo in 0..INJECTION_FIFOS {
            let index = usize::from(fifo);
            part.tails[index] = cpu.read_reg(injection(fifo, injection_fifo::TAIL))?;
            part.counts[index] = cpu.read_reg(injection(fifo, injection_fifo::COUNT))?;
        }
        for (index, (fifo, ..)) in RECEPTION.into_iter().enumerate() {
            part.heads[index] = cpu.read_reg(reception(fifo, reception_fifo::HEAD))?;
        }
        Ok(part)
    }

    /// Puts as many descriptors into the rings as there is room for.
    fn post(&mut self) -> Result<(), Failure> {
        let topology = self.cpu.topology();
        for fifo in 0..INJECTION_FIFOS {
            let index = usize::from(fifo);
            loop {
                let (posted, completed) = {
                    let seen = self.seen.borrow();
                    (seen.posted[index], seen.completed[index])
                };
                let room = RING_BYTES / DESCRIPTOR_BYTES as u64 - (posted - completed);
                let next = self.lists[index].get(posted as usize).copied();
                let Some(number) = next.filter(|_| room > 0) else {
                    break;
                };
                let (descriptor, carried) =
                    self.plan.descriptors(topology, self.cpu.node(), number);
                if let Some(carried) = carried {
                    let at = DESCRIPTORS.base + (DESCRIPTOR_BYTES * number) as u64;
                    self.cpu.mem_write(at, &carried.encode()?);
                }
                let tail = self.tails[index] + DESCRIPTOR_BYTES as u64 * posted;
                let ring = INJECTION_RINGS + RING_BYTES * u64::from(fifo);
                self.cpu
                    .mem_write(ring + tail % RING_BYTES, &descriptor.encode()?);
                self.cpu.write_reg(
                    injection(fifo, injection_fifo::TAIL),
                    tail + DESCRIPTOR_BYTES as u64,
                )?;
                self.seen.borrow_mut().posted[index] = posted + 1;
                if self.pace > 0 {
                    self.cpu
                        .charge_instructions(self.random.random_range(0..self.pace));
                }
            }
        }
        Ok(())
    }

    fn take_all(&mut self) -> Result<(), Failure> {
        for (index, (fifo, base, bytes)) in RECEPTION.into_iter().enumerate() {
            let tail = self.cpu.read_reg(reception(fifo, reception_fifo::TAIL))?;
            if tail == self.heads[index] {
                continue;
            }
            while self.heads[index] != tail {
                let ring = Ring {
                    cpu: self.cpu,
                    base,
                    bytes,
                };
                self.heads[index] += self.take(fifo, ring, self.heads[index])?;
            }
            self.cpu
                .write_reg(reception(fifo, reception_fifo::HEAD), tail)?;
        }
        Ok(())
    }

    /// Checks a packet and returns its bytes in the ring.
    fn take(&mut self, fifo: u16, ring: Ring<'_>, head: u64) -> Result<u64, Failure> {
        let mut bytes = [0; HEADER_BYTES];
        ring.read(head, &mut bytes);
        let header = Header::decode(&bytes)?;
        let wrong = |what: &str| -> Failure { format!("{what}: {header:?}").into() };
        let src = (header.sw0 >> 8) as usize;
        let number = header.sw1 as usize;
        let stream = (src, (header.sw0 & 0xff) as u16, fifo);
        let queue = self
            .expected
            .get_mut(&stream)
            .ok_or_else(|| wrong("packet of no message to this FIFO"))?;
        let progress = self.progress.entry(stream).or_insert(0);
        if self.lossy == Lossy::All || self.lossy == Lossy::From(src) {
            while queue.front().is_some_and(|&front| front != number) {
                queue.pop_front();
                *progress = 0;
            }
            if *progress <= header.offset {
                *progress = header.offset;
            }
        }
        if queue.front() != Some(&number) {
            return Err(wrong("packet out of order"));
        }
        let message = &self.plan.messages[src][number];
        let topology = self.cpu.topology();
        let len = u32::from(header.len);
        let good = header.src == topology.header_coord(src)
            && header.dst == topology.header_coord(self.cpu.node())
            && header.offset == *progress
            && header.aux == message.length
            && header.first == (*progress == 0)
            && header.last == (*progress + len == message.length);
        if !good {
            return Err(wrong(&format!("not byte {progress} of {message:?}")));
        }
        let mut payload = vec![0; len as usize];
        ring.read(head + HEADER_BYTES as u64, &mut payload);
        let first = message.source + u64::from(header.offset);
        for (at, &byte) in payload.iter().enumerate() {
            if byte != pattern(src, first + at as u64) {
                return Err(wrong(&format!("payload byte {at} is {byte:#x}")));
            }
        }
        *progress += len;
        let mut seen = self.seen.borrow_mut();
        seen.packets += 1;
        if header.last {
            queue.pop_front();
            *progress = 0;
            seen.messages += 1;
        }
        self.cpu.charge_instructions(20 + u64::from(len) / 16);
        Ok(packet_bytes(len as usize) as u64)
    }

    /// Looks which descriptors have completed; whether all have.
    fn completed(&mut self) -> Result<bool, Failure> {
        let mut all = true;
        for fifo in 0..INJECTION_FIFOS {
            let index = usize::from(fifo);
            let posted = self.seen.borrow().posted[index];
            if self.seen.borrow().completed[index] < posted {
                let count = self.cpu.read_reg(injection(fifo, injection_fifo::COUNT))?;
                self.seen.borrow_mut().completed[index] = count - self.counts[index];
            }
            all &= self.seen.borrow().completed[index] == self.lists[index].len() as u64;
        }
        Ok(all)
    }

    fn counters_are_zero(&self) -> bool {
        self.counters.keys().all(|&index| {
            let mut bytes = [0; 8];
            self.cpu.mem_read(COUNTERS.base + 8 * index, &mut bytes);
            bytes == [0; 8]
        })
    }
}

struct Ring<'a> {
    cpu: &'a Cpu,
    base: u64,
    bytes: u64,
}

impl Ring<'_> {
    fn read(&self, at: u64, out: &mut [u8]) {
        let offset = at % self.bytes;
        let before_end = ((self.bytes - offset) as usize).min(out.len());
        let (first, rest) = out.split_at_mut(before_end);
        self.cpu.mem_read(self.base + offset, first);
        self.cpu.mem_read(self.base, rest);
    }
}

/// Sets the byte counters for a plan.
pub fn set_counters(cpu: &Cpu, plan: &Plan) {
    for (index, bytes) in plan.counters(cpu.node()) {
        cpu.mem_write(COUNTERS.base + 8 * index, &bytes.to_le_bytes());
    }
}

/// Sends this node's messages of the plan, and waits until all have left and all for this node have arrived.
pub fn take_part(
    cpu: &Cpu,
    plan: &Plan,
    style: Style,
    seen: &RefCell<Seen>,
) -> Result<(), Failure> {
    let mask = registers::wake(0) + wake_group::MASK;
    let cause = registers::wake(0) + wake_group::CAUSE;
    let mut events = event::COUNTER;
    for (fifo, ..) in RECEPTION {
        events |= event::reception(fifo.into());
    }
    for fifo in 0..INJECTION_FIFOS {
        events |= event::injection(fifo.into());
    }
    cpu.write_reg(mask, events)?;
    let deadline = style
        .give_up
        .map(|cycles| cpu.now_ps() + cycles * cpu.cycle_ps());
    let mut part = Part::new(cpu, plan, style, seen)?;
    loop {
        cpu.write_reg(cause, events)?;
        part.post()?;
        part.take_all()?;
        let sent = part.completed()?;
        let arrived = part.expected.values().all(VecDeque::is_empty);
        if sent && arrived && part.counters_are_zero() {
            seen.borrow_mut().done = true;
            return Ok(cpu.fence()?);
        }
        let open: usize = part.expected.values().map(VecDeque::len).sum();
        cpu.describe_wait(&format!("{open} messages, {:?}", seen.borrow()));
        if cpu.wait_wake(0, deadline) == WakeReason::Deadline {
            let streams = part.expected.iter().filter(|(_, list)| !list.is_empty());
            for ((src, ..), list) in streams {
                *seen.borrow_mut().missing.entry(*src).or_insert(0) += list.len();
            }
            return Ok(cpu.fence()?);
        }
    }
}

/// Record of each node's software.
pub type AllSeen = Vec<Rc<RefCell<Seen>>>;

/// Brings all nodes up for traffic.
pub fn bring_up(machine: &mut Machine) {
    for node in 0..machine.topology().nodes() {
        machine.spawn(node, "firmware", |cpu| set_up(&cpu));
    }
    machine.run(Until::Done).expect("comes up");
}

/// Starts the traffic of a plan on all nodes that are up.
pub fn start(machine: &mut Machine, plan: &Plan, style: Style) -> AllSeen {
    let plan = Rc::new(plan.clone());
    let all: AllSeen = (0..plan.nodes()).map(|_| Rc::default()).collect();
    for (node, seen) in all.iter().enumerate() {
        start_node(machine, &plan, style, node, Rc::clone(seen));
    }
    all
}

/// Starts the traffic of one node. Its counters are set at once: no byte may come before.
pub fn start_node(
    machine: &mut Machine,
    plan: &Rc<Plan>,
    style: Style,
    node: usize,
    seen: Rc<RefCell<Seen>>,
) {
    let plan = Rc::clone(plan);
    for (index, bytes) in plan.counters(node) {
        machine.poke(node, COUNTERS.base + 8 * index, &bytes.to_le_bytes());
    }
    machine.spawn(node, "traffic", move |cpu| {
        match take_part(&cpu, &plan, style, &seen) {
            Err(_) if style.victim == Some(node) => Ok(()),
            result => result,
        }
    });
}

/// Runs all traffic of a plan on a machine that is up, and checks memory.
pub fn run(machine: &mut Machine, plan: &Plan, style: Style) -> AllSeen {
    let seen = start(machine, plan, style);
    machine.run(Until::Quiet).expect("all messages arrive");
    check_memory(machine, plan);
    seen
}

/// Parts of memory that hardware or the traffic's software may write.
fn writable() -> Vec<Range<u64>> {
    let mut ranges = vec![
        INJECTION_RINGS..INJECTION_RINGS + RING_BYTES * u64::from(INJECTION_FIFOS),
        REMOTE_GET_RING..REMOTE_GET_RING + RING_BYTES,
        COUNTERS.base..COUNTERS.base + COUNTERS.bytes,
        DESCRIPTORS.base..DESCRIPTORS.base + DESCRIPTORS.bytes,
        SPARE,
    ];
    ranges.extend(RECEPTION.map(|(_, base, bytes)| base..base + bytes));
    ranges
}

/// Checks that puts and gets wrote what they should, and that nothing else was written.
pub fn check_memory(machine: &Machine, plan: &Plan) {
    for node in 0..plan.nodes() {
        check_untouched(machine, node, Some(&plan.landing(node)));
        let nodes = plan.nodes() as u64;
        let mut counters = vec![0; 16 * nodes as usize];
        machine.peek(node, COUNTERS.base, &mut counters);
        for index in plan.counters(node).keys() {
            let at = 8 * *index as usize;
            assert_eq!(counters[at..at + 8], [0; 8], "node {node} counter {index}");
        }
    }
}

/// Checks that a node's memory is as [`fill`] left it but for `landing` and what may be written.
pub fn check_untouched(machine: &Machine, node: usize, landing: Option<&[u8]>) {
    let mut found = vec![0; MEMORY as usize];
    machine.peek(node, 0, &mut found);
    let mut expected = vec![UNTOUCHED; MEMORY as usize];
    let mut put = |base: u64, bytes: &[u8]| {
        expected[base as usize..base as usize + bytes.len()].copy_from_slice(bytes);
    };
    put(SOURCE.base, &source_bytes(node));
    match landing {
        Some(bytes) => put(LANDING.base, bytes),
        None => put(
            LANDING.base,
            &found[LANDING.base as usize..(LANDING.base + LANDING.bytes) as usize],
        ),
    }
    for range in writable() {
        put(
            range.start,
            &found[range.start as usize..range.end as usize],
        );
    }
    if let Some(at) = (0..found.len()).find(|&at| found[at] != expected[at]) {
        panic!(
            "node {node}: byte {at:#x} is {:#x}, expected {:#x}",
            found[at], expected[at]
        );
    }
}

/// Runs a machine until an actor has ended, whatever the others do.
pub fn finish(machine: &mut Machine, actor: ActorId) {
    for _ in 0..10_000 {
        if machine.has_ended(actor) {
            return;
        }
        let end = machine.cycles() + 64;
        machine.run(Until::Cycle(end)).expect("runs");
    }
    panic!("an actor does not end");
}

/// Runs `body` on a node's firmware, whatever other software does.
pub fn firmware<T: 'static>(
    machine: &mut Machine,
    node: usize,
    body: impl FnOnce(&mut Node<Cpu>) -> Result<T, NodeError<BusError>> + 'static,
) -> T {
    let result = Rc::new(RefCell::new(None));
    let slot = Rc::clone(&result);
    let actor = machine.spawn(node, "firmware", move |cpu| {
        let value = body(&mut Node::identify(cpu)?)?;
        slot.replace(Some(value));
        Ok::<(), NodeError<BusError>>(())
    });
    finish(machine, actor);
    result.take().expect("the firmware has ended")
}

/// Reads registers of a node.
pub fn read_registers(machine: &mut Machine, node: usize, addresses: &[u64]) -> Vec<u64> {
    let values = Rc::new(RefCell::new(Vec::new()));
    let (result, addresses) = (Rc::clone(&values), addresses.to_vec());
    let actor = machine.spawn(node, "reader", move |cpu| {
        for address in addresses {
            let value = cpu.read_reg(address)?;
            result.borrow_mut().push(value);
        }
        Ok::<(), Failure>(())
    });
    finish(machine, actor);
    values.take()
}

/// Writes a node's memory as [`fill`] does, from outside.
pub fn refill(machine: &mut Machine) {
    for node in 0..machine.topology().nodes() {
        machine.poke(node, 0, &vec![UNTOUCHED; MEMORY as usize]);
        machine.poke(node, SOURCE.base, &source_bytes(node));
    }
}

/// Number of errors that a node has raised.
pub fn error_count(machine: &mut Machine, number: usize) -> u64 {
    let status = read_registers(machine, number, &[node::ERR_STATUS])[0];
    node::err_status::COUNT.get(status)
}
