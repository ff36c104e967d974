//! Active messages.

use std::sync::Arc;

use gyre_driver::{BufferRange, MAX_HEADER, SendImmediate, SendMessage};
use gyre_remote::RemotePlatform;

use crate::abi::{self, DispatchHint, Hint, Iovec};
use crate::boundary;
use crate::context::{CONTEXTS, Context};
use crate::event::Event;
use crate::failure::Failure;
use crate::memory::map;

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
    if set.has(DispatchHint::RECV_IMMEDIATE, Hint::ENABLE) && length > SendImmediate::MAX_HEADED {
        let most = SendImmediate::MAX_HEADED;
        let text = format!(
            "{length} bytes by dispatch {number}, which has recv_immediate: expected at most {most}"
        );
        return Err(Failure::invalid(text));
    }
    // Those that are set fit.
    Ok(number as u8)
}

/// C: `PAMI_Send`.
///
/// # Safety
/// The program keeps to what `pami.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Send(
    context: abi::Context,
    parameters: *mut abi::SendSimple,
) -> abi::ResultCode {
    boundary::result(|| {
        let context: Arc<Context> = CONTEXTS.get(context)?;
        // SAFETY: the program passes parameters.
        let simple = unsafe { parameters.as_ref() };
        let simple = simple.ok_or_else(|| Failure::invalid("parameters are null"))?;
        let send = &simple.send;
        // SAFETY: the header is used until the function returns.
        let header = unsafe { bytes(&send.header, "header")? };
        if header.len() > MAX_HEADER {
            return Err(Failure::unimplemented(&format!(
                "a header of {} bytes, more than {MAX_HEADER},",
                header.len()
            )));
        }
        let data = if send.data.iov_len == 0 {
            BufferRange::empty()
        } else if send.data.iov_base.is_null() {
            return Err(Failure::invalid("the data has no address"));
        } else {
            map(
                &context.client.job.platform,
                send.data.iov_base.cast(),
                send.data.iov_len,
            )?
        };
        let events = &simple.events;
        let done = |function| {
            let event = Event::new(context.handle, function, events.cookie);
            event.is_there().then(|| event.done(()))
        };
        let message: SendMessage<RemotePlatform> = gyre_driver::SendMessage {
            header: header.to_vec(),
            local_done: done(events.local_fn),
            remote_done: done(events.remote_fn),
            ..SendMessage::new(
                context.client.endpoint(send.dest)?,
                dispatch(&context, send)?,
                data,
            )
        };
        Ok(context.driver().send(message)?)
    })
}

/// C: `PAMI_Send_immediate`.
///
/// # Safety
/// As [`PAMI_Send`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Send_immediate(
    context: abi::Context,
    parameters: *mut abi::SendImmediate,
) -> abi::ResultCode {
    boundary::result(|| {
        let context: Arc<Context> = CONTEXTS.get(context)?;
        // SAFETY: the program passes parameters.
        let send = unsafe { parameters.as_ref() };
        let send = send.ok_or_else(|| Failure::invalid("parameters are null"))?;
        // SAFETY: header and data are used until the function returns.
        let (header, data) =
            unsafe { (bytes(&send.header, "header")?, bytes(&send.data, "data")?) };
        let length = header.len() + data.len();
        if length > SendImmediate::MAX_HEADED {
            return Err(Failure::invalid(format!(
                "{length} bytes at once, expected at most {}",
                SendImmediate::MAX_HEADED
            )));
        }
        let destination = context.client.endpoint(send.dest)?;
        let message = SendImmediate {
            header,
            data,
            ..SendImmediate::new(destination, dispatch(&context, send)?)
        };
        Ok(context.driver().send_immediate(&message)?)
    })
}
