//! What the driver tells a platform that records what becomes of messages.

use crate::endpoint::Endpoint;

/// What the driver has just done, for [`Platform::note`](crate::Platform::note). `at` is the context that it happened in.
/// What happens between a [`Packet`](Self::Packet) and the next [`Handled`](Self::Handled) of a context belongs to the
/// message of the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// An instruction was put on the work queue.
    Posted {
        /// The context.
        at: Endpoint,
    },
    /// The oldest instruction was taken off the work queue; what it sends follows.
    Started {
        /// The context.
        at: Endpoint,
    },
    /// A message is about to be handed to the DMA engine at the call, past the work queue; what it sends follows.
    Injecting {
        /// The context.
        at: Endpoint,
    },
    /// That was not possible: the message is posted as another one.
    Withdrawn {
        /// The context.
        at: Endpoint,
        /// Message id that it was given.
        id: u32,
    },
    /// A message of the program.
    Message {
        /// The context of its origin.
        at: Endpoint,
        /// The context that it is for.
        to: Endpoint,
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
        at: Endpoint,
        /// The context that it is for.
        to: Endpoint,
        /// Message id of its packets.
        id: u32,
        /// Software word 1 of its packets.
        word: u32,
        /// Bytes.
        bytes: u32,
    },
    /// A get was asked for: the request, and the put that answers it, have the same id and word.
    Asked {
        /// The context that wants the data.
        at: Endpoint,
        /// The context that has it.
        from: Endpoint,
        /// Message id of request and answer.
        id: u32,
        /// Software word 1 of request and answer.
        word: u32,
        /// Bytes.
        bytes: u32,
        /// The message whose data it is, by the cookie of its origin; none for a get of the program.
        cookie: Option<u32>,
        /// Whether the program has asked for it.
        program: bool,
    },
    /// A message into a reception FIFO was queued: one of the program, or a part of one, or one of the driver's own.
    Sent {
        /// The context of its origin.
        at: Endpoint,
        /// The context that it is for.
        to: Endpoint,
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
        at: Endpoint,
        /// The context of its origin.
        from: Endpoint,
        /// Its dispatch identifier.
        dispatch: u8,
        /// Its tag.
        tag: u32,
        /// It is the first of its message.
        first: bool,
        /// It is the last of its message.
        last: bool,
    },
    /// The packet has been dealt with.
    Handled {
        /// The context.
        at: Endpoint,
    },
    /// The message stays at its origin, which knows it by a cookie.
    Announced {
        /// The context that it is for.
        at: Endpoint,
        /// The context of its origin.
        from: Endpoint,
        /// Its cookie.
        cookie: u32,
    },
    /// The data of the message has been fetched, and its receive has ended.
    Fetched {
        /// The context that it is for.
        at: Endpoint,
        /// The context of its origin.
        from: Endpoint,
        /// Its cookie.
        cookie: u32,
    },
    /// The message has found no receive; it is known by a number until it has one.
    Unexpected {
        /// The context.
        at: Endpoint,
        /// The number, which only one module of the context uses.
        number: u64,
    },
    /// The message has found its receive.
    Matched {
        /// The context.
        at: Endpoint,
        /// Number of the receive, which only one module of the context uses.
        request: u64,
    },
    /// A receive has found a message that came before it.
    Paired {
        /// The context.
        at: Endpoint,
        /// Number of the message.
        number: u64,
        /// Number of the receive.
        request: u64,
    },
    /// A receive has ended.
    Finished {
        /// The context.
        at: Endpoint,
        /// Number of the receive.
        request: u64,
    },
    /// A message of this context was acknowledged by its target.
    Acknowledged {
        /// The context.
        at: Endpoint,
        /// Its cookie.
        cookie: u32,
    },
}
