// SPDX-License-Identifier: MIT OR Apache-2.0
//! Notification of the target of a put (EP-16): by a callback there, or by a byte counter that the put lowers.

use crate::buffer::RemoteAddress;
use crate::endpoint::Endpoint;
use crate::rma::target_counter::RemoteCounter;

/// Notification of the target of a put that the data is in its memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PutNotify {
    /// Not at all.
    #[default]
    None,
    /// The destination lowers this counter by the bytes of the data as they land, by 1 where there are none. Its DMA
    /// engine does so; nothing is sent besides the put.
    Counter(RemoteCounter),
    /// `advance` of the destination calls the callback that it has set for `dispatch` with
    /// [`Context::set_put_dispatch`](crate::Context::set_put_dispatch), when all of the data is there. A refused put
    /// calls no callback. The origin comes to rest when the destination has acknowledged the notification.
    Dispatch {
        /// Identifier at the destination, 0 to 223.
        dispatch: u8,
        /// Handed to the callback.
        word: u64,
    },
}

/// A put whose data is in memory, for the callback of its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PutArrival {
    /// The endpoint that put it.
    pub origin: Endpoint,
    /// Place of the data: for a put into a memory region the region's slot, and the offset in it.
    pub remote: RemoteAddress,
    /// Bytes of the data.
    pub length: usize,
    /// Word of the origin for the callback.
    pub word: u64,
}
