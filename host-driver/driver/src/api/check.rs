// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of operations at their post.

use crate::buffer::RemoteAddress;
use crate::core::Core;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::operation::{Instruction, Rmw, SendMessage};
use crate::platform::Platform;
use crate::region::RemoteRegion;
use crate::rma::notify::PutNotify;
use crate::task::Destination;
use crate::transport::wire::{FIRST_CONTROL, MAX_HEADER};

/// Refuses an instruction that could not be carried out.
///
/// # Errors
/// As [`Context::post`](crate::Context::post).
pub(super) fn check_instruction<P: Platform, D, C>(
    core: &Core<P>,
    instruction: &Instruction<P, D, C>,
) -> Result<(), Error> {
    match instruction {
        Instruction::Send(send) => check_send(core, send).map_err(Error::from),
        Instruction::SendImmediate(message) => {
            core.checked(message.envelope.destination)?;
            Ok(())
        }
        Instruction::Put(put) => {
            let to = core.checked(put.destination)?;
            check_notify(core, (put.destination, to), put.notify)?;
            Ok(check_length(put.data.len())?)
        }
        Instruction::Get(get) => {
            core.checked(get.source)?;
            Ok(check_length(get.into.len())?)
        }
        Instruction::Rmw(rmw) => {
            core.checked(rmw.destination)?;
            check_rmw(rmw)
        }
        Instruction::Fence(fence) => {
            core.checked(fence.destination)?;
            Ok(())
        }
        Instruction::Acknowledge { peer, .. } | Instruction::Refuse { peer, .. } => {
            core.checked(*peer)?;
            Ok(())
        }
        Instruction::CollnetTransfer(transfer) => transfer.check().map_err(Error::from),
        Instruction::FenceAll(_)
        | Instruction::Call(_)
        | Instruction::Count(_)
        | Instruction::Receive(_)
        | Instruction::Discard { .. }
        | Instruction::CollnetBarrier { .. }
        | Instruction::CollnetRelease { .. } => Ok(()),
    }
}

/// Refuses a send that could not be carried out.
///
/// # Errors
/// As [`Context::post`](crate::Context::post).
#[inline]
pub(super) fn check_send<P: Platform, D>(
    core: &Core<P>,
    send: &SendMessage<P, D>,
) -> Result<(), Fault> {
    core.checked(send.destination)?;
    check_dispatch(send.dispatch)?;
    check_length(send.data.len())?;
    if send.header.len() > MAX_HEADER {
        return Err(Error::PacketLength {
            what: "header",
            bytes: send.header.len(),
            limit: MAX_HEADER,
        }
        .into());
    }
    Ok(())
}

/// Refuses dispatch identifiers of the driver.
pub(super) fn check_dispatch(id: u8) -> Result<(), Fault> {
    if id >= FIRST_CONTROL {
        return Err(Error::ReservedDispatch { id }.into());
    }
    Ok(())
}

/// Refuses notifications that the destination cannot get.
fn check_notify<P: Platform>(
    core: &Core<P>,
    (destination, to): (Endpoint, Destination),
    notify: PutNotify,
) -> Result<(), Error> {
    match notify {
        PutNotify::None => Ok(()),
        PutNotify::Dispatch { dispatch, .. } => Ok(check_dispatch(dispatch)?),
        PutNotify::Counter(counter) => {
            let owner = core.layout.endpoint(counter.task, counter.context)?;
            if core.destination(owner)?.node == to.node {
                return Ok(());
            }
            Err(Error::CounterAway {
                task: counter.task,
                destination: destination.task,
            })
        }
    }
}

/// Refuses transfers longer than a descriptor can hold.
fn check_length(bytes: usize) -> Result<(), Fault> {
    match u32::try_from(bytes) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::MessageLength { bytes }.into()),
    }
}

/// Checks a transfer of `bytes` bytes at `offset` of a region; returns their place in memory.
pub(super) fn check_region(
    region: &RemoteRegion,
    endpoint: Endpoint,
    (allowed, what): (bool, &'static str),
    offset: u64,
    bytes: usize,
) -> Result<RemoteAddress, Error> {
    if region.task != endpoint.task {
        return Err(Error::RegionTask {
            expected: endpoint.task,
            found: region.task,
        });
    }
    if !allowed {
        return Err(Error::RegionRights {
            task: region.task,
            what,
        });
    }
    let bytes = bytes as u64;
    if offset.checked_add(bytes).is_none_or(|end| end > region.len) {
        return Err(Error::RegionBounds {
            task: region.task,
            offset,
            bytes,
            len: region.len,
        });
    }
    Ok(RemoteAddress {
        slot: region.slot,
        offset,
    })
}

/// Refuses read-modify-writes that the hardware would refuse, since it does not answer them.
fn check_rmw<P: Platform, D>(rmw: &Rmw<P, D>) -> Result<(), Error> {
    let width = rmw.width.bytes();
    check_region(
        &rmw.region,
        rmw.destination,
        (rmw.region.rights.rmw, "read-modify-writes"),
        rmw.offset,
        width,
    )?;
    if !rmw.offset.is_multiple_of(width as u64) {
        return Err(Error::RmwAlignment {
            offset: rmw.offset,
            width,
        });
    }
    match &rmw.result {
        Some(result) if result.len() != width => Err(Error::RmwResult {
            bytes: result.len(),
            width,
        }),
        _ => Ok(()),
    }
}
