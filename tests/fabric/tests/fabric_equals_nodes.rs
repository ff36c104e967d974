//! The flat fabric does in every cycle what a machine of single nodes does (HW-3): a machine runs its firmware
//! and random traffic of all kinds, and what its memories and software fed to the nodes is played to the
//! fabric. Every link word, memory access, register answer and interrupt of every node must be the same in
//! the same cycle.

#[path = "../../../sim-harness/tests/common/mod.rs"]
mod common;

use std::collections::BTreeSet;

use common::traffic::{self, Plan, Style};
use gyre_fabric_tests::{DIMS, Fabric, LINK_LATENCY, MESH, NODES, Output, outputs};
use gyre_sim::{Machine, MachineConfig, MemoryConfig, NodeInput, RunReport};

const STALL_PERCENT: u8 = 10;
const SEED: u64 = 3;

/// What went into a machine of single nodes and what came out of each.
struct Recording {
    inputs: Vec<NodeInput>,
    outputs: Vec<Vec<Output>>,
    report: RunReport,
}

/// Brings a machine up, runs traffic on it, and records its nodes from reset on.
fn record() -> Recording {
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
    traffic::bring_up(&mut machine);
    let plan = Plan::random(NODES, 12, 5);
    traffic::run(&mut machine, &plan, Style::default());
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
fn hw3_flat_fabric_equals_single_nodes_in_every_cycle() {
    let recording = record();
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

/// The first payload that memory gives a node after `cycle`: index of the input, and of a word inside of the
/// data.
fn payload_word(inputs: &[NodeInput], cycle: u64) -> (usize, usize) {
    const READ_DATA: u64 = 1;
    // Descriptors and counters are read with other ids.
    const PATHS: u64 = 8;
    let is_payload = |head: u64| head & 0xff == READ_DATA && head >> 16 & 0xffff < PATHS;
    let found = inputs.iter().position(|input| {
        input.cycle > cycle && is_payload(input.words[0]) && input.words[0] >> 32 > 4
    });
    // Tag, due cycle, then {response, 8 words} a beat: the middle of the second beat.
    (found.expect("memory is read"), 2 + 9 + 4)
}

#[test]
fn one_different_input_bit_shows_as_a_difference() {
    let recording = record();
    let half = recording.report.cycles / 2;
    let (at, word) = payload_word(&recording.inputs, half);
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

    // The same answer of memory three cycles later, and no longer than the first flit of it takes.
    let mut late = recording.inputs.clone();
    late[at].words[1] += 3;
    let end = late[at].words[1] + 12;
    let fabric = play(&late, end);
    assert!(difference(&before(&recording.outputs, end), &fabric).is_some());
}
