// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scatter.

use core::ops::Range;

use super::builder::Builder;
use super::steps::{Slice, Space};

impl Builder<'_> {
    /// Down a binomial tree: every task receives the blocks of its subtree.
    pub(super) fn binomial_scatter(&mut self) {
        let bytes = match self.me == self.root {
            true => self.arguments.send_blocks.block(self.me).len(),
            false => self.arguments.receive,
        };
        let distance = self.distance(self.root);
        let reach = self.reach(distance);
        let subtree = distance..(distance + reach).min(self.tasks);
        // Blocks of the subtree, ordered by distance; the root sends from its buffer.
        let mut blocks = Slice::nothing();
        let mut there = Vec::new();
        if distance > 0 {
            blocks = match subtree.len() {
                1 => self.received(),
                count => self.scratch(count * bytes),
            };
            let parent = self.behind(self.root, distance - reach);
            for (tag, run) in self.runs(self.root, subtree.clone()) {
                let into = bytes_of(run, distance, bytes);
                there.push(self.receive(parent, tag, blocks.part(into), &[]));
            }
        }
        let mut bit = reach / 2;
        while bit > 0 {
            let child = distance + bit;
            if child < self.tasks {
                for (tag, run) in self.runs(self.root, child..(child + bit).min(self.tasks)) {
                    let from = match distance {
                        0 => {
                            let start = self.behind(self.root, run.start) * bytes;
                            Slice::new(Space::Send, start..start + run.len() * bytes)
                        }
                        _ => blocks.part(bytes_of(run, distance, bytes)),
                    };
                    let position = self.behind(self.root, child);
                    self.send(position, tag, from, &there);
                }
            }
            bit /= 2;
        }
        if distance > 0 {
            self.copy(blocks.part(0..bytes), self.received(), &there);
        } else if !self.arguments.keeps_block {
            self.copy(self.input(self.me), self.received(), &[]);
        }
    }

    /// Splits distances into runs of consecutive positions, numbered 0 and 1: positions wrap around once.
    pub(super) fn runs(&self, root: usize, distances: Range<usize>) -> Vec<(u32, Range<usize>)> {
        let wrap = (self.tasks - root).clamp(distances.start, distances.end);
        let runs = [(0, distances.start..wrap), (1, wrap..distances.end)];
        runs.into_iter()
            .filter(|(_, run)| !run.is_empty())
            .collect()
    }
}

/// Bytes of the blocks of a run of distances, among those from distance `first` on.
pub(super) fn bytes_of(run: Range<usize>, first: usize, bytes: usize) -> Range<usize> {
    (run.start - first) * bytes..(run.end - first) * bytes
}
