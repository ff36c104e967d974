// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tree of the collective network and routes in it (HW-5): plain functions of node numbers.
//!
//! Nodes are numbered with dimension 0 running fastest. Node `n` has parent `(n - 1) / 2` and children `2 * n + 1`
//! and `2 * n + 2`.

use gyre_layout::registers::{barrier_route, coll_route};

/// Class routes of a node, and as many barrier routes.
pub const TREE_ROUTES: u8 = 16;

/// Parent of a node; `None` for the root.
#[must_use]
pub const fn parent(node: u32) -> Option<u32> {
    match node.checked_sub(1) {
        Some(before) => Some(before / 2),
        None => None,
    }
}

/// Tree links of a node in a machine of `nodes`, as in the register of their enables: bit 0 to the parent, bits 1
/// and 2 to the children.
#[must_use]
pub const fn tree_links(nodes: u32, node: u32) -> u8 {
    (if node > 0 { 1 } else { 0 })
        | (if 2 * node + 1 < nodes { 2 } else { 0 })
        | (if 2 * node + 2 < nodes { 4 } else { 0 })
}

/// A node's part in a class route or a barrier route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoutePart {
    /// The route goes on to the parent; else this node is its root.
    pub parent: bool,
    /// Which children take part.
    pub children: [bool; 2],
    /// This node contributes and receives; else it is only on the way.
    pub member: bool,
}

impl RoutePart {
    /// The part of `node` in the route that joins exactly `members`: the smallest subtree that holds them all. None if
    /// the route does not touch the node, or has no member.
    #[must_use]
    pub fn of(members: &[u32], node: u32) -> Option<Self> {
        let root = members.iter().copied().reduce(meet)?;
        let reaches = |top: u32| members.iter().any(|&member| is_below(member, top));
        if !reaches(node) || !is_below(node, root) {
            return None;
        }
        Some(Self {
            parent: node != root,
            children: [reaches(2 * node + 1), reaches(2 * node + 2)],
            member: members.contains(&node),
        })
    }

    /// The register of a class route, for injection FIFOs of `owner`.
    #[must_use]
    pub fn class_register(&self, owner: u8) -> u64 {
        coll_route::VALID.put(1)
            | coll_route::PARENT.put(self.parent.into())
            | coll_route::CHILD0.put(self.children[0].into())
            | coll_route::CHILD1.put(self.children[1].into())
            | coll_route::LOCAL.put(self.member.into())
            | coll_route::OWNER.put(owner.into())
    }

    /// The register of a barrier route.
    #[must_use]
    pub fn barrier_register(&self) -> u64 {
        barrier_route::VALID.put(1)
            | barrier_route::PARENT.put(self.parent.into())
            | barrier_route::CHILD0.put(self.children[0].into())
            | barrier_route::CHILD1.put(self.children[1].into())
            | barrier_route::LOCAL.put(self.member.into())
    }
}

/// Whether the way from `node` to the root of the tree passes `top`, or starts there.
fn is_below(mut node: u32, top: u32) -> bool {
    while node > top {
        node = (node - 1) / 2;
    }
    node == top
}

/// The lowest node that is on the way to the root from both.
fn meet(mut a: u32, mut b: u32) -> u32 {
    // The larger number is never the higher node.
    while a != b {
        if a > b {
            a = (a - 1) / 2;
        } else {
            b = (b - 1) / 2;
        }
    }
    a
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    /// Every node's part.
    fn parts(nodes: u32, members: &[u32]) -> Vec<Option<RoutePart>> {
        (0..nodes).map(|n| RoutePart::of(members, n)).collect()
    }

    /// Checks a route: its links agree at both ends, it is one tree with one root, it has exactly the members, and no
    /// leaf and no root is superfluous.
    fn check(nodes: u32, members: &[u32]) {
        let parts = parts(nodes, members);
        let at = |n: u32| parts.get(n as usize).copied().flatten();
        let mut roots = 0;
        for node in 0..nodes {
            let Some(part) = at(node) else {
                assert!(!members.contains(&node), "{members:?}: {node} is left out");
                continue;
            };
            assert_eq!(part.member, members.contains(&node), "{members:?}: {node}");
            let inputs = part.children.iter().filter(|&&child| child).count();
            if part.parent {
                let above = parent(node)
                    .and_then(at)
                    .expect("the parent is in the route");
                assert!(above.children[usize::from(node % 2 == 0)]);
                assert!(part.member || inputs >= 1, "{members:?}: leaf {node}");
            } else {
                roots += 1;
                assert!(part.member || inputs == 2, "{members:?}: root {node}");
            }
            for (child, there) in [
                (2 * node + 1, part.children[0]),
                (2 * node + 2, part.children[1]),
            ] {
                let below = at(child).is_some_and(|below| below.parent);
                assert_eq!(there, below, "{members:?}: link {node} to {child}");
            }
        }
        assert_eq!(roots, u32::from(!members.is_empty()), "{members:?}");
    }

    #[test]
    fn hw5_route_of_any_subset_is_the_smallest_tree_that_joins_it() {
        for nodes in 1..=10_u32 {
            for subset in 0_u32..1 << nodes {
                let members: Vec<u32> = (0..nodes).filter(|n| subset >> n & 1 != 0).collect();
                check(nodes, &members);
            }
        }
        let every_seventh: Vec<u32> = (0..4096).step_by(7).collect();
        check(4096, &every_seventh);
        check(4096, &[4095, 2048]);
    }

    #[test]
    fn hw5_route_skips_nodes_above_the_meeting_point() {
        // 3 and 9 meet in 1; 4 is only on the way.
        let parts = parts(12, &[3, 9]);
        assert_eq!(parts[0], None);
        let part = |parent, children, member| {
            Some(RoutePart {
                parent,
                children,
                member,
            })
        };
        assert_eq!(parts[1], part(false, [true, true], false));
        assert_eq!(parts[3], part(true, [false, false], true));
        assert_eq!(parts[4], part(true, [true, false], false));
        assert_eq!(parts[9], part(true, [false, false], true));
        assert_eq!(parts[9].map(|p| p.class_register(5)), Some(0x513));
        assert_eq!(parts[1].map(|p| p.barrier_register()), Some(0x0d));
    }

    #[test]
    fn hw5_tree_links_of_root_inner_node_and_leaf() {
        let links: Vec<u8> = (0..4).map(|node| tree_links(4, node)).collect();
        assert_eq!(links, [0b110, 0b011, 0b001, 0b001]);
        assert_eq!(tree_links(1, 0), 0);
        assert_eq!((parent(0), parent(1), parent(6)), (None, Some(0), Some(2)));
    }
}
