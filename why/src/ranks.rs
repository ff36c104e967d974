//! Where the time of each rank goes.

use std::collections::BTreeMap;

use crate::analysis::RankTime;
use crate::graph::Graph;
use crate::lanes::{Lane, Step};
use crate::path::{self, Kind, Place};

/// What the threads of a rank do at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// One of them at least does this.
    Busy(Kind),
    /// All wait.
    Idle,
}

/// The time of the ranks whose last operations end at `ends`, from the begin of the recording to `to_ps`.
pub(crate) fn of(graph: &Graph, ends: &BTreeMap<u32, u32>, to_ps: u64) -> Vec<RankTime> {
    let ranks = ends.iter();
    ranks
        .map(|(&rank, &end)| {
            let end_ps = graph.points[end as usize].ps;
            let mut times = [0; Kind::ALL.len()];
            let mut add = |kind: Kind, ps: u64| times[kind as usize] += ps;
            add(Kind::Ended, to_ps - end_ps);
            for (span, state) in states(graph, rank, end_ps) {
                match state {
                    State::Busy(kind) => add(kind, span.1 - span.0),
                    State::Idle => waited(graph, rank, span, &mut add),
                }
            }
            RankTime { rank, times }
        })
        .collect()
}

/// What a rank does up to `end_ps`, in spans that abut.
fn states(graph: &Graph, rank: u32, end_ps: u64) -> Vec<((u64, u64), State)> {
    let lanes: Vec<&Lane> = graph
        .lanes
        .iter()
        .filter(|lane| lane.task == Some(rank))
        .collect();
    let mut edges: Vec<u64> = lanes
        .iter()
        .flat_map(|lane| lane.points.iter().copied())
        .filter(|&ps| ps < end_ps)
        .collect();
    edges.push(end_ps);
    edges.sort_unstable();
    edges.dedup();
    let mut steps = vec![0_usize; lanes.len()];
    let mut states: Vec<((u64, u64), State)> = Vec::new();
    for span in edges.windows(2).map(|pair| (pair[0], pair[1])) {
        let mut state = State::Idle;
        for (lane, step) in lanes.iter().zip(&mut steps) {
            while lane.points.get(*step + 1).is_some_and(|&ps| ps <= span.0) {
                *step += 1;
            }
            if let Some(kind) = lane.steps.get(*step).and_then(busy) {
                state = match state {
                    State::Busy(other) if other <= kind => state,
                    _ => State::Busy(kind),
                };
            }
        }
        match states.last_mut() {
            Some((last, same)) if *same == state => last.1 = span.1,
            _ => states.push((span, state)),
        }
    }
    states
}

/// What a thread's step is spent on; none if it waits. A rank that computes and drives at a time computes.
fn busy(step: &Step) -> Option<Kind> {
    match step {
        Step::Compute => Some(Kind::Computation),
        Step::Spent {
            unexpected: true, ..
        } => Some(Kind::Unexpected),
        Step::Spent { .. } | Step::Register => Some(Kind::Driver),
        Step::CacheLines => Some(Kind::Memory),
        Step::Wait { .. } => None,
    }
}

/// What a rank has waited for: what led to the end of its wait, as far back as that began.
fn waited(graph: &Graph, rank: u32, span: (u64, u64), add: &mut impl FnMut(Kind, u64)) {
    let of_rank = |lane: &&(usize, &Lane)| lane.1.task == Some(rank);
    let lanes = graph.lanes.iter().enumerate();
    // One of its threads has a point there, or the rank ends.
    let end = lanes
        .filter(|lane| of_rank(&lane))
        .find_map(|(index, lane)| {
            let point = lane.point_at(span.1);
            (lane.points[point] == span.1).then(|| graph.point(index, point))
        });
    let Some(end) = end else {
        return add(Kind::Other, span.1 - span.0);
    };
    let mut message = None;
    path::back(graph, end, span.0, |piece| {
        message = message.or(piece.message);
        let foreign = match piece.place {
            Place::Thread(lane) => graph.lanes[lane].task != Some(rank),
            Place::Nodes { .. } => false,
        };
        let ps = piece.to_ps - piece.from_ps;
        let Some(message) = message.filter(|_| foreign) else {
            return add(piece.kind, ps);
        };
        let message = &graph.messages.all()[message as usize - 1];
        let late = match message.destination.task == rank {
            true => Kind::LateSender,
            false => Kind::LateReceiver,
        };
        // Before the post its sender is late; after it the driver has it.
        let posted_ps = message.posted_ps.clamp(piece.from_ps, piece.to_ps);
        match late {
            Kind::LateSender if piece.kind != Kind::Computation => {
                add(late, posted_ps - piece.from_ps);
                add(piece.kind, piece.to_ps - posted_ps);
            }
            Kind::LateSender => add(late, ps),
            // The receiver has the message until the driver has matched it.
            _ => match message.matched_ps {
                Some(matched_ps) if piece.kind != Kind::Computation => {
                    let matched_ps = matched_ps.clamp(piece.from_ps, piece.to_ps);
                    add(late, matched_ps - piece.from_ps);
                    add(piece.kind, piece.to_ps - matched_ps);
                }
                _ => add(late, ps),
            },
        }
    });
}
