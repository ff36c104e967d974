//! Work for a context (EP-3, EP-4).

use crate::buffer::BufferRange;
use crate::context::Context;
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::platform::Platform;

/// Done callback: called once, by the thread that advances the context.
pub type DoneFn<P> = Box<dyn FnOnce(&Context<P>, Result<(), Error>)>;

/// A function that the context calls from `advance`.
pub type CallFn<P> = Box<dyn FnOnce(&Context<P>)>;

/// One entry of a context's work queue.
pub enum Instruction<P: Platform> {
    /// Send a message to an endpoint.
    Send(SendMessage<P>),
    /// Call a function from `advance`, in order with the other instructions.
    Call(CallFn<P>),
}

/// SEND: an active message that the dispatch callback `dispatch` of the destination receives.
pub struct SendMessage<P: Platform> {
    /// Where to.
    pub destination: Endpoint,
    /// Dispatch identifier at the destination.
    pub dispatch: u8,
    /// Communication context, handed to the dispatch callback.
    pub comm: u8,
    /// Tag, handed to the dispatch callback.
    pub tag: u32,
    /// The data, kept alive until the DMA engine has read it. Do not change it before `local_done`.
    pub data: BufferRange<P::Buffer>,
    /// Called when the DMA engine has read the data: it may be changed again.
    pub local_done: Option<DoneFn<P>>,
    /// Called when the data is at the destination. Not served by the eager protocol: `post` answers
    /// [`Error::Unsupported`].
    pub remote_done: Option<DoneFn<P>>,
    /// Number by which waves and timelines name the message; `None` lets the context choose.
    pub message_id: Option<u32>,
}

impl<P: Platform> SendMessage<P> {
    /// A SEND without communication context, tag, callbacks and message number.
    #[must_use]
    pub fn new(destination: Endpoint, dispatch: u8, data: BufferRange<P::Buffer>) -> Self {
        Self {
            destination,
            dispatch,
            comm: 0,
            tag: 0,
            data,
            local_done: None,
            remote_done: None,
            message_id: None,
        }
    }
}
