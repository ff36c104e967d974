// SPDX-License-Identifier: MIT OR Apache-2.0
//! One Verilated node with its links joined, in the tree parent to child 0, register accesses over either AXI4-Lite slave, and a
//! memory whose answers a test gives or holds back.

use std::collections::{BTreeMap, VecDeque};

use crate::Unit;

/// Inputs of an AXI4-Lite slave.
#[derive(Clone, Copy, Default)]
struct LiteIn {
    aw_valid: bool,
    aw_addr: u32,
    w_valid: bool,
    w_data: u64,
    w_strb: u8,
    b_ready: bool,
    ar_valid: bool,
    ar_addr: u32,
    r_ready: bool,
}

/// Outputs of an AXI4-Lite slave, named as the ports.
#[derive(Clone, Copy, Default)]
#[allow(missing_docs)]
pub struct LiteOut {
    pub aw_ready: bool,
    pub w_ready: bool,
    pub b_valid: bool,
    pub b_resp: u64,
    pub ar_ready: bool,
    pub r_valid: bool,
    pub r_data: u64,
    pub r_resp: u64,
}

/// Inputs of the AXI4 master.
#[derive(Clone, Copy, Default)]
struct MemoryIn {
    ar_ready: bool,
    r_valid: bool,
    r_data: [u32; 16],
    r_id: u64,
    r_resp: u64,
    r_last: bool,
    aw_ready: bool,
    w_ready: bool,
    b_valid: bool,
    b_id: u64,
    b_resp: u64,
}

/// Outputs of the AXI4 master, named as the ports.
#[derive(Clone, Copy, Default)]
#[allow(missing_docs)]
pub struct MemoryOut {
    pub ar_valid: bool,
    pub ar_addr: u64,
    pub ar_len: u64,
    pub ar_id: u64,
    pub r_ready: bool,
    pub aw_valid: bool,
    pub aw_addr: u64,
    pub aw_len: u64,
    pub aw_id: u64,
    pub w_valid: bool,
    pub w_data: [u32; 16],
    pub w_strb: u64,
    pub w_last: bool,
    pub b_ready: bool,
}

/// Outputs of the node after a cycle, named as the ports.
#[derive(Clone, Copy, Default)]
#[allow(missing_docs)]
pub struct Outputs {
    pub lite: [LiteOut; 2],
    pub memory: MemoryOut,
    pub irq: bool,
    pub wake: u64,
    pub idle: bool,
}

/// Inputs of the node in one cycle.
#[derive(Clone, Copy, Default)]
struct Inputs {
    lite: [LiteIn; 2],
    memory: MemoryIn,
}

ports! {
    /// Ports of the node.
    struct Ports {
        time_i, s_aw_valid_i, s_aw_ready_o, s_aw_addr_i, s_w_valid_i, s_w_ready_o, s_w_data_i, s_w_strb_i, s_b_valid_o,
        s_b_ready_i, s_b_resp_o, s_ar_valid_i, s_ar_ready_o, s_ar_addr_i, s_r_valid_o, s_r_ready_i, s_r_data_o, s_r_resp_o,
        m_ar_valid_o, m_ar_ready_i, m_ar_addr_o, m_ar_len_o, m_ar_id_o, m_r_valid_i, m_r_ready_o, m_r_data_i, m_r_id_i,
        m_r_resp_i, m_r_last_i, m_aw_valid_o, m_aw_ready_i, m_aw_addr_o, m_aw_len_o, m_aw_id_o, m_w_valid_o, m_w_ready_i,
        m_w_data_o, m_w_strb_o, m_w_last_o, m_b_valid_i, m_b_ready_o, m_b_id_i, m_b_resp_i, link_ctl_i, link_ctl_o,
        link_data_i, link_data_o, link_dbg_i, link_dbg_o, tree_ctl_i, tree_ctl_o, tree_data_i, tree_data_o, tree_dbg_i,
        tree_dbg_o, bar_i, bar_o, irq_o, wake_o, idle_o,
    }
}

/// The node whose links are joined, with latency 1: port 0 of the torus to port 1, and in the tree of the collective network
/// the parent's to that of child 0.
struct Node {
    unit: Unit,
    ports: Ports,
}

impl Node {
    /// A node out of reset.
    fn new(seed: u32) -> Self {
        let unit = Unit::new("node1", seed);
        let ports = Ports::of(&unit);
        Self { unit, ports }
    }

    /// One clock cycle with these inputs; the outputs after it.
    fn cycle(&mut self, time: u64, inputs: &Inputs) -> Outputs {
        let Self { unit, ports: p } = self;
        unit.set(p.time_i, 0, time);
        let [a, b] = &inputs.lite;
        let both = |field: fn(&LiteIn) -> bool| u64::from(field(a)) | u64::from(field(b)) << 1;
        unit.set(p.s_aw_valid_i, 0, both(|lite| lite.aw_valid));
        unit.set(p.s_w_valid_i, 0, both(|lite| lite.w_valid));
        unit.set(p.s_b_ready_i, 0, both(|lite| lite.b_ready));
        unit.set(p.s_ar_valid_i, 0, both(|lite| lite.ar_valid));
        unit.set(p.s_r_ready_i, 0, both(|lite| lite.r_ready));
        for (slave, lite) in inputs.lite.iter().enumerate() {
            unit.set(p.s_aw_addr_i, slave, lite.aw_addr.into());
            unit.set(p.s_w_data_i, slave, lite.w_data);
            unit.set(p.s_w_strb_i, slave, lite.w_strb.into());
            unit.set(p.s_ar_addr_i, slave, lite.ar_addr.into());
        }
        let memory = &inputs.memory;
        unit.set_wide(p.m_r_data_i, 0, &memory.r_data);
        for (port, value) in [
            (p.m_ar_ready_i, memory.ar_ready.into()),
            (p.m_r_valid_i, memory.r_valid.into()),
            (p.m_r_id_i, memory.r_id),
            (p.m_r_resp_i, memory.r_resp),
            (p.m_r_last_i, memory.r_last.into()),
            (p.m_aw_ready_i, memory.aw_ready.into()),
            (p.m_w_ready_i, memory.w_ready.into()),
            (p.m_b_valid_i, memory.b_valid.into()),
            (p.m_b_id_i, memory.b_id),
            (p.m_b_resp_i, memory.b_resp),
        ] {
            unit.set(port, 0, value);
        }
        // Child 1 of the tree leads nowhere: its inputs stay zero.
        for end in 0..2 {
            for (input, output) in [
                (p.link_ctl_i, p.link_ctl_o),
                (p.link_data_i, p.link_data_o),
                (p.link_dbg_i, p.link_dbg_o),
                (p.tree_ctl_i, p.tree_ctl_o),
                (p.tree_data_i, p.tree_data_o),
                (p.tree_dbg_i, p.tree_dbg_o),
                (p.bar_i, p.bar_o),
            ] {
                let value = unit.get_u128(output, 1 - end);
                unit.set_u128(input, end, value);
            }
        }
        if let Err(failure) = unit.tick() {
            panic!("an assertion failed: {failure}");
        }
        self.outputs()
    }

    fn outputs(&self) -> Outputs {
        let Self { unit, ports: p } = self;
        let get = |port, element| unit.get(port, element);
        let is = |port, element| unit.get(port, 0) >> element & 1 != 0;
        Outputs {
            lite: std::array::from_fn(|slave| LiteOut {
                aw_ready: is(p.s_aw_ready_o, slave),
                w_ready: is(p.s_w_ready_o, slave),
                b_valid: is(p.s_b_valid_o, slave),
                b_resp: get(p.s_b_resp_o, slave),
                ar_ready: is(p.s_ar_ready_o, slave),
                r_valid: is(p.s_r_valid_o, slave),
                r_data: get(p.s_r_data_o, slave),
                r_resp: get(p.s_r_resp_o, slave),
            }),
            memory: MemoryOut {
                ar_valid: is(p.m_ar_valid_o, 0),
                ar_addr: get(p.m_ar_addr_o, 0),
                ar_len: get(p.m_ar_len_o, 0),
                ar_id: get(p.m_ar_id_o, 0),
                r_ready: is(p.m_r_ready_o, 0),
                aw_valid: is(p.m_aw_valid_o, 0),
                aw_addr: get(p.m_aw_addr_o, 0),
                aw_len: get(p.m_aw_len_o, 0),
                aw_id: get(p.m_aw_id_o, 0),
                w_valid: is(p.m_w_valid_o, 0),
                w_data: (unit.get_wide(p.m_w_data_o, 0).try_into()).expect("512 bits"),
                w_strb: get(p.m_w_strb_o, 0),
                w_last: is(p.m_w_last_o, 0),
                b_ready: is(p.m_b_ready_o, 0),
            },
            irq: is(p.irq_o, 0),
            wake: get(p.wake_o, 0),
            idle: is(p.idle_o, 0),
        }
    }
}

/// An access that answered SLVERR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slverr;

/// A write burst on its way into memory.
struct Burst {
    addr: u64,
    id: u64,
    lines: Vec<Line>,
}

/// Bytes of a line to write: number of the line, data, byte enables.
type Line = (u64, [u8; 64], u64);

/// The answer to a write burst, with which it takes effect.
struct Answer {
    id: u64,
    due: u64,
    lines: Vec<Line>,
}

/// A node on a test bench with 1-cycle memory. A write takes effect with its answer.
pub struct Bench {
    node: Node,
    inputs: Inputs,
    /// Outputs after the last cycle.
    pub outputs: Outputs,
    /// Memory in lines of 64 bytes by address / 64; absent lines are zero.
    pub memory: BTreeMap<u64, [u8; 64]>,
    /// While set, memory accepts requests and answers none.
    pub hold_answers: bool,
    /// While set, memory answers no write.
    pub hold_writes: bool,
    /// While set, memory takes nothing that it is offered.
    pub refuse: bool,
    /// Cycles from the data of a write to its answer.
    pub write_latency: u64,
    /// Number (address / 64) of a line whose reads and writes fail.
    pub bad_line: Option<u64>,
    /// Cycles since reset.
    pub cycles: u64,
    /// Read bursts that memory has accepted.
    pub reads_accepted: u64,
    reads: VecDeque<(u64, u64, bool)>,
    writes: VecDeque<Burst>,
    answers: VecDeque<Answer>,
}

/// AXI response of an access that failed: SLVERR.
const FAILED: u64 = 2;

/// Cycles after which an access that has no answer counts as hung.
const HUNG: u64 = 1000;

impl Bench {
    /// A node out of reset. What reset does not set holds noise of the seed.
    pub fn new(seed: u32) -> Self {
        let mut bench = Self {
            node: Node::new(seed),
            inputs: Inputs::default(),
            outputs: Outputs::default(),
            memory: BTreeMap::new(),
            hold_answers: false,
            hold_writes: false,
            refuse: false,
            write_latency: 0,
            bad_line: None,
            cycles: 0,
            reads_accepted: 0,
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            answers: VecDeque::new(),
        };
        // So that `outputs` are those of the node.
        bench.cycle();
        bench
    }

    /// Runs one cycle, memory included.
    ///
    /// # Panics
    /// If an assertion in the design fails.
    pub fn cycle(&mut self) {
        let memory = &mut self.inputs.memory;
        *memory = MemoryIn {
            ar_ready: !self.refuse,
            aw_ready: !self.refuse,
            w_ready: !self.refuse && !self.writes.is_empty(),
            ..MemoryIn::default()
        };
        if !self.hold_answers {
            if let Some(&(addr, id, last)) = self.reads.front() {
                let line = self.memory.get(&(addr / 64)).copied().unwrap_or([0; 64]);
                memory.r_valid = true;
                for (word, bytes) in memory.r_data.iter_mut().zip(line.chunks_exact(4)) {
                    *word = bytes.iter().rev().fold(0, |w, &b| w << 8 | u32::from(b));
                }
                memory.r_id = id;
                memory.r_last = last;
                if self.bad_line == Some(addr / 64) {
                    memory.r_resp = FAILED;
                }
            }
            let answer = self.answers.front().filter(|a| a.due <= self.cycles);
            if let Some(answer) = answer.filter(|_| !self.hold_writes) {
                memory.b_valid = true;
                memory.b_id = answer.id;
                if answer.lines.iter().any(|l| self.bad_line == Some(l.0)) {
                    memory.b_resp = FAILED;
                }
            }
        }
        // Handshakes that this cycle's edge completes.
        let (inputs, before) = (self.inputs, self.outputs);
        self.outputs = self.node.cycle(self.cycles, &inputs);
        self.cycles += 1;
        self.memory_handshakes(&inputs.memory, &before.memory);
    }

    fn memory_handshakes(&mut self, inputs: &MemoryIn, outputs: &MemoryOut) {
        if inputs.r_valid && outputs.r_ready {
            self.reads.pop_front();
        }
        if inputs.b_valid && outputs.b_ready {
            let answer = self.answers.pop_front();
            for (number, data, strobe) in answer.into_iter().flat_map(|a| a.lines) {
                if self.bad_line == Some(number) {
                    continue;
                }
                let line = self.memory.entry(number).or_insert([0; 64]);
                for (byte, value) in line.iter_mut().enumerate() {
                    if strobe >> byte & 1 == 1 {
                        *value = data[byte];
                    }
                }
            }
        }
        if inputs.ar_ready && outputs.ar_valid {
            self.reads_accepted += 1;
            for beat in 0..=outputs.ar_len {
                let last = beat == outputs.ar_len;
                let addr = outputs.ar_addr + 64 * beat;
                self.reads.push_back((addr, outputs.ar_id, last));
            }
        }
        if inputs.w_ready && outputs.w_valid {
            let burst = self.writes.front_mut().expect("w_ready means a burst");
            let data =
                core::array::from_fn(|byte| outputs.w_data[byte / 4].to_le_bytes()[byte % 4]);
            burst.lines.push((burst.addr / 64, data, outputs.w_strb));
            burst.addr += 64;
            if outputs.w_last
                && let Some(Burst { id, lines, .. }) = self.writes.pop_front()
            {
                let due = self.cycles + self.write_latency;
                self.answers.push_back(Answer { id, due, lines });
            }
        }
        if inputs.aw_ready && outputs.aw_valid {
            self.writes.push_back(Burst {
                addr: outputs.aw_addr,
                id: outputs.aw_id,
                lines: Vec::new(),
            });
        }
    }

    /// Whether memory has taken a whole write that it has not answered.
    pub fn owes_write(&self) -> bool {
        !self.answers.is_empty()
    }

    /// The 8 bytes at `addr`, a multiple of 8, little-endian.
    pub fn word(&self, addr: u64) -> u64 {
        let line = self.memory.get(&(addr / 64)).copied().unwrap_or([0; 64]);
        let bytes = core::array::from_fn(|byte| line[addr as usize % 64 + byte]);
        u64::from_le_bytes(bytes)
    }

    /// Sets the 8 bytes at `addr`, a multiple of 8, little-endian.
    pub fn set_word(&mut self, addr: u64, value: u64) {
        let line = self.memory.entry(addr / 64).or_insert([0; 64]);
        line[addr as usize % 64..][..8].copy_from_slice(&value.to_le_bytes());
    }

    /// Runs until `done`, at most `limit` cycles; whether it was reached.
    pub fn run_until(&mut self, limit: u64, mut done: impl FnMut(&Self) -> bool) -> bool {
        for _ in 0..limit {
            if done(self) {
                return true;
            }
            self.cycle();
        }
        done(self)
    }

    /// Offers a read on slave `slave` and returns; [`Bench::finish_read`] takes its answer.
    pub fn start_read(&mut self, slave: usize, addr: u64) {
        self.inputs.lite[slave].ar_valid = true;
        self.inputs.lite[slave].ar_addr = addr as u32;
        assert!(
            self.run_until(HUNG, |b| b.outputs.lite[slave].ar_ready),
            "address not taken"
        );
        self.cycle();
        self.inputs.lite[slave].ar_valid = false;
    }

    /// Waits for the answer of a read; the value and the number of cycles waited.
    pub fn finish_read(&mut self, slave: usize) -> (Result<u64, Slverr>, u64) {
        let start = self.cycles;
        assert!(
            self.run_until(HUNG, |b| b.outputs.lite[slave].r_valid),
            "no answer"
        );
        let waited = self.cycles - start;
        let answer = self.outputs.lite[slave];
        self.inputs.lite[slave].r_ready = true;
        self.cycle();
        self.inputs.lite[slave].r_ready = false;
        (
            if answer.r_resp == 0 {
                Ok(answer.r_data)
            } else {
                Err(Slverr)
            },
            waited,
        )
    }

    /// Reads a register over a slave.
    pub fn read_over(&mut self, slave: usize, addr: u64) -> Result<u64, Slverr> {
        self.start_read(slave, addr);
        self.finish_read(slave).0
    }

    /// Writes bytes of a register over a slave.
    pub fn write_over(
        &mut self,
        slave: usize,
        addr: u64,
        value: u64,
        strb: u8,
    ) -> Result<(), Slverr> {
        let lite = &mut self.inputs.lite[slave];
        (lite.aw_valid, lite.aw_addr) = (true, addr as u32);
        (lite.w_valid, lite.w_data, lite.w_strb) = (true, value, strb);
        assert!(
            self.run_until(HUNG, |b| b.outputs.lite[slave].aw_ready
                && b.outputs.lite[slave].w_ready),
            "write not taken"
        );
        self.cycle();
        self.inputs.lite[slave].aw_valid = false;
        self.inputs.lite[slave].w_valid = false;
        assert!(
            self.run_until(HUNG, |b| b.outputs.lite[slave].b_valid),
            "no answer"
        );
        let resp = self.outputs.lite[slave].b_resp;
        self.inputs.lite[slave].b_ready = true;
        self.cycle();
        self.inputs.lite[slave].b_ready = false;
        if resp == 0 { Ok(()) } else { Err(Slverr) }
    }

    /// Reads a register over the host's slave.
    pub fn read(&mut self, addr: u64) -> Result<u64, Slverr> {
        self.read_over(0, addr)
    }

    /// Writes a register over the host's slave.
    pub fn write(&mut self, addr: u64, value: u64) -> Result<(), Slverr> {
        self.write_over(0, addr, value, 0xff)
    }
}
