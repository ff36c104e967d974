// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wires of links that are wrong for a cycle.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::disturbances::{FlipTime, WireFlip};
use crate::record::{FLIT_WORDS, LinkWord};
use crate::topology::TREE_PORTS;

/// A word on its way through a link.
pub(super) struct Passed {
    pub(super) port: usize,
    pub(super) sent: LinkWord,
    pub(super) arriving: LinkWord,
}

/// Flips on the links from a node.
#[derive(Default)]
pub(super) struct Flips {
    waiting: Vec<WireFlip>,
    /// Flips that have happened, with their cycles.
    done: Vec<(u64, WireFlip)>,
    /// Words that end a flip in a later window, by port.
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

/// Bits of the control word and of the data that flip.
type Mask = (u32, [u64; FLIT_WORDS]);

/// The words of a port by their cycles.
type Words = BTreeMap<u64, LinkWord>;

impl Flips {
    /// Takes a flip unless another one waits at its port.
    pub(super) fn add(&mut self, flip: WireFlip) {
        if !self.waiting.iter().any(|other| other.port == flip.port) {
            self.waiting.push(flip);
        }
    }

    /// The flips that have happened since the last call, with their cycles.
    pub(super) fn take_done(&mut self) -> Vec<(u64, WireFlip)> {
        std::mem::take(&mut self.done)
    }

    /// First cycle in which the node must be looked at for a flip.
    pub(super) fn next_cycle(&self, now: u64) -> u64 {
        let exact = self.waiting.iter().filter_map(|flip| match flip.time {
            FlipTime::Cycle(cycle) => Some(cycle.max(now)),
            _ => None,
        });
        let ends = self.restores.iter().map(|(_, word)| word.cycle);
        exact.chain(ends).min().unwrap_or(u64::MAX)
    }

    /// Words that arrive instead of `sent` in a window: port after port, each in order of cycles.
    pub(super) fn apply(
        &mut self,
        sent: &[(usize, LinkWord)],
        window: &Range<u64>,
        ports: usize,
    ) -> Vec<Passed> {
        self.last.resize(ports, QUIET);
        let mut passed = Vec::with_capacity(sent.len());
        for port in 0..ports {
            let of_port = sent.iter().filter(|(of, _)| *of == port);
            let words = of_port.map(|&(_, word)| word);
            if !self.touches(port) {
                for word in words {
                    passed.push(Passed {
                        port,
                        sent: word,
                        arriving: word,
                    });
                    self.last[port] = word;
                }
                continue;
            }
            let words: Words = words.map(|word| (word.cycle, word)).collect();
            let barrier = port >= ports - TREE_PORTS;
            for (cycle, arriving) in self.apply_to_port(port, &words, window, barrier) {
                let sent = words.get(&cycle).copied().unwrap_or(LinkWord {
                    word: arriving.word & !LinkWord::VALID,
                    ..arriving
                });
                passed.push(Passed {
                    port,
                    sent,
                    arriving,
                });
            }
            if let Some(word) = words.values().next_back() {
                self.last[port] = *word;
            }
        }
        passed
    }

    fn touches(&self, port: usize) -> bool {
        self.waiting.iter().any(|flip| flip.port == port)
            || self.restores.iter().any(|(of, _)| *of == port)
    }

    /// Words that arrive instead of a port's words.
    fn apply_to_port(
        &mut self,
        port: usize,
        words: &Words,
        window: &Range<u64>,
        barrier: bool,
    ) -> Words {
        let mut out = words.clone();
        let due = |(of, word): &mut (usize, LinkWord)| *of == port && window.contains(&word.cycle);
        for (_, word) in self.restores.extract_if(.., due) {
            out.entry(word.cycle).or_insert(word);
        }
        let masks = self.take_due(port, words, window);
        for (&cycle, &mask) in &masks {
            let before = words.range(..=cycle).next_back().map(|(_, word)| *word);
            let mut held = before.unwrap_or(self.last[port]);
            if held.cycle != cycle {
                // A flit, a credit or a pulse is one of its own cycle.
                held.data = [0; FLIT_WORDS];
                if barrier {
                    held.word = 0;
                }
            }
            out.insert(cycle, flipped(LinkWord { cycle, ..held }, mask, barrier));
            let next = cycle + 1;
            if !words.contains_key(&next) {
                let restore = LinkWord {
                    cycle: next,
                    word: if barrier { 0 } else { held.word },
                    data: [0; FLIT_WORDS],
                    ..held
                };
                if next >= window.end {
                    self.restores.push((port, restore));
                } else if !masks.contains_key(&next) {
                    out.insert(next, restore);
                }
            }
        }
        out
    }

    /// Takes a port's flips that are due. Returns masks by cycle.
    fn take_due(&mut self, port: usize, words: &Words, window: &Range<u64>) -> BTreeMap<u64, Mask> {
        let mut masks: BTreeMap<u64, Mask> = BTreeMap::new();
        let first = |fits: fn(&LinkWord) -> bool, from: u64| {
            let mut found = words.range(from..).filter(|(_, word)| fits(word));
            found.next().map(|(&cycle, _)| cycle)
        };
        for flip in std::mem::take(&mut self.waiting) {
            let cycle = match flip.time {
                _ if flip.port != port => None,
                FlipTime::Cycle(cycle) => Some(cycle).filter(|cycle| window.contains(cycle)),
                FlipTime::Flit(from) => first(LinkWord::is_flit, from),
                FlipTime::Tail(from) => first(LinkWord::is_tail, from),
                FlipTime::Credit(from) => first(LinkWord::is_credit, from),
            };
            let Some(cycle) = cycle else {
                self.waiting.push(flip);
                continue;
            };
            let (word, data) = masks.entry(cycle).or_default();
            *word ^= flip.word;
            for (data, flipped) in data.iter_mut().zip(flip.data) {
                *data ^= flipped;
            }
            self.done.push((cycle, flip));
        }
        masks
    }
}

/// A word with some of its wires wrong.
fn flipped(mut word: LinkWord, (control, data): Mask, barrier: bool) -> LinkWord {
    if barrier {
        word.data[0] ^= data[0] & 0xffff;
        word.word = match word.data[0] {
            0 => 0,
            _ => LinkWord::VALID,
        };
        return word;
    }
    word.word ^= control;
    for (data, mask) in word.data.iter_mut().zip(data) {
        *data ^= mask;
    }
    if !word.is_flit() {
        word.data = [0; FLIT_WORDS];
    }
    word
}
