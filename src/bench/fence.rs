// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench fence`: what a fence costs in control messages, memory and cycles (FN-2, FN-8).
//!
//! Task 0 sends to a task on the neighbouring node, or beside it on its own, and fences. Control messages are
//! the packets that all nodes have sent, by their performance counters, less those of the same sends without a
//! fence. Every message is acknowledged by itself here, so that the sends need the same packets both times.

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{
    AckConfig, BufferRange, Client, ClientConfig, Completion, Context, Endpoint, Error, Fence,
    Platform, SendImmediate, SendMessage, TaskId, TaskMap, advancev,
};
use gyre_layout::{Coord, MAX_DIM};
use gyre_sim::Until;
use serde_json::{Map, Value, json};
use std::sync::{Arc, OnceLock};

use super::dispatch;
use super::measure::{Measured, Total, refuse_if};
use super::packets::{Sent, sent};
use gyre::error::{JobError, RunError};
use gyre::job::{Job, Process};
use gyre::machine_file::MachineSpec;
use gyre::outcome::object;
use gyre::placement::Placement;
use gyre::platform::{NodeBuffer, SimPlatform};
use gyre::settings::Settings;

/// Messages before a fence.
const SENDS: [usize; 4] = [0, 1, 10, 1000];
/// Messages of the rows with one protocol.
const FEW: usize = 10;
/// Bytes of the messages: those above the eager limit go by rendezvous.
const EAGER_LIMIT: usize = 64;
const EAGER: usize = 64;
const RENDEZVOUS: usize = 128;
/// Endpoints of the clients whose memory is measured.
const ENDPOINTS: [usize; 2] = [2, 1_000_000];
/// Contexts of a task there.
const CONTEXTS: u8 = 2;

/// Dispatch identifiers.
const DATA: u8 = 1;
const END: u8 = 2;

/// Nodes of the tasks: the third is beside the first.
const NODES: [usize; 3] = [0, 1, 0];

pub(super) fn run(spec: &MachineSpec, _settings: &Settings) -> Result<Measured, RunError> {
    refuse_if(
        spec.config.dims[0] < 2,
        "fence needs a neighbour in the first dimension",
    )?;
    let mut total = Total::new();
    total.expect(1 + ENDPOINTS.len());
    let placement = Placement::of_nodes(NODES.to_vec(), spec.nodes())?;
    let mut job = Job::of(spec, &placement)?;
    let (tasks, _) = job.each("opens", Until::Done, Task::open)?;
    let mut fences = Vec::new();
    for (place, peer) in [("neighbour", 1), ("same-node", 2)] {
        let mixes = SENDS.map(|sends| (Mix::Both, sends));
        let alone = [(Mix::Eager, FEW), (Mix::Rendezvous, FEW)];
        for (mix, sends) in mixes.into_iter().chain(alone) {
            let target = Target::Task(TaskId(peer));
            let work = Work { mix, sends, target };
            fences.push(Row::measure(&mut job, &tasks, work, place)?);
        }
    }
    let target = Target::All;
    let (mix, sends) = (Mix::Both, FEW);
    let all = Row::measure(&mut job, &tasks, Work { mix, sends, target }, "all")?;
    let report = job.machine().report();
    let mut memory = Vec::new();
    total.add(report.cycles, report.hash);
    for endpoints in ENDPOINTS {
        let (state, ran, digest) = state_bytes(spec, endpoints)?;
        memory.push((endpoints, state));
        total.add(ran, digest);
    }

    let most = fences.iter().map(|row| row.control.total()).max();
    let peak = memory.iter().map(|(_, state)| state.peak).max();
    let idle = fences.iter().find(|row| row.work.sends == 0);
    let metrics = object(json!({
        "control_messages_per_fence": most,
        "control_messages_per_task_of_fence_all": all.control.total() / NODES.len() as u64,
        "cycles": idle.map(|row| row.cycles),
        "fence_all_cycles": all.cycles,
        "fence_state_bytes": peak,
        "fences": fences.iter().map(Row::json).collect::<Vec<_>>(),
        "memory": memory.iter().map(|(endpoints, state)| json!({
            "endpoints": endpoints,
            "fence_state_bytes": state.peak,
            "bytes_after_fence": state.left,
        })).collect::<Vec<_>>(),
    }));
    Ok(total.measured(spec, Map::new(), metrics))
}

/// Which messages go before a fence.
#[derive(Debug, Clone, Copy)]
enum Mix {
    Eager,
    Rendezvous,
    /// In turn.
    Both,
}

impl Mix {
    fn name(self) -> &'static str {
        match self {
            Self::Eager => "eager",
            Self::Rendezvous => "rendezvous",
            Self::Both => "both",
        }
    }

    fn bytes(self, number: usize) -> usize {
        match self {
            Self::Eager => EAGER,
            Self::Rendezvous => RENDEZVOUS,
            Self::Both if number.is_multiple_of(2) => EAGER,
            Self::Both => RENDEZVOUS,
        }
    }
}

/// Target of a fence.
#[derive(Debug, Clone, Copy)]
enum Target {
    Task(TaskId),
    All,
}

/// Messages and a fence behind them.
#[derive(Debug, Clone, Copy)]
struct Work {
    mix: Mix,
    sends: usize,
    target: Target,
}

impl Sent {
    fn total(self) -> u64 {
        self.memory_fifo + self.puts + self.remote_gets
    }
}

/// A fence and its cost.
struct Row {
    place: &'static str,
    work: Work,
    control: Sent,
    /// From the post of the fence to its done callback.
    cycles: u64,
}

impl Row {
    fn measure(
        job: &mut Job,
        tasks: &[Arc<Task>],
        work: Work,
        place: &'static str,
    ) -> Result<Self, RunError> {
        let (without, _) = Self::once(job, tasks, work, false)?;
        let (with, ps) = Self::once(job, tasks, work, true)?;
        Ok(Self {
            place,
            work,
            control: with.since(without),
            cycles: ps / job.machine().config().cycle_ps,
        })
    }

    /// Sends, and fences if `fenced`: packets of all nodes, and time of the fence in picoseconds.
    fn once(
        job: &mut Job,
        tasks: &[Arc<Task>],
        work: Work,
        fenced: bool,
    ) -> Result<(Sent, u64), RunError> {
        let before = sent(job)?;
        let tasks = tasks.to_vec();
        let run = move |process: Process| tasks[process.task.0 as usize].run(work, fenced);
        let (times, _) = job.each("fences", Until::Quiet, run)?;
        let mut all = Sent::default();
        for (node, after) in sent(job)? {
            let one = after.since(before[&node]);
            all.memory_fifo += one.memory_fifo;
            all.puts += one.puts;
            all.remote_gets += one.remote_gets;
        }
        Ok((all, times[0]))
    }

    fn json(&self) -> Value {
        json!({
            "peer": self.place,
            "protocol": self.work.mix.name(),
            "sends": self.work.sends,
            "control_messages": self.control.total(),
            "memory_fifo": self.control.memory_fifo,
            "remote_gets": self.control.remote_gets,
            "puts": self.control.puts,
            "cycles": self.cycles,
        })
    }
}

/// One task of the program.
struct Task {
    context: Context<SimPlatform>,
    data: BufferRange<NodeBuffer>,
    ends: Arc<AtomicCell<usize>>,
}

impl Task {
    fn open(process: Process) -> Result<Arc<Self>, Error> {
        let config = ClientConfig {
            eager_limit: EAGER_LIMIT,
            ack: AckConfig::immediate(),
            ..process.client("fence")
        };
        let client = Client::create(&process.platform, config)?;
        let context = client.create_context(0)?;
        let new = || Ok::<_, Error>(BufferRange::whole(process.platform.alloc(RENDEZVOUS, 64)?));
        let (data, into) = (new()?, new()?);
        dispatch::receive_into(&context, DATA, into)?;
        let ends = dispatch::count(&context, END)?;
        Ok(Arc::new(Self {
            context,
            data,
            ends,
        }))
    }

    /// Task 0 works, then tells all that it has done so. Gives the time of its fence in picoseconds.
    fn run(&self, work: Work, fenced: bool) -> Result<u64, Error> {
        let context = &self.context;
        self.ends.store(0);
        let time = match context.task() {
            TaskId(0) => self.work(work, fenced)?,
            _ => 0,
        };
        context.advance_until(|| self.ends.load() == 1)?;
        context.advance_until(|| context.is_at_rest())?;
        Ok(time)
    }

    fn work(&self, work: Work, fenced: bool) -> Result<u64, Error> {
        let context = &self.context;
        let peers: Vec<TaskId> = match work.target {
            Target::Task(task) => vec![task],
            Target::All => (0..NODES.len() as u32).map(TaskId).collect(),
        };
        let left = Arc::new(AtomicCell::new(peers.len() * work.sends));
        for &peer in &peers {
            for number in 0..work.sends {
                let left = Arc::clone(&left);
                let data = self.data.part(0, work.mix.bytes(number))?;
                context.send(SendMessage {
                    local_done: Some(Box::new(move |_, _| {
                        left.fetch_sub(1);
                    })),
                    ..SendMessage::new(context.endpoint(peer, 0)?, DATA, data)
                })?;
            }
        }
        let mut time = 0;
        if fenced {
            let done = Arc::new(OnceLock::new());
            let ended = Arc::clone(&done);
            let from = context.platform().now_ps();
            let callback = Box::new(move |context: &Context<SimPlatform>, result| {
                // Called once.
                let _ = ended.set((context.platform().now_ps(), result));
            });
            match work.target {
                Target::Task(task) => context.fence(Fence {
                    destination: context.endpoint(task, 0)?,
                    done: Some(callback),
                })?,
                Target::All => context.fence_all(Some(callback))?,
            }
            context.advance_until(|| done.get().is_some())?;
            if let Some((at, result)) = done.get() {
                result.clone()?;
                time = at - from;
            }
        }
        context.advance_until(|| left.load() == 0 && context.is_at_rest())?;
        for task in 0..NODES.len() as u32 {
            context.send_immediate(&SendImmediate::new(context.endpoint(TaskId(task), 0)?, END))?;
        }
        Ok(time)
    }
}

/// Memory that the driver keeps for one fence, at both ends.
#[derive(Clone, Copy)]
struct State {
    /// Most bytes at any time.
    peak: usize,
    /// Bytes at the end.
    left: usize,
}

/// Memory that the driver keeps for one fence, of a client with `endpoints` endpoints and a handle of each;
/// cycles and hash. One thread advances both ends of the fence, two contexts of one task.
fn state_bytes(spec: &MachineSpec, endpoints: usize) -> Result<(State, u64, u64), RunError> {
    let placement = Placement::of_nodes(vec![0], spec.nodes())?;
    let mut job = Job::of(spec, &placement)?;
    let tasks = endpoints / usize::from(CONTEXTS);
    let map = Arc::new(many_tasks(tasks).map_err(JobError::Placement)?);
    let measure = move |process: Process| {
        let config = ClientConfig {
            tasks: Arc::clone(&map),
            contexts: CONTEXTS,
            ..process.client("fence")
        };
        let client = Client::create(&process.platform, config)?;
        let contexts = [client.create_context(0)?, client.create_context(1)?];
        let mut handles = Vec::with_capacity(endpoints);
        for task in 0..tasks as u32 {
            for context in 0..CONTEXTS {
                handles.push(client.endpoint(TaskId(task), context)?);
            }
        }
        // Nothing is left of the first: the second keeps as much.
        fence_between(&contexts, handles[1])?;
        fence_between(&contexts, handles[1])
    };
    let (state, report) = job.each("measures", Until::Quiet, measure)?;
    Ok((state[0], report.cycles, report.hash))
}

/// State that contexts keep after the first of them has fenced `peer`, which is one of them.
fn fence_between(contexts: &[Context<SimPlatform>], peer: Endpoint) -> Result<State, Error> {
    let done = Completion::new();
    contexts[0].fence(Fence {
        destination: peer,
        done: Some(done.callback()),
    })?;
    let mut peak = 0;
    loop {
        let bytes = contexts.iter().map(Context::fence_bytes);
        let left = bytes.sum::<Result<usize, Error>>()?;
        peak = peak.max(left);
        if done.is_complete() {
            done.take_result()?;
            return Ok(State { peak, left });
        }
        advancev(contexts, 1)?;
    }
}

/// A task list whose first task is on node 0 of any machine, alone.
fn many_tasks(tasks: usize) -> Result<TaskMap, Error> {
    TaskMap::new((0..tasks).map(|task| {
        let mut rest = task.div_ceil(usize::from(u8::MAX));
        Coord([0; MAX_DIM].map(|_: u8| {
            let coordinate = rest % 64;
            rest /= 64;
            coordinate as u8
        }))
    }))
}
