//! `gyre bench broadcast`, `scatter` and `gather`: the root task's endpoints share the work (EP-10 to EP-12,
//! EP-14).
//!
//! One task a node; the root task has P endpoints, each with a context, an injection FIFO, a remote-get FIFO and
//! a thread of its own, the others have one. The same collective runs with P = 1, for the speedup. The time
//! runs from the first post, which all make after a barrier, to the last done callback.
//!
//! `bound_cycles` is found from the machine alone: every block's packets are laid along the routes between its
//! tasks, and the busiest directed link needs a cycle for each of its flits. Every link has an injection path
//! and an ejection path of the same rate, so none of those is busier.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use gyre_collectives::{Algorithm, Blocks, Collective, Error, Request, Way};
use gyre_driver::{BufferRange, Context, Platform as _, TaskId};
use gyre_layout::{MAX_PAYLOAD_BYTES, packet_bytes};
use gyre_sim::Topology;
use serde_json::{Map, json};

use super::{Measured, Total, figures};
use crate::cli::CommandError;
use crate::job::Job;
use crate::machine_file::MachineSpec;
use crate::options::Settings;
use crate::placement::Placement;
use crate::platform::{NodeBuffer, SimPlatform};
use crate::team::{Seat, Team};

/// Data wires of a link, bytes.
const FLIT_BYTES: usize = 16;

pub(super) fn broadcast(
    spec: &MachineSpec,
    settings: &mut Settings,
) -> Result<Measured, CommandError> {
    run(spec, settings, Collective::Broadcast)
}

pub(super) fn scatter(
    spec: &MachineSpec,
    settings: &mut Settings,
) -> Result<Measured, CommandError> {
    run(spec, settings, Collective::Scatter)
}

pub(super) fn gather(
    spec: &MachineSpec,
    settings: &mut Settings,
) -> Result<Measured, CommandError> {
    run(spec, settings, Collective::Gather)
}

fn run(
    spec: &MachineSpec,
    settings: &mut Settings,
    collective: Collective,
) -> Result<Measured, CommandError> {
    let endpoints: u8 = settings.take_in("endpoints", 6, 1..=8)?;
    let bytes: usize = settings.take_in("bytes", 64 << 10, 0..=1 << 20)?;
    settings.finish()?;
    let started = Instant::now();
    let one = measure(spec, collective, 1, bytes)?;
    let several = match endpoints {
        1 => one,
        _ => measure(spec, collective, endpoints, bytes)?,
    };
    let topology = spec.config.topology().map_err(gyre_sim::SimError::from)?;
    let bound = bound(&topology, collective, bytes);
    let mut metrics = Map::new();
    metrics.insert(
        "algorithm".into(),
        json!(Algorithm::EndpointParallel.name()),
    );
    metrics.insert("cycles".into(), json!(several.cycles));
    metrics.insert("bound_cycles".into(), json!(bound));
    metrics.insert("cycles_one_endpoint".into(), json!(one.cycles));
    let speedup = one.cycles as f64 / several.cycles.max(1) as f64;
    metrics.insert("speedup".into(), json!(speedup));
    let redundant = several.transmissions - (spec.nodes() as u64 - 1);
    metrics.insert("redundant_transmissions".into(), json!(redundant));
    let mut params = Map::new();
    params.insert("endpoints".into(), json!(endpoints));
    params.insert("bytes".into(), json!(bytes));
    let runs = if endpoints == 1 {
        vec![one]
    } else {
        vec![one, several]
    };
    let mut total = Total::default();
    for run in runs {
        total.add(run.machine_cycles, run.hash);
    }
    Ok(Measured {
        params,
        metrics,
        sim: figures(spec, total.cycles, started),
        hash: total.hash,
    })
}

/// One run of the collective.
#[derive(Clone, Copy)]
struct Ran {
    cycles: u64,
    /// Messages with data between tasks.
    transmissions: u64,
    machine_cycles: u64,
    hash: u64,
}

fn pattern(task: usize, bytes: usize) -> Vec<u8> {
    let byte = |i| (task * 89 + i * 7 + i / 251 + 1) as u8;
    (0..bytes).map(byte).collect()
}

/// Runs the collective with `endpoints` endpoints of task 0 and checks what came out.
fn measure(
    spec: &MachineSpec,
    collective: Collective,
    endpoints: u8,
    bytes: usize,
) -> Result<Ran, CommandError> {
    let placement = Placement::filled(1, &spec.config.dims)?;
    let job = Job::new(&spec.config, &spec.costs, &placement, None)?;
    let contexts = move |task: TaskId| if task.0 == 0 { endpoints } else { 1 };
    let mut team = Team::open(job, contexts, move |client| gyre_driver::ClientConfig {
        contexts: endpoints,
        ..client
    })?;
    let tasks = team.seats().len();
    // What every task sends and has afterwards, as far as the collective gives it anything.
    let all: Vec<u8> = (0..tasks).flat_map(|task| pattern(task, bytes)).collect();
    let root = |task: usize| task == 0;
    let send = |task: usize| match collective {
        Collective::Scatter if root(task) => all.clone(),
        Collective::Gather => pattern(task, bytes),
        _ => Vec::new(),
    };
    let after = |task: usize| match collective {
        Collective::Broadcast => pattern(0, bytes),
        Collective::Scatter => pattern(task, bytes),
        _ if root(task) => all.clone(),
        _ => Vec::new(),
    };
    let mut buffers: Vec<(BufferRange<NodeBuffer>, BufferRange<NodeBuffer>)> = Vec::new();
    for (task, seats) in team.seats().iter().enumerate() {
        let platform = seats[0].context.platform();
        let before = match collective {
            Collective::Broadcast if root(task) => after(task),
            _ => vec![0; after(task).len()],
        };
        let copied = |data: &[u8]| BufferRange::copied(platform, data);
        let wrong = |error| CommandError::Check(format!("no buffer: {error}"));
        let pair = (
            copied(&send(task)).map_err(wrong)?,
            copied(&before).map_err(wrong)?,
        );
        buffers.push(pair);
    }
    let results: Vec<_> = buffers.iter().map(|(_, receive)| receive.clone()).collect();
    let body = move |seat: &Seat| {
        carry_out(seat, None, Request::barrier())?;
        let (send, receive) = buffers[seat.member.position()].clone();
        let blocks = Blocks::Equal(bytes);
        let request = match collective {
            Collective::Scatter => Request::scatter(0, send, blocks, Some(receive)),
            Collective::Gather => Request::gather(0, Some(send), receive, blocks),
            _ => Request::broadcast(0, receive),
        };
        let before = seat.member.collectives().stats().sent_bytes;
        let from = seat.context.platform().now_ps();
        let to = carry_out(seat, Some(Algorithm::EndpointParallel), request)?;
        let sent = seat.member.collectives().stats().sent_bytes - before;
        seat.context.advance_until(|| seat.context.is_at_rest())?;
        Ok::<_, Error>((from, to, sent))
    };
    let (times, report) = team.run(collective.name(), body)?;
    for (task, result) in results.iter().enumerate() {
        let mut got = vec![0; result.len()];
        let read = result.read(0, &mut got);
        if read.is_err() || got != after(task) {
            let name = collective.name();
            return Err(CommandError::Check(format!(
                "task {task} has wrong data after {name}"
            )));
        }
    }
    let first = times.iter().map(|t| t.0).min().unwrap_or(0);
    let last = times.iter().map(|t| t.1).max().unwrap_or(0);
    let sent: u64 = times.iter().map(|t| t.2).sum();
    Ok(Ran {
        cycles: (last - first) / spec.config.cycle_ps,
        transmissions: match bytes {
            0 => tasks as u64 - 1,
            _ => sent / bytes as u64,
        },
        machine_cycles: report.cycles,
        hash: report.hash,
    })
}

/// Carries out a collective; gives the time of its end, picoseconds.
pub(super) fn carry_out(
    seat: &Seat,
    algorithm: Option<Algorithm>,
    request: Request<NodeBuffer>,
) -> Result<u64, Error> {
    let end = Rc::new(Cell::new(None));
    let note = Rc::clone(&end);
    let done = move |context: &Context<SimPlatform>, result: Result<(), Error>| {
        note.set(Some(result.map(|()| context.platform().now_ps())));
    };
    seat.member
        .post_as(Way::All, algorithm, request, Some(Box::new(done)))?;
    let mut ended = None;
    seat.context.advance_until(|| {
        ended = end.take().or(ended.take());
        ended.is_some()
    })?;
    ended.unwrap_or(Ok(0))
}

/// Flits on the busiest directed link when every block is sent straight between the root, on node 0, and
/// every other node.
fn bound(topology: &Topology, collective: Collective, bytes: usize) -> u64 {
    let whole = bytes / MAX_PAYLOAD_BYTES * packet_bytes(MAX_PAYLOAD_BYTES);
    let rest = match bytes % MAX_PAYLOAD_BYTES {
        0 => 0,
        rest => packet_bytes(rest),
    };
    let flits = ((whole + rest) / FLIT_BYTES) as u64;
    let mut load = vec![[0u64; 2 * gyre_sim::MAX_DIMS]; topology.nodes()];
    for other in 1..topology.nodes() {
        let (mut at, to) = match collective {
            Collective::Gather => (other, 0),
            _ => (0, other),
        };
        while let Some(port) = topology.first_port(at, to) {
            load[at][port] += flits;
            let Some((next, _)) = topology.neighbour(at, port) else {
                break;
            };
            at = next;
        }
    }
    load.into_iter().flatten().max().unwrap_or(0)
}
