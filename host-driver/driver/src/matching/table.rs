//! The queue of posted receives and the queue of pending messages, without any machine: who matches whom.

use std::collections::VecDeque;

use super::communicator::Communicator;
use crate::task::{Rank, TaskId};

/// Tag of a message that matches receives of every tag. MPI does not know it; traced programs do.
pub const ANY_TAG: u32 = u32::MAX;

/// Message that a receive has got or a probe has found.
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
    /// The rank of a message's origin, if they match. A receive of any rank matches the tasks of its group.
    #[inline]
    fn rank(&self, data: &MatchData) -> Option<Rank> {
        let other = |tag| tag != data.tag && data.tag != ANY_TAG;
        if self.tag.is_some_and(other) || self.comm.number() != data.comm {
            return None;
        }
        match self.source {
            Some((rank, task)) => (task == data.source).then_some(rank),
            None => self.comm.rank(data.source),
        }
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
    /// The receive that it has matched and that has not got it.
    receiver: Option<R>,
    /// The rank of the origin for that.
    rank: Rank,
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

impl MatchData {
    /// The result of a receive that takes this message of `source`.
    pub fn received(&self, source: Rank) -> Received {
        Received {
            source,
            tag: self.tag,
            comm: self.comm,
            length: self.length,
        }
    }
}

/// Takes the entry at `place` out of a queue; the first one moves no other.
#[inline(always)]
fn remove<T>(queue: &mut VecDeque<T>, place: usize) -> Option<T> {
    match place {
        0 => queue.pop_front(),
        _ => queue.remove(place),
    }
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

    /// A message has come: finds the oldest receive that matches, to be [taken](Self::take_posted), and the rank of the
    /// origin. Also says how many were compared.
    #[inline(always)]
    pub fn arrive(&mut self, data: &MatchData) -> (u64, Option<(usize, Rank)>) {
        let Some(first) = self.posted.front() else {
            self.unexpected += 1;
            return (0, None);
        };
        if let Some(rank) = first.pattern.rank(data) {
            self.expected += 1;
            return (1, Some((0, rank)));
        }
        self.walk(data)
    }

    /// The same; the first may match or not.
    fn walk(&mut self, data: &MatchData) -> (u64, Option<(usize, Rank)>) {
        let mut posted = self.posted.iter().enumerate();
        let found = posted.find_map(|(place, posted)| Some((place, posted.pattern.rank(data)?)));
        match found {
            Some((place, _)) => {
                self.expected += 1;
                (place as u64 + 1, found)
            }
            None => {
                self.unexpected += 1;
                (self.posted.len() as u64, None)
            }
        }
    }

    /// Takes the receive at `place` among those posted.
    #[inline(always)]
    pub fn take_posted(&mut self, place: usize) -> Option<R> {
        Some(remove(&mut self.posted, place)?.receiver)
    }

    /// Puts a message behind those that have come before, with its receive if it has one and is not
    /// ready. Returns its number.
    #[inline]
    pub fn insert(
        &mut self,
        data: MatchData,
        message: M,
        ready: bool,
        receiver: Option<(Rank, R)>,
    ) -> u64 {
        let id = self.next;
        self.next += 1;
        let (rank, receiver) = receiver.map_or((Rank(0), None), |(rank, of)| (rank, Some(of)));
        let pending = Pending {
            data,
            message,
            ready,
            receiver,
            rank,
        };
        self.pending.push_back((id, pending));
        id
    }

    /// Length and state of message `id`.
    pub fn message(&self, id: u64) -> Option<(usize, &M)> {
        let (_, pending) = &self.pending[self.place(id)?];
        Some((pending.data.length, &pending.message))
    }

    /// Takes message `id` out if it has its receive.
    #[inline]
    pub fn take_matched(&mut self, id: u64) -> Option<Pair<R, M>> {
        let place = self.place(id)?;
        self.take_matched_at(place)
    }

    /// Message `id` is ready, and now known as `message`. Takes it out if it has its receive.
    pub fn ready(&mut self, id: u64, message: M) -> Option<Pair<R, M>> {
        let place = self.place(id)?;
        let (_, pending) = &mut self.pending[place];
        pending.message = message;
        pending.ready = true;
        self.take_matched_at(place)
    }

    /// A receive is posted: the oldest message that matches gets it and keeps it, to be [taken](Self::take_matched) with
    /// it when it is ready. Says how many were compared, and the number of the message that matches and whether it is ready.
    #[inline]
    pub fn receive(
        &mut self,
        id: u64,
        pattern: Pattern,
        receiver: R,
    ) -> (u64, Option<(u64, bool)>) {
        let (attempts, found) = self.find(&pattern);
        let Some((place, rank)) = found else {
            self.posted.push_back(Posted {
                id,
                pattern,
                receiver,
            });
            return (attempts, None);
        };
        let (number, pending) = &mut self.pending[place];
        pending.receiver = Some(receiver);
        pending.rank = rank;
        (attempts, Some((*number, pending.ready)))
    }

    /// The result that a receive would get with the oldest message that matches. Also returns how many were compared.
    pub fn probe(&self, pattern: &Pattern) -> (u64, Option<Received>) {
        let (attempts, found) = self.find(pattern);
        let received = |(place, rank)| {
            let (_, pending) = &self.pending[place];
            pending.data.received(rank)
        };
        (attempts, found.map(received))
    }

    /// Takes receive `id` back if it has no message. Also says how many were compared.
    pub fn cancel(&mut self, id: u64) -> (u64, Option<R>) {
        let found = self.posted.iter().position(|posted| posted.id == id);
        let attempts = found.map_or(self.posted.len(), |index| index + 1) as u64;
        let posted = found.and_then(|index| remove(&mut self.posted, index));
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
        let receivers = matched.chain(posted.map(|posted| posted.receiver));
        (receivers.collect(), messages)
    }

    /// Place of the oldest message without receive that matches, and the rank of its origin.
    #[inline]
    fn find(&self, pattern: &Pattern) -> (u64, Option<(usize, Rank)>) {
        let mut attempts = 0;
        let mut pending = self.pending.iter().enumerate();
        let found = pending.find_map(|(place, (_, pending))| {
            if pending.receiver.is_some() {
                return None;
            }
            attempts += 1;
            Some((place, pattern.rank(&pending.data)?))
        });
        (attempts, found)
    }

    /// Where message `id` stands: often it is the oldest.
    #[inline]
    fn place(&self, id: u64) -> Option<usize> {
        match self.pending.front() {
            Some(&(first, _)) if first == id => Some(0),
            _ => self.pending.binary_search_by_key(&id, |&(id, _)| id).ok(),
        }
    }

    #[inline(always)]
    fn take_matched_at(&mut self, place: usize) -> Option<Pair<R, M>> {
        self.pending[place].1.receiver.as_ref()?;
        let (_, pending) = remove(&mut self.pending, place)?;
        Some(Pair {
            received: pending.data.received(pending.rank),
            message: pending.message,
            receiver: pending.receiver?,
        })
    }
}
