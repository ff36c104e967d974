// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dynamic packets, programmed orders of dimensions and classes in machines of `gyre_network` (HW-3, HW-4).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use gyre_rtl_tests::cases;
use gyre_rtl_tests::fabric::{Config, Fabric, Willingness};
use gyre_rtl_tests::packet::CLASSES;
use gyre_rtl_tests::routes::Shape;
use proptest::prelude::*;

const RING: bool = true;
const LINE: bool = false;

/// A machine with the smallest buffers of a link input and its links up.
fn machine(shape: Shape, latency: usize, seed: u64) -> Fabric {
    let dims = shape.size.iter().rposition(|&size| size > 1).unwrap_or(0) + 1;
    let unit = if dims < 3 { "network2" } else { "network3" };
    machine_of((unit, 40), shape, latency, seed)
}

/// A machine of the unit of this name and depth of injection buffers, in flits, with its links up.
fn machine_of(
    (unit, inj_depth): (&'static str, usize),
    shape: Shape,
    latency: usize,
    seed: u64,
) -> Fabric {
    let mut fabric = Fabric::new(Config {
        unit,
        flit_bytes: 16,
        inj_depth,
        shape,
        latency,
        seed,
    });
    fabric
        .bring_up()
        .unwrap_or_else(|trouble| panic!("links do not come up: {trouble}"));
    fabric
}

fn drain(fabric: &mut Fabric, limit: u64) {
    fabric
        .drain(limit)
        .unwrap_or_else(|trouble| panic!("{trouble}"));
}

/// Ports by which the head of each packet has left a node, by its id.
type Ways = Rc<RefCell<BTreeMap<u32, Vec<usize>>>>;

/// Notes the ways of all packets from now on.
fn watch(fabric: &mut Fabric) -> Ways {
    let ways = Ways::default();
    let seen = ways.clone();
    fabric.wire_tap = Some(Box::new(move |_, _, port, word| {
        if word.valid() && word.ctl >> 6 & 1 != 0 {
            seen.borrow_mut().entry(word.dbg).or_default().push(port);
        }
    }));
    ways
}

#[test]
fn hw4_order_of_a_packet_chooses_among_free_ways() {
    let shape = Shape::new(&[(3, RING), (3, RING), (3, RING)]);
    let mut fabric = machine(shape.clone(), 2, 5);
    let ways = watch(&mut fabric);
    let far = shape.index(&[1, 1, 1, 0, 0]);
    for order in 1..=3u8 {
        for _ in 0..6 {
            let id = fabric.send_dynamic((0, far), 0, 64, 0, order);
            drain(&mut fabric, 500);
            let dims: Vec<usize> = ways.borrow()[&id].iter().map(|port| port / 2).collect();
            // The path of injection is the sender's choice, the others follow the order.
            let wish = usize::from(order) - 1;
            let rest: Vec<usize> = (0..3)
                .map(|step| (wish + step) % 3)
                .filter(|&d| d != dims[0])
                .collect();
            assert_eq!(dims[1..], rest, "order {order}: {dims:?}");
        }
    }
}

#[test]
fn hw4_hint_chooses_the_direction_half_way_round() {
    let shape = Shape::new(&[(3, RING), (4, RING)]);
    let mut fabric = machine(shape.clone(), 2, 6);
    let ways = watch(&mut fabric);
    let far = shape.index(&[1, 2, 0, 0, 0]);
    for (hint, port) in [(0b01_01, 2), (0b10_01, 3)] {
        let mut seen = 0;
        for _ in 0..24 {
            let id = fabric.send_dynamic((0, far), 0, 64, hint, 1);
            drain(&mut fabric, 500);
            let way = ways.borrow()[&id].clone();
            // The sender may have begun with the second dimension, in a direction of its choice.
            if way[0] == 0 {
                seen += 1;
                assert_eq!(way[1..], [port, port], "hint {hint:#b}");
            }
        }
        assert!(seen > 0, "no packet began with the first dimension");
    }
}

#[test]
fn hw4_dynamic_packets_avoid_busy_ways_and_escape_if_all_are_busy() {
    let shape = Shape::new(&[(4, RING), (4, RING)]);
    let mut fabric = machine(shape, 2, 7);
    fabric.willing.eject = [0.4; CLASSES];
    let nodes = fabric.len();
    for round in 1..nodes {
        for src in 0..nodes {
            for class in 0..2 {
                fabric.send_dynamic((src, (src + round) % nodes), class, 512, 0, 0);
            }
        }
    }
    drain(&mut fabric, 200_000);
    let [dynamic, escape] = fabric.dynamic_heads;
    assert!(
        dynamic > 0 && escape > 0,
        "{dynamic} dynamic, {escape} escapes"
    );
}

proptest! {
    #![proptest_config(cases(20))]
    #[test]
    fn hw3_programmed_order_of_dimensions_carries_every_packet(
        dims in prop::sample::select(vec![
            &[(3u8, RING), (4u8, RING)] as &'static [_], &[(2, RING), (3, LINE), (3, RING)], &[(4, RING), (2, LINE)],
        ]),
        order in Just([0u8, 1, 2, 3, 4]).prop_shuffle(),
        latency in 1usize..=5,
        packets in 1usize..250,
        inject in 0.3f64..=1.0,
        eject in [0.1f64..=1.0, 0.1f64..=1.0, 0.1f64..=1.0, 0.1f64..=1.0],
        seed: u64,
    ) {
        let mut fabric = machine(Shape::new(dims).with_order(order), latency, seed);
        fabric.willing = Willingness { inject, eject };
        let nodes = fabric.len();
        for _ in 0..packets {
            let src = fabric.rng().usize(0..nodes);
            let dst = (src + fabric.rng().usize(1..nodes)) % nodes;
            let len = fabric.rng().u16(0..=512);
            let class = fabric.rng().usize(0..CLASSES);
            if class < 2 && fabric.rng().bool() {
                fabric.send_dynamic((src, dst), class, len, 0, 0);
            } else {
                fabric.send(src, dst, class, len);
            }
        }
        let run = fabric.drain(400_000);
        prop_assert!(run.is_ok(), "{}", run.unwrap_err());
        prop_assert_eq!(fabric.scoreboard.delivered(), packets);
    }
}

#[test]
fn hw3_priority_and_system_packets_precede_requests_on_a_full_link() {
    for class in [2, 3] {
        let mut fabric = machine(Shape::new(&[(3, LINE)]), 2, 8);
        for _ in 0..80 {
            fabric.send(0, 2, 0, 512);
            fabric.send(0, 2, 1, 512);
        }
        for _ in 0..600 {
            fabric.step().unwrap_or_else(|trouble| panic!("{trouble}"));
        }
        let id = fabric.send(0, 2, class, 0);
        let mut cycles = 0;
        while fabric.scoreboard.outstanding().contains(&id) {
            fabric.step().unwrap_or_else(|trouble| panic!("{trouble}"));
            cycles += 1;
        }
        // Two links of 2 cycles, two routers of 2, injection and ejection, 2 flits; the path of injection takes flits
        // of all classes in turn.
        assert!(cycles <= 24, "class {class}: {cycles} cycles");
        drain(&mut fabric, 50_000);
    }
}

#[test]
fn hw3_every_source_of_a_hot_spot_gets_through() {
    let shape = Shape::new(&[(4, RING), (4, RING)]);
    for dynamic in [false, true] {
        let mut fabric = machine(shape.clone(), 2, 9);
        let nodes = fabric.len();
        let mut source = BTreeMap::new();
        for _ in 0..40 {
            for src in 1..nodes {
                let id = if dynamic {
                    fabric.send_dynamic((src, 0), 0, 512, 0, 0)
                } else {
                    fabric.send(src, 0, 0, 512)
                };
                source.insert(id, src);
            }
        }
        let arrived = Rc::new(RefCell::new(vec![0; nodes]));
        let count = arrived.clone();
        fabric.eject_tap = Some(Box::new(move |flit| {
            if flit.tail {
                count.borrow_mut()[source[&flit.dbg]] += 1;
            }
            vec![*flit]
        }));
        while fabric.scoreboard.delivered() < 20 * (nodes - 1) {
            fabric.step().unwrap_or_else(|trouble| panic!("{trouble}"));
        }
        // Half of all have arrived: 20 of each source on average. Sources that share a way are served alike: by fixed
        // routes the three of the first row have two links of the hot spot, the next row has one, the rest the fourth.
        let arrived = arrived.borrow();
        let ends: &[usize] = if dynamic { &[16] } else { &[4, 8, 16] };
        let mut begin = 1;
        for &end in ends {
            let group = &arrived[begin..end];
            begin = end;
            let mean = group.iter().sum::<usize>() as f64 / group.len() as f64;
            let least = group
                .iter()
                .copied()
                .min()
                .map_or(0.0, |least| least as f64);
            assert!(least >= 0.4 * mean, "dynamic {dynamic}: {arrived:?}");
        }
        drop(arrived);
        fabric.eject_tap = None;
        drain(&mut fabric, 100_000);
    }
}

/// The longest that a dynamic request of 512 B takes from node `at` to node 0 of a hot spot, one at a time, while all other nodes
/// send it dynamic responses without end.
fn longest_beside_responses(shape: &Shape, at: usize, seed: u64) -> u64 {
    let mut fabric = machine(shape.clone(), 2, seed);
    // The hot spot takes responses at half the rate of a link: buffers on the way are full of them.
    fabric.willing.eject = [1.0, 0.5, 1.0, 1.0];
    let nodes = fabric.len();
    let step = |fabric: &mut Fabric| fabric.step().unwrap_or_else(|trouble| panic!("{trouble}"));
    let feed = |fabric: &mut Fabric| {
        for _ in 0..10 {
            for src in (1..nodes).filter(|&src| src != at) {
                fabric.send_dynamic((src, 0), 1, 512, 0, 0);
            }
        }
    };
    feed(&mut fabric);
    (0..2_000).for_each(|_| step(&mut fabric));
    let mut longest = 0;
    for _ in 0..24 {
        feed(&mut fabric);
        let id = fabric.send_dynamic((at, 0), 0, 512, 0, 0);
        let start = fabric.cycle();
        while fabric.scoreboard.outstanding().contains(&id) && fabric.cycle() < start + 20_000 {
            step(&mut fabric);
        }
        longest = longest.max(fabric.cycle() - start);
    }
    longest
}

#[test]
fn x5_dynamic_request_passes_transit_responses_within_a_bound() {
    for (shape, at) in [
        (Shape::new(&[(5, LINE)]), 1),
        (Shape::new(&[(5, LINE)]), 2),
        (Shape::new(&[(4, RING), (4, RING)]), 1),
        (Shape::new(&[(4, RING), (4, RING)]), 5),
    ] {
        let longest = longest_beside_responses(&shape, at, 21);
        // After 256 cycles nobody else gets shared room at the output: what the next input holds, 272 flits of at most four
        // inputs at half a flit a cycle, goes out first.
        let bound = 256 + 4 * 272 * 2;
        assert!(longest <= bound, "from {at} of {shape:?}: {longest} cycles");
    }
}

/// Cycles from the first packet until `late` = (source, destination, class) has arrived. Node n sends its `streams` of
/// packets of 512 B from cycle n * `phase` on; `late` stands behind 12 of each.
fn beside_streams(shape: &Shape, streams: &[[usize; 3]], phase: usize, late: [usize; 3]) -> u64 {
    let mut fabric = machine_of(("network1", 136), shape.clone(), 2, 12);
    let step = |fabric: &mut Fabric| fabric.step().unwrap_or_else(|trouble| panic!("{trouble}"));
    let from = fabric.cycle();
    let mut id = None;
    // Inputs have a row of packets when ejection begins.
    let willing = fabric.willing.clone();
    fabric.willing.eject = [0.0; CLASSES];
    for node in 0..fabric.len() {
        let send = |fabric: &mut Fabric, packets: usize| {
            for _ in 0..packets {
                for &[src, dst, class] in streams.iter().filter(|[src, ..]| *src == node) {
                    fabric.send(src, dst, class, 512);
                }
            }
        };
        send(&mut fabric, 12);
        let [src, dst, class] = late;
        if src == node {
            id = Some(fabric.send(src, dst, class, 512));
        }
        send(&mut fabric, 120);
        (0..phase).for_each(|_| step(&mut fabric));
    }
    (0..300).for_each(|_| step(&mut fabric));
    fabric.willing = willing;
    while id.is_some_and(|id| fabric.scoreboard.outstanding().contains(&id)) {
        step(&mut fabric);
    }
    let took = fabric.cycle() - from;
    drain(&mut fabric, 50_000);
    took
}

#[test]
fn hw3_streams_of_no_phase_hold_a_packet_up() {
    // The channel that the packet needs is free for a cycle between packets of one stream: another one must not keep
    // the input, or the path of injection, busy then.
    let line = Shape::new(&[(3, LINE)]);
    let ring = Shape::new(&[(4, RING)]);
    let around: Vec<_> = (0..4)
        .flat_map(|n| [[n, (n + 1) % 4, 1], [n, (n + 3) % 4, 1]])
        .collect();
    for phase in 0..36 {
        let mut took = vec![
            beside_streams(&line, &[[1, 2, 0], [0, 1, 1]], phase, [0, 2, 0]),
            beside_streams(&line, &[[0, 2, 0], [1, 2, 1]], phase, [1, 2, 0]),
        ];
        for src in 0..4 {
            let late = [src, (src + 2) % 4, 1];
            took.push(beside_streams(&ring, &around, phase, late));
        }
        assert!(
            took.iter().all(|&took| took <= 3200),
            "phase {phase}: {took:?}"
        );
    }
}
