//! The posted queue and the unexpected queue, without any machine: who matches whom.

use std::collections::{BTreeMap, VecDeque};

use crate::error::Error;
use crate::task::TaskId;

use super::{MessagingStats, Received};

/// Tag of a message that matches receives of every tag. MPI does not know it; traced programs do.
pub const ANY_TAG: u32 = u32::MAX;

/// Match data of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MatchData {
    pub source: TaskId,
    pub tag: u32,
    pub comm: u8,
}

impl MatchData {
    pub fn received(self, length: usize) -> Received {
        Received {
            source: self.source,
            tag: self.tag,
            comm: self.comm,
            length,
        }
    }
}

/// Match data of a receive; `None` is any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pattern {
    pub source: Option<TaskId>,
    pub tag: Option<u32>,
    pub comm: u8,
}

impl Pattern {
    fn matches(&self, data: &MatchData) -> bool {
        self.comm == data.comm
            && self.source.is_none_or(|source| source == data.source)
            && self
                .tag
                .is_none_or(|tag| tag == data.tag || data.tag == ANY_TAG)
    }
}

/// A message that came before its receive, both complete now.
pub(super) struct Held<R, M> {
    pub data: MatchData,
    pub payload: M,
    pub receiver: R,
    /// How its arrival ended.
    pub result: Result<(), Error>,
}

/// A message without, or with a too early, receive.
struct Unexpected<R, M> {
    data: MatchData,
    payload: M,
    bytes: usize,
    /// How its arrival ended, once it has.
    arrival: Option<Result<(), Error>>,
    /// The receive that has matched it while it was still arriving.
    receiver: Option<R>,
}

/// The two queues. `R` is a receive, `M` the payload of a held message.
pub(super) struct MatchTable<R, M> {
    posted: VecDeque<(Pattern, R)>,
    /// By order of arrival.
    unexpected: BTreeMap<u64, Unexpected<R, M>>,
    next: u64,
    stats: MessagingStats,
}

impl<R, M> MatchTable<R, M> {
    pub fn new() -> Self {
        Self {
            posted: VecDeque::new(),
            unexpected: BTreeMap::new(),
            next: 0,
            stats: MessagingStats::default(),
        }
    }

    pub fn stats(&self) -> MessagingStats {
        let held = self.unexpected.values().filter(|u| u.receiver.is_none());
        MessagingStats {
            posted: self.posted.len(),
            held: held.count(),
            ..self.stats
        }
    }

    /// A message arrives: takes the oldest receive that matches. Also says how many were compared.
    pub fn arrive(&mut self, data: MatchData) -> (u64, Option<R>) {
        let found = self.posted.iter().position(|(p, _)| p.matches(&data));
        let attempts = found.map_or(self.posted.len(), |index| index + 1) as u64;
        let receiver = found
            .and_then(|index| self.posted.remove(index))
            .map(|(_, receiver)| receiver);
        if receiver.is_some() {
            self.stats.expected += 1;
        }
        (attempts, receiver)
    }

    /// Holds a message that found no receive; `bytes` is what its payload takes. Returns its number.
    pub fn hold(&mut self, data: MatchData, payload: M, bytes: usize) -> u64 {
        let id = self.next;
        self.next += 1;
        self.unexpected.insert(
            id,
            Unexpected {
                data,
                payload,
                bytes,
                arrival: None,
                receiver: None,
            },
        );
        self.stats.unexpected += 1;
        self.stats.held_bytes += bytes;
        self.stats.peak_held_bytes = self.stats.peak_held_bytes.max(self.stats.held_bytes);
        id
    }

    /// The last byte of held message `id` is there, or it failed. Gives the pair if it has its receive.
    pub fn arrived(&mut self, id: u64, result: Result<(), Error>) -> Option<Held<R, M>> {
        self.unexpected.get_mut(&id)?.arrival = Some(result);
        self.take_pair(id)
    }

    /// A receive is posted: takes the oldest held message that matches, now or when it has arrived.
    /// Also says how many were compared.
    pub fn receive(&mut self, pattern: Pattern, receiver: R) -> (u64, Option<Held<R, M>>) {
        let mut attempts = 0;
        for (&id, message) in &mut self.unexpected {
            if message.receiver.is_some() {
                continue;
            }
            attempts += 1;
            if pattern.matches(&message.data) {
                message.receiver = Some(receiver);
                return (attempts, self.take_pair(id));
            }
        }
        self.posted.push_back((pattern, receiver));
        (attempts, None)
    }

    /// Takes held message `id` out if both it and its receive are there.
    fn take_pair(&mut self, id: u64) -> Option<Held<R, M>> {
        let message = self.unexpected.remove(&id)?;
        match (message.arrival, message.receiver) {
            (Some(result), Some(receiver)) => {
                self.stats.held_bytes -= message.bytes;
                Some(Held {
                    data: message.data,
                    payload: message.payload,
                    receiver,
                    result,
                })
            }
            (arrival, receiver) => {
                self.unexpected.insert(
                    id,
                    Unexpected {
                        arrival,
                        receiver,
                        ..message
                    },
                );
                None
            }
        }
    }
}
