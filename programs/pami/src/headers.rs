// SPDX-License-Identifier: MIT OR Apache-2.0
//! Headers that are longer than a message of the driver carries: the excess is sent first, in messages of its own.
//!
//! All messages between two contexts take one route, so the pieces arrive before the message, and dispatch functions are called
//! in the order of the sends. Message and pieces have a number; pieces of a refused message are dropped with the next one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use gyre_driver::{Arrival, Context, Endpoint, Error, MAX_HEADER, Receive, SendImmediate};
use gyre_remote::RemotePlatform;
use parking_lot::Mutex;

use crate::failure::Failure;

/// Bytes of the longest header: more would keep the call in sending pieces.
pub const LONGEST: usize = 1 << 20;

/// Dispatch of the pieces.
pub const DISPATCH: u8 = 221;

/// The long headers of a context.
#[derive(Default)]
pub struct Headers {
    /// Number of the last message with a long header that the context has sent.
    last: AtomicU32,
    /// Header bytes received ahead of their messages, by origin and number.
    come: Mutex<BTreeMap<(Endpoint, u32), Vec<u8>>>,
}

impl Headers {
    /// Empty. Sets the dispatch of the pieces for a context.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn attach(context: &Context<RemotePlatform>) -> Result<Arc<Self>, Error> {
        let this = Arc::new(Self::default());
        let headers = Arc::clone(&this);
        let receive = move |_: &Context<_>, piece: &Arrival<'_>| {
            let data = piece.immediate.unwrap_or(&[]);
            let mut come = headers.come.lock();
            let whole = come.entry((piece.origin, piece.tag)).or_default();
            whole.extend_from_slice(data);
            Receive::Consumed
        };
        context.set_dispatch(DISPATCH, Box::new(receive))?;
        Ok(this)
    }

    /// Sends the excess of a header. Returns the rest and the tag of the message; 0 if there was no excess.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn send<'a>(
        &self,
        context: &Context<RemotePlatform>,
        destination: Endpoint,
        header: &'a [u8],
    ) -> Result<(&'a [u8], u32), Error> {
        let Some(before) = header.len().checked_sub(MAX_HEADER).filter(|&b| b > 0) else {
            return Ok((header, 0));
        };
        let (before, rest) = header.split_at(before);
        // 0 is the tag of other messages.
        let number = self.last.fetch_add(1, Ordering::Relaxed) % u32::MAX + 1;
        for piece in before.chunks(SendImmediate::MAX) {
            let message = SendImmediate::new(destination, DISPATCH).with_data(piece);
            context.send_immediate(&SendImmediate {
                tag: number,
                ..message
            })?;
        }
        Ok((rest, number))
    }

    /// The whole header of an arrived message.
    ///
    /// # Errors
    /// `PAMI_ERROR` if pieces are missing.
    pub fn whole(&self, arrival: &Arrival<'_>) -> Result<Vec<u8>, Failure> {
        let (origin, number) = (arrival.origin, arrival.tag);
        let found = {
            let mut come = self.come.lock();
            let found = come.remove(&(origin, number));
            // Earlier ones are not needed any more.
            come.retain(|&(from, other), _| from != origin || other > number);
            found
        };
        let mut whole = found.ok_or_else(|| Failure::error("a part of the header is missing"))?;
        whole.extend_from_slice(arrival.header);
        Ok(whole)
    }
}
