// SPDX-License-Identifier: MIT OR Apache-2.0
//! DMA engines with bad descriptors, bad packets, refused memory accesses and refused register
//! writes (HW-1): reported once with its reason, contained, and the engine goes on.

use gyre_layout::{
    BitField, CollOp, CollType, Collective, CounterRef, Descriptor, ErrorReason, Kind, Rmw, RmwOp,
    Source, VClass, fields, registers::refusal,
};
use gyre_rtl_tests::axi::Timing;
use gyre_rtl_tests::dma::{DMA1, DMA2_FLIT32, DMA3, Model, coord};
use gyre_rtl_tests::dma_bench::{
    Bench, COUNTERS, INJECTION, RECEPTION, REMOTE_FIFO, RING, SLOT_BASE, SOURCE, Setup, TARGET,
    bench, ok, reg, route, slot,
};
use gyre_rtl_tests::packet::{Flit, Packet};
use gyre_rtl_tests::routes::Shape;

/// Sets the field called `name` of a packed struct.
fn set_field(fields: &[BitField], bytes: &mut [u8], name: &str, value: u64) {
    let field = fields.iter().find(|field| field.name == name);
    let field = field.unwrap_or_else(|| panic!("no field {name}"));
    field.set(bytes, value).expect("the field has room");
}

/// Sets fields of a descriptor's bytes by name.
fn with(descriptor: &Descriptor, fields: &[(&str, u64)]) -> [u8; 64] {
    let mut bytes = descriptor.encode().expect("every value fits");
    for &(name, value) in fields {
        set_field(fields::descriptor::FIELDS, &mut bytes, name, value);
    }
    bytes
}

/// A source of `length` bytes at the start of a slot.
fn at(slot: u16, length: u32) -> Source {
    Source {
        slot,
        offset: 0,
        length,
    }
}

/// Puts a bad descriptor between good ones and checks that its FIFO alone halts with the reason, that
/// the rest goes on, and that software can skip it.
fn halts(name: &str, bad: [u8; 64], reason: ErrorReason) {
    let mut bench = bench(2, 20);
    let (engine, fifo) = (0, 2);
    bench.send((engine, fifo), (1, 0), 900);
    ok(bench.finish(10_000));
    bench.post_bytes(engine, fifo, bad);
    for other in [0, 1, 3, 4, 5] {
        bench.send((engine, other), (1, other % 3), 1500);
        bench.put((engine, other), 1, 1500, None);
    }
    while ok(bench
        .machine
        .read(engine, reg::injection(fifo, reg::STATUS)))
        & 1
        == 0
    {
        ok(bench.turn());
        assert!(bench.machine.cycle() < 20_000, "{name}: does not halt");
    }
    bench.parked.push((engine, fifo));
    ok(bench.finish(50_000));
    let status = ok(bench
        .machine
        .read(engine, reg::injection(fifo, reg::STATUS)));
    assert_eq!(status >> 8 & 0xff, u64::from(u8::from(reason)), "{name}");
    let head = ok(bench.machine.read(engine, reg::injection(fifo, reg::HEAD)));
    assert_eq!(head, 64, "{name}: HEAD is at the bad descriptor");
    let reports = std::mem::take(&mut bench.machine.engines[engine].reports);
    assert_eq!(reports.len(), 1, "{name}: {reports:?}");
    assert_eq!((reports[0].reason, reports[0].place), (reason, 2), "{name}");
    assert_eq!(reports[0].info, INJECTION + 2 * RING + 64, "{name}");
    assert_eq!(bench.machine.engines[engine].events[63], 1, "{name}");

    // Skipped, the FIFO works again. The skipped descriptor does not count as completed.
    bench.machine.engines[engine].memory.read_errors.clear();
    ok(bench
        .machine
        .write(engine, reg::injection(fifo, reg::STATUS), 1));
    ok(bench.machine.run(50));
    bench.parked.clear();
    bench.skipped(engine, fifo);
    bench.send((engine, fifo), (1, 0), 700);
    ok(bench.finish(20_000));
    assert!(bench.machine.engines[engine].reports.is_empty(), "{name}");
}

#[test]
fn hw1_refused_descriptors_halt_their_fifo_only() {
    use ErrorReason as E;
    let fifo = Descriptor::memory_fifo(coord(1), at(slot::SOURCE, 64), 0);
    let put = Descriptor::put(coord(1), at(slot::SOURCE, 64), slot::TARGET, 0);
    let get = Descriptor::remote_get(coord(1), at(slot::DESCRIPTORS, 64), REMOTE_FIFO as u16);
    for kind in [0, 5, 7, 15] {
        halts("kind", with(&fifo, &[("kind", kind)]), E::DescKind);
    }
    for reserved in ["rsvd0", "rsvd1", "rsvd2", "rsvd3", "rsvd4", "rsvd5"] {
        halts(reserved, with(&fifo, &[(reserved, 1)]), E::DescReserved);
    }
    halts("remote mark", with(&put, &[("remote", 1)]), E::DescReserved);
    halts(
        "requester",
        with(&put, &[("requester", 1)]),
        E::DescReserved,
    );
    halts("response", with(&fifo, &[("vclass", 1)]), E::DescClass);
    // Priority and system carry messages alone.
    for class in [0, 2, 3] {
        halts("put", with(&put, &[("vclass", class)]), E::DescClass);
    }
    for class in [1, 2, 3] {
        halts("get", with(&get, &[("vclass", class)]), E::DescClass);
        let rmw = [
            ("kind", u64::from(u8::from(Kind::RmwReq))),
            ("vclass", class),
        ];
        halts("rmw", with(&fifo, &rmw), E::DescClass);
    }
    let dynamic = ("dynamic_route", 1);
    // A wish of a packet with a fixed route; a dimension that the node lacks; no direction of the dimension that is
    // left; a fixed and any route at once.
    for fields in [
        &[("hint", 1_u64)] as &[_],
        &[("order", 1)],
        &[dynamic, ("order", 5)],
        &[dynamic, ("hint", 1 << 2)],
        &[dynamic, ("deposit", 1)],
        // Priority and system go by fixed routes and leave no copies.
        &[dynamic, ("vclass", 2)],
        &[dynamic, ("vclass", 3)],
        &[("deposit", 1), ("vclass", 2)],
        &[("deposit", 1), ("vclass", 3)],
    ] {
        halts("route", with(&fifo, fields), E::DescRouting);
    }
    halts("deposit", with(&put, &[("deposit", 1)]), E::DescRouting);
    halts("far", with(&put, &[("dst", 2)]), E::DescDest);
    halts(
        "other dimension",
        with(&put, &[("dst", 1 << 6)]),
        E::DescDest,
    );
    for bad in [slot::INVALID, slot::TARGET, 8, 1023] {
        halts("slot", with(&put, &[("src_slot", bad.into())]), E::DescSlot);
    }
    let foreign = [("src_slot", slot::FOREIGN.into())];
    halts("owner", with(&put, &foreign), E::DescOwner);
    let small = [("src_slot", slot::SMALL.into()), ("length", 101)];
    halts("length", with(&put, &small), E::DescBounds);
    let small = [
        ("src_slot", slot::SMALL.into()),
        ("length", 1),
        ("src_off_lo", 100),
    ];
    halts("offset", with(&put, &small), E::DescBounds);
    let wraps = [("src_off_lo", 0xffff_ffff), ("src_off_hi", 0xff)];
    halts("offset wraps", with(&put, &wraps), E::DescBounds);
    let wraps = [("dst_off_lo", 0xffff_ffff), ("dst_off_hi", 0xff)];
    halts("target wraps", with(&put, &wraps), E::DescBounds);
    for length in [0, 63, 96, 576] {
        halts("get", with(&get, &[("length", length)]), E::DescLength);
    }
}

#[test]
fn hw5_refused_collectives_halt_their_fifo_only() {
    use ErrorReason as E;
    let or = |route| Collective {
        op: CollOp::Or,
        dtype: CollType::U64,
        route,
    };
    let [member, ..] = route::MEMBER;
    let fifo = |route| {
        Descriptor::collective_fifo(or(route), None, at(slot::SOURCE, 64), 0).expect("a route")
    };
    let put = Descriptor::collective_put(or(member), None, at(slot::SOURCE, 64), slot::TARGET, 0)
        .expect("a route");
    for route in [route::FOREIGN, route::PASSING, route::INVALID] {
        halts("route", with(&fifo(route), &[]), E::DescRoute);
    }
    let good = fifo(member);
    let hint = |op: u64, dtype: u64| ("hint", op << 7 | dtype << 4 | u64::from(member));
    for (op, dtype) in [
        (7, 0),
        (4, 5),
        (4, 7),
        (0, 1),
        (0, 4),
        (1, 4),
        (2, 4),
        (3, 4),
    ] {
        halts("operation", with(&good, &[hint(op, dtype)]), E::DescColl);
    }
    // Half an element.
    for (op, dtype, length) in [(4, 0, 62), (1, 1, 1), (4, 2, 60), (6, 3, 4), (5, 4, 63)] {
        let fields = [hint(op, dtype), ("length", length)];
        halts("length", with(&good, &fields), E::DescColl);
    }
    for class in [2, 3] {
        halts("class", with(&good, &[("vclass", class)]), E::DescClass);
    }
    let dynamic = with(&good, &[("dynamic_route", 1)]);
    halts("dynamic", dynamic, E::DescRouting);
    halts("dst of all", with(&put, &[("dst", 1)]), E::DescDest);
    let one = [("deposit", 0), ("dst", 2)];
    halts("dst outside", with(&put, &one), E::DescDest);
    halts("reserved", with(&put, &[("rsvd1", 1)]), E::DescReserved);
    halts("rmw", with(&put, &[("rmw_op", 1)]), E::DescReserved);
    halts("remote", with(&put, &[("remote", 1)]), E::DescReserved);
    let foreign = [("src_slot", slot::FOREIGN.into())];
    halts("owner", with(&put, &foreign), E::DescOwner);
    let small = [("src_slot", slot::SMALL.into()), ("length", 104)];
    halts("bounds", with(&put, &small), E::DescBounds);
    let wraps = [("dst_off_lo", 0xffff_ffff), ("dst_off_hi", 0xff)];
    halts("target wraps", with(&put, &wraps), E::DescBounds);
}

#[test]
fn hw5_remote_gets_inject_no_collectives() {
    let [route, ..] = route::MEMBER;
    let collective = Collective {
        op: CollOp::Broadcast,
        dtype: CollType::U32,
        route,
    };
    let granted = at(slot::GRANTED, 64);
    let put = Descriptor::collective_put(collective, None, granted, slot::TARGET, 0);
    refused_there("put", &put.expect("a route"), ErrorReason::DescRemote);
    let to = Some(coord(0));
    let fifo = Descriptor::collective_fifo(collective, to, granted, 0);
    refused_there("fifo", &fifo.expect("a route"), ErrorReason::DescRemote);
}

/// A packet of the collective network, with fields of its header replaced, as flits.
fn collective(class: usize, len: u16, fields: &[(&str, u64)]) -> Vec<Flit> {
    let kind = u64::from(u8::from(Kind::Collective));
    let own = [("kind", kind), ("deposit", 1), ("dst", 0), ("hint", 0x100)];
    let fields: Vec<_> = own.iter().chain(fields).copied().collect();
    packet(class, len, &fields)
}

#[test]
fn hw5_malformed_packets_of_the_collective_network_change_nothing() {
    use ErrorReason as E;
    let mut cases = vec![
        (
            "reserved",
            0,
            collective(0, 64, &[("flow", 1)]),
            E::PktReserved,
        ),
        (
            "aux",
            1,
            collective(1, 64, &[("aux", 0x200)]),
            E::PktReserved,
        ),
        (
            "too long",
            0,
            collective(0, 64, &[("len", 513)]),
            E::PktReserved,
        ),
        (
            "longer",
            1,
            collective(1, 64, &[("len", 96)]),
            E::PktTruncated,
        ),
        ("class", 0, collective(0, 64, &[("vclass", 1)]), E::PktKind),
        (
            "no FIFO",
            0,
            collective(0, 64, &[("target", 3)]),
            E::PktRecFifo,
        ),
        ("slot", 1, collective(1, 64, &[("target", 6)]), E::PktSlot),
        (
            "bounds",
            1,
            collective(1, 96, &[("offset", 8)]),
            E::PktBounds,
        ),
        (
            "counter",
            1,
            collective(1, 64, &[("aux", 0x100)]),
            E::PktCounter,
        ),
    ];
    for bad in [
        Kind::MemFifo,
        Kind::Put,
        Kind::RemoteGet,
        Kind::RmwReq,
        Kind::RmwResp,
    ] {
        for class in 0..2 {
            let kind = [("kind", u64::from(u8::from(bad)))];
            cases.push(("kind", class, collective(class, 64, &kind), E::PktKind));
        }
    }
    for class in 0..2 {
        let mut flits = collective(class, 64, &[]);
        flits[5].err = true;
        cases.push(("poisoned", class, flits, E::PktTruncated));
    }
    for (name, class, flits, reason) in cases {
        let mut bench = bench(2, 40);
        let before = bench.machine.engines[0].memory.bytes.clone();
        bench.machine.deliver_collective(0, class, &flits);
        ok(bench.machine.settle(1_000));
        ok(bench.machine.run(5));
        let reports = std::mem::take(&mut bench.machine.engines[0].reports);
        let reasons: Vec<_> = reports.iter().map(|r| r.reason).collect();
        assert_eq!(reasons, [reason], "{name} {class}: {flits:?}");
        let unchanged = bench.machine.engines[0].memory.bytes == before;
        assert!(unchanged, "{name} writes");
        // The path still works.
        let [to, ..] = route::MEMBER;
        bench.machine.coll_to[usize::from(to)] = Some(0);
        let collective = Collective {
            op: CollOp::Broadcast,
            dtype: CollType::U32,
            route: to,
        };
        bench.contribute((1, 0), (0, 0), collective, 600);
        bench.contribute_put((1, 1), 0, collective, 600, Some(1));
        ok(bench.finish(10_000));
    }
}

#[test]
fn hw1_destination_is_checked_in_every_dimension() {
    let machines: [(Model, &[(u8, bool)]); 2] = [
        (DMA2_FLIT32, &[(2, true), (2, false)]),
        (DMA3, &[(2, true), (1, true), (2, true)]),
    ];
    for (model, dims) in machines {
        for dim in 0..dims.len() {
            let timing = Timing::new(5..40, 5..60, 0.9);
            let setup = Setup::ring(4, timing, 26);
            let shape = Shape::new(dims);
            let mut bench = ok(Bench::new(&Setup {
                model,
                shape,
                ..setup
            }));
            let mut outside = coord(0);
            outside.0[dim] = dims[dim].0;
            let put = Descriptor::put(outside, at(slot::SOURCE, 64), slot::TARGET, 0);
            bench.post(0, 0, &put);
            while bench.machine.engines[0].reports.is_empty() {
                ok(bench.turn());
                assert!(bench.machine.cycle() < 5_000, "dimension {dim}: sent");
            }
            let reason = bench.machine.engines[0].reports[0].reason;
            assert_eq!(reason, ErrorReason::DescDest, "dimension {dim}");
            bench.parked.push((0, 0));
            bench.send((0, 1), (3, 0), 700);
            ok(bench.finish(10_000));
        }
    }
}

#[test]
fn hw1_refused_descriptor_halts_its_fifo_after_what_went_before_it() {
    let timing = Timing::new(200..201, 5..6, 1.0);
    let mut bench = ok(Bench::new(&Setup::ring(2, timing, 25)));
    // The payload of the first is still being read when the second is checked.
    bench.put((0, 0), 1, 512, None);
    let put = Descriptor::put(coord(1), at(slot::SOURCE, 64), slot::TARGET, 0);
    bench.post_bytes(0, 0, with(&put, &[("kind", 15)]));
    while bench.machine.engines[0].reports.is_empty() {
        ok(bench.turn());
        assert!(bench.machine.cycle() < 5_000, "does not halt");
    }
    assert_eq!(bench.machine.engines[0].reports[0].info, INJECTION + 64);
    assert_eq!(ok(bench.machine.read(0, reg::injection(0, reg::HEAD))), 64);
    bench.parked.push((0, 0));
    ok(bench.finish(10_000));
}

#[test]
fn hw1_refused_memory_reads_halt_their_fifo_and_send_nothing() {
    for (reason, range) in [
        // The second descriptor of the ring; or the payload of the second, in its last line.
        (
            ErrorReason::DescRead,
            INJECTION + 2 * RING + 64..INJECTION + 2 * RING + 128,
        ),
        (
            ErrorReason::PayloadRead,
            SOURCE + 13 + 0x3_0400..SOURCE + 13 + 0x3_0401,
        ),
    ] {
        let mut bench = bench(2, 21);
        bench.send((0, 2), (1, 0), 900);
        ok(bench.finish(10_000));
        bench.machine.engines[0].memory.read_errors.push(range);
        let source = Source {
            slot: slot::SOURCE,
            offset: 0x3_0000,
            length: 2000,
        };
        let bad = Descriptor::put(coord(1), source, slot::SMALL, 0);
        bench.post(0, 2, &bad);
        for other in [0, 1, 3, 4, 5] {
            bench.send((0, other), (1, other % 3), 1500);
        }
        while ok(bench.machine.read(0, reg::injection(2, reg::STATUS))) & 1 == 0 {
            ok(bench.turn());
            assert!(bench.machine.cycle() < 20_000, "{reason:?}: does not halt");
        }
        bench.parked.push((0, 2));
        // Packets before the bad one may have gone; they do not fit into the small slot.
        ok(bench.finish(50_000));
        let status = ok(bench.machine.read(0, reg::injection(2, reg::STATUS)));
        assert_eq!(status >> 8 & 0xff, u64::from(u8::from(reason)));
        // The bad line is in the second packet: nothing is sent from there on.
        let sent = bench.machine.engines[0].sent[2];
        assert_eq!(sent, u64::from(reason == ErrorReason::PayloadRead));
        let reports = &bench.machine.engines[0].reports;
        assert_eq!(reports.len(), 1, "{reports:?}");
        assert_eq!((reports[0].reason, reports[0].place), (reason, 2));
    }
}

#[test]
fn hw1_packets_dropped_for_a_refused_read_give_their_credits_back() {
    let mut bench = bench(2, 24);
    let bad = SLOT_BASE[usize::from(slot::SOURCE)] + 100;
    bench.machine.engines[0]
        .memory
        .read_errors
        .push(bad..bad + 1);
    // Injection buffers hold two packets of this size.
    for drops in 1..=4 {
        let put = Descriptor::put(coord(1), at(slot::SOURCE, 512), slot::TARGET, 0);
        bench.post(0, 2, &put);
        let status = reg::injection(2, reg::STATUS);
        while ok(bench.machine.read(0, status)) & 1 == 0 {
            ok(bench.turn());
            assert!(
                bench.machine.cycle() < 20_000,
                "drop {drops}: does not halt"
            );
        }
        ok(bench.machine.write(0, status, 1));
        bench.skipped(0, 2);
        ok(bench.machine.run(50));
    }
    assert_eq!(bench.machine.engines[0].sent, [0; 8]);
    bench.machine.engines[0].memory.read_errors.clear();
    bench.put((0, 2), 1, 5_000, None);
    ok(bench.finish(20_000));
}

/// Sends one descriptor by remote get that must be refused at its target, and checks that requests of
/// others still are served there by the same FIFO once it is skipped.
fn refused_there(name: &str, descriptor: &Descriptor, reason: ErrorReason) {
    let mut bench = bench(3, 22);
    bench.request(0, 1, 1, std::slice::from_ref(descriptor));
    while ok(bench
        .machine
        .read(1, reg::injection(REMOTE_FIFO, reg::STATUS)))
        & 1
        == 0
    {
        ok(bench.turn());
        assert!(bench.machine.cycle() < 20_000, "{name}: is not refused");
    }
    let reports = std::mem::take(&mut bench.machine.engines[1].reports);
    assert_eq!(reports.len(), 1, "{name}: {reports:?}");
    assert_eq!(
        (reports[0].reason, usize::from(reports[0].place)),
        (reason, REMOTE_FIFO),
        "{name}"
    );
    ok(bench
        .machine
        .write(1, reg::injection(REMOTE_FIFO, reg::STATUS), 1));
    bench.get((2, 0), 1, &[100, 512, 33], Some(1));
    ok(bench.finish(20_000));
}

#[test]
fn hw1_remote_get_reads_granted_slots_for_its_requester_only() {
    let granted = at(slot::GRANTED, 64);
    let put = |dst, source| Descriptor::put(coord(dst), source, slot::TARGET, 0);
    refused_there("third party", &put(2, granted), ErrorReason::DescRemote);
    refused_there("itself", &put(1, granted), ErrorReason::DescRemote);
    let slot = at(slot::SOURCE, 64);
    refused_there("not granted", &put(0, slot), ErrorReason::DescSlot);
    let message = Descriptor::memory_fifo(coord(0), granted, 0);
    refused_there("message", &message, ErrorReason::DescRemote);
    let get = Descriptor::remote_get(coord(0), granted, REMOTE_FIFO as u16);
    refused_there("get of a get", &get, ErrorReason::DescRemote);
    let beyond = Source {
        offset: 0x3_efff,
        length: 2,
        ..granted
    };
    refused_there("bounds", &put(0, beyond), ErrorReason::DescBounds);
}

/// Halts the remote-get FIFO of engine 1 by a bad descriptor, posts a second get and lets the FIFO go on `delay` cycles later:
/// the cycles from there until the put of the second get has landed, if it does.
fn cycles_of_a_second_get(delay: u64) -> Option<u64> {
    let timing = Timing::new(4..5, 12..13, 1.0);
    let mut bench = ok(Bench::new(&Setup::ring(2, timing, 24)));
    let granted = at(slot::GRANTED, 64);
    let bad = Descriptor::put(coord(0), at(slot::SOURCE, 64), slot::SMALL, 0);
    bench.request(0, 1, 1, &[bad]);
    while bench.machine.engines[1].reports.is_empty() {
        ok(bench.turn());
        assert!(bench.machine.cycle() < 20_000, "is not refused");
    }
    ok(bench.machine.settle(2_000));
    let good = Descriptor::put(coord(0), granted, slot::SMALL, 0);
    bench.request(0, 1, 1, &[good]);
    while ok(bench.machine.read(0, reg::injection(1, reg::TAIL))) < 128 {
        ok(bench.turn());
    }
    ok(bench.machine.run(delay));
    let status = reg::injection(REMOTE_FIFO, reg::STATUS);
    ok(bench.machine.write(1, status, 1));
    let sent = bench.machine.engines[1]
        .memory
        .peek(SLOT_BASE[4], 64)
        .to_vec();
    (0..1_000).find(|_| {
        ok(bench.machine.step());
        bench.machine.engines[0].memory.peek(SLOT_BASE[5], 64) == sent
    })
}

#[test]
fn hw1_remote_get_is_served_in_any_cycle_of_its_fifos_restart() {
    let waits: Vec<_> = (0..160).map(cycles_of_a_second_get).collect();
    let late: Vec<_> = (0..160).filter(|&at| waits[at].is_none()).collect();
    assert!(
        late.is_empty(),
        "lost with STATUS written {late:?} cycles after the get"
    );
    // From before its commit, when the FIFO waits for the get, to after it.
    assert!(waits[0] > waits[159], "{waits:?}");
}

#[test]
fn hw1_engine_stamps_the_requester_over_that_of_the_descriptor() {
    let mut bench = bench(3, 23);
    // Claims to have been requested by engine 2, and sends there.
    let forged = Descriptor::put(coord(2), at(slot::GRANTED, 64), slot::TARGET, 0);
    let mut bytes = with(&forged, &[("requester", 2), ("remote", 1)]);
    bench.machine.engines[0]
        .memory
        .poke(SLOT_BASE[7] + 0x8000, &bytes);
    let source = Source {
        offset: 0x8000,
        ..at(slot::DESCRIPTORS, 64)
    };
    bench.post(
        0,
        0,
        &Descriptor::remote_get(coord(1), source, REMOTE_FIFO as u16),
    );
    while ok(bench
        .machine
        .read(1, reg::injection(REMOTE_FIFO, reg::STATUS)))
        & 1
        == 0
    {
        ok(bench.turn());
        assert!(bench.machine.cycle() < 20_000, "forged request is served");
    }
    // What lies in the ring names engine 0.
    bytes.copy_from_slice(
        bench.machine.engines[1]
            .memory
            .peek(REMOTE_FIFO as u64 * RING, 64),
    );
    let requester = u32::from_le_bytes([bytes[48], bytes[49], bytes[50], bytes[51]]);
    assert_eq!(requester, 0);
    assert_eq!(
        bench.machine.engines[1].reports[0].reason,
        ErrorReason::DescRemote
    );
    ok(bench.finish(20_000));
}

/// Sends a bad packet among good ones: it is reported once, changes nothing, and the rest arrives.
fn dropped(name: &str, bad: &Descriptor, reason: ErrorReason) {
    for to in [0, 1] {
        let mut bench = bench(2, 30);
        let mut bad = *bad;
        bad.dst = coord(to);
        for _ in 0..3 {
            bench.send((0, 0), (to, 0), 600);
            bench.put((0, 1), to, 600, Some(2));
        }
        bench.post(0, 0, &bad);
        for _ in 0..3 {
            bench.send((0, 0), (to, 0), 600);
            bench.put((0, 1), to, 600, Some(2));
        }
        ok(bench.finish(50_000));
        let reports = &bench.machine.engines[to].reports;
        assert_eq!(reports.len(), 1, "{name} to {to}: {reports:?}");
        assert_eq!(reports[0].reason, reason, "{name} to {to}");
    }
}

#[test]
fn hw1_refused_packets_are_reported_and_change_nothing() {
    use ErrorReason as E;
    let source = at(slot::SOURCE, 64);
    let fifo = |rec| Descriptor::memory_fifo(coord(0), source, rec);
    let put = |slot, offset| Descriptor::put(coord(0), source, slot, offset);
    let get = |fifo| Descriptor::remote_get(coord(0), at(slot::DESCRIPTORS, 64), fifo);
    for class in VClass::MESSAGES {
        for (rec, name) in [(3, "disabled"), (4, "absent"), (1023, "absent")] {
            let mut bad = fifo(rec);
            bad.vclass = class;
            dropped(name, &bad, E::PktRecFifo);
        }
    }
    for (fifo, name) in [
        (7, "disabled"),
        (0, "not for gets"),
        (8, "absent"),
        (1023, "absent"),
    ] {
        dropped(name, &get(fifo), E::PktInjFifo);
    }
    // Slot 9 does not exist, though slot 1 could be written.
    for bad in [slot::INVALID, slot::SOURCE, 8, 9, 1023] {
        dropped("slot", &put(bad, 0), E::PktSlot);
    }
    for offset in [37, 100, 1 << 32, (1 << 40) - 64] {
        dropped("bounds", &put(slot::SMALL, offset), E::PktBounds);
    }
    for (slot, index) in [
        (slot::TARGET, 0),
        (slot::INVALID, 0),
        (slot::COUNTERS, 512),
        (slot::SMALL, 12),
        (8, 0),
        (10, 0),
    ] {
        let bad = put(slot::TARGET, 0).with_counter(CounterRef { slot, index });
        dropped("counter", &bad, E::PktCounter);
    }
}

#[test]
fn x5_packets_write_nothing_past_the_48_bit_address_space() {
    use ErrorReason as E;
    let base = (1 << 48) - 0x1000;
    for (bad, reason) in [
        (
            Descriptor::put(coord(0), at(slot::SOURCE, 64), slot::SMALL, 0x1000),
            E::PktBounds,
        ),
        (
            Descriptor::put(coord(0), at(slot::SOURCE, 64), slot::SMALL, 0xfc1),
            E::PktBounds,
        ),
        (
            Descriptor::put(coord(0), at(slot::SOURCE, 64), slot::SMALL, 0xff_ffff_0000),
            E::PktBounds,
        ),
        (
            Descriptor::put(coord(0), at(slot::SOURCE, 64), slot::TARGET, 0).with_counter(
                CounterRef {
                    slot: slot::SMALL,
                    index: 512,
                },
            ),
            E::PktCounter,
        ),
    ] {
        for to in [0, 1] {
            let mut bench = bench(2, 32);
            ok(bench
                .machine
                .write(to, reg::slot(usize::from(slot::SMALL), reg::BASE), base));
            ok(bench.machine.write(
                to,
                reg::slot(usize::from(slot::SMALL), reg::SIZE),
                0xff_ffff_ffff,
            ));
            let mut bad = bad;
            bad.dst = coord(to);
            bench.put((0, 1), to, 600, Some(2));
            bench.post(0, 0, &bad);
            bench.put((0, 1), to, 600, Some(2));
            ok(bench.finish(50_000));
            let reports = &bench.machine.engines[to].reports;
            assert_eq!(reports.len(), 1, "{bad:?} to {to}: {reports:?}");
            assert_eq!(reports[0].reason, reason, "{bad:?} to {to}");
        }
    }
}

#[test]
fn hw1_counter_below_zero_is_reported_and_its_bytes_are_written() {
    let mut bench = bench(1, 31);
    let counter = CounterRef {
        slot: slot::COUNTERS,
        index: 5,
    };
    bench.put((0, 0), 0, 64, Some(5));
    ok(bench.finish(10_000));
    let past = Descriptor::put(coord(0), at(slot::SOURCE, 64), slot::SMALL, 0);
    bench.post(0, 1, &past.with_counter(counter));
    for _ in 0..100 {
        ok(bench.turn());
    }
    let engine = &bench.machine.engines[0];
    let reasons: Vec<_> = engine.reports.iter().map(|report| report.reason).collect();
    assert_eq!(reasons, [ErrorReason::CounterUnderflow]);
    assert_eq!(engine.memory.word(COUNTERS + 40), 64u64.wrapping_neg());
    let sent = engine.memory.peek(SOURCE + 13, 64);
    assert_eq!(engine.memory.peek(TARGET + 0xf_0000, 64), sent);
}

#[test]
fn hw1_refused_writes_and_counter_accesses_are_contained() {
    for (reason, write_error, read_error) in [
        (
            ErrorReason::Write,
            Some(TARGET + 0xf_0020..TARGET + 0xf_0021),
            None,
        ),
        (
            ErrorReason::CounterAccess,
            Some(COUNTERS + 40..COUNTERS + 48),
            None,
        ),
        (
            ErrorReason::CounterAccess,
            None,
            Some(COUNTERS + 40..COUNTERS + 41),
        ),
    ] {
        let mut bench = bench(2, 32);
        let memory = &mut bench.machine.engines[1].memory;
        memory.write_errors.extend(write_error);
        memory.read_errors.extend(read_error);
        let counter = CounterRef {
            slot: slot::COUNTERS,
            index: 5,
        };
        let bad = Descriptor::put(coord(1), at(slot::SOURCE, 64), slot::SMALL, 0)
            .with_software(1, 0x1987_6543);
        bench.post(0, 0, &bad.with_counter(counter));
        for other in 1..6 {
            bench.send((0, other), (1, other % 3), 1200);
            // Another counter, in another line: errors are of whole lines.
            bench.put((0, other), 1, 1200, Some(100));
        }
        bench.machine.engines[1]
            .memory
            .poke(COUNTERS + 40, &64u64.to_le_bytes());
        while bench.machine.engines[1].reports.is_empty() {
            ok(bench.turn());
            assert!(bench.machine.cycle() < 20_000, "{reason:?} is not reported");
        }
        for _ in 0..300 {
            ok(bench.turn());
        }
        let reports = &bench.machine.engines[1].reports;
        assert_eq!(reports.len(), 1, "{reports:?}");
        assert_eq!(reports[0].reason, reason);
        if reason == ErrorReason::Write {
            // So that the origin can be told.
            let info = reports[0].info;
            let source = u64::from(coord(0).pack().expect("fits"));
            assert_eq!(refusal::info::SRC.get(info), source);
            assert_eq!(
                refusal::info::KIND.get(info),
                u64::from(u8::from(Kind::Put))
            );
            assert_eq!(refusal::info::SOFTWARE.get(info), 0x1987_6543);
        }
        // What was not put, or not counted, lowers nothing.
        let counter = bench.machine.engines[1].memory.word(COUNTERS + 40);
        assert_eq!(counter, 64, "{reason:?}");
        // The small slot and this counter are not the scoreboard's.
        bench.machine.engines[1].memory.poke(COUNTERS + 40, &[0; 8]);
        bench.machine.engines[1]
            .memory
            .poke(TARGET + 0xf_0000, &[0; 100]);
        ok(bench.finish(50_000));
    }
}

#[test]
fn hw1_reception_fifo_halts_with_its_tail_before_a_refused_write() {
    // Answers so late that packets behind the refused one are on their way.
    let timing = Timing::new(5..40, 150..200, 1.0);
    for class in VClass::MESSAGES {
        let mut bench = ok(Bench::new(&Setup::ring(2, timing.clone(), 33)));
        let ring = RECEPTION + RING;
        let memory = &mut bench.machine.engines[1].memory;
        memory.write_errors.push(ring + 0x400..ring + 0x440);
        let mut bad = Descriptor::memory_fifo(coord(1), at(slot::SOURCE, 3000), 1);
        bad.vclass = class;
        bench.post(0, 0, &bad);
        for _ in 0..10 {
            bench.send_in(class, (0, 1), (1, 0), 800);
            bench.put((0, 2), 1, 800, Some(1));
        }
        bench.receive = 0.0;
        for _ in 0..400 {
            ok(bench.turn());
        }
        let reasons: Vec<_> = bench.machine.engines[1]
            .reports
            .iter()
            .map(|r| r.reason)
            .collect();
        assert_eq!(reasons, [ErrorReason::Write], "{class:?}");
        let tail = ok(bench.machine.read(1, reg::reception(1, reg::TAIL)));
        assert_eq!(tail, 544, "the first packet lies before the bad line");
        let status = ok(bench.machine.read(1, reg::reception(1, reg::STATUS)));
        assert_eq!(status >> 2 & 1, 1, "halted");
        let count = ok(bench.machine.read(0, reg::injection(2, reg::COUNT)));
        assert_eq!(count, 10, "responses go on");
        // Messages behind it go on when software restarts the FIFO.
        bench.machine.engines[1].memory.write_errors.clear();
        ok(bench.machine.write(1, reg::reception(1, reg::CTRL), 1));
        bench.ignore_reception(1, 1);
        bench.receive = 1.0;
        for _ in 0..400 {
            ok(bench.turn());
        }
        assert_eq!(bench.received, 20, "{class:?}");
    }
}

#[test]
fn hw1_remote_get_with_refused_writes_halts_its_ring_until_enabled() {
    let mut bench = bench(2, 34);
    let ring = INJECTION + REMOTE_FIFO as u64 * RING;
    let register = |offset| reg::injection(REMOTE_FIFO, offset);
    bench.get((0, 0), 1, &[100, 200], None);
    ok(bench.finish(10_000));
    let memory = &mut bench.machine.engines[1].memory;
    memory.write_errors.push(ring + 0x80..ring + 0xc0);
    let lost = Descriptor::put(coord(0), at(slot::GRANTED, 64), slot::TARGET, 0);
    bench.request(0, 0, 1, &[lost]);
    while bench.machine.engines[1].reports.is_empty() {
        ok(bench.turn());
        assert!(bench.machine.cycle() < 20_000, "is not reported");
    }
    // Puts and messages go on.
    bench.put((0, 1), 1, 700, Some(1));
    bench.send((0, 2), (1, 0), 700);
    ok(bench.finish(10_000));
    let reports = std::mem::take(&mut bench.machine.engines[1].reports);
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(reports[0].reason, ErrorReason::Write);
    assert_eq!(ok(bench.machine.read(1, register(reg::TAIL))), 128);
    let status = ok(bench.machine.read(1, register(reg::STATUS)));
    assert_eq!(status >> 8, u64::from(u8::from(ErrorReason::Write)));
    assert_eq!(status & 1, 1, "halted");
    assert!(
        ok(bench.machine.refuses(1, register(reg::STATUS), 1)),
        "descriptors are missing from the ring"
    );
    bench.machine.engines[1].memory.write_errors.clear();
    ok(bench.machine.write(1, register(reg::CTRL), 0b10));
    ok(bench.machine.write(1, register(reg::CTRL), 0b11));
    bench.get((0, 0), 1, &[300, 512, 1], Some(2));
    ok(bench.finish(20_000));
    assert!(bench.machine.engines[1].reports.is_empty());
}

/// A packet from engine 1 to engine 0, with fields of its header replaced, as flits.
fn packet(class: usize, len: u16, fields: &[(&str, u64)]) -> Vec<Flit> {
    let shape = Shape::new(&[(2, true)]);
    let mut rng = fastrand::Rng::with_seed(1);
    let mut packet = Packet::random(&shape, 9, (1, 0), class, len, false, &mut rng);
    let basics: [(&str, u64); 2] = if class != 1 {
        [("target", 0), ("aux", len.into())]
    } else {
        [("target", slot::SMALL.into()), ("aux", 0)]
    };
    for &(name, value) in basics.iter().chain(&[("offset", 0)]).chain(fields) {
        set_field(fields::header::FIELDS, &mut packet.bytes, name, value);
    }
    packet.flits(DMA1.flit_bytes)
}

#[test]
fn hw1_malformed_packets_are_reported_and_change_nothing() {
    use ErrorReason as E;
    let kind = |kind: Kind| [("kind", u64::from(u8::from(kind)))];
    let mut cases = vec![
        ("other node", 0, packet(0, 64, &[("dst", 1)]), E::PktDest),
        ("other node", 1, packet(1, 64, &[("dst", 1)]), E::PktDest),
        ("reserved", 0, packet(0, 64, &[("flow", 1)]), E::PktReserved),
        (
            "reserved",
            1,
            packet(1, 64, &[("flow_seq", 1)]),
            E::PktReserved,
        ),
        (
            "reserved",
            0,
            packet(0, 64, &[("birth", 1)]),
            E::PktReserved,
        ),
        ("aux", 1, packet(1, 64, &[("aux", 0x200)]), E::PktReserved),
        (
            "too long",
            0,
            packet(0, 64, &[("len", 513)]),
            E::PktReserved,
        ),
        (
            "too long",
            1,
            packet(1, 64, &[("len", 1023)]),
            E::PktReserved,
        ),
        ("put", 0, packet(0, 64, &kind(Kind::Put)), E::PktKind),
        ("class", 0, packet(0, 64, &[("vclass", 1)]), E::PktKind),
        ("longer", 0, packet(0, 64, &[("len", 96)]), E::PktTruncated),
        ("longer", 1, packet(1, 64, &[("len", 96)]), E::PktTruncated),
        ("shorter", 0, packet(0, 64, &[("len", 32)]), E::PktTruncated),
        ("shorter", 1, packet(1, 64, &[("len", 1)]), E::PktTruncated),
        (
            "no payload",
            0,
            packet(0, 0, &[("len", 1)]),
            E::PktTruncated,
        ),
        (
            "none said",
            1,
            packet(1, 64, &[("len", 0)]),
            E::PktTruncated,
        ),
    ];
    for bad in [
        Kind::Invalid,
        Kind::RmwReq,
        Kind::RmwResp,
        Kind::Collective,
        Kind::Control,
    ] {
        for class in 0..2 {
            // In their own class these are served, though not with this payload.
            let reason = match (bad, class) {
                (Kind::RmwReq, 0) | (Kind::RmwResp, 1) => E::PktRmw,
                (Kind::Control, 1) => E::PktReserved,
                _ => E::PktKind,
            };
            cases.push(("kind", class, packet(class, 64, &kind(bad)), reason));
        }
    }
    for len in [0, 32, 96] {
        let get = packet(0, len, &kind(Kind::RemoteGet));
        cases.push(("get", 0, get, E::DescLength));
    }
    for class in 2..4 {
        for bad in [Kind::Put, Kind::RemoteGet, Kind::RmwReq, Kind::Control] {
            cases.push(("kind", class, packet(class, 64, &kind(bad)), E::PktKind));
        }
        let deposit = packet(class, 64, &[("deposit", 1)]);
        cases.push(("copy", class, deposit, E::PktKind));
        let other = packet(class, 64, &[("vclass", 5 - class as u64)]);
        cases.push(("class", class, other, E::PktKind));
        for field in ["flow", "flow_valid"] {
            let flow = packet(class, 64, &[(field, 1)]);
            cases.push(("flow", class, flow, E::PktReserved));
        }
    }
    for class in 0..4 {
        // Poisoned, and cut after each flit.
        let mut flits = packet(class, 64, &[]);
        flits[5].err = true;
        cases.push(("poisoned", class, flits, E::PktTruncated));
        for cut in 0..5 {
            let mut flits = packet(class, 64, &[]);
            flits.truncate(cut + 1);
            (flits[cut].tail, flits[cut].err) = (true, true);
            cases.push(("cut", class, flits, E::PktTruncated));
        }
    }
    for (name, class, flits, reason) in cases {
        let mut bench = bench(2, 40);
        let before = bench.machine.engines[0].memory.bytes.clone();
        bench.machine.deliver(0, 0, class, &flits);
        ok(bench.machine.settle(1_000));
        ok(bench.machine.run(5));
        let reasons: Vec<_> = bench.machine.engines[0]
            .reports
            .iter()
            .map(|r| r.reason)
            .collect();
        assert_eq!(reasons, [reason], "{name} {class}: {flits:?}");
        assert!(
            bench.machine.engines[0].memory.bytes == before,
            "{name} writes"
        );
        let tail = ok(bench.machine.read(0, reg::reception(0, reg::TAIL)));
        assert_eq!(tail, 0, "{name} moves TAIL");
        // The path still works.
        bench.send((1, 0), (0, 0), 600);
        bench.send_in(VClass::Priority, (1, 0), (0, 0), 600);
        bench.send_in(VClass::System, (1, 0), (0, 0), 600);
        bench.put((1, 0), 0, 600, Some(1));
        ok(bench.finish(10_000));
    }
}

#[test]
fn hw1_registers_refuse_what_would_break_a_fifo() {
    let mut bench = bench(1, 50);
    let inj = |offset| reg::injection(0, offset);
    let rec = |offset| reg::reception(0, offset);
    for (addr, value, what) in [
        (inj(reg::BASE), 0x1000, "BASE of an enabled FIFO"),
        (inj(reg::SIZE), 0x2000, "SIZE of an enabled FIFO"),
        (inj(reg::TAIL), 32, "half a descriptor"),
        (inj(reg::TAIL), RING + 64, "TAIL past the ring"),
        (
            reg::injection(REMOTE_FIFO, reg::TAIL),
            64,
            "TAIL of a remote-get FIFO",
        ),
        (reg::injection(7, reg::TAIL), 64, "TAIL of a disabled FIFO"),
        (reg::injection(7, reg::BASE), 0x800, "BASE inside a page"),
        (reg::injection(7, reg::SIZE), 0x1800, "SIZE no power of two"),
        (reg::injection(7, reg::SIZE), 0x800, "SIZE too small"),
        (reg::injection(7, reg::SIZE), 0x20_0000, "SIZE too large"),
        (reg::injection(7, reg::CTRL), 1, "enable without SIZE"),
        (reg::injection(8, reg::BASE), 0, "absent injection FIFO"),
        (rec(reg::BASE), 0x1000, "BASE of an enabled FIFO"),
        (rec(reg::HEAD), 32, "HEAD past TAIL"),
        (reg::reception(3, reg::SIZE), 0x1800, "SIZE no power of two"),
        (reg::reception(4, reg::BASE), 0, "absent reception FIFO"),
        (reg::slot(8, 0), 0, "absent slot"),
        (0x1000, 0, "absent page"),
        (inj(reg::TAIL) + 4, 0, "half a register"),
    ] {
        assert!(ok(bench.machine.refuses(0, addr, value)), "{what}");
    }
    bench.send((0, 0), (0, 0), 64);
    ok(bench.finish(5_000));
}

/// Has engine 0 ask engine `to` for a read-modify-write that it refuses, between two that it serves: the answer
/// lowers the other counter of the pair and leaves the result alone.
fn refused_rmw(to: usize, bad: (u16, u64, RmwOp), wide: bool, fetch: bool, reason: ErrorReason) {
    let mut bench = bench(2, 60);
    // A slot that reaches over the end of the address space.
    let top = usize::from(slot::DESCRIPTORS);
    for (offset, value) in [(0x00, (1 << 48) - 0x1000), (0x08, 0x2000), (0x10, 0x1f)] {
        ok(bench.machine.write(to, reg::slot(top, offset), value));
    }
    let width = if wide { 8 } else { 4 };
    let result = |number: u64| fetch.then_some((slot::SMALL, number * 8));
    let counter = |number: u32| CounterRef {
        slot: slot::COUNTERS,
        index: 2 * number,
    };
    for number in 0..3 {
        for half in 0..2 {
            let at = COUNTERS + u64::from(counter(number).index) * 8 + half * 8;
            bench.machine.engines[0]
                .memory
                .poke(at, &u64::to_le_bytes(width));
        }
    }
    let results = TARGET + 0xf_0000;
    bench.machine.engines[0].memory.poke(results, &[0xaa; 24]);
    let good = (slot::COUNTERS, 0x800, RmwOp::Add);
    for (number, (slot, offset, op)) in [good, bad, good].into_iter().enumerate() {
        let rmw = Rmw {
            op,
            wide,
            value: 5,
            test: None,
            fetch: result(number as u64),
        };
        let rmw =
            Descriptor::rmw(coord(to), slot, offset, rmw).with_counter(counter(number as u32));
        bench.post(0, 0, &rmw);
    }
    let events = bench.machine.engines[0].events[48];
    let mut turns = 0;
    while bench.machine.engines[0].events[48] < events + 3 {
        ok(bench.turn());
        turns += 1;
        assert!(turns < 2_000, "{reason:?}: not answered");
    }
    ok(bench.machine.settle(1_000));
    let reports: Vec<_> = bench.machine.engines[to]
        .reports
        .iter()
        .map(|r| r.reason)
        .collect();
    assert_eq!(reports, [reason], "to {to}");
    let memory = &bench.machine.engines[0].memory;
    let counters: Vec<_> = (0..6)
        .map(|half| memory.word(COUNTERS + half * 8))
        .collect();
    assert_eq!(
        counters,
        [0, width, width, 0, 0, width],
        "{reason:?} to {to}"
    );
    let results: Vec<_> = (0..3)
        .map(|number| memory.word(results + number * 8))
        .collect();
    let untouched = 0xaaaa_aaaa_aaaa_aaaa;
    let fetched = |value: u64| match (fetch, wide) {
        (false, _) => untouched,
        (true, false) => untouched << 32 | value,
        (true, true) => value,
    };
    assert_eq!(
        results,
        [fetched(0), untouched, fetched(5)],
        "{reason:?} to {to}"
    );
    let word = bench.machine.engines[to].memory.word(COUNTERS + 0x800);
    assert_eq!(word, 10, "{reason:?} to {to}");
}

#[test]
fn hw1_x5_refused_read_modify_write_is_answered_by_the_other_counter() {
    use ErrorReason as E;
    let add = RmwOp::Add;
    for to in [0, 1] {
        for (wide, fetch) in [(false, false), (false, true), (true, false), (true, true)] {
            for (bad, reason) in [
                ((slot::TARGET, 0, add), E::PktSlot),
                ((slot::INVALID, 0, add), E::PktSlot),
                ((1023, 0, add), E::PktSlot),
                ((slot::SMALL, 100, add), E::PktBounds),
                ((slot::DESCRIPTORS, 0x1000, add), E::PktBounds),
                ((slot::COUNTERS, 0x802, add), E::PktRmw),
            ] {
                refused_rmw(to, bad, wide, fetch, reason);
            }
        }
    }
}

#[test]
fn hw1_x5_refused_packets_are_reported_with_source_kind_and_word() {
    let source = at(slot::SOURCE, 64);
    let (first, second) = (0x3123_4567, 0x1987_6543);
    let add = Rmw {
        op: RmwOp::Add,
        wide: true,
        value: 5,
        test: None,
        fetch: Some((slot::SMALL, 0x10)),
    };
    let counter = CounterRef {
        slot: slot::COUNTERS,
        index: 6,
    };
    for (kind, bad, word) in [
        (
            Kind::MemFifo,
            Descriptor::memory_fifo(coord(1), source, 4),
            first,
        ),
        (Kind::Put, Descriptor::put(coord(1), source, 8, 0), second),
        (
            Kind::RemoteGet,
            Descriptor::remote_get(coord(1), at(slot::DESCRIPTORS, 64), 8),
            second,
        ),
        // Its first word is the counter of its answer.
        (
            Kind::RmwReq,
            Descriptor::rmw(coord(1), 8, 0, add).with_counter(counter),
            u32::from(counter.slot) | counter.index << 10,
        ),
    ] {
        let bad = match kind {
            Kind::RmwReq => bad,
            _ => bad.with_software(first, second),
        };
        let mut bench = bench(3, 61);
        bench.post(2, 0, &bad);
        while bench.machine.engines[1].reports.is_empty() {
            ok(bench.turn());
            assert!(bench.machine.cycle() < 5_000, "{kind:?} is not reported");
        }
        let info = bench.machine.engines[1].reports[0].info;
        assert_eq!(
            refusal::info::SRC.get(info),
            u64::from(coord(2).pack().expect("fits")),
            "{kind:?}"
        );
        assert_eq!(refusal::info::KIND.get(info), u64::from(u8::from(kind)));
        assert_eq!(
            refusal::info::SOFTWARE.get(info) as u32,
            word & 0x3fff_ffff,
            "{kind:?}"
        );
    }
}
