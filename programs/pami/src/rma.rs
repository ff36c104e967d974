// SPDX-License-Identifier: MIT OR Apache-2.0
//! One-sided transfers: put, get and read-modify-write of the memory of another task, by address.

use std::ffi::c_void;

use gyre_driver::operation::{Get, Put, Rmw};
use gyre_driver::{BufferRange, RemoteAddress, RemoteRegion, RmwOp, RmwWidth, Routing, TaskId};
use gyre_remote::windows::offset_of;

use crate::abi::{self, Atomic};
use crate::context::Context;
use crate::event::Event;
use crate::failure::Failure;
use crate::memory::{check_length, map};
use crate::parameters::exported;
use crate::variables::integer_bytes;

/// Bits of the rights of a region: all.
const ALL_RIGHTS: u8 = 7;

/// Bytes of a base slot, the whole memory of a process.
const SLOT_BYTES: u64 = 1 << 36;

/// Where `bytes` bytes from an address of another task on are for its node's hardware.
pub fn remote(
    context: &Context,
    endpoint: abi::Endpoint,
    address: *mut c_void,
    bytes: usize,
) -> Result<RemoteAddress, Failure> {
    let task = context.client.endpoint(endpoint)?.task();
    let offset = offset_of(address as usize, bytes).ok_or_else(|| {
        Failure::invalid(format!(
            "{bytes} bytes from {address:p} on are not memory of a task"
        ))
    })?;
    Ok(RemoteAddress {
        slot: slot(context, task)?,
        offset,
    })
}

/// The base slot of the memory of a task.
fn slot(context: &Context, task: TaskId) -> Result<u16, Failure> {
    Ok(u16::from(context.driver().tasks().location(task)?.process))
}

/// Refuses transfers of nothing, and from or to nowhere.
pub fn check(rma: &abi::Rma, local: *mut c_void, remote: *mut c_void) -> Result<(), Failure> {
    if rma.bytes == 0 {
        return Err(Failure::invalid("a transfer of 0 bytes"));
    }
    check_length(rma.bytes)?;
    if local.is_null() || remote.is_null() {
        return Err(Failure::invalid("an address is null"));
    }
    Ok(())
}

/// Writes `rma.bytes` bytes from `local` to `remote` of another task.
pub fn put(
    context: &Context,
    rma: &abi::Rma,
    (local, to): (*mut c_void, *mut c_void),
    rdone_fn: abi::EventFunction,
) -> Result<(), Failure> {
    check(rma, local, to)?;
    let done = |function| {
        let event = Event::new(context.handle, function, rma.cookie);
        event.is_there().then(|| event.done(()))
    };
    let data = map(&context.client.job.platform, local.cast(), rma.bytes)?;
    let remote = remote(context, rma.dest, to, rma.bytes)?;
    Ok(context.driver().put(Put {
        local_done: done(rma.done_fn),
        remote_done: done(rdone_fn),
        ..Put::new(context.peer(rma.dest)?, data, remote)
    })?)
}

/// Reads `rma.bytes` bytes from `remote` of another task to `local`.
pub fn get(
    context: &Context,
    rma: &abi::Rma,
    (local, from): (*mut c_void, *mut c_void),
) -> Result<(), Failure> {
    check(rma, local, from)?;
    let event = Event::new(context.handle, rma.done_fn, rma.cookie);
    Ok(context.driver().get(Get {
        source: context.peer(rma.dest)?,
        remote: remote(context, rma.dest, from, rma.bytes)?,
        into: map(&context.client.job.platform, local.cast(), rma.bytes)?,
        routing: Routing::default(),
        done: event.is_there().then(|| event.done(())),
    })?)
}

/// The way in which an operation modifies, and whether it has an operand.
fn operation(operation: Atomic) -> Option<(RmwOp, bool)> {
    if operation == Atomic::FETCH {
        // Nothing is added.
        return Some((RmwOp::Add, false));
    }
    let op = match Atomic(operation.0 & !(Atomic::FETCH.0 | Atomic::COMPARE.0)) {
        Atomic::SET => RmwOp::Set,
        Atomic::ADD => RmwOp::Add,
        Atomic::OR => RmwOp::Or,
        Atomic::AND => RmwOp::And,
        Atomic::XOR => RmwOp::Xor,
        _ => return None,
    };
    Some((op, true))
}

/// Reads a number of the program, of this width.
///
/// # Safety
/// `from` is null or points to this many bytes.
unsafe fn number(from: *mut c_void, width: RmwWidth, what: &str) -> Result<u64, Failure> {
    if from.is_null() {
        return Err(Failure::invalid(format!(
            "the address of the {what} is null"
        )));
    }
    // SAFETY: what the caller promises; nothing is said of alignment.
    Ok(unsafe {
        match width {
            RmwWidth::Four => u64::from(from.cast::<u32>().read_unaligned()),
            RmwWidth::Eight => from.cast::<u64>().read_unaligned(),
        }
    })
}

/// # Safety
/// The addresses in `rmw` are what `pami.h` says.
unsafe fn modify(context: &Context, rmw: &abi::Rmw) -> Result<(), Failure> {
    let width = match integer_bytes(rmw.r#type) {
        Some(4) => RmwWidth::Four,
        Some(8) => RmwWidth::Eight,
        _ => {
            return Err(Failure::invalid(
                "the type is not an integer of 4 or 8 bytes",
            ));
        }
    };
    let (op, has_value) = operation(rmw.operation)
        .ok_or_else(|| Failure::invalid(format!("{:#x} is not an operation", rmw.operation.0)))?;
    let fetches = rmw.operation.0 & Atomic::FETCH.0 != 0;
    let compares = rmw.operation.0 & Atomic::COMPARE.0 != 0;
    if fetches && rmw.local.is_null() {
        return Err(Failure::invalid("the address of the result is null"));
    }
    // No node reports a response that it cannot write.
    let platform = &context.client.job.platform;
    if fetches && !platform.is_writable(rmw.local.cast(), width.bytes()) {
        let text = format!("the result cannot be written at {:p}", rmw.local);
        return Err(Failure::invalid(text));
    }
    if !(rmw.remote as usize).is_multiple_of(width.bytes()) {
        return Err(Failure::invalid(format!("{:p} is not aligned", rmw.remote)));
    }
    let place = remote(context, rmw.dest, rmw.remote, width.bytes())?;
    let task = context.peer(rmw.dest)?.task();
    let mut region = [0; RemoteRegion::BYTES];
    region[..4].copy_from_slice(&task.0.to_le_bytes());
    region[4..6].copy_from_slice(&place.slot.to_le_bytes());
    region[6] = ALL_RIGHTS;
    region[8..].copy_from_slice(&SLOT_BYTES.to_le_bytes());
    let result = match fetches {
        true => Some(map(platform, rmw.local.cast(), width.bytes())?),
        false => None::<BufferRange<_>>,
    };
    let event = Event::new(context.handle, rmw.done_fn, rmw.cookie);
    // SAFETY: what the caller promises.
    let (value, test) = unsafe {
        (
            if has_value {
                number(rmw.value, width, "operand")?
            } else {
                0
            },
            compares
                .then(|| number(rmw.test, width, "value to compare with"))
                .transpose()?,
        )
    };
    Ok(context.driver().rmw(Rmw {
        destination: context.peer(rmw.dest)?,
        region: RemoteRegion::decode(&region)?,
        offset: place.offset,
        op,
        width,
        value,
        test,
        result,
        done: event.is_there().then(|| event.done(())),
    })?)
}

exported! {
    PAMI_Put(PutSimple) = |context, p| {
        put(context, &p.rma, (p.addr.local, p.addr.remote), p.put.rdone_fn)
    };
    PAMI_Get(GetSimple) = |context, p| get(context, &p.rma, (p.addr.local, p.addr.remote));
    // SAFETY: the program passes addresses in the parameters.
    PAMI_Rmw(Rmw) = |context, p| unsafe { modify(context, p) };
}
