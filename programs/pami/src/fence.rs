// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fences, purge and resume.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use gyre_driver::{Fence, Instruction};

use crate::abi;
use crate::boundary;
use crate::context::CONTEXTS;
use crate::event::{Event, Joint};
use crate::failure::Failure;

/// C: `PAMI_Fence_begin`. Transfers are counted all the time, so only the order of calls is checked.
///
/// # Safety
/// The program keeps to what `pami.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Fence_begin(context: abi::Context) -> abi::ResultCode {
    boundary::result(
        || match CONTEXTS.get(context)?.fences.swap(true, Ordering::Relaxed) {
            false => Ok(()),
            true => Err(Failure::invalid("a fence region is open already")),
        },
    )
}

/// C: `PAMI_Fence_end`.
///
/// # Safety
/// As [`PAMI_Fence_begin`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Fence_end(context: abi::Context) -> abi::ResultCode {
    boundary::result(
        || match CONTEXTS.get(context)?.fences.swap(false, Ordering::Relaxed) {
            true => Ok(()),
            false => Err(Failure::invalid("no fence region is open")),
        },
    )
}

/// C: `PAMI_Fence_all`: of the endpoints with which the context has had transfers.
///
/// # Safety
/// As [`PAMI_Fence_begin`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Fence_all(
    context: abi::Context,
    done_fn: abi::EventFunction,
    cookie: *mut c_void,
) -> abi::ResultCode {
    boundary::result(|| {
        let context = CONTEXTS.get(context)?;
        let all = Joint::new(Event::new(context.handle, done_fn, cookie));
        for peer in context.peers() {
            context.driver().fence(Fence {
                destination: context.client.endpoint(peer)?,
                done: Some(all.part()),
            })?;
        }
        // Called at the next advance if there is nothing to wait for.
        Ok(context
            .driver()
            .post(Instruction::Call(Box::new(move |_| drop(all))))?)
    })
}

/// C: `PAMI_Fence_endpoint`.
///
/// # Safety
/// As [`PAMI_Fence_begin`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Fence_endpoint(
    context: abi::Context,
    done_fn: abi::EventFunction,
    cookie: *mut c_void,
    target: abi::Endpoint,
) -> abi::ResultCode {
    boundary::result(|| {
        let context = CONTEXTS.get(context)?;
        let event = Event::new(context.handle, done_fn, cookie);
        let fence = Fence {
            destination: context.client.endpoint(target)?,
            done: Some(event.done(())),
        };
        Ok(context.driver().fence(fence)?)
    })
}

/// C: `PAMI_Resume`. Peers are never purged, so all are there.
///
/// # Safety
/// As [`PAMI_Fence_begin`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Resume(
    _context: abi::Context,
    _dest: *mut abi::Endpoint,
    _count: usize,
) -> abi::ResultCode {
    boundary::result(|| Err(Failure::unimplemented("PAMI_Resume")))
}

/// C: `PAMI_Purge`.
///
/// # Safety
/// As [`PAMI_Fence_begin`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Purge(
    _context: abi::Context,
    _dest: *mut abi::Endpoint,
    _count: usize,
) -> abi::ResultCode {
    boundary::result(|| Err(Failure::unimplemented("PAMI_Purge")))
}
