// SPDX-License-Identifier: MIT OR Apache-2.0
//! Leaf cells of the receive side that write packets to memory and order them under random stimuli, each beside a small model that is compared in every cycle, and each
//! once more with a fault that the model must find (HW-1, X-5).

use std::collections::VecDeque;

use fastrand::Rng;
use gyre_layout::ErrorReason;
use gyre_rtl_tests::cell::{Cell, Record, Verdict, chance, random_bytes, with_and_without_fault};
use gyre_rtl_tests::structs::{
    AXI_ADDR, BUFFERS, COMMITS, ERROR, FLOW_REF, MOVE, ROWS, RX_WRITE, code,
};

fn rx_commit(cell: &mut Cell, random: &mut Rng) -> Verdict {
    const PATHS: usize = 3;
    struct Entry {
        rget: bool,
        id: u64,
        bytes: u64,
        /// Whether it failed, once it is done.
        done: Option<bool>,
    }
    let mut queue: VecDeque<Entry> = VecDeque::new();
    let mut head = 0;
    for cycle in 0..40_000 {
        let fill = cycle / 400 % 2 == 0;
        let push = queue.len() < COMMITS && chance(random, if fill { 70 } else { 20 });
        let new = Entry {
            rget: random.bool(),
            id: random.u64(..1 << 10),
            bytes: random.u64(..1 << 10),
            done: None,
        };
        for (port, value) in [
            ("push_i", push.into()),
            ("push_rget_i", new.rget.into()),
            ("push_id_i", new.id),
            ("push_bytes_i", new.bytes),
        ] {
            cell.set(port, value);
        }
        let mut done: Vec<(usize, bool)> = Vec::new();
        for path in 0..PATHS {
            let place = random.usize(0..COMMITS);
            let open = queue.get(place).is_some_and(|entry| entry.done.is_none());
            if open && done.iter().all(|done| done.0 != place) && chance(random, 90) {
                let failed = chance(random, 15);
                cell.set_at("done_index_i", path, ((head + place) % COMMITS) as u64);
                done.push((place, failed));
            } else {
                done.push((COMMITS, false));
            }
        }
        let mask = |flag: &dyn Fn(&(usize, bool)) -> bool| {
            done.iter()
                .enumerate()
                .fold(0, |all, (path, done)| all | u64::from(flag(done)) << path)
        };
        cell.set("done_i", mask(&|done| done.0 < COMMITS));
        cell.set("done_failed_i", mask(&|done| done.1));
        cell.settle()?;
        let tail = (head + queue.len()) % COMMITS;
        cell.expect("place given", cell.get("push_index_o"), tail as u64)?;
        cell.expect("room", cell.is("room_o"), queue.len() + 2 <= COMMITS)?;
        cell.expect("busy", cell.is("busy_o"), !queue.is_empty())?;
        let ready = queue.front().and_then(|entry| Some((entry, entry.done?)));
        for (port, rget) in [("rec_commit_o", false), ("rget_commit_o", true)] {
            let found = cell.record(port, &MOVE);
            let of_this = ready.filter(|(entry, _)| entry.rget == rget);
            cell.expect(port, found["valid"] != 0, of_this.is_some())?;
            if let Some((entry, failed)) = of_this {
                let wanted = [failed.into(), entry.id, entry.bytes];
                cell.expect(port, [found["failed"], found["id"], found["bytes"]], wanted)?;
            }
        }
        cell.expect("idle", cell.is("idle_o"), ready.is_none())?;
        cell.edge()?;
        let pop = ready.is_some();
        for (place, failed) in done {
            if let Some(entry) = queue.get_mut(place) {
                entry.done = Some(failed);
            }
        }
        if pop {
            queue.pop_front();
            head = (head + 1) % COMMITS;
        }
        if push {
            queue.push_back(new);
        }
    }
    Ok(())
}

fn rx_retire(cell: &mut Cell, random: &mut Rng) -> Verdict {
    const DEPTH: usize = 4;
    struct Write {
        data: Record,
        bursts: u8,
        failed: bool,
    }
    let mut queue: VecDeque<Write> = VecDeque::new();
    let mut ends = [0; 4];
    for cycle in 0..40_000 {
        let slow = cycle / 300 % 2 == 0;
        let push = queue.len() < DEPTH && chance(random, if slow { 80 } else { 40 });
        let length = if chance(random, 15) {
            0
        } else {
            random.u64(0..513)
        };
        let data = RX_WRITE.random(random).with(&[("len", length)]);
        let two = chance(random, 30);
        cell.set("push_i", push.into());
        cell.set_record("push_data_i", &data);
        cell.set("push_two_i", two.into());
        let next = queue.iter().position(|write| write.bursts > 0);
        let comes = next.is_some() && chance(random, if slow { 30 } else { 80 });
        let bad = comes && chance(random, 15);
        cell.set("b_valid_i", comes.into());
        cell.set("b_bad_i", bad.into());
        let (ack, err_ack) = (chance(random, 40), chance(random, 40));
        cell.set("ctr_ack_i", ack.into());
        cell.set("err_ack_i", err_ack.into());
        cell.settle()?;
        cell.expect("room", cell.is("room_o"), queue.len() < DEPTH)?;
        cell.expect("busy", cell.is("busy_o"), !queue.is_empty())?;
        let ready = queue.front().filter(|write| write.bursts == 0);
        cell.expect("idle", cell.is("idle_o"), ready.is_none())?;
        let mut error = ERROR.zero();
        let (mut retires, mut done, mut lowers, mut flows) = (false, false, false, false);
        if let Some(Write { data, failed, .. }) = ready {
            let put = data["response"] != 0;
            lowers = !failed && put && data["ctr_valid"] != 0 && data["flow_valid"] == 0;
            retires = if *failed { err_ack } else { !lowers || ack };
            done = retires && !put;
            flows = retires && data["flow_valid"] != 0;
            if *failed {
                let info = data["sw"] << 34 | data["kind"] << 30 | data["src"];
                error = error.with(&[
                    ("valid", 1),
                    ("reason", code(ErrorReason::Write)),
                    ("where", data["target"]),
                    ("info", info),
                ]);
            }
            if lowers {
                let found = [cell.get("ctr_addr_o"), cell.get("ctr_bytes_o")];
                cell.expect("counter", found, [data["ctr_addr"], data["len"].max(1)])?;
            }
            if done {
                let found = (cell.get("done_index_o"), cell.is("done_failed_o"));
                cell.expect(
                    "place in the commit queue",
                    found,
                    (data["commit"], *failed),
                )?;
            }
            if flows {
                let flow = cell.record("flow_o", &FLOW_REF);
                let found = (flow["id"], flow["seq"], cell.is("flow_failed_o"));
                cell.expect("flow", found, (data["flow_id"], data["flow_seq"], *failed))?;
            }
            for (end, is) in ends.iter_mut().zip([done, lowers && ack, flows, *failed]) {
                *end += u32::from(is);
            }
        }
        cell.expect("error", cell.record("err_o", &ERROR), error)?;
        let flow = cell.record("flow_o", &FLOW_REF)["valid"] != 0;
        let found = [
            cell.is("retire_o"),
            cell.is("done_o"),
            cell.is("ctr_valid_o"),
            flow,
        ];
        cell.expect(
            "retire, done, counter, flow",
            found,
            [retires, done, lowers, flows],
        )?;
        cell.edge()?;
        if comes && let Some(write) = next.and_then(|next| queue.get_mut(next)) {
            write.bursts -= 1;
            write.failed |= bad;
        }
        if retires {
            queue.pop_front();
        }
        if push {
            let (bursts, failed) = (1 + u8::from(two), false);
            queue.push_back(Write {
                data,
                bursts,
                failed,
            });
        }
    }
    cell.expect(
        "ends of all kinds",
        ends.iter().all(|&count| count > 100),
        true,
    )
}

/// Where the bytes of a packet go.
struct Placed {
    packet: Record,
    /// Address and 64-byte rows of each burst.
    bursts: Vec<(u64, usize)>,
    /// First byte in the first row, and bytes.
    first: usize,
    bytes: usize,
}

impl Placed {
    fn new(packet: Record) -> Self {
        let put = packet["response"] != 0;
        let length = packet["len"];
        let bytes = match (packet["mem_fifo"] != 0, put) {
            (true, _) => length.div_ceil(32) * 32 + 32,
            (false, true) if length == 0 => 8,
            (false, _) => length,
        };
        let addr = packet["addr"];
        let rows = |from: u64, to: u64| (to.div_ceil(64) - from / 64) as usize;
        let inside = 4096 - addr % 4096;
        let start = addr & !63;
        let bursts = if bytes > inside {
            vec![
                (start, rows(addr, addr + inside)),
                (packet["next_page"] << 12, rows(0, bytes - inside)),
            ]
        } else {
            vec![(start, rows(addr, addr + bytes))]
        };
        Self {
            packet,
            bursts,
            first: (addr % 64) as usize,
            bytes: bytes as usize,
        }
    }

    fn rows(&self) -> usize {
        self.bursts.iter().map(|burst| burst.1).sum()
    }
}

fn rx_write(cell: &mut Cell, random: &mut Rng) -> Verdict {
    const ID: u64 = 3;
    // Not issued yet, with bursts that are; issued, with rows that have left. A buffer holds one packet.
    let mut next: VecDeque<(Placed, usize)> = VecDeque::new();
    let mut drain: VecDeque<(Placed, usize)> = VecDeque::new();
    // Rows whose addresses are given.
    let mut owed = 0;
    let mut used = [false; BUFFERS];
    let (mut two, mut stamped) = (0, 0);
    for _ in 0..60_000 {
        let buffer = random.usize(0..BUFFERS);
        let push = (!used[buffer] && chance(random, 40)).then(|| {
            let put = random.bool();
            let length = if chance(random, 15) {
                0
            } else {
                random.u64(0..513)
            };
            let mem_fifo = !put && random.bool();
            let length = if put || mem_fifo {
                length
            } else {
                64 * random.u64(1..9)
            };
            // Mostly near the end of a page, at times to the byte.
            let taken = if mem_fifo {
                length.div_ceil(32) * 32 + 32
            } else {
                length
            };
            let offset = match random.u8(0..4) {
                0 => random.u64(0..4096),
                1 => (4096 - taken) % 4096,
                _ => 4096 - random.u64(1..700),
            };
            let grain = if mem_fifo {
                32
            } else if put && length > 0 {
                1
            } else if put {
                8
            } else {
                64
            };
            let addr = random.u64(..1 << 36) << 12 | (offset / grain * grain);
            RX_WRITE.random(random).with(&[
                ("buffer", buffer as u64),
                ("response", put.into()),
                ("silent", (put && chance(random, 15)).into()),
                ("mem_fifo", mem_fifo.into()),
                ("len", length),
                ("addr", addr),
            ])
        });
        cell.set("push_i", push.is_some().into());
        if let Some(packet) = &push {
            cell.set_record("push_data_i", packet);
        }
        let room = chance(random, 80);
        cell.set("issue_room_i", room.into());
        let asks = next.front().is_some_and(|(_, issued)| *issued > 0 || room);
        let grant = asks && chance(random, 60);
        cell.set("aw_gnt_i", grant.into());
        let select = owed > 0 && chance(random, 80);
        let pop = select && chance(random, 80);
        cell.set("w_sel_i", select.into());
        cell.set("w_pop_i", pop.into());
        let row = random_bytes(random, 64);
        cell.set_bytes_at("buf_data_i", 0, &row);
        cell.settle()?;

        cell.expect("address asked for", cell.is("aw_req_o"), asks)?;
        cell.expect("idle", cell.is("idle_o"), !asks && drain.is_empty())?;
        let first = grant && next.front().is_some_and(|(_, issued)| *issued == 0);
        cell.expect("packet issued", cell.is("issue_o"), first)?;
        if let (Some((placed, issued)), true) = (next.front(), grant) {
            let (addr, rows) = placed.bursts[*issued];
            let wanted =
                AXI_ADDR
                    .zero()
                    .with(&[("addr", addr), ("len", rows as u64 - 1), ("id", ID)]);
            cell.expect("address", cell.record("aw_o", &AXI_ADDR), wanted)?;
            if first {
                cell.expect(
                    "two bursts",
                    cell.is("issue_two_o"),
                    placed.bursts.len() == 2,
                )?;
                cell.expect(
                    "packet",
                    cell.record("issue_data_o", &RX_WRITE),
                    placed.packet.clone(),
                )?;
            }
        }
        let mut freed = 0;
        if select {
            let Some((placed, at)) = drain.front() else {
                return Err("a row of no packet".to_owned());
            };
            let (at, packet) = (*at, &placed.packet);
            let buffer = packet["buffer"] as usize;
            let swap = packet["mem_fifo"] != 0 && packet["addr"] & 32 != 0;
            let found = (cell.get("buf_row_o") as usize, cell.is("buf_swap_o"));
            cell.expect("buffer's row", found, (ROWS * buffer + at, swap))?;
            let last = at + 1 == placed.rows() || at + 1 == placed.bursts[0].1;
            cell.expect("end of burst", cell.is("w_last_o"), last)?;
            cell.expect("debug word", cell.get("w_dbg_o"), packet["dbg"])?;
            let nothing = packet["silent"] != 0 || (packet["response"] != 0 && packet["len"] == 0);
            let strobes = cell.get("w_strb_o");
            let data = cell.bytes("w_data_o");
            let stamp = packet["mem_fifo"] == 0 && packet["response"] == 0;
            let mut wanted = row.clone();
            if stamp {
                stamped += 1;
                // A descriptor: its mark, and its requester.
                wanted[3] |= 0x80;
                wanted[48..52].copy_from_slice(&(packet["src"] as u32).to_le_bytes());
            }
            for byte in 0..64 {
                let place = 64 * at + byte;
                let written =
                    !nothing && (placed.first..placed.first + placed.bytes).contains(&place);
                cell.expect("byte written", strobes >> byte & 1 != 0, written)?;
                if written {
                    cell.expect("byte", data[byte], wanted[byte])?;
                }
            }
            if pop && at + 1 == placed.rows() {
                freed = 1 << buffer;
            }
        }
        cell.expect("buffer read out", cell.get("free_o"), freed)?;
        cell.edge()?;
        if pop {
            owed -= 1;
            if freed != 0 {
                used[freed.trailing_zeros() as usize] = false;
                drain.pop_front();
            } else if let Some((_, at)) = drain.front_mut() {
                *at += 1;
            }
        }
        if grant && let Some((placed, issued)) = next.front_mut() {
            owed += placed.bursts[*issued].1;
            if *issued == 0 {
                two += u32::from(placed.bursts.len() == 2);
                drain.push_back((Placed::new(placed.packet.clone()), 0));
            }
            *issued += 1;
            if *issued == placed.bursts.len() {
                next.pop_front();
            }
        }
        if let Some(packet) = push {
            used[buffer] = true;
            next.push_back((Placed::new(packet), 0));
        }
    }
    cell.expect(
        "packets of two bursts, and descriptors",
        two > 500 && stamped > 500,
        true,
    )
}

#[test]
fn hw1_x5_packets_are_committed_in_the_order_of_their_ring_space() {
    with_and_without_fault("reception_commit", rx_commit);
}

#[test]
fn hw1_hw4_x5_a_packet_retires_when_all_its_writes_are_answered() {
    with_and_without_fault("reception_retire", rx_retire);
}

#[test]
fn hw1_x5_a_packet_is_written_to_its_bytes_and_no_other() {
    with_and_without_fault("reception_write", rx_write);
}
