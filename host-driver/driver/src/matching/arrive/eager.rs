// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arriving eager messages (CT-6).

use super::{hold, into_receiver, match_data, note_matched, note_unexpected};
use crate::am::dispatch::Arrival;
use crate::api::context::{Context, Receive};
use crate::cost::Op;
use crate::error::Fault;
use crate::matching::deliver::{finish, put_down};
use crate::matching::format::EagerMessage;
use crate::matching::state::{Inner, Message, Queues};
use crate::platform::Platform;
use crate::sync::{Arc, lock};

/// Handles the first packet of an eager message.
pub(in crate::matching) fn eager<P: Platform>(
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
    let (attempts, matched) = table.take_match(&data);
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
