// SPDX-License-Identifier: MIT OR Apache-2.0
//! Delivery of matched messages: data goes to its receive, and both sides are told.

use gyre_note::Note;

use super::match_data::Received;
use super::state::{Ending, Inner, Matched, Message, Receiver};
use super::table::Pair;
use crate::api::context::{Context, DoneFn, Ends};
use crate::buffer::BufferRange;
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::platform::Platform;
use crate::route::Routing;
use crate::sync::{Arc, lock};

/// Reason why a post fails only while the context is destroyed.
const POSTS: &str = "the origin's message has shown that it exists";

/// Delivers a message to its receive. Runs in `advance`.
pub(super) fn deliver<P: Platform>(context: &Context<P>, inner: &Inner<P>, matched: Matched<P>) {
    let Pair {
        data,
        message,
        taker: (rank, receiver),
    } = matched;
    let received = data.received(rank);
    match message {
        Message::AtOrigin(message) => {
            let into = receiver.into.clone();
            let done: DoneFn<P> = Box::new(move |context, result| {
                finish_by(context, receiver, received, result);
            });
            // The context is not destroyed meanwhile.
            let posted = message.receive(into, Routing::Fixed, Some(done));
            posted.expect(POSTS);
        }
        Message::Held(held) => {
            let platform = context.platform();
            let copied = fits(received.length, receiver.into.len())
                .and_then(|()| inner.memory.copy_out(platform, *held, &receiver.into));
            finish(context, receiver, received, copied);
        }
        Message::Short(held) => {
            let written = put_down(context, held.data(), &receiver.into);
            let buffer = held.into_buffer();
            lock(&inner.queues).buffers.put(buffer);
            finish(context, receiver, received, written);
        }
        Message::Failed(error) => fail(context, receiver, error),
        // The table delivers only messages that are ready.
        Message::Awaited { .. } | Message::Arriving => {}
    }
}

/// Checks a post from a callback: a context that is being destroyed sends nothing any more, and its peers are not told.
fn posted(result: Result<(), Error>) {
    if result != Err(Error::Destroyed) {
        result.expect(POSTS);
    }
}

/// Writes a complete message to the start of its receive. Runs in `advance`.
#[inline]
pub(super) fn put_down<P: Platform>(
    context: &Context<P>,
    data: &[u8],
    into: &BufferRange<P::Buffer>,
) -> Result<(), Fault> {
    fits(data.len(), into.len())?;
    context.platform().charge_copy(Op::Copy, data.len());
    Ok(into.write(0, data)?)
}

/// Refuses a message longer than its receive.
fn fits(message: usize, receive: usize) -> Result<(), Fault> {
    if message > receive {
        return Err(Error::MessageTooLong { message, receive }.into());
    }
    Ok(())
}

/// Completes a receive whose data has arrived by an operation with this result.
pub(super) fn finish_by<P: Platform>(
    context: &Context<P>,
    receiver: Receiver<P>,
    received: Received,
    result: Result<(), Error>,
) {
    finish(context, receiver, received, result.map_err(Fault::from));
}

/// Completes a receive with `received` or the error.
#[inline(always)]
pub(super) fn finish<P: Platform>(
    context: &Context<P>,
    receiver: Receiver<P>,
    received: Received,
    result: Result<(), Fault>,
) {
    if let Err(error) = result {
        return fail(context, receiver, error);
    }
    note_finished(context, &receiver);
    *lock(&receiver.outcome) = Some(Ok(received));
    if let Some(done) = receiver.done {
        context.platform().charge(Op::Callback, 1);
        done(context, Ok(received));
    }
}

/// Completes a receive that gets no message.
#[cold]
pub(super) fn fail<P: Platform>(context: &Context<P>, receiver: Receiver<P>, error: Fault) {
    note_finished(context, &receiver);
    *lock(&receiver.outcome) = Some(Err(error.clone()));
    if let Some(done) = receiver.done {
        context.platform().charge(Op::Callback, 1);
        done(context, Err(error.into()));
    }
}

#[inline]
fn note_finished<P: Platform>(context: &Context<P>, receiver: &Receiver<P>) {
    let request = receiver.number;
    context.core().note(|at| Note::Finished { at, request });
}

/// Whether the data of a message has been received; a message too long for its receive counts as received (CT-1).
pub(super) fn has_arrived(result: &Result<(), Error>) -> bool {
    matches!(result, Ok(()) | Err(Error::MessageTooLong { .. }))
}

/// Tells the origin of a message whether its data has arrived. Runs in `advance`.
pub(super) fn answer<P: Platform>(
    context: &Context<P>,
    inner: &Inner<P>,
    (origin, cookie): (Endpoint, u32),
    arrived: bool,
) {
    if arrived {
        posted(inner.primitives.acknowledge(context, origin, cookie));
    } else {
        posted(context.refuse(origin, cookie));
    }
}

/// Gives up unfinished receives of a destroyed context.
pub(super) fn give_up<P: Platform>(context: &Context<P>, inner: &Arc<Inner<P>>) {
    let endings = core::mem::take(&mut lock(&inner.queues).endings);
    for ending in endings {
        match ending {
            Ending::Matched(number) => {
                let matched = lock(&inner.queues).table.take_matched(number);
                if let Some(Pair {
                    taker: (_, receiver),
                    ..
                }) = matched
                {
                    fail(context, receiver, Error::Destroyed.into());
                }
            }
            Ending::Cancelled(receiver) => {
                fail(context, *receiver, Error::Cancelled.into());
            }
        }
    }
    // Messages are dropped outside of the lock: their handles use the queue.
    let (messages, posted) = lock(&inner.queues).table.close();
    let (messages, matched): (Vec<_>, Vec<_>) = messages.into_iter().unzip();
    drop(messages);
    let matched = matched.into_iter().flatten().map(|(_, receiver)| receiver);
    for receiver in matched.chain(posted) {
        fail(context, receiver, Error::Destroyed.into());
    }
    inner.memory.close(context.platform());
}

impl<P: Platform> Ends<P> for Inner<P> {
    fn end_next(&self, context: &Context<P>) {
        let matched = {
            let mut queues = lock(&self.queues);
            match queues.endings.pop_front() {
                Some(Ending::Matched(number)) => queues.table.take_matched(number),
                Some(Ending::Cancelled(receiver)) => {
                    drop(queues);
                    return fail(context, *receiver, Error::Cancelled.into());
                }
                None => None,
            }
        };
        if let Some(matched) = matched {
            deliver(context, self, matched);
        }
    }
}

/// Fails the send of a message that has not completely left its origin.
pub(super) fn fail_send<P: Platform>(
    context: &Context<P>,
    inner: &Arc<Inner<P>>,
    cookie: u32,
    error: Error,
) {
    lock(&inner.awaiting_cts).remove(&cookie);
    if let Some(done) = context.forget_ack(cookie) {
        context.platform().charge(Op::Callback, 1);
        done(context, Err(error));
    }
}
