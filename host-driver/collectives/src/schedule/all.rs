// SPDX-License-Identifier: MIT OR Apache-2.0
//! Alltoall.

use super::builder::Builder;
use super::steps::Slice;

impl Builder<'_> {
    /// In step `i` every task sends to the one `i` positions on; `paced`: one step after the other, else all
    /// at once.
    pub(super) fn alltoall(&mut self, paced: bool) {
        let (space, offset, kept) = self.kept_input();
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
