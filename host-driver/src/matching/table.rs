//! The queue of posted receives and the queue of pending messages, without any machine: who matches whom.

use std::collections::VecDeque;

use super::communicator::Communicator;
use crate::task::{Rank, TaskId};

/// Tag of a message that matches receives of every tag. MPI does not know it; traced programs do.
pub const ANY_TAG: u32 = u32::MAX;

/// What a receive has got, or a probe has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Rank of its origin in the receive's group.
    pub source: Rank,
    /// Its tag.
    pub tag: u32,
    /// Number of its communicator.
    pub comm: u32,
    /// Its bytes.
    pub length: usize,
}

/// Match data of a message, and its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MatchData {
    pub source: TaskId,
    pub tag: u32,
    pub comm: u32,
    pub length: usize,
}

/// Match data of a receive; `None` is any.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    pub source: Option<(Rank, TaskId)>,
    pub tag: Option<u32>,
    pub comm: Communicator,
}

impl Pattern {
    /// What a receive of it gets with a message, if they match. A receive of any rank matches the tasks of its group.
    fn received(&self, data: &MatchData) -> Option<Received> {
        let tag = self
            .tag
            .is_none_or(|tag| [tag, ANY_TAG].contains(&data.tag));
        if !tag || self.comm.number() != data.comm {
            return None;
        }
        let source = match self.source {
            Some((rank, task)) => (task == data.source).then_some(rank),
            None => self.comm.rank(data.source),
        };
        source.map(|source| Received {
            source,
            tag: data.tag,
            comm: data.comm,
            length: data.length,
        })
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
    message: M,
    /// Nothing more has to come before a receive can have it.
    ready: bool,
    /// The receive that it has matched while it was not ready, and what that gets.
    receiver: Option<(Received, R)>,
}

/// A message and its receive.
pub(super) struct Pair<R, M> {
    pub received: Received,
    pub message: M,
    pub receiver: R,
}

/// The two queues. `R` is a receive, `M` what is known of a message besides match data.
///
/// Receives match in the order posted, messages in the order in which they came; both are found by
/// walking, and what was compared is counted for the cost of it.
pub(super) struct MatchTable<R, M> {
    posted: VecDeque<Posted<R>>,
    /// With their numbers, which are those of their arrival.
    pending: VecDeque<(u64, Pending<R, M>)>,
    next: u64,
    expected: u64,
    unexpected: u64,
}

impl<R, M> MatchTable<R, M> {
    pub fn new() -> Self {
        Self {
            posted: VecDeque::new(),
            pending: VecDeque::new(),
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
        let unmatched = |(_, pending): &&(u64, Pending<R, M>)| pending.receiver.is_none();
        self.pending.iter().filter(unmatched).count()
    }

    /// A message has come: takes the oldest receive that matches, and says what it gets. Also says how many were
    /// compared.
    pub fn arrive(&mut self, data: &MatchData) -> (u64, Option<(Received, R)>) {
        let mut posted = self.posted.iter().enumerate();
        let found = posted.find_map(|(index, p)| Some((index, p.pattern.received(data)?)));
        let attempts = found.map_or(self.posted.len(), |(index, _)| index + 1) as u64;
        let receiver = found.and_then(|(index, received)| {
            let posted = self.posted.remove(index)?;
            Some((received, posted.receiver))
        });
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
        message: M,
        ready: bool,
        receiver: Option<(Received, R)>,
    ) -> u64 {
        let id = self.next;
        self.next += 1;
        let pending = Pending {
            data,
            message,
            ready,
            receiver,
        };
        self.pending.push_back((id, pending));
        id
    }

    /// What is known of message `id`.
    pub fn message(&self, id: u64) -> Option<(usize, &M)> {
        let (_, pending) = &self.pending[self.place(id)?];
        Some((pending.data.length, &pending.message))
    }

    /// Message `id` is not ready: takes it out if it has its receive.
    pub fn take_matched(&mut self, id: u64) -> Option<Pair<R, M>> {
        self.pending[self.place(id)?].1.receiver.as_ref()?;
        self.take(id)
    }

    /// Message `id` is ready, and now known as `message`. Takes it out if it has its receive.
    pub fn ready(&mut self, id: u64, message: M) -> Option<Pair<R, M>> {
        let place = self.place(id)?;
        let (_, pending) = &mut self.pending[place];
        pending.message = message;
        pending.ready = true;
        self.take_matched(id)
    }

    /// A receive is posted: takes the oldest message that matches and is ready. One that is not ready gets
    /// the receive and keeps it. Also says how many were compared, and the number of the message that matches.
    pub fn receive(
        &mut self,
        id: u64,
        pattern: Pattern,
        receiver: R,
    ) -> (u64, Option<u64>, Option<Pair<R, M>>) {
        let (attempts, found) = self.find(&pattern);
        let Some((number, received)) = found else {
            self.posted.push_back(Posted {
                id,
                pattern,
                receiver,
            });
            return (attempts, None, None);
        };
        let Some((_, pending)) = self.place(number).and_then(|at| self.pending.get_mut(at)) else {
            return (attempts, None, None);
        };
        pending.receiver = Some((received, receiver));
        let pair = if pending.ready {
            self.take(number)
        } else {
            None
        };
        (attempts, Some(number), pair)
    }

    /// What a receive would get with the oldest message that matches. Also says how many were compared.
    pub fn probe(&self, pattern: &Pattern) -> (u64, Option<Received>) {
        let (attempts, found) = self.find(pattern);
        (attempts, found.map(|(_, received)| received))
    }

    /// Takes receive `id` back if it has no message. Also says how many were compared.
    pub fn cancel(&mut self, id: u64) -> (u64, Option<R>) {
        let found = self.posted.iter().position(|posted| posted.id == id);
        let attempts = found.map_or(self.posted.len(), |index| index + 1) as u64;
        let posted = found.and_then(|index| self.posted.remove(index));
        (attempts, posted.map(|posted| posted.receiver))
    }

    /// Takes all receives, whether a message has matched them or not, in the order posted within either; and forgets all
    /// messages, which it returns beside them.
    pub fn close(&mut self) -> (Vec<R>, Vec<M>) {
        let pending = core::mem::take(&mut self.pending).into_iter();
        let pending = pending.map(|(_, pending)| (pending.receiver, pending.message));
        let (receivers, messages): (Vec<_>, Vec<_>) = pending.unzip();
        let matched = receivers.into_iter().flatten();
        let posted = core::mem::take(&mut self.posted).into_iter();
        let receivers = matched
            .map(|(_, receiver)| receiver)
            .chain(posted.map(|posted| posted.receiver));
        (receivers.collect(), messages)
    }

    /// The oldest message without receive that matches, and what a receive gets with it.
    fn find(&self, pattern: &Pattern) -> (u64, Option<(u64, Received)>) {
        let mut attempts = 0;
        let mut found = None;
        for &(number, ref pending) in &self.pending {
            if pending.receiver.is_some() {
                continue;
            }
            attempts += 1;
            if let Some(received) = pattern.received(&pending.data) {
                found = Some((number, received));
                break;
            }
        }
        (attempts, found)
    }

    /// Where message `id` stands.
    fn place(&self, id: u64) -> Option<usize> {
        self.pending.binary_search_by_key(&id, |&(id, _)| id).ok()
    }

    fn take(&mut self, id: u64) -> Option<Pair<R, M>> {
        let (_, pending) = self.pending.remove(self.place(id)?)?;
        let (received, receiver) = pending.receiver?;
        Some(Pair {
            received,
            message: pending.message,
            receiver,
        })
    }
}
