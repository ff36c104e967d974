// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messaging module as a program sees it: sends, receives, probes.

use std::collections::BTreeMap;

use gyre_note::Note;

use crate::am::dispatch::Arrival;
use crate::am::held_memory::HeldMemory;
use crate::api::context::{Context, DispatchFn, Done, DoneFn, Ends, Outcome, Receive};
use crate::buffer::{BufferRange, RemoteAddress};
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::platform::Platform;
use crate::sync::{Arc, AtomicU64, Mutex, Ordering, Weak, lock};
use crate::task::{Rank, TaskId};

use super::arrive::{clear_to_send, eager, rendezvous};
use super::communicator::{Communicator, Group};
use super::deliver::{fail_send, give_up};
use super::label::Label;
use super::match_data::{ReceivePattern, Received};
use super::primitives::{Handler, Primitives, RequestToSend};
use super::state::{
    Ending, Inner, MessagingConfig, MessagingStats, Outcomes, Protocol, Queues, ReceiveDone,
    Receiver, Request,
};

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
    /// [`Error::DispatchInUse`], [`Error::ReservedDispatch`].
    pub fn create(context: &Context<P>, config: MessagingConfig) -> Result<Self, Error> {
        let primitives = Primitives::new(config.dispatch)?;
        let inner = Arc::new(Inner {
            config,
            primitives,
            queues: Mutex::new(Queues::new()),
            memory: HeldMemory::new(usize::MAX),
            outcomes: Mutex::new(Outcomes::new()),
            awaiting_cts: Mutex::new(BTreeMap::new()),
            requests: AtomicU64::new(0),
            groups: Mutex::new(BTreeMap::new()),
        });
        let set = |handler, callback| context.set_dispatch(primitives.id(handler), callback);
        set(Handler::Eager, dispatched(&inner, eager::eager))?;
        let requested = match config.protocol {
            Protocol::RemoteGet => dispatched(&inner, rendezvous::rendezvous),
            Protocol::TemporaryBuffer => dispatched(&inner, clear_to_send::request_to_send),
        };
        set(Handler::RequestToSend, requested)?;
        let cleared = dispatched(&inner, clear_to_send::clear_to_send);
        set(Handler::ClearToSend, cleared)?;
        set(
            Handler::Transfer,
            dispatched(&inner, clear_to_send::transfer),
        )?;
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
        let table = &lock(&self.inner.queues).table;
        let (expected, unexpected) = table.arrivals();
        MessagingStats {
            expected,
            unexpected,
            held_bytes,
            peak_held_bytes,
            posted: table.posted().len(),
            pending: table.unmatched(),
        }
    }

    /// Registers communicator `number` of `tasks`: rank r is `tasks[r]`. Every task that uses it does so for itself, with
    /// the same group or, where peers name each other by different groups, with that of its peers. It ends with its last
    /// handle; until then a second registration with another group is refused.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::GroupTask`], [`Error::CommunicatorInUse`].
    pub fn register(&self, number: u32, tasks: &[TaskId]) -> Result<Communicator, Error> {
        let group = Group::new(self.context.tasks(), number, tasks)?;
        let mut groups = lock(&self.inner.groups);
        groups.retain(|_, group| group.strong_count() > 0);
        let group = match groups.get(&number).and_then(Weak::upgrade) {
            Some(known) if *known == group => known,
            Some(_) => return Err(Error::CommunicatorInUse { comm: number }),
            None => {
                let group = Arc::new(group);
                groups.insert(number, Arc::downgrade(&group));
                group
            }
        };
        Ok(Communicator::of(number, group))
    }

    /// Whether a message of `bytes` bytes travels at once, and does not wait for its receive.
    #[must_use]
    pub fn is_eager(&self, bytes: usize) -> bool {
        bytes < self.inner.config.switch_over
    }

    /// Sends `data` to rank `to` of `comm`. The request is complete, and `done` is called, when `data` may be changed
    /// again: for a message that waits for its receive that is when the target has acknowledged it;
    /// [`Error::NotFetched`] says that the target has not got it. A message of one packet without `done` is copied: its
    /// request is complete at once, and its errors are reported as those of [`SendImmediate`](crate::SendImmediate).
    ///
    /// # Errors
    /// [`Error::UnknownRank`]; as [`Context::post`].
    pub fn send(
        &self,
        to: Rank,
        tag: u32,
        comm: &Communicator,
        data: BufferRange<P::Buffer>,
        done: Option<DoneFn<P>>,
    ) -> Result<Request<P, ()>, Error> {
        let outcome = lock(&self.inner.outcomes).take();
        let request = self.request(outcome);
        let done = Done::Request(Arc::clone(&request.outcome), done);
        let (to, label) = self.address(to, tag, comm)?;
        let primitives = self.inner.primitives;
        if self.is_eager(data.len()) {
            primitives.memory_fifo_with(&self.context, to, label, data, Some(done))?;
        } else if self.inner.config.protocol == Protocol::RemoteGet {
            primitives.rendezvous_with(&self.context, to, label, data, done)?;
        } else {
            self.send_request(to, label, data, done)?;
        }
        Ok(request)
    }

    /// Sends `data`, which the caller gives away, to rank `to` of `comm`: [`advance`](Context::advance) returns an
    /// error of the message. Only a message that [travels at once](Self::is_eager) can be sent so.
    ///
    /// # Errors
    /// [`Error::MessageLength`]; as [`send`](Self::send).
    pub fn send_detached(
        &self,
        to: Rank,
        tag: u32,
        comm: &Communicator,
        data: BufferRange<P::Buffer>,
    ) -> Result<(), Error> {
        if !self.is_eager(data.len()) {
            return Err(Error::MessageLength { bytes: data.len() });
        }
        let (to, label) = self.address(to, tag, comm)?;
        let primitives = self.inner.primitives;
        primitives.memory_fifo_with(&self.context, to, label, data, None)
    }

    /// The endpoint of rank `to` of `comm`, and the match data of a message to it. Charges for the request.
    fn address(&self, to: Rank, tag: u32, comm: &Communicator) -> Result<(Endpoint, Label), Error> {
        self.context.platform().charge(Op::Request, 1);
        let task = comm.peer(self.context.tasks(), to)?;
        // All tasks have the contexts that this one has.
        let core = self.context.core();
        let to = core.peer(task, core.offset());
        let comm = comm.number();
        Ok((to, Label { comm, tag }))
    }

    /// Sends the RTS of a message whose data a CTS asks for (CT-8).
    fn send_request(
        &self,
        to: Endpoint,
        label: Label,
        data: BufferRange<P::Buffer>,
        done: Done<P>,
    ) -> Result<(), Error> {
        let length = data.len();
        let length = u32::try_from(length).map_err(|_| Error::MessageLength { bytes: length })?;
        let inner = &self.inner;
        let nowhere = RemoteAddress { slot: 0, offset: 0 };
        let place = data.remote_address().unwrap_or(nowhere);
        let waits = data.clone();
        let cookie = inner.primitives.await_with(&self.context, to, data, done)?;
        lock(&inner.awaiting_cts).insert(cookie, waits);
        let rts = RequestToSend {
            cookie,
            length,
            place,
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

    /// Receives a message into the start of `into`: from rank `from` of `comm` or any, with tag `tag` or any. `done` is
    /// called when it is there. A message longer than `into` counts as received, `into` is not changed, and `done` gets
    /// [`Error::MessageTooLong`]. Where the context is destroyed first, it gets [`Error::Destroyed`].
    ///
    /// # Errors
    /// [`Error::UnknownRank`], [`Error::UnknownTask`], [`Error::Destroyed`].
    pub fn receive(
        &self,
        from: Option<Rank>,
        tag: Option<u32>,
        comm: &Communicator,
        into: BufferRange<P::Buffer>,
        done: Option<ReceiveDone<P>>,
    ) -> Result<Request<P, Received>, Error> {
        let pattern = self.pattern(from, tag, comm)?;
        self.context.check_alive()?;
        let (request, attempts, found) = {
            let mut queues = lock(&self.inner.queues);
            let request = self.request(queues.outcomes.take());
            let receiver = Receiver {
                number: self.inner.noted(request.id),
                into,
                done,
                outcome: Arc::clone(&request.outcome),
            };
            let (attempts, found) = queues.table.find(&pattern);
            let found = match found {
                Some((place, rank)) => queues.table.give(place, (rank, receiver)),
                None => {
                    queues.table.post(request.id, pattern, receiver);
                    None
                }
            };
            if let Some((number, true)) = found {
                queues.endings.push_back(Ending::Matched(number));
            }
            (request, attempts, found)
        };
        let platform = self.context.platform();
        platform.charge(Op::MatchAttempt, attempts);
        if let Some((number, _)) = found {
            let (number, request) = (self.inner.noted(number), self.inner.noted(request.id));
            self.context.core().note(|at| Note::Paired {
                at,
                number,
                request,
            });
        }
        platform.charge(Op::Enqueue, 1);
        if let Some((_, true)) = found {
            self.end()?;
        }
        Ok(request)
    }

    /// Looks for a message that a receive posted now would match, without receiving it: from rank `from` of `comm` or
    /// any, with tag `tag` or any. Messages come in `advance`.
    ///
    /// # Errors
    /// [`Error::UnknownRank`], [`Error::UnknownTask`].
    pub fn probe(
        &self,
        from: Option<Rank>,
        tag: Option<u32>,
        comm: &Communicator,
    ) -> Result<Option<Received>, Error> {
        let pattern = self.pattern(from, tag, comm)?;
        let (attempts, found) = {
            let table = &lock(&self.inner.queues).table;
            let (attempts, found) = table.find(&pattern);
            let received = |(place, rank)| Some(table.data_at(place)?.received(rank));
            (attempts, found.and_then(received))
        };
        self.context.platform().charge(Op::MatchAttempt, attempts);
        Ok(found)
    }

    /// Takes a receive back that no message has matched, and returns whether there was one: `advance` then calls its
    /// done callback with [`Error::Cancelled`]. A matched receive completes normally, and so does a send, whose message
    /// is on its way.
    ///
    /// # Errors
    /// [`Error::Destroyed`].
    pub fn cancel<T>(&self, request: &Request<P, T>) -> Result<bool, Error> {
        self.context.check_alive()?;
        let (attempts, ends) = {
            let mut queues = lock(&self.inner.queues);
            let (attempts, receiver) = queues.table.cancel(request.id);
            let ends = receiver.is_some();
            let ending = receiver.map(|receiver| Ending::Cancelled(Box::new(receiver)));
            queues.endings.extend(ending);
            (attempts, ends)
        };
        self.context.platform().charge(Op::MatchAttempt, attempts);
        if ends {
            self.end()?;
        }
        Ok(ends)
    }

    /// Has `advance` end the next queued receive: callbacks run only there.
    fn end(&self) -> Result<(), Error> {
        let inner: Arc<dyn Ends<P>> = Arc::<Inner<P>>::clone(&self.inner);
        self.context.post_end(inner)
    }

    fn pattern(
        &self,
        from: Option<Rank>,
        tag: Option<u32>,
        comm: &Communicator,
    ) -> Result<ReceivePattern, Fault> {
        let known = self.context.tasks();
        let task = |rank| comm.peer(known, rank).map(|task| (rank, task));
        Ok(ReceivePattern {
            source: from.map(task).transpose()?,
            tag,
            comm: comm.clone(),
        })
    }

    fn request<T>(&self, outcome: Arc<Outcome<T>>) -> Request<P, T> {
        Request {
            context: self.context.clone(),
            id: self.inner.requests.fetch_add(1, Ordering::Relaxed),
            outcome,
        }
    }
}

/// A dispatch callback that calls `arrive`; an error refuses the message.
fn dispatched<P: Platform>(
    inner: &Arc<Inner<P>>,
    arrive: impl Fn(&Context<P>, &Arc<Inner<P>>, &Arrival<'_>) -> Result<Receive<P>, Fault>
    + Send
    + 'static,
) -> DispatchFn<P> {
    let inner = Arc::clone(inner);
    Box::new(move |context, arrival| {
        arrive(context, &inner, arrival).unwrap_or_else(Receive::Refused)
    })
}
