//! The messaging module as a program sees it: sends, receives, probes.

use std::collections::{BTreeMap, VecDeque};

use crate::am::dispatch::Arrival;
use crate::api::context::{Context, DoneFn, Receive};
use crate::api::operation::Instruction;
use crate::buffer::{BufferRange, RemoteAddress};
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::platform::Platform;
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering, lock};
use crate::task::TaskId;

use super::arrive::{self, ArriveFn};
use super::deliver::{deliver, fail_send, finish, give_up};
use super::held::HeldMemory;
use super::primitives::{Handler, Primitives, RequestToSend};
use super::state::{
    Ending, Inner, MessagingConfig, MessagingStats, Protocol, ReceiveDone, Receiver, Request,
};
use super::table::{MatchTable, Pattern, Received};

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
        let table = lock(&self.inner.table);
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
            lock(&inner.awaiting_cts).insert(cookie, waits);
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
            lock(&inner.awaiting_cts).remove(&cookie);
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
        let (attempts, matched) = lock(&self.inner.table).receive(request.id, pattern, receiver);
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
        let (attempts, found) = lock(&self.inner.table).probe(&pattern);
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
        let (attempts, receiver) = lock(&self.inner.table).cancel(request.id);
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
        lock(&inner.endings).push_back(ending);
        let end = move |context: &Context<P>| {
            let ending = lock(&inner.endings).pop_front();
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
