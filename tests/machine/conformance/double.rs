// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs on the test double: all endpoints take turns on one host thread, in an order by the seed.

use std::sync::Arc;

use gyre_driver::Resources;
use gyre_testkit::{Double, Fault, Process, config};
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom as _;
use rand::{RngExt, SeedableRng};

use crate::conformance::log::Log;
use crate::conformance::program::Program;
use crate::conformance::task::{Task, World};

/// Turns without any progress after which a round is taken to hang; acknowledgements wait for fewer.
const PATIENCE: usize = 5_000;

/// Runs a program on the double with a fault, if one is given. Returns the log and the number of packets.
pub fn run(program: &Program, fault: Option<Fault>) -> Result<(Log, u64), String> {
    let machine = Double::new(program.nodes(), program.seed);
    if program.reorder {
        machine.reorder();
    }
    if program.mesh {
        machine.cut();
    }
    if program.dims.len() > 1 {
        machine.diagonal();
    }
    if let Some(fault) = fault {
        machine.plant(fault);
    }
    machine.own(Resources::default().owner);
    let nodes: Vec<_> = (0..program.tasks())
        .map(|task| task / program.tasks_per_node)
        .collect();
    let places = machine.tasks(&nodes);
    let world = World::new(program);
    let text = |error: gyre_driver::Error| error.to_string();
    let mut tasks = Vec::new();
    for (task, &node) in (0..).zip(&nodes) {
        let base = config(&places, task, Resources::default());
        tasks.push(Task::new(&world, &machine.process(node), &base).map_err(text)?);
    }
    let mut random = ChaCha8Rng::seed_from_u64(program.seed);
    for number in 0..program.rounds.len() {
        machine.wind_up();
        round(number, &machine, &world, &tasks, &mut random)?;
    }
    for task in tasks {
        task.end().map_err(text)?;
    }
    let log = world.log.lock().clone();
    Ok((log, machine.packets()))
}

fn round(
    number: usize,
    machine: &Double,
    world: &Arc<World>,
    tasks: &[Task<Process>],
    random: &mut ChaCha8Rng,
) -> Result<(), String> {
    let text = |error: gyre_driver::Error| error.to_string();
    world.next();
    for task in tasks {
        task.turn(number).map_err(text)?;
    }
    let places = world.program.endpoints_of(0).len();
    let mut order: Vec<_> = tasks
        .iter()
        .flat_map(|task| (0..places).map(move |place| (task, place)))
        .collect();
    let mut idle = 0;
    while !world.is_over() {
        order.shuffle(random);
        let mut found = false;
        for &(task, place) in &order {
            found |= random.random_bool(0.5) && task.begin(number, place).map_err(text)?;
            found |= random.random_bool(0.8) && task.poll(number, place).map_err(text)?;
            for _ in 0..random.random_range(0..4) {
                found |= machine.step();
            }
            // Idle endpoints sleep, others now and then.
            if !found || random.random_bool(0.1) {
                task.sleep(place, 0).map_err(text)?;
            }
        }
        idle = if found { 0 } else { idle + 1 };
        if idle > PATIENCE {
            let waiting = world.waiting();
            return Err(format!("round {number} has no end: {waiting}"));
        }
    }
    // Packets under way, such as repeated ones, belong to the round.
    loop {
        let mut found = false;
        while machine.step() {
            found = true;
        }
        for &(task, place) in &order {
            found |= task.poll(number, place).map_err(text)?;
        }
        if !found {
            break;
        }
    }
    for task in tasks {
        task.look(number);
    }
    Ok(())
}
