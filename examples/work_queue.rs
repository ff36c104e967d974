//! A work queue: task 0 has the work, all others ask it for some until there is none left.
//!
//!     cargo run --release --example work_queue -- --shape 2x2x2 --set numbers=20000
//!
//! The work is to find prime numbers; later items take longer. Questions and answers are short active
//! messages, answered from the callback that receives them. Results are as long as they happen to be:
//! the driver sends them in one packet, eagerly or by rendezvous, and the master receives all alike. Its
//! sum of all primes must be that of a sieve.

use std::ops::Range;
use std::process::ExitCode;
use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre::error::RunError;
use gyre::job::{Job, Process};
use gyre::machine_file::MachineSpec;
use gyre::options::UsageError;
use gyre::placement::Placement;
use gyre::platform::SimPlatform;
use gyre::program::{Program, Report, TASKS_PER_NODE};
use gyre::settings::{Setting, Settings};
use gyre_driver::{
    Arrival, BufferRange, Client, Context, DmaBuffer, Error, Platform, RangeError, Receive,
    SendImmediate, SendMessage, TaskId,
};
use gyre_sim::Until;
use parking_lot::Mutex;
use serde_json::json;

const NUMBERS: Setting<u32> = Setting::number(
    "numbers",
    "",
    20_000,
    (1, 10_000_000),
    "numbers to look for primes among, from 0 on",
);
const ITEM_LENGTH: Setting<u32> =
    Setting::number("item", "", 500, (1, 1_000_000), "numbers of a work item");

/// The program: name, default shape, and the function that runs it.
pub const PROGRAM: Program = Program {
    name: "work_queue",
    about: "Workers ask a master for work and send their results back",
    shape: &[2, 2, 2],
    settings: &[&TASKS_PER_NODE, &NUMBERS, &ITEM_LENGTH],
    run,
};

fn main() -> ExitCode {
    PROGRAM.main()
}

/// The task that has the work.
const MASTER: TaskId = TaskId(0);
/// Instructions of one division.
const DIVISION: u64 = 20;

/// Dispatch identifiers: a worker asks for work, the master gives an item or says that there is none, a
/// worker sends the primes of an item. Tag of the last two: the number of the item.
const ASK: u8 = 1;
const ITEM: u8 = 2;
const NONE_LEFT: u8 = 3;
const RESULT: u8 = 4;

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

/// What the master has heard from one worker.
#[derive(Clone, Copy, Default)]
struct Share {
    items: u64,
    primes: u64,
}

/// The master's books, kept by its callbacks.
struct Master {
    work: Work,
    /// The next item to give away.
    next: AtomicCell<u32>,
    /// Which items have come back.
    done: Mutex<Vec<bool>>,
    /// Workers that know that there is nothing left.
    dismissed: AtomicCell<usize>,
    /// By task.
    shares: Mutex<Vec<Share>>,
    sum: AtomicCell<u64>,
    failure: Mutex<Option<Error>>,
}

impl Master {
    /// A worker asks: the answer is posted from its callback.
    fn answer(
        &self,
        context: &Context<SimPlatform>,
        arrival: &Arrival<'_>,
    ) -> Receive<SimPlatform> {
        let item = self.next.load();
        let left = item < self.work.items();
        let dispatch = if left { ITEM } else { NONE_LEFT };
        let answer = SendImmediate {
            tag: item,
            ..SendImmediate::new(arrival.origin, dispatch)
        };
        match context.send_immediate(&answer) {
            Err(error) => return Receive::Refused(error.into()),
            Ok(()) if left => self.next.store(item + 1),
            Ok(()) => {
                self.dismissed.fetch_add(1);
            }
        }
        Receive::Consumed
    }

    /// A result has begun to arrive: it gets memory of its own, and is looked at when all of it is there.
    fn receive(
        self: &Arc<Self>,
        context: &Context<SimPlatform>,
        arrival: &Arrival<'_>,
    ) -> Receive<SimPlatform> {
        let into = match BufferRange::zeroed(context.platform(), arrival.length) {
            Ok(into) => into,
            Err(error) => return Receive::Refused(error.into()),
        };
        let (books, primes) = (Arc::clone(self), into.clone());
        let (worker, item) = (arrival.origin.task(), arrival.tag);
        Receive::Into {
            into,
            done: Some(Box::new(move |_, result| {
                let entered = result.and_then(|()| Ok(books.enter(worker, item, &primes)?));
                if let Err(error) = entered {
                    *books.failure.lock() = Some(error);
                }
            })),
        }
    }

    /// Enters a worker's result. A second result of an item would spoil the sum.
    fn enter<B: DmaBuffer>(
        &self,
        worker: TaskId,
        item: u32,
        primes: &BufferRange<B>,
    ) -> Result<(), RangeError> {
        let mut bytes = vec![0; primes.len()];
        primes.read(0, &mut bytes)?;
        let (primes, _) = bytes.as_chunks();
        let primes = primes.iter().map(|&prime| u32::from_le_bytes(prime));
        let sum: u64 = primes.clone().map(u64::from).sum();
        self.sum.fetch_add(sum);
        self.done.lock()[item as usize] = true;
        let share = &mut self.shares.lock()[worker.0 as usize];
        share.items += 1;
        share.primes += primes.len() as u64;
        Ok(())
    }

    fn is_over(&self) -> bool {
        let workers = self.shares.lock().len() - 1;
        self.dismissed.load() == workers && self.done.lock().iter().all(|&done| done)
    }
}

/// What a worker has been told.
#[derive(Clone, Copy)]
enum Answer {
    Item(u32),
    NoneLeft,
}

/// A task with its context open.
enum Task {
    Master(Context<SimPlatform>, Arc<Master>),
    Worker(Context<SimPlatform>, Arc<AtomicCell<Option<Answer>>>),
}

/// What a task knows at the end.
#[derive(Clone, Default)]
struct Ended {
    /// The master: the sum of all primes.
    sum: u64,
    /// The master: what each task has done.
    shares: Vec<Share>,
    /// A worker: time spent dividing, picoseconds.
    busy_ps: u64,
    /// When it was over, picoseconds.
    end_ps: u64,
}

impl Task {
    fn open(process: Process, work: Work) -> Result<Self, Error> {
        let client = Client::create(&process.platform, process.client("work_queue"))?;
        let context = client.create_context(0)?;
        if process.task == MASTER {
            let master = Arc::new(Master {
                work,
                next: AtomicCell::new(0),
                done: Mutex::new(vec![false; work.items() as usize]),
                dismissed: AtomicCell::new(0),
                shares: Mutex::new(vec![Share::default(); process.tasks.len()]),
                sum: AtomicCell::new(0),
                failure: Mutex::new(None),
            });
            let books = Arc::clone(&master);
            let answer = move |context: &_, arrival: &Arrival<'_>| books.answer(context, arrival);
            context.set_dispatch(ASK, Box::new(answer))?;
            let books = Arc::clone(&master);
            let receive = move |context: &_, arrival: &Arrival<'_>| books.receive(context, arrival);
            context.set_dispatch(RESULT, Box::new(receive))?;
            return Ok(Self::Master(context, master));
        }
        let answer = Arc::new(AtomicCell::new(None));
        let told = Arc::clone(&answer);
        let item = move |_: &_, arrival: &Arrival<'_>| {
            told.store(Some(Answer::Item(arrival.tag)));
            Receive::Consumed
        };
        context.set_dispatch(ITEM, Box::new(item))?;
        let told = Arc::clone(&answer);
        let none_left = move |_: &_, _: &Arrival<'_>| {
            told.store(Some(Answer::NoneLeft));
            Receive::Consumed
        };
        context.set_dispatch(NONE_LEFT, Box::new(none_left))?;
        Ok(Self::Worker(context, answer))
    }

    fn run(self, work: Work) -> Result<Ended, Error> {
        match self {
            Self::Master(context, master) => direct(&context, &master),
            Self::Worker(context, answer) => toil(&context, &answer, work),
        }
    }
}

/// The master's thread. All it does happens in callbacks.
fn direct(context: &Context<SimPlatform>, master: &Master) -> Result<Ended, Error> {
    let failed = || master.failure.lock().is_some();
    context.advance_until(|| failed() || (master.is_over() && context.is_at_rest()))?;
    let failure = master.failure.lock().take();
    if let Some(error) = failure {
        return Err(error);
    }
    let end_ps = context.platform().now_ps();
    context.destroy()?;
    Ok(Ended {
        sum: master.sum.load(),
        shares: std::mem::take(&mut *master.shares.lock()),
        end_ps,
        ..Ended::default()
    })
}

/// A worker's thread: asks, works, sends the result.
fn toil(
    context: &Context<SimPlatform>,
    answer: &AtomicCell<Option<Answer>>,
    work: Work,
) -> Result<Ended, Error> {
    let platform = context.platform();
    let master = context.endpoint(MASTER, 0)?;
    let mut busy_ps = 0;
    loop {
        context.send_immediate(&SendImmediate::new(master, ASK))?;
        let mut told = None;
        context.advance_until(|| {
            told = answer.take();
            told.is_some()
        })?;
        let Some(Answer::Item(item)) = told else {
            break;
        };
        let began = platform.now_ps();
        let mut primes = Vec::new();
        for number in work.numbers(item) {
            let (prime, divisions) = is_prime(number);
            platform.cpu().charge_instructions(divisions * DIVISION);
            if prime {
                primes.extend_from_slice(&number.to_le_bytes());
            }
        }
        busy_ps += platform.now_ps() - began;
        // The driver keeps the buffer until it has been read: no need to wait for that.
        context.send(SendMessage {
            tag: item,
            ..SendMessage::new(master, RESULT, BufferRange::copied(platform, &primes)?)
        })?;
    }
    context.advance_until(|| context.is_at_rest())?;
    let end_ps = platform.now_ps();
    context.destroy()?;
    Ok(Ended {
        busy_ps,
        end_ps,
        ..Ended::default()
    })
}

fn run(spec: &MachineSpec, settings: &Settings) -> Result<Report, RunError> {
    let per_node = settings.get(&TASKS_PER_NODE);
    let work = Work {
        numbers: settings.get(&NUMBERS),
        item: settings.get(&ITEM_LENGTH),
    };
    let tasks = spec.nodes() * per_node;
    if tasks < 2 {
        let text =
            "a master and a worker are needed: give a larger --shape or --set tasks_per_node";
        return Err(UsageError::Combination(text.into()).into());
    }
    let placement = Placement::filled(per_node, &spec.config.dims)?;
    let mut job = Job::of(spec, &placement)?;
    let open = move |process| Task::open(process, work);
    let (opened, ready) = job.each("opens", Until::Done, open)?;
    let (ended, end) =
        job.each_with("works", Until::Quiet, opened, move |_, task| task.run(work))?;
    job.finish()?;

    let cycle_ps = spec.config.cycle_ps;
    let cycles = ended[0].end_ps.div_ceil(cycle_ps) - ready.cycles;
    let shares = &ended[0].shares;
    let workers: Vec<_> = (1..tasks)
        .map(|task| {
            let busy = ended[task].busy_ps.div_ceil(cycle_ps);
            json!({
                "worker": task,
                "items": shares[task].items,
                "primes": shares[task].primes,
                "busy_cycles": busy,
                "busy": busy as f64 / cycles as f64,
            })
        })
        .collect();
    let primes = shares.iter().map(|share| share.primes).sum();
    let found = (primes, ended[0].sum);
    let expected = sieve(work.numbers);
    let check = match found == expected {
        true => Ok(()),
        false => Err(format!(
            "{} primes with sum {} found, expected {} with sum {}",
            found.0, found.1, expected.0, expected.1
        )),
    };
    Ok(Report::new(end)
        .param("tasks_per_node", per_node)
        .param("numbers", work.numbers)
        .param("item", work.item)
        .metric("items", work.items())
        .metric("primes", found.0)
        .metric("sum", found.1)
        .metric("cycles", cycles)
        .check(check)
        .metric("workers", workers))
}
