// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrived messages: each is matched to its receive, or kept until that is posted.

use std::sync::{Arc, Weak};

use gyre_driver::{
    Arrival, BufferRange, Context, DoneFn, Error, Op, Platform as _, Receive, Routing,
};
use gyre_interpose::Staging;
use gyre_note::ProgramStep;
use gyre_remote::{RemoteBuffer, RemotePlatform};

use crate::boundary::Refusal;
use crate::cq::Completion;
use crate::destination::Landing;
use crate::matcher::{Body, Envelope, Kept};
use crate::message::{Header, Kind, Protocol};
use crate::port::Port;

type Received = Receive<RemotePlatform>;

/// Sets the dispatches of each kind and protocol.
///
/// # Errors
/// Errors of the driver.
pub fn attach(port: &Arc<Port>) -> Result<(), Refusal> {
    for kind in [Kind::Untagged, Kind::Tagged] {
        for protocol in [Protocol::Eager, Protocol::Rendezvous] {
            let port_of = Arc::downgrade(port);
            let callback = move |_: &Context<RemotePlatform>, arrival: &Arrival<'_>| {
                arrive(&port_of, (kind, protocol), arrival)
                    .unwrap_or_else(|error| Receive::Refused(Box::new(error)))
            };
            let number = kind.dispatch(protocol);
            port.context.set_dispatch(number, Box::new(callback))?;
        }
    }
    Ok(())
}

fn arrive(
    port: &Weak<Port>,
    (kind, protocol): (Kind, Protocol),
    arrival: &Arrival<'_>,
) -> Result<Received, Error> {
    let port = port.upgrade().ok_or(Error::Destroyed)?;
    let message = Header::decode(arrival);
    let least_room = port.least_room();
    let (attempts, landing) = port.matchers[kind as usize]
        .lock()
        .arrive(&message, least_room);
    port.charge_matching(attempts, landing.is_none());
    match (landing, arrival.immediate) {
        (Some(landing), Some(data)) => {
            deliver(&port, kind, landing, &message, data);
            Ok(Receive::Consumed)
        }
        (Some(landing), None) => land(&port, kind, landing, message),
        (None, Some(data)) => {
            port.charge_copy(data.len());
            port.platform().charge(Op::Allocate, 1);
            let body = Body::Here(data.into());
            port.matchers[kind as usize].lock().keep(message, body);
            Ok(Receive::Consumed)
        }
        (None, None) => match protocol {
            Protocol::Eager => hold(&port, kind, message),
            Protocol::Rendezvous => Ok(defer(&port, kind, message)),
        },
    }
}

/// Receives a message of several packets into its destination.
fn land(
    port: &Arc<Port>,
    kind: Kind,
    landing: Landing,
    message: Envelope,
) -> Result<Received, Error> {
    let (into, done) = into(port, kind, landing, message)?;
    Ok(Receive::Into {
        into,
        done: Some(done),
    })
}

/// Buffer of a message, staged if its destination is not one piece that fits, and the callback that ends it.
fn into(
    port: &Arc<Port>,
    kind: Kind,
    landing: Landing,
    message: Envelope,
) -> Result<(BufferRange<RemoteBuffer>, DoneFn<RemotePlatform>), Error> {
    let (port, bytes) = (Arc::clone(port), message.length);
    if let Some(address) = landing.direct(bytes) {
        let range = map(&port, address, bytes)?;
        let keep = range.clone();
        let done: DoneFn<RemotePlatform> = Box::new(move |_, outcome| {
            drop(keep);
            finish(&port, kind, landing, &message, outcome.map(|()| bytes));
        });
        return Ok((range, done));
    }
    let (staging, range) = stage(&port, bytes)?;
    let keep = range.clone();
    let done: DoneFn<RemotePlatform> = Box::new(move |_, outcome| {
        drop(keep);
        match outcome {
            Ok(()) => deliver(&port, kind, landing, &message, &staging.bytes()[..bytes]),
            Err(error) => finish(&port, kind, landing, &message, Err(error)),
        }
    });
    Ok((range, done))
}

/// Staging memory for a message.
fn stage(port: &Port, bytes: usize) -> Result<(Staging, BufferRange<RemoteBuffer>), Error> {
    port.platform().charge(Op::Allocate, 1);
    let staging = Staging::zeroed(bytes).map_err(|_| Error::HeldMemory {
        bytes,
        held: 0,
        limit: usize::MAX,
    })?;
    let range = map(port, staging.address(), bytes)?;
    Ok((staging, range))
}

/// Registers memory of the process with the DMA engine.
pub fn map(
    port: &Port,
    address: *mut u8,
    bytes: usize,
) -> Result<BufferRange<RemoteBuffer>, Error> {
    if bytes == 0 {
        return Ok(BufferRange::empty());
    }
    // SAFETY: the memory belongs to its operation until that has ended, and so do ours and the range.
    let buffer = unsafe { port.platform().map(address, bytes) };
    Ok(BufferRange::whole(buffer?))
}

/// Holds a message of several packets without a receive.
fn hold(port: &Arc<Port>, kind: Kind, message: Envelope) -> Result<Received, Error> {
    let (staging, into) = stage(port, message.length)?;
    let number = port.matchers[kind as usize]
        .lock()
        .keep(message, Body::Coming);
    let (port, keep) = (Arc::clone(port), into.clone());
    let done: DoneFn<RemotePlatform> = Box::new(move |_, outcome| {
        drop(keep);
        let body = match outcome {
            Ok(()) => Body::Landed(staging),
            Err(error) => {
                eprintln!("libgyre-fi: {error}");
                Body::Lost
            }
        };
        let wanted = port.matchers[kind as usize].lock().settle(number, body);
        if let Some(kept) = wanted {
            give(&port, kind, kept);
        }
    });
    Ok(Receive::Into {
        into,
        done: Some(done),
    })
}

/// Leaves the data of a message without a receive at its origin.
fn defer(port: &Arc<Port>, kind: Kind, message: Envelope) -> Received {
    let port = Arc::clone(port);
    Receive::Deferred(Box::new(move |_, deferred| {
        port.matchers[kind as usize]
            .lock()
            .keep(message, Body::AtOrigin(deferred));
    }))
}

/// Gives a kept message to its receive.
pub fn give(port: &Arc<Port>, kind: Kind, (landing, message, body): Kept) {
    match body {
        Body::Here(data) => deliver(port, kind, landing, &message, &data),
        Body::Landed(staging) => {
            let data = &staging.bytes()[..message.length];
            deliver(port, kind, landing, &message, data);
        }
        Body::AtOrigin(deferred) => {
            let begun = into(port, kind, landing, message)
                .and_then(|(into, done)| deferred.receive(into, Routing::default(), Some(done)));
            if let Err(error) = begun {
                // The endpoint is closing, and its queue is not read any more.
                eprintln!("libgyre-fi: {error}");
            }
        }
        Body::Lost | Body::Coming => {
            let lost = Err(Error::Destroyed);
            finish(port, kind, landing, &message, lost);
        }
    }
}

/// Copies a message to its destination.
fn deliver(port: &Port, kind: Kind, landing: Landing, message: &Envelope, data: &[u8]) {
    // SAFETY: the program leaves the memory of a receive alone until it has ended.
    let filled = unsafe { landing.fill(data) };
    port.charge_copy(filled);
    finish(port, kind, landing, message, Ok(filled));
}

/// Reports the end of a receive to the program.
fn finish(
    port: &Port,
    kind: Kind,
    landing: Landing,
    message: &Envelope,
    outcome: Result<usize, Error>,
) {
    let received = ProgramStep::Received {
        number: landing.number,
        from: message.source.0.0,
        tag: message.tag,
        // The driver takes no longer ones.
        bytes: message.length as u32,
    };
    let mut completion = Completion {
        buf: landing.address(),
        step: matches!(kind, Kind::Tagged).then(|| port.step(received)),
        ..described(port, kind, landing.context, message)
    };
    match outcome {
        Ok(bytes) => {
            completion.len = bytes;
            if bytes < message.length {
                let missing = message.length - bytes;
                completion.error = Some((crate::abi::errno::TRUNCATED, missing));
            }
        }
        Err(error) => {
            eprintln!("libgyre-fi: {error}");
            completion.error = Some((libc::EIO, 0));
        }
    }
    if landing.ends() {
        completion.flags |= crate::abi::flags::MULTI_RECV;
    }
    port.received(landing.wants, completion);
}

/// Completion of a received message.
pub fn described(port: &Port, kind: Kind, context: usize, message: &Envelope) -> Completion {
    let with_data = message
        .data
        .map_or(0, |_| crate::abi::flags::REMOTE_CQ_DATA);
    Completion {
        len: message.length,
        data: message.data.unwrap_or(0),
        tag: message.tag,
        source: port.place(message.source),
        ..Completion::new(context, crate::abi::flags::RECV | kind.flag() | with_data)
    }
}
