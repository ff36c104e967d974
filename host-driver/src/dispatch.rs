//! Dispatch: what happens when a message arrives (EP-4).

use crate::buffer::BufferRange;
use crate::context::Context;
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::instruction::DoneFn;
use crate::platform::Platform;

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

/// What a dispatch callback wants done with its message.
pub enum Receive<P: Platform> {
    /// Nothing more: the callback has used the immediate data, or does not want the message.
    Consumed,
    /// The message makes no sense: it is dropped, and `advance` returns the error.
    Refused(Box<Error>),
    /// Asynchronous receive: the data is stored at the start of `into`, then `done` is called. A
    /// message longer than `into` is taken off the network and dropped, nothing is stored, and `done`
    /// gets [`Error::MessageTooLong`].
    Into {
        /// Where the message goes.
        into: BufferRange<P::Buffer>,
        /// Called when all of it is there.
        done: Option<DoneFn<P>>,
    },
}

/// Called by `advance` once per message, at its first packet. May post; may not advance.
pub type DispatchFn<P> = Box<dyn FnMut(&Context<P>, &Arrival<'_>) -> Receive<P>>;

/// Dispatch identifiers and their callbacks.
pub(crate) struct DispatchTable<P: Platform> {
    /// One an identifier, as far as identifiers have been used.
    entries: Vec<Entry<P>>,
}

/// What a dispatch identifier has.
enum Entry<P: Platform> {
    Free,
    Set(DispatchFn<P>),
    /// Its callback has been taken out while it runs, so that it may change the table.
    Running,
}

impl<P: Platform> DispatchTable<P> {
    pub fn new() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    /// Sets the callback of `id`; false when it has one already.
    pub fn set(&mut self, id: u8, callback: DispatchFn<P>) -> bool {
        let id = usize::from(id);
        if self.entries.len() <= id {
            self.entries.resize_with(id + 1, || Entry::Free);
        }
        let free = matches!(self.entries[id], Entry::Free);
        if free {
            self.entries[id] = Entry::Set(callback);
        }
        free
    }

    /// Takes the callback of `id` out to be called.
    pub fn take(&mut self, id: u8) -> Option<DispatchFn<P>> {
        let entry = self.entries.get_mut(usize::from(id))?;
        if !matches!(entry, Entry::Set(_)) {
            return None;
        }
        match core::mem::replace(entry, Entry::Running) {
            Entry::Set(callback) => Some(callback),
            Entry::Free | Entry::Running => None,
        }
    }

    /// Puts a callback back after its call.
    pub fn put_back(&mut self, id: u8, callback: DispatchFn<P>) {
        self.entries[usize::from(id)] = Entry::Set(callback);
    }
}
