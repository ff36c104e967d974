// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sending and receiving of messages of active-message collectives.

use gyre_driver::{Arrival, BufferRange, Context, DoneFn, Endpoint, Error, Receive, SendMessage};
use gyre_remote::{RemoteBuffer, RemotePlatform};

use crate::amcollective::call::{Call, Message};
use crate::failure::Failure;
use gyre_interpose::Job;

/// Dispatch of the messages.
pub const DISPATCH: u8 = 220;

/// Memory of a message.
pub type Range = BufferRange<RemoteBuffer>;

/// Name of an endpoint in errors.
pub fn name(endpoint: Endpoint) -> String {
    format!("{}, context {}", endpoint.task(), endpoint.context_offset())
}

/// Receives the data of a message into `into`, or into new memory, and calls `then` when it is complete.
///
/// # Errors
/// None: `then` gets them.
pub fn receive(
    arrival: &Arrival<'_>,
    into: Option<Range>,
    context: &Context<RemotePlatform>,
    then: impl FnOnce(&Context<RemotePlatform>, Result<Range, Failure>) + Send + 'static,
) -> Result<Receive<RemotePlatform>, Error> {
    let into = match (into, arrival.length) {
        (Some(into), _) => Ok(into),
        (None, 0) => Ok(BufferRange::empty()),
        (None, bytes) => Job::get()
            .map_err(Failure::from)
            .and_then(|job| BufferRange::zeroed(&job.platform, bytes).map_err(Failure::from)),
    };
    let into = match (into, arrival.immediate) {
        (Ok(into), None) => into,
        (into, _) => {
            let data = arrival.immediate.unwrap_or(&[]);
            let came = into.and_then(|into| {
                into.write(0, data).map_err(Error::from)?;
                Ok(into)
            });
            then(context, came);
            return Ok(Receive::Consumed);
        }
    };
    let range = into.clone();
    Ok(Receive::Into {
        into,
        done: Some(Box::new(move |context, outcome| {
            then(context, outcome.map(|()| range).map_err(Failure::from));
        })),
    })
}

/// Sends a message with data; `done` is called when the data has been read.
///
/// # Errors
/// Errors of the driver.
pub fn send(
    context: &Context<RemotePlatform>,
    to: Endpoint,
    message: &Message,
    data: Range,
    done: Option<DoneFn<RemotePlatform>>,
) -> Result<(), Failure> {
    let message: SendMessage<RemotePlatform> = SendMessage {
        header: message.encode()?,
        local_done: done,
        ..SendMessage::new(to, DISPATCH, data)
    };
    Ok(context.send(message)?)
}

/// Answers a call with the collected data, or with a failure.
pub fn answer(
    context: &Context<RemotePlatform>,
    to: Endpoint,
    call: &Call,
    collected: Result<Range, Failure>,
) {
    let (outcome, data) = match collected {
        Ok(data) => (Ok(()), data),
        Err(failure) => (Err(failure), BufferRange::empty()),
    };
    let message = Message::answer(call.key, call.tree.place, &outcome);
    if let Err(failure) = send(context, to, &message, data, None) {
        eprintln!(
            "libpami: {} has no answer from {}: {failure}",
            call.kind.name(),
            name(context.query().endpoint)
        );
    }
}
