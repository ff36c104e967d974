//! Back doors of a machine for tests that drive it without software: register accesses over both ports, flips of
//! single wires, packets with any header on a link, memory that withholds its answers, and lists of what the hardware did.

use std::collections::BTreeMap;

use crate::hardware::Ports;
use crate::machine::Machine;
use crate::record::{FLIT_WORDS, LinkWord};
use crate::regbus::Request;
use crate::topology::TREE_PORTS;

/// Virtual channels that a control word can name.
pub const LINK_CHANNELS: usize = 16;

/// When a wire flips. Cycles are those of the sender's output register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlipTime {
    /// In this cycle, whatever the link carries.
    Cycle(u64),
    /// With the first flit (or barrier pulse) of this cycle or later.
    Flit(u64),
    /// With the first last flit of a packet of this cycle or later.
    Tail(u64),
    /// With the first credit of this cycle or later.
    Credit(u64),
}

impl FlipTime {
    /// The first cycle in which it can be.
    pub fn from_cycle(self) -> u64 {
        match self {
            Self::Cycle(cycle) | Self::Flit(cycle) | Self::Tail(cycle) | Self::Credit(cycle) => {
                cycle
            }
        }
    }
}

/// Wires of a link that are wrong for one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireFlip {
    /// Sending node.
    pub node: usize,
    /// Sending port, as in [`crate::LinkTransfer`].
    pub port: usize,
    /// When.
    pub time: FlipTime,
    /// Bits of the control word that flip; nothing on barrier wires.
    pub word: u32,
    /// Bits of the data that flip; of barrier wires one bit a barrier route.
    pub data: [u64; 2],
}

/// A packet on a link that has another header than its sender gave it. Its check bits, and those of the flits behind it, are
/// those of the packet that arrives: only what looks at headers can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forgery {
    /// Sending node.
    pub node: usize,
    /// Sending port of the torus or tree, as in [`crate::LinkTransfer`].
    pub port: usize,
    /// The packet is the first whose head is sent in this cycle or later.
    pub from: u64,
    /// Bits of the header that are other ones, in 64-bit words, the lowest first.
    pub header: [u64; 2 * FLIT_WORDS],
}

/// How much the CRC of a link's two ends differs after a flit, if it did by `before` and the flit's data differs in the bits
/// of `data` (`rtl/link/link_crc.sv`). The CRC is linear, so the flit itself does not matter.
pub fn crc_difference(before: u32, data: [u64; FLIT_WORDS]) -> u32 {
    let step = |crc: u32, byte: u8| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ ((crc & 1) * 0xedb8_8320)
        })
    };
    let bytes = data.into_iter().flat_map(u64::to_le_bytes);
    bytes.chain([0]).fold(before, step)
}

/// What the check byte of a flit shows of a CRC: its bytes, folded into one.
pub fn crc_fold(crc: u32) -> u8 {
    crc.to_le_bytes().into_iter().fold(0, |a, b| a ^ b)
}

/// What forgeries have changed on the links from a port.
#[derive(Clone, Copy, Debug, Default)]
struct Forged {
    /// How much the CRCs of both ends would differ without it.
    difference: u32,
    /// Virtual channel of a changed head, and the bits that change in the flit behind it.
    behind: Option<(u32, [u64; FLIT_WORDS])>,
}

/// An answer to an access of [`Machine::access_register`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterAnswer {
    /// Node.
    pub node: usize,
    /// Register port: 0 the host's, 1 the debugger's. Accesses of a port are answered in order.
    pub port: u8,
    /// Cycle of the answer at the port.
    pub cycle: u64,
    /// The answer was a slave error.
    pub refused: bool,
    /// Data of a read.
    pub data: u64,
}

/// A beat that the hardware has written, 64 B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryWrite {
    /// Cycle in which the burst was complete.
    pub cycle: u64,
    /// Node.
    pub node: usize,
    /// Byte address of the 64 B line.
    pub line: u64,
    /// Data.
    pub data: [u64; 8],
    /// Bit `i`: byte `i` is written.
    pub strobe: u64,
}

/// What one direction of a link has carried since the machine was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkBook {
    /// Flits by virtual channel, as they were sent.
    pub flits: [u64; LINK_CHANNELS],
    /// Credits by virtual channel, as they arrive: after flips.
    pub credits: [u64; LINK_CHANNELS],
    /// Times that the state on the wires changed, flips included.
    pub state_changes: u64,
    /// Last word that arrived.
    last: (u64, u32),
}

impl LinkBook {
    /// State that the wires show: 0 reset, 1 init, 2 acknowledged, 3 up.
    pub fn state(&self) -> u32 {
        self.last.1 & 3
    }

    fn count(&mut self, sent: &LinkWord, arriving: &LinkWord) {
        const CREDIT: u32 = 1 << 25;
        if sent.is_flit() {
            self.flits[sent.channel() as usize] += 1;
        }
        // A word without a flit holds until the next: each cycle of it is a credit.
        let (since, held) = self.last;
        if held & CREDIT != 0 && arriving.cycle > since + 1 {
            self.credits[(held >> 26 & 15) as usize] += arriving.cycle - since - 1;
        }
        if arriving.word & CREDIT != 0 {
            self.credits[(arriving.word >> 26 & 15) as usize] += 1;
        }
        self.state_changes += u64::from((arriving.word ^ held) & 3 != 0);
        self.last = (arriving.cycle, arriving.word);
    }
}

/// What the tests of a node's surroundings keep.
#[derive(Default)]
pub(crate) struct FuzzPorts {
    /// Answers go here, not to software.
    pub(crate) answers: Option<Vec<RegisterAnswer>>,
    pub(crate) writes: Option<Vec<MemoryWrite>>,
    /// Changes of the interrupt and wake-up outputs: cycle, `irq << 16 | wake`.
    pub(crate) levels: Vec<(u64, u32)>,
    /// By port, if kept.
    pub(crate) books: Option<Vec<LinkBook>>,
    flips: Vec<WireFlip>,
    /// Flips that happened: cycle, and whether the word was another one because of it.
    done: Vec<(u64, WireFlip)>,
    forgeries: Vec<Forgery>,
    /// By port.
    forged: Vec<Forged>,
    /// Words that end a flip in a later window.
    restores: Vec<(usize, LinkWord)>,
    /// Last word of each port.
    last: Vec<LinkWord>,
}

const QUIET: LinkWord = LinkWord {
    cycle: 0,
    word: 0,
    dbg: 0,
    data: [0; FLIT_WORDS],
};

impl FuzzPorts {
    /// Whether link words pass here.
    pub(crate) fn watches(&self) -> bool {
        self.books.is_some()
    }

    fn add_flip(&mut self, flip: WireFlip) {
        if !self.flips.iter().any(|other| other.port == flip.port) {
            self.flips.push(flip);
        }
    }

    /// First cycle in which the node must be looked at for a flip.
    pub(crate) fn next_cycle(&self, now: u64) -> u64 {
        let exact = self.flips.iter().filter_map(|flip| match flip.time {
            FlipTime::Cycle(cycle) => Some(cycle.max(now)),
            _ => None,
        });
        let ends = self.restores.iter().map(|(_, word)| word.cycle);
        exact.chain(ends).min().unwrap_or(u64::MAX)
    }

    /// The words that arrive in the place of those `sent` in a window, of each port in order of cycles.
    pub(crate) fn pass(
        &mut self,
        mut sent: Vec<(usize, LinkWord)>,
        window: std::ops::Range<u64>,
        ports: usize,
    ) -> Vec<(usize, LinkWord)> {
        self.last.resize(ports, QUIET);
        self.forged.resize(ports, Forged::default());
        for (port, word) in &mut sent {
            self.forge(*port, word);
        }
        let mut arriving = Vec::with_capacity(sent.len());
        let touched = |port: usize, flips: &[WireFlip], restores: &[(usize, LinkWord)]| {
            flips.iter().any(|flip| flip.port == port) || restores.iter().any(|r| r.0 == port)
        };
        for port in 0..ports {
            let of_port = sent.iter().filter(|(p, _)| *p == port);
            if !touched(port, &self.flips, &self.restores) {
                for &(_, word) in of_port {
                    self.arrive(port, &word, word, &mut arriving);
                    self.last[port] = word;
                }
                continue;
            }
            let words: BTreeMap<u64, LinkWord> =
                of_port.map(|(_, word)| (word.cycle, *word)).collect();
            self.pass_port(port, &words, &window, ports, &mut arriving);
            if let Some(word) = words.values().next_back() {
                self.last[port] = *word;
            }
        }
        arriving
    }

    /// Changes a word that a port sends as forgeries want it.
    fn forge(&mut self, port: usize, word: &mut LinkWord) {
        const UP: u32 = 3;
        let forged = &mut self.forged[port];
        if word.word & 3 != UP {
            // Both ends start anew.
            *forged = Forged::default();
        }
        if !word.is_flit() {
            return;
        }
        let (channel, head) = (word.channel(), word.word & 1 << 6 != 0);
        let mut mask = [0; FLIT_WORDS];
        if let Some((of, behind)) = forged.behind
            && of == channel
        {
            forged.behind = None;
            if !head {
                mask = behind;
            }
        }
        let fits = |f: &Forgery| head && f.port == port && f.from <= word.cycle;
        if let Some(at) = self.forgeries.iter().position(fits) {
            let [a, b, c, d] = self.forgeries.remove(at).header;
            mask = [a, b];
            forged.behind = Some((channel, [c, d]));
        }
        if mask == [0; FLIT_WORDS] && forged.difference == 0 {
            return;
        }
        forged.difference = crc_difference(forged.difference, mask);
        word.word ^= u32::from(crc_fold(forged.difference)) << 9;
        for (data, mask) in word.data.iter_mut().zip(mask) {
            *data ^= mask;
        }
    }

    fn arrive(
        &mut self,
        port: usize,
        sent: &LinkWord,
        word: LinkWord,
        arriving: &mut Vec<(usize, LinkWord)>,
    ) {
        if let Some(books) = &mut self.books
            && let Some(book) = books.get_mut(port)
        {
            book.count(sent, &word);
        }
        arriving.push((port, word));
    }

    fn pass_port(
        &mut self,
        port: usize,
        words: &BTreeMap<u64, LinkWord>,
        window: &std::ops::Range<u64>,
        ports: usize,
        arriving: &mut Vec<(usize, LinkWord)>,
    ) {
        let barrier = port >= ports - TREE_PORTS;
        let mut out: BTreeMap<u64, LinkWord> = words.clone();
        let restores = std::mem::take(&mut self.restores);
        for (of, word) in restores {
            if of == port && window.contains(&word.cycle) {
                out.entry(word.cycle).or_insert(word);
            } else {
                self.restores.push((of, word));
            }
        }
        let mut masks: BTreeMap<u64, (u32, [u64; 2])> = BTreeMap::new();
        let flips = std::mem::take(&mut self.flips);
        for flip in flips {
            let first = |fits: fn(&LinkWord) -> bool, from: u64| {
                let mut found = words.range(from..).filter(|(_, word)| fits(word));
                found.next().map(|(&cycle, _)| cycle)
            };
            let cycle = match flip.time {
                _ if flip.port != port => None,
                FlipTime::Cycle(cycle) => Some(cycle).filter(|cycle| window.contains(cycle)),
                FlipTime::Flit(from) => first(LinkWord::is_flit, from),
                FlipTime::Tail(from) => {
                    first(|word| word.is_flit() && word.word & 1 << 7 != 0, from)
                }
                FlipTime::Credit(from) => first(|word| word.word & 1 << 25 != 0, from),
            };
            match cycle {
                Some(cycle) => {
                    let mask = masks.entry(cycle).or_default();
                    mask.0 ^= flip.word;
                    mask.1[0] ^= flip.data[0];
                    mask.1[1] ^= flip.data[1];
                    self.done.push((cycle, flip));
                }
                None => self.flips.push(flip),
            }
        }
        for (&cycle, &(word_mask, data_mask)) in &masks {
            let before = words.range(..=cycle).next_back().map(|(_, word)| *word);
            let mut held = before.unwrap_or(self.last[port]);
            if held.cycle != cycle {
                // A flit, a credit or a pulse is one of its own cycle.
                held.data = [0; FLIT_WORDS];
                if barrier {
                    held.word = 0;
                }
            }
            let mut flipped = LinkWord { cycle, ..held };
            if barrier {
                flipped.data[0] ^= data_mask[0] & 0xffff;
                flipped.word = if flipped.data[0] == 0 {
                    0
                } else {
                    LinkWord::VALID
                };
            } else {
                flipped.word ^= word_mask;
                for (data, mask) in flipped.data.iter_mut().zip(data_mask) {
                    *data ^= mask;
                }
                if !flipped.is_flit() {
                    flipped.data = [0; FLIT_WORDS];
                }
            }
            out.insert(cycle, flipped);
            let next = cycle + 1;
            if !words.contains_key(&next) {
                let mut restore = LinkWord {
                    cycle: next,
                    data: [0; FLIT_WORDS],
                    ..held
                };
                if barrier {
                    restore.word = 0;
                }
                if next >= window.end {
                    self.restores.push((port, restore));
                } else if !masks.contains_key(&next) {
                    out.insert(next, restore);
                }
            }
        }
        for (cycle, word) in out {
            let sent = words.get(&cycle).copied().unwrap_or(LinkWord {
                word: word.word & !LinkWord::VALID,
                ..word
            });
            self.arrive(port, &sent, word, arriving);
        }
    }
}

impl Machine {
    /// Answers, memory writes and link books are kept from now on; register answers no longer reach software.
    pub fn watch(&mut self) {
        for node in 0..self.hardware.len() {
            let ports = &mut self.hardware.node(node).ports;
            let links = ports.link_flits.len() + 2 * TREE_PORTS;
            ports.fuzz.answers.get_or_insert_default();
            ports.fuzz.writes.get_or_insert_default();
            ports
                .fuzz
                .books
                .get_or_insert_with(|| vec![LinkBook::default(); links]);
        }
    }

    /// Asks for a register over a port (0 the host's, 1 the debugger's), now; see [`Machine::take_answers`]. Needs
    /// [`Machine::watch`].
    pub fn access_register(&mut self, node: usize, port: u8, addr: u64, write: Option<u64>) {
        let cycle = self.cycle;
        let request = Request {
            cycle,
            write: write.is_some(),
            addr,
            data: write.unwrap_or(0),
        };
        self.hardware
            .node(node)
            .ports
            .input
            .register(port, &request);
        self.hardware.look_at(node, cycle);
    }

    /// The answers since the last call, by node, each node's in order.
    pub fn take_answers(&mut self) -> Vec<RegisterAnswer> {
        self.take_kept(|ports| &mut ports.fuzz.answers)
    }

    /// The memory writes since the last call, by node, each node's in order.
    pub fn take_writes(&mut self) -> Vec<MemoryWrite> {
        self.take_kept(|ports| &mut ports.fuzz.writes)
    }

    /// What a port (torus, tree, barrier wires) of a node has sent; none unless [`Machine::watch`] was called.
    pub fn link_book(&self, node: usize, port: usize) -> Option<LinkBook> {
        let node = self.hardware.node(node);
        node.ports.fuzz.books.as_ref()?.get(port).cloned()
    }

    /// Flips wires for a cycle, unless another flip waits for its cycle at the port: a word is flipped once. Needs
    /// [`Machine::watch`].
    pub fn flip_wires(&mut self, flip: WireFlip) {
        self.hardware.node(flip.node).ports.fuzz.add_flip(flip);
        if let FlipTime::Cycle(cycle) = flip.time {
            let next = self.hardware.next_cycle(flip.node);
            self.hardware
                .look_at(flip.node, next.min(cycle.max(self.cycle)));
        }
    }

    /// Changes the header of a packet on a link. Needs [`Machine::watch`].
    pub fn forge(&mut self, forgery: Forgery) {
        let mut node = self.hardware.node(forgery.node);
        node.ports.fuzz.forgeries.push(forgery);
    }

    /// The flips that have happened since the last call, with their cycles.
    pub fn take_flips(&mut self) -> Vec<(u64, WireFlip)> {
        let mut all = Vec::new();
        for node in 0..self.hardware.len() {
            all.append(&mut self.hardware.node(node).ports.fuzz.done);
        }
        all
    }

    /// A node's memory answers what is accepted from now on in `until` or later. Cycles.
    pub fn withhold_memory(&mut self, node: usize, until: u64) {
        self.hardware.node(node).ports.axi.withheld_until = until;
    }

    /// Changes of a node's interrupt and wake-up outputs since the last call: cycle, `irq << 16 | wake`.
    pub fn take_levels(&mut self, node: usize) -> Vec<(u64, u32)> {
        std::mem::take(&mut self.hardware.node(node).ports.fuzz.levels)
    }

    /// Whether a node's hardware says that nothing will change without input.
    pub fn is_quiet(&self, node: usize) -> bool {
        let node = self.hardware.node(node);
        node.ports.quiet && node.ports.axi.reads_open + node.ports.axi.writes_open == 0
    }

    fn take_kept<T>(&mut self, list: impl Fn(&mut Ports) -> &mut Option<Vec<T>>) -> Vec<T> {
        let mut all = Vec::new();
        for node in 0..self.hardware.len() {
            if let Some(list) = list(&mut self.hardware.node(node).ports) {
                all.append(list);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTS: usize = 12;

    fn word(cycle: u64, word: u32) -> LinkWord {
        LinkWord {
            cycle,
            word,
            dbg: 0,
            data: [0; 2],
        }
    }

    fn with(flips: &[WireFlip]) -> FuzzPorts {
        FuzzPorts {
            books: Some(vec![LinkBook::default(); PORTS]),
            flips: flips.to_vec(),
            ..FuzzPorts::default()
        }
    }

    fn flip(port: usize, time: FlipTime, word: u32) -> WireFlip {
        WireFlip {
            node: 0,
            port,
            time,
            word,
            data: [1, 0],
        }
    }

    #[test]
    fn x5_a_flip_lasts_one_cycle_also_on_a_link_that_says_nothing() {
        let mut ports = with(&[flip(1, FlipTime::Cycle(5), 1 << 25)]);
        let first = ports.pass(vec![(1, word(2, 3))], 0..6, PORTS);
        assert_eq!(first, [(1, word(2, 3)), (1, word(5, 3 | 1 << 25))]);
        assert_eq!(ports.next_cycle(6), 6);
        assert_eq!(ports.pass(vec![], 6..9, PORTS), [(1, word(6, 3))]);
        assert_eq!(ports.next_cycle(9), u64::MAX);
    }

    #[test]
    fn x5_a_lost_credit_shows_in_the_book() {
        let mut ports = with(&[flip(0, FlipTime::Credit(0), 1 << 25)]);
        let credit = 3 | 1 << 25 | 4 << 26;
        let sent = vec![
            (0, word(1, credit)),
            (0, word(2, 3)),
            (0, word(6, credit)),
            (0, word(8, 3)),
        ];
        ports.pass(sent, 0..9, PORTS);
        let books = ports.books.expect("kept");
        assert_eq!(books[0].credits[4], 2, "of cycle 1 lost, of 6 and 7 not");
    }

    #[test]
    fn x5_a_word_is_flipped_once() {
        let mut ports = with(&[]);
        ports.add_flip(flip(1, FlipTime::Flit(0), 1 << 25));
        ports.add_flip(flip(1, FlipTime::Flit(3), 1 << 27));
        ports.add_flip(flip(2, FlipTime::Flit(3), 1 << 27));
        let flit = word(4, 3 | LinkWord::VALID);
        let found = ports.pass(vec![(1, flit)], 0..6, PORTS);
        assert_eq!(found[0].1.word, flit.word | 1 << 25);
        assert_eq!(ports.flips.len(), 1, "that of the other port");
    }

    #[test]
    fn hw3_x5_the_check_byte_of_a_flit_misses_what_the_links_do() {
        let byte = |data| crc_fold(crc_difference(0, data));
        assert_eq!(byte([0, 0x2e3d_2bf3_14c4_ef2c]), 0);
        assert_eq!(byte([0x2e3d_2bf3_14c4_ef2c, 0]), 175);
        for bit in 0..64 {
            assert_ne!(byte([1 << bit, 0]), 0);
            assert_ne!(byte([0, 1 << bit]), 0);
        }
    }

    #[test]
    fn x5_a_forged_packet_has_its_own_check_bits_and_so_has_what_comes_behind() {
        let (vc, head, up) = (2 << 3, 1 << 6, 3 | LinkWord::VALID);
        let header = [1 << 60, 0, 7, 0];
        let mut ports = with(&[]);
        ports.forgeries = vec![Forgery {
            node: 0,
            port: 1,
            from: 2,
            header,
        }];
        let sent = |cycle, bits| (1, word(cycle, up | bits));
        // A head before its time, the packet with another one's flit in between, and one that is left alone.
        let flits = vec![
            sent(1, vc | head),
            sent(2, vc | head),
            sent(3, 5 << 3),
            sent(4, vc),
            sent(5, vc | head),
        ];
        let found = ports.pass(flits.clone(), 0..6, PORTS);
        let masks = [
            [0; 2],
            [header[0], header[1]],
            [0; 2],
            [header[2], header[3]],
            [0; 2],
        ];
        let mut difference = 0;
        for (((_, found), (_, sent)), mask) in found.iter().zip(&flits).zip(masks) {
            assert_eq!(found.data, mask, "cycle {}", sent.cycle);
            difference = crc_difference(difference, mask);
            assert_eq!(found.word ^ sent.word, u32::from(crc_fold(difference)) << 9);
        }
        let restart = ports.pass(vec![(1, word(7, 1)), sent(9, vc | head)], 6..12, PORTS);
        assert_eq!(restart[1], sent(9, vc | head), "both ends start anew");
    }

    #[test]
    fn x5_a_flip_of_a_barrier_wire_is_a_pulse() {
        let mut ports = with(&[flip(PORTS - 1, FlipTime::Cycle(3), 0)]);
        let words = ports.pass(vec![], 0..9, PORTS);
        let data: Vec<u64> = words.iter().map(|(_, word)| word.data[0]).collect();
        assert_eq!(data, [1, 0]);
    }
}
