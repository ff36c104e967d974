//! The application messaging module: sends and receives that are paired by match data (CT-1 to CT-8).
//!
//! Match data is (origin task, tag, communication context); a receive may leave task or tag open. Messages
//! of one origin match in the order sent, receives in the order posted, as in MPI.
//!
//! From the switch-over size on a message waits at its origin until it has a receive, and no payload is
//! ever buffered at the target:
//!
//! 1. The send transmits an RTS: match data, where the data is, its size.
//! 2. The target matches it with a receive, or puts it into its pending queue until there is one.
//! 3. The target issues a remote get. The origin's DMA engine reads the data and sends it by direct put;
//!    no processor has a part in that.
//! 4. The target's byte counter goes from the size down to zero: the receive's callback runs.
//! 5. The target acknowledges: the send's callback runs at the origin.
//!
//! A shorter message travels at once; if no receive waits for it, it is held in a buffer of its own, which
//! [`MessagingStats`] counts. [`Protocol::TemporaryBuffer`] is the prior art for the longer ones, to compare
//! with: the target lets the data come at once, and holds what no receive waits for.

mod arrive;
mod deliver;
mod held;
mod matching;
pub mod primitives;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;

use crate::buffer::BufferRange;
use crate::client::DEFAULT_EAGER_LIMIT;
use crate::context::Context;
use crate::cost::Op;
use crate::dispatch::{Arrival, Receive};
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::instruction::{DoneFn, Instruction, RemoteAddress};
use crate::platform::Platform;
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering, short};
use crate::task::TaskId;

use arrive::ArriveFn;
use deliver::{deliver, fail_send, finish, give_up};
use held::{HeldBuffer, HeldMemory};
pub use matching::ANY_TAG;
use matching::{MatchTable, Pair, Pattern};
use primitives::{Handler, Primitives, RequestToSend};

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

/// Done callback of a receive: called once, by the thread that advances the context.
pub type ReceiveDone<P> = Box<dyn FnOnce(&Context<P>, Result<Received, Error>)>;

/// Handle of a send or receive.
#[derive(Debug, Clone)]
pub struct Request {
    id: u64,
    complete: Arc<AtomicBool>,
}

impl Request {
    /// Number of the request, unique in its [`Messaging`].
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether the request has completed, well or not: its done callback has been or is being called.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete.load(Ordering::Acquire)
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

/// A receive with its way out.
struct Receiver<P: Platform> {
    into: BufferRange<P::Buffer>,
    done: Option<ReceiveDone<P>>,
    complete: Arc<AtomicBool>,
}

/// What is known of a message that has come, besides match data and length.
enum Message<P: Platform> {
    /// All of it is at its origin.
    AtOrigin {
        origin: Endpoint,
        place: RemoteAddress,
        cookie: u32,
    },
    /// It is being sent, after a CTS.
    Awaited { origin: Endpoint, cookie: u32 },
    /// Its first packet has come, the last one has not.
    Arriving,
    /// It is held here, whole.
    Held(HeldBuffer<P>),
    /// It was lost on its way here.
    Failed(Error),
}

type Matched<P> = Pair<Receiver<P>, Message<P>>;

/// A receive that `advance` is to end.
enum Ending<P: Platform> {
    /// Its message is here or at its origin.
    Matched(Matched<P>),
    Cancelled(Receiver<P>),
}

/// State of a module, shared with its dispatch callbacks.
struct Inner<P: Platform> {
    config: MessagingConfig,
    primitives: Primitives,
    table: Mutex<MatchTable<Receiver<P>, Message<P>>>,
    memory: HeldMemory,
    /// Data for which a CTS has not come yet, by cookie.
    awaiting_cts: Mutex<BTreeMap<u32, BufferRange<P::Buffer>>>,
    /// For each one a call is posted.
    endings: Mutex<VecDeque<Ending<P>>>,
    requests: AtomicU64,
    #[cfg(test)]
    trace: tests::Trace,
}

/// Matched messages over one context. Clones are handles to the same module.
///
/// All tasks create theirs on the same context offset with the same configuration. Any thread may send and
/// receive at any time; data moves and callbacks run in `advance`.
pub struct Messaging<P: Platform> {
    context: Context<P>,
    inner: Arc<Inner<P>>,
}

impl<P: Platform> Clone for Messaging<P> {
    fn clone(&self) -> Self {
        Self {
            context: self.context.clone(),
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<P: Platform> Messaging<P> {
    /// Starts the module on `context`.
    ///
    /// # Errors
    /// [`Error::DispatchInUse`], [`Error::SystemDispatch`].
    pub fn create(context: &Context<P>, config: MessagingConfig) -> Result<Self, Error> {
        let primitives = Primitives::new(config.dispatch)?;
        let inner = Arc::new(Inner {
            config,
            primitives,
            table: Mutex::new(MatchTable::new()),
            memory: HeldMemory::default(),
            awaiting_cts: Mutex::new(BTreeMap::new()),
            endings: Mutex::new(VecDeque::new()),
            requests: AtomicU64::new(0),
            #[cfg(test)]
            trace: tests::Trace::default(),
        });
        for (handler, arrive) in [
            (Handler::Eager, arrive::eager as ArriveFn<P>),
            (Handler::RequestToSend, arrive::request_to_send),
            (Handler::ClearToSend, arrive::clear_to_send),
            (Handler::Transfer, arrive::transfer),
        ] {
            let inner = Arc::clone(&inner);
            let callback = move |context: &Context<P>, arrival: &Arrival<'_>| {
                arrive(context, &inner, arrival)
                    .unwrap_or_else(|error| Receive::Refused(error.into()))
            };
            context.set_dispatch(primitives.id(handler), Box::new(callback))?;
        }
        let module = Arc::clone(&inner);
        context.at_destroy(Box::new(move |context| give_up(context, &module)));
        Ok(Self {
            context: context.clone(),
            inner,
        })
    }

    /// The context under the module.
    #[must_use]
    pub fn context(&self) -> &Context<P> {
        &self.context
    }

    /// Counts so far.
    #[must_use]
    pub fn stats(&self) -> MessagingStats {
        let (held_bytes, peak_held_bytes) = self.inner.memory.held_and_peak();
        let table = short(&self.inner.table);
        let (expected, unexpected) = table.arrivals();
        MessagingStats {
            expected,
            unexpected,
            held_bytes,
            peak_held_bytes,
            posted: table.posted(),
            pending: table.pending(),
        }
    }

    /// Whether a message of `bytes` bytes travels at once, and does not wait for its receive.
    #[must_use]
    pub fn is_eager(&self, bytes: usize) -> bool {
        bytes < self.inner.config.switch_over
    }

    /// Sends `data` to task `to`. `done` is called when `data` may be changed again: for a message that
    /// waits for its receive that is when the target has acknowledged it; [`Error::NotFetched`] says that the target has
    /// not got it.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn send(
        &self,
        to: TaskId,
        tag: u32,
        comm: u8,
        data: BufferRange<P::Buffer>,
        done: Option<DoneFn<P>>,
    ) -> Result<Request, Error> {
        let request = self.request();
        let complete = Arc::clone(&request.complete);
        let done: DoneFn<P> = Box::new(move |context, result| {
            complete.store(true, Ordering::Release);
            if let Some(done) = done {
                done(context, result);
            }
        });
        let offset = self.context.query().endpoint.context;
        let to = self.context.endpoint(to, offset)?;
        if self.is_eager(data.len()) {
            let primitives = self.inner.primitives;
            primitives.memory_fifo(&self.context, to, (comm, tag), data, Some(done))?;
        } else {
            self.send_request(to, (comm, tag), data, done)?;
        }
        Ok(request)
    }

    /// Sends the RTS of a message.
    fn send_request(
        &self,
        to: Endpoint,
        label: (u8, u32),
        data: BufferRange<P::Buffer>,
        done: DoneFn<P>,
    ) -> Result<(), Error> {
        let length = data.len();
        let length = u32::try_from(length).map_err(|_| Error::MessageLength { bytes: length })?;
        let inner = &self.inner;
        let answer = inner.config.protocol == Protocol::TemporaryBuffer;
        let nowhere = RemoteAddress { slot: 0, offset: 0 };
        let place = data.remote_address().unwrap_or(nowhere);
        let waits = data.clone();
        let cookie = inner
            .primitives
            .await_acknowledge(&self.context, to, data, done)?;
        if answer {
            short(&inner.awaiting_cts).insert(cookie, waits);
        }
        let rts = RequestToSend {
            cookie,
            length,
            place,
            answer,
        };
        let sender = Arc::clone(inner);
        let left: DoneFn<P> = Box::new(move |context, result| {
            if let Err(error) = result {
                fail_send(context, &sender, cookie, error);
            }
        });
        let sent = inner
            .primitives
            .request_to_send(&self.context, to, label, rts, left);
        if sent.is_err() {
            short(&inner.awaiting_cts).remove(&cookie);
            // The caller has the error: the callback is not called.
            self.context.forget_ack(cookie);
        }
        sent
    }

    /// Receives a message into the start of `into`: from task `from` or any, with tag `tag` or any, in
    /// communication context `comm`. `done` is called when it is there. A message longer than `into` is
    /// used up, `into` stays as it is, and `done` gets [`Error::MessageTooLong`]. Where the context is destroyed first, it
    /// gets [`Error::Destroyed`].
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::Destroyed`].
    pub fn receive(
        &self,
        from: Option<TaskId>,
        tag: Option<u32>,
        comm: u8,
        into: BufferRange<P::Buffer>,
        done: Option<ReceiveDone<P>>,
    ) -> Result<Request, Error> {
        let pattern = self.pattern(from, tag, comm)?;
        self.context.check_alive()?;
        let request = self.request();
        let receiver = Receiver {
            into,
            done,
            complete: Arc::clone(&request.complete),
        };
        let (attempts, matched) = short(&self.inner.table).receive(request.id, pattern, receiver);
        let platform = self.context.platform();
        platform.charge(Op::MatchAttempt, attempts);
        match matched {
            None => platform.charge(Op::Enqueue, 1),
            Some(matched) => {
                self.end(Ending::Matched(matched))?;
            }
        }
        Ok(request)
    }

    /// Looks for a message that a receive posted now would match, without receiving it: from task `from` or
    /// any, with tag `tag` or any, in communication context `comm`. Messages come in `advance`.
    ///
    /// # Errors
    /// [`Error::UnknownTask`].
    pub fn probe(
        &self,
        from: Option<TaskId>,
        tag: Option<u32>,
        comm: u8,
    ) -> Result<Option<Received>, Error> {
        let pattern = self.pattern(from, tag, comm)?;
        let (attempts, found) = short(&self.inner.table).probe(&pattern);
        self.context.platform().charge(Op::MatchAttempt, attempts);
        Ok(found.map(|(data, length)| data.received(length)))
    }

    /// Takes a receive back that no message has matched, and says whether there was one: `advance` then
    /// calls its done callback with [`Error::Cancelled`]. A receive that has matched completes as if
    /// nothing had been asked, and so does a send, whose message is on its way.
    ///
    /// # Errors
    /// [`Error::Destroyed`].
    pub fn cancel(&self, request: &Request) -> Result<bool, Error> {
        self.context.check_alive()?;
        let (attempts, receiver) = short(&self.inner.table).cancel(request.id);
        self.context.platform().charge(Op::MatchAttempt, attempts);
        let Some(receiver) = receiver else {
            return Ok(false);
        };
        self.end(Ending::Cancelled(receiver))?;
        Ok(true)
    }

    /// Has `advance` end a receive: callbacks run there alone.
    fn end(&self, ending: Ending<P>) -> Result<(), Error> {
        let inner = Arc::clone(&self.inner);
        short(&inner.endings).push_back(ending);
        let end = move |context: &Context<P>| {
            let ending = short(&inner.endings).pop_front();
            match ending {
                Some(Ending::Matched(matched)) => deliver(context, &inner, matched),
                Some(Ending::Cancelled(receiver)) => {
                    finish(context, receiver, Err(Error::Cancelled));
                }
                None => {}
            }
        };
        self.context.post(Instruction::Call(Box::new(end)))
    }

    fn pattern(&self, from: Option<TaskId>, tag: Option<u32>, comm: u8) -> Result<Pattern, Error> {
        if let Some(task) = from {
            self.context.tasks().location(task)?;
        }
        Ok(Pattern {
            source: from,
            tag,
            comm,
        })
    }

    fn request(&self) -> Request {
        Request {
            id: self.inner.requests.fetch_add(1, Ordering::Relaxed),
            complete: Arc::new(AtomicBool::new(false)),
        }
    }
}
