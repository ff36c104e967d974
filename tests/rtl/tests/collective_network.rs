// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trees of `gyre_collective` under random collectives: each result once, in order, combined in tree order (HW-5).

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use gyre_layout::{CollOp, CollType, ErrorReason};
use gyre_rtl_tests::cases;
use gyre_rtl_tests::collective::{Discrepancy, Operation, ROUTES, Route};
use gyre_rtl_tests::collective_alu::corners;
use gyre_rtl_tests::packet::EDGE_LENGTHS;
use gyre_rtl_tests::tree::{Config, Report, Tree, Trouble, Wire};
use proptest::prelude::*;

fn flits_of_8_bytes(nodes: usize, latency: usize, seed: u64) -> Config {
    Config {
        unit: "collective_flit8",
        flit_bytes: 8,
        depth: 136,
        ..Config::reference(nodes, latency, seed)
    }
}

/// Flits of 32 bytes over the smallest buffers there may be: one of the longest packets.
fn smallest_buffers(nodes: usize, latency: usize, seed: u64) -> Config {
    Config {
        unit: "collective_flit32",
        flit_bytes: 32,
        depth: 17,
        ..Config::reference(nodes, latency, seed)
    }
}

/// A route of random members, its root up to two levels higher than it must be.
fn random_route(rng: &mut fastrand::Rng, nodes: usize) -> Route {
    let share = rng.f64();
    let mut members: BTreeSet<usize> = (0..nodes).filter(|_| rng.f64() < share).collect();
    members.insert(rng.usize(0..nodes));
    Route::new(&members, rng.usize(0..3))
}

/// Payload bytes of `len`: floating-point numbers whose sums depend on their order, and corners.
fn payload(rng: &mut fastrand::Rng, dtype: CollType, len: usize) -> Vec<u8> {
    let corners = corners(dtype);
    let words = (0..len.div_ceil(8)).flat_map(|_| {
        let value = match (rng.u8(0..8), dtype) {
            (0, _) => corners[rng.usize(0..corners.len())],
            (_, CollType::F64) => {
                rng.u64(0..2) << 63 | rng.u64(1000..1060) << 52 | rng.u64(0..1 << 52)
            }
            _ => rng.u64(..),
        };
        value.to_le_bytes()
    });
    words.take(len).collect()
}

/// A random operation on `route`.
fn random_operation(rng: &mut fastrand::Rng, number: usize, route: &Route) -> Operation {
    let members = route.members();
    let op = CollOp::ALL[rng.usize(0..CollOp::ALL.len())];
    let types = match op {
        CollOp::And | CollOp::Or | CollOp::Xor => 4,
        _ => 5,
    };
    let dtype = CollType::ALL[rng.usize(0..types)];
    let to = rng.u8(0..3) == 0;
    Operation {
        route: number,
        op,
        dtype,
        class: rng.usize(0..2),
        len: match rng.usize(0..12) {
            edge @ 0..6 => EDGE_LENGTHS[edge],
            _ => rng.u16(0..=512),
        },
        to: to.then(|| members[rng.usize(0..members.len())]),
        from: members[rng.usize(0..members.len())],
    }
}

/// Queues an operation with random payloads and returns its id.
fn start(tree: &mut Tree, operation: &Operation) -> u32 {
    let fill = |rng: &mut fastrand::Rng, len| payload(rng, operation.dtype, len);
    tree.start(operation, &[], fill).0
}

/// Random operations on `routes` random routes, one of them of all nodes.
fn random_traffic(tree: &mut Tree, routes: usize, operations: usize) {
    let nodes = tree.len();
    let mut made = vec![Route::everybody(nodes)];
    made.extend((1..routes).map(|_| random_route(&mut tree.rng, nodes)));
    // Route numbers of random places in the table.
    let mut numbers: Vec<usize> = (0..ROUTES).collect();
    tree.rng.shuffle(&mut numbers);
    for (&number, route) in numbers.iter().zip(&made) {
        tree.set_route(number, route);
    }
    for _ in 0..operations {
        let index = tree.rng.usize(0..made.len());
        let operation = random_operation(&mut tree.rng, numbers[index], &made[index]);
        start(tree, &operation);
    }
}

/// An allreduce of 64-bit sums of floating-point numbers on route 0.
fn sum(len: u16) -> Operation {
    Operation {
        route: 0,
        op: CollOp::Add,
        dtype: CollType::F64,
        class: 1,
        len,
        to: None,
        from: 0,
    }
}

proptest! {
    #![proptest_config(cases(40))]
    #[test]
    fn hw5_random_collectives_come_out_once_in_order_and_exact(
        nodes in prop::sample::select(&[1usize, 2, 3, 7, 10][..]),
        latency in 1usize..=4,
        routes in 1usize..=ROUTES,
        operations in 1usize..120,
        inject in 0.1f64..=1.0,
        mix: bool,
        eject in [0.05f64..=1.0, 0.05f64..=1.0],
        seed: u64,
    ) {
        let mut tree = Tree::up(Config::reference(nodes, latency, seed));
        tree.inject = inject;
        tree.mix = mix;
        tree.eject = eject;
        random_traffic(&mut tree, routes, operations);
        let run = tree.drain(400_000);
        prop_assert!(run.is_ok(), "{}", run.unwrap_err());
    }

    #[test]
    fn hw5_flits_of_8_and_32_bytes_carry_the_same_collectives(
        nodes in prop::sample::select(&[2usize, 3, 7][..]),
        latency in 1usize..=3,
        mix: bool,
        narrow: bool,
        operations in 1usize..80,
        seed: u64,
    ) {
        let config = if narrow { flits_of_8_bytes } else { smallest_buffers };
        let mut tree = Tree::up(config(nodes, latency, seed));
        tree.eject = [0.6, 0.9];
        tree.mix = mix;
        random_traffic(&mut tree, 6, operations);
        let run = tree.drain(400_000);
        prop_assert!(run.is_ok(), "{}", run.unwrap_err());
    }
}

#[test]
fn hw5_every_operation_and_type_in_trees_of_1_to_10_nodes() {
    for nodes in [1, 2, 3, 7, 10] {
        let mut tree = Tree::up(Config::reference(nodes, 2, nodes as u64));
        tree.set_route(0, &Route::everybody(nodes));
        let mut expected = 0;
        for &op in CollOp::ALL {
            let types = match op {
                CollOp::And | CollOp::Or | CollOp::Xor => &CollType::ALL[..4],
                _ => CollType::ALL,
            };
            for &dtype in types {
                for (to, class) in [(None, 0), (None, 1), (Some(nodes - 1), 1)] {
                    let len = 64;
                    let from = nodes / 2;
                    start(
                        &mut tree,
                        &Operation {
                            op,
                            dtype,
                            class,
                            to,
                            from,
                            len,
                            route: 0,
                        },
                    );
                    expected += if to.is_some() { 1 } else { nodes };
                }
            }
        }
        tree.drain(100_000)
            .unwrap_or_else(|trouble| panic!("{nodes} nodes: {trouble}"));
        assert_eq!(tree.book.delivered(), expected);
    }
}

#[test]
fn hw5_route_that_waits_for_a_member_holds_up_no_other() {
    for latency in 1..=4 {
        let nodes = 10;
        let mut tree = Tree::up(Config::reference(nodes, latency, 5));
        for route in 0..ROUTES {
            tree.set_route(route, &Route::everybody(nodes));
        }
        // All routes but one wait for a different node each; full buffers wait behind.
        let mut kept = Vec::new();
        for _ in 0..4 {
            for route in 1..ROUTES {
                let operation = Operation { route, ..sum(512) };
                let fill = |rng: &mut fastrand::Rng, len| payload(rng, CollType::F64, len);
                let (_, late) = tree.start(&operation, &[route % nodes], fill);
                kept.extend(late.into_iter().map(|(node, flits)| (node, route, flits)));
            }
        }
        tree.run(3_000).unwrap();
        assert_eq!(tree.book.delivered(), 0);
        tree.stays_idle()
            .unwrap_or_else(|trouble| panic!("{trouble}"));
        let ids: Vec<u32> = (0..20).map(|_| start(&mut tree, &sum(512))).collect();
        tree.run(20 * 34 + 400).unwrap();
        let outstanding = tree.book.outstanding();
        assert!(
            outstanding.iter().all(|(id, _)| !ids.contains(id)),
            "{outstanding:?}"
        );
        for (node, route, flits) in kept {
            tree.queue(node, route, flits);
        }
        tree.drain(20_000)
            .unwrap_or_else(|trouble| panic!("{trouble}"));
    }
}

/// Payload share of each link used, in packets of 512 bytes over flits of 16.
fn shares(tree: &Tree) -> Vec<((usize, usize), f64)> {
    (tree.used.iter())
        .map(|(&link, used)| {
            let cycles = (used.last - used.first + 1) as f64;
            (link, used.flits as f64 * 32.0 / 34.0 / cycles)
        })
        .collect()
}

#[test]
fn hw5_full_packets_back_to_back_fill_every_link_of_the_tree() {
    const PACKETS: u64 = 60;
    for (nodes, latency) in [(3, 1), (7, 2), (10, 4), (7, 8)] {
        let mut tree = Tree::up(Config::reference(nodes, latency, 3));
        tree.set_route(0, &Route::everybody(nodes));
        for _ in 0..PACKETS {
            start(&mut tree, &sum(512));
        }
        tree.drain(20_000)
            .unwrap_or_else(|trouble| panic!("{trouble}"));
        let shares = shares(&tree);
        assert_eq!(shares.len(), 2 * (nodes - 1));
        for (link, share) in shares {
            assert_eq!(tree.used[&link].flits, 34 * PACKETS);
            println!("{nodes} nodes, latency {latency}: link {link:?}: {share:.4}");
            assert!(
                share >= 0.999 * 32.0 / 34.0,
                "{nodes} nodes: {link:?}: {share}"
            );
        }
    }
}

#[test]
fn hw5_hop_takes_three_cycles_down_and_nine_up_beyond_the_link() {
    for latency in 1..=4 {
        let mut tree = Tree::up(Config::reference(8, latency, 1));
        tree.set_route(0, &Route::everybody(8));
        // From node 7 over nodes 3 and 1 to the root, and back.
        let from = 7;
        let op = CollOp::Broadcast;
        start(&mut tree, &Operation { op, from, ..sum(0) });
        tree.drain(400).unwrap();
        let first = |link| tree.used[&link].first;
        let hop = latency as u64;
        for (sent, passed, cycles) in [
            ((7, 0), (3, 0), 9),
            ((3, 0), (1, 0), 9),
            ((1, 0), (0, 2), 9),
            ((0, 1), (1, 1), 3),
            ((1, 1), (3, 1), 3),
        ] {
            assert_eq!(
                first(passed) - first(sent),
                hop + cycles,
                "{sent:?} to {passed:?}"
            );
        }
    }
}

#[test]
fn hw5_two_routes_share_every_link() {
    const PACKETS: u64 = 60;
    let nodes = 7;
    let mut tree = Tree::up(Config::reference(nodes, 2, 3));
    tree.set_route(0, &Route::everybody(nodes));
    tree.set_route(9, &Route::everybody(nodes));
    for packet in 0..PACKETS {
        let route = 9 * (packet as usize % 2);
        start(&mut tree, &Operation { route, ..sum(512) });
    }
    tree.drain(20_000)
        .unwrap_or_else(|trouble| panic!("{trouble}"));
    for (link, share) in shares(&tree) {
        println!("{link:?}: {share:.4}");
        assert!(share >= 0.97 * 32.0 / 34.0, "{link:?}: {share}");
    }
}

#[test]
fn hw5_turning_packets_and_packets_from_the_parent_take_turns() {
    // Sums of nodes 3 and 4 turn around at node 1, broadcasts of node 0 come down through it: both want its way
    // down all the time.
    let nodes = 7;
    let mut tree = Tree::up(Config::reference(nodes, 1, 8));
    tree.set_route(0, &Route::new(&[3, 4].into(), 0));
    tree.set_route(1, &Route::everybody(nodes));
    for _ in 0..40 {
        start(&mut tree, &sum(512));
        let broadcast = Operation {
            route: 1,
            op: CollOp::Broadcast,
            ..sum(512)
        };
        start(&mut tree, &broadcast);
    }
    tree.run(40 * 34).unwrap();
    let outstanding = tree.book.outstanding();
    // Half of each has come through, within a few packets.
    let left = |parity: u32| {
        outstanding
            .iter()
            .filter(|(id, _)| id % 2 == parity)
            .count()
    };
    assert!(
        (15..=30).contains(&left(0)) && (15..=30).contains(&left(1)),
        "{} {}",
        left(0),
        left(1)
    );
    tree.drain(20_000)
        .unwrap_or_else(|trouble| panic!("{trouble}"));
}

#[test]
fn hw5_broadcasts_keep_their_senders_order_and_pass_waiting_members() {
    let nodes = 7;
    let mut tree = Tree::up(Config::reference(nodes, 2, 4));
    tree.set_route(0, &Route::everybody(nodes));
    let fill = |rng: &mut fastrand::Rng, len| payload(rng, CollType::F64, len);
    let (_, kept) = tree.start(&sum(64), &[5], fill);
    let broadcast = |from| Operation {
        op: CollOp::Broadcast,
        from,
        ..sum(200)
    };
    let passes = start(&mut tree, &broadcast(5));
    let behind = start(&mut tree, &broadcast(3));
    tree.run(2_000).unwrap();
    let left: Vec<u32> = tree.book.outstanding().iter().map(|(id, _)| *id).collect();
    assert!(
        !left.contains(&passes) && left.contains(&behind),
        "{left:?}"
    );
    for (node, flits) in kept {
        tree.queue(node, 0, flits);
    }
    tree.drain(4_000)
        .unwrap_or_else(|trouble| panic!("{trouble}"));
}

// ---- faults planted in the bench: the checks are not blind ------------------------------------

#[test]
fn book_notices_children_in_the_wrong_order() {
    let wrong = |tree: &mut Tree| {
        let flipped = Route::new(&(0..3).collect(), 0);
        tree.set_route(0, &flipped);
        // Contributions of nodes 1 and 2 change places: of a sum of three numbers only the order differs.
        let fill = |rng: &mut fastrand::Rng, len| payload(rng, CollType::F64, len);
        let (_, mut kept) = tree.start(&sum(512), &[1, 2], fill);
        let (a, b) = kept.split_at_mut(1);
        std::mem::swap(&mut a[0].1, &mut b[0].1);
        for (node, flits) in kept {
            tree.queue(node, 0, flits);
        }
        tree.drain(2_000)
    };
    let mut tree = Tree::up(Config::reference(3, 1, 1));
    let noticed = wrong(&mut tree).unwrap_err();
    let content = matches!(
        noticed,
        Trouble::Book(_, Discrepancy::Content { at: 32.., .. })
    );
    assert!(content, "{noticed}");
}

#[test]
fn book_notices_the_operation_of_another_packet() {
    // The wires turn a sum into a maximum at every node.
    let mut tree = Tree::up(Config::reference(3, 1, 1));
    tree.set_route(0, &Route::everybody(3));
    let fill = |rng: &mut fastrand::Rng, len| payload(rng, CollType::F64, len);
    let (_, kept) = tree.start(&sum(64), &[0, 1, 2], fill);
    for (node, mut flits) in kept {
        // Bits 9:7 of `hint`, which begins at bit 14 of w2.
        flits[0].data[2] ^= (4 ^ 6) << (14 + 7);
        tree.queue(node, 0, flits);
    }
    let noticed = tree.drain(2_000).unwrap_err();
    assert!(
        matches!(noticed, Trouble::Book(_, Discrepancy::Content { .. })),
        "{noticed}"
    );
}

#[test]
fn bench_notices_lost_and_doubled_credits() {
    for double in [false, true] {
        let mut tree = Tree::up(Config::reference(2, 1, 1));
        tree.set_route(0, &Route::everybody(2));
        let seen = Rc::new(Cell::new(0));
        let count = Rc::clone(&seen);
        tree.tap = Some(Box::new(move |_, node, _, wire: &mut Wire| {
            let credit = wire.word.ctl >> 25 & 1 != 0;
            if node != 0 {
                return;
            }
            // Room for the longest packet is not there any more when 31 of 64 credits are lost.
            if !double && credit && count.get() < 31 {
                count.set(count.get() + 1);
                wire.word.ctl &= !(0x1f << 25);
                wire.seal();
            } else if double && !credit && wire.word.ctl & 3 == 3 && count.get() < 200 {
                count.set(count.get() + 1);
                wire.word.ctl |= 1 << 25;
                wire.seal();
            }
        }));
        for _ in 0..8 {
            start(&mut tree, &sum(512));
        }
        let noticed = tree.drain(4_000).unwrap_err();
        assert!(matches!(noticed, Trouble::Stuck(..)), "{noticed}");
        let told = |report: &Report| report.reason == ErrorReason::LinkProtocol;
        assert_eq!(tree.reports.iter().any(told), double);
    }
}
