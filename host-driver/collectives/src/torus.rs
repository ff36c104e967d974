//! The torus that the tasks of a geometry make up.

use std::collections::BTreeMap;

use gyre_driver::{Coord, Network};

/// A torus of tasks, one on each node of the machine.
#[derive(Debug, Clone)]
pub(crate) struct Torus {
    /// Dimensions of more than one node, and how many they have.
    sides: Vec<(usize, usize)>,
    nodes: Vec<Coord>,
    positions: BTreeMap<Coord, usize>,
}

/// A direction of travel in which trees and rings of one colour begin, with the order of dimensions that they
/// go on in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Colour {
    first: usize,
    minus: bool,
}

impl Torus {
    /// The torus of tasks on `nodes`, by position; `None` if they leave a node out or a dimension is no ring.
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

    /// How far `position` is from `root` in the directions of `colour`, in its order of dimensions.
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

    /// The dimension that comes as number `i`, and its size.
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
            // Below the size of a dimension, which fits 8 bits.
            node.0[d] = (to % size) as u8;
        }
        self.positions[&node]
    }

    /// Who feeds `position` and whom it feeds, the largest subtree first, in the tree of `colour`: a line of
    /// the first dimension from the root on; lines of the next dimension from all nodes of that but the root; and
    /// so on. Last come the nodes that have the root's coordinate in the first dimension, by one link more of
    /// the first ring.
    ///
    /// A tree uses links of its own direction alone, and a link is used by at most one of the trees of a root: in
    /// the first dimension of its colour a tree uses the root's line, and the last link to the root's
    /// coordinate elsewhere, which no line from the root's coordinate on uses; in others, lines that do not pass
    /// the root's coordinate of the first, where the trees of their own colours have theirs.
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
