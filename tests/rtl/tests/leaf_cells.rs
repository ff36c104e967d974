// SPDX-License-Identifier: MIT OR Apache-2.0
//! Leaf cells under random stimuli, each beside a small model that is compared in every cycle, and each once more with a
//! fault that the model must find.

use std::collections::VecDeque;

use fastrand::Rng;
use gyre_rtl_tests::cell::{Cell, Verdict, chance, with_and_without_fault};

/// Access that a slave of the arbiter took and has not answered, and the register bus's answer.
#[derive(Default)]
struct Slave {
    aw: VecDeque<u64>,
    w: VecDeque<(u64, bool)>,
    ar: VecDeque<u64>,
    /// (error, data).
    write_answer: Option<(bool, u64)>,
    read_answer: Option<(bool, u64)>,
}

fn axil_arbiter(cell: &mut Cell, random: &mut Rng) -> Verdict {
    let mut slaves = [Slave::default(), Slave::default()];
    // Offers that stay until taken: address, data and strobes, address.
    let mut offers = [[None::<(u64, u64)>; 3]; 2];
    // On the register bus: slave, write, cycles to its answer.
    let mut bus: Option<(usize, bool, u8)> = None;
    for cycle in 0..6000 {
        let offering = cycle < 5900;
        let (mut valid, mut ready) = ([0_u64; 3], [0_u64; 2]);
        for (s, offer) in offers.iter_mut().enumerate() {
            for (channel, offer) in offer.iter_mut().enumerate() {
                if offer.is_none() && offering && chance(random, 30) {
                    let odd = if chance(random, 10) {
                        random.u64(1..8)
                    } else {
                        0
                    };
                    let addr = random.u64(0..256) << 4 | (s as u64) << 3 | odd;
                    let strobes = if chance(random, 10) {
                        random.u64(0..255)
                    } else {
                        255
                    };
                    *offer = Some(if channel == 1 {
                        (random.u64(..), strobes)
                    } else {
                        (addr, 0)
                    });
                }
                valid[channel] |= u64::from(offer.is_some()) << s;
            }
            for ready in &mut ready {
                *ready |= u64::from(!offering || chance(random, 60)) << s;
            }
            let [aw, w, ar] = offer.map(Option::unwrap_or_default);
            cell.set_at("aw_addr_i", s, aw.0);
            cell.set_at("w_data_i", s, w.0);
            cell.set_at("w_strb_i", s, w.1);
            cell.set_at("ar_addr_i", s, ar.0);
        }
        for (port, bits) in ["aw_valid_i", "w_valid_i", "ar_valid_i"]
            .into_iter()
            .zip(valid)
        {
            cell.set(port, bits);
        }
        cell.set("b_ready_i", ready[0]);
        cell.set("r_ready_i", ready[1]);
        let ack = matches!(bus, Some((_, _, 0)));
        let answer = (chance(random, 20), random.u64(..));
        cell.set("reg_ack_i", ack.into());
        cell.set("reg_err_i", answer.0.into());
        cell.set("reg_rdata_i", answer.1);
        cell.settle()?;

        match bus {
            Some((s, write, 0)) => {
                let to = &mut slaves[s];
                *(if write {
                    &mut to.write_answer
                } else {
                    &mut to.read_answer
                }) = Some(answer);
                bus = None;
            }
            Some((_, _, ref mut left)) => *left -= 1,
            None => {}
        }
        if cell.is("reg_req_o") {
            cell.expect("two accesses", bus.is_some() || ack, false)?;
            let (addr, write) = (cell.get("reg_addr_o"), cell.is("reg_we_o"));
            let s = (addr >> 3 & 1) as usize;
            let from = &slaves[s];
            if write {
                let wanted = (from.aw.front().copied(), from.w.front().copied());
                let found = (Some(addr), Some((cell.get("reg_wdata_o"), true)));
                cell.expect("write", found, wanted)?;
            } else {
                cell.expect("read", Some(addr), from.ar.front().copied())?;
            }
            bus = Some((s, write, random.u8(0..4)));
        }
        for (s, slave) in slaves.iter_mut().enumerate() {
            let at = |bits: u64| bits >> s & 1 != 0;
            if at(cell.get("b_valid_o")) && at(ready[0]) {
                let (Some(addr), Some((_, whole))) = (slave.aw.pop_front(), slave.w.pop_front())
                else {
                    return Err("write answered that was not asked".to_owned());
                };
                let legal = addr % 8 == 0 && whole;
                let answer = slave.write_answer.take();
                cell.expect("write carried out", answer.is_some(), legal)?;
                let error = answer.is_none_or(|answer| answer.0);
                let found = cell.0.get(cell.0.port("b_resp_o"), s);
                cell.expect("write's answer", found, if error { 2 } else { 0 })?;
            }
            if at(cell.get("r_valid_o")) && at(ready[1]) {
                let Some(addr) = slave.ar.pop_front() else {
                    return Err("read answered that was not asked".to_owned());
                };
                let answer = slave.read_answer.take();
                cell.expect("read carried out", answer.is_some(), addr % 8 == 0)?;
                let (error, data) = answer.unwrap_or((true, 0));
                let found = ["r_resp_o", "r_data_o"].map(|port| cell.0.get(cell.0.port(port), s));
                cell.expect(
                    "read's answer",
                    found,
                    if error { [2, 0] } else { [0, data] },
                )?;
            }
            let [aw, w, ar] = &mut offers[s];
            if let (Some(offer), true) = (*aw, at(cell.get("aw_ready_o"))) {
                slave.aw.push_back(offer.0);
                *aw = None;
            }
            if let (Some(offer), true) = (*w, at(cell.get("w_ready_o"))) {
                slave.w.push_back((offer.0, offer.1 == 255));
                *w = None;
            }
            if let (Some(offer), true) = (*ar, at(cell.get("ar_ready_o"))) {
                slave.ar.push_back(offer.0);
                *ar = None;
            }
        }
        cell.edge()?;
    }
    let left = slaves
        .iter()
        .any(|slave| !slave.ar.is_empty() || (!slave.aw.is_empty() && !slave.w.is_empty()));
    cell.expect("accesses without answer", left, false)
}

/// BASE, LIMIT and CTRL of a slot.
const WORDS: [u64; 3] = [(1 << 48) - 1, (1 << 40) - 1, 0xf1f];

fn slot_table(cell: &mut Cell, random: &mut Rng) -> Verdict {
    let mut slots = [[0_u64; 3]; 4];
    for _ in 0..4000 {
        // Sometimes a slot that is absent, sometimes an address inside a word.
        let far = if chance(random, 10) { 16 } else { 4 };
        let (slot, word) = (random.usize(0..far), random.usize(0..4));
        let odd = if chance(random, 10) {
            random.u64(1..8)
        } else {
            0
        };
        let write = random.bool();
        // Mostly what the word holds.
        let holds = WORDS.get(word).map_or(0, |mask| 64 - mask.leading_zeros());
        let wide = if word == 2 || chance(random, 10) {
            64
        } else {
            holds.max(1)
        };
        let data = random.u64(..) >> (64 - wide);
        let beyond = write && word < 2 && data & !WORDS[word] != 0;
        let error = slot >= slots.len() || odd != 0 || word == 3 || beyond;
        for (port, value) in [
            ("reg_req_i", 1),
            ("reg_we_i", write.into()),
            ("reg_addr_i", (slot as u64) << 5 | (word as u64) << 3 | odd),
            ("reg_wdata_i", data),
        ] {
            cell.set(port, value);
        }
        for answers in [false, true] {
            for port in ["tx", "rx", "ctr", "rmw"] {
                let all = if chance(random, 20) { 32 } else { 4 };
                let id = random.usize(0..all);
                cell.set(&format!("{port}_id_i"), id as u64);
                cell.settle()?;
                let found = cell.0.get_u128(cell.0.port(&format!("{port}_slot_o")), 0);
                if let Some(&[base, limit, ctrl]) = slots.get(id) {
                    // From the top: valid, read, write, atomic, remote read; in the register valid is the lowest bit.
                    let rights = (0..5).fold(0, |all, bit| all << 1 | u128::from(ctrl >> bit & 1));
                    let wanted = rights << 92 | u128::from(ctrl >> 8) << 88;
                    let wanted = wanted | u128::from(base) << 40 | u128::from(limit);
                    cell.expect(port, found, wanted)?;
                } else {
                    cell.expect("absent slot", found >> 96, 0)?;
                }
            }
            cell.expect("answer", cell.is("reg_ack_o"), answers)?;
            if answers {
                cell.expect("error", cell.is("reg_err_o"), error)?;
                if !write && !error {
                    let wanted = slots[slot].get(word).copied().unwrap_or(0);
                    cell.expect("register", cell.get("reg_rdata_o"), wanted)?;
                }
            } else {
                cell.edge()?;
                cell.set("reg_req_i", 0);
                if write && !error {
                    slots[slot][word] = data & WORDS[word];
                }
            }
        }
        cell.edge()?;
    }
    Ok(())
}

fn soft_reset(cell: &mut Cell, random: &mut Rng) -> Verdict {
    const LIMIT: u32 = 40;
    /// Where a reset is; with cycles since it was asked for, or cycles left in reset.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Stage {
        None,
        Waits(u32),
        Held(u32),
        Over,
    }
    let mut stage = Stage::None;
    let (mut request, mut quiet, mut settled, mut late) = (false, true, true, false);
    // The reset of the node ends.
    cell.set("quiet_i", 1);
    cell.set("settled_i", 1);
    cell.settle()?;
    cell.edge()?;
    let (mut resets, mut given_up, mut stuck) = (0, 0, 0);
    for _ in 0..60_000 {
        request |= chance(random, 5);
        let stop = stage != Stage::None || late;
        if stop {
            // Nothing new starts.
            settled |= chance(random, 3);
            quiet |= settled && chance(random, 2);
        } else if chance(random, 20) {
            quiet = random.bool();
            settled = quiet || random.bool();
        }
        for (port, value) in [
            ("request_i", request),
            ("quiet_i", quiet),
            ("settled_i", settled),
        ] {
            cell.set(port, value.into());
        }
        cell.settle()?;
        let reset = matches!(stage, Stage::Held(_));
        let gives_up = stage == Stage::Waits(LIMIT - 1) && !quiet;
        let waits_on = stage == Stage::Waits(LIMIT) && !settled;
        for (port, wanted) in [
            ("stop_o", stop),
            ("late_o", late),
            ("core_rst_no", !reset),
            ("done_o", stage == Stage::Over),
            ("gave_up_o", gives_up),
            ("stuck_o", waits_on),
        ] {
            cell.expect(port, cell.is(port), wanted)?;
        }
        given_up += u32::from(gives_up);
        stuck += u32::from(waits_on);
        late &= !quiet;
        stage = match stage {
            Stage::None if request => Stage::Waits(0),
            Stage::None => Stage::None,
            Stage::Waits(cycles) if quiet || (cycles == LIMIT && settled) => {
                late = !quiet;
                Stage::Held(8)
            }
            Stage::Waits(cycles) => Stage::Waits(LIMIT.min(cycles + 1)),
            Stage::Held(1) => Stage::Over,
            Stage::Held(cycles) => Stage::Held(cycles - 1),
            Stage::Over => {
                request = false;
                resets += 1;
                Stage::None
            }
        };
        cell.edge()?;
        cell.set("request_i", request.into());
    }
    cell.expect("resets", resets > 50 && given_up > 20 && stuck > 20, true)
}

fn axi_quiesce(cell: &mut Cell, random: &mut Rng) -> Verdict {
    // The master's offers, which stay until taken; beats left of its write burst.
    let (mut ar, mut aw, mut w, mut beats) = (false, false, false, 0_u8);
    // Addresses it may still give for bursts whose data it has given, or the other way round, if negative.
    let mut ahead = 0_i32;
    let (mut reads, mut writes, mut owed) = (0_i32, 0_i32, 0_i32);
    let (mut ar_offered, mut aw_offered, mut w_open, mut w_offered) = (false, false, false, false);
    let (mut stop, mut quiet_cycles) = (false, 0);
    for _ in 0..20_000 {
        stop = if chance(random, 3) { !stop } else { stop };
        ar |= chance(random, 30);
        aw |= ahead < 3 && chance(random, 30);
        if !w && (beats > 0 || ahead > -3) && chance(random, 50) {
            w = true;
            beats = if beats == 0 { random.u8(1..4) } else { beats };
        }
        let last = beats == 1;
        let ready: [bool; 3] = std::array::from_fn(|_| chance(random, 60));
        let ready = [ready[0] && reads < 6, ready[1] && writes < 6, ready[2]];
        let r_done = reads > 0 && chance(random, 40);
        let b_done = writes > 0 && writes > owed && chance(random, 40);
        for (port, value) in [
            ("stop_i", stop),
            ("ar_valid_i", ar),
            ("aw_valid_i", aw),
            ("w_valid_i", w),
            ("w_last_i", last),
            ("ar_ready_i", ready[0]),
            ("aw_ready_i", ready[1]),
            ("w_ready_i", ready[2]),
            ("r_done_i", r_done),
            ("b_done_i", b_done),
        ] {
            cell.set(port, value.into());
        }
        cell.settle()?;
        let valid = ["ar_valid_o", "aw_valid_o", "w_valid_o"].map(|port| cell.is(port));
        let taken = ["ar_ready_o", "aw_ready_o", "w_ready_o"].map(|port| cell.is(port));
        for (i, (offered, held)) in [(ar, ar_offered), (aw, aw_offered), (w, w_offered)]
            .into_iter()
            .enumerate()
        {
            cell.expect("valid without an offer", valid[i] && !offered, false)?;
            cell.expect("offer withdrawn", held && !valid[i], false)?;
            cell.expect("offer passed on", offered && !stop && !valid[i], false)?;
            if offered {
                cell.expect("ready", taken[i], ready[i] && valid[i])?;
            }
        }
        let started = valid[0] && !ar_offered || valid[1] && !aw_offered && owed >= 0;
        cell.expect("burst started while stopped", stop && started, false)?;
        let data = valid[2] && !w_open && !aw_offered && owed <= 0;
        cell.expect("data of a burst that has not started", stop && data, false)?;
        let settled = owed == 0 && !ar_offered && !aw_offered && !w_open;
        cell.expect("settled", cell.is("settled_o"), settled)?;
        let quiet = reads == 0 && writes == 0 && settled;
        cell.expect("quiet", cell.is("quiet_o"), quiet)?;
        quiet_cycles += u32::from(stop && quiet);

        let goes: [bool; 3] = std::array::from_fn(|i| valid[i] && ready[i]);
        cell.edge()?;
        reads += i32::from(goes[0]) - i32::from(r_done);
        writes += i32::from(goes[1]) - i32::from(b_done);
        owed += i32::from(goes[1]) - i32::from(goes[2] && last);
        ahead += i32::from(goes[1]) - i32::from(goes[2] && last);
        ar_offered = valid[0] && !ready[0];
        aw_offered = valid[1] && !ready[1];
        w_offered = valid[2] && !ready[2];
        w_open = if valid[2] {
            !(ready[2] && last)
        } else {
            w_open
        };
        (ar, aw) = (ar && !goes[0], aw && !goes[1]);
        if goes[2] {
            (w, beats) = (false, beats - 1);
        }
    }
    cell.expect("quiet while stopped", quiet_cycles > 100, true)
}

fn rx_order(cell: &mut Cell, random: &mut Rng) -> Verdict {
    // Packets under way, and those of them that were there when the request came.
    let (mut level, mut older) = (0_u32, None::<u32>);
    let mut ask = false;
    for _ in 0..10_000 {
        let retire = level > 0 && chance(random, 40);
        let push = (level < 5 || retire) && chance(random, 45);
        ask |= chance(random, 20);
        for (port, value) in [
            ("push_i", push),
            ("retire_i", retire),
            ("ask_i", ask),
            ("take_i", false),
        ] {
            cell.set(port, value.into());
        }
        cell.settle()?;
        let clear = cell.is("clear_o") && ask;
        cell.expect("clear", clear, older == Some(0))?;
        let take = clear && chance(random, 50);
        cell.set("take_i", take.into());
        cell.settle()?;
        cell.edge()?;
        older = match older {
            _ if take || !ask => None,
            None => Some(level - u32::from(retire)),
            Some(older) => Some(older.saturating_sub(retire.into())),
        };
        level = level + u32::from(push) - u32::from(retire);
        ask &= !take;
    }
    Ok(())
}

fn rx_merge(cell: &mut Cell, random: &mut Rng) -> Verdict {
    // Flits left of each source's packet, and of which the next is its first.
    let (mut left, mut first, mut here) = ([0_u8; 3], [true; 3], [false; 3]);
    let mut open: Option<usize> = None;
    // Packets of others that began while a source had one waiting.
    let mut passed = [[0_u8; 3]; 3];
    for _ in 0..10_000 {
        for s in 0..3 {
            if left[s] == 0 && chance(random, 40) {
                (left[s], first[s]) = (random.u8(1..6), true);
            }
            here[s] |= left[s] > 0 && chance(random, 70);
        }
        let ready = chance(random, 70);
        cell.set(
            "valid_i",
            (0..3).fold(0, |all, s| all | u64::from(here[s]) << s),
        );
        cell.set("ready_i", ready.into());
        cell.settle()?;
        let from = cell.get("from_o");
        if !cell.is("valid_o") {
            let stuck = open.map_or(here != [false; 3], |s| here[s]);
            cell.expect("nothing though a flit is there", stuck, false)?;
            cell.edge()?;
            continue;
        }
        cell.expect("sources at once", from.count_ones(), 1)?;
        let s = from.trailing_zeros() as usize;
        cell.expect("flit that is there", here[s], true)?;
        cell.expect("packet that is open", open.unwrap_or(s), s)?;
        cell.expect("ready", cell.get("ready_o"), if ready { from } else { 0 })?;
        cell.set("head_i", first[s].into());
        cell.set("tail_i", (left[s] == 1).into());
        cell.settle()?;
        cell.edge()?;
        if !ready {
            continue;
        }
        if first[s] {
            passed[s] = [0; 3];
            for other in (0..3).filter(|&other| other != s && here[other]) {
                passed[other][s] += 1;
                cell.expect(
                    "packets ahead of one that waits",
                    passed[other][s] <= 1,
                    true,
                )?;
            }
        }
        (left[s], first[s], here[s]) = (left[s] - 1, false, false);
        open = (left[s] > 0).then_some(s);
    }
    Ok(())
}

/// Of flits of 16 bytes: those of the longest packet, each deterministic channel's own, those that all share.
const LONGEST: i64 = 34;
const OWN: [i64; 8] = [LONGEST, LONGEST, 4, 4, 8, 8, 8, 8];
const SHARED: i64 = 272 - 2 * LONGEST - 2 * 4 - 4 * 8;

fn router_credits(cell: &mut Cell, random: &mut Rng) -> Verdict {
    let mut level = [0_i64; 16];
    // Flits sent of the open packet of each dynamic channel.
    let mut sent = [0_i64; 8];
    cell.set("up_i", 1);
    for cycle in 0..40_000 {
        // Now the next input is slow, now quick.
        let slow = cycle / 500 % 2 == 0;
        let open = (0..8).fold(0, |all, l| all | u64::from(sent[l] > 0) << l);
        cell.set("held_i", open);
        for port in ["send_i", "move_i", "credit_i"] {
            cell.set(port, 0);
        }
        cell.settle()?;
        let own = OWN
            .iter()
            .zip(level)
            .map(|(own, level)| (level - own).max(0));
        let claimed = sent
            .iter()
            .filter(|&&sent| sent > 0)
            .map(|sent| LONGEST - sent);
        let free =
            SHARED - own.sum::<i64>() - level[8..].iter().sum::<i64>() - claimed.sum::<i64>();
        cell.expect("room", cell.get("room_o") as i64, free)?;
        let no_credit = (0..8).fold(0, |all, v| {
            let none = [free <= LONGEST, free == 0, true, true][v / 2];
            all | u64::from(level[v] >= OWN[v] && none) << v
        });
        cell.expect(
            "channels without credit",
            cell.get("no_credit_o"),
            no_credit,
        )?;
        let at_least = |n: [i64; 2]| u64::from(free >= n[0]) | u64::from(free >= n[1]) << 1;
        let dynamic = at_least([2 * LONGEST, LONGEST]);
        cell.expect("dynamic room", cell.get("dyn_room_o"), dynamic)?;
        cell.expect(
            "plenty",
            cell.get("plenty_o"),
            at_least([3 * LONGEST, 2 * LONGEST]),
        )?;
        let whole = u64::from(level[0] == 0) | u64::from(level[1] == 0) << 1;
        cell.expect("room for a copy", cell.get("whole_o"), whole)?;
        let lanes = cell.get("lane_free_o");
        for class in 0..2 {
            let lane_free = open >> (4 * class) & 15 != 15;
            cell.expect("free lanes", lanes >> class & 1 != 0, lane_free)?;
        }

        let v = random.usize(0..16);
        let credit = (level[v] > 0 && chance(random, if slow { 30 } else { 90 })).then_some(v);
        let lane = random.usize(0..8);
        let mut send = None;
        if chance(random, 40) {
            let v = random.usize(0..8);
            send = (no_credit >> v & 1 == 0).then_some((v, random.bool(), random.bool()));
        } else if sent[lane] > 0 {
            send = Some((
                8 + lane,
                false,
                sent[lane] + 1 == LONGEST || chance(random, 10),
            ));
        } else if dynamic >> (lane / 4) & 1 != 0 && lanes >> (lane / 4) & 1 != 0 {
            let vc = cell.0.get(cell.0.port("lane_vc_o"), lane / 4) as usize;
            cell.expect("lane of its class", vc / 4, 2 + lane / 4)?;
            cell.expect("lane with a packet under way", sent[vc - 8] > 0, false)?;
            send = Some((vc, true, chance(random, 10)));
        }
        cell.set("credit_i", credit.is_some().into());
        cell.set("credit_vc_i", credit.unwrap_or(0) as u64);
        let (vc, head, tail) = send.unwrap_or_default();
        for (port, value) in [
            ("send_i", send.is_some().into()),
            ("move_i", send.is_some().into()),
            ("vc_i", vc as u64),
            ("head_i", head.into()),
            ("tail_i", tail.into()),
        ] {
            cell.set(port, value);
        }
        cell.settle()?;
        cell.edge()?;
        if let Some(v) = credit {
            level[v] -= 1;
        }
        if send.is_some() {
            level[vc] += 1;
            if vc >= 8 {
                sent[vc - 8] = if tail { 0 } else { sent[vc - 8] + 1 };
            }
        }
        cell.expect(
            "flits in the buffer",
            level.iter().sum::<i64>() <= 272,
            true,
        )?;
    }
    Ok(())
}

fn router_buffer(cell: &mut Cell, random: &mut Rng) -> Verdict {
    const FLITS: usize = 20;
    /// Head, tail, data.
    type Flit = (bool, bool, u128);
    let mut queues: [VecDeque<Flit>; 16] = Default::default();
    // A packet goes on at the end of the queue; one has begun to leave.
    let (mut growing, mut leaving) = ([false; 16], [false; 16]);
    for cycle in 0..30_000 {
        let fill = cycle / 300 % 2 == 0;
        let total: usize = queues.iter().map(VecDeque::len).sum();
        let bits = |flags: &dyn Fn(usize) -> bool| -> u64 {
            (0..16).fold(0, |all, v| all | u64::from(flags(v)) << v)
        };
        let from = random.usize(0..16);
        let pop = !queues[from].is_empty() && chance(random, if fill { 40 } else { 90 });
        let to = random.usize(0..16);
        let push = (total < FLITS || pop) && chance(random, if fill { 90 } else { 40 });
        let flit = (!growing[to], chance(random, 30), random.u128(..));
        cell.set("push_i", push.into());
        cell.set("push_vc_i", to as u64);
        cell.set(
            "push_ctl_i",
            u64::from(flit.1) << 33 | u64::from(flit.0) << 32,
        );
        cell.0.set_u128(cell.0.port("push_data_i"), 0, flit.2);
        cell.set("read_i", pop.into());
        cell.set("read_vc_i", from as u64);
        cell.set("pop_i", pop.into());
        cell.settle()?;
        let nonempty = bits(&|v| !queues[v].is_empty());
        cell.expect("channels with flits", cell.get("nonempty_o"), nonempty)?;
        cell.expect("full", cell.is("full_o"), total == FLITS)?;
        cell.expect(
            "channels inside a packet",
            cell.get("body_o"),
            bits(&|v| leaving[v]),
        )?;
        if pop {
            let ctl = cell.get("ctl_o") >> 32;
            let found = (
                ctl & 1 != 0,
                ctl & 2 != 0,
                cell.0.get_u128(cell.0.port("data_o"), 0),
            );
            cell.expect("flit", Some(found), queues[from].pop_front())?;
            leaving[from] = !found.1;
        }
        if push {
            queues[to].push_back(flit);
            growing[to] = !flit.1;
        }
        cell.edge()?;
    }
    Ok(())
}

#[test]
fn hw1_x5_two_masters_share_the_register_bus_with_one_answer_each() {
    with_and_without_fault("axil_arbiter", axil_arbiter);
}

#[test]
fn hw1_x5_slots_read_as_written_and_are_found_by_number() {
    with_and_without_fault("slots", slot_table);
}

#[test]
fn hw1_x5_soft_reset_waits_for_memory_within_its_limit_and_holds() {
    with_and_without_fault("soft_reset", soft_reset);
}

#[test]
fn hw1_x5_a_stopped_master_ends_its_bursts_and_begins_none() {
    with_and_without_fault("quiesce", axi_quiesce);
}

#[test]
fn hw1_x5_a_request_passes_when_all_before_it_are_in_memory() {
    with_and_without_fault("reception_order", rx_order);
}

#[test]
fn hw1_x5_packets_of_several_sources_come_whole_and_in_turn() {
    with_and_without_fault("reception_merge", rx_merge);
}

#[test]
fn hw3_x5_an_output_knows_the_room_of_the_next_input() {
    with_and_without_fault("router_credits", router_credits);
}

#[test]
fn hw3_x5_channels_of_one_buffer_keep_their_flits_in_order() {
    with_and_without_fault("router_buffer", router_buffer);
}
