// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counter unit beside a memory and a model of what each decrement and read-modify-write makes of it, and once more
//! with a fault that the model must find (HW-1, HW-4, X-5).

use std::collections::{BTreeMap, VecDeque};

use fastrand::Rng;
use gyre_layout::{ErrorReason, RmwOp};
use gyre_rtl_tests::cell::{Cell, Record, Verdict, chance, with_and_without_fault};
use gyre_rtl_tests::structs::{AXI_ADDR, ERROR, RMW_EXEC, code};

/// Ports of decrements, the last with word of what is in memory.
const PORTS: usize = 3;
/// Counters: fewer than, as many as, and more than the unit's four entries are in work in turn.
const WORDS: [u64; 6] = [0x1000, 0x1008, 0x1038, 0x1040, 0x2000, 0x2010];

/// Requests for a word that are not applied yet, in order.
#[derive(Clone, Debug)]
enum Due {
    /// Bytes, and whether by the last port.
    Lower(u64, bool),
    Rmw(Record),
}

/// Changes to a word between its read and the answer to its write.
#[derive(Clone, Debug)]
struct Work {
    addr: u64,
    value: u64,
    strobes: u64,
    /// Value that the read-modify-write found.
    rmw: Option<u64>,
    last: bool,
    /// Reason that is known before the write.
    error: ErrorReason,
}

/// New word, strobes and operand of a read-modify-write.
fn apply(exec: &Record, word: u64) -> (u64, u64, u64) {
    let wide = exec["wide"] != 0;
    let shift = if wide { 0 } else { 8 * (exec["addr"] & 4) };
    let mask = if wide { u64::MAX } else { u32::MAX.into() };
    let (old, value) = (word >> shift & mask, exec["value"]);
    let new = match RmwOp::try_from(exec["op"] as u8) {
        Ok(RmwOp::Set) => value,
        Ok(RmwOp::Add) => old.wrapping_add(value),
        Ok(RmwOp::Or) => old | value,
        Ok(RmwOp::And) => old & value,
        Ok(RmwOp::Xor) => old ^ value,
        Err(_) => old,
    } & mask;
    let hit = exec["compare"] == 0 || old == exec["test"] & mask;
    let strobes = if wide { 0xff } else { 0x0f << (shift / 8) };
    (new << shift, if hit { strobes } else { 0 }, old)
}

#[derive(Default)]
struct Model {
    memory: BTreeMap<u64, u64>,
    due: BTreeMap<u64, VecDeque<Due>>,
    /// Reads, works that were read and want to be written, writes under way.
    reads: VecDeque<u64>,
    read: Vec<Work>,
    writes: VecDeque<Work>,
    /// Errors to be reported: reason, word, and whether of the last port.
    errors: Vec<(u64, u64, bool)>,
}

impl Model {
    /// A word is in work: between its read and the end.
    fn in_work(&self, addr: u64) -> bool {
        let works = self.read.iter().chain(&self.writes);
        self.reads.contains(&addr)
            || works.into_iter().any(|work| work.addr == addr)
            || self.errors.iter().any(|error| error.1 == addr)
    }

    fn busy(&self) -> bool {
        WORDS.iter().any(|&addr| self.in_work(addr)) || self.due.values().any(|due| !due.is_empty())
    }

    /// A decrement of the last port is not in memory, nor lost.
    fn last_busy(&self) -> bool {
        let lasts = |due: &Due| matches!(due, Due::Lower(_, true));
        self.due.values().flatten().any(lasts)
            || self.read.iter().chain(&self.writes).any(|work| work.last)
            || self.errors.iter().any(|error| error.2)
    }
}

fn counter_unit(cell: &mut Cell, random: &mut Rng) -> Verdict {
    let mut model = Model::default();
    for addr in WORDS {
        model.memory.insert(addr, random.u64(0..5000));
        model.due.insert(addr, VecDeque::new());
    }
    // Offers that stay until taken.
    let mut ports: [Option<(u64, u64)>; PORTS] = [None; PORTS];
    let mut rmw: Option<Record> = None;
    let mut last_addr = 0;
    // The decrement that was taken in the last cycle is not in its entry yet; neither is it in the cycle after.
    let mut fresh: VecDeque<u64> = VecDeque::new();
    // The write whose data is due.
    let mut data: Option<Work> = None;
    let mut zero = false;
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for cycle in 0..200_000 {
        let offering = cycle < 195_000;
        let slow = cycle / 1000 % 2 == 0;
        // Words in use in this part of the run.
        let words = &WORDS[..[2, 4, 6][cycle / 1000 % 3]];
        let last_free = !cell.is("last_busy_o");
        for (port, offer) in ports.iter_mut().enumerate() {
            if offer.is_none() && offering && chance(random, 30) {
                let addr = words[random.usize(0..words.len())];
                let bytes = if chance(random, 20) {
                    1
                } else {
                    // At times just what is left, if nothing else comes.
                    let left = model.memory[&addr].clamp(1, 512);
                    [left, random.u64(1..513)][random.usize(0..2)]
                };
                *offer = Some((addr, bytes));
            }
            let (addr, bytes) = offer.unwrap_or_default();
            // Of flows, another counter when the one before is in memory.
            let may = port + 1 < PORTS || last_free || addr == last_addr;
            if !may {
                *offer = None;
            }
            cell.set_at("req_addr_i", port, addr);
            cell.set_at("req_bytes_i", port, bytes);
        }
        let mask = (0..PORTS).fold(0, |all, port| {
            all | u64::from(ports[port].is_some()) << port
        });
        cell.set("req_i", mask);
        if rmw.is_none() && offering && chance(random, 10) {
            let wide = random.bool();
            let word = words[random.usize(0..words.len())];
            let value = if random.bool() {
                random.u64(0..4000)
            } else {
                random.u64(..)
            };
            let test = match (wide, model.memory.get(&word)) {
                (true, Some(&word)) if random.bool() => word,
                (false, Some(&word)) if random.bool() => word & 0xffff_ffff,
                _ => random.u64(..),
            };
            rmw = Some(RMW_EXEC.zero().with(&[
                (
                    "addr",
                    if wide {
                        word
                    } else {
                        word + 4 * random.u64(0..2)
                    },
                ),
                ("op", random.u64(0..5)),
                ("compare", chance(random, 40).into()),
                ("wide", wide.into()),
                ("value", value),
                ("test", test),
            ]));
        }
        cell.set("rmw_req_i", rmw.is_some().into());
        cell.set_record("rmw_i", rmw.as_ref().unwrap_or(&RMW_EXEC.zero()));

        // Memory.
        let ready = chance(random, if slow { 20 } else { 80 });
        cell.set("ar_ready_i", ready.into());
        let answered = model
            .reads
            .front()
            .copied()
            .filter(|_| chance(random, if slow { 15 } else { 80 }));
        let read_error = answered.is_some() && chance(random, 3);
        let word = answered.map_or(0, |addr| model.memory[&addr]);
        cell.set("r_valid_i", answered.is_some().into());
        cell.set("r_err_i", read_error.into());
        cell.set("r_data_i", word);
        let written = !model.writes.is_empty() && chance(random, if slow { 15 } else { 80 });
        let bad = written && chance(random, 3);
        cell.set("b_valid_i", written.into());
        cell.set("b_bad_i", bad.into());
        let pop = data.is_some() && chance(random, 60);
        cell.set("w_sel_i", data.is_some().into());
        cell.set("w_pop_i", pop.into());
        let ack = chance(random, 30);
        cell.set("err_ack_i", ack.into());
        cell.set("aw_gnt_i", 0);
        cell.settle()?;
        let grant = cell.is("aw_req_o") && chance(random, 50);
        cell.set("aw_gnt_i", grant.into());
        cell.settle()?;

        cell.expect("counter at zero", cell.is("zero_o"), zero)?;
        if model.busy() {
            cell.expect("busy", cell.is("busy_o"), true)?;
        }
        if model.last_busy() {
            cell.expect("busy for the last port", cell.is("last_busy_o"), true)?;
        }
        zero = false;

        // Data of a write.
        if let Some(work) = &data {
            let wide = cell.0.port("w_data_o");
            let bits = cell.0.get_wide(wide, 0);
            let lane = (work.addr % 64 / 4) as usize;
            let found = u64::from(bits[lane]) | u64::from(bits[lane + 1]) << 32;
            let strobes = cell.get("w_strb_o");
            cell.expect("bytes written", strobes, work.strobes << (work.addr % 64))?;
            for byte in (0..8).filter(|byte| work.strobes >> byte & 1 != 0) {
                let at = |word: u64| word >> (8 * byte) & 0xff;
                if at(found) != at(work.value) {
                    eprintln!("dbg {work:x?} found {found:x}");
                }
                cell.expect("byte", at(found), at(work.value))?;
            }
        }
        // The end of a write.
        let done = cell.is("rmw_done_o");
        if let Some(work) = model.writes.pop_front_if(|_| written) {
            cell.expect("end of a read-modify-write", done, work.rmw.is_some())?;
            let mut error = work.error;
            if !bad && work.strobes != 0 {
                let word = model.memory.entry(work.addr).or_default();
                for byte in (0..8).filter(|byte| work.strobes >> byte & 1 != 0) {
                    let mask = 0xff << (8 * byte);
                    *word = *word & !mask | work.value & mask;
                }
            }
            if let Some(old) = work.rmw {
                let failed = bad || error != ErrorReason::None;
                cell.expect("it failed", cell.is("rmw_failed_o"), failed)?;
                if !failed {
                    cell.expect("operand before", cell.get("rmw_old_o"), old)?;
                }
                if bad {
                    error = ErrorReason::RmwAccess;
                }
                *seen.entry("read-modify-write").or_default() += 1;
            } else {
                zero = !bad && work.value == 0;
                *seen.entry("zero").or_default() += u32::from(zero);
                if bad {
                    error = ErrorReason::CounterAccess;
                }
            }
            if error != ErrorReason::None {
                model.errors.push((code(error), work.addr, work.last));
            }
        } else {
            cell.expect("end of a read-modify-write", done, false)?;
        }
        // A read is answered: what is due is taken.
        let mut taken: Option<Work> = None;
        if let Some(addr) = answered {
            model.reads.pop_front();
            let newest = fresh.iter().filter(|&&fresh| fresh == addr).count();
            let Some(due) = model.due.get_mut(&addr) else {
                return Err(format!(
                    "{:?}: read of {addr:#x}, which is no counter",
                    cell.0
                ));
            };
            if let Some(Due::Rmw(exec)) = due.front().cloned() {
                due.pop_front();
                let (value, strobes, old) = apply(&exec, word);
                taken = Some(Work {
                    addr,
                    value,
                    strobes: if read_error { 0 } else { strobes },
                    rmw: Some(old),
                    last: false,
                    error: if read_error {
                        ErrorReason::RmwAccess
                    } else {
                        ErrorReason::None
                    },
                });
            } else {
                let lowers = due
                    .iter()
                    .take_while(|due| matches!(due, Due::Lower(..)))
                    .count();
                // Those that are not in the entry yet stay.
                let behind = due.len() - lowers;
                let count = lowers - newest.saturating_sub(behind).min(lowers);
                let (mut sum, mut last) = (0, false);
                for due in due.drain(..count) {
                    if let Due::Lower(bytes, from_last) = due {
                        sum += bytes;
                        last |= from_last;
                    }
                }
                cell.expect("read without a cause", sum > 0, true)?;
                if read_error {
                    model
                        .errors
                        .push((code(ErrorReason::CounterAccess), addr, last));
                } else {
                    let below = word < sum;
                    *seen
                        .entry(if below { "underflow" } else { "lowered" })
                        .or_default() += 1;
                    taken = Some(Work {
                        addr,
                        value: word.wrapping_sub(sum),
                        strobes: 0xff,
                        rmw: None,
                        last,
                        error: if below {
                            ErrorReason::CounterUnderflow
                        } else {
                            ErrorReason::None
                        },
                    });
                }
            }
        }
        // Errors.
        let error = cell.record("err_o", &ERROR);
        if error["valid"] != 0 {
            let place = model
                .errors
                .iter()
                .position(|known| (known.0, known.1) == (error["reason"], error["info"]));
            let Some(place) = place else {
                return Err(format!(
                    "{:?}: {error:?}, expected one of {:?}",
                    cell.0, model.errors
                ));
            };
            if ack {
                *seen.entry("errors").or_default() += 1;
                model.errors.remove(place);
            }
        }
        // A read begins; the address stays until it is taken.
        let read_begins = (cell.is("ar_valid_o") && ready).then(|| cell.get("ar_addr_o"));
        // A write begins.
        let line = grant.then(|| cell.record("aw_o", &AXI_ADDR));
        if let Some(aw) = &line {
            cell.expect("beats of a write", aw["len"], 0)?;
        }
        let acks = cell.get("req_ack_o");
        let rmw_ack = cell.is("rmw_ack_o");
        cell.expect(
            "taken at once",
            acks.count_ones() + u32::from(rmw_ack) <= 1,
            true,
        )?;
        cell.expect("taken though not offered", acks & !mask, 0)?;
        cell.edge()?;

        if pop && let Some(work) = data.take() {
            model.writes.push_back(work);
        }
        if let Some(aw) = &line {
            // Which of the words of a line it is, is seen at the strobes.
            cell.set("w_sel_i", 1);
            cell.settle()?;
            let strobes = cell.get("w_strb_o");
            let is_it = |work: &Work| {
                work.addr & !63 == aw["addr"] && strobes == work.strobes << (work.addr % 64)
            };
            let Some(place) = model.read.iter().position(is_it) else {
                return Err(format!("{:?}: write of {strobes:#x} to {aw:?}", cell.0));
            };
            data = Some(model.read.remove(place));
        }
        if let Some(work) = taken {
            model.read.push(work);
        }
        if let Some(addr) = read_begins {
            model.reads.push_back(addr);
        }
        fresh.clear();
        for port in (0..PORTS).filter(|port| acks >> port & 1 != 0) {
            if let Some((addr, bytes)) = ports[port].take() {
                let last = port + 1 == PORTS;
                if last {
                    last_addr = addr;
                }
                model
                    .due
                    .entry(addr)
                    .or_default()
                    .push_back(Due::Lower(bytes, last));
                fresh.push_back(addr);
            }
        }
        if rmw_ack && let Some(exec) = rmw.take() {
            let addr = exec["addr"] & !7;
            model.due.entry(addr).or_default().push_back(Due::Rmw(exec));
        }
        // Software gives the counters new values at times.
        if chance(random, 2) {
            let addr = WORDS[random.usize(0..WORDS.len())];
            let idle = !model.in_work(addr)
                && model.due[&addr].is_empty()
                && data.as_ref().is_none_or(|work| work.addr != addr);
            if idle {
                let due = if random.bool() {
                    random.u64(1..513)
                } else {
                    random.u64(0..5000)
                };
                model.memory.insert(addr, due);
            }
        }
    }
    cell.expect("busy at the end", model.busy(), false)?;
    cell.expect(
        "busy at the end",
        cell.is("busy_o") || cell.is("last_busy_o"),
        false,
    )?;
    cell.expect("idle at the end", cell.is("idle_o"), true)?;
    for what in [
        "lowered",
        "zero",
        "underflow",
        "read-modify-write",
        "errors",
    ] {
        cell.expect(what, seen.get(what).is_some_and(|&count| count > 50), true)?;
    }
    Ok(())
}

#[test]
fn hw1_hw4_x5_counters_count_every_arrival_and_words_change_in_order() {
    with_and_without_fault("counters", counter_unit);
}
