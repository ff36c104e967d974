// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the time of each rank goes.

use std::collections::BTreeMap;

use crate::graph::{Edge, Graph, Work};
use crate::lanes::{Lane, Step};
use crate::path;
use crate::segment::{Kind, Place};

/// Where the time of a rank went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankTime {
    /// The rank.
    pub rank: u32,
    /// Picoseconds by kind, in the order of [`Kind::ALL`]. They add up to the time of the program.
    pub times: [u64; Kind::ALL.len()],
}

/// State of a rank's threads at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// One of them at least does this.
    Busy(Kind),
    /// All wait.
    Idle,
}

/// For how long others have waited for a rank, picoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Late {
    /// For messages that it had not posted.
    pub sender: u64,
    /// For receives that it had not posted.
    pub receiver: u64,
}

/// The time of the ranks whose last operations end at `ends`, from the begin of the recording to `to_ps`; and by rank, how
/// late it was.
pub(crate) fn of(
    graph: &Graph,
    ends: &BTreeMap<u32, u32>,
    to_ps: u64,
) -> (Vec<RankTime>, BTreeMap<u32, Late>) {
    let mut late = BTreeMap::new();
    let ranks = ends.iter();
    let times = ranks
        .map(|(&rank, &end)| {
            let end_ps = graph.ps(end);
            let mut times = [0; Kind::ALL.len()];
            let mut add = |kind: Kind, ps: u64| times[kind as usize] += ps;
            add(Kind::Ended, to_ps - end_ps);
            // What ends a wait, of one that it has slept through in vain what ends the next: found from behind.
            let mut ender = None;
            for (span, state) in states(graph, rank, end_ps).into_iter().rev() {
                match state {
                    State::Busy(kind) => add(kind, span.1 - span.0),
                    State::Idle => {
                        ender = end_of_wait(graph, rank, span.1).or(ender);
                        waited(graph, (rank, ender), span, &mut add, &mut late);
                    }
                }
            }
            RankTime { rank, times }
        })
        .collect();
    (times, late)
}

/// States of a rank up to `end_ps`, in spans that abut.
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

/// Kind of a thread's step; none if it waits. A rank that computes and drives at a time computes.
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

/// The point of a rank at which one of its threads goes on, or has ended; none if the clock alone has woken it.
fn end_of_wait(graph: &Graph, rank: u32, ps: u64) -> Option<u32> {
    let own = graph.lanes.iter().enumerate();
    let mut own = own.filter(|(_, lane)| lane.task == Some(rank));
    let end = own.find_map(|(index, lane)| {
        let point = lane.point_at(ps);
        (lane.points[point] == ps).then(|| graph.point(index, point))
    })?;
    let by_clock = |edge: Edge| matches!(edge.work, Work::Step(Step::Wait { .. }));
    let vain = graph.dependencies(end).all(|(_, edge)| by_clock(edge));
    (!vain).then_some(end)
}

/// Causes of a rank's wait: the path to what has ended it, back to where the wait began.
fn waited(
    graph: &Graph,
    (rank, end): (u32, Option<u32>),
    span: (u64, u64),
    add: &mut impl FnMut(Kind, u64),
    late: &mut BTreeMap<u32, Late>,
) {
    let Some(end) = end else {
        return add(Kind::Other, span.1 - span.0);
    };
    let mut message = None;
    path::back(graph, end, span.0, |mut piece| {
        message = message.or(piece.message);
        // What comes after the wait is no part of it.
        piece.to_ps = piece.to_ps.min(span.1);
        if piece.to_ps <= piece.from_ps {
            return;
        }
        let ps = piece.to_ps - piece.from_ps;
        let other = match piece.place {
            Place::Thread(lane) => graph.lanes[lane].task.filter(|&task| task != rank),
            Place::Nodes { .. } => None,
        };
        let Some((message, other)) = message.zip(other) else {
            return add(piece.kind, ps);
        };
        let message = &graph.messages.all()[message as usize - 1];
        let sends = message.destination.task == rank;
        // Until then the other one was late; from then on its driver had the message.
        let begun_ps = match sends {
            true => Some(message.posted_ps),
            false => message.matched_ps,
        };
        let begun_ps = begun_ps.filter(|_| piece.kind != Kind::Computation);
        let begun_ps = begun_ps
            .unwrap_or(piece.to_ps)
            .clamp(piece.from_ps, piece.to_ps);
        let late_ps = begun_ps - piece.from_ps;
        let late = late.entry(other).or_default();
        match sends {
            true => {
                late.sender += late_ps;
                add(Kind::LateSender, late_ps);
            }
            false => {
                late.receiver += late_ps;
                add(Kind::LateReceiver, late_ps);
            }
        }
        add(piece.kind, piece.to_ps - begun_ps);
    });
}
