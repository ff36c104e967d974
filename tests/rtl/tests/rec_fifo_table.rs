// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of reception FIFOs beside a model of its registers and rings, and once more with a fault that the model must
//! find (HW-1, X-5).

use std::collections::VecDeque;

use fastrand::Rng;
use gyre_rtl_tests::cell::{Cell, Verdict, chance, with_and_without_fault};
use gyre_rtl_tests::structs::MOVE;

const FIFOS: usize = 3;

/// Registers of a FIFO by number.
const BASE: u64 = 0;
const SIZE: u64 = 1;
const HEAD: u64 = 2;
const CTRL: u64 = 4;
const STATUS: u64 = 5;
const THRESHOLD: u64 = 6;

/// A FIFO as software and the resolver see it. Bytes.
#[derive(Clone, Debug, Default)]
struct Fifo {
    base: u64,
    size: u64,
    head: u32,
    tail: u32,
    alloc: u32,
    owner: u64,
    threshold: u32,
    high: u64,
    enable: bool,
    halted: bool,
    waited: bool,
    /// Packets with ring space that are not committed.
    flight: VecDeque<u64>,
}

impl Fifo {
    fn level(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    fn read(&self, register: u64) -> u64 {
        match register {
            BASE => self.base,
            SIZE => self.size,
            HEAD => self.head.into(),
            3 => self.tail.into(),
            CTRL => self.owner << 4 | u64::from(self.enable),
            STATUS => {
                let flags = [
                    self.level() != 0,
                    self.waited,
                    self.halted,
                    !self.flight.is_empty(),
                ];
                flags
                    .iter()
                    .rev()
                    .fold(0, |all, &flag| all << 1 | u64::from(flag))
            }
            THRESHOLD => self.threshold.into(),
            _ => self.high,
        }
    }

    fn refuses(&self, register: u64, data: u64) -> bool {
        let idle = !self.enable || self.halted;
        match register {
            BASE => self.enable || !data.is_multiple_of(4096) || data >> 48 != 0,
            SIZE => self.enable || !data.is_power_of_two() || !(1 << 12..=1 << 20).contains(&data),
            HEAD => (data as u32).wrapping_sub(self.head) > self.level(),
            3 => true,
            CTRL if data & 1 != 0 => {
                let end = self.base + self.size;
                self.size == 0 || end > 1 << 48 || (idle && !self.flight.is_empty())
            }
            _ => false,
        }
    }

    /// Software writes a register of a FIFO that was `before` in this cycle.
    fn write(&mut self, register: u64, data: u64, before: &Self) {
        match register {
            BASE => self.base = data,
            SIZE => self.size = data,
            HEAD => self.head = data as u32,
            CTRL => {
                let enable = data & 1 != 0;
                if enable && (!before.enable || before.halted) {
                    (self.head, self.tail, self.alloc, self.high) = (0, 0, 0, 0);
                    (self.halted, self.waited) = (false, false);
                }
                self.enable = enable;
                self.owner = data >> 4 & 15;
            }
            STATUS => self.waited &= data & 2 == 0,
            THRESHOLD => self.threshold = data as u32,
            _ => self.high = 0,
        }
    }
}

fn rec_fifo_table(cell: &mut Cell, random: &mut Rng) -> Verdict {
    let mut fifos: [Fifo; FIFOS] = Default::default();
    let mut answer: Option<(bool, u64, bool)> = None;
    let (mut halts, mut fulls, mut wraps) = (0, 0, 0);
    for _ in 0..200_000 {
        // A register access.
        let far = chance(random, 3);
        let number = random.usize(0..if far { 16 } else { FIFOS });
        let register = random.u64(0..8);
        let odd = if chance(random, 2) {
            random.u64(1..8)
        } else {
            0
        };
        let (asks, write) = (chance(random, 40), random.bool());
        let state = fifos.get(number).cloned().unwrap_or_default();
        let data = match register {
            _ if chance(random, 5) => random.u64(..),
            BASE if chance(random, 10) => (1 << 48) - (random.u64(1..300) << 12),
            BASE => random.u64(..1 << 35) << 12,
            SIZE => 1 << random.u64(11..15),
            // Mostly what was read so far.
            HEAD if chance(random, 90) => {
                let read = random.u64(0..u64::from(state.level()) + 1);
                u64::from(state.head.wrapping_add(read as u32))
            }
            // Mostly on.
            CTRL => random.u64(0..16) << 4 | u64::from(chance(random, 90)),
            THRESHOLD => random.u64(0..5000),
            _ => random.u64(..),
        };
        cell.set("reg_req_i", asks.into());
        cell.set("reg_we_i", write.into());
        cell.set("reg_addr_i", (number as u64) << 6 | register << 3 | odd);
        cell.set("reg_wdata_i", data);
        // A look-up.
        let look = random.usize(0..FIFOS + 1);
        let bytes = 32 * random.u64(1..18);
        cell.set("look_id_i", look as u64);
        cell.set("look_bytes_i", bytes);
        // A packet is in memory, or lost.
        let from = random.usize(0..FIFOS);
        let commit = fifos[from]
            .flight
            .front()
            .copied()
            .filter(|_| chance(random, 60));
        let failed = commit.is_some() && chance(random, 2);
        let moves = MOVE.zero().with(&[
            ("valid", commit.is_some().into()),
            ("failed", failed.into()),
            ("id", from as u64),
            ("bytes", commit.unwrap_or(0)),
        ]);
        cell.set_record("commit_i", &moves);
        for port in ["alloc_i", "wait_i"] {
            cell.set(port, 0);
        }
        cell.settle()?;

        let looked = fifos.get(look).filter(|fifo| fifo.enable);
        cell.expect(
            "FIFO that takes packets",
            cell.is("look_ok_o"),
            looked.is_some(),
        )?;
        let fits = looked.is_some_and(|fifo| {
            let used = fifo.alloc.wrapping_sub(fifo.head);
            !fifo.halted && u64::from(used) + bytes <= fifo.size
        });
        if let Some(fifo) = looked {
            cell.expect("room", cell.is("look_fits_o"), fits)?;
            if fits {
                let at = |ptr: u64| fifo.base + ptr % fifo.size;
                let alloc = u64::from(fifo.alloc);
                cell.expect("address", cell.get("look_addr_o"), at(alloc))?;
                let next = at((alloc | 4095) + 1) >> 12;
                cell.expect("page after it", cell.get("look_next_page_o"), next)?;
            }
        }
        let alloc = fits && chance(random, 50);
        let wait = looked.is_some() && !fits && chance(random, 50);
        cell.set("alloc_i", alloc.into());
        cell.set("wait_i", wait.into());
        cell.settle()?;
        let fifo = &fifos[from];
        let committed = commit.filter(|_| !failed && !fifo.halted);
        cell.expect("TAIL moves", cell.is("committed_o"), committed.is_some())?;
        let above = committed.is_some_and(|bytes| {
            fifo.threshold != 0 && fifo.level().wrapping_add(bytes as u32) > fifo.threshold
        });
        cell.expect("above the threshold", cell.is("threshold_o"), above)?;
        cell.expect("answer", cell.is("reg_ack_o"), answer.is_some())?;
        if let Some((error, value, retry)) = answer.take() {
            cell.expect("refused", cell.is("reg_err_o"), error)?;
            cell.expect("register", cell.get("reg_rdata_o"), value)?;
            cell.expect("room may be", cell.is("retry_o"), retry)?;
        } else {
            cell.expect("room may be", cell.is("retry_o"), false)?;
            cell.expect("idle", cell.is("idle_o"), true)?;
        }
        cell.edge()?;

        // All at once, as the state was: software, the resolver, the commit queue.
        let refused = odd != 0 || number >= FIFOS || (write && state.refuses(register, data));
        if asks {
            let value = if refused { 0 } else { state.read(register) };
            let moved = write && !refused && [HEAD, CTRL].contains(&register);
            answer = Some((refused, value, moved));
        }
        let writes = asks && write && !refused;
        if let Some(bytes) = commit {
            let fifo = &mut fifos[from];
            fifo.flight.pop_front();
            halts += u32::from(failed);
            fifo.halted |= failed;
            if committed.is_some() {
                fifo.tail = fifo.tail.wrapping_add(bytes as u32);
                // Against HEAD as it was.
                let level = u64::from(fifo.level());
                fifo.high = fifo.high.max(level);
                wraps += u32::from(u64::from(fifo.tail) % fifo.size.max(1) < bytes);
            }
        }
        if alloc {
            let fifo = &mut fifos[look];
            fifo.alloc = fifo.alloc.wrapping_add(bytes as u32);
            fifo.flight.push_back(bytes);
        }
        if writes {
            fifos[number].write(register, data, &state);
        }
        if wait {
            fulls += 1;
            // One that waits now is told, whatever software clears.
            let restarts =
                writes && number == look && register == CTRL && data & 1 != 0 && state.halted;
            fifos[look].waited |= !restarts;
        }
    }
    let enough = halts > 100 && fulls > 1000 && wraps > 500;
    cell.expect("failures, full rings, wrapped rings", enough, true)
}

#[test]
fn hw1_x5_reception_fifos_are_as_their_registers_say() {
    with_and_without_fault("reception_fifos", rec_fifo_table);
}
