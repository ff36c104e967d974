// SPDX-License-Identifier: MIT OR Apache-2.0
//! DMA engines in loop-back and among each other: messages, rings, turns, visibility (HW-1).

use std::cell::RefCell;
use std::rc::Rc;

use gyre_layout::{Descriptor, HEADER_BYTES, Header, Kind, Rmw, RmwOp, Source, VClass};
use gyre_rtl_tests::axi::Timing;
use gyre_rtl_tests::cases;
use gyre_rtl_tests::dma::{DMA1, DMA1_FLIT8, DMA2_FLIT32, DMA3, Model, Trouble, coord};
use gyre_rtl_tests::dma_bench::{
    Bench, COUNTERS, REMOTE_FIFO, RING, SLOT_BASE, SOFTWARE_FIFOS, Setup, TARGET, bench, ok, pairs,
    random_length, reg, slot,
};
use gyre_rtl_tests::packet::{Flit, Packet};
use gyre_rtl_tests::routes::Shape;
use proptest::prelude::*;

/// Random messages of all kinds between all engines, each engine to itself included.
fn random_messages(bench: &mut Bench, engines: usize, count: usize) {
    for _ in 0..count {
        let rng = bench.machine.rng();
        let from = (rng.usize(0..engines), rng.usize(0..SOFTWARE_FIFOS));
        let to = rng.usize(0..engines);
        let length = random_length(rng);
        let counter = rng.bool().then(|| rng.u32(0..12));
        match rng.usize(0..10) {
            0..4 => {
                let rec = rng.usize(0..3);
                let class = VClass::MESSAGES[rng.usize(0..VClass::MESSAGES.len())];
                bench.send_in(class, from, (to, rec), length);
            }
            4..8 => {
                bench.put(from, to, length, counter);
            }
            _ => {
                let lengths: Vec<u32> = (0..rng.usize(1..=8)).map(|_| rng.u32(0..900)).collect();
                bench.get(from, to, &lengths, counter);
            }
        }
    }
}

/// Engines of one, two and three dimensions, of flits of 8, 16 and 32 bytes, in rings and lines.
const MACHINES: &[(Model, &[(u8, bool)])] = &[
    (DMA1, &[(1, true)]),
    (DMA1, &[(2, true)]),
    (DMA1, &[(3, true)]),
    (DMA1_FLIT8, &[(2, false)]),
    (DMA1_FLIT8, &[(4, true)]),
    (DMA2_FLIT32, &[(2, true), (2, true)]),
    (DMA2_FLIT32, &[(1, true), (3, true)]),
    (DMA2_FLIT32, &[(3, false), (2, true)]),
    (DMA3, &[(1, true), (1, true), (1, true)]),
    (DMA3, &[(2, true), (2, true), (2, true)]),
    (DMA3, &[(3, true), (2, false), (1, true)]),
    (DMA3, &[(1, false), (1, true), (4, false)]),
];

proptest! {
    #![proptest_config(cases(48))]
    #[test]
    fn hw1_random_messages_of_all_kinds_arrive_whole_and_in_order(
        (model, dims) in prop::sample::select(MACHINES),
        messages in 1usize..160,
        ring in prop::sample::select(&[4096u64, 8192]),
        read in 1u64..80,
        write in 1u64..120,
        willing in 0.3f64..=1.0,
        network in 0.2f64..=1.0,
        receive in 0.05f64..=1.0,
        seed: u64,
    ) {
        let shape = Shape::new(dims);
        let engines = shape.nodes();
        let timing = Timing { read: 0..read, write: 0..write, willing };
        let mut bench = ok(Bench::new(&Setup { model, shape, ring, timing, seed }));
        bench.machine.network = network;
        bench.receive = receive;
        random_messages(&mut bench, engines, messages);
        let run = bench.finish(400_000);
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
    }
}

/// Cycles, events and memories at the end of random messages.
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
    random_messages(&mut bench, 4, 60);
    ok(bench.finish(400_000));
    let engines = &bench.machine.engines;
    (
        bench.machine.cycle(),
        engines.iter().map(|engine| engine.events).collect(),
        engines
            .iter()
            .map(|engine| engine.memory.peek(0, 0x20_0000).to_vec())
            .collect(),
    )
}

#[test]
fn hw1_engines_whose_idle_units_have_no_clock_do_the_same() {
    for seed in 0..8 {
        assert!(end_of(true, seed) == end_of(false, seed), "seed {seed}");
    }
}

#[test]
fn hw1_every_payload_length_arrives_in_messages_and_puts() {
    for mut bench in pairs() {
        for length in 0..=512 {
            let (from, fifo) = (length as usize % 2, length as usize % SOFTWARE_FIFOS);
            bench.send((from, fifo), (1 - from, fifo % 3), length);
            bench.put((from, (fifo + 1) % SOFTWARE_FIFOS), 1 - from, length, None);
            // And to itself.
            bench.send(
                (from, (fifo + 2) % SOFTWARE_FIFOS),
                (from, fifo % 3),
                length,
            );
            bench.put((from, (fifo + 3) % SOFTWARE_FIFOS), from, length, None);
        }
        ok(bench.finish(400_000));
    }
}

#[test]
fn hw1_every_source_and_target_alignment_in_a_line_of_memory() {
    for mut bench in pairs() {
        for case in 0..64 * 64u64 {
            let (from, at) = (case / 64, case % 64);
            let source = Source {
                slot: slot::SOURCE,
                offset: (from + 64 - SLOT_BASE[usize::from(slot::SOURCE)] % 64) % 64,
                length: bench.machine.rng().u32(1..=140),
            };
            let to = case as usize % 3 % 2;
            bench.put_aligned((0, case as usize % SOFTWARE_FIFOS), to, source, (64, at));
        }
        ok(bench.finish(400_000));
    }
}

#[test]
fn hw1_packets_cross_pages_of_4_kib_after_any_of_their_bytes() {
    for mut bench in pairs() {
        for case in 0..180u64 {
            // Up to the boundary, and beyond it, at the source; then at the target.
            let (before, length) = (case * 37 % 513, 512);
            let source = Source {
                slot: slot::SOURCE,
                offset: 0x2_0000 - SLOT_BASE[usize::from(slot::SOURCE)] % 0x1000 - before,
                length,
            };
            let residue = 0x1000 - case * 101 % 513;
            bench.put_aligned(
                (0, case as usize % SOFTWARE_FIFOS),
                1,
                source,
                (0x1000, residue),
            );
        }
        ok(bench.finish(200_000));
    }
}

#[test]
fn hw1_ranges_may_reach_the_last_byte_of_their_slot() {
    let mut bench = bench(1, 12);
    let whole = Source {
        slot: slot::SMALL,
        offset: 0,
        length: 100,
    };
    bench.put_from((0, 0), 0, whole);
    let last = Source {
        slot: slot::SMALL,
        offset: 99,
        length: 1,
    };
    bench.put_from((0, 1), 0, last);
    bench.put((0, 2), 0, 64, Some(511));
    ok(bench.finish(10_000));
    // The last 64 bytes of the small slot, as a target; they are not the scoreboard's.
    let source = Source {
        slot: slot::SOURCE,
        offset: 0,
        length: 64,
    };
    bench.post(0, 0, &Descriptor::put(coord(0), source, slot::SMALL, 36));
    for _ in 0..50 {
        ok(bench.turn());
    }
    let memory = &bench.machine.engines[0].memory;
    let base = SLOT_BASE[usize::from(slot::SMALL)];
    let sent = memory.peek(SLOT_BASE[usize::from(slot::SOURCE)], 64);
    assert_eq!(memory.peek(base + 36, 64), sent);
    assert!(bench.machine.engines[0].reports.is_empty());
}

#[test]
fn hw1_fifo_reads_the_slots_of_its_owner() {
    let mut bench = bench(1, 13);
    let ctrl = reg::injection(4, reg::CTRL);
    ok(bench.machine.write(0, ctrl, 0));
    ok(bench.machine.write(0, ctrl, 1 | 5 << 4 | 1 << 8));
    let foreign = Source {
        slot: slot::FOREIGN,
        offset: 5,
        length: 1000,
    };
    bench.put_from((0, 4), 0, foreign);
    ok(bench.finish(10_000));
    assert!(bench.machine.engines[0].reports.is_empty());
}

#[test]
fn hw1_rings_wrap_many_times() {
    for ring in [4096, 8192] {
        let timing = Timing::new(5..40, 5..60, 0.9);
        let setup = Setup::ring(2, timing, 4);
        let mut bench = ok(Bench::new(&Setup { ring, ..setup }));
        // 200 descriptors in a ring of 64 or 128, 150 KiB through each reception ring, and remote gets of
        // three descriptors, which lie across pages and the end of their ring.
        for index in 0..200 {
            bench.send((0, 1), (1, 2), 40 * (index % 20));
            bench.send((1, 5), (0, 0), 512);
            bench.get((0, 2), 1, &[64, 1, 0], None);
        }
        bench.receive = 0.5;
        ok(bench.finish(400_000));
        assert!(bench.machine.engines[1].events[2] >= 200);
    }
}

#[test]
fn hw1_responses_pass_requests_that_wait_for_a_full_reception_fifo() {
    for engines in [1, 2] {
        let mut bench = bench(engines, 5);
        let to = engines - 1;
        bench.receive = 0.0;
        for _ in 0..40 {
            bench.send((0, 0), (to, 1), 512);
        }
        let full = |tail| tail > RING - 544 && tail <= RING;
        while !full(ok(bench.machine.read(to, reg::reception(1, reg::TAIL)))) {
            ok(bench.turn());
            assert!(bench.machine.cycle() < 10_000, "the ring does not fill");
        }
        ok(bench.machine.run(100));
        let status = ok(bench.machine.read(to, reg::reception(1, reg::STATUS)));
        assert_eq!(status & 0b11, 0b11, "not empty, and a packet waited");
        // Puts of another FIFO go by, and complete.
        for _ in 0..20 {
            bench.put((0, 3), to, 700, None);
        }
        for _ in 0..400 {
            ok(bench.turn());
        }
        let count = ok(bench.machine.read(0, reg::injection(3, reg::COUNT)));
        assert_eq!(count, 20, "{engines} engines");
        bench.receive = 1.0;
        ok(bench.finish(100_000));
    }
}

#[test]
fn hw1_no_class_waits_for_another_at_a_full_reception_fifo() {
    for engines in [1, 2] {
        for stuck in VClass::MESSAGES {
            let mut bench = bench(engines, 5);
            let to = engines - 1;
            bench.ignore_reception(to, 1);
            for _ in 0..40 {
                bench.send_in(stuck, (0, 0), (to, 1), 512);
            }
            ok(bench.machine.run(10));
            while ok(bench.machine.read(to, reg::reception(1, reg::STATUS))) & 0b10 == 0 {
                ok(bench.turn());
                assert!(bench.machine.cycle() < 10_000, "no packet waits for room");
            }
            ok(bench.machine.run(2_000));
            // From here on nothing of that class moves, and everything else does.
            let tail = ok(bench.machine.read(to, reg::reception(1, reg::TAIL)));
            let others = VClass::MESSAGES.iter().filter(|&&class| class != stuck);
            for (fifo, &class) in others.enumerate() {
                for _ in 0..20 {
                    bench.send_in(class, (0, 1 + fifo), (to, 2), 700);
                }
            }
            for _ in 0..20 {
                bench.put((0, 3), to, 700, None);
            }
            for _ in 0..600 {
                ok(bench.turn());
            }
            for fifo in 1..4 {
                let count = ok(bench.machine.read(0, reg::injection(fifo, reg::COUNT)));
                assert_eq!(count, 20, "{stuck:?} stuck: FIFO {fifo}");
            }
            assert_eq!(
                bench.received, 80,
                "{stuck:?} stuck: two packets a message of the others"
            );
            let now = ok(bench.machine.read(to, reg::reception(1, reg::TAIL)));
            assert_eq!(now, tail);
            bench.heed_reception(to, 1);
            ok(bench.finish(100_000));
        }
    }
}

#[test]
fn hw1_system_precedes_priority_and_priority_precedes_others() {
    let mut bench = bench(2, 8);
    let heads = Rc::new(RefCell::new(Vec::new()));
    let seen = heads.clone();
    bench.machine.tap = Some(Box::new(move |engine, _, class, flit| {
        if flit.head && engine == 0 {
            seen.borrow_mut().push(class);
        }
        vec![*flit]
    }));
    for fifo in 0..2 {
        bench.send((0, fifo), (1, 0), 20_000);
        bench.send_in(VClass::Priority, (0, 2 + fifo), (1, 1), 20_000);
        bench.send_in(VClass::System, (0, 4 + fifo), (1, 2), 20_000);
    }
    // The buffers of all classes fill, and then lose a flit a cycle alike: FIFOs of all classes may go on at once.
    bench.machine.network = 0.0;
    for _ in 0..300 {
        ok(bench.turn());
    }
    bench.machine.network = 1.0;
    ok(bench.finish(100_000));
    // Two packets of each class were in the buffers already.
    let heads = heads.borrow();
    for turn in heads[6..66].chunks(3) {
        assert_eq!(turn, [3, 2, 0], "{heads:?}");
    }
}

/// Memories where cycles are counted: injection buffers of two packets cover a short latency only.
fn prompt() -> Timing {
    Timing::new(8..9, 20..21, 1.0)
}

/// Cycles until 40 messages of class system without payload have found their places, while as many responses arrive by
/// every link of the engine as come; whether responses were left then.
fn cycles_of_system_messages(responses: usize) -> (u64, bool) {
    let shape = Shape::new(&[(2, true), (2, true), (2, true)]);
    let setup = Setup {
        model: DMA3,
        shape: shape.clone(),
        ring: RING,
        timing: prompt(),
        seed: 9,
    };
    let machine = &mut ok(Bench::new(&setup)).machine;
    let mut rng = fastrand::Rng::with_seed(9);
    let mut packet = |class: VClass, target: u16| {
        let mut packet = Packet::random(&shape, 1, (1, 0), class as usize, 0, false, &mut rng);
        let mut header =
            Header::decode(packet.bytes[..].try_into().expect("no payload")).expect("is one");
        (header.target, header.offset, header.aux) = (target, 0, 0);
        packet.bytes = header.encode().expect("every value fits").to_vec();
        packet.flits(DMA3.flit_bytes)
    };
    for path in 0..6 {
        for _ in 0..responses {
            let response = packet(VClass::Response, slot::SMALL);
            machine.deliver(0, path, VClass::Response as usize, &response);
        }
    }
    for _ in 0..40 {
        machine.deliver(0, 0, VClass::System as usize, &packet(VClass::System, 0));
    }
    let start = machine.cycle();
    while ok(machine.read(0, reg::reception(0, reg::TAIL))) < 40 * HEADER_BYTES as u64 {
        assert!(machine.cycle() < start + 10_000, "no place for messages");
    }
    (machine.cycle() - start, !machine.quiet())
}

#[test]
fn hw1_responses_of_all_links_do_not_hold_up_system_messages() {
    let (alone, left) = cycles_of_system_messages(0);
    assert!(!left);
    let (together, left) = cycles_of_system_messages(200);
    assert!(left, "responses are too few to be in the way");
    assert!(
        together < alone + alone / 4,
        "{alone} alone, {together} together"
    );
}

/// A packet of `len` bytes from engine 1 to engine 0 of a machine, as flits.
fn packet_of(shape: &Shape, class: VClass, target: u16, len: u16) -> Vec<Flit> {
    let mut rng = fastrand::Rng::with_seed(u64::from(len));
    let mut packet = Packet::random(shape, 1, (1, 0), class as usize, len, false, &mut rng);
    let header = packet.bytes[..HEADER_BYTES].try_into();
    let mut header = Header::decode(header.expect("a header")).expect("is one");
    (header.target, header.offset, header.aux) = (target, 0, 0);
    let header = header.encode().expect("every value fits");
    packet.bytes[..HEADER_BYTES].copy_from_slice(&header);
    packet.flits(DMA3.flit_bytes)
}

/// A read-modify-write from engine 1 to engine 0 of a machine, as flits: adds 5 to the word at 0x800 of the counters.
fn rmw_packet(shape: &Shape) -> Vec<Flit> {
    let mut rng = fastrand::Rng::with_seed(3);
    let class = VClass::Request as usize;
    let mut packet = Packet::random(shape, 1, (1, 0), class, 32, false, &mut rng);
    let header = packet.bytes[..HEADER_BYTES].try_into();
    let header = Header {
        kind: Kind::RmwReq,
        target: slot::COUNTERS,
        offset: 0x800,
        // Of eight bytes, by owner 0.
        aux: 1 << 31,
        ..Header::decode(header.expect("a header")).expect("is one")
    };
    let add = Rmw {
        op: RmwOp::Add,
        wide: true,
        value: 5,
        test: None,
        fetch: None,
    };
    let descriptor = Descriptor::rmw(header.src, slot::COUNTERS, 0x800, add);
    let descriptor = descriptor.encode().expect("every value fits");
    let header = header.encode().expect("every value fits");
    packet.bytes = [&header[..], &descriptor[32..]].concat();
    packet.flits(DMA3.flit_bytes)
}

/// Descriptor behind puts.
#[derive(Clone, Copy, PartialEq)]
enum Behind {
    Message,
    ReadModifyWrite,
}

/// Cycles until a message of 512 B, or a read-modify-write, is in memory that comes by a link behind which `puts` puts of 512 B
/// have come, to memory that takes one beat of 64 B in `beat` cycles; whether puts are left then.
fn cycles_beside_puts(puts: usize, beat: u64, behind: Behind) -> (u64, bool) {
    let shape = Shape::new(&[(2, true), (2, true), (2, true)]);
    let timing = Timing {
        willing: 1.0 / beat as f64,
        ..prompt()
    };
    let setup = Setup {
        model: DMA3,
        shape: shape.clone(),
        ring: RING,
        timing,
        seed: 10,
    };
    let machine = &mut ok(Bench::new(&setup)).machine;
    let put = packet_of(&shape, VClass::Response, slot::TARGET, 512);
    for _ in 0..puts {
        machine.deliver(0, 0, VClass::Response as usize, &put);
    }
    // Puts have filled the buffers.
    ok(machine.run(1_000));
    let request = match behind {
        Behind::Message => packet_of(&shape, VClass::Request, 0, 512),
        Behind::ReadModifyWrite => rmw_packet(&shape),
    };
    machine.deliver(0, 0, VClass::Request as usize, &request);
    let start = machine.cycle();
    let tail = reg::reception(0, reg::TAIL);
    let word = COUNTERS + 0x800;
    let before = machine.engines[0].memory.word(word);
    while machine.cycle() < start + 60_000
        && ok(machine.read(0, tail)) == 0
        && machine.engines[0].memory.word(word) == before
    {}
    (machine.cycle() - start, !machine.quiet())
}

#[test]
fn x5_puts_that_never_end_hold_a_message_up_for_a_bounded_time() {
    for beat in [1, 4, 10] {
        let (cycles, left) = cycles_beside_puts(400, beat, Behind::Message);
        assert!(left, "every {beat} cycles: no put was left after {cycles}");
        // 8 puts go first, and the three that are in the buffers, each of 9 or 10 bursts' beats; as much again for chance.
        let bound = 2 * 11 * 10 * beat + 200;
        assert!(cycles <= bound, "every {beat} cycles: {cycles}");
    }
}

#[test]
fn x5_endless_puts_delay_a_read_modify_write_by_a_bounded_time() {
    for beat in [1, 4, 10] {
        let (cycles, left) = cycles_beside_puts(400, beat, Behind::ReadModifyWrite);
        assert!(left, "every {beat} cycles: no put was left after {cycles}");
        // As above: puts that were collected before it are in memory first.
        let bound = 2 * 11 * 10 * beat + 200;
        assert!(cycles <= bound, "every {beat} cycles: {cycles}");
    }
}

/// Cycles until 40 messages without payload that come by one link have found their places, while `puts` puts and as many
/// messages of each of the classes in `above`, all without payload, come by every link; whether something is left then.
fn cycles_of_messages(puts: usize, above: &[VClass]) -> (u64, bool) {
    let shape = Shape::new(&[(2, true), (2, true), (2, true)]);
    let setup = Setup {
        model: DMA3,
        shape: shape.clone(),
        ring: RING,
        timing: prompt(),
        seed: 9,
    };
    let machine = &mut ok(Bench::new(&setup)).machine;
    let put = packet_of(&shape, VClass::Response, slot::SMALL, 0);
    for path in 0..6 {
        for _ in 0..puts {
            machine.deliver(0, path, VClass::Response as usize, &put);
        }
        for &class in above {
            let message = packet_of(&shape, class, 1, 0);
            for _ in 0..puts {
                machine.deliver(0, path, class as usize, &message);
            }
        }
    }
    let message = packet_of(&shape, VClass::Request, 0, 0);
    for _ in 0..40 {
        machine.deliver(0, 0, VClass::Request as usize, &message);
    }
    let start = machine.cycle();
    while ok(machine.read(0, reg::reception(0, reg::TAIL))) < 40 * HEADER_BYTES as u64 {
        assert!(machine.cycle() < start + 20_000, "no place for messages");
        let read = ok(machine.read(0, reg::reception(1, reg::TAIL)));
        ok(machine.write(0, reg::reception(1, reg::HEAD), read));
    }
    (machine.cycle() - start, !machine.quiet())
}

#[test]
fn x5_puts_of_all_links_hold_messages_up_for_a_bounded_time() {
    let (alone, left) = cycles_of_messages(0, &[]);
    assert!(!left);
    let (together, left) = cycles_of_messages(1_000, &[]);
    assert!(left, "puts are too few to be in the way: {together}");
    // Of each message 8 puts of its link are collected first, and 8 look-ups of the others go before its own.
    assert!(
        together <= alone + 40 * (8 * 4 + 9),
        "{alone} alone, {together} together"
    );
}

#[test]
fn hw1_x5_puts_and_higher_classes_delay_others_by_a_bounded_time() {
    let (alone, _) = cycles_of_messages(0, &[]);
    let (together, left) = cycles_of_messages(2_000, &[VClass::Priority, VClass::System]);
    assert!(
        left,
        "what comes is too little to be in the way: {together}"
    );
    // As above; and two look-ups of higher classes in every three cycles at most.
    assert!(
        together <= alone + 3 * 40 * (8 * 4 + 9),
        "{alone} alone, {together} together"
    );
}

#[test]
fn hw1_short_messages_are_not_held_up_by_long_ones() {
    let mut bench = bench(2, 6);
    for fifo in 0..4 {
        bench.send((0, fifo), (1, fifo % 3), 40_000);
    }
    for _ in 0..5 {
        bench.send((0, 4), (1, 0), 16);
    }
    let start = bench.machine.cycle();
    while ok(bench.machine.read(0, reg::injection(4, reg::COUNT))) < 5 {
        ok(bench.turn());
        assert!(
            bench.machine.cycle() < start + 4_000,
            "starved by long messages"
        );
    }
    let long = ok(bench.machine.read(0, reg::injection(0, reg::COUNT)));
    assert_eq!(long, 0, "a long message cannot be complete yet");
    ok(bench.finish(100_000));
}

/// By how many packets any two of the messages `ids` are apart at most in `order`, counted from where
/// all of them have begun to where the first of them is complete.
fn spread(order: &[u32], ids: &[u32]) -> usize {
    let first = |id: &u32| order.iter().position(|found| found == id);
    let last = |id: &u32| order.iter().rposition(|found| found == id);
    let begin = ids.iter().filter_map(first).max().unwrap_or(0);
    let end = ids.iter().filter_map(last).min().unwrap_or(0);
    assert!(end > begin + 100, "the messages do not overlap");
    let mut counts = vec![0usize; ids.len()];
    let mut spread = 0;
    for id in &order[begin..end] {
        if let Some(index) = ids.iter().position(|wanted| wanted == id) {
            counts[index] += 1;
        }
        let (low, high) = (counts.iter().min(), counts.iter().max());
        spread = spread.max(high.unwrap_or(&0) - low.unwrap_or(&0));
    }
    spread
}

#[test]
fn hw1_fifos_on_one_path_take_turns_packet_by_packet() {
    // Memory FIFO messages, puts, and both together: five FIFOs share one link.
    for (messages, puts) in [(5, 0), (0, 5), (3, 2)] {
        let mut bench = bench(2, 7);
        let heads = Rc::new(RefCell::new(Vec::new()));
        let seen = heads.clone();
        bench.machine.tap = Some(Box::new(move |engine, _, _, flit| {
            if flit.head && engine == 0 {
                seen.borrow_mut().push(flit.dbg);
            }
            vec![*flit]
        }));
        let messages: Vec<u32> = (0..messages)
            .map(|fifo| bench.send((0, fifo), (1, fifo % 3), 40_000))
            .collect();
        let puts: Vec<u32> = (0..puts)
            .map(|fifo| bench.put((0, messages.len() + fifo), 1, 40_000, None))
            .collect();
        ok(bench.finish(100_000));
        // Classes have buffers of their own: turns are taken inside a class.
        for ids in [messages, puts].iter().filter(|ids| !ids.is_empty()) {
            let spread = spread(&heads.borrow(), ids);
            assert!(spread <= 2, "{} FIFOs: {spread} packets apart", ids.len());
        }
    }
    assert_eq!(spread(&[1, 2].repeat(99), &[1, 2]), 1);
    assert_eq!(spread(&[1, 2, 2, 2].repeat(99), &[1, 2]), 197);
}

/// Cycles from the first descriptor posted until `puts`, (from, to) each, of `length` bytes have landed.
fn cycles_of(engines: usize, puts: &[(usize, usize)], length: u32) -> u64 {
    let mut bench = ok(Bench::new(&Setup::ring(engines, prompt(), 14)));
    for (index, &(from, to)) in puts.iter().enumerate() {
        bench.put(
            (from, index % SOFTWARE_FIFOS),
            to,
            length,
            Some(index as u32),
        );
    }
    let start = bench.machine.cycle();
    let landed = |bench: &Bench| -> u64 {
        let engines = bench.machine.engines.iter();
        engines.map(|engine| engine.events[48]).sum()
    };
    while landed(&bench) < puts.len() as u64 {
        ok(bench.turn());
    }
    let cycles = bench.machine.cycle() - start;
    ok(bench.finish(1_000));
    cycles
}

#[test]
fn hw1_every_path_runs_at_link_rate_in_both_directions_at_once() {
    // 128 packets of 34 flits.
    let (length, flits) = (65_536, 128 * 34);
    let alone = cycles_of(3, &[(0, 1)], length);
    assert!(
        (flits..flits + flits / 20 + 300).contains(&alone),
        "{alone}"
    );
    // Both neighbours and itself, from everywhere.
    let all: Vec<(usize, usize)> = (0..9).map(|pair| (pair / 3, pair % 3)).collect();
    let together = cycles_of(3, &all, length);
    assert!(
        together < alone + alone / 10 + 600,
        "{alone} alone, {together} together"
    );
}

/// Runs until register `addr` of engine `engine` holds `value`.
fn until(bench: &mut Bench, engine: usize, addr: u64, value: u64) {
    let start = bench.machine.cycle();
    while ok(bench.machine.read(engine, addr)) != value {
        ok(bench.turn());
        assert!(
            bench.machine.cycle() < start + 30_000,
            "register {addr:#x} of engine {engine}"
        );
    }
}

#[test]
fn hw1_reception_ring_fills_to_its_last_byte_and_then_waits() {
    let register = |offset| reg::reception(1, offset);
    for engines in [1, 2] {
        for (length, packets) in [(480, 8), (0, 128), (97, 25)] {
            let to = engines - 1;
            let size = (32 + u64::from(length).div_ceil(32) * 32) * packets;
            let mut bench = bench(engines, 15);
            bench.receive = 0.0;
            for _ in 0..packets {
                bench.send((0, 0), (to, 1), length);
            }
            until(&mut bench, to, register(reg::TAIL), size);
            let status = ok(bench.machine.read(to, register(reg::STATUS)));
            assert_eq!(status & 0b11, 0b01, "not empty, nothing waited");
            let high = ok(bench.machine.read(to, register(reg::HIGHWATER)));
            assert_eq!(high, size);

            // One more of 32 bytes fits only where the ring is not full to the last byte.
            bench.send((0, 1), (to, 1), 0);
            let fits = size + 32 <= RING;
            let end = if fits { size + 32 } else { size };
            for _ in 0..40 {
                ok(bench.turn());
            }
            let status = ok(bench.machine.read(to, register(reg::STATUS)));
            assert_eq!(status >> 1 & 1, u64::from(!fits), "waited");
            assert_eq!(ok(bench.machine.read(to, register(reg::TAIL))), end);
            if !fits {
                // It comes as soon as as much is free as it needs, and the mark can be cleared.
                ok(bench.machine.write(to, register(reg::STATUS), 0b10));
                ok(bench.take_one(to, 1));
                until(&mut bench, to, register(reg::TAIL), size + 32);
                let status = ok(bench.machine.read(to, register(reg::STATUS)));
                assert_eq!(status & 0b11, 0b01);
            }
            bench.receive = 1.0;
            ok(bench.finish(20_000));
            let status = ok(bench.machine.read(to, register(reg::STATUS)));
            assert_eq!(status & 0b11, 0b00, "empty");
        }
    }
}

#[test]
fn hw1_packet_waits_until_all_of_its_space_is_free() {
    let mut bench = bench(2, 16);
    bench.receive = 0.0;
    for _ in 0..9 {
        bench.send((0, 0), (1, 1), 480);
    }
    let (head, tail) = (reg::reception(1, reg::HEAD), reg::reception(1, reg::TAIL));
    until(&mut bench, 1, tail, RING);
    // 512 bytes are needed.
    ok(bench.machine.write(1, head, 480));
    for _ in 0..40 {
        ok(bench.turn());
    }
    assert_eq!(ok(bench.machine.read(1, tail)), RING);
    ok(bench.take_one(1, 1));
    until(&mut bench, 1, tail, RING + 512);
    bench.receive = 1.0;
    ok(bench.finish(20_000));
}

#[test]
fn hw1_injection_ring_takes_as_many_descriptors_as_it_holds() {
    let mut bench = bench(2, 17);
    let tail = reg::injection(3, reg::TAIL);
    // From a new start of the ring each time, so that a full ring wraps everywhere.
    for round in 0..4u64 {
        let posted = round * (64 + 9 * 2 + 1);
        for _ in 0..9 * 2 + 1 {
            bench.send((0, 3), (1, 0), 1);
        }
        ok(bench.finish(20_000));
        let head = (posted + 19) * 64;
        assert_eq!(ok(bench.machine.read(0, tail)), head);
        bench.machine.configure(0, true, true);
        for index in 0..64 {
            bench.send((0, 3), (1, 0), index);
        }
        until(&mut bench, 0, tail, head + RING);
        assert!(ok(bench.machine.refuses(0, tail, head + RING + 64)));
        let high = ok(bench.machine.read(0, reg::injection(3, reg::HIGHWATER)));
        assert_eq!(high, RING);
        bench.machine.configure(0, true, false);
        ok(bench.finish(40_000));
        let status = ok(bench.machine.read(0, reg::injection(3, reg::STATUS)));
        assert_eq!(status, 0b100, "empty, not busy");
    }
}

#[test]
fn hw1_remote_gets_wait_for_room_in_the_ring_they_go_to() {
    let mut bench = bench(3, 18);
    // A refused descriptor at the head of the ring halts it.
    let source = Source {
        slot: slot::GRANTED,
        offset: 0,
        length: 8,
    };
    let third = Descriptor::put(coord(0), source, slot::TARGET, 0);
    bench.request(2, 0, 1, &[third]);
    let status = reg::injection(REMOTE_FIFO, reg::STATUS);
    while ok(bench.machine.read(1, status)) & 1 == 0 {
        ok(bench.turn());
    }
    for _ in 0..12 {
        bench.get((0, 1), 1, &[40; 8], Some(2));
    }
    // 7 gets of 8 descriptors fit beside it; puts go by.
    until(
        &mut bench,
        1,
        reg::injection(REMOTE_FIFO, reg::TAIL),
        64 + 7 * 512,
    );
    for _ in 0..20 {
        bench.put((0, 2), 1, 700, None);
        bench.send((2, 2), (1, 0), 700);
    }
    until(&mut bench, 0, reg::injection(2, reg::COUNT), 20);
    until(&mut bench, 2, reg::injection(2, reg::COUNT), 20);
    let tail = reg::injection(REMOTE_FIFO, reg::TAIL);
    assert_eq!(ok(bench.machine.read(1, tail)), 64 + 7 * 512);
    ok(bench.machine.write(1, status, 1));
    ok(bench.finish(40_000));
    assert_eq!(bench.machine.engines[1].reports.len(), 1);
    assert_eq!(bench.machine.engines[0].events[48], 1);
    let high = ok(bench
        .machine
        .read(1, reg::injection(REMOTE_FIFO, reg::HIGHWATER)));
    assert!((64 + 7 * 512..=RING).contains(&high), "{high}");
}

#[test]
fn hw1_descriptor_on_another_path_waits_for_its_predecessor() {
    let timing = Timing::new(200..201, 5..6, 1.0);
    let mut bench = ok(Bench::new(&Setup::ring(2, timing, 23)));
    // The first reads memory; the second needs not, and takes the path to the engine itself.
    bench.put((0, 0), 1, 512, None);
    bench.send((0, 0), (0, 0), 0);
    while bench.machine.engines[0].sent == [0; 8] {
        ok(bench.turn());
        assert!(bench.machine.cycle() < 5_000, "nothing is sent");
    }
    let sent = bench.machine.engines[0].sent;
    assert_eq!(sent[2], 1, "put before message: {sent:?}");
    ok(bench.finish(10_000));
}

#[test]
fn hw1_threshold_interrupt_comes_with_each_packet_above_it() {
    for (threshold, pulses) in [(0, 0), (1, 6), (127, 6), (128, 5), (300, 4), (768, 0)] {
        let mut bench = bench(2, 19);
        bench.receive = 0.0;
        let register = reg::reception(2, reg::THRESHOLD);
        ok(bench.machine.write(1, register, threshold));
        for _ in 0..6 {
            bench.send((0, 0), (1, 2), 96);
        }
        until(&mut bench, 1, reg::reception(2, reg::TAIL), 6 * 128);
        ok(bench.machine.run(4));
        assert_eq!(bench.machine.engines[1].thresholds, pulses, "{threshold}");
        bench.receive = 1.0;
        ok(bench.finish(5_000));
    }
}

#[test]
fn hw1_fifo_without_completion_event_completes_silently() {
    let mut bench = bench(1, 20);
    ok(bench.machine.write(0, reg::injection(3, reg::CTRL), 1));
    for fifo in [2, 3] {
        for _ in 0..5 {
            bench.put((0, fifo), 0, 600, None);
        }
    }
    ok(bench.finish(10_000));
    let engine = &bench.machine.engines[0];
    assert_eq!((engine.events[16 + 2], engine.events[16 + 3]), (5, 0));
    assert!((1..=5).contains(&engine.descriptors));
    assert_eq!(ok(bench.machine.read(0, reg::injection(3, reg::COUNT))), 5);
}

#[test]
fn hw1_disabled_fifo_completes_what_has_begun_and_starts_anew() {
    let mut bench = bench(2, 21);
    let ctrl = reg::injection(0, reg::CTRL);
    for _ in 0..6 {
        bench.send((0, 0), (1, 0), 6_000);
        bench.put((0, 1), 1, 6_000, None);
    }
    until(&mut bench, 0, reg::injection(0, reg::COUNT), 2);
    ok(bench.machine.write(0, ctrl, 0));
    bench.parked.push((0, 0));
    assert!(
        ok(bench.machine.refuses(0, ctrl, 1)),
        "enabled while packets are in flight"
    );
    // The others go on; nothing of this one is left in flight in the end.
    until(&mut bench, 0, reg::injection(1, reg::COUNT), 6);
    assert_eq!(ok(bench.machine.read(0, reg::injection(0, reg::STATUS))), 0);
    let count = ok(bench.machine.read(0, reg::injection(0, reg::COUNT)));
    assert!((2..5).contains(&count), "{count}");
    ok(bench.restart(0, 0));
    for offset in [reg::HEAD, reg::TAIL, reg::COUNT] {
        assert_eq!(ok(bench.machine.read(0, reg::injection(0, offset))), 0);
    }
    bench.parked.clear();
    ok(bench.finish(40_000));
    let rest = ok(bench.machine.read(0, reg::injection(0, reg::COUNT)));
    assert_eq!(count + rest, 6);
}

#[test]
fn hw1_disabled_engine_starts_nothing() {
    let mut bench = bench(2, 22);
    bench.machine.configure(0, false, false);
    bench.send((0, 0), (1, 0), 700);
    bench.put((0, 1), 1, 700, None);
    for _ in 0..60 {
        ok(bench.turn());
    }
    assert_eq!(bench.machine.engines[0].sent, [0; 8]);
    assert!(bench.machine.quiet());
    // It receives all the same.
    bench.send((1, 0), (0, 0), 700);
    until(&mut bench, 1, reg::injection(0, reg::COUNT), 1);
    bench.machine.configure(0, true, false);
    ok(bench.finish(10_000));
}

#[test]
fn hw1_shared_counter_reaches_zero_after_the_last_byte_of_its_puts() {
    let timing = Timing::new(0..20, 0..200, 1.0);
    let mut bench = ok(Bench::new(&Setup::ring(2, timing, 8)));
    for index in 0..40 {
        bench.put((0, index % 6), 1, 1 + 37 * index as u32, Some(3));
        bench.put((1, index % 6), 1, 100, Some(3));
    }
    ok(bench.finish(100_000));
    assert_eq!(bench.machine.engines[1].events[48], 1);
}

#[test]
fn fn3_zero_byte_put_lowers_its_counter_behind_earlier_payload() {
    for seed in 0..20 {
        let timing = Timing::new(0..20, 0..400, 0.7);
        let mut bench = ok(Bench::new(&Setup::ring(2, timing, seed)));
        for index in 0..6 {
            bench.put((0, 2), 1, 700 * (index + 1), None);
            bench.cover_last_put(1, index);
            bench.put((0, 2), 1, 0, Some(index));
        }
        ok(bench.finish(100_000));
        assert_eq!(bench.machine.engines[1].events[48], 6);
    }
}

#[test]
fn hw1_completion_events_and_high_water_marks_count() {
    let mut bench = bench(1, 9);
    for _ in 0..7 {
        bench.send((0, 2), (0, 1), 100);
    }
    ok(bench.finish(20_000));
    assert_eq!(bench.machine.engines[0].events[16 + 2], 7);
    assert_eq!(bench.machine.engines[0].events[1], 7);
    let high = ok(bench.machine.read(0, reg::reception(1, 0x38)));
    assert!((160..=7 * 160).contains(&high), "{high}");
}

#[test]
fn hw1_drain_lets_nothing_new_start_and_finishes_what_has_begun() {
    let mut bench = bench(2, 51);
    for _ in 0..10 {
        bench.send((0, 0), (1, 0), 4_000);
    }
    for _ in 0..20 {
        ok(bench.turn());
    }
    bench.machine.configure(0, true, true);
    for _ in 0..600 {
        ok(bench.turn());
    }
    let count = ok(bench.machine.read(0, reg::injection(0, reg::COUNT)));
    assert!((1..10).contains(&count), "{count} of 10");
    assert!(bench.machine.quiet(), "drained");
    bench.machine.configure(0, true, false);
    ok(bench.finish(50_000));
}

/// Verdict of the bench on random messages, with `fault` applied to one flit.
fn judged(at: usize, mut fault: impl FnMut(&Flit) -> Vec<Flit> + 'static) -> Result<(), Trouble> {
    let mut bench = bench(2, 60);
    for _ in 0..4 {
        bench.send((0, 0), (1, 0), 300);
        bench.put((0, 1), 1, 300, None);
    }
    let mut count = 0;
    bench.machine.tap = Some(Box::new(move |_, _, _, flit| {
        count += 1;
        if count == at {
            fault(flit)
        } else {
            vec![*flit]
        }
    }));
    bench.finish(20_000)?;
    match bench.machine.engines[1].reports.first() {
        Some(report) => Err(Trouble::Wrong(0, format!("{report:?}"))),
        None => Ok(()),
    }
}

#[test]
fn scoreboard_reports_lost_doubled_and_changed_flits() {
    judged(usize::MAX, |_| Vec::new()).expect("nothing is wrong");
    for at in [4, 9, 33] {
        let changed = judged(at, |flit| {
            let mut flit = *flit;
            flit.data[1] ^= 0x10;
            vec![flit]
        });
        assert!(changed.is_err(), "flit {at} changed");
        assert!(judged(at, |_| Vec::new()).is_err(), "flit {at} lost");
        let doubled = judged(at, |flit| vec![*flit, *flit]);
        assert!(doubled.is_err(), "flit {at} doubled");
    }
}

#[test]
fn scoreboard_reports_an_extra_byte_and_an_early_counter() {
    let mut stray = bench(1, 61);
    stray.put((0, 0), 0, 100, None);
    stray.machine.engines[0]
        .memory
        .poke(TARGET + 0xe_1234, &[1]);
    assert!(matches!(stray.finish(5_000), Err(Trouble::Wrong(..))));

    let mut early = bench(1, 62);
    early.put((0, 0), 0, 100, Some(0));
    early.machine.engines[0].memory.poke(COUNTERS, &[0; 8]);
    assert!(matches!(early.turn(), Err(Trouble::Wrong(..))));
}
