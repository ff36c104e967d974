// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps of each thread, without gap from the begin of the recording.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use gyre_timeline::{
    CollectiveStep, Context, Event, Lane as EventLane, Messages, Note, Recording, What, Why,
};

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
        /// The thread that has ended the wait; none if hardware or clock have.
        by: Option<Ender>,
    },
}

/// A thread that has ended another one's wait. There are millions of steps: none takes more than eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ender(NonZeroU32);

impl Ender {
    fn of(number: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(number))
    }

    /// Its number on its node.
    pub fn number(self) -> u32 {
        self.0.get() - 1
    }
}

const _: () = assert!(size_of::<Step>() == 8);

/// A collective, whose members all have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Collective {
    geometry: u16,
    sequence: u32,
}

/// Something that a thread has noted, as far as others depend on it. Packets are given by their place in
/// [`Messages::packets`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noted {
    /// An operation of the program has ended.
    Ended,
    /// Packets were queued.
    Queued(u32),
    /// Work was left to a context.
    Posted(Context),
    /// A context has begun the next of its work.
    Started(Context),
    /// A packet was taken.
    Packet(u32),
    /// Data was found to have come.
    Fetched(u32),
    /// A collective began at this member.
    Begun(Collective),
    /// A collective ended at this member.
    Over(Collective),
    /// Nothing of these.
    Other,
}

impl Noted {
    fn of(note: Note, packets: Option<usize>) -> Self {
        let packets = packets.map(|packets| packets as u32);
        match (note, packets) {
            (Note::Sent { .. } | Note::Put { .. } | Note::Asked { .. }, Some(packets)) => {
                Self::Queued(packets)
            }
            (Note::Posted { at }, _) => Self::Posted(at),
            (Note::Started { at }, _) => Self::Started(at),
            (Note::Packet { .. }, Some(packets)) => Self::Packet(packets),
            (Note::Fetched { .. }, Some(packets)) => Self::Fetched(packets),
            (
                Note::Collective {
                    geometry,
                    sequence,
                    step,
                    ..
                },
                _,
            ) => {
                let collective = Collective { geometry, sequence };
                match step {
                    CollectiveStep::Begun => Self::Begun(collective),
                    CollectiveStep::Ended | CollectiveStep::Failed => Self::Over(collective),
                }
            }
            _ => Self::Other,
        }
    }
}

const _: () = assert!(size_of::<(u32, Noted)>() == 16);

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
    /// Its notes and ends of operations, with their points.
    pub notes: Vec<(u32, Noted)>,
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

    /// Adds a note at the last point.
    fn note(&mut self, noted: Noted) {
        // Points are numbered in 32 bits.
        self.notes.push((self.points.len() as u32 - 1, noted));
    }

    fn last_ps(&self) -> u64 {
        self.points.last().copied().unwrap_or_default()
    }
}

/// The threads of a recording with these messages, in the order of [`Recording::threads`].
pub(crate) fn of(recording: &Recording, messages: &Messages) -> Vec<Lane> {
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
    for (number, event) in recording.events().enumerate() {
        let EventLane::Thread(thread) = event.lane else {
            continue;
        };
        let Some(&at) = index.get(&(event.node, thread)) else {
            continue;
        };
        let packets = messages.of_event(number);
        take(&mut lanes[at], &mut unexpected[at], &event, packets);
    }
    for lane in &mut lanes {
        lane.points.shrink_to_fit();
        lane.steps.shrink_to_fit();
        lane.notes.shrink_to_fit();
    }
    lanes
}

fn take(lane: &mut Lane, unexpected: &mut bool, event: &Event, packets: Option<usize>) {
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
                Why::WakeUp | Why::News | Why::Lock => Step::Wait {
                    why,
                    by: by.map(Ender::of),
                },
            };
            lane.step(event.end_ps, step);
        }
        What::Note(note) => {
            match note {
                Note::Unexpected { .. } => *unexpected = true,
                Note::Packet { .. } | Note::Handled { .. } => *unexpected = false,
                _ => {}
            }
            lane.note(Noted::of(note, packets));
        }
        What::Operation { .. } => lane.note(Noted::Ended),
        _ => {}
    }
}
