// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dispatch of arriving messages to callbacks (EP-4).

use std::collections::BTreeSet;

use crate::buffer::BufferRange;
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::platform::Platform;
use crate::sync::{Mutex, lock};

/// A message whose first packet has arrived.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    /// The endpoint that sent it.
    pub origin: Endpoint,
    /// Communication context given by the sender.
    pub comm: u8,
    /// Tag given by the sender.
    pub tag: u32,
    /// The header given by the sender: to be used during the callback only.
    pub header: &'a [u8],
    /// Bytes of the data.
    pub length: usize,
    /// All of the data, when it came in one packet: to be used during the callback only.
    pub immediate: Option<&'a [u8]>,
}

/// Disposition of a message, as its dispatch callback returns it. `D` is a done callback, `K` gets a message whose receive is
/// deferred.
pub enum Receive<P: Platform, D, K> {
    /// The message is finished: the callback has used the immediate data, or drops the message.
    Consumed,
    /// The message cannot be received: it is dropped, and its origin is told that it has not been received.
    Dropped,
    /// The message is malformed: it is dropped, its origin is told, and `advance` returns the error.
    Refused(Box<Error>),
    /// Asynchronous receive: the data is stored at the start of `into`, then `done` is called. A
    /// message longer than `into` is taken off the network and dropped, nothing is stored, and `done`
    /// gets [`Error::MessageTooLong`].
    Into {
        /// Where the message goes.
        into: BufferRange<P::Buffer>,
        /// Called when all of it is there.
        done: Option<D>,
    },
    /// Deferred receive: the function gets a [handle](crate::DeferredReceive) to the message, before the dispatch
    /// callback counts as having returned, and the program receives or discards the message by it at any time. Data
    /// that stays at its origin (rendezvous) waits there; eager data is held here, up to
    /// [`DEFERRED_LIMIT`](crate::DEFERRED_LIMIT) bytes of all such messages of the context together. Data that does not
    /// fit is lost: the receive gets [`Error::HeldMemory`].
    Deferred(K),
}

impl<P: Platform, D, K> Receive<P, D, K> {
    /// Maps its done callback by `name`, and the function for a deferred message by `keep`.
    pub(crate) fn map<E, L>(
        self,
        name: impl FnOnce(D) -> E,
        keep: impl FnOnce(K) -> L,
    ) -> Receive<P, E, L> {
        match self {
            Self::Consumed => Receive::Consumed,
            Self::Dropped => Receive::Dropped,
            Self::Refused(error) => Receive::Refused(error),
            Self::Into { into, done } => Receive::Into {
                into,
                done: done.map(name),
            },
            Self::Deferred(kept) => Receive::Deferred(keep(kept)),
        }
    }
}

/// Dispatch identifiers in use, and new callbacks that the advancing thread has not seen yet.
pub(crate) struct NewDispatches<F> {
    used: BTreeSet<u8>,
    new: Vec<(u8, F)>,
}

impl<F> NewDispatches<F> {
    pub fn new() -> Self {
        Self {
            used: BTreeSet::new(),
            new: Vec::new(),
        }
    }

    /// Sets the callback of `id`; false when it has one already.
    pub fn set(&mut self, id: u8, callback: F) -> bool {
        let free = self.used.insert(id);
        if free {
            self.new.push((id, callback));
        }
        free
    }
}

/// Callbacks by dispatch identifier, as the advancing thread sees them.
pub(crate) struct DispatchTable<F> {
    /// One for each identifier up to the highest used.
    callbacks: Vec<Option<F>>,
}

impl<F> DispatchTable<F> {
    pub fn new() -> Self {
        Self {
            callbacks: Vec::new(),
        }
    }

    /// The callback of `id`; takes new ones over if it is not known.
    #[inline]
    pub fn find(&mut self, id: u8, new: &Mutex<NewDispatches<F>>) -> Option<&mut F> {
        let id = usize::from(id);
        if !matches!(self.callbacks.get(id), Some(Some(_))) {
            self.take_new(new);
        }
        self.callbacks.get_mut(id)?.as_mut()
    }

    #[cold]
    fn take_new(&mut self, new: &Mutex<NewDispatches<F>>) {
        for (id, callback) in lock(new).new.drain(..) {
            let id = usize::from(id);
            if self.callbacks.len() <= id {
                self.callbacks.resize_with(id + 1, || None);
            }
            self.callbacks[id] = Some(callback);
        }
    }
}
