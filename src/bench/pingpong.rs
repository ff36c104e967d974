// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench pingpong`: how long a message takes from one endpoint to another and which part of that is
//! software (EP-4).
//!
//! Two tasks send one message to and fro. A half round trip runs from the moment at which its sender has
//! received the message before, and posts its own, to the moment at which the receive is done at the other
//! end: in the dispatch callback, if that has all of the data at hand, or in the done callback. The same callback
//! answers, or the program's loop when `advance` has returned. The processors' part of it is software: at the sender
//! from the post to the write of TAIL that hands the message to its DMA engine, at the receiver every `advance` that
//! takes a packet or calls a callback, from the turn that finds the message to the end of the receive. Register
//! accesses for which a processor waits are software. The rest is hardware: DMA engines, network, memory and wake-up.
//! What the receiver does meanwhile, asleep or looking in vain, is in its shadow.

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{
    Arrival, BufferRange, Client, ClientConfig, Context, Endpoint, Error, Platform, Receive,
    SendImmediate, SendMessage, TaskId,
};
use gyre_sim::Until;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use strum::{Display, EnumString};

use super::measure::{Measured, Total, refuse_if};
use super::metered::{Meter, Metered};
use gyre::error::RunError;
use gyre::job::{Job, Process};
use gyre::machine_file::MachineSpec;
use gyre::outcome::object;
use gyre::placement::Placement;
use gyre::platform::{Layered, NodeBuffer};
use gyre::settings::{Setting, Settings, Table};

/// Message sizes in bytes.
const SIZES: [usize; 7] = [0, 8, 64, 512, 4 << 10, 64 << 10, 512 << 10];
/// Warm-up round trips.
const WARM_UP: usize = 3;
/// Looks for a message before a receiver sleeps.
const LOOKS: usize = 64;
/// Dispatch identifier of the messages.
const PING: u8 = 1;

const ROUNDS: Setting<usize> = Setting::number(
    "rounds",
    "",
    4,
    (1, 1000),
    "round trips measured for each size",
);

/// Code that answers a message.
#[derive(Clone, Copy, Debug, Display, EnumString, PartialEq, Eq, PartialOrd)]
#[strum(serialize_all = "kebab-case")]
enum Reply {
    /// The callback in which it has been received.
    Callback,
    /// The loop that advances the context.
    Loop,
}

const REPLY: Setting<Reply> = Setting::choice(
    "reply",
    Reply::Callback,
    "callback or loop",
    "what answers a message: the callback in which it has been received, or the program's loop when `advance` has returned",
);
/// Its settings.
pub(super) const SETTINGS: &Table = &[&ROUNDS, &REPLY];

pub(super) fn run(spec: &MachineSpec, settings: &Settings) -> Result<Measured, RunError> {
    let (rounds, reply) = (settings.get(&ROUNDS), settings.get(&REPLY));
    refuse_if(
        spec.config.dims[0] < 2,
        "pingpong needs a neighbour in the first dimension",
    )?;
    let mut total = Total::new();
    let mut metrics = Map::new();
    let mut params = Map::new();
    for (name, nodes) in [("sizes", [0, 1]), ("loop_back", [0, 0])] {
        let mut game = Game::open(spec, nodes, reply)?;
        let mut rows = Vec::new();
        for bytes in SIZES {
            let figures = game.play(bytes, rounds)?;
            if metrics.is_empty() {
                metrics.extend(figures.clone());
            }
            let mut row = Map::new();
            row.insert("message_bytes".into(), json!(bytes));
            row.insert("protocol".into(), json!(game.protocol(bytes)));
            row.extend(figures);
            rows.push(Value::Object(row));
        }
        metrics.insert(name.into(), json!(rows));
        params.insert("eager_limit".into(), json!(game.eager_limit));
        total.add(game.report.0, game.report.1);
    }
    params.insert("rounds".into(), json!(rounds));
    params.insert(REPLY.key.into(), json!(reply.to_string()));
    Ok(total.measured(spec, params, metrics))
}

/// Times of a message at one end, picoseconds.
#[derive(Clone, Copy, Default)]
struct Trip {
    /// Posted by the sender.
    posted: u64,
    /// Handed to the DMA engine.
    rung: u64,
    /// The receiver's turn of `advance` began that called the dispatch callback.
    found: u64,
    /// Time from then on in which the receiver slept or looked in vain.
    shadow: u64,
    /// The receive was done.
    received: u64,
}

impl Trip {
    fn whole(&self) -> u64 {
        self.received - self.posted
    }

    fn software(&self) -> u64 {
        // A receiver may look before the message leaves, and find it all the same.
        (self.rung - self.posted) + (self.received - self.found.max(self.rung) - self.shadow)
    }
}

/// A machine with two tasks that play.
struct Game {
    job: Job,
    players: Arc<Vec<Arc<Player>>>,
    eager_limit: usize,
    /// Cycles and hash of the machine so far.
    report: (u64, u64),
}

impl Game {
    /// Opens the contexts of two tasks on `nodes`.
    fn open(spec: &MachineSpec, nodes: [usize; 2], reply: Reply) -> Result<Self, RunError> {
        let placement = Placement::of_nodes(nodes.to_vec(), spec.nodes())?;
        let mut job = Job::of(spec, &placement)?;
        let open = move |process: Process| {
            let config = process.client("pingpong");
            let eager_limit = config.eager_limit;
            Player::open(process, config, reply).map(|player| (player, eager_limit))
        };
        let (opened, report) = job.each("opens", Until::Done, open)?;
        let (players, limits): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
        Ok(Self {
            job,
            players: Arc::new(players),
            eager_limit: limits.into_iter().min().unwrap_or(0),
            report: (report.cycles, report.hash),
        })
    }

    /// How messages of `bytes` bytes travel.
    fn protocol(&self, bytes: usize) -> &'static str {
        match bytes {
            0..=SendImmediate::MAX => "immediate",
            _ if bytes <= self.eager_limit => "eager",
            _ => "rendezvous",
        }
    }

    /// Sends messages of `bytes` bytes to and fro: means of all half round trips that count, the shortest
    /// and the longest.
    fn play(&mut self, bytes: usize, rounds: usize) -> Result<Map<String, Value>, RunError> {
        let players = Arc::clone(&self.players);
        let play =
            move |process: Process| players[process.task.0 as usize].play(bytes, WARM_UP + rounds);
        let (noted, report) = self.job.each("plays", Until::Quiet, play)?;
        self.report = (report.cycles, report.hash);
        let mut trips = Vec::new();
        // Either end has noted what it sent and what it got in every round.
        for (sender, receiver) in [(0, 1), (1, 0)] {
            let (sent, got) = (&noted[sender].sent, &noted[receiver].got);
            trips.extend(sent.iter().zip(got).skip(WARM_UP).map(|(sent, got)| Trip {
                posted: sent.posted,
                rung: sent.rung,
                ..*got
            }));
        }
        let cycle_ps = self.job.machine().config().cycle_ps;
        let cycles = |ps: u64| ps as f64 / cycle_ps as f64;
        let mean =
            |part: &dyn Fn(&Trip) -> u64| cycles(trips.iter().map(part).sum()) / trips.len() as f64;
        Ok(object(json!({
            "half_round_trip_cycles": mean(&Trip::whole),
            "hardware_cycles": mean(&|trip| trip.whole() - trip.software()),
            "software_cycles": mean(&Trip::software),
            "least_cycles": trips.iter().map(Trip::whole).min().map(cycles),
            "most_cycles": trips.iter().map(Trip::whole).max().map(cycles),
        })))
    }
}

/// Times of all messages at one end.
#[derive(Default)]
struct Score {
    /// Messages that it is to send.
    rounds: usize,
    /// Of each message that it has sent, when.
    sent: Vec<Trip>,
    /// Of each that it has received.
    got: Vec<Trip>,
    /// Why an answer could not be sent.
    failure: Option<Error>,
}

/// One end of the game.
struct Player {
    context: Context<Metered>,
    peer: Endpoint,
    first: bool,
    reply: Reply,
    from: BufferRange<NodeBuffer>,
    /// The data of its messages.
    data: Mutex<BufferRange<NodeBuffer>>,
    /// The message that is arriving.
    arriving: AtomicCell<Trip>,
    score: Mutex<Score>,
}

impl Player {
    fn open(process: Process, config: ClientConfig, reply: Reply) -> Result<Arc<Self>, Error> {
        let platform = Layered(Meter::new(process.platform));
        let client = Client::create(&platform, config)?;
        let context = client.create_context(0)?;
        let longest = SIZES.into_iter().fold(0, usize::max);
        let into = BufferRange::whole(platform.alloc(longest, 64)?);
        let player = Arc::new(Self {
            peer: context.endpoint(TaskId(1 - process.task.0), 0)?,
            first: process.task.0 == 0,
            context,
            reply,
            from: BufferRange::whole(platform.alloc(longest, 64)?),
            data: Mutex::new(BufferRange::empty()),
            arriving: AtomicCell::default(),
            score: Mutex::default(),
        });
        let this = Arc::clone(&player);
        let dispatch = move |context: &Context<Metered>, arrival: &Arrival<'_>| {
            let meter = &context.platform().0;
            this.arriving.store(Trip {
                found: meter.turned_ps().unwrap_or_default(),
                shadow: meter.shadow_ps(),
                ..Trip::default()
            });
            if arrival.immediate.is_some() {
                this.receive(context);
                return Receive::Consumed;
            }
            let this = Arc::clone(&this);
            Receive::Into {
                into: into.clone(),
                done: Some(Box::new(
                    move |context: &Context<Metered>, result| match result {
                        Ok(()) => this.receive(context),
                        Err(error) => this.score.lock().failure = Some(error),
                    },
                )),
            }
        };
        player.context.set_dispatch(PING, Box::new(dispatch))?;
        Ok(player)
    }

    /// Notes that the message has been received, and answers it if a callback does that.
    fn receive(&self, context: &Context<Metered>) {
        let mut trip = self.arriving.load();
        let platform = context.platform();
        trip.shadow = platform.0.shadow_ps() - trip.shadow;
        trip.received = platform.now_ps();
        let answers = {
            let mut score = self.score.lock();
            score.got.push(trip);
            self.reply == Reply::Callback && score.sent.len() < score.rounds
        };
        if answers && let Err(error) = self.send(context, trip.received) {
            self.score.lock().failure = Some(error);
        }
    }

    /// Plays `rounds` rounds with messages of `bytes` bytes: the times at this end.
    fn play(&self, bytes: usize, rounds: usize) -> Result<Score, Error> {
        *self.data.lock() = self.from.part(0, bytes)?;
        *self.score.lock() = Score {
            rounds,
            ..Score::default()
        };
        if self.first {
            self.send(&self.context, self.context.platform().now_ps())?;
        }
        loop {
            let (sent, got, received) = {
                let score = self.score.lock();
                let received = score.got.last().map_or(0, |trip| trip.received);
                (score.sent.len(), score.got.len(), received)
            };
            if sent == rounds && got == rounds {
                break;
            }
            // The first one is ahead by a message.
            if self.reply == Reply::Loop && sent < got + usize::from(self.first) && sent < rounds {
                self.send(&self.context, received)?;
                continue;
            }
            self.until(|| self.score.lock().got.len() > got)?;
        }
        self.until(|| self.context.is_at_rest())?;
        let mut score = core::mem::take(&mut *self.score.lock());
        self.note_rung(&mut score);
        Ok(score)
    }

    /// Posts a message; its sender has had the ball since `posted`.
    fn send(&self, context: &Context<Metered>, posted: u64) -> Result<(), Error> {
        {
            let mut score = self.score.lock();
            self.note_rung(&mut score);
            score.sent.push(Trip {
                posted,
                ..Trip::default()
            });
        }
        let meter = &context.platform().0;
        meter.arm(context.query().injection_fifos.start);
        let data = self.data.lock().clone();
        if data.len() <= SendImmediate::MAX {
            let mut bytes = vec![0; data.len()];
            data.read(0, &mut bytes)?;
            return context.send_immediate(&SendImmediate {
                data: &bytes,
                ..SendImmediate::new(self.peer, PING)
            });
        }
        context.send(SendMessage::new(self.peer, PING, data))
    }

    /// Notes when the last message was handed to the DMA engine.
    fn note_rung(&self, score: &mut Score) {
        let rung = self.context.platform().0.rung_ps();
        if let (Some(last), Some(rung)) = (score.sent.last_mut(), rung) {
            last.rung = rung;
        }
    }

    /// Looks for something to do for a while, as a program does that waits for short messages.
    fn advance(&self) -> Result<bool, Error> {
        let meter = &self.context.platform().0;
        meter.begin();
        let progress = self.context.advance(LOOKS)?;
        if progress.packets + progress.callbacks == 0
            && let Some(from) = meter.turned_ps()
        {
            meter.in_shadow(from);
        }
        match self.score.lock().failure.take() {
            Some(error) => Err(error),
            None => Ok(progress.is_idle()),
        }
    }

    fn until(&self, condition: impl Fn() -> bool) -> Result<(), Error> {
        while !condition() {
            if self.advance()? && !condition() {
                let platform = self.context.platform();
                let from = platform.now_ps();
                self.context.wait(None)?;
                platform.0.in_shadow(from);
            }
        }
        Ok(())
    }
}
