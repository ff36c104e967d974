// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of injection FIFOs beside a model of its registers and rings, and once more with a fault that the model must
//! find (HW-1, X-5).

use std::collections::VecDeque;

use fastrand::Rng;
use gyre_layout::ErrorReason;
use gyre_rtl_tests::cell::{Cell, Verdict, chance, with_and_without_fault};
use gyre_rtl_tests::structs::{ERROR, MOVE, TX_RETIRE, code};

const FIFOS: usize = 4;

/// Registers of a FIFO by number.
const BASE: u64 = 0;
const SIZE: u64 = 1;
const HEAD: u64 = 2;
const TAIL: u64 = 3;
const CTRL: u64 = 4;
const STATUS: u64 = 5;
const COUNT: u64 = 6;

/// Pointers count descriptors, modulo 2^26.
const POINTERS: u64 = (1 << 26) - 1;

/// A FIFO; sizes and pointers in descriptors.
#[derive(Clone, Debug, Default)]
struct Fifo {
    base: u64,
    size: u64,
    head: u64,
    tail: u64,
    fetch: u64,
    alloc: u64,
    landed: u64,
    count: u64,
    high: u64,
    owner: u64,
    enable: bool,
    remote: bool,
    event: bool,
    halted: bool,
    broken: bool,
    resume: bool,
    reason: u64,
    /// Descriptors that were fetched and have not left; those that a halt has caught are dropped.
    flying: u64,
    /// A path could not read payload: the first packet that is dropped says so.
    unread: bool,
    /// Remote gets that have ring space and are not committed.
    flight: VecDeque<u64>,
}

impl Fifo {
    fn level(&self) -> u64 {
        self.tail.wrapping_sub(self.head) & POINTERS
    }

    fn address(&self, pointer: u64) -> u64 {
        self.base + 64 * (pointer & self.size.wrapping_sub(1) & 0x7fff)
    }

    fn read(&self, register: u64) -> u64 {
        match register {
            BASE => self.base,
            SIZE => 64 * self.size,
            HEAD => 64 * self.head,
            TAIL => 64 * self.tail,
            CTRL => {
                let flags = u64::from(self.remote) << 1 | u64::from(self.enable);
                u64::from(self.event) << 8 | self.owner << 4 | flags
            }
            STATUS => {
                let empty = self.level() == 0;
                let busy = self.flying > 0 || (self.enable && !empty);
                let flags = u64::from(empty) << 2 | u64::from(busy) << 1 | u64::from(self.halted);
                self.reason << 8 | flags
            }
            COUNT => self.count,
            _ => 64 * self.high,
        }
    }

    fn refuses(&self, register: u64, data: u64) -> bool {
        match register {
            BASE => self.enable || !data.is_multiple_of(4096) || data >> 48 != 0,
            SIZE => self.enable || !data.is_power_of_two() || !(1 << 12..=1 << 20).contains(&data),
            TAIL => {
                let level = (data >> 6).wrapping_sub(self.head) & POINTERS;
                let whole = data.is_multiple_of(64) && data >> 32 == 0;
                !self.enable || self.remote || !whole || level < self.level() || level > self.size
            }
            CTRL if data & 1 == 0 => false,
            CTRL if self.enable => (data & 2 != 0) != self.remote || data >> 4 & 15 != self.owner,
            CTRL => {
                let end = self.base + 64 * self.size;
                self.size == 0 || end > 1 << 48 || self.flying > 0 || self.alloc != self.landed
            }
            STATUS => data & 1 != 0 && self.broken,
            HEAD | COUNT => true,
            _ => false,
        }
    }

    /// Software writes a register of a FIFO that was `before` in this cycle.
    fn write(&mut self, register: u64, data: u64, before: &Self) {
        match register {
            BASE => self.base = data,
            SIZE => self.size = data / 64,
            TAIL => {
                self.tail = data >> 6;
                let level = self.tail.wrapping_sub(before.head) & POINTERS;
                self.high = self.high.max(level);
            }
            CTRL => {
                if data & 1 != 0 && !before.enable {
                    (self.head, self.tail, self.fetch, self.alloc) = (0, 0, 0, 0);
                    (self.landed, self.count, self.reason) = (0, 0, 0);
                    (self.halted, self.broken, self.resume) = (false, false, false);
                }
                self.enable = data & 1 != 0;
                self.remote = data & 2 != 0;
                self.owner = data >> 4 & 15;
                self.event = data >> 8 & 1 != 0;
            }
            STATUS => self.resume |= data & 1 != 0 && before.halted,
            7 => self.high = 0,
            _ => {}
        }
    }

    /// Halted, with a reason that is known or to come.
    fn halt(&mut self, reason: Option<ErrorReason>) {
        self.halted = true;
        if let Some(reason) = reason
            && (!self.broken || reason == ErrorReason::Write)
        {
            self.reason = code(reason);
        }
    }
}

/// Reasons for a FIFO to halt.
#[derive(Clone, Copy, PartialEq)]
enum Halt {
    Path,
    Flow,
    Activation,
}

fn inj_fifo_table(cell: &mut Cell, random: &mut Rng) -> Verdict {
    let mut fifos: [Fifo; FIFOS] = Default::default();
    // An access in its second cycle, and its answer.
    let mut access: Option<(usize, u64, bool, u64, bool)> = None;
    let mut answer: Option<(bool, u64)> = None;
    // Pulses of the cycle before: descriptors done, error, remote-get rings moved.
    let (mut done, mut error, mut moved) = (0, ERROR.zero(), false);
    let (mut resumed, mut late, mut commits) = (0, 0, 0);
    for cycle in 0..400_000 {
        // At times rings are mostly empty, and many FIFOs halt.
        let sparse = cycle / 2000 % 2 == 0;
        // ---- what comes -------------------------------------------------------------------------
        let asks = access.is_none() && answer.is_none() && chance(random, 40);
        let far = chance(random, 3);
        let number = random.usize(0..if far { 32 } else { FIFOS });
        let register =
            [TAIL, TAIL, TAIL, CTRL, STATUS, STATUS, random.u64(0..8)][random.usize(0..7)];
        let state = fifos.get(number).cloned().unwrap_or_default();
        let odd = if chance(random, 2) {
            random.u64(1..8)
        } else {
            0
        };
        let write = chance(random, 60);
        let data = match register {
            _ if chance(random, 4) => random.u64(..),
            BASE if chance(random, 10) => (1 << 48) - (random.u64(1..300) << 12),
            BASE => random.u64(..1 << 35) << 12,
            SIZE => 1 << random.u64(11..15),
            TAIL => {
                let to = state.tail + random.u64(0..state.size / 2 + 2);
                64 * (to & POINTERS)
            }
            CTRL if state.enable => {
                let flags = u64::from(state.remote) << 1 | u64::from(chance(random, 85));
                random.u64(0..2) << 8 | state.owner << 4 | flags
            }
            CTRL => random.u64(0..512) | 1,
            _ => random.u64(..),
        };
        cell.set("reg_req_i", asks.into());
        cell.set("reg_we_i", write.into());
        cell.set("reg_addr_i", (number as u64) << 6 | register << 3 | odd);
        cell.set("reg_wdata_i", data);

        let busy = (0..FIFOS).fold(0, |all, f| all | u64::from(fifos[f].flying > 0) << f);
        cell.set("busy_i", busy);
        // A descriptor is fetched.
        let from = random.usize(0..FIFOS);
        let fetches = {
            let fifo = &fifos[from];
            fifo.enable && !fifo.halted && fifo.fetch != fifo.tail && chance(random, 60)
        };
        cell.set("fetch_fifo_i", from as u64);
        cell.set("fetch_take_i", fetches.into());
        // A descriptor leaves: done, or dropped by a halt.
        let to = random.usize(0..FIFOS);
        let leaves = fifos[to].flying > 0 && chance(random, 60);
        let drop = leaves && fifos[to].halted;
        let unread = drop && fifos[to].unread;
        let last = leaves && chance(random, 80);
        let retire = TX_RETIRE.zero().with(&[
            ("fifo", to as u64),
            ("last", last.into()),
            ("drop", drop.into()),
            ("err", unread.into()),
        ]);
        cell.set("retire_valid_i", leaves.into());
        cell.set_record("retire_i", &retire);
        // A FIFO halts; what is at fault is at HEAD, and no other error comes in this cycle.
        let f = random.usize(0..FIFOS);
        let other = unread || (leaves && to == f);
        let may = !fifos[f].halted && fifos[f].flying > 0 && !other;
        let halt = (may && chance(random, if sparse { 25 } else { 3 })).then(|| {
            let kinds = [Halt::Path, Halt::Flow, Halt::Activation];
            kinds[random.usize(0..3)]
        });
        let bit = |is: bool| if is { 1 << f } else { 0 };
        cell.set("path_halt_i", bit(halt == Some(Halt::Path)));
        cell.set("flow_halt_i", bit(halt == Some(Halt::Flow)));
        cell.set("act_err_valid_i", (halt == Some(Halt::Activation)).into());
        cell.set("act_err_fifo_i", f as u64);
        cell.set("act_err_i", code(ErrorReason::DescKind));
        // Remote gets.
        let look = random.usize(0..FIFOS + 2);
        let open = fifos
            .get(look)
            .filter(|fifo| fifo.enable && fifo.remote && !fifo.broken);
        let free = open.map_or(0, |fifo| {
            fifo.size - (fifo.alloc.wrapping_sub(fifo.head) & POINTERS)
        });
        let descriptors = random.u64(1..9);
        let allocates = descriptors <= free && chance(random, if sparse { 8 } else { 40 });
        cell.set("rget_id_i", look as u64);
        let alloc = MOVE.zero().with(&[
            ("valid", allocates.into()),
            ("id", look as u64),
            ("bytes", 64 * descriptors),
        ]);
        cell.set_record("rget_alloc_i", &alloc);
        let c = random.usize(0..FIFOS);
        let commit = fifos[c]
            .flight
            .front()
            .copied()
            .filter(|_| chance(random, 50));
        let failed = commit.is_some() && chance(random, 1);
        let moves = MOVE.zero().with(&[
            ("valid", commit.is_some().into()),
            ("failed", failed.into()),
            ("id", c as u64),
            ("bytes", 64 * commit.unwrap_or(0)),
        ]);
        cell.set_record("rget_commit_i", &moves);
        cell.settle()?;

        // ---- what is seen ------------------------------------------------------------------------
        let flags = |flag: &dyn Fn(&Fifo) -> bool| {
            (0..FIFOS).fold(0, |all, f| all | u64::from(flag(&fifos[f])) << f)
        };
        cell.expect("enabled", cell.get("enable_o"), flags(&|fifo| fifo.enable))?;
        cell.expect("remote", cell.get("remote_o"), flags(&|fifo| fifo.remote))?;
        cell.expect("halted", cell.get("halted_o"), flags(&|fifo| fifo.halted))?;
        let owners = (0..FIFOS).fold(0, |all, f| all | fifos[f].owner << (4 * f));
        cell.expect("owners", cell.get("owner_o"), owners)?;
        let runs = flags(&|fifo| fifo.enable && !fifo.halted);
        let avail = flags(&|fifo| fifo.fetch != fifo.tail);
        cell.expect(
            "descriptors to fetch",
            cell.get("avail_o") & runs,
            avail & runs,
        )?;
        if fetches {
            let address = fifos[from].address(fifos[from].fetch);
            cell.expect("descriptor's address", cell.get("fetch_addr_o"), address)?;
        }
        cell.expect("open to remote gets", cell.is("rget_ok_o"), open.is_some())?;
        if let Some(fifo) = open {
            let found = ["rget_base_o", "rget_size_o", "rget_alloc_o", "rget_free_o"];
            let wanted = [fifo.base, 64 * fifo.size, 64 * fifo.alloc, 64 * free];
            cell.expect("ring", found.map(|port| cell.get(port)), wanted)?;
        }
        cell.expect("descriptors done", cell.get("desc_done_o"), done)?;
        let found = cell.record("err_o", &ERROR);
        cell.expect("an error", found["valid"], error["valid"])?;
        if error["valid"] != 0 {
            cell.expect("error", found, error)?;
        }
        cell.expect("rings may have room", cell.is("rget_moved_o"), moved)?;
        cell.expect("answer", cell.is("reg_ack_o"), answer.is_some())?;
        if let Some((refused, value)) = answer.take() {
            cell.expect("refused", cell.is("reg_err_o"), refused)?;
            cell.expect("register", cell.get("reg_rdata_o"), value)?;
        }
        cell.edge()?;

        // ---- what changes -------------------------------------------------------------------------
        (done, error, moved) = (0, ERROR.zero(), false);
        // A resume waits for what is in flight and for register accesses; the lowest FIFO goes first.
        let ready = |fifo: &Fifo| fifo.resume && fifo.flying == 0;
        let resume = fifos.iter().position(ready).filter(|_| access.is_none());
        let before = fifos.clone();
        if fetches {
            fifos[from].fetch = (fifos[from].fetch + 1) & POINTERS;
            fifos[from].flying += 1;
        }
        if leaves {
            let fifo = &mut fifos[to];
            if last {
                fifo.flying -= 1;
            }
            if last && !drop {
                fifo.head = (fifo.head + 1) & POINTERS;
                fifo.count = (fifo.count + 1) & 0xffff_ffff;
                done = u64::from(fifo.event) << to;
                moved |= fifo.remote;
            }
        }
        let fault = |f: usize, reason: ErrorReason| {
            ERROR.zero().with(&[
                ("valid", 1),
                ("reason", code(reason)),
                ("where", f as u64),
                ("info", before[f].address(before[f].head)),
            ])
        };
        if unread {
            fifos[to].unread = false;
            fifos[to].halt(Some(ErrorReason::PayloadRead));
            error = fault(to, ErrorReason::PayloadRead);
        }
        match halt {
            Some(Halt::Path) => {
                fifos[f].halt(None);
                fifos[f].unread = true;
            }
            Some(Halt::Flow) => fifos[f].halt(Some(ErrorReason::DescFlow)),
            Some(Halt::Activation) => {
                fifos[f].halt(Some(ErrorReason::DescKind));
                error = fault(f, ErrorReason::DescKind);
            }
            None => {}
        }
        if let Some(f) = resume {
            let fifo = &mut fifos[f];
            fifo.head = (before[f].head + 1) & POINTERS;
            fifo.fetch = fifo.head;
            fifo.resume = false;
            moved |= fifo.remote;
            let halts = commit.is_some() && failed && c == f;
            if !before[f].broken && !halts {
                (fifo.halted, fifo.reason) = (false, 0);
            }
            resumed += 1;
            late += u32::from(commit.is_some() && c == f);
        }
        if allocates {
            let fifo = &mut fifos[look];
            fifo.alloc = (fifo.alloc + descriptors) & POINTERS;
            fifo.flight.push_back(descriptors);
        }
        if let Some(descriptors) = commit {
            commits += 1;
            let fifo = &mut fifos[c];
            fifo.flight.pop_front();
            fifo.landed = (fifo.landed + descriptors) & POINTERS;
            if failed {
                fifo.halt(Some(ErrorReason::Write));
                fifo.broken = true;
                moved = true;
            } else if !before[c].broken {
                fifo.tail = (fifo.tail + descriptors) & POINTERS;
                // Against HEAD as it was.
                let level = fifo.tail.wrapping_sub(before[c].head) & POINTERS;
                fifo.high = fifo.high.max(level);
            }
        }
        let accessed = access.take();
        if let Some((number, register, write, data, absent)) = accessed {
            let state = before.get(number).cloned().unwrap_or_default();
            let refused = absent || (write && state.refuses(register, data));
            let value = if absent || write {
                0
            } else {
                state.read(register)
            };
            answer = Some((refused, value));
            if write && !refused {
                let fifo = &mut fifos[number];
                fifo.write(register, data, &state);
                moved |= register == CTRL;
            }
        }
        if asks {
            access = Some((number, register, write, data, odd != 0 || number >= FIFOS));
        }
    }
    let enough = resumed > 1000 && late >= 10 && commits > 5000;
    cell.expect("resumes, remote gets at that time", enough, true)
}

#[test]
fn hw1_x5_injection_fifos_are_as_their_registers_say() {
    with_and_without_fault("injection_fifos", inj_fifo_table);
}
