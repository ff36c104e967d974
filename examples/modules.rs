// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two modules in one program: matched messages as MPI has them, and calls of functions on other tasks as the runtime of
//! a language has them. Each is a client of its own, with its own contexts and FIFOs, and neither knows of the other.
//!
//!     cargo run --release --example modules -- --shape 2x2x2 --set jobs=200
//!
//! Every task runs both at once, in a thread each. The clients come from `modules.toml` beside this file; the option
//! `--clients` gives them other resources.

use gyre::prelude::*;

const NUMBERS: Setting<usize> = Setting::number(
    "numbers",
    "",
    1000,
    (1, 1 << 20),
    "numbers that go round the tasks by matched messages",
);
const JOBS: Setting<u32> = Setting::number(
    "jobs",
    "",
    64,
    (1, 100_000),
    "calls that each task makes on all tasks in turn",
);

/// The program: its name, what it does, the shape of its machine, and the function that runs it.
pub const PROGRAM: Program = Program::new("modules", "Two clients side by side", &[2; 3], run)
    .with_settings(&[&NUMBERS, &JOBS])
    .with_clients("examples/modules.toml", include_str!("modules.toml"));

fn main() -> ExitCode {
    PROGRAM.main()
}

/// Dispatch identifiers. The clients are apart: both may use the same.
const MESSAGING: u8 = 1;
const CALL: u8 = 1;
const RETURN: u8 = 2;

/// Tag of the numbers that go round.
const ROUND: u32 = 7;
/// Instructions of a step of the function that is called.
const STEP: u64 = 4;

/// Result of a module, and the time that it took, picoseconds.
struct Found {
    numbers: Vec<f64>,
    time_ps: u64,
}

/// Contribution of task `task`.
fn own(task: u32, numbers: usize) -> Vec<f64> {
    (0..numbers)
        .map(|i| (i as u32 * (task + 1)) as f64)
        .collect()
}

/// As MPI has it: numbers go round all ranks, and every rank adds up what passes.
fn add_up(context: &Context, numbers: usize) -> TaskResult<Vec<f64>> {
    let messaging = Messaging::create(context, MessagingConfig::new(MESSAGING))?;
    let (platform, world) = (context.platform(), &Communicator::WORLD);
    let (rank, ranks) = (context.task().0, context.tasks().len() as u32);
    let (left, right) = (Rank((rank + ranks - 1) % ranks), Rank((rank + 1) % ranks));
    let mut sum = own(rank, numbers);
    let mut passing = Slice::copied(platform, &sum)?;
    for _ in 1..ranks {
        let next = Slice::zeroed(platform, numbers)?;
        let into = next.range().clone();
        let received = messaging.receive(Some(left), Some(ROUND), world, into, None)?;
        let data = passing.range().clone();
        let sent = messaging.send(right, ROUND, world, data, None)?;
        received.wait()?;
        sent.wait()?;
        passing = next;
        for (sum, number) in sum.iter_mut().zip(passing.to_vec()?) {
            *sum += number;
        }
    }
    Ok(sum)
}

/// Steps until `number` has come to 1: halved where it is even, else tripled and one more.
fn collatz(mut number: u64) -> u64 {
    let mut steps = 0;
    while number > 1 {
        number = if number.is_multiple_of(2) {
            number / 2
        } else {
            3 * number + 1
        };
        steps += 1;
    }
    steps
}

/// The number that `task` gives to call `job`.
fn argument(task: u32, job: u32) -> u64 {
    u64::from(1 + task * 1009 + job)
}

/// As a runtime has it: every task calls a function on all tasks in turn, serves the calls that come to it, and has what
/// its own returned, by call.
fn call(context: &Context, jobs: u32) -> TaskResult<Vec<f64>> {
    let (calls, returns) = (
        Inbox::create(context, CALL)?,
        Inbox::create(context, RETURN)?,
    );
    let (task, tasks) = (context.task().0, context.tasks().len() as u32);
    for job in 0..jobs {
        let callee = context.endpoint(TaskId(job % tasks), 0)?;
        context.send_immediate(&SendImmediate {
            tag: job,
            data: argument(task, job).as_bytes(),
            ..SendImmediate::new(callee, CALL)
        })?;
    }
    let ours = (0..jobs).filter(|job| job % tasks == task).count();
    for _ in 0..ours * tasks as usize {
        let call = calls.next()?;
        for number in call.elements::<u64>()? {
            let steps = collatz(number);
            context.platform().cpu().charge_instructions(steps * STEP);
            context.send_immediate(&SendImmediate {
                tag: call.tag,
                data: steps.as_bytes(),
                ..SendImmediate::new(call.origin, RETURN)
            })?;
        }
    }
    let mut returned = returns.take(jobs as usize)?;
    returned.sort_by_key(|message| message.tag);
    let steps = returned.iter().map(Message::elements::<u64>);
    let steps = steps.collect::<Result<Vec<_>, _>>()?.concat();
    Ok(steps.into_iter().map(|steps| steps as f64).collect())
}

/// A module: what it does in its context.
type Module = Box<dyn Fn(&Context) -> TaskResult<Vec<f64>>>;

/// Runs both modules of a task at once, a thread each.
fn side_by_side(task: &Task, numbers: usize, jobs: u32) -> TaskResult<Vec<Found>> {
    let modules: [(&str, Module); 2] = [
        ("mpi", Box::new(move |context| add_up(context, numbers))),
        ("runtime", Box::new(move |context| call(context, jobs))),
    ];
    let modules = modules.map(|(name, run)| (task.client_named(name).context().clone(), run));
    let found = task.threads(modules, |(context, run)| {
        let began = context.platform().now_ps();
        let numbers = run(&context)?;
        // Peers may still wait for an answer.
        context.advance_until(|| context.is_at_rest())?;
        let time_ps = context.platform().now_ps() - began;
        TaskResult::Ok(Found { numbers, time_ps })
    });
    Ok(found)
}

fn run(launch: &Launch<'_>) -> Result<Report, RunError> {
    let (numbers, jobs) = (launch.get(&NUMBERS), launch.get(&JOBS));
    let (found, report) = launch.run(move |task| side_by_side(task, numbers, jobs))?;

    let tasks = launch.tasks() as u32;
    let mut sum = vec![0.0; numbers];
    for task in 0..tasks {
        for (sum, number) in sum.iter_mut().zip(own(task, numbers)) {
            *sum += number;
        }
    }
    let steps = |task| (0..jobs).map(move |job| collatz(argument(task, job)) as f64);
    let wrong = (0..tasks).zip(&found).find(|(task, found)| {
        found[0].numbers != sum || !steps(*task).eq(found[1].numbers.iter().copied())
    });
    let check = match wrong {
        None => Ok(()),
        Some((task, _)) => Err(format!("a module of task {task} has found other numbers")),
    };
    let cycles = |module: usize| {
        let longest = found.iter().map(|found| found[module].time_ps).max();
        longest
            .unwrap_or_default()
            .div_ceil(launch.spec().config.cycle_ps)
    };
    Ok(report
        .param("numbers", numbers)
        .param("jobs", jobs)
        .metric("mpi_cycles", cycles(0))
        .metric("runtime_cycles", cycles(1))
        .check(check))
}
