// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deferred receives: completion of the eager messages held for them.

use crate::ack::sender::refuse;
use crate::am::AmIo;
use crate::am::deferred_messages::{Data, Kept};
use crate::am::held_memory::HeldBuffer;
use crate::buffer::BufferRange;
use crate::done_table::DoneId;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::operation::DeferredId;
use crate::platform::Platform;
use crate::transport::wire::Refused;
use crate::upcalls::{Upcalls, deliver};

/// Ends the receive of a message, if it is posted: all data has arrived, or the message has failed.
///
/// # Errors
/// Errors of a send.
pub(crate) fn arrived<P: Platform, U: Upcalls<P>>(
    am: &mut AmIo<'_, P, U>,
    id: DeferredId,
    result: Result<(), Fault>,
) -> Result<(), Fault> {
    // A discarded message is not in the table any more.
    let Some(mut message) = am.kept.take(id) else {
        return Ok(());
    };
    message.data = match (message.data, result) {
        (Data::Held { held, .. }, Ok(())) => Data::Held { held, whole: true },
        (_, Err(error)) => Data::Lost(error),
        (data, Ok(())) => data,
    };
    match message.receive.take() {
        Some((into, done)) => receive(am, id, message, into, done),
        None => {
            am.kept.put(id, message);
            Ok(())
        }
    }
}

/// Starts the receive of message `id`, whose data is held here.
///
/// # Errors
/// [`Error::MessageTooLong`] where no done callback takes it; those of a send.
pub(crate) fn receive<P: Platform, U: Upcalls<P>>(
    am: &mut AmIo<'_, P, U>,
    id: DeferredId,
    mut message: Kept<P>,
    into: BufferRange<P::Buffer>,
    done: Option<DoneId>,
) -> Result<(), Fault> {
    let result = match message.data {
        Data::Held { held, whole: true } => copy_out(am, held, message.length, &into),
        Data::Lost(error) => Err(error),
        data => {
            message.data = data;
            message.receive = Some((into, done));
            am.kept.put(id, message);
            return Ok(());
        }
    };
    let received = has_arrived(&result);
    let delivered = deliver(am.up, done, result);
    let told = tell(am, message.origin, message.cookie, received);
    delivered.and(told)
}

/// Discards the data of a message; `refused`: its origin is told.
///
/// # Errors
/// Errors of a send.
pub(crate) fn discard<P: Platform, U: Upcalls<P>>(
    am: &mut AmIo<'_, P, U>,
    id: DeferredId,
    refused: bool,
) -> Result<(), Fault> {
    match am.kept.take(id) {
        Some(message) => tell(am, message.origin, message.cookie, !refused),
        None => Ok(()),
    }
}

/// Tells the origin of a message whether its data has been received, if it has given a cookie.
///
/// # Errors
/// Errors of a send.
pub(crate) fn tell<P: Platform, U>(
    am: &mut AmIo<'_, P, U>,
    origin: Endpoint,
    cookie: Option<u32>,
    received: bool,
) -> Result<(), Fault> {
    match cookie {
        Some(cookie) if received => {
            am.acks.owe(&am.io.core, origin, cookie);
            Ok(())
        }
        Some(cookie) => refuse(am.io, origin, (cookie, Refused::DATA)),
        None => Ok(()),
    }
}

/// Whether a message has been received; a message too long for its receive counts as received.
pub(crate) fn has_arrived(result: &Result<(), Fault>) -> bool {
    result
        .as_ref()
        .err()
        .is_none_or(|error| matches!(**error, Error::MessageTooLong { .. }))
}

fn copy_out<P: Platform, U>(
    am: &AmIo<'_, P, U>,
    held: HeldBuffer<P>,
    message: usize,
    into: &BufferRange<P::Buffer>,
) -> Result<(), Fault> {
    let receive = into.len();
    if message > receive {
        return Err(Error::MessageTooLong { message, receive }.into());
    }
    am.kept.copy_out(am.io.platform(), held, into)
}
