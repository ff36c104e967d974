// SPDX-License-Identifier: MIT OR Apache-2.0
//! The collective network cannot deadlock, whatever class routes there are, and is refused with rules broken (X-3, HW-5).

use crate::{ClassRoutes, Fault, Rules, Torus, TreeReport, TreeResource, tree};

const BROKEN: [Fault; 4] = [
    Fault::TreeRoutes,
    Fault::TreeChannels,
    Fault::TreeCutThrough,
    Fault::TreeFifo,
];

fn broken(routes: &ClassRoutes, fault: Fault) -> TreeReport {
    tree(routes, &Rules::broken(fault))
}

#[test]
fn x3_hw5_one_route_of_any_subset_has_no_cycle() {
    for nodes in 1..=8_usize {
        for subset in 1_u32..1 << nodes {
            let members = (0..nodes as u32).filter(|n| subset >> n & 1 != 0).collect();
            let routes = ClassRoutes::joining(nodes, &[members]);
            assert_eq!(tree(&routes, &Rules::default()).cycle, [], "{subset:b}");
        }
    }
}

#[test]
fn x3_hw5_any_two_routes_that_overlap_have_no_cycle() {
    let nodes = 7_usize;
    let members =
        |subset: u32| -> Vec<u32> { (0..nodes as u32).filter(|n| subset >> n & 1 != 0).collect() };
    for first in 1_u32..1 << nodes {
        for second in first..1 << nodes {
            let routes = ClassRoutes::joining(nodes, &[members(first), members(second)]);
            let cycle = tree(&routes, &Rules::default()).cycle;
            assert_eq!(cycle, [], "{first:b} {second:b}");
        }
    }
}

#[test]
fn x3_hw5_sixteen_routes_that_overlap_have_no_cycle() {
    for nodes in (1..=65).chain([127, 128, 129, 1000]) {
        let report = tree(&ClassRoutes::overlapping(nodes), &Rules::default());
        assert_eq!(report.cycle, [], "{nodes}");
        assert!(report.dependencies > 0);
    }
}

#[test]
fn x3_hw5_whatever_the_registers_hold_there_is_no_cycle() {
    for nodes in [1, 2, 3, 7, 64, 1024] {
        let report = tree(&ClassRoutes::any(nodes, 3), &Rules::default());
        assert_eq!(report.cycle, [], "{nodes}");
    }
}

#[test]
fn x3_hw5_a_broken_rule_of_the_tree_is_refused_with_its_cycle() {
    for fault in BROKEN {
        for nodes in [3, 5, 64] {
            let report = broken(&ClassRoutes::overlapping(nodes), fault);
            assert!(report.cycle.len() > 1, "{fault:?} on {nodes}");
            assert_eq!(
                report.text(&Torus::new(&[(nodes as u8, true)])).len(),
                report.cycle.len()
            );
        }
    }
}

#[test]
fn x3_hw5_orders_of_two_routes_cross_only_where_routes_overlap() {
    // Two members below the root: each may have sent to the route that the other has not.
    let both = vec![1, 2];
    for fault in [Fault::TreeRoutes, Fault::TreeFifo, Fault::TreeCutThrough] {
        let crossing = broken(
            &ClassRoutes::joining(3, &[both.clone(), both.clone()]),
            fault,
        );
        let routes: std::collections::BTreeSet<usize> = crossing
            .cycle
            .iter()
            .filter_map(|resource| match *resource {
                TreeResource::Contribution(_, route) | TreeResource::Own(_, route) => Some(route),
                _ => None,
            })
            .collect();
        assert_eq!(routes.len(), 2, "{fault:?}: {:?}", crossing.cycle);
        // Without room for whole packets the check assumes that those which go alone may stand still in any order.
        let apart = [vec![both.clone()], vec![vec![1, 3], vec![2, 5]]];
        for apart in apart.into_iter().filter(|_| fault != Fault::TreeCutThrough) {
            let cycle = broken(&ClassRoutes::joining(6, &apart), fault).cycle;
            assert_eq!(cycle, [], "{fault:?}: {apart:?}");
        }
    }
}
