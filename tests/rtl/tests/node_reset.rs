// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reset, drain, idleness and errors of one node, in the middle of its work.

use gyre_layout::registers::{
    self as reg, COLL, base_slot, coll_network, coll_route, group_page, injection_fifo, node,
    reception_fifo, wake_group,
};
use gyre_layout::{
    CollOp, CollType, Collective, Coord, Descriptor, ErrorReason, Header, Kind, LinkState, Source,
    event,
};
use gyre_rtl_tests::node::{Bench, Slverr};

const RING: u64 = 0x1_0000;
const RECEPTION: u64 = 0x2_0000;
const BUFFER: u64 = 0x3_0000;
const PAYLOAD: u32 = 100;

/// Configures a 1-node machine with one injection FIFO, one reception FIFO and one slot, and puts one
/// memory-FIFO descriptor to itself into the ring.
fn prepare(bench: &mut Bench) {
    let page = reg::page(0);
    let inj = page + group_page::inj(0);
    let rec = page + group_page::rec(0);
    let slot = page + group_page::slot(0);
    let rights = base_slot::ctrl::VALID.mask() | base_slot::ctrl::READ.mask();
    for (addr, value) in [
        (node::LINK_ENABLE, 0b11),
        (node::CTRL, node::ctrl::DMA_ENABLE.mask()),
        (inj + injection_fifo::BASE, RING),
        (inj + injection_fifo::SIZE, 4096),
        (
            inj + injection_fifo::CTRL,
            injection_fifo::ctrl::ENABLE.mask(),
        ),
        (rec + reception_fifo::BASE, RECEPTION),
        (rec + reception_fifo::SIZE, 4096),
        (
            rec + reception_fifo::CTRL,
            reception_fifo::ctrl::ENABLE.mask(),
        ),
        (slot + base_slot::BASE, BUFFER),
        (slot + base_slot::LIMIT, 4096),
        (slot + base_slot::CTRL, rights),
        (reg::wake(0) + wake_group::MASK, event::reception(0)),
    ] {
        bench.write(addr, value).expect("writable");
    }
    let source = Source {
        slot: 0,
        offset: 0,
        length: PAYLOAD,
    };
    let descriptor = Descriptor::memory_fifo(Coord::default(), source, 0).with_software(1, 2);
    let bytes = descriptor.encode().expect("every value fits");
    bench.memory.insert(RING / 64, bytes);
    for line in 0..2 {
        let data = core::array::from_fn(|byte| (line * 64 + byte) as u8);
        bench.memory.insert(BUFFER / 64 + line as u64, data);
    }
}

fn start(bench: &mut Bench) {
    let tail = reg::page(0) + group_page::inj(0) + injection_fifo::TAIL;
    bench.write(tail, 64).expect("writable");
}

#[test]
fn hw2_packet_to_the_own_node_arrives_and_wakes() {
    let mut bench = Bench::new(1);
    prepare(&mut bench);
    start(&mut bench);
    assert!(bench.run_until(500, |b| b.outputs.wake == 1), "no wake-up");
    let tail = reg::page(0) + group_page::rec(0) + reception_fifo::TAIL;
    assert_eq!(bench.read(tail), Ok(32 + 128));
    let line = bench.memory[&(RECEPTION / 64)];
    let header = Header::decode(line[..32].try_into().expect("32 bytes")).expect("a header");
    assert_eq!(
        (header.kind, header.len, header.sw0, header.sw1),
        (Kind::MemFifo, 100, 1, 2)
    );
    assert!((0..32).all(|i| line[32 + i] == i as u8), "payload");
    assert_eq!(bench.read(reg::perf_sent(1)), Ok(1));
    assert_eq!(bench.read(reg::perf_received(1)), Ok(1));
    assert!(bench.run_until(300, |b| b.outputs.idle), "idle afterwards");
    assert_eq!(bench.read(node::ERR_STATUS), Ok(0));
}

/// Has the node contribute to a route that goes on nowhere.
fn contribute(bench: &mut Bench, route: u8, inputs: u64) {
    prepare(bench);
    let collective = Collective {
        op: CollOp::Xor,
        dtype: CollType::U32,
        route,
    };
    let source = Source {
        slot: 0,
        offset: 0,
        length: PAYLOAD,
    };
    let descriptor = Descriptor::collective_fifo(collective, None, source, 0).expect("a route");
    let bytes = descriptor.encode().expect("every value fits");
    bench.memory.insert(RING / 64, bytes);
    let register = COLL + coll_network::route(route.into());
    let part = coll_route::VALID.put(1) | coll_route::LOCAL.put(1) | inputs;
    bench.write(register, part).expect("writable");
    start(bench);
}

#[test]
fn hw5_collective_of_one_arrives_and_counts() {
    let mut bench = Bench::new(1);
    contribute(&mut bench, 9, 0);
    assert!(bench.run_until(500, |b| b.outputs.wake == 1), "no wake-up");
    let line = bench.memory[&(RECEPTION / 64)];
    let header = Header::decode(line[..32].try_into().expect("32 bytes")).expect("a header");
    assert_eq!((header.kind, header.len), (Kind::Collective, 100));
    assert!((0..32).all(|i| line[32 + i] == i as u8), "payload");
    let kind = u64::from(u8::from(Kind::Collective));
    assert_eq!(bench.read(reg::perf_sent(kind)), Ok(1));
    assert_eq!(bench.read(reg::perf_received(kind)), Ok(1));
    assert_eq!(
        bench.read(reg::perf_coll(0)),
        Ok(0),
        "nothing left the node"
    );
    assert!(bench.run_until(300, |b| b.outputs.idle), "idle afterwards");
    assert_eq!(bench.read(node::ERR_STATUS), Ok(0));
}

#[test]
fn hw5_node_holds_a_contribution_until_others_or_its_route_ends() {
    let mut bench = Bench::new(1);
    contribute(&mut bench, 9, coll_route::CHILD0.put(1));
    let status = |bench: &mut Bench| {
        let status = bench.read(node::STATUS).expect("readable");
        let idle = node::status::IDLE.is_set(status);
        (idle, node::status::DRAINED.is_set(status))
    };
    for _ in 0..500 {
        bench.cycle();
    }
    let drain = node::ctrl::DMA_ENABLE.mask() | node::ctrl::DRAIN.mask();
    bench.write(node::CTRL, drain).expect("writable");
    assert_eq!(status(&mut bench), (false, false), "a contribution waits");
    assert_eq!(bench.read(node::ERR_STATUS), Ok(0));
    // Taken out of the route, the node drops what waits for it.
    bench
        .write(COLL + coll_network::route(9), 0)
        .expect("writable");
    for _ in 0..100 {
        bench.cycle();
    }
    let errors = bench.read(node::ERR_STATUS).expect("readable");
    let reason = node::err_status::REASON.get(errors) as u8;
    assert_eq!(ErrorReason::try_from(reason), Ok(ErrorReason::CollRoute));
    assert_eq!(node::err_status::WHERE.get(errors), 9);
    assert_eq!(status(&mut bench), (true, true));
    assert_eq!(bench.outputs.wake, 0, "nothing arrived");
}

#[test]
fn hw1_soft_reset_waits_for_memory_then_clears_the_dma_engine_alone() {
    let mut bench = Bench::new(1);
    prepare(&mut bench);
    bench.write(node::SCRATCH, 42).expect("writable");
    bench.hold_answers = true;
    start(&mut bench);
    assert!(bench.run_until(100, |b| b.reads_accepted > 0), "no read");

    let dma_enable = node::ctrl::DMA_ENABLE.mask();
    bench
        .write(node::CTRL, dma_enable | node::ctrl::SOFT_RESET.mask())
        .expect("writable");
    for _ in 0..50 {
        bench.cycle();
    }
    let ctrl = bench.read(node::CTRL).expect("readable");
    assert!(node::ctrl::SOFT_RESET.is_set(ctrl), "a read is outstanding");

    // An access to a group page waits for the end of the reset.
    let inj_ctrl = reg::page(0) + group_page::inj(0) + injection_fifo::CTRL;
    bench.start_read(0, inj_ctrl);
    for _ in 0..50 {
        bench.cycle();
    }
    assert!(!bench.outputs.lite[0].r_valid, "answered during the reset");
    bench.hold_answers = false;
    assert_eq!(bench.finish_read(0).0, Ok(0), "FIFO disabled by the reset");
    assert_eq!(bench.read(node::CTRL), Ok(dma_enable), "self-clearing");
    assert_eq!(bench.read(node::SCRATCH), Ok(42));
    assert!(bench.run_until(300, |b| b.outputs.idle), "idle afterwards");
    let links = bench.read(node::LINK_STATUS).expect("readable");
    assert_eq!(LinkState::of_port(links, 0), LinkState::Up);

    // The node works again after it is set up again.
    prepare(&mut bench);
    start(&mut bench);
    assert!(bench.run_until(500, |b| b.outputs.wake == 1), "no wake-up");
}

/// Cycles after which a soft reset gives up what memory owes, and those of the reset itself.
const GIVES_UP: u64 = 2_048;
const RESET: u64 = 40;

/// Starts a soft reset and an access to a group page; the cycles until that is answered, and the answer.
fn reset_and_read(bench: &mut Bench) -> (u64, Result<u64, Slverr>) {
    let ctrl = node::ctrl::DMA_ENABLE.mask() | node::ctrl::SOFT_RESET.mask();
    bench.write(node::CTRL, ctrl).expect("writable");
    let start = bench.cycles;
    let inj_ctrl = reg::page(0) + group_page::inj(0) + injection_fifo::CTRL;
    bench.start_read(0, inj_ctrl);
    let answered = bench.run_until(2 * GIVES_UP, |b| b.outputs.lite[0].r_valid);
    assert!(answered, "the host's bus hangs");
    let cycles = bench.cycles - start;
    (cycles, bench.finish_read(0).0)
}

#[test]
fn x5_soft_reset_drops_late_answers_of_memory() {
    for writes in [false, true] {
        let mut bench = Bench::new(1);
        prepare(&mut bench);
        (bench.hold_answers, bench.hold_writes) = (!writes, writes);
        start(&mut bench);
        assert!(bench.run_until(500, |b| match writes {
            false => b.reads_accepted > 0,
            true => b.owes_write(),
        }));
        let (cycles, answer) = reset_and_read(&mut bench);
        assert_eq!(answer, Ok(0), "FIFO disabled by the reset");
        assert!((GIVES_UP..GIVES_UP + RESET).contains(&cycles), "{cycles}");
        let ctrl = bench.read(node::CTRL).expect("readable");
        assert!(!node::ctrl::SOFT_RESET.is_set(ctrl), "the reset is over");
        let owes = |bench: &mut Bench| {
            let status = bench.read(node::STATUS).expect("readable");
            assert!(!node::status::RESET_STUCK.is_set(status));
            node::status::MEMORY_OWES.is_set(status)
        };
        assert!(owes(&mut bench));
        let error = bench.read(node::ERR_STATUS).expect("readable");
        let reason = node::err_status::REASON.get(error) as u8;
        assert_eq!(ErrorReason::try_from(reason), Ok(ErrorReason::ResetMemory));
        assert_eq!(node::err_status::COUNT.get(error), 1);

        // Set up again, the engine waits until it cannot take an old answer for a new one.
        let reads = bench.reads_accepted;
        bench.memory.remove(&(RECEPTION / 64));
        prepare(&mut bench);
        start(&mut bench);
        for _ in 0..300 {
            bench.cycle();
        }
        assert_eq!((bench.reads_accepted, bench.outputs.wake), (reads, 0));
        assert!(owes(&mut bench));
        (bench.hold_answers, bench.hold_writes) = (false, false);
        assert!(bench.run_until(500, |b| b.outputs.wake == 1), "no wake-up");
        assert!(!owes(&mut bench));
        let payload = bench.memory[&(RECEPTION / 64)];
        assert!(
            payload[32..]
                .iter()
                .enumerate()
                .all(|(at, &byte)| usize::from(byte) == at)
        );
        let error = bench.read(node::ERR_STATUS).expect("readable");
        assert_eq!(node::err_status::COUNT.get(error), 1);
        assert!(bench.run_until(300, |b| b.outputs.idle), "idle afterwards");
    }
}

#[test]
fn x5_soft_reset_that_memory_blocks_is_reported_and_hangs_no_bus() {
    let mut bench = Bench::new(1);
    prepare(&mut bench);
    bench.refuse = true;
    start(&mut bench);
    for _ in 0..50 {
        bench.cycle();
    }
    assert!(bench.outputs.memory.ar_valid, "a read is offered");
    let (cycles, answer) = reset_and_read(&mut bench);
    assert_eq!(answer, Err(Slverr));
    assert!((GIVES_UP..GIVES_UP + RESET).contains(&cycles), "{cycles}");
    let status = bench.read(node::STATUS).expect("readable");
    assert!(node::status::RESET_STUCK.is_set(status));
    assert!(
        bench.outputs.memory.ar_valid,
        "what is offered stays offered"
    );
    let error = bench.read(node::ERR_STATUS).expect("readable");
    let reason = node::err_status::REASON.get(error) as u8;
    assert_eq!(ErrorReason::try_from(reason), Ok(ErrorReason::ResetMemory));
    bench.refuse = false;
    for _ in 0..100 {
        bench.cycle();
    }
    let ctrl = bench.read(node::CTRL).expect("readable");
    assert!(!node::ctrl::SOFT_RESET.is_set(ctrl), "the reset is over");
    let status = bench.read(node::STATUS).expect("readable");
    assert!(!node::status::RESET_STUCK.is_set(status));
    prepare(&mut bench);
    start(&mut bench);
    assert!(bench.run_until(500, |b| b.outputs.wake == 1), "no wake-up");
}

/// Posts a descriptor, bad if `refused`, and writes ERR_SET `delay` cycles later: errors counted, reason and time of the one
/// recorded.
fn errors_of(refused: bool, set: bool, delay: u64) -> (u64, u8, u64) {
    let mut bench = Bench::new(1);
    prepare(&mut bench);
    if refused {
        // No such kind.
        bench.memory.get_mut(&(RING / 64)).expect("a descriptor")[0] |= 0xf;
    }
    start(&mut bench);
    for _ in 0..delay {
        bench.cycle();
    }
    let value = u8::from(ErrorReason::LinkCrc).into();
    bench
        .write(if set { node::ERR_SET } else { node::SCRATCH }, value)
        .expect("writable");
    for _ in 0..100 {
        bench.cycle();
    }
    let status = bench.read(node::ERR_STATUS).expect("readable");
    let time = bench.read(node::ERR_TIME).expect("readable");
    let reason = node::err_status::REASON.get(status) as u8;
    (node::err_status::COUNT.get(status), reason, time)
}

#[test]
fn x5_first_of_two_adjacent_errors_is_recorded_and_both_counted() {
    let mut distances = Vec::new();
    for delay in 0..40 {
        let (count, refused, first) = errors_of(true, false, delay);
        assert_eq!((count, refused), (1, ErrorReason::DescKind.into()));
        let (count, set, second) = errors_of(false, true, delay);
        assert_eq!((count, set), (1, ErrorReason::LinkCrc.into()));
        let expected = match first <= second {
            true => (2, refused, first),
            false => (2, set, second),
        };
        assert_eq!(errors_of(true, true, delay), expected, "{first} {second}");
        distances.push(second.abs_diff(first) as i64 * if second < first { -1 } else { 1 });
    }
    for adjacent in -2..=2 {
        assert!(distances.contains(&adjacent), "{distances:?}");
    }
}

#[test]
fn hw1_drain_stops_new_descriptors_and_reports_the_end() {
    let mut bench = Bench::new(1);
    prepare(&mut bench);
    let enable = node::ctrl::DMA_ENABLE.mask();
    let drained = |bench: &mut Bench| {
        let status = bench.read(node::STATUS).expect("readable");
        node::status::DRAINED.is_set(status)
    };
    assert!(!drained(&mut bench), "drain is not set");
    bench
        .write(node::CTRL, enable | node::ctrl::DRAIN.mask())
        .expect("writable");
    start(&mut bench);
    for _ in 0..300 {
        bench.cycle();
    }
    assert!(drained(&mut bench));
    assert_eq!(bench.outputs.wake, 0, "a descriptor started");
    bench.write(node::CTRL, enable).expect("writable");
    assert!(bench.run_until(500, |b| b.outputs.wake == 1), "no wake-up");
}

#[test]
fn hw1_node_is_idle_only_when_it_holds_no_flit() {
    let mut bench = Bench::new(1);
    prepare(&mut bench);
    // Eight full packets with headers for a ring with room for seven.
    let source = Source {
        slot: 0,
        offset: 0,
        length: 4096,
    };
    let descriptor = Descriptor::memory_fifo(Coord::default(), source, 0);
    let bytes = descriptor.encode().expect("every value fits");
    bench.memory.insert(RING / 64, bytes);
    let rec = reg::page(0) + group_page::rec(0);
    let status = |bench: &mut Bench| {
        let status = bench.read(node::STATUS).expect("readable");
        let idle = node::status::IDLE.is_set(status);
        (idle, node::status::DMA_IDLE.is_set(status))
    };
    assert!(bench.run_until(300, |b| b.outputs.idle), "idle at first");
    assert_eq!(status(&mut bench), (true, true));
    start(&mut bench);
    for _ in 0..1000 {
        bench.cycle();
    }
    assert_eq!(bench.read(rec + reception_fifo::TAIL), Ok(7 * 544));
    assert_eq!(status(&mut bench), (false, true), "one packet waits");
    bench
        .write(rec + reception_fifo::HEAD, 544)
        .expect("writable");
    // A waiting packet is no work: the node may say that it is idle before it takes up the room.
    for _ in 0..200 {
        bench.cycle();
    }
    assert!(bench.outputs.idle, "idle afterwards");
    assert_eq!(bench.read(rec + reception_fifo::TAIL), Ok(8 * 544));
    assert_eq!(status(&mut bench), (true, true));
}
