// SPDX-License-Identifier: MIT OR Apache-2.0
//! Broadcast.

use super::builder::Builder;
use super::steps::Slice;
use super::tree::Links;

impl Builder<'_> {
    pub(super) fn broadcast(&mut self, links: &Links) {
        self.broadcast_down(links, 0, self.output(0), &[]);
    }

    /// Down a tree of the tasks: `data`, at the same offset at all tasks, comes from the parent and goes to the
    /// children, the last (with the largest subtree) first. Waits for `after`.
    pub(super) fn broadcast_down(&mut self, links: &Links, tag: u32, data: Slice, after: &[usize]) {
        let mut there = after.to_vec();
        if let Some(parent) = links.parent {
            there = vec![self.receive(parent, tag, data, after)];
        }
        for &child in links.children.iter().rev() {
            self.send(child, tag, data, &there);
        }
    }
}
