//! The data of messages: sent in packets, or announced and fetched from where it lies.

use gyre_driver::{BufferRange, Context, DoneFn, Endpoint, Get, Op, Platform, SendImmediate};

use super::messenger::{Messenger, discard};
use super::operation::Destination;
use crate::error::Error;
use crate::header::{Form, Header};

/// Most packets in which data travels at once; longer data is announced.
const PACKETS: usize = 4;
/// Bytes of one charged copy.
const COPY_CHUNK: usize = 32;

/// Most bytes of data in a packet.
fn inline(header: &Header) -> usize {
    SendImmediate::MAX - header.bytes()
}

/// Charges `times` copies of `bytes` bytes.
pub(super) fn charge_copies<P: Platform>(context: &Context<P>, times: usize, bytes: usize) {
    let chunks = (times * bytes).div_ceil(COPY_CHUNK) as u64;
    context.platform().charge(Op::CopyChunk, chunks);
}

/// Sends data. Returns whether it has left its buffer; if not, `done` is called when it has.
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
    let place = match data.remote_address() {
        Some(place) if data.len() > PACKETS * inline => place,
        _ => {
            let mut bytes = vec![0; data.len()];
            data.read(0, &mut bytes).map_err(gyre_driver::Error::from)?;
            let parts = bytes.chunks(inline);
            let none = bytes.is_empty().then_some(&[][..]);
            for (part, data) in (0..).zip(parts.chain(none)) {
                let form = Form::Data { part };
                messenger.send(context, to, &Header { form, ..header }, data)?;
            }
            return Ok(true);
        }
    };
    let bytes = data.len();
    let length = u32::try_from(bytes).map_err(|_| gyre_driver::Error::MessageLength { bytes })?;
    // The receiver acknowledges whatever becomes of the collective; until then the data stays.
    let cookie = context.expect_ack(
        to,
        Box::new(move |context, result| {
            drop(data);
            done(context, result);
        }),
    )?;
    let form = Form::Announced { cookie, place };
    let header = Header {
        length,
        form,
        ..header
    };
    messenger.send(context, to, &header, &[])?;
    Ok(false)
}

/// Stores the data of a message from `origin`, or has it fetched: then `done` is called at the end. Returns the step
/// that has ended by the message.
///
/// # Errors
/// [`Error::Driver`].
pub(super) fn store<P: Platform>(
    messenger: &Messenger,
    context: &Context<P>,
    (header, origin, data): (&Header, Endpoint, &[u8]),
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
        discard(context, header, origin);
        return Ok(step);
    };
    let (cookie, place) = match header.form {
        Form::Announced { cookie, place } => (cookie, place),
        Form::Data { part } => {
            charge_copies(context, 1, data.len());
            let at = usize::from(part) * inline(header);
            into.write(at, data).map_err(gyre_driver::Error::from)?;
            return Ok(step);
        }
        Form::Start | Form::GivenUp | Form::Waits => return Ok(None),
    };
    let fetched: DoneFn<P> = Box::new(move |context, result| {
        let acknowledged = result.and_then(|()| context.acknowledge(origin, cookie));
        done(context, acknowledged.map(|()| step).map_err(Error::from));
    });
    context.get(Get {
        source: origin,
        remote: place,
        into,
        routing,
        done: Some(fetched),
    })?;
    Ok(None)
}
