// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tree of an active-message collective: binomial, over the endpoints of a geometry in list order from the root, cyclic.
//! The subtree of an endpoint has the places after its own, so its data is contiguous.

use serde::{Deserialize, Serialize};

/// A place in the tree of all endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// Endpoints of the geometry.
    pub members: u32,
    /// Distance from the root in the geometry's list, cyclic.
    pub place: u32,
}

impl Tree {
    /// The root's place among this many endpoints.
    pub fn root(members: u32) -> Self {
        Self { members, place: 0 }
    }

    /// Position of the endpoint in the geometry's list, for a root at position `root`.
    pub fn index(self, root: u32) -> u32 {
        let left = self.members - root;
        if self.place < left {
            root + self.place
        } else {
            self.place - left
        }
    }

    /// Places of the subtree, this one included.
    pub fn span(self) -> usize {
        let left = self.members - self.place;
        let most = match self.place {
            0 => left,
            place => left.min(1 << place.trailing_zeros()),
        };
        most as usize
    }

    /// The places of its children, ascending.
    pub fn children(self) -> impl DoubleEndedIterator<Item = Self> {
        let span = self.span() as u64;
        let steps = (0..u32::BITS).map(|bit| 1u64 << bit);
        let inside = steps.filter(move |&step| step < span);
        // Below the number of endpoints.
        inside.map(move |step| Self {
            place: self.place + step as u32,
            ..self
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x6_the_tree_has_every_endpoint_once_and_contiguous_subtrees() {
        for members in 1..70 {
            let mut seen = vec![0; members as usize];
            let mut open = vec![Tree::root(members)];
            while let Some(tree) = open.pop() {
                seen[tree.place as usize] += 1;
                let mut next = tree.place + 1;
                for child in tree.children() {
                    assert_eq!(child.place, next, "{tree:?}");
                    next += child.span() as u32;
                    open.push(child);
                }
                assert_eq!((next - tree.place) as usize, tree.span(), "{tree:?}");
            }
            assert!(seen.iter().all(|&times| times == 1), "{members}: {seen:?}");
        }
    }

    #[test]
    fn x6_the_tree_is_no_deeper_than_a_binomial_one() {
        fn depth(tree: Tree) -> u32 {
            let below = tree.children().map(|child| depth(child) + 1);
            below.max().unwrap_or(0)
        }
        for (members, expected) in [(1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (16, 4), (1000, 9)] {
            assert_eq!(depth(Tree::root(members)), expected, "{members}");
        }
    }

    #[test]
    fn x6_places_are_counted_from_the_root_on_and_around() {
        for root in 0..5 {
            for place in 0..5 {
                let tree = Tree { members: 5, place };
                assert_eq!(tree.index(root), (root + place) % 5);
            }
        }
    }
}
