//! Broadcast.

use super::{Builder, Slice};

impl Builder<'_> {
    pub(super) fn binomial_broadcast(&mut self) {
        let data = self.output(0);
        self.broadcast_from(self.root, 0, data, &[]);
    }

    /// A broadcast of `data`, which lies at the same place everywhere. Every task receives from the one nearer
    /// the root by the lowest bit of its distance, then feeds those farther by each lower bit, the largest
    /// subtree first. Waits for `after`.
    pub(super) fn broadcast_from(&mut self, root: usize, tag: u32, data: Slice, after: &[usize]) {
        let distance = self.distance(root);
        let reach = self.reach(distance);
        let mut there = after.to_vec();
        if distance > 0 {
            let parent = self.behind(root, distance - reach);
            there = vec![self.receive(parent, tag, data, after)];
        }
        let mut bit = reach / 2;
        while bit > 0 {
            if distance + bit < self.tasks {
                let child = self.behind(root, distance + bit);
                self.send(child, tag, data, &there);
            }
            bit /= 2;
        }
    }
}
