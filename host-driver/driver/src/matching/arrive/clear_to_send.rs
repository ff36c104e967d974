// SPDX-License-Identifier: MIT OR Apache-2.0
//! The protocol of RTS, CTS and data behind it (CT-8): arriving messages of each kind.

use super::{hold, match_data};
use crate::am::dispatch::Arrival;
use crate::api::context::{Context, DoneFn, Receive};
use crate::cost::Op;
use crate::error::{Error, Fault};
use crate::matching::deliver::{answer, fail_send, finish_by, has_arrived};
use crate::matching::format::{self, ClearToSend, RequestToSend};
use crate::matching::state::{Inner, Message};
use crate::matching::table::Pair;
use crate::platform::Platform;
use crate::sync::{Arc, lock};

/// Handles the RTS of a message whose data comes after a CTS (CT-8).
pub(in crate::matching) fn request_to_send<P: Platform>(
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
        let (attempts, receiver) = table.take_match(&data);
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
pub(in crate::matching) fn clear_to_send<P: Platform>(
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
pub(in crate::matching) fn transfer<P: Platform>(
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
