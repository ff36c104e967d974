// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench match-memory`: payload bytes that the target of matched messages holds when their receives are
//! posted late (CT-3, CT-8).
//!
//! All tasks but task 0 send to it. It posts no receive before every message is known to it and nothing more
//! comes; then it receives them all and compares every byte. Bytes held are those of the messaging module's own
//! allocator.

use gyre_driver::matching::{MessagingStats, Protocol, Request};
use gyre_driver::{
    BufferRange, Client, Communicator, Error, Messaging, MessagingConfig, Platform, RangeError,
    Rank, TaskId, WakeReason,
};
use gyre_sim::Until;
use serde_json::{Map, Value, json};
use std::rc::Rc;
use thiserror::Error as ThisError;

use super::measure::{Measured, Total, refuse_if};
use gyre::error::RunError;
use gyre::job::{Job, Process};
use gyre::machine_file::MachineSpec;
use gyre::placement::Placement;
use gyre::platform::{NodeBuffer, SimPlatform};
use gyre::settings::{Setting, Settings, Table};

/// Dispatch identifiers of the module start here.
const MATCHED: u8 = 1;

const MESSAGES: Setting<usize> =
    Setting::number("messages", "", 8, (1, 1000), "messages of each sender");
const BYTES: Setting<usize> = Setting::number(
    "bytes",
    "bytes",
    4096,
    (1, 1 << 20),
    "length of each message",
);
/// Its settings.
pub(super) const SETTINGS: &Table = &[&MESSAGES, &BYTES];

pub(super) fn run(spec: &MachineSpec, settings: &Settings) -> Result<Measured, RunError> {
    let messages = settings.get(&MESSAGES);
    let bytes = settings.get(&BYTES);
    refuse_if(spec.nodes() < 2, "match-memory needs at least 2 nodes")?;
    let mut total = Total::new();
    let mut rows = Vec::new();
    let mut metrics = Map::new();
    for (name, metric, protocol, switch_over) in [
        ("remote get", "peak_held_bytes", Protocol::RemoteGet, 0),
        (
            "eager",
            "eager_peak_held_bytes",
            Protocol::RemoteGet,
            bytes + 1,
        ),
        (
            "temporary buffer",
            "prior_art_peak_held_bytes",
            Protocol::TemporaryBuffer,
            0,
        ),
    ] {
        let config = MessagingConfig {
            protocol,
            switch_over,
            ..MessagingConfig::new(MATCHED)
        };
        let work = Work { messages, bytes };
        let run = Run::measure(spec, work, config)?;
        metrics.insert(metric.into(), json!(run.stats.peak_held_bytes));
        rows.push(json!({
            "protocol": name,
            "switch_over_bytes": switch_over,
            "messages": run.stats.unexpected,
            "payload_bytes": run.stats.unexpected * bytes as u64,
            "peak_held_bytes": run.stats.peak_held_bytes,
            "cycles": run.cycles,
        }));
        total.add(run.total_cycles, run.hash);
    }
    metrics.insert("protocols".into(), Value::Array(rows));
    let mut params = Map::new();
    params.insert("messages".into(), json!(messages));
    params.insert("bytes".into(), json!(bytes));
    Ok(total.measured(spec, params, metrics))
}

/// Cycles in which nothing comes after which nothing more will come: many round trips.
const QUIET: u64 = 50_000;

/// Work of every sender.
#[derive(Debug, Clone, Copy)]
struct Work {
    messages: usize,
    bytes: usize,
}

/// Result of a run.
struct Run {
    stats: MessagingStats,
    /// From the first send to the last acknowledgement.
    cycles: u64,
    total_cycles: u64,
    hash: u64,
}

/// A task that gave up.
#[derive(Debug, ThisError)]
enum Failure {
    #[error(transparent)]
    Driver(#[from] Error),
    #[error(transparent)]
    Range(#[from] RangeError),
    #[error("message {number} of task {task} has other bytes than were sent")]
    Payload { task: u32, number: usize },
}

impl Run {
    fn measure(spec: &MachineSpec, work: Work, config: MessagingConfig) -> Result<Self, RunError> {
        let placement = Placement::new(spec.nodes(), &spec.config.dims, None)?;
        let mut job = Job::of(spec, &placement)?;
        let open = move |process: Process| Task::open(&process, config).map(Rc::new);
        let (tasks, _) = job.each("opens", Until::Done, open)?;
        let own = tasks.clone();
        let start = job.machine().cycles();
        let run = move |process: Process| own[process.task.0 as usize].run(work);
        job.each("runs", Until::Quiet, run)?;
        let report = job.machine().report();
        Ok(Self {
            stats: tasks[0].messaging.stats(),
            cycles: report.cycles - start,
            total_cycles: report.cycles,
            hash: report.hash,
        })
    }
}

/// One task.
struct Task {
    messaging: Messaging<SimPlatform>,
}

impl Task {
    fn open(process: &Process, config: MessagingConfig) -> Result<Self, Error> {
        let client = Client::create(&process.platform, process.client("match-memory"))?;
        let context = client.create_context(0)?;
        let messaging = Messaging::create(&context, config)?;
        Ok(Self { messaging })
    }

    fn run(&self, work: Work) -> Result<(), Failure> {
        match self.messaging.context().task() {
            TaskId(0) => self.receive(work),
            _ => self.send(work),
        }
    }

    fn send(&self, work: Work) -> Result<(), Failure> {
        let context = self.messaging.context();
        let mut requests = Vec::new();
        for number in 0..work.messages {
            let data = buffer(context.platform(), work.bytes)?;
            data.write(0, &payload(context.task().0, number, work.bytes))?;
            requests.push(self.messaging.send(
                Rank(0),
                number as u32,
                &Communicator::WORLD,
                data,
                None,
            )?);
        }
        context.advance_until(|| requests.iter().all(Request::is_complete))?;
        Ok(context.advance_until(|| context.is_at_rest())?)
    }

    fn receive(&self, work: Work) -> Result<(), Failure> {
        let context = self.messaging.context();
        let senders = 1..context.tasks().len() as u32;
        let all = senders.len() * work.messages;
        context.advance_until(|| self.messaging.stats().pending == all)?;
        self.until_quiet()?;
        let mut received = Vec::new();
        for task in senders {
            for number in 0..work.messages {
                let into = buffer(context.platform(), work.bytes)?;
                let (from, tag) = (Some(Rank(task)), Some(number as u32));
                let request =
                    self.messaging
                        .receive(from, tag, &Communicator::WORLD, into.clone(), None)?;
                received.push((task, number, into, request));
            }
        }
        context.advance_until(|| received.iter().all(|(.., request)| request.is_complete()))?;
        for (task, number, into, _) in received {
            let mut bytes = vec![0; work.bytes];
            into.read(0, &mut bytes)?;
            if bytes != payload(task, number, work.bytes) {
                return Err(Failure::Payload { task, number });
            }
        }
        Ok(context.advance_until(|| context.is_at_rest())?)
    }

    /// Advances until nothing has come for some time.
    fn until_quiet(&self) -> Result<(), Error> {
        let context = self.messaging.context();
        let platform = context.platform();
        loop {
            if !context.advance(1)?.is_idle() {
                continue;
            }
            let deadline = platform.now_ps() + QUIET * platform.cpu().cycle_ps();
            if context.wait(Some(deadline))? == WakeReason::Deadline {
                return Ok(());
            }
        }
    }
}

fn buffer(platform: &SimPlatform, bytes: usize) -> Result<BufferRange<NodeBuffer>, Error> {
    Ok(BufferRange::whole(platform.alloc(bytes, 64)?))
}

/// The bytes of a message.
fn payload(task: u32, number: usize, bytes: usize) -> Vec<u8> {
    let start = task as usize * 31 + number * 7;
    (0..bytes).map(|i| (start + i + i / 256) as u8).collect()
}
