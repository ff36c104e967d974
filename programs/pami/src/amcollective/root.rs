// SPDX-License-Identifier: MIT OR Apache-2.0
//! The root of an active-message collective: the call from its parameters, and the place of the answer.

use std::ffi::c_void;
use std::sync::Arc;

use gyre_driver::{BufferRange, Error, Instruction};

use crate::abi::{ResultCode, Type, Xfer};
use crate::amcollective::call::{Call, Key, Kind};
use crate::amcollective::own_part::{self, Caller, Given, Own};
use crate::amcollective::part::{Above, End, Part, Whose};
use crate::amcollective::tree::Tree;
use crate::buffers::product;
use crate::context::Context;
use crate::endpoint_code::endpoint_code;
use crate::event::Event;
use crate::failure::Failure;
use crate::group::Group;
use crate::reduction::{Operation, bytes_of};
use crate::typed_data::{Function, Place, Transfer};
use gyre_interpose::Staging;

/// The parameters of a collective of any kind.
struct Parameters {
    dispatch: usize,
    /// One for all, or one for each endpoint.
    headers: *mut c_void,
    headerlen: usize,
    /// Data to send, or place for the result.
    buffer: *mut c_void,
    type_: Type,
    count: usize,
    /// Cookie of an operation, and whether it may be called in any order.
    operation: (*mut c_void, bool),
}

impl Parameters {
    /// # Safety
    /// The member of the kind is filled in as `pami.h` says.
    unsafe fn of(kind: Kind, xfer: &Xfer) -> Self {
        /// Parameters of a member of the union.
        macro_rules! parameters {
            ($member:ident, $headers:ident, $buffer:ident $type:ident $count:ident) => {{
                // SAFETY: what the caller promises.
                let p = unsafe { xfer.cmd.$member };
                Self {
                    dispatch: p.dispatch,
                    headers: p.$headers,
                    headerlen: p.headerlen,
                    buffer: p.$buffer,
                    type_: p.$type,
                    count: p.$count,
                    operation: (std::ptr::null_mut(), false),
                }
            }};
        }
        match kind {
            Kind::Broadcast => parameters!(xfer_ambroadcast, user_header, sndbuf stype stypecount),
            Kind::Scatter => parameters!(xfer_amscatter, headers, sndbuf stype stypecount),
            Kind::Gather => parameters!(xfer_amgather, headers, rcvbuf rtype rtypecount),
            Kind::Reduce => {
                // SAFETY: what the caller promises.
                let p = unsafe { xfer.cmd.xfer_amreduce };
                Self {
                    operation: (p.data_cookie, p.commutative != 0),
                    ..parameters!(xfer_amreduce, user_header, rcvbuf rtype rtypecount)
                }
            }
        }
    }

    /// The program's memory from byte `offset` of its data on.
    fn place(&self, offset: usize, bytes: usize) -> Result<Transfer, Failure> {
        Place::new(self.buffer, self.type_, offset)?.transfer(bytes, Function::COPY)
    }

    /// Headers and data to send to `members` endpoints, in the order of the tree.
    ///
    /// # Safety
    /// The parameters describe the program's memory.
    unsafe fn items(&self, call: &Call, members: usize) -> Result<Vec<u8>, Failure> {
        let length = self.headerlen;
        let parts = if call.is_one_for_all() { 1 } else { members };
        let headers: &[u8] = match product(length, parts)? {
            0 => &[],
            _ if self.headers.is_null() => {
                return Err(Failure::invalid("the header has no address"));
            }
            // SAFETY: what the caller promises.
            bytes => unsafe { std::slice::from_raw_parts(self.headers.cast(), bytes) },
        };
        let bytes = call.item() - length;
        let data = match bytes {
            0 => None,
            // SAFETY: what the caller promises.
            _ => Some(unsafe { self.place(0, bytes * parts)?.gathered()? }),
        };
        let data = data.as_ref().map_or(&[][..], Staging::bytes);
        let mut items = Vec::new();
        let reserved = items.try_reserve_exact(call.item() * parts);
        reserved.map_err(|error| Failure {
            code: ResultCode::ENOMEM,
            text: format!("headers and data: {error}"),
        })?;
        for place in 0..parts {
            let index = (place + call.key.root as usize) % parts;
            items.extend(&headers[index * length..][..length]);
            items.extend(&data[index * bytes..][..bytes]);
        }
        Ok(items)
    }
}

/// Transfers the result to the program's memory: `data` has the data of each endpoint, in the order of the tree, or the combined
/// data.
///
/// # Safety
/// The transfers are to the program's memory.
unsafe fn take(
    call: &Call,
    (first, rest): &(Transfer, Option<Transfer>),
    operation: Option<&Operation>,
    data: &[u8],
) -> Result<(), Failure> {
    let bytes = call.bytes as usize;
    let members = call.tree.members as usize;
    // The last endpoints of the list come first.
    let behind = (members - call.key.root as usize) * bytes;
    // SAFETY: what the caller promises.
    unsafe {
        match (call.kind, operation) {
            (Kind::Reduce, Some(operation)) if call.combined.is_none() => {
                let combine = operation.combine();
                let (behind, before) = data.split_at(behind);
                let mut parts = before.chunks_exact(bytes).chain(behind.chunks_exact(bytes));
                // A function of the program may need its elements aligned.
                let (mut all, mut part) = (Staging::zeroed(bytes)?, Staging::zeroed(bytes)?);
                if let Some(own) = parts.next() {
                    all.bytes_mut().copy_from_slice(own);
                }
                for other in parts {
                    part.bytes_mut().copy_from_slice(other);
                    combine(all.bytes_mut(), part.bytes());
                }
                first.take(all.bytes());
            }
            (Kind::Reduce, _) => first.take(data),
            _ => {
                first.take(&data[..behind]);
                if let Some(rest) = rest {
                    rest.take(&data[behind..]);
                }
            }
        }
    }
    Ok(())
}

/// Begins a collective with the endpoint of `context` as root. Its own function of the program is called at once, except for a
/// broadcast; all callbacks are called by the advance of the context.
///
/// # Errors
/// `PAMI_INVAL` for parameters that cannot be, for a dispatch that is not set, and for what the root's own function says
/// wrongly: nobody has been called then. `PAMI_ENOMEM`.
///
/// # Safety
/// The member of the kind is filled in as `pami.h` says.
pub unsafe fn start(
    context: &Arc<Context>,
    (group, handle): (&Arc<Group>, usize),
    kind: Kind,
    xfer: &Xfer,
) -> Result<(), Failure> {
    let made = group.made()?;
    made.with(context.offset, |_| Ok(()))?;
    let driver = context.driver();
    let own = driver.query().endpoint;
    let root = group.endpoints.iter().position(|&member| member == own);
    let root = root.ok_or_else(|| Failure::error("the root is not in the geometry"))?;
    // SAFETY: what the caller promises.
    let parameters = unsafe { Parameters::of(kind, xfer) };
    // Below the number of contexts, which is one byte.
    let receiver = group.receiver(context.offset as u8, kind, parameters.dispatch)?;
    let members = group.endpoints.len();
    let bytes = product(parameters.count, bytes_of(parameters.type_)?)?;
    product(members, bytes.saturating_add(parameters.headerlen))?;
    let calls = &context.client.calls[context.offset];
    let mut call = Call {
        key: Key {
            geometry: made.geometry.number(),
            // Below 2^32 endpoints.
            root: root as u32,
            number: calls.number(),
        },
        kind,
        tree: Tree::root(members as u32),
        // It is set, so it is small.
        dispatch: parameters.dispatch as u32,
        header: parameters.headerlen as u64,
        bytes: bytes as u64,
        combined: None,
    };
    // SAFETY: what the caller promises.
    let items = unsafe { parameters.items(&call, members)? };
    let to = match kind {
        Kind::Gather if bytes > 0 => {
            let behind = (members - root) * bytes;
            let rest = (root > 0).then(|| parameters.place(0, root * bytes));
            let first = parameters.place(root * bytes, behind)?;
            Some((first, rest.transpose()?))
        }
        Kind::Reduce if bytes > 0 => Some((parameters.place(0, bytes)?, None)),
        _ => None,
    };
    let caller = Caller {
        origin: endpoint_code(own),
        geometry: handle,
        operation: parameters.operation,
    };
    let none = Own {
        event: Event::new(context.handle, None, std::ptr::null_mut()),
        outcome: Ok(Given::default()),
    };
    let Own { event, outcome } = match kind {
        Kind::Broadcast => none,
        _ => own_part::run(&receiver, &call, &items[..call.item()], caller),
    };
    let Given { data, operation } = outcome?;
    let anywhere = operation.as_ref().and_then(Operation::anywhere);
    // Both below 32.
    call.combined = anywhere.map(|(op, element)| (op as u8 + 1, element.number() as u8));
    let done = Event::new(context.handle, xfer.cb_done, xfer.cookie);
    let ending = Arc::clone(group);
    let end: End = Box::new(move |collected| {
        let outcome = collected.and_then(|collected| {
            let Some(to) = &to else { return Ok(()) };
            let mut data = vec![0; collected.len()];
            collected.read(0, &mut data).map_err(Error::from)?;
            // SAFETY: the program's memory belongs to the collective until its callbacks.
            unsafe { take(&call, to, operation.as_ref(), &data) }
        });
        ending.end();
        if let (Err(failure), false, false) = (&outcome, event.is_there(), done.is_there()) {
            eprintln!("libpami: {} has failed: {failure}", kind.name());
        }
        event.end(outcome.clone());
        done.end(outcome);
    });
    let platform = &context.client.job.platform;
    let items = match items.len() {
        0 => BufferRange::empty(),
        _ => BufferRange::copied(platform, &items)?,
    };
    let part = Part::new(platform, call, group, Above::Root(end))?;
    group.begin();
    calls.begin(driver, part, &items);
    let own = Arc::clone(calls);
    let call_own = Instruction::Call(Box::new(move |context| {
        own.done(context, call.key, Whose::Own, Ok(data));
    }));
    Ok(driver.post(call_own)?)
}
