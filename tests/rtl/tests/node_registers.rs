// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers of a node over its AXI4-Lite slaves.

use gyre_layout::registers::{
    self as reg, COLL, REFUSALS, base_slot, coll_network, group_page, injection_fifo, node,
    reception_fifo, refusals, wake_group,
};
use gyre_layout::{ErrorReason, ID_MAGIC, ID_VERSION, LinkState, event};
use gyre_rtl_tests::node::{Bench, Slverr};

/// Cycles in which two joined links come up.
const LINKS_UP: u64 = 200;

#[test]
fn hw1_node_identifies_itself_on_both_slaves() {
    let mut bench = Bench::new(1);
    for slave in [0, 1] {
        let id = bench.read_over(slave, node::ID).expect("ID is readable");
        assert_eq!(node::id::MAGIC.get(id), ID_MAGIC);
        assert_eq!(node::id::VERSION.get(id), ID_VERSION);
        let params = bench
            .read_over(slave, node::PARAMS)
            .expect("PARAMS is readable");
        assert_eq!(node::params::NDIM.get(params), 1);
        assert_eq!(node::params::FLIT_BYTES.get(params), 16);
        assert_eq!(node::params::NINJ.get(params), 32);
        assert_eq!(node::params::NREC.get(params), 16);
        assert_eq!(node::params::NSLOT.get(params), 32);
        assert_eq!(node::params::NAXI.get(params), 1);
        assert_eq!(node::params::GROUPS.get(params), 1);
        assert_eq!(node::params::AXI_BYTES.get(params), 64);
    }
}

#[test]
fn x5_forbidden_accesses_answer_slverr_and_change_nothing() {
    let mut bench = Bench::new(1);
    bench
        .write(node::SCRATCH, 0x1234)
        .expect("SCRATCH is writable");
    for unmapped in [
        0x88,
        0xf8,
        COLL + 0x120,
        COLL + 0x1f8,
        REFUSALS + 8,
        REFUSALS + refusals::entry(refusals::ENTRY_COUNT),
        0x600,
        0x2000,
        0x1020 + 0x60,
        0x1410,
        reg::perf_coll(3),
        0x1540,
        0x0f_fff8,
        0x20_0000,
        0xff_fff8,
    ] {
        assert_eq!(bench.read(unmapped), Err(Slverr), "read of {unmapped:#x}");
        assert_eq!(
            bench.write(unmapped, 1),
            Err(Slverr),
            "write of {unmapped:#x}"
        );
    }
    for read_only in [
        node::ID,
        node::PARAMS,
        node::STATUS,
        node::LINK_STATUS,
        node::ERR_INFO,
        reg::perf_flits(0),
        reg::perf_coll(0),
        COLL + coll_network::LINK_STATUS,
        REFUSALS + refusals::REFUSED,
        REFUSALS + refusals::entry(0),
    ] {
        assert_eq!(
            bench.write(read_only, 1),
            Err(Slverr),
            "write of {read_only:#x}"
        );
    }
    for write_only in [node::ERR_SET, COLL + coll_network::BARRIER_ENTER] {
        assert_eq!(bench.read(write_only), Err(Slverr), "{write_only:#x}");
    }
    for slot in [0, 1, 31] {
        let absent = reg::page(0) + group_page::slot(slot) + 0x18;
        assert_eq!(bench.read(absent), Err(Slverr), "read of {absent:#x}");
        assert_eq!(bench.write(absent, 1), Err(Slverr), "write of {absent:#x}");
    }
    for fifo in [0, 1, 15] {
        let tail = reg::page(0) + group_page::rec(fifo) + reception_fifo::TAIL;
        assert_eq!(bench.write(tail, 0), Err(Slverr), "write of {tail:#x}");
        assert_eq!(bench.read(tail), Ok(0), "read of {tail:#x}");
    }
    for base in [
        group_page::inj(1) + injection_fifo::BASE,
        group_page::rec(1) + reception_fifo::BASE,
        group_page::slot(1) + base_slot::BASE,
    ] {
        let base = reg::page(0) + base;
        bench.write(base, 0xabcd_1234_5000).expect("writable");
        for bit in 48..64 {
            let value = 0x1000 | 1 << bit;
            assert_eq!(
                bench.write(base, value),
                Err(Slverr),
                "{value:#x} at {base:#x}"
            );
        }
        assert_eq!(bench.read(base), Ok(0xabcd_1234_5000));
    }
    let limit = reg::page(0) + group_page::slot(1) + base_slot::LIMIT;
    bench.write(limit, 0xff_ffff_ffff).expect("writable");
    assert_eq!(bench.write(limit, 1 << 40), Err(Slverr), "40 bits");
    assert_eq!(bench.read(limit), Ok(0xff_ffff_ffff));
    assert_eq!(bench.read(node::SCRATCH + 4), Err(Slverr), "unaligned");
    assert_eq!(
        bench.write_over(0, node::SCRATCH, 0, 0x0f),
        Err(Slverr),
        "partial"
    );
    assert_eq!(bench.read(reg::page(1)), Err(Slverr), "absent group page");
    assert_eq!(bench.read(node::SCRATCH), Ok(0x1234));
}

#[test]
fn hw1_configuration_keeps_what_is_written() {
    let mut bench = Bench::new(1);
    for (addr, value) in [
        (node::COORD, 0x2aaa_aaaa),
        (node::SIZE, 0x5_5555_5555),
        (node::RING, 0x15),
        (node::DIM_ORDER, 0o01234),
        (node::LINK_ENABLE, 0x2aa),
        (node::SCRATCH, 0xdead_beef_0bad_cafe),
        (node::INT_MASK, 0x1f),
        (COLL + coll_network::route(0), 0xa15),
        (COLL + coll_network::route(15), 0xf1f),
        (COLL + coll_network::barrier_route(0), 0x0b),
        (COLL + coll_network::barrier_route(15), 0x1f),
        (COLL + coll_network::LINK_ENABLE, 0b101),
        (reg::wake(4) + wake_group::MASK, event::BARRIER),
        (
            reg::wake(15) + wake_group::MASK,
            event::reception(15) | event::injection(31),
        ),
        (
            reg::page(0) + group_page::slot(31) + base_slot::BASE,
            0x1234_5678_9abc,
        ),
        (
            reg::page(0) + group_page::inj(31) + injection_fifo::BASE,
            0x1234_5678_9000,
        ),
    ] {
        bench.write(addr, value).expect("writable");
        assert_eq!(bench.read(addr), Ok(value), "{addr:#x}");
    }
}

#[test]
fn x5_rings_end_within_the_48_bit_address_space() {
    let mut bench = Bench::new(1);
    for (base, size, ctrl) in [
        (
            group_page::inj(2) + injection_fifo::BASE,
            injection_fifo::SIZE - injection_fifo::BASE,
            injection_fifo::CTRL - injection_fifo::BASE,
        ),
        (
            group_page::rec(2) + reception_fifo::BASE,
            reception_fifo::SIZE - reception_fifo::BASE,
            reception_fifo::CTRL - reception_fifo::BASE,
        ),
    ] {
        let base = reg::page(0) + base;
        for (addr, bytes, fits) in [
            (0xffff_ffff_f000, 0x1000, true),
            (0xffff_ffff_f000, 0x2000, false),
            (0xffff_fff0_0000, 0x10_0000, true),
            (0xffff_fff0_1000, 0x10_0000, false),
        ] {
            bench.write(base, addr).expect("writable");
            bench.write(base + size, bytes).expect("writable");
            let enabled = bench.write(base + ctrl, 1);
            assert_eq!(enabled.is_ok(), fits, "{bytes:#x} bytes at {addr:#x}");
            assert_eq!(bench.read(base + ctrl), Ok(u64::from(fits)));
            bench.write(base + ctrl, 0).expect("writable");
        }
    }
}

#[test]
fn hw1_registers_answer_within_4_cycles() {
    let mut bench = Bench::new(1);
    for addr in [
        node::ID,
        reg::wake(3),
        reg::perf_sent(1),
        COLL + coll_network::route(3),
    ] {
        bench.start_read(0, addr);
        let (value, waited) = bench.finish_read(0);
        assert!(value.is_ok(), "{addr:#x}");
        assert!(waited <= 4, "{addr:#x} took {waited} cycles");
    }
}

#[test]
fn hw6_both_slaves_are_served_when_they_ask_at_once() {
    let mut bench = Bench::new(1);
    bench.write(node::SCRATCH, 7).expect("writable");
    for _ in 0..4 {
        bench.start_read(0, node::SCRATCH);
        bench.start_read(1, node::ID);
        assert_eq!(bench.finish_read(1).0, Ok(ID_VERSION << 32 | ID_MAGIC));
        assert_eq!(bench.finish_read(0).0, Ok(7));
    }
}

#[test]
fn x5_first_error_is_recorded_and_every_error_counted() {
    let mut bench = Bench::new(1);
    bench
        .write(node::INT_MASK, node::int_mask::ERROR.mask())
        .expect("writable");
    assert!(!bench.outputs.irq);
    let before = bench.cycles;
    for (reason, place) in [(ErrorReason::DescBounds, 17), (ErrorReason::PktSlot, 3)] {
        let value =
            node::err_set::REASON.put(u8::from(reason).into()) | node::err_set::WHERE.put(place);
        bench.write(node::ERR_SET, value).expect("writable");
    }
    bench.cycle();
    assert!(bench.outputs.irq, "interrupt");
    let status = bench.read(node::ERR_STATUS).expect("readable");
    assert!(node::err_status::VALID.is_set(status));
    assert_eq!(
        ErrorReason::try_from(node::err_status::REASON.get(status) as u8),
        Ok(ErrorReason::DescBounds)
    );
    assert_eq!(node::err_status::WHERE.get(status), 17);
    assert_eq!(node::err_status::COUNT.get(status), 2);
    let time = bench.read(node::ERR_TIME).expect("readable");
    assert!((before..before + 10).contains(&time), "{time}");

    bench
        .write(node::INT_CAUSE, node::int_cause::ERROR.mask())
        .expect("writable");
    bench.cycle();
    assert!(!bench.outputs.irq, "cause cleared");
    bench
        .write(node::ERR_STATUS, node::err_status::VALID.mask())
        .expect("writable");
    let status = bench.read(node::ERR_STATUS).expect("readable");
    assert!(!node::err_status::VALID.is_set(status), "re-armed");
    bench
        .write(node::ERR_SET, u8::from(ErrorReason::LinkCrc).into())
        .expect("writable");
    let status = bench.read(node::ERR_STATUS).expect("readable");
    assert_eq!(
        node::err_status::REASON.get(status),
        u8::from(ErrorReason::LinkCrc).into()
    );
    assert_eq!(node::err_status::COUNT.get(status), 3);
}

#[test]
fn x5_masked_interrupt_stays_silent_and_keeps_its_cause() {
    let mut bench = Bench::new(1);
    bench.write(node::ERR_SET, 1).expect("writable");
    bench.cycle();
    assert!(!bench.outputs.irq);
    assert_eq!(
        bench.read(node::INT_CAUSE),
        Ok(node::int_cause::ERROR.mask())
    );
    bench
        .write(node::INT_MASK, node::int_mask::ERROR.mask())
        .expect("writable");
    bench.cycle();
    assert!(bench.outputs.irq);
}

#[test]
fn hw1_event_wakes_the_groups_that_mask_it_in() {
    let mut bench = Bench::new(1);
    for group in [2, 9] {
        bench
            .write(
                reg::wake(group) + wake_group::MASK,
                event::ERROR | event::COUNTER,
            )
            .expect("writable");
    }
    bench
        .write(reg::wake(3) + wake_group::MASK, event::COUNTER)
        .expect("writable");
    bench.write(node::ERR_SET, 1).expect("writable");
    bench.cycle();
    assert_eq!(bench.outputs.wake, 1 << 2 | 1 << 9);
    assert_eq!(
        bench.read(reg::wake(2) + wake_group::CAUSE),
        Ok(event::ERROR)
    );
    assert_eq!(bench.read(reg::wake(3) + wake_group::CAUSE), Ok(0));
    bench
        .write(reg::wake(2) + wake_group::CAUSE, event::COUNTER)
        .expect("writable");
    assert_eq!(
        bench.outputs.wake,
        1 << 2 | 1 << 9,
        "another bit was cleared"
    );
    bench
        .write(reg::wake(2) + wake_group::CAUSE, event::ERROR)
        .expect("writable");
    assert_eq!(bench.outputs.wake, 1 << 9);
}

#[test]
fn hw3_links_come_up_and_raise_the_interrupt_cause() {
    let mut bench = Bench::new(1);
    assert_eq!(bench.read(node::LINK_STATUS), Ok(0));
    bench.write(node::LINK_ENABLE, 0b11).expect("writable");
    for _ in 0..LINKS_UP {
        bench.cycle();
    }
    let status = bench.read(node::LINK_STATUS).expect("readable");
    assert_eq!(LinkState::of_port(status, 0), LinkState::Up);
    assert_eq!(LinkState::of_port(status, 1), LinkState::Up);
    let cause = bench.read(node::INT_CAUSE).expect("readable");
    assert!(node::int_cause::LINK.is_set(cause));
}

#[test]
fn hw5_tree_links_come_up_and_raise_the_interrupt_cause() {
    let mut bench = Bench::new(1);
    let status = COLL + coll_network::LINK_STATUS;
    assert_eq!(bench.read(status), Ok(0));
    let enable = COLL + coll_network::LINK_ENABLE;
    bench.write(enable, 0b011).expect("writable");
    for _ in 0..LINKS_UP {
        bench.cycle();
    }
    assert_eq!(bench.read(status), Ok(0b00_11_11));
    assert_eq!(bench.read(node::LINK_STATUS), Ok(0), "the torus stays down");
    let cause = bench.read(node::INT_CAUSE).expect("readable");
    assert!(node::int_cause::LINK.is_set(cause));
}

#[test]
fn hw5_barrier_of_one_is_done_at_once_and_wakes() {
    let mut bench = Bench::new(1);
    let route = COLL + coll_network::barrier_route(3);
    let (enter, done) = (
        COLL + coll_network::BARRIER_ENTER,
        COLL + coll_network::BARRIER_DONE,
    );
    let alone = reg::barrier_route::VALID.put(1) | reg::barrier_route::LOCAL.put(1);
    bench.write(route, alone).expect("writable");
    let mask = reg::wake(5) + wake_group::MASK;
    bench.write(mask, event::BARRIER).expect("writable");
    bench.write(enter, 1 << 3).expect("writable");
    assert!(bench.run_until(10, |b| b.outputs.wake == 1 << 5), "no wake");
    assert_eq!(
        bench.read(reg::wake(5) + wake_group::CAUSE),
        Ok(event::BARRIER)
    );
    assert_eq!(bench.read(done), Ok(1 << 3));
    bench.write(done, 1 << 2).expect("writable");
    assert_eq!(bench.read(done), Ok(1 << 3), "another bit was cleared");
    bench.write(done, 1 << 3).expect("writable");
    assert_eq!(bench.read(done), Ok(0));
    assert_eq!(bench.read(node::ERR_STATUS), Ok(0));

    // A node that is only on the way does not enter.
    bench.write(route, 1).expect("writable");
    bench.write(enter, 1 << 3).expect("writable");
    let status = bench.read(node::ERR_STATUS).expect("readable");
    let reason = node::err_status::REASON.get(status) as u8;
    assert_eq!(ErrorReason::try_from(reason), Ok(ErrorReason::CollBarrier));
    assert_eq!(bench.read(done), Ok(0));
}

#[test]
fn node_is_idle_when_nothing_is_asked_of_it() {
    let mut bench = Bench::new(1);
    assert!(bench.run_until(10, |b| b.outputs.idle), "idle after reset");
    bench.start_read(0, node::ID);
    assert!(!bench.outputs.idle, "an access is under way");
    assert!(bench.finish_read(0).0.is_ok());
    assert!(bench.outputs.idle, "idle after the access");
    bench.write(node::LINK_ENABLE, 0b11).expect("writable");
    assert!(
        bench.run_until(LINKS_UP, |b| b.outputs.idle),
        "idle with links up"
    );
}
