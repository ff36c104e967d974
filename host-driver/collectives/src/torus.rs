// SPDX-License-Identifier: MIT OR Apache-2.0
//! Torus of the tasks of a geometry.

use std::collections::BTreeMap;

use gyre_driver::{Coord, Network};

/// A torus of tasks, one on each node of the machine.
#[derive(Debug, Clone)]
pub(crate) struct Torus {
    /// Dimensions with more than one node, and their sizes.
    sides: Vec<(usize, usize)>,
    nodes: Vec<Coord>,
    positions: BTreeMap<Coord, usize>,
}

/// First direction of the trees and rings of one colour, with the order of the further dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Colour {
    first: usize,
    minus: bool,
}

impl Torus {
    /// The torus of tasks on `nodes`, by position; `None` if a node has no task or a dimension is not a ring.
    pub fn new(network: &Network, nodes: &[Coord]) -> Option<Self> {
        let sizes = network.sizes().map(usize::from);
        let sides: Vec<_> = sizes
            .into_iter()
            .enumerate()
            .filter(|(_, size)| *size > 1)
            .collect();
        let positions: BTreeMap<_, _> = nodes.iter().enumerate().map(|(p, &n)| (n, p)).collect();
        let rings = sides.iter().all(|&(d, _)| network.rings()[d]);
        let whole = nodes.len() == sizes.iter().product() && positions.len() == nodes.len();
        (rings && whole && !sides.is_empty()).then(|| Self {
            sides,
            nodes: nodes.to_vec(),
            positions,
        })
    }

    /// Two for each dimension, one a direction.
    pub fn colours(&self) -> Vec<Colour> {
        let of = |first| [false, true].map(|minus| Colour { first, minus });
        (0..self.sides.len()).flat_map(of).collect()
    }

    /// Distances of `position` from `root` in the directions of `colour`, in its order of dimensions.
    fn distances(&self, colour: Colour, root: usize, position: usize) -> Vec<usize> {
        let (root, here) = (self.nodes[root], self.nodes[position]);
        let order = 0..self.sides.len();
        order
            .map(|i| {
                let (d, size) = self.side(colour, i);
                let (from, to) = match colour.minus {
                    false => (root.0[d], here.0[d]),
                    true => (here.0[d], root.0[d]),
                };
                (usize::from(to) + size - usize::from(from)) % size
            })
            .collect()
    }

    /// Dimension number `i` in the colour's order, and its size.
    fn side(&self, colour: Colour, i: usize) -> (usize, usize) {
        self.sides[(colour.first + i) % self.sides.len()]
    }

    /// The position at `distances` from `root`.
    fn at(&self, colour: Colour, root: usize, distances: &[usize]) -> usize {
        let mut node = self.nodes[root];
        for (i, &distance) in distances.iter().enumerate() {
            let (d, size) = self.side(colour, i);
            let from = usize::from(node.0[d]);
            let to = match colour.minus {
                false => from + distance,
                true => from + size - distance,
            };
            // Less than the size of a dimension, which fits 8 bits.
            node.0[d] = (to % size) as u8;
        }
        self.positions[&node]
    }

    /// Parent and children of `position`, the largest subtree first, in the tree of `colour`: a line of the first
    /// dimension from the root; lines of the next dimension from all nodes of that line but the root; and so on.
    /// Nodes with the root's coordinate in the first dimension come last, over one more link of the first ring.
    ///
    /// The trees of a root share no link. A tree uses only links of its own directions: in its first dimension the
    /// root's line, and elsewhere the last link to the root's coordinate, which no line from that coordinate uses; in
    /// other dimensions lines outside the root's coordinate of the first, where the trees of their own colours have
    /// theirs.
    pub fn tree(
        &self,
        colour: Colour,
        root: usize,
        position: usize,
    ) -> (Option<usize>, Vec<usize>) {
        let here = self.distances(colour, root, position);
        let moved = |i: usize, distance: usize| {
            let mut there = here.clone();
            there[i] = distance;
            self.at(colour, root, &there)
        };
        let Some(last) = here.iter().rposition(|&distance| distance > 0) else {
            return (None, vec![moved(0, 1)]);
        };
        let end = self.side(colour, 0).1 - 1;
        if here[0] == 0 {
            return (Some(moved(0, end)), Vec::new());
        }
        let goes_on = |&i: &usize| here[i] + 1 < self.side(colour, i).1;
        let lines = (last..here.len()).filter(goes_on);
        let mut children: Vec<usize> = lines.map(|i| moved(i, here[i] + 1)).collect();
        if here[0] == end && last > 0 {
            children.push(moved(0, 0));
        }
        (Some(moved(last, here[last] - 1)), children)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn torus(sizes: &[usize]) -> Torus {
        let count = sizes.iter().product();
        let node = |mut number: usize| {
            let mut node = Coord::default();
            for (d, size) in sizes.iter().enumerate() {
                node.0[d] = (number % size) as u8;
                number /= size;
            }
            node
        };
        let nodes: Vec<_> = (0..count).map(node).collect();
        let sides = sizes.iter().copied().enumerate();
        Torus {
            sides: sides.filter(|(_, size)| *size > 1).collect(),
            positions: nodes.iter().enumerate().map(|(p, &n)| (n, p)).collect(),
            nodes,
        }
    }

    #[test]
    fn ep13_trees_of_all_colours_reach_everybody_once_and_share_no_link() {
        for sizes in [
            &[5][..],
            &[2],
            &[4, 3],
            &[3, 1, 4],
            &[4, 4, 4],
            &[2, 2, 1, 3, 2],
        ] {
            let torus = torus(sizes);
            let count = torus.nodes.len();
            for root in [0, count / 2, count - 1] {
                let mut links = BTreeSet::new();
                for colour in torus.colours() {
                    let mut reached = BTreeSet::from([root]);
                    let mut next = vec![root];
                    while let Some(from) = next.pop() {
                        for to in torus.tree(colour, root, from).1 {
                            assert_eq!(torus.tree(colour, root, to).0, Some(from));
                            assert!(reached.insert(to), "{sizes:?} twice to {to}");
                            // Neighbours, in the direction of the colour.
                            let (a, b) = (torus.nodes[from], torus.nodes[to]);
                            let moved = |&(d, size): &(usize, usize)| {
                                let (a, b) = (usize::from(a.0[d]), usize::from(b.0[d]));
                                let forward = (b + size - a) % size;
                                if colour.minus {
                                    (size - forward) % size
                                } else {
                                    forward
                                }
                            };
                            let steps: Vec<_> = torus.sides.iter().map(moved).collect();
                            assert_eq!(steps.iter().sum::<usize>(), 1, "{sizes:?} {steps:?}");
                            // With two nodes in a dimension, there is a link for each direction.
                            let link = (from, to, colour.minus);
                            assert!(links.insert(link), "{sizes:?} {link:?} twice");
                            next.push(to);
                        }
                    }
                    assert_eq!(reached.len(), count, "{sizes:?} {colour:?}");
                }
            }
        }
    }
}
