// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench bandwidth`: payload share of a link under long messages that the driver moves (EP-4, CT-4).
//!
//! One task moves messages to its neighbour by rendezvous and by rput, and from it by rget. It keeps a window
//! of them under method: whenever one is done it posts the next. A message is done when all of it is in the
//! memory where it belongs, and the software there knows.

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{
    Arrival, BufferRange, Client, Context, DoneFn, Endpoint, MemoryRegion, Platform, PutNotify,
    Receive, RegionRights, RemoteRegion, Rget, Rput, SendImmediate, SendMessage, TaskId,
};
use gyre_sim::Until;
use parking_lot::Mutex;
use serde_json::{Map, json};
use std::error::Error;
use std::sync::Arc;

use super::measure::{Measured, Total, refuse_if};
use gyre::error::RunError;
use gyre::job::{Job, Process};
use gyre::machine_file::MachineSpec;
use gyre::placement::Placement;
use gyre::platform::{NodeBuffer, SimPlatform};
use gyre::settings::{Setting, Settings, Table};

/// Data wires of a link, bytes.
const FLIT_BYTES: u64 = 16;
/// Dispatch identifiers: a message, and the end of a transfer.
const DATA: u8 = 1;
const OVER: u8 = 2;

type Failure = Box<dyn Error>;

/// How messages are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Rendezvous,
    Rput,
    Rget,
}

impl Method {
    const ALL: [Self; 3] = [Self::Rendezvous, Self::Rput, Self::Rget];

    fn name(self) -> &'static str {
        match self {
            Self::Rendezvous => "rendezvous",
            Self::Rput => "rput",
            Self::Rget => "rget",
        }
    }

    /// The task whose software learns first that a message is in memory.
    fn witness(self) -> usize {
        match self {
            Self::Rendezvous => 1,
            Self::Rput | Self::Rget => 0,
        }
    }
}

/// How many messages.
#[derive(Clone, Copy)]
struct Load {
    /// Messages under method at once.
    window: usize,
    /// Messages in all.
    total: usize,
}

const MESSAGE_BYTES: Setting<usize> = Setting::number(
    "message_bytes",
    "bytes",
    512 << 10,
    (4097, 1 << 24),
    "length of each message, above the eager limit",
);
const IN_FLIGHT: Setting<usize> = Setting::number(
    "in_flight",
    "",
    16,
    (1, 64),
    "messages under method at once",
);
const WARMUP_MESSAGES: Setting<usize> = Setting::number(
    "warmup_messages",
    "",
    4,
    (1, 1000),
    "messages before those that count",
);
const MESSAGES: Setting<usize> =
    Setting::number("messages", "", 16, (1, 1000), "messages that count");
/// Its settings.
pub(super) const SETTINGS: &Table = &[&MESSAGE_BYTES, &IN_FLIGHT, &WARMUP_MESSAGES, &MESSAGES];

pub(super) fn run(spec: &MachineSpec, settings: &Settings) -> Result<Measured, RunError> {
    let bytes = settings.get(&MESSAGE_BYTES);
    let window = settings.get(&IN_FLIGHT);
    let warm_up = settings.get(&WARMUP_MESSAGES);
    let messages = settings.get(&MESSAGES);
    refuse_if(
        spec.config.dims[0] < 2,
        "bandwidth needs a neighbour in the first dimension",
    )?;
    let mut total = Total::new();
    let placement = Placement::of_nodes(vec![0, 1], spec.nodes())?;
    let mut job = Job::of(spec, &placement)?;
    let open = move |process| Task::open(process, bytes, window);
    let (tasks, _) = job.each("opens", Until::Done, open)?;
    let cycle_ps = job.machine().config().cycle_ps;
    let share = |bytes: usize, ps: u64| bytes as f64 / ((ps * FLIT_BYTES) as f64 / cycle_ps as f64);
    let mut rows = Vec::new();
    let mut least = f64::INFINITY;
    for method in Method::ALL {
        // The window is full from the first of the messages that count to the last.
        let load = Load {
            window,
            total: warm_up + messages + window,
        };
        let done = transfer(&mut job, &tasks, method, load)?.1;
        let steady = share(
            messages * bytes,
            done[warm_up + messages - 1] - done[warm_up - 1],
        );
        // One of two messages, so that the first can warm up.
        let load = Load {
            window: 1,
            total: 2,
        };
        let (posted, done) = transfer(&mut job, &tasks, method, load)?;
        let single = done[1] - posted[1];
        least = least.min(steady);
        rows.push(json!({
            "transfer": method.name(),
            "payload_share": steady,
            "single_message_payload_share": share(bytes, single),
            "single_message_cycles": single.div_ceil(cycle_ps),
        }));
    }
    let mut metrics = Map::new();
    metrics.insert("payload_share".into(), json!(least));
    metrics.insert("format_limit".into(), json!(512.0 / 544.0));
    metrics.insert("transfers".into(), json!(rows));
    let mut params = Map::new();
    params.insert("message_bytes".into(), json!(bytes));
    params.insert("in_flight".into(), json!(window));
    params.insert("warmup_messages".into(), json!(warm_up));
    params.insert("messages".into(), json!(messages));
    let report = job.machine().report();
    total.add(report.cycles, report.hash);
    Ok(total.measured(spec, params, metrics))
}

/// Times at which the messages were posted and done, picoseconds.
fn transfer(
    job: &mut Job,
    tasks: &[Arc<Task>],
    method: Method,
    load: Load,
) -> Result<(Vec<u64>, Vec<u64>), RunError> {
    let (origin, target) = (&tasks[0], &tasks[1]);
    let (from, to) = match method {
        Method::Rendezvous | Method::Rput => (origin, target),
        Method::Rget => (target, origin),
    };
    let failed = |error| RunError::Check(format!("{}: {error}", method.name()));
    from.fill(method as u8 + 1).map_err(failed)?;
    let all = tasks.to_vec();
    let run = move |process: Process| {
        let task = &all[process.task.0 as usize];
        task.over.store(false);
        if process.task.0 == 0 {
            task.originate(method, load, &all[1])?;
        } else {
            task.context.advance_until(|| task.over.load())?;
        }
        task.context.advance_until(|| task.context.is_at_rest())?;
        Ok::<(), Failure>(())
    };
    job.each(method.name(), Until::Quiet, run)?;
    let used = load.window.min(load.total);
    if from.content(used).map_err(failed)? != to.content(used).map_err(failed)? {
        return Err(failed("what has arrived is not what was sent".into()));
    }
    let done = std::mem::take(&mut *tasks[method.witness()].done.lock());
    for task in tasks {
        task.done.lock().clear();
    }
    Ok((std::mem::take(&mut *origin.posted.lock()), done))
}

/// One of the two tasks.
struct Task {
    context: Context<SimPlatform>,
    peer: Endpoint,
    /// As many messages as can be under method.
    memory: BufferRange<NodeBuffer>,
    bytes: usize,
    region: MemoryRegion<SimPlatform>,
    /// When messages were posted, and when this end learned that they were done, picoseconds.
    posted: Mutex<Vec<u64>>,
    done: Mutex<Vec<u64>>,
    over: AtomicCell<bool>,
}

impl Task {
    fn open(process: Process, bytes: usize, window: usize) -> Result<Arc<Self>, Failure> {
        let platform = process.platform.clone();
        let client = Client::create(&platform, process.client("bandwidth"))?;
        let context = client.create_context(0)?;
        let memory = BufferRange::whole(platform.alloc(bytes * window, 64)?);
        let task = Arc::new(Self {
            peer: context.endpoint(TaskId(1 - process.task.0), 0)?,
            region: client.create_region(&memory, RegionRights::ALL)?,
            context,
            memory,
            bytes,
            posted: Mutex::default(),
            done: Mutex::default(),
            over: AtomicCell::default(),
        });
        let this = Arc::clone(&task);
        let receive = move |_: &Context<SimPlatform>, arrival: &Arrival<'_>| {
            // The tag is the number of the buffer.
            match this.buffer(arrival.tag as usize) {
                Ok(into) => {
                    let this = Arc::clone(&this);
                    Receive::Into {
                        into,
                        done: Some(Box::new(move |context, result| {
                            this.finish(context, result)
                        })),
                    }
                }
                Err(error) => Receive::Refused(error.into()),
            }
        };
        task.context.set_dispatch(DATA, Box::new(receive))?;
        let this = Arc::clone(&task);
        let over = move |_: &Context<SimPlatform>, _: &Arrival<'_>| {
            this.over.store(true);
            Receive::Consumed
        };
        task.context.set_dispatch(OVER, Box::new(over))?;
        Ok(task)
    }

    fn buffer(&self, number: usize) -> Result<BufferRange<NodeBuffer>, gyre_driver::Error> {
        Ok(self.memory.part(number * self.bytes, self.bytes)?)
    }

    /// Fills all buffers; `seed` makes this content another than the one before.
    fn fill(&self, seed: u8) -> Result<(), Failure> {
        let seeded = |i: usize| (i ^ (i >> 8) ^ (i >> 16)) as u8 ^ seed;
        let content: Vec<u8> = (0..self.memory.len()).map(seeded).collect();
        Ok(self.memory.write(0, &content)?)
    }

    /// Content of the first `count` buffers.
    fn content(&self, count: usize) -> Result<Vec<u8>, Failure> {
        let mut content = vec![0; count * self.bytes];
        self.memory.read(0, &mut content)?;
        Ok(content)
    }

    /// Moves all messages, and tells the other task that it has.
    fn originate(self: &Arc<Self>, method: Method, load: Load, peer: &Self) -> Result<(), Failure> {
        let stream = Arc::new(Stream {
            task: Arc::clone(self),
            region: peer.region.remote(),
            method,
            load,
            finished: AtomicCell::default(),
        });
        for _ in 0..load.window.min(load.total) {
            stream.post_next()?;
        }
        let all = || stream.finished.load() == load.total;
        self.context.advance_until(all)?;
        let over = SendImmediate::new(self.peer, OVER);
        Ok(self.context.send_immediate(&over)?)
    }

    /// A message is done here. One that fails is not: the transfer does not end, which the machine reports.
    fn finish(&self, context: &Context<SimPlatform>, result: Result<(), gyre_driver::Error>) {
        if result.is_ok() {
            self.done.lock().push(context.platform().now_ps());
        }
    }
}

/// Messages that follow one another.
struct Stream {
    task: Arc<Task>,
    region: RemoteRegion,
    method: Method,
    load: Load,
    finished: AtomicCell<usize>,
}

impl Stream {
    /// Posts the next message, if there is one.
    fn post_next(self: &Arc<Self>) -> Result<(), gyre_driver::Error> {
        let task = &self.task;
        let context = &task.context;
        let number = task.posted.lock().len();
        if number == self.load.total {
            return Ok(());
        }
        task.posted.lock().push(context.platform().now_ps());
        let index = number % self.load.window;
        let buffer = task.buffer(index)?;
        let offset = (index * task.bytes) as u64;
        let this = Arc::clone(self);
        let done: DoneFn<SimPlatform> = Box::new(move |context, result| {
            this.finished.fetch_add(usize::from(result.is_ok()));
            if this.method != Method::Rendezvous {
                this.task.finish(context, result);
            }
            // What was posted before was accepted, and so is this.
            this.post_next().expect("a message as those before");
        });
        match self.method {
            Method::Rendezvous => context.send(SendMessage {
                tag: index as u32,
                remote_done: Some(done),
                ..SendMessage::new(task.peer, DATA, buffer)
            }),
            Method::Rput => context.rput(Rput {
                destination: task.peer,
                data: buffer,
                region: self.region,
                offset,
                notify: PutNotify::None,
                local_done: None,
                remote_done: Some(done),
            }),
            Method::Rget => context.rget(Rget {
                source: task.peer,
                region: self.region,
                offset,
                into: buffer,
                done: Some(done),
            }),
        }
    }
}
