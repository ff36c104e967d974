// SPDX-License-Identifier: MIT OR Apache-2.0
//! Short one-sided writes: each is a message of one packet, which the target answers when the bytes are in memory. That is quicker
//! than a put, whose end the target's driver has to make sure of before it acknowledges it.
//!
//! The tag of both messages is the number of the write. The first bytes of a write are its address; the communication context of
//! an answer tells whether the target has refused it.

use std::sync::{Arc, Weak};

use gyre_driver::{Arrival, Endpoint, Error, Receive, SendImmediate};

use crate::boundary::Refusal;
use crate::message::{WRITE, WRITTEN};
use crate::mr;
use crate::port::Port;
use crate::send::INJECT;
use crate::unanswered::WriteDone;

/// Bytes of the address in front of the data.
const ADDRESS_BYTES: usize = size_of::<u64>();

/// Communication context of the answer to a write that has been carried out, and of one that has been refused.
const DONE: u8 = 0;
const REFUSED: u8 = 1;

/// Sends a write of at most [`INJECT`] bytes, which are copied.
///
/// # Errors
/// Errors of the driver: then `done` is not called.
pub fn send(
    port: &Port,
    target: Endpoint,
    address: u64,
    bytes: &[u8],
    done: WriteDone,
) -> Result<(), Refusal> {
    let mut data = [0; ADDRESS_BYTES + INJECT];
    data[..ADDRESS_BYTES].copy_from_slice(&address.to_le_bytes());
    data[ADDRESS_BYTES..][..bytes.len()].copy_from_slice(bytes);
    let number = port.unanswered.add(target.task(), done);
    let sent = port.context.send_immediate(&SendImmediate {
        tag: number,
        data: &data[..ADDRESS_BYTES + bytes.len()],
        ..SendImmediate::new(target, WRITE)
    });
    if sent.is_err() {
        drop(port.unanswered.take(number, target.task()));
    }
    Ok(sent?)
}

/// Sets the dispatches of writes and their answers.
///
/// # Errors
/// Errors of the driver.
pub fn attach(port: &Arc<Port>) -> Result<(), Refusal> {
    for (dispatch, arrive) in [
        (
            WRITE,
            arrived as fn(&Port, &Arrival<'_>) -> Result<(), Error>,
        ),
        (WRITTEN, answered),
    ] {
        let port_of: Weak<Port> = Arc::downgrade(port);
        let callback = move |_: &_, arrival: &Arrival<'_>| {
            let port = port_of.upgrade().ok_or(Error::Destroyed);
            match port.and_then(|port| arrive(&port, arrival)) {
                Ok(()) => Receive::Consumed,
                Err(error) => Receive::Refused(Box::new(error)),
            }
        };
        port.context.set_dispatch(dispatch, Box::new(callback))?;
    }
    Ok(())
}

/// Carries out a write, and answers it.
fn arrived(port: &Port, arrival: &Arrival<'_>) -> Result<(), Error> {
    let written = write(port, arrival);
    port.context.send_immediate(&SendImmediate {
        comm: written.map_or(REFUSED, |()| DONE),
        tag: arrival.tag,
        ..SendImmediate::new(arrival.origin, WRITTEN)
    })?;
    written.ok_or(Error::PutsRefused {
        peer: arrival.origin.task(),
    })
}

/// Copies the bytes of a write to memory, if it is registered.
fn write(port: &Port, arrival: &Arrival<'_>) -> Option<()> {
    let (address, data) = arrival.immediate?.split_first_chunk::<ADDRESS_BYTES>()?;
    let address = usize::try_from(u64::from_le_bytes(*address)).ok()?;
    mr::is_registered(address, data.len()).then_some(())?;
    // SAFETY: the program has registered the memory for writes of others, which it allows at any time.
    unsafe { std::ptr::copy(data.as_ptr(), address as *mut u8, data.len()) };
    port.charge_copy(data.len());
    Some(())
}

/// Ends a write.
fn answered(port: &Port, arrival: &Arrival<'_>) -> Result<(), Error> {
    let peer = arrival.origin.task();
    let done = port.unanswered.take(arrival.tag, peer);
    let done = done.ok_or(Error::PutsRefused { peer })?;
    done(match arrival.comm {
        DONE => Ok(()),
        _ => Err(Error::PutsRefused { peer }),
    });
    Ok(())
}
