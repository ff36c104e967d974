//! The data of messages that have arrived.

use std::borrow::Cow;

use gyre_driver::{DeferredReceive, Platform};

/// The data of a message.
pub(super) enum Payload<'a, P: Platform> {
    /// It came with the message.
    Here(Cow<'a, [u8]>),
    /// It is at its sender.
    Announced(DeferredReceive<P>),
}

impl<P: Platform> Payload<'_, P> {
    /// Bytes that are here.
    pub fn len(&self) -> usize {
        match self {
            Self::Here(data) => data.len(),
            Self::Announced(_) => 0,
        }
    }

    /// Does without the data. Its sender is told that it may use the memory, whatever becomes of the collective.
    pub fn discard(self) {
        if let Self::Announced(message) = self {
            // A context that is being destroyed has refused it.
            let _ = message.discard();
        }
    }

    /// The same, for longer than the call of the dispatch callback.
    pub fn into_owned(self) -> Payload<'static, P> {
        match self {
            Self::Here(data) => Payload::Here(Cow::Owned(data.into_owned())),
            Self::Announced(message) => Payload::Announced(message),
        }
    }
}
