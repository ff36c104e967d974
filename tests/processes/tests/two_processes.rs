// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two tasks as two operating-system processes, in lock-step with the machine in a third, do what they
//! do as coroutines inside it, cycle by cycle.

use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use gyre::bring_up::bring_up;
use gyre::platform::{NodeBuffer, NodeSegments, SimPlatform};
use gyre_driver::{AllocError, CostTable, Op, SameNode};
use gyre_process_tests::Exchange;
use gyre_remote::{
    Limits, ProcessError, ProcessRange, TaskDescription, TaskEnd, TaskHost, TaskProcess,
};
use gyre_sim::{Machine, MachineConfig, RunReport, SimError, Until};

/// How the tasks run.
enum Tasks {
    Coroutines,
    /// With these further arguments for each, and the limits.
    Processes([&'static [&'static str]; 2], Limits),
}

const PROCESSES: Tasks = Tasks::Processes([&[], &[]], Limits::DEFAULT);

/// Result of a run of the exchange.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    report: RunReport,
    /// When each task ended, picoseconds.
    ends_ps: Vec<(u32, u64)>,
}

fn machine(nodes: [u8; 2]) -> Result<Machine, SimError> {
    let mut machine = Machine::new(MachineConfig {
        dims: vec![2],
        ..MachineConfig::default()
    })?;
    bring_up(&mut machine, process(nodes, 1) + 1)?;
    Ok(machine)
}

/// Tasks whose buffers are all the node's, and which come to no barrier of their job.
struct NoHost;

impl TaskHost<SimPlatform> for NoHost {
    fn map(&self, range: ProcessRange, _offset: Option<u64>) -> Result<NodeBuffer, AllocError> {
        Err(AllocError {
            bytes: range.len(),
            align: 1,
            reason: "not here".into(),
        })
    }

    fn sleep_until(&self, ps: u64) {
        panic!("a task sleeps until {ps} ps");
    }

    fn catch_up(&self) {}

    fn compute(&self, ps: u64) {
        panic!("a program computes for {ps} ps");
    }

    fn go_on_without(&self) {
        panic!("the machine goes on without a task");
    }

    fn arrive(&self) {
        panic!("a task comes to a barrier");
    }

    fn have_arrived(&self) -> Result<bool, String> {
        Err("the task has come to no barrier".into())
    }
}

/// Number of a task among those of its node.
fn process(nodes: [u8; 2], task: u32) -> u8 {
    u8::from(task == 1 && nodes[0] == nodes[1])
}

/// Starts the exchange's tasks on `machine`; returns their processes' numbers.
fn start(
    machine: &mut Machine,
    nodes: [u8; 2],
    same_node: SameNode,
    tasks: &Tasks,
    ends_ps: &Rc<RefCell<Vec<(u32, u64)>>>,
) -> Result<Vec<u32>, ProcessError> {
    let costs = Arc::new(CostTable::default());
    let segments: [NodeSegments; 2] = Default::default();
    let mut ids = Vec::new();
    for task in [0, 1] {
        let exchange = Exchange {
            task,
            nodes,
            same_node,
        };
        let number = process(nodes, task);
        let node = usize::from(nodes[task as usize]);
        let name = format!("task {task}");
        let costs = Arc::clone(&costs);
        let cpu_ps = machine.config().cpu_ps;
        let operation_ps = Op::ALL.map(|op| costs.instructions(op) * cpu_ps).to_vec();
        let ends_ps = Rc::clone(ends_ps);
        let segments = segments[node].clone();
        let platform = move |cpu| {
            let slot = number.into();
            SimPlatform::new(cpu, number, slot, costs, segments)
        };
        let remote = match tasks {
            Tasks::Coroutines => None,
            Tasks::Processes(more, limits) => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_exchange_task"));
                command.args(["--task", &task.to_string(), "--nodes"]);
                command.args(nodes.map(|node| node.to_string()));
                if same_node == SameNode::SharedMemory {
                    command.arg("--shared-memory");
                }
                command.args(more[task as usize]);
                let description = TaskDescription {
                    task,
                    nodes: nodes.map(|node| [node, 0, 0, 0, 0]).into(),
                    owner: 0,
                    slots_per_process: 4,
                    windows: None,
                    contexts: 1,
                    node_contexts: 16,
                    clients: Vec::new(),
                    tasks_per_node: 1 + usize::from(nodes[0] == nodes[1]),
                    hardware_threads: 4,
                    clock_mhz: 1600,
                    operation_ps,
                    compute_ps: 0,
                    recorded: false,
                };
                let remote = TaskProcess::spawn(command, description, *limits)?;
                ids.push(remote.id());
                Some(remote)
            }
        };
        machine.spawn(
            node,
            &name,
            move |cpu| -> Result<(), Box<dyn std::error::Error>> {
                let platform = platform(cpu);
                // A core for each process.
                assert!(platform.run_on(4 * usize::from(number)));
                match remote {
                    None => exchange.run(&platform, |_| {})?,
                    Some(remote) => assert_eq!(remote.serve(&platform, &NoHost)?, TaskEnd::Clean),
                }
                ends_ps.borrow_mut().push((task, platform.cpu().now_ps()));
                Ok(())
            },
        );
    }
    Ok(ids)
}

/// Runs the exchange on a machine of its own.
fn run(
    nodes: [u8; 2],
    same_node: SameNode,
    tasks: &Tasks,
) -> (Result<Outcome, SimError>, Vec<u32>) {
    let ends_ps = Rc::default();
    let mut machine = machine(nodes).expect("a machine");
    let ids = start(&mut machine, nodes, same_node, tasks, &ends_ps).expect("tasks");
    let report = machine.run(Until::Quiet);
    // A coroutine may end ahead of the machine's time, before one that ends earlier.
    let mut ends_ps = ends_ps.take();
    ends_ps.sort_unstable();
    let outcome = report.map(|report| Outcome { report, ends_ps });
    (outcome, ids)
}

/// Fails when a process is still there; this one has waited for all it started.
fn assert_gone(ids: &[u32]) {
    assert_eq!(ids.len(), 2);
    for id in ids {
        assert!(!Path::new(&format!("/proc/{id}")).exists(), "process {id}");
    }
}

/// The error with which a task of the exchange stopped the machine.
fn failure(more: [&'static [&'static str]; 2], limits: Limits) -> (String, ProcessError) {
    let (outcome, ids) = run([0, 1], SameNode::Loopback, &Tasks::Processes(more, limits));
    assert_gone(&ids);
    match outcome {
        Err(SimError::Actor { actor, source, .. }) => {
            let error = source.downcast().expect("an error of the process");
            (actor, *error)
        }
        other => panic!("{other:?}"),
    }
}

fn assert_equal_as_processes(nodes: [u8; 2], same_node: SameNode) -> Outcome {
    let (inside, _) = run(nodes, same_node, &Tasks::Coroutines);
    let inside = inside.expect("runs");
    assert_eq!(inside.ends_ps.len(), 2);
    assert!(inside.report.link_flits > 0 || nodes[0] == nodes[1]);
    for _ in 0..2 {
        let (outside, ids) = run(nodes, same_node, &PROCESSES);
        assert_eq!(outside.expect("runs"), inside);
        assert_gone(&ids);
    }
    inside
}

#[test]
fn x1_two_processes_on_two_nodes_run_as_two_coroutines_do() {
    assert_equal_as_processes([0, 1], SameNode::Loopback);
}

#[test]
fn x1_hw7_two_processes_on_one_node_run_as_two_coroutines_do() {
    let by_loop_back = assert_equal_as_processes([1, 1], SameNode::Loopback);
    let by_memory = assert_equal_as_processes([1, 1], SameNode::SharedMemory);
    assert_ne!(by_memory.report.hash, by_loop_back.report.hash);
}

#[test]
fn a_process_that_dies_stops_the_machine_and_the_other_process() {
    let (actor, error) = failure([&[], &["--die-in", "4"]], Limits::DEFAULT);
    assert_eq!(actor, "task 1");
    let text = error.to_string();
    assert!(text.contains("ended before its task: signal: 6"), "{text}");
}

#[test]
fn a_process_that_hangs_stops_the_machine_and_the_other_process() {
    let limits = Limits::end_after(Duration::from_secs(5));
    let (actor, error) = failure([&["--hang-in", "4"], &[]], limits);
    assert_eq!(actor, "task 0");
    assert!(matches!(error, ProcessError::Hung { .. }), "{error}");
}

#[test]
fn a_failing_task_stops_the_machine_with_its_message() {
    // Task 1 believes that it is number 7.
    let (actor, error) = failure([&[], &["--task", "7"]], Limits::DEFAULT);
    assert_eq!(actor, "task 1");
    let text = error.to_string();
    assert!(
        text.starts_with("the task failed: ") && text.contains('7'),
        "{text}"
    );
}
