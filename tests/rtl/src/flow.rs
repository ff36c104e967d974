// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ordered-dynamic flows into one `flow_reorder`: sources that keep their windows, a network that keeps no order, and
//! the scoreboard of its outputs.

use std::collections::VecDeque;

use gyre_layout::registers::{flow_page, flow_target};
use gyre_layout::{
    Coord, ErrorReason, FlowPlace, HEADER_BYTES, Header, Kind, VClass, packet_bytes,
};

use crate::packet::{Assembler, Flit, words};
use crate::routes::pack;
use crate::{Failure, Unit};

/// Sequence numbers of a flow.
pub const SEQS: usize = 32;
/// Registers of targets lie here in the page; the unit sees them from 0.
const TARGETS: u64 = flow_page::target(0);

/// A unit of `build/models.rs` and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Name of the unit.
    pub unit: &'static str,
    /// Dimensions.
    pub dims: usize,
    /// Bytes of a flit.
    pub flit_bytes: usize,
    /// Flows.
    pub flows: usize,
    /// Packets of a flow under way.
    pub window: usize,
}

/// Every model.
pub const MODELS: [Model; 3] = [
    Model {
        unit: "flow_reorder",
        dims: 2,
        flit_bytes: 16,
        flows: 4,
        window: 4,
    },
    Model {
        unit: "flow_reorder_window1",
        dims: 1,
        flit_bytes: 8,
        flows: 1,
        window: 1,
    },
    Model {
        unit: "flow_reorder_window16",
        dims: 3,
        flit_bytes: 32,
        flows: 8,
        window: 16,
    },
];

/// Failures.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// An assertion of the RTL.
    #[error("{0}")]
    Assertion(#[from] Failure),
    /// The output differs from the expected one.
    #[error("cycle {0}: {1}")]
    Wrong(u64, String),
}

/// Damage to a request packet on arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Its tail is marked.
    Marked,
    /// A flit is missing.
    Short,
    /// A flit too many.
    Long,
    /// Nothing came but its header, marked.
    HeaderOnly,
    /// The path found a wrong field in its header.
    Refused,
}

/// Faults to come, each as a share of packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Damaged requests and puts that do not reach memory.
    pub damage: f64,
    /// Packets that belong to no flow of this node.
    pub intruders: f64,
}

/// Expected result of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// These bytes.
    Packet(Vec<u8>),
    /// A counter moves: address, bytes.
    Counter(u64, u64),
    /// Nothing that can be seen.
    Nothing,
}

#[derive(Clone, Debug)]
struct Flow {
    class: u64,
    src: Coord,
    open: bool,
    issued: usize,
    acknowledged: usize,
    left: usize,
    expected: VecDeque<(usize, Outcome)>,
}

/// A request under way, or on a path.
#[derive(Clone, Debug)]
struct Arrival {
    header: [u8; HEADER_BYTES],
    payload: Vec<Flit>,
    error: ErrorReason,
    only: bool,
}

#[derive(Clone, Debug)]
struct Put {
    place: FlowPlace,
    src: Coord,
    counter: Option<(u64, u64)>,
    failed: bool,
}

#[derive(Clone, Debug, Default)]
struct Path {
    header: Option<Arrival>,
    payload: VecDeque<Flit>,
    pause: usize,
}

ports! {
    /// Ports of a `flow_reorder`.
    struct Ports {
        cfg: "cfg_i", reg_req: "reg_req_i", reg_we: "reg_we_i", reg_addr: "reg_addr_i", reg_wdata: "reg_wdata_i",
        reg_ack: "reg_ack_o", reg_err: "reg_err_o", reg_rdata: "reg_rdata_o",
        req: "req_i", hdr: "hdr_i", only: "only_i", err_in: "err_i", take: "take_o", valid: "valid_i",
        data: "data_i", tail: "tail_i", bad: "bad_i", pop: "pop_o",
        put: "put_i", put_src: "put_src_i", put_ok: "put_ok_o", put_claim: "put_claim_i", put_counter: "put_counter_i",
        put_done: "put_done_i", put_failed: "put_failed_i",
        out_valid: "out_valid_o", out_ready: "out_ready_i", out_ctl: "out_ctl_o", out_data: "out_data_o",
        ctr_valid: "ctr_valid_o", ctr_addr: "ctr_addr_o", ctr_bytes: "ctr_bytes_o", ctr_ack: "ctr_ack_i", ctr_busy: "ctr_busy_i",
        answer_valid: "answer_valid_o", answer: "answer_o", answer_ready: "answer_ready_i",
        err: "err_o", err_ack: "err_ack_i", holds: "holds_o", idle: "idle_o",
    }
}

/// The unit with sources, network and receivers.
pub struct Bench {
    /// Its parameters.
    pub model: Model,
    unit: Unit,
    ports: Ports,
    rng: fastrand::Rng,
    flows: Vec<Flow>,
    wandering: Vec<Arrival>,
    paths: Vec<Path>,
    puts: Vec<Put>,
    writing: Vec<Put>,
    out: Assembler,
    register: Option<(u64, Option<u64>)>,
    /// Cycles until the counter lowered last is in memory.
    lowering: u64,
    /// Share of cycles in which a path, the reception path, the counter unit, and the transmit side go on.
    pub willing: [f64; 4],
    /// Settings of future traffic.
    pub faults: Faults,
    /// Two packets of flow 0 that exchange their sequence numbers, by the number of the first.
    pub swap: Option<usize>,
    /// Errors reported.
    pub reports: Vec<ErrorReason>,
    /// Errors that must be reported.
    pub faulty: usize,
    /// Packets that came out.
    pub received: usize,
    /// Most requests that were under way at once.
    pub most: usize,
}

impl Bench {
    /// Flows opened, `packets` to be sent on each; flows with odd numbers are of puts.
    ///
    /// # Errors
    /// [`Trouble`] of the register accesses.
    pub fn new(model: Model, packets: usize, seed: u64) -> Result<Self, Trouble> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let unit = Unit::new(model.unit, rng.u32(..));
        let flows = (0..model.flows).map(|f| Flow {
            class: f as u64 % 2,
            src: Coord([1 + f as u8 % 3, 0, 0, 0, 0]),
            open: true,
            issued: 0,
            acknowledged: 0,
            left: 0,
            expected: VecDeque::new(),
        });
        let mut bench = Self {
            model,
            ports: Ports::of(&unit),
            unit,
            flows: flows.collect(),
            rng,
            wandering: Vec::new(),
            paths: vec![Path::default(); 2 * model.dims],
            puts: Vec::new(),
            writing: Vec::new(),
            out: Assembler::default(),
            register: None,
            lowering: 0,
            willing: [0.8; 4],
            faults: Faults::default(),
            swap: None,
            reports: Vec::new(),
            faulty: 0,
            received: 0,
            most: 0,
        };
        let cfg = u128::from(pack(&[1, 0, 0, 0, 0], 1)) << 12
            | u128::from(pack(&[4, 1, 1, 1, 1], 7)) << 17
            | u128::from(pack(&[0, 1, 2, 3, 4], 3)) << 82;
        bench.unit.set_u128(bench.ports.cfg, 0, cfg);
        for f in 0..model.flows {
            let open = bench.ctrl(f);
            let refused = bench.write(f, open)?;
            bench.check(!refused, || format!("flow {f} does not open"))?;
        }
        for flow in &mut bench.flows {
            flow.left = packets;
        }
        Ok(bench)
    }

    /// Control value that opens flow `f`.
    pub fn ctrl(&self, f: usize) -> u64 {
        use flow_target::ctrl;
        let src = self.flows[f].src.pack().expect("a node of the machine");
        ctrl::PEER.put(src.into())
            | ctrl::PEER_FLOW.put((7 - f) as u64)
            | ctrl::VCLASS.put(self.flows[f].class)
            | ctrl::OPEN.put(1)
    }

    fn wrong<T>(&self, text: String) -> Result<T, Trouble> {
        Err(Trouble::Wrong(self.unit.cycle(), text))
    }

    fn check(&self, fine: bool, text: impl FnOnce() -> String) -> Result<(), Trouble> {
        if fine { Ok(()) } else { self.wrong(text()) }
    }

    /// Writes CTRL of flow `f`; whether that is refused.
    ///
    /// # Errors
    /// [`Trouble`] of the cycles that it takes.
    pub fn write(&mut self, f: usize, value: u64) -> Result<bool, Trouble> {
        let address = flow_page::target(f as u64) - TARGETS;
        Ok(self.access(address, Some(value))?.is_none())
    }

    /// Reads the register at `address` behind the first flow; `None`: refused.
    ///
    /// # Errors
    /// [`Trouble`] of the cycles that it takes.
    pub fn access(&mut self, address: u64, write: Option<u64>) -> Result<Option<u64>, Trouble> {
        self.register = Some((address, write));
        self.step()?;
        let ack = self.unit.get(self.ports.reg_ack, 0);
        self.check(ack != 0, || "a register does not answer".to_owned())?;
        let refused = self.unit.get(self.ports.reg_err, 0) != 0;
        let data = self.unit.get(self.ports.reg_rdata, 0);
        self.step()?;
        Ok((!refused).then_some(data))
    }

    /// Sends nothing on flow `f` from now on.
    pub fn stop(&mut self, f: usize) {
        self.flows[f].left = 0;
        self.flows[f].open = false;
    }

    fn request(&mut self, f: usize) -> (Arrival, Outcome) {
        let index = self.flows[f].issued;
        let len = [0, 1, 31, 32, 33, 64, 512][self.rng.usize(0..7)];
        let header = Header {
            dst: Coord::default(),
            vclass: VClass::Request,
            src: self.flows[f].src,
            deposit: false,
            dynamic_route: true,
            kind: Kind::MemFifo,
            len,
            hint: self.rng.u16(0..1024),
            order: 0,
            flow: Some(FlowPlace {
                flow: f as u8,
                seq: (self.sequence(f, index) % SEQS) as u8,
            }),
            first: true,
            last: true,
            seq: 0,
            target: self.rng.u16(0..16),
            offset: self.rng.u32(..),
            aux: self.rng.u32(..),
            sw0: f as u32,
            sw1: index as u32,
        };
        let mut body = vec![0; packet_bytes(len.into()) - HEADER_BYTES];
        self.rng.fill(&mut body);
        let without = Header {
            flow: None,
            seq: (header.offset >> 9 & 0x3ff) as u16,
            ..header
        };
        let mut outcome = without.encode().expect("every value fits").to_vec();
        outcome.extend(&body);
        let mut arrival = Arrival {
            header: header.encode().expect("every value fits"),
            payload: self.flits(&body),
            error: ErrorReason::None,
            only: body.is_empty(),
        };
        let mut outcome = Outcome::Packet(outcome);
        if self.rng.f64() < self.faults.damage {
            use Damage::{HeaderOnly, Long, Marked, Refused, Short};
            let damage = [Marked, Short, Long, HeaderOnly, Refused][self.rng.usize(0..5)];
            self.damage(&mut arrival, damage);
            outcome = Outcome::Nothing;
        }
        (arrival, outcome)
    }

    fn damage(&mut self, arrival: &mut Arrival, damage: Damage) {
        self.faulty += 1;
        match damage {
            Damage::Marked if !arrival.only => {
                if let Some(tail) = arrival.payload.last_mut() {
                    tail.err = true;
                }
            }
            Damage::Short if arrival.payload.len() > 1 => {
                arrival.payload.pop();
                if let Some(tail) = arrival.payload.last_mut() {
                    tail.tail = true;
                }
            }
            Damage::Long if !arrival.only => {
                if let Some(tail) = arrival.payload.last_mut() {
                    tail.tail = false;
                }
                arrival.payload.push(Flit {
                    tail: true,
                    ..Flit::default()
                });
            }
            Damage::Refused => arrival.error = ErrorReason::PktReserved,
            _ => {
                arrival.payload.clear();
                arrival.only = true;
                arrival.error = ErrorReason::PktTruncated;
            }
        }
    }

    fn flits(&self, body: &[u8]) -> Vec<Flit> {
        let count = body.len() / self.model.flit_bytes;
        let flit = |(index, bytes)| Flit {
            data: words(bytes),
            head: false,
            tail: index + 1 == count,
            ..Flit::default()
        };
        (body.chunks(self.model.flit_bytes).enumerate())
            .map(flit)
            .collect()
    }

    fn sequence(&self, f: usize, index: usize) -> usize {
        match self.swap {
            Some(first) if f == 0 && index == first => index + 1,
            Some(first) if f == 0 && index == first + 1 => index - 1,
            _ => index,
        }
    }

    /// Sources send within their windows.
    fn issue(&mut self) {
        for f in 0..self.flows.len() {
            let flow = &self.flows[f];
            let room = flow.issued - flow.acknowledged < self.model.window;
            if flow.left == 0 || !room || self.rng.bool() {
                continue;
            }
            let index = flow.issued;
            let outcome = if flow.class == 0 {
                let (arrival, outcome) = self.request(f);
                self.wandering.push(arrival);
                outcome
            } else {
                let failed = self.rng.f64() < self.faults.damage;
                // Each counter once: its address says flow and packet.
                let counter = (
                    (f as u64) << 32 | (index as u64) << 3,
                    self.rng.u64(1..=512),
                );
                let counter = self.rng.bool().then_some(counter);
                let place = FlowPlace {
                    flow: f as u8,
                    seq: (index % SEQS) as u8,
                };
                let src = self.flows[f].src;
                self.puts.push(Put {
                    place,
                    src,
                    counter,
                    failed,
                });
                match counter {
                    Some((addr, bytes)) if !failed => Outcome::Counter(addr, bytes),
                    _ => Outcome::Nothing,
                }
            };
            let flow = &mut self.flows[f];
            flow.expected.push_back((index, outcome));
            flow.issued += 1;
            flow.left -= 1;
        }
    }

    /// A packet of no flow here: of another node, of a closed flow, of the other class.
    fn intruder(&mut self) -> Option<Arrival> {
        if self.rng.f64() >= self.faults.intruders {
            return None;
        }
        let f = self.rng.usize(0..self.flows.len());
        let damage = std::mem::take(&mut self.faults.damage);
        let (mut arrival, _) = self.request(f);
        self.faults.damage = damage;
        if self.flows[f].class == 0 && self.flows[f].open {
            // Another node.
            arrival.header[7] ^= 1 << 2;
        }
        self.faulty += 1;
        Some(arrival)
    }

    fn drive_paths(&mut self) {
        let (mut req, mut only, mut valid, mut tail, mut bad) = (0, 0, 0, 0, 0_u64);
        for p in 0..self.paths.len() {
            if self.paths[p].header.is_none()
                && self.paths[p].payload.is_empty()
                && self.rng.f64() < self.willing[0]
            {
                self.paths[p].header = match self.intruder() {
                    Some(arrival) => Some(arrival),
                    None if self.wandering.is_empty() => None,
                    None => {
                        let any = self.rng.usize(0..self.wandering.len());
                        Some(self.wandering.swap_remove(any))
                    }
                };
            }
            let path = &mut self.paths[p];
            if let Some(arrival) = &path.header {
                req |= 1 << p;
                only |= u64::from(arrival.only) << p;
                let mut header = words(&arrival.header).to_vec();
                header.truncate(HEADER_BYTES / 4);
                self.unit.set_wide(self.ports.hdr, p, &header);
                let error = u8::from(arrival.error).into();
                self.unit.set(self.ports.err_in, p, error);
            } else if path.pause > 0 {
                path.pause -= 1;
            } else if let Some(flit) = path.payload.front() {
                valid |= 1 << p;
                tail |= u64::from(flit.tail) << p;
                bad |= u64::from(flit.err) << p;
                let data = &flit.data[..self.model.flit_bytes / 4];
                self.unit.set_wide(self.ports.data, p, data);
            }
        }
        let values = [
            (self.ports.req, req),
            (self.ports.only, only),
            (self.ports.valid, valid),
            (self.ports.tail, tail),
            (self.ports.bad, bad),
        ];
        for (port, value) in values {
            self.unit.set(port, 0, value);
        }
    }

    /// Removes the flits that the unit took from paths.
    fn advance_paths(&mut self) {
        let (take, pop) = (
            self.unit.get(self.ports.take, 0),
            self.unit.get(self.ports.pop, 0),
        );
        for (p, path) in self.paths.iter_mut().enumerate() {
            if take >> p & 1 != 0 {
                path.payload = path
                    .header
                    .take()
                    .map_or_else(VecDeque::new, |a| a.payload.into());
            }
            if pop >> p & 1 != 0 {
                path.payload.pop_front();
                path.pause = if self.rng.f64() < self.willing[0] {
                    0
                } else {
                    self.rng.usize(1..6)
                };
            }
        }
    }

    fn place_bits(place: FlowPlace) -> u64 {
        1 << 8 | u64::from(place.flow) << 5 | u64::from(place.seq)
    }

    /// The resolver claims a put's place; puts reach memory.
    fn drive_puts(&mut self) -> Result<(), Trouble> {
        for index in 0..self.ports.put_done.elements {
            self.unit.set(self.ports.put_done, index, 0);
        }
        let mut failed = 0;
        for index in 0..self.ports.put_done.elements {
            if !self.writing.is_empty() && self.rng.u8(0..20) == 0 {
                let any = self.rng.usize(0..self.writing.len());
                let put = self.writing.swap_remove(any);
                failed |= u64::from(put.failed) << index;
                let bits = Self::place_bits(put.place);
                self.unit.set(self.ports.put_done, index, bits);
            }
        }
        self.unit.set(self.ports.put_failed, 0, failed);
        self.unit.set(self.ports.put, 0, 0);
        self.unit.set(self.ports.put_claim, 0, 0);
        if !self.puts.is_empty() && self.rng.bool() {
            let any = self.rng.usize(0..self.puts.len());
            let put = self.puts.swap_remove(any);
            let bits = Self::place_bits(put.place);
            self.unit.set(self.ports.put, 0, bits);
            let src = put.src.pack().expect("a node of the machine");
            self.unit.set(self.ports.put_src, 0, src.into());
            self.unit.settle()?;
            let found = self.unit.get(self.ports.put_ok, 0) != 0;
            self.check(found, || format!("{put:?} has no place"))?;
            let (addr, bytes) = put.counter.unwrap_or_default();
            let counter = u128::from(put.counter.is_some()) << 58
                | u128::from(addr) << 10
                | u128::from(bytes);
            self.unit.set_u128(self.ports.put_counter, 0, counter);
            self.unit.set(self.ports.put_claim, 0, 1);
            self.writing.push(put);
        }
        Ok(())
    }

    /// The next thing that had to be seen of flow `f`.
    fn due(&mut self, f: usize) -> Option<Outcome> {
        let expected = &mut self.flows.get_mut(f)?.expected;
        while expected
            .front()
            .is_some_and(|(_, outcome)| *outcome == Outcome::Nothing)
        {
            expected.pop_front();
        }
        expected.pop_front().map(|(_, outcome)| outcome)
    }

    fn judge(&mut self, f: usize, found: &Outcome) -> Result<(), Trouble> {
        let due = self.due(f);
        self.received += 1;
        self.check(due.as_ref() == Some(found), || {
            format!("flow {f}: {found:02x?}, expected {due:02x?}")
        })
    }

    fn take_outputs(&mut self) -> Result<(), Trouble> {
        let set = |unit: &Unit, port| unit.get(port, 0) != 0;
        if set(&self.unit, self.ports.out_valid) && set(&self.unit, self.ports.out_ready) {
            let data = self.unit.get_wide(self.ports.out_data, 0);
            let flit = Flit::from_ctl(self.unit.get(self.ports.out_ctl, 0), &data);
            match self.out.push(&flit, self.model.flit_bytes) {
                Ok(Some(packet)) => {
                    let flow = packet.bytes[24].into();
                    self.judge(flow, &Outcome::Packet(packet.bytes))?;
                }
                Ok(None) => {}
                Err(error) => return self.wrong(error.to_string()),
            }
        }
        if set(&self.unit, self.ports.ctr_ack) {
            let fine = self.lowering == 0;
            self.check(fine, || {
                "the counter before is not in memory yet".to_owned()
            })?;
            self.lowering = self.rng.u64(1..30);
            let addr = self.unit.get(self.ports.ctr_addr, 0);
            let bytes = self.unit.get(self.ports.ctr_bytes, 0);
            self.judge((addr >> 32) as usize, &Outcome::Counter(addr, bytes))?;
        }
        if set(&self.unit, self.ports.answer_valid) && set(&self.unit, self.ports.answer_ready) {
            self.take_news()?;
        }
        if set(&self.unit, self.ports.err_ack) {
            let reason = self.unit.get_u128(self.ports.err, 0) >> 74;
            let reason = ErrorReason::try_from(reason as u8).unwrap_or(ErrorReason::None);
            self.reports.push(reason);
        }
        Ok(())
    }

    /// A control packet: its header lies at bit 155 of the command.
    fn take_news(&mut self) -> Result<(), Trouble> {
        let command = self.unit.get_wide(self.ports.answer, 0);
        let bytes: [u8; HEADER_BYTES] = std::array::from_fn(|at| {
            let bit = 155 + 8 * at;
            let low = command[bit / 32] >> (bit % 32);
            let high = command.get(bit / 32 + 1).copied().unwrap_or(0);
            (low | high.checked_shl(32 - bit as u32 % 32).unwrap_or(0)) as u8
        });
        let header = match Header::decode(&bytes) {
            Ok(header) => header,
            Err(error) => return self.wrong(error.to_string()),
        };
        let f = 7 - usize::from(header.target);
        let known = header.kind == Kind::Control
            && header.vclass == VClass::Response
            && header.len == 0
            && self.flows.get(f).is_some_and(|flow| flow.src == header.dst);
        self.check(known, || format!("{header:?} for the source of flow {f}"))?;
        let flow = &mut self.flows[f];
        let moved = (usize::from(header.seq) + SEQS - flow.acknowledged % SEQS) % SEQS;
        flow.acknowledged += moved;
        let acknowledged = flow.acknowledged;
        let early = (flow.expected.iter())
            .find(|(index, outcome)| *index < acknowledged && *outcome != Outcome::Nothing)
            .map(|(index, _)| *index);
        let possible = moved > 0 && acknowledged <= flow.issued;
        self.check(possible && early.is_none(), || {
            format!("flow {f}: {acknowledged} packets are said to be released, {early:?} is not")
        })
    }

    /// One cycle.
    ///
    /// # Errors
    /// [`Trouble`] if an assertion fails or an output is wrong.
    pub fn step(&mut self) -> Result<(), Trouble> {
        self.issue();
        self.most = self.most.max(self.wandering.len());
        self.drive_paths();
        self.drive_puts()?;
        let (address, write) = self.register.unwrap_or_default();
        let registers = [
            (
                self.ports.reg_req,
                u64::from(self.register.take().is_some()),
            ),
            (self.ports.reg_we, write.is_some().into()),
            (self.ports.reg_addr, address),
            (self.ports.reg_wdata, write.unwrap_or_default()),
        ];
        for (port, value) in registers {
            self.unit.set(port, 0, value);
        }
        let goes: [bool; 3] = std::array::from_fn(|i| self.rng.f64() < self.willing[i + 1]);
        self.unit.set(self.ports.out_ready, 0, goes[0].into());
        self.unit.set(self.ports.answer_ready, 0, goes[2].into());
        self.unit.set(self.ports.ctr_ack, 0, 0);
        // A counter that was lowered is in memory some time later.
        self.lowering = self.lowering.saturating_sub(1);
        let busy = u64::from(self.lowering > 0);
        self.unit.set(self.ports.ctr_busy, 0, busy);
        self.unit.set(self.ports.err_ack, 0, 0);
        self.unit.settle()?;
        let ask = self.unit.get(self.ports.ctr_valid, 0);
        self.unit
            .set(self.ports.ctr_ack, 0, ask & u64::from(goes[1]));
        let error = self.unit.get_u128(self.ports.err, 0) >> 82 & 1;
        self.unit
            .set(self.ports.err_ack, 0, error as u64 & u64::from(goes[1]));
        self.unit.settle()?;
        self.advance_paths();
        self.take_outputs()?;
        Ok(self.unit.edge()?)
    }

    fn done(&self) -> bool {
        self.flows
            .iter()
            .all(|flow| flow.left == 0 && flow.acknowledged == flow.issued)
            && self
                .paths
                .iter()
                .all(|path| path.header.is_none() && path.payload.is_empty())
            && self.reports.len() == self.faulty
    }

    /// Runs until everything sent has come out and every source knows; then nothing may be left, and no register change.
    ///
    /// # Errors
    /// [`Trouble`], also if that does not happen in `limit` cycles.
    pub fn finish(&mut self, limit: u64) -> Result<(), Trouble> {
        let end = self.unit.cycle() + limit;
        while !self.done() {
            if self.unit.cycle() > end {
                let levels: Vec<_> = (self.flows.iter())
                    .map(|flow| (flow.left, flow.issued, flow.acknowledged))
                    .collect();
                return self.wrong(format!(
                    "stands still: (left, issued, acknowledged) {levels:?}, {} of {} errors",
                    self.reports.len(),
                    self.faulty
                ));
            }
            self.step()?;
        }
        self.faults = Faults::default();
        for _ in 0..4 {
            self.step()?;
        }
        for f in 0..self.flows.len() {
            let due = self.due(f);
            self.check(due.is_none(), || {
                format!("flow {f}: {due:02x?} has not come")
            })?;
        }
        let idle = self.unit.get(self.ports.idle, 0) != 0;
        let holds = self.unit.get(self.ports.holds, 0) != 0;
        self.check(idle && !holds, || format!("idle {idle}, holds {holds}"))?;
        let values = [self.ports.out_ready, self.ports.answer_ready];
        for port in values {
            self.unit.set(port, 0, 1);
        }
        self.unit.tick()?;
        self.unit.settle()?;
        let before = self.unit.state();
        for _ in 0..3 {
            self.unit.tick()?;
            self.unit.settle()?;
        }
        let same = before == self.unit.state();
        self.check(same, || "an idle unit changes".to_owned())
    }

    /// Lets a packet of `flow` with sequence number `seq` arrive at path 0, from the source of the flow.
    pub fn arrive(&mut self, flow: usize, seq: usize) {
        let (mut arrival, _) = self.request(flow);
        // w3[31:27].
        arrival.header[15] = arrival.header[15] & 0x07 | (seq as u8) << 3;
        self.paths[0].header = Some(arrival);
    }

    /// Whether path 0 is free for another packet.
    pub fn path_free(&self) -> bool {
        self.paths[0].header.is_none() && self.paths[0].payload.is_empty()
    }
}
