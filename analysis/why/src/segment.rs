// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments of the critical path.

/// Kinds of time. The same names divide the critical path and the time of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The program computes.
    Computation,
    /// Software of the driver runs, register accesses included.
    Driver,
    /// Packets are injected, travel, and wait for links.
    Network,
    /// The DMA engine reads and writes memory.
    Memory,
    /// A receive waits for a message that has not been posted.
    LateSender,
    /// A message waits for a receive that has not been posted, and its sender for it.
    LateReceiver,
    /// The driver keeps data of messages that came before their receives, and copies it.
    Unexpected,
    /// A rank has done all that it had to do.
    Ended,
    /// Time that no event accounts for.
    Other,
}

impl Kind {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 9] = [
        Self::Computation,
        Self::Driver,
        Self::Network,
        Self::Memory,
        Self::LateSender,
        Self::LateReceiver,
        Self::Unexpected,
        Self::Ended,
        Self::Other,
    ];

    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::LateSender => "late sender",
            Self::LateReceiver => "late receiver",
            Self::Unexpected => "unexpected messages",
            _ => self.name(),
        }
    }

    /// As documents and files name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Computation => "computation",
            Self::Driver => "driver",
            Self::Network => "network",
            Self::Memory => "memory",
            Self::LateSender => "late_sender",
            Self::LateReceiver => "late_receiver",
            Self::Unexpected => "unexpected_message",
            Self::Ended => "ended",
            Self::Other => "other",
        }
    }
}

/// Where a segment of the critical path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On a software thread: its index in [`Recording::threads`](gyre_timeline::Recording::threads).
    Thread(usize),
    /// In the hardware between two nodes, the same for a message within a node.
    Nodes {
        /// Where it comes from.
        from: u32,
        /// Where it goes.
        to: u32,
    },
}

/// A part of the critical path: each begins where the one before it ends. Times are picoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Its begin.
    pub from_ps: u64,
    /// Its end.
    pub to_ps: u64,
    /// Kind of time.
    pub kind: Kind,
    /// Name of the operation of the driver or the stage of a message.
    pub what: &'static str,
    /// Where.
    pub place: Place,
    /// Serial of the message that it belongs to, if it belongs to one.
    pub message: Option<u64>,
}
