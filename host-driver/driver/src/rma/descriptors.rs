// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts, gets and read-modify-writes: from operations to descriptors.

use gyre_layout::{Descriptor, Source, Transfer};
use gyre_note::Note;

use crate::ack::cookie::Pending;
use crate::buffer::{BufferRange, RemoteAddress};
use crate::cost::Op;
use crate::done_table::DoneId;
use crate::endpoint::Endpoint;
use crate::error::Fault;
use crate::flow::peers::PutsBy;
use crate::io::Io;
use crate::operation::{Ends, Get, Put, Rmw, RmwWidth};
use crate::platform::Platform;
use crate::refusal::Refusals;
use crate::refusal::word::GetWord;
use crate::rma::gets::{Gets, Purpose, Request, Started, Waiting};
use crate::rma::notify::PutNotify;
use crate::route::Routing;
use crate::transport::injection::{Finish, Order, Outgoing, Payload};
use crate::transport::wire::{Bytes, ControlMessage, PutNotice, PutSync};

/// PUT, and PUT_SYNC or PUT_NOTICE behind it where its end is awaited.
///
/// # Errors
/// Errors of a send.
pub(crate) fn put<P: Platform, D>(
    io: &mut Io<P>,
    refusals: &mut Refusals<P>,
    put: Put<P, D>,
    [local_done, remote_done]: Ends,
) -> Result<(), Fault> {
    let peer = put.destination;
    let to = io.core.destination(peer)?;
    // Checked when the put was posted.
    let length = put.data.len() as u32;
    let message_id = io.lanes.message_id(None);
    let told = match put.notify {
        PutNotify::Dispatch { dispatch, word } => Some((dispatch, word)),
        _ => None,
    };
    // The target acknowledges a notified put: until then it may need this context.
    let answered = remote_done.is_some() || told.is_some();
    let number = refusals.number(peer, answered);
    let word = refusals.put_word(peer, number)?;
    io.core.note(|at| Note::Put {
        at,
        to: peer.into(),
        id: message_id,
        word,
        bytes: length,
    });
    let transfer = Transfer {
        remote_get: false,
        dst: to.node,
        target: put.remote.slot,
        offset: put.remote.offset,
        counter: match put.notify {
            PutNotify::Counter(counter) => Some(counter.reference()),
            _ => None,
        },
        software: [0, word],
        msg_id: message_id,
    };
    let cookie = answered.then(|| {
        io.core.remember(Pending {
            peer,
            fenced: true,
            data: BufferRange::empty(),
            local_done: None,
            remote_done,
        })
    });
    let outgoing = Outgoing {
        order: Order::Transfer(transfer),
        payload: Payload::Data(put.data),
        finish: Finish::Send {
            local_done,
            cookie,
            answered: true,
        },
    };
    io.transmit(peer, outgoing);
    // Behind the put, in the same FIFO.
    let Some(cookie) = cookie else {
        return Ok(());
    };
    let number = number.get();
    let (kind, message) = match told {
        Some((dispatch, word)) => {
            let notice = PutNotice {
                cookie,
                number,
                length,
                offset: put.remote.offset,
                word,
                slot: put.remote.slot,
                dispatch,
            };
            (ControlMessage::PutNotice, notice.encode())
        }
        None => (ControlMessage::PutSync, PutSync { cookie, number }.encode()),
    };
    io.platform().charge(Op::Control, 1);
    let label = io.lanes.control_label(kind);
    io.send_descriptor(peer, label, Payload::Staged(message), Finish::Control)
}

/// GET: waits for a counter.
pub(crate) fn get<P: Platform, D>(gets: &mut Gets<P>, get: Get<P, D>, done: Option<DoneId>) {
    gets.push(Waiting {
        peer: get.source,
        remote: get.remote,
        request: Request::Get(get.routing),
        into: get.into,
        purpose: Purpose::User(done),
    });
}

/// RMW: waits for a counter.
pub(crate) fn rmw<P: Platform, D>(gets: &mut Gets<P>, rmw: Rmw<P, D>, done: Option<DoneId>) {
    gets.push(Waiting {
        peer: rmw.destination,
        remote: RemoteAddress {
            slot: rmw.region.slot,
            offset: rmw.offset,
        },
        request: Request::Rmw {
            op: rmw.op,
            width: rmw.width,
            value: rmw.value,
            test: rmw.test,
        },
        into: rmw.result.unwrap_or_else(BufferRange::empty),
        purpose: Purpose::User(done),
    });
}

/// Puts a zero-length get behind all gets from `peer` so far: it returns when they have landed, and when puts of the
/// peer to here before it serves the request, by the route of `puts`, have landed too (FN-3).
pub(crate) fn synchronise<P: Platform>(
    gets: &mut Gets<P>,
    peer: Endpoint,
    puts: PutsBy,
    purpose: Purpose,
) {
    gets.push(Waiting {
        peer,
        remote: RemoteAddress { slot: 0, offset: 0 },
        request: Request::Follow(puts.0),
        into: BufferRange::empty(),
        purpose,
    });
}

/// Sends the request of a get to the peer's DMA engine; the response lowers the get's counter.
///
/// # Errors
/// Errors of a send.
pub(crate) fn request<P: Platform>(io: &mut Io<P>, get: Started<P>) -> Result<(), Fault> {
    let to = io.core.destination(get.peer)?;
    let finish = Finish::Get { number: get.number };
    let (routing, flow) = match get.request {
        Request::Get(routing) => (routing, None),
        Request::Follow(flow) => (Routing::Fixed, flow),
        Request::Rmw {
            op,
            width,
            value,
            test,
        } => {
            let rmw = gyre_layout::Rmw {
                op,
                wide: width == RmwWidth::Eight,
                value,
                test,
                fetch: get.into.location(),
            };
            let message_id = io.lanes.message_id(None);
            let descriptor =
                Descriptor::rmw(to.node.unpack(), get.remote.slot, get.remote.offset, rmw)
                    .with_counter(get.counter)
                    .with_message_id(message_id);
            let outgoing = Outgoing {
                order: descriptor.into(),
                payload: Payload::Inside,
                finish,
            };
            io.transmit(get.peer, outgoing);
            return Ok(());
        }
    };
    let source = Source {
        slot: get.remote.slot,
        offset: get.remote.offset,
        length: get.into.len() as u32,
    };
    // Zero-length data goes to the start of the counter's slot.
    let (slot, offset) = get.into.location().unwrap_or((get.counter.slot, 0));
    let message_id = io.lanes.message_id(None);
    let word = GetWord {
        requester: io.core.info.reception_fifo,
        number: get.number,
    };
    let word = word.pack();
    io.core.note(|at| Note::Asked {
        at,
        from: get.peer.into(),
        id: message_id,
        word,
        bytes: source.length,
        cookie: get.cookie,
        program: get.program,
    });
    // The software words of a put are not delivered; they name the requester and the get if the put is refused.
    let envelope = io.lanes.envelope(0, 0);
    let put = Transfer {
        remote_get: false,
        dst: io.core.layout.here.node,
        target: slot,
        offset,
        counter: Some(get.counter),
        software: [envelope.pack(), word],
        msg_id: message_id,
    };
    let put = match (routing, flow) {
        (Routing::Fixed, None) => put.encode(source)?,
        _ => directed(put.descriptor(source), routing, flow).encode()?,
    };
    let payload = Bytes::from_buf(put);
    let fifo = io.core.layout.remote_get_fifo(to.process, get.peer.context);
    let transfer = Transfer {
        remote_get: true,
        dst: to.node,
        target: fifo,
        offset: 0,
        counter: None,
        software: [0, word],
        msg_id: message_id,
    };
    io.platform().charge(Op::Control, 1);
    let outgoing = Outgoing {
        order: Order::Transfer(transfer),
        payload: Payload::Staged(payload),
        finish,
    };
    io.transmit(get.peer, outgoing);
    Ok(())
}

/// A put that serves a get, by the requested route.
fn directed(mut put: Descriptor, routing: Routing, flow: Option<u8>) -> Descriptor {
    if let Routing::Dynamic { first, directions } = routing {
        put = put.with_dynamic_route().with_hint(directions);
        if let Some(dimension) = first {
            put = put.with_first_dimension(dimension);
        }
    }
    match flow {
        Some(flow) => put.with_flow(flow),
        None => put,
    }
}
