//! Test double of a machine: nodes with the registers of the DMA engine, and memory-FIFO messages, puts
//! with byte counters and remote gets between them, in host memory. It is no model of the hardware's
//! timing; it is there to drive the driver through every order of events, by seed, and to plant faults.
//!
//! At first a packet arrives in the step in which it is injected. [`Double::reorder`] lets packets travel:
//! packets of one class between two nodes stay in order, anything else may overtake, and counters are
//! lowered some time after their puts, as the hardware may.

#![allow(dead_code)] // each test uses its part

use core::ops::Range;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use gyre_driver::{
    AckConfig, AllocError, BusError, BusErrorKind, Client, ClientConfig, Context, CostTable,
    DmaBuffer, Op, Ordered, Platform, PlatformLock, RangeError, Resources, SameNode, SegmentError,
    SharedSegment, TaskId, TaskMap, WakeReason,
};
use gyre_layout::registers::{
    FLOW, REFUSALS, base_slot, base_slot::ctrl as slot_ctrl, flow_page, flow_source, flow_target,
    group_page, injection_fifo as inj, node, page, reception_fifo as rec, refusal, refusals, wake,
    wake_group,
};
use gyre_layout::{
    Coord, CounterRef, DESCRIPTOR_BYTES, Descriptor, ErrorReason, Field, Header, ID_MAGIC,
    ID_VERSION, Kind, MAX_PAYLOAD_BYTES, PutTarget, RmwOp, VClass, event, packet_bytes,
};

/// The slot that covers all memory of a node, and its base.
pub const SLOT: u16 = 3;
const SLOT_BASE: u64 = 0x8000;
const MEMORY: usize = 32 << 20;
const FREED: u8 = 0xdd;
/// Steps, turns of `advance` and register reads after which a test does not end any more.
const PATIENCE: u64 = 50_000_000;

/// Class of copies that packets leave on their way, plus the packets' destination.
const COPY: u8 = 2;
/// Class of packets of a flow, plus its number at the source.
const FLOW_CLASS: u8 = 64;
/// Flows that may start at a node, and that may end there.
const FLOWS: usize = 4;
/// Class of dynamic packets, plus one of [`WAYS`].
const DYNAMIC: u8 = 128;
/// Ways of dynamic packets, which overtake each other.
const WAYS: usize = 5;

/// A planted fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Packet number n (counted over the machine) is lost.
    LosePacket(u64),
    /// Packet number n arrives twice.
    DoublePacket(u64),
    /// A payload byte of packet number n is flipped.
    FlipByte(u64),
    /// The lowest bit of byte `at` of packet number `packet` is flipped.
    FlipAt { packet: u64, at: usize },
    /// HEAD moves when a descriptor starts instead of when its data has been read.
    EarlyHead,
    /// TAIL of reception FIFOs reads 32 bytes too far while data is there.
    TailBeyond,
    /// No wake-up events.
    NoWake,
    /// Puts of no bytes overtake what travels before them.
    OvertakingSync,
    /// Node n refuses the next put of no bytes that it is asked for.
    RefuseSync(usize),
    /// The next read-modify-write arrives damaged.
    CutRmw,
    /// Memory-FIFO packets with dispatch identifier `dispatch` name node `node` as their source.
    WrongSource { dispatch: u8, node: usize },
}

/// A first packet put into a reception FIFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit {
    pub node: usize,
    pub fifo: u16,
    pub message: u32,
}

#[derive(Default)]
struct Injection {
    base: u64,
    size: u64,
    head: u32,
    tail: u32,
    ctrl: u64,
    halted: Option<ErrorReason>,
    /// Descriptor at HEAD, bytes of it sent.
    sent: Option<(Descriptor, usize)>,
}

#[derive(Default)]
struct Reception {
    base: u64,
    size: u64,
    head: u32,
    tail: u32,
    ctrl: u64,
    threshold: u64,
    waited: bool,
    halted: bool,
    head_writes: u64,
}

/// A base slot, as its registers hold it.
#[derive(Default, Clone, Copy)]
struct Slot {
    base: u64,
    limit: u64,
    ctrl: u64,
}

/// A packet between two nodes.
struct Travelling {
    to: usize,
    header: Header,
    /// Where a put goes, instead of its coded form in the header.
    put: PutTarget,
    /// What a read-modify-write asks for.
    request: Option<Descriptor>,
    payload: Vec<u8>,
    message: u32,
    /// Of a packet of a flow: the flow at the target, and its number there.
    order: Option<(usize, u64)>,
}

/// A put whose bytes are in memory and whose counter has not been lowered yet.
struct Decrement {
    node: usize,
    address: u64,
    by: u64,
}

struct NodeState {
    coord: Coord,
    memory: Vec<u8>,
    next: u64,
    inj: Vec<Injection>,
    rec: Vec<Reception>,
    slots: Vec<Slot>,
    wake_mask: [u64; 16],
    wake_cause: [u64; 16],
    notified: [bool; 16],
    segments: BTreeMap<u32, Weak<SegmentState>>,
    scratch: u64,
    /// Refused puts: INFO and PLACE of each entry, and how many found none.
    refused: [Option<(u64, u64)>; refusals::ENTRY_COUNT as usize],
    lost: u64,
    /// Memory-FIFO packets injected.
    messages: u64,
    /// CTRL of the flows that start here, and of those that end here.
    sources: [u64; FLOWS],
    targets: [u64; FLOWS],
    /// Packets that have left by each of the former, and arrived by each of the latter, since it was opened.
    sent: [u64; FLOWS],
    arrived: [u64; FLOWS],
    /// Packets injected by flows.
    by_flow: u64,
}

struct State {
    nodes: Vec<NodeState>,
    by_coord: BTreeMap<Coord, usize>,
    /// Nodes 0 and the last have no link between them.
    line: bool,
    fault: Option<Fault>,
    /// Packets travel instead of arriving at once.
    reordering: bool,
    /// Packets on their way, by source, destination and class; copies from [`COPY`] on.
    channels: BTreeMap<(usize, usize, u8), VecDeque<Travelling>>,
    decrements: Vec<Decrement>,
    /// A class that does not move for so many steps.
    held: Option<(u8, u32)>,
    refused: Vec<ErrorReason>,
    packets: u64,
    commits: Vec<Commit>,
    random: u64,
    reads: u64,
    writes: u64,
    full_waits: u64,
    instructions: u64,
    charged: BTreeMap<Op, u64>,
    costs: CostTable,
}

/// The machine.
#[derive(Clone)]
pub struct Double {
    state: Rc<RefCell<State>>,
    /// Called at every charge, as another thread of the node would run there.
    hook: Rc<RefCell<Option<Hook>>>,
    hooked: Rc<Cell<bool>>,
    /// Called once when a thread sleeps and nothing moves.
    asleep: Rc<RefCell<Option<SleepHook>>>,
    /// Steps, turns of `advance` and register reads since the watchdog was wound up.
    turns: Rc<Cell<u64>>,
}

type Hook = Box<dyn FnMut(Op)>;
type SleepHook = Box<dyn FnOnce()>;

/// One process of one node.
#[derive(Clone)]
pub struct Process {
    pub machine: Double,
    pub node: usize,
}

/// Memory of the double.
pub struct Memory {
    process: Process,
    address: u64,
    len: usize,
    slot: u16,
}

/// A handle of a shared segment of the double.
pub struct Segment(Rc<SegmentState>);

struct SegmentState {
    bytes: RefCell<Vec<u8>>,
    lock: DoubleLock,
}

/// Lock of the double: with one operating-system thread, waiting for it would never end.
pub struct DoubleLock(Cell<bool>);

impl Double {
    /// A ring of `nodes` nodes; `seed` picks the order of packets.
    pub fn new(nodes: usize, seed: u64) -> Self {
        let coords: Vec<_> = (0..nodes).map(|n| Coord([n as u8, 0, 0, 0, 0])).collect();
        let state = State {
            by_coord: coords.iter().enumerate().map(|(n, &c)| (c, n)).collect(),
            nodes: coords
                .into_iter()
                .map(|coord| NodeState {
                    coord,
                    memory: vec![0; MEMORY],
                    next: SLOT_BASE + 0x1000,
                    inj: (0..32).map(|_| Injection::default()).collect(),
                    rec: (0..16).map(|_| Reception::default()).collect(),
                    slots: slots(),
                    wake_mask: [0; 16],
                    wake_cause: [0; 16],
                    notified: [false; 16],
                    segments: BTreeMap::new(),
                    scratch: 0,
                    refused: Default::default(),
                    lost: 0,
                    messages: 0,
                    sources: [0; FLOWS],
                    targets: [0; FLOWS],
                    sent: [0; FLOWS],
                    arrived: [0; FLOWS],
                    by_flow: 0,
                })
                .collect(),
            line: false,
            fault: None,
            reordering: false,
            channels: BTreeMap::new(),
            decrements: Vec::new(),
            held: None,
            refused: Vec::new(),
            packets: 0,
            commits: Vec::new(),
            random: seed | 1,
            reads: 0,
            writes: 0,
            full_waits: 0,
            instructions: 0,
            charged: BTreeMap::new(),
            costs: CostTable::default(),
        };
        Self {
            state: Rc::new(RefCell::new(state)),
            hook: Rc::default(),
            hooked: Rc::default(),
            asleep: Rc::default(),
            turns: Rc::default(),
        }
    }

    /// The watchdog: no test waits for ever, whatever it waits for.
    fn watch(&self) {
        self.turns.set(self.turns.get() + 1);
        let turns = self.turns.get();
        assert!(
            turns <= PATIENCE,
            "no end after {turns} steps, turns of advance and register reads"
        );
    }

    /// Winds the watchdog up again: the next of a test's many parts begins.
    pub fn wind_up(&self) {
        self.turns.set(0);
    }

    pub fn process(&self, node: usize) -> Process {
        Process {
            machine: self.clone(),
            node,
        }
    }

    /// One context of a client `test` in every task; task `t` on node `nodes[t]`.
    pub fn contexts(&self, nodes: &[usize], resources: Resources) -> Vec<Context<Process>> {
        let tasks = self.tasks(nodes);
        (0..nodes.len())
            .map(|task| {
                Client::create(
                    &self.process(nodes[task]),
                    config(&tasks, task as u32, resources),
                )
                .and_then(|client| client.create_context(0))
                .expect("the double has the resources")
            })
            .collect()
    }

    pub fn tasks(&self, nodes: &[usize]) -> Arc<TaskMap> {
        let state = self.state.borrow();
        let coords = nodes.iter().map(|&n| state.nodes[n].coord);
        Arc::new(TaskMap::new(coords).expect("few tasks"))
    }

    pub fn plant(&self, fault: Fault) {
        self.state.borrow_mut().fault = Some(fault);
    }

    /// Gives the nodes places on the diagonal of a square, so that there are several shortest ways between
    /// any two. Before tasks are placed.
    pub fn diagonal(&self) {
        let mut state = self.state.borrow_mut();
        let State {
            nodes, by_coord, ..
        } = &mut *state;
        by_coord.clear();
        for (n, node) in nodes.iter_mut().enumerate() {
            node.coord = Coord([n as u8, n as u8, 0, 0, 0]);
            by_coord.insert(node.coord, n);
        }
    }

    /// Gives the slot of all memory to `owner`.
    pub fn own(&self, owner: u8) {
        for node in &mut self.state.borrow_mut().nodes {
            let ctrl = &mut node.slots[usize::from(SLOT)].ctrl;
            *ctrl = slot_ctrl::OWNER.set(*ctrl, owner.into());
        }
    }

    /// Makes the ring a line.
    pub fn cut(&self) {
        self.state.borrow_mut().line = true;
    }

    /// From now on packets travel, and overtake where the network lets them.
    pub fn reorder(&self) {
        self.state.borrow_mut().reordering = true;
    }

    /// Packets and descriptors that nodes refused, with the reasons.
    pub fn refused(&self) -> Vec<ErrorReason> {
        self.state.borrow().refused.clone()
    }

    /// Memory-FIFO packets that a node has injected so far.
    pub fn messages_from(&self, node: usize) -> u64 {
        self.state.borrow().nodes[node].messages
    }

    /// Packets that a node has injected by ordered-dynamic flows so far.
    pub fn packets_by_flow(&self, node: usize) -> u64 {
        self.state.borrow().nodes[node].by_flow
    }

    /// How many flows start at a node, and how many end there.
    pub fn flows(&self, node: usize) -> (usize, usize) {
        let state = self.state.borrow();
        let open = |ends: &[u64]| {
            let open = |&&ctrl: &&u64| flow_source::ctrl::OPEN.is_set(ctrl);
            ends.iter().filter(open).count()
        };
        (
            open(&state.nodes[node].sources),
            open(&state.nodes[node].targets),
        )
    }

    /// Packets that have left so far.
    pub fn packets(&self) -> u64 {
        self.state.borrow().packets
    }

    pub fn set_hook(&self, hook: impl FnMut(Op) + 'static) {
        *self.hook.borrow_mut() = Some(Box::new(hook));
    }

    pub fn clear_hook(&self) {
        *self.hook.borrow_mut() = None;
    }

    /// Another thread, which runs when one sleeps and nothing moves.
    pub fn when_asleep(&self, hook: impl FnOnce() + 'static) {
        *self.asleep.borrow_mut() = Some(Box::new(hook));
    }

    pub fn commits(&self) -> Vec<Commit> {
        self.state.borrow().commits.clone()
    }

    pub fn register_reads(&self) -> u64 {
        self.state.borrow().reads
    }

    pub fn register_writes(&self) -> u64 {
        self.state.borrow().writes
    }

    /// Packets that found their reception FIFO full.
    pub fn full_waits(&self) -> u64 {
        self.state.borrow().full_waits
    }

    pub fn head_writes(&self, node: usize, fifo: usize) -> u64 {
        self.state.borrow().nodes[node].rec[fifo].head_writes
    }

    pub fn charged(&self, op: Op) -> u64 {
        self.state.borrow().charged.get(&op).copied().unwrap_or(0)
    }

    /// Halts a reception FIFO as a failed memory write does.
    pub fn halt_reception(&self, node: usize, fifo: usize) {
        let mut state = self.state.borrow_mut();
        state.nodes[node].rec[fifo].halted = true;
        state.raise(node, event::ERROR);
    }

    /// Moves one packet, picked by the seed; false when no packet can move.
    pub fn step(&self) -> bool {
        self.watch();
        self.state.borrow_mut().step()
    }

    /// Moves packets until none can.
    pub fn settle(&self) {
        while self.step() {}
    }
}

/// The slot of all memory, valid from the start.
fn slots() -> Vec<Slot> {
    let mut slots = vec![Slot::default(); 32];
    slots[usize::from(SLOT)] = Slot {
        base: SLOT_BASE,
        limit: MEMORY as u64 - SLOT_BASE,
        ctrl: slot_ctrl::VALID.put(1)
            | slot_ctrl::READ.put(1)
            | slot_ctrl::WRITE.put(1)
            | slot_ctrl::ATOMIC.put(1)
            | slot_ctrl::REMOTE_READ.put(1),
    };
    slots
}

impl NodeState {
    /// Address of a range of a slot that has all of `rights`; `Err(true)` when it leaves the slot.
    fn place(&self, slot: u16, offset: u64, bytes: usize, rights: &[Field]) -> Result<usize, bool> {
        let slot = self.slots.get(usize::from(slot)).ok_or(false)?;
        if !slot_ctrl::VALID.is_set(slot.ctrl) || rights.iter().any(|r| !r.is_set(slot.ctrl)) {
            return Err(false);
        }
        if offset + bytes as u64 > slot.limit {
            return Err(true);
        }
        Ok((slot.base + offset) as usize)
    }

    /// Why the DMA engine refuses a descriptor of injection FIFO `f`; else where its payload is.
    fn check(&self, f: usize, descriptor: &Descriptor) -> Result<usize, ErrorReason> {
        let ctrl = self.inj[f].ctrl;
        let remote = inj::ctrl::REMOTE_GET.is_set(ctrl);
        let put = descriptor.kind == Kind::Put;
        if remote && (!descriptor.remote || !put || descriptor.requester != descriptor.dst) {
            return Err(ErrorReason::DescRemote);
        }
        if let Some(flow) = descriptor.flow {
            use flow_source::ctrl::{OPEN, OWNER, PEER, VCLASS};
            let source = self.sources[usize::from(flow)];
            let fits = OPEN.is_set(source)
                && PEER.get(source) == u64::from(descriptor.dst.pack().expect("a node"))
                && VCLASS.get(source) == u64::from(u8::from(descriptor.vclass))
                && OWNER.get(source) == inj::ctrl::OWNER.get(ctrl)
                && descriptor.dynamic_route;
            if !fits {
                return Err(ErrorReason::DescFlow);
            }
        }
        let length = descriptor.source.length as usize;
        let asks = descriptor.hint != 0 || descriptor.order != 0;
        if (descriptor.deposit && (descriptor.kind != Kind::MemFifo || descriptor.dynamic_route))
            || (asks && !descriptor.dynamic_route)
        {
            return Err(ErrorReason::DescRouting);
        }
        if descriptor.kind == Kind::RemoteGet
            && (length == 0
                || !length.is_multiple_of(DESCRIPTOR_BYTES)
                || length > MAX_PAYLOAD_BYTES)
        {
            return Err(ErrorReason::DescLength);
        }
        if length == 0 || descriptor.kind == Kind::RmwReq {
            return Ok(0);
        }
        let source = descriptor.source;
        let rights = [slot_ctrl::READ, slot_ctrl::REMOTE_READ];
        let rights = &rights[..if remote { 2 } else { 1 }];
        let at = self
            .place(source.slot, source.offset, length, rights)
            .map_err(|bounds| {
                if bounds {
                    ErrorReason::DescBounds
                } else {
                    ErrorReason::DescSlot
                }
            })?;
        let owner = slot_ctrl::OWNER.get(self.slots[usize::from(source.slot)].ctrl);
        if owner != inj::ctrl::OWNER.get(ctrl) {
            return Err(ErrorReason::DescOwner);
        }
        Ok(at)
    }
}

pub fn config(tasks: &Arc<TaskMap>, task: u32, resources: Resources) -> ClientConfig {
    ClientConfig {
        name: "test".to_owned(),
        id: 1,
        tasks: Arc::clone(tasks),
        task: TaskId(task),
        contexts: 1,
        resources,
        eager_limit: gyre_driver::DEFAULT_EAGER_LIMIT,
        ack: AckConfig::default(),
        same_node: SameNode::default(),
        ordered: Ordered::default(),
    }
}

impl State {
    fn random(&mut self, below: usize) -> usize {
        // xorshift64
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % below
    }

    fn raise(&mut self, node: usize, events: u64) {
        if self.fault == Some(Fault::NoWake) {
            return;
        }
        let node = &mut self.nodes[node];
        for group in 0..16 {
            node.wake_cause[group] |= events & node.wake_mask[group];
        }
    }

    fn step(&mut self) -> bool {
        if !self.reordering {
            return self.inject();
        }
        let held = match self.held {
            Some((class, left)) if left > 0 => {
                self.held = Some((class, left - 1));
                Some(class)
            }
            _ => {
                // One class falls behind for a while, or none.
                let class = self.random(3) as u8;
                self.held = Some((class, self.random(64) as u32));
                None
            }
        };
        let first = self.random(3);
        (0..3).any(|turn| match (first + turn) % 3 {
            0 => self.inject(),
            1 => self.arrive(held),
            _ => self.lower(),
        }) || held.is_some_and(|class| self.channels.keys().any(|key| key.2.min(COPY) == class))
    }

    /// Sends one packet of some injection FIFO.
    fn inject(&mut self) -> bool {
        let mut ready = Vec::new();
        for (n, node) in self.nodes.iter().enumerate() {
            for (f, fifo) in node.inj.iter().enumerate() {
                if inj::ctrl::ENABLE.is_set(fifo.ctrl)
                    && fifo.halted.is_none()
                    && (fifo.head != fifo.tail || fifo.sent.is_some())
                {
                    ready.push((n, f));
                }
            }
        }
        while !ready.is_empty() {
            let pick = self.random(ready.len());
            let (n, f) = ready.swap_remove(pick);
            if self.send_packet(n, f) {
                return true;
            }
        }
        false
    }

    /// Delivers one packet that travels.
    fn arrive(&mut self, held: Option<u8>) -> bool {
        let keys: Vec<_> = self.channels.keys().copied().collect();
        let mut keys: Vec<_> = keys
            .into_iter()
            .filter(|key| Some(key.2.min(COPY)) != held)
            .collect();
        while !keys.is_empty() {
            let key = keys.swap_remove(self.random(keys.len()));
            let Some(mut queue) = self.channels.remove(&key) else {
                continue;
            };
            let sync = |p: &Travelling| p.header.kind == Kind::Put && p.header.len == 0;
            let next = match queue.iter().position(sync) {
                Some(at) if self.fault == Some(Fault::OvertakingSync) => at,
                _ => 0,
            };
            let room = self.room(queue[next].to, &queue[next].header, 1);
            let packet = if room { queue.remove(next) } else { None };
            if !queue.is_empty() {
                self.channels.insert(key, queue);
            }
            if let Some(packet) = packet {
                self.deliver(packet);
                return true;
            }
        }
        false
    }

    /// Lowers one counter.
    fn lower(&mut self) -> bool {
        if self.decrements.is_empty() {
            return false;
        }
        let pick = self.random(self.decrements.len());
        let Decrement { node, address, by } = self.decrements.swap_remove(pick);
        let bytes = &mut self.nodes[node].memory[address as usize..][..8];
        let mut value = [0; 8];
        value.copy_from_slice(bytes);
        let left = u64::from_le_bytes(value)
            .checked_sub(by)
            .expect("a byte counter went below zero");
        bytes.copy_from_slice(&left.to_le_bytes());
        if left == 0 {
            self.raise(node, event::COUNTER);
        }
        true
    }

    /// Why node `to` refuses a packet whatever room it has.
    fn absent(&self, to: usize, header: &Header) -> Option<ErrorReason> {
        let target = usize::from(header.target);
        match header.kind {
            Kind::MemFifo => {
                let open = rec::ctrl::ENABLE.is_set(self.nodes[to].rec[target].ctrl);
                (!open).then_some(ErrorReason::PktRecFifo)
            }
            Kind::RemoteGet => {
                let ctrl = self.nodes[to].inj[target].ctrl;
                let open = inj::ctrl::ENABLE.is_set(ctrl) && inj::ctrl::REMOTE_GET.is_set(ctrl);
                (!open).then_some(ErrorReason::PktInjFifo)
            }
            _ => None,
        }
    }

    /// Whether node `to` has room for `copies` of a packet, or will refuse it.
    fn room(&mut self, to: usize, header: &Header, copies: usize) -> bool {
        let bytes = usize::from(header.len);
        let target = usize::from(header.target);
        if self.absent(to, header).is_some() {
            return true;
        }
        match header.kind {
            Kind::MemFifo => {
                let fifo = &mut self.nodes[to].rec[target];
                let level = fifo.tail.wrapping_sub(fifo.head) as usize;
                let room =
                    !fifo.halted && level + packet_bytes(bytes) * copies <= fifo.size as usize;
                if !room {
                    fifo.waited = true;
                    self.full_waits += 1;
                }
                room
            }
            Kind::RemoteGet => {
                let fifo = &self.nodes[to].inj[target];
                let level = fifo.tail.wrapping_sub(fifo.head) as usize;
                fifo.halted.is_none() && level + bytes * copies <= fifo.size as usize
            }
            _ => true,
        }
    }

    /// Sends the next packet of a FIFO; false when its destination is full.
    fn send_packet(&mut self, n: usize, f: usize) -> bool {
        let fifo = &self.nodes[n].inj[f];
        let (descriptor, sent) = match fifo.sent {
            Some(current) => current,
            None => {
                let at = fifo.base + u64::from(fifo.head) % fifo.size;
                let mut bytes = [0; DESCRIPTOR_BYTES];
                bytes.copy_from_slice(&self.nodes[n].memory[at as usize..][..DESCRIPTOR_BYTES]);
                let descriptor = Descriptor::decode(&bytes).expect("a descriptor");
                let refuse = self.fault == Some(Fault::RefuseSync(n))
                    && (descriptor.kind, descriptor.source.length) == (Kind::Put, 0);
                let checked = if refuse {
                    self.fault = None;
                    Err(ErrorReason::DescSlot)
                } else {
                    self.nodes[n].check(f, &descriptor)
                };
                if let Err(reason) = checked {
                    self.nodes[n].inj[f].halted = Some(reason);
                    self.refused.push(reason);
                    self.raise(n, event::ERROR);
                    return true;
                }
                if self.fault == Some(Fault::EarlyHead) {
                    self.nodes[n].inj[f].head += DESCRIPTOR_BYTES as u32;
                    self.complete(n, f);
                }
                (descriptor, 0)
            }
        };
        let length = descriptor.source.length as usize;
        let bytes = (length - sent).min(MAX_PAYLOAD_BYTES);
        let last = sent + bytes == length;
        let header = Header {
            dst: descriptor.dst,
            vclass: descriptor.vclass,
            src: match self.fault {
                Some(Fault::WrongSource { dispatch, node })
                    if descriptor.kind == Kind::MemFifo
                        && descriptor.sw0.to_le_bytes()[0] == dispatch =>
                {
                    self.nodes[node].coord
                }
                _ => self.nodes[n].coord,
            },
            deposit: descriptor.deposit,
            dynamic_route: descriptor.dynamic_route,
            kind: descriptor.kind,
            len: bytes as u16,
            hint: descriptor.hint,
            order: descriptor.order,
            flow: None,
            first: sent == 0,
            last,
            seq: (sent / MAX_PAYLOAD_BYTES % 1024) as u16,
            target: descriptor.target,
            offset: sent as u32,
            aux: length as u32,
            sw0: descriptor.sw0,
            sw1: descriptor.sw1,
        };
        let put = PutTarget {
            slot: descriptor.target,
            offset: descriptor.dst_offset + sent as u64,
            counter: descriptor.counter,
        };
        let mut payload = match self.nodes[n].check(f, &descriptor) {
            Ok(at) if bytes > 0 => self.nodes[n].memory[at + sent..][..bytes].to_vec(),
            _ => vec![0; bytes],
        };
        let to = self.by_coord[&descriptor.dst];
        let copies = match self.fault {
            Some(Fault::LosePacket(k)) if k == self.packets => 0,
            Some(Fault::DoublePacket(k)) if k == self.packets => 2,
            Some(Fault::FlipByte(k)) if k == self.packets && bytes > 0 => {
                payload[bytes / 2] ^= 1;
                1
            }
            Some(Fault::FlipAt { packet, at }) if packet == self.packets => {
                payload[at] ^= 1;
                1
            }
            _ => 1,
        };
        let passed = if descriptor.deposit {
            self.between(n, to)
        } else {
            Vec::new()
        };
        let rooms = passed.iter().chain([&to]).copied().collect::<Vec<_>>();
        if !self.reordering && !rooms.iter().all(|&at| self.room(at, &header, copies)) {
            self.nodes[n].inj[f].sent = (sent > 0).then_some((descriptor, sent));
            if self.fault == Some(Fault::EarlyHead) {
                self.nodes[n].inj[f].sent = Some((descriptor, sent));
            }
            return false;
        }
        self.packets += 1;
        self.nodes[n].messages += u64::from(descriptor.kind == Kind::MemFifo);
        let mut order = None;
        if let Some(flow) = descriptor.flow {
            self.nodes[n].by_flow += 1;
            use flow_target::ctrl::{OPEN, PEER, PEER_FLOW, VCLASS};
            let source = self.nodes[n].sources[usize::from(flow)];
            let number = flow_source::ctrl::PEER_FLOW.get(source) as usize;
            let target = self.nodes[to].targets[number];
            assert!(OPEN.is_set(target), "a flow that ends nowhere");
            let coord = self.nodes[n].coord.pack().expect("a node");
            assert_eq!(PEER.get(target), u64::from(coord), "somebody else's flow");
            assert_eq!(PEER_FLOW.get(target), u64::from(flow), "another flow");
            let vclass = u64::from(u8::from(descriptor.vclass));
            assert_eq!(VCLASS.get(target), vclass, "a flow of another class");
            let sent = &mut self.nodes[n].sent[usize::from(flow)];
            order = Some((number, *sent));
            *sent += 1;
        }
        for at in rooms.into_iter().flat_map(|at| vec![at; copies]) {
            let packet = Travelling {
                to: at,
                header,
                put,
                request: (descriptor.kind == Kind::RmwReq).then_some(descriptor),
                payload: payload.clone(),
                message: descriptor.msg_id,
                order,
            };
            if self.reordering {
                let class = if at == to {
                    u8::from(descriptor.vclass)
                } else {
                    // In order with packets of the same destination alone.
                    COPY + to as u8
                };
                let class = match (descriptor.flow, descriptor.dynamic_route) {
                    (Some(flow), _) => FLOW_CLASS + flow,
                    // No two ways keep an order.
                    (None, true) => DYNAMIC + self.random(WAYS) as u8,
                    (None, false) => class,
                };
                let key = (n, at, class);
                self.channels.entry(key).or_default().push_back(packet);
            } else {
                self.deliver(packet);
            }
        }
        let fifo = &mut self.nodes[n].inj[f];
        if last {
            fifo.sent = None;
            if self.fault != Some(Fault::EarlyHead) {
                fifo.head = fifo.head.wrapping_add(DESCRIPTOR_BYTES as u32);
                self.complete(n, f);
            }
        } else {
            fifo.sent = Some((descriptor, sent + bytes));
        }
        true
    }

    /// The nodes that a packet passes, the shorter way round; half way round + from even nodes.
    fn between(&self, from: usize, to: usize) -> Vec<usize> {
        let count = self.nodes.len();
        let up = (to + count - from) % count;
        let plus = match (self.line, 2 * up == count) {
            (true, _) => to > from,
            (false, true) => from.is_multiple_of(2),
            (false, false) => 2 * up < count,
        };
        let step = if plus { 1 } else { count - 1 };
        let steps = if plus { up } else { count - up };
        (1..steps).map(|k| (from + k * step) % count).collect()
    }

    fn complete(&mut self, n: usize, f: usize) {
        if inj::ctrl::IRQ_COMPLETE.is_set(self.nodes[n].inj[f].ctrl) {
            self.raise(n, event::injection(f as u32));
        }
    }

    fn deliver(&mut self, packet: Travelling) {
        if let Some((flow, number)) = packet.order
            && self.fault != Some(Fault::OvertakingSync)
        {
            let arrived = &mut self.nodes[packet.to].arrived[flow];
            assert_eq!(
                *arrived, number,
                "a packet waits for ever for those before it"
            );
            *arrived += 1;
        }
        if let Some(reason) = self.absent(packet.to, &packet.header) {
            return self.refuse(packet.to, reason, &packet.header);
        }
        match packet.header.kind {
            Kind::MemFifo => self.deliver_to_fifo(packet),
            Kind::Put | Kind::RmwResp => self.deliver_put(packet),
            Kind::RmwReq => self.deliver_rmw(packet),
            Kind::RemoteGet => self.deliver_remote_get(packet),
            kind => panic!("{kind} is not served"),
        }
    }

    fn deliver_to_fifo(&mut self, packet: Travelling) {
        let Travelling {
            to,
            header,
            payload,
            message,
            ..
        } = packet;
        let fifo = usize::from(header.target);
        let mut bytes = header.encode().expect("a header").to_vec();
        bytes.extend_from_slice(&payload);
        bytes.resize(packet_bytes(payload.len()), 0);
        let node = &mut self.nodes[to];
        let target = &mut node.rec[fifo];
        for byte in bytes {
            let at = target.base + u64::from(target.tail) % target.size;
            node.memory[at as usize] = byte;
            target.tail = target.tail.wrapping_add(1);
        }
        if header.first {
            self.commits.push(Commit {
                node: to,
                fifo: header.target,
                message,
            });
        }
        self.raise(to, event::reception(fifo as u32));
    }

    fn deliver_put(&mut self, packet: Travelling) {
        let (to, header, payload) = (packet.to, packet.header, packet.payload);
        let target = packet.put;
        let node = &mut self.nodes[to];
        if !payload.is_empty() {
            let rights = [slot_ctrl::WRITE];
            match node.place(target.slot, target.offset, payload.len(), &rights) {
                Ok(at) => node.memory[at..at + payload.len()].copy_from_slice(&payload),
                Err(bounds) => {
                    let reason = if bounds {
                        ErrorReason::PktBounds
                    } else {
                        ErrorReason::PktSlot
                    };
                    return self.refuse(to, reason, &header);
                }
            }
        }
        let Some(counter) = target.counter else {
            return;
        };
        let offset = u64::from(counter.index) * 8;
        let Ok(address) = node.place(counter.slot, offset, 8, &[slot_ctrl::ATOMIC]) else {
            return self.refuse(to, ErrorReason::PktCounter, &header);
        };
        self.decrements.push(Decrement {
            node: to,
            address: address as u64,
            // The answer of a read-modify-write counts its operand, fetched or not.
            by: match packet.request {
                Some(request) => u64::from(request.source.length),
                None => payload.len().max(1) as u64,
            },
        });
        if !self.reordering {
            self.lower();
        }
    }

    /// Node `at` refuses a packet, and keeps it as the hardware does.
    fn refuse(&mut self, at: usize, reason: ErrorReason, header: &Header) {
        self.refused.push(reason);
        self.raise(at, event::ERROR);
        let word = match header.kind {
            Kind::MemFifo => header.sw0,
            Kind::Put | Kind::RemoteGet => header.sw1,
            // Refused ones are answered.
            Kind::RmwReq if reason == ErrorReason::PktTruncated => header.sw0,
            _ => return,
        };
        let node = &mut self.nodes[at];
        let word = u64::from(word & 0x3fff_ffff);
        let info = refusal::info::SRC.put(header.src.pack().expect("a node").into())
            | refusal::info::KIND.put(u8::from(header.kind).into());
        for (first, place) in node.refused.iter_mut().flatten() {
            let last = refusal::place::LAST.get(*place);
            let there = refusal::place::WHERE.get(*place) == header.target.into();
            let same = refusal::info::SOFTWARE.set(*first, 0) == info
                && (there || header.kind == Kind::Put);
            if same && [last, (last + 1) & 0x3fff_ffff].contains(&word) {
                *place = refusal::place::LAST.set(*place, word);
                return;
            }
        }
        let place = refusal::place::REASON.put(u8::from(reason).into())
            | refusal::place::WHERE.put(header.target.into())
            | refusal::place::LAST.put(word);
        match node.refused.iter_mut().find(|entry| entry.is_none()) {
            Some(free) => *free = Some((info | refusal::info::SOFTWARE.put(word), place)),
            None => node.lost += 1,
        }
    }

    /// Carries a read-modify-write out and answers it.
    fn deliver_rmw(&mut self, packet: Travelling) {
        let request = packet.request.expect("a request");
        if self.fault == Some(Fault::CutRmw) {
            self.fault = None;
            let counter = request.counter.expect("it is answered");
            let header = Header {
                sw0: u32::from(counter.slot) | counter.index << 10,
                ..packet.header
            };
            return self.refuse(packet.to, ErrorReason::PktTruncated, &header);
        }
        let width = request.source.length as usize;
        let node = &mut self.nodes[packet.to];
        let rights = [slot_ctrl::ATOMIC];
        let Ok(at) = node.place(request.target, request.dst_offset, width, &rights) else {
            self.refuse(packet.to, ErrorReason::PktSlot, &packet.header);
            // The other counter of the pair.
            let other = |counter: CounterRef| CounterRef {
                index: counter.index ^ 1,
                ..counter
            };
            let counter = request.counter.map(other);
            return self.answer(&packet, request, counter, Vec::new());
        };
        assert!(at.is_multiple_of(width), "not aligned");
        let mut word = [0; 8];
        word[..width].copy_from_slice(&node.memory[at..at + width]);
        let old = u64::from_le_bytes(word);
        let mask = if width == 8 { u64::MAX } else { 0xffff_ffff };
        let value = (u64::from(request.sw1) << 32 | u64::from(request.sw0)) & mask;
        let new = match request.rmw_op {
            RmwOp::Set => value,
            RmwOp::Add => old.wrapping_add(value) & mask,
            RmwOp::Or => old | value,
            RmwOp::And => old & value,
            RmwOp::Xor => old ^ value,
        };
        if !request.rmw_compare || old == request.rmw_test & mask {
            node.memory[at..at + width].copy_from_slice(&new.to_le_bytes()[..width]);
        }
        let payload = if request.rmw_fetch {
            word[..width].to_vec()
        } else {
            Vec::new()
        };
        self.answer(&packet, request, request.counter, payload);
    }

    /// Answers the read-modify-write in `packet`.
    fn answer(
        &mut self,
        packet: &Travelling,
        request: Descriptor,
        counter: Option<CounterRef>,
        payload: Vec<u8>,
    ) {
        let to = self.by_coord[&packet.header.src];
        let answer = Travelling {
            to,
            header: Header {
                dst: packet.header.src,
                src: packet.header.dst,
                vclass: VClass::Response,
                kind: Kind::RmwResp,
                len: payload.len() as u16,
                ..packet.header
            },
            put: PutTarget {
                slot: request.source.slot,
                offset: request.source.offset,
                counter,
            },
            request: Some(request),
            payload,
            message: packet.message,
            order: None,
        };
        if self.reordering {
            let key = (packet.to, to, u8::from(VClass::Response));
            self.channels.entry(key).or_default().push_back(answer);
        } else {
            self.deliver(answer);
        }
    }

    fn deliver_remote_get(&mut self, packet: Travelling) {
        let node = &mut self.nodes[packet.to];
        let fifo = &mut node.inj[usize::from(packet.header.target)];
        for bytes in packet.payload.as_chunks::<DESCRIPTOR_BYTES>().0 {
            let mut descriptor = Descriptor::decode(bytes).expect("a descriptor");
            descriptor.remote = true;
            descriptor.requester = packet.header.src;
            let bytes = descriptor.encode().expect("as it came");
            let at = (fifo.base + u64::from(fifo.tail) % fifo.size) as usize;
            node.memory[at..at + DESCRIPTOR_BYTES].copy_from_slice(&bytes);
            fifo.tail = fifo.tail.wrapping_add(DESCRIPTOR_BYTES as u32);
        }
    }

    /// Whether packets of a flow are under way.
    fn in_use(&self, n: usize, end: Flow, flow: usize) -> bool {
        let (from, number) = match end {
            Flow::Source => (n, flow as u8),
            Flow::Target => {
                let ctrl = self.nodes[n].targets[flow];
                let peer = Coord::unpack(flow_target::ctrl::PEER.get(ctrl) as u32);
                let Some(&peer) = self.by_coord.get(&peer) else {
                    return false;
                };
                (peer, flow_target::ctrl::PEER_FLOW.get(ctrl) as u8)
            }
        };
        let mut keys = self.channels.keys();
        keys.any(|key| (key.0, key.2) == (from, FLOW_CLASS + number))
    }

    fn read(&mut self, n: usize, address: u64) -> Option<u64> {
        self.reads += 1;
        let tail_beyond = self.fault == Some(Fault::TailBeyond);
        // As many nodes in each dimension in which their coordinates differ, else one.
        let last = self.nodes.last().map_or(Coord([0; 5]), |node| node.coord);
        let size = (0..5).fold(0, |size, d| size | (u64::from(last.0[d]) + 1) << (7 * d));
        let ring = u64::from(!self.line);
        if let Place::Flow(offset) = decode(address)? {
            let (end, flow, register) = flow_register(offset)?;
            return Some(match (end, register) {
                (_, flow_page::PARAMS) => flow_page::params::FLOWS.put(FLOWS as u64),
                (Flow::Source, flow_source::CTRL) => self.nodes[n].sources[flow],
                (Flow::Target, flow_target::CTRL) => self.nodes[n].targets[flow],
                (Flow::Source, flow_source::STATUS) => {
                    flow_source::status::IN_USE.put(self.in_use(n, end, flow).into())
                }
                (Flow::Target, flow_target::STATUS) => {
                    flow_target::status::IN_USE.put(self.in_use(n, end, flow).into())
                }
                _ => return None,
            });
        }
        let node = &mut self.nodes[n];
        Some(match decode(address)? {
            Place::Node(node::ID) => {
                node::id::MAGIC.put(ID_MAGIC) | node::id::VERSION.put(ID_VERSION)
            }
            Place::Node(node::PARAMS) => {
                node::params::NDIM.put(3)
                    | node::params::FLIT_BYTES.put(16)
                    | node::params::NINJ.put(32)
                    | node::params::NREC.put(16)
                    | node::params::NSLOT.put(32)
                    | node::params::NAXI.put(2)
                    | node::params::GROUPS.put(1)
                    | node::params::AXI_BYTES.put(64)
            }
            Place::Node(node::SCRATCH) => node.scratch,
            Place::Node(node::COORD) => {
                let field = |(d, &c): (usize, &u8)| u64::from(c) << (6 * d);
                node.coord.0.iter().enumerate().map(field).sum()
            }
            Place::Node(node::SIZE) => size,
            Place::Node(node::RING) => ring,
            Place::Refusals(refusals::REFUSED) => {
                let valid = (node.refused.iter().enumerate())
                    .filter(|(_, entry)| entry.is_some())
                    .map(|(e, _)| 1 << e);
                refusals::refused::VALID.put(valid.sum()) | refusals::refused::LOST.put(node.lost)
            }
            Place::Refusals(offset) => {
                let (e, offset) = refused_entry(offset)?;
                let (info, place) = node.refused[e].unwrap_or_default();
                match offset {
                    refusal::INFO => info,
                    refusal::PLACE => place,
                    _ => return None,
                }
            }
            // Dimension 0 first.
            Place::Node(node::DIM_ORDER) => 0o43210,
            Place::Wake(group, wake_group::MASK) => node.wake_mask[group],
            Place::Wake(group, wake_group::CAUSE) => node.wake_cause[group],
            Place::Injection(f, offset) => {
                let fifo = &node.inj[f];
                match offset {
                    inj::BASE => fifo.base,
                    inj::SIZE => fifo.size,
                    inj::HEAD => u64::from(fifo.head),
                    inj::TAIL => u64::from(fifo.tail),
                    inj::CTRL => fifo.ctrl,
                    inj::STATUS => {
                        inj::status::HALTED.put(fifo.halted.is_some().into())
                            | inj::status::REASON
                                .put(fifo.halted.map_or(0, |reason| u64::from(u8::from(reason))))
                    }
                    _ => return None,
                }
            }
            Place::Reception(f, offset) => {
                let fifo = &node.rec[f];
                match offset {
                    rec::BASE => fifo.base,
                    rec::SIZE => fifo.size,
                    rec::HEAD => u64::from(fifo.head),
                    rec::TAIL if tail_beyond && fifo.tail != fifo.head => u64::from(fifo.tail) + 32,
                    rec::TAIL => u64::from(fifo.tail),
                    rec::CTRL => fifo.ctrl,
                    rec::THRESHOLD => fifo.threshold,
                    rec::STATUS => rec::status::HALTED.put(fifo.halted.into()),
                    _ => return None,
                }
            }
            Place::Slot(s, offset) => match offset {
                base_slot::BASE => node.slots.get(s)?.base,
                base_slot::LIMIT => node.slots.get(s)?.limit,
                base_slot::CTRL => node.slots.get(s)?.ctrl,
                _ => return None,
            },
            _ => return None,
        })
    }

    fn write(&mut self, n: usize, address: u64, value: u64) -> Option<()> {
        self.writes += 1;
        let node = &mut self.nodes[n];
        match decode(address)? {
            Place::Node(node::SCRATCH) => node.scratch = value,
            Place::Refusals(offset) => match refused_entry(offset)? {
                (e, refusal::PLACE) => {
                    let last = |place| refusal::place::LAST.get(place);
                    node.refused[e].take_if(|entry| last(entry.1) == last(value));
                }
                _ => return None,
            },
            Place::Flow(offset) => {
                let (end, flow, register) = flow_register(offset)?;
                let in_use = self.in_use(n, end, flow);
                let node = &mut self.nodes[n];
                let (ctrl, packets) = match (end, register) {
                    (Flow::Source, flow_source::CTRL) => {
                        (&mut node.sources[flow], &mut node.sent[flow])
                    }
                    (Flow::Target, flow_target::CTRL) => {
                        (&mut node.targets[flow], &mut node.arrived[flow])
                    }
                    _ => return None,
                };
                let open = |ctrl| flow_source::ctrl::OPEN.is_set(ctrl);
                match (open(value), open(*ctrl)) {
                    (true, true) => return None,
                    (false, true) if in_use => return None,
                    (true, false) => (*ctrl, *packets) = (value, 0),
                    (false, _) => *ctrl = 0,
                }
            }
            Place::Wake(group, wake_group::MASK) => node.wake_mask[group] = value,
            Place::Wake(group, wake_group::CAUSE) => node.wake_cause[group] &= !value,
            Place::Injection(f, offset) => {
                let fifo = &mut node.inj[f];
                match offset {
                    inj::BASE => fifo.base = value,
                    inj::SIZE => fifo.size = value,
                    inj::TAIL => {
                        let level = (value as u32).wrapping_sub(fifo.head);
                        assert!(u64::from(level) <= fifo.size, "ring overrun");
                        fifo.tail = value as u32;
                    }
                    inj::CTRL => {
                        if inj::ctrl::ENABLE.is_set(value & !fifo.ctrl) {
                            (fifo.head, fifo.tail) = (0, 0);
                        }
                        fifo.ctrl = value;
                    }
                    inj::STATUS => {
                        if inj::status::HALTED.is_set(value) && fifo.halted.take().is_some() {
                            fifo.head = fifo.head.wrapping_add(DESCRIPTOR_BYTES as u32);
                        }
                    }
                    _ => return None,
                }
            }
            Place::Reception(f, offset) => {
                let fifo = &mut node.rec[f];
                match offset {
                    rec::BASE => fifo.base = value,
                    rec::SIZE => fifo.size = value,
                    rec::THRESHOLD => fifo.threshold = value,
                    rec::HEAD => {
                        let step = (value as u32).wrapping_sub(fifo.head);
                        let level = fifo.tail.wrapping_sub(fifo.head);
                        if step > level {
                            return None;
                        }
                        fifo.head = value as u32;
                        fifo.head_writes += 1;
                    }
                    rec::CTRL => {
                        if rec::ctrl::ENABLE.is_set(value & !fifo.ctrl) {
                            (fifo.head, fifo.tail) = (0, 0);
                        }
                        fifo.ctrl = value;
                    }
                    _ => return None,
                }
            }
            Place::Slot(s, offset) => {
                let slot = node.slots.get_mut(s)?;
                match offset {
                    base_slot::BASE => slot.base = value,
                    base_slot::LIMIT => slot.limit = value,
                    base_slot::CTRL => slot.ctrl = value,
                    _ => return None,
                }
            }
            _ => return None,
        }
        Some(())
    }
}

enum Place {
    Node(u64),
    Refusals(u64),
    Wake(usize, u64),
    Injection(usize, u64),
    Reception(usize, u64),
    Slot(usize, u64),
    Flow(u64),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Source,
    Target,
}

/// Which end of which flow a register of the flow page belongs to, and its offset there; PARAMS belongs to none.
fn flow_register(offset: u64) -> Option<(Flow, usize, u64)> {
    let each = flow_page::source(1);
    let (end, offset) = match offset.checked_sub(flow_page::target(0)) {
        _ if offset == flow_page::PARAMS => return Some((Flow::Target, 0, offset)),
        Some(offset) => (Flow::Target, offset),
        None => (Flow::Source, offset),
    };
    let flow = (offset / each) as usize;
    (flow < FLOWS).then_some((end, flow, offset % each))
}

fn decode(address: u64) -> Option<Place> {
    let split = |offset: u64, each: u64| ((offset / each) as usize, offset % each);
    if let Some(offset) = address.checked_sub(FLOW) {
        return Some(Place::Flow(offset));
    }
    if let Some(offset) = address.checked_sub(page(0)) {
        return if offset < group_page::rec(0) {
            let (f, offset) = split(offset, 0x40);
            Some(Place::Injection(f, offset))
        } else if offset < group_page::slot(0) {
            let (f, offset) = split(offset - group_page::rec(0), 0x40);
            Some(Place::Reception(f, offset))
        } else {
            let (s, offset) = split(offset - group_page::slot(0), 0x20);
            Some(Place::Slot(s, offset))
        };
    }
    match address.checked_sub(wake(0)) {
        Some(offset) if offset < 0x100 => {
            let (group, offset) = split(offset, 0x10);
            Some(Place::Wake(group, offset))
        }
        Some(_) if (REFUSALS..REFUSALS + 0x200).contains(&address) => {
            Some(Place::Refusals(address - REFUSALS))
        }
        _ => Some(Place::Node(address)),
    }
}

/// Entry of the refused packets, and offset in it.
fn refused_entry(offset: u64) -> Option<(usize, u64)> {
    let at = offset.checked_sub(refusals::entry(0))?;
    let entry = (at / 0x10) as usize;
    (entry < refusals::ENTRY_COUNT as usize).then_some((entry, at % 0x10))
}

impl Process {
    /// Memory that claims to be in another slot.
    pub fn alloc_in_slot(&self, bytes: usize, slot: u16) -> Memory {
        let mut memory = self.alloc(bytes, 64).expect("the double has memory");
        memory.slot = slot;
        memory
    }

    /// A buffer with contents.
    pub fn buffer(&self, data: &[u8]) -> gyre_driver::BufferRange<Memory> {
        if data.is_empty() {
            return gyre_driver::BufferRange::empty();
        }
        let memory = self.alloc(data.len(), 1).expect("the double has memory");
        memory.write(0, data).expect("it fits");
        gyre_driver::BufferRange::whole(memory)
    }
}

impl Platform for Process {
    type Buffer = Memory;
    type Lock = DoubleLock;
    type Segment = Segment;

    fn read_reg(&self, address: u64) -> Result<u64, BusError> {
        self.machine.watch();
        let value = self.machine.state.borrow_mut().read(self.node, address);
        value.ok_or(BusError {
            address,
            write: false,
            kind: BusErrorKind::Slave,
        })
    }

    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError> {
        let done = self
            .machine
            .state
            .borrow_mut()
            .write(self.node, address, value);
        done.ok_or(BusError {
            address,
            write: true,
            kind: BusErrorKind::Slave,
        })
    }

    fn alloc(&self, bytes: usize, align: usize) -> Result<Memory, AllocError> {
        let mut state = self.machine.state.borrow_mut();
        let node = &mut state.nodes[self.node];
        let address = node.next.next_multiple_of(align as u64);
        let end = address + bytes as u64;
        if end > MEMORY as u64 {
            return Err(AllocError {
                bytes,
                align,
                reason: format!("{MEMORY} bytes used up"),
            });
        }
        node.next = end;
        node.memory[address as usize..end as usize].fill(0);
        Ok(Memory {
            process: self.clone(),
            address,
            len: bytes,
            slot: SLOT,
        })
    }

    fn share(&self, number: u32, bytes: usize) -> Result<Segment, SegmentError> {
        let mut state = self.machine.state.borrow_mut();
        let segments = &mut state.nodes[self.node].segments;
        let open = segments.get(&number).and_then(Weak::upgrade);
        let segment = open.unwrap_or_else(|| {
            Rc::new(SegmentState {
                bytes: RefCell::new(vec![0; bytes]),
                lock: self.new_lock(),
            })
        });
        segments.insert(number, Rc::downgrade(&segment));
        let len = segment.bytes.borrow().len();
        if len != bytes {
            return Err(SegmentError {
                number,
                bytes,
                reason: format!("it has {len} bytes"),
            });
        }
        Ok(Segment(segment))
    }

    fn now_ps(&self) -> u64 {
        self.machine.state.borrow().instructions * 625
    }

    fn charge(&self, op: Op, count: u64) {
        if op == Op::Advance {
            self.machine.watch();
        }
        {
            let mut state = self.machine.state.borrow_mut();
            state.instructions += count * state.costs.instructions(op);
            *state.charged.entry(op).or_default() += count;
        }
        // The hook runs as another thread would: not inside itself.
        if !self.machine.hooked.replace(true) {
            if let Some(hook) = self.machine.hook.borrow_mut().as_mut() {
                hook(op);
            }
            self.machine.hooked.set(false);
        }
    }

    fn wait(&self, group: u8, deadline_ps: Option<u64>) -> WakeReason {
        let group = usize::from(group);
        loop {
            {
                let mut state = self.machine.state.borrow_mut();
                let node = &mut state.nodes[self.node];
                if core::mem::take(&mut node.notified[group]) || node.wake_cause[group] != 0 {
                    return WakeReason::Wake;
                }
            }
            if !self.machine.step() {
                let other = self.machine.asleep.borrow_mut().take();
                if let Some(other) = other {
                    other();
                    continue;
                }
                assert!(deadline_ps.is_some(), "sleeps for ever");
                return WakeReason::Deadline;
            }
        }
    }

    fn notify(&self, group: u8) {
        self.machine.state.borrow_mut().nodes[self.node].notified[usize::from(group)] = true;
    }

    fn yield_now(&self) {
        self.machine.step();
    }

    fn new_lock(&self) -> DoubleLock {
        DoubleLock(Cell::new(false))
    }
}

impl PlatformLock for DoubleLock {
    fn lock(&self) {
        assert!(!self.0.replace(true), "waits for ever for a lock");
    }

    fn trylock(&self) -> bool {
        !self.0.replace(true)
    }

    fn unlock(&self) {
        assert!(self.0.replace(false), "unlocks a free lock");
    }
}

impl SharedSegment for Segment {
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        let bytes = self.0.bytes.borrow();
        let range = range(bytes.len(), offset, out.len())?;
        out.copy_from_slice(&bytes[range]);
        Ok(())
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        let mut bytes = self.0.bytes.borrow_mut();
        let range = range(bytes.len(), offset, data.len())?;
        bytes[range].copy_from_slice(data);
        Ok(())
    }
}

impl PlatformLock for Segment {
    fn lock(&self) {
        self.0.lock.lock();
    }

    fn trylock(&self) -> bool {
        self.0.lock.trylock()
    }

    fn unlock(&self) {
        self.0.lock.unlock();
    }
}

/// Bytes from `offset` on, inside `len`.
fn range(len: usize, offset: usize, bytes: usize) -> Result<Range<usize>, RangeError> {
    match offset.checked_add(bytes) {
        Some(end) if end <= len => Ok(offset..end),
        _ => Err(RangeError { offset, bytes, len }),
    }
}

impl Memory {
    fn check(&self, offset: usize, bytes: usize) -> Result<usize, RangeError> {
        Ok(self.address as usize + range(self.len, offset, bytes)?.start)
    }
}

impl DmaBuffer for Memory {
    fn len(&self) -> usize {
        self.len
    }

    fn slot(&self) -> u16 {
        self.slot
    }

    fn offset(&self) -> u64 {
        self.address - SLOT_BASE
    }

    fn address(&self) -> u64 {
        self.address
    }

    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        let at = self.check(offset, out.len())?;
        let state = self.process.machine.state.borrow();
        out.copy_from_slice(&state.nodes[self.process.node].memory[at..at + out.len()]);
        Ok(())
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        let at = self.check(offset, data.len())?;
        let mut state = self.process.machine.state.borrow_mut();
        state.nodes[self.process.node].memory[at..at + data.len()].copy_from_slice(data);
        Ok(())
    }
}

impl Drop for Memory {
    /// What is freed changes its contents: a DMA engine that still reads it shows.
    fn drop(&mut self) {
        let mut state = self.process.machine.state.borrow_mut();
        let at = self.address as usize;
        state.nodes[self.process.node].memory[at..at + self.len].fill(FREED);
    }
}
