// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arriving RTS of messages whose data is fetched by a remote get (CT-2 to CT-4).

use super::{into_receiver, match_data, note_matched, note_unexpected};
use crate::am::dispatch::Arrival;
use crate::api::context::{Context, Receive};
use crate::cost::Op;
use crate::error::Fault;
use crate::matching::deliver::deliver;
use crate::matching::format;
use crate::matching::state::{Inner, Message};
use crate::platform::Platform;
use crate::sync::{Arc, lock};

/// Handles the RTS of a message whose data is fetched when it has its receive (CT-2 to CT-4).
pub(in crate::matching) fn rendezvous<P: Platform>(
    context: &Context<P>,
    inner: &Arc<Inner<P>>,
    arrival: &Arrival<'_>,
) -> Result<Receive<P>, Fault> {
    let comm = format::decode_rendezvous(arrival)?;
    let data = match_data(arrival, comm, arrival.length);
    let platform = context.platform();
    let mut queues = lock(&inner.queues);
    let (attempts, matched) = queues.table.take_match(&data);
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
