// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages whose receives are deferred.

use std::collections::BTreeMap;

use crate::am::held_memory::{HeldBuffer, HeldMemory};
use crate::buffer::{BufferRange, RemoteAddress};
use crate::done_table::DoneId;
use crate::endpoint::Endpoint;
use crate::error::Fault;
use crate::operation::DeferredId;
use crate::platform::Platform;

/// Most bytes of eager data that a context holds of messages whose receives are deferred.
pub const DEFERRED_LIMIT: usize = 1 << 20;

/// Counts of a context's messages whose receives are deferred.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeferredStats {
    /// Messages that have been neither received nor discarded.
    pub messages: usize,
    /// Bytes of eager data held now.
    pub held_bytes: usize,
    /// Most bytes of eager data held at any time.
    pub peak_held_bytes: usize,
}

/// Where the data of a message is.
pub(crate) enum Data<P: Platform> {
    /// At its origin (rendezvous).
    AtOrigin(RemoteAddress),
    /// Here.
    Held {
        held: HeldBuffer<P>,
        /// All data has arrived.
        whole: bool,
    },
    /// Nowhere.
    Lost(Fault),
}

/// A message whose receive is deferred.
pub(crate) struct Kept<P: Platform> {
    pub origin: Endpoint,
    /// Bytes of the data.
    pub length: usize,
    /// Cookie by which the origin is told the outcome.
    pub cookie: Option<u32>,
    pub data: Data<P>,
    /// The receive, if it was posted before all data had arrived.
    pub receive: Option<(BufferRange<P::Buffer>, Option<DoneId>)>,
}

/// The messages of a context whose receives are deferred.
pub(crate) struct KeptMessages<P: Platform> {
    messages: BTreeMap<DeferredId, Kept<P>>,
    memory: HeldMemory<P>,
}

impl<P: Platform> KeptMessages<P> {
    /// None.
    pub fn new() -> Self {
        Self {
            messages: BTreeMap::new(),
            memory: HeldMemory::new(DEFERRED_LIMIT),
        }
    }

    /// Keeps a message.
    pub fn put(&mut self, id: DeferredId, message: Kept<P>) {
        self.messages.insert(id, message);
    }

    /// Takes a message out; `None` when it has been received or discarded.
    pub fn take(&mut self, id: DeferredId) -> Option<Kept<P>> {
        self.messages.remove(&id)
    }

    /// Keeps an eager message of `origin` whose data begins to arrive; returns the place for the data, `None` without
    /// room.
    pub fn hold(
        &mut self,
        platform: &P,
        id: DeferredId,
        (origin, cookie): (Endpoint, Option<u32>),
        length: usize,
    ) -> Option<BufferRange<P::Buffer>> {
        let (data, into) = match self.memory.alloc(platform, length) {
            Ok(held) => {
                let into = held.range().clone();
                (Data::Held { held, whole: false }, Some(into))
            }
            Err(error) => (Data::Lost(error), None),
        };
        let message = Kept {
            origin,
            length,
            cookie,
            data,
            receive: None,
        };
        self.put(id, message);
        into
    }

    /// The origins that wait for the outcome of their messages.
    pub fn origins(&self) -> impl Iterator<Item = Endpoint> {
        let waits = self.messages.values().filter(|m| m.cookie.is_some());
        waits.map(|message| message.origin)
    }

    /// Copies held data to the start of `into`.
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range); those of the memory.
    pub fn copy_out(
        &self,
        platform: &P,
        held: HeldBuffer<P>,
        into: &BufferRange<P::Buffer>,
    ) -> Result<(), Fault> {
        self.memory.copy_out(platform, held, into)
    }

    /// Gives up all messages and the kept memory.
    pub fn close(&mut self, platform: &P) {
        self.messages.clear();
        self.memory.close(platform);
    }

    /// Counts of the messages.
    pub fn stats(&self) -> DeferredStats {
        let (held_bytes, peak_held_bytes) = self.memory.held_and_peak();
        DeferredStats {
            messages: self.messages.len(),
            held_bytes,
            peak_held_bytes,
        }
    }
}
