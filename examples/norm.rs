// SPDX-License-Identifier: MIT OR Apache-2.0
//! The norm of a vector: one task broadcasts it, every task adds up the squares of its part, and all add up those.
//!
//!     cargo run --release --example norm -- --shape 2x2x2 --set endpoints=3
//!
//! Every task takes part in the collectives with several endpoints, a context with a thread each, which share the work:
//! how, the geometry's list of algorithms decides. `--set endpoints=1` shows what that gains.

use std::rc::Rc;

use gyre::platform::NodeBuffer;
use gyre::prelude::*;
use gyre_collectives::{Collectives, DataType, Geometry, ReduceOp, Request};

const NUMBERS: Setting<usize> = Setting::number(
    "numbers",
    "",
    8192,
    (1, 1 << 20),
    "numbers of the vector, 8 bytes each",
);
const ENDPOINTS: Setting<u8> =
    Setting::number("endpoints", "", 3, (1, 16), "endpoints of each task");

/// The program: its name, what it does, the shape of its machine, and the function that runs it.
pub const PROGRAM: Program = Program::new(
    "norm",
    "A broadcast and a reduction by several endpoints a task",
    &[2; 3],
    run,
)
.with_settings(&[&NUMBERS, &ENDPOINTS]);

fn main() -> ExitCode {
    PROGRAM.main()
}

/// Dispatch identifier of the collectives.
const COLLECTIVES: u8 = 1;
/// Position of the task that has the vector.
const ROOT: usize = 0;
/// Reception FIFOs of a node, one for each context on it.
const FIFOS: usize = 16;
/// Instructions to add a square.
const SQUARE: u64 = 3;

/// The vector: whole numbers, so that sums are exact in whatever order they are made.
fn vector(numbers: usize) -> Vec<f64> {
    (0..numbers).map(|i| (i % 1000) as f64 - 300.0).collect()
}

fn squares(numbers: &[f64]) -> f64 {
    numbers.iter().map(|number| number * number).sum()
}

/// Result of a task.
struct Found {
    /// The vector as it has got it.
    vector: Vec<f64>,
    /// Sum of the squares of all tasks.
    squares: f64,
    /// Beginning and end of the broadcast, picoseconds.
    broadcast_ps: (u64, u64),
}

fn norm(task: &Task, numbers: usize) -> TaskResult<Found> {
    let (client, platform) = (task.client(), task.platform());
    let geometry = Geometry::world(client, "world", 1, client.contexts())?.on_network(client)?;
    let members = task.contexts().iter().map(|context| {
        let member = Collectives::attach(context, COLLECTIVES)?.join(&geometry)?;
        Ok(Rc::new(member))
    });
    let members = members.collect::<TaskResult<Vec<_>>>()?;
    // Every endpoint takes part, with the same buffers: those of its task.
    let all = |request: Request<NodeBuffer>| {
        task.threads(members.clone(), move |member| {
            member.carry_out(request.clone())
        });
        task.platform().now_ps()
    };

    let received = Slice::zeroed(platform, numbers)?;
    if task.id().0 as usize == ROOT {
        received.write(0, &vector(numbers))?;
    }
    let began = all(Request::barrier());
    let ended = all(Request::broadcast(ROOT, received.range().clone()));

    let cut = |part: usize| part * numbers / task.count();
    let (first, end) = (cut(task.id().0 as usize), cut(task.id().0 as usize + 1));
    let part = received.part(first, end - first)?.to_vec()?;
    task.compute(SQUARE * part.len() as u64);
    let mine = Slice::copied(platform, &[squares(&part)])?;
    let sum = Slice::<f64>::zeroed(platform, 1)?;
    let (send, receive) = (Some(mine.range().clone()), sum.range().clone());
    all(Request::allreduce(
        (DataType::F64, ReduceOp::Sum),
        send,
        receive,
    ));
    Ok(Found {
        vector: received.to_vec()?,
        squares: sum.to_vec()?.iter().sum(),
        broadcast_ps: (began, ended),
    })
}

fn run(launch: &Launch<'_>) -> Result<Report, RunError> {
    let (numbers, endpoints) = (launch.get(&NUMBERS), launch.get(&ENDPOINTS));
    let most = FIFOS / launch.tasks_per_node();
    if usize::from(endpoints) > most {
        let expected = format!("at most {most}: a node has {FIFOS} reception FIFOs");
        return Err(ENDPOINTS.refuse(endpoints, expected).into());
    }
    let launch = launch.with_contexts(endpoints);
    let (found, report) = launch.run(move |task| norm(task, numbers))?;

    let vector = vector(numbers);
    let right = |found: &&Found| found.vector == vector && found.squares == squares(&vector);
    let wrong = found.iter().filter(|found| !right(found)).count();
    let check = match wrong {
        0 => Ok(()),
        _ => Err(format!("{wrong} tasks have another vector or another norm")),
    };
    let began = found.iter().map(|found| found.broadcast_ps.0).min();
    let ended = found.iter().map(|found| found.broadcast_ps.1).max();
    let broadcast_ps = ended.unwrap_or(0) - began.unwrap_or(0);
    Ok(report
        .param("numbers", numbers)
        .param("endpoints", endpoints)
        .metric("norm", found[ROOT].squares.sqrt())
        .metric("broadcast_bytes", numbers * size_of::<f64>())
        .metric(
            "broadcast_cycles",
            broadcast_ps.div_ceil(launch.spec().config.cycle_ps),
        )
        .check(check))
}
