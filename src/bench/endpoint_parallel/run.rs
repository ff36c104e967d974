// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of one collective.

use std::cell::RefCell;
use std::rc::Rc;

use gyre_collectives::{
    Algorithm, Blocks, Collective, DataType, Error, Geometry, ReduceOp, Request,
};
use gyre_driver::{
    BufferRange, Client, ClientConfig, Context, Endpoint, Platform as _, Put, PutNotify,
    RemoteAddress, Resources, SameNode, TaskId, TaskMap,
};
use gyre_sim::{SimError, Topology};

use crate::bench::link_load::LinkLoad;
use crate::bench::timed_collective::query;
use gyre::error::RunError;
use gyre::job::Job;
use gyre::machine_file::MachineSpec;
use gyre::placement::Placement;
use gyre::platform::{NodeBuffer, SimPlatform};
use gyre::team::{Seat, Team};

/// Bytes of a put that keeps a link busy.
const STREAM_BYTES: usize = 64 << 10;

/// How many endpoints the tasks have.
#[derive(Clone, Copy)]
pub(super) enum Endpoints {
    /// The root has this many at home, every other task one.
    Root(u8),
    /// Every task has this many.
    All(u8),
}

/// A case to measure.
#[derive(Clone, Copy)]
pub(super) struct Case {
    pub collective: Collective,
    pub algorithm: Algorithm,
    pub endpoints: Endpoints,
    /// Endpoints of the root on a neighbour, besides.
    pub helpers: u8,
    /// Whether the links of the root's node in + directions are kept busy.
    pub busy: bool,
    /// Bytes of a task's block.
    pub bytes: usize,
    /// Tasks on each node.
    pub tasks: usize,
    pub same_node: SameNode,
}

/// One run of the collective.
#[derive(Clone, Copy)]
pub(super) struct Ran {
    pub cycles: u64,
    /// Most bytes on a link; 0 for algorithms that are not endpoint-parallel.
    pub bound: u64,
    /// Messages with data beyond one for each task but the root, and those through which helpers get or give
    /// what they pass on; 0 for other algorithms.
    pub redundant: u64,
    pub machine_cycles: u64,
    pub hash: u64,
}

/// A buffer of a task.
type Range = BufferRange<NodeBuffer>;

fn pattern(task: usize, bytes: usize) -> Vec<u8> {
    let byte = |i| (task * 89 + i * 7 + i / 251 + 1) as u8;
    (0..bytes).map(byte).collect()
}

/// The neighbour of the root where helpers live: by a link that is not kept busy, if there is one, in the
/// dimension in which the order of routes leaves the root's links with least to do.
fn neighbour(topology: &Topology, collective: Collective) -> Result<usize, RunError> {
    let mut dimensions: Vec<usize> = (0..gyre_sim::MAX_DIMS).collect();
    // What goes out takes the first dimension first; what comes in, last.
    if collective != Collective::Gather {
        dimensions.reverse();
    }
    let ports = dimensions.into_iter().flat_map(|d| [2 * d + 1, 2 * d]);
    let mut neighbours = ports.filter_map(|port| topology.neighbour(0, port));
    let found = neighbours.next().map(|(node, _)| node);
    found.ok_or_else(|| check("helpers need a node beside the root's"))
}

/// Tasks and endpoints as the case says.
fn team(spec: &MachineSpec, case: Case) -> Result<Team, RunError> {
    let mut placement = Placement::filled(case.tasks, &spec.config.dims)?;
    let (root, others) = match case.endpoints {
        Endpoints::Root(count) => (count, 1),
        Endpoints::All(count) => (count, count),
    };
    let most = root + case.helpers;
    if case.helpers > 0 {
        let topology = spec.config.topology().map_err(SimError::from)?;
        placement = placement.with_away(0, root..most, neighbour(&topology, case.collective)?)?;
    }
    let job = Job::of(spec, &placement)?;
    let contexts = move |task: TaskId| if task.0 == 0 { most } else { others };
    let config = move |client| ClientConfig {
        contexts: most.max(others),
        same_node: case.same_node,
        ..client
    };
    Ok(Team::open(job, contexts, config)?)
}

/// Algorithms of a broadcast, but the endpoint-parallel one, that are valid in `case`.
pub(super) fn others(spec: &MachineSpec, case: Case) -> Result<Vec<Algorithm>, RunError> {
    let mut team = team(spec, case)?;
    let routes = team.take_routes()?;
    let member = &team.seats()[0][0].member;
    let of = (DataType::U8, ReduceOp::Copy);
    let query = query(member, case.collective, case.bytes, of, routes);
    let list = query.geometry.algorithms();
    let list = list.list(case.collective).iter();
    let valid = list.filter(|e| e.algorithm != Algorithm::EndpointParallel && e.is_valid(&query));
    Ok(valid.map(|e| e.algorithm).collect())
}

/// Data of a process: sent, and held before and after, as far as the collective gives it anything.
struct Data {
    send: Vec<u8>,
    before: Vec<u8>,
    /// `None` for a part of the root on another node: data that passes through it is no result.
    after: Option<Vec<u8>>,
}

fn data(case: Case, tasks: usize, process: usize) -> Data {
    let bytes = case.bytes;
    let all = || (0..tasks).flat_map(|task| pattern(task, bytes)).collect();
    let helps = process >= tasks;
    let root = process == 0 || helps;
    let (send, after) = match case.collective {
        Collective::Scatter if root => (all(), pattern(0, bytes)),
        Collective::Scatter => (Vec::new(), pattern(process, bytes)),
        Collective::Gather if root => (pattern(0, bytes), all()),
        Collective::Gather => (pattern(process, bytes), Vec::new()),
        _ => (Vec::new(), pattern(0, bytes)),
    };
    let nothing = |data: &Vec<u8>| vec![0; data.len()];
    Data {
        send: if helps { nothing(&send) } else { send },
        before: match case.collective {
            Collective::Broadcast if process == 0 => after.clone(),
            _ => nothing(&after),
        },
        after: (!helps).then_some(after),
    }
}

/// Most bytes on any directed link, when each transfer of the collective with root 0 is `bytes` bytes long.
fn bound(
    topology: &Topology,
    tasks: &TaskMap,
    geometry: &Geometry,
    collective: Collective,
    bytes: usize,
) -> u64 {
    let node = |endpoint: Endpoint| {
        let place = tasks
            .place(endpoint.task(), endpoint.context_offset())
            .ok()?;
        topology.node_at(&place.node.0.map(u16::from))
    };
    let mut load = LinkLoad::new(topology);
    for transfer in geometry.transfers(0, collective) {
        if let (Some(from), Some(to)) = (node(transfer.from), node(transfer.to)) {
            load.add(from, to, transfer.routing, bytes);
        }
    }
    load.most()
}

/// Runs the collective and checks the result.
pub(super) fn measure(spec: &MachineSpec, case: Case) -> Result<Ran, RunError> {
    let (collective, bytes) = (case.collective, case.bytes);
    let mut team = team(spec, case)?;
    if case.algorithm == Algorithm::Tree {
        team.take_routes()?;
    }
    let geometry = team.seats()[0][0].member.geometry().clone();
    let map = Rc::clone(team.seats())[0][0].context.tasks().clone();
    let topology = team.job().machine().topology().clone();
    let bound = match case.algorithm {
        Algorithm::EndpointParallel => bound(&topology, &map, &geometry, collective, bytes),
        _ => 0,
    };
    let tasks = map.len();
    let streams = match case.busy {
        true => Some(Streams::open(&mut team, &topology)?),
        false => None,
    };
    let mut buffers: Vec<(Range, Range)> = Vec::new();
    for (process, seats) in team.seats().iter().enumerate() {
        let platform = seats[0].context.platform();
        let data = data(case, tasks, process);
        let copied = |data: &[u8]| BufferRange::copied(platform, data).map_err(check);
        buffers.push((copied(&data.send)?, copied(&data.before)?));
    }
    let results: Vec<_> = buffers.iter().map(|(_, receive)| receive.clone()).collect();
    let first_helper = tasks;
    let places = Rc::clone(team.seats());
    let body = move |seat: &Seat| {
        let here = |seats: &Vec<Seat>| seats.iter().any(|s| s.member.rank() == seat.member.rank());
        let process = places.iter().position(here).unwrap_or(0);
        let streams = streams.as_ref().filter(|_| seat.member.rank() == 0);
        if let Some(streams) = streams {
            streams.start()?;
        }
        seat.carry_out(None, Request::barrier())?;
        let (send, receive) = buffers[process].clone();
        let blocks = Blocks::Equal(bytes);
        let request = match collective {
            Collective::Scatter => Request::scatter(0, send, blocks, Some(receive)),
            Collective::Gather => Request::gather(0, Some(send), receive, blocks),
            _ => Request::broadcast(0, receive),
        };
        let before = seat.member.collectives().stats().sent_bytes;
        let from = seat.context.platform().now_ps();
        let to = seat.carry_out(Some(case.algorithm), request)?;
        let sent = seat.member.collectives().stats().sent_bytes - before;
        seat.context.advance_until(|| seat.context.is_at_rest())?;
        if let Some(streams) = streams {
            streams.end()?;
        }
        Ok::<_, Error>((from, to, sent, process >= first_helper))
    };
    let (times, report) = team.run(collective.name(), body)?;
    for (process, result) in results.iter().enumerate() {
        let mut got = vec![0; result.len()];
        let read = result.read(0, &mut got);
        let after = data(case, tasks, process).after;
        if read.is_err() || after.is_some_and(|after| after != got) {
            let name = collective.name();
            return Err(check(format!("task {process} has wrong data after {name}")));
        }
    }
    let first = times.iter().map(|t| t.0).min().unwrap_or(0);
    let last = times.iter().map(|t| t.1).max().unwrap_or(0);
    let sent: u64 = times.iter().map(|t| t.2).sum();
    let passed: u64 = match (collective, case.helpers) {
        (_, 0) => 0,
        (Collective::Broadcast, _) => bytes as u64,
        _ => times.iter().filter(|t| t.3).map(|t| t.2).sum(),
    };
    let redundant = match case.algorithm {
        Algorithm::EndpointParallel if bytes > 0 => {
            (sent - passed) / bytes as u64 - (tasks as u64 - 1)
        }
        _ => 0,
    };
    Ok(Ran {
        cycles: (last - first) / spec.config.cycle_ps,
        bound,
        redundant,
        machine_cycles: report.cycles,
        hash: report.hash,
    })
}

/// Puts of another client that leave the root's node by its links in + directions.
struct Streams {
    /// One for each link.
    contexts: Vec<Context<SimPlatform>>,
    /// Whom each puts to, and where.
    targets: Vec<(TaskId, RemoteAddress)>,
    source: Range,
    /// Puts of each.
    count: usize,
    /// Memory of the targets.
    _held: Vec<Range>,
}

impl Streams {
    fn open(team: &mut Team, topology: &Topology) -> Result<Self, RunError> {
        let ports = (0..gyre_sim::MAX_DIMS).map(|d| 2 * d);
        let neighbours: Vec<usize> = ports
            .filter_map(|port| topology.neighbour(0, port))
            .map(|(node, _)| node)
            .collect();
        let seats = Rc::clone(team.seats());
        let platform = seats[0][0].context.platform().clone();
        let zeroed = |task: usize| {
            let platform = seats[task][0].context.platform();
            BufferRange::zeroed(platform, STREAM_BYTES).map_err(check)
        };
        let mut targets = Vec::new();
        let mut held = Vec::new();
        for &task in &neighbours {
            let range = zeroed(task)?;
            // One task a node, in order: at most 2^32 of them.
            let address = range.remote_address();
            let address = address.ok_or_else(|| check("a stream without memory"))?;
            targets.push((TaskId(task as u32), address));
            held.push(range);
        }
        let count = neighbours.len() as u8;
        let opened = Rc::new(RefCell::new(Vec::new()));
        let into = Rc::clone(&opened);
        let open = move |process: gyre::job::Process| {
            if process.number > 0 {
                return Ok(());
            }
            let config = process.client("streams");
            // What the other client of the root's node leaves over.
            let resources = Resources {
                injection_first: 8,
                remote_get_first: 24,
                slot_first: 24,
                reception_first: 8,
                wake_first: 8,
                ..config.resources
            };
            let config = ClientConfig {
                id: 1,
                contexts: count,
                resources,
                ..config
            };
            let client = Client::create(&process.platform, config)?;
            for context in 0..count {
                into.borrow_mut().push(client.create_context(context)?);
            }
            Ok::<_, gyre_driver::Error>(())
        };
        team.job()
            .each("opens streams", gyre_sim::Until::Quiet, open)?;
        let source = BufferRange::zeroed(&platform, STREAM_BYTES).map_err(check)?;
        Ok(Self {
            contexts: opened.take(),
            targets,
            source,
            // More than the longest collective takes with one endpoint, link shared and all.
            count: 2 * topology.nodes(),
            _held: held,
        })
    }

    /// Posts all puts, and lets the DMA engine begin.
    fn start(&self) -> Result<(), Error> {
        for (context, &(task, remote)) in self.contexts.iter().zip(&self.targets) {
            for _ in 0..self.count {
                context.put(Put {
                    destination: context.endpoint(task, 0)?,
                    data: self.source.clone(),
                    remote,
                    notify: PutNotify::None,
                    local_done: None,
                    remote_done: None,
                })?;
            }
            context.advance(1)?;
        }
        Ok(())
    }

    /// Waits for the end of all puts.
    fn end(&self) -> Result<(), Error> {
        for context in &self.contexts {
            context.advance_until(|| context.is_at_rest())?;
        }
        Ok(())
    }
}

fn check(error: impl std::fmt::Display) -> RunError {
    RunError::Check(error.to_string())
}
