// SPDX-License-Identifier: MIT OR Apache-2.0
//! Alltoall.

use super::builder::Builder;
use super::steps::{Slice, Space};

impl Builder<'_> {
    /// In step `i` every task sends to the one `i` positions on; `paced`: one step after the other, else all
    /// at once.
    pub(super) fn alltoall(&mut self, paced: bool) {
        let (space, offset, kept) = match self.arguments.in_place {
            false => (Space::Send, 0, Vec::new()),
            true => {
                let end = self.arguments.send_blocks.end(self.tasks);
                let copy = self.scratch(end);
                let from = Slice::new(Space::Receive, 0..end);
                let copied: Vec<_> = self.copy(from, copy, &[]).into_iter().collect();
                (Space::Scratch, copy.offset, copied)
            }
        };
        let blocks = self.arguments.send_blocks;
        let block = |position: usize| {
            let range = blocks.block(position);
            Slice::new(space, offset + range.start..offset + range.end)
        };
        if !self.arguments.in_place {
            self.copy(block(self.me), self.output(self.me), &[]);
        }
        let mut there = kept;
        for step in 1..self.tasks {
            let to = (self.me + step) % self.tasks;
            let from = (self.me + self.tasks - step) % self.tasks;
            let sent = self.send(to, 0, block(to), &there);
            let into = self.output(from);
            let received = self.receive(from, 0, into, &there);
            if paced {
                there = vec![sent, received];
            }
        }
    }
}
