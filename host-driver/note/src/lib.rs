// SPDX-License-Identifier: MIT OR Apache-2.0
//! Notes of the driver to a platform that records the course of messages; timelines are made of them.

#![forbid(unsafe_code)]

/// A context of the driver: its task and client, and its offset among the client's contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Context {
    /// Task.
    pub task: u32,
    /// Client of the task.
    pub client: u8,
    /// Offset.
    pub offset: u8,
}

/// Event of the driver. `at` is the context in which it happened. The events between a [`Packet`](Self::Packet) and the
/// next [`Handled`](Self::Handled) of a context belong to the message of the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// An instruction was put on the work queue.
    Posted {
        /// The context.
        at: Context,
    },
    /// The oldest instruction was taken off the work queue; its messages follow.
    Started {
        /// The context.
        at: Context,
    },
    /// A message is about to be handed to the DMA engine at the call, past the work queue; its notes follow.
    Injecting {
        /// The context.
        at: Context,
    },
    /// The message could not be injected: it is posted as another one.
    Withdrawn {
        /// The context.
        at: Context,
        /// Its message id.
        id: u32,
    },
    /// A message of the program.
    Message {
        /// The context of its origin.
        at: Context,
        /// The context that it is for.
        to: Context,
        /// Message id of its packets.
        id: u32,
        /// Its tag.
        tag: u32,
        /// Bytes of its data.
        bytes: u32,
    },
    /// A direct put of the program.
    Put {
        /// The context of its origin.
        at: Context,
        /// The context that it is for.
        to: Context,
        /// Message id of its packets.
        id: u32,
        /// Software word 1 of its packets.
        word: u32,
        /// Bytes.
        bytes: u32,
    },
    /// A get was requested: the request, and the put that serves it, have the same id and word.
    Asked {
        /// The context that gets the data.
        at: Context,
        /// The context that has it.
        from: Context,
        /// Message id of request and response.
        id: u32,
        /// Software word 1 of request and response.
        word: u32,
        /// Bytes.
        bytes: u32,
        /// Cookie of the message whose data it fetches, at its origin; `None` for a get of the program.
        cookie: Option<u32>,
        /// Whether it is a get of the program.
        program: bool,
    },
    /// A message into a reception FIFO was queued: a message of the program, a part of one, or a control message.
    Sent {
        /// The context of its origin.
        at: Context,
        /// The context that it is for.
        to: Context,
        /// Message id of its packets.
        id: u32,
        /// Dispatch identifier of its packets.
        dispatch: u8,
        /// Software word 0 of its packets.
        word: u32,
        /// Its tag.
        tag: u32,
    },
    /// A packet was taken out of the reception FIFO.
    Packet {
        /// The context that has taken it.
        at: Context,
        /// The context of its origin.
        from: Context,
        /// Its dispatch identifier.
        dispatch: u8,
        /// Its tag.
        tag: u32,
        /// It is the first of its message.
        first: bool,
        /// It is the last of its message.
        last: bool,
    },
    /// The packet has been handled.
    Handled {
        /// The context.
        at: Context,
    },
    /// The data of a message stays at its origin, under a cookie.
    Announced {
        /// The context that it is for.
        at: Context,
        /// The context of its origin.
        from: Context,
        /// Its cookie.
        cookie: u32,
    },
    /// The data of the message has been fetched, and its receive has ended.
    Fetched {
        /// The context that it is for.
        at: Context,
        /// The context of its origin.
        from: Context,
        /// Its cookie.
        cookie: u32,
    },
    /// The message has found no receive; a number names it until it has one.
    Unexpected {
        /// The context.
        at: Context,
        /// The number, which only one module of the context uses.
        number: u64,
    },
    /// The message has found its receive.
    Matched {
        /// The context.
        at: Context,
        /// Number of the receive, which only one module of the context uses.
        request: u64,
    },
    /// A receive has found a message that came before it.
    Paired {
        /// The context.
        at: Context,
        /// Number of the message.
        number: u64,
        /// Number of the receive.
        request: u64,
    },
    /// A receive has ended.
    Finished {
        /// The context.
        at: Context,
        /// Number of the receive.
        request: u64,
    },
    /// A message of this context was acknowledged by its target.
    Acknowledged {
        /// The context.
        at: Context,
        /// Its cookie.
        cookie: u32,
    },
}
