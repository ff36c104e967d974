// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events: what happened when and where.

use gyre_note::Note;
use serde::{Deserialize, Serialize};

/// Something that happened in a run. Times are picoseconds of simulated time since the machine's reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When it happened, or began.
    pub ps: u64,
    /// When it ended; `ps` of what takes no time.
    pub end_ps: u64,
    /// Node on which it happened.
    pub node: u32,
    /// Which of the node's lanes it belongs to.
    pub lane: Lane,
    /// Its number among those of its lane at the same time, from 0. Given by [`Recording::events`](crate::Recording::events).
    #[serde(skip)]
    pub serial: u32,
    /// Kind of event.
    pub what: What,
}

impl Event {
    /// An event between two times, in picoseconds.
    #[must_use]
    pub const fn new(node: u32, lane: Lane, (ps, end_ps): (u64, u64), what: What) -> Self {
        Self {
            ps,
            end_ps,
            node,
            lane,
            serial: 0,
            what,
        }
    }
}

/// A part of a node whose events have an order of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Lane {
    /// A software thread, by its number on the node.
    Thread(u32),
    /// Register writes that tell the DMA engine of descriptors.
    Tails,
    /// Descriptors that the DMA engine reads.
    Fetches,
    /// Writes of the DMA engine to memory.
    Writes,
    /// Wake-up and interrupt outputs.
    Levels,
    /// An outgoing link, by the port it leaves by.
    Link(u8),
    /// How busy that link is.
    Load(u8),
}

/// Kind of packet, by its code in the packet header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PacketKind(pub u8);

impl PacketKind {
    /// A packet for a reception FIFO.
    pub const MEMORY_FIFO: Self = Self(1);
    /// A direct put.
    pub const PUT: Self = Self(2);
    /// Descriptors for an injection FIFO.
    pub const REMOTE_GET: Self = Self(3);

    /// Which of a packet's two software words, as they stand in its header, names the message together with its id.
    #[must_use]
    pub const fn word(self, software: [u32; 2]) -> u32 {
        match self {
            // Who sent it and who handles it.
            Self::MEMORY_FIFO => software[0],
            // The first is a counter's, on the wire.
            _ => software[1],
        }
    }
}

/// Kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// A thread has spent time in an operation of the driver.
    Spent {
        /// Which: an index into [`Recording::operations`](crate::Recording::operations).
        operation: u8,
        /// How many of them.
        count: u32,
    },
    /// A thread has not run.
    Waited {
        /// Reason of the wait.
        why: Why,
        /// The thread that has ended it, by its number on the node; none if the hardware or the clock has.
        by: Option<u32>,
    },
    /// The driver has noted something.
    Note(Note),
    /// An operation of the program has ended.
    Operation {
        /// Its line in the text of the program; 0 where that is not known.
        line: u32,
    },
    /// The tail of an injection FIFO was written: descriptors are there. At the register's port.
    Tail {
        /// Number of the FIFO on its node.
        fifo: u16,
        /// Place in the ring of the first new descriptor.
        first: u16,
        /// New descriptors.
        count: u16,
        /// Places in the ring.
        places: u16,
    },
    /// The DMA engine has read a descriptor: when memory was sampled.
    Fetch {
        /// Number of the FIFO on its node.
        fifo: u16,
        /// Its place in the ring.
        place: u16,
        /// Kind of its packets.
        kind: PacketKind,
        /// Message id.
        id: u32,
        /// Software word, as [`PacketKind::word`] gives it.
        word: u32,
        /// Payload bytes.
        bytes: u32,
    },
    /// A packet on a link: from its first flit at the sender's register to the end of its last.
    Hop {
        /// Virtual channel.
        channel: u8,
        /// Kind of the packet.
        kind: PacketKind,
        /// Its flits.
        flits: u16,
        /// Message id.
        id: u32,
        /// Software word, as [`PacketKind::word`] gives it.
        word: u32,
    },
    /// How many flits left by a link in an interval; intervals without any are left out.
    Load {
        /// Flits.
        flits: u32,
    },
    /// The DMA engine has written memory: from the last beat of a burst until its data is visible.
    Written {
        /// Bytes.
        bytes: u32,
        /// Message id of the packet; 0 for what comes from none.
        id: u32,
    },
    /// Wake-up outputs (bit 0 on) and the interrupt output (bit 16) as they are from now on.
    Levels {
        /// The outputs.
        levels: u32,
    },
}

/// Reasons for which a thread does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Why {
    /// The end of a computation: its time passes.
    Compute,
    /// The answer to a register access.
    Register,
    /// A wake-up of the node.
    WakeUp,
    /// Another thread's news.
    News,
    /// A lock.
    Lock,
}

impl Why {
    /// In a word or two.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Register => "register access",
            Self::WakeUp => "wait for a wake-up",
            Self::News => "wait for another thread",
            Self::Lock => "wait for a lock",
        }
    }
}
