//! Messages of collectives, as they arrive.

use std::sync::Arc;

use gyre_driver::{Arrival, Context, Endpoint, Error as DriverError, Op, Platform, Receive};

use super::early::Early;
use super::executor::Executor;
use super::follow::follow;
use super::history::Relevance;
use super::memory;
use super::messenger::discard;
use crate::collnet::message::Notice;
use crate::error::Error;
use crate::header::{Form, Header};

/// The dispatch callback.
pub(super) fn arrive<P: Platform>(
    executor: &Arc<Executor<P>>,
    context: &Context<P>,
    arrival: &Arrival<'_>,
) -> Receive<P> {
    context.platform().charge(Op::Control, 1);
    let origin = arrival.origin;
    let bytes = arrival.immediate.unwrap_or(&[]);
    if Notice::is(bytes) {
        return executor.negotiation.arrive(context, arrival, bytes);
    }
    let (header, data) = match Header::decode(bytes, origin.task()) {
        Ok((header, at)) => (header, &bytes[at..]),
        Err(error) => return Receive::Refused(error.into()),
    };
    let number = header.geometry;
    match relevance(executor, &header, origin) {
        Err(error) => return Receive::Refused(error.into()),
        Ok(Relevance::Ended) => {
            // The sender waits for what will not come: its collective ends, and here `advance` says so.
            discard(context, &header, origin);
            if header.form == Form::Waits && is_on_tree(executor, &header) {
                executor.abandon_network(context, number);
            }
            deny(executor, context, &header);
            let sequence = u64::from(header.sequence);
            let expected = "one that has not ended";
            let error = malformed(origin, "collective", sequence, expected);
            return Receive::Refused(error.into());
        }
        Ok(Relevance::Late) => {
            discard(context, &header, origin);
            if header.form == Form::GivenUp {
                memory::give_up(&executor.states, context, (number, header.sequence));
            }
        }
        Ok(Relevance::Running) => deliver(executor, context, header, origin, data),
        Ok(Relevance::Early) => {
            match header.form {
                Form::GivenUp => executor.given_up(context, &header),
                _ => keep(executor, header, origin, data),
            }
            follow(executor, context, number);
        }
    }
    Receive::Consumed
}

/// What to do with a message.
///
/// # Errors
/// A rank that is not that of its sender.
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

/// Keeps a message until its time has come.
fn keep<P: Platform>(executor: &Executor<P>, header: Header, origin: Endpoint, data: &[u8]) {
    let early = Early {
        header,
        origin,
        data: data.to_vec(),
    };
    let number = header.geometry;
    executor
        .states
        .entry(number, |state| state.early.keep(early));
    executor.messenger.counts.hold(data.len());
}

/// Takes a message for a collective under way.
fn deliver<P: Platform>(
    executor: &Arc<Executor<P>>,
    context: &Context<P>,
    header: Header,
    origin: Endpoint,
    data: &[u8],
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
        Form::Data { .. } | Form::Announced { .. } => {
            let taken = executor.states.with(key.0, |state| {
                let (geometry, _) = state.joined.as_ref()?;
                let operation = state.running.get_mut(&key.1)?;
                Some(operation.take(geometry, &header, data.len()))
            });
            match taken.flatten() {
                None | Some(Ok(None)) => keep(executor, header, origin, data),
                Some(Ok(Some(destination))) => {
                    executor.store(context, key, (&header, origin, data), destination);
                }
                Some(Err(error)) => {
                    discard(context, &header, origin);
                    executor.give_up(context, key, error);
                }
            }
        }
    }
}

/// How another member waits for something else.
fn disagrees<P: Platform>(executor: &Executor<P>, header: &Header) -> Option<Error> {
    let error = executor.states.with(header.geometry, |state| {
        let (geometry, _) = state.joined.as_ref()?;
        let operation = state.running.get(&header.sequence)?;
        operation.disagrees(geometry, header)
    });
    error.flatten()
}

/// Whether a collective that has ended here, and in which another member waits, is on the collective network at either.
fn is_on_tree<P: Platform>(executor: &Executor<P>, header: &Header) -> bool {
    let ended = executor.states.with(header.geometry, |state| {
        let ended = state.history.ended(header.sequence);
        ended.is_some_and(|signature| signature.is_on_tree())
    });
    ended == Some(true) || header.signature.is_on_tree()
}

/// Tells the others that a message does not belong to the collective that has ended here.
fn deny<P: Platform>(executor: &Executor<P>, context: &Context<P>, header: &Header) {
    if let Some((geometry, rank)) = executor.states.joined(header.geometry) {
        let messenger = &executor.messenger;
        let member = (&geometry, rank);
        messenger.give_up(context, member, header.sequence, header.signature);
    }
}

/// An error of the driver as `advance` reports it, where no done callback takes it.
fn malformed(
    origin: Endpoint,
    field: &'static str,
    value: u64,
    expected: &'static str,
) -> DriverError {
    DriverError::SystemMessage {
        origin: origin.task(),
        message: "message of a collective",
        field,
        value,
        expected,
    }
}
