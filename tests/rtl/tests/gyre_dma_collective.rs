// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives at the DMA engine: injection on class routes with room of their own, both deliveries (HW-5).

use gyre_layout::{CollOp, CollType, Collective, Kind};
use gyre_rtl_tests::dma_bench::{Bench, bench, ok, pairs, reg, route};

/// A bitwise or on a class route.
fn or(route: u8) -> Collective {
    Collective {
        op: CollOp::Or,
        dtype: CollType::U32,
        route,
    }
}

#[test]
fn hw5_collectives_are_delivered_as_puts_and_into_reception_fifos() {
    for mut bench in pairs() {
        let [a, b, _] = route::MEMBER;
        bench.machine.coll_to[usize::from(a)] = Some(1);
        bench.machine.coll_to[usize::from(b)] = Some(0);
        for (index, length) in [4, 28, 32, 508, 512, 516, 1500].into_iter().enumerate() {
            let counter = Some(index as u32);
            bench.contribute((0, 0), (1, 0), or(a), length);
            bench.contribute_put((0, 1), 1, or(a), length, counter);
            bench.contribute((1, 2), (0, 1), or(b), length);
            bench.contribute_put((1, 3), 0, or(b), length, counter);
            // Those of the torus use the same memory, slots and FIFOs beside them.
            bench.send((0, 4), (1, 1), length);
            bench.put((0, 5), 1, length, Some(100 + index as u32));
        }
        ok(bench.finish(100_000));
        let kind = usize::from(u8::from(Kind::Collective));
        for engine in &bench.machine.engines {
            assert_eq!((engine.sent[kind], engine.accepted[kind]), (20, 20));
            assert!(engine.reports.is_empty(), "{:?}", engine.reports);
        }
    }
}

#[test]
fn hw5_zero_byte_collective_lowers_its_counter_by_one() {
    let mut bench = bench(2, 31);
    let [a, ..] = route::MEMBER;
    bench.machine.coll_to[usize::from(a)] = Some(1);
    for index in 0..6 {
        bench.contribute_put((0, 2), 1, or(a), (700 * (index + 1)) & !3, None);
        bench.cover_last_put(1, index);
        bench.contribute_put((0, 2), 1, or(a), 0, Some(index));
    }
    ok(bench.finish(100_000));
    assert_eq!(bench.machine.engines[1].events[48], 6);
}

/// A route without room holds the FIFO that uses it and no other, on the same path or not.
#[test]
fn hw5_each_class_route_has_its_own_room() {
    for mut bench in pairs() {
        let [blocked, b, c] = route::MEMBER;
        bench.machine.coll_to[usize::from(b)] = Some(1);
        bench.machine.coll_to[usize::from(c)] = Some(1);
        bench.contribute_put((0, 0), 1, or(blocked), 20_000, None);
        for _ in 0..3 {
            bench.contribute((0, 1), (1, 0), or(b), 4000);
            bench.contribute_put((0, 2), 1, or(c), 4000, None);
            bench.put((0, 3), 1, 4000, None);
        }
        let count =
            |bench: &mut Bench, fifo| ok(bench.machine.read(0, reg::injection(fifo, reg::COUNT)));
        while [1, 2, 3].iter().any(|&fifo| count(&mut bench, fifo) != 3) {
            ok(bench.turn());
            assert!(bench.machine.cycle() < 50_000, "a full route holds others");
        }
        assert_eq!(
            count(&mut bench, 0),
            0,
            "nothing took the packets of the full route"
        );
        bench.machine.coll_to[usize::from(blocked)] = Some(1);
        ok(bench.finish(50_000));
    }
}

#[test]
fn hw5_class_routes_share_the_path_packet_by_packet() {
    let mut bench = bench(2, 5);
    for route in route::MEMBER {
        bench.machine.coll_to[usize::from(route)] = Some(1);
    }
    let [a, b, c] = route::MEMBER;
    let long = bench.contribute((0, 0), (1, 0), or(a), 100 * 512);
    let short = bench.contribute((0, 1), (1, 1), or(b), 4 * 512);
    bench.contribute_put((0, 2), 1, or(c), 4 * 512, None);
    while ok(bench.machine.read(0, reg::injection(1, reg::COUNT))) == 0
        || ok(bench.machine.read(0, reg::injection(2, reg::COUNT))) == 0
    {
        ok(bench.turn());
        assert!(
            bench.machine.cycle() < 10_000,
            "message {short} behind message {long}"
        );
    }
    assert_eq!(ok(bench.machine.read(0, reg::injection(0, reg::COUNT))), 0);
    ok(bench.finish(100_000));
}
