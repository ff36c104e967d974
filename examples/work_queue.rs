// SPDX-License-Identifier: MIT OR Apache-2.0
//! A work queue: task 0 has the work, all others ask it for some until there is none left.
//!
//!     cargo run --release --example work_queue -- --shape 2x2x2 --set numbers=20000
//!
//! The work is to find prime numbers; later items take longer. Questions and answers are short active
//! messages, answered from the callback that receives them. Results are as long as they happen to be:
//! the driver sends them in one packet, eagerly or by rendezvous, and the master takes all alike. Its
//! sum of all primes must be that of a sieve.

use std::ops::Range;

use gyre::prelude::*;

const NUMBERS: Setting<u32> = Setting::number(
    "numbers",
    "",
    20_000,
    (1, 10_000_000),
    "numbers to look for primes among, from 0 on",
);
const ITEM_LENGTH: Setting<u32> =
    Setting::number("item", "", 500, (1, 1_000_000), "numbers of a work item");

/// The program: its name, what it does, the shape of its machine, and the function that runs it.
pub const PROGRAM: Program = Program::new(
    "work_queue",
    "Workers ask a master for work and send their results back",
    &[2; 3],
    run,
)
.with_settings(&[&NUMBERS, &ITEM_LENGTH]);

fn main() -> ExitCode {
    PROGRAM.main()
}

/// The task that has the work.
const MASTER: TaskId = TaskId(0);
/// Instructions of one division.
const DIVISION: u64 = 20;

/// Dispatch identifiers: a worker asks for work, the master answers, a worker sends the primes of an item. Tag of the
/// last two: the number of the item.
const ASK: u8 = 1;
const ANSWER: u8 = 2;
const RESULT: u8 = 3;

/// Communication context of answers: there is an item, or none is left.
const ITEM: u8 = 1;
const NONE_LEFT: u8 = 0;

/// The work: the numbers below `numbers`, in items of `item` numbers.
#[derive(Clone, Copy)]
struct Work {
    numbers: u32,
    item: u32,
}

impl Work {
    fn items(self) -> u32 {
        self.numbers.div_ceil(self.item)
    }

    fn numbers(self, item: u32) -> Range<u32> {
        let first = item * self.item;
        first..(first + self.item).min(self.numbers)
    }
}

/// Whether `number` is prime, by trial division, and how many divisions that took.
fn is_prime(number: u32) -> (bool, u64) {
    let mut divisions = 0;
    let mut candidates = (2..).take_while(|d| d * d <= number);
    let divides = candidates.any(|d| {
        divisions += 1;
        number.is_multiple_of(d)
    });
    (number >= 2 && !divides, divisions)
}

/// How many primes there are below `end`, and their sum, by a sieve.
fn sieve(end: u32) -> (u64, u64) {
    let mut prime = vec![true; end as usize];
    let (mut count, mut sum) = (0, 0);
    for number in 2..end as usize {
        if prime[number] {
            (count, sum) = (count + 1, sum + number as u64);
            for multiple in (number * number..end as usize).step_by(number) {
                prime[multiple] = false;
            }
        }
    }
    (count, sum)
}

/// Work done by one worker.
#[derive(Clone, Copy, Default)]
struct Share {
    items: u64,
    primes: u64,
}

/// Result of a task.
#[derive(Default)]
struct Ended {
    /// The master: the sum of all primes.
    sum: u64,
    /// The master: what each task has done.
    shares: Vec<Share>,
    /// The master: time from the beginning to the last worker's end, picoseconds.
    time_ps: u64,
    /// A worker: time spent dividing, picoseconds.
    busy_ps: u64,
}

/// The master: answers who asks, in callbacks, and adds up the results.
fn direct(task: &Task, work: Work) -> TaskResult<Ended> {
    let context = task.context();
    let began = task.platform().now_ps();
    let results = Inbox::create(context, RESULT)?;
    // One operation of this token a worker: to be told that nothing is left.
    let dismissed = Completion::new();
    let mut dismissals: Vec<_> = (1..task.count()).map(|_| dismissed.callback()).collect();
    let mut items = 0..work.items();
    let answer = move |context: &Context, arrival: &Arrival<'_>| {
        let item = items.next();
        let answer = SendImmediate {
            comm: if item.is_some() { ITEM } else { NONE_LEFT },
            tag: item.unwrap_or_default(),
            ..SendImmediate::new(arrival.origin, ANSWER)
        };
        match (item, context.send_immediate(&answer)) {
            (None, sent) => {
                if let Some(dismissed) = dismissals.pop() {
                    dismissed(context, sent);
                }
            }
            (Some(_), Err(error)) => return Receive::Refused(error.into()),
            (Some(_), Ok(())) => {}
        }
        Receive::Consumed
    };
    context.set_dispatch(ASK, Box::new(answer))?;

    let mut ended = Ended {
        shares: vec![Share::default(); task.count()],
        ..Ended::default()
    };
    let mut done = vec![false; work.items() as usize];
    for result in results.take(done.len())? {
        // A second result of an item would leave another without.
        done[result.tag as usize] = true;
        let primes = result.elements::<u32>()?;
        ended.sum += primes.iter().copied().map(u64::from).sum::<u64>();
        let share = &mut ended.shares[result.origin.task().0 as usize];
        share.items += 1;
        share.primes += primes.len() as u64;
    }
    dismissed.wait(context)?;
    context.advance_until(|| context.is_at_rest())?;
    ended.time_ps = task.platform().now_ps() - began;
    match done.iter().position(|&done| !done) {
        None => Ok(ended),
        Some(item) => Err(format!("no result of item {item}").into()),
    }
}

/// A worker: asks, works, sends the result.
fn toil(task: &Task, work: Work) -> TaskResult<Ended> {
    let (context, platform) = (task.context(), task.platform());
    let answers = Inbox::create(context, ANSWER)?;
    let master = context.endpoint(MASTER, 0)?;
    let mut ended = Ended::default();
    loop {
        context.send_immediate(&SendImmediate::new(master, ASK))?;
        let answer = answers.next()?;
        if answer.comm == NONE_LEFT {
            return Ok(ended);
        }
        let item = answer.tag;
        let began = platform.now_ps();
        let mut primes = Vec::new();
        for number in work.numbers(item) {
            let (prime, divisions) = is_prime(number);
            task.compute(divisions * DIVISION);
            if prime {
                primes.push(number);
            }
        }
        ended.busy_ps += platform.now_ps() - began;
        // The driver keeps the buffer until it has been read: no need to wait for that.
        let primes = Slice::copied(platform, &primes)?;
        context.send(SendMessage {
            tag: item,
            ..SendMessage::new(master, RESULT, primes.range().clone())
        })?;
    }
}

fn run(launch: &Launch<'_>) -> Result<Report, RunError> {
    let work = Work {
        numbers: launch.get(&NUMBERS),
        item: launch.get(&ITEM_LENGTH),
    };
    if launch.tasks() < 2 {
        let text =
            "a master and a worker are needed: give a larger --shape or --set tasks_per_node";
        return Err(UsageError::Combination(text.into()).into());
    }
    let (ended, report) = launch.run(move |task| match task.id() {
        MASTER => direct(task, work),
        _ => toil(task, work),
    })?;

    let cycles = |ps: u64| ps.div_ceil(launch.spec().config.cycle_ps);
    let Ended {
        sum,
        shares,
        time_ps,
        ..
    } = &ended[0];
    let rows = (1..launch.tasks()).map(|task| {
        json!({
            "worker": task,
            "items": shares[task].items,
            "primes": shares[task].primes,
            "busy_cycles": cycles(ended[task].busy_ps),
            "busy": cycles(ended[task].busy_ps) as f64 / cycles(*time_ps) as f64,
        })
    });
    let workers: Vec<_> = rows.collect();
    let found: (u64, u64) = (shares.iter().map(|share| share.primes).sum(), *sum);
    let expected = sieve(work.numbers);
    let check = match found == expected {
        true => Ok(()),
        false => Err(format!(
            "{} primes with sum {} found, expected {} with sum {}",
            found.0, found.1, expected.0, expected.1
        )),
    };
    Ok(report
        .param("numbers", work.numbers)
        .param("item", work.item)
        .metric("items", work.items())
        .metric("primes", found.0)
        .metric("sum", found.1)
        .metric("cycles", cycles(*time_ps))
        .check(check)
        .metric("workers", workers))
}
