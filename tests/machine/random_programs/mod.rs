// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random programs of sends, puts, gets, read-modify-writes, fences, acknowledgements and matched messages
//! between the endpoints of one or two clients on random Verilated machines, through the network, by loop-back
//! and through shared memory, against an executable reference: order of each pair, everything once, every byte,
//! read-modify-writes one after the other, and what fences promise. Faults that are planted between driver and
//! machine must be caught.

mod check;
mod faults;
mod member;
mod program;
mod reference;

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre::job::{Job, Process};
use gyre::placement::Placement;
use gyre::platform::Layered;
use gyre_driver::{Client, ClientConfig, CostTable, Error, Resources};
use gyre_sim::{MachineConfig, Until};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use faults::{Fault, Planted};
use member::{Member, Members};
use program::{Program, programs};
use reference::Reference;

/// First remote-get FIFO and first base slot of the first client.
const FIRST_OF_OTHERS: u16 = 16;

/// How client `number` of a task is created: behind the resources of those before it.
fn config(process: &Process, program: &Program, number: usize) -> ClientConfig {
    let processes = program.tasks_per_node as u16;
    let contexts = |client: usize| program.clients[client].contexts as u16 * processes;
    let before: u16 = (0..number).map(contexts).sum();
    let injection: u16 = program.clients[..number]
        .iter()
        .enumerate()
        .map(|(client, shape)| {
            let users = if shape.shared_injection {
                processes
            } else {
                contexts(client)
            };
            users * shape.injection_per_context
        })
        .sum();
    let shape = &program.clients[number];
    let config = process.client("random");
    ClientConfig {
        name: format!("random {number}"),
        id: number as u8,
        contexts: shape.contexts as u8,
        resources: Resources {
            injection_first: injection,
            shared_injection: shape.shared_injection,
            injection_per_context: shape.injection_per_context,
            injection_ring: 4096,
            remote_get_first: FIRST_OF_OTHERS + before,
            counters: 3,
            slot_first: FIRST_OF_OTHERS + before,
            // One region a context.
            slots_per_process: shape.contexts as u16,
            reception_first: before,
            reception_ring: 8192,
            shared_ring: 4096,
            wake_first: before as u8,
            ..config.resources
        },
        eager_limit: shape.eager_limit,
        ack: shape.ack.clone(),
        same_node: shape.same_node,
        ordered: shape.ordered,
        ..config
    }
}

/// Runs a program. Says how often the fault was planted, and what was wrong.
fn run(program: &Program, fault: Fault) -> (usize, Result<(), String>) {
    let planted = Arc::new(AtomicCell::new(0_usize));
    let result = run_counted(program, fault, &planted);
    (planted.load(), result)
}

fn run_counted(
    program: &Program,
    fault: Fault,
    planted: &Arc<AtomicCell<usize>>,
) -> Result<(), String> {
    let mut machine = MachineConfig {
        dims: program.dims.clone(),
        mesh: vec![program.mesh; program.dims.len()],
        ..MachineConfig::default()
    };
    machine.memory.jitter = program.jitter;
    machine.memory.reorder = program.jitter > 20;
    let placement =
        Placement::filled(program.tasks_per_node, &machine.dims).map_err(|e| e.to_string())?;
    let mut job = Job::new(&machine, &CostTable::default(), &placement, None)
        .map_err(|error| error.to_string())?;
    let reference = Arc::new(Reference::new(program));
    let program = Arc::new(program.clone());
    let open = {
        let (program, reference, planted) = (
            Arc::clone(&program),
            Arc::clone(&reference),
            Arc::clone(planted),
        );
        move |process: Process| {
            let platform = Layered(Planted::new(process.platform.clone(), fault, &planted));
            let clients = (0..program.clients.len())
                .map(|number| Client::create(&platform, config(&process, &program, number)))
                .collect::<Result<Vec<_>, _>>()?;
            program
                .endpoints_of_task(process.task.0 as usize)
                .into_iter()
                .map(|id| Member::open(&clients[id.client], id, &program, &reference))
                .collect::<Result<Vec<_>, Error>>()
        }
    };
    let (opened, _) = job
        .each("opens", Until::Done, open)
        .map_err(|error| error.to_string())?;
    let members = opened.into_iter().flatten();
    let all: Members = members.map(|member| (member.id, member)).collect();
    // A thread for each endpoint.
    let threads = program.endpoints_of_task(0).len();
    let (members, of_task) = (all.clone(), Arc::clone(&program));
    let body = move |process: Process, thread: usize| {
        let id = of_task.endpoints_of_task(process.task.0 as usize)[thread];
        members[&id].run(&members)
    };
    job.threads("runs", threads, Until::Quiet, body)
        .map_err(|error| error.to_string())?;
    for (id, member) in &all {
        check::end(member, &program, &reference.ends[id], &all);
    }
    let wrong: Vec<_> = all
        .values()
        .flat_map(|member| member.seen.lock().wrong.clone())
        .collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

/// Runs `cases` random programs, always the same ones; returns the error of each that fails, made as small as
/// `shrinks` attempts can.
fn check(cases: u32, shrinks: u32) -> Result<(), String> {
    let config = Config {
        cases,
        max_shrink_iters: shrinks,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(config, rng)
        .run(&programs(), |program| {
            let (_, result) = run(&program, Fault::Nothing);
            result.map_err(TestCaseError::fail)
        })
        .map_err(|error| error.to_string())
}

/// Runs the same programs with a fault, until one in which it was planted says one of `words`.
fn caught(fault: Fault, words: &[&str]) {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut errors = Vec::new();
    for _ in 0..150 {
        let program = programs()
            .new_tree(&mut runner)
            .expect("no filter")
            .current();
        let (planted, result) = run(&program, fault);
        match result {
            Err(error) if planted > 0 && words.iter().any(|words| error.contains(words)) => return,
            Err(error) => errors.push(format!("planted {planted} times: {error}")),
            Ok(()) => errors.push(format!("planted {planted} times, nothing was wrong")),
        }
    }
    panic!("not caught as {words:?}: {errors:#?}");
}

#[test]
fn ep1_ep4_ct1_fn1_ak1_hw1_hw7_random_programs_hold_on_random_machines() {
    check(60, 64).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn fn1_a_fence_that_returns_early_is_caught() {
    caught(Fault::EarlyFence, &["returns before step"]);
}

#[test]
fn ak1_a_lost_acknowledgement_is_caught() {
    caught(Fault::LostAcknowledgement, &["nothing is left to happen"]);
}

#[test]
fn ak1_a_doubled_acknowledgement_is_caught() {
    caught(Fault::DoubledAcknowledgement, &["nothing waits for it"]);
}

#[test]
fn ct1_a_match_out_of_order_is_caught() {
    let words = ["matched before", "no message of its own"];
    caught(Fault::MatchOutOfOrder, &words);
}
