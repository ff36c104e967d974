// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random programs of a driver's user, made from a seed: what each endpoint does, round by round, and what of it must
//! come out whatever the timing.
//!
//! Between two rounds nothing is under way. Contexts and regions come and go there. Within a round operations that
//! have no order touch different bytes, or commute.

use std::collections::{BTreeMap, BTreeSet};

use gyre_driver::{
    AckConfig, AckMethod, ClientConfig, Ordered, RegionRights, Resources, RmwOp, RmwWidth,
    SameNode, SendImmediate,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// An endpoint: a context of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndpointId {
    pub task: usize,
    pub context: usize,
}

/// What the destination does with an active message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// Uses the data in the dispatch callback if all of it is there, receives it into a buffer if not.
    Data,
    /// Receives it into a buffer.
    Into,
    /// Receives it into a buffer that is too short.
    Short,
    /// Does not want the data.
    Nothing,
    /// Says that the message makes no sense.
    Refuse,
}

/// How an operation names memory of its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// By the region: the driver checks it.
    Region(usize),
    /// By slot and offset: the hardware checks it.
    Address(usize),
    /// By the region that the endpoint had last.
    Gone,
    /// By a slot that nobody has granted.
    NoSlot,
}

/// A read-modify-write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub op: RmwOp,
    pub width: RmwWidth,
    pub value: u64,
    pub test: Option<u64>,
    pub fetch: bool,
}

/// A post that is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    LongImmediate,
    LongHeadedImmediate,
    LongHeader,
    ReservedDispatch,
    UnknownTask,
    UnknownContext,
    UnknownRank,
    BeyondRegion,
    OtherRegion,
    MisalignedWord,
    ResultLength,
    DispatchInUse,
    AdvanceInCallback,
    SecondContext,
}

const WRONG: [Wrong; 14] = [
    Wrong::LongImmediate,
    Wrong::LongHeadedImmediate,
    Wrong::LongHeader,
    Wrong::ReservedDispatch,
    Wrong::UnknownTask,
    Wrong::UnknownContext,
    Wrong::UnknownRank,
    Wrong::BeyondRegion,
    Wrong::OtherRegion,
    Wrong::MisalignedWord,
    Wrong::ResultLength,
    Wrong::DispatchInUse,
    Wrong::AdvanceInCallback,
    Wrong::SecondContext,
];

/// What an endpoint does to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Immediate {
        header: usize,
        length: usize,
        take: Take,
        /// The dispatch identifier has a callback.
        known: bool,
    },
    Send {
        header: usize,
        length: usize,
        /// However long.
        eager: bool,
        take: Take,
        known: bool,
    },
    Put {
        length: usize,
        place: Place,
        /// There is a callback for the end at the target.
        told: bool,
    },
    Get {
        length: usize,
        place: Place,
    },
    Change(Change, Place),
    /// An acknowledgement that the program asks for itself, or a refusal.
    Acknowledge {
        refuse: bool,
    },
    /// A matched message.
    Match {
        comm: usize,
        tag: u32,
        length: usize,
    },
    Fence,
    FenceAll,
    Wrong(Wrong),
}

/// How an operation must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Well,
    /// With an error, of its post or its callbacks.
    Badly,
    /// As the machine says.
    Either,
}

/// An operation of an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Op {
    /// Its number in the program.
    pub number: usize,
    pub from: EndpointId,
    pub to: EndpointId,
    pub action: Action,
    pub end: End,
    /// The endpoint advances behind it.
    pub advance: bool,
}

/// A receive of a matched message.
#[derive(Debug, Clone, Copy)]
pub struct Posted {
    /// Its number in the program.
    pub number: usize,
    pub at: EndpointId,
    pub comm: usize,
    pub source: Option<usize>,
    pub tag: Option<u32>,
    pub room: usize,
    /// It is posted before anything is sent.
    pub early: bool,
    pub kind: Receiving,
}

/// How a receive ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiving {
    /// It gets the message of an operation.
    Message(usize),
    /// It is cancelled.
    Cancelled,
    /// Its context is destroyed.
    Left,
}

/// What happens between two rounds.
#[derive(Debug, Clone)]
pub enum Turn {
    /// A context ends, with operations that have been posted and not begun.
    Destroy { at: EndpointId, posted: Vec<Op> },
    /// A context begins.
    Open { at: EndpointId },
    /// A region ends, by its drop or by its method.
    Revoke { at: EndpointId, dropped: bool },
    /// A region begins, with contents that depend on a number.
    Grant {
        at: EndpointId,
        rights: RegionRights,
        contents: usize,
    },
    /// A region that finds no slot.
    NoSlot { at: EndpointId },
}

impl Turn {
    /// The endpoint.
    pub fn at(&self) -> EndpointId {
        match *self {
            Self::Destroy { at, .. }
            | Self::Open { at }
            | Self::Revoke { at, .. }
            | Self::Grant { at, .. }
            | Self::NoSlot { at } => at,
        }
    }
}

/// A round: what happens before it, and what is under way in it.
#[derive(Debug, Clone, Default)]
pub struct Round {
    pub turns: Vec<Turn>,
    pub receives: Vec<Posted>,
    pub ops: Vec<Op>,
    /// Endpoints with a context.
    pub open: BTreeSet<EndpointId>,
    /// The regions at its end.
    pub memory: BTreeMap<EndpointId, Vec<u8>>,
}

impl Round {
    /// Active messages that reach an endpoint.
    pub fn arrivals(&self, at: EndpointId) -> usize {
        let to = self.ops.iter().filter(|op| op.to == at);
        to.filter(|op| {
            matches!(
                op.action,
                Action::Immediate { .. } | Action::Send { .. } | Action::Acknowledge { .. }
            )
        })
        .count()
    }
}

/// A program.
#[derive(Debug, Clone)]
pub struct Program {
    pub seed: u64,
    pub nodes: usize,
    pub tasks_per_node: usize,
    pub contexts: usize,
    /// Most cycles by which the latency of the machine's memory varies.
    pub jitter: u64,
    /// Packets overtake on the double.
    pub reorder: bool,
    pub same_node: SameNode,
    pub ordered: Ordered,
    pub shared_injection: bool,
    pub injection_per_context: u16,
    pub eager_limit: usize,
    pub switch_over: usize,
    pub counters: u16,
    pub ack: AckConfig,
    pub rounds: Vec<Round>,
}

impl Program {
    pub fn tasks(&self) -> usize {
        self.nodes * self.tasks_per_node
    }

    /// Every endpoint, in order.
    pub fn endpoints(&self) -> impl Iterator<Item = EndpointId> + use<> {
        let contexts = self.contexts;
        (0..self.tasks())
            .flat_map(move |task| (0..contexts).map(move |context| EndpointId { task, context }))
    }

    /// Number of an endpoint.
    pub fn index(&self, of: EndpointId) -> usize {
        of.task * self.contexts + of.context
    }

    /// The program's client, in the place of another.
    pub fn client(&self, base: ClientConfig) -> ClientConfig {
        ClientConfig {
            name: "conformance".to_owned(),
            id: 1,
            // At most 2.
            contexts: self.contexts as u8,
            resources: Resources {
                shared_injection: self.shared_injection,
                injection_per_context: self.injection_per_context,
                injection_ring: 4096,
                remote_get_ring: 4096,
                counters: self.counters,
                slots_per_process: self.contexts as u16,
                reception_ring: 8192,
                shared_ring: 4096,
                ..Resources::default()
            },
            eager_limit: self.eager_limit,
            ack: self.ack.clone(),
            same_node: self.same_node,
            ordered: self.ordered,
            ..base
        }
    }

    /// First byte of the word of a region that an endpoint changes alone; that which all change is the first.
    pub fn word(&self, of: Option<EndpointId>) -> usize {
        8 * of.map_or(0, |of| 1 + self.index(of))
    }

    /// Bytes of every region.
    pub fn region_bytes(&self) -> usize {
        self.words() + 2 * HALF
    }

    /// Bytes of the words at the start of a region.
    fn words(&self) -> usize {
        8 * (1 + self.tasks() * self.contexts)
    }

    /// Contents of a region at its start.
    pub fn region_contents(&self, contents: usize) -> Vec<u8> {
        let mut bytes = bytes_of(contents, self.region_bytes());
        bytes[..self.words()].fill(0);
        bytes
    }

    /// Tasks of a communicator, by rank.
    pub fn ranks(&self, comm: usize) -> Vec<usize> {
        match comm {
            0 => (0..self.tasks()).collect(),
            _ => (0..self.tasks()).rev().collect(),
        }
    }

    /// Rank of a task in a communicator.
    pub fn rank(&self, comm: usize, task: usize) -> u32 {
        let place = self.ranks(comm).iter().position(|&t| t == task);
        place.expect("communicators have all tasks") as u32
    }

    /// The operation with a number.
    pub fn op(&self, number: usize) -> Option<&Op> {
        self.rounds
            .iter()
            .flat_map(|round| &round.ops)
            .find(|op| op.number == number)
    }
}

/// Numbers of the two communicators.
pub const COMMS: [u32; 2] = [3, 0x1_0000];

/// Bytes of each half of a region: in a round one is written, the other read.
const HALF: usize = 12 << 10;
/// Accesses that a node refuses in a round, at most: fewer than it keeps.
const REFUSED: usize = 3;
/// A tag that no message has.
pub const NO_TAG: u32 = 99;

/// Data that depends on a number.
pub fn bytes_of(number: usize, length: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (number * 37 + i * 13 + i / 256 + 1) as u8)
        .collect()
}

/// The word that a change finds, and the one that it leaves.
fn changed(word: u64, change: &Change) -> (u64, u64) {
    let mask = match change.width {
        RmwWidth::Eight => u64::MAX,
        RmwWidth::Four => 0xffff_ffff,
    };
    let before = word & mask;
    if change.test.is_some_and(|test| test & mask != before) {
        return (before, word);
    }
    let value = change.value & mask;
    let after = match change.op {
        RmwOp::Set => value,
        RmwOp::Add => before.wrapping_add(value) & mask,
        RmwOp::Or => before | value,
        RmwOp::And => before & value,
        RmwOp::Xor => before ^ value,
    };
    (before, word & !mask | after)
}

/// What is known of an endpoint while its program is made.
#[derive(Debug, Clone, Default)]
struct Known {
    open: bool,
    region: Option<(RegionRights, Vec<u8>)>,
    /// Rights of its previous region, while no other region has the slot.
    gone: Option<RegionRights>,
}

/// What makes a program.
struct Maker {
    random: ChaCha8Rng,
    program: Program,
    known: BTreeMap<EndpointId, Known>,
    /// Between whom puts were refused of which no fence has told.
    doubtful: BTreeSet<(EndpointId, EndpointId)>,
    number: usize,
}

/// What is used up in a round.
#[derive(Default)]
struct Used {
    /// Bytes of the written half of a region.
    written: BTreeMap<EndpointId, usize>,
    /// Refused accesses, by node.
    refused: BTreeMap<usize, usize>,
    /// Operations to contexts that are not open.
    absent: BTreeSet<(EndpointId, EndpointId)>,
    /// Puts that nobody is told of.
    untold: BTreeSet<(EndpointId, EndpointId)>,
}

impl Program {
    /// The program of a seed.
    pub fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let nodes = random.random_range(1..=4);
        let tasks_per_node = random.random_range(1..=2);
        let contexts = random.random_range(1..=2);
        let method = |method| AckConfig {
            method,
            ..AckConfig::default()
        };
        let acks = [
            AckConfig::immediate(),
            method(AckMethod::Threshold),
            method(AckMethod::Coalesce),
            AckConfig::default(),
            AckConfig::by_path(2),
        ];
        let ack = acks[random.random_range(0..acks.len())].clone();
        let program = Self {
            seed,
            nodes,
            tasks_per_node,
            contexts,
            jitter: random.random_range(0..40),
            reorder: random.random_bool(0.7),
            same_node: match random.random_bool(0.5) {
                true => SameNode::SharedMemory,
                false => SameNode::Loopback,
            },
            ordered: match random.random_bool(0.5) {
                true => Ordered::Flow,
                false => Ordered::Fixed,
            },
            shared_injection: random.random_bool(0.3),
            injection_per_context: random.random_range(1..=2),
            eager_limit: [0, 512, 4096][random.random_range(0..3)],
            switch_over: [0, 513, 4097][random.random_range(0..3)],
            counters: random.random_range(2..5),
            ack,
            rounds: Vec::new(),
        };
        let known = program.endpoints().map(|e| (e, Known::default())).collect();
        let mut maker = Maker {
            random,
            program,
            known,
            doubtful: BTreeSet::new(),
            number: 0,
        };
        for number in 0..maker.random.random_range(2..=4) {
            let round = maker.round(number);
            maker.program.rounds.push(round);
        }
        maker.program
    }
}

impl Maker {
    fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.random.random_range(0..among.len())]
    }

    fn chance(&mut self, of: f64) -> bool {
        self.random.random_bool(of)
    }

    fn number(&mut self) -> usize {
        self.number += 1;
        self.number
    }

    fn endpoints(&self, open: bool) -> Vec<EndpointId> {
        let known = self.known.iter().filter(|(_, known)| known.open == open);
        known.map(|(&endpoint, _)| endpoint).collect()
    }

    fn node(&self, of: EndpointId) -> usize {
        of.task / self.program.tasks_per_node
    }

    fn round(&mut self, number: usize) -> Round {
        let mut round = Round::default();
        if number == 0 {
            for at in self.endpoints(false) {
                round.turns.push(self.open(at));
                let rights = RegionRights::ALL;
                round.turns.push(self.grant(at, rights));
            }
        } else {
            self.turns(&mut round);
        }
        round.open = self.endpoints(true).into_iter().collect();
        let mut used = Used::default();
        let count = self.random.random_range(1..=30);
        for _ in 0..count {
            if let Some(op) = self.op(&mut used, number) {
                round.ops.push(op);
            }
        }
        // Whatever comes next begins with all of it told.
        for (from, to) in used.untold.union(&self.doubtful.clone()).copied() {
            let number = self.number();
            let end = self.fenced(from, Some(to));
            round.ops.push(Op {
                number,
                from,
                to,
                action: Action::Fence,
                end,
                advance: false,
            });
        }
        self.receives(&mut round);
        for (&at, known) in &self.known {
            if let Some((_, bytes)) = &known.region {
                round.memory.insert(at, bytes.clone());
            }
        }
        round
    }

    fn open(&mut self, at: EndpointId) -> Turn {
        self.known.get_mut(&at).expect("an endpoint").open = true;
        Turn::Open { at }
    }

    fn grant(&mut self, at: EndpointId, rights: RegionRights) -> Turn {
        let contents = self.number();
        let bytes = self.program.region_contents(contents);
        for (endpoint, known) in &mut self.known {
            // It may get the slot of any region that the task had.
            known.gone.take_if(|_| endpoint.task == at.task);
        }
        self.known.get_mut(&at).expect("an endpoint").region = Some((rights, bytes));
        Turn::Grant {
            at,
            rights,
            contents,
        }
    }

    /// What comes and goes before a round.
    fn turns(&mut self, round: &mut Round) {
        let all: Vec<_> = self.program.endpoints().collect();
        for &at in &all {
            if !self.chance(0.3) {
                continue;
            }
            let task = self.program.endpoints().filter(|e| e.task == at.task);
            let full = task.into_iter().all(|e| self.known[&e].region.is_some());
            if full && self.chance(0.3) {
                round.turns.push(Turn::NoSlot { at });
            }
            if self.known[&at].region.is_some() {
                let dropped = self.chance(0.5);
                round.turns.push(Turn::Revoke { at, dropped });
                let known = self.known.get_mut(&at).expect("an endpoint");
                known.gone = known.region.take().map(|(rights, _)| rights);
            }
            if self.chance(0.5) {
                let rights = RegionRights {
                    get: self.chance(0.7),
                    put: self.chance(0.7),
                    rmw: self.chance(0.7),
                };
                let turn = self.grant(at, rights);
                round.turns.push(turn);
            }
        }
        for &at in &all {
            if !self.chance(0.4) {
                continue;
            }
            if !self.known[&at].open {
                let turn = self.open(at);
                round.turns.push(turn);
                continue;
            }
            // Somebody on the node has to tell of what is refused there.
            let open = self.endpoints(true);
            let mut others = open.iter().filter(|&&e| e != at);
            let alone = !others.any(|&e| self.node(e) == self.node(at));
            if alone && !self.chance(0.4) {
                continue;
            }
            let mut posted = Vec::new();
            for _ in 0..self.random.random_range(0..4) {
                let to = self.pick(&open);
                let action = match self.chance(0.5) {
                    true => Action::Fence,
                    false => Action::Send {
                        header: 3,
                        length: self.pick(&[0, 64, 5000]),
                        eager: false,
                        take: Take::Data,
                        known: true,
                    },
                };
                posted.push(Op {
                    number: self.number(),
                    from: at,
                    to,
                    action,
                    end: End::Badly,
                    advance: false,
                });
            }
            round.turns.push(Turn::Destroy { at, posted });
            self.known.get_mut(&at).expect("an endpoint").open = false;
            if alone || self.chance(0.4) {
                let turn = self.open(at);
                round.turns.push(turn);
            }
        }
    }

    fn op(&mut self, used: &mut Used, round: usize) -> Option<Op> {
        let (open, closed) = (self.endpoints(true), self.endpoints(false));
        let from = self.pick(&open);
        let absent = !closed.is_empty() && self.chance(0.15);
        let to = match absent {
            true => self.pick(&closed),
            false => self.pick(&open),
        };
        if absent && !used.absent.insert((from, to)) {
            return None;
        }
        let (mut action, mut end) = match absent {
            true => self.ask_absent(from, to, used, round)?,
            false => self.ask_present(from, to, used, round)?,
        };
        if action == Action::FenceAll && !closed.is_empty() {
            action = Action::Fence;
        }
        match action {
            Action::Fence => end = self.fenced(from, Some(to)),
            Action::FenceAll => end = self.fenced(from, None),
            _ => {}
        }
        Some(Op {
            number: self.number,
            from,
            to,
            action,
            end,
            advance: self.chance(0.3),
        })
    }

    /// How a fence of one endpoint, or of all, must end.
    fn fenced(&mut self, from: EndpointId, to: Option<EndpointId>) -> End {
        let before = self.doubtful.len();
        let told =
            |pair: &(EndpointId, EndpointId)| pair.0 == from && to.is_none_or(|to| pair.1 == to);
        self.doubtful.retain(|pair| !told(pair));
        let absent = to.is_some_and(|to| !self.known[&to].open);
        match absent || self.doubtful.len() < before {
            true => End::Either,
            false => End::Well,
        }
    }

    /// Something that asks for an answer, to a context that is not open.
    fn ask_absent(
        &mut self,
        from: EndpointId,
        to: EndpointId,
        used: &mut Used,
        round: usize,
    ) -> Option<(Action, End)> {
        let refused = used.refused.entry(self.node(to)).or_default();
        if *refused >= REFUSED {
            return None;
        }
        *refused += 1;
        self.number();
        let length = self.pick(&[0, 1, 512, 513, 5000]);
        let action = match self.random.random_range(0..5) {
            0 => {
                // What it writes is there, whoever is not.
                match self.put(from, to, used, round).0 {
                    Action::Put { length, place, .. } => Action::Put {
                        length,
                        place,
                        told: true,
                    },
                    other => other,
                }
            }
            1 => Action::Get {
                length: length.max(1),
                place: Place::Address(self.program.words()),
            },
            2 => Action::Fence,
            3 if from.context == to.context => Action::Match {
                comm: self.random.random_range(0..2),
                tag: 0,
                length: if length >= self.program.switch_over {
                    length
                } else {
                    length.min(64)
                },
            },
            // One packet: how often more are told of depends on when they come.
            _ => Action::Send {
                header: self.pick(&[0, 7]),
                length: if length > self.program.eager_limit {
                    length
                } else {
                    length.min(64)
                },
                eager: false,
                take: Take::Data,
                known: true,
            },
        };
        Some((action, End::Either))
    }

    fn ask_present(
        &mut self,
        from: EndpointId,
        to: EndpointId,
        used: &mut Used,
        round: usize,
    ) -> Option<(Action, End)> {
        let number = self.number();
        let take = self.pick(&[
            Take::Data,
            Take::Data,
            Take::Into,
            Take::Into,
            Take::Short,
            Take::Nothing,
            Take::Refuse,
        ]);
        let known = self.chance(0.95);
        Some(match self.random.random_range(0..24) {
            0..=3 => {
                let (header, length) = self.pick(&[
                    (0, 0),
                    (0, 5),
                    (0, SendImmediate::MAX),
                    (7, 64),
                    (1, SendImmediate::MAX_HEADED - 1),
                    (SendImmediate::MAX_HEADED, 0),
                ]);
                let action = Action::Immediate {
                    header,
                    length,
                    take,
                    known,
                };
                (action, End::Well)
            }
            4..=8 => {
                let lengths = [0, 1, 31, 511, 512, 513, 1024, 2000, 4096, 4097, 9000];
                let action = Action::Send {
                    header: self.pick(&[0, 0, 3, 100, gyre_driver::MAX_HEADER]),
                    length: self.pick(&lengths),
                    eager: self.chance(0.2),
                    take,
                    known,
                };
                let plain = known && matches!(take, Take::Data | Take::Into);
                (action, if plain { End::Well } else { End::Either })
            }
            9..=11 => self.put(from, to, used, round),
            12..=13 => self.get(to, used, round)?,
            14..=16 => self.change(number, from, to, used)?,
            17 => {
                let refuse = self.chance(0.3);
                let end = if refuse { End::Badly } else { End::Well };
                (Action::Acknowledge { refuse }, end)
            }
            18..=19 if from.context == to.context => {
                let action = Action::Match {
                    comm: self.random.random_range(0..2),
                    tag: self.random.random_range(0..2),
                    length: self.pick(&[0, 1, 64, 512, 513, 4096, 5000]),
                };
                (action, End::Well)
            }
            20..=21 => (Action::Fence, End::Well),
            22 => (Action::FenceAll, End::Well),
            _ => (Action::Wrong(self.pick(&WRONG)), End::Badly),
        })
    }

    /// First byte of one half of a region: in a round that which is written, or the other.
    fn half(&self, round: usize, written: bool) -> usize {
        let first = round.is_multiple_of(2) == written;
        self.program.words() + if first { 0 } else { HALF }
    }

    fn put(
        &mut self,
        from: EndpointId,
        to: EndpointId,
        used: &mut Used,
        round: usize,
    ) -> (Action, End) {
        let length = self.pick(&[0, 1, 8, 63, 64, 511, 512, 513, 1500, 6000]);
        let told = self.chance(0.7);
        let at = used.written.entry(to).or_default();
        let room = *at + length + 3 <= HALF;
        let place = self.half(round, true) + *at;
        let rights = self.known[&to].region.as_ref().map(|(rights, _)| *rights);
        let address = self.chance(0.5);
        let (place, end) = match rights {
            Some(rights) if room && !address => (
                Place::Region(place),
                if rights.put { End::Well } else { End::Badly },
            ),
            Some(rights) if room && (rights.put || length > 0) => (
                Place::Address(place),
                if rights.put { End::Well } else { End::Badly },
            ),
            _ => (
                self.absent_place(to, address, |rights| rights.put),
                End::Badly,
            ),
        };
        let length = match end {
            End::Well => length,
            _ => length.max(1),
        };
        let number = self.number;
        let refused = end == End::Badly && !matches!(place, Place::Region(_));
        if refused {
            let node = self.node(to);
            let refused = used.refused.entry(node).or_default();
            if *refused >= REFUSED {
                return (Action::Fence, End::Well);
            }
            *refused += 1;
            self.doubtful.insert((from, to));
        }
        if let (Place::Region(at) | Place::Address(at), End::Well) = (place, end) {
            *used.written.entry(to).or_default() += length + 3;
            let known = self.known.get_mut(&to).expect("an endpoint");
            let (_, bytes) = known.region.as_mut().expect("it has one");
            bytes[at..at + length].copy_from_slice(&bytes_of(number, length));
        }
        if !told {
            used.untold.insert((from, to));
        }
        let action = Action::Put {
            length,
            place,
            told,
        };
        // Nobody is told of a refusal by callbacks that there are not.
        (action, if told || !refused { end } else { End::Well })
    }

    /// Memory of an endpoint that is not there: of the region that it had, if that had a right, or none.
    fn absent_place(&self, of: EndpointId, gone: bool, right: fn(&RegionRights) -> bool) -> Place {
        match gone && self.known[&of].gone.as_ref().is_some_and(right) {
            true => Place::Gone,
            false => Place::NoSlot,
        }
    }

    fn get(&mut self, to: EndpointId, used: &mut Used, round: usize) -> Option<(Action, End)> {
        let length = self.pick(&[0, 1, 8, 63, 512, 513, 1500, 6000]);
        let at = self.half(round, false) + self.random.random_range(0..HALF - length);
        let rights = self.known[&to].region.as_ref().map(|(rights, _)| *rights);
        let address = self.chance(0.5);
        let (place, end) = match rights {
            Some(rights) if !address => (
                Place::Region(at),
                if rights.get { End::Well } else { End::Badly },
            ),
            Some(rights) => (
                Place::Address(at),
                if rights.get { End::Well } else { End::Badly },
            ),
            None => (
                self.absent_place(to, address, |rights| rights.get),
                End::Badly,
            ),
        };
        if end == End::Badly && !matches!(place, Place::Region(_)) {
            let refused = used.refused.entry(self.node(to)).or_default();
            if *refused >= REFUSED {
                return None;
            }
            *refused += 1;
            let length = length.max(1);
            return Some((Action::Get { length, place }, end));
        }
        Some((Action::Get { length, place }, end))
    }

    fn change(
        &mut self,
        number: usize,
        from: EndpointId,
        to: EndpointId,
        used: &mut Used,
    ) -> Option<(Action, End)> {
        let shared = self.chance(0.3);
        let operand = |maker: &mut Self| {
            let small = maker.random.random_range(0..4_u64);
            small * 0x4000_0001_0000_0001
        };
        let change = match shared {
            true => Change {
                op: RmwOp::Add,
                width: RmwWidth::Eight,
                value: number as u64,
                test: None,
                fetch: false,
            },
            false => Change {
                op: self.pick(&[RmwOp::Set, RmwOp::Add, RmwOp::Or, RmwOp::And, RmwOp::Xor]),
                width: self.pick(&[RmwWidth::Four, RmwWidth::Eight]),
                value: operand(self),
                test: self.chance(0.3).then(|| operand(self)),
                fetch: self.chance(0.6),
            },
        };
        let word = self.program.word((!shared).then_some(from));
        let node = self.node(to);
        let known = self.known.get_mut(&to).expect("an endpoint");
        Some(match &mut known.region {
            Some((rights, _)) if !rights.rmw => {
                (Action::Change(change, Place::Region(word)), End::Badly)
            }
            Some((_, bytes)) => {
                let at = bytes[word..].first_chunk_mut().expect("a word");
                let (_, after) = changed(u64::from_le_bytes(*at), &change);
                *at = after.to_le_bytes();
                (Action::Change(change, Place::Region(word)), End::Well)
            }
            None if known.gone.is_some_and(|rights| rights.rmw) => {
                let refused = used.refused.entry(node).or_default();
                if *refused >= REFUSED {
                    return None;
                }
                *refused += 1;
                (Action::Change(change, Place::Gone), End::Badly)
            }
            None => return None,
        })
    }

    /// Receives for the matched messages of a round: which one gets which message does not depend on when either
    /// comes, since all that may compete are of one task.
    fn receives(&mut self, round: &mut Round) {
        let mut of_pairs: BTreeMap<_, Vec<(usize, usize, u32, usize)>> = BTreeMap::new();
        for op in &round.ops {
            if let Action::Match { comm, tag, length } = op.action
                && round.open.contains(&op.to)
            {
                let messages = of_pairs.entry((op.to, op.from)).or_default();
                messages.push((op.number, comm, tag, length));
            }
        }
        let pairs: Vec<_> = of_pairs.keys().copied().collect();
        for ((at, from), messages) in of_pairs {
            let alone = pairs.iter().filter(|(to, _)| *to == at).count() == 1;
            let mut made = Vec::new();
            for &(_, comm, tag, length) in &messages {
                let short = self.chance(0.1);
                made.push(Posted {
                    number: self.number(),
                    at,
                    comm,
                    source: (!alone || self.chance(0.5)).then_some(from.task),
                    tag: self.chance(0.6).then_some(tag),
                    room: if short { length / 2 } else { 6000 },
                    early: self.chance(0.5),
                    kind: Receiving::Left,
                });
            }
            if self.chance(0.5) {
                let last = made.len() - 1;
                made.swap(0, last);
            }
            // Those posted before anything is sent are posted first.
            made.sort_by_key(|receive| !receive.early);
            if !pair_up(&messages, &mut made) {
                for (receive, message) in made.iter_mut().zip(&messages) {
                    receive.comm = message.1;
                    receive.tag = Some(message.2);
                    receive.room = 6000;
                }
                let paired = pair_up(&messages, &mut made);
                assert!(paired, "every message has a receive of its own");
            }
            round.receives.extend(made);
        }
        for at in self.endpoints(true) {
            if self.chance(0.15) {
                round.receives.push(Posted {
                    number: self.number(),
                    at,
                    comm: self.random.random_range(0..2),
                    source: None,
                    tag: Some(NO_TAG),
                    room: 64,
                    early: self.chance(0.5),
                    kind: self.pick(&[Receiving::Cancelled, Receiving::Left]),
                });
            }
        }
    }
}

/// Pairs messages with receives, both in their order; false when a message finds none.
fn pair_up(messages: &[(usize, usize, u32, usize)], receives: &mut [Posted]) -> bool {
    for receive in &mut *receives {
        receive.kind = Receiving::Left;
    }
    messages.iter().all(|&(number, comm, tag, _)| {
        let fits = |receive: &&mut Posted| {
            receive.kind == Receiving::Left
                && receive.comm == comm
                && receive.tag.is_none_or(|only| only == tag)
        };
        let found = receives.iter_mut().find(fits);
        found
            .map(|receive| receive.kind = Receiving::Message(number))
            .is_some()
    })
}
