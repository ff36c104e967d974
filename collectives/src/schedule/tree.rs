//! Trees of the tasks of a geometry.

use gyre_driver::Routing;

use super::{Action, BACK, Builder, SHARE, Slice};

/// A task's neighbours in a tree, by position.
pub(super) struct Links {
    /// None at the root.
    pub parent: Option<usize>,
    /// In the order in which their data is combined.
    pub children: Vec<usize>,
}

impl Builder<'_> {
    /// In the binomial tree from `root`: the parent is nearer the root by the lowest bit of the distance, the children
    /// are farther by each lower bit.
    pub(super) fn binomial(&self, root: usize) -> Links {
        let distance = self.distance(root);
        let reach = self.reach(distance);
        let bits = (0..reach.trailing_zeros()).map(|bit| 1 << bit);
        let children = bits.filter(|bit| distance + bit < self.tasks);
        Links {
            parent: (distance > 0).then(|| self.behind(root, distance - reach)),
            children: children
                .map(|bit| self.behind(root, distance + bit))
                .collect(),
        }
    }

    /// In the tree along affinity domains on every node and of the nodes' leaders, from `root` (AF-5).
    pub(super) fn along_domains(&self, root: usize) -> Links {
        let (parent, children) = self.geometry.along_domains(self.me, root);
        Links { parent, children }
    }

    /// All endpoints tell their leaders that they have come, the leaders tell each other up and down the tree, and
    /// then their endpoints.
    pub(super) fn tree_barrier(&mut self, links: &Links) {
        let nothing = Slice::nothing();
        let leader = self.leader(self.me);
        if leader == self.rank {
            for &from in &self.geometry.ranks_of(self.me)[1..] {
                let action = Action::Receive {
                    from,
                    tag: SHARE,
                    into: nothing,
                    routing: Routing::Fixed,
                };
                self.add(action, &[]);
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
            let action = Action::Send {
                to: leader,
                tag: SHARE,
                from: nothing,
            };
            self.add(action, &[]);
        }
        self.tell_endpoints();
    }
}
