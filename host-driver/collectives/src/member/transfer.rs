// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data of messages: sent in packets, or announced and fetched by rendezvous.

use gyre_driver::{BufferRange, Context, DoneFn, Endpoint, Op, Platform, SendImmediate};

use super::messenger::Messenger;
use super::operation::Destination;
use super::payload::Payload;
use crate::error::Error;
use crate::header::{Form, Header};

/// Maximum packets of eager data; longer data is announced. `gyre bench allreduce --shape 2x1x1` by recursive
/// doubling: 4 KiB take two thirds of the time of a rendezvous, 16 KiB more than it.
const PACKETS: usize = 10;
/// Bytes of one charged copy.
const COPY_CHUNK: usize = 32;

/// Maximum data bytes of a packet.
fn inline(header: &Header) -> usize {
    SendImmediate::MAX - header.bytes()
}

/// Charges `times` copies of `bytes` bytes.
pub(super) fn charge_copies<P: Platform>(context: &Context<P>, times: usize, bytes: usize) {
    let chunks = (times * bytes).div_ceil(COPY_CHUNK) as u64;
    context.platform().charge(Op::CopyChunk, chunks);
}

/// Sends data. Returns whether the buffer is free; if not, `done` is called when it is.
///
/// # Errors
/// [`Error::Driver`].
pub(super) fn send<P: Platform>(
    messenger: &Messenger,
    context: &Context<P>,
    (to, header): (Endpoint, Header),
    data: BufferRange<P::Buffer>,
    done: impl FnOnce(&Context<P>, Result<(), gyre_driver::Error>) + Send + 'static,
) -> Result<bool, Error> {
    let counts = &messenger.counts;
    counts.count(|stats| stats.sent_bytes += data.len() as u64);
    let inline = inline(&header);
    if data.len() <= PACKETS * inline || data.remote_address().is_none() {
        let mut bytes = vec![0; data.len()];
        data.read(0, &mut bytes)?;
        let parts = bytes.chunks(inline);
        let none = bytes.is_empty().then_some(&[][..]);
        for (part, data) in (0..).zip(parts.chain(none)) {
            let form = Form::Data { part };
            messenger.send(context, to, &Header { form, ..header }, data)?;
        }
        return Ok(true);
    }
    let form = Form::Announced;
    let header = Header { form, ..header };
    messenger.announce(context, to, &header, data, Box::new(done))?;
    Ok(false)
}

/// Stores the data of a message, or fetches it and calls `done` at the end. Returns the step that ends with the
/// message.
///
/// # Errors
/// [`Error::Driver`].
pub(super) fn store<P: Platform>(
    messenger: &Messenger,
    context: &Context<P>,
    (header, data): (&Header, Payload<'_, P>),
    Destination {
        step,
        into,
        routing,
    }: Destination<P>,
    done: impl FnOnce(&Context<P>, Result<Option<usize>, Error>) + Send + 'static,
) -> Result<Option<usize>, Error> {
    let Some(into) = into else {
        let counts = &messenger.counts;
        counts.count(|stats| stats.discarded += u64::from(step.is_some()));
        data.discard();
        return Ok(step);
    };
    match (data, header.form) {
        (Payload::Announced(message), _) => {
            let fetched: DoneFn<P> = Box::new(move |context, result| {
                done(context, result.map(|()| step).map_err(Error::from));
            });
            message.receive(into, routing, Some(fetched))?;
            Ok(None)
        }
        (Payload::Here(data), Form::Data { part }) => {
            charge_copies(context, 1, data.len());
            let at = usize::from(part) * inline(header);
            into.write(at, &data)?;
            Ok(step)
        }
        (Payload::Here(_), _) => Ok(None),
    }
}
