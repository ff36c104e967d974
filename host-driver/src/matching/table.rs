//! The queue of posted receives and the queue of pending messages, without any machine: who matches whom.

use std::collections::{BTreeMap, VecDeque};

use crate::task::TaskId;

/// Tag of a message that matches receives of every tag. MPI does not know it; traced programs do.
pub const ANY_TAG: u32 = u32::MAX;

/// What a receive has got, or a probe has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Task that sent the message.
    pub source: TaskId,
    /// Its tag.
    pub tag: u32,
    /// Its communication context.
    pub comm: u8,
    /// Its bytes.
    pub length: usize,
}

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

/// A receive without message.
struct Posted<R> {
    id: u64,
    pattern: Pattern,
    receiver: R,
}

/// A message that has come and is not done with.
struct Pending<R, M> {
    data: MatchData,
    length: usize,
    message: M,
    /// Nothing more has to come before a receive can have it.
    ready: bool,
    /// The receive that it has matched while it was not ready.
    receiver: Option<R>,
}

/// A message and its receive.
pub(super) struct Pair<R, M> {
    pub data: MatchData,
    pub length: usize,
    pub message: M,
    pub receiver: R,
}

/// The two queues. `R` is a receive, `M` what is known of a message besides match data and length.
///
/// Receives match in the order posted, messages in the order in which they came; both are found by
/// walking, and what was compared is counted for the cost of it.
pub(super) struct MatchTable<R, M> {
    posted: VecDeque<Posted<R>>,
    /// By order of arrival.
    pending: BTreeMap<u64, Pending<R, M>>,
    next: u64,
    expected: u64,
    unexpected: u64,
}

impl<R, M> MatchTable<R, M> {
    pub fn new() -> Self {
        Self {
            posted: VecDeque::new(),
            pending: BTreeMap::new(),
            next: 0,
            expected: 0,
            unexpected: 0,
        }
    }

    /// Messages that found a receive, and messages that did not, when they came.
    pub fn arrivals(&self) -> (u64, u64) {
        (self.expected, self.unexpected)
    }

    /// Receives without message now.
    pub fn posted(&self) -> usize {
        self.posted.len()
    }

    /// Messages without receive now.
    pub fn pending(&self) -> usize {
        let unmatched = |pending: &&Pending<R, M>| pending.receiver.is_none();
        self.pending.values().filter(unmatched).count()
    }

    /// A message has come: takes the oldest receive that matches. Also says how many were compared.
    pub fn arrive(&mut self, data: &MatchData) -> (u64, Option<R>) {
        let matches = |posted: &Posted<R>| posted.pattern.matches(data);
        let found = self.posted.iter().position(matches);
        let attempts = found.map_or(self.posted.len(), |index| index + 1) as u64;
        let receiver = found
            .and_then(|index| self.posted.remove(index))
            .map(|posted| posted.receiver);
        match receiver {
            Some(_) => self.expected += 1,
            None => self.unexpected += 1,
        }
        (attempts, receiver)
    }

    /// Puts a message behind those that have come before, with its receive if it has one and is not
    /// ready. Returns its number.
    pub fn insert(
        &mut self,
        data: MatchData,
        length: usize,
        message: M,
        ready: bool,
        receiver: Option<R>,
    ) -> u64 {
        let id = self.next;
        self.next += 1;
        let pending = Pending {
            data,
            length,
            message,
            ready,
            receiver,
        };
        self.pending.insert(id, pending);
        id
    }

    /// What is known of message `id`.
    pub fn message(&self, id: u64) -> Option<(usize, &M)> {
        let pending = self.pending.get(&id)?;
        Some((pending.length, &pending.message))
    }

    /// Message `id` is not ready: takes it out if it has its receive.
    pub fn take_matched(&mut self, id: u64) -> Option<Pair<R, M>> {
        self.pending.get(&id)?.receiver.as_ref()?;
        self.take(id)
    }

    /// Message `id` is ready, and now known as `message`. Takes it out if it has its receive.
    pub fn ready(&mut self, id: u64, message: M) -> Option<Pair<R, M>> {
        let pending = self.pending.get_mut(&id)?;
        pending.message = message;
        pending.ready = true;
        self.take_matched(id)
    }

    /// A receive is posted: takes the oldest message that matches and is ready. One that is not ready gets
    /// the receive and keeps it. Also says how many were compared.
    pub fn receive(&mut self, id: u64, pattern: Pattern, receiver: R) -> (u64, Option<Pair<R, M>>) {
        let (attempts, found) = self.find(&pattern);
        let Some(number) = found else {
            self.posted.push_back(Posted {
                id,
                pattern,
                receiver,
            });
            return (attempts, None);
        };
        let Some(pending) = self.pending.get_mut(&number) else {
            return (attempts, None);
        };
        pending.receiver = Some(receiver);
        let pair = if pending.ready {
            self.take(number)
        } else {
            None
        };
        (attempts, pair)
    }

    /// The oldest message that matches: match data and length. Also says how many were compared.
    pub fn probe(&self, pattern: &Pattern) -> (u64, Option<(MatchData, usize)>) {
        let (attempts, found) = self.find(pattern);
        let pending = found.and_then(|number| self.pending.get(&number));
        (attempts, pending.map(|p| (p.data, p.length)))
    }

    /// Takes receive `id` back if it has no message. Also says how many were compared.
    pub fn cancel(&mut self, id: u64) -> (u64, Option<R>) {
        let found = self.posted.iter().position(|posted| posted.id == id);
        let attempts = found.map_or(self.posted.len(), |index| index + 1) as u64;
        let posted = found.and_then(|index| self.posted.remove(index));
        (attempts, posted.map(|posted| posted.receiver))
    }

    /// Takes all receives, whether a message has matched them or not, in the order posted within either; and forgets all
    /// messages.
    pub fn close(&mut self) -> Vec<R> {
        let matched = core::mem::take(&mut self.pending).into_values();
        let posted = core::mem::take(&mut self.posted).into_iter();
        let matched = matched.filter_map(|pending| pending.receiver);
        matched
            .chain(posted.map(|posted| posted.receiver))
            .collect()
    }

    /// The oldest message without receive that matches.
    fn find(&self, pattern: &Pattern) -> (u64, Option<u64>) {
        let mut attempts = 0;
        let mut found = None;
        for (&number, pending) in &self.pending {
            if pending.receiver.is_some() {
                continue;
            }
            attempts += 1;
            if pattern.matches(&pending.data) {
                found = Some(number);
                break;
            }
        }
        (attempts, found)
    }

    fn take(&mut self, id: u64) -> Option<Pair<R, M>> {
        let pending = self.pending.remove(&id)?;
        Some(Pair {
            data: pending.data,
            length: pending.length,
            message: pending.message,
            receiver: pending.receiver?,
        })
    }
}
