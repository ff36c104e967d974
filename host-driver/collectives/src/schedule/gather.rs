// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gather and allgather.

use super::builder::{BACK, Builder};
use super::scatter::bytes_of;
use super::steps::{Slice, Space};

impl Builder<'_> {
    /// Up a binomial tree: every task sends the blocks of its subtree. They end in the receive buffer of the
    /// task at `root`.
    pub(super) fn binomial_gather(&mut self, root: usize) {
        let own = self.own_block();
        let bytes = own.len;
        let distance = self.distance(root);
        let reach = self.reach(distance);
        let count = (distance + reach).min(self.tasks) - distance;
        let mut blocks = Slice::nothing();
        let mut there = Vec::new();
        if distance == 0 {
            there.extend(self.copy(own, self.output(self.me), &[]));
        } else if count == 1 {
            blocks = own;
        } else {
            blocks = self.scratch(count * bytes);
            there.extend(self.copy(own, blocks.part(0..bytes), &[]));
        }
        let mut bit = 1;
        while bit < reach && distance + bit < self.tasks {
            let child = distance + bit;
            let position = self.behind(root, child);
            for (tag, run) in self.runs(root, child..(child + bit).min(self.tasks)) {
                let into = match distance {
                    0 => {
                        let start = self.behind(root, run.start) * bytes;
                        Slice::new(Space::Receive, start..start + run.len() * bytes)
                    }
                    _ => blocks.part(bytes_of(run, distance, bytes)),
                };
                there.push(self.receive(position, tag, into, &[]));
            }
            bit *= 2;
        }
        if distance > 0 {
            let parent = self.behind(root, distance - reach);
            for (tag, run) in self.runs(root, distance..distance + count) {
                let from = blocks.part(bytes_of(run, distance, bytes));
                self.send(parent, tag, from, &there);
            }
        }
    }

    /// The member's own block of a gather or allgather.
    fn own_block(&self) -> Slice {
        match self.arguments.in_place {
            true => self.output(self.me),
            false => self.input(0),
        }
    }

    /// In each step every task forwards the block of the previous step.
    pub(super) fn ring_allgather(&mut self) {
        let own = self.own_block();
        let mut there = self.copy(own, self.output(self.me), &[]);
        let (next, before) = ((self.me + 1) % self.tasks, self.me + self.tasks - 1);
        for step in 1..self.tasks {
            let passed = self.output((self.me + self.tasks + 1 - step) % self.tasks);
            let comes = self.output((self.me + self.tasks - step) % self.tasks);
            self.send(next, step as u32, passed, &there);
            there = vec![self.receive(before % self.tasks, step as u32, comes, &[])];
        }
    }

    /// Tasks at distance 1, 2, 4, ... exchange all their blocks.
    pub(super) fn recursive_doubling_allgather(&mut self) {
        let own = self.own_block();
        let bytes = own.len;
        let mut there = self.copy(own, self.output(self.me), &[]);
        let mut distance = 1;
        let mut tag = 0;
        while distance < self.tasks {
            let peer = self.me ^ distance;
            let group = |position: usize| {
                let start = position / distance * distance * bytes;
                Slice::new(Space::Receive, start..start + distance * bytes)
            };
            let (mine, theirs) = (group(self.me), group(peer));
            self.send(peer, tag, mine, &there);
            there.push(self.receive(peer, tag, theirs, &[]));
            distance *= 2;
            tag += 1;
        }
    }

    /// A gather to position 0, then a broadcast of all blocks.
    pub(super) fn there_and_back_allgather(&mut self) {
        self.binomial_gather(0);
        let after = self.all();
        let end = self.arguments.receive_blocks.end(self.tasks);
        let data = Slice::new(Space::Receive, 0..end);
        self.broadcast_down(&self.binomial(0), BACK, data, &after);
    }
}
