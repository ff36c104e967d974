//! State of a messaging module: its configuration, receives and messages.

use core::fmt;
use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;

use crate::am::held::{HeldBuffer, HeldBytes, HeldMemory};
use crate::api::context::{Context, DeferredReceive};
use crate::buffer::BufferRange;
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::layout::DEFAULT_EAGER_LIMIT;
use crate::platform::Platform;
use crate::sync::{Arc, AtomicU64, Mutex, Weak, lock};

use super::communicator::Group;
use super::primitives::Primitives;
use super::table::{MatchTable, Pair, Received};

/// How messages from the switch-over size on travel.
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

/// How a module works; the same in all tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessagingConfig {
    /// First of four dispatch identifiers that the module uses.
    pub dispatch: u8,
    /// How messages from the switch-over size on travel.
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

/// How a send or receive has ended, once it has.
pub(super) type Outcome<T> = Mutex<Option<Result<T, Error>>>;

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
    /// What the done callback gets; as [`Context::advance_until`].
    pub fn wait(&self) -> Result<T, Error> {
        let mut outcome = None;
        self.context.advance_until(|| {
            outcome.clone_from(&lock(&self.outcome));
            outcome.is_some()
        })?;
        // There is one: the loop has ended.
        outcome.unwrap_or(Err(Error::Destroyed))
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

/// A receive, and how it ends.
pub(super) struct Receiver<P: Platform> {
    /// Its number in notes.
    pub(super) number: u64,
    pub(super) into: BufferRange<P::Buffer>,
    pub(super) done: Option<ReceiveDone<P>>,
    pub(super) outcome: Arc<Outcome<Received>>,
}

/// What is known of a message that has come, besides match data and length.
pub(super) enum Message<P: Platform> {
    /// All of it is at its origin.
    AtOrigin(DeferredReceive<P>),
    /// It is being sent, after a CTS.
    Awaited { origin: Endpoint, cookie: u32 },
    /// Its first packet or its RTS has come, and no more is known.
    Arriving,
    /// It is held here, whole.
    Held(HeldBuffer<P>),
    /// The same of one that has come in one packet.
    Short(HeldBytes),
    /// It was lost on its way here.
    Failed(Error),
}

pub(super) type Matched<P> = Pair<Receiver<P>, Message<P>>;

/// A receive that `advance` is to end.
pub(super) enum Ending<P: Platform> {
    /// Its message is here or at its origin.
    Matched(Matched<P>),
    Cancelled(Receiver<P>),
}

impl<P: Platform> Inner<P> {
    /// Number `id` of this module as notes have it: modules of one context have different dispatch identifiers.
    pub(super) fn noted(&self, id: u64) -> u64 {
        u64::from(self.config.dispatch) << 56 | id
    }
}

/// State of a module, shared with its dispatch callbacks.
pub(super) struct Inner<P: Platform> {
    pub(super) config: MessagingConfig,
    pub(super) primitives: Primitives,
    pub(super) table: Mutex<MatchTable<Receiver<P>, Message<P>>>,
    pub(super) memory: HeldMemory,
    /// Data for which a CTS has not come yet, by cookie.
    pub(super) awaiting_cts: Mutex<BTreeMap<u32, BufferRange<P::Buffer>>>,
    /// For each one a call is posted.
    pub(super) endings: Mutex<VecDeque<Ending<P>>>,
    pub(super) requests: AtomicU64,
    /// Groups of the communicators that are registered, by number.
    pub(super) groups: Mutex<BTreeMap<u32, Weak<Group>>>,
}
