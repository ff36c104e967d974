// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rendezvous: the data of a long message stays at its origin until the destination fetches it (FN-3).

use gyre_note::Note;

use crate::ack::cookie::Pending;
use crate::am::AmIo;
use crate::am::assembly::{self, Target};
use crate::am::deferred::{self, tell};
use crate::am::deferred_messages::{Data, Kept};
use crate::am::dispatch::Arrival;
use crate::buffer::RemoteAddress;
use crate::cost::Op;
use crate::done_table::DoneId;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::io::Io;
use crate::operation::{Ends, ReceiveDeferred, SendMessage};
use crate::platform::Platform;
use crate::rma::gets::{Gets, Purpose, Request, Waiting};
use crate::route::Routing;
use crate::transport::injection::{Finish, Payload};
use crate::transport::lanes::Label;
use crate::transport::wire::{ControlMessage, Rts};
use crate::upcalls::{Upcalls, deliver};

/// Sends RTS; the data stays here until the destination has fetched it.
///
/// # Errors
/// Errors of a send.
pub(crate) fn send<P: Platform, D>(
    io: &mut Io<P>,
    send: SendMessage<P, D>,
    [local_done, remote_done]: Ends,
    label: Label,
) -> Result<(), Fault> {
    let peer = send.destination;
    let length = send.data.len() as u32;
    // Zero-length data is not fetched.
    let (slot, offset) = send.data.location().unwrap_or_default();
    let cookie = io.core.remember(Pending {
        peer,
        fenced: send.fenced,
        data: send.data,
        local_done,
        remote_done,
    });
    io.platform().charge(Op::Control, 1);
    let fields = Rts {
        cookie,
        length,
        offset,
        slot,
        header_length: send.header.len() as u16,
        dispatch: send.dispatch,
    };
    let mut payload = fields.encode();
    payload.extend_from_slice(&send.header);
    let rts = Label {
        dispatch: ControlMessage::Rts as u8,
        ..label
    };
    let finish = Finish::Send {
        local_done: None,
        cookie: Some(cookie),
        answered: false,
    };
    io.send_message(peer, rts, Payload::Staged(payload), finish)
}

/// The data of a message, at its origin.
struct Remote {
    peer: Endpoint,
    /// Cookie by which the origin is told the outcome.
    cookie: u32,
    place: RemoteAddress,
    length: usize,
}

/// Handles RTS: the data is fetched straight into the receive buffer, now or when a deferred receive is posted.
///
/// # Errors
/// Errors of the message that no done callback takes.
pub(crate) fn requested<P: Platform, U: Upcalls<P>>(
    am: &mut AmIo<'_, P, U>,
    gets: &mut Gets<P>,
    arrival: &Arrival<'_>,
    rts: Rts,
) -> Result<(), Fault> {
    let remote = Remote {
        peer: arrival.origin,
        cookie: rts.cookie,
        place: RemoteAddress {
            slot: rts.slot,
            offset: rts.offset,
        },
        length: arrival.length,
    };
    am.io.core.note(|at| Note::Announced {
        at,
        from: arrival.origin.into(),
        cookie: rts.cookie,
    });
    match assembly::dispatch(am, rts.dispatch, arrival) {
        Ok(Target::Deferred { id, .. }) => {
            let message = Kept {
                origin: remote.peer,
                length: remote.length,
                cookie: Some(remote.cookie),
                data: Data::AtOrigin(remote.place),
                receive: None,
            };
            am.kept.put(id, message);
            Ok(())
        }
        Ok(target) => fetch(am, gets, &remote, target, Routing::Fixed),
        Err(error) => {
            let told = tell(am, remote.peer, Some(remote.cookie), false);
            Err::<(), _>(error).and(told)
        }
    }
}

/// Starts the deferred receive of a message: fetches its data, or copies held data.
///
/// # Errors
/// Errors of the message that no done callback takes.
pub(crate) fn receive<P: Platform, U: Upcalls<P>>(
    am: &mut AmIo<'_, P, U>,
    gets: &mut Gets<P>,
    receive: ReceiveDeferred<P, U::Done>,
    done: Option<DoneId>,
) -> Result<(), Fault> {
    let ReceiveDeferred {
        message: id,
        into,
        routing,
        ..
    } = receive;
    let Some(message) = am.kept.take(id) else {
        return deliver(am.up, done, Err(Error::Destroyed.into()));
    };
    let (Data::AtOrigin(place), Some(cookie)) = (&message.data, message.cookie) else {
        return deferred::receive(am, id, message, into, done);
    };
    let remote = Remote {
        peer: message.origin,
        cookie,
        place: *place,
        length: message.length,
    };
    let target = Target::of(message.length, into, done);
    fetch(am, gets, &remote, target, routing)
}

/// Fetches data to its target.
///
/// # Errors
/// Errors of the message that no done callback takes.
fn fetch<P: Platform, U: Upcalls<P>>(
    am: &mut AmIo<'_, P, U>,
    gets: &mut Gets<P>,
    remote: &Remote,
    target: Target<P>,
    routing: Routing,
) -> Result<(), Fault> {
    let &Remote {
        peer,
        cookie,
        place,
        length,
    } = remote;
    match target {
        Target::Buffer { into, done } if length > 0 => {
            gets.push(Waiting {
                peer,
                remote: place,
                request: Request::Get(routing),
                into: into.part(0, length)?,
                purpose: Purpose::Receive { done, cookie },
            });
            Ok(())
        }
        // Nothing is fetched: the origin is told that its data is free.
        other => assembly::end(am, other, length, Some((peer, cookie))),
    }
}

/// Ends the receive whose data has been fetched, or has failed, and tells the origin.
///
/// # Errors
/// `result` where no done callback takes it; those of a send.
pub(crate) fn fetched<P: Platform, U: Upcalls<P>>(
    am: &mut AmIo<'_, P, U>,
    peer: Endpoint,
    (done, cookie): (Option<DoneId>, u32),
    result: Result<(), Fault>,
) -> Result<(), Fault> {
    let received = result.is_ok();
    let delivered = deliver(am.up, done, result);
    am.io.core.note(|at| Note::Fetched {
        at,
        from: peer.into(),
        cookie,
    });
    let told = tell(am, peer, Some(cookie), received);
    delivered.and(told)
}
