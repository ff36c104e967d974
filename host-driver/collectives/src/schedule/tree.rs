// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trees of the tasks of a geometry.

use super::builder::{BACK, Builder, SHARE, reach};
use super::steps::Slice;

/// A task's neighbours in a tree, by position.
pub(super) struct Links {
    /// `None` at the root.
    pub parent: Option<usize>,
    /// Children in the order of combination.
    pub children: Vec<usize>,
}

impl Builder<'_> {
    /// In the binomial tree from `root`: the parent is nearer the root by the lowest bit of the distance, the children
    /// are farther by each lower bit.
    pub(super) fn binomial(&self, root: usize) -> Links {
        self.binomial_of(self.tasks, root, self.me)
    }

    /// The same of `count` places, of which this member is at `me`.
    pub(super) fn binomial_of(&self, count: usize, root: usize, me: usize) -> Links {
        let distance = (me + count - root) % count;
        let reach = reach(count, distance);
        let bits = (0..reach.trailing_zeros()).map(|bit| 1 << bit);
        let children = bits.filter(|bit| distance + bit < count);
        let place = |distance: usize| (root + distance) % count;
        Links {
            parent: (distance > 0).then(|| place(distance - reach)),
            children: children.map(|bit| place(distance + bit)).collect(),
        }
    }

    /// In the tree along affinity domains within nodes and between the nodes' leaders, from `root` (AF-5).
    pub(super) fn along_domains(&self, root: usize) -> Links {
        let (parent, children) = self.geometry.along_domains(self.me, root);
        Links { parent, children }
    }

    /// Endpoints notify their leaders, the leaders synchronize up and down the tree, then notify their endpoints.
    pub(super) fn tree_barrier(&mut self, links: &Links) {
        let nothing = Slice::nothing();
        let leader = self.leader(self.me);
        if leader == self.rank {
            for &from in &self.geometry.ranks_of(self.me)[1..] {
                self.receive_of(from, SHARE, nothing, &[]);
            }
            for &child in &links.children {
                self.receive(child, 0, nothing, &[]);
            }
            let come = self.all();
            if let Some(parent) = links.parent {
                self.send(parent, 0, nothing, &come);
            }
            self.broadcast_down(links, BACK, nothing, &come);
        } else {
            self.send_to(leader, SHARE, nothing, &[]);
        }
        self.tell_endpoints();
    }
}
