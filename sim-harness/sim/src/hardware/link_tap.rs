// SPDX-License-Identifier: MIT OR Apache-2.0
//! Taps between a node's output ports and its links, for tests: counts, flips and forgeries.

use std::ops::Range;

use super::flips::Flips;
use super::forgeries::Forgeries;
use super::link_book::LinkBook;
use crate::disturbances::{Forgery, WireFlip};
use crate::record::LinkWord;

/// The links from a node as tests see them. Nothing of it happens before [`LinkTap::watch`].
#[derive(Default)]
pub(crate) struct LinkTap {
    /// By port.
    books: Option<Vec<LinkBook>>,
    flips: Flips,
    forgeries: Forgeries,
}

impl LinkTap {
    /// Counts the traffic of `ports` ports from now on.
    pub(crate) fn watch(&mut self, ports: usize) {
        self.books
            .get_or_insert_with(|| vec![LinkBook::default(); ports]);
    }

    /// Whether link words pass here.
    pub(crate) fn watches(&self) -> bool {
        self.books.is_some()
    }

    /// Traffic that a port has sent.
    pub(crate) fn book(&self, port: usize) -> Option<&LinkBook> {
        self.books.as_ref()?.get(port)
    }

    /// Flips wires, unless another flip waits at the port.
    pub(crate) fn flip(&mut self, flip: WireFlip) {
        self.flips.add(flip);
    }

    /// Changes the header of a packet.
    pub(crate) fn forge(&mut self, forgery: Forgery) {
        self.forgeries.add(forgery);
    }

    /// The flips that have happened since the last call, with their cycles.
    pub(crate) fn take_flips(&mut self) -> Vec<(u64, WireFlip)> {
        self.flips.take_done()
    }

    /// First cycle in which the node must be looked at for a flip.
    pub(super) fn next_cycle(&self, now: u64) -> u64 {
        self.flips.next_cycle(now)
    }

    /// The words that arrive in the place of those `sent` in a window, of each port in order of cycles.
    pub(super) fn pass(
        &mut self,
        mut sent: Vec<(usize, LinkWord)>,
        window: Range<u64>,
        ports: usize,
    ) -> Vec<(usize, LinkWord)> {
        self.forgeries.apply(&mut sent, ports);
        let passed = self.flips.apply(&sent, &window, ports);
        let books = self.books.as_mut();
        if let Some(books) = books {
            for word in &passed {
                if let Some(book) = books.get_mut(word.port) {
                    book.count(&word.sent, &word.arriving);
                }
            }
        }
        let arriving = passed.into_iter().map(|word| (word.port, word.arriving));
        arriving.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disturbances::FlipTime;
    use crate::link_crc::{crc_difference, crc_fold};

    const PORTS: usize = 12;

    fn word(cycle: u64, word: u32) -> LinkWord {
        LinkWord {
            cycle,
            word,
            dbg: 0,
            data: [0; 2],
        }
    }

    fn with(flips: &[WireFlip]) -> LinkTap {
        let mut tap = LinkTap::default();
        tap.watch(PORTS);
        flips.iter().for_each(|&flip| tap.flip(flip));
        tap
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
        let mut tap = with(&[flip(1, FlipTime::Cycle(5), 1 << 25)]);
        let first = tap.pass(vec![(1, word(2, 3))], 0..6, PORTS);
        assert_eq!(first, [(1, word(2, 3)), (1, word(5, 3 | 1 << 25))]);
        assert_eq!(tap.next_cycle(6), 6);
        assert_eq!(tap.pass(vec![], 6..9, PORTS), [(1, word(6, 3))]);
        assert_eq!(tap.next_cycle(9), u64::MAX);
    }

    #[test]
    fn x5_a_lost_credit_shows_in_the_book() {
        let mut tap = with(&[flip(0, FlipTime::Credit(0), 1 << 25)]);
        let credit = 3 | 1 << 25 | 4 << 26;
        let sent = vec![
            (0, word(1, credit)),
            (0, word(2, 3)),
            (0, word(6, credit)),
            (0, word(8, 3)),
        ];
        tap.pass(sent, 0..9, PORTS);
        let book = tap.book(0).expect("kept");
        assert_eq!(book.credits[4], 2, "of cycle 1 lost, of 6 and 7 not");
    }

    #[test]
    fn x5_a_word_is_flipped_once() {
        let mut tap = with(&[]);
        tap.flip(flip(1, FlipTime::Flit(0), 1 << 25));
        tap.flip(flip(1, FlipTime::Flit(3), 1 << 27));
        tap.flip(flip(2, FlipTime::Flit(3), 1 << 27));
        let flit = word(4, 3 | LinkWord::VALID);
        let found = tap.pass(vec![(1, flit)], 0..6, PORTS);
        assert_eq!(found[0].1.word, flit.word | 1 << 25);
        assert_eq!(tap.take_flips().len(), 1);
        let next = word(7, 3 | LinkWord::VALID);
        let found = tap.pass(vec![(1, next), (2, next)], 6..9, PORTS);
        assert_eq!(found[0].1.word, next.word);
        assert_eq!(found[1].1.word, next.word | 1 << 27);
    }

    #[test]
    fn x5_flits_behind_a_forged_packet_have_check_bits_to_match() {
        let (vc, head, up) = (2 << 3, 1 << 6, 3 | LinkWord::VALID);
        let header = [1 << 60, 0, 7, 0];
        let mut tap = with(&[]);
        tap.forge(Forgery {
            node: 0,
            port: 1,
            from: 2,
            header,
        });
        let sent = |cycle, bits| (1, word(cycle, up | bits));
        // A head before its time, the packet with another one's flit in between, and one that is left alone.
        let flits = vec![
            sent(1, vc | head),
            sent(2, vc | head),
            sent(3, 5 << 3),
            sent(4, vc),
            sent(5, vc | head),
        ];
        let found = tap.pass(flits.clone(), 0..6, PORTS);
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
        let restart = tap.pass(vec![(1, word(7, 1)), sent(9, vc | head)], 6..12, PORTS);
        assert_eq!(restart[1], sent(9, vc | head), "both ends start anew");
    }

    #[test]
    fn x5_a_flip_of_a_barrier_wire_is_a_pulse() {
        let mut tap = with(&[flip(PORTS - 1, FlipTime::Cycle(3), 0)]);
        let words = tap.pass(vec![], 0..9, PORTS);
        let data: Vec<u64> = words.iter().map(|(_, word)| word.data[0]).collect();
        assert_eq!(data, [1, 0]);
    }
}
