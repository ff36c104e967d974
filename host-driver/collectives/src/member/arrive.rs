// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrival of messages of collectives.

use std::borrow::Cow;
use std::sync::Arc;

use gyre_driver::{Arrival, Context, Endpoint, Error as DriverError, Op, Platform, Receive};

use super::early::Early;
use super::executor::Executor;
use super::follow::follow;
use super::history::Relevance;
use super::memory;
use super::payload::Payload;
use crate::collnet::message::Notice;
use crate::error::Error;
use crate::header::{Form, Header};

/// The dispatch callback.
pub(super) fn arrive<P: Platform>(
    executor: &Arc<Executor<P>>,
    context: &Context<P>,
    arrival: &Arrival<'_>,
) -> Receive<P> {
    // A message with a driver header has its data at its sender; its RTS is already charged.
    let announced = !arrival.header.is_empty();
    let bytes = match announced {
        true => arrival.header,
        false => {
            context.platform().charge(Op::Header, 1);
            arrival.immediate.unwrap_or(&[])
        }
    };
    if !announced && Notice::is(bytes) {
        return executor.negotiation.arrive(context, arrival, bytes);
    }
    match understand(executor, context, arrival, (bytes, announced)) {
        Err(error) => Receive::Refused(error.into()),
        Ok((header, data, relevance)) if announced && relevance != Relevance::Late => {
            debug_assert!(data.is_empty());
            let executor = Arc::clone(executor);
            Receive::Deferred(Box::new(move |context, message| {
                let data = Payload::Announced(message);
                take(&executor, context, header, data, relevance);
            }))
        }
        Ok((header, data, relevance)) => {
            let data = Payload::Here(Cow::Borrowed(data));
            take(executor, context, header, data, relevance);
            Receive::Consumed
        }
    }
}

/// Header, data and disposition of a message.
///
/// # Errors
/// A malformed message, or one whose collective is neither under way nor to come.
fn understand<'a, P: Platform>(
    executor: &Arc<Executor<P>>,
    context: &Context<P>,
    arrival: &Arrival<'_>,
    (bytes, announced): (&'a [u8], bool),
) -> Result<(Header, &'a [u8], Relevance), DriverError> {
    let origin = arrival.origin;
    let (header, at) = Header::decode(bytes, origin.task())?;
    let data = &bytes[at..];
    if announced != (header.form == Form::Announced) {
        let expected = "that of data at its sender with a header, and no other";
        return Err(malformed(origin, "form", u64::from(announced), expected));
    }
    if announced && (header.length as usize != arrival.length || !data.is_empty()) {
        let length = u64::from(header.length);
        return Err(malformed(origin, "length", length, "that of the data"));
    }
    let relevance = relevance(executor, &header, origin)?;
    if relevance != Relevance::Ended {
        return Ok((header, data, relevance));
    }
    // The sender would wait forever: its collective ends, and `advance` reports the error here.
    if header.form == Form::Waits && is_on_tree(executor, &header) {
        executor.abandon_network(context, header.geometry);
    }
    deny(executor, context, &header);
    let sequence = u64::from(header.sequence);
    let expected = "one that has not ended";
    Err(malformed(origin, "collective", sequence, expected))
}

/// Handles a decoded message.
fn take<P: Platform>(
    executor: &Arc<Executor<P>>,
    context: &Context<P>,
    header: Header,
    data: Payload<'_, P>,
    relevance: Relevance,
) {
    let number = header.geometry;
    match (relevance, header.form) {
        (Relevance::Running, _) => deliver(executor, context, header, data),
        (Relevance::Early, Form::GivenUp) => {
            executor.given_up(context, &header);
            follow(executor, context, number);
        }
        (Relevance::Early, _) => {
            keep(executor, header, data);
            follow(executor, context, number);
        }
        (Relevance::Late | Relevance::Ended, Form::GivenUp) => {
            memory::give_up(&executor.states, context, (number, header.sequence));
        }
        (Relevance::Late | Relevance::Ended, _) => {}
    }
}

/// Disposition of a message.
///
/// # Errors
/// A rank that does not match the sender.
fn relevance<P: Platform>(
    executor: &Executor<P>,
    header: &Header,
    origin: Endpoint,
) -> Result<Relevance, DriverError> {
    executor.states.entry(header.geometry, |state| {
        if let Some((geometry, _)) = &state.joined
            && geometry.endpoints().get(header.from as usize) != Some(&origin)
        {
            let from = u64::from(header.from);
            return Err(malformed(origin, "rank", from, "the rank of its sender"));
        }
        let running = state.running.contains_key(&header.sequence);
        Ok(state.history.relevance(header, running))
    })
}

/// Keeps a message until its collective begins or its receive is ready.
fn keep<P: Platform>(executor: &Executor<P>, header: Header, data: Payload<'_, P>) {
    let data = data.into_owned();
    executor.messenger.counts.hold(data.len());
    let early = Early { header, data };
    executor
        .states
        .entry(header.geometry, |state| state.early.keep(early));
}

/// Takes a message for a collective under way.
fn deliver<P: Platform>(
    executor: &Arc<Executor<P>>,
    context: &Context<P>,
    header: Header,
    data: Payload<'_, P>,
) {
    let key = (header.geometry, header.sequence);
    match header.form {
        Form::Start => {}
        Form::GivenUp => executor.given_up(context, &header),
        Form::Waits => {
            if let Some(error) = disagrees(executor, &header) {
                executor.give_up(context, key, error);
            }
        }
        Form::Data { .. } | Form::Announced => {
            let taken = executor.states.with(key.0, |state| {
                let (geometry, _) = state.joined.as_ref()?;
                let operation = state.running.get_mut(&key.1)?;
                Some(operation.take(geometry, &header, data.len()))
            });
            match taken.flatten() {
                None | Some(Ok(None)) => keep(executor, header, data),
                Some(Ok(Some(destination))) => {
                    executor.store(context, key, (&header, data), destination);
                }
                Some(Err(error)) => {
                    data.discard();
                    executor.give_up(context, key, error);
                }
            }
        }
    }
}

/// Disagreement with a member that has waited long.
fn disagrees<P: Platform>(executor: &Executor<P>, header: &Header) -> Option<Error> {
    let error = executor.states.with(header.geometry, |state| {
        let (geometry, _) = state.joined.as_ref()?;
        let operation = state.running.get(&header.sequence)?;
        operation.disagrees(geometry, header)
    });
    error.flatten()
}

/// Whether an ended collective in which another member waits uses the collective network at either member.
fn is_on_tree<P: Platform>(executor: &Executor<P>, header: &Header) -> bool {
    let ended = executor.states.with(header.geometry, |state| {
        let ended = state.history.ended(header.sequence);
        ended.is_some_and(|signature| signature.is_on_tree())
    });
    ended == Some(true) || header.signature.is_on_tree()
}

/// Tells the others that a message does not match the collective completed here.
fn deny<P: Platform>(executor: &Executor<P>, context: &Context<P>, header: &Header) {
    if let Some((geometry, rank)) = executor.states.joined(header.geometry) {
        let messenger = &executor.messenger;
        let member = (&geometry, rank);
        messenger.give_up(context, member, header.sequence, header.signature);
    }
}

/// Driver error for `advance`, where no done callback takes one.
fn malformed(
    origin: Endpoint,
    field: &'static str,
    value: u64,
    expected: &'static str,
) -> DriverError {
    DriverError::ControlMessage {
        origin: origin.task(),
        message: "message of a collective",
        field,
        value,
        expected,
    }
}
