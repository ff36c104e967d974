// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines of `gyre_network` under raw traffic: every packet once, in order, whole (HW-3).

use std::cell::RefCell;
use std::rc::Rc;

use gyre_layout::ErrorReason;
use gyre_rtl_tests::cases;
use gyre_rtl_tests::fabric::{Config, Fabric, Report, Trouble, Willingness, WireTap, Word};
use gyre_rtl_tests::link_check::{LinkCheck, difference, fold};
use gyre_rtl_tests::packet::{CLASSES, EDGE_LENGTHS, Flit};
use gyre_rtl_tests::routes::Shape;
use gyre_rtl_tests::scoreboard::{Discrepancy, Scoreboard};
use proptest::prelude::*;

const RING: bool = true;
const LINE: bool = false;

/// A machine of 16-byte flits with the smallest buffers of a link input that there may be: 116 flits.
fn config(dims: &[(u8, bool)], latency: usize, seed: u64) -> Config {
    Config {
        unit: if dims.len() < 3 {
            "network2"
        } else {
            "network3"
        },
        flit_bytes: 16,
        inj_depth: 40,
        shape: Shape::new(dims),
        latency,
        seed,
    }
}

/// The machine with its links up.
fn machine(config: Config) -> Fabric {
    let mut fabric = Fabric::new(config);
    fabric
        .bring_up()
        .unwrap_or_else(|trouble| panic!("links do not come up: {trouble}"));
    fabric
}

/// Sends a packet between a random pair in a random class, every second of an edge length; with `deposits`
/// every second request leaves copies on its way, else every second request or response is dynamic. Returns its id.
fn random_packet(fabric: &mut Fabric, deposits: bool) -> u32 {
    let nodes = fabric.len();
    let src = fabric.rng().usize(0..nodes);
    let dst = (src + fabric.rng().usize(1..nodes)) % nodes;
    let class = fabric.rng().usize(0..CLASSES);
    let deposit = deposits && class == 0 && fabric.rng().bool();
    let len = match fabric.rng().usize(0..12) {
        edge @ 0..6 => EDGE_LENGTHS[edge],
        _ => fabric.rng().u16(0..=512),
    };
    if class < 2 && !deposit && fabric.rng().bool() {
        let order = fabric.rng().u8(0..=1);
        return fabric.send_dynamic((src, dst), class, len, 0, order);
    }
    fabric.send_with(src, dst, class, len, deposit)
}

/// Sends `count` random packets without copies.
fn random_packets(fabric: &mut Fabric, count: usize) {
    for _ in 0..count {
        random_packet(fabric, false);
    }
}

/// Shapes of dimensions of 1, 2, 3, 4 and 5 nodes, rings and lines.
const SHAPES: &[&[(u8, bool)]] = &[
    &[(2, RING)],
    &[(2, LINE)],
    &[(3, RING)],
    &[(4, LINE)],
    &[(5, RING)],
    &[(1, RING), (3, RING)],
    &[(2, RING), (3, LINE)],
    &[(4, RING), (2, LINE)],
    &[(3, RING), (3, RING)],
    &[(4, RING), (4, RING)],
    &[(1, RING), (1, LINE), (4, RING)],
    &[(2, RING), (2, RING), (2, RING)],
    &[(2, LINE), (3, RING), (2, RING)],
    &[(4, RING), (3, LINE), (1, LINE)],
];

#[test]
fn hw3_all_pairs_in_every_shape_and_class_with_edge_lengths() {
    for (index, dims) in SHAPES.iter().enumerate() {
        let mut fabric = machine(config(dims, 1 + index % 4, index as u64));
        let nodes = fabric.len();
        let mut sent = 0;
        for src in 0..nodes {
            for dst in (0..nodes).filter(|&dst| dst != src) {
                for class in 0..CLASSES {
                    let len = EDGE_LENGTHS[(src + dst + class) % EDGE_LENGTHS.len()];
                    fabric.send(src, dst, class, len);
                    sent += 1;
                }
            }
        }
        fabric
            .drain(40_000)
            .unwrap_or_else(|trouble| panic!("{dims:?}: {trouble}"));
        assert_eq!(fabric.scoreboard.delivered(), sent);
    }
}

proptest! {
    #![proptest_config(cases(30))]
    #[test]
    fn hw3_random_traffic_to_stalling_receivers_arrives_in_order(
        shape in prop::sample::select(SHAPES),
        latency in 1usize..=6,
        packets in 1usize..300,
        inject in 0.1f64..=1.0,
        eject in [0.05f64..=1.0, 0.05f64..=1.0, 0.05f64..=1.0, 0.05f64..=1.0],
        seed: u64,
    ) {
        let mut fabric = machine(config(shape, latency, seed));
        fabric.willing = Willingness { inject, eject };
        random_packets(&mut fabric, packets);
        let run = fabric.drain(200_000);
        prop_assert!(run.is_ok(), "{}", run.unwrap_err());
        prop_assert_eq!(fabric.scoreboard.delivered(), packets);
    }
}

/// Flits of 8 bytes, in the smallest buffers for them.
fn flits_of_8_bytes(seed: u64) -> Config {
    Config {
        unit: "network1_flit8",
        flit_bytes: 8,
        inj_depth: 70,
        ..config(&[(5, RING)], 2, seed)
    }
}

/// Flits of 32 bytes over the smallest buffers there may be, 2 flits of injection.
fn smallest_buffers(dims: &[(u8, bool)], seed: u64) -> Config {
    Config {
        unit: "network2_flit32",
        flit_bytes: 32,
        inj_depth: 2,
        ..config(dims, 1, seed)
    }
}

#[test]
fn hw1_flits_of_8_and_32_bytes_carry_the_same_packets() {
    for seed in 0..4 {
        for config in [
            flits_of_8_bytes(seed),
            smallest_buffers(&[(3, RING), (4, LINE)], seed),
            smallest_buffers(&[(4, RING), (1, LINE)], seed),
        ] {
            let unit = config.unit;
            let mut fabric = machine(config);
            fabric.willing.eject = [0.5, 0.7, 0.6, 0.9];
            random_packets(&mut fabric, 300);
            fabric
                .drain(100_000)
                .unwrap_or_else(|trouble| panic!("{unit}: {trouble}"));
        }
    }
}

/// A machine that leaves copies of packets, and random packets of which every second does so.
fn deposit_machine(
    dims: &[(u8, bool)],
    latency: usize,
    seed: u64,
    packets: usize,
) -> (Fabric, usize) {
    let mut fabric = machine(Config {
        unit: "network2_deposit",
        ..config(dims, latency, seed)
    });
    let mut expected = 0;
    for _ in 0..packets {
        let id = random_packet(&mut fabric, true);
        expected += fabric.scoreboard.recipients(id);
    }
    (fabric, expected)
}

#[test]
fn ak4_deposit_leaves_a_copy_at_every_node_on_the_way() {
    for dims in [
        &[(5u8, RING)] as &[_],
        &[(5, LINE)],
        &[(4, RING), (3, LINE)],
    ] {
        let mut fabric = machine(Config {
            unit: "network2_deposit",
            ..config(dims, 2, 7)
        });
        let nodes = fabric.len();
        let mut expected = 0;
        for src in 0..nodes {
            for dst in (0..nodes).filter(|&dst| dst != src) {
                let id = fabric.send_with(src, dst, 0, 100, true);
                expected += fabric.scoreboard.recipients(id);
            }
        }
        assert!(
            expected > nodes * (nodes - 1),
            "no route has a node in between"
        );
        fabric
            .drain(40_000)
            .unwrap_or_else(|trouble| panic!("{dims:?}: {trouble}"));
        assert_eq!(fabric.scoreboard.delivered(), expected);
    }
}

proptest! {
    #![proptest_config(cases(20))]
    #[test]
    fn x3_deposit_and_other_packets_mix_without_deadlock(
        shape in prop::sample::select(vec![
            &[(5u8, RING)] as &'static [_], &[(4, RING), (4, RING)], &[(3, LINE), (5, RING)],
        ]),
        latency in 1usize..=6,
        packets in 1usize..300,
        inject in 0.3f64..=1.0,
        eject in [0.05f64..=1.0, 0.05f64..=1.0, 0.05f64..=1.0, 0.05f64..=1.0],
        seed: u64,
    ) {
        let (mut fabric, expected) = deposit_machine(shape, latency, seed, packets);
        fabric.willing = Willingness { inject, eject };
        let run = fabric.drain(400_000);
        prop_assert!(run.is_ok(), "{}", run.unwrap_err());
        prop_assert_eq!(fabric.scoreboard.delivered(), expected);
    }
}

/// Every node sends long packets of both classes `steps` nodes on, to receivers that are slow to take them.
fn tornado_drains(config: Config, steps: usize) {
    let shape = config.shape.clone();
    let mut fabric = machine(config);
    fabric.willing.eject = [0.3; CLASSES];
    let nodes = fabric.len();
    for round in 0..24 {
        for src in 0..nodes {
            let dst = (src + steps) % nodes;
            fabric.send(src, dst, round % CLASSES, 512);
            fabric.send_dynamic((src, dst), round % 2, 512, 0, 0);
        }
    }
    fabric
        .drain(200_000)
        .unwrap_or_else(|trouble| panic!("{shape:?}: {trouble}"));
}

#[test]
fn x3_smallest_buffers_do_not_deadlock() {
    for (dims, steps) in [(&[(5u8, RING)] as &[_], 2), (&[(4, RING), (3, RING)], 6)] {
        tornado_drains(smallest_buffers(dims, 12), steps);
    }
}

#[test]
fn hw3_packets_in_transit_and_injected_here_take_turns_on_a_link() {
    // Nodes 0 and 1 both send over the link from 1 to 2.
    let mut fabric = machine(config(&[(3, LINE)], 2, 6));
    let ids: Vec<[u32; 2]> = (0..60)
        .map(|_| [0, 1].map(|src| fabric.send(src, 2, 0, 512)))
        .collect();
    let order = Rc::new(RefCell::new(Vec::new()));
    let seen = order.clone();
    fabric.eject_tap = Some(Box::new(move |flit| {
        if flit.head {
            seen.borrow_mut().push(flit.dbg);
        }
        vec![*flit]
    }));
    fabric
        .drain(20_000)
        .unwrap_or_else(|trouble| panic!("{trouble}"));
    let (mut transit, mut here) = (0i32, 0i32);
    for id in order.borrow().iter().skip(2).take(100) {
        if ids.iter().any(|pair| pair[0] == *id) {
            transit += 1;
        } else {
            here += 1;
        }
        // The oldest goes first; packets of one unit of age, 256 cycles, are 8 at most.
        assert!((transit - here).abs() <= 8, "{transit} in transit, {here}");
    }
}

#[test]
fn hw3_stalls_are_counted_when_flits_wait_for_credit_only() {
    let mut free = machine(config(&[(2, LINE)], 2, 6));
    for _ in 0..20 {
        free.send(0, 1, 0, 512);
    }
    free.drain(2_000)
        .unwrap_or_else(|trouble| panic!("{trouble}"));
    assert_eq!(free.stalls, 0);

    let mut blocked = machine(config(&[(2, LINE)], 2, 6));
    blocked.willing.eject = [0.0; CLASSES];
    for _ in 0..20 {
        blocked.send(0, 1, 0, 512);
    }
    for _ in 0..1_000 {
        blocked.step().unwrap_or_else(|trouble| panic!("{trouble}"));
    }
    // From when what requests may use of the buffer at the other end is full.
    assert!((850..1_000).contains(&blocked.stalls), "{}", blocked.stalls);
}

#[test]
fn x3_saturated_rings_do_not_deadlock() {
    // Tornado: every node sends half way round in the same direction, in long packets, until every channel of the
    // ring is held.
    for (dims, steps) in [
        (&[(5u8, RING)] as &[_], 2),
        (&[(4, RING), (4, RING)], 5),
        (&[(3, RING), (3, RING)], 4),
        (&[(4, RING), (2, RING), (2, RING)], 2),
    ] {
        tornado_drains(config(dims, 3, 11), steps);
    }
}

#[test]
fn hw3_hot_spot_drains() {
    let mut fabric = machine(config(&[(4, RING), (4, RING)], 2, 3));
    fabric.willing.eject = [0.2, 0.9, 0.5, 0.5];
    for round in 0..12 {
        for src in 1..fabric.len() {
            fabric.send(src, 0, round % 2, EDGE_LENGTHS[round % 6]);
            fabric.send(src, 0, 0, 512);
        }
    }
    fabric
        .drain(200_000)
        .unwrap_or_else(|trouble| panic!("{trouble}"));
}

#[test]
fn hw3_blocked_class_does_not_block_the_other() {
    for blocked in 0..2 {
        let mut fabric = machine(config(&[(3, RING), (3, RING)], 2, 9));
        fabric.willing.eject[blocked] = 0.0;
        let nodes = fabric.len();
        // Enough to fill every buffer of the blocked class.
        for round in 1..nodes {
            for src in 0..nodes {
                for _ in 0..6 {
                    fabric.send(src, (src + round) % nodes, blocked, 512);
                }
            }
        }
        for _ in 0..4_000 {
            fabric.step().unwrap_or_else(|trouble| panic!("{trouble}"));
        }
        assert!(!fabric.all_injected(), "the blocked class is not backed up");
        assert_eq!(fabric.scoreboard.delivered(), 0);
        let mut free = 0;
        for round in 1..nodes {
            for src in 0..nodes {
                fabric.send(src, (src + round) % nodes, 1 - blocked, 200);
                free += 1;
            }
        }
        for _ in 0..6_000 {
            fabric.step().unwrap_or_else(|trouble| panic!("{trouble}"));
        }
        assert_eq!(fabric.scoreboard.delivered(), free, "blocked {blocked}");
        fabric.willing.eject = [1.0; CLASSES];
        fabric
            .drain(200_000)
            .unwrap_or_else(|trouble| panic!("{trouble}"));
    }
}

#[test]
fn hw3_one_virtual_channel_fills_a_link_within_its_buffers_latency() {
    // 16 flits a channel cover 2 L + 4 cycles up to L = 6.
    for latency in 1..=6 {
        let mut fabric = machine(config(&[(2, LINE)], latency, 1));
        let start = fabric.cycle();
        for _ in 0..60 {
            fabric.send(0, 1, 1, 512);
        }
        fabric
            .drain(10_000)
            .unwrap_or_else(|trouble| panic!("{trouble}"));
        let cycles = fabric.last_delivery - start;
        let flits = 60 * 34;
        assert!(
            cycles <= flits + latency as u64 + 10,
            "latency {latency}: {cycles} cycles for {flits} flits"
        );
    }
}

#[test]
fn hw3_hop_takes_at_most_two_cycles_beyond_the_link() {
    for latency in [1, 4] {
        let mut times = Vec::new();
        for hops in 1..=3 {
            let mut fabric = machine(config(&[(4, LINE)], latency, 1));
            let start = fabric.cycle();
            fabric.send(0, hops, 0, 0);
            fabric
                .drain(1_000)
                .unwrap_or_else(|trouble| panic!("{trouble}"));
            times.push(fabric.last_delivery - start);
        }
        let hop = latency as u64 + 2;
        assert!(times[1] - times[0] <= hop, "{times:?}");
        assert!(times[2] - times[1] <= hop, "{times:?}");
    }
}

/// Packets that cannot come any more, once the machine is idle: overtaken or still outstanding.
fn not_delivered(fabric: &Fabric) -> usize {
    let scoreboard = &fabric.scoreboard;
    scoreboard.lost.len() + scoreboard.poisoned.len() + scoreboard.outstanding().len()
}

/// Runs a machine with traffic while `disturb` breaks something, then checks that nothing was lost
/// without a report and that the machine works as before. Gives the reports.
fn survives(name: &str, config: Config, mut disturb: impl FnMut(&mut Fabric, u64)) -> Vec<Report> {
    let panic = |trouble: Trouble| -> ! { panic!("{name}: {trouble}") };
    let mut fabric = machine(config);
    fabric.scoreboard = Scoreboard::lossy();
    fabric.willing.eject = [0.6, 0.8, 0.7, 0.9];
    random_packets(&mut fabric, 400);
    for cycle in 0..3_000 {
        disturb(&mut fabric, cycle);
        fabric.step().unwrap_or_else(|trouble| panic(trouble));
    }
    fabric.wire_tap = None;
    for _ in 0..20_000 {
        if fabric.idle() && fabric.all_injected() && fabric.links_up() {
            break;
        }
        fabric.step().unwrap_or_else(|trouble| panic(trouble));
    }
    assert!(fabric.links_up(), "{name}: links stay down");
    fabric.settle(0).unwrap_or_else(|trouble| panic(trouble));
    assert_eq!(
        fabric.scoreboard.delivered() + not_delivered(&fabric),
        400,
        "{name}"
    );
    if not_delivered(&fabric) != 0 {
        assert!(
            !fabric.reports.is_empty(),
            "{name}: packets lost without a report"
        );
    }
    // The same machine without faults is whole.
    fabric.scoreboard = Scoreboard::default();
    let reports = std::mem::take(&mut fabric.reports);
    random_packets(&mut fabric, 200);
    fabric
        .drain(60_000)
        .unwrap_or_else(|trouble| panic(trouble));
    reports
}

#[test]
fn hw3_link_disabled_in_mid_flight_poisons_or_reports_and_reopens() {
    for latency in [1, 3, 6] {
        for port in 0..4 {
            let config = config(&[(3, RING), (3, RING)], latency, port);
            let reports = survives("link disabled", config, |fabric, cycle| match cycle {
                120 => {
                    let others = fabric.linked_ports(4) & !(1 << port);
                    fabric.enable_links(4, others);
                }
                500 => {
                    let all = fabric.linked_ports(4);
                    fabric.enable_links(4, all);
                }
                _ => {}
            });
            let down = |report: &Report| report.reason == ErrorReason::LinkDown;
            assert!(reports.iter().all(down), "{reports:?}");
            assert!(!reports.is_empty(), "nothing was cut");
        }
    }
}

#[test]
fn x5_node_that_moves_under_traffic_breaks_no_assertion() {
    let mut refused = 0;
    for seed in 0..24 {
        let mut fabric = machine(config(&[(4, RING), (3, RING)], 2, seed));
        // Where packets come out is of no interest here.
        fabric.eject_tap = Some(Box::new(|_| Vec::new()));
        random_packets(&mut fabric, 600);
        for cycle in 0..3_000 {
            if cycle % 40 == 39 {
                let nodes = fabric.len();
                let (node, other) = (fabric.rng().usize(0..nodes), fabric.rng().usize(0..nodes));
                fabric.misplace(node, other);
            }
            fabric
                .step()
                .unwrap_or_else(|trouble| panic!("seed {seed}: {trouble}"));
        }
        let unreachable = |report: &&Report| report.reason == ErrorReason::RouteUnreachable;
        refused += fabric.reports.iter().filter(unreachable).count();
    }
    assert!(refused > 0, "no packet was to go back");
}

#[test]
fn hw3_node_reset_alone_in_mid_flight_does_not_disturb_the_rest() {
    for latency in [1, 2, 5] {
        let config = config(&[(3, RING), (2, RING)], latency, 77);
        survives("node reset", config, |fabric, cycle| match cycle {
            90 => fabric.hold_in_reset(2, true),
            150 => fabric.hold_in_reset(2, false),
            _ => {}
        });
    }
}

/// Flips bit `bit` of what a wire carries with the first flit at or after `from`.
fn flip_once(from: u64, node: usize, bit: usize) -> WireTap {
    let mut done = false;
    Box::new(move |cycle, sender, _, word| {
        if !done && cycle >= from && sender == node && word.valid() {
            done = true;
            if bit < 128 {
                word.data[bit / 32] ^= 1 << (bit % 32);
            } else {
                word.ctl ^= 1 << (bit - 128);
            }
        }
    })
}

#[test]
fn hw3_flipped_wire_is_reported_and_no_damaged_packet_looks_whole() {
    // Data, virtual channel, head, tail, err, check; then state, valid, credit, its channel and the parity.
    for bit in [
        0,
        63,
        127,
        128 + 3,
        128 + 6,
        128 + 7,
        128 + 8,
        128 + 12,
        128 + 22,
        128,
        128 + 1,
        128 + 2,
        128 + 25,
        128 + 27,
        128 + 31,
    ] {
        for latency in [1, 4] {
            let config = config(&[(3, RING), (2, LINE)], latency, bit as u64);
            let reports = survives("bit flipped", config, |fabric, cycle| {
                if cycle == 60 {
                    fabric.wire_tap = Some(flip_once(fabric.cycle(), 1, bit));
                }
            });
            let reason = match bit {
                128..=130 | 153..=157 | 159 => ErrorReason::LinkSideBand,
                _ => ErrorReason::LinkCrc,
            };
            let found = |report: &&Report| report.reason == reason;
            assert_eq!(reports.iter().filter(found).count(), 1, "{reports:?}");
        }
    }
}

/// Damage of a flit that its own 8 bits of the CRC miss, and those of the next flit tell.
fn missed_damage(rng: &mut fastrand::Rng) -> [u32; 4] {
    loop {
        let mask: [u32; 4] = std::array::from_fn(|_| rng.u32(..));
        let after = difference(0, 0, &mask);
        if fold(after) == 0 && fold(difference(after, 0, &[0; 4])) != 0 {
            return mask;
        }
    }
}

#[test]
fn hw3_x5_damage_missed_by_one_flits_check_is_caught_by_a_later_flit() {
    let mut rng = fastrand::Rng::with_seed(3);
    for number in 0..24 {
        let mask = missed_damage(&mut rng);
        let config = config(&[(3, RING), (2, LINE)], 1 + number % 3, number as u64);
        let reports = survives("damage that one check misses", config, |fabric, cycle| {
            if cycle == 60 {
                let mut done = false;
                fabric.wire_tap = Some(Box::new(move |_, sender, _, word| {
                    // Behind the first flit, which says whose packet it is, and before the last.
                    let inside = word.valid() && word.ctl & (1 << 6 | 1 << 7) == 0;
                    if !done && sender == 1 && inside {
                        done = true;
                        (0..4).for_each(|i| word.data[i] ^= mask[i]);
                    }
                }));
            }
        });
        let crc = |report: &&Report| report.reason == ErrorReason::LinkCrc;
        assert_eq!(reports.iter().filter(crc).count(), 1, "{reports:?}");
    }
}

/// Changes the words of one link by `change`, with the check bits of a sender that sends them so.
/// Arguments of `change`: flits since the link came up, the word.
fn forged(node: usize, mut change: impl FnMut(usize, &mut Word) + 'static) -> WireTap {
    let mut check = LinkCheck::default();
    let mut flits = 0;
    Box::new(move |_, sender, port, word| {
        if (sender, port) != (node, 0) {
            return;
        }
        if word.ctl & 3 != 3 {
            (check, flits) = (LinkCheck::default(), 0);
            return;
        }
        change(flits, word);
        if word.valid() {
            flits += 1;
            word.ctl &= !(0xffff << 9);
            word.ctl |= check.next(word.ctl, &word.data[..4]) << 9;
        }
        word.seal(0);
    })
}

#[test]
fn hw3_flits_that_break_the_protocol_are_reported_and_contained() {
    const HEAD: u32 = 1 << 6;
    // A head inside a packet, a packet without head, a flit on the virtual channel of another class. Each once.
    type Change = fn(&mut Word) -> bool;
    let changes: [Change; 3] = [
        |word| {
            let inside = word.ctl & HEAD == 0;
            word.ctl |= HEAD;
            inside
        },
        |word| {
            let head = word.ctl & HEAD != 0;
            word.ctl &= !HEAD;
            head
        },
        |word| {
            // Of system packets on their dateline.
            let inside = word.ctl & HEAD == 0 && word.ctl >> 3 & 7 != 7;
            if inside {
                word.ctl = word.ctl & !(1 << 30) | 7 << 3;
            }
            inside
        },
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let config = config(&[(3, RING), (2, LINE)], 2, index as u64);
        let reports = survives("protocol", config, |fabric, cycle| {
            let mut done = false;
            if cycle == 0 {
                fabric.wire_tap = Some(forged(1, move |flits, word| {
                    if !done && flits > 30 && word.valid() {
                        done = change(word);
                    }
                }));
            }
        });
        let protocol = |report: &&Report| report.reason == ErrorReason::LinkProtocol;
        let found: Vec<&Report> = reports.iter().filter(protocol).collect();
        assert_eq!(found.len(), 1, "change {index}: {reports:?}");
        assert_eq!((found[0].node, found[0].place), (2, 1), "change {index}");
    }
}

#[test]
fn hw3_flit_sent_without_credit_is_reported_and_contained() {
    let mut fabric = machine(config(&[(2, LINE)], 2, 8));
    fabric.scoreboard = Scoreboard::lossy();
    fabric.willing.eject = [0.0; CLASSES];
    let mut silent = 0;
    let (mut vc, mut dbg) = (0, 0);
    fabric.wire_tap = Some(forged(0, move |flits, word| {
        if word.valid() {
            (vc, dbg) = (word.ctl & 7 << 3, word.dbg);
        } else if flits > 16 {
            // All that requests may use is used up; flits beyond it, until nothing is left.
            silent += 1;
            if silent >= 50 {
                word.ctl |= 1 << 2 | vc;
                word.dbg = dbg;
            }
        }
    }));
    for _ in 0..4 {
        fabric.send(0, 1, 0, 512);
    }
    for _ in 0..400 {
        fabric.step().unwrap_or_else(|trouble| panic!("{trouble}"));
    }
    let report = fabric.reports[0];
    assert_eq!(
        (report.node, report.place, report.reason),
        (1, 1, ErrorReason::LinkProtocol)
    );
    fabric.wire_tap = None;
    fabric.willing.eject = [1.0; CLASSES];
    for _ in 0..400 {
        fabric.step().unwrap_or_else(|trouble| panic!("{trouble}"));
    }
    fabric.reports.clear();
    fabric.scoreboard = Scoreboard::default();
    random_packets(&mut fabric, 50);
    fabric
        .drain(20_000)
        .unwrap_or_else(|trouble| panic!("{trouble}"));
}

#[test]
fn hw3_flipped_data_raises_the_crc_error_at_the_receiving_port() {
    let mut fabric = machine(config(&[(2, LINE)], 2, 1));
    fabric.scoreboard = Scoreboard::lossy();
    fabric.wire_tap = Some(flip_once(fabric.cycle(), 0, 17));
    fabric.send(0, 1, 0, 64);
    for _ in 0..300 {
        fabric.step().unwrap_or_else(|trouble| panic!("{trouble}"));
    }
    assert_eq!(fabric.scoreboard.delivered(), 0);
    let report = fabric.reports[0];
    assert_eq!(
        (report.node, report.place, report.reason),
        (1, 1, ErrorReason::LinkCrc)
    );
}

#[test]
fn hw3_packet_to_a_node_outside_the_machine_is_dropped_and_reported() {
    let mut fabric = machine(config(&[(3, RING)], 1, 1));
    fabric.scoreboard = Scoreboard::lossy();
    let id = fabric.send(0, 1, 0, 96);
    // For a node that knows of no other, every destination but its own is outside.
    fabric.isolate(1);
    for _ in 0..100 {
        fabric.step().unwrap_or_else(|trouble| panic!("{trouble}"));
    }
    assert_eq!(fabric.scoreboard.outstanding(), [id]);
    let reasons: Vec<_> = fabric.reports.iter().map(|report| report.reason).collect();
    assert_eq!(reasons, [ErrorReason::RouteUnreachable]);
    fabric
        .settle(50)
        .unwrap_or_else(|trouble| panic!("{trouble}"));
}

/// Verdict of a scoreboard on traffic whose outgoing flits pass through `tap`.
fn judged(tap: impl FnMut(&Flit) -> Vec<Flit> + 'static) -> Result<(), Trouble> {
    let mut fabric = machine(config(&[(3, RING)], 1, 4));
    random_packets(&mut fabric, 30);
    fabric.eject_tap = Some(Box::new(tap));
    fabric.drain(3_000)
}

/// A tap that does `fault` to the flit number `at` that leaves the machine.
fn nth(
    at: usize,
    mut fault: impl FnMut(&Flit) -> Vec<Flit> + 'static,
) -> impl FnMut(&Flit) -> Vec<Flit> {
    let mut count = 0;
    move |flit| {
        count += 1;
        if count == at {
            fault(flit)
        } else {
            vec![*flit]
        }
    }
}

#[test]
fn scoreboard_reports_lost_doubled_and_changed_packets() {
    judged(|flit| vec![*flit]).expect("nothing is wrong");
    for at in [1, 7, 50] {
        let lost = judged(nth(at, |_| Vec::new()));
        assert!(lost.is_err(), "flit {at} lost");
        let doubled = judged(nth(at, |flit| vec![*flit, *flit]));
        assert!(doubled.is_err(), "flit {at} doubled");
        let changed = judged(nth(at, |flit| {
            let mut flit = *flit;
            flit.data[3] ^= 0x100;
            vec![flit]
        }));
        assert!(
            matches!(
                changed,
                Err(Trouble::Scoreboard(_, Discrepancy::Content { .. }))
            ),
            "flit {at} changed: {changed:?}"
        );
        let poisoned = judged(nth(at, |flit| vec![Flit { err: true, ..*flit }]));
        assert!(poisoned.is_err(), "flit {at} poisoned");
    }
    // A whole packet that never comes out.
    let vanished = judged(|flit| {
        if flit.dbg == 5 {
            Vec::new()
        } else {
            vec![*flit]
        }
    });
    assert!(vanished.is_err(), "{vanished:?}");
}

#[test]
fn lossy_scoreboard_still_reports_damage_and_doubles() {
    let doubled = {
        let mut fabric = machine(config(&[(2, RING)], 1, 4));
        fabric.scoreboard = Scoreboard::lossy();
        fabric.send(0, 1, 0, 0);
        let mut copy = Vec::new();
        fabric.eject_tap = Some(Box::new(move |flit| {
            copy.push(*flit);
            if flit.tail {
                let twice = copy[copy.len() - 1..].iter().chain(&copy);
                twice.copied().collect()
            } else {
                vec![*flit]
            }
        }));
        fabric.drain(500)
    };
    assert!(
        matches!(
            doubled,
            Err(Trouble::Scoreboard(_, Discrepancy::Unexpected { .. }))
        ),
        "{doubled:?}"
    );
}
