// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives along the dimensions of a torus, in several colours at once.

use core::ops::Range;

use super::builder::Builder;

/// Maximum bytes of a message: a node forwards one while the next arrives.
const PIECE: usize = 16 << 10;
/// Data is cut at multiples of these bytes: the payload of a packet.
const UNIT: usize = 512;

impl Builder<'_> {
    /// Each colour carries a part of the data down a tree of its own, piece by piece. The trees share no
    /// link. Endpoints of a task divide the colours among them.
    pub(super) fn dimension_pipelined_broadcast(&mut self) {
        let geometry = self.geometry;
        let Some(torus) = geometry.torus() else {
            return;
        };
        let data = self.output(0);
        let colours = torus.colours();
        let workers = geometry.least_endpoints();
        let mine = geometry.at_home(self.me);
        let me = mine.iter().position(|&rank| rank == self.rank);
        for (number, &colour) in colours.iter().enumerate() {
            let worker = number % workers;
            if me != Some(worker) {
                continue;
            }
            let (parent, children) = torus.tree(colour, self.root, self.me);
            let part = share(0..data.len, (number, colours.len()), UNIT);
            for (piece, range) in pieces(part, PIECE).into_iter().enumerate() {
                let tag = (number << 16 | piece) as u32;
                let part = data.part(range);
                let there = parent.map(|position| {
                    let from = geometry.at_home(position)[worker];
                    self.receive_of(from, tag, part, &[])
                });
                let after: Vec<usize> = there.into_iter().collect();
                for &position in &children {
                    let to = geometry.at_home(position)[worker];
                    let from = part;
                    self.send_to(to, tag, from, &after);
                }
            }
        }
        self.meet();
    }
}

/// Cuts a range into pieces of similar size, at most `most` bytes each.
pub(super) fn pieces(range: Range<usize>, most: usize) -> Vec<Range<usize>> {
    pieces_of(range, most, 1)
}

/// The same in whole elements of `element` bytes.
pub(super) fn pieces_of(range: Range<usize>, most: usize, element: usize) -> Vec<Range<usize>> {
    let unit = UNIT.next_multiple_of(element);
    let units = range.len().div_ceil(unit);
    let count = units.div_ceil(most / unit);
    (0..count)
        .map(|piece| share(range.clone(), (piece, count), unit))
        .collect()
}

/// Part `number` of `count` of a range, of similar sizes, cut at multiples of `unit`.
fn share(range: Range<usize>, (number, count): (usize, usize), unit: usize) -> Range<usize> {
    let units = range.len().div_ceil(unit);
    let bound = |number: usize| (range.start + number * units / count * unit).min(range.end);
    bound(number)..bound(number + 1)
}
