// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data of messages that have arrived.

use std::borrow::Cow;

use gyre_driver::{DeferredReceive, Platform};

/// The data of a message.
pub(super) enum Payload<'a, P: Platform> {
    /// Data that came with the message.
    Here(Cow<'a, [u8]>),
    /// Data that is still at its sender.
    Announced(DeferredReceive<P>),
}

impl<P: Platform> Payload<'_, P> {
    /// Bytes held here.
    pub fn len(&self) -> usize {
        match self {
            Self::Here(data) => data.len(),
            Self::Announced(_) => 0,
        }
    }

    /// Discards the data and releases the sender's buffer, whatever becomes of the collective.
    pub fn discard(self) {
        if let Self::Announced(message) = self {
            // A context under destruction has already refused it.
            let _ = message.discard();
        }
    }

    /// Copies the data so that it outlives the dispatch callback.
    pub fn into_owned(self) -> Payload<'static, P> {
        match self {
            Self::Here(data) => Payload::Here(Cow::Owned(data.into_owned())),
            Self::Announced(message) => Payload::Announced(message),
        }
    }
}
