// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages on the machine: their dispatches and headers.

use gyre_driver::Arrival;

use crate::abi::flags;
use crate::matcher::Envelope;

/// Kinds of messages; each matches receives of its own kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Matched by source.
    Untagged = 0,
    /// Matched by source and tag.
    Tagged = 1,
}

/// How the data of a message travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// With the message.
    Eager = 0,
    /// When the message has been matched.
    Rendezvous = 1,
}

impl Kind {
    /// Number of the dispatch.
    pub const fn dispatch(self, protocol: Protocol) -> u8 {
        self as u8 * 2 + protocol as u8
    }

    /// The flag of its completions.
    pub const fn flag(self) -> u64 {
        match self {
            Self::Untagged => flags::MSG,
            Self::Tagged => flags::TAGGED,
        }
    }
}

/// Dispatches of short one-sided writes and their answers, behind those of messages.
pub const WRITE: u8 = 4;
pub const WRITTEN: u8 = 5;

/// Communication context of an envelope with remote CQ data.
const WITH_DATA: u8 = 1;

/// Header of a message: its tag and remote CQ data.
pub struct Header {
    /// The tag.
    pub tag: u64,
    /// Remote CQ data.
    pub data: Option<u64>,
}

impl Header {
    /// Bytes of a header.
    pub const BYTES: usize = 16;

    /// Encodes it as bytes and communication context.
    pub fn encode(&self) -> ([u8; Self::BYTES], u8) {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.tag.to_le_bytes());
        bytes[8..].copy_from_slice(&self.data.unwrap_or(0).to_le_bytes());
        (bytes, self.data.map_or(0, |_| WITH_DATA))
    }

    /// Decodes an arrived header. A truncated one becomes zeros; no endpoint of this provider sends it.
    pub fn decode(arrival: &Arrival<'_>) -> Envelope {
        let number = |from: usize| {
            let bytes = arrival.header.get(from..from + 8);
            let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
            u64::from_le_bytes(bytes.unwrap_or_default())
        };
        Envelope {
            source: (arrival.origin.task(), arrival.origin.context_offset()),
            tag: number(0),
            data: (arrival.comm == WITH_DATA).then(|| number(8)),
            length: arrival.length,
        }
    }
}
