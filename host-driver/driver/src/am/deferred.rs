//! Deferred receives: the ends of eager messages that have been held for them.

use crate::ack::sender::refuse;
use crate::am::AmIo;
use crate::am::held::HeldBuffer;
use crate::am::kept::{Data, Kept};
use crate::buffer::BufferRange;
use crate::done::DoneId;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::operation::DeferredId;
use crate::platform::Platform;
use crate::transport::wire::Refused;
use crate::upcalls::{Upcalls, deliver};

/// All data of a message has come, or it has failed: its receive ends, if it is posted.
///
/// # Errors
/// Errors of a send.
pub(crate) fn arrived<P: Platform, U: Upcalls<P>>(
    am: &mut AmIo<'_, P, U>,
    id: DeferredId,
    result: Result<(), Fault>,
) -> Result<(), Fault> {
    // One that has been discarded is not there any more.
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

/// The receive of message `id`, whose data does not wait at its origin, is posted.
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

/// The program does without the data of a message; `refused`: its origin is told that.
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

/// Tells the origin of a message, if it wants to know, whether its data has been received.
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

/// Whether a message has been received; one that is too long for its receive is used up.
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
