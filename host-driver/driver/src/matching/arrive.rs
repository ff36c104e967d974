// SPDX-License-Identifier: MIT OR Apache-2.0
//! The module's dispatch callbacks: handling of arriving messages of each kind.

use gyre_note::Note;

use super::deliver::{answer, deliver, finish_by};
use super::match_data::{MatchData, Received};
use super::state::{Inner, Message, Receiver};
use crate::am::dispatch::Arrival;
use crate::api::context::{Context, Receive};
use crate::endpoint::Endpoint;
use crate::platform::Platform;
use crate::sync::{Arc, lock};

pub(super) mod clear_to_send;
pub(super) mod eager;
pub(super) mod rendezvous;

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
