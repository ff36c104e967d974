// SPDX-License-Identifier: MIT OR Apache-2.0
//! One-sided transfers with a layout on each side: one transfer for each run of bytes that is contiguous on both.

use std::ffi::c_void;
use std::ops::ControlFlow;
use std::sync::Arc;

use gyre_driver::RemoteAddress;
use gyre_driver::operation::{Get, Put};
use gyre_driver::{BufferRange, Routing};
use gyre_remote::RemoteBuffer;

use crate::abi::{self, ResultCode};
use crate::context::Context;
use crate::event::{Event, Joint};
use crate::failure::Failure;
use crate::memory::map;
use crate::memregion::{Place, places};
use crate::parameters::exported;
use crate::rma::{check, remote};
use crate::type_handles::complete;
use crate::types::{Piece, Type};

/// Bytes of a transfer that lie in one place on both sides: where from the addresses on, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    local: usize,
    remote: usize,
    bytes: usize,
}

/// Most pieces of a side of a transfer.
const MOST_PIECES: usize = 1 << 24;

/// The pieces of the first `bytes` bytes of data of a type, each of which `check` accepts.
///
/// # Errors
/// The first refusal; `PAMI_ENOMEM` for too many pieces.
fn pieces(
    of: &Type,
    bytes: usize,
    check: impl Fn(&Piece) -> Result<(), Failure>,
) -> Result<Vec<Piece>, Failure> {
    let (mut all, mut refused) = (Vec::new(), Ok(()));
    of.layout.pieces(0, bytes, &mut |piece| {
        refused = check(&piece);
        if all.len() == MOST_PIECES {
            refused = Err(Failure {
                code: ResultCode::ENOMEM,
                text: format!("{bytes} bytes of data are in more than {MOST_PIECES} pieces"),
            });
        }
        all.push(piece);
        match refused {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    });
    refused.map(|()| all)
}

/// The runs of a transfer between these pieces.
fn runs(local: &[Piece], remote: &[Piece]) -> Vec<Run> {
    let mut runs = Vec::new();
    let (mut here, mut there, mut from) = (0, 0, 0);
    while let (Some(one), Some(other)) = (local.get(here), remote.get(there)) {
        let end = (one.from + one.bytes).min(other.from + other.bytes);
        runs.push(Run {
            local: one.at.wrapping_add(from - one.from),
            remote: other.at.wrapping_add(from - other.from),
            bytes: end - from,
        });
        from = end;
        here += usize::from(one.from + one.bytes == end);
        there += usize::from(other.from + other.bytes == end);
    }
    runs
}

/// A run as the driver takes it.
type Transfer = (BufferRange<RemoteBuffer>, RemoteAddress);

/// The runs of a transfer with their places, all of which are there.
fn transfers(
    context: &Context,
    rma: &abi::Rma,
    (local, remote_place): (Place, Place),
    types: &abi::RmaTyped,
) -> Result<Vec<Transfer>, Failure> {
    check(rma, local.address, remote_place.address)?;
    let (here, there) = (complete(types.local)?, complete(types.remote)?);
    if here.size() == 0 || there.size() == 0 {
        return Err(Failure::invalid("a type has no data"));
    }
    let transfer = |run: Run| {
        let from = local.part(run.local, run.bytes)?;
        let to = remote_place.part(run.remote, run.bytes)?;
        Ok((
            map(&context.client.job.platform, from.cast(), run.bytes)?,
            remote(context, rma.dest, to, run.bytes)?,
        ))
    };
    // A long transfer ends at the first address that cannot be.
    let local_pieces = pieces(&here, rma.bytes, |piece| {
        local.part(piece.at, piece.bytes).map(drop)
    })?;
    let remote_pieces = pieces(&there, rma.bytes, |piece| {
        let to = remote_place.part(piece.at, piece.bytes)?;
        remote(context, rma.dest, to, piece.bytes).map(drop)
    })?;
    runs(&local_pieces, &remote_pieces)
        .into_iter()
        .map(transfer)
        .collect()
}

fn joint(context: &Context, rma: &abi::Rma, function: abi::EventFunction) -> Option<Arc<Joint>> {
    let event = Event::new(context.handle, function, rma.cookie);
    event.is_there().then(|| Joint::new(event))
}

fn put(
    context: &Context,
    rma: &abi::Rma,
    places: (Place, Place),
    types: &abi::RmaTyped,
    rdone_fn: abi::EventFunction,
) -> Result<(), Failure> {
    let transfers = transfers(context, rma, places, types)?;
    let destination = context.peer(rma.dest)?;
    let local_done = joint(context, rma, rma.done_fn);
    let remote_done = joint(context, rma, rdone_fn);
    for (data, to) in transfers {
        context.driver().put(Put {
            local_done: local_done.as_ref().map(Joint::part),
            remote_done: remote_done.as_ref().map(Joint::part),
            ..Put::new(destination, data, to)
        })?;
    }
    Ok(())
}

fn get(
    context: &Context,
    rma: &abi::Rma,
    places: (Place, Place),
    types: &abi::RmaTyped,
) -> Result<(), Failure> {
    let transfers = transfers(context, rma, places, types)?;
    let source = context.peer(rma.dest)?;
    let done = joint(context, rma, rma.done_fn);
    for (into, from) in transfers {
        context.driver().get(Get {
            source,
            remote: from,
            into,
            routing: Routing::default(),
            done: done.as_ref().map(Joint::part),
        })?;
    }
    Ok(())
}

/// The addresses of a transfer as places without an end.
fn anywhere(addresses: &abi::RmaAddr) -> (Place, Place) {
    let place = |address: *mut c_void| Place {
        address,
        bounds: None,
    };
    (place(addresses.local), place(addresses.remote))
}

exported! {
    PAMI_Put_typed(PutTyped) = |context, p| {
        put(context, &p.rma, anywhere(&p.addr), &p.r#type, p.put.rdone_fn)
    };
    PAMI_Get_typed(GetTyped) = |context, p| get(context, &p.rma, anywhere(&p.addr), &p.r#type);
    PAMI_Rput_typed(RputTyped) = |context, p| {
        // SAFETY: the program passes regions in the parameters.
        let places = unsafe { places(context, &p.rma, &p.rdma)? };
        put(context, &p.rma, places, &p.r#type, p.put.rdone_fn)
    };
    PAMI_Rget_typed(RgetTyped) = |context, p| {
        // SAFETY: the program passes regions in the parameters.
        let places = unsafe { places(context, &p.rma, &p.rdma)? };
        get(context, &p.rma, places, &p.r#type)
    };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::types::model::{bytes, recipe};

    proptest! {
        #[test]
        fn runs_are_the_bytes_of_both_sides_in_their_order(
            local in recipe(),
            remote in recipe(),
            length in 1..300_usize,
        ) {
            let of = |recipe: &crate::types::model::Recipe| Type::new(recipe.layout().expect("small"), 1).expect("atom 1");
            let (local, remote) = (of(&local), of(&remote));
            prop_assume!(local.size() > 0 && remote.size() > 0);
            let of = |side: &Type| pieces(side, length, |_| Ok(())).expect("few");
            let (local, remote) = (of(&local), of(&remote));
            let runs = runs(&local, &remote);
            let side = |at: fn(&Run) -> usize| {
                let pieces = runs.iter().scan(0, |from, run| {
                    let piece = Piece { at: at(run), from: *from, bytes: run.bytes };
                    *from += run.bytes;
                    Some(piece)
                });
                bytes(&pieces.collect::<Vec<_>>())
            };
            prop_assert_eq!(side(|run| run.local), bytes(&local));
            prop_assert_eq!(side(|run| run.remote), bytes(&remote));
        }
    }
}
