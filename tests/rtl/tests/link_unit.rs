// SPDX-License-Identifier: MIT OR Apache-2.0
//! A pair of `link_unit` over wires of L cycles: handshake, flits in order, check bits, faults (HW-3).

use std::collections::VecDeque;

use gyre_layout::ErrorReason;
use gyre_rtl_tests::link_check::{LinkCheck, crc_byte, difference, fold};
use gyre_rtl_tests::packet::Flit;
use gyre_rtl_tests::{Unit, cases, ports};
use proptest::prelude::*;

/// Flits of buffer of a virtual channel.
const DEPTH: usize = 20;
const VCS: usize = 16;
const FLIT_WORDS: usize = 4;

/// States as on the wire.
const RESET: u64 = 0;
const INIT: u64 = 1;
const UP: u64 = 3;

/// Values on a wire: control word, data, debug id.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    ctl: u64,
    data: [u32; FLIT_WORDS],
    dbg: u64,
}

ports! {
    struct Ports {
        enable: "enable_i", link_ctl_i, link_data_i, link_dbg_i, link_ctl_o, link_data_o, link_dbg_o,
        state: "state_o", up: "up_o", start: "start_o", drained: "drained_i", send: "send_i", send_vc: "send_vc_i",
        send_ctl: "send_ctl_i", send_data: "send_data_i", pop: "pop_i", pop_vc: "pop_vc_i", rx_valid: "rx_valid_o",
        rx_vc: "rx_vc_o", rx_ctl: "rx_ctl_o", rx_data: "rx_data_o", credit: "credit_o", credit_vc: "credit_vc_o",
        err: "err_o", err_take: "err_take_i", reset: "rst_ni",
    }
}

/// Wires of the control word that the parity covers: state, valid, credit and its channel, the parity itself.
const SIDE_BAND: [usize; 9] = [0, 1, 2, 25, 26, 27, 28, 29, 31];

/// The word of which a wire is flipped: the next that carries this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Flit,
    Credit,
    /// Neither.
    Quiet,
}

impl Victim {
    fn fits(self, ctl: u64) -> bool {
        match self {
            Self::Flit => ctl >> 2 & 1 != 0,
            Self::Credit => ctl >> 25 & 1 != 0,
            Self::Quiet => ctl & (1 << 2 | 1 << 25) == 0,
        }
    }
}

/// One end with the buffers behind it.
struct End {
    unit: Unit,
    credits: [usize; VCS],
    buffered: [usize; VCS],
    /// Flits with their channels still to be sent.
    to_send: VecDeque<(u64, Flit)>,
    /// Flits under way from this end.
    under_way: VecDeque<(u64, Flit)>,
    /// Flits that came in.
    received: usize,
    reports: Vec<ErrorReason>,
    /// Cycle of the first report.
    reported: Option<u64>,
    pops: f64,
    /// Buffers say that they hold something whatever they hold.
    busy: bool,
}

/// Two ends and the wires between them.
struct Pair {
    ports: Ports,
    ends: [End; 2],
    wires: [VecDeque<Word>; 2],
    rng: fastrand::Rng,
    cycle: u64,
    /// Changes the next word of the kind that leaves this end by this bit: 0..32 control word, then data.
    flip: Option<(usize, Victim, usize)>,
    /// Cycle in which that was.
    flipped: u64,
    /// Changes these data bits of the next flit that leaves end 0, and the flit that is to arrive.
    damage: Option<[u32; FLIT_WORDS]>,
    /// Cycles of the damaged flit and of the next two.
    damaged: Vec<u64>,
    /// All flits must arrive.
    whole: bool,
}

impl Pair {
    fn new(latency: usize, seed: u64) -> Self {
        let end = |seed| End {
            unit: Unit::new("link", seed),
            credits: [0; VCS],
            buffered: [0; VCS],
            to_send: VecDeque::new(),
            under_way: VecDeque::new(),
            received: 0,
            reports: Vec::new(),
            reported: None,
            pops: 0.8,
            busy: false,
        };
        let ends = [end(seed as u32), end(!seed as u32)];
        Self {
            ports: Ports::of(&ends[0].unit),
            ends,
            wires: [(); 2].map(|()| VecDeque::from(vec![Word::default(); latency])),
            rng: fastrand::Rng::with_seed(seed),
            cycle: 0,
            flip: None,
            flipped: 0,
            damage: None,
            damaged: Vec::new(),
            whole: true,
        }
    }

    fn enable(&mut self, end: usize, enable: bool) {
        let port = self.ports.enable;
        self.ends[end].unit.set(port, 0, enable.into());
    }

    fn states(&self) -> [u64; 2] {
        [0, 1].map(|end| self.ends[end].unit.get(self.ports.state, 0))
    }

    /// Queues random flits at both ends.
    fn queue(&mut self, count: usize) {
        for end in 0..2 {
            for _ in 0..count {
                let mut data = [0; 8];
                data[..FLIT_WORDS].fill_with(|| self.rng.u32(..));
                let flit = Flit {
                    data,
                    head: self.rng.bool(),
                    tail: self.rng.bool(),
                    err: self.rng.bool(),
                    dbg: self.rng.u32(..),
                };
                self.ends[end]
                    .to_send
                    .push_back((self.rng.u64(0..VCS as u64), flit));
            }
        }
    }

    fn step(&mut self) {
        for index in 0..2 {
            self.drive(index);
            let settled = self.ends[index].unit.settle();
            settled.unwrap_or_else(|failure| panic!("end {index}: {failure}"));
        }
        for index in 0..2 {
            self.before_edge(index);
        }
        for index in 0..2 {
            let end = &mut self.ends[index];
            let clocked = end.unit.edge();
            clocked.unwrap_or_else(|failure| panic!("end {index}: {failure}"));
            let mut word = Word {
                ctl: end.unit.get(self.ports.link_ctl_o, 0),
                dbg: end.unit.get(self.ports.link_dbg_o, 0),
                ..Word::default()
            };
            let data = end.unit.get_wide(self.ports.link_data_o, 0);
            word.data.copy_from_slice(&data);
            if let Some((end, victim, bit)) = self.flip
                && end == index
                && victim.fits(word.ctl)
            {
                self.flip = None;
                self.flipped = self.cycle;
                match bit {
                    0..32 => word.ctl ^= 1 << bit,
                    _ => word.data[(bit - 32) / 32] ^= 1 << (bit % 32),
                }
            }
            if index == 0 && word.ctl >> 2 & 1 != 0 {
                if let Some(mask) = self.damage.take() {
                    let sent = end.under_way.back_mut().expect("what is on the wires");
                    for (i, mask) in mask.into_iter().enumerate() {
                        word.data[i] ^= mask;
                        sent.1.data[i] ^= mask;
                    }
                    self.damaged.push(self.cycle);
                } else if !self.damaged.is_empty() {
                    self.damaged.push(self.cycle);
                }
            }
            self.wires[index].push_back(word);
        }
        self.cycle += 1;
    }

    /// Inputs of an end for this cycle.
    fn drive(&mut self, index: usize) {
        let ports = &self.ports;
        let word = self.wires[1 - index].pop_front().unwrap_or_default();
        let end = &mut self.ends[index];
        let unit = &mut end.unit;
        unit.set(ports.link_ctl_i, 0, word.ctl);
        unit.set_wide(ports.link_data_i, 0, &word.data);
        unit.set(ports.link_dbg_i, 0, word.dbg);

        let up = unit.get(ports.up, 0) != 0;
        let next = end.to_send.front().copied();
        let send = next.filter(|(vc, _)| up && end.credits[*vc as usize] > 0 && self.rng.bool());
        unit.set(ports.send, 0, send.is_some().into());
        if let Some((vc, flit)) = send {
            unit.set(ports.send_vc, 0, vc);
            unit.set(ports.send_ctl, 0, flit.ctl());
            unit.set_wide(ports.send_data, 0, &flit.data[..FLIT_WORDS]);
            end.credits[vc as usize] -= 1;
            end.to_send.pop_front();
            end.under_way.push_back((vc, flit));
        }

        let drained = end.buffered == [0; VCS] && !end.busy;
        unit.set(ports.drained, 0, drained.into());
        let full: Vec<usize> = (0..VCS).filter(|&vc| end.buffered[vc] > 0).collect();
        let pop = self.rng.choice(&full).filter(|_| self.rng.f64() < end.pops);
        unit.set(ports.pop, 0, pop.is_some().into());
        if let Some(&vc) = pop {
            unit.set(ports.pop_vc, 0, vc as u64);
            end.buffered[vc] -= 1;
        }
        let err = unit.get_u128(ports.err, 0);
        unit.set(ports.err_take, 0, (err >> 82) as u64 & 1);
        if err >> 82 & 1 != 0 {
            let reason = ErrorReason::try_from((err >> 74) as u8);
            end.reports.push(reason.expect("a known reason"));
            end.reported.get_or_insert(self.cycle);
        }
    }

    /// Takes the settled outputs of an end.
    fn before_edge(&mut self, index: usize) {
        let ports = &self.ports;
        let unit = &self.ends[index].unit;
        let get = |port| unit.get(port, 0);
        let (credit, credit_vc) = (get(ports.credit), get(ports.credit_vc) as usize);
        let (start, vc) = (get(ports.start), get(ports.rx_vc));
        let arrived = (get(ports.rx_valid) != 0)
            .then(|| Flit::from_ctl(get(ports.rx_ctl), &unit.get_wide(ports.rx_data, 0)));
        let end = &mut self.ends[index];
        if start != 0 {
            end.credits = [DEPTH; VCS];
        } else if credit != 0 {
            end.credits[credit_vc] += 1;
            assert!(end.credits[credit_vc] <= DEPTH, "more credits than buffer");
        }
        let Some(flit) = arrived else { return };
        end.received += 1;
        end.buffered[vc as usize] += 1;
        assert!(end.buffered[vc as usize] <= DEPTH, "buffer overflow");
        let under_way = &mut self.ends[1 - index].under_way;
        if !self.whole {
            let place = under_way.iter().position(|sent| *sent == (vc, flit));
            let place = place.unwrap_or_else(|| panic!("damaged or doubled flit {flit:?}"));
            under_way.drain(..place);
        }
        assert_eq!(
            under_way.pop_front(),
            Some((vc, flit)),
            "cycle {}",
            self.cycle
        );
    }

    fn run(&mut self, cycles: usize) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Runs until both ends are up; panics after `limit` cycles.
    fn until_up(&mut self, limit: usize) {
        for _ in 0..limit {
            if self.states() == [UP; 2] {
                return;
            }
            self.step();
        }
        panic!("cycle {}: states {:?}", self.cycle, self.states());
    }

    /// Runs until all flits have arrived.
    fn until_empty(&mut self, limit: usize) {
        for _ in 0..limit {
            if self
                .ends
                .iter()
                .all(|end| end.to_send.is_empty() && end.under_way.is_empty())
            {
                return;
            }
            self.step();
        }
        let left = [0, 1].map(|end| self.ends[end].under_way.len());
        panic!("{left:?} flits do not arrive; states {:?}", self.states());
    }
}

/// A pair that is up.
fn up(latency: usize, seed: u64) -> Pair {
    let mut pair = Pair::new(latency, seed);
    pair.enable(0, true);
    pair.enable(1, true);
    pair.until_up(200);
    pair
}

proptest! {
    #![proptest_config(cases(24))]
    #[test]
    fn hw3_flits_arrive_in_order_whenever_the_ends_are_enabled(
        latency in 1usize..=8,
        skew in 0usize..150,
        first in 0usize..2,
        flits in 1usize..400,
        pops in [0.1f64..=1.0, 0.1f64..=1.0],
        seed: u64,
    ) {
        let mut pair = Pair::new(latency, seed);
        for (end, pops) in pops.into_iter().enumerate() {
            pair.ends[end].pops = pops;
        }
        pair.queue(flits);
        pair.enable(first, true);
        pair.run(skew);
        prop_assert_eq!(pair.ends[0].received + pair.ends[1].received, 0);
        pair.enable(1 - first, true);
        pair.until_empty(20_000);
        prop_assert_eq!(pair.ends[0].received, flits);
        prop_assert_eq!(pair.ends[1].received, flits);
        prop_assert!(pair.ends.iter().all(|end| end.reports.is_empty()));
    }

    #[test]
    fn hw3_one_end_reset_or_disabled_alone_comes_back(
        latency in 1usize..=8,
        end in 0usize..2,
        reset: bool,
        away in 1usize..120,
        at in 0usize..150,
        seed: u64,
    ) {
        let mut pair = up(latency, seed);
        pair.whole = false;
        pair.queue(400);
        pair.run(at);
        if reset {
            let port = pair.ports.reset;
            pair.ends[end].unit.set(port, 0, 0);
            pair.ends[end].credits = [0; VCS];
            pair.ends[end].buffered = [0; VCS];
            pair.run(away);
            pair.ends[end].unit.set(port, 0, 1);
        } else {
            pair.enable(end, false);
            pair.run(away);
            pair.enable(end, true);
        }
        // A link that was away shorter than the wires are long is still up at the other end.
        pair.run(2 * latency + 4);
        pair.until_up(400);
        // Nothing of the time before is left: all that is sent from now on arrives.
        pair.ends.iter_mut().for_each(|end| end.to_send.clear());
        pair.run(4 * latency + 8);
        pair.ends.iter_mut().for_each(|end| end.under_way.clear());
        pair.whole = true;
        pair.queue(100);
        pair.until_empty(4_000);
    }
}

#[test]
fn hw3_disabled_end_sends_zeros_and_its_peer_waits() {
    let mut pair = Pair::new(3, 1);
    pair.enable(0, true);
    pair.queue(5);
    pair.run(300);
    assert_eq!(pair.states(), [INIT, RESET]);
    assert_eq!(pair.ends[1].unit.get(pair.ports.link_ctl_o, 0), 0);
}

#[test]
fn hw3_init_lasts_longer_than_what_is_on_the_wires() {
    let mut pair = Pair::new(2, 1);
    pair.enable(0, true);
    pair.enable(1, true);
    let mut cycles = [0; 2];
    while pair.states() != [UP; 2] {
        pair.step();
        for (cycles, state) in cycles.iter_mut().zip(pair.states()) {
            *cycles += u32::from(state == INIT);
        }
    }
    assert!(cycles.iter().all(|&cycles| cycles >= 32), "{cycles:?}");
}

#[test]
fn hw3_flits_that_find_the_link_down_are_reported_once() {
    let mut pair = up(6, 3);
    pair.whole = false;
    pair.queue(100);
    pair.run(30);
    pair.enable(1, false);
    pair.run(40);
    assert_eq!(pair.ends[1].reports, [ErrorReason::LinkDown]);
    assert!(pair.ends[0].reports.is_empty());
}

#[test]
fn hw3_link_opens_only_over_empty_buffers() {
    let mut pair = Pair::new(2, 1);
    pair.ends[1].busy = true;
    pair.enable(0, true);
    pair.enable(1, true);
    pair.run(300);
    assert_eq!(pair.states()[1], INIT);
    pair.ends[1].busy = false;
    pair.until_up(20);
}

/// Flips a wire of a word between two ends under traffic: what arrives is what was sent, it is reported as `reason`
/// within a few cycles, and the link is up again with all its credits.
fn flip_and_recover(victim: Victim, bit: usize, reason: Option<ErrorReason>) {
    let latency = 1 + bit % 8;
    let mut pair = up(latency, bit as u64);
    pair.whole = false;
    pair.queue(60);
    pair.run(20);
    pair.flip = Some((0, victim, bit));
    pair.run(60);
    assert!(pair.flip.is_none(), "{victim:?}: no such word was sent");
    let what = format!("{victim:?}, bit {bit}");
    let reports = &pair.ends[1].reports;
    assert_eq!(reports.first(), reason.as_ref(), "{what}: {reports:?}");
    if let Some(reported) = pair.ends[1].reported {
        assert!(
            reported <= pair.flipped + latency as u64 + 3,
            "{what}: reported in cycle {reported}"
        );
    }
    pair.until_up(400);
    pair.ends.iter_mut().for_each(|end| end.to_send.clear());
    pair.run(50);
    pair.ends.iter_mut().for_each(|end| end.under_way.clear());
    pair.whole = true;
    pair.queue(40);
    pair.until_empty(2_000);
    for end in &mut pair.ends {
        end.pops = 1.0;
    }
    pair.run(200);
    for end in &pair.ends {
        assert_eq!(end.credits, [DEPTH; VCS], "{what}: credits that are gone");
    }
}

#[test]
fn hw3_every_flipped_bit_of_a_flit_is_noticed_and_the_link_recovers() {
    for bit in 0..32 + 128 {
        let side = SIDE_BAND.contains(&bit);
        let reason = if side {
            ErrorReason::LinkSideBand
        } else {
            ErrorReason::LinkCrc
        };
        flip_and_recover(Victim::Flit, bit, Some(reason));
    }
}

#[test]
fn hw3_every_flipped_wire_beside_a_credit_loses_no_credit() {
    for bit in SIDE_BAND {
        flip_and_recover(Victim::Credit, bit, Some(ErrorReason::LinkSideBand));
    }
}

#[test]
fn hw3_every_flipped_wire_of_a_quiet_word_is_noticed_or_harmless() {
    for bit in 0..32 {
        let side = SIDE_BAND.contains(&bit);
        flip_and_recover(
            Victim::Quiet,
            bit,
            side.then_some(ErrorReason::LinkSideBand),
        );
    }
}

/// Bits of a flit that its CRC covers: data, then channel, head, tail, err and the channel's high bit; then its 16 check
/// bits.
const COVERED: usize = 32 * FLIT_WORDS + 7;

/// Whether a flit of which these bits are other ones passes for good: the difference of the CRCs then.
fn passes(bits: &[usize]) -> Option<u32> {
    let (mut data, mut control, mut check) = ([0; FLIT_WORDS], 0u8, 0u16);
    for &bit in bits {
        match bit {
            _ if bit < 32 * FLIT_WORDS => data[bit / 32] ^= 1 << (bit % 32),
            _ if bit < COVERED => control ^= 1 << (bit - 32 * FLIT_WORDS),
            _ => check ^= 1 << (bit - COVERED),
        }
    }
    let after = difference(0, control, &data);
    (u16::from(fold(after)) == check).then_some(after)
}

/// `count` different bits of a flit.
fn some_bits(rng: &mut fastrand::Rng, count: usize) -> Vec<usize> {
    let mut bits: Vec<usize> = Vec::new();
    while bits.len() < count {
        let bit = rng.usize(0..COVERED + 16);
        if !bits.contains(&bit) {
            bits.push(bit);
        }
    }
    bits
}

/// The bound: one flit in 200 at most, of those that differ in as many bits, where 8 bits of a random function would miss
/// one in 256; none that differs in one bit.
#[test]
fn hw3_x5_check_of_a_flit_misses_at_most_one_damage_in_200() {
    let mut rng = fastrand::Rng::with_seed(8);
    assert!((0..COVERED + 16).all(|bit| passes(&[bit]).is_none()));
    let pairs = (0..COVERED + 16).flat_map(|a| (0..a).map(move |b| [a, b]));
    let (mut missed, mut all) = (0, 0);
    for pair in pairs {
        all += 1;
        missed += usize::from(passes(&pair).is_some());
    }
    println!("2 bits: {missed} of {all} are missed");
    assert!(missed * 200 <= all, "2 bits: {missed} of {all}");
    for count in [3, 4, 5, 8, 16, 64] {
        let all = 100_000;
        let missed = (0..all)
            .filter(|_| passes(&some_bits(&mut rng, count)).is_some())
            .count();
        println!("{count} bits: {missed} of {all} are missed");
        assert!(missed * 200 <= all, "{count} bits: {missed} of {all}");
    }
}

/// The RTL misses what the reference says and nothing else; what the check of a flit misses is told by the next.
#[test]
fn hw3_x5_what_the_check_of_a_flit_misses_is_told_by_the_next_flit() {
    let mut rng = fastrand::Rng::with_seed(9);
    let mut found = [0; 2];
    while found.iter().any(|&count| count < 40) {
        let mut bits = some_bits(&mut rng, 4);
        bits.retain(|&bit| bit < 32 * FLIT_WORDS);
        let missed = passes(&bits);
        let kind = usize::from(missed.is_some());
        // The difference after the next flit, which is whole.
        let next = missed.map(|after| fold(difference(after, 0, &[0; FLIT_WORDS])));
        if bits.is_empty() || found[kind] == 40 || next == Some(0) {
            continue;
        }
        found[kind] += 1;
        let latency = rng.usize(1..=8);
        let mut pair = up(latency, rng.u64(..));
        pair.whole = false;
        pair.queue(80);
        pair.run(20);
        let mut mask = [0; FLIT_WORDS];
        bits.iter()
            .for_each(|&bit| mask[bit / 32] ^= 1 << (bit % 32));
        pair.damage = Some(mask);
        pair.run(80);
        let told = pair.damaged[kind] + latency as u64;
        let reported = pair.ends[1].reported.expect("a report");
        assert_eq!(pair.ends[1].reports[0], ErrorReason::LinkCrc, "{bits:?}");
        assert!(
            (told..=told + 3).contains(&reported),
            "{bits:?}: {:?}, reported in {reported}",
            pair.damaged
        );
    }
}

#[test]
fn crc_reference_gives_the_check_value_of_the_standard() {
    let crc = b"123456789"
        .iter()
        .fold(!0, |crc, &byte| crc_byte(crc, byte));
    assert_eq!(!crc, 0xcbf4_3926);
}

#[test]
fn hw3_check_wires_carry_sequence_number_and_folded_crc() {
    let mut pair = up(1, 5);
    pair.queue(900);
    let mut reference = LinkCheck::default();
    // The sequence number has 8 bits.
    for _ in 0..3 * 256 {
        let word = loop {
            pair.step();
            let word = *pair.wires[0].back().expect("a word each cycle");
            if word.ctl >> 2 & 1 != 0 {
                break word;
            }
        };
        let check = reference.next(word.ctl as u32, &word.data);
        assert_eq!(word.ctl >> 9 & 0xffff, u64::from(check));
    }
}

#[test]
fn pair_checker_reports_a_flit_that_was_not_sent() {
    let mut pair = up(2, 9);
    pair.queue(10);
    pair.step();
    while pair.ends[0].under_way.is_empty() {
        pair.step();
    }
    pair.ends[0].under_way[0].1.data[0] ^= 1;
    let noticed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pair.run(10)));
    assert!(noticed.is_err());
}
