// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs on the test double: all tasks take turns on one host thread, in an order by the seed.

use std::sync::Arc;

use gyre_driver::Resources;
use gyre_testkit::{Double, Fault, Process, config};
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom as _;
use rand::{RngExt, SeedableRng};

use crate::conformance::log::Log;
use crate::conformance::member::{Task, World};
use crate::conformance::program::Program;

/// Turns in which nothing happens before a round is taken to have no end: more than acknowledgements wait.
const PATIENCE: usize = 5_000;

/// Runs a program on the double, with a fault if one is given.
pub fn run(program: &Program, fault: Option<Fault>) -> Result<Log, String> {
    let machine = Double::new(program.nodes, program.seed);
    if program.reorder {
        machine.reorder();
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
    let mut tasks = Vec::new();
    for (task, &node) in (0..).zip(&nodes) {
        let base = config(&places, task, Resources::default());
        tasks.push(Task::new(&world, &machine.process(node), base).map_err(|e| e.to_string())?);
    }
    let mut random = ChaCha8Rng::seed_from_u64(program.seed);
    for number in 0..program.rounds.len() {
        machine.wind_up();
        round(program, number, &machine, &world, &tasks, &mut random)?;
    }
    for task in tasks {
        task.end().map_err(|error| error.to_string())?;
    }
    let log = world.log.lock().clone();
    Ok(log)
}

fn round(
    program: &Program,
    number: usize,
    machine: &Double,
    world: &Arc<World>,
    tasks: &[Task<Process>],
    random: &mut ChaCha8Rng,
) -> Result<(), String> {
    world.next();
    for task in tasks {
        task.turn(number).map_err(|error| error.to_string())?;
    }
    let mut order: Vec<_> = program.endpoints().collect();
    order.shuffle(random);
    for endpoint in &order {
        let begun = tasks[endpoint.task].begin(number, endpoint.context);
        begun.map_err(|error| error.to_string())?;
        for _ in 0..random.random_range(0..4) {
            machine.step();
        }
    }
    let mut idle = 0;
    while !world.is_over() {
        order.shuffle(random);
        let mut found = false;
        for endpoint in &order {
            let task = &tasks[endpoint.task];
            found |= task.poll(number, endpoint.context);
            for _ in 0..random.random_range(0..4) {
                found |= machine.step();
            }
            // Now and then it sleeps, as whoever has nothing to do.
            if !found || random.random_bool(0.1) {
                let slept = task.sleep(endpoint.context, 0);
                slept.map_err(|error| error.to_string())?;
            }
        }
        idle = if found { 0 } else { idle + 1 };
        if idle > PATIENCE {
            let waiting = world.waiting();
            return Err(format!("round {number} has no end: {waiting}"));
        }
    }
    for task in tasks {
        task.look(number);
    }
    Ok(())
}
