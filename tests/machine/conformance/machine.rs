// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs on the Verilated machine: a thread for every endpoint.

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre::job::{Job, Process};
use gyre::placement::Placement;
use gyre::platform::Layered;
use gyre_driver::CostTable;
use gyre_sim::{ActorError, MachineConfig, Until};

use crate::conformance::dma_faults::{DmaFault, Planted};
use crate::conformance::log::Log;
use crate::conformance::program::Program;
use crate::conformance::task::{Task, World};

/// Simulated time between looks at whether a round is over.
const LOOK_PS: u64 = 2_000_000;
/// Looks before a round is taken to hang.
const PATIENCE: usize = 5_000;

/// Runs a program on the machine with a fault, if one is given. `planted` counts how often it is planted.
pub fn run(
    program: &Program,
    fault: Option<DmaFault>,
    planted: &Arc<AtomicCell<usize>>,
) -> Result<Log, String> {
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
    let world = World::new(program);
    let (of, planted) = (Arc::clone(&world), Arc::clone(planted));
    let open = move |process: Process| {
        let platform = Layered(Planted::new(process.platform.clone(), fault, &planted));
        Task::new(&of, &platform, &process.client("conformance"))
    };
    let opened = job.each("opens", Until::Done, open);
    let (tasks, _) = opened.map_err(|error| error.to_string())?;
    let tasks = Arc::new(tasks);
    let threads = program.endpoints_of(0).len();
    for number in 0..program.rounds.len() {
        world.next();
        let all = Arc::clone(&tasks);
        let turn = move |process: Process| all[process.number].turn(number);
        let turned = job.each("turns", Until::Done, turn);
        turned.map_err(|error| error.to_string())?;
        let (all, of) = (Arc::clone(&tasks), Arc::clone(&world));
        let body = move |process: Process, place: usize| {
            let task = &all[process.number];
            while task.begin(number, place)? {}
            let mut looks = 0;
            loop {
                let found = task.poll(number, place)?;
                if of.is_over() {
                    return Ok(());
                }
                if found {
                    continue;
                }
                looks += 1;
                if looks > PATIENCE {
                    let waiting = of.waiting();
                    return Err(ActorError::from(format!(
                        "round {number} has no end: {waiting}"
                    )));
                }
                task.sleep(place, LOOK_PS)?;
            }
        };
        let ran = job.threads("runs", threads, Until::Done, body);
        ran.map_err(|error| error.to_string())?;
        for task in &*tasks {
            task.look(number);
        }
    }
    let tasks = Arc::into_inner(tasks).ok_or("threads of the last round hold the tasks")?;
    job.each_with("ends", Until::Done, tasks, |_, task| task.end())
        .map_err(|error| error.to_string())?;
    let log = world.log.lock().clone();
    Ok(log)
}
