// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets between nodes, and the order that the network keeps.

use gyre_layout::{Descriptor, Header, PutTarget};

/// A lane: packets of one stay in order between two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// Packets of a virtual channel class, by its code.
    Class(u8),
    /// Copies that packets to a node leave on their way.
    Copies(usize),
    /// Packets of a flow, by its number at the source.
    Flow(u8),
    /// Dynamic packets that took the same of several ways.
    Dynamic(usize),
}

/// Groups of lanes: requests, responses, everything else.
pub(crate) const GROUPS: usize = 3;

impl Lane {
    /// The group of the lane, below [`GROUPS`].
    pub fn group(self) -> u8 {
        match self {
            Self::Class(class) => class.min(GROUPS as u8 - 1),
            Self::Copies(_) | Self::Flow(_) | Self::Dynamic(_) => GROUPS as u8 - 1,
        }
    }
}

/// Ways of dynamic packets, which overtake each other.
pub(crate) const WAYS: usize = 5;

/// A packet between two nodes.
pub(crate) struct Packet {
    pub to: usize,
    pub header: Header,
    /// Where a put goes, instead of its coded form in the header.
    pub put: PutTarget,
    /// The request of a read-modify-write.
    pub request: Option<Descriptor>,
    pub payload: Vec<u8>,
    pub message: u32,
    /// Of a packet of a flow: the flow at the target, and its number there.
    pub order: Option<(usize, u64)>,
}
