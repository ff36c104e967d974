// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scoreboard: writes that may happen, data that must arrive, and findings (X-5, HW-1).

use std::collections::{BTreeMap, BTreeSet};

use gyre_layout::fields::descriptor::{DST, REMOTE, REQUESTER};
use gyre_layout::{ErrorReason, Header};
use gyre_sim::{MemoryWrite, Topology};

use crate::descriptor::{Arrival, Asked, Bits, Fate, arrival, fate};
use crate::map;

/// A violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its kind, without numbers of the case.
    pub signature: String,
    /// Observation.
    pub detail: String,
}

impl Finding {
    pub(crate) fn new(signature: &str, detail: String) -> Self {
        Self {
            signature: signature.to_owned(),
            detail,
        }
    }
}

/// Expected contents of a range of memory.
#[derive(Clone, Debug)]
enum Content {
    /// Data at an offset of a node's source slot.
    Source(usize, u64),
    /// These bytes.
    Bytes(Vec<u8>),
    /// Not known to the scoreboard.
    Any,
}

impl Content {
    /// Whether it has this byte at `at`. With `nodes`, the byte may come from the same offset of any of them.
    fn fits(&self, at: u64, byte: u8, nodes: Option<usize>) -> bool {
        match self {
            Self::Source(node, offset) => match nodes {
                Some(nodes) => (0..nodes).any(|node| map::pattern(node, offset + at) == byte),
                None => map::pattern(*node, offset + at) == byte,
            },
            Self::Bytes(bytes) => bytes.get(at as usize) == Some(&byte),
            Self::Any => true,
        }
    }
}

/// Memory that a descriptor may write.
#[derive(Clone, Debug)]
struct Landing {
    node: usize,
    start: u64,
    end: u64,
    content: Content,
    /// It is there at the end.
    required: bool,
    what: &'static str,
}

/// A message on its way into a reception FIFO.
#[derive(Clone, Debug)]
struct Message {
    from: usize,
    to: usize,
    fifo: u16,
    class: u64,
    target: u64,
    length: u64,
    dynamic: bool,
    deposit: bool,
    content: Content,
    required: bool,
    /// Bytes that have arrived and whether the last packet has, by node.
    arrived: BTreeMap<usize, (u64, bool)>,
}

/// A slot as it was granted.
#[derive(Clone, Copy, Debug)]
struct Grant {
    node: usize,
    slot: u16,
    base: u64,
    limit: u64,
}

/// Expectations of a case.
#[derive(Debug, Default)]
pub struct Scoreboard {
    landings: Vec<Landing>,
    messages: BTreeMap<u64, Message>,
    /// By node and address: the amount subtracted, and whether it is exact.
    counters: BTreeMap<(usize, u64), (u64, bool)>,
    added: BTreeMap<(usize, u64), u64>,
    grants: Vec<Grant>,
    granted_puts: Vec<(Asked, usize)>,
    /// Reasons that may be recorded, by node.
    pub reasons: BTreeMap<usize, BTreeSet<u8>>,
    /// Errors that must be counted, by node.
    pub errors: BTreeMap<usize, u64>,
    /// Arrival and order are no longer promised: something was reset, cut, flipped, or is not known to the oracle.
    pub weak: bool,
    /// Forged packets were on links: they may do anything that granted slots and open FIFOs allow.
    pub forged: bool,
    /// Number of nodes, if a spoilt remote get may have reached another node than the intended one.
    strayed: Option<usize>,
    /// Puts in memory for a refused remote get, and their node.
    left: Vec<(Bits, usize)>,
    /// Register writes may have granted anything.
    pub wild: bool,
    /// Last message seen in each ordered stream of packets.
    order: BTreeMap<(usize, usize, u16, u64, u64), u64>,
}

/// A descriptor brought by a remote get of `requester`, as the engine stamps it.
fn stamped(bits: &Bits, topology: &Topology, requester: usize) -> Bits {
    let mut stamped = *bits;
    let packed = u64::from(topology.packed_coord(requester));
    for (field, value) in [(REMOTE, 1), (REQUESTER, packed)] {
        field.set(&mut stamped.0, value).expect("a coordinate fits");
    }
    stamped
}

impl Scoreboard {
    fn expect_error(&mut self, node: usize, reason: ErrorReason) {
        *self.errors.entry(node).or_default() += 1;
        self.reasons.entry(node).or_default().insert(reason.into());
    }

    /// An error that is raised by software.
    pub fn raised(&mut self, node: usize, reason: u8) {
        *self.errors.entry(node).or_default() += 1;
        self.reasons.entry(node).or_default().insert(reason);
    }

    /// Grants a slot at a node. A register that refuses its value keeps the previous one.
    pub fn granted(&mut self, node: usize, slot: u16, base: u64, limit: u64) {
        let of_slot = |grant: &&Grant| grant.node == node && grant.slot == slot;
        let last = self.grants.iter().rev().find(of_slot);
        let (last_base, last_limit) = last.map_or((0, 0), |last| (last.base, last.limit));
        let base = if base >> 48 == 0 { base } else { last_base };
        let limit = if limit >> 40 == 0 { limit } else { last_limit };
        self.grants.push(Grant {
            node,
            slot,
            base,
            limit,
        });
    }

    /// Notes a remote get whose source may be another than the prepared one.
    pub fn stray(&mut self, topology: &Topology) {
        self.weak = true;
        self.strayed = Some(topology.nodes());
        for (bits, requester) in std::mem::take(&mut self.left) {
            self.may_be_fetched(&bits, topology, requester);
        }
    }

    /// Puts that no remote get brings anywhere, unless one strays.
    fn leave(&mut self, carried: &[Bits], topology: &Topology, requester: usize) {
        match self.strayed {
            Some(_) => {
                for bits in carried {
                    self.may_be_fetched(bits, topology, requester);
                }
            }
            None => self
                .left
                .extend(carried.iter().map(|bits| (*bits, requester))),
        }
    }

    fn may_be_fetched(&mut self, bits: &Bits, topology: &Topology, requester: usize) {
        let stamped = stamped(bits, topology, requester);
        if let Fate::Good(asked) | Fate::Unknown(asked) = fate(&stamped, topology, requester, true)
        {
            self.asked(&asked, topology, requester, map::REMOTE.fifo, &[], false);
        }
    }

    /// All nodes add what lies at `source`; the result lands at `offset`.
    pub fn reduced(&mut self, nodes: usize, length: u32, source: u64, offset: u64) {
        let word = |at: u64| {
            let of = |node| {
                let byte = |i| map::pattern(node, source + at + i);
                u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
            };
            (0..nodes).fold(0u32, |sum, node| sum.wrapping_add(of(node)))
        };
        let words = (0..u64::from(length) / 4).map(|at| word(4 * at));
        let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        for node in 0..nodes {
            let start = map::LANDING.base + offset;
            self.landings.push(Landing {
                node,
                start,
                end: start + u64::from(length),
                content: Content::Bytes(bytes.clone()),
                required: true,
                what: "reduction",
            });
        }
    }

    /// A descriptor is posted; `carried` are those that lie in its payload.
    pub fn posted(
        &mut self,
        bits: &Bits,
        topology: &Topology,
        node: usize,
        fifo: u16,
        carried: &[Bits],
    ) {
        match fate(bits, topology, node, false) {
            Fate::Refused(reason) => {
                self.expect_error(node, reason);
                self.leave(carried, topology, node);
            }
            Fate::Good(asked) => self.asked(&asked, topology, node, fifo, carried, true),
            Fate::Unknown(asked) => {
                self.weak = true;
                // An unplanned contribution shifts the results of others.
                self.wild |= asked.kind == 6;
                self.asked(&asked, topology, node, fifo, carried, false);
            }
        }
    }

    fn content(asked: &Asked, origin: usize) -> Content {
        let within = asked.source + asked.length <= map::SOURCE.bytes;
        match asked.slot == u64::from(map::SOURCE.slot) && within {
            true => Content::Source(origin, asked.source),
            false => Content::Any,
        }
    }

    fn asked(
        &mut self,
        asked: &Asked,
        topology: &Topology,
        origin: usize,
        fifo: u16,
        carried: &[Bits],
        sure: bool,
    ) {
        let fate = arrival(asked);
        if asked.deposit && fate == Arrival::Refused {
            // The copies are refused as well.
            for node in 0..topology.nodes() {
                let reasons = self.reasons.entry(node).or_default();
                reasons.insert(ErrorReason::PktRecFifo.into());
            }
        }
        if sure && fate == Arrival::Refused {
            self.leave(carried, topology, origin);
            let reasons = self.reasons.entry(asked.to).or_default();
            reasons.extend(REFUSALS.map(u8::from));
            *self.errors.entry(asked.to).or_default() += 1;
            if asked.kind == 4
                && let Some((slot, word)) = asked.counter
            {
                // The answer moves the counter or its neighbour.
                self.count(origin, slot, word, 0, false);
                self.count(origin, slot, word ^ 1, 0, false);
            }
            return;
        }
        let required = sure && fate == Arrival::Taken;
        if fate == Arrival::Unknown {
            let reasons = self.reasons.entry(asked.to).or_default();
            reasons.extend(REFUSALS.map(u8::from));
        }
        match asked.kind {
            1 => {
                let message = Message {
                    from: origin,
                    to: asked.to,
                    fifo,
                    class: asked.class,
                    target: asked.target,
                    length: asked.length,
                    dynamic: asked.dynamic,
                    deposit: asked.deposit,
                    content: Self::content(asked, origin),
                    required,
                    arrived: BTreeMap::new(),
                };
                self.messages.insert(asked.sw0, message);
            }
            2 => {
                if let Some((slot, word)) = asked.counter {
                    let bytes = asked.length.max(1);
                    self.count(asked.to, slot, word, bytes, required);
                }
                let target = map::SLOTS
                    .iter()
                    .find(|s| u64::from(s.0) == asked.target && s.3 & 4 != 0);
                if let Some(&(_, base, bytes, ..)) = target {
                    let end = (asked.offset + asked.length).min(bytes);
                    self.landings.push(Landing {
                        node: asked.to,
                        start: base + asked.offset.min(end),
                        end: base + end,
                        content: Self::content(asked, origin),
                        required,
                        what: if asked.flow { "put by flow" } else { "put" },
                    });
                }
                if map::GRANTED.contains(&(asked.target as u16)) {
                    self.granted_puts.push((*asked, origin));
                }
            }
            3 if fate == Arrival::Taken => {
                for bits in carried {
                    self.fetched(bits, topology, origin, asked.to);
                }
            }
            3 => self.leave(carried, topology, origin),
            4 => {
                if let Some((slot, word)) = asked.counter {
                    self.count(origin, slot, word, asked.length, required);
                    // The other one of the pair moves where the addition is refused or fails.
                    self.count(origin, slot, word ^ 1, 0, required);
                }
                if asked.target == u64::from(map::COUNTERS.slot) {
                    let at = map::COUNTERS.base + asked.offset;
                    // Only the software word that the generator fills counts.
                    *self.added.entry((asked.to, at)).or_default() += asked.sw0;
                    self.weak |= asked.length != 8;
                }
            }
            _ => {}
        }
    }

    /// A descriptor that a remote get brings to `at`.
    fn fetched(&mut self, bits: &Bits, topology: &Topology, requester: usize, at: usize) {
        let stamped = stamped(bits, topology, requester);
        let to_requester = DST.get(&bits.0) == u64::from(topology.packed_coord(requester));
        match fate(&stamped, topology, at, true) {
            Fate::Good(_) if !to_requester => self.expect_error(at, ErrorReason::DescRemote),
            Fate::Good(asked) => self.asked(&asked, topology, at, map::REMOTE.fifo, &[], true),
            // Checks that come after "no put to its requester".
            Fate::Refused(reason) => {
                self.expect_error(at, reason);
                let reasons = self.reasons.entry(at).or_default();
                reasons.insert(ErrorReason::DescRemote.into());
            }
            Fate::Unknown(asked) => {
                self.weak = true;
                self.wild |= asked.kind == 6;
                self.asked(&asked, topology, at, map::REMOTE.fifo, &[], false);
            }
        }
    }

    fn count(&mut self, node: usize, slot: u64, word: u64, bytes: u64, exact: bool) {
        let found = map::SLOTS
            .iter()
            .find(|s| u64::from(s.0) == slot && s.3 & 8 != 0);
        if let Some(&(_, base, ..)) = found {
            let entry = self
                .counters
                .entry((node, base + 8 * word))
                .or_insert((0, true));
            entry.0 += bytes;
            entry.1 &= exact;
        }
    }

    /// Checks a write of the hardware.
    pub fn written(&self, write: &MemoryWrite) -> Option<Finding> {
        if self.wild {
            return None;
        }
        for i in (0..64).filter(|i| write.strobe >> i & 1 == 1) {
            let addr = write.line + i;
            let byte = (write.data[i as usize / 8] >> (8 * (i % 8))) as u8;
            match self.allows(write.node, addr, byte) {
                None => {
                    let text = format!(
                        "node {}, cycle {}: {byte:#04x} written to {addr:#x}",
                        write.node, write.cycle
                    );
                    return Some(Finding::new("write outside of what is granted", text));
                }
                Some(false) => {
                    let text = format!(
                        "node {}, cycle {}: {byte:#04x} written to {addr:#x}, which is another byte of what is sent there",
                        write.node, write.cycle
                    );
                    return Some(Finding::new("wrong data written to memory", text));
                }
                Some(true) => {}
            }
        }
        None
    }

    /// Whether a byte may be written to an address; none where nothing may.
    fn allows(&self, node: usize, addr: u64, byte: u8) -> Option<bool> {
        let rings = map::RECEPTION.iter().chain([&map::REMOTE]);
        if rings
            .into_iter()
            .any(|ring| (ring.base..ring.base + ring.bytes).contains(&addr))
        {
            return Some(true);
        }
        if self.counters.contains_key(&(node, addr & !7))
            || self.added.contains_key(&(node, addr & !7))
        {
            return Some(true);
        }
        if self.forged && self.grants_write(node, addr) {
            return Some(true);
        }
        let mut known = None;
        for landing in &self.landings {
            if landing.node == node && (landing.start..landing.end).contains(&addr) {
                if landing
                    .content
                    .fits(addr - landing.start, byte, self.strayed)
                {
                    return Some(true);
                }
                known = Some(false);
            }
        }
        for (asked, origin) in self.granted_puts.iter().filter(|(put, _)| put.to == node) {
            let fitting = self
                .grants
                .iter()
                .filter(|g| g.node == node && u64::from(g.slot) == asked.target);
            for grant in fitting {
                let start = u128::from(grant.base) + u128::from(asked.offset);
                let end = (start + u128::from(asked.length))
                    .min(u128::from(grant.base) + u128::from(grant.limit))
                    .min(1 << 48);
                if (start..end).contains(&u128::from(addr)) {
                    let at = addr - start as u64;
                    if Self::content(asked, *origin).fits(at, byte, self.strayed) {
                        return Some(true);
                    }
                }
            }
        }
        // A counter in a granted slot may be anywhere in it.
        let counts = |g: &Grant| {
            let slot = u64::from(g.slot);
            let named = self
                .granted_puts
                .iter()
                .any(|(put, _)| put.counter.is_some_and(|(number, _)| number == slot));
            named && g.node == node && addr.wrapping_sub(g.base) < g.limit
        };
        if self.grants.iter().any(counts) {
            return Some(true);
        }
        known
    }

    /// Whether a slot lets packets write an address.
    fn grants_write(&self, node: usize, addr: u64) -> bool {
        let fixed = map::SLOTS.iter().filter(|slot| slot.3 & 4 != 0);
        let of_case = self.grants.iter().filter(|grant| grant.node == node);
        let mut all = fixed
            .map(|&(_, base, bytes, ..)| (base, bytes))
            .chain(of_case.map(|grant| (grant.base, grant.limit)));
        all.any(|(base, bytes)| addr.wrapping_sub(base) < bytes)
    }

    /// A packet that software took from a reception FIFO.
    pub fn received(
        &mut self,
        node: usize,
        fifo: u16,
        header: &Header,
        payload: &[u8],
        topology: &Topology,
    ) -> Option<Finding> {
        if self.wild || self.forged {
            return None;
        }
        let bad = |kind: &str, text: String| {
            let text = format!("node {node}, reception FIFO {fifo}: {text}: {header:?}");
            Some(Finding::new(kind, text))
        };
        let Some(message) = self.messages.get_mut(&header.sw0.into()) else {
            return bad("message that nobody sent", "unknown message".into());
        };
        let copy = message.deposit && node != message.from;
        let place = message.to == node || copy;
        if !place
            || message.target != u64::from(fifo)
            || header.src != topology.header_coord(message.from)
        {
            return bad("message at the wrong place", "not sent here".into());
        }
        let start = u64::from(header.offset);
        let fits = |(i, &byte): (usize, &u8)| message.content.fits(start + i as u64, byte, None);
        if start + payload.len() as u64 > message.length || !payload.iter().enumerate().all(fits) {
            return bad("wrong data in a message", "payload differs".into());
        }
        let arrived = message.arrived.entry(node).or_insert((0, false));
        let sent = message.length;
        if arrived.0 + payload.len() as u64 > sent || (arrived.1 && (header.last || sent == 0)) {
            return bad(
                "message arrives twice",
                format!("{} B were here", arrived.0),
            );
        }
        if !message.dynamic && start != arrived.0 && !self.weak {
            return bad("packets out of order", format!("{} B were here", arrived.0));
        }
        arrived.0 += payload.len() as u64;
        arrived.1 |= header.last;
        if !message.dynamic && !self.weak {
            let stream = (
                message.from,
                node,
                message.fifo,
                message.class,
                message.target,
            );
            let id = u64::from(header.sw0);
            let last = self.order.insert(stream, id);
            if last.is_some_and(|last| last > id) {
                return bad(
                    "messages out of order",
                    format!("a later message, {}, came before", last.unwrap_or_default()),
                );
            }
        }
        None
    }

    /// Whether every reduction is seen to have its result at every node. Where something may be lost and two share a place,
    /// nobody can tell.
    pub fn reductions_landed(&self, mut peek: impl FnMut(usize, u64, &mut [u8])) -> bool {
        let reductions = || self.landings.iter().filter(|l| l.what == "reduction");
        let shared = |(i, a): (usize, &Landing)| {
            let mut others = reductions().skip(i + 1);
            others.any(|b| a.node == b.node && a.start < b.end && b.start < a.end)
        };
        if self.weak && reductions().enumerate().any(shared) {
            return false;
        }
        reductions().all(|landing| {
            let mut bytes = vec![0; (landing.end - landing.start) as usize];
            peek(landing.node, landing.start, &mut bytes);
            (0..)
                .zip(&bytes)
                .all(|(i, &byte)| landing.content.fits(i, byte, None))
        })
    }

    /// Missing or wrong data at the end of a case in which nothing may be lost. `peek` reads memory.
    pub fn missing(&self, peek: impl FnMut(usize, u64, &mut [u8])) -> Vec<Finding> {
        match self.weak || self.wild {
            true => Vec::new(),
            false => self.lost(peek),
        }
    }

    /// Missing or wrong data at the end, excused or not. `peek` reads memory.
    pub fn lost(&self, mut peek: impl FnMut(usize, u64, &mut [u8])) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (id, message) in &self.messages {
            let arrived = message.arrived.get(&message.to).copied();
            if message.required && arrived != Some((message.length, true)) {
                let arrived = match arrived {
                    None => "nothing".to_owned(),
                    Some((bytes, true)) => format!("{bytes} B and the last packet"),
                    Some((bytes, false)) => format!("{bytes} B"),
                };
                let Message {
                    from,
                    to,
                    fifo,
                    length,
                    ..
                } = message;
                let text = format!(
                    "message {id}, {length} B from node {from} to reception FIFO {fifo} of node {to}: {arrived} arrived"
                );
                findings.push(Finding::new("message lost", text));
            }
        }
        let overlaps = |a: &Landing| {
            let others = self.landings.iter().filter(|b| !std::ptr::eq(a, *b));
            let mut hit = others.filter(|b| b.node == a.node && a.start < b.end && b.start < a.end);
            hit.next().is_some()
        };
        let alone = |l: &&Landing| l.required && !overlaps(l);
        for landing in self.landings.iter().filter(alone) {
            let mut bytes = vec![0; (landing.end - landing.start) as usize];
            peek(landing.node, landing.start, &mut bytes);
            let fits = |(i, &byte): (usize, &u8)| landing.content.fits(i as u64, byte, None);
            if let Some(at) = (0..).zip(&bytes).position(|pair| !fits(pair)) {
                let text = format!(
                    "byte {at} of {:#x} to {:#x} of node {}",
                    landing.start, landing.end, landing.node
                );
                findings.push(Finding::new(&format!("{} incomplete", landing.what), text));
            }
        }
        let mut word = |node, addr| {
            let mut bytes = [0; 8];
            peek(node, addr, &mut bytes);
            u64::from_le_bytes(bytes)
        };
        for (&(node, addr), &(bytes, exact)) in &self.counters {
            let found = word(node, addr);
            let expected = map::COUNTER_START - bytes;
            if exact && !self.added.contains_key(&(node, addr)) && found != expected {
                let text = format!("node {node}: {addr:#x} is {found:#x}, expected {expected:#x}");
                findings.push(Finding::new("counter wrong", text));
            }
        }
        for (&(node, addr), &sum) in &self.added {
            let found = word(node, addr);
            let expected = map::COUNTER_START + sum;
            if !self.counters.contains_key(&(node, addr)) && found != expected {
                let text = format!("node {node}: {addr:#x} is {found:#x}, expected {expected:#x}");
                findings.push(Finding::new("addition wrong", text));
            }
        }
        findings
    }
}

/// Reasons for which a target may refuse a packet.
const REFUSALS: [ErrorReason; 7] = [
    ErrorReason::PktRecFifo,
    ErrorReason::PktInjFifo,
    ErrorReason::PktSlot,
    ErrorReason::PktBounds,
    ErrorReason::PktCounter,
    ErrorReason::PktOwner,
    ErrorReason::PktRmw,
];

#[cfg(test)]
mod tests {
    use super::*;
    use gyre_layout::{CounterRef, Descriptor, Source};

    fn board(descriptor: &Descriptor) -> Scoreboard {
        let mut board = Scoreboard::default();
        let bits = Bits(descriptor.encode().expect("fits"));
        board.posted(&bits, &Topology::new(&[2], &[]), 0, 0, &[]);
        board
    }

    fn put(offset: u64) -> Descriptor {
        let source = Source {
            slot: 0,
            offset: 16,
            length: 4,
        };
        let topology = Topology::new(&[2], &[]);
        Descriptor::put(topology.header_coord(1), source, 1, offset)
            .with_counter(CounterRef { slot: 2, index: 3 })
    }

    fn write(node: usize, addr: u64, byte: u8) -> MemoryWrite {
        let mut data = [0; 8];
        let lane = addr % 64;
        data[lane as usize / 8] = u64::from(byte) << (8 * (lane % 8));
        MemoryWrite {
            cycle: 0,
            node,
            line: addr & !63,
            data,
            strobe: 1 << lane,
        }
    }

    #[test]
    fn x5_only_the_granted_bytes_may_be_written() {
        let board = board(&put(8));
        let start = map::LANDING.base + 8;
        let good = map::pattern(0, 16);
        let kind = |write: &MemoryWrite| board.written(write).map(|finding| finding.signature);
        assert_eq!(kind(&write(1, start, good)), None);
        let wrong = kind(&write(1, start, !good)).expect("found");
        assert!(wrong.contains("wrong data"), "{wrong}");
        for (node, addr) in [(0, start), (1, start - 1), (1, start + 4), (1, 0)] {
            let stray = kind(&write(node, addr, good)).expect("found");
            assert!(stray.contains("outside"), "{stray}");
        }
        assert_eq!(
            kind(&write(1, map::COUNTERS.base + 24, 0)),
            None,
            "its counter"
        );
    }

    #[test]
    fn hw1_a_lost_put_and_an_unmoved_counter_are_missed() {
        let board = board(&put(8));
        let empty = board.missing(|_, _, out| out.fill(0));
        let kinds: Vec<&str> = empty.iter().map(|f| f.signature.as_str()).collect();
        assert_eq!(kinds, ["put incomplete", "counter wrong"]);
        let full = board.missing(|_, addr, out| match addr == map::COUNTERS.base + 24 {
            true => out.copy_from_slice(&(map::COUNTER_START - 4).to_le_bytes()),
            false => (0..)
                .zip(out)
                .for_each(|(i, b)| *b = map::pattern(0, 16 + i)),
        });
        assert!(full.is_empty(), "{full:?}");
    }

    #[test]
    fn hw1_messages_arrive_once_with_their_bytes() {
        let topology = Topology::new(&[2], &[]);
        let source = Source {
            slot: 0,
            offset: 0,
            length: 3,
        };
        let descriptor = Descriptor::memory_fifo(topology.header_coord(1), source, 0);
        let mut board = board(&descriptor.with_software(5, 0));
        assert_eq!(board.missing(|_, _, _| ())[0].signature, "message lost");
        let mut header = Header::decode(&[0; 32]).expect("zeros");
        header.sw0 = 5;
        header.last = true;
        let good: Vec<u8> = (0..3).map(|i| map::pattern(0, i)).collect();
        let mut take = |header: &Header, bytes: &[u8]| {
            let found = board.received(1, 0, header, bytes, &topology);
            found.map(|finding| finding.signature)
        };
        let wrong = take(&header, &[!good[0], good[1], good[2]]);
        assert_eq!(wrong.as_deref(), Some("wrong data in a message"));
        assert_eq!(take(&header, &good), None);
        let twice = take(&header, &good);
        assert_eq!(twice.as_deref(), Some("message arrives twice"));
        header.sw0 = 6;
        let foreign = take(&header, &good);
        assert_eq!(foreign.as_deref(), Some("message that nobody sent"));
    }
}
