// SPDX-License-Identifier: MIT OR Apache-2.0
//! Leaf cells of a reception path up to the packet buffers under random stimuli, each beside a small model that is compared in every cycle, and each
//! once more with a fault that the model must find (HW-1, X-5).

use std::collections::VecDeque;

use fastrand::Rng;
use gyre_layout::{ErrorReason, Kind, VClass};
use gyre_rtl_tests::cell::{Cell, Record, Verdict, chance, random_bytes, with_and_without_fault};
use gyre_rtl_tests::structs::{
    BUFFERS, ERROR, FLIT, FLOW_REF, HEADER, ROWS, RX_HEAD, RX_RES, code,
};

fn rx_align(cell: &mut Cell, random: &mut Rng) -> Verdict {
    // What comes out while the next packet starts: the rest of the one before.
    let mut rest: Option<(usize, Vec<u8>)> = None;
    for _ in 0..3000 {
        let shift = random.usize(0..FLIT);
        let payload = FLIT * random.usize(0..6);
        let data = random_bytes(random, payload);
        let wanted = [vec![0; shift], data.clone(), vec![0; FLIT - shift]].concat();
        let mut out = wanted.chunks(FLIT);
        let mut flits = data.chunks(FLIT);
        let mut start = true;
        loop {
            cell.set("start_i", start.into());
            let flush = if start {
                rest.take()
            } else if flits.len() == 0 {
                break;
            } else {
                None
            };
            let valid = flush.is_some() || (!start && chance(random, 60));
            cell.set("valid_i", valid.into());
            cell.set("flush_i", flush.is_some().into());
            cell.set_bytes_at("data_i", 0, &random_bytes(random, FLIT));
            let expected = match &flush {
                Some((shift, bytes)) => {
                    cell.set("shift_i", *shift as u64);
                    bytes.clone()
                }
                None if valid => {
                    cell.set("shift_i", shift as u64);
                    cell.set_bytes_at("data_i", 0, flits.next().unwrap_or_default());
                    out.next().unwrap_or_default().to_vec()
                }
                None => vec![0; FLIT],
            };
            cell.settle()?;
            cell.expect("granule", cell.bytes("data_o"), expected)?;
            cell.edge()?;
            start = false;
        }
        // Left over at once, in the cycle of the next start, or never asked for.
        let left = out.next().unwrap_or_default().to_vec();
        if shift > 0 && chance(random, 80) {
            rest = Some((shift, left));
        }
        if chance(random, 50)
            && let Some((_, left)) = rest.take()
        {
            for (port, value) in [("start_i", 0), ("valid_i", 1), ("flush_i", 1)] {
                cell.set(port, value);
            }
            cell.set("shift_i", shift as u64);
            cell.settle()?;
            cell.expect("left over", cell.bytes("data_o"), left)?;
            cell.edge()?;
        }
    }
    Ok(())
}

fn rx_buffer(cell: &mut Cell, random: &mut Rng) -> Verdict {
    const ALL: usize = BUFFERS * ROWS;
    let mut memory = vec![vec![0; 64]; ALL];
    for cycle in 0..10_000 {
        // All rows first: memories hold noise.
        let fill = cycle < 4 * ALL;
        let (row, bank) = if fill {
            (cycle / 4, Some(cycle % 4))
        } else {
            let bank = chance(random, 60).then(|| random.usize(0..4));
            (random.usize(0..ALL), bank)
        };
        let header = bank.is_none() && chance(random, 40);
        let (data, head) = (random_bytes(random, FLIT), random_bytes(random, 32));
        cell.set("we_i", bank.map_or(0, |bank| 1 << bank));
        cell.set("wrow_i", row as u64);
        cell.set_bytes_at("wdata_i", 0, &data);
        cell.set("whdr_i", header.into());
        cell.set_bytes_at("whdr_data_i", 0, &head);
        let (read, swap) = (!fill && chance(random, 70), random.bool());
        let from = random.usize(usize::from(swap)..ALL);
        cell.set("re_i", read.into());
        cell.set("swap_i", swap.into());
        cell.set("rrow_i", from as u64);
        cell.settle()?;
        let wanted = match (read, swap) {
            (false, _) => vec![0; 64],
            (true, false) => memory[from].clone(),
            (true, true) => [&memory[from - 1][32..], &memory[from][..32]].concat(),
        };
        cell.expect("row", cell.bytes("rdata_o"), wanted)?;
        cell.edge()?;
        if header {
            memory[row][..32].copy_from_slice(&head);
        } else if let Some(bank) = bank {
            memory[row][FLIT * bank..][..FLIT].copy_from_slice(&data);
        }
    }
    Ok(())
}

/// Reason for which a path refuses a header, by the header alone.
fn refusal(class: VClass, collective: bool, links: bool, hdr: &Record, here: u64) -> ErrorReason {
    let is = |kind: Kind| hdr["kind"] == u64::from(u8::from(kind));
    let flag = |name: &str| hdr[name] != 0;
    let kinds: &[Kind] = match class {
        _ if collective => &[Kind::Collective],
        VClass::Request => &[Kind::MemFifo, Kind::RemoteGet, Kind::RmwReq],
        VClass::Response => &[Kind::Put, Kind::RmwResp, Kind::Control],
        VClass::Priority | VClass::System => &[Kind::MemFifo],
    };
    let copy = class == VClass::Request && is(Kind::MemFifo);
    let flow = if flag("flow_valid") {
        let may = class == VClass::Request || is(Kind::Put);
        links && may && flag("dynamic_route") && !flag("deposit")
    } else {
        hdr["flow"] == 0 && hdr["flow_seq"] == 0
    };
    let put = is(Kind::Put) || (is(Kind::Collective) && class == VClass::Response);
    let (silent, counted) = (hdr["aux"] >> 9 & 1 != 0, hdr["aux"] >> 8 & 1 != 0);
    let reserved = !flow
        || hdr["birth"] != 0
        || hdr["len"] > 512
        || (is(Kind::Control) && hdr["len"] != 0)
        || (put && hdr["aux"] >= 1 << 9)
        || (is(Kind::RmwResp) && hdr["aux"] >= 1 << 10)
        || (is(Kind::RmwResp) && silent && !counted && hdr["len"] != 0);
    let descriptors = hdr["len"].is_multiple_of(64) && hdr["len"] > 0;
    let operand = [0, 4, 8].contains(&hdr["len"]);
    if !collective && hdr["dst"] != here && !flag("deposit") {
        ErrorReason::PktDest
    } else if !kinds.iter().any(|&kind| is(kind))
        || hdr["vclass"] != u64::from(u8::from(class))
        || (flag("deposit") && !collective && !copy)
    {
        ErrorReason::PktKind
    } else if reserved {
        ErrorReason::PktReserved
    } else if is(Kind::RemoteGet) && !descriptors {
        ErrorReason::DescLength
    } else if (is(Kind::RmwReq) && hdr["len"] != 32) || (is(Kind::RmwResp) && !operand) {
        ErrorReason::PktRmw
    } else {
        ErrorReason::None
    }
}

fn rx_check(
    cell: &mut Cell,
    random: &mut Rng,
    (class, collective, links): (VClass, bool, bool),
) -> Verdict {
    let mut seen = [0; 256];
    for _ in 0..60_000 {
        let here = random.u64(..1 << 30);
        let kind = Kind::ALL[random.usize(..Kind::ALL.len())];
        let length = match kind {
            Kind::RemoteGet => 64 * random.u64(0..9),
            Kind::RmwReq => 32,
            Kind::RmwResp => [0, 4, 8][random.usize(0..3)],
            Kind::Control => 0,
            _ => random.u64(0..513),
        };
        let clean = [
            ("kind", u8::from(kind).into()),
            ("vclass", u8::from(class).into()),
            ("dst", here),
            ("deposit", 0),
            ("birth", 0),
            ("flow_valid", 0),
            ("flow", 0),
            ("flow_seq", 0),
            ("len", length),
        ];
        let mut hdr = HEADER.random(random).with(&clean);
        if hdr["kind"] != u64::from(u8::from(Kind::MemFifo)) {
            hdr["aux"] >>= random.u32(20..32);
        }
        if chance(random, 30) {
            hdr = hdr.with(&[
                ("flow_valid", 1),
                ("dynamic_route", random.u64(0..4).min(1)),
            ]);
        }
        let odd = HEADER.random(random);
        for (name, _) in clean {
            if chance(random, 7) {
                hdr[name] = odd[name];
            }
        }
        if chance(random, 10) {
            hdr["len"] ^= 1 << random.u32(0..10);
        }
        cell.set_record("hdr_i", &hdr);
        cell.set("coord_i", here);
        let valid = chance(random, 90);
        cell.set("valid_i", valid.into());
        cell.settle()?;
        let wanted = if valid {
            code(refusal(class, collective, links, &hdr, here))
        } else {
            0
        };
        cell.expect(&format!("reason for {hdr:?}"), cell.get("err_o"), wanted)?;
        seen[wanted as usize] += 1;
    }
    for reason in [
        ErrorReason::None,
        ErrorReason::PktKind,
        ErrorReason::PktReserved,
    ] {
        cell.expect("a reason comes up", seen[code(reason) as usize] > 100, true)?;
    }
    Ok(())
}

/// A packet before the collector, and what must come of it.
#[derive(Clone, Debug)]
struct Incoming {
    response: bool,
    header: Record,
    head: Record,
    res: Record,
    refused: ErrorReason,
    only: bool,
    /// Data and whether it is the last.
    flits: Vec<(Vec<u8>, bool)>,
    bad: bool,
    outcome: ErrorReason,
}

impl Incoming {
    fn random(random: &mut Rng, response: bool) -> Self {
        let length = if chance(random, 15) {
            0
        } else {
            random.u64(1..513)
        };
        let mut flits = (length.div_ceil(32) * 2) as usize;
        let mut refused = ErrorReason::None;
        let mut bad = false;
        match random.u8(0..20) {
            0 => refused = ErrorReason::PktReserved,
            1 => refused = ErrorReason::PktSlot,
            2 => flits = random.usize(0..flits + 1),
            3 => flits += random.usize(0..4),
            4 => bad = flits > 0,
            _ => {}
        }
        let only = flits == 0;
        let fits = flits == (length.div_ceil(32) * 2) as usize;
        let outcome = match refused {
            ErrorReason::None if !fits || bad => ErrorReason::PktTruncated,
            reason => reason,
        };
        let mem_fifo = !response && chance(random, 60);
        let rmw = !response && !mem_fifo && chance(random, 30);
        let head = RX_HEAD.random(random).with(&[
            ("mem_fifo", mem_fifo.into()),
            ("rmw", rmw.into()),
            ("len", length),
        ]);
        let res = RX_RES.random(random).with(&[
            ("ok", (refused == ErrorReason::None).into()),
            ("err", code(refused)),
            ("blocked", 0),
        ]);
        Self {
            response,
            header: HEADER.random(random),
            head,
            res,
            refused,
            only,
            flits: (0..flits)
                .map(|flit| (random_bytes(random, FLIT), flit + 1 == flits))
                .collect(),
            bad,
            outcome,
        }
    }

    /// First byte of the payload in its buffer.
    fn place(&self) -> usize {
        if self.response {
            (self.res["addr"] & 63) as usize
        } else if self.head["mem_fifo"] + self.head["rmw"] > 0 {
            32
        } else {
            0
        }
    }

    /// A put that writes nothing and lowers nothing.
    fn nothing(&self) -> bool {
        self.response && self.head["len"] == 0 && self.res["ctr_valid"] == 0
    }
}

fn rx_collect(cell: &mut Cell, random: &mut Rng) -> Verdict {
    const PASSED: u32 = 8;
    let mut memory = vec![0_u8; BUFFERS * ROWS * 64];
    let mut free = [true; BUFFERS];
    // By class: a header that waits, flits behind it.
    let mut waiting: [Option<Incoming>; 2] = [None, None];
    let mut flits: [VecDeque<(Vec<u8>, bool, bool)>; 2] = Default::default();
    let mut running: Option<(Incoming, Option<usize>)> = None;
    let (mut passed, mut ends, mut turns) = (0, [0; 3], 0);
    for cycle in 0..120_000 {
        // At times responses without end.
        let flood = cycle / 2000 % 2 == 0;
        for class in 0..2 {
            let rate = if flood && class == 1 { 95 } else { 30 };
            if waiting[class].is_none() && flits[class].len() < 8 && chance(random, rate) {
                let packet = Incoming::random(random, class == 1);
                for (data, tail) in &packet.flits {
                    flits[class].push_back((data.clone(), *tail, *tail && packet.bad));
                }
                waiting[class] = Some(packet);
            }
        }
        let room = chance(random, 70);
        let any_free = free.contains(&true);
        let [request, response] = &waiting;
        cell.set("req_valid_i", request.is_some().into());
        cell.set("req_room_i", room.into());
        if let Some(packet) = request {
            cell.set_record("req_hdr_i", &packet.header);
            cell.set_record("req_head_i", &packet.head);
            cell.set("req_only_i", packet.only.into());
            cell.set("req_err_i", code(packet.refused));
        }
        cell.set("resp_valid_i", response.is_some().into());
        if let Some(packet) = response {
            cell.set_record("resp_head_i", &packet.head);
            cell.set_record("resp_res_i", &packet.res);
            cell.set("resp_only_i", packet.only.into());
        }
        // A class has flits of the packet that is stored, or of the next.
        let here: [bool; 2] =
            std::array::from_fn(|class| !flits[class].is_empty() && chance(random, 80));
        let pack = |flags: [bool; 2]| u64::from(flags[0]) | u64::from(flags[1]) << 1;
        cell.set("valid_i", pack(here));
        for (class, flits) in flits.iter().enumerate() {
            if let Some((data, ..)) = flits.front() {
                cell.set_bytes_at("data_i", class, data);
            }
        }
        let front = |i: fn(&(Vec<u8>, bool, bool)) -> bool| {
            pack([0, 1].map(|class: usize| flits[class].front().is_some_and(i)))
        };
        cell.set("tail_i", front(|flit| flit.1));
        cell.set("err_i", front(|flit| flit.2));
        cell.set(
            "free_i",
            (0..BUFFERS).fold(0, |all, b| all | u64::from(free[b]) << b),
        );
        let (ready, ack) = (chance(random, 60), chance(random, 60));
        cell.set("done_resp_ready_i", ready.into());
        cell.set("err_ack_i", ack.into());
        cell.settle()?;

        // The packet that is here ends.
        let error = cell.record("err_o", &ERROR);
        let (done_req, done_resp) = (cell.is("done_req_o"), cell.is("done_resp_o"));
        let dropped = cell.get("drop_buf_o");
        let flow = cell.record("flow_o", &FLOW_REF);
        let mut complete = false;
        let mut returned = 0;
        let mut left = false;
        if error["valid"] != 0 || done_req || done_resp || flow["valid"] != 0 || dropped != 0 {
            let Some((packet, buffer)) = &running else {
                return Err(format!("{:?}: the end of no packet", cell.0));
            };
            let buffer = *buffer;
            let mine = buffer.map_or(0, |buffer| 1 << buffer);
            let good = packet.outcome == ErrorReason::None;
            let wanted = ERROR.zero().with(&[
                ("valid", (!good).into()),
                ("reason", code(packet.outcome)),
                ("where", if good { 0 } else { packet.head["target"] }),
                ("info", if good { 0 } else { packet.head["info"] }),
            ]);
            cell.expect("error", error, wanted)?;
            let stored = good && !packet.nothing();
            cell.expect("request stored", done_req, stored && !packet.response)?;
            cell.expect("response stored", done_resp, stored && packet.response)?;
            complete = if !good { ack } else { !done_resp || ready };
            ends[if !good {
                0
            } else if stored {
                1
            } else {
                2
            }] += 1;
            if stored {
                cell.expect(
                    "head",
                    cell.record("done_head_o", &RX_HEAD),
                    packet.head.clone(),
                )?;
                cell.expect("buffer", Some(cell.get("done_buf_o") as usize), buffer)?;
                if packet.response {
                    cell.expect(
                        "place",
                        cell.record("done_res_o", &RX_RES),
                        packet.res.clone(),
                    )?;
                }
            } else if complete {
                returned = mine;
            }
            // The last bytes may be stored in this very cycle.
            left = stored;
            let flows = packet.response && complete && !stored && packet.res["flow_valid"] != 0;
            cell.expect("end of a flow's put", flow["valid"] != 0, flows)?;
            if flows {
                let found = (flow["id"], flow["seq"]);
                cell.expect(
                    "flow",
                    found,
                    (packet.res["flow_id"], packet.res["flow_seq"]),
                )?;
            }
        }
        cell.expect("buffer given back", dropped, returned)?;

        // Flits.
        let pops = cell.get("pop_o");
        let class = running
            .as_ref()
            .map(|(packet, _)| usize::from(packet.response));
        cell.expect("pops", pops & !pack(here), 0)?;
        cell.expect(
            "pops of other packets",
            pops & !class.map_or(0, |class| 1 << class),
            0,
        )?;
        let row = cell.get("buf_row_o") as usize;
        let bank = cell.get("buf_we_o");
        if cell.is("buf_hdr_o") {
            cell.expect("header and payload at once", bank, 0)?;
            // The header itself goes past the collector.
            memory[64 * row..][..32].fill(0xa5);
        } else if bank != 0 {
            let at = 64 * row + FLIT * bank.trailing_zeros() as usize;
            memory[at..at + FLIT].copy_from_slice(&cell.bytes("buf_data_o"));
        }
        if left && let Some((packet, Some(buffer))) = &running {
            let wanted: Vec<u8> = packet
                .flits
                .iter()
                .flat_map(|flit| flit.0.clone())
                .collect();
            let from = ROWS * 64 * buffer + packet.place();
            // With bytes left over, those of the last flit follow in this cycle at the latest.
            cell.expect("payload", &memory[from..from + wanted.len()], &wanted[..])?;
            if packet.place() == 32 && !packet.response {
                let header = &memory[ROWS * 64 * buffer..][..32];
                cell.expect(
                    "header stored",
                    header.iter().all(|&byte| byte == 0xa5),
                    true,
                )?;
            }
        }

        // The next packet.
        let takes = (cell.is("req_take_o"), cell.is("resp_take_o"));
        let took = cell.get("take_buf_o");
        cell.expect("two packets at once", takes.0 && takes.1, false)?;
        if takes.0 || takes.1 {
            cell.expect("packet here is over", running.is_none() || complete, true)?;
        }
        if complete {
            if let Some((packet, Some(buffer))) = running.take()
                && (packet.outcome != ErrorReason::None || packet.nothing())
            {
                free[buffer] = true;
            }
            running = None;
        }
        let may = waiting[0]
            .as_ref()
            .is_some_and(|packet| packet.refused != ErrorReason::None || (room && any_free));
        if may && passed == PASSED {
            cell.expect("a response passes once more", takes.1, false)?;
            turns += u32::from(takes.0);
        }
        passed = match takes {
            (true, _) => 0,
            (_, true) if waiting[0].is_some() => PASSED.min(passed + 1),
            _ => passed,
        };
        let class = usize::from(takes.1);
        if takes.0 || takes.1 {
            let Some(packet) = waiting[class].take() else {
                return Err(format!(
                    "{:?}: a packet was taken that is not there",
                    cell.0
                ));
            };
            let mut buffer = None;
            if packet.refused == ErrorReason::None {
                cell.expect("buffers taken", took.count_ones(), 1)?;
                let taken = took.trailing_zeros() as usize;
                cell.expect("buffer was free", free[taken], true)?;
                free[taken] = false;
                buffer = Some(taken);
            } else {
                cell.expect("buffer for a refused packet", took, 0)?;
            }
            running = Some((packet, buffer));
        } else {
            cell.expect("buffer for nothing", took, 0)?;
        }
        for (class, flits) in flits.iter_mut().enumerate() {
            if pops >> class & 1 != 0 {
                flits.pop_front();
            }
        }
        // Buffers of stored packets are written to memory some time.
        for (buffer, free) in free.iter_mut().enumerate() {
            let in_use = running
                .as_ref()
                .is_some_and(|running| running.1 == Some(buffer));
            *free |= !in_use && chance(random, 5);
        }
        cell.edge()?;
    }
    let enough = ends.iter().all(|&count| count > 100) && turns > 20;
    cell.expect("ends of all kinds", enough, true)
}

fn rx_header(cell: &mut Cell, random: &mut Rng) -> Verdict {
    const DEPTH: usize = 8;
    /// Header as far as it is here, its debug word, whether the packet ended with it and was damaged.
    struct Header {
        bytes: Vec<u8>,
        dbg: u64,
        only: bool,
        damaged: bool,
    }
    // Flits of the packet that comes: data, tail, err.
    let mut coming: VecDeque<(Vec<u8>, bool, bool)> = VecDeque::new();
    let mut first = true;
    let mut collected: (Vec<u8>, u64) = (Vec::new(), 0);
    let mut header: Option<Header> = None;
    let mut inside = false;
    let mut payload: VecDeque<(Vec<u8>, bool, bool)> = VecDeque::new();
    for cycle in 0..40_000 {
        let slow = cycle / 300 % 2 == 0;
        if coming.is_empty() {
            let flits = if chance(random, 20) {
                random.usize(1..4)
            } else {
                random.usize(2..12)
            };
            for flit in 1..=flits {
                let err = flit == flits && chance(random, 15);
                coming.push_back((random_bytes(random, FLIT), flit == flits, err));
            }
            first = true;
        }
        let valid = chance(random, 80);
        let dbg = random.u64(..1 << 32);
        let (data, tail, err) = coming[0].clone();
        cell.set("valid_i", valid.into());
        let ctl = u64::from(err) << 34 | u64::from(tail) << 33 | u64::from(first) << 32 | dbg;
        cell.set("ctl_i", ctl);
        cell.set_bytes_at("data_i", 0, &data);
        let take = header.is_some() && chance(random, if slow { 10 } else { 70 });
        let pop = !payload.is_empty() && chance(random, if slow { 20 } else { 90 });
        cell.set("hdr_take_i", take.into());
        cell.set("pop_i", pop.into());
        cell.settle()?;
        let ready = if inside {
            payload.len() < DEPTH
        } else {
            header.is_none()
        };
        cell.expect("ready", cell.is("ready_o"), ready)?;
        cell.expect("header", cell.is("hdr_valid_o"), header.is_some())?;
        let holds = header.is_some() || inside || !payload.is_empty() || !collected.0.is_empty();
        cell.expect("holds", cell.is("holds_o"), holds)?;
        if let Some(header) = &header {
            let whole = header.bytes.len() == 32;
            let found = ["hdr_only_o", "hdr_damaged_o", "hdr_whole_o"].map(|port| cell.is(port));
            cell.expect(
                "end with the header",
                found,
                [header.only, header.damaged, whole],
            )?;
            let found = &cell.bytes("hdr_o")[..header.bytes.len()];
            cell.expect("header's bytes", found, &header.bytes[..])?;
            cell.expect("debug word", cell.get("hdr_dbg_o"), header.dbg)?;
        }
        cell.expect("payload", cell.is("valid_o"), !payload.is_empty())?;
        if let Some(flit) = payload.front() {
            let found = (cell.bytes("data_o"), cell.is("tail_o"), cell.is("err_o"));
            cell.expect("flit", &found, flit)?;
        }
        cell.edge()?;
        if take {
            header = None;
        }
        if pop {
            payload.pop_front();
        }
        if !(valid && ready) {
            continue;
        }
        if inside {
            inside = !tail;
            payload.push_back((data, tail, err));
        } else {
            if first {
                collected = (Vec::new(), dbg);
            }
            collected.0.extend(data);
            let whole = collected.0.len() == 32;
            if tail || whole {
                header = Some(Header {
                    bytes: std::mem::take(&mut collected.0),
                    dbg: collected.1,
                    only: tail,
                    damaged: tail && (err || !whole),
                });
                inside = !tail;
            }
        }
        coming.pop_front();
        first = false;
    }
    Ok(())
}

#[test]
fn hw1_x5_payload_is_shifted_to_its_address() {
    with_and_without_fault("reception_align", rx_align);
}

#[test]
fn hw1_x5_packet_buffers_read_as_written_in_either_half() {
    with_and_without_fault("reception_buffer", rx_buffer);
}

#[test]
fn hw1_x5_a_header_is_refused_for_the_first_rule_it_breaks() {
    with_and_without_fault("reception_check", |cell, random| {
        rx_check(cell, random, (VClass::Request, false, true))
    });
    with_and_without_fault("reception_check_response", |cell, random| {
        rx_check(cell, random, (VClass::Response, false, true))
    });
    with_and_without_fault("reception_check_collective", |cell, random| {
        rx_check(cell, random, (VClass::Response, true, false))
    });
}

#[test]
fn hw1_x5_packets_are_collected_whole_and_requests_wait_8_responses() {
    with_and_without_fault("reception_collect", rx_collect);
}

#[test]
fn hw1_x5_packets_are_taken_apart_into_header_and_payload() {
    with_and_without_fault("reception_header", rx_header);
}
