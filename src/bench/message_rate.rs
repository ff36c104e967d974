// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench message-rate`: how many short messages a node sends to its neighbours, by the number of its
//! contexts (EP-2, EP-4).
//!
//! One task sends immediate messages to a task on each neighbouring node in turn, from 1, 2, 4, 8 and 16 contexts,
//! each driven by a thread of its own. Context `c` sends to context `c` of the others, where a thread of its
//! own receives. What arrives within a window of time counts; before it begins and until it ends all
//! contexts send.

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{
    Arrival, Client, ClientConfig, Context, Endpoint, Error, Platform, Receive, SendImmediate,
    TaskId,
};
use gyre_sim::Until;
use serde_json::{Map, json};
use std::collections::BTreeSet;
use std::sync::Arc;

use super::measure::{Measured, Total, refuse_if};
use super::traffic::{CYCLES, WARMUP};
use gyre::error::RunError;
use gyre::job::{Job, Process};
use gyre::machine_file::MachineSpec;
use gyre::placement::Placement;
use gyre::platform::SimPlatform;
use gyre::settings::{Setting, Settings, Table};

/// Numbers of contexts.
const CONTEXTS: [u8; 5] = [1, 2, 4, 8, 16];
/// Messages that a context may have sent and not known completed: enough that the DMA engine never pauses.
const UNDER_WAY: usize = 64;
/// Dispatch identifiers: a message, and the end of them.
const DATA: u8 = 1;
const OVER: u8 = 2;

/// Messages to send, and the time in which they count.
#[derive(Clone, Copy)]
struct Load {
    payload: usize,
    warm_up: u64,
    cycles: u64,
}

const PAYLOAD: Setting<usize> = Setting::number(
    "payload",
    "bytes",
    8,
    (0, SendImmediate::MAX),
    "payload of each message",
);
/// Its settings.
pub(super) const SETTINGS: &Table = &[&PAYLOAD, &WARMUP, &CYCLES];

pub(super) fn run(spec: &MachineSpec, settings: &Settings) -> Result<Measured, RunError> {
    let load = Load {
        payload: settings.get(&PAYLOAD),
        warm_up: settings.get(&WARMUP),
        cycles: settings.get(&CYCLES),
    };
    let topology = spec.config.topology().map_err(gyre_sim::SimError::from)?;
    let ports = 0..2 * gyre_sim::MAX_DIMS;
    let neighbours: BTreeSet<usize> = ports
        .filter_map(|port| topology.neighbour(0, port))
        .map(|(node, _)| node)
        .filter(|&node| node != 0)
        .collect();
    refuse_if(
        neighbours.is_empty(),
        "message-rate needs a neighbour in some dimension",
    )?;
    let nodes: Vec<usize> = [0].into_iter().chain(neighbours.iter().copied()).collect();
    let placement = Placement::of_nodes(nodes, spec.nodes())?;
    let mut total = Total::new();
    let mut rows = Vec::new();
    let mut most = 0.0_f64;
    total.expect(CONTEXTS.len());
    for contexts in CONTEXTS {
        let (messages, ran, digest) = measure(spec, &placement, contexts, load)?;
        total.add(ran, digest);
        let rate = messages as f64 / load.cycles as f64;
        most = most.max(rate);
        rows.push(json!({
            "contexts": contexts,
            "messages_per_cycle": rate,
            "messages": messages,
        }));
    }
    let mut metrics = Map::new();
    metrics.insert("messages_per_cycle".into(), json!(most));
    metrics.insert("neighbours".into(), json!(neighbours.len()));
    metrics.insert("rates".into(), json!(rows));
    let mut params = Map::new();
    params.insert("payload".into(), json!(load.payload));
    params.insert("warmup".into(), json!(load.warm_up));
    params.insert("cycles".into(), json!(load.cycles));
    Ok(total.measured(spec, params, metrics))
}

/// Messages that arrive within the window; cycles and hash.
fn measure(
    spec: &MachineSpec,
    placement: &Placement,
    contexts: u8,
    load: Load,
) -> Result<(usize, u64, u64), RunError> {
    let mut job = Job::of(spec, placement)?;
    let open = move |process: Process| open(&process, contexts);
    let (tasks, _) = job.each("opens", Until::Done, open)?;
    let machine = job.machine();
    let start = machine.cycles();
    let cycle_ps = machine.config().cycle_ps;
    let from_ps = (start + load.warm_up) * cycle_ps;
    let to_ps = from_ps + load.cycles * cycle_ps;
    let run = move |process: Process, context: usize| {
        let port = &tasks[process.task.0 as usize][context];
        port.window.store((from_ps, to_ps));
        if process.task.0 == 0 {
            port.send(process.tasks.len(), load.payload, to_ps)?;
        } else {
            port.context.advance_until(|| port.over.load())?;
        }
        port.context.advance_until(|| port.context.is_at_rest())?;
        Ok::<_, Error>(port.counted.load())
    };
    let (counts, report) = job.threads("runs", usize::from(contexts), Until::Quiet, run)?;
    Ok((counts.iter().sum(), report.cycles, report.hash))
}

/// One context and its count of received messages.
struct Port {
    context: Context<SimPlatform>,
    /// When arrivals count, picoseconds.
    window: AtomicCell<(u64, u64)>,
    counted: AtomicCell<usize>,
    over: AtomicCell<bool>,
}

/// Opens all contexts of a task.
fn open(process: &Process, contexts: u8) -> Result<Vec<Arc<Port>>, Error> {
    let config = process.client("message-rate");
    let client = Client::create(&process.platform, ClientConfig { contexts, ..config })?;
    (0..contexts)
        .map(|offset| Port::open(client.create_context(offset)?))
        .collect()
}

impl Port {
    fn open(context: Context<SimPlatform>) -> Result<Arc<Self>, Error> {
        let port = Arc::new(Self {
            context,
            window: AtomicCell::default(),
            counted: AtomicCell::default(),
            over: AtomicCell::default(),
        });
        let this = Arc::clone(&port);
        let data = move |context: &Context<SimPlatform>, _: &Arrival<'_>| {
            let (from, to) = this.window.load();
            let counts = (from..to).contains(&context.platform().now_ps());
            this.counted.fetch_add(usize::from(counts));
            Receive::Consumed
        };
        port.context.set_dispatch(DATA, Box::new(data))?;
        let this = Arc::clone(&port);
        let over = move |_: &Context<SimPlatform>, _: &Arrival<'_>| {
            this.over.store(true);
            Receive::Consumed
        };
        port.context.set_dispatch(OVER, Box::new(over))?;
        Ok(port)
    }

    /// Sends messages of `bytes` bytes to tasks 1 to `tasks` - 1 in turn until `until_ps`, then tells them
    /// that it was the last.
    fn send(&self, tasks: usize, bytes: usize, until_ps: u64) -> Result<(), Error> {
        let context = &self.context;
        let offset = context.query().endpoint.context_offset();
        let peers: Vec<Endpoint> = (1..tasks)
            .map(|task| context.endpoint(TaskId(task as u32), offset))
            .collect::<Result<_, Error>>()?;
        let data = vec![0; bytes];
        let mut under_way = 0;
        while context.platform().now_ps() < until_ps {
            if under_way + peers.len() <= UNDER_WAY {
                for &peer in &peers {
                    context.send_immediate(&SendImmediate {
                        data: &data,
                        ..SendImmediate::new(peer, DATA)
                    })?;
                }
                under_way += peers.len();
            }
            let progress = context.advance(1)?;
            under_way -= progress.completed;
            if progress.is_idle() && under_way + peers.len() > UNDER_WAY {
                context.wait(None)?;
            }
        }
        for &peer in &peers {
            context.send_immediate(&SendImmediate::new(peer, OVER))?;
        }
        Ok(())
    }
}
