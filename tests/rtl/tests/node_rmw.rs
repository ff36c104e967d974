// SPDX-License-Identifier: MIT OR Apache-2.0
//! Read-modify-writes of a node on itself, against a reference: operations, order, rights, errors.

use gyre_layout::registers::{
    self as reg, base_slot, group_page, injection_fifo, node, wake_group,
};
use gyre_layout::{Coord, CounterRef, Descriptor, ErrorReason, Kind, Rmw, RmwOp, Source, event};
use gyre_rtl_tests::node::Bench;

const RING: u64 = 0x10_0000;
const RING_BYTES: u64 = 0x1_0000;
/// Slot 0: payload and results.
const RESULTS: u64 = 0x20_0000;
/// Slot 1: operands, owner as the FIFO's.
const OPERANDS: u64 = 0x30_0000;
/// Slot 2: counters.
const COUNTERS: u64 = 0x40_0000;
/// Bytes of slot 0, 1 and 2.
const LIMIT: u64 = 0x1_0000;
/// Slot 3: operands of another owner. Slot 4: without the atomic right. Slot 5: without write right.
const OWNER: u64 = 3;
/// Cycles in which any of these tests' batches ends.
const LONG: u64 = 200_000;

fn inj(register: u64) -> u64 {
    reg::page(0) + group_page::inj(0) + register
}

/// A node with injection FIFO 0 and the slots above.
struct Machine {
    bench: Bench,
    /// Descriptors posted.
    posted: u64,
}

impl Machine {
    fn new() -> Self {
        let mut bench = Bench::new(1);
        bench.write_latency = 20;
        let owner = base_slot::ctrl::OWNER.put(OWNER);
        let other = base_slot::ctrl::OWNER.put(OWNER + 1);
        let [valid, read, write, atomic] = [
            base_slot::ctrl::VALID,
            base_slot::ctrl::READ,
            base_slot::ctrl::WRITE,
            base_slot::ctrl::ATOMIC,
        ]
        .map(|right| right.mask());
        for (number, base, ctrl) in [
            (0, RESULTS, valid | read | write | owner),
            (1, OPERANDS, valid | write | atomic | owner),
            (2, COUNTERS, valid | atomic | owner),
            (3, OPERANDS, valid | read | write | atomic | other),
            (4, OPERANDS, valid | read | write | owner),
            (5, RESULTS, valid | read | atomic | owner),
        ] {
            let slot = reg::page(0) + group_page::slot(number);
            for (register, value) in [
                (base_slot::BASE, base),
                (base_slot::LIMIT, LIMIT),
                (base_slot::CTRL, ctrl),
            ] {
                bench.write(slot + register, value).expect("writable");
            }
        }
        let enable = injection_fifo::ctrl::ENABLE.mask() | injection_fifo::ctrl::OWNER.put(OWNER);
        for (addr, value) in [
            (node::CTRL, node::ctrl::DMA_ENABLE.mask()),
            (inj(injection_fifo::BASE), RING),
            (inj(injection_fifo::SIZE), RING_BYTES),
            (inj(injection_fifo::CTRL), enable),
            (reg::wake(0) + wake_group::MASK, event::COUNTER),
        ] {
            bench.write(addr, value).expect("writable");
        }
        Self { bench, posted: 0 }
    }

    /// Writes a descriptor into the ring.
    fn put_bytes(&mut self, bytes: [u8; 64]) {
        let at = RING + self.posted * 64 % RING_BYTES;
        self.bench.memory.insert(at / 64, bytes);
        self.posted += 1;
    }

    fn put(&mut self, descriptor: &Descriptor) {
        self.put_bytes(descriptor.encode().expect("every value fits"));
    }

    /// Starts what is in the ring, and runs until nothing is under way.
    fn run(&mut self) {
        let tail = self.posted * 64;
        self.bench
            .write(inj(injection_fifo::TAIL), tail)
            .expect("writable");
        let end = self.bench.cycles + LONG;
        loop {
            for _ in 0..50 {
                self.bench.cycle();
            }
            let status = self.bench.read(node::STATUS).expect("readable");
            if node::status::IDLE.is_set(status) {
                return;
            }
            assert!(self.bench.cycles < end, "never idle again");
        }
    }

    /// The reason of the error since the last call.
    fn error(&mut self) -> Option<ErrorReason> {
        let status = self.bench.read(node::ERR_STATUS).expect("readable");
        self.bench
            .write(node::ERR_STATUS, node::err_status::VALID.mask())
            .expect("writable");
        node::err_status::VALID.is_set(status).then(|| {
            ErrorReason::try_from(node::err_status::REASON.get(status) as u8).expect("a reason")
        })
    }
}

/// Numbers without a pattern (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 16) % limit
    }
}

/// Operand of the word `word` at byte `offset` (of memory), and the word with it replaced.
fn operand(word: u64, offset: u64, wide: bool) -> u64 {
    if wide {
        word
    } else {
        word >> (8 * (offset % 8)) & 0xffff_ffff
    }
}

fn replaced(word: u64, offset: u64, wide: bool, value: u64) -> u64 {
    if wide {
        value
    } else {
        let shift = 8 * (offset % 8);
        word & !(0xffff_ffff << shift) | (value & 0xffff_ffff) << shift
    }
}

fn applied(op: RmwOp, old: u64, value: u64) -> u64 {
    match op {
        RmwOp::Set => value,
        RmwOp::Add => old.wrapping_add(value),
        RmwOp::Or => old | value,
        RmwOp::And => old & value,
        RmwOp::Xor => old ^ value,
    }
}

fn counter(index: u32) -> CounterRef {
    CounterRef { slot: 2, index }
}

#[test]
fn hw1_random_rmw_match_the_reference() {
    let mut machine = Machine::new();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    // Few words, so that requests meet, and values that often match a test.
    let mut words: Vec<u64> = (0..6).map(|_| random.next()).collect();
    for (index, &word) in words.iter().enumerate() {
        machine.bench.set_word(OPERANDS + 8 * index as u64, word);
    }
    let (mut matched, mut missed, mut narrow, mut quiet) = (0, 0, 0, 0);
    for batch in 0..8 {
        let count = 1 + random.below(120);
        let mut results = Vec::new();
        let mut moved = [0_u64; 3];
        for number in 0..count {
            let op = RmwOp::ALL[random.below(RmwOp::ALL.len() as u64) as usize];
            let wide = random.below(2) == 0;
            let index = random.below(words.len() as u64) as usize;
            let offset = 8 * index as u64 + if wide { 0 } else { 4 * random.below(2) };
            let value = random.next();
            let old = operand(words[index], offset, wide);
            let test = match random.below(4) {
                0 => Some(random.next()),
                // The upper half of a narrow test does not count.
                1 if wide => Some(old),
                1 => Some(old | random.next() << 32),
                _ => None,
            };
            let holds = test.is_none_or(|test| operand(test, 0, wide) == old);
            if holds {
                words[index] = replaced(words[index], offset, wide, applied(op, old, value));
            }
            if test.is_some() {
                *(if holds { &mut matched } else { &mut missed }) += 1;
            }
            narrow += u64::from(!wide);
            // Odd places, so that results cross words and lines.
            let place = 13 * number;
            let fetch = (random.below(3) != 0).then_some((0, place));
            let mut descriptor = Descriptor::rmw(
                Coord::default(),
                1,
                offset,
                Rmw {
                    op,
                    wide,
                    value,
                    test,
                    fetch,
                },
            );
            if random.below(3) != 0 {
                let index = random.below(3) as usize;
                moved[index] += if wide { 8 } else { 4 };
                descriptor = descriptor.with_counter(counter(index as u32));
            } else if fetch.is_none() {
                quiet += 1;
            }
            let old = old.to_le_bytes();
            let old = if wide { &old[..] } else { &old[..4] }.to_vec();
            results.push((place, fetch.map_or(vec![0xa5; 8], |_| old)));
            machine.put(&descriptor);
        }
        for line in 0..=13 * count / 64 + 1 {
            machine.bench.memory.insert(RESULTS / 64 + line, [0xa5; 64]);
        }
        for (index, moved) in moved.iter().enumerate() {
            machine
                .bench
                .set_word(COUNTERS + 8 * index as u64, moved + 1000 * index as u64);
        }
        machine.run();
        assert_eq!(machine.error(), None, "batch {batch}");
        for (index, &word) in words.iter().enumerate() {
            let read = machine.bench.word(OPERANDS + 8 * index as u64);
            assert_eq!(read, word, "batch {batch}, word {index}");
        }
        for (place, expected) in results {
            for (byte, &expected) in expected.iter().enumerate() {
                let at = RESULTS + place + byte as u64;
                let read = machine.bench.memory[&(at / 64)][at as usize % 64];
                assert_eq!(read, expected, "batch {batch}, result at {place} + {byte}");
            }
        }
        for index in 0..3 {
            let left = machine.bench.word(COUNTERS + 8 * index);
            assert_eq!(left, 1000 * index, "batch {batch}, counter {index}");
        }
    }
    assert!(matched > 20 && missed > 20 && narrow > 50 && quiet > 5);
    let kinds = [Kind::RmwReq, Kind::RmwResp].map(|kind| u64::from(u8::from(kind)));
    for kind in kinds {
        let sent = machine.bench.read(reg::perf_sent(kind));
        assert_eq!(sent, Ok(machine.posted));
        assert_eq!(
            machine.bench.read(reg::perf_received(kind)),
            Ok(machine.posted)
        );
    }
}

#[test]
fn hw1_answer_moves_the_counter_after_its_value_is_written() {
    let mut machine = Machine::new();
    machine.bench.set_word(OPERANDS, 41);
    machine.bench.set_word(COUNTERS, 8);
    let rmw = Rmw {
        op: RmwOp::Add,
        wide: true,
        value: 1,
        test: None,
        fetch: Some((0, 0)),
    };
    machine.put(&Descriptor::rmw(Coord::default(), 1, 0, rmw).with_counter(counter(0)));
    let tail = inj(injection_fifo::TAIL);
    machine.bench.write(tail, 64).expect("writable");
    let reached = machine
        .bench
        .run_until(2000, |b| b.word(COUNTERS) == 0 || b.outputs.wake != 0);
    assert!(reached, "no answer");
    assert_eq!(machine.bench.word(RESULTS), 41);
    assert_eq!(machine.bench.word(OPERANDS), 42);
    assert!(
        machine.bench.run_until(100, |b| b.outputs.wake == 1),
        "no event"
    );
}

#[test]
fn hw1_rmw_after_a_put_of_the_same_flow_sees_its_data() {
    let mut machine = Machine::new();
    // Writes take so long that a request which did not wait would read what was there before.
    machine.bench.write_latency = 400;
    machine.bench.set_word(OPERANDS, 5);
    machine.bench.set_word(RESULTS + 0x100, 7);
    let source = Source {
        slot: 0,
        offset: 0x100,
        length: 8,
    };
    let rmw = Rmw {
        op: RmwOp::Or,
        wide: true,
        value: 8,
        test: Some(7),
        fetch: Some((0, 0)),
    };
    machine.put(&Descriptor::put(Coord::default(), source, 1, 0));
    machine.put(&Descriptor::rmw(Coord::default(), 1, 0, rmw));
    machine.run();
    assert_eq!(machine.bench.word(RESULTS), 7);
    assert_eq!(machine.bench.word(OPERANDS), 15);
}

#[test]
fn hw1_rmw_and_byte_counters_on_one_word_exclude_each_other() {
    let mut machine = Machine::new();
    let mut expected = 1_000_000_u64;
    machine.bench.set_word(COUNTERS, expected);
    for number in 0..40 {
        let source = Source {
            slot: 0,
            offset: 0,
            length: 16 + number,
        };
        let rmw = Rmw {
            op: RmwOp::Add,
            wide: true,
            value: 1 << 32,
            test: None,
            fetch: None,
        };
        machine.put(&Descriptor::put(Coord::default(), source, 1, 0x100).with_counter(counter(0)));
        machine.put(&Descriptor::rmw(Coord::default(), 2, 0, rmw));
        expected = expected + (1 << 32) - u64::from(source.length);
    }
    machine.run();
    assert_eq!(machine.error(), None);
    assert_eq!(machine.bench.word(COUNTERS), expected);
}

#[test]
fn x5_faulty_rmw_is_reported_answered_and_delays_nothing() {
    let good = Rmw {
        op: RmwOp::Add,
        wide: true,
        value: 1,
        test: None,
        fetch: Some((0, 0)),
    };
    let at = |slot, offset| Descriptor::rmw(Coord::default(), slot, offset, good);
    let with = |slot, offset| {
        let fetch = Some((slot, offset));
        Descriptor::rmw(Coord::default(), 1, 0, Rmw { fetch, ..good })
    };
    let long = |length| {
        let mut descriptor = at(1, 0);
        descriptor.source.length = length;
        descriptor
    };
    let encoded = |descriptor: Descriptor| descriptor.encode().expect("every value fits");
    let mut unknown = encoded(at(1, 0));
    unknown[44] |= 5;
    let mut reserved = encoded(at(1, 0));
    reserved[44] |= 0x20;
    let mut stray = encoded(Descriptor::put(
        Coord::default(),
        Source {
            slot: 0,
            offset: 0,
            length: 8,
        },
        1,
        0,
    ));
    stray[56] = 1;
    let mut response = at(1, 0);
    response.vclass = gyre_layout::VClass::Response;
    // Descriptors refused here: their FIFO halts.
    let refused = [
        (unknown, ErrorReason::DescRmw),
        (encoded(long(0)), ErrorReason::DescRmw),
        (encoded(long(2)), ErrorReason::DescRmw),
        (encoded(long(16)), ErrorReason::DescRmw),
        (reserved, ErrorReason::DescReserved),
        (stray, ErrorReason::DescReserved),
        (encoded(response), ErrorReason::DescClass),
        (encoded(with(5, 0)), ErrorReason::DescSlot),
        (encoded(with(31, 0)), ErrorReason::DescSlot),
        (encoded(with(3, 0)), ErrorReason::DescOwner),
        (encoded(with(0, LIMIT - 4)), ErrorReason::DescBounds),
        (encoded(at(1, (1 << 40) - 4)), ErrorReason::DescBounds),
    ];
    // Requests refused by the target.
    let dropped = [
        (at(4, 0), ErrorReason::PktSlot),
        (at(31, 0), ErrorReason::PktSlot),
        (at(3, 0), ErrorReason::PktOwner),
        (at(1, LIMIT - 4), ErrorReason::PktBounds),
        (at(1, LIMIT), ErrorReason::PktBounds),
        (at(1, 4), ErrorReason::PktRmw),
        (at(1, 1), ErrorReason::PktRmw),
    ];
    let mut machine = Machine::new();
    let mut sum = 0;
    for (bytes, reason) in refused {
        machine.put_bytes(bytes);
        machine.run();
        assert_eq!(machine.error(), Some(reason));
        let status = machine.bench.read(inj(injection_fifo::STATUS));
        let status = status.expect("readable");
        assert!(injection_fifo::status::HALTED.is_set(status), "{reason}");
        machine
            .bench
            .write(
                inj(injection_fifo::STATUS),
                injection_fifo::status::HALTED.mask(),
            )
            .expect("writable");
        machine.put(&at(1, 0));
        sum += 1;
        machine.run();
        assert_eq!(machine.bench.word(OPERANDS), sum, "after {reason}");
    }
    for (descriptor, reason) in dropped {
        machine.bench.set_word(COUNTERS, 8);
        machine.bench.set_word(COUNTERS + 8, 8);
        machine.put(&descriptor.with_counter(counter(0)));
        machine.run();
        assert_eq!(machine.error(), Some(reason));
        // The answer moves the other counter of the pair.
        let pair = [0, 8].map(|half| machine.bench.word(COUNTERS + half));
        assert_eq!(pair, [8, 0], "{reason}");
        machine.put(&at(1, 0));
        sum += 1;
        machine.run();
        assert_eq!(machine.bench.word(OPERANDS), sum, "after {reason}");
    }
    assert_eq!(machine.error(), None);
}

#[test]
fn x5_rmw_with_memory_error_is_reported_and_answered() {
    let mut machine = Machine::new();
    let rmw = |fetch, value| Rmw {
        op: RmwOp::Add,
        wide: true,
        value,
        test: None,
        fetch,
    };
    machine.bench.set_word(COUNTERS, 800);
    machine.bench.set_word(COUNTERS + 8, 800);
    machine.bench.set_word(OPERANDS, 3);
    // The bad one is between good ones, whose answers keep their order.
    machine.bench.bad_line = Some(OPERANDS / 64 + 1);
    for (number, offset) in [0, 64, 0, 72, 0].into_iter().enumerate() {
        let fetch = Some((0, 8 * number as u64));
        let descriptor = Descriptor::rmw(Coord::default(), 1, offset, rmw(fetch, 1));
        machine.put(&descriptor.with_counter(counter(0)));
    }
    machine.run();
    assert_eq!(machine.error(), Some(ErrorReason::RmwAccess));
    assert_eq!(machine.bench.word(OPERANDS), 6);
    assert_eq!(machine.bench.word(COUNTERS), 800 - 3 * 8);
    assert_eq!(machine.bench.word(COUNTERS + 8), 800 - 2 * 8);
    let results: Vec<u64> = (0..5)
        .map(|n| machine.bench.word(RESULTS + 8 * n))
        .collect();
    assert_eq!(results, [3, 0, 4, 0, 5]);
    // The place of the result is bad: the operation is done, the counter stays.
    machine.bench.bad_line = Some(RESULTS / 64 + 4);
    let descriptor = Descriptor::rmw(Coord::default(), 1, 0, rmw(Some((0, 256)), 1));
    machine.put(&descriptor.with_counter(counter(0)));
    machine.run();
    assert_eq!(machine.error(), Some(ErrorReason::Write));
    assert_eq!(machine.bench.word(OPERANDS), 7);
    assert_eq!(machine.bench.word(COUNTERS), 800 - 3 * 8);
}
