//! The rendezvous: the data of a long message stays at its origin until the destination fetches it (FN-3).

use crate::ack::cookie::Pending;
use crate::ack::sender::refuse;
use crate::am::AmIo;
use crate::am::assembly::{self, Incoming, Target};
use crate::buffer::RemoteAddress;
use crate::cost::Op;
use crate::done::DoneId;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::io::Io;
use crate::operation::SendMessage;
use crate::platform::Platform;
use crate::rma::gets::{Gets, Purpose, Request, Waiting};
use crate::route::Routing;
use crate::transport::injection::{Finish, Payload};
use crate::transport::lanes::Label;
use crate::transport::wire::{Refused, Rts, System};
use crate::upcalls::{Upcalls, deliver};

/// Sends RTS; the data stays here until the destination has fetched it.
///
/// # Errors
/// Those of a send.
pub(crate) fn send<P: Platform>(
    io: &mut Io<P>,
    send: SendMessage<P, DoneId>,
    label: Label,
) -> Result<(), Fault> {
    let peer = send.destination;
    let length = send.data.len() as u32;
    let Some((slot, offset)) = send.data.location() else {
        // A range with bytes has a buffer.
        return Err(Error::EmptyRegion.into());
    };
    let cookie = io.core.remember(Pending {
        peer,
        fenced: true,
        data: send.data,
        local_done: send.local_done,
        remote_done: send.remote_done,
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
        dispatch: System::Rts as u8,
        ..label
    };
    let finish = Finish::Send {
        local_done: None,
        cookie: Some(cookie),
        answered: false,
    };
    io.send_message(peer, rts, Payload::Staged(payload), finish)
}

/// RTS has come: the data is fetched straight into the receive buffer.
///
/// # Errors
/// Those of the message that no done callback takes.
pub(crate) fn requested<P: Platform, U: Upcalls<P>>(
    am: &mut AmIo<'_, P, U>,
    gets: &mut Gets<P>,
    incoming: &Incoming<'_>,
    rts: Rts,
) -> Result<(), Fault> {
    let peer = incoming.origin;
    let length = incoming.length;
    let (target, known) = match assembly::dispatch(am, incoming) {
        Ok(target) => (target, Ok(())),
        Err(error) => (Target::Nowhere, Err(error)),
    };
    match target {
        Target::Buffer { into, done } if length > 0 => {
            let into = into.part(0, length)?;
            gets.push(Waiting {
                peer,
                remote: RemoteAddress {
                    slot: rts.slot,
                    offset: rts.offset,
                },
                request: Request::Get(Routing::Fixed),
                into,
                purpose: Purpose::Receive {
                    done,
                    cookie: rts.cookie,
                },
            });
            known
        }
        // Nothing is fetched: the origin is told that its data is free.
        other => {
            let cookie = Some((peer, rts.cookie));
            let ended = assembly::end(am, other, length, cookie);
            known.and(ended)
        }
    }
}

/// The data has been fetched, or could not be: the receive ends, and the origin is told.
///
/// # Errors
/// `result` where no done callback takes it; those of a send.
pub(crate) fn fetched<P: Platform, U: Upcalls<P>>(
    am: &mut AmIo<'_, P, U>,
    peer: Endpoint,
    (done, cookie): (Option<DoneId>, u32),
    result: Result<(), Fault>,
) -> Result<(), Fault> {
    let fetched = result.is_ok();
    let delivered = deliver(am.up, done, result);
    if fetched {
        am.acks.owe(&am.io.core, peer, cookie);
        return delivered;
    }
    delivered.and(refuse(am.io, peer, (cookie, Refused::DATA)))
}
