// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places of a geometry's tasks, and the tree along them (AF-2 to AF-5).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gyre_affinity::{Domains, Place};
use gyre_driver::TaskId;

use super::{Geometry, Inner};
use crate::error::Error;

impl Geometry {
    /// The same geometry with task places: `place` gives a task's node and hardware thread (AF-1). Algorithms then
    /// use affinity domains, in each of which a task has up to `arity` children.
    ///
    /// # Errors
    /// [`Error::Arity`] for none.
    pub fn with_places(
        self,
        arity: usize,
        place: impl Fn(TaskId) -> (usize, Place),
    ) -> Result<Self, Error> {
        if arity == 0 {
            return Err(Error::Arity {
                name: self.name().into(),
            });
        }
        let threads = self.tasks().iter().map(|&task| place(task)).collect();
        Ok(Self(Arc::new(Inner {
            threads,
            arity,
            ..self.into_inner()
        })))
    }

    /// Whether the places of tasks are known and some node has several tasks.
    pub(crate) fn shares_nodes(&self) -> bool {
        let nodes: BTreeSet<usize> = self.0.threads.iter().map(|(node, _)| *node).collect();
        nodes.len() < self.0.threads.len()
    }

    /// Neighbours of the task at position `me` in the tree from the task at `root`: parent and children.
    pub(crate) fn along_domains(&self, me: usize, root: usize) -> (Option<usize>, Vec<usize>) {
        neighbours(&self.0.threads, self.0.arity, me, root)
    }
}

/// Arity of trees within a node if the places of tasks are unknown.
const ARITY: usize = 4;

impl Geometry {
    /// Neighbours in a tree of the endpoints of one node, whose tasks are at `positions`: parent and children of
    /// number `me` of them. Number `first` is at the root. It goes along the affinity domains, if places are known.
    pub(crate) fn along_node(
        &self,
        positions: &[usize],
        me: usize,
        first: usize,
    ) -> (Option<usize>, Vec<usize>) {
        let place = |&position: &usize| self.0.threads.get(position).map(|(_, place)| *place);
        let places: Option<Vec<Place>> = positions.iter().map(place).collect();
        let (places, arity) = match places {
            Some(places) => (places, self.0.arity),
            None => (vec![Place::default(); positions.len()], ARITY),
        };
        // There is an endpoint, and the arity is not 0.
        let Ok(domains) = Domains::led_by(&places, arity, first) else {
            return (None, Vec::new());
        };
        let tree = domains.tree();
        (tree.parent(me), tree.children(me).to_vec())
    }
}

/// Neighbours of the task at `me` in the tree from `root`: parent and children. On every node, tasks are joined
/// along their affinity domains; the nodes' leaders are joined by a binomial tree. The root leads its
/// domains and its node, elsewhere the lowest position does.
fn neighbours(
    places: &[(usize, Place)],
    arity: usize,
    me: usize,
    root: usize,
) -> (Option<usize>, Vec<usize>) {
    let mut nodes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (position, (node, _)) in places.iter().enumerate() {
        nodes.entry(*node).or_default().push(position);
    }
    let node_of = |position: usize| places.get(position).map(|(node, _)| *node);
    let mine = node_of(me).and_then(|node| nodes.remove_entry(&node));
    let Some((node, members)) = mine else {
        return (None, Vec::new());
    };
    let inside: Vec<Place> = members.iter().map(|&p| places[p].1).collect();
    let first = members.iter().position(|&p| p == root).unwrap_or(0);
    let Ok(domains) = Domains::led_by(&inside, arity, first) else {
        return (None, Vec::new());
    };
    let tree = domains.tree();
    let own = members.iter().take_while(|&&p| p != me).count();
    let children = tree.children(own).iter().map(|&child| members[child]);
    let mut children: Vec<usize> = children.collect();
    if let Some(parent) = tree.parent(own) {
        return (Some(members[parent]), children);
    }
    // The leaders, the root's first.
    nodes.insert(node, members);
    let (before, after): (Vec<_>, Vec<_>) = nodes
        .into_iter()
        .partition(|(node, _)| Some(*node) < node_of(root));
    let leaders: Vec<usize> = after
        .into_iter()
        .chain(before)
        .map(|(_, members)| match members.contains(&root) {
            true => root,
            false => members[0],
        })
        .collect();
    let distance = leaders.iter().take_while(|&&p| p != me).count();
    let bits = (0..usize::BITS).map(|bit| 1 << bit);
    let lower = bits.take_while(|bit| distance == 0 || *bit < distance & distance.wrapping_neg());
    let farther = lower.map_while(|bit: usize| leaders.get(distance + bit));
    children.extend(farther);
    let parent = (distance > 0).then(|| leaders[distance & (distance - 1)]);
    (parent, children)
}

#[cfg(test)]
mod tests {
    use gyre_affinity::Unit;

    use super::*;

    #[test]
    fn af4_af5_tasks_are_joined_along_domains_and_nodes_by_leaders() {
        let cores = |p: usize| Place {
            module: (p / 2 % 2) as u16,
            core: (p / 4 % 2) as u16,
            thread: (p % 2) as u16,
            ..Place::default()
        };
        for (tasks, nodes) in [(1, 1), (9, 1), (9, 2), (23, 3), (17, 6), (5, 5)] {
            let place = |p: usize| (p * 5 % nodes * 3, cores(p / nodes));
            let places: Vec<(usize, Place)> = (0..tasks).map(place).collect();
            for arity in [1, 2, 3] {
                for root in 0..tasks {
                    let links = |p| neighbours(&places, arity, p, root);
                    for p in 0..tasks {
                        for &child in &links(p).1 {
                            assert_eq!(links(child).0, Some(p), "{child} below {p}");
                        }
                        let mut at = p;
                        let mut steps = 0;
                        while let (Some(parent), _) = links(at) {
                            assert!(links(parent).1.contains(&at), "{at} below {parent}");
                            at = parent;
                            steps += 1;
                            assert!(steps < tasks, "{p} is in a circle");
                        }
                        assert_eq!(at, root);
                    }
                    // Only one task of a unit communicates outside it.
                    for unit in [Unit::Core, Unit::Module, Unit::Processor] {
                        let own = |p: usize| (places[p].0, places[p].1.within(unit));
                        let mut speakers = BTreeMap::new();
                        for p in 0..tasks {
                            if let (Some(parent), _) = links(p)
                                && own(parent) != own(p)
                            {
                                for end in [p, parent] {
                                    let first = *speakers.entry(own(end)).or_insert(end);
                                    assert_eq!(first, end, "two of one {unit:?} talk out of it");
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
