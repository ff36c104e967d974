// SPDX-License-Identifier: MIT OR Apache-2.0
//! The flat fabric does in every cycle what a machine of single nodes does (HW-3): a machine runs its firmware
//! and random traffic of all kinds, or collectives beside messages (HW-5), and what its memories and software fed to the nodes is played to the
//! fabric. Every link word, memory access, register answer and interrupt of every node must be the same in
//! the same cycle.

#[path = "../../../sim-harness/sim/src/tests/common/mod.rs"]
mod common;

use std::collections::BTreeSet;
use std::rc::Rc;

use common::collective::{self, Program, Step};
use common::traffic::{self, Plan, Style};
use gyre_layout::{CollOp, CollType};
use gyre_rtl_tests::flat_fabric::{DIMS, Fabric, LINK_LATENCY, MESH, NODES, Output, outputs};
use gyre_sim::{Machine, MachineConfig, MemoryConfig, NodeInput, RunReport};

const STALL_PERCENT: u8 = 10;
const SEED: u64 = 3;

/// Inputs of a machine of single nodes, and outputs of each node.
struct Recording {
    inputs: Vec<NodeInput>,
    outputs: Vec<Vec<Output>>,
    report: RunReport,
}

/// Random traffic of all kinds on the torus.
fn torus_traffic(machine: &mut Machine) {
    traffic::bring_up(machine);
    let plan = Plan::random(NODES, 12, 5);
    traffic::run(machine, &plan, Style::default());
}

/// Collectives and barriers on three routes, beside messages on the torus.
fn collective_traffic(machine: &mut Machine) {
    let steps = vec![
        Step::all(CollOp::Add, CollType::F64, 200),
        Step::broadcast(2, 300),
        Step::all(CollOp::Max, CollType::I32, 77),
    ];
    let routes = [vec![0, 1, 2, 3], vec![2, 3], vec![1, 2]];
    let programs: Rc<[Program]> = (routes.into_iter())
        .map(|members| Program {
            members,
            steps: steps.clone(),
        })
        .collect();
    collective::bring_up(machine, &programs);
    collective::spawn(machine, &programs);
    common::run_exchange_only(machine, 6).expect("every result and message");
}

/// Makes a machine, runs something on it, and records its nodes from reset on.
fn record(run: impl FnOnce(&mut Machine)) -> Recording {
    let mut machine = Machine::new(MachineConfig {
        dims: DIMS.to_vec(),
        mesh: MESH.to_vec(),
        link_latency: LINK_LATENCY,
        memory: MemoryConfig {
            reorder: true,
            jitter: 20,
            stall_percent: STALL_PERCENT,
            seed: SEED,
            ..MemoryConfig::default()
        },
        watchdog: 200_000,
        ..MachineConfig::default()
    })
    .expect("made");
    machine.record_inputs();
    machine.record_outputs();
    run(&mut machine);
    let mut by_node = vec![Vec::new(); NODES];
    for output in machine.take_outputs() {
        by_node[output.node].extend(outputs(output.cycle, &output.words));
    }
    Recording {
        inputs: machine.take_inputs(),
        outputs: by_node,
        report: machine.report(),
    }
}

/// Plays inputs to a fabric and returns what its nodes did before `end`.
fn play(inputs: &[NodeInput], end: u64) -> Vec<Vec<Output>> {
    let mut fabric = Fabric::new(SEED, STALL_PERCENT);
    for input in inputs.iter().filter(|input| input.cycle < end) {
        fabric.run(input.cycle).expect("no assertion fails");
        fabric
            .load(input.node, &input.words)
            .expect("input records");
    }
    fabric.run(end).expect("no assertion fails");
    (0..NODES).map(|node| fabric.outputs(node)).collect()
}

/// The first output that differs: node, and what single node and fabric did.
fn difference<'a>(
    nodes: &'a [Vec<Output>],
    fabric: &'a [Vec<Output>],
) -> Option<(usize, Option<&'a Output>, Option<&'a Output>)> {
    let first = |node: usize| {
        let (a, b) = (&nodes[node], &fabric[node]);
        (0..a.len().max(b.len()))
            .map(|at| (a.get(at), b.get(at)))
            .find(|(a, b)| a != b)
            .map(|(a, b)| (node, a, b))
    };
    let cycle = |difference: &(usize, Option<&Output>, Option<&Output>)| {
        [difference.1, difference.2]
            .into_iter()
            .flatten()
            .map(|output| output.cycle)
            .min()
    };
    (0..nodes.len()).filter_map(first).min_by_key(cycle)
}

fn before(outputs: &[Vec<Output>], end: u64) -> Vec<Vec<Output>> {
    let cut = |list: &Vec<Output>| list.iter().filter(|o| o.cycle < end).cloned().collect();
    outputs.iter().map(cut).collect()
}

#[test]
#[ignore = "deep: models of its own"]
fn hw3_flat_fabric_equals_single_nodes_in_every_cycle() {
    let recording = record(torus_traffic);
    let links = recording.outputs.iter().flatten().filter(|o| o.is_link());
    let flits = links.filter(|o| o.words[0] & 4 != 0).count() as u64;
    assert_eq!(flits, recording.report.link_flits);
    assert!(flits > 1000, "too little traffic: {flits} flits");
    let tags: BTreeSet<u32> = recording.outputs[0].iter().map(|o| o.head & 0xff).collect();
    assert_eq!(
        tags,
        (1..=6).collect(),
        "outputs of every sort were recorded"
    );

    let end = recording.report.cycles;
    let fabric = play(&recording.inputs, end);
    assert_eq!(difference(&recording.outputs, &fabric), None);
}

#[test]
#[ignore = "deep: models of its own"]
fn hw5_flat_fabric_equals_single_nodes_under_collectives() {
    let recording = record(collective_traffic);
    // Flits or pulses by port: torus, tree, barrier wires.
    let mut counts = [0; 12];
    for output in recording.outputs.iter().flatten() {
        if output.is_link() && output.words[0] & 4 != 0 {
            counts[output.head as usize >> 8 & 0xff] += 1;
        }
    }
    assert_eq!(counts[..6].iter().sum::<u64>(), recording.report.link_flits);
    assert_eq!(
        counts[6..9].iter().sum::<u64>(),
        recording.report.tree_flits
    );
    assert!(recording.report.tree_flits > 1000, "{counts:?}");
    assert!(counts[9..].iter().all(|&pulses| pulses > 0), "{counts:?}");

    let end = recording.report.cycles;
    let fabric = play(&recording.inputs, end);
    assert_eq!(difference(&recording.outputs, &fabric), None);
}

/// Payloads that memory gives nodes after `cycle`: index of the input, and of a word inside of the data.
fn payload_words(inputs: &[NodeInput], cycle: u64) -> impl Iterator<Item = (usize, usize)> {
    const READ_DATA: u64 = 1;
    // Descriptors and counters are read with other ids.
    const PATHS: u64 = 8;
    let is_payload = |head: u64| head & 0xff == READ_DATA && head >> 16 & 0xffff < PATHS;
    let found = inputs.iter().enumerate().filter(move |(_, input)| {
        input.cycle > cycle && is_payload(input.words[0]) && input.words[0] >> 32 > 4
    });
    // Tag, due cycle, then {response, 8 words} a beat: the middle of the second beat.
    found.map(|(at, _)| (at, 2 + 9 + 4))
}

#[test]
#[ignore = "deep: models of its own"]
fn one_different_input_bit_shows_as_a_difference() {
    let recording = record(torus_traffic);
    let half = recording.report.cycles / 2;
    let mut payloads = payload_words(&recording.inputs, half);
    let (at, word) = payloads.next().expect("memory is read");
    let cycle = recording.inputs[at].cycle;
    let end = cycle + 1000;
    let expected = before(&recording.outputs, end);
    assert_eq!(difference(&expected, &play(&recording.inputs, end)), None);

    let mut changed = recording.inputs.clone();
    changed[at].words[word] ^= 1 << 40;
    let fabric = play(&changed, end);
    let (_, a, b) = difference(&expected, &fabric).expect("another payload bit");
    let (a, b) = (a.expect("an output"), b.expect("an output"));
    assert!(
        a.cycle > cycle && a.cycle == b.cycle && a.head == b.head,
        "{a:?} {b:?}"
    );

    // An answer of memory three cycles later. It shows at once unless flits read before it still wait for their turn.
    let shows = |at: usize| {
        let mut late = recording.inputs.clone();
        late[at].words[1] += 3;
        let end = late[at].words[1] + 12;
        let fabric = play(&late, end);
        difference(&before(&recording.outputs, end), &fabric).is_some()
    };
    assert!(payloads.take(12).any(|(at, _)| shows(at)));
}
