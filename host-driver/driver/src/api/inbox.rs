// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inboxes: active messages that a thread takes at a time of its choice, instead of a callback at their arrival.

use std::collections::VecDeque;

use crate::am::dispatch::Arrival;
use crate::api::context::{Context, Receive};
use crate::buffer::BufferRange;
use crate::cost::{COPY_CHUNK, Op};
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::platform::Platform;
use crate::slice::{Element, elements};
use crate::sync::{Arc, Mutex, lock};

/// A complete active message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The endpoint that sent it.
    pub origin: Endpoint,
    /// Communication context given by the sender.
    pub comm: u8,
    /// Tag given by the sender.
    pub tag: u32,
    /// Header given by the sender.
    pub header: Vec<u8>,
    /// The data.
    pub data: Vec<u8>,
}

impl Message {
    /// The data as text; invalid UTF-8 is replaced.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.data).into_owned()
    }

    /// The data as elements of type `T`.
    ///
    /// # Errors
    /// [`Error::ElementLength`] when it is not a whole number of them.
    pub fn elements<T: Element>(&self) -> Result<Vec<T>, Error> {
        elements(&self.data)
    }
}

type Queue = Arc<Mutex<VecDeque<Result<Message, Error>>>>;

/// The messages with one dispatch identifier that a context has received, in the order of their last bytes (EP-4). Long
/// messages allocate memory, as much as peers send: use an inbox where that is bounded; a [dispatch
/// callback](Context::set_dispatch) can choose where a message goes, or refuse it.
pub struct Inbox<P: Platform> {
    context: Context<P>,
    queue: Queue,
}

impl<P: Platform> Inbox<P> {
    /// An inbox for the messages with dispatch identifier `id`, 0 to 223. Create it before the context is advanced over
    /// such messages: earlier ones wait in the reception FIFO.
    ///
    /// # Errors
    /// [`Error::DispatchInUse`], [`Error::ReservedDispatch`].
    pub fn create(context: &Context<P>, id: u8) -> Result<Self, Error> {
        let queue = Queue::default();
        let ours = Arc::clone(&queue);
        let callback =
            move |context: &Context<P>, arrival: &Arrival<'_>| arrive(context, arrival, &ours);
        context.set_dispatch(id, Box::new(callback))?;
        Ok(Self {
            context: context.clone(),
            queue,
        })
    }

    /// The next message if it has arrived. Messages arrive in `advance`.
    ///
    /// # Errors
    /// The error of a message that could not be received; it is taken.
    pub fn try_next(&self) -> Result<Option<Message>, Error> {
        lock(&self.queue).pop_front().transpose()
    }

    /// The next message: advances the context until it has arrived, as [`Context::advance_until`] does. Call it without
    /// the lock, never from a callback.
    ///
    /// # Errors
    /// As [`Inbox::try_next`] and [`Context::advance_until`].
    pub fn next(&self) -> Result<Message, Error> {
        let mut next = None;
        self.context.advance_until(|| {
            next = self.try_next().transpose();
            next.is_some()
        })?;
        // The value exists: the loop has ended.
        next.unwrap_or(Err(Error::Destroyed))
    }

    /// The next `count` messages, which it waits for as [`Inbox::next`] does.
    ///
    /// # Errors
    /// As [`Inbox::next`].
    pub fn take(&self, count: usize) -> Result<Vec<Message>, Error> {
        (0..count).map(|_| self.next()).collect()
    }
}

/// Puts an arriving message into the inbox when it is complete.
fn arrive<P: Platform>(context: &Context<P>, arrival: &Arrival<'_>, queue: &Queue) -> Receive<P> {
    let message = Message {
        origin: arrival.origin,
        comm: arrival.comm,
        tag: arrival.tag,
        header: arrival.header.to_vec(),
        data: arrival.immediate.unwrap_or_default().to_vec(),
    };
    if let Some(data) = arrival.immediate {
        let chunks = (arrival.header.len() + data.len()).div_ceil(COPY_CHUNK);
        context.platform().charge(Op::CopyChunk, chunks as u64);
        lock(queue).push_back(Ok(message));
        return Receive::Consumed;
    }
    let into = match BufferRange::zeroed(context.platform(), arrival.length) {
        Ok(into) => into,
        Err(error) => return Receive::Refused(Box::new(error.into())),
    };
    let (from, queue) = (into.clone(), Arc::clone(queue));
    Receive::Into {
        into,
        done: Some(Box::new(move |_, result| {
            let received = result.and_then(|()| {
                let mut data = vec![0; from.len()];
                from.read(0, &mut data)?;
                Ok(Message { data, ..message })
            });
            lock(&queue).push_back(received);
        })),
    }
}
