//! Ping-pong: two tasks send a message to and fro, for many lengths.
//!
//!     cargo run --release --example ping_pong -- --shape 4x4x4 --set partner=63
//!
//! Both ends do the same, with the two callbacks that PAMI programs are made of: the dispatch callback is
//! called when a message begins to arrive, and says where it shall go; the done callback when all of it is
//! there. Every byte is checked at both ends.

use std::process::ExitCode;
use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre::error::RunError;
use gyre::job::{Job, Process};
use gyre::machine_file::MachineSpec;
use gyre::options::UsageError;
use gyre::placement::Placement;
use gyre::platform::{NodeBuffer, SimPlatform};
use gyre::program::{Program, Report, TASKS_PER_NODE};
use gyre::settings::{Default as Unless, Setting, Settings, Values};
use gyre_driver::{
    BufferRange, Client, Context, Endpoint, Error, Platform, Receive, SendMessage, TaskId,
};
use gyre_sim::Until;
use parking_lot::Mutex;
use serde_json::{Value, json};

const LONGEST: Setting<usize> =
    Setting::number("longest", "bytes", 65_536, (0, 16 << 20), "longest message");
const ROUNDS: Setting<u32> =
    Setting::number("rounds", "", 4, (1, 10_000), "round trips of each length");
const PARTNER: Setting<u32> = Setting {
    key: "partner",
    about: "task that plays against task 0",
    unit: "",
    default: Unless::Value(1),
    values: Values::Such(|task| task > 0, "a task from 1 to the last"),
};

/// The program: name, default shape, and the function that runs it.
pub const PROGRAM: Program = Program {
    name: "ping_pong",
    about: "Two tasks send a message to and fro",
    shape: &[2, 2, 2],
    settings: &[&TASKS_PER_NODE, &LONGEST, &ROUNDS, &PARTNER],
    run,
};

fn main() -> ExitCode {
    PROGRAM.main()
}

/// Dispatch identifier of the ball.
const BALL: u8 = 1;

/// A game: lengths of the ball in bytes, times that it comes back in each, and the second player.
#[derive(Clone)]
struct Game {
    lengths: Vec<usize>,
    rounds: u32,
    partner: TaskId,
}

/// The bytes of the ball: different in every flight.
fn ball(length: usize, flight: u32) -> Vec<u8> {
    (0..length)
        .map(|i| (i as u32 * 31 + i as u32 / 251 + flight * 7) as u8)
        .collect()
}

/// What the callbacks tell a player.
#[derive(Default)]
struct News {
    /// Balls caught.
    caught: AtomicCell<u32>,
    failure: Mutex<Option<Error>>,
}

struct Player {
    context: Context<SimPlatform>,
    other: Endpoint,
    /// Where the ball lands.
    into: BufferRange<NodeBuffer>,
    news: Arc<News>,
}

impl Player {
    /// Opens the context of a player; the other tasks look on.
    fn open(process: Process, game: &Game) -> Result<Option<Self>, Error> {
        let other = match process.task {
            TaskId(0) => game.partner,
            task if task == game.partner => TaskId(0),
            _ => return Ok(None),
        };
        let client = Client::create(&process.platform, process.client("ping_pong"))?;
        let context = client.create_context(0)?;
        let longest = game.lengths.iter().fold(0, |longest, &l| longest.max(l));
        let into = BufferRange::zeroed(&process.platform, longest)?;
        let news = Arc::new(News::default());
        let (landing, told) = (into.clone(), Arc::clone(&news));
        context.set_dispatch(
            BALL,
            Box::new(move |_, arrival| {
                let told = Arc::clone(&told);
                match landing.part(0, arrival.length) {
                    Err(error) => Receive::Refused(error.into()),
                    Ok(into) => Receive::Into {
                        into,
                        done: Some(Box::new(move |_, result| match result {
                            Ok(()) => {
                                told.caught.fetch_add(1);
                            }
                            Err(error) => *told.failure.lock() = Some(error),
                        })),
                    },
                }
            }),
        )?;
        Ok(Some(Self {
            other: context.endpoint(other, 0)?,
            context,
            into,
            news,
        }))
    }

    /// Plays all lengths: picoseconds of the rounds of each, or the first byte that was wrong.
    fn play(self, game: &Game) -> Result<Vec<u64>, Box<dyn std::error::Error>> {
        let serves = self.context.task() == TaskId(0);
        let mut times = Vec::with_capacity(game.lengths.len());
        for &length in &game.lengths {
            let begin = self.context.platform().now_ps();
            for round in 0..game.rounds {
                if serves {
                    self.send(&ball(length, 2 * round))?;
                    self.catch(&ball(length, 2 * round + 1))?;
                } else {
                    self.catch(&ball(length, 2 * round))?;
                    self.send(&ball(length, 2 * round + 1))?;
                }
            }
            times.push(self.context.platform().now_ps() - begin);
        }
        self.context.advance_until(|| self.context.is_at_rest())?;
        self.context.destroy()?;
        Ok(times)
    }

    fn send(&self, bytes: &[u8]) -> Result<(), Error> {
        let data = BufferRange::copied(self.context.platform(), bytes)?;
        self.context.send(SendMessage::new(self.other, BALL, data))
    }

    /// Waits for the ball and checks it.
    fn catch(&self, expected: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
        let news = &self.news;
        let failed = || news.failure.lock().is_some();
        self.context
            .advance_until(|| news.caught.load() > 0 || failed())?;
        let failure = news.failure.lock().take();
        if let Some(error) = failure {
            return Err(error.into());
        }
        news.caught.store(0);
        let mut found = vec![0; expected.len()];
        self.into.read(0, &mut found)?;
        match (0..found.len()).find(|&i| found[i] != expected[i]) {
            None => Ok(()),
            Some(i) => Err(format!(
                "byte {i} of {} is {:#04x}, expected {:#04x}",
                found.len(),
                found[i],
                expected[i]
            )
            .into()),
        }
    }
}

fn run(spec: &MachineSpec, settings: &Settings) -> Result<Report, RunError> {
    let per_node = settings.get(&TASKS_PER_NODE);
    let tasks = spec.nodes() * per_node;
    if tasks < 2 {
        let text = "two tasks are needed: give a larger --shape or --set tasks_per_node";
        return Err(UsageError::Combination(text.into()).into());
    }
    let last = tasks as u32 - 1;
    let longest = settings.get(&LONGEST);
    let lengths = std::iter::once(0).chain((3..).map(|power| 1 << power));
    let partner = settings.get(&PARTNER);
    if partner > last {
        return Err(PARTNER
            .refuse(partner, format!("a task from 1 to {last}"))
            .into());
    }
    let game = Game {
        lengths: lengths.take_while(|&length| length <= longest).collect(),
        rounds: settings.get(&ROUNDS),
        partner: TaskId(partner),
    };
    let placement = Placement::filled(per_node, &spec.config.dims)?;
    let mut job = Job::of(spec, &placement)?;
    let opening = game.clone();
    let open = move |process| Player::open(process, &opening);
    let (players, _) = job.each("opens", Until::Done, open)?;
    let playing = game.clone();
    let play = move |_, player: Option<Player>| player.map(|p| p.play(&playing)).transpose();
    let (times, end) = job.each_with("plays", Until::Quiet, players, play)?;
    job.finish()?;

    let times = times[0].iter().flatten();
    let flights = u64::from(2 * game.rounds);
    let rows: Vec<Value> = game
        .lengths
        .iter()
        .zip(times)
        .map(|(length, ps)| {
            let cycles = *ps as f64 / (flights * spec.config.cycle_ps) as f64;
            json!({
                "message_bytes": length,
                "half_round_trip_cycles": cycles,
                "bytes_per_cycle": *length as f64 / cycles,
            })
        })
        .collect();
    Ok(Report::new(end)
        .param("tasks_per_node", per_node)
        .param("rounds", game.rounds)
        .param("partner", game.partner.0)
        .metric("flights", flights * game.lengths.len() as u64)
        // A wrong byte would have ended the program.
        .check(Ok(()))
        .metric("lengths", rows))
}
