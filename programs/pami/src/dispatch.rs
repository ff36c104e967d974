// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dispatch of messages to functions of the program.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Weak};

use gyre_driver::{Arrival, BufferRange, DoneFn, Receive, SendImmediate};
use gyre_remote::RemotePlatform;

use crate::abi::{self, DispatchHint, Hint};
use crate::amcollective::messages;
use crate::boundary;
use crate::context::{CONTEXTS, Context};
use crate::endpoint_code::endpoint_code;
use crate::event::Event;
use crate::failure::Failure;
use crate::hints::{Dispatch, check};
use crate::memory::map;
use crate::typed_data::{Function, Place, Transfer};
use gyre_interpose::Staging;

/// Largest dispatch number of programs; higher ones belong to the library and the driver.
pub const LARGEST: usize = messages::DISPATCH as usize - 1;

/// Most bytes of header and data in one dispatch call, and in an immediate send.
pub const IMMEDIATE: usize = SendImmediate::MAX_HEADED / 4 * 4;

/// A dispatch function of the program, with its cookie and hints.
struct Receiver {
    function: abi::DispatchP2pFunction,
    cookie: usize,
    context: Weak<Context>,
    dispatch: Dispatch,
}

impl Receiver {
    fn receive(&self, arrival: &Arrival<'_>) -> Result<Receive<RemotePlatform>, Failure> {
        let Some(context) = self.context.upgrade() else {
            return Err(Failure::error("the context has ended"));
        };
        let whole;
        let header = match arrival.tag {
            0 => arrival.header,
            _ => {
                whole = context.client.headers[context.offset].whole(arrival)?;
                &whole[..]
            }
        };
        let disabled = self
            .dispatch
            .has(DispatchHint::RECV_IMMEDIATE, Hint::DISABLE);
        let fits = header.len() + arrival.length <= IMMEDIATE;
        let pipe = arrival.immediate.filter(|_| fits && !disabled);
        let mut recv = abi::Recv::UNSAID;
        if let Some(function) = self.function {
            let (data, into) = match pipe {
                Some(data) => (data.as_ptr().cast::<c_void>(), ptr::null_mut()),
                None => (ptr::null(), &raw mut recv),
            };
            // SAFETY: the program has set the function and its cookie. Header and data last until it returns, and so does
            // `recv`.
            unsafe {
                function(
                    context.handle as *mut c_void,
                    self.cookie as *mut c_void,
                    header.as_ptr().cast(),
                    header.len(),
                    data,
                    arrival.length,
                    endpoint_code(arrival.origin),
                    into,
                );
            }
        }
        if pipe.is_some() {
            return Ok(Receive::Consumed);
        }
        self.into(&context, arrival, &recv)
    }

    /// Receives the data to the program's place. The receive's callback reports a refusal.
    fn into(
        &self,
        context: &Context,
        arrival: &Arrival<'_>,
        recv: &abi::Recv,
    ) -> Result<Receive<RemotePlatform>, Failure> {
        let event = Event::new(context.handle, recv.local_fn, recv.cookie);
        // Zero-length data needs no buffer.
        if arrival.length == 0 {
            return Ok(match arrival.immediate {
                Some(_) => {
                    event.end(Ok(()));
                    Receive::Consumed
                }
                None => Receive::Into {
                    into: BufferRange::empty(),
                    done: event.is_there().then(|| event.done(())),
                },
            });
        }
        let received = self
            .transfer(arrival.length, recv)
            .and_then(|transfer| receive(context, arrival, transfer, event));
        received.inspect_err(|failure| event.end(Err(failure.clone())))
    }

    /// Transfer of the data to the program's place.
    fn transfer(&self, length: usize, recv: &abi::Recv) -> Result<Transfer, Failure> {
        let enabled = |hint| self.dispatch.has(hint, Hint::ENABLE);
        let place = if enabled(DispatchHint::RECV_CONTIGUOUS) {
            Place::contiguous(recv.addr)
        } else {
            Place::new(recv.addr, recv.r#type, recv.offset)?
        };
        let function = Function {
            function: recv.data_fn,
            cookie: recv.data_cookie,
        };
        place.transfer(
            length,
            if enabled(DispatchHint::RECV_COPY) {
                Function::COPY
            } else {
                function
            },
        )
    }
}

/// Receives data in place if it is contiguous there, or into staging memory.
fn receive(
    context: &Context,
    arrival: &Arrival<'_>,
    transfer: Transfer,
    event: Event,
) -> Result<Receive<RemotePlatform>, Failure> {
    let platform = &context.client.job.platform;
    if let Some(data) = arrival.immediate {
        let mut staging = Staging::zeroed(data.len())?;
        staging.bytes_mut().copy_from_slice(data);
        // SAFETY: the program's memory is as it has said.
        unsafe { transfer.take(staging.bytes()) };
        event.end(Ok(()));
        return Ok(Receive::Consumed);
    }
    if let Some(to) = transfer.direct() {
        let into = map(platform, to, arrival.length)?;
        return Ok(Receive::Into {
            done: event.is_there().then(|| event.done(into.clone())),
            into,
        });
    }
    let staging = Staging::zeroed(arrival.length)?;
    let into = map(platform, staging.address(), arrival.length)?;
    let range = into.clone();
    let done: DoneFn<RemotePlatform> = Box::new(move |_, outcome| {
        drop(range);
        if outcome.is_ok() {
            // SAFETY: the program's memory is as it has said.
            unsafe { transfer.take(staging.bytes()) };
        }
        drop(staging);
        event.call(outcome.as_ref().copied());
    });
    Ok(Receive::Into {
        into,
        done: Some(done),
    })
}

/// C: `PAMI_Dispatch_set`.
///
/// # Safety
/// The program keeps to what `pami.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Dispatch_set(
    context: abi::Context,
    dispatch: usize,
    function: abi::DispatchCallbackFunction,
    cookie: *mut c_void,
    options: abi::DispatchHint,
) -> abi::ResultCode {
    boundary::result(|| {
        let context: Arc<Context> = CONTEXTS.get(context)?;
        let number = u8::try_from(dispatch)
            .ok()
            .filter(|&n| usize::from(n) <= LARGEST);
        let number = number.ok_or_else(|| {
            Failure::invalid(format!("dispatch {dispatch}, expected 0 to {LARGEST}"))
        })?;
        let set = check(options)?;
        let receiver = Receiver {
            // SAFETY: all members are functions, and this is for sends.
            function: unsafe { function.p2p },
            cookie: cookie as usize,
            context: Arc::downgrade(&context),
            dispatch: set,
        };
        if receiver.function.is_none() {
            return Err(Failure::invalid("the function is null"));
        }
        let receive = move |_: &gyre_driver::Context<_>, arrival: &Arrival<'_>| {
            receiver.receive(arrival).unwrap_or_else(|failure| {
                eprintln!(
                    "libpami: a message of {} bytes is dropped: {failure}",
                    arrival.length
                );
                Receive::Dropped
            })
        };
        context.driver().set_dispatch(number, Box::new(receive))?;
        context.dispatches.lock().insert(dispatch, set);
        Ok(())
    })
}
