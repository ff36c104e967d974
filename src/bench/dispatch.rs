// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dispatch callbacks that benches have in common.

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{BufferRange, Context, Error, Platform, Receive};

/// Messages with identifier `id` are received into `into`, one over the other. One that fails ends the bench.
pub(super) fn receive_into<P: Platform>(
    context: &Context<P>,
    id: u8,
    into: BufferRange<P::Buffer>,
) -> Result<(), Error> {
    context.set_dispatch(
        id,
        Box::new(move |_, _| Receive::Into {
            into: into.clone(),
            done: None,
        }),
    )
}

/// Messages with identifier `id` are counted.
pub(super) fn count<P: Platform>(
    context: &Context<P>,
    id: u8,
) -> Result<Arc<AtomicCell<usize>>, Error> {
    let arrived = Arc::new(AtomicCell::new(0_usize));
    let count = Arc::clone(&arrived);
    context.set_dispatch(
        id,
        Box::new(move |_, _| {
            count.fetch_add(1);
            Receive::Consumed
        }),
    )?;
    Ok(arrived)
}
