// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes random programs from seeds.

use std::collections::{BTreeMap, BTreeSet};

use gyre_driver::matching::Protocol;
use gyre_driver::{
    AckConfig, AckMethod, Ordered, RegionRights, RmwOp, RmwWidth, SameNode, SendImmediate,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::conformance::program::{
    Action, COMMS, COMPLETE, ClientShape, End, EndpointId, HALF, Op, Pattern, Place, Program,
    Round, SUM, Take, Turn, Wrong, bytes_of, group, rank,
};
use crate::conformance::words::{Change, WORD};

/// Accesses that a node refuses in a round, at most: fewer than it keeps.
const REFUSED: usize = 3;
/// A tag without messages.
const NO_TAG: u32 = 99;
/// Room for every matched message.
const ROOM: usize = 6000;

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

/// State of an endpoint while its program is made.
#[derive(Debug, Clone, Default)]
struct Known {
    open: bool,
    region: Option<(RegionRights, Vec<u8>)>,
    /// Rights of its previous region, while no other region has the slot.
    gone: Option<RegionRights>,
}

/// A program in the making.
struct Maker {
    random: ChaCha8Rng,
    program: Program,
    known: BTreeMap<EndpointId, Known>,
    /// Pairs with refused puts that no fence has reported.
    doubtful: BTreeSet<(EndpointId, EndpointId)>,
    number: usize,
}

/// Resources used up in a round, and its results.
#[derive(Default)]
struct Used {
    /// Bytes of the written half of a region.
    written: BTreeMap<EndpointId, usize>,
    /// Refused accesses, by node.
    refused: BTreeMap<usize, usize>,
    /// Operations to contexts that are not open.
    absent: BTreeSet<(EndpointId, EndpointId)>,
    /// Pairs with puts that have no callback for their end at the target.
    untold: BTreeSet<(EndpointId, EndpointId)>,
    results: BTreeMap<usize, Vec<u8>>,
    free: bool,
}

impl Program {
    /// The program of a seed.
    pub fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let dims: [&[u16]; 9] = [
            &[1],
            &[2],
            &[3],
            &[4],
            &[2, 1],
            &[2, 2],
            &[1, 2, 2],
            &[3, 1, 2],
            &[2, 1, 1, 2],
        ];
        let clients = match random.random_bool(0.3) {
            true => 2,
            false => 1,
        };
        let program = Self {
            seed,
            dims: dims[random.random_range(0..dims.len())].to_vec(),
            mesh: random.random_bool(0.5),
            tasks_per_node: random.random_range(1..=2),
            jitter: random.random_range(0..40),
            reorder: random.random_bool(0.7),
            clients: (0..clients).map(|_| client(&mut random)).collect(),
            protocol: match random.random_bool(0.5) {
                true => Protocol::RemoteGet,
                false => Protocol::TemporaryBuffer,
            },
            switch_over: [0, 64, 513, 600, 4097, 100_000][random.random_range(0..6)],
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
        let rounds = maker.random.random_range(2..=4);
        for number in 0..rounds {
            let round = maker.round(number, number + 1 == rounds);
            maker.program.rounds.push(round);
        }
        maker.program
    }
}

fn client(random: &mut ChaCha8Rng) -> ClientShape {
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
    ClientShape {
        contexts: random.random_range(1..=2),
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
        counters: random.random_range(2..5),
        ack: acks[random.random_range(0..acks.len())].clone(),
    }
}

impl Maker {
    fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.random.random_range(0..among.len())]
    }

    fn chance(&mut self, of: f64) -> bool {
        self.random.random_bool(of)
    }

    /// An endpoint of the same client; half of the time one of the first two tasks.
    fn peer(&mut self, among: &[EndpointId], of: EndpointId) -> EndpointId {
        let near = self.chance(0.5);
        let same = |e: &&EndpointId| e.client == of.client;
        let among: Vec<_> = among.iter().filter(same).copied().collect();
        let first: Vec<_> = among.iter().filter(|e| e.task < 2).copied().collect();
        match near && !first.is_empty() {
            true => self.pick(&first),
            false => self.pick(&among),
        }
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

    fn round(&mut self, number: usize, last: bool) -> Round {
        let mut round = Round {
            free: self.chance(0.5),
            ..Round::default()
        };
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
        let mut used = Used {
            free: round.free,
            ..Used::default()
        };
        let count = self.random.random_range(1..=30);
        for _ in 0..count {
            if let Some(op) = self.op(&mut used, number) {
                round.ops.push(op);
            }
        }
        // All is reported before the next round.
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
        match round.free {
            true => self.free_matching(&mut round, last),
            false => self.receives(&mut round),
        }
        round.results = used.results;
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
        let bytes = self.program.region_contents(at.client, contents);
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
            let same = |e: &&EndpointId| (e.client, e.task) == (at.client, at.task);
            let full = all
                .iter()
                .filter(same)
                .all(|e| self.known[e].region.is_some());
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
            // A context of the node has to report refused accesses.
            let open = self.endpoints(true);
            let mut others = open.iter().filter(|&&e| e != at && e.client == at.client);
            let alone = !others.any(|&e| self.node(e) == self.node(at));
            if alone && !self.chance(0.4) {
                continue;
            }
            let mut posted = Vec::new();
            for _ in 0..self.random.random_range(0..4) {
                let to = self.peer(&open, at);
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
        let closed: Vec<_> = closed
            .into_iter()
            .filter(|e| e.client == from.client)
            .collect();
        let absent = !closed.is_empty() && self.chance(0.15);
        let to = match absent {
            true => self.pick(&closed),
            false => self.peer(&open, from),
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

    /// An operation with a response, to a context that is not open.
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
                // Its memory is there without the context.
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
                place: Place::Address(self.program.words(to.client)),
            },
            2 => Action::Fence,
            3 if from.context == to.context => Action::Match {
                comm: self.pick(&COMPLETE),
                tag: 0,
                length: if length >= self.program.switch_over {
                    length
                } else {
                    length.min(64)
                },
            },
            // One packet: the number of reports of more depends on timing.
            _ => Action::Send {
                header: self.pick(&[0, 7]),
                length: if length > self.program.clients[to.client].eager_limit {
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
            12..=13 => self.get(number, to, used, round)?,
            14..=16 => self.change(number, from, to, used)?,
            17 => {
                let refuse = self.chance(0.3);
                let end = if refuse { End::Badly } else { End::Well };
                (Action::Acknowledge { refuse }, end)
            }
            18..=19 if from.context == to.context && !used.free => {
                let action = Action::Match {
                    comm: self.pick(&COMPLETE),
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

    /// First byte of the half of a region that is written in a round, or of the other.
    fn half(&self, client: usize, round: usize, written: bool) -> usize {
        let first = round.is_multiple_of(2) == written;
        self.program.words(client) + if first { 0 } else { HALF }
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
        let place = self.half(to.client, round, true) + *at;
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
        // Without a callback nothing reports the refusal.
        (action, if told || !refused { end } else { End::Well })
    }

    /// Revoked memory of an endpoint, if the region had a right; else memory without a slot.
    fn absent_place(&self, of: EndpointId, gone: bool, right: fn(&RegionRights) -> bool) -> Place {
        match gone && self.known[&of].gone.as_ref().is_some_and(right) {
            true => Place::Gone,
            false => Place::NoSlot,
        }
    }

    fn get(
        &mut self,
        number: usize,
        to: EndpointId,
        used: &mut Used,
        round: usize,
    ) -> Option<(Action, End)> {
        let length = self.pick(&[0, 1, 8, 63, 512, 513, 1500, 6000]);
        let at = self.half(to.client, round, false) + self.random.random_range(0..HALF - length);
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
        if let (Some((_, bytes)), End::Well) = (&self.known[&to].region, end) {
            used.results.insert(number, bytes[at..at + length].to_vec());
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
        let operand = |maker: &mut Self| {
            let small = maker.random.random_range(0..4_u64);
            small * 0x4000_0001_0000_0001
        };
        let any = Change {
            op: self.pick(&[RmwOp::Set, RmwOp::Add, RmwOp::Or, RmwOp::And, RmwOp::Xor]),
            width: self.pick(&[RmwWidth::Four, RmwWidth::Eight]),
            upper: self.chance(0.5),
            value: operand(self),
            test: self.chance(0.3).then(|| operand(self)),
            fetch: self.chance(0.6),
        };
        let add = Change {
            op: RmwOp::Add,
            width: RmwWidth::Eight,
            upper: false,
            value: number as u64,
            test: None,
            fetch: false,
        };
        let own = self.program.own_word(from);
        let (change, word) = self.pick(&[(any, own), (any, 0), (add, SUM)]);
        let node = self.node(to);
        let known = self.known.get_mut(&to).expect("an endpoint");
        Some(match &mut known.region {
            Some((rights, _)) if !rights.rmw => {
                (Action::Change(change, Place::Region(word)), End::Badly)
            }
            Some((_, bytes)) => {
                let at: &mut [u8; WORD] = bytes[word..].first_chunk_mut().expect("a word");
                let (before, after) = change.apply(u64::from_le_bytes(*at));
                // No order of the contended word is known here.
                if word != 0 {
                    *at = after.to_le_bytes();
                    let before = &before.to_le_bytes()[..change.width.bytes()];
                    let fetched = change.fetch.then(|| (number, before.to_vec()));
                    used.results.extend(fetched);
                }
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

    /// Receives for the matched messages of a round, of which timing decides nothing: all receives that may compete for
    /// a message wait for one task.
    fn receives(&mut self, round: &mut Round) {
        let mut of_pairs: BTreeMap<_, Vec<Op>> = BTreeMap::new();
        for op in &round.ops {
            if matches!(op.action, Action::Match { .. }) && round.open.contains(&op.to) {
                of_pairs.entry((op.to, op.from)).or_default().push(*op);
            }
        }
        let pairs: Vec<_> = of_pairs.keys().copied().collect();
        let (mut first, mut last) = (Vec::new(), Vec::new());
        for ((at, from), messages) in of_pairs {
            let alone = pairs.iter().filter(|(to, _)| *to == at).count() == 1;
            let mut made = Vec::new();
            for message in &messages {
                let (comm, tag, length) = label(message);
                let pattern = Pattern {
                    comm,
                    source: (!alone || self.chance(0.5)).then_some(from.task),
                    tag: self.chance(0.6).then_some(tag),
                };
                let room = if self.chance(0.1) { length / 2 } else { ROOM };
                let early = self.chance(0.5);
                made.push((early, pattern, room));
            }
            if self.chance(0.5) {
                let last = made.len() - 1;
                made.swap(0, last);
            }
            // Receives of before the sends are posted first.
            made.sort_by_key(|(early, _, _)| !early);
            let patterns: Vec<_> = made.iter().map(|(_, pattern, _)| *pattern).collect();
            if !pair_up(&messages, &patterns) {
                for ((_, pattern, room), message) in made.iter_mut().zip(&messages) {
                    let (comm, tag, _) = label(message);
                    (pattern.comm, pattern.tag, *room) = (comm, Some(tag), ROOM);
                }
            }
            for (early, pattern, room) in made {
                let op = self.receive(at, pattern, room, false);
                if early { &mut first } else { &mut last }.push(op);
            }
        }
        for at in self.endpoints(true) {
            if self.chance(0.15) {
                let pattern = Pattern {
                    comm: self.pick(&COMPLETE),
                    source: None,
                    tag: Some(NO_TAG),
                };
                let left = self.chance(0.5);
                let op = self.receive(at, pattern, 64, left);
                let early = self.chance(0.5);
                if early { &mut first } else { &mut last }.push(op);
                if !left {
                    last.push(self.local(at, Action::Cancel(op.number)));
                }
            }
        }
        round.ops.splice(0..0, first);
        round.ops.extend(last);
    }

    /// Matched messages, receives, probes and cancellations of which timing decides the order. Many labels are alike.
    /// In the last round messages may come from outside the communicator's group: no receive matches them.
    fn free_matching(&mut self, round: &mut Round, last: bool) {
        let open = self.endpoints(true);
        let tasks = self.program.tasks();
        let first = self.pick(&open);
        let same = |e: &&EndpointId| (e.client, e.context) == (first.client, first.context);
        let peers: Vec<_> = open.iter().filter(same).copied().collect();
        // Few, so that a search of all interleavings ends soon.
        let open = [0; 3].map(|_| self.pick(&peers));
        for _ in 0..self.random.random_range(0..20) {
            let (from, to) = (self.pick(&open), self.pick(&open));
            let comm = self.comm();
            let foreign = rank(comm, from.task, tasks).is_none();
            if rank(comm, to.task, tasks).is_some() && (last || !foreign) {
                let tag = self.tag();
                let length = self.pick(&[0, 4, 63, 64, 511, 513, 600, 1500, 3000, 5000]);
                let op = Op {
                    to,
                    end: if foreign { End::Either } else { End::Well },
                    ..self.local(from, Action::Match { comm, tag, length })
                };
                self.insert(round, op, 0);
            }
        }
        for at in BTreeSet::from(open) {
            let most = round.matched(at).count() + 2;
            for _ in 0..self.random.random_range(0..=most) {
                let pattern = self.pattern();
                let room = if self.chance(0.1) { 100 } else { ROOM };
                let op = self.receive(at, pattern, room, false);
                let after = self.insert(round, op, 0);
                if self.chance(0.2) {
                    let cancel = self.local(at, Action::Cancel(op.number));
                    self.insert(round, cancel, after + 1);
                }
                if self.chance(0.2) {
                    let pattern = self.pattern();
                    let probe = self.local(at, Action::Probe(pattern));
                    self.insert(round, probe, 0);
                }
            }
        }
    }

    /// Inserts an operation somewhere from a place on; returns its place.
    fn insert(&mut self, round: &mut Round, op: Op, from: usize) -> usize {
        let place = self.random.random_range(from..=round.ops.len());
        round.ops.insert(place, op);
        place
    }

    fn comm(&mut self) -> usize {
        let other = 2 + self.random.random_range(0..COMMS.len() - 2);
        let others = [
            0, 0, 0, 0, 0, 0, 1, other, other, other, other, other, other,
        ];
        self.pick(&others)
    }

    fn tag(&mut self) -> u32 {
        self.pick(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 2])
    }

    fn pattern(&mut self) -> Pattern {
        let (comm, tasks) = (self.comm(), self.program.tasks());
        let members = group(comm, tasks).unwrap_or((0..tasks).collect());
        let source = match members.is_empty() || self.chance(0.4) {
            true => None,
            false => Some(self.pick(&members)),
        };
        let tag = self.tag();
        Pattern {
            comm,
            source,
            tag: self.chance(0.6).then_some(tag),
        }
    }

    fn receive(&mut self, at: EndpointId, pattern: Pattern, room: usize, left: bool) -> Op {
        let receive = Action::Receive {
            pattern,
            room,
            left,
        };
        self.local(at, receive)
    }

    /// An operation of an endpoint alone.
    fn local(&mut self, at: EndpointId, action: Action) -> Op {
        Op {
            number: self.number(),
            from: at,
            to: at,
            action,
            end: End::Well,
            advance: self.chance(0.3),
        }
    }
}

/// Communicator, tag and length of a matched message.
fn label(op: &Op) -> (usize, u32, usize) {
    match op.action {
        Action::Match { comm, tag, length } => (comm, tag, length),
        other => unreachable!("{other:?} has no label"),
    }
}

/// Whether each message finds a receive, both in their order.
fn pair_up(messages: &[Op], receives: &[Pattern]) -> bool {
    let mut left = receives.to_vec();
    messages.iter().all(|message| {
        let (comm, tag, _) = label(message);
        let fits = |p: &Pattern| p.comm == comm && p.tag.is_none_or(|only| only == tag);
        let found = left.iter().position(fits);
        found.map(|place| left.remove(place)).is_some()
    })
}
