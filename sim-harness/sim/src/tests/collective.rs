// SPDX-License-Identifier: MIT OR Apache-2.0
//! The collective network of whole machines (HW-5): combination, broadcast and barriers over any subset of nodes,
//! bit for bit the host's result in the order of the tree, beside a busy torus and other routes.

use std::cell::RefCell;
use std::rc::Rc;

use super::common;
use super::common::collective::{self, Delivery, Program, Step, contribution, expected};
use super::common::traffic;
use super::common::{Change, Failure, config};
use gyre_layout::registers::{self, COLL, coll_network, node, perf_coll, wake_group};
use gyre_layout::{CollOp, CollType, ErrorReason};
use gyre_sim::{
    Cpu, LinkFault, Machine, MachineConfig, MemoryConfig, RunReport, TREE_PORTS, Until,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Runs the programs on a machine, beside the exchange of messages on the torus if it is to be busy.
fn run(config: MachineConfig, programs: Vec<Program>, busy: usize) -> RunReport {
    let mut machine = Machine::new(config).expect("made");
    let programs: Rc<[Program]> = programs.into();
    collective::bring_up(&mut machine, &programs);
    collective::spawn(&mut machine, &programs);
    let nodes = machine.topology().nodes();
    if busy > 0 {
        common::run_exchange_only(&mut machine, busy).expect("every message");
    }
    machine.run(Until::Quiet).expect("every result");
    for node in 0..nodes {
        let errors = traffic::error_count(&mut machine, node);
        assert_eq!(errors, 0, "node {node}");
        let registers = [perf_coll(0), perf_coll(1), perf_coll(2)];
        let counters = traffic::read_registers(&mut machine, node, &registers);
        assert_eq!(counters, machine.tree_flits(node), "node {node}");
    }
    machine.report()
}

fn everybody(nodes: u32) -> Vec<u32> {
    (0..nodes).collect()
}

#[test]
fn hw5_allreduce_of_doubles_is_that_of_the_host_in_tree_order() {
    let step = Step::all(CollOp::Add, CollType::F64, 300);
    for (dims, nodes) in [([2, 2, 2], 8), ([3, 2, 1], 6)] {
        let members = everybody(nodes);
        let program = Program {
            members: members.clone(),
            steps: vec![step; 3],
        };
        let report = run(config(&dims), vec![program], 0);
        assert!(report.tree_flits > 0);
        // The order counts: from the first node to the last the sum is another one.
        let mut sum = vec![0.0; step.elements];
        for &node in &members {
            let words = contribution(0, 0, node, &step);
            for (sum, word) in sum.iter_mut().zip(words.chunks(8)) {
                let bits = word.iter().rev().fold(0, |w, &b| w << 8 | u64::from(b));
                *sum += f64::from_bits(bits);
            }
        }
        let plain: Vec<u8> = sum.iter().flat_map(|s| s.to_bits().to_le_bytes()).collect();
        assert_ne!(expected(0, 0, &members, &step), plain);
    }
}

#[test]
fn hw5_every_operation_and_type_with_both_deliveries() {
    let mut steps = Vec::new();
    for &op in CollOp::ALL.iter().filter(|&&op| op != CollOp::Broadcast) {
        for &dtype in CollType::ALL {
            let bitwise = matches!(op, CollOp::And | CollOp::Or | CollOp::Xor);
            if bitwise && dtype == CollType::F64 {
                continue;
            }
            for (elements, delivery) in [(37, Delivery::Put), (161, Delivery::Fifo)] {
                steps.push(Step {
                    delivery,
                    ..Step::all(op, dtype, elements)
                });
            }
        }
    }
    for members in [vec![1, 2, 5, 7], vec![3, 4], everybody(8)] {
        let steps = steps.clone();
        run(config(&[2, 2, 2]), vec![Program { members, steps }], 0);
    }
}

#[test]
fn hw5_zero_bytes_lower_every_members_counter_by_one() {
    let steps = vec![
        Step::all(CollOp::Add, CollType::F64, 0),
        Step::broadcast(4, 0),
        Step::all(CollOp::Or, CollType::U32, 1),
    ];
    let members = everybody(6);
    run(config(&[3, 2, 1]), vec![Program { members, steps }], 0);
}

#[test]
fn hw5_broadcast_from_every_node() {
    for (dims, members) in [
        ([2, 2, 2], everybody(8)),
        ([3, 2, 1], everybody(6)),
        ([3, 2, 1], vec![1, 3, 5]),
    ] {
        let mut steps = Vec::new();
        for &from in &members {
            for (elements, delivery) in [(700, Delivery::Put), (130, Delivery::Fifo)] {
                steps.push(Step {
                    delivery,
                    ..Step::broadcast(from, elements)
                });
            }
        }
        run(config(&dims), vec![Program { members, steps }], 0);
    }
}

#[test]
fn hw5_reduce_to_every_single_member() {
    for (dims, members) in [([2, 2, 2], everybody(8)), ([3, 2, 1], vec![0, 2, 3, 5])] {
        let mut steps = Vec::new();
        for &to in &members {
            for delivery in [Delivery::Put, Delivery::Fifo] {
                steps.push(Step {
                    delivery,
                    to: Some(to),
                    ..Step::all(CollOp::Add, CollType::I64, 150)
                });
            }
        }
        run(config(&dims), vec![Program { members, steps }], 0);
    }
}

/// Routes of many subsets, all operations, all at once.
fn mixture(nodes: u32, routes: usize, length: usize) -> Vec<Program> {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let ops = [
        (CollOp::Add, CollType::F64),
        (CollOp::Max, CollType::F64),
        (CollOp::Xor, CollType::U64),
        (CollOp::Min, CollType::I32),
        (CollOp::Add, CollType::U32),
    ];
    (0..routes)
        .map(|route| {
            let mut members: Vec<u32> = (0..nodes)
                .filter(|_| route % 3 == 0 || rng.random_range(0..2) == 0)
                .collect();
            if members.is_empty() {
                members.push(rng.random_range(0..nodes));
            }
            let steps = (0..length)
                .map(|number| {
                    let member = members[rng.random_range(0..members.len())];
                    let delivery = if rng.random_range(0..2) == 0 {
                        Delivery::Put
                    } else {
                        Delivery::Fifo
                    };
                    let (op, dtype) = ops[(route + number) % ops.len()];
                    let elements = rng.random_range(1..400);
                    let plain = Step::all(op, dtype, elements);
                    let step = match rng.random_range(0..4) {
                        0 => Step::broadcast(member, elements),
                        1 => Step {
                            to: Some(member),
                            ..plain
                        },
                        _ => plain,
                    };
                    Step { delivery, ..step }
                })
                .collect();
            Program { members, steps }
        })
        .collect()
}

#[test]
fn hw5_routes_run_at_once_while_the_torus_is_busy() {
    for (dims, nodes) in [(vec![2, 2, 2], 8), (vec![3, 2, 1], 6), (vec![5], 5)] {
        let machine = MachineConfig {
            memory: MemoryConfig {
                reorder: true,
                jitter: 30,
                stall_percent: 10,
                ..MemoryConfig::default()
            },
            ..config(&dims)
        };
        let report = run(machine, mixture(nodes, 15, 6), 12);
        assert!(
            report.link_flits > 1000 && report.tree_flits > 1000,
            "{report:?}"
        );
    }
}

/// Reasons and places of the first error of each node.
fn first_errors(machine: &mut Machine) -> Vec<Option<(ErrorReason, u64)>> {
    (0..machine.topology().nodes())
        .map(|number| {
            let status = traffic::read_registers(machine, number, &[node::ERR_STATUS])[0];
            let reason = node::err_status::REASON.get(status) as u8;
            let place = node::err_status::WHERE.get(status);
            let reason = ErrorReason::try_from(reason).expect("a known reason");
            node::err_status::VALID
                .is_set(status)
                .then_some((reason, place))
        })
        .collect()
}

/// Starts the programs, lets them run for a while, and takes the errors.
fn errors_of(machine: &mut Machine, programs: &Rc<[Program]>) -> Vec<Option<(ErrorReason, u64)>> {
    collective::spawn(machine, programs);
    let end = machine.cycles() + 6000;
    machine.run(Until::Cycle(end)).expect("runs");
    first_errors(machine)
}

#[test]
fn hw5_disturbed_flit_of_a_tree_link_is_reported_not_delivered() {
    // Up from node 3 to node 1, and down from node 0 to node 2.
    for (node, port, found_by, place) in [(3, 6, 1, 11), (0, 8, 2, 10)] {
        let mut machine = Machine::new(config(&[2, 2, 1])).expect("made");
        let steps = vec![Step::all(CollOp::Add, CollType::U64, 200)];
        let members = everybody(4);
        let programs: Rc<[Program]> = vec![Program { members, steps }].into();
        collective::bring_up(&mut machine, &programs);
        machine.disturb_link(LinkFault {
            node,
            port,
            from_cycle: machine.cycles(),
            word: 0,
            data: [1 << 40, 0],
        });
        // Members check every byte that their counter promises: they wait, and none reports a wrong one.
        let errors = errors_of(&mut machine, &programs);
        assert_eq!(
            errors[found_by],
            Some((ErrorReason::LinkCrc, place)),
            "{errors:?}"
        );
    }
}

#[test]
fn hw5_contributors_that_disagree_are_reported_where_they_meet() {
    let mut machine = Machine::new(config(&[3])).expect("made");
    let steps = vec![Step::all(CollOp::Add, CollType::U64, 20)];
    let members = everybody(3);
    let programs: Rc<[Program]> = vec![Program { members, steps }].into();
    collective::bring_up(&mut machine, &programs);
    let others: Rc<[Program]> = vec![Program {
        members: vec![1],
        steps: vec![Step::all(CollOp::Max, CollType::U64, 20)],
    }]
    .into();
    // Node 1 takes another operation; it arrives at the same barriers.
    let rest: Rc<[Program]> = vec![Program {
        members: vec![0, 2],
        steps: programs[0].steps.clone(),
    }]
    .into();
    collective::spawn(&mut machine, &others);
    let errors = errors_of(&mut machine, &rest);
    assert_eq!(errors[0], Some((ErrorReason::CollMismatch, 0)));
    // Every member drops the result.
    for error in &errors[1..] {
        assert_eq!(
            error.map(|(reason, _)| reason),
            Some(ErrorReason::PktTruncated)
        );
    }
}

/// Rounds of barriers on a route of some members, with random work between: when each entered and left.
fn barriers(
    cpu: &Cpu,
    rounds: usize,
    times: &RefCell<Vec<Vec<(u64, u64)>>>,
) -> Result<(), Failure> {
    let mut rng = ChaCha8Rng::seed_from_u64(cpu.node() as u64);
    let (enter, done) = (
        COLL + coll_network::BARRIER_ENTER,
        COLL + coll_network::BARRIER_DONE,
    );
    for round in 0..rounds {
        cpu.charge_instructions(rng.random_range(0..3000));
        let entered = cpu.now_ps();
        cpu.write_reg(enter, 1)?;
        loop {
            cpu.write_reg(registers::wake(1) + wake_group::CAUSE, u64::MAX)?;
            if cpu.read_reg(done)? & 1 != 0 {
                break;
            }
            cpu.wait_wake(1, None);
        }
        cpu.write_reg(done, 1)?;
        times.borrow_mut()[round].push((entered, cpu.now_ps()));
    }
    Ok(cpu.fence()?)
}

#[test]
fn hw5_nobody_leaves_a_barrier_before_the_last_has_entered() {
    for members in [everybody(12), vec![2, 5, 6, 11], vec![7]] {
        let rounds = 25;
        let mut machine = Machine::new(config(&[3, 2, 2])).expect("made");
        let steps = Vec::new();
        let programs: Rc<[Program]> = vec![Program {
            members: members.clone(),
            steps,
        }]
        .into();
        collective::bring_up(&mut machine, &programs);
        let times = Rc::new(RefCell::new(vec![Vec::new(); rounds]));
        for &member in &members {
            let times = Rc::clone(&times);
            machine.spawn(member as usize, "barriers", move |cpu| {
                barriers(&cpu, rounds, &times)
            });
        }
        machine.run(Until::Quiet).expect("every barrier");
        for round in times.borrow().iter() {
            assert_eq!(round.len(), members.len());
            let last = round.iter().map(|&(entered, _)| entered).max();
            let first = round.iter().map(|&(_, left)| left).min();
            assert!(first > last, "{round:?}");
        }
    }
}

#[test]
fn hw5_barrier_takes_two_cycles_a_hop_beyond_the_links() {
    for link_latency in [1, 4, 9] {
        let nodes = 12;
        let mut machine = Machine::new(MachineConfig {
            link_latency,
            ..config(&[3, 2, 2])
        })
        .expect("made");
        let members = everybody(nodes);
        let steps = Vec::new();
        let programs: Rc<[Program]> = vec![Program { members, steps }].into();
        collective::bring_up(&mut machine, &programs);
        machine.record_transfers();
        let times = Rc::new(RefCell::new(vec![Vec::new()]));
        for node in 0..nodes as usize {
            let times = Rc::clone(&times);
            machine.spawn(node, "barrier", move |cpu| barriers(&cpu, 1, &times));
        }
        machine.run(Until::Quiet).expect("a barrier");
        // Cycle of the pulse that each node sent on each barrier port.
        let first = 6 + TREE_PORTS;
        let mut sent = vec![[None; TREE_PORTS]; nodes as usize];
        for transfer in machine.take_transfers() {
            if transfer.port >= first && transfer.data[0] != 0 {
                assert_eq!(transfer.data[0], 1);
                let at = &mut sent[transfer.node][transfer.port - first];
                assert!(at.replace(transfer.cycle).is_none(), "{transfer:?} twice");
            }
        }
        let topology = machine.topology();
        let hop = link_latency + 2;
        for node in 1..nodes as usize {
            let parent = (node - 1) / 2;
            let children = (1..TREE_PORTS).filter_map(|p| topology.tree_neighbour(node, p));
            let arrived = children.filter_map(|(child, _)| sent[child][0]).max();
            let up = sent[node][0].expect("a pulse up");
            // The last to arrive is a child or the node itself.
            assert!(
                arrived.is_none_or(|arrived| up >= arrived + hop),
                "node {node}"
            );
            let down = sent[parent][2 - node % 2].expect("a pulse down");
            for port in (1..TREE_PORTS).filter(|&p| topology.tree_neighbour(node, p).is_some()) {
                assert_eq!(sent[node][port], Some(down + hop), "node {node}");
            }
        }
        // The last of all set off one path at least that was never waited on: up its way each hop took as long as
        // must be.
        let (mut at, mut hops) = (0, 0);
        let turned = sent[0][1].expect("a pulse down");
        loop {
            let waited = if at == 0 {
                turned
            } else {
                sent[at][0].expect("a pulse up")
            };
            let next = (1..TREE_PORTS)
                .filter_map(|p| topology.tree_neighbour(at, p))
                .find(|&(child, _)| sent[child][0] == Some(waited - hop));
            match next {
                Some((child, _)) => (at, hops) = (child, hops + 1),
                None => break,
            }
        }
        assert!(hops > 0, "nothing but the root itself was waited for");
    }
}

#[test]
fn x1_hw5_collectives_hash_alike_with_any_window_and_threads() {
    let base = MachineConfig {
        link_latency: 5,
        ..config(&[3, 2])
    };
    let result = |config: MachineConfig| {
        let report = run(config, mixture(6, 5, 4), 4);
        (report.hash, report.cycles, report.makespan_ps)
    };
    let expected = result(base.clone());
    let changes: [(&str, Change); 4] = [
        ("repeated", |_| ()),
        ("by single cycles", |c| c.window = Some(1)),
        ("three threads", |c| c.threads = 3),
        ("every cycle evaluated", |c| c.skip_idle = false),
    ];
    for (what, change) in changes {
        let mut changed = base.clone();
        change(&mut changed);
        assert_eq!(result(changed), expected, "{what}");
    }
    let another = MachineConfig {
        link_latency: 6,
        ..base
    };
    assert_ne!(result(another).0, expected.0);
}
