// SPDX-License-Identifier: MIT OR Apache-2.0
//! Leaf cells of the receive side that find places in memory under random stimuli, each beside a small model that is compared in every cycle, and each
//! once more with a fault that the model must find (HW-1, X-5).

use std::collections::VecDeque;

use fastrand::Rng;
use gyre_layout::{ErrorReason, Kind};
use gyre_rtl_tests::cell::{Cell, Record, Verdict, chance, with_and_without_fault};
use gyre_rtl_tests::structs::{
    BUFFERS, COMMITS, ERROR, FLOW_COUNTER, FLOW_REF, FLOW_WINDOW, HEADER, MOVE, RX_HEAD, RX_REQ,
    RX_RES, SLOT, code,
};

fn rx_pending(cell: &mut Cell, random: &mut Rng) -> Verdict {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Ask,
        Wait,
        Blocked,
        Refused(u64),
    }
    let mut queue: VecDeque<(Record, u64)> = VecDeque::new();
    let mut state = State::Ask;
    let mut ends = [0; 3];
    for _ in 0..40_000 {
        let push = queue.len() < BUFFERS - 1 && chance(random, 30);
        let head = RX_HEAD
            .random(random)
            .with(&[("rmw", chance(random, 25).into())]);
        let buffer = random.u64(0..BUFFERS as u64);
        cell.set("push_i", push.into());
        cell.set_record("push_head_i", &head);
        cell.set("push_buf_i", buffer);
        let retry = chance(random, 20);
        cell.set("retry_i", retry.into());
        let front = queue.front().cloned();
        let rmw = front.as_ref().is_some_and(|front| front.0["rmw"] != 0);
        let asks = front.is_some() && !rmw && state == State::Ask;
        let grant = asks && chance(random, 40);
        cell.set("gnt_i", grant.into());
        let takes = rmw && chance(random, 30);
        cell.set("rmw_take_i", takes.into());
        let answer = (state == State::Wait && chance(random, 50)).then(|| {
            let (ok, blocked) = [(1, 0), (0, 1), (0, 0)][random.usize(0..3)];
            RX_RES
                .random(random)
                .with(&[("ok", ok), ("blocked", blocked)])
        });
        cell.set("res_valid_i", answer.is_some().into());
        cell.set_record("res_i", &answer.clone().unwrap_or(RX_RES.random(random)));
        let ack = chance(random, 40);
        cell.set("err_ack_i", ack.into());
        cell.settle()?;

        let room = queue.len() + usize::from(push) < BUFFERS - 1;
        cell.expect("room", cell.is("room_o"), room)?;
        cell.expect("asks", cell.is("req_o"), asks)?;
        cell.expect("read-modify-write", cell.is("rmw_o"), rmw)?;
        cell.expect("holds", cell.is("holds_o"), front.is_some())?;
        let ok = answer.as_ref().is_some_and(|answer| answer["ok"] != 0);
        cell.expect("to memory", cell.is("write_o"), ok)?;
        let refused = matches!(state, State::Refused(_));
        let drop = takes || (refused && ack);
        let mut wanted = ERROR.zero();
        if let Some((head, buffer)) = &front {
            if asks {
                let wanted = RX_REQ.zero().with(&[
                    ("mem_fifo", head["mem_fifo"]),
                    ("target", head["target"]),
                    ("len", head["len"]),
                ]);
                cell.expect("request", cell.record("req_data_o", &RX_REQ), wanted)?;
            }
            if ok || rmw {
                cell.expect("head", cell.record("head_o", &RX_HEAD), head.clone())?;
                cell.expect("buffer", cell.get("buf_o"), *buffer)?;
            }
            cell.expect(
                "buffer given back",
                cell.get("drop_buf_o"),
                u64::from(drop) << buffer,
            )?;
            if let State::Refused(reason) = state {
                wanted = wanted.with(&[
                    ("valid", 1),
                    ("reason", reason),
                    ("where", head["target"]),
                    ("info", head["info"]),
                ]);
            }
        } else {
            cell.expect("buffer given back", cell.get("drop_buf_o"), 0)?;
        }
        cell.expect("error", cell.record("err_o", &ERROR), wanted)?;
        let idle = front.is_none() || state == State::Blocked;
        cell.expect("idle", cell.is("idle_o"), idle)?;
        cell.edge()?;
        let before = state;
        state = match state {
            State::Ask if grant => State::Wait,
            State::Wait => match &answer {
                Some(answer) if answer["ok"] != 0 => State::Ask,
                Some(answer) if answer["blocked"] != 0 && retry => State::Ask,
                Some(answer) if answer["blocked"] != 0 => State::Blocked,
                Some(answer) => State::Refused(answer["err"]),
                None => State::Wait,
            },
            State::Blocked if retry => State::Ask,
            State::Refused(_) if ack => State::Ask,
            same => same,
        };
        ends[0] += u32::from(ok);
        ends[1] += u32::from(drop && !takes);
        ends[2] += u32::from(before == State::Wait && state == State::Blocked);
        if ok || drop {
            queue.pop_front();
        }
        if push {
            queue.push_back((head, buffer));
        }
    }
    cell.expect(
        "ends of all kinds",
        ends.iter().all(|&count| count > 100),
        true,
    )
}

fn rx_response(cell: &mut Cell, random: &mut Rng) -> Verdict {
    enum State {
        Idle,
        Wait(Record, bool),
        Ready(Record, bool, Record),
    }
    /// Header, head, reason, of a flow, nothing behind it.
    type Next = (Record, Record, u64, bool, bool);
    let mut state = State::Idle;
    let mut next: Option<Next> = None;
    for _ in 0..40_000 {
        if next.is_none() && chance(random, 50) {
            let kinds = [Kind::Put, Kind::RmwResp, Kind::Control];
            let kind = kinds[random.usize(0..3)];
            let hdr = HEADER
                .random(random)
                .with(&[("kind", u8::from(kind).into())]);
            let bad = chance(random, 20);
            let reason = if bad {
                code(ErrorReason::PktReserved)
            } else {
                0
            };
            let head = RX_HEAD.random(random);
            next = Some((hdr, head, reason, random.bool(), random.bool()));
        }
        cell.set("hdr_valid_i", next.is_some().into());
        if let Some((hdr, head, reason, flow, only)) = &next {
            cell.set_record("hdr_i", hdr);
            cell.set_record("head_i", head);
            cell.set("err_i", *reason);
            cell.set("flow_i", u64::from(*flow));
            cell.set("hdr_only_i", u64::from(*only));
        }
        let take = matches!(state, State::Ready(..)) && chance(random, 50);
        cell.set("take_i", take.into());
        let free = take || matches!(state, State::Idle);
        let asks = free && next.as_ref().is_some_and(|next| next.2 == 0 || next.3);
        let grant = asks && chance(random, 50);
        cell.set("gnt_i", grant.into());
        let answer = matches!(state, State::Wait(..)) && chance(random, 50);
        let res = RX_RES.random(random);
        cell.set("res_valid_i", answer.into());
        cell.set_record("res_i", &res);
        cell.settle()?;
        cell.expect("asks", cell.is("req_o"), asks)?;
        let goes = grant || (free && next.is_some() && !asks);
        cell.expect("header taken", cell.is("hdr_take_o"), goes)?;
        cell.expect("holds", cell.is("holds_o"), !matches!(state, State::Idle))?;
        let waits = matches!(state, State::Wait(..)) || (free && next.is_some());
        cell.expect("idle", cell.is("idle_o"), !waits)?;
        if let (Some((hdr, _, reason, flow, _)), true) = (&next, asks) {
            let is = |kind: Kind| hdr["kind"] == u64::from(u8::from(kind));
            let control = is(Kind::Control);
            let silent = control || (is(Kind::RmwResp) && hdr["aux"] >> 9 & 1 != 0);
            let wanted = RX_REQ.zero().with(&[
                ("rmw", is(Kind::RmwResp).into()),
                ("silent", silent.into()),
                ("err", *reason),
                ("control", control.into()),
                ("flow_valid", (*flow).into()),
                ("flow_id", hdr["flow"]),
                (
                    "flow_seq",
                    if control {
                        hdr["seq"] & 31
                    } else {
                        hdr["flow_seq"]
                    },
                ),
                (
                    "epoch",
                    if control {
                        hdr["target"] >> 3
                    } else {
                        hdr["seq"]
                    },
                ),
                ("src", hdr["src"]),
                ("target", hdr["target"]),
                ("len", hdr["len"]),
                ("offset", (hdr["aux"] & 255) << 32 | hdr["offset"]),
                ("ctr_valid", (!control && hdr["aux"] >> 8 & 1 != 0).into()),
                ("ctr_slot", hdr["sw0"] & 1023),
                ("ctr_offset", hdr["sw0"] >> 10),
            ]);
            cell.expect("request", cell.record("req_data_o", &RX_REQ), wanted)?;
        }
        if let State::Ready(head, only, res) = &state {
            cell.expect("head", cell.record("head_o", &RX_HEAD), head.clone())?;
            cell.expect("nothing behind it", cell.is("only_o"), *only)?;
            let found = cell.record("res_o", &RX_RES);
            let refused = res["ok"] == 0 && res["flow_valid"] == 0;
            if refused {
                let found = [found["ok"], found["err"], found["flow_valid"]];
                cell.expect("refusal", found, [0, res["err"], 0])?;
            } else {
                cell.expect("place", found, res.clone())?;
            }
        }
        cell.expect(
            "for the collector",
            cell.is("valid_o"),
            matches!(state, State::Ready(..)),
        )?;
        cell.edge()?;
        state = match (state, next.take()) {
            (State::Wait(head, only), kept) if answer => {
                next = kept;
                State::Ready(head, only, res)
            }
            (State::Wait(head, only), kept) => {
                next = kept;
                State::Wait(head, only)
            }
            (_, Some((_, head, _, _, only))) if goes && grant => State::Wait(head, only),
            (_, Some((_, head, reason, _, only))) if goes => {
                State::Ready(head, only, RX_RES.zero().with(&[("err", reason)]))
            }
            (_, kept) if take => {
                next = kept;
                State::Idle
            }
            (same, kept) => {
                next = kept;
                same
            }
        };
    }
    Ok(())
}

/// Paths of `rx_resolve` here, that of the collective network among them, and responses that pass a request.
const PATHS: usize = 5;
const COLLECTIVE: usize = 3;
const PASSED: u32 = 4;

/// Answer of the resolver to a response.
fn place_of_put(
    req: &Record,
    slot: &Record,
    ctr: &Record,
    flow_ok: bool,
    window_ok: bool,
) -> Record {
    let end = req["offset"] + req["len"];
    let ctr_offset = 8 * req["ctr_offset"];
    let ctr_addr = ctr["base"] + ctr_offset;
    let flows = req["flow_valid"] != 0;
    let silent = req["silent"] != 0;
    let counts = req["ctr_valid"] != 0;
    let top = 1 << 48;
    let counter = ctr["valid"] != 0
        && ctr["atomic"] != 0
        && ctr_offset + 8 <= ctr["limit"]
        && ctr_addr + 8 <= top
        && ctr_addr.is_multiple_of(8);
    let reason = if req["err"] != 0 {
        req["err"]
    } else if (flows && !flow_ok) || (req["control"] != 0 && !window_ok) {
        code(ErrorReason::PktFlow)
    } else if !silent && (slot["valid"] == 0 || slot["write"] == 0) {
        code(ErrorReason::PktSlot)
    } else if !silent && (end > slot["limit"] || slot["base"] + end > top) {
        code(ErrorReason::PktBounds)
    } else if counts && !counter {
        code(ErrorReason::PktCounter)
    } else {
        0
    };
    let put = (slot["base"] + req["offset"]) % top;
    let addr = if silent || req["len"] == 0 {
        ctr_addr
    } else {
        put
    };
    let kept = |value: u64| if flow_ok { value } else { 0 };
    RX_RES.zero().with(&[
        ("ok", (reason == 0).into()),
        ("err", reason),
        ("addr", addr % top),
        ("next_page", ((put >> 12) + 1) % (1 << 36)),
        ("silent", req["silent"]),
        ("flow_valid", kept(req["flow_valid"])),
        ("flow_id", kept(req["flow_id"])),
        ("flow_seq", kept(req["flow_seq"])),
        ("ctr_valid", req["ctr_valid"]),
        ("ctr_addr", ctr_addr % top),
    ])
}

/// A slot that mostly holds `end` bytes, to the byte.
fn slot_around(random: &mut Rng, end: u64) -> Record {
    let limit = match random.u8(0..4) {
        0 => end.saturating_sub(1),
        1 => end,
        _ => end.saturating_add(random.u64(0..1000)),
    };
    // At times at the top of the address space.
    let base = match random.u8(0..6) {
        0 => (1_u64 << 48).saturating_sub(end + random.u64(0..3)),
        _ => random.u64(..1 << 47) & !7,
    };
    SLOT.random(random).with(&[
        ("valid", chance(random, 90).into()),
        ("write", chance(random, 90).into()),
        ("atomic", chance(random, 90).into()),
        ("base", base.min((1 << 48) - 1)),
        ("limit", limit.min((1 << 40) - 1)),
    ])
}

fn rx_resolve(cell: &mut Cell, random: &mut Rng) -> Verdict {
    /// Paths that ask, and how many of its class were granted since one began to.
    type Asking = [Option<(Record, usize)>; PATHS];
    let mut asking: [Asking; 2] = Default::default();
    let mut granted: Option<(usize, bool, Record)> = None;
    let mut answer: Option<(usize, bool, Record)> = None;
    let (mut passed, mut answers) = (0, [0; 256]);
    for cycle in 0..60_000 {
        let flood = cycle / 500 % 2 == 0;
        for (class, paths) in asking.iter_mut().enumerate() {
            for (path, slot) in paths.iter_mut().enumerate() {
                // Paths of higher classes have no responses.
                let response = class == 1;
                let rate = if flood && response { 80 } else { 15 };
                if slot.is_some() || (response && path > COLLECTIVE) || !chance(random, rate) {
                    continue;
                }
                let length = if chance(random, 20) {
                    0
                } else {
                    random.u64(0..513)
                };
                let mut req =
                    RX_REQ
                        .random(random)
                        .with(&[("len", length), ("rmw", 0), ("err", 0)]);
                let control = response && chance(random, 15);
                let silent = control || (response && chance(random, 15));
                req = req.with(&[
                    ("control", control.into()),
                    ("silent", silent.into()),
                    (
                        "flow_valid",
                        (response && !control && chance(random, 30)).into(),
                    ),
                    ("ctr_valid", (response && !control && random.bool()).into()),
                    ("mem_fifo", (!response && random.bool()).into()),
                ]);
                if response && chance(random, 10) {
                    req["err"] = code(ErrorReason::PktReserved);
                }
                req["offset"] >>= random.u32(0..40);
                *slot = Some((req, 0));
            }
        }
        for (class, paths) in asking.iter().enumerate() {
            let mask = (0..PATHS).fold(0, |all, path| {
                all | u64::from(paths[path].is_some()) << path
            });
            cell.set_at("req_i", class, mask);
            for (path, req) in paths.iter().enumerate() {
                let port = ["req_request_i", "req_response_i"][class];
                if let Some((req, _)) = req {
                    cell.set_record_at(port, path, req);
                }
            }
        }
        // Look-ups for what was granted in the last cycle.
        let zero = RX_REQ.zero();
        let req = granted.as_ref().map_or(&zero, |granted| &granted.2);
        let slot = slot_around(random, req["offset"] + req["len"]);
        let mut ctr = slot_around(random, 8 * req["ctr_offset"] + 8);
        if chance(random, 10) {
            ctr["base"] ^= 1 << random.u32(0..3);
        }
        cell.set_record("slot_i", &slot);
        cell.set_record("ctr_slot_i", &ctr);
        let ok: [bool; 4] = std::array::from_fn(|_| chance(random, 80));
        let (rec_ok, rec_fits, rget_ok, flow_ok) = (ok[0], ok[1], ok[2], ok[3]);
        let window_ok = chance(random, 80);
        let commit_room = chance(random, 85);
        let rec = (random.u64(..1 << 48), random.u64(..1 << 36));
        let ring = 1 << random.u64(12..21);
        let base = (random.u64(..1 << 48) & !4095).min((1 << 48) - ring);
        let allocated = random.u64(..1 << 26) * 64;
        let room = match random.u8(0..3) {
            0 => req["len"].saturating_sub(1),
            1 => req["len"],
            _ => random.u64(0..1 << 20),
        };
        let index = random.u64(0..COMMITS as u64);
        for (port, value) in [
            ("rec_ok_i", rec_ok.into()),
            ("rec_fits_i", rec_fits.into()),
            ("rec_addr_i", rec.0),
            ("rec_next_page_i", rec.1),
            ("rget_ok_i", rget_ok.into()),
            ("rget_base_i", base),
            ("rget_size_i", ring),
            ("rget_alloc_i", allocated),
            ("rget_free_i", room),
            ("commit_room_i", commit_room.into()),
            ("commit_index_i", index),
            ("flow_ok_i", flow_ok.into()),
            ("window_ok_i", window_ok.into()),
        ] {
            cell.set(port, value);
        }
        cell.settle()?;

        // Who is granted.
        let gnt = [0, 1].map(|class| cell.get_at("gnt_o", class));
        cell.expect(
            "grants",
            gnt[0].count_ones() + gnt[1].count_ones() <= 1,
            true,
        )?;
        let high = commit_room && asking[0][COLLECTIVE + 1..].iter().any(Option::is_some);
        let waits = commit_room && asking[0][..=COLLECTIVE].iter().any(Option::is_some);
        let responses = asking[1].iter().any(Option::is_some);
        let response = responses && !high && !(waits && passed == PASSED);
        cell.expect("a response is granted", gnt[1] != 0, response)?;
        cell.expect(
            "a request is granted",
            gnt[0] != 0,
            high || (!response && waits),
        )?;
        let next = (gnt[0] | gnt[1] != 0).then(|| {
            let class = usize::from(gnt[1] != 0);
            (class, gnt[class].trailing_zeros() as usize)
        });
        if let Some((class, path)) = next {
            cell.expect("granted path asks", asking[class][path].is_some(), true)?;
            cell.expect(
                "before higher classes",
                class == 0 && high && path <= COLLECTIVE,
                false,
            )?;
        }
        passed = match next {
            Some((0, path)) if path <= COLLECTIVE => 0,
            Some((1, _)) if waits => PASSED.min(passed + 1),
            _ => passed,
        };

        // What was granted before.
        let mut found = None;
        let (mut flow, mut window) = (FLOW_REF.zero(), FLOW_WINDOW.zero());
        let (mut pushes, mut alloc, mut waited) = (false, false, false);
        let mut kind = 0;
        if let Some((path, response, req)) = &granted {
            let res = if *response {
                cell.expect("slot", cell.get("slot_id_o"), req["target"])?;
                cell.expect("counter's slot", cell.get("ctr_id_o"), req["ctr_slot"])?;
                cell.expect("flow's source", cell.get("flow_src_o"), req["src"])?;
                cell.expect("flow's epoch", cell.get("flow_epoch_o"), req["epoch"])?;
                flow = flow.with(&[
                    ("valid", req["flow_valid"]),
                    ("id", req["flow_id"]),
                    ("seq", req["flow_seq"]),
                ]);
                let valid = req["control"] != 0 && req["err"] == 0;
                window = window.with(&[
                    ("valid", valid.into()),
                    ("id", req["target"] & 7),
                    ("epoch", req["epoch"] & 127),
                    ("src", req["src"]),
                    ("seq", req["flow_seq"]),
                ]);
                let res = place_of_put(req, &slot, &ctr, flow_ok, window_ok);
                let counter = cell.record("flow_counter_o", &FLOW_COUNTER);
                let counts = res["ok"] != 0 && req["ctr_valid"] != 0;
                cell.expect("put's counter", counter["ctr_valid"] != 0, counts)?;
                cell.expect("put's bytes", counter["ctr_bytes"], req["len"].max(1))?;
                res
            } else {
                let fifo = req["mem_fifo"] != 0;
                let taken = if fifo {
                    req["len"].div_ceil(32) * 32 + 32
                } else {
                    req["len"]
                };
                let (known, fits) = if fifo {
                    (rec_ok, rec_fits)
                } else {
                    (rget_ok, taken <= room)
                };
                let page = |bytes: u64| (base + (allocated + bytes) % ring) >> 12;
                let reason = match (known, fifo) {
                    (true, _) => 0,
                    (false, true) => code(ErrorReason::PktRecFifo),
                    (false, false) => code(ErrorReason::PktInjFifo),
                };
                if fifo {
                    cell.expect("reception FIFO", cell.get("rec_id_o"), req["target"])?;
                    cell.expect("bytes in its ring", cell.get("rec_bytes_o"), taken)?;
                } else {
                    cell.expect("injection FIFO", cell.get("rget_id_o"), req["target"])?;
                }
                (pushes, alloc) = (known && fits, known && fits && fifo);
                waited = known && !fits && fifo;
                let rget = cell.record("rget_alloc_o", &MOVE);
                cell.expect("ring of remote gets", rget["valid"] != 0, pushes && !fifo)?;
                if pushes && !fifo {
                    let wanted = [0, req["target"], req["len"]];
                    cell.expect(
                        "its move",
                        [rget["failed"], rget["id"], rget["bytes"]],
                        wanted,
                    )?;
                }
                if pushes {
                    cell.expect("kind of ring", cell.is("commit_rget_o"), !fifo)?;
                }
                RX_RES.zero().with(&[
                    ("ok", (known && fits).into()),
                    ("blocked", (known && !fits).into()),
                    ("err", reason),
                    (
                        "addr",
                        if fifo {
                            rec.0
                        } else {
                            (page(0) << 12) | (allocated % 4096)
                        },
                    ),
                    ("next_page", if fifo { rec.1 } else { page(4096) }),
                    ("commit", index),
                ])
            };
            if res["ok"] != 0 {
                kind = 1
                    << u8::from(match (*path == COLLECTIVE, *response) {
                        (true, _) => Kind::Collective,
                        (_, true) if req["control"] != 0 => Kind::Control,
                        (_, true) => Kind::Put,
                        (_, false) if req["mem_fifo"] != 0 => Kind::MemFifo,
                        (_, false) => Kind::RemoteGet,
                    });
            }
            answers[(res["err"] | res["blocked"] << 7) as usize] += 1;
            found = Some((*path, *response, res));
            let claims = cell.is("flow_claim_o");
            cell.expect(
                "flow's place is taken",
                claims,
                flow["valid"] != 0 && flow_ok,
            )?;
        }
        let looked = cell.record("flow_o", &FLOW_REF);
        cell.expect("flow looked up", looked["valid"], flow["valid"])?;
        if flow["valid"] != 0 {
            cell.expect("flow", looked, flow)?;
        }
        let told = cell.record("window_o", &FLOW_WINDOW);
        cell.expect("window comes", told["valid"], window["valid"])?;
        if window["valid"] != 0 {
            cell.expect("window", told, window)?;
        }
        cell.expect(
            "place in the commit queue",
            cell.is("commit_push_o"),
            pushes,
        )?;
        cell.expect("ring of messages", cell.is("rec_alloc_o"), alloc)?;
        cell.expect("waits for its ring", cell.is("rec_wait_o"), waited)?;
        cell.expect("counted", cell.get("pkt_o"), kind)?;

        // The answer to what was granted two cycles ago.
        let valid = answer.as_ref().map_or(0, |answer| 1 << answer.0);
        cell.expect("answer to", cell.get("res_valid_o"), valid)?;
        if let Some((_, response, wanted)) = &answer {
            cell.expect("answer to a response", cell.is("res_response_o"), *response)?;
            let mut found = cell.record("res_o", &RX_RES);
            if !*response {
                // Without meaning there.
                found = found.with(&[("flow_valid", 0), ("ctr_valid", 0), ("silent", 0)]);
            } else {
                found["commit"] = 0;
            }
            cell.expect("answer", found, wanted.clone())?;
        }
        let idle = next.is_none() && granted.is_none() && answer.is_none();
        cell.expect("idle", cell.is("idle_o"), idle)?;
        cell.edge()?;

        answer = found;
        granted = None;
        if let Some((class, path)) = next {
            for (other, asks) in asking[class].iter_mut().enumerate() {
                // Within a class in turn; a request of higher classes goes before.
                let level = |path: usize| class == 0 && path > COLLECTIVE;
                if let Some((_, since)) = asks
                    && other != path
                    && level(other) == level(path)
                {
                    *since += 1;
                    cell.expect("others in its place", *since < PATHS, true)?;
                }
            }
            granted = asking[class][path]
                .take()
                .map(|(req, _)| (path, class == 1, req));
        }
    }
    for reason in [
        ErrorReason::None,
        ErrorReason::PktFlow,
        ErrorReason::PktSlot,
        ErrorReason::PktBounds,
        ErrorReason::PktCounter,
        ErrorReason::PktRecFifo,
        ErrorReason::PktInjFifo,
    ] {
        cell.expect(
            "a reason comes up",
            answers[code(reason) as usize] > 50,
            true,
        )?;
    }
    cell.expect("some are blocked", answers[1 << 7] > 50, true)
}

#[test]
fn hw1_x5_request_without_ring_space_retries_when_a_ring_moves() {
    with_and_without_fault("reception_pending", rx_pending);
}

#[test]
fn hw1_hw4_x5_a_response_finds_its_place_before_it_is_collected() {
    with_and_without_fault("reception_response", rx_response);
}

#[test]
fn hw1_hw4_x5_a_packet_finds_its_place_or_the_reason_why_not() {
    with_and_without_fault("reception_resolve", rx_resolve);
}
