// SPDX-License-Identifier: MIT OR Apache-2.0
//! Faults that tests plant, and what they look at.

/// A planted fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Packet number n (counted over the machine) is lost.
    LosePacket(u64),
    /// Packet number n arrives twice.
    DoublePacket(u64),
    /// A payload byte of packet number n is flipped.
    FlipByte(u64),
    /// The lowest bit of a byte of a packet is flipped.
    FlipAt {
        /// Number of the packet.
        packet: u64,
        /// Which byte of its payload.
        at: usize,
    },
    /// HEAD moves when a descriptor starts instead of when its data has been read.
    EarlyHead,
    /// TAIL of reception FIFOs reads 32 bytes too far while data is there.
    TailBeyond,
    /// No wake-up events.
    NoWake,
    /// Puts of no bytes overtake what travels before them.
    OvertakingSync,
    /// Node n refuses the next zero-length put that it receives.
    RefuseSync(usize),
    /// Node n refuses the message into a reception FIFO that it starts after so many others.
    RefuseMessage {
        /// The node.
        node: usize,
        /// How many of its messages it starts before that one, counted from its first.
        after: u64,
    },
    /// The next read-modify-write arrives damaged.
    CutRmw,
    /// Memory-FIFO packets with a dispatch identifier name another node as their source.
    WrongSource {
        /// The dispatch identifier.
        dispatch: u8,
        /// The node that they name.
        node: usize,
    },
}

/// A first packet put into a reception FIFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit {
    /// The node.
    pub node: usize,
    /// The reception FIFO.
    pub fifo: u16,
    /// Identifier of the message.
    pub message: u32,
}
