// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every error of descriptors and packets that software can provoke, on a whole machine with traffic under way
//! the error register and the interrupt tell of it, the FIFO at fault waits for software, all
//! others and all other nodes go on, nothing outside of a granted slot is written.

use std::cell::RefCell;
use std::rc::Rc;

use super::common::traffic::{
    self, MEMORY, Plan, SOURCE, SPARE, Style, firmware, injection, pattern, read_registers,
    reception,
};
use super::common::{Failure, config};
use gyre_firmware::{
    Causes, InjectionConfig, InterruptReport, ReceptionConfig, RefusedPackets, Rights, SlotConfig,
};
use gyre_layout::fields::descriptor::{KIND, RMW_OP};
use gyre_layout::registers::{injection_fifo, node, reception_fifo};
use gyre_layout::{
    BitField, Coord, CounterRef, Descriptor, ErrorReason, HEADER_BYTES, Header, Kind, Rmw, RmwOp,
    Source, VClass, packet_bytes,
};
use gyre_sim::{Cpu, Machine, MachineConfig, SimError, Until, WakeReason};

/// Injection FIFO at node 0 that gets the bad descriptors; its ring.
const CULPRIT: u16 = 7;
const CULPRIT_RING: u64 = SPARE.start;
/// Injection FIFO at node 1 that is open to remote gets.
const REMOTE: u16 = 30;
const REMOTE_RING: u64 = SPARE.start + 0x1000;
/// Reception FIFO at node 1 that gets the good message after each bad one.
const WITNESS: u16 = 9;
const WITNESS_RING: u64 = SPARE.start + 0x2000;
const RING: u64 = 0x1000;
/// Owner of these FIFOs; the traffic's are of owner 0.
const OWNER: u8 = 1;

/// Slots at node 0 and 1 alike. What they grant for writing lies where nothing is ever written.
const READABLE: u16 = 8;
const READABLE_BYTES: u64 = 4096;
const NO_READ: u16 = 9;
const INVALID: u16 = 10;
const OTHER_OWNER: u16 = 11;
const SMALL: u16 = 12;
const SMALL_BYTES: u64 = 64;
const NO_REMOTE: u16 = 13;
const ATOMIC: u16 = 14;
const OTHER_ATOMIC: u16 = 15;
const TRAP: u64 = 0xf_4000;
const COUNTER: u64 = 0xf_8000;
const ABSENT: u16 = 40;

fn slots() -> [(u16, SlotConfig); 7] {
    let slot = |base, limit, owner, rights| SlotConfig {
        base,
        limit,
        owner,
        rights,
    };
    let none = Rights::default();
    let read = Rights { read: true, ..none };
    let remote = Rights {
        remote_read: true,
        ..read
    };
    let write = Rights {
        write: true,
        ..none
    };
    let atomic = Rights {
        atomic: true,
        ..none
    };
    [
        (READABLE, slot(SOURCE.base, READABLE_BYTES, OWNER, remote)),
        (NO_READ, slot(SOURCE.base, READABLE_BYTES, OWNER, write)),
        (OTHER_OWNER, slot(SOURCE.base, READABLE_BYTES, 2, remote)),
        (SMALL, slot(TRAP, SMALL_BYTES, OWNER, write)),
        (NO_REMOTE, slot(SOURCE.base, READABLE_BYTES, OWNER, read)),
        (ATOMIC, slot(COUNTER, 64, OWNER, atomic)),
        (OTHER_ATOMIC, slot(COUNTER, 64, 2, atomic)),
    ]
}

/// A ring of 3 nodes that is up, with the FIFOs and slots above.
fn machine() -> Machine {
    machine_of(config(&[3]))
}

fn machine_of(config: MachineConfig) -> Machine {
    let mut machine = Machine::new(config).expect("made");
    traffic::bring_up(&mut machine);
    for number in 0..machine.topology().nodes() {
        firmware(&mut machine, number, |node| {
            for (remote_get, fifo, base) in
                [(false, CULPRIT, CULPRIT_RING), (true, REMOTE, REMOTE_RING)]
            {
                let config = InjectionConfig {
                    base,
                    size: RING,
                    owner: OWNER,
                    remote_get,
                    interrupt: false,
                };
                node.open_injection(fifo, &config)?;
            }
            for (slot, config) in slots() {
                node.grant_slot(slot, &config)?;
            }
            node.enable_interrupts(Causes {
                error: true,
                ..Causes::default()
            })?;
            // Links came up and counters reached zero before.
            node.service_interrupt().map(|_| ())
        });
        open_witness(&mut machine, number);
    }
    machine
}

fn witness() -> ReceptionConfig {
    ReceptionConfig {
        base: WITNESS_RING,
        size: RING,
        owner: OWNER,
        threshold: 0,
    }
}

fn open_witness(machine: &mut Machine, number: usize) {
    firmware(machine, number, |node| {
        node.open_reception(WITNESS, &witness())
    });
}

/// Part that stops at the fault, and how it starts again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Halted {
    Nothing,
    /// An injection FIFO of a node, until software skips the descriptor.
    Injection(usize, u16),
    /// The reception FIFO [`WITNESS`] of node 1, until firmware opens it again.
    Reception,
}

struct Case {
    what: String,
    reason: ErrorReason,
    /// Node that raises the error.
    at: usize,
    halted: Halted,
    descriptor: [u8; 64],
    /// Descriptors that a remote get carries; they are at the start of [`READABLE`]'s region.
    carried: Vec<u8>,
    /// Byte counter at node 1 before and after.
    counter: [u64; 2],
    /// Node 1 keeps who sent the packet.
    kept: bool,
    /// Memory that fails, by node.
    failing: Option<(usize, std::ops::Range<u64>)>,
}

const PEER: Coord = Coord([1, 0, 0, 0, 0]);

fn source(slot: u16, offset: u64, length: u32) -> Source {
    Source {
        slot,
        offset,
        length,
    }
}

/// A good message to the witness.
fn good() -> Descriptor {
    Descriptor::memory_fifo(PEER, source(READABLE, 128, 300), WITNESS)
}

fn good_put() -> Descriptor {
    Descriptor::put(PEER, source(READABLE, 0, 64), SMALL, 0)
}

/// Adds one to a word at node 1, fetched into [`SMALL`]; counted by the pair at [`PAIR`].
fn add(slot: u16, offset: u64) -> Descriptor {
    let rmw = Rmw {
        op: RmwOp::Add,
        wide: true,
        value: 1,
        test: None,
        fetch: Some((SMALL, 0)),
    };
    Descriptor::rmw(PEER, slot, offset, rmw).with_counter(CounterRef {
        slot: ATOMIC,
        index: ((PAIR - COUNTER) / 8) as u32,
    })
}

/// Two counters of node 0, and their values before and after the answer of a node that refused.
const PAIR: u64 = COUNTER + 32;
const PAIR_VALUES: [[u8; 16]; 2] = {
    let mut values = [[0; 16]; 2];
    (values[0][0], values[0][8], values[1][0]) = (8, 8, 8);
    values
};

/// Software words of [`good_put`] and the like.
const WORDS: [u32; 2] = [0xc123_4567, 0x9234_5678];

fn remote_get(fifo: u16) -> Descriptor {
    Descriptor::remote_get(PEER, source(READABLE, 0, 64), fifo)
}

fn bytes(descriptor: Descriptor) -> [u8; 64] {
    descriptor.encode().expect("every value fits")
}

/// A descriptor with another value in a field.
fn with(descriptor: Descriptor, field: BitField, value: u64) -> [u8; 64] {
    let mut bytes = bytes(descriptor);
    field.set(&mut bytes, value).expect("it fits");
    bytes
}

/// A descriptor with a bit of another value.
fn flipped(descriptor: Descriptor, bit: usize) -> [u8; 64] {
    let mut bytes = bytes(descriptor);
    bytes[bit / 8] ^= 1 << (bit % 8);
    bytes
}

impl Case {
    /// A descriptor that node 0 refuses.
    fn refused(what: impl Into<String>, reason: ErrorReason, descriptor: [u8; 64]) -> Self {
        Self {
            what: what.into(),
            reason,
            at: 0,
            halted: Halted::Injection(0, CULPRIT),
            descriptor,
            carried: Vec::new(),
            counter: [0; 2],
            kept: false,
            failing: None,
        }
    }

    /// A packet that node 1 refuses.
    fn dropped(what: &str, reason: ErrorReason, descriptor: Descriptor) -> Self {
        let descriptor = match descriptor.kind {
            Kind::RmwReq => descriptor,
            _ => descriptor.with_software(WORDS[0], WORDS[1]),
        };
        Self {
            at: 1,
            halted: Halted::Nothing,
            kept: true,
            ..Self::refused(what, reason, bytes(descriptor))
        }
    }

    /// A packet that node 1 takes, and whose memory then fails; or a read-modify-write, which is answered.
    fn failed(what: &str, reason: ErrorReason, descriptor: Descriptor) -> Self {
        Self {
            kept: false,
            ..Self::dropped(what, reason, descriptor)
        }
    }

    /// A descriptor that comes to node 1 by remote get and is refused there.
    fn carried(what: &str, reason: ErrorReason, carried: [u8; 64]) -> Self {
        Self {
            at: 1,
            halted: Halted::Injection(1, REMOTE),
            carried: carried.to_vec(),
            ..Self::refused(what, reason, bytes(remote_get(REMOTE)))
        }
    }
}

/// Runs a case in the middle of random traffic of all nodes.
fn run(machine: &mut Machine, number: u64, case: &Case) {
    let what = &case.what;
    traffic::refill(machine);
    machine.poke(0, SOURCE.base, &case.carried);
    machine.poke(1, COUNTER, &case.counter[0].to_le_bytes());
    machine.poke(0, PAIR, &PAIR_VALUES[0]);
    let resident = machine.report().resident_bytes;
    let errors: Vec<u64> = (0..3)
        .map(|node| traffic::error_count(machine, node))
        .collect();
    if let Some((node, range)) = &case.failing {
        machine.fail_memory(*node, range.clone());
    }

    // Payload must be there before the traffic reads it; the carried descriptors are no payload.
    let plan = Plan::random(3, 6, number);
    let plan = shifted(plan, case.carried.len() as u64);
    let all = traffic::start(
        machine,
        &plan,
        Style {
            pace: 200,
            ..Style::default()
        },
    );
    let bad = case.descriptor;
    // Packets on their way to a reception FIFO that halts are lost: there the good one comes later.
    let behind = case.halted != Halted::Reception;
    machine.spawn(0, "culprit", move |cpu| {
        post(&cpu, &[bad])?;
        if behind {
            post(&cpu, &[bytes(good())])?;
        }
        Ok::<(), Failure>(())
    });
    let report = serve(machine, case);
    assert_eq!(report, Some(case.reason), "{what}");
    if case.failing.is_some() {
        machine.repair_memory(case.failing.as_ref().map_or(0, |failing| failing.0));
    }
    recover(machine, case);
    let name = what.clone();
    machine.spawn(1, "witness", move |cpu| {
        take_good(&cpu).map_err(|e| format!("{name}: {e}"))
    });
    machine
        .run(Until::Quiet)
        .unwrap_or_else(|error| panic!("{what}: {error}"));

    assert!(all.iter().all(|seen| seen.borrow().done), "{what}");
    for (node, before) in errors.into_iter().enumerate() {
        let raised = traffic::error_count(machine, node) - before;
        assert_eq!(raised, u64::from(node == case.at), "{what}: node {node}");
    }
    assert_eq!(refused(machine), expected_refusal(case), "{what}");
    let mut counter = [0; 8];
    machine.peek(1, COUNTER, &mut counter);
    assert_eq!(u64::from_le_bytes(counter), case.counter[1], "{what}");
    machine.poke(1, COUNTER, &[traffic::UNTOUCHED; 8]);
    let answered = case.at == 1 && KIND.get(&case.descriptor) == Kind::RmwReq as u64;
    let mut pair = [0; 16];
    machine.peek(0, PAIR, &mut pair);
    assert_eq!(pair, PAIR_VALUES[usize::from(answered)], "{what}");
    machine.poke(0, PAIR, &[traffic::UNTOUCHED; 16]);
    machine.poke(
        0,
        SOURCE.base,
        &(0..case.carried.len() as u64)
            .map(|at| pattern(0, at))
            .collect::<Vec<_>>(),
    );
    traffic::check_memory(machine, &plan);
    assert_eq!(
        machine.report().resident_bytes,
        resident,
        "{what}: written elsewhere"
    );
}

/// The packets that node 1 has refused since they were last taken.
fn refused(machine: &mut Machine) -> Vec<RefusedPackets> {
    firmware(machine, 1, |node| {
        let mut packets = Vec::new();
        let lost = node.take_refused(|refused| packets.push(refused))?;
        assert_eq!(lost, 0);
        Ok(packets)
    })
}

/// Packets of the case that node 1 keeps. A read-modify-write is answered instead; a packet that memory does not
/// take was not refused.
fn expected_refusal(case: &Case) -> Vec<RefusedPackets> {
    if !case.kept {
        return Vec::new();
    }
    let descriptor = Descriptor::decode(&case.descriptor).expect("a descriptor");
    let word = match descriptor.kind {
        Kind::MemFifo => descriptor.sw0,
        _ => descriptor.sw1,
    } & 0x3fff_ffff;
    vec![RefusedPackets {
        source: Coord::default(),
        kind: Ok(descriptor.kind),
        first_word: word,
        last_word: word,
        reason: Ok(case.reason),
        place: descriptor.target,
    }]
}

/// The plan with its sources behind `bytes`, and in front of the end.
fn shifted(mut plan: Plan, bytes: u64) -> Plan {
    for message in plan.messages.iter_mut().flatten() {
        message.source = message.source.max(bytes);
        let room = SOURCE.bytes - message.source;
        assert!(u64::from(message.length) <= room);
    }
    plan
}

/// Posts descriptors in the culprit's FIFO.
fn post(cpu: &Cpu, descriptors: &[[u8; 64]]) -> Result<(), Failure> {
    let mut tail = cpu.read_reg(injection(CULPRIT, injection_fifo::TAIL))?;
    for descriptor in descriptors {
        cpu.mem_write(CULPRIT_RING + tail % RING, descriptor);
        tail += 64;
    }
    cpu.write_reg(injection(CULPRIT, injection_fifo::TAIL), tail)?;
    Ok(cpu.fence()?)
}

/// Waits for the interrupt at the node that raises the error, and serves it.
fn serve(machine: &mut Machine, case: &Case) -> Option<ErrorReason> {
    let what = &case.what;
    let report: Rc<RefCell<Option<InterruptReport>>> = Rc::default();
    let slot = Rc::clone(&report);
    let actor = machine.spawn(case.at, "interrupt", move |cpu: Cpu| {
        let deadline = cpu.now_ps() + 20_000 * cpu.cycle_ps();
        if cpu.wait_irq(Some(deadline)) == WakeReason::Wake {
            let mut node = gyre_firmware::Node::identify(cpu)?;
            slot.replace(Some(node.service_interrupt()?));
        }
        Ok::<(), Failure>(())
    });
    traffic::finish(machine, actor);
    let report = report.take()?;
    assert!(report.causes.error, "{what}");
    report
        .error
        .map(|error| error.reason.expect("a known reason"))
}

/// Checks which part has halted, and restarts it.
fn recover(machine: &mut Machine, case: &Case) {
    let what = &case.what;
    match case.halted {
        Halted::Nothing => {}
        Halted::Injection(node, fifo) => {
            let status = injection(fifo, injection_fifo::STATUS);
            let [value, head] = read_registers(
                machine,
                node,
                &[status, injection(fifo, injection_fifo::HEAD)],
            )[..] else {
                panic!("two registers");
            };
            assert!(injection_fifo::status::HALTED.is_set(value), "{what}");
            let reason = injection_fifo::status::REASON.get(value) as u8;
            assert_eq!(ErrorReason::try_from(reason), Ok(case.reason), "{what}");
            let actor = machine.spawn(node, "resume", move |cpu: Cpu| {
                cpu.write_reg(status, injection_fifo::status::HALTED.mask())?;
                while injection_fifo::status::HALTED.is_set(cpu.read_reg(status)?) {}
                // The bad descriptor is behind HEAD now.
                assert!(cpu.read_reg(injection(fifo, injection_fifo::HEAD))? >= head + 64);
                Ok::<(), Failure>(())
            });
            traffic::finish(machine, actor);
        }
        Halted::Reception => {
            let status = reception(WITNESS, reception_fifo::STATUS);
            let value = read_registers(machine, 1, &[status])[0];
            assert!(reception_fifo::status::HALTED.is_set(value), "{what}");
            firmware(machine, 1, |node| node.close_reception(WITNESS));
            open_witness(machine, 1);
            let actor = machine.spawn(0, "culprit", |cpu| post(&cpu, &[bytes(good())]));
            traffic::finish(machine, actor);
        }
    }
}

/// Waits for the good message at node 1 and checks it.
fn take_good(cpu: &Cpu) -> Result<(), Failure> {
    let (tail, head) = (
        reception(WITNESS, reception_fifo::TAIL),
        reception(WITNESS, reception_fifo::HEAD),
    );
    let from = cpu.read_reg(head)?;
    let length = u64::from(good().source.length);
    let deadline = cpu.now_ps() + 20_000 * cpu.cycle_ps();
    while cpu.read_reg(tail)? == from {
        if cpu.now_ps() > deadline {
            return Err("the good message does not come".into());
        }
    }
    let to = from + packet_bytes(length as usize) as u64;
    if cpu.read_reg(tail)? != to {
        return Err("more than the good message has come".into());
    }
    let mut packet = vec![0; (to - from) as usize];
    for (at, byte) in (from..).zip(&mut packet) {
        cpu.mem_read(WITNESS_RING + at % RING, std::slice::from_mut(byte));
    }
    let mut bytes = [0; HEADER_BYTES];
    bytes.copy_from_slice(&packet[..HEADER_BYTES]);
    let header = Header::decode(&bytes)?;
    let payload = &packet[HEADER_BYTES..HEADER_BYTES + length as usize];
    let first = good().source.offset;
    let intact = (first..)
        .zip(payload)
        .all(|(at, &byte)| byte == pattern(0, at));
    if header.src != cpu.topology().header_coord(0) || u64::from(header.len) != length || !intact {
        return Err(format!("another message: {header:?}").into());
    }
    cpu.write_reg(head, to)?;
    Ok(cpu.fence()?)
}

fn run_all(cases: &[Case]) {
    run_on(&mut machine(), cases);
}

fn run_on(machine: &mut Machine, cases: &[Case]) {
    for (number, case) in cases.iter().enumerate() {
        run(machine, number as u64, case);
    }
}

#[test]
fn x5_malformed_descriptors_halt_their_fifo_alone() {
    use ErrorReason::{
        DescClass, DescDest, DescFlow, DescKind, DescReserved, DescRmw, DescRoute, DescRouting,
    };
    let mut cases = Vec::new();
    let of_kind = |kind| with(good(), KIND, kind);
    for kind in [0, 5, 7, 8, 15] {
        let name = format!("kind {kind}");
        cases.push(Case::refused(name, DescKind, of_kind(kind)));
    }
    // No class route is in use.
    cases.push(Case::refused("collective", DescRoute, of_kind(6)));
    // Operations that there are not; operands of other than 4 and 8 bytes.
    for op in [5, 6, 7] {
        let descriptor = with(add(ATOMIC, 0), RMW_OP, op);
        let name = format!("read-modify-write {op}");
        cases.push(Case::refused(name, DescRmw, descriptor));
    }
    for length in [0, 1, 3, 7, 9, 16, 1 << 31] {
        let mut add = add(ATOMIC, 0);
        add.source.length = length;
        let name = format!("operand of {length} B");
        cases.push(Case::refused(name, DescRmw, bytes(add)));
    }
    // One bit of each reserved field, the remote mark, and the requester.
    for bit in [20, 30, 31, 104, 126, 232, 254, 352, 383, 384, 413, 416, 511] {
        cases.push(Case::refused(
            format!("bit {bit}"),
            DescReserved,
            flipped(good(), bit),
        ));
    }
    let of_flow = bytes(good().with_flow(1));
    cases.push(Case::refused("flow that is not open", DescFlow, of_flow));
    // Priority and system carry messages alone.
    for (what, good, vclass) in [
        ("message", good(), VClass::Response),
        ("put", good_put(), VClass::Request),
        ("put", good_put(), VClass::Priority),
        ("put", good_put(), VClass::System),
    ] {
        let descriptor = Descriptor { vclass, ..good };
        cases.push(Case::refused(
            format!("{what} of class {vclass}"),
            DescClass,
            bytes(descriptor),
        ));
    }
    // Nor do they take dynamic routes or leave copies.
    for vclass in [VClass::Priority, VClass::System] {
        let high = Descriptor { vclass, ..good() };
        let copies = Descriptor {
            deposit: true,
            ..high
        };
        for (what, descriptor) in [
            ("dynamic route", high.with_dynamic_route()),
            ("copies", copies),
        ] {
            cases.push(Case::refused(
                format!("{what} in class {vclass}"),
                DescRouting,
                bytes(descriptor),
            ));
        }
    }
    for (what, descriptor) in [
        ("hint", Descriptor { hint: 1, ..good() }),
        (
            "dimension order without dynamic route",
            Descriptor { order: 1, ..good() },
        ),
        (
            "dynamic route with copies",
            Descriptor {
                dynamic_route: true,
                deposit: true,
                ..good()
            },
        ),
        (
            "dynamic route without a direction",
            good().with_dynamic_route().with_hint(1 << 2),
        ),
        (
            "dynamic route by a dimension that is not there",
            good().with_dynamic_route().with_first_dimension(5),
        ),
        (
            "deposit of a put",
            Descriptor {
                deposit: true,
                ..good_put()
            },
        ),
        (
            "deposit of a remote get",
            Descriptor {
                deposit: true,
                ..remote_get(REMOTE)
            },
        ),
    ] {
        cases.push(Case::refused(what, DescRouting, bytes(descriptor)));
    }
    for dst in [
        [3, 0, 0, 0, 0],
        [63, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 0, 0, 0, 1],
    ] {
        let dst = Coord(dst);
        let descriptor = Descriptor { dst, ..good() };
        cases.push(Case::refused(
            format!("destination {dst}"),
            DescDest,
            bytes(descriptor),
        ));
    }
    run_all(&cases);
}

#[test]
fn x5_descriptors_beyond_their_rights_halt_their_fifo_alone() {
    use ErrorReason::{DescBounds, DescLength, DescOwner, DescRead, DescSlot, PayloadRead};
    let from = |slot, offset, length| Descriptor {
        source: source(slot, offset, length),
        ..good()
    };
    let get = |length| Descriptor::remote_get(PEER, source(READABLE, 0, length), REMOTE);
    let mut cases: Vec<Case> = [
        ("slot that is not valid", DescSlot, from(INVALID, 0, 8)),
        ("slot that is absent", DescSlot, from(ABSENT, 0, 8)),
        ("slot without read right", DescSlot, from(NO_READ, 0, 8)),
        ("slot of another owner", DescOwner, from(OTHER_OWNER, 0, 8)),
        (
            "a byte beyond the slot",
            DescBounds,
            from(READABLE, READABLE_BYTES - 7, 8),
        ),
        (
            "offset beyond the slot",
            DescBounds,
            from(READABLE, 1 << 39, 8),
        ),
        (
            "length beyond the slot",
            DescBounds,
            from(READABLE, 0, u32::MAX),
        ),
        (
            "put beyond 2^40",
            DescBounds,
            Descriptor {
                dst_offset: (1 << 40) - 63,
                ..good_put()
            },
        ),
        ("remote get of nothing", DescLength, get(0)),
        ("remote get of half a descriptor", DescLength, get(96)),
        ("remote get of nine descriptors", DescLength, get(576)),
    ]
    .into_iter()
    .map(|(what, reason, descriptor)| Case::refused(what, reason, bytes(descriptor)))
    .collect();
    // HEAD of the culprit stands behind two descriptors a case.
    let ring = CULPRIT_RING + 128 * cases.len() as u64;
    cases.push(Case {
        failing: Some((0, ring..ring + 64)),
        ..Case::refused(
            "descriptor that memory does not give",
            DescRead,
            bytes(good()),
        )
    });
    let end = SOURCE.base + SOURCE.bytes;
    cases.push(Case {
        // Behind all that the traffic reads; the slot of the traffic does not reach it.
        failing: Some((0, end..MEMORY)),
        ..Case::refused(
            "payload that memory does not give",
            PayloadRead,
            bytes(beyond()),
        )
    });
    let mut machine = machine();
    let config = SlotConfig {
        base: end.next_multiple_of(64),
        limit: 512,
        owner: OWNER,
        rights: Rights {
            read: true,
            ..Rights::default()
        },
    };
    firmware(&mut machine, 0, move |node| {
        node.grant_slot(FAILING, &config)
    });
    run_on(&mut machine, &cases);
}

/// Slot at node 0 over memory that fails.
const FAILING: u16 = 20;

fn beyond() -> Descriptor {
    Descriptor {
        source: source(FAILING, 0, 512),
        ..good()
    }
}

#[test]
fn x5_remote_gets_of_bad_descriptors_halt_the_remote_get_fifo_alone() {
    use ErrorReason::{DescBounds, DescClass, DescKind, DescOwner, DescRemote, DescSlot};
    let here = Coord::default();
    let put = |slot, length| Descriptor::put(here, source(slot, 0, length), SMALL, 0);
    let cases = [
        (
            "put to another node",
            DescRemote,
            Descriptor::put(Coord([2, 0, 0, 0, 0]), source(READABLE, 0, 8), SMALL, 0),
        ),
        (
            "message",
            DescRemote,
            Descriptor::memory_fifo(here, source(READABLE, 0, 8), WITNESS),
        ),
        (
            "remote get",
            DescRemote,
            Descriptor::remote_get(here, source(READABLE, 0, 64), REMOTE),
        ),
        (
            "put of class request",
            DescClass,
            Descriptor {
                vclass: VClass::Request,
                ..put(READABLE, 8)
            },
        ),
        (
            "slot without right of remote reading",
            DescSlot,
            put(NO_REMOTE, 8),
        ),
        ("slot of another owner", DescOwner, put(OTHER_OWNER, 8)),
        ("bytes beyond the slot", DescBounds, put(READABLE, 4097)),
        (
            "kind that there is not",
            DescKind,
            Descriptor {
                kind: Kind::Control,
                ..put(READABLE, 8)
            },
        ),
    ]
    .map(|(what, reason, descriptor)| Case::carried(what, reason, bytes(descriptor)));
    run_all(&cases);
}

#[test]
fn x5_refused_packets_are_dropped_alone() {
    use ErrorReason::{CounterUnderflow, PktBounds, PktCounter, PktInjFifo, PktRecFifo, PktSlot};
    let to_fifo = |target| Descriptor { target, ..good() };
    let to_slot = |target| Descriptor {
        target,
        ..good_put()
    };
    let at = |dst_offset| Descriptor {
        dst_offset,
        ..good_put()
    };
    let counted = |slot, index| good_put().with_counter(CounterRef { slot, index });
    let underflow = Case {
        counter: [16, 16u64.wrapping_sub(64)],
        ..Case::failed(
            "counter that goes below zero",
            CounterUnderflow,
            counted(ATOMIC, 0),
        )
    };
    let cases = [
        ("reception FIFO that is not enabled", PktRecFifo, to_fifo(3)),
        ("reception FIFO that is absent", PktRecFifo, to_fifo(16)),
        ("reception FIFO 1023", PktRecFifo, to_fifo(1023)),
        (
            "remote get to a FIFO that is not enabled",
            PktInjFifo,
            remote_get(29),
        ),
        (
            "remote get to a FIFO of software",
            PktInjFifo,
            remote_get(CULPRIT),
        ),
        (
            "remote get to a FIFO that is absent",
            PktInjFifo,
            remote_get(32),
        ),
        ("slot that is not valid", PktSlot, to_slot(INVALID)),
        ("slot that is absent", PktSlot, to_slot(ABSENT)),
        ("slot without write right", PktSlot, to_slot(READABLE)),
        ("a byte beyond the slot", PktBounds, at(1)),
        ("offset beyond the slot", PktBounds, at(1 << 39)),
        (
            "offset that wraps the address",
            PktBounds,
            at((1 << 40) - 64),
        ),
        (
            "counter in a slot that is not valid",
            PktCounter,
            counted(INVALID, 0),
        ),
        (
            "counter in a slot without atomic right",
            PktCounter,
            counted(SMALL, 0),
        ),
        ("counter beyond its slot", PktCounter, counted(ATOMIC, 8)),
        (
            "counter far beyond its slot",
            PktCounter,
            counted(ATOMIC, (1 << 22) - 1),
        ),
    ]
    .map(|(what, reason, descriptor)| Case::dropped(what, reason, descriptor));
    run_all(&cases);
    // This put is in bounds and arrives.
    let mut machine = machine();
    grant_landing(&mut machine);
    run(&mut machine, 0, &underflow);
}

/// Lets the good put of node 0 land at node 1 where the traffic's memory check does not look.
fn grant_landing(machine: &mut Machine) {
    let config = SlotConfig {
        base: WITNESS_RING + RING - SMALL_BYTES,
        ..slots()[3].1
    };
    firmware(machine, 1, move |node| {
        node.revoke_slot(SMALL)?;
        node.grant_slot(SMALL, &config)
    });
}

#[test]
fn x5_memory_that_fails_under_packets_costs_these_alone() {
    use ErrorReason::{CounterAccess, Write};
    let mut machine = machine();
    grant_landing(&mut machine);
    let counted = good_put().with_counter(CounterRef {
        slot: ATOMIC,
        index: 0,
    });
    let cases = [
        Case {
            failing: Some((1, COUNTER..COUNTER + 8)),
            counter: [640, 640],
            ..Case::failed("counter that memory does not give", CounterAccess, counted)
        },
        Case {
            failing: Some((1, WITNESS_RING + RING - SMALL_BYTES..WITNESS_RING + RING)),
            counter: [640, 640],
            kept: true,
            ..Case::failed("put that memory does not take", Write, counted)
        },
        Case {
            failing: Some((1, WITNESS_RING..WITNESS_RING + RING)),
            halted: Halted::Reception,
            kept: true,
            ..Case::failed("message that memory does not take", Write, good())
        },
    ];
    run_on(&mut machine, &cases);
}

#[test]
fn x5_refused_read_modify_writes_are_answered_and_change_nothing() {
    use ErrorReason::{PktBounds, PktOwner, PktRmw, PktSlot, RmwAccess};
    let failing = Case {
        failing: Some((1, COUNTER..COUNTER + 8)),
        ..Case::failed("word that memory does not give", RmwAccess, add(ATOMIC, 0))
    };
    let cases = [
        Case::failed("slot that is absent", PktSlot, add(ABSENT, 0)),
        Case::failed("slot that is not valid", PktSlot, add(INVALID, 0)),
        Case::failed("slot without atomic right", PktSlot, add(SMALL, 0)),
        Case::failed("slot of another owner", PktOwner, add(OTHER_ATOMIC, 0)),
        Case::failed("a byte beyond the slot", PktBounds, add(ATOMIC, 57)),
        Case::failed("offset beyond the slot", PktBounds, add(ATOMIC, 1 << 39)),
        Case::failed("word that is not aligned", PktRmw, add(ATOMIC, 4)),
        failing,
    ];
    run_all(&cases);
}

/// The first error of a node, which is taken.
fn take_error(machine: &mut Machine, number: usize) -> Option<ErrorReason> {
    firmware(machine, number, |node| node.take_error())
        .map(|error| error.reason.expect("a known reason"))
}

#[test]
fn x5_link_that_is_disabled_cuts_a_packet_short_and_drops_the_rest() {
    let mut machine = machine();
    let long = Descriptor {
        source: source(READABLE, 0, 4096),
        ..good()
    };
    // Fills the ring of the witness: packets stand in the network.
    machine.spawn(0, "culprit", move |cpu| post(&cpu, &[bytes(long); 4]));
    machine
        .run(Until::Cycle(machine.cycles() + 4000))
        .expect("runs");
    let enabled = read_registers(&mut machine, 0, &[node::LINK_ENABLE])[0];
    let actor = machine.spawn(0, "firmware", move |cpu: Cpu| {
        cpu.write_reg(node::LINK_ENABLE, enabled & !1)?;
        Ok::<(), Failure>(cpu.fence()?)
    });
    traffic::finish(&mut machine, actor);
    // The packet at node 1 has room now: the packet on the link ends early.
    firmware(&mut machine, 1, |node| node.close_reception(WITNESS));
    machine.run(Until::Quiet).expect("runs empty");
    assert_eq!(take_error(&mut machine, 0), Some(ErrorReason::LinkDown));
    let truncated = firmware(&mut machine, 1, |node| {
        let report = node.take_error()?;
        Ok(report.map(|error| (error.reason.expect("a known reason"), error.count)))
    });
    let (first, count) = truncated.expect("packets were refused");
    assert!(
        matches!(first, ErrorReason::PktRecFifo | ErrorReason::PktTruncated),
        "{first:?}"
    );
    assert!(count > 1, "{count} errors");

    // The way around is open to others, and the link comes back.
    let actor = machine.spawn(0, "firmware", move |cpu: Cpu| {
        cpu.write_reg(node::LINK_ENABLE, enabled)?;
        Ok::<(), Failure>(cpu.fence()?)
    });
    traffic::finish(&mut machine, actor);
    open_witness(&mut machine, 1);
    machine
        .run(Until::Cycle(machine.cycles() + 1000))
        .expect("runs");
    traffic::refill(&mut machine);
    let plan = Plan::random(3, 10, 2);
    traffic::run(&mut machine, &plan, Style::default());
    machine.spawn(0, "culprit", |cpu| post(&cpu, &[bytes(good())]));
    machine.spawn(1, "witness", |cpu| take_good(&cpu));
    machine.run(Until::Quiet).expect("arrives");
}

#[test]
fn x5_packet_without_a_route_is_dropped_where_its_way_ends() {
    let mut machine = machine();
    let right = read_registers(&mut machine, 0, &[node::SIZE])[0];
    let set_size = |machine: &mut Machine, value| {
        let actor = machine.spawn(0, "firmware", move |cpu: Cpu| {
            cpu.write_reg(node::SIZE, value)?;
            Ok::<(), Failure>(cpu.fence()?)
        });
        traffic::finish(machine, actor);
    };
    // Node 0 takes the ring of 3 for one of 5: node 1 knows no node 2 further.
    let wrong = node::size::S0.set(right, 6);
    set_size(&mut machine, wrong);
    let lost = Descriptor {
        dst: Coord([3, 0, 0, 0, 0]),
        ..good()
    };
    machine.spawn(0, "culprit", move |cpu| {
        post(&cpu, &[bytes(lost), bytes(good())])
    });
    machine.spawn(1, "witness", |cpu| take_good(&cpu));
    machine
        .run(Until::Quiet)
        .expect("the message behind it arrives");
    assert_eq!(
        take_error(&mut machine, 1),
        Some(ErrorReason::RouteUnreachable)
    );
    for node in [0, 2] {
        assert_eq!(take_error(&mut machine, node), None, "node {node}");
    }
    set_size(&mut machine, right);
    traffic::refill(&mut machine);
    traffic::run(&mut machine, &Plan::random(3, 10, 2), Style::default());
}

#[test]
fn x5_packet_waiting_at_a_node_that_changes_coordinates_is_refused() {
    let mut machine = machine_of(MachineConfig {
        mesh: vec![true],
        ..config(&[2])
    });
    let long = Descriptor {
        source: source(READABLE, 0, 4096),
        ..good()
    };
    // More than the ring of the witness holds: headers wait in the DMA engine of node 1.
    machine.spawn(0, "culprit", move |cpu| post(&cpu, &[bytes(long); 4]));
    machine
        .run(Until::Cycle(machine.cycles() + 4000))
        .expect("runs");
    let set_coord = |machine: &mut Machine, value: u64| {
        let actor = machine.spawn(1, "firmware", move |cpu: Cpu| {
            cpu.write_reg(node::COORD, value)?;
            Ok::<(), Failure>(cpu.fence()?)
        });
        traffic::finish(machine, actor);
    };
    set_coord(&mut machine, 0);
    assert_eq!(take_error(&mut machine, 1), Some(ErrorReason::PktDest));
    firmware(&mut machine, 1, |node| node.close_reception(WITNESS));
    machine.run(Until::Quiet).expect("runs empty");
    set_coord(&mut machine, 1);
    open_witness(&mut machine, 1);
    traffic::refill(&mut machine);
    traffic::run(&mut machine, &Plan::random(2, 10, 2), Style::default());
}

#[test]
fn x5_hardware_that_never_gets_quiet_is_reported() {
    let mut machine = machine();
    let long = Descriptor {
        source: source(READABLE, 0, 4096),
        ..good()
    };
    // No software takes these from the ring.
    machine.spawn(0, "culprit", move |cpu| post(&cpu, &[bytes(long); 4]));
    let error = machine
        .run(Until::Quiet)
        .expect_err("packets wait for ever");
    assert!(matches!(error, SimError::Watchdog { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("reception FIFO 9"), "{text}");
}
