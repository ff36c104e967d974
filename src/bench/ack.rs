// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench ack`: acknowledgement packets and completion latency with and without the acknowledgement
//! dispatcher (AK-6).
//!
//! 16 tasks send to one. Each keeps so many messages in flight, from the post of a message to the callback that
//! says that it was acknowledged, which is the completion latency. Acknowledgement packets are the memory-FIFO
//! packets that the receiver's node has sent, by its performance counters: it sends nothing else of that kind.

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{
    AckConfig, AckMethod, AckStats, BufferRange, Client, ClientConfig, CoalescingRule,
    Communicator, Context, DoneFn, Error, Messaging, MessagingConfig, Platform, Rank,
    SendImmediate, SendMessage, TaskId, Together,
};
use gyre_sim::Until;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::dispatch;
use super::measure::{Measured, Total, refuse_if};
use super::packets::sent;
use gyre::error::RunError;
use gyre::job::{Job, Process};
use gyre::machine_file::MachineSpec;
use gyre::outcome::object;
use gyre::placement::Placement;
use gyre::platform::{NodeBuffer, SimPlatform};
use gyre::settings::{Setting, Settings, Table};

/// Tasks that send to task 0.
const SENDERS: usize = 16;
/// Most bytes that travel eagerly.
const EAGER_LIMIT: usize = 512;

/// Dispatch identifiers.
const DATA: u8 = 1;
const END: u8 = 2;
const MATCHED: u8 = 8;

const MESSAGES: Setting<usize> = Setting::number(
    "messages",
    "",
    128,
    (16, 100_000),
    "messages of a sender that count; an eighth of them under light load",
);
/// Its settings.
pub(super) const SETTINGS: &Table = &[&MESSAGES];

pub(super) fn run(spec: &MachineSpec, settings: &Settings) -> Result<Measured, RunError> {
    let messages = settings.get(&MESSAGES);
    refuse_if(spec.nodes() < 2, "ack needs at least 2 nodes")?;
    let mut total = Total::new();
    let mut rows = Vec::new();
    total.expect(Kind::ALL.len() * LOADS.len() * methods().len());
    for kind in Kind::ALL {
        for load in LOADS {
            for (method, ack) in methods() {
                let messages = match load {
                    Load::Light => messages / 8,
                    Load::Heavy => messages,
                };
                let work = Work {
                    kind,
                    load,
                    messages,
                };
                let (row, ran, digest) = Row::measure(spec, work, method, &ack)?;
                rows.push(row);
                total.add(ran, digest);
            }
        }
    }
    let find = |kind, load, method| {
        let same = |row: &&Row| (row.work.kind, row.work.load, row.method) == (kind, load, method);
        rows.iter().find(same)
    };
    // With the default rules, per kind and load: how many times fewer packets than without the dispatcher,
    // and the latency against its bound.
    let mut compared = Vec::new();
    let (mut least_fewer, mut within) = (f64::INFINITY, true);
    for row in rows.iter().filter(|row| row.method == DEFAULT) {
        let Work { kind, load, .. } = row.work;
        let off = find(kind, load, OFF);
        let alone = find(kind, Load::Light, OFF);
        let (Some(off), Some(alone)) = (off, alone) else {
            continue;
        };
        let fewer = off.packets_per_message() / row.packets_per_message();
        let age = f64::from(CoalescingRule::default().maximum_age) * row.iteration_cycles;
        let round_trip = alone.mean();
        let bound = age + round_trip;
        if load == Load::Heavy {
            least_fewer = least_fewer.min(fewer);
        }
        within &= row.percentile(99) <= bound;
        compared.push(json!({
            "acknowledged": kind.name(),
            "load": load.name(),
            "fewer_times": fewer,
            "latency_p99_cycles": row.percentile(99),
            "maximum_age_iterations": CoalescingRule::default().maximum_age,
            "cycles_per_iteration": row.iteration_cycles,
            "maximum_age_cycles": age,
            "round_trip_cycles": round_trip,
            "latency_limit_cycles": bound,
        }));
    }
    let metrics = object(json!({
        "heavy_load_fewer_times": least_fewer,
        "latency_p99_within_limit": within,
        "default_rules": compared,
        "runs": rows.iter().map(Row::json).collect::<Vec<_>>(),
    }));
    let mut params = Map::new();
    params.insert("messages".into(), json!(messages));
    Ok(total.measured(spec, params, metrics))
}

const OFF: &str = "off";
const DEFAULT: &str = "on-arrival";
const PATH: &str = "on-arrival, path";

/// The dispatcher's methods by name: none of them, each alone, the last with the default rules and with that
/// of the network path besides.
fn methods() -> [(&'static str, AckConfig); 5] {
    let alone = |method| AckConfig {
        method,
        ..AckConfig::default()
    };
    let mut by_path = AckConfig::default();
    by_path.rules.push(CoalescingRule {
        together: Together::Path,
        ..CoalescingRule::default()
    });
    [
        (OFF, AckConfig::immediate()),
        ("threshold", alone(AckMethod::Threshold)),
        ("coalesce", alone(AckMethod::Coalesce)),
        (DEFAULT, AckConfig::default()),
        (PATH, by_path),
    ]
}

/// Kinds of acknowledged messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Remote-done of an eager SEND.
    Eager,
    /// SEND-done of a rendezvous.
    Rendezvous,
    /// ACK of a matched message.
    Matched,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Eager, Self::Rendezvous, Self::Matched];

    fn name(self) -> &'static str {
        match self {
            Self::Eager => "eager remote-done",
            Self::Rendezvous => "rendezvous SEND-done",
            Self::Matched => "CT ACK",
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Eager => 64,
            Self::Rendezvous | Self::Matched => 1024,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Load {
    Light,
    Heavy,
}

const LOADS: [Load; 2] = [Load::Light, Load::Heavy];

impl Load {
    fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Heavy => "heavy",
        }
    }

    /// Messages that a sender has in flight.
    fn in_flight(self) -> usize {
        match self {
            Self::Light => 1,
            Self::Heavy => 64,
        }
    }
}

/// Work of every sender.
#[derive(Debug, Clone, Copy)]
struct Work {
    kind: Kind,
    load: Load,
    messages: usize,
}

/// One run.
struct Row {
    work: Work,
    method: &'static str,
    packets: u64,
    /// Sorted.
    latencies: Vec<f64>,
    /// Mean cycles of an iteration of the dispatcher.
    iteration_cycles: f64,
    stats: AckStats,
}

impl Row {
    fn measure(
        spec: &MachineSpec,
        work: Work,
        method: &'static str,
        ack: &AckConfig,
    ) -> Result<(Self, u64, u64), RunError> {
        // The receiver has a node of its own.
        let others = spec.nodes() - 1;
        let nodes = (0..SENDERS).map(|sender| 1 + sender % others);
        let placement = Placement::of_nodes([0].into_iter().chain(nodes).collect(), spec.nodes())?;
        let mut job = Job::of(spec, &placement)?;
        let ack = ack.clone();
        let open = move |process: Process| Task::open(process, ack.clone(), work.kind);
        let (tasks, _) = job.each("opens", Until::Done, open)?;
        let before = sent(&mut job)?;
        let run = move |process: Process| tasks[process.task.0 as usize].run(work);
        let (ends, _) = job.each("runs", Until::Quiet, run)?;
        let packets = sent(&mut job)?[&0].since(before[&0]).memory_fifo;
        let cycle_ps = spec.config.cycle_ps as f64;
        let mut latencies: Vec<f64> = (ends.iter())
            .flat_map(|end| &end.latencies_ps)
            .map(|&ps| ps as f64 / cycle_ps)
            .collect();
        latencies.sort_by(f64::total_cmp);
        if latencies.len() != SENDERS * work.messages {
            return Err(RunError::Check(format!(
                "{} of {} messages were acknowledged",
                latencies.len(),
                SENDERS * work.messages
            )));
        }
        let receiver = &ends[0];
        let report = job.machine().report();
        let row = Self {
            work,
            method,
            packets,
            latencies,
            iteration_cycles: receiver.iterating_ps as f64
                / cycle_ps
                / receiver.stats.iterations.max(1) as f64,
            stats: receiver.stats,
        };
        Ok((row, report.cycles, report.hash))
    }

    fn packets_per_message(&self) -> f64 {
        self.packets as f64 / self.latencies.len() as f64
    }

    fn mean(&self) -> f64 {
        self.latencies.iter().sum::<f64>() / self.latencies.len() as f64
    }

    fn percentile(&self, percent: usize) -> f64 {
        let at = (self.latencies.len() * percent).div_ceil(100);
        self.latencies[at.saturating_sub(1)]
    }

    fn json(&self) -> Value {
        json!({
            "acknowledged": self.work.kind.name(),
            "load": self.work.load.name(),
            "method": self.method,
            "messages": self.latencies.len(),
            "ack_packets": self.packets,
            "ack_packets_per_message": self.packets_per_message(),
            "latency_mean_cycles": self.mean(),
            "latency_p99_cycles": self.percentile(99),
            "oldest_iterations": self.stats.oldest,
        })
    }
}

/// Result of a task.
struct End {
    latencies_ps: Vec<u64>,
    /// Time of the turns in which the dispatcher iterated.
    iterating_ps: u64,
    stats: AckStats,
}

/// One task.
struct Task {
    context: Context<SimPlatform>,
    messaging: Messaging<SimPlatform>,
    /// Data to send, or buffer to receive.
    data: BufferRange<NodeBuffer>,
    in_flight: Arc<AtomicCell<usize>>,
    latencies_ps: Arc<Mutex<Vec<u64>>>,
    ends: Arc<AtomicCell<usize>>,
}

impl Task {
    fn open(process: Process, ack: AckConfig, kind: Kind) -> Result<Arc<Self>, Error> {
        let client = process.client("ack");
        let config = ClientConfig {
            eager_limit: EAGER_LIMIT,
            ack,
            ..client
        };
        let client = Client::create(&process.platform, config)?;
        let context = client.create_context(0)?;
        let data = BufferRange::whole(process.platform.alloc(kind.bytes(), 64)?);
        dispatch::receive_into(&context, DATA, data.clone())?;
        let ends = dispatch::count(&context, END)?;
        let matched = MessagingConfig {
            switch_over: 0,
            ..MessagingConfig::new(MATCHED)
        };
        Ok(Arc::new(Self {
            messaging: Messaging::create(&context, matched)?,
            context,
            data,
            in_flight: Arc::default(),
            latencies_ps: Arc::default(),
            ends,
        }))
    }

    fn run(&self, work: Work) -> Result<End, Error> {
        let iterating_ps = match self.context.task() {
            TaskId(0) => self.receive(work)?,
            _ => {
                self.send(work)?;
                0
            }
        };
        self.context.advance_until(|| self.context.is_at_rest())?;
        Ok(End {
            latencies_ps: std::mem::take(&mut *self.latencies_ps.lock()),
            iterating_ps,
            stats: self.context.ack_stats()?,
        })
    }

    /// Receives until all senders have ended.
    fn receive(&self, work: Work) -> Result<u64, Error> {
        let context = &self.context;
        if work.kind == Kind::Matched {
            for _ in 0..SENDERS * work.messages {
                let into = self.data.clone();
                self.messaging
                    .receive(None, None, &Communicator::WORLD, into, None)?;
            }
        }
        let mut iterating_ps = 0;
        let mut stats = context.ack_stats()?;
        while self.ends.load() < SENDERS {
            let from = context.platform().now_ps();
            let idle = context.advance(1)?.is_idle();
            let now = context.ack_stats()?;
            if now.iterations > stats.iterations {
                iterating_ps += context.platform().now_ps() - from;
            }
            stats = now;
            if idle && self.ends.load() < SENDERS {
                context.wait(None)?;
            }
        }
        Ok(iterating_ps)
    }

    /// Sends all its messages, and tells the receiver when they have been acknowledged.
    fn send(&self, work: Work) -> Result<(), Error> {
        let context = &self.context;
        for _ in 0..work.messages {
            context.advance_until(|| self.in_flight.load() < work.load.in_flight())?;
            self.post(work.kind)?;
        }
        context.advance_until(|| self.in_flight.load() == 0)?;
        let destination = context.endpoint(TaskId(0), 0)?;
        context.send_immediate(&SendImmediate::new(destination, END))
    }

    fn post(&self, kind: Kind) -> Result<(), Error> {
        let (in_flight, latencies) = (Arc::clone(&self.in_flight), Arc::clone(&self.latencies_ps));
        in_flight.fetch_add(1);
        let from = self.context.platform().now_ps();
        let done: DoneFn<SimPlatform> = Box::new(
            move |context: &Context<SimPlatform>, result: Result<(), Error>| {
                in_flight.fetch_sub(1);
                // A message that failed is missing among the latencies.
                if result.is_ok() {
                    latencies.lock().push(context.platform().now_ps() - from);
                }
            },
        );
        let data = self.data.clone();
        if kind == Kind::Matched {
            self.messaging
                .send(Rank(0), 0, &Communicator::WORLD, data, Some(done))?;
            return Ok(());
        }
        self.context.send(SendMessage {
            remote_done: Some(done),
            ..SendMessage::new(self.context.endpoint(TaskId(0), 0)?, DATA, data)
        })
    }
}
