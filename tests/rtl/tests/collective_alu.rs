// SPDX-License-Identifier: MIT OR Apache-2.0
//! `coll_alu`: every operation on every type, bit for bit as the host computes it, at one flit a cycle (HW-5).

use std::collections::VecDeque;

use fastrand::Rng;
use gyre_layout::{CollOp, CollType, Collective};
use gyre_rtl_tests::collective_alu::{Corners, combine, corners, operand};
use gyre_rtl_tests::{Port, Unit};

/// Cycles through the unit: `CollAluLatency` of `gyre_pkg`.
const LATENCY: usize = 6;
/// Bytes of a packet header.
const HEADER_BYTES: usize = 32;

/// A flit of every contributor, 8 bytes a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Flit {
    payload: bool,
    instr: u16,
    /// Error, tail and head mark, and packet id.
    ctl: u64,
    /// Bit k: operand k takes part.
    present: u64,
    /// Per operand, its lanes.
    data: [Vec<u64>; 3],
}

/// Expected output for a flit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Output {
    payload: bool,
    instr: u16,
    ctl: u64,
    data: Vec<u64>,
}

impl Flit {
    /// Lane `lane` of the operands that are present, in order.
    fn operands(&self, lane: usize) -> impl Iterator<Item = u64> {
        (0..3)
            .filter(|operand| self.present >> operand & 1 != 0)
            .map(move |operand| self.data[operand][lane])
    }

    /// The output with `combined` for the payload.
    fn output(&self, combined: impl Fn(u64, u64) -> u64) -> Output {
        let lanes = self.data[0].len();
        let lane = |lane| {
            let mut operands = self.operands(lane);
            let first = operands.next().expect("an operand is present");
            match self.payload {
                true => operands.fold(first, &combined),
                false => first,
            }
        };
        Output {
            payload: self.payload,
            instr: self.instr,
            ctl: self.ctl,
            data: (0..lanes).map(lane).collect(),
        }
    }
}

/// The unit beside what it owes.
struct Bench {
    unit: Unit,
    lanes: usize,
    inputs: [Port; 6],
    outputs: [Port; 5],
    owed: VecDeque<Option<(Flit, Output)>>,
}

impl Bench {
    fn new(flit_bytes: usize) -> Self {
        Self::of(&format!("collective_alu{flit_bytes}"), flit_bytes)
    }

    fn of(unit: &str, flit_bytes: usize) -> Self {
        let unit = Unit::new(unit, 7);
        let inputs = [
            "valid_i",
            "payload_i",
            "instr_i",
            "ctl_i",
            "present_i",
            "data_i",
        ];
        let outputs = ["valid_o", "payload_o", "instr_o", "ctl_o", "data_o"];
        Self {
            inputs: inputs.map(|name| unit.port(name)),
            outputs: outputs.map(|name| unit.port(name)),
            lanes: flit_bytes / 8,
            owed: VecDeque::new(),
            unit,
        }
    }

    fn drive(&mut self, valid: bool, flit: &Flit) {
        let [valid_i, payload_i, instr_i, ctl_i, present_i, data_i] = self.inputs;
        self.unit.set(valid_i, 0, valid.into());
        self.unit.set(payload_i, 0, flit.payload.into());
        self.unit.set(instr_i, 0, flit.instr.into());
        self.unit.set(ctl_i, 0, flit.ctl);
        self.unit.set(present_i, 0, flit.present);
        for (operand, lanes) in flit.data.iter().enumerate() {
            let words: Vec<u32> = (lanes.iter())
                .flat_map(|&lane| [lane as u32, (lane >> 32) as u32])
                .collect();
            self.unit.set_wide(data_i, operand, &words);
        }
    }

    fn output(&self) -> Option<Output> {
        let [valid_o, payload_o, instr_o, ctl_o, data_o] = self.outputs;
        let words = self.unit.get_wide(data_o, 0);
        let output = Output {
            payload: self.unit.get(payload_o, 0) != 0,
            instr: self.unit.get(instr_o, 0) as u16,
            ctl: self.unit.get(ctl_o, 0),
            data: (words.chunks_exact(2))
                .map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32)
                .collect(),
        };
        (self.unit.get(valid_o, 0) != 0).then_some(output)
    }

    /// One cycle, and the check of what must come out in it.
    fn cycle(&mut self, owed: Option<(Flit, Output)>) {
        self.owed.push_back(owed);
        self.unit.tick().expect("no assertion fails");
        if self.owed.len() < LATENCY {
            assert_eq!(self.output(), None);
            return;
        }
        match self.owed.pop_front().flatten() {
            None => assert_eq!(self.output(), None),
            Some((flit, expected)) => {
                let output = self.output();
                assert_eq!(output.as_ref(), Some(&expected), "{output:x?} of {flit:x?}");
            }
        }
    }

    /// A cycle with a flit that must give `combined`.
    fn send(&mut self, flit: Flit, combined: impl Fn(u64, u64) -> u64) {
        self.drive(true, &flit);
        let output = flit.output(combined);
        self.cycle(Some((flit, output)));
    }

    /// A cycle without a flit, with anything on all other inputs.
    fn bubble(&mut self, rng: &mut Rng) {
        let noise = Flit {
            payload: rng.bool(),
            instr: rng.u16(0..1024),
            ctl: rng.u64(0..1 << 35),
            present: rng.u64(0..8),
            data: std::array::from_fn(|_| (0..self.lanes).map(|_| rng.u64(..)).collect()),
        };
        self.drive(false, &noise);
        self.cycle(None);
    }

    /// Bubbles until every flit is out.
    fn drain(&mut self, rng: &mut Rng) {
        for _ in 0..LATENCY {
            self.bubble(rng);
        }
    }
}

fn instr(op: CollOp, dtype: CollType) -> u16 {
    let collective = Collective {
        op,
        dtype,
        route: 0,
    };
    collective.hint().expect("the route fits")
}

/// A payload flit of one operation, with operands that reach the corners of the type at both steps.
fn payload(rng: &mut Rng, lanes: usize, op: CollOp, dtype: CollType, present: u64) -> Flit {
    let mut flit = Flit {
        payload: true,
        instr: instr(op, dtype),
        ctl: rng.u64(0..1 << 35),
        present,
        data: Default::default(),
    };
    for _ in 0..lanes {
        let start = rng.u64(..);
        let a = operand(rng, dtype, start);
        let b = operand(rng, dtype, a);
        let third = if rng.bool() {
            combine(op, dtype, a, b)
        } else {
            a
        };
        let c = operand(rng, dtype, third);
        for (lanes, value) in flit.data.iter_mut().zip([a, b, c]) {
            lanes.push(value);
        }
    }
    flit
}

#[test]
fn hw5_f64_sums_are_those_of_the_host_in_every_bit() {
    let mut rng = Rng::with_seed(0x5eed);
    let mut bench = Bench::new(32);
    let mut met = Corners::default();
    for _ in 0..300_000 {
        let flit = payload(&mut rng, 4, CollOp::Add, CollType::F64, 7);
        let [a, b, c] = &flit.data;
        for lane in 0..4 {
            met.count(a[lane], b[lane]);
            let both = combine(CollOp::Add, CollType::F64, a[lane], b[lane]);
            met.count(both, c[lane]);
        }
        bench.send(flit, |a, b| combine(CollOp::Add, CollType::F64, a, b));
    }
    bench.drain(&mut rng);
    println!("{met:?}");
    assert!(met.sums >= 2_000_000, "{met:?}");
    let rarest = [
        met.ties,
        met.inexact,
        met.subnormal,
        met.cancelled,
        met.zero,
        met.minus_zero,
        met.overflow,
        met.infinite,
        met.invalid,
        met.quiet,
        met.signalling,
    ];
    assert!(rarest.iter().all(|&count| count >= 1000), "{met:?}");
}

#[test]
fn hw5_every_operation_is_exact_on_every_pair_of_corners() {
    let mut rng = Rng::with_seed(1);
    let mut bench = Bench::new(8);
    for &dtype in CollType::ALL {
        let corners = corners(dtype);
        for &op in CollOp::ALL {
            for (&a, &b) in corners
                .iter()
                .flat_map(|a| corners.iter().map(move |b| (a, b)))
            {
                // As first and second operand, and as result of the first lane and third operand.
                for present in [3, 5] {
                    let flit = Flit {
                        payload: true,
                        instr: instr(op, dtype),
                        ctl: 0,
                        present,
                        data: [vec![a], vec![b], vec![b]],
                    };
                    bench.send(flit, |a, b| combine(op, dtype, a, b));
                }
            }
        }
    }
    bench.drain(&mut rng);
}

/// Packets of any operation one behind the other, with and without bubbles, of any contributors.
fn mixed_stream(mut bench: Bench, packets: usize) {
    let flit_bytes = bench.lanes * 8;
    let mut rng = Rng::with_seed(flit_bytes as u64);
    for _ in 0..packets {
        let op = CollOp::ALL[rng.usize(..CollOp::ALL.len())];
        let dtype = CollType::ALL[rng.usize(..CollType::ALL.len())];
        let present = rng.u64(1..8);
        let route = rng.u16(0..16);
        let bubbles = [0, 0, 2, 7][rng.usize(..4)];
        let header = HEADER_BYTES / flit_bytes;
        let flits = header + rng.usize(0..=4) * HEADER_BYTES / flit_bytes;
        for flit in 0..flits {
            while rng.usize(0..10) < bubbles {
                bench.bubble(&mut rng);
            }
            let mut flit = Flit {
                payload: flit >= header,
                ..payload(&mut rng, flit_bytes / 8, op, dtype, present)
            };
            flit.instr |= route;
            bench.send(flit, |a, b| combine(op, dtype, a, b));
        }
    }
    bench.drain(&mut rng);
}

#[test]
fn hw5_operations_follow_each_other_in_flits_of_8_bytes() {
    mixed_stream(Bench::new(8), 12_000);
}

#[test]
fn hw5_operations_follow_each_other_in_flits_of_16_bytes() {
    mixed_stream(Bench::new(16), 12_000);
}

#[test]
fn hw5_operations_follow_each_other_in_flits_of_32_bytes() {
    mixed_stream(Bench::new(32), 12_000);
}

#[test]
fn hw5_every_stage_holds_its_registers_while_no_flit_enters_it() {
    mixed_stream(Bench::of("collective_alu_hold", 16), 2000);
}

#[test]
fn hw5_codes_without_meaning_give_the_first_operand() {
    let mut rng = Rng::with_seed(2);
    let mut bench = Bench::new(16);
    let add = u16::from(u8::from(CollOp::Add));
    for instr in (0..8)
        .map(|dtype| 7 << 7 | dtype << 4)
        .chain([5, 6, 7].map(|dtype| add << 7 | dtype << 4))
    {
        for present in 1..8 {
            let mut flit = payload(&mut rng, 2, CollOp::Add, CollType::F64, present);
            flit.instr = instr;
            bench.send(flit, |a, _| a);
        }
    }
    bench.drain(&mut rng);
}

#[test]
fn hw5_a_flit_without_operand_fails_the_assertion() {
    let mut bench = Bench::new(16);
    let flit = Flit {
        data: std::array::from_fn(|_| vec![0; 2]),
        ..Flit::default()
    };
    bench.drive(true, &flit);
    let failure = bench.unit.tick().expect_err("an operand is missing");
    assert!(failure.text.contains("flit without operand"), "{failure}");
}
