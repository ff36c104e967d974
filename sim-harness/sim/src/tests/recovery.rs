// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drain and reset in the middle of traffic, and how firmware gets a machine back to work.

use super::common;
use super::common::config;
use super::common::traffic::{
    self, AllSeen, Kind, Lossy, Plan, Style, firmware, open, read_registers,
};
use gyre_firmware::SelfTest;
use gyre_layout::registers::{injection_fifo, node, perf_received, perf_sent};
use gyre_layout::{ErrorReason, LinkState};
use gyre_sim::{Cpu, Machine, MachineConfig, Until};

fn run_for(machine: &mut Machine, cycles: u64) {
    let end = machine.cycles() + cycles;
    machine.run(Until::Cycle(end)).expect("runs");
}

/// Runs until `packets` packets were taken from reception FIFOs.
fn run_until_seen(machine: &mut Machine, all: &AllSeen, packets: u64) {
    for _ in 0..1000 {
        if packets_seen(all) >= packets {
            return;
        }
        run_for(machine, 50);
    }
    panic!("only {} packets", packets_seen(all));
}

fn packets_seen(all: &AllSeen) -> u64 {
    all.iter().map(|seen| seen.borrow().packets).sum()
}

/// Sum of a register over all nodes.
fn sum(machine: &mut Machine, register: u64) -> u64 {
    (0..machine.topology().nodes())
        .map(|node| read_registers(machine, node, &[register])[0])
        .sum()
}

#[test]
fn hw1_drain_in_mid_traffic_delivers_all_packets_once_and_ends_idle() {
    let mut machine = Machine::new(MachineConfig {
        mesh: vec![false, true],
        ..config(&[3, 2])
    })
    .expect("made");
    traffic::bring_up(&mut machine);
    let plan = Plan::random(6, 40, 31);
    let style = Style {
        pace: 400,
        ..Style::default()
    };
    let all = traffic::start(&mut machine, &plan, style);
    run_until_seen(&mut machine, &all, 40);

    for node in 0..6 {
        firmware(&mut machine, node, |node| node.drain(2000));
    }
    // Packets under way arrive, and software takes them.
    run_for(&mut machine, 5000);
    let before = (packets_seen(&all), machine.report().link_flits);
    run_for(&mut machine, 5000);
    let after = (packets_seen(&all), machine.report().link_flits);
    assert_eq!(before, after, "nothing moves in a drained machine");
    assert!(
        all.iter().any(|seen| !seen.borrow().done),
        "nothing was left to drain"
    );
    let idle = node::status::IDLE.mask() | node::status::DMA_IDLE.mask();
    for node in 0..6 {
        let status = read_registers(&mut machine, node, &[node::STATUS])[0];
        assert_eq!(status, idle | node::status::DRAINED.mask(), "node {node}");
    }
    for kind in 1..4 {
        let sent = sum(&mut machine, perf_sent(kind));
        assert_eq!(sent, sum(&mut machine, perf_received(kind)), "kind {kind}");
        assert!(sent > 0, "kind {kind}");
    }
    assert_eq!(sum(&mut machine, perf_received(1)), after.0);

    // Messages are whole: those of completed descriptors have arrived, the others not at all.
    let mut completed = 0;
    let mut packets = 0;
    for node in 0..6 {
        for fifo in 0..traffic::INJECTION_FIFOS {
            let count = traffic::injection(fifo, injection_fifo::COUNT);
            let count = read_registers(&mut machine, node, &[count])[0];
            let list = plan.messages[node].iter().filter(|m| m.injection == fifo);
            let to_fifos = list
                .take(count as usize)
                .filter(|m| matches!(m.kind, Kind::Fifo { .. }));
            for message in to_fifos {
                completed += 1;
                packets += message.packets();
            }
        }
    }
    let delivered: u64 = all.iter().map(|seen| seen.borrow().messages).sum();
    assert_eq!((delivered, after.0), (completed, packets));

    for node in 0..6 {
        firmware(&mut machine, node, |node| node.enable_dma());
    }
    machine.run(Until::Quiet).expect("the rest arrives");
    assert!(all.iter().all(|seen| seen.borrow().done));
    traffic::check_memory(&machine, &plan);
}

#[derive(Clone, Copy, PartialEq)]
enum Reset {
    /// Of the whole node, from outside.
    Node,
    /// Of DMA engine and network, by a register.
    Software,
}

/// Resets a node in the middle of traffic, brings it up again and checks that new traffic has no losses.
/// Returns the nodes' records of the first traffic.
fn reset_and_recover(config: &MachineConfig, victim: usize, reset: Reset, lossy: Lossy) -> AllSeen {
    let mut machine = Machine::new(config.clone()).expect("made");
    traffic::bring_up(&mut machine);
    let nodes = machine.topology().nodes();
    let plan = Plan::random(nodes, 40, 13);
    let style = Style {
        give_up: Some(60_000),
        pace: 200,
        lossy,
        victim: Some(victim),
    };
    let all = traffic::start(&mut machine, &plan, style);
    run_until_seen(&mut machine, &all, 30);
    assert!(all.iter().all(|seen| !seen.borrow().done));

    match reset {
        Reset::Node => machine.reset_node(victim).expect("resets"),
        Reset::Software => firmware(&mut machine, victim, |node| node.soft_reset(1000)),
    }
    // Nothing hangs: all other nodes end, and their FIFOs run empty.
    machine.run(Until::Quiet).expect("no node hangs");
    for node in (0..nodes).filter(|&node| node != victim) {
        for fifo in 0..traffic::INJECTION_FIFOS {
            let status = traffic::injection(fifo, injection_fifo::STATUS);
            let status = read_registers(&mut machine, node, &[status])[0];
            let empty = injection_fifo::status::EMPTY.mask();
            assert_eq!(status, empty, "node {node} injection FIFO {fifo}");
        }
        let status = read_registers(&mut machine, node, &[node::STATUS])[0];
        assert!(node::status::DMA_IDLE.is_set(status), "node {node}");
    }

    // Firmware sets the victim up anew; the other nodes record their losses.
    let network = std::rc::Rc::new(std::cell::Cell::new(None));
    let found = std::rc::Rc::clone(&network);
    let actor = machine.spawn(victim, "place", move |cpu: Cpu| {
        found.set(Some(cpu.topology().network_config(cpu.node())));
        Ok::<(), common::Failure>(())
    });
    traffic::finish(&mut machine, actor);
    let place = network.get().expect("a place");
    firmware(&mut machine, victim, move |node| {
        node.bring_up(&place, SelfTest::Run, 1000)?;
        open(node)
    });
    let mut reasons = Vec::new();
    for node in 0..nodes {
        let error = firmware(&mut machine, node, |node| node.take_error());
        reasons.extend(error.map(|error| error.reason.expect("a known reason")));
        let links = read_registers(&mut machine, node, &[node::LINK_STATUS, node::LINK_ENABLE]);
        for port in 0..6 {
            let up = LinkState::of_port(links[0], port) == LinkState::Up;
            assert_eq!(up, links[1] >> port & 1 == 1, "node {node} port {port}");
        }
    }
    assert!(!reasons.is_empty(), "losses are reported");
    for reason in reasons {
        let expected = [
            ErrorReason::LinkDown,
            ErrorReason::PktTruncated,
            ErrorReason::LinkCrc,
            ErrorReason::LinkProtocol,
            ErrorReason::PktRecFifo,
            ErrorReason::PktSlot,
            ErrorReason::PktInjFifo,
        ];
        assert!(expected.contains(&reason), "{reason:?}");
    }

    // New traffic loses nothing.
    traffic::refill(&mut machine);
    let counted: Vec<u64> = (0..nodes)
        .map(|node| traffic::error_count(&mut machine, node))
        .collect();
    let plan = Plan::random(nodes, 12, 14);
    let again = traffic::run(&mut machine, &plan, Style::default());
    assert!(again.iter().all(|seen| seen.borrow().done));
    for (node, count) in counted.into_iter().enumerate() {
        assert_eq!(
            traffic::error_count(&mut machine, node),
            count,
            "node {node}"
        );
    }
    all
}

#[test]
fn hw1_hw3_node_reset_at_the_end_of_a_line_costs_only_its_own_messages() {
    let config = MachineConfig {
        mesh: vec![true],
        ..config(&[4])
    };
    for reset in [Reset::Node, Reset::Software] {
        let all = reset_and_recover(&config, 3, reset, Lossy::From(3));
        for (node, seen) in all.iter().enumerate().filter(|&(node, _)| node != 3) {
            let missing = &seen.borrow().missing;
            assert!(
                missing.keys().all(|&src| src == 3),
                "node {node}: {missing:?}"
            );
        }
        let lost: usize = all
            .iter()
            .flat_map(|s| s.borrow().missing.clone())
            .map(|m| m.1)
            .sum();
        assert!(
            lost > 0 || reset == Reset::Software,
            "the reset was in mid-traffic"
        );
    }
}

#[test]
fn hw1_hw3_node_reset_in_the_middle_of_a_torus_is_recovered_by_firmware() {
    for reset in [Reset::Node, Reset::Software] {
        reset_and_recover(&config(&[3, 2]), 1, reset, Lossy::All);
    }
}

#[test]
fn x1_reset_in_mid_traffic_is_deterministic() {
    let run = |reset, window, skip_idle| {
        let mut machine = Machine::new(MachineConfig {
            window,
            skip_idle,
            ..config(&[3])
        })
        .expect("made");
        traffic::bring_up(&mut machine);
        let style = Style {
            give_up: Some(10_000),
            pace: 200,
            lossy: Lossy::All,
            victim: Some(2),
        };
        let all = traffic::start(&mut machine, &Plan::random(3, 40, 3), style);
        run_until_seen(&mut machine, &all, 20);
        assert!(all.iter().all(|seen| !seen.borrow().done));
        match reset {
            Reset::Node => machine.reset_node(2).expect("resets"),
            Reset::Software => firmware(&mut machine, 2, |node| node.soft_reset(1000)),
        }
        machine.run(Until::Quiet).expect("no node hangs");
        (machine.hash(), machine.cycles())
    };
    for reset in [Reset::Node, Reset::Software] {
        let expected = run(reset, None, true);
        assert_eq!(run(reset, None, true), expected);
        assert_eq!(run(reset, Some(1), true), expected);
        assert_eq!(run(reset, None, false), expected);
    }
}
