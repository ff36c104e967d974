// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barriers of the collective network (HW-5): exact latency, nobody let go early, all routes at once, errors.

use std::collections::{BTreeMap, BTreeSet};

use gyre_layout::ErrorReason;
use gyre_rtl_tests::cases;
use gyre_rtl_tests::collective::{ROUTES, Route, parent};
use gyre_rtl_tests::tree::{Config, Tree, Wire};
use proptest::prelude::*;

/// Cycles of a hop beyond the link latency.
const HOP: u64 = 2;
/// From the pulse with which a node enters to the pulse on its wires.
const ENTER: u64 = 2;

/// Levels of `node` below the root of `route`.
fn depth(route: &Route, mut node: usize) -> u64 {
    let mut levels = 0;
    while node != route.root {
        node = parent(node).expect("below the root");
        levels += 1;
    }
    levels
}

/// Lets all members of all routes pass `rounds` barriers, each entering up to `wait` cycles after it was let
/// go, and checks every release: not before the last member entered, and in exactly the cycle that
/// the latencies give.
fn pass(
    tree: &mut Tree,
    routes: &BTreeMap<usize, Route>,
    latency: u64,
    rounds: usize,
    wait: u64,
) -> Result<(), String> {
    let members = || {
        (routes.iter()).flat_map(|(&number, r)| r.members().into_iter().map(move |m| (number, m)))
    };
    let mut next: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    // By route, then round: when each member entered.
    let mut entered: BTreeMap<usize, Vec<BTreeMap<usize, u64>>> = BTreeMap::new();
    let mut round: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for member in members() {
        next.insert(member, tree.cycle() + tree.rng.u64(0..=wait));
        round.insert(member, 0);
    }
    let end = tree.cycle() + rounds as u64 * (wait + 200);
    tree.done.clear();
    while round.values().any(|&done| done < rounds) {
        let now = tree.cycle();
        if now > end {
            return Err(format!("cycle {now}: barriers are not let go: {round:?}"));
        }
        for (&(number, node), &at) in &next {
            let turn = round[&(number, node)];
            if at == now && turn < rounds {
                tree.enter(node, 1 << number);
                let turns = entered.entry(number).or_default();
                turns.resize(turns.len().max(turn + 1), BTreeMap::new());
                turns[turn].insert(node, now);
            }
        }
        tree.step().map_err(|trouble| trouble.to_string())?;
        for done in std::mem::take(&mut tree.done) {
            let key = (done.route, done.node);
            let (Some(route), Some(&turn)) = (routes.get(&done.route), round.get(&key)) else {
                return Err(format!("{done:?}: is no member"));
            };
            let all = entered.get(&done.route).and_then(|turns| turns.get(turn));
            let Some(all) = all.filter(|all| all.len() == route.members().len()) else {
                return Err(format!("{done:?}: let go before all entered"));
            };
            let hop = HOP + latency;
            let last = all
                .iter()
                .map(|(&node, &at)| at + ENTER + depth(route, node) * hop);
            let at = last.max().unwrap_or_default() + depth(route, done.node) * hop;
            if at != done.cycle {
                return Err(format!("{done:?}: expected in cycle {at}"));
            }
            round.insert(key, turn + 1);
            next.insert(key, done.cycle + tree.rng.u64(0..=wait));
        }
    }
    if let Some(report) = tree.reports.first() {
        return Err(format!("{report:?}"));
    }
    tree.settle(50).map_err(|trouble| trouble.to_string())
}

proptest! {
    #![proptest_config(cases(40))]
    #[test]
    fn hw5_barrier_releases_two_cycles_a_hop_after_the_last_arrival(
        nodes in prop::sample::select(&[1usize, 2, 3, 7, 10][..]),
        latency in 1usize..=4,
        count in 1usize..=ROUTES,
        wait in 1u64..120,
        seed: u64,
    ) {
        let mut tree = Tree::up(Config::reference(nodes, latency, seed));
        let mut routes = BTreeMap::new();
        for number in 0..count {
            let share = tree.rng.f64();
            let mut members: BTreeSet<usize> = (0..nodes).filter(|_| tree.rng.f64() < share).collect();
            members.insert(tree.rng.usize(0..nodes));
            let route = Route::new(&members, tree.rng.usize(0..3));
            tree.set_barrier(number, &route);
            routes.insert(number, route);
        }
        let run = pass(&mut tree, &routes, latency as u64, 6, wait);
        prop_assert!(run.is_ok(), "{}", run.unwrap_err());
    }
}

#[test]
fn hw5_all_sixteen_barrier_routes_of_all_nodes_at_once() {
    for nodes in [2, 7, 10] {
        let mut tree = Tree::up(Config::reference(nodes, 2, 9));
        let routes: BTreeMap<usize, Route> =
            (0..ROUTES).map(|r| (r, Route::everybody(nodes))).collect();
        for (&number, route) in &routes {
            tree.set_barrier(number, route);
        }
        pass(&mut tree, &routes, 2, 20, 3).unwrap_or_else(|error| panic!("{nodes} nodes: {error}"));
    }
}

#[test]
fn bench_notices_a_barrier_that_lets_go_early_or_late() {
    // A pulse on the wires of node 1 in the name of those below it, or the last of its pulses lost.
    for early in [true, false] {
        let mut tree = Tree::up(Config::reference(7, 1, 2));
        let routes = BTreeMap::from([(3, Route::everybody(7))]);
        tree.set_barrier(3, &routes[&3]);
        let from = tree.cycle();
        tree.tap = Some(Box::new(move |cycle, node, port, wire: &mut Wire| {
            if early && (node, port, cycle) == (1, 0, from + 1) {
                wire.bar = 1 << 3;
                wire.seal();
            } else if !early && (node, port) == (1, 0) {
                wire.bar = 0;
                wire.seal();
            }
        }));
        let noticed = pass(&mut tree, &routes, 1, 1, 100).unwrap_err();
        let why = if early { "" } else { "not let go" };
        assert!(noticed.contains(why), "{noticed}");
    }
}

/// Reasons and routes reported so far, by node.
fn reports(tree: &Tree) -> Vec<(usize, ErrorReason, u64)> {
    let reports = tree.reports.iter();
    reports.map(|r| (r.node, r.reason, r.info)).collect()
}

#[test]
fn hw5_unexpected_and_second_arrivals_are_reported_not_counted() {
    let mut tree = Tree::up(Config::reference(3, 1, 2));
    tree.set_barrier(5, &Route::everybody(3));
    tree.set_barrier(6, &Route::new(&[0, 1].into(), 0));
    // Node 2 is no member of route 6; route 7 is nobody's.
    tree.enter(2, 1 << 6 | 1 << 7);
    tree.run(20).unwrap();
    assert_eq!(
        reports(&tree),
        [(2, ErrorReason::CollBarrier, 1 << 6 | 1 << 7)]
    );
    assert_eq!(tree.reports[0].place, 6);
    tree.reports.clear();
    // Node 0 has no child 1 in route 6, nor is it sent anything on route 7.
    let at = tree.cycle() + 2;
    tree.tap = Some(Box::new(move |cycle, node, port, wire: &mut Wire| {
        if (cycle, node, port) == (at, 2, 0) {
            wire.bar = 1 << 6 | 1 << 7;
            wire.seal();
        }
    }));
    tree.run(20).unwrap();
    assert_eq!(
        reports(&tree),
        [(0, ErrorReason::CollBarrier, 1 << 6 | 1 << 7)]
    );
    tree.tap = None;
    tree.reports.clear();
    // A second arrival while others are missing, and while the release is outstanding.
    tree.enter(1, 1 << 5);
    tree.run(20).unwrap();
    tree.enter(1, 1 << 5);
    tree.run(20).unwrap();
    assert_eq!(reports(&tree), [(1, ErrorReason::CollBarrier, 1 << 5)]);
    tree.reports.clear();
    tree.enter(0, 1 << 5);
    tree.run(20).unwrap();
    assert_eq!(tree.done, []);
    tree.enter(2, 1 << 5);
    tree.run(20).unwrap();
    assert_eq!(tree.done.len(), 3);
    assert_eq!(tree.reports, []);
    let routes = BTreeMap::from([(5, Route::everybody(3))]);
    pass(&mut tree, &routes, 1, 4, 10).unwrap();
}

#[test]
fn hw5_release_that_nobody_waits_for_is_reported_and_lets_nobody_go() {
    let mut tree = Tree::up(Config::reference(3, 1, 2));
    tree.set_barrier(5, &Route::everybody(3));
    tree.enter(1, 1 << 5);
    let at = tree.cycle() + 30;
    tree.tap = Some(Box::new(move |cycle, node, port, wire: &mut Wire| {
        if (cycle, node, port) == (at, 0, 2) {
            wire.bar = 1 << 5;
            wire.seal();
        }
    }));
    tree.run(60).unwrap();
    assert_eq!(reports(&tree), [(2, ErrorReason::CollBarrier, 1 << 5)]);
    assert_eq!(tree.done, []);
}

/// A barrier of all nodes in which one wire of the barrier wires flips: `at` cycles after the last but one has entered,
/// of what `node` sends on `port`. Returns who was let go before the last has entered, and who in the end.
fn flipped(node: usize, port: usize, bit: u16, at: u64) -> (Tree, usize, usize) {
    let mut tree = Tree::up(Config::reference(7, 1, 2));
    tree.set_barrier(5, &Route::everybody(7));
    let start = tree.cycle() + 1;
    tree.tap = Some(Box::new(move |cycle, sender, of, wire: &mut Wire| {
        if (cycle, sender, of) == (start + at, node, port) {
            wire.bar ^= bit;
        }
    }));
    (0..6).for_each(|node| tree.enter(node, 1 << 5));
    tree.run(60).expect("no assertion");
    let early = tree.done.len();
    tree.enter(6, 1 << 5);
    tree.run(300).expect("no assertion");
    tree.tap = None;
    let late = tree.done.len();
    (tree, early, late)
}

#[test]
fn hw5_flipped_barrier_wire_releases_nobody_early_and_is_reported() {
    let everybody = Route::everybody(7);
    let mut lost = 0;
    // Pulses to the parent and to children, on the route and on another, in the cycles in which there are some.
    for (node, port) in [(1, 0), (2, 0), (5, 0), (6, 0), (0, 1), (0, 2), (2, 1)] {
        for bit in [1 << 5, 1 << 9] {
            let step = if bit == 1 << 5 { 1 } else { 8 };
            for at in (0..16).chain(61..77).step_by(step) {
                let (mut tree, early, late) = flipped(node, port, bit, at);
                let what = format!("node {node}, port {port}, routes {bit:#x}, cycle {at}");
                assert_eq!(early, 0, "{what}: let go before node 6 has entered");
                let told: Vec<ErrorReason> = tree.reports.iter().map(|r| r.reason).collect();
                assert!(
                    told.contains(&ErrorReason::LinkSideBand),
                    "{what}: {told:?}"
                );
                lost += usize::from(late < 7);
                // The barrier is set up anew, and works.
                let nobody = Route {
                    parts: BTreeMap::new(),
                    root: 0,
                };
                tree.set_barrier(5, &nobody);
                tree.run(20).unwrap();
                tree.set_barrier(5, &everybody);
                tree.run(20).unwrap();
                tree.reports.clear();
                let routes = BTreeMap::from([(5, everybody.clone())]);
                pass(&mut tree, &routes, 1, 2, 10).unwrap_or_else(|why| panic!("{what}: {why}"));
                assert_eq!(tree.reports, [], "{what}");
            }
        }
    }
    assert!(lost > 0, "no pulse was lost");
}

#[test]
fn hw5_barrier_route_that_is_not_valid_forgets_its_arrivals() {
    let mut tree = Tree::up(Config::reference(3, 1, 2));
    let route = Route::everybody(3);
    tree.set_barrier(5, &route);
    tree.enter(1, 1 << 5);
    tree.enter(0, 1 << 5);
    tree.run(20).unwrap();
    let nobody = Route {
        parts: BTreeMap::new(),
        root: 0,
    };
    tree.set_barrier(5, &nobody);
    tree.run(4).unwrap();
    tree.stays_idle().unwrap();
    tree.set_barrier(5, &route);
    tree.enter(2, 1 << 5);
    tree.run(30).unwrap();
    assert_eq!(tree.done, []);
    tree.enter(0, 1 << 5);
    tree.enter(1, 1 << 5);
    tree.run(30).unwrap();
    assert_eq!(tree.done.len(), 3);
    assert_eq!(tree.reports, []);
}

#[test]
fn hw5_barrier_pulse_for_a_link_that_is_down_is_reported() {
    let mut tree = Tree::up(Config::reference(3, 1, 2));
    tree.set_barrier(2, &Route::everybody(3));
    tree.enable_links(1, 0);
    tree.run(20).unwrap();
    tree.enter(1, 1 << 2);
    tree.run(20).unwrap();
    assert_eq!(reports(&tree), [(1, ErrorReason::CollBarrier, 1 << 2)]);
    assert_eq!(tree.done, []);
}
