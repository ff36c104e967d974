// SPDX-License-Identifier: MIT OR Apache-2.0
//! Causes that could be removed, and the gain of each.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use gyre_timeline::Recording;

use crate::graph::{Edge, Graph, Job, Work};
use crate::lanes::Step;
use crate::ranks::Late;
use crate::replay::Replay;
use crate::segment::{Kind, Place, Segment};

/// Latency of memory that is left, cycles.
pub const LEAST_MEMORY_CYCLES: u64 = 2;

/// Latency of a link that is left, cycles.
pub const LEAST_LINK_CYCLES: u64 = 1;

/// Messages whose removal is looked at: those that were most in the way.
const MESSAGES: usize = 3;

/// Something whose removal would make the program faster.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// The removed part.
    pub culprit: Culprit,
    /// In words: what it is, where, and what is removed.
    pub text: String,
    /// Picoseconds that the program would take less without it, as the dependencies between recorded events say.
    pub gain_ps: u64,
}

/// Parts that can be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Culprit {
    /// All cost of an operation of the driver, by its number in
    /// [`Recording::operations`](gyre_timeline::Recording::operations).
    Operation(u8),
    /// Latency of memories, down to 2 cycles.
    MemoryLatency,
    /// Latency of links, down to 1 cycle.
    LinkLatency,
    /// Half of the computation of a rank.
    Computation(u32),
    /// A message, by its serial: it uses no link, and completes when it did.
    Message(u64),
}

/// All causes that would gain something, the greatest gain first.
pub(crate) fn of(
    graph: &Graph,
    path: &[Segment],
    ends: &BTreeMap<u32, u32>,
    late: &BTreeMap<u32, Late>,
) -> Vec<Cause> {
    let end = |times: &[u64]| {
        let ends = ends.values().map(|&point| times[point as usize]);
        ends.max().unwrap_or_default()
    };
    let replay = Replay::of(graph);
    let Some(before) = replay.run(&BTreeSet::new(), &|_, edge| edge.ps) else {
        return Vec::new();
    };
    let before = end(&before);
    let culprits = culprits(graph, path, late);
    let mut causes: Vec<Cause> = culprits
        .into_iter()
        .filter_map(|(culprit, text)| {
            let after = end(&without(&replay, graph, culprit)?);
            Some(Cause {
                culprit,
                text,
                gain_ps: before.saturating_sub(after),
            })
        })
        .filter(|cause| cause.gain_ps > 0)
        .collect();
    causes.sort_by_key(|cause| (std::cmp::Reverse(cause.gain_ps), cause.culprit));
    causes
}

/// When every point would be without a culprit.
fn without(replay: &Replay, graph: &Graph, culprit: Culprit) -> Option<Vec<u64>> {
    let recording = graph.recording;
    let nothing = BTreeSet::new();
    match culprit {
        Culprit::Operation(operation) => replay.run(&nothing, &|_, edge| match edge.work {
            Work::Step(Step::Spent { operation: own, .. }) if own == operation => 0,
            _ => edge.ps,
        }),
        Culprit::MemoryLatency => {
            let least = LEAST_MEMORY_CYCLES * recording.cycle_ps;
            let read = recording.memory_read_ps.saturating_sub(least);
            let write = recording.memory_write_ps.saturating_sub(least);
            replay.run(&nothing, &|_, edge| match edge.work {
                Work::Hardware { job, .. } => {
                    let less = job.half_reads() * read / 2 + job.writes() * write;
                    edge.ps.saturating_sub(less)
                }
                _ => edge.ps,
            })
        }
        Culprit::LinkLatency => {
            let less = recording
                .link_ps
                .saturating_sub(LEAST_LINK_CYCLES * recording.cycle_ps);
            replay.run(&nothing, &|_, edge| match edge.work {
                Work::Hardware { links, .. } => edge.ps.saturating_sub(u64::from(links) * less),
                _ => edge.ps,
            })
        }
        Culprit::Computation(rank) => {
            let of_rank = computes(graph, rank);
            replay.run(&nothing, &|point, edge| match of_rank(point, edge) {
                true => edge.ps / 2,
                false => edge.ps,
            })
        }
        Culprit::Message(serial) => withheld(replay, graph, serial),
    }
}

/// Whether a dependency is the computation of a rank.
fn computes<'a>(graph: &'a Graph, rank: u32) -> impl Fn(u32, &Edge) -> bool + 'a {
    move |point, edge| {
        let computes = matches!(edge.work, Work::Step(Step::Compute));
        let lane = match graph.place(point) {
            Place::Thread(lane) => lane,
            Place::Nodes { .. } => return false,
        };
        computes && graph.lanes[lane].task == Some(rank)
    }
}

/// When every point would be if a message used no link and arrived when it did.
fn withheld(replay: &Replay, graph: &Graph, serial: u64) -> Option<Vec<u64>> {
    let own: BTreeSet<usize> = graph.streams_of(serial).iter().copied().collect();
    let arrivals: BTreeSet<u32> = own
        .iter()
        .flat_map(|&stream| graph.arrivals(stream).iter().copied())
        .collect();
    // By packets that have waited for it: how much less they take.
    let mut less = BTreeMap::new();
    for stream in 0..graph.messages.packets().len() {
        if own.contains(&stream) {
            continue;
        }
        let ps = in_the_way(graph, stream, &|other| own.contains(&other));
        if ps > 0 {
            less.insert(stream as u32, ps);
        }
    }
    replay.run(&arrivals, &|_, edge| match (edge.work, edge.stream) {
        (
            Work::Hardware {
                job: Job::Links, ..
            },
            Some(stream),
        ) => edge
            .ps
            .saturating_sub(less.get(&stream).copied().unwrap_or(0)),
        _ => edge.ps,
    })
}

/// How long packets of `of` kept those of a descriptor from the link where they did so longest.
fn in_the_way(graph: &Graph, stream: usize, of: &dyn Fn(usize) -> bool) -> u64 {
    let packets = &graph.messages.packets()[stream];
    let Some((from_ps, to_ps)) = packets.fetched_ps.zip(packets.arrived_ps) else {
        return 0;
    };
    let way = graph.streams.all[stream].way.iter();
    way.map(|&link| graph.streams.held(link, (from_ps, to_ps), of))
        .max()
        .unwrap_or(0)
}

/// Candidates: everything that the critical path has spent time on.
fn culprits(graph: &Graph, path: &[Segment], late: &BTreeMap<u32, Late>) -> Vec<(Culprit, String)> {
    let mut found = Vec::new();
    for (number, name) in (0..).zip(&graph.recording.operations) {
        let of_driver = |segment: &&Segment| {
            matches!(segment.kind, Kind::Driver | Kind::Unexpected) && segment.what == *name
        };
        if path.iter().any(|segment| of_driver(&segment)) {
            let text = format!("operation `{name}` free");
            found.push((Culprit::Operation(number), text));
        }
    }
    found.push((Culprit::MemoryLatency, memory(graph.recording)));
    found.push((Culprit::LinkLatency, links(graph.recording)));
    found.extend(computations(graph, path, late));
    found.extend(messages(graph, path));
    found
}

fn memory(recording: &Recording) -> String {
    format!(
        "memory latency {LEAST_MEMORY_CYCLES} cycles, not {} to read and {} to write",
        recording.memory_read_ps / recording.cycle_ps,
        recording.memory_write_ps / recording.cycle_ps
    )
}

fn links(recording: &Recording) -> String {
    let cycles = recording.link_ps / recording.cycle_ps;
    format!("link latency {LEAST_LINK_CYCLES} cycle, not {cycles}")
}

/// Ranks that compute on the critical path, and what that is to others.
fn computations(
    graph: &Graph,
    path: &[Segment],
    late: &BTreeMap<u32, Late>,
) -> Vec<(Culprit, String)> {
    let ranks: BTreeSet<u32> = path
        .iter()
        .filter(|segment| segment.kind == Kind::Computation)
        .filter_map(|segment| match segment.place {
            Place::Thread(lane) => graph.lanes[lane].task,
            Place::Nodes { .. } => None,
        })
        .collect();
    ranks
        .into_iter()
        .map(|rank| {
            let Late { sender, receiver } = late.get(&rank).copied().unwrap_or_default();
            let others = match sender.cmp(&receiver) {
                Ordering::Greater => " (late sender)",
                Ordering::Less => " (late receiver)",
                Ordering::Equal => "",
            };
            let text = format!("computation of rank {rank} halved{others}");
            (Culprit::Computation(rank), text)
        })
        .collect()
}

/// The messages that were most in the way of others on the critical path, with the link on which they were.
fn messages(graph: &Graph, path: &[Segment]) -> Vec<(Culprit, String)> {
    let mut blamed: BTreeMap<u64, BTreeMap<usize, u64>> = BTreeMap::new();
    let waiting: BTreeSet<u64> = path
        .iter()
        .filter(|segment| segment.kind == Kind::Network)
        .filter_map(|segment| segment.message)
        .collect();
    for &serial in &waiting {
        for &stream in graph.streams_of(serial) {
            for blame in graph.streams.blame(stream, (0, u64::MAX)) {
                let other = blame.stream.and_then(|other| graph.serial(other as u32));
                if let Some(other) = other.filter(|&other| other != serial) {
                    *blamed
                        .entry(other)
                        .or_default()
                        .entry(blame.link)
                        .or_default() += blame.ps;
                }
            }
        }
    }
    let mut blamed: Vec<(u64, u64, usize)> = blamed
        .into_iter()
        .filter_map(|(serial, links)| {
            let all = links.values().sum();
            let (&link, _) = links.iter().max_by_key(|&(_, &ps)| ps)?;
            Some((all, serial, link))
        })
        .collect();
    blamed.sort_by_key(|&(ps, serial, _)| (std::cmp::Reverse(ps), serial));
    blamed.truncate(MESSAGES);
    blamed
        .into_iter()
        .map(|(_, serial, link)| {
            let message = &graph.messages.all()[serial as usize - 1];
            let link = &graph.recording.links[link];
            let text = format!(
                "message {serial} withheld, {} B from rank {} to rank {} (in the way on node{} {})",
                message.bytes, message.source.task, message.destination.task, link.node, link.name
            );
            (Culprit::Message(serial), text)
        })
        .collect()
}
