// SPDX-License-Identifier: MIT OR Apache-2.0
//! Notes of the driver to a platform that records the course of messages; timelines are made of them.

#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

/// A context of the driver: its task and client, and its offset among the client's contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// A fence of this context, or of a peer at this context, took a step.
    Fence {
        /// The context.
        at: Context,
        /// The context at the other end.
        peer: Context,
        /// Number of the fence at its origin.
        cookie: u32,
        /// The step.
        step: FenceStep,
    },
    /// Packets that the node has refused were taken from its registers.
    Refused {
        /// The context that has taken them.
        at: Context,
        /// Coordinates of the sender.
        source: [u8; 5],
        /// Code of the packet kind.
        kind: u8,
        /// Code of the reason.
        reason: u8,
    },
    /// A done callback is about to be called.
    Completed {
        /// The context.
        at: Context,
        /// Whether the operation has failed.
        failed: bool,
    },
    /// A collective began or ended at this member.
    Collective {
        /// The context of the member.
        at: Context,
        /// Number of the geometry.
        geometry: u16,
        /// Number of the collective on the geometry.
        sequence: u32,
        /// Number of the collective's kind, in declaration order.
        collective: u8,
        /// Number of its algorithm, in declaration order.
        algorithm: u8,
        /// The step.
        step: CollectiveStep,
    },
    /// A thread of an MPI program took a step that its traces contain.
    Program {
        /// The context of its endpoint.
        at: Context,
        /// Time that the thread has spent outside of the library since the step before, picoseconds.
        outside_ps: u64,
        /// The step.
        step: ProgramStep,
    },
}

/// A step of an MPI program. Numbers are those of the operations of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProgramStep {
    /// MPI is ready for use.
    Begun,
    /// A message is sent.
    Send {
        /// Number of the operation.
        number: u32,
        /// The task that it is for.
        to: u32,
        /// Its tag, with which it is matched.
        tag: u64,
        /// Bytes.
        bytes: u32,
    },
    /// A receive is posted.
    Receive {
        /// Number of the operation.
        number: u32,
    },
    /// The program has learned of the end of a send.
    Sent {
        /// Number of the operation.
        number: u32,
    },
    /// The program has learned of the end of a receive.
    Received {
        /// Number of the operation.
        number: u32,
        /// The task that has sent the message.
        from: u32,
        /// Its tag.
        tag: u64,
        /// Bytes.
        bytes: u32,
    },
    /// Something that is no message between two tasks.
    Other(OtherStep),
    /// The program ends its use of MPI.
    Ending,
}

/// Communication that is no message with a receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OtherStep {
    /// Memory of another task is read or written.
    OneSided,
    /// A message without a tag, which MPI libraries send for their own purposes, such as accumulations.
    Untagged,
    /// Tasks of a node share a window.
    SharedWindow,
}

impl OtherStep {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::OneSided => "a one-sided operation",
            Self::Untagged => "an active message of MPI (as for accumulations)",
            Self::SharedWindow => "a shared window",
        }
    }
}

/// A step of a fence (FN-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FenceStep {
    /// The origin sends FENCE.
    Begun,
    /// The target has received FENCE: everything sent before it has been handled there.
    Requested,
    /// The target waits for puts and gets before the fence.
    Synchronising,
    /// The target answers.
    Answering,
    /// The origin has received the answer.
    Answered,
    /// The origin's own gets before the fence have landed.
    OwnGetsLanded,
    /// The fence has ended at its origin.
    Ended,
    /// The fence has ended at its origin with an error.
    Failed,
}

/// A step of a collective at a member (EP-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CollectiveStep {
    /// The member carries out the first steps of its schedule next.
    Begun,
    /// All steps of its schedule have ended.
    Ended,
    /// The collective has ended with an error.
    Failed,
}

impl Note {
    /// The context in which it happened.
    #[must_use]
    pub const fn at(&self) -> Context {
        match *self {
            Self::Posted { at }
            | Self::Started { at }
            | Self::Injecting { at }
            | Self::Handled { at }
            | Self::Withdrawn { at, .. }
            | Self::Message { at, .. }
            | Self::Put { at, .. }
            | Self::Asked { at, .. }
            | Self::Sent { at, .. }
            | Self::Packet { at, .. }
            | Self::Announced { at, .. }
            | Self::Fetched { at, .. }
            | Self::Unexpected { at, .. }
            | Self::Matched { at, .. }
            | Self::Paired { at, .. }
            | Self::Finished { at, .. }
            | Self::Acknowledged { at, .. }
            | Self::Fence { at, .. }
            | Self::Refused { at, .. }
            | Self::Completed { at, .. }
            | Self::Collective { at, .. }
            | Self::Program { at, .. } => at,
        }
    }
}
