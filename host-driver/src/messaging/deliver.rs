//! From a match to the end of its message: data goes where it belongs, and both sides are told.

use super::matching::{MatchData, Pair};
use super::{Inner, Matched, Message, Received, Receiver};
use crate::buffer::BufferRange;
use crate::context::Context;
use crate::cost::{COPY_CHUNK, Op};
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::instruction::{DoneFn, RemoteAddress};
use crate::platform::Platform;
use crate::sync::{Arc, Ordering, short};

/// Why a post from `advance` cannot fail.
const POSTS: &str =
    "advance keeps the context alive, and the origin's message has shown that it exists";

/// A message and its receive are together: the data goes where it belongs. Runs in `advance`.
pub(super) fn deliver<P: Platform>(
    context: &Context<P>,
    inner: &Arc<Inner<P>>,
    matched: Matched<P>,
) {
    let Pair {
        data,
        length,
        message,
        receiver,
    } = matched;
    let fits = fits(length, receiver.into.len());
    match message {
        Message::AtOrigin {
            origin,
            place,
            cookie,
        } => {
            let part = fits.and_then(|()| Ok(receiver.into.part(0, length)?));
            match part {
                Ok(part) if length > 0 => {
                    fetch(
                        context,
                        inner,
                        (origin, place, cookie),
                        part,
                        data,
                        receiver,
                    );
                }
                other => {
                    finish(context, receiver, other.map(|_| data.received(length)));
                    acknowledge(context, inner, origin, cookie);
                }
            }
        }
        Message::Held(held) => {
            let copied = fits.and_then(|()| copy(context, held.range(), &receiver.into));
            drop(held);
            finish(context, receiver, copied.map(|()| data.received(length)));
        }
        Message::Failed(error) => finish(context, receiver, Err(error)),
        // The table gives messages away when they are ready.
        Message::Awaited { .. } | Message::Arriving => {}
    }
}

/// Fetches the data of a message from its origin (CT-4 to CT-6).
fn fetch<P: Platform>(
    context: &Context<P>,
    inner: &Arc<Inner<P>>,
    (origin, place, cookie): (Endpoint, RemoteAddress, u32),
    into: BufferRange<P::Buffer>,
    data: MatchData,
    receiver: Receiver<P>,
) {
    let length = into.len();
    let module = Arc::clone(inner);
    let done: DoneFn<P> = Box::new(move |context, result| {
        finish(context, receiver, result.map(|()| data.received(length)));
        acknowledge(context, &module, origin, cookie);
    });
    inner
        .primitives
        .remote_get(context, origin, place, into, done)
        .expect(POSTS);
}

/// Refuses a message longer than its receive.
fn fits(message: usize, receive: usize) -> Result<(), Error> {
    if message > receive {
        return Err(Error::MessageTooLong { message, receive });
    }
    Ok(())
}

/// Copies a held message to the start of its receive.
fn copy<P: Platform>(
    context: &Context<P>,
    from: &BufferRange<P::Buffer>,
    to: &BufferRange<P::Buffer>,
) -> Result<(), Error> {
    let mut chunk = [0; 512];
    let mut offset = 0;
    while offset < from.len() {
        let bytes = chunk.len().min(from.len() - offset);
        from.read(offset, &mut chunk[..bytes])?;
        to.write(offset, &chunk[..bytes])?;
        offset += bytes;
    }
    let platform = context.platform();
    platform.charge(Op::CopyChunk, from.len().div_ceil(COPY_CHUNK) as u64);
    if !from.is_empty() {
        // The held memory is given back.
        platform.charge(Op::Allocate, 1);
    }
    Ok(())
}

/// Completes a receive.
pub(super) fn finish<P: Platform>(
    context: &Context<P>,
    receiver: Receiver<P>,
    result: Result<Received, Error>,
) {
    receiver.complete.store(true, Ordering::Release);
    if let Some(done) = receiver.done {
        context.platform().charge(Op::Callback, 1);
        done(context, result);
    }
}

/// Tells the origin of a message that its data is free. Runs in `advance`.
pub(super) fn acknowledge<P: Platform>(
    context: &Context<P>,
    inner: &Inner<P>,
    origin: Endpoint,
    cookie: u32,
) {
    #[cfg(test)]
    match inner.trace.acknowledgements() {
        0 => return,
        1 => {}
        _ => context.acknowledge(origin, cookie).expect(POSTS),
    }
    inner
        .primitives
        .acknowledge(context, origin, cookie)
        .expect(POSTS);
}

/// A message has not left its origin, not all of it: its send fails.
pub(super) fn fail_send<P: Platform>(
    context: &Context<P>,
    inner: &Arc<Inner<P>>,
    cookie: u32,
    error: Error,
) {
    short(&inner.awaiting_cts).remove(&cookie);
    if let Some(done) = context.forget_ack(cookie) {
        context.platform().charge(Op::Callback, 1);
        done(context, Err(error));
    }
}
