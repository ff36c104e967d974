// SPDX-License-Identifier: MIT OR Apache-2.0
//! DMA engines with ordered-dynamic flows over a network that keeps no order (HW-4).

use std::cell::RefCell;
use std::rc::Rc;

use gyre_layout::registers::{self, flow_page, flow_source, flow_target};
use gyre_layout::{
    Coord, CounterRef, Descriptor, ErrorReason, FlowPlace, HEADER_BYTES, Header, Kind, Source,
    VClass,
};
use gyre_rtl_tests::axi::Timing;
use gyre_rtl_tests::cases;
use gyre_rtl_tests::dma::{DMA1, DMA1_FLIT8, DMA2_FLIT32, DMA3, Model, coord};
use gyre_rtl_tests::dma_bench::{
    Bench, COUNTERS, INJECTION, RING, SLOT_BASE, SOFTWARE_FIFOS, Setup, bench, ok, random_length,
    reg, slot,
};
use gyre_rtl_tests::packet::{Flit, words};
use gyre_rtl_tests::routes::Shape;
use proptest::prelude::*;

/// Machines, by model: of 4, 1, 8 and 2 flows with windows of 8, 1, 16 and 4.
const MACHINES: &[(Model, &[(u8, bool)])] = &[
    (DMA1, &[(2, true)]),
    (DMA1, &[(4, true)]),
    (DMA1_FLIT8, &[(3, true)]),
    (DMA2_FLIT32, &[(2, true), (2, false)]),
    (DMA2_FLIT32, &[(3, true), (2, true)]),
    (DMA3, &[(2, true), (2, true), (1, true)]),
    (DMA3, &[(3, false), (1, true), (2, true)]),
];

const CLASSES: [VClass; 2] = [VClass::Request, VClass::Response];

/// Opens flows between random engines; how many were opened.
fn open_some(bench: &mut Bench, engines: usize, tries: usize) -> usize {
    let mut opened = 0;
    let mut tried = std::collections::BTreeSet::new();
    for _ in 0..tries {
        let rng = bench.machine.rng();
        let (from, to) = (rng.usize(0..engines), rng.usize(0..engines));
        let class = CLASSES[rng.usize(0..2)];
        if from != to && tried.insert((from, to, class)) {
            opened += usize::from(ok(bench.open_flow(from, to, class)).is_some());
        }
    }
    opened
}

/// Messages, puts and gets between random engines, by flows where there is one.
fn random_messages(bench: &mut Bench, engines: usize, count: usize) {
    for _ in 0..count {
        let rng = bench.machine.rng();
        let from = (rng.usize(0..engines), rng.usize(0..SOFTWARE_FIFOS));
        let to = rng.usize(0..engines);
        let length = random_length(rng);
        let counter = rng.bool().then(|| rng.u32(0..12));
        match rng.usize(0..10) {
            0..5 => {
                let rec = rng.usize(0..3);
                bench.send(from, (to, rec), length);
            }
            5..9 => {
                bench.put(from, to, length, counter);
            }
            _ => bench.get(from, to, &[length.min(900)], counter),
        }
    }
}

/// Nothing is under way on any flow, at either end.
fn assert_at_rest(bench: &mut Bench) {
    for [source, target] in ok(bench.flow_states()) {
        use flow_source::status::{FIRST, IN_USE, NEXT};
        assert_eq!(FIRST.get(source), NEXT.get(source));
        assert_eq!(FIRST.get(source), flow_target::status::NEXT.get(target));
        assert_eq!(
            IN_USE.get(source) | flow_target::status::IN_USE.get(target),
            0
        );
    }
}

proptest! {
    #![proptest_config(cases(40))]
    #[test]
    fn hw4_messages_and_puts_by_flows_arrive_whole_once_and_in_order(
        (model, dims) in prop::sample::select(MACHINES),
        flows in 1usize..20,
        messages in 1usize..140,
        read in 1u64..80,
        write in 1u64..120,
        willing in 0.3f64..=1.0,
        network in 0.1f64..=1.0,
        receive in 0.05f64..=1.0,
        seed: u64,
    ) {
        let shape = Shape::new(dims);
        let engines = shape.nodes();
        let timing = Timing { read: 0..read, write: 0..write, willing };
        let mut bench = ok(Bench::new(&Setup { model, shape, ring: 4096, timing, seed }));
        bench.machine.network = network;
        bench.receive = receive;
        open_some(&mut bench, engines, flows);
        random_messages(&mut bench, engines, messages);
        let run = bench.finish(800_000);
        prop_assert!(run.is_ok(), "{}", run.unwrap_err());
        let (mut sent, mut accepted) = ([0; 8], [0; 8]);
        for (index, engine) in bench.machine.engines.iter().enumerate() {
            prop_assert!(engine.reports.is_empty(), "engine {}: {:?}", index, engine.reports);
            prop_assert_eq!(engine.events[48], bench.counters_of(index));
            for kind in 0..8 {
                sent[kind] += engine.sent[kind];
                accepted[kind] += engine.accepted[kind];
            }
        }
        prop_assert_eq!(sent, accepted, "packets by kind");
        prop_assert_eq!(sent[1], bench.received as u64);
        assert_at_rest(&mut bench);
    }
}

/// Cycles, events and memories at the end of random messages by flows.
fn end_of(gated: bool, seed: u64) -> (u64, Vec<[u64; 64]>, Vec<Vec<u8>>) {
    let timing = Timing::new(0..60, 0..90, 0.7);
    let mut bench = ok(Bench::new(&Setup {
        model: DMA3,
        shape: Shape::new(&[(2, true), (2, true), (1, true)]),
        ring: 4096,
        timing,
        seed,
    }));
    bench.machine.gated = gated;
    bench.machine.network = 0.6;
    bench.receive = 0.3;
    assert!(open_some(&mut bench, 4, 20) > 0);
    random_messages(&mut bench, 4, 60);
    ok(bench.finish(400_000));
    let engines = &bench.machine.engines;
    (
        bench.machine.cycle(),
        engines.iter().map(|engine| engine.events).collect(),
        (engines.iter())
            .map(|engine| engine.memory.peek(0, 0x20_0000).to_vec())
            .collect(),
    )
}

#[test]
fn hw4_engines_with_flows_and_gated_idle_units_do_the_same() {
    for seed in 0..8 {
        assert!(end_of(true, seed) == end_of(false, seed), "seed {seed}");
    }
}

#[test]
fn hw4_puts_of_a_flow_complete_in_order() {
    for (model, dims) in [(DMA1, 1), (DMA2_FLIT32, 2), (DMA3, 3)] {
        let mut shape = vec![(1, true); dims - 1];
        shape.push((3, true));
        for seed in 0..4 {
            let timing = Timing::new(0..60, 0..300, 0.8);
            let setup = Setup {
                model,
                shape: Shape::new(&shape),
                ..Setup::ring(3, timing, seed)
            };
            let mut bench = ok(Bench::new(&setup));
            for from in [0, 2] {
                let flow = ok(bench.open_flow(from, 1, VClass::Response));
                assert!(flow.is_some());
                for index in 0..25 {
                    let length = [700, 64, 0, 512, 1][index as usize % 5];
                    bench.put((from, 0), 1, length, Some(from as u32 * 100 + index));
                }
            }
            ok(bench.finish(200_000));
            ok(bench.check_flow_order());
            assert_at_rest(&mut bench);
        }
    }
}

#[test]
fn hw4_a_full_reception_fifo_holds_up_its_flow_alone() {
    let mut bench = bench(3, 41);
    // By the fixed route.
    for _ in 0..20 {
        bench.send((0, 1), (1, 1), 700);
        bench.put((0, 1), 1, 700, None);
    }
    let (here, _) = ok(bench.open_flow(0, 1, VClass::Request)).expect("all are free");
    for _ in 0..30 {
        bench.send((0, 0), (1, 0), 512);
    }
    bench.ignore_reception(1, 0);
    for _ in 0..1_500 {
        ok(bench.turn());
    }
    // Two packets of 700 bytes each.
    assert_eq!(bench.received, 40, "the fixed route goes on");
    let count = ok(bench.machine.read(0, reg::injection(1, reg::COUNT)));
    assert_eq!(count, 40, "responses go on");
    let base = registers::FLOW - registers::page(0);
    let status = base + flow_page::source(here.into()) + flow_source::STATUS;
    let status = ok(bench.machine.read(0, status));
    let window =
        (flow_source::status::NEXT.get(status) + 32 - flow_source::status::FIRST.get(status)) % 32;
    assert_eq!(window, 8, "the window is full");
    assert!(ok(bench.machine.refuses(
        0,
        base + flow_page::source(here.into()),
        0
    )));
    // Everything has sunk: the links are free.
    for _ in 0..30 {
        ok(bench.take_one(1, 0));
        for _ in 0..60 {
            ok(bench.turn());
        }
    }
    ok(bench.finish(20_000));
    assert_at_rest(&mut bench);
}

#[test]
fn hw4_a_packet_dropped_at_the_source_leaves_no_gap_in_its_flow() {
    let mut bench = bench(2, 42);
    assert!(ok(bench.open_flow(0, 1, VClass::Request)).is_some());
    let source = Source {
        slot: slot::SOURCE,
        offset: 0x3_0000,
        length: 2000,
    };
    let line = (SLOT_BASE[0] + 0x3_0000 + 1300) & !63;
    let memory = &mut bench.machine.engines[0].memory;
    memory.read_errors.push(line..line + 64);
    let bad = Descriptor::memory_fifo(coord(1), source, 3).with_flow(0);
    bench.post(0, 2, &bad);
    for _ in 0..10 {
        bench.send((0, 0), (1, 0), 900);
        bench.send((0, 1), (1, 1), 900);
    }
    while bench.machine.engines[0].reports.is_empty() {
        ok(bench.turn());
        assert!(bench.machine.cycle() < 20_000, "does not halt");
    }
    bench.parked.push((0, 2));
    ok(bench.finish(50_000));
    let reason = |engine: usize| {
        let reports = &bench.machine.engines[engine].reports;
        reports.iter().map(|r| r.reason).collect::<Vec<_>>()
    };
    assert_eq!(reason(0), [ErrorReason::PayloadRead]);
    // Whole packets find their FIFO disabled, the others are cut.
    let cut = reason(1)
        .iter()
        .filter(|&&r| r == ErrorReason::PktTruncated)
        .count();
    assert!(cut > 0, "{:?}", reason(1));
    let other = reason(1)
        .into_iter()
        .filter(|&r| r != ErrorReason::PktTruncated);
    assert!(other.into_iter().all(|r| r == ErrorReason::PktRecFifo));
    assert_at_rest(&mut bench);
}

#[test]
fn hw4_puts_refused_at_the_target_hold_up_no_flow() {
    let mut bench = bench(2, 43);
    assert!(ok(bench.open_flow(0, 1, VClass::Response)).is_some());
    let source = Source {
        slot: slot::SOURCE,
        offset: 0,
        length: 64,
    };
    for index in 0..20 {
        // Right and wrong ones in turn: no right, beyond the slot.
        let slot = [slot::SOURCE, slot::SMALL][index as usize % 2];
        bench.post(
            0,
            0,
            &Descriptor::put(coord(1), source, slot, 90).with_flow(0),
        );
        bench.put((0, 0), 1, 300, Some(index));
    }
    ok(bench.finish(50_000));
    let reports = std::mem::take(&mut bench.machine.engines[1].reports);
    let reasons: Vec<_> = reports.iter().map(|r| r.reason).collect();
    assert_eq!(reasons.len(), 20);
    let slots = reasons
        .iter()
        .filter(|&&r| r == ErrorReason::PktSlot)
        .count();
    let bounds = reasons
        .iter()
        .filter(|&&r| r == ErrorReason::PktBounds)
        .count();
    assert_eq!((slots, bounds), (10, 10), "{reasons:?}");
    ok(bench.check_flow_order());
    assert_at_rest(&mut bench);
}

/// A packet from engine 1 to engine 0 that names a flow, as flits.
fn packet(kind: Kind, len: u16, flow: Option<FlowPlace>, target: u16, seq: u16) -> Vec<Flit> {
    let class = match kind {
        Kind::MemFifo => VClass::Request,
        _ => VClass::Response,
    };
    let header = Header {
        dst: coord(0),
        vclass: class,
        src: coord(1),
        deposit: false,
        dynamic_route: flow.is_some(),
        kind,
        len,
        hint: 0,
        order: 0,
        flow,
        first: true,
        last: true,
        seq,
        target,
        offset: 0,
        aux: 0,
        sw0: 0,
        sw1: 0,
    };
    let mut bytes = header.encode().expect("every value fits").to_vec();
    bytes.resize(HEADER_BYTES + usize::from(len).next_multiple_of(32), 0x5a);
    let flits: Vec<_> = bytes.chunks(16).map(words).collect();
    let count = flits.len();
    let flit = |(index, data)| Flit {
        data,
        head: index == 0,
        tail: index + 1 == count,
        err: false,
        dbg: 9,
    };
    flits.into_iter().enumerate().map(flit).collect()
}

#[test]
fn hw4_packets_of_foreign_flows_are_reported_and_change_nothing() {
    let place = |flow, seq| Some(FlowPlace { flow, seq });
    let own = slot::TARGET;
    for (name, class, flits) in [
        ("closed", 0, packet(Kind::MemFifo, 64, place(3, 0), 0, 0)),
        ("closed", 1, packet(Kind::Put, 64, place(3, 0), own, 0)),
        ("absent", 0, packet(Kind::MemFifo, 512, place(7, 0), 0, 0)),
        ("absent", 1, packet(Kind::Put, 512, place(7, 0), own, 0)),
        ("other class", 1, packet(Kind::Put, 64, place(0, 0), own, 0)),
        ("window", 0, packet(Kind::MemFifo, 64, place(0, 8), 0, 0)),
        ("window", 0, packet(Kind::MemFifo, 0, place(0, 31), 0, 0)),
        ("news of no flow", 1, packet(Kind::Control, 0, None, 2, 1)),
        ("news of no flow", 1, packet(Kind::Control, 0, None, 900, 1)),
        ("news of nothing", 1, packet(Kind::Control, 0, None, 0, 0)),
        ("too much", 1, packet(Kind::Control, 0, None, 0, 1)),
    ] {
        let mut bench = bench(2, 44);
        // Flow 0 of engine 0 comes from and leads to engine 1; messages of both follow.
        for (from, to) in [(0, 1), (1, 0)] {
            let pair = ok(bench.open_flow(from, to, VClass::Request));
            assert_eq!(pair, Some((0, 0)));
        }
        bench.machine.deliver(0, 1, class, &flits);
        ok(bench.machine.settle(2_000));
        let reports = std::mem::take(&mut bench.machine.engines[0].reports);
        let reasons: Vec<_> = reports.iter().map(|r| r.reason).collect();
        assert_eq!(reasons, [ErrorReason::PktFlow], "{name}");
        for _ in 0..12 {
            bench.send((1, 0), (0, 0), 600);
            bench.send((0, 0), (1, 0), 600);
        }
        ok(bench.finish(20_000));
        assert!(bench.machine.engines[0].reports.is_empty(), "{name}");
        assert_at_rest(&mut bench);
    }
}

#[test]
fn hw4_descriptors_without_their_flow_halt_their_fifo() {
    let source = Source {
        slot: slot::SOURCE,
        offset: 0,
        length: 64,
    };
    let message = Descriptor::memory_fifo(coord(1), source, 0);
    let fixed = Descriptor {
        dynamic_route: false,
        ..message.with_flow(0)
    };
    let here = Descriptor::memory_fifo(coord(0), source, 0).with_flow(0);
    for (name, bad) in [
        ("closed", message.with_flow(1)),
        ("absent", message.with_flow(7)),
        ("fixed route", fixed),
        (
            "other node",
            Descriptor {
                dst: coord(2),
                ..message.with_flow(0)
            },
        ),
        ("to itself", here),
        (
            "other class",
            Descriptor::put(coord(1), source, slot::TARGET, 0).with_flow(0),
        ),
    ] {
        let mut bench = bench(3, 45);
        let pair = ok(bench.open_flow(0, 1, VClass::Request));
        assert_eq!(pair.map(|pair| pair.0), Some(0));
        bench.post(0, 2, &bad);
        bench.send((0, 0), (1, 0), 900);
        while bench.machine.engines[0].reports.is_empty() {
            ok(bench.turn());
            assert!(bench.machine.cycle() < 20_000, "{name}: does not halt");
        }
        bench.parked.push((0, 2));
        ok(bench.finish(20_000));
        let report = bench.machine.engines[0].reports[0];
        assert_eq!(report.reason, ErrorReason::DescFlow, "{name}");
        assert_eq!(report.info, INJECTION + 2 * RING, "{name}");
    }
}

#[test]
fn hw4_flows_are_opened_to_other_nodes_of_the_machine_alone() {
    let mut bench = bench(3, 46);
    let base = registers::FLOW - registers::page(0);
    let params = ok(bench.machine.read(0, base + flow_page::PARAMS));
    assert_eq!(flow_page::params::FLOWS.get(params), 4);
    assert_eq!(flow_page::params::WINDOW.get(params), 8);
    assert!(ok(bench.machine.refuses(0, base + flow_page::PARAMS, 0)));
    for register in [flow_page::source(0), flow_page::target(0)] {
        let open = |peer: Coord| {
            let peer = peer.pack().expect("fits");
            flow_source::ctrl::OPEN.put(1) | flow_source::ctrl::PEER.put(peer.into())
        };
        for bad in [coord(0), coord(3), Coord([1, 1, 0, 0, 0])] {
            assert!(
                ok(bench.machine.refuses(0, base + register, open(bad))),
                "{bad:?}"
            );
        }
        ok(bench.machine.write(0, base + register, open(coord(2))));
        assert_eq!(ok(bench.machine.read(0, base + register)), open(coord(2)));
        assert!(ok(bench.machine.refuses(
            0,
            base + register,
            open(coord(1))
        )));
        assert!(
            ok(bench.machine.refuses(0, base + register + 8, 0)),
            "STATUS"
        );
        ok(bench.machine.write(0, base + register, 0));
        assert_eq!(ok(bench.machine.read(0, base + register)), 0);
        assert!(
            ok(bench.machine.refuses(0, base + register + 0x40, 0)),
            "absent"
        );
    }
}

/// A flow from engine 0 to engine 1 loses a packet in the middle of a descriptor that is longer than its window; both ends are
/// closed by force and opened again with another epoch, and what was lost turns up after all.
fn closes_by_force(class: VClass, seed: u64) {
    let mut bench = bench(2, seed);
    assert_eq!(ok(bench.open_flow(0, 1, class)), Some((0, 0)));
    let kept = Rc::new(RefCell::new(Vec::new()));
    let (lost, mut heads) = (Rc::clone(&kept), 0);
    bench.machine.tap = Some(Box::new(move |engine, _, pool, flit| {
        if engine != 0 || pool != usize::from(u8::from(class)) {
            return vec![*flit];
        }
        heads += usize::from(flit.head);
        if heads != 3 {
            return vec![*flit];
        }
        lost.borrow_mut().push(*flit);
        Vec::new()
    }));
    // Of the messages two packets get into a reception FIFO that nobody empties.
    bench.ignore_reception(1, 0);
    let source = Source {
        slot: slot::SOURCE,
        offset: 0,
        length: 20 * 512,
    };
    let counter = CounterRef {
        slot: slot::COUNTERS,
        index: 200,
    };
    let long = match class {
        VClass::Request => Descriptor::memory_fifo(coord(1), source, 0),
        _ => Descriptor::put(coord(1), source, slot::TARGET, 0xc_0000).with_counter(counter),
    };
    let cell = COUNTERS + 8 * u64::from(counter.index);
    let bytes = u64::from(source.length).to_le_bytes();
    bench.machine.engines[1].memory.poke(cell, &bytes);
    bench.post(0, 0, &long.with_flow(0));
    for _ in 0..800 {
        ok(bench.turn());
    }
    bench.machine.tap = None;
    let base = registers::FLOW - registers::page(0);
    let ends = [
        (0, base + flow_page::source(0)),
        (1, base + flow_page::target(0)),
    ];
    for (engine, ctrl) in ends {
        let status = ok(bench.machine.read(engine, ctrl + flow_source::STATUS));
        assert_eq!(flow_source::status::IN_USE.get(status), 1, "{status:#x}");
        assert!(ok(bench.machine.refuses(engine, ctrl, 0)), "closed in use");
    }
    for (engine, ctrl) in ends {
        let force = flow_source::ctrl::FORCE.put(1);
        assert!(
            !ok(bench.machine.refuses(engine, ctrl, force)),
            "the end at engine {engine} cannot be closed"
        );
    }
    for _ in 0..100 {
        ok(bench.turn());
    }
    for (engine, ctrl) in ends {
        assert_eq!(ok(bench.machine.read(engine, ctrl)), 0, "closed");
        let status = ok(bench.machine.read(engine, ctrl + flow_source::STATUS));
        assert_eq!(status, 0, "of engine {engine}");
    }
    // The descriptor that was cut short halts its FIFO, and software skips it.
    let status = reg::injection(0, reg::STATUS);
    let halt = ok(bench.machine.read(0, status));
    assert_eq!(halt & 1, 1, "halted");
    assert_eq!(halt >> 8 & 0xff, u8::from(ErrorReason::DescFlow).into());
    ok(bench.machine.write(0, status, 1));
    bench.skipped(0, 0);
    ok(bench.machine.settle(2_000));
    for engine in 0..2 {
        let reports = &bench.machine.engines[engine].reports;
        assert_eq!(reports.len(), 0, "engine {engine}: {reports:?}");
    }

    if class == VClass::Response {
        let left = bench.machine.engines[1].memory.word(cell);
        assert_eq!(left, 18 * 512, "of what was behind the gap none counts");
        let base = SLOT_BASE[usize::from(slot::SOURCE)];
        let length = source.length as usize;
        let sent = bench.machine.engines[0].memory.peek(base, length).to_vec();
        let target = SLOT_BASE[usize::from(slot::TARGET)] + 0xc_0000;
        let memory = &mut bench.machine.engines[1].memory;
        // Payload is written as it comes; what is behind the gap lies there without being counted.
        let found = memory.peek(target, length).chunks(512);
        for (packet, (found, sent)) in found.zip(sent.chunks(512)).enumerate() {
            let (landed, nothing) = (found == sent, found.iter().all(|&byte| byte == 0));
            let as_it_must = match packet {
                0 | 1 => landed,
                2 => nothing,
                _ => landed || nothing,
            };
            assert!(as_it_must, "packet {packet}");
        }
        // From here on whatever turns up in this place is a stray byte.
        memory.poke(target, &vec![0; length]);
    }
    bench.machine.engines[1].memory.poke(cell, &[0; 8]);

    let [here, there] = [1, 0].map(|peer: usize| {
        flow_source::ctrl::PEER.put(coord(peer).pack().expect("a node").into())
            | flow_source::ctrl::VCLASS.put(u8::from(class).into())
            | flow_source::ctrl::EPOCH.put(5)
            | flow_source::ctrl::OPEN.put(1)
    });
    ok(bench.machine.write(1, ends[1].1, there));
    ok(bench.machine.write(0, ends[0].1, here));
    // Nothing of the old flow is taken for one of the new: neither the packet nor news of what was released.
    let stale = std::mem::take(&mut *kept.borrow_mut());
    assert_eq!(stale.len(), 34, "a packet");
    bench
        .machine
        .deliver(1, 1, usize::from(u8::from(class)), &stale);
    let news = packet(Kind::Control, 0, None, 0, 1);
    bench.send((0, 1), (1, 1), 64);
    bench.put((0, 1), 1, 64, None);
    bench.machine.deliver(0, 1, 1, &news);
    ok(bench.machine.settle(2_000));
    for engine in 0..2 {
        let reports = std::mem::take(&mut bench.machine.engines[engine].reports);
        let reasons: Vec<_> = reports.iter().map(|r| r.reason).collect();
        assert_eq!(reasons, [ErrorReason::PktFlow], "engine {engine}");
    }
    for index in 0..40 {
        bench.send((0, index % 3), (1, 1 + index % 2), 700);
        // From one FIFO, since between FIFOs there is no order.
        bench.put((0, 0), 1, 700, Some(index as u32));
    }
    ok(bench.finish(100_000));
    ok(bench.check_flow_order());
    assert_at_rest(&mut bench);
}

#[test]
fn x5_a_flow_that_lost_a_packet_is_closed_by_force_at_both_ends() {
    for class in CLASSES {
        for seed in 70..76 {
            closes_by_force(class, seed);
        }
    }
}
