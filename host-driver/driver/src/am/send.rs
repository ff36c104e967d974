// SPDX-License-Identifier: MIT OR Apache-2.0
//! SEND: from messages to packets (FN-3).

use gyre_layout::MAX_PAYLOAD_BYTES;

use crate::ack::cookie::Pending;
use crate::buffer::BufferRange;
use crate::cost::Op;
use crate::done_table::DoneId;
use crate::error::Fault;
use crate::io::Io;
use crate::operation::{Ends, ImmediateEnvelope, ImmediateMessage, SendMessage, SendProtocol};
use crate::platform::Platform;
use crate::rendezvous;
use crate::transport::injection::{Finish, Payload};
use crate::transport::lanes::Label;
use crate::transport::wire::{ControlMessage, Headed};

/// SEND: chooses the protocol by the length of the data.
///
/// # Errors
/// Errors of a send; [`Error::Range`](crate::Error::Range).
pub(crate) fn start<P: Platform, D>(
    io: &mut Io<P>,
    send: SendMessage<P, D>,
    ends: Ends,
) -> Result<(), Fault> {
    // All lengths were checked when the send was posted.
    let length = send.data.len() as u32;
    let message_id = io.lanes.message_id(send.message_id);
    let label = Label {
        dispatch: send.dispatch,
        comm: send.comm,
        tag: send.tag,
        message_id,
    };
    let peer = send.destination;
    io.core.note(|at| label.message(at, peer, length));
    let waits = match send.protocol {
        SendProtocol::ByLength => send.data.len() > io.core.layout.config.eager_limit,
        SendProtocol::Eager => false,
        SendProtocol::Rendezvous => true,
    };
    if waits {
        return rendezvous::send(io, send, ends, label);
    }
    let [local_done, remote_done] = ends;
    if send.header.is_empty() && remote_done.is_none() {
        let finish = Finish::Send {
            local_done,
            cookie: None,
            answered: false,
        };
        return io.send_message(peer, label, Payload::Data(send.data), finish);
    }
    let cookie = remote_done.map(|remote_done| {
        io.core.remember(Pending {
            peer,
            fenced: send.fenced,
            data: BufferRange::empty(),
            local_done: None,
            remote_done: Some(remote_done),
        })
    });
    let finish = Finish::Send {
        local_done,
        cookie,
        answered: false,
    };
    io.platform().charge(Op::Header, 1);
    let fields = Headed {
        cookie: cookie.unwrap_or(0),
        length,
        header_length: send.header.len() as u16,
        dispatch: send.dispatch,
    };
    let mut payload = fields.encode();
    payload.extend_from_slice(&send.header);
    let start = payload.len();
    let head = Label {
        dispatch: ControlMessage::Headed as u8,
        ..label
    };
    if start + send.data.len() <= MAX_PAYLOAD_BYTES {
        payload.resize(start + send.data.len(), 0);
        send.data.read(0, &mut payload[start..])?;
        return io.send_message(peer, head, Payload::Staged(payload), finish);
    }
    let data = Label {
        dispatch: ControlMessage::Data as u8,
        ..label
    };
    io.send_message(peer, head, Payload::Staged(payload), Finish::Control)?;
    io.send_message(peer, data, Payload::Data(send.data), finish)
}

/// An immediate SEND that was posted.
///
/// # Errors
/// Errors of a send.
pub(crate) fn immediate<P: Platform>(
    io: &mut Io<P>,
    message: ImmediateMessage,
    local_done: Option<DoneId>,
) -> Result<(), Fault> {
    let ImmediateMessage { envelope, payload } = message;
    let label = label(io, envelope);
    let (to, bytes) = (envelope.destination, payload.len() as u32);
    io.core.note(|at| label.message(at, to, bytes));
    let payload = Payload::Staged(payload);
    let finish = match local_done {
        None => Finish::Control,
        local_done => Finish::Send {
            local_done,
            cookie: None,
            answered: false,
        },
    };
    io.send_message(envelope.destination, label, payload, finish)
}

#[inline]
fn label<P: Platform>(io: &mut Io<P>, envelope: ImmediateEnvelope) -> Label {
    Label {
        dispatch: envelope.dispatch,
        comm: envelope.comm,
        tag: envelope.tag,
        message_id: io.lanes.message_id(None),
    }
}
