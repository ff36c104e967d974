// SPDX-License-Identifier: MIT OR Apache-2.0
//! The module's dispatch callbacks: handling of arriving messages of each kind.

use gyre_note::Note;

use super::deliver::{answer, deliver, fail_send, finish, finish_by, has_arrived, put_down};
use super::format::{self, ClearToSend, EagerMessage, RequestToSend};
use super::match_data::{MatchData, Received};
use super::state::{Inner, Message, Queues, Receiver};
use super::table::Pair;
use crate::am::dispatch::Arrival;
use crate::api::context::{Context, DoneFn, Receive};
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::platform::Platform;
use crate::sync::{Arc, lock};

fn match_data(arrival: &Arrival<'_>, comm: u32, length: usize) -> MatchData {
    MatchData {
        source: arrival.origin.task(),
        tag: arrival.tag,
        comm,
        length,
    }
}

/// Notes that the arriving message has found its receive.
#[inline]
fn note_matched<P: Platform>(context: &Context<P>, receiver: &Receiver<P>) {
    let request = receiver.number;
    context.core().note(|at| Note::Matched { at, request });
}

/// Notes the number under which the arriving message waits for its receive.
#[inline]
fn note_unexpected<P: Platform>(context: &Context<P>, inner: &Inner<P>, id: u64) {
    let number = inner.noted(id);
    context.core().note(|at| Note::Unexpected { at, number });
}

/// Receives the data of a message into the range of its receive.
fn into_receiver<P: Platform>(receiver: Receiver<P>, received: Received) -> Receive<P> {
    Receive::Into {
        into: receiver.into.clone(),
        done: Some(Box::new(move |context, result| {
            finish_by(context, receiver, received, result);
        })),
    }
}

/// Handles the first packet of an eager message.
pub(super) fn eager<P: Platform>(
    context: &Context<P>,
    inner: &Arc<Inner<P>>,
    arrival: &Arrival<'_>,
) -> Result<Receive<P>, Fault> {
    let eager = EagerMessage::decode(arrival)?;
    let length = eager.inside.map_or(arrival.length, <[u8]>::len);
    let data = match_data(arrival, eager.comm, length);
    // All of its data is here: it came in one packet.
    let whole = eager.inside.or(arrival.immediate);
    let platform = context.platform();
    let mut queues = lock(&inner.queues);
    let Queues { table, buffers, .. } = &mut *queues;
    let (attempts, found) = table.arrive(&data);
    let matched = found.and_then(|(place, rank)| Some((rank, table.take_posted(place)?)));
    if let Some((rank, receiver)) = matched {
        drop(queues);
        platform.charge(Op::MatchAttempt, attempts);
        note_matched(context, &receiver);
        let received = data.received(rank);
        let Some(whole) = whole else {
            return Ok(into_receiver(receiver, received));
        };
        let written = put_down(context, whole, &receiver.into);
        finish(context, receiver, received, written);
        return Ok(Receive::Consumed);
    }
    let id = match whole.map(|whole| inner.memory.hold(whole, buffers.take())) {
        Some(Ok(held)) => table.insert(data, Message::Short(held), true, None),
        // The receive that matches it gets the error.
        Some(Err(error)) => table.insert(data, Message::Failed(error), true, None),
        None => table.insert(data, Message::Arriving, false, None),
    };
    drop(queues);
    if let Some(whole) = whole {
        platform.charge_copy(Op::Copy, whole.len());
    }
    platform.charge(Op::MatchAttempt, attempts);
    note_unexpected(context, inner, id);
    platform.charge(Op::Hold, 1);
    platform.charge(Op::Enqueue, 1);
    Ok(match whole {
        Some(_) => Receive::Consumed,
        None => hold(context, inner, id, length, None),
    })
}

/// Handles the RTS of a message whose data is fetched when it has its receive (CT-2 to CT-4).
pub(super) fn rendezvous<P: Platform>(
    context: &Context<P>,
    inner: &Arc<Inner<P>>,
    arrival: &Arrival<'_>,
) -> Result<Receive<P>, Fault> {
    let comm = format::decode_rendezvous(arrival)?;
    let data = match_data(arrival, comm, arrival.length);
    let platform = context.platform();
    let mut queues = lock(&inner.queues);
    let (attempts, found) = queues.table.arrive(&data);
    let matched = found.and_then(|(place, rank)| Some((rank, queues.table.take_posted(place)?)));
    if let Some((rank, receiver)) = matched {
        drop(queues);
        platform.charge(Op::MatchAttempt, attempts);
        note_matched(context, &receiver);
        return Ok(into_receiver(receiver, data.received(rank)));
    }
    let id = queues.table.insert(data, Message::Arriving, false, None);
    drop(queues);
    platform.charge(Op::MatchAttempt, attempts);
    note_unexpected(context, inner, id);
    platform.charge(Op::Enqueue, 1);
    let module = Arc::clone(inner);
    Ok(Receive::Deferred(Box::new(move |context, message| {
        let message = Message::AtOrigin(message);
        let matched = lock(&module.queues).table.ready(id, message);
        if let Some(matched) = matched {
            deliver(context, &module, matched);
        }
    })))
}

/// Handles the RTS of a message whose data comes after a CTS (CT-8).
pub(super) fn request_to_send<P: Platform>(
    context: &Context<P>,
    inner: &Arc<Inner<P>>,
    arrival: &Arrival<'_>,
) -> Result<Receive<P>, Fault> {
    let (comm, rts) = RequestToSend::decode(arrival)?;
    let platform = context.platform();
    platform.charge(Op::Control, 1);
    let data = match_data(arrival, comm, rts.length as usize);
    let (origin, cookie) = (arrival.origin, rts.cookie);
    let (attempts, transfer) = {
        let table = &mut lock(&inner.queues).table;
        let (attempts, found) = table.arrive(&data);
        let receiver = found.and_then(|(place, rank)| Some((rank, table.take_posted(place)?)));
        let awaited = Message::Awaited { origin, cookie };
        (attempts, table.insert(data, awaited, false, receiver))
    };
    platform.charge(Op::MatchAttempt, attempts);
    platform.charge(Op::Enqueue, 1);
    let cts = ClearToSend { cookie, transfer };
    inner.primitives.clear_to_send(context, origin, cts)?;
    Ok(Receive::Consumed)
}

/// Handles a CTS: sends the data.
pub(super) fn clear_to_send<P: Platform>(
    context: &Context<P>,
    inner: &Arc<Inner<P>>,
    arrival: &Arrival<'_>,
) -> Result<Receive<P>, Fault> {
    let cts = ClearToSend::decode(arrival)?;
    context.platform().charge(Op::Control, 1);
    let cookie = cts.cookie;
    let data = lock(&inner.awaiting_cts).remove(&cookie);
    let data = data.ok_or(Error::UnknownCookie {
        origin: arrival.origin.task(),
        cookie,
    })?;
    let sender = Arc::clone(inner);
    let done: DoneFn<P> = Box::new(move |context, result| {
        if let Err(error) = result {
            fail_send(context, &sender, cookie, error);
        }
    });
    inner
        .primitives
        .transfer(context, arrival.origin, cts.transfer, data, done)?;
    Ok(Receive::Consumed)
}

/// Handles the first packet of data that a CTS has requested.
pub(super) fn transfer<P: Platform>(
    context: &Context<P>,
    inner: &Arc<Inner<P>>,
    arrival: &Arrival<'_>,
) -> Result<Receive<P>, Fault> {
    let id = format::decode_transfer(arrival)?;
    context.platform().charge(Op::Control, 1);
    let wrong = |field, value, expected| format::wrong_transfer(arrival, field, value, expected);
    let (length, cookie, matched) = {
        let table = &mut lock(&inner.queues).table;
        let (length, cookie) = match table.message(id) {
            Some((data, &Message::Awaited { origin, cookie })) if origin == arrival.origin => {
                (data.length, cookie)
            }
            _ => return Err(wrong("transfer", id, "the number of a CTS to this origin")),
        };
        if length != arrival.length {
            return Err(wrong("length", arrival.length as u64, "that of the RTS"));
        }
        (length, cookie, table.take_matched(id))
    };
    let origin = arrival.origin;
    let Some(Pair {
        data,
        taker: (rank, receiver),
        ..
    }) = matched
    else {
        let owed = Some((origin, cookie));
        return Ok(hold(context, inner, id, length, owed));
    };
    let received = data.received(rank);
    let module = Arc::clone(inner);
    Ok(Receive::Into {
        into: receiver.into.clone(),
        done: Some(Box::new(move |context, result| {
            let arrived = has_arrived(&result);
            finish_by(context, receiver, received, result);
            answer(context, &module, (origin, cookie), arrived);
        })),
    })
}

/// Holds message `id`, whose data comes now, and which has no receive. `owed` is acknowledged when the data is here.
fn hold<P: Platform>(
    context: &Context<P>,
    inner: &Arc<Inner<P>>,
    id: u64,
    length: usize,
    owed: Option<(Endpoint, u32)>,
) -> Receive<P> {
    let module = Arc::clone(inner);
    let ready = move |context: &Context<P>, message: Message<P>| {
        let arrived = !matches!(message, Message::Failed(_));
        let matched = lock(&module.queues).table.ready(id, message);
        if let Some(matched) = matched {
            deliver(context, &module, matched);
        }
        if let Some(owed) = owed {
            answer(context, &module, owed, arrived);
        }
    };
    match inner.memory.alloc(context.platform(), length) {
        Ok(held) => Receive::Into {
            into: held.range().clone(),
            done: Some(Box::new(move |context, result| {
                let message = match result {
                    Ok(()) => Message::Held(Box::new(held)),
                    Err(error) => Message::Failed(error.into()),
                };
                ready(context, message);
            })),
        },
        // The receive that matches it gets the error.
        Err(error) => {
            ready(context, Message::Failed(error));
            Receive::Consumed
        }
    }
}
