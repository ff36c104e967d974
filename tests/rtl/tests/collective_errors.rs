// SPDX-License-Identifier: MIT OR Apache-2.0
//! The collective network under errors (HW-5): contributors that disagree, packets where they do not belong, links
//! that go down and nodes that are reset. Everything else goes on, and afterwards all is well again.

use std::collections::BTreeMap;

use gyre_layout::{CollOp, CollType, ErrorReason};
use gyre_rtl_tests::cases;
use gyre_rtl_tests::collective::{Operation, ROUTES, Route, contribution, flits};
use gyre_rtl_tests::tree::{Config, Tree, Wire};
use proptest::prelude::*;

/// `where` of a report by a link of the tree: 10 + port.
const LINK_PLACE: u16 = 10;

fn nobody() -> Route {
    Route {
        parts: BTreeMap::new(),
        root: 0,
    }
}

/// An allreduce of 64-bit integer sums.
fn sum(route: usize, len: u16) -> Operation {
    Operation {
        route,
        op: CollOp::Add,
        dtype: CollType::I64,
        class: 1,
        len,
        to: None,
        from: 0,
    }
}

fn random(rng: &mut fastrand::Rng, len: usize) -> Vec<u8> {
    (0..len).map(|_| rng.u8(..)).collect()
}

fn start(tree: &mut Tree, operation: &Operation) -> u32 {
    tree.start(operation, &[], random).0
}

/// Reasons and places reported so far, by node.
fn reports(tree: &Tree) -> Vec<(usize, ErrorReason, u16)> {
    let reports = tree.reports.iter();
    reports.map(|r| (r.node, r.reason, r.place)).collect()
}

/// Collectives of all nodes on every route come out as they must.
fn all_is_well(tree: &mut Tree) {
    tree.book.forget();
    tree.book.lossy = false;
    tree.reports.clear();
    for route in 0..ROUTES {
        tree.set_route(route, &Route::everybody(tree.len()));
        for len in [0, 512, 40] {
            start(tree, &sum(route, len));
        }
        let from = tree.rng.usize(0..tree.len());
        let op = CollOp::Broadcast;
        start(
            tree,
            &Operation {
                op,
                from,
                ..sum(route, 300)
            },
        );
    }
    tree.drain(20_000)
        .unwrap_or_else(|trouble| panic!("{trouble}"));
}

#[test]
fn hw5_disagreeing_contributors_are_reported_and_results_marked() {
    // Words of the header: destination, operation, length, number, target, offset, counter, software word.
    let changes: [(usize, u32, &str); 8] = [
        (0, 1, "dst"),
        (2, 2 << 21, "op"),
        (2, 1 << 4, "len"),
        (3, 1, "seq"),
        (3, 1 << 16, "target"),
        (4, 4, "offset"),
        (6, 1, "counter"),
        (7, 1 << 31, "software word"),
    ];
    for (word, change, what) in changes {
        for odd in 0..3 {
            let mut tree = Tree::up(Config::reference(3, 1, 1));
            tree.set_route(4, &Route::everybody(3));
            tree.book.lossy = true;
            let (id, kept) = tree.start(&sum(4, 96), &[0, 1, 2], random);
            for (node, mut flits) in kept {
                if node == odd {
                    flits[word / 4].data[word % 4] ^= change;
                }
                tree.queue(node, 4, flits);
            }
            tree.run(400)
                .unwrap_or_else(|trouble| panic!("{what}: {trouble}"));
            assert_eq!(
                reports(&tree),
                [(0, ErrorReason::CollMismatch, 4)],
                "{what}"
            );
            if what != "dst" || odd != 0 {
                assert_eq!(tree.book.poisoned.len(), 3, "{what}");
                assert!(
                    tree.book
                        .poisoned
                        .iter()
                        .all(|&(poisoned, _)| poisoned == id)
                );
            }
            all_is_well(&mut tree);
        }
    }
}

#[test]
fn hw5_contributors_of_different_lengths_are_read_to_their_ends() {
    for lens in [[96, 512, 0], [512, 0, 96], [0, 96, 512], [512, 512, 511]] {
        let mut tree = Tree::up(Config::reference(3, 1, 1));
        tree.set_route(4, &Route::everybody(3));
        tree.book.lossy = true;
        let (id, _) = tree.start(&sum(4, lens[0]), &[0, 1, 2], random);
        for (node, &len) in lens.iter().enumerate() {
            let payload = random(&mut tree.rng, len.into());
            let bytes = contribution(&sum(4, len), id, node, &payload);
            tree.queue(node, 4, flits(&bytes, 16, id));
        }
        tree.run(400).unwrap();
        assert_eq!(reports(&tree), [(0, ErrorReason::CollMismatch, 4)]);
        assert_eq!(tree.book.poisoned.len(), 3);
        all_is_well(&mut tree);
    }
}

#[test]
fn hw5_packets_off_their_route_are_dropped_and_reported() {
    let nodes = 3;
    let mut tree = Tree::up(Config::reference(nodes, 1, 1));
    let broadcast = |route, from| Operation {
        op: CollOp::Broadcast,
        from,
        ..sum(route, 200)
    };
    // Injected on a route that is not valid, or without this node; from a child that is not in the route;
    // from the parent on a route that ends above.
    tree.set_route(1, &Route::everybody(nodes));
    tree.set_route(2, &Route::everybody(nodes));
    tree.set_route(3, &Route::everybody(nodes));
    tree.set_route(4, &Route::everybody(nodes));
    tree.override_route(1, 1, 0);
    tree.override_route(1, 2, 1 | 1 << 1);
    tree.override_route(0, 3, 1 | 1 << 3 | 1 << 4);
    tree.override_route(2, 4, 1 | 1 << 4);
    tree.book.lossy = true;
    for (route, from, node) in [(1, 1, 1), (2, 1, 1), (3, 1, 0), (4, 0, 2)] {
        for _ in 0..5 {
            start(&mut tree, &broadcast(route, from));
        }
        tree.run(800).unwrap();
        assert_eq!(
            reports(&tree),
            [(node, ErrorReason::CollRoute, route as u16); 5]
        );
        tree.reports.clear();
    }
    tree.settle(100).unwrap();
    all_is_well(&mut tree);
}

#[test]
fn hw5_malformed_packets_are_dropped_and_reported() {
    // Kind, class, operation, and the route in the header.
    for (word, change) in [(2, 1), (0, 1 << 31), (2, 7 << 21), (2, 1 << 14)] {
        for node in [0, 2] {
            let mut tree = Tree::up(Config::reference(3, 1, 1));
            tree.set_route(6, &Route::everybody(3));
            tree.book.lossy = true;
            let from = node;
            let operation = Operation {
                op: CollOp::Broadcast,
                from,
                ..sum(6, 100)
            };
            let (_, kept) = tree.start(&operation, &[node], random);
            for (node, mut flits) in kept {
                flits[0].data[word] ^= change;
                tree.queue(node, 6, flits);
            }
            tree.run(300).unwrap();
            assert_eq!(reports(&tree), [(node, ErrorReason::CollRoute, 6)]);
            tree.settle(100).unwrap();
            all_is_well(&mut tree);
        }
    }
}

/// Outage in the middle of traffic.
#[derive(Clone, Copy, Debug)]
enum Outage {
    /// A node is reset alone.
    Reset,
    /// A node's links are disabled for a while.
    Disabled,
    /// A bit on a wire of a node flips.
    Flip,
}

/// Lets the routes go: all that still waits is dropped where it is. Then they can be used anew.
fn let_routes_go(tree: &mut Tree) {
    for route in 0..ROUTES {
        tree.set_route(route, &nobody());
    }
    tree.run(2_000)
        .unwrap_or_else(|trouble| panic!("{trouble}"));
    tree.bring_up()
        .unwrap_or_else(|trouble| panic!("{trouble}"));
    tree.settle(4_000)
        .unwrap_or_else(|trouble| panic!("{trouble}"));
}

proptest! {
    #![proptest_config(cases(48))]
    #[test]
    fn hw5_links_and_nodes_that_fail_in_mid_packet_come_back(
        nodes in prop::sample::select(&[2usize, 3, 7, 10][..]),
        latency in 1usize..=4,
        what in prop::sample::select(&[Outage::Reset, Outage::Disabled, Outage::Flip][..]),
        mix: bool,
        at in 1usize..900,
        away in 1usize..200,
        seed: u64,
    ) {
        let mut tree = Tree::up(Config::reference(nodes, latency, seed));
        tree.mix = mix;
        tree.book.lossy = true;
        for route in 0..ROUTES {
            tree.set_route(route, &Route::everybody(nodes));
        }
        for _ in 0..40 {
            let route = tree.rng.usize(0..ROUTES);
            let len = tree.rng.u16(0..=512);
            let from = tree.rng.usize(0..nodes);
            let op = if tree.rng.bool() { CollOp::Add } else { CollOp::Broadcast };
            start(&mut tree, &Operation { op, from, ..sum(route, len) });
        }
        tree.run(at).unwrap();
        let node = tree.rng.usize(0..nodes);
        match what {
            Outage::Reset => {
                tree.hold_in_reset(node, true);
                tree.run(away).unwrap();
                tree.hold_in_reset(node, false);
            }
            Outage::Disabled => {
                let enabled = tree.links_of(node);
                tree.enable_links(node, 0);
                tree.run(away).unwrap();
                tree.enable_links(node, enabled);
            }
            Outage::Flip => {
                let mut done = false;
                let bit = tree.rng.u32(0..32);
                tree.tap = Some(Box::new(move |_, sender, _, wire: &mut Wire| {
                    if !done && sender == node && wire.word.valid() {
                        wire.word.data[1] ^= 1 << bit;
                        done = true;
                    }
                }));
                tree.run(away).unwrap();
            }
        }
        let run = tree.run(3_000);
        prop_assert!(run.is_ok(), "{}", run.unwrap_err());
        tree.tap = None;
        let_routes_go(&mut tree);
        for report in &tree.reports {
            let known = matches!(
                report.reason,
                ErrorReason::LinkDown | ErrorReason::CollMismatch | ErrorReason::CollRoute
            ) || (report.reason == ErrorReason::LinkCrc && matches!(what, Outage::Flip));
            prop_assert!(known, "{report:?}");
        }
        all_is_well(&mut tree);
    }
}

#[test]
fn hw5_packets_for_a_down_link_are_dropped_and_reported_once_each() {
    let nodes = 3;
    let mut tree = Tree::up(Config::reference(nodes, 2, 1));
    tree.set_route(0, &Route::everybody(nodes));
    tree.book.lossy = true;
    tree.enable_links(2, 0);
    tree.run(20).unwrap();
    // Down to node 2 three packets are lost, nodes 0 and 1 get them.
    let op = CollOp::Broadcast;
    for _ in 0..3 {
        start(&mut tree, &Operation { op, ..sum(0, 512) });
    }
    tree.run(400).unwrap();
    assert_eq!(tree.book.delivered(), 6);
    assert_eq!(
        reports(&tree),
        [(0, ErrorReason::LinkDown, LINK_PLACE + 2); 3]
    );
    tree.reports.clear();
    // Up from node 2 they are lost where they are.
    for _ in 0..3 {
        start(
            &mut tree,
            &Operation {
                op,
                from: 2,
                ..sum(0, 512)
            },
        );
    }
    tree.run(400).unwrap();
    assert_eq!(tree.book.delivered(), 6);
    assert_eq!(reports(&tree), [(2, ErrorReason::LinkDown, LINK_PLACE); 3]);
    tree.enable_links(2, 1);
    tree.bring_up().unwrap();
    all_is_well(&mut tree);
}

#[test]
fn hw5_packet_cut_by_its_link_ends_with_the_mark_of_damage() {
    let nodes = 3;
    let mut tree = Tree::up(Config::reference(nodes, 1, 1));
    tree.set_route(0, &Route::everybody(nodes));
    tree.book.lossy = true;
    start(&mut tree, &sum(0, 512));
    // Half of the packet of node 1 has left it.
    while tree.used.get(&(1, 0)).is_none_or(|used| used.flits < 17) {
        tree.step().unwrap();
    }
    tree.enable_links(1, 0);
    tree.run(400).unwrap();
    // What node 1 had of the result is closed as well.
    assert_eq!(tree.book.poisoned, [(1, 1), (1, 0), (1, 2)]);
    let reported = reports(&tree);
    assert!(
        reported.contains(&(1, ErrorReason::LinkDown, LINK_PLACE)),
        "{reported:?}"
    );
    assert!(
        reported.contains(&(0, ErrorReason::LinkDown, LINK_PLACE + 1)),
        "{reported:?}"
    );
    tree.enable_links(1, 1);
    tree.bring_up().unwrap();
    all_is_well(&mut tree);
}

#[test]
fn hw5_waiting_packets_of_a_dead_child_are_dropped_and_link_reopens() {
    let nodes = 3;
    let mut tree = Tree::up(Config::reference(nodes, 1, 1));
    tree.set_route(0, &Route::everybody(nodes));
    tree.book.lossy = true;
    let (_, kept) = tree.start(&sum(0, 64), &[2], random);
    tree.run(200).unwrap();
    tree.hold_in_reset(1, true);
    tree.run(50).unwrap();
    tree.hold_in_reset(1, false);
    tree.bring_up().unwrap();
    assert_eq!(reports(&tree), [(0, ErrorReason::LinkDown, LINK_PLACE + 1)]);
    // What of the collective is left waits for node 1, until its route is let go.
    for (node, flits) in kept {
        tree.queue(node, 0, flits);
    }
    tree.run(200).unwrap();
    assert_eq!(tree.book.delivered(), 0);
    let_routes_go(&mut tree);
    all_is_well(&mut tree);
}
