// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps of each thread, without gap from the begin of the recording.

use std::collections::BTreeMap;

use gyre_timeline::{Event, Lane as EventLane, Note, Recording, What, Why};

/// Step of a thread from one point of its time to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// An operation of the driver, by its number.
    Spent {
        /// The operation.
        operation: u8,
        /// The driver deals with a message that came before its receive.
        unexpected: bool,
    },
    /// The program computes.
    Compute,
    /// A register access.
    Register,
    /// Time that nothing but the memory of the node accounts for: cache lines that others have written.
    CacheLines,
    /// It waits.
    Wait {
        /// Reason of the wait.
        why: Why,
        /// Number of the thread on its node that has ended the wait; none if hardware or clock have.
        by: Option<u32>,
    },
}

/// A thread.
#[derive(Debug, Clone)]
pub(crate) struct Lane {
    /// Its node.
    pub node: u32,
    /// Its number on the node.
    pub number: u32,
    /// Its task.
    pub task: Option<u32>,
    /// Points of its time, each later than the one before it.
    pub points: Vec<u64>,
    /// Steps that end at each point but the first.
    pub steps: Vec<Step>,
    /// Its notes and ends of operations: the point, and the number of the event.
    pub notes: Vec<(usize, usize)>,
}

impl Lane {
    /// The last point that is not later than `ps`; the first if all are.
    pub fn point_at(&self, ps: u64) -> usize {
        self.points
            .partition_point(|&point| point <= ps)
            .saturating_sub(1)
    }

    /// Adds a step up to `end_ps`; nothing if no time passes.
    fn step(&mut self, end_ps: u64, step: Step) {
        if self.last_ps() < end_ps {
            self.points.push(end_ps);
            self.steps.push(step);
        }
    }

    fn last_ps(&self) -> u64 {
        self.points.last().copied().unwrap_or_default()
    }
}

/// The threads of a recording, in the order of [`Recording::threads`].
pub(crate) fn of(recording: &Recording) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = recording
        .threads
        .iter()
        .map(|thread| Lane {
            node: thread.node,
            number: thread.number,
            task: thread.task,
            points: vec![recording.start_ps],
            steps: Vec::new(),
            notes: Vec::new(),
        })
        .collect();
    let index: BTreeMap<(u32, u32), usize> = (0..)
        .zip(&lanes)
        .map(|(index, lane)| ((lane.node, lane.number), index))
        .collect();
    // By thread: it deals with a message that came before its receive.
    let mut unexpected = vec![false; lanes.len()];
    for (number, event) in recording.events().iter().enumerate() {
        let EventLane::Thread(thread) = event.lane else {
            continue;
        };
        let Some(&at) = index.get(&(event.node, thread)) else {
            continue;
        };
        take(&mut lanes[at], &mut unexpected[at], number, event);
    }
    lanes
}

fn take(lane: &mut Lane, unexpected: &mut bool, number: usize, event: &Event) {
    lane.step(event.ps, Step::CacheLines);
    match event.what {
        What::Spent { operation, .. } => {
            let step = Step::Spent {
                operation,
                unexpected: *unexpected,
            };
            lane.step(event.end_ps, step);
        }
        What::Waited { why, by } => {
            let step = match why {
                Why::Compute => Step::Compute,
                Why::Register => Step::Register,
                Why::WakeUp | Why::News | Why::Lock => Step::Wait { why, by },
            };
            lane.step(event.end_ps, step);
        }
        What::Note(note) => {
            match note {
                Note::Unexpected { .. } => *unexpected = true,
                Note::Packet { .. } | Note::Handled { .. } => *unexpected = false,
                _ => {}
            }
            lane.notes.push((lane.points.len() - 1, number));
        }
        What::Operation { .. } => lane.notes.push((lane.points.len() - 1, number)),
        _ => {}
    }
}
