//! Dispatch: which function of the program receives a message.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Weak};

use gyre_driver::{Arrival, BufferRange, Error, Receive};
use gyre_remote::RemotePlatform;

use crate::abi::{self, DispatchHint, Hint};
use crate::boundary;
use crate::code::endpoint_code;
use crate::context::{CONTEXTS, Context};
use crate::event::Event;
use crate::failure::Failure;
use crate::hints::{Dispatch, check};
use crate::memory::map;
use crate::variables::is_contiguous;

/// Largest number of a dispatch: those above are the driver's.
pub const LARGEST: usize = 223;

/// A function of the program for messages, and what it is called with.
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
        let pipe = match arrival.immediate {
            Some(_)
                if self
                    .dispatch
                    .has(DispatchHint::RECV_IMMEDIATE, Hint::DISABLE) =>
            {
                None
            }
            immediate => immediate,
        };
        let mut recv = abi::Recv {
            cookie: ptr::null_mut(),
            local_fn: None,
            addr: ptr::null_mut(),
            r#type: ptr::null_mut(),
            offset: 0,
            data_fn: None,
            data_cookie: ptr::null_mut(),
        };
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
                    arrival.header.as_ptr().cast(),
                    arrival.header.len(),
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

    /// Lets the data come to where the program has said.
    fn into(
        &self,
        context: &Context,
        arrival: &Arrival<'_>,
        recv: &abi::Recv,
    ) -> Result<Receive<RemotePlatform>, Failure> {
        let contiguous = self
            .dispatch
            .has(DispatchHint::RECV_CONTIGUOUS, Hint::ENABLE);
        if !contiguous && !is_contiguous(recv.r#type) {
            return Err(Failure::unimplemented("a receive by a type with holes"));
        }
        let copied = self.dispatch.has(DispatchHint::RECV_COPY, Hint::ENABLE);
        if !copied && !crate::variables::is_copy(recv.data_fn) {
            return Err(Failure::unimplemented("a receive with a data function"));
        }
        let offset = if contiguous { 0 } else { recv.offset };
        let event = Event::new(context.handle, recv.local_fn, recv.cookie);
        let into = if arrival.length == 0 {
            BufferRange::empty()
        } else if recv.addr.is_null() {
            return Err(Failure::invalid("the receive has no address"));
        } else {
            let to = recv.addr.cast::<u8>().wrapping_add(offset);
            map(&context.client.job.platform, to, arrival.length)?
        };
        Ok(match arrival.immediate {
            Some(data) => {
                into.write(0, data).map_err(Error::from)?;
                event.call(Ok(()));
                Receive::Consumed
            }
            None => Receive::Into {
                done: event.is_there().then(|| event.done(into.clone())),
                into,
            },
        })
    }
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
                Receive::Consumed
            })
        };
        context.driver().set_dispatch(number, Box::new(receive))?;
        context.dispatches.lock().insert(dispatch, set);
        Ok(())
    })
}
