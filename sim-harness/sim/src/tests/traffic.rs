// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random traffic of all kinds on whole machines: delivery in every shape, the same result every time, and
//! performance counters that say what the test counted itself.

use super::common::traffic::{
    self, Kind, Message, Plan, RECEPTION, REMOTE_GET_FIFO, Style, injection, read_registers,
    reception,
};
use super::common::{Change, Failure, config};
use gyre_layout::registers::{
    injection_fifo, node, perf_flits, perf_received, perf_sent, perf_stalls, reception_fifo,
};
use gyre_layout::{Descriptor, Source, packet_bytes};
use gyre_sim::{
    Cpu, Machine, MachineConfig, MemoryConfig, ModelKind, Optimisation, RunReport, Topology,
    TraceConfig, Until,
};

/// A machine that is up, and its traffic run.
fn run(config: &MachineConfig, count: usize, seed: u64) -> RunReport {
    let mut machine = Machine::new(config.clone()).expect("made");
    traffic::bring_up(&mut machine);
    let plan = Plan::random(machine.topology().nodes(), count, seed);
    let style = Style {
        pace: 300,
        ..Style::default()
    };
    let all = traffic::run(&mut machine, &plan, style);
    assert!(all.iter().all(|seen| seen.borrow().done));
    for node in 0..plan.nodes() {
        assert_eq!(traffic::error_count(&mut machine, node), 0, "node {node}");
    }
    machine.report()
}

fn run_shapes(shapes: &[(&[u16], &[bool])]) {
    for (number, (dims, mesh)) in shapes.iter().enumerate() {
        let config = MachineConfig {
            mesh: mesh.to_vec(),
            link_latency: 1 + number as u64 * 5 % 9,
            memory: MemoryConfig {
                reorder: true,
                jitter: 30,
                stall_percent: 10 * (number % 3) as u8,
                ..MemoryConfig::default()
            },
            ..config(dims)
        };
        let report = run(&config, 12, number as u64);
        assert_eq!(report.link_flits == 0, dims.iter().all(|&size| size == 1));
    }
}

#[test]
fn hw1_hw2_hw3_traffic_arrives_in_rings_of_1_to_4_nodes() {
    run_shapes(&[(&[1], &[]), (&[2], &[]), (&[3], &[]), (&[4], &[])]);
}

#[test]
fn hw1_hw2_hw3_traffic_arrives_in_2_and_3_dimensions_of_mixed_size() {
    run_shapes(&[
        (&[1, 4], &[]),
        (&[4, 2], &[]),
        (&[3, 3], &[]),
        (&[2, 1, 3], &[]),
        (&[2, 3, 2], &[]),
    ]);
}

#[test]
fn hw1_hw2_hw3_traffic_arrives_on_lines_and_in_mixtures_of_lines_and_rings() {
    run_shapes(&[
        (&[2], &[true]),
        (&[3], &[true]),
        (&[4], &[true]),
        (&[3, 4], &[true, false]),
        (&[3, 2, 2], &[true, true, true]),
    ]);
}

#[test]
fn hw1_hw2_hw3_traffic_arrives_in_4_and_5_dimensions() {
    run_shapes(&[
        (&[2, 1, 1, 3], &[true]),
        (&[1, 4, 1, 2], &[]),
        (&[1, 2, 1, 1, 2], &[]),
        (&[2, 1, 3, 1, 2], &[false, false, true]),
    ]);
}

#[test]
fn x1_hash_does_not_depend_on_window_skipping_tracing_threads() {
    let base = MachineConfig {
        mesh: vec![false, true],
        memory: MemoryConfig {
            reorder: true,
            jitter: 15,
            ..MemoryConfig::default()
        },
        ..config(&[3, 2])
    };
    let result = |config: &MachineConfig| {
        let report = run(config, 10, 9);
        (report.hash, report.cycles, report.makespan_ps)
    };
    let expected = result(&base);
    assert_eq!(result(&base), expected, "repeated");
    let changes: [(&str, Change); 8] = [
        ("by single cycles", |c| c.window = Some(1)),
        ("unskipped", |c| c.skip_idle = false),
        ("traced model", |c| c.model = ModelKind::Traced),
        ("two threads", |c| c.threads = 2),
        ("more threads than nodes, unskipped", |c| {
            (c.threads, c.skip_idle) = (7, false);
        }),
        ("three threads by single cycles", |c| {
            (c.threads, c.window) = (3, Some(1));
        }),
        ("two threads, traced model", |c| {
            (c.threads, c.model) = (2, ModelKind::Traced);
        }),
        ("noise at the start", |c| c.noise = Some(8)),
    ];
    for (what, change) in changes {
        let mut changed = base.clone();
        change(&mut changed);
        assert_eq!(result(&changed), expected, "{what}");
    }
    let other = MachineConfig {
        link_latency: 5,
        ..base
    };
    assert_ne!(result(&other).0, expected.0, "another machine");
}

#[test]
#[ignore = "deep: models of its own"]
fn x1_x8_hash_does_not_depend_on_optimisation_or_initial_values() {
    let result = |optimisation, traced, noise| {
        let config = MachineConfig {
            optimisation: Some(optimisation),
            model: traced,
            noise,
            ..config(&[2, 2])
        };
        let report = run(&config, 12, 5);
        (report.hash, report.cycles)
    };
    let expected = result(Optimisation::Quick, ModelKind::Fast, None);
    for noise in [None, Some(1), Some(7), Some(0xdead_beef)] {
        for (optimisation, kind) in [
            (Optimisation::Quick, ModelKind::Fast),
            (Optimisation::Full, ModelKind::Fast),
            (Optimisation::Quick, ModelKind::Traced),
        ] {
            let found = result(optimisation, kind, noise);
            assert_eq!(found, expected, "{optimisation:?} {kind:?} {noise:?}");
        }
    }
}

#[test]
fn x1_waveform_of_traffic_changes_no_hash() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let run = |name: Option<&str>| {
        let mut machine = Machine::new(MachineConfig {
            model: ModelKind::Traced,
            ..config(&[2])
        })
        .expect("made");
        traffic::bring_up(&mut machine);
        if let Some(name) = name {
            let start = machine.cycles();
            let trace = TraceConfig {
                path: dir.path().join(name),
                window: start + 100..start + 400,
                scopes: Vec::new(),
            };
            machine.trace(trace).expect("a good trace");
        }
        let plan = Plan::random(2, 8, 4);
        traffic::run(&mut machine, &plan, Style::default());
        (machine.hash(), machine.cycles())
    };
    let expected = run(None);
    assert_eq!(run(Some("w.vcd")), expected);
    assert_eq!(run(Some("w.fst")), expected);
}

/// Links between two nodes on the shortest way.
fn hops(topology: &Topology, from: usize, to: usize) -> u64 {
    let (from, to) = (topology.coord(from), topology.coord(to));
    (0..from.len())
        .map(|d| {
            let apart = u64::from(from[d].abs_diff(to[d]));
            let size = u64::from(topology.sizes()[d]);
            if topology.rings()[d] {
                apart.min(size - apart)
            } else {
                apart
            }
        })
        .sum()
}

/// Packets by kind that a node sends and receives, and flits that a plan puts on links.
struct Expected {
    sent: Vec<[u64; 8]>,
    received: Vec<[u64; 8]>,
    link_flits: u64,
}

impl Expected {
    fn new(plan: &Plan, topology: &Topology) -> Self {
        let nodes = plan.nodes();
        let mut expected = Self {
            sent: vec![[0; 8]; nodes],
            received: vec![[0; 8]; nodes],
            link_flits: 0,
        };
        for (node, message) in plan.all() {
            match message.kind {
                Kind::Fifo { .. } => expected.add(topology, 1, node, message.peer, message),
                Kind::Put { .. } => expected.add(topology, 2, node, message.peer, message),
                Kind::Get { .. } => {
                    let request = Message {
                        length: 64,
                        ..*message
                    };
                    expected.add(topology, 3, node, message.peer, &request);
                    expected.add(topology, 2, message.peer, node, message);
                }
            }
        }
        expected
    }

    fn add(&mut self, topology: &Topology, kind: usize, from: usize, to: usize, message: &Message) {
        self.sent[from][kind] += message.packets();
        self.received[to][kind] += message.packets();
        let mut left = message.length as usize;
        for _ in 0..message.packets() {
            let payload = left.min(512);
            left -= payload;
            let flits = packet_bytes(payload) as u64 / 16;
            self.link_flits += flits * hops(topology, from, to);
        }
    }
}

#[test]
fn hw1_performance_counters_are_what_was_sent() {
    let mut machine = Machine::new(MachineConfig {
        mesh: vec![false, true],
        ..config(&[4, 2])
    })
    .expect("made");
    traffic::bring_up(&mut machine);
    machine.record_transfers();
    let plan = Plan::random(8, 14, 21);
    traffic::run(&mut machine, &plan, Style::default());
    let expected = Expected::new(&plan, machine.topology());

    // Flits by node, port and virtual channel, as they were on the wires.
    let mut flits = vec![[[0; 8]; 6]; 8];
    for transfer in machine.take_transfers() {
        if transfer.word & 4 != 0 {
            let vc = (transfer.word >> 3 & 7) as usize;
            flits[transfer.node][transfer.port][vc] += 1;
        }
    }
    let mut total = 0;
    for (node, ports) in flits.iter().enumerate() {
        let kinds = |register: fn(u64) -> u64| (0..8).map(register).collect::<Vec<_>>();
        let sent = read_registers(&mut machine, node, &kinds(perf_sent));
        assert_eq!(sent, expected.sent[node], "node {node} sent");
        let received = read_registers(&mut machine, node, &kinds(perf_received));
        assert_eq!(received, expected.received[node], "node {node} received");
        for (port, by_vc) in ports.iter().enumerate() {
            let addresses: Vec<u64> = (0..8).map(|vc| perf_flits(8 * port as u64 + vc)).collect();
            let counters = read_registers(&mut machine, node, &addresses);
            assert_eq!(counters, by_vc, "node {node} port {port}");
            total += counters.iter().sum::<u64>();
        }
        let posted = |fifo: u16| {
            let list = &plan.messages[node];
            list.iter().filter(|m| m.injection == fifo).count() as u64
        };
        for fifo in 0..3 {
            let count = read_registers(
                &mut machine,
                node,
                &[injection(fifo, injection_fifo::COUNT)],
            );
            assert_eq!(count, [posted(fifo)], "node {node} injection FIFO {fifo}");
        }
        let gets =
            |(_, m): &(usize, &Message)| m.peer == node && matches!(m.kind, Kind::Get { .. });
        let count = injection(REMOTE_GET_FIFO, injection_fifo::COUNT);
        assert_eq!(
            read_registers(&mut machine, node, &[count]),
            [plan.all().filter(gets).count() as u64],
            "node {node} remote gets"
        );
    }
    assert_eq!(
        total, expected.link_flits,
        "flits times hops of every packet"
    );
    assert!(total > 2000, "too little traffic: {total} flits");
}

/// Sends `count` messages of 512 bytes from a node to another, all posted with one write of TAIL.
fn send_at_once(cpu: &Cpu, peer: usize, count: u64) -> Result<(), Failure> {
    for number in 0..count {
        let source = Source {
            slot: traffic::SOURCE.slot,
            offset: 0,
            length: 512,
        };
        let descriptor =
            Descriptor::memory_fifo(cpu.topology().header_coord(peer), source, RECEPTION[0].0);
        cpu.mem_write(
            traffic::INJECTION_RINGS + 64 * number,
            &descriptor.encode()?,
        );
    }
    cpu.write_reg(injection(0, injection_fifo::TAIL), 64 * count)?;
    Ok(cpu.fence()?)
}

#[test]
fn hw1_high_water_marks_and_stalls_follow_the_fill_of_the_rings() {
    const SENT: u64 = 40;
    const PACKET: u64 = 32 + 512;
    let mut machine = Machine::new(config(&[3])).expect("made");
    traffic::bring_up(&mut machine);
    machine.spawn(0, "sender", |cpu| send_at_once(&cpu, 1, SENT));
    // Node 1 takes nothing: its ring fills, and packets wait in the network.
    machine
        .run(Until::Cycle(machine.cycles() + 8000))
        .expect("runs");
    let fits = RECEPTION[0].2 / PACKET;
    assert!(fits < SENT);
    let tail = reception(RECEPTION[0].0, reception_fifo::TAIL);
    let head = reception(RECEPTION[0].0, reception_fifo::HEAD);
    let high = reception(RECEPTION[0].0, reception_fifo::HIGHWATER);
    let status = reception(RECEPTION[0].0, reception_fifo::STATUS);
    let full = reception_fifo::status::FULL.mask() | reception_fifo::status::NONEMPTY.mask();
    assert_eq!(
        read_registers(&mut machine, 1, &[tail, high, status]),
        [fits * PACKET, fits * PACKET, full]
    );
    let sender_high = injection(0, injection_fifo::HIGHWATER);
    assert_eq!(read_registers(&mut machine, 0, &[sender_high]), [64 * SENT]);
    // The link's buffers are full: its counter of stalls runs as fast as the clock, the others stand.
    let stalls: Vec<u64> = (0..6).map(perf_stalls).collect();
    let before = read_registers(&mut machine, 0, &stalls);
    let from = machine.cycles();
    machine.run(Until::Cycle(from + 1000)).expect("runs");
    let after = read_registers(&mut machine, 0, &stalls);
    let passed = machine.cycles() - from;
    assert!(
        (1000..=passed).contains(&(after[0] - before[0])),
        "{before:?} {after:?}"
    );
    assert_eq!(before[1..], [0; 5]);
    assert_eq!(before[1..], after[1..]);

    // Node 1 takes some of them, clears the mark, then takes the rest as it comes.
    const FIRST: u64 = 5;
    machine.spawn(1, "taker", move |cpu| {
        cpu.write_reg(head, FIRST * PACKET)?;
        cpu.sleep_until(cpu.now_ps() + 2000 * cpu.cycle_ps());
        assert_eq!(cpu.read_reg(tail)?, (fits + FIRST) * PACKET);
        cpu.write_reg(high, 0)?;
        assert_eq!(cpu.read_reg(high)?, 0, "cleared");
        let mut taken = FIRST * PACKET;
        while taken < SENT * PACKET {
            let tail = cpu.read_reg(tail)?;
            // One packet at a time.
            if taken < tail {
                taken += PACKET;
                cpu.write_reg(head, taken)?;
            }
        }
        let mark = cpu.read_reg(high)?;
        assert!(mark > 0 && mark <= fits * PACKET, "{mark}");
        Ok::<(), Failure>(())
    });
    machine.run(Until::Quiet).expect("all arrive");
    let idle = node::STATUS;
    let [tail, status, idle] = read_registers(&mut machine, 1, &[tail, status, idle])[..] else {
        panic!("three registers");
    };
    assert_eq!(tail, SENT * PACKET);
    assert_eq!(
        status,
        reception_fifo::status::FULL.mask(),
        "sticky, and empty"
    );
    assert!(node::status::IDLE.is_set(idle));
    let after_all = read_registers(&mut machine, 0, &stalls);
    machine
        .run(Until::Cycle(machine.cycles() + 1000))
        .expect("runs");
    assert_eq!(
        read_registers(&mut machine, 0, &stalls),
        after_all,
        "no stall without traffic"
    );
}
