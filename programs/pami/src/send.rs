// SPDX-License-Identifier: MIT OR Apache-2.0
//! Active messages.

use gyre_driver::{BufferRange, SendImmediate, SendMessage};
use gyre_interpose::Staging;
use gyre_remote::{RemoteBuffer, RemotePlatform};

use crate::abi::{self, DispatchHint, Hint, Iovec};
use crate::context::Context;
use crate::dispatch::IMMEDIATE;
use crate::event::Event;
use crate::failure::Failure;
use crate::headers::LONGEST;
use crate::memory::map;
use crate::parameters::exported;
use crate::typed_data::{Function, Place};

/// The bytes of a part of a message.
///
/// # Safety
/// The program's memory is there as long as the result is used.
unsafe fn bytes<'a>(part: &Iovec, what: &str) -> Result<&'a [u8], Failure> {
    if part.iov_len == 0 {
        return Ok(&[]);
    }
    if part.iov_base.is_null() {
        return Err(Failure::invalid(format!("the {what} has no address")));
    }
    // SAFETY: what the caller promises.
    Ok(unsafe { std::slice::from_raw_parts(part.iov_base.cast(), part.iov_len) })
}

/// The number of a dispatch that the context has set.
fn dispatch(context: &Context, send: &abi::SendImmediate) -> Result<u8, Failure> {
    let number = send.dispatch;
    let dispatches = context.dispatches.lock();
    let Some(set) = dispatches.get(&number) else {
        return Err(Failure::invalid(format!("dispatch {number} is not set")));
    };
    let length = send.header.iov_len.saturating_add(send.data.iov_len);
    if set.has(DispatchHint::RECV_IMMEDIATE, Hint::ENABLE) && length > IMMEDIATE {
        let text = format!(
            "{length} bytes by dispatch {number}, which has recv_immediate: expected at most {IMMEDIATE}"
        );
        return Err(Failure::invalid(text));
    }
    let length = send.header.iov_len;
    if set.has(DispatchHint::LONG_HEADER, Hint::DISABLE) && length > IMMEDIATE {
        let text = format!(
            "a header of {length} bytes by dispatch {number}, which has no long headers: expected at most {IMMEDIATE}"
        );
        return Err(Failure::invalid(text));
    }
    if length > LONGEST {
        let text = format!("a header of {length} bytes: expected at most {LONGEST}");
        return Err(Failure::invalid(text));
    }
    // Numbers that are set fit.
    Ok(number as u8)
}

/// Sends `data`; `keep` holds staging memory until the local completion.
///
/// # Safety
/// The program passes parameters as `pami.h` says.
unsafe fn start(
    context: &Context,
    (send, events): (&abi::SendImmediate, &abi::SendEvent),
    data: BufferRange<RemoteBuffer>,
    keep: Option<Staging>,
) -> Result<(), Failure> {
    let event = |function| Event::new(context.handle, function, events.cookie);
    let local = event(events.local_fn);
    let remote = event(events.remote_fn);
    let (destination, number) = (context.peer(send.dest)?, dispatch(context, send)?);
    // SAFETY: the header is used until the function returns.
    let header = unsafe { bytes(&send.header, "header")? };
    let headers = &context.client.headers[context.offset];
    let (header, tag) = headers.send(context.driver(), destination, header)?;
    let message: SendMessage<RemotePlatform> = SendMessage {
        header: header.to_vec(),
        tag,
        local_done: (local.is_there() || keep.is_some()).then(|| local.done(keep)),
        remote_done: remote.is_there().then(|| remote.done(())),
        ..SendMessage::new(destination, number, data)
    };
    Ok(context.driver().send(message)?)
}

/// # Safety
/// The program keeps to what `pami.h` says of `PAMI_Send`.
unsafe fn send(context: &Context, simple: &abi::SendSimple) -> Result<(), Failure> {
    let data = &simple.send.data;
    let range = if data.iov_len == 0 {
        BufferRange::empty()
    } else if data.iov_base.is_null() {
        return Err(Failure::invalid("the data has no address"));
    } else {
        let platform = &context.client.job.platform;
        map(platform, data.iov_base.cast(), data.iov_len)?
    };
    // SAFETY: as above.
    unsafe { start(context, (&simple.send, &simple.events), range, None) }
}

/// # Safety
/// The program keeps to what `pami.h` says of `PAMI_Send_typed`.
unsafe fn send_typed(context: &Context, typed: &abi::SendTyped) -> Result<(), Failure> {
    let (data, layout) = (&typed.send.data, &typed.typed);
    let place = Place::new(data.iov_base, layout.r#type, layout.offset)?;
    let function = Function {
        function: layout.data_fn,
        cookie: layout.data_cookie,
    };
    let transfer = place.transfer(data.iov_len, function)?;
    // Refusals come before calls of data functions.
    dispatch(context, &typed.send)?;
    context.client.endpoint(typed.send.dest)?;
    let platform = &context.client.job.platform;
    let (range, keep) = match transfer.direct() {
        _ if data.iov_len == 0 => (BufferRange::empty(), None),
        Some(from) => (map(platform, from, data.iov_len)?, None),
        None => {
            // SAFETY: the program's memory is as it has said.
            let gathered = unsafe { transfer.gathered()? };
            let range = map(platform, gathered.address(), data.iov_len)?;
            (range, Some(gathered))
        }
    };
    // SAFETY: as above.
    unsafe { start(context, (&typed.send, &typed.events), range, keep) }
}

/// # Safety
/// The program keeps to what `pami.h` says of `PAMI_Send_immediate`.
unsafe fn send_immediate(context: &Context, send: &abi::SendImmediate) -> Result<(), Failure> {
    let (header, data) = (send.header.iov_len, send.data.iov_len);
    if header
        .checked_add(data)
        .is_none_or(|length| length > IMMEDIATE)
    {
        return Err(Failure::invalid(format!(
            "{header} bytes of header and {data} of data at once, expected at most {IMMEDIATE}"
        )));
    }
    // SAFETY: header and data are used until the function returns.
    let (header, data) = unsafe { (bytes(&send.header, "header")?, bytes(&send.data, "data")?) };
    let destination = context.peer(send.dest)?;
    let message = SendImmediate {
        header,
        data,
        ..SendImmediate::new(destination, dispatch(context, send)?)
    };
    Ok(context.driver().send_immediate(&message)?)
}

exported! {
    // SAFETY: the program keeps to what `pami.h` says.
    PAMI_Send(SendSimple) = |context, p| unsafe { send(context, p) };
    // SAFETY: as above.
    PAMI_Send_typed(SendTyped) = |context, p| unsafe { send_typed(context, p) };
    // SAFETY: as above.
    PAMI_Send_immediate(SendImmediate) = |context, p| unsafe { send_immediate(context, p) };
}
