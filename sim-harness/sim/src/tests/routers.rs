// SPDX-License-Identifier: MIT OR Apache-2.0
//! Raw traffic over the Verilated network alone.

use gyre_sim::{
    Delivery, MachineConfig, ModelKind, RawPacket, RouterMachine, RouterReport, SimError, Topology,
    TraceConfig, Traffic,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Random packets between random nodes, by seed; remembers what arrived.
struct Random {
    topology: Topology,
    random: Vec<ChaCha8Rng>,
    left: Vec<u32>,
    cycle: Vec<u64>,
    gap: u64,
    sent: Vec<(usize, usize, u64, u64)>,
    arrived: Vec<Delivery>,
}

impl Random {
    fn new(config: &MachineConfig, packets: u32, gap: u64, seed: u64) -> Self {
        let topology = config.topology().expect("valid shape");
        let nodes = topology.nodes();
        Self {
            random: (0..nodes as u64)
                .map(|node| ChaCha8Rng::seed_from_u64(seed << 32 | node))
                .collect(),
            left: vec![packets; nodes],
            cycle: vec![300; nodes],
            topology,
            gap,
            sent: Vec::new(),
            arrived: Vec::new(),
        }
    }
}

impl Traffic for Random {
    fn next_packet(&mut self, node: usize) -> Option<RawPacket> {
        self.left[node] = self.left[node].checked_sub(1)?;
        let nodes = self.topology.nodes();
        let random = &mut self.random[node];
        self.cycle[node] += random.random_range(0..self.gap);
        let packet = RawPacket {
            cycle: self.cycle[node],
            dst: (node + random.random_range(1..nodes)) % nodes,
            response: random.random(),
            dynamic: random.random(),
            len: random.random_range(0..=512),
            tag: (node as u64) << 32 | u64::from(self.left[node]),
        };
        self.sent
            .push((node, packet.dst, packet.tag, packet.flits()));
        Some(packet)
    }

    fn delivered(&mut self, delivery: &Delivery) {
        self.arrived.push(*delivery);
    }
}

fn config(dims: &[u16], mesh: &[bool], link_latency: u64) -> MachineConfig {
    MachineConfig {
        dims: dims.to_vec(),
        mesh: mesh.to_vec(),
        link_latency,
        ..MachineConfig::default()
    }
}

fn run(config: &MachineConfig, packets: u32, gap: u64) -> Result<RouterReport, SimError> {
    let traffic = Random::new(config, packets, gap, 7);
    let mut machine = RouterMachine::new(config, traffic)?;
    let report = machine.run_to_end()?;
    let traffic = machine.traffic_mut();
    let mut sent = std::mem::take(&mut traffic.sent);
    let mut arrived: Vec<_> = traffic
        .arrived
        .iter()
        .map(|d| (d.src, d.node, d.tag, d.flits))
        .collect();
    sent.sort();
    arrived.sort();
    assert_eq!(
        sent, arrived,
        "every packet arrives once, where it should, in one piece"
    );
    Ok(report)
}

#[test]
fn hw3_every_packet_arrives_once_in_rings_lines_and_mixed_shapes() {
    for (dims, mesh, latency) in [
        (&[2u16][..], &[][..], 1),
        (&[5], &[true], 3),
        (&[3, 4], &[], 4),
        (&[4, 1, 3], &[false, false, true], 2),
        (&[2, 3, 2, 2], &[true], 4),
        (&[2, 2, 2, 2, 3], &[], 5),
    ] {
        let config = config(dims, mesh, latency);
        run(&config, 60, 30).unwrap_or_else(|error| panic!("{dims:?}: {error}"));
    }
}

#[test]
fn x1_results_do_not_depend_on_window_or_skipping() {
    let base = config(&[4, 3], &[], 6);
    let expected = run(&base, 80, 400).expect("runs");
    assert!(
        expected.node_cycles_evaluated < expected.cycles * 12,
        "quiet nodes are skipped"
    );
    for (window, skip_idle) in [(1, true), (4, true), (6, false), (3, false)] {
        let changed = MachineConfig {
            window: Some(window),
            skip_idle,
            ..base.clone()
        };
        let report = run(&changed, 80, 400).expect("runs");
        assert_eq!(
            (report.hash, report.cycles, report.link_flits),
            (expected.hash, expected.cycles, expected.link_flits),
            "window {window}, skip {skip_idle}"
        );
    }
}

#[test]
fn x1_noise_in_uninitialised_memories_changes_nothing() {
    let base = config(&[3, 3], &[], 2);
    let expected = run(&base, 40, 50).expect("runs").hash;
    for seed in [1, 2] {
        let noisy = MachineConfig {
            noise: Some(seed),
            ..base.clone()
        };
        assert_eq!(run(&noisy, 40, 50).expect("runs").hash, expected);
    }
}

#[test]
fn hw3_a_hop_takes_two_cycles_beyond_the_link() {
    struct One(u64);
    impl Traffic for One {
        fn next_packet(&mut self, node: usize) -> Option<RawPacket> {
            // Node h sends to node 0 over h links.
            let first = node < 5 && node > 0 && self.0 & 1 << node == 0;
            self.0 |= 1 << node;
            first.then(|| RawPacket {
                cycle: 1000 * node as u64,
                dst: 0,
                response: false,
                dynamic: false,
                len: 0,
                tag: node as u64,
            })
        }
        fn delivered(&mut self, delivery: &Delivery) {
            let latency = delivery.head_cycle - 1000 * delivery.tag;
            self.0 |= latency << (12 * delivery.tag);
        }
    }
    for link_latency in [1, 4] {
        let config = config(&[8], &[true], link_latency);
        let mut machine = RouterMachine::new(&config, One(0)).expect("made");
        machine.run_to(10_000).expect("runs");
        let latency = |hops: u64| machine.traffic().0 >> (12 * hops) & 0xfff;
        for hops in 2..5 {
            assert_eq!(latency(hops) - latency(hops - 1), link_latency + 2);
        }
    }
}

#[test]
fn x1_x2_waveforms_of_routers_change_nothing() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let plain = config(&[3, 2], &[], 4);
    let expected = run(&plain, 20, 30).expect("runs");
    let traced = MachineConfig {
        model: ModelKind::Traced,
        traced_nodes: Some([4].into()),
        ..plain
    };
    for name in ["w.vcd", "w.fst"] {
        let path = dir.path().join(name);
        let mut machine =
            RouterMachine::new(&traced, Random::new(&traced, 20, 30, 7)).expect("made");
        let shown = TraceConfig {
            path: path.clone(),
            window: 320..380,
            scopes: vec!["node4.gyre_network".into()],
        };
        machine.trace(shown).expect("a good trace");
        assert_eq!(machine.run_to_end().expect("runs"), expected);
        let wave = wellen::simple::read(&path).expect("readable");
        let times = wave.time_table();
        assert!(
            times.contains(&640_000) && times.last() == Some(&759_000),
            "{name}"
        );
        let hierarchy = wave.hierarchy();
        let mut names = hierarchy
            .all_vars()
            .map(|var| hierarchy[var].full_name(hierarchy));
        assert!(names.all(|name| name.starts_with("node4.") || name.starts_with("machine.")));
    }
}
