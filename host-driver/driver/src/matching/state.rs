// SPDX-License-Identifier: MIT OR Apache-2.0
//! State of a messaging module: its configuration, receives and messages.

use core::fmt;
use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;

use crate::am::held_memory::{FreeBuffers, HeldBuffer, HeldBytes, HeldMemory};
use crate::api::context::{Context, DeferredReceive, Outcome};
use crate::buffer::BufferRange;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::layout::DEFAULT_EAGER_LIMIT;
use crate::platform::Platform;
use crate::sync::{Arc, AtomicU64, Mutex, Weak, lock};
use crate::task::Rank;

use super::communicator::Group;
use super::match_data::{MatchData, ReceivePattern, Received};
use super::primitives::Primitives;
use super::table::{MatchTable, Pair};

/// Protocol of messages from the switch-over size on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// The target fetches the data when it has the receive (CT-4).
    #[default]
    RemoteGet,
    /// The prior art: RTS, CTS at once, and the data into the receive's buffer if it is posted by then,
    /// into a temporary buffer if not (CT-8).
    TemporaryBuffer,
}

/// Configuration of a module; the same in all tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessagingConfig {
    /// First of four dispatch identifiers that the module uses.
    pub dispatch: u8,
    /// Protocol of messages from the switch-over size on.
    pub protocol: Protocol,
    /// Shortest message, in bytes, that waits at its origin for its receive; shorter ones travel at once.
    /// 0: all wait.
    pub switch_over: usize,
}

impl MessagingConfig {
    /// Remote get above the driver's default limit of eager messages.
    #[must_use]
    pub const fn new(dispatch: u8) -> Self {
        Self {
            dispatch,
            protocol: Protocol::RemoteGet,
            switch_over: DEFAULT_EAGER_LIMIT + 1,
        }
    }
}

/// Done callback of a receive: called once, by the thread that advances the context.
pub type ReceiveDone<P> = Box<dyn FnOnce(&Context<P>, Result<Received, Error>) + Send>;

/// Handle of a send, for which `T` is `()`, or of a receive, for which it is [`Received`]. Clones are handles to the same.
pub struct Request<P: Platform, T> {
    pub(super) context: Context<P>,
    pub(super) id: u64,
    pub(super) outcome: Arc<Outcome<T>>,
}

impl<P: Platform, T> Clone for Request<P, T> {
    fn clone(&self) -> Self {
        Self {
            context: self.context.clone(),
            id: self.id,
            outcome: Arc::clone(&self.outcome),
        }
    }
}

impl<P: Platform, T> fmt::Debug for Request<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = &self.id;
        let complete = &self.is_complete();
        let mut debug = f.debug_struct("Request");
        debug.field("id", id).field("complete", complete).finish()
    }
}

impl<P: Platform, T> Request<P, T> {
    /// Number of the request, unique in its [`Messaging`].
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether the request has completed, well or not: its done callback has been or is being called.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        lock(&self.outcome).is_some()
    }
}

impl<P: Platform, T: Clone> Request<P, T> {
    /// Advances the context until the request has completed, as [`Context::advance_until`] does: `data` of a send may
    /// then be changed again, the message of a receive is there. Call it without the lock, never from a callback.
    ///
    /// # Errors
    /// The error that the done callback gets; as [`Context::advance_until`].
    pub fn wait(&self) -> Result<T, Error> {
        let mut outcome = None;
        self.context.advance_until(|| {
            outcome.clone_from(&lock(&self.outcome));
            outcome.is_some()
        })?;
        // The value exists: the loop has ended.
        outcome.map_or(Err(Error::Destroyed), |outcome| Ok(outcome?))
    }
}

/// Counts of the messaging module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessagingStats {
    /// Messages that found their receive posted.
    pub expected: u64,
    /// Messages that came before their receive.
    pub unexpected: u64,
    /// Payload bytes held now.
    pub held_bytes: usize,
    /// Most payload bytes held at any time.
    pub peak_held_bytes: usize,
    /// Receives posted and not matched now.
    pub posted: usize,
    /// Messages that have come and are not matched now: the length of the pending queue.
    pub pending: usize,
}

/// A receive with its completion.
pub(super) struct Receiver<P: Platform> {
    /// Its number in notes.
    pub(super) number: u64,
    pub(super) into: BufferRange<P::Buffer>,
    pub(super) done: Option<ReceiveDone<P>>,
    pub(super) outcome: Arc<Outcome<Received>>,
}

/// State of a message that has arrived, besides match data and length.
pub(super) enum Message<P: Platform> {
    /// All of it is at its origin.
    AtOrigin(DeferredReceive<P>),
    /// A CTS has requested its data.
    Awaited { origin: Endpoint, cookie: u32 },
    /// Its first packet or its RTS has arrived, and no more.
    Arriving,
    /// It is held here completely: behind a pointer, so that entries of the queue are short.
    Held(Box<HeldBuffer<P>>),
    /// A message of one packet, held here.
    Short(HeldBytes),
    /// It was lost on its way here.
    Failed(Fault),
}

/// A receive that has matched a message of this rank.
pub(super) type Taker<P> = (Rank, Receiver<P>);

pub(super) type Matched<P> = Pair<MatchData, Message<P>, Taker<P>>;

/// A receive that `advance` is to end.
pub(super) enum Ending<P: Platform> {
    /// The receive of the message of this number, which is here or at its origin.
    Matched(u64),
    Cancelled(Box<Receiver<P>>),
}

impl<P: Platform> Inner<P> {
    /// Number `id` of this module in notes, unique in the context since modules have different dispatch identifiers.
    pub(super) fn noted(&self, id: u64) -> u64 {
        u64::from(self.config.dispatch) << 56 | id
    }
}

/// Outcomes of requests, reused for later requests when all their handles are gone.
pub(super) struct Outcomes<T> {
    kept: Vec<Arc<Outcome<T>>>,
    /// Place of the one used last.
    at: usize,
}

/// Most outcomes that are kept.
const KEPT_OUTCOMES: usize = 64;

impl<T> Outcomes<T> {
    /// None.
    pub(super) fn new() -> Self {
        Self {
            kept: Vec::new(),
            at: 0,
        }
    }

    /// An unused outcome for a new request.
    pub(super) fn take(&mut self) -> Arc<Outcome<T>> {
        match self.kept.get_mut(self.at).and_then(renewed) {
            Some(outcome) => outcome,
            None => self.take_next(),
        }
    }

    /// As [`take`](Self::take), where the one used last is still in use.
    fn take_next(&mut self) -> Arc<Outcome<T>> {
        if !self.kept.is_empty() {
            self.at = (self.at + 1) % KEPT_OUTCOMES;
        }
        let Some(kept) = self.kept.get_mut(self.at) else {
            let outcome = Arc::new(Outcome::new(None));
            self.kept.push(Arc::clone(&outcome));
            return outcome;
        };
        renewed(kept).unwrap_or_else(|| {
            *kept = Arc::new(Outcome::new(None));
            Arc::clone(kept)
        })
    }
}

/// The outcome reset for another request, if it is unused.
fn renewed<T>(kept: &mut Arc<Outcome<T>>) -> Option<Arc<Outcome<T>>> {
    *lock(Arc::get_mut(kept)?) = None;
    Some(Arc::clone(kept))
}

/// State that posting threads and the advancing thread both change.
pub(super) struct Queues<P: Platform> {
    pub(super) table: MatchTable<ReceivePattern, Receiver<P>, Taker<P>, Message<P>>,
    /// A call is posted for each.
    pub(super) endings: VecDeque<Ending<P>>,
    /// Outcomes of receives.
    pub(super) outcomes: Outcomes<Received>,
    pub(super) buffers: FreeBuffers,
}

impl<P: Platform> Queues<P> {
    /// Empty ones.
    pub(super) fn new() -> Self {
        Self {
            table: MatchTable::default(),
            endings: VecDeque::new(),
            outcomes: Outcomes::new(),
            buffers: FreeBuffers::new(),
        }
    }
}

/// State of a module, shared with its dispatch callbacks.
pub(super) struct Inner<P: Platform> {
    pub(super) config: MessagingConfig,
    pub(super) primitives: Primitives,
    pub(super) queues: Mutex<Queues<P>>,
    pub(super) memory: HeldMemory<P>,
    /// Outcomes of sends.
    pub(super) outcomes: Mutex<Outcomes<()>>,
    /// Data without a CTS so far, by cookie.
    pub(super) awaiting_cts: Mutex<BTreeMap<u32, BufferRange<P::Buffer>>>,
    pub(super) requests: AtomicU64,
    /// Groups of the communicators that are registered, by number.
    pub(super) groups: Mutex<BTreeMap<u32, Weak<Group>>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ct1_outcomes_are_reused_only_without_handles() {
        let mut outcomes = Outcomes::<u32>::new();
        let first = outcomes.take();
        let second = outcomes.take();
        assert!(!Arc::ptr_eq(&first, &second));
        *lock(&second) = Some(Ok(2));
        let place = Arc::as_ptr(&second);
        drop(second);
        let third = outcomes.take();
        assert_eq!(Arc::as_ptr(&third), place, "it serves again");
        assert_eq!(*lock(&third), None, "and has not ended");
        *lock(&first) = Some(Ok(1));
        let many: Vec<_> = (0..3 * KEPT_OUTCOMES).map(|_| outcomes.take()).collect();
        let mut places: Vec<_> = many.iter().map(Arc::as_ptr).collect();
        places.extend([&first, &third].map(Arc::as_ptr));
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), many.len() + 2, "each is of one request");
        assert_eq!(outcomes.kept.len(), KEPT_OUTCOMES);
        assert_eq!(*lock(&first), Some(Ok(1)));
    }
}
