// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matching of messages with receives: the queue of posted receives and the queue of pending messages.

use std::collections::VecDeque;

/// Match data of a receive: the key of a [`MatchTable`].
pub trait Pattern {
    /// Match data of a message.
    type Data;
    /// Result of a match.
    type Match;

    /// Whether a message with this match data matches.
    fn matches(&self, data: &Self::Data) -> Option<Self::Match>;
}

/// A receive without message.
struct Posted<K, R> {
    id: u64,
    pattern: K,
    receiver: R,
}

/// A message that has come and has not been delivered.
struct Pending<D, M, T> {
    id: u64,
    data: D,
    message: M,
    /// A receive can have it: all of it is here or at its origin.
    ready: bool,
    /// The receive that it has matched and that has not got it.
    taker: Option<T>,
}

/// A message and its receive.
pub struct Pair<D, M, T> {
    /// Match data of the message.
    pub data: D,
    /// State of the message.
    pub message: M,
    /// The receive.
    pub taker: T,
}

/// The two queues. `K` is the match data of a receive, `R` a receive without message, `T` a receive with one, and `M` the
/// state of a message besides its match data.
///
/// Receives match in the order posted, messages in the order in which they came. Both are found by walking; comparisons
/// are counted for their cost.
pub struct MatchTable<K: Pattern, R, T, M> {
    posted: VecDeque<Posted<K, R>>,
    /// In the order of their numbers, which is that of their arrival.
    pending: VecDeque<Pending<K::Data, M, T>>,
    next: u64,
    expected: u64,
    unexpected: u64,
}

impl<K: Pattern, R, T, M> Default for MatchTable<K, R, T, M> {
    fn default() -> Self {
        Self {
            posted: VecDeque::new(),
            pending: VecDeque::new(),
            next: 0,
            expected: 0,
            unexpected: 0,
        }
    }
}

/// Takes the entry at `place` out of a queue; the first one moves no other.
#[inline(always)]
fn remove<E>(queue: &mut VecDeque<E>, place: usize) -> Option<E> {
    match place {
        0 => queue.pop_front(),
        _ => queue.remove(place),
    }
}

impl<K: Pattern, R, T, M> MatchTable<K, R, T, M> {
    /// Messages that found a receive, and messages that did not, when they came.
    #[must_use]
    pub fn arrivals(&self) -> (u64, u64) {
        (self.expected, self.unexpected)
    }

    /// The receives without message, in the order posted.
    pub fn posted(&self) -> impl ExactSizeIterator<Item = &R> {
        self.posted.iter().map(|posted| &posted.receiver)
    }

    /// Messages that have not been delivered, with their receive or without.
    #[must_use]
    pub fn undelivered(&self) -> usize {
        self.pending.len()
    }

    /// Messages without receive.
    #[must_use]
    pub fn unmatched(&self) -> usize {
        let unmatched = |pending: &&Pending<_, _, _>| pending.taker.is_none();
        self.pending.iter().filter(unmatched).count()
    }

    /// Finds the oldest receive that matches an arriving message, to be [taken](Self::take_posted), and the match. Also
    /// returns how many were compared.
    #[inline(always)]
    pub fn arrive(&mut self, data: &K::Data) -> (u64, Option<(usize, K::Match)>) {
        let Some(first) = self.posted.front() else {
            self.unexpected += 1;
            return (0, None);
        };
        if let Some(found) = first.pattern.matches(data) {
            self.expected += 1;
            return (1, Some((0, found)));
        }
        self.walk(data)
    }

    /// As [`arrive`](Self::arrive), over the whole queue.
    fn walk(&mut self, data: &K::Data) -> (u64, Option<(usize, K::Match)>) {
        let mut posted = self.posted.iter().enumerate();
        let found = posted.find_map(|(place, posted)| Some((place, posted.pattern.matches(data)?)));
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

    /// The receive at `place` among those posted.
    pub fn posted_at(&mut self, place: usize) -> Option<&mut R> {
        Some(&mut self.posted.get_mut(place)?.receiver)
    }

    /// Takes the receive at `place` among those posted.
    #[inline(always)]
    pub fn take_posted(&mut self, place: usize) -> Option<R> {
        Some(remove(&mut self.posted, place)?.receiver)
    }

    /// Takes the oldest receive that matches an arriving message, with the match. Also returns how many were compared.
    #[inline(always)]
    pub fn take_match(&mut self, data: &K::Data) -> (u64, Option<(K::Match, R)>) {
        let (attempts, found) = self.arrive(data);
        let taken = found.and_then(|(place, found)| Some((found, self.take_posted(place)?)));
        (attempts, taken)
    }

    /// Puts a receive behind those posted before.
    #[inline]
    pub fn post(&mut self, id: u64, pattern: K, receiver: R) {
        self.posted.push_back(Posted {
            id,
            pattern,
            receiver,
        });
    }

    /// Takes back the last receive `id` if it has no message. Also returns its number from the
    /// front, or how many there are.
    pub fn cancel(&mut self, id: u64) -> (u64, Option<R>) {
        let found = self.posted.iter().rposition(|posted| posted.id == id);
        let attempts = found.map_or(self.posted.len(), |place| place + 1) as u64;
        (attempts, found.and_then(|place| self.take_posted(place)))
    }

    /// Puts a message behind those that have come before, with its receive if it has one and is not ready. Returns its
    /// number.
    #[inline]
    pub fn insert(&mut self, data: K::Data, message: M, ready: bool, taker: Option<T>) -> u64 {
        let id = self.next;
        self.next += 1;
        self.pending.push_back(Pending {
            id,
            data,
            message,
            ready,
            taker,
        });
        id
    }

    /// Match data and state of message `id`.
    #[must_use]
    pub fn message(&self, id: u64) -> Option<(&K::Data, &M)> {
        let pending = &self.pending[self.place(id)?];
        Some((&pending.data, &pending.message))
    }

    /// Finds the oldest message without receive that matches, and the match. Also returns how many were compared.
    #[inline]
    pub fn find(&self, pattern: &K) -> (u64, Option<(usize, K::Match)>) {
        let mut attempts = 0;
        let mut pending = self.pending.iter().enumerate();
        let found = pending.find_map(|(place, pending)| {
            if pending.taker.is_some() {
                return None;
            }
            attempts += 1;
            Some((place, pattern.matches(&pending.data)?))
        });
        (attempts, found)
    }

    /// The place of the oldest pending message with such match data.
    pub fn position(&self, mut holds: impl FnMut(&K::Data) -> bool) -> Option<usize> {
        self.pending.iter().position(|pending| holds(&pending.data))
    }

    /// Match data of the message at `place` among those pending.
    #[must_use]
    pub fn data_at(&self, place: usize) -> Option<&K::Data> {
        Some(&self.pending.get(place)?.data)
    }

    /// Match data of the message at `place` among those pending, to be changed.
    pub fn data_at_mut(&mut self, place: usize) -> Option<&mut K::Data> {
        Some(&mut self.pending.get_mut(place)?.data)
    }

    /// Gives the message at `place` among those pending to a receive, to be [taken](Self::take_matched) with it when it is
    /// ready. Returns the number of the message and whether it is ready.
    #[inline]
    pub fn give(&mut self, place: usize, taker: T) -> Option<(u64, bool)> {
        let pending = self.pending.get_mut(place)?;
        pending.taker = Some(taker);
        Some((pending.id, pending.ready))
    }

    /// Takes message `id` out if it has its receive.
    #[inline]
    pub fn take_matched(&mut self, id: u64) -> Option<Pair<K::Data, M, T>> {
        let place = self.place(id)?;
        self.take_matched_at(place)
    }

    /// Sets message `id` ready, in this state. Takes it out if it has its receive.
    pub fn ready(&mut self, id: u64, message: M) -> Option<Pair<K::Data, M, T>> {
        let place = self.place(id)?;
        let pending = &mut self.pending[place];
        pending.message = message;
        pending.ready = true;
        self.take_matched_at(place)
    }

    /// Drops the message at `place` among those pending; returns its state.
    pub fn drop_at(&mut self, place: usize) -> Option<M> {
        Some(remove(&mut self.pending, place)?.message)
    }

    /// Takes all messages, with their receives, in the order of arrival, and all other receives in the order posted.
    pub fn close(&mut self) -> (Vec<(M, Option<T>)>, Vec<R>) {
        let pending = core::mem::take(&mut self.pending).into_iter();
        let posted = core::mem::take(&mut self.posted).into_iter();
        (
            pending.map(|p| (p.message, p.taker)).collect(),
            posted.map(|p| p.receiver).collect(),
        )
    }

    /// Place of message `id`: often it is the oldest.
    #[inline]
    fn place(&self, id: u64) -> Option<usize> {
        match self.pending.front() {
            Some(first) if first.id == id => Some(0),
            _ => self.pending.binary_search_by_key(&id, |p| p.id).ok(),
        }
    }

    #[inline(always)]
    fn take_matched_at(&mut self, place: usize) -> Option<Pair<K::Data, M, T>> {
        self.pending[place].taker.as_ref()?;
        let pending = remove(&mut self.pending, place)?;
        Some(Pair {
            data: pending.data,
            message: pending.message,
            taker: pending.taker?,
        })
    }
}
