//! The module's dispatch callbacks: what messages of each kind do when they come.

use gyre_note::Note;

use super::deliver::{answer, deliver, fail_send, finish, has_arrived, put_down};
use super::format::{self, ClearToSend, EagerMessage, RequestToSend};
use super::state::{Inner, Message, Receiver};
use super::table::{MatchData, Pair};
use crate::am::dispatch::Arrival;
use crate::api::context::{Context, DoneFn, Receive};
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::error::Error;

use crate::platform::Platform;
use crate::sync::{Arc, lock};

/// What one of the module's dispatch callbacks does; an error refuses the message.
pub(super) type ArriveFn<P> =
    fn(&Context<P>, &Arc<Inner<P>>, &Arrival<'_>) -> Result<Receive<P>, Error>;

fn match_data(arrival: &Arrival<'_>, comm: u32, length: usize) -> MatchData {
    MatchData {
        source: arrival.origin.task(),
        tag: arrival.tag,
        comm,
        length,
    }
}

/// Tells the platform whether the message that has just come has found its receive, or the number that it waits under.
fn note_match<P: Platform, T>(
    context: &Context<P>,
    inner: &Inner<P>,
    matched: &Result<(T, Receiver<P>), u64>,
) {
    context.core().note(|at| match matched {
        Ok((_, receiver)) => Note::Matched {
            at,
            request: receiver.number,
        },
        Err(number) => Note::Unexpected {
            at,
            number: inner.noted(*number),
        },
    });
}

/// The first packet of an eager message has come.
pub(super) fn eager<P: Platform>(
    context: &Context<P>,
    inner: &Arc<Inner<P>>,
    arrival: &Arrival<'_>,
) -> Result<Receive<P>, Error> {
    let eager = EagerMessage::decode(arrival)?;
    let length = eager.inside.map_or(arrival.length, <[u8]>::len);
    let data = match_data(arrival, eager.comm, length);
    // All of its data is here: it came in one packet.
    let whole = eager.inside.or(arrival.immediate);
    let platform = context.platform();
    let (attempts, matched) = {
        let mut table = lock(&inner.table);
        let (attempts, receiver) = table.arrive(&data);
        let matched = receiver.ok_or_else(|| {
            let message = whole.map(|whole| match inner.memory.copy(platform, whole) {
                Ok(held) => Message::Short(held),
                // The receive that matches it gets the error.
                Err(error) => Message::Failed(error),
            });
            let ready = message.is_some();
            table.insert(data, message.unwrap_or(Message::Arriving), ready, None)
        });
        (attempts, matched)
    };
    platform.charge(Op::MatchAttempt, attempts);
    note_match(context, inner, &matched);
    match (matched, whole) {
        (Ok((received, receiver)), Some(whole)) => put_down(context, whole, received, receiver),
        (Ok((received, receiver)), None) => {
            return Ok(Receive::Into {
                into: receiver.into.clone(),
                done: Some(Box::new(move |context, result| {
                    finish(context, receiver, result.map(|()| received));
                })),
            });
        }
        (Err(_), Some(_)) => platform.charge(Op::Enqueue, 1),
        (Err(id), None) => {
            platform.charge(Op::Enqueue, 1);
            return Ok(hold(context, inner, id, length, None));
        }
    }
    Ok(Receive::Consumed)
}

/// The RTS of a message has come: its data is fetched when it has its receive (CT-2 to CT-4).
pub(super) fn rendezvous<P: Platform>(
    context: &Context<P>,
    inner: &Arc<Inner<P>>,
    arrival: &Arrival<'_>,
) -> Result<Receive<P>, Error> {
    let comm = format::decode_rendezvous(arrival)?;
    let data = match_data(arrival, comm, arrival.length);
    let (attempts, matched) = {
        let mut table = lock(&inner.table);
        let (attempts, receiver) = table.arrive(&data);
        let matched = receiver.ok_or_else(|| table.insert(data, Message::Arriving, false, None));
        (attempts, matched)
    };
    let platform = context.platform();
    platform.charge(Op::MatchAttempt, attempts);
    note_match(context, inner, &matched);
    match matched {
        Ok((received, receiver)) => Ok(Receive::Into {
            into: receiver.into.clone(),
            done: Some(Box::new(move |context, result| {
                finish(context, receiver, result.map(|()| received));
            })),
        }),
        Err(id) => {
            platform.charge(Op::Enqueue, 1);
            let module = Arc::clone(inner);
            Ok(Receive::Deferred(Box::new(move |context, message| {
                let matched = lock(&module.table).ready(id, Message::AtOrigin(message));
                if let Some(matched) = matched {
                    deliver(context, matched);
                }
            })))
        }
    }
}

/// The RTS of a message has come whose data comes after a CTS (CT-8).
pub(super) fn request_to_send<P: Platform>(
    context: &Context<P>,
    inner: &Arc<Inner<P>>,
    arrival: &Arrival<'_>,
) -> Result<Receive<P>, Error> {
    let (comm, rts) = RequestToSend::decode(arrival)?;
    let platform = context.platform();
    platform.charge(Op::Control, 1);
    let data = match_data(arrival, comm, rts.length as usize);
    let (origin, cookie) = (arrival.origin, rts.cookie);
    let (attempts, transfer) = {
        let mut table = lock(&inner.table);
        let (attempts, receiver) = table.arrive(&data);
        let awaited = Message::Awaited { origin, cookie };
        (attempts, table.insert(data, awaited, false, receiver))
    };
    platform.charge(Op::MatchAttempt, attempts);
    platform.charge(Op::Enqueue, 1);
    let cts = ClearToSend { cookie, transfer };
    inner.primitives.clear_to_send(context, origin, cts)?;
    Ok(Receive::Consumed)
}

/// A CTS has come: its data is sent.
pub(super) fn clear_to_send<P: Platform>(
    context: &Context<P>,
    inner: &Arc<Inner<P>>,
    arrival: &Arrival<'_>,
) -> Result<Receive<P>, Error> {
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

/// The first packet of the data that a CTS asked for has come.
pub(super) fn transfer<P: Platform>(
    context: &Context<P>,
    inner: &Arc<Inner<P>>,
    arrival: &Arrival<'_>,
) -> Result<Receive<P>, Error> {
    let id = format::decode_transfer(arrival)?;
    context.platform().charge(Op::Control, 1);
    let wrong = |field, value, expected| format::wrong_transfer(arrival, field, value, expected);
    let (length, cookie, matched) = {
        let mut table = lock(&inner.table);
        let (length, cookie) = match table.message(id) {
            Some((length, &Message::Awaited { origin, cookie })) if origin == arrival.origin => {
                (length, cookie)
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
        received, receiver, ..
    }) = matched
    else {
        let owed = Some((origin, cookie));
        return Ok(hold(context, inner, id, length, owed));
    };
    let module = Arc::clone(inner);
    Ok(Receive::Into {
        into: receiver.into.clone(),
        done: Some(Box::new(move |context, result| {
            let arrived = has_arrived(&result);
            finish(context, receiver, result.map(|()| received));
            answer(context, &module, (origin, cookie), arrived);
        })),
    })
}

/// Holds message `id`, whose data comes now, and which has no receive. `owed` is answered when it is there.
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
        let matched = lock(&module.table).ready(id, message);
        if let Some(matched) = matched {
            deliver(context, matched);
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
                    Ok(()) => Message::Held(held),
                    Err(error) => Message::Failed(error),
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
