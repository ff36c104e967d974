// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dispatch of active-message collectives to functions of the program.

use std::ffi::c_void;

use crate::abi;
use crate::algorithms::Offer;
use crate::amcollective::call::Kind;
use crate::amcollective::receiver::Receiver;
use crate::boundary;
use crate::context::CONTEXTS;
use crate::dispatch::LARGEST;
use crate::failure::Failure;
use crate::group::GEOMETRIES;

/// C: `PAMI_AMCollective_dispatch_set`.
///
/// # Safety
/// The program keeps to what `pami.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_AMCollective_dispatch_set(
    context: abi::Context,
    algorithm: abi::Algorithm,
    dispatch: usize,
    function: abi::DispatchCallbackFunction,
    cookie: *mut c_void,
    _options: abi::CollectiveHint,
) -> abi::ResultCode {
    boundary::result(|| {
        let context = CONTEXTS.get(context)?;
        let (offer, geometry) = Offer::decode(algorithm)?;
        let kind = Kind::of(offer.kind).ok_or_else(|| {
            Failure::invalid("the algorithm is not of an active-message collective")
        })?;
        let group = GEOMETRIES.get(geometry)?;
        if group.client != context.client.handle {
            return Err(Failure::invalid("the context is of another client"));
        }
        group.made()?.with(context.offset, |_| Ok(()))?;
        if dispatch > LARGEST {
            let text = format!("dispatch {dispatch}, expected 0 to {LARGEST}");
            return Err(Failure::invalid(text));
        }
        let receiver = Receiver::new(kind, function, cookie, context.handle)?;
        // Below the number of contexts, which is one byte.
        group.receive_by(context.offset as u8, kind, dispatch, receiver);
        Ok(())
    })
}
