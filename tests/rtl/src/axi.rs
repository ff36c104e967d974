// SPDX-License-Identifier: MIT OR Apache-2.0
//! An AXI4 memory that answers late, out of order across ids and with errors, and checks the protocol.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::{Port, Unit};

/// Bytes of a beat.
pub const BEAT: u64 = 64;
/// Read and write response codes.
const OKAY: u64 = 0;
const SLVERR: u64 = 2;

/// How the memory answers.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Cycles from an accepted read address to its first beat at the earliest.
    pub read: Range<u64>,
    /// Cycles from the last accepted beat of a write to its response; memory changes with the response.
    pub write: Range<u64>,
    /// Probability that a channel is ready, and that a beat that is due comes, in a cycle.
    pub willing: f64,
}

impl Timing {
    /// Timing with ranges of cycles for reads and writes, and the willingness of all channels.
    pub const fn new(read: Range<u64>, write: Range<u64>, willing: f64) -> Self {
        Self {
            read,
            write,
            willing,
        }
    }
}

/// A burst under way.
#[derive(Clone, Debug)]
struct Burst {
    addr: u64,
    beats: u64,
    due: u64,
    /// Write data: byte address and value of each strobed byte.
    bytes: Vec<(u64, u8)>,
}

/// A write that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// When, in cycles of the memory; it changed with the answer.
    pub cycle: u64,
    /// Address of the first byte written.
    pub first: u64,
    /// Address of the last byte written.
    pub last: u64,
}

/// State of one master's channels.
#[derive(Debug, Default)]
struct Master {
    reads: BTreeMap<u64, VecDeque<Burst>>,
    /// Accepted write addresses with their ids whose data is still coming, in order.
    writes: VecDeque<(u64, Burst)>,
    responses: BTreeMap<u64, VecDeque<Burst>>,
}

/// Ports of the AXI masters of a unit, named as `gyre_dma` names them.
struct Ports {
    ar: [Port; 6],
    r: [Port; 6],
    aw: [Port; 6],
    w: [Port; 5],
    b: [Port; 4],
}

impl Ports {
    fn of(unit: &Unit) -> Self {
        let port = |name: &str| unit.port(name);
        let address = |channel: &str| {
            ["valid_o", "addr_o", "len_o", "size_o", "burst_o", "id_o"]
                .map(|field| port(&format!("{channel}_{field}")))
        };
        Self {
            ar: address("ar"),
            aw: address("aw"),
            r: [
                "r_valid_i",
                "r_data_i",
                "r_id_i",
                "r_resp_i",
                "r_last_i",
                "r_ready_o",
            ]
            .map(port),
            w: ["w_valid_o", "w_data_o", "w_strb_o", "w_last_o", "w_ready_i"].map(port),
            b: ["b_valid_i", "b_id_i", "b_resp_i", "b_ready_o"].map(port),
        }
    }
}

/// A memory behind all masters of a unit.
pub struct Memory {
    ports: Ports,
    ar_ready: Port,
    aw_ready: Port,
    masters: Vec<Master>,
    rng: fastrand::Rng,
    cycle: u64,
    ready: [u64; 3],
    /// Content; addresses beyond it break the protocol.
    pub bytes: Vec<u8>,
    /// How it answers.
    pub timing: Timing,
    /// Reads that touch one of these are answered with an error.
    pub read_errors: Vec<Range<u64>>,
    /// Writes that touch one of these are answered with an error and change nothing.
    pub write_errors: Vec<Range<u64>>,
    /// All writes answered so far, in order.
    pub log: Vec<Written>,
}

impl Memory {
    /// A memory of `size` zero bytes behind `unit`.
    pub fn new(unit: &Unit, size: usize, timing: Timing, seed: u64) -> Self {
        let ports = Ports::of(unit);
        let masters = ports.ar[1].elements;
        Self {
            ar_ready: unit.port("ar_ready_i"),
            aw_ready: unit.port("aw_ready_i"),
            ports,
            masters: (0..masters).map(|_| Master::default()).collect(),
            rng: fastrand::Rng::with_seed(seed),
            cycle: 0,
            ready: [0; 3],
            bytes: vec![0; size],
            timing,
            read_errors: Vec::new(),
            write_errors: Vec::new(),
            log: Vec::new(),
        }
    }

    /// Little-endian 8-byte word.
    pub fn word(&self, addr: u64) -> u64 {
        let at = addr as usize;
        (0..8)
            .rev()
            .fold(0, |word, i| word << 8 | u64::from(self.bytes[at + i]))
    }

    /// Sets bytes, as software does.
    pub fn poke(&mut self, addr: u64, bytes: &[u8]) {
        let at = addr as usize;
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Bytes of a range.
    pub fn peek(&self, addr: u64, len: usize) -> &[u8] {
        &self.bytes[addr as usize..addr as usize + len]
    }

    /// Cycle of the last write that touched some of `len` bytes from `addr`; 0 if there was none.
    pub fn last_write(&self, addr: u64, len: u64) -> u64 {
        let touches = |write: &&Written| write.first < addr + len && addr <= write.last;
        let last = self.log.iter().rev().find(touches);
        last.map_or(0, |write| write.cycle)
    }

    /// Whether no burst is under way.
    pub fn quiet(&self) -> bool {
        self.masters.iter().all(|master| {
            master.writes.is_empty()
                && master.reads.values().all(VecDeque::is_empty)
                && master.responses.values().all(VecDeque::is_empty)
        })
    }

    fn willing(&mut self) -> bool {
        self.rng.f64() < self.timing.willing
    }

    /// Sets the unit's inputs for the next clock edge.
    pub fn drive(&mut self, unit: &mut Unit) {
        self.ready = [0; 3];
        let (mut r_valid, mut r_last, mut b_valid) = (0, 0, 0);
        for m in 0..self.masters.len() {
            for channel in 0..3 {
                let waits = channel == 2 && self.masters[m].writes.is_empty();
                if !waits && self.willing() {
                    self.ready[channel] |= 1 << m;
                }
            }
            if self.willing() && self.read_beat(unit, m, &mut r_last) {
                r_valid |= 1 << m;
            }
            if self.willing() && self.write_response(unit, m) {
                b_valid |= 1 << m;
            }
        }
        unit.set(self.ar_ready, 0, self.ready[0]);
        unit.set(self.aw_ready, 0, self.ready[1]);
        unit.set(self.ports.w[4], 0, self.ready[2]);
        unit.set(self.ports.r[0], 0, r_valid);
        unit.set(self.ports.r[4], 0, r_last);
        unit.set(self.ports.b[0], 0, b_valid);
        self.cycle += 1;
    }

    /// A random id whose oldest burst is due.
    fn due(
        queues: &BTreeMap<u64, VecDeque<Burst>>,
        now: u64,
        rng: &mut fastrand::Rng,
    ) -> Option<u64> {
        let ids: Vec<u64> = queues
            .iter()
            .filter(|(_, queue)| queue.front().is_some_and(|burst| burst.due <= now))
            .map(|(&id, _)| id)
            .collect();
        rng.choice(&ids).copied()
    }

    fn touches(ranges: &[Range<u64>], first: u64, last: u64) -> bool {
        ranges
            .iter()
            .any(|range| first < range.end && range.start <= last)
    }

    /// Drives one beat of some burst: bursts of different ids interleave.
    fn read_beat(&mut self, unit: &mut Unit, m: usize, r_last: &mut u64) -> bool {
        let Some(id) = Self::due(&self.masters[m].reads, self.cycle, &mut self.rng) else {
            return false;
        };
        let Some(queue) = self.masters[m].reads.get_mut(&id) else {
            return false;
        };
        let Some(burst) = queue.front_mut() else {
            return false;
        };
        let addr = burst.addr;
        burst.addr += BEAT;
        burst.beats -= 1;
        if burst.beats == 0 {
            queue.pop_front();
            *r_last |= 1 << m;
        }
        let bad = Self::touches(&self.read_errors, addr, addr + BEAT - 1);
        let data: Vec<u32> = self.bytes[addr as usize..(addr + BEAT) as usize]
            .chunks(4)
            .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
            .collect();
        unit.set_wide(self.ports.r[1], m, &data);
        unit.set(self.ports.r[2], m, id);
        unit.set(self.ports.r[3], m, if bad { SLVERR } else { OKAY });
        true
    }

    /// Answers some write that is due, which changes memory now.
    fn write_response(&mut self, unit: &mut Unit, m: usize) -> bool {
        let Some(id) = Self::due(&self.masters[m].responses, self.cycle, &mut self.rng) else {
            return false;
        };
        let queue = self.masters[m].responses.get_mut(&id);
        let Some(burst) = queue.and_then(VecDeque::pop_front) else {
            return false;
        };
        let first = burst.bytes.first().map_or(burst.addr, |byte| byte.0);
        let last = burst.bytes.last().map_or(burst.addr, |byte| byte.0);
        let bad = Self::touches(&self.write_errors, first, last);
        if !bad {
            for &(addr, value) in &burst.bytes {
                self.bytes[addr as usize] = value;
            }
        }
        self.log.push(Written {
            cycle: self.cycle,
            first,
            last,
        });
        unit.set(self.ports.b[1], m, id);
        unit.set(self.ports.b[2], m, if bad { SLVERR } else { OKAY });
        true
    }

    /// Takes the transfers of the unit's settled outputs at the coming clock edge.
    ///
    /// # Errors
    /// What breaks the protocol, in words.
    pub fn accept(&mut self, unit: &Unit) -> Result<(), String> {
        let all = (1 << self.masters.len()) - 1;
        if unit.get(self.ports.r[5], 0) != all || unit.get(self.ports.b[3], 0) != all {
            return Err("r_ready or b_ready is low".to_owned());
        }
        let ar = unit.get(self.ports.ar[0], 0) & self.ready[0];
        let w = unit.get(self.ports.w[0], 0) & self.ready[2];
        let aw = unit.get(self.ports.aw[0], 0) & self.ready[1];
        for m in 0..self.masters.len() {
            if ar >> m & 1 != 0 {
                let (id, mut burst) = self.address(unit, m, false)?;
                burst.due = self.cycle + self.rng.u64(self.timing.read.clone());
                self.masters[m]
                    .reads
                    .entry(id)
                    .or_default()
                    .push_back(burst);
            }
            if w >> m & 1 != 0 {
                self.write_beat(unit, m)?;
            }
            if aw >> m & 1 != 0 {
                let write = self.address(unit, m, true)?;
                self.masters[m].writes.push_back(write);
            }
        }
        Ok(())
    }

    fn address(&self, unit: &Unit, m: usize, write: bool) -> Result<(u64, Burst), String> {
        let ports = if write {
            &self.ports.aw
        } else {
            &self.ports.ar
        };
        let [addr, len, size, burst, id] =
            std::array::from_fn(|field| unit.get(ports[field + 1], m));
        let beats = len + 1;
        let what = format!("master {m} id {id} write {write} address {addr:#x}, {beats} beats");
        if size != 6 || burst != 1 {
            return Err(format!("{what}: size {size}, burst {burst}"));
        }
        if !addr.is_multiple_of(BEAT) {
            return Err(format!("{what}: not aligned"));
        }
        let last = addr + beats * BEAT - 1;
        if addr >> 12 != last >> 12 {
            return Err(format!("{what}: crosses 4 KiB"));
        }
        if last >= self.bytes.len() as u64 {
            return Err(format!("{what}: outside memory"));
        }
        let burst = Burst {
            addr,
            beats,
            due: 0,
            bytes: Vec::new(),
        };
        Ok((id, burst))
    }

    fn write_beat(&mut self, unit: &Unit, m: usize) -> Result<(), String> {
        let due = self.cycle + self.rng.u64(self.timing.write.clone());
        let master = &mut self.masters[m];
        let Some((id, burst)) = master.writes.front_mut() else {
            return Err(format!("master {m}: data without address"));
        };
        let data = unit.get_wide(self.ports.w[1], m);
        let strobe = unit.get(self.ports.w[2], m);
        for lane in (0..BEAT).filter(|lane| strobe >> lane & 1 != 0) {
            let word = data[lane as usize / 4];
            let value = (word >> (8 * (lane % 4))) as u8;
            burst.bytes.push((burst.addr + lane, value));
        }
        burst.addr += BEAT;
        burst.beats -= 1;
        let last = unit.get(self.ports.w[3], 0) >> m & 1 != 0;
        if last != (burst.beats == 0) {
            return Err(format!(
                "master {m} id {id}: {} beats to come, last {last}",
                burst.beats
            ));
        }
        if last && let Some((id, mut burst)) = master.writes.pop_front() {
            burst.due = due;
            master.responses.entry(id).or_default().push_back(burst);
        }
        Ok(())
    }
}
