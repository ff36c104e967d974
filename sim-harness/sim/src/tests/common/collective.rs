// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives and barriers on registers and memory alone. Every member judges its results bit by bit against the
//! host, which combines in the order of the tree: own value, child 0, child 1 (HW-5).

use std::rc::Rc;

use gyre_firmware::{InjectionConfig, Node, ReceptionConfig, Rights, RoutePart, SlotConfig};
use gyre_layout::registers::{
    self, COLL, coll_network, group_page, injection_fifo, reception_fifo, wake_group,
};
use gyre_layout::{
    CollOp, CollType, Collective, CounterRef, Descriptor, HEADER_BYTES, Header, Kind, Source,
};
use gyre_sim::{Cpu, Machine, Until};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::{Failure, bring_up_node};

/// Routes that a program may have: one FIFO of each sort is left to others.
pub const ROUTES: u8 = 15;
const INJECTION_RINGS: u64 = 0x2_0000;
const INJECTION_BYTES: u64 = 0x1000;
const RECEPTION_RINGS: u64 = 0x4_0000;
const RECEPTION_BYTES: u64 = 0x2000;
const SLOT: u16 = 1;
const MEMORY: u64 = 0x20_0000;
const MEMORY_BYTES: u64 = 0x20_0000;
/// Offsets in the slot: each route has two places to send from and one for results.
const ROUTE_BYTES: u64 = 0x1_0000;
const SEND_BYTES: u64 = 0x4000;
const RESULT: u64 = 0x8000;
const COUNTERS: u64 = 0x1f_0000;

/// How a result arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Put,
    Fifo,
}

/// A collective of all members of a route.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub op: CollOp,
    pub dtype: CollType,
    pub elements: usize,
    pub delivery: Delivery,
    /// The node that contributes, of a broadcast.
    pub from: Option<u32>,
    /// The member that alone gets the result.
    pub to: Option<u32>,
}

impl Step {
    pub fn all(op: CollOp, dtype: CollType, elements: usize) -> Self {
        Self {
            op,
            dtype,
            elements,
            delivery: Delivery::Put,
            from: None,
            to: None,
        }
    }

    pub fn broadcast(from: u32, elements: usize) -> Self {
        Self {
            from: Some(from),
            ..Self::all(CollOp::Broadcast, CollType::U32, elements)
        }
    }

    fn bytes(&self) -> usize {
        self.elements * width(self.dtype)
    }
}

/// A route and what its members do on it, with a barrier before each step.
#[derive(Clone, Debug)]
pub struct Program {
    pub members: Vec<u32>,
    pub steps: Vec<Step>,
}

/// Bytes of an element.
fn width(dtype: CollType) -> usize {
    match dtype {
        CollType::U32 | CollType::I32 => 4,
        CollType::U64 | CollType::I64 | CollType::F64 => 8,
    }
}

/// Contribution of a node. Floating point: all magnitudes, with zeros, infinities and NaN among them.
pub fn contribution(route: usize, step: usize, node: u32, what: &Step) -> Vec<u8> {
    let mut rng =
        ChaCha8Rng::seed_from_u64((route as u64) << 40 | (step as u64) << 20 | u64::from(node));
    let mut bytes = Vec::new();
    for _ in 0..what.elements {
        if what.dtype == CollType::F64 {
            let value = match rng.random_range(0..400) {
                0 => f64::INFINITY,
                1 => f64::NEG_INFINITY,
                2 => f64::NAN,
                3 => 0.0,
                4 => -0.0,
                5 => f64::from_bits(rng.random::<u64>() >> 12),
                6..200 => (rng.random::<u64>() >> 11) as f64 / (1_u64 << 43) as f64 - 512.0,
                _ => f64::from_bits(rng.random::<u64>() & !(1 << 62) | 1 << 61),
            };
            bytes.extend(value.to_bits().to_le_bytes());
        } else {
            bytes.extend(&rng.random::<u64>().to_le_bytes()[..width(what.dtype)]);
        }
    }
    bytes
}

/// Smaller (or larger) number of IEEE 754-2019: a NaN loses, -0 is less than +0.
fn extreme(a: f64, b: f64, larger: bool) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => CANONICAL_NAN,
        (true, false) => b,
        (false, true) => a,
        (false, false) if a == b => {
            if a.is_sign_negative() == larger {
                b
            } else {
                a
            }
        }
        (false, false) => {
            if (a > b) == larger {
                a
            } else {
                b
            }
        }
    }
}

const CANONICAL_NAN: f64 = f64::from_bits(0x7ff8_0000_0000_0000);

fn combine_element(op: CollOp, dtype: CollType, a: u64, b: u64) -> u64 {
    let signed = |v: u64| match dtype {
        CollType::I32 => i64::from(v as u32 as i32),
        _ => v as i64,
    };
    let is_signed = matches!(dtype, CollType::I32 | CollType::I64);
    let less = if is_signed {
        signed(a) < signed(b)
    } else {
        a < b
    };
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    match (op, dtype) {
        (CollOp::And, _) => a & b,
        (CollOp::Or, _) => a | b,
        (CollOp::Xor, _) => a ^ b,
        (CollOp::Add, CollType::F64) => {
            let sum = x + y;
            if sum.is_nan() { CANONICAL_NAN } else { sum }.to_bits()
        }
        (CollOp::Add, _) => a.wrapping_add(b),
        (CollOp::Min, CollType::F64) => extreme(x, y, false).to_bits(),
        (CollOp::Max, CollType::F64) => extreme(x, y, true).to_bits(),
        (CollOp::Min, _) => {
            if less {
                a
            } else {
                b
            }
        }
        (CollOp::Max, _) => {
            if less {
                b
            } else {
                a
            }
        }
        (CollOp::Broadcast, _) => unreachable!("a broadcast combines nothing"),
    }
}

fn combine(what: &Step, a: Option<Vec<u8>>, b: Option<Vec<u8>>) -> Option<Vec<u8>> {
    let (a, b) = match (a, b) {
        (Some(a), Some(b)) => (a, b),
        (a, b) => return a.or(b),
    };
    let width = width(what.dtype);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |w, &b| w << 8 | u64::from(b));
    let mut bytes = Vec::new();
    for (a, b) in a.chunks(width).zip(b.chunks(width)) {
        let value = combine_element(what.op, what.dtype, word(a), word(b));
        bytes.extend(&value.to_le_bytes()[..width]);
    }
    Some(bytes)
}

/// The result of a step, combined in the order of the tree.
pub fn expected(route: usize, number: usize, members: &[u32], what: &Step) -> Vec<u8> {
    fn below(
        route: usize,
        number: usize,
        members: &[u32],
        what: &Step,
        node: u32,
    ) -> Option<Vec<u8>> {
        if node > members.iter().copied().max().unwrap_or(0) {
            return None;
        }
        let own = (members.contains(&node)).then(|| contribution(route, number, node, what));
        let child = |n| below(route, number, members, what, n);
        let first = combine(what, own, child(2 * node + 1));
        combine(what, first, child(2 * node + 2))
    }
    match what.from {
        Some(from) => contribution(route, number, from, what),
        None => below(route, number, members, what, 0).unwrap_or_default(),
    }
}

/// Brings every node up with FIFOs, class routes and barrier routes of `programs`; FIFO, slot and wake group 0 are
/// as [`bring_up_node`] leaves them.
pub fn bring_up(machine: &mut Machine, programs: &Rc<[Program]>) {
    assert!(programs.len() <= usize::from(ROUTES), "too many routes");
    for node in 0..machine.topology().nodes() {
        let programs = Rc::clone(programs);
        machine.spawn(node, "firmware", move |cpu| set_up(&cpu, &programs));
    }
    machine.run(Until::Done).expect("brought up");
}

fn set_up(cpu: &Cpu, programs: &[Program]) -> Result<(), Failure> {
    bring_up_node(cpu)?;
    let mut node = Node::identify(cpu.clone())?;
    let all = Rights {
        read: true,
        write: true,
        atomic: true,
        remote_read: false,
    };
    let slot = SlotConfig {
        base: MEMORY,
        limit: MEMORY_BYTES,
        owner: 0,
        rights: all,
    };
    node.grant_slot(SLOT, &slot)?;
    for (program, route) in programs.iter().zip(0_u8..) {
        let number = u64::from(route);
        let injection = InjectionConfig {
            base: INJECTION_RINGS + number * INJECTION_BYTES,
            size: INJECTION_BYTES,
            owner: 0,
            remote_get: false,
            interrupt: false,
        };
        node.open_injection(u16::from(route) + 1, &injection)?;
        let reception = ReceptionConfig {
            base: RECEPTION_RINGS + number * RECEPTION_BYTES,
            size: RECEPTION_BYTES,
            owner: 0,
            threshold: 0,
        };
        node.open_reception(u16::from(route) + 1, &reception)?;
        let part = RoutePart::of(&program.members, cpu.node() as u32);
        node.set_class_route(route, part.as_ref(), 0)?;
        node.set_barrier_route(route, part.as_ref())?;
        let mask = wake_group::mask::COUNTER.put(1)
            | wake_group::mask::BARRIER.put(1)
            | wake_group::mask::RECEPTION.put(2 << route);
        cpu.write_reg(registers::wake(number + 1) + wake_group::MASK, mask)?;
    }
    cpu.fence()?;
    Ok(())
}

/// Starts the members of all programs.
pub fn spawn(machine: &mut Machine, programs: &Rc<[Program]>) {
    for (route, program) in programs.iter().enumerate() {
        for &member in &program.members {
            let programs = Rc::clone(programs);
            machine.spawn(member as usize, &format!("route {route}"), move |cpu| {
                let mut task = Task {
                    cpu,
                    route,
                    posted: 0,
                    taken: 0,
                };
                let Program { members, steps } = &programs[route];
                for (number, step) in steps.iter().enumerate() {
                    task.step(number, members, step)
                        .map_err(|error| format!("step {number} {step:?}: {error}"))?;
                }
                Ok::<(), Failure>(())
            });
        }
    }
}

/// A member of a route.
struct Task {
    cpu: Cpu,
    route: usize,
    /// Descriptors posted.
    posted: u64,
    /// Bytes taken from the reception FIFO.
    taken: u64,
}

impl Task {
    fn step(&mut self, number: usize, members: &[u32], what: &Step) -> Result<(), Failure> {
        let me = self.cpu.node() as u32;
        let place = self.route as u64 * ROUTE_BYTES;
        let send = place + (number as u64 % 2) * SEND_BYTES;
        let bytes = what.bytes();
        let own = contribution(self.route, number, me, what);
        self.cpu.mem_write(MEMORY + send, &own);
        self.cpu
            .mem_write(MEMORY + place + RESULT, &vec![0xee; bytes + 64]);
        let counter = COUNTERS + 8 * self.route as u64;
        let count = bytes.max(1) as u64;
        self.cpu.mem_write(MEMORY + counter, &count.to_le_bytes());
        // Somebody else is last each time.
        let rest = u64::from(me * 37 + number as u32 * 101) % 400;
        self.cpu.charge_instructions(20 + rest + bytes as u64 / 8);
        self.barrier()?;
        if what.from.is_none_or(|from| from == me) {
            self.contribute(what, send, place + RESULT, counter)?;
        }
        if what.to.is_some_and(|to| to != me) {
            return Ok(());
        }
        let found = match what.delivery {
            Delivery::Put => {
                self.wait("a counter", |task| {
                    let mut word = [0; 8];
                    task.cpu.mem_read(MEMORY + counter, &mut word);
                    Ok(word == [0; 8])
                })?;
                let mut found = vec![0; bytes + 64];
                self.cpu.mem_read(MEMORY + place + RESULT, &mut found);
                if found.split_off(bytes) != [0xee; 64] {
                    return Err("bytes beyond the result were written".into());
                }
                found
            }
            Delivery::Fifo => self.take_packets(what)?,
        };
        let expected = expected(self.route, number, members, what);
        match (0..bytes).find(|&at| found[at] != expected[at]) {
            Some(at) => Err(format!(
                "node {me}: byte {at} is {:#x}, expected {:#x}",
                found[at], expected[at]
            )
            .into()),
            None => Ok(()),
        }
    }

    fn collective(&self, what: &Step) -> Collective {
        Collective {
            op: what.op,
            dtype: what.dtype,
            route: self.route as u8,
        }
    }

    fn contribute(
        &mut self,
        what: &Step,
        send: u64,
        result: u64,
        counter: u64,
    ) -> Result<(), Failure> {
        let source = Source {
            slot: SLOT,
            offset: send,
            length: what.bytes() as u32,
        };
        let to = what
            .to
            .map(|to| self.cpu.topology().header_coord(to as usize));
        let collective = self.collective(what);
        let descriptor = match what.delivery {
            Delivery::Put => Descriptor::collective_put(collective, to, source, SLOT, result)?
                .with_counter(CounterRef {
                    slot: SLOT,
                    index: (counter / 8) as u32,
                }),
            Delivery::Fifo => {
                let fifo = self.route as u16 + 1;
                Descriptor::collective_fifo(collective, to, source, fifo)?
                    .with_software(7, self.route as u32)
            }
        };
        let fifo = self.route as u64;
        let at = self.posted * 64 % INJECTION_BYTES;
        let ring = INJECTION_RINGS + fifo * INJECTION_BYTES;
        self.cpu.mem_write(ring + at, &descriptor.encode()?);
        self.posted += 1;
        let tail = registers::page(0) + group_page::inj(fifo + 1) + injection_fifo::TAIL;
        self.cpu.write_reg(tail, self.posted * 64)?;
        Ok(())
    }

    /// Waits on the route's wake group until `ready`.
    fn wait(
        &mut self,
        what: &str,
        mut ready: impl FnMut(&mut Self) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let group = self.route as u64 + 1;
        self.cpu.describe_wait(what);
        loop {
            let cause = registers::wake(group) + wake_group::CAUSE;
            self.cpu.write_reg(cause, u64::MAX)?;
            // Events from here on wake.
            self.cpu.fence()?;
            if ready(self)? {
                self.cpu.describe_wait("");
                return Ok(());
            }
            self.cpu.wait_wake(group as u8, None);
        }
    }

    fn barrier(&mut self) -> Result<(), Failure> {
        let route = 1 << self.route;
        let enter = COLL + coll_network::BARRIER_ENTER;
        let done = COLL + coll_network::BARRIER_DONE;
        self.cpu.write_reg(enter, route)?;
        self.wait("a barrier", |task| {
            let there = task.cpu.read_reg(done)? & route != 0;
            if there {
                task.cpu.write_reg(done, route)?;
            }
            Ok(there)
        })
    }

    /// Takes the packets of a result from the reception FIFO.
    fn take_packets(&mut self, what: &Step) -> Result<Vec<u8>, Failure> {
        let fifo = group_page::rec(self.route as u64 + 1);
        let register = |offset| registers::page(0) + fifo + offset;
        let mut result = Vec::new();
        let mut last = false;
        while !last {
            let mut tail = 0;
            self.wait("a packet", |task| {
                tail = task.cpu.read_reg(register(reception_fifo::TAIL))?;
                Ok(tail != task.taken)
            })?;
            while self.taken != tail {
                let mut bytes = [0; HEADER_BYTES];
                self.ring(self.taken, &mut bytes);
                let header = Header::decode(&bytes)?;
                let hint = self.collective(what).hint()?;
                let good = header.kind == Kind::Collective
                    && header.hint == hint
                    && (header.sw0, header.sw1) == (7, self.route as u32)
                    && header.offset as usize == result.len();
                if last || !good {
                    return Err(format!("unexpected packet {header:?}").into());
                }
                let mut payload = vec![0; usize::from(header.len)];
                self.ring(self.taken + HEADER_BYTES as u64, &mut payload);
                result.extend(payload);
                self.taken += 32 + u64::from(header.len).next_multiple_of(32);
                last = header.last;
            }
            let head = register(reception_fifo::HEAD);
            self.cpu.write_reg(head, self.taken)?;
        }
        if result.len() != what.bytes() {
            return Err(format!("{} bytes of {}", result.len(), what.bytes()).into());
        }
        Ok(result)
    }

    fn ring(&self, at: u64, out: &mut [u8]) {
        let base = RECEPTION_RINGS + self.route as u64 * RECEPTION_BYTES;
        for (i, byte) in out.iter_mut().enumerate() {
            let offset = (at + i as u64) % RECEPTION_BYTES;
            self.cpu.mem_read(base + offset, std::slice::from_mut(byte));
        }
    }
}
