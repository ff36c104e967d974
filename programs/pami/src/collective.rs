// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives.

use std::sync::Arc;

use gyre_collectives::{Done, Initiator, Request};
use gyre_remote::{RemoteBuffer, RemotePlatform};

use crate::abi::{Xfer, XferType};
use crate::algorithms::Offer;
use crate::amcollective::call::Kind;
use crate::amcollective::root;
use crate::arguments::Arguments;
use crate::collective_kinds::operation;
use crate::context::Context;
use crate::event::Event;
use crate::exclusive::Exclusive;
use crate::failure::Failure;
use crate::group::{GEOMETRIES, Group};
use crate::packing::Packing;
use crate::parameters::exported;
use crate::reduction::Operation;
use crate::requests;

/// Address of the program's memory in a callback.
struct Address(usize);

/// Action at the end of a collective, before the program's callback.
type Finish = Box<dyn FnOnce() -> Result<(), Failure> + Send>;

/// The request for parameters, and the action at its end.
///
/// # Safety
/// The member of the kind is filled in as `pami.h` says.
unsafe fn request(
    arguments: &Arguments<'_>,
) -> Result<(Request<RemoteBuffer>, Option<Finish>), Failure> {
    // By the program's types, whose atom sizes count.
    let operation = operation(arguments.kind, arguments.xfer)?;
    // SAFETY: what the caller promises.
    let (xfer, packing) = unsafe { Packing::of(arguments)? };
    let arguments = Arguments {
        xfer: &xfer,
        ..*arguments
    };
    // SAFETY: what the caller promises, and the data lies without holes.
    let (request, finish) = unsafe { dense_request(&arguments, operation)? };
    if packing.is_empty() {
        return Ok((request, finish));
    }
    let unpack = move || {
        finish.map_or(Ok(()), |finish| finish())?;
        // SAFETY: the program's buffers belong to the collective until its callback.
        unsafe { packing.unpack() };
        Ok(())
    };
    Ok((request, Some(Box::new(unpack))))
}

/// The request for data without holes.
///
/// # Safety
/// As [`request`].
unsafe fn dense_request(
    arguments: &Arguments<'_>,
    operation: Option<Operation>,
) -> Result<(Request<RemoteBuffer>, Option<Finish>), Failure> {
    if arguments.kind == XferType::SCAN
        && let Some(operation) = &operation
    {
        // SAFETY: what the caller promises.
        let scan = unsafe { arguments.xfer.cmd.xfer_scan };
        if scan.exclusive != 0 {
            // SAFETY: what the caller promises; the data is copied here.
            let (data, to) = unsafe { Arguments::exclusive(&scan)? };
            let (exclusive, request) = Exclusive::new(arguments.platform, operation, data)?;
            let to = Address(to as usize);
            let finish = move || {
                if let Some(result) = exclusive.result()? {
                    let Address(to) = to;
                    // SAFETY: the program's receive buffer has as many bytes, and belongs to the collective.
                    unsafe { std::ptr::copy(result.as_ptr(), to as *mut u8, result.len()) };
                }
                Ok(())
            };
            return Ok((request, Some(Box::new(finish))));
        }
    }
    let reduction = operation
        .map(|operation| operation.reduction())
        .transpose()?;
    // SAFETY: what the caller promises.
    let request = unsafe { requests::request(arguments, reduction)? };
    Ok((request, None))
}

/// Callback at the end of a collective, run by the context's advance.
fn done(group: &Arc<Group>, event: Event, finish: Option<Finish>) -> Done<RemotePlatform> {
    let group = Arc::clone(group);
    Box::new(move |_, result| {
        let result = result.map_err(Failure::from);
        let result = result.and_then(|()| finish.map_or(Ok(()), |finish| finish()));
        group.end();
        event.end(result);
    })
}

/// # Safety
/// The program keeps to what `pami.h` says of `PAMI_Collective`.
unsafe fn collective(context: &Arc<Context>, xfer: &Xfer) -> Result<(), Failure> {
    let (offer, geometry) = Offer::decode(xfer.algorithm)?;
    let group = GEOMETRIES.get(geometry)?;
    if group.client != context.client.handle {
        return Err(Failure::invalid("the context is of another client"));
    }
    if let Some(kind) = Kind::of(offer.kind) {
        // SAFETY: the program has filled in the member of the kind.
        return unsafe { root::start(context, (&group, geometry as usize), kind, xfer) };
    }
    let made = group.made()?;
    made.with(context.offset, |member| {
        let arguments = Arguments {
            platform: &context.client.job.platform,
            geometry: &made.geometry,
            position: member.position(),
            kind: offer.kind,
            xfer,
        };
        // SAFETY: the program has filled in the member of the kind.
        let (request, finish) = unsafe { request(&arguments)? };
        let event = Event::new(context.handle, xfer.cb_done, xfer.cookie);
        group.begin();
        let done = Some(done(&group, event, finish));
        let posted = member.post_as(Initiator::All, offer.algorithm, request, done);
        Ok(posted.inspect_err(|_| group.end())?)
    })
}

exported! {
    // SAFETY: the program keeps to what `pami.h` says.
    PAMI_Collective(Xfer) = |context, p| unsafe { collective(context, p) };
}
