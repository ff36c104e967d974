// SPDX-License-Identifier: MIT OR Apache-2.0
//! Disturbances of the links and memory ports of a machine, for tests.

use crate::record::FLIT_WORDS;

/// A disturbance of a link, for tests of its checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFault {
    /// Sending node.
    pub node: usize,
    /// Sending port, as in [`crate::LinkTransfer`].
    pub port: usize,
    /// The first flit sent in this cycle or later is disturbed.
    pub from_cycle: u64,
    /// Bits of the control word that flip.
    pub word: u32,
    /// Bits of the data that flip.
    pub data: [u64; 2],
}

/// Memory channels of an AXI master that can be held not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxiChannels {
    /// Read addresses.
    ReadAddress,
    /// Write addresses.
    WriteAddress,
    /// Write data.
    WriteData,
    /// All three.
    All,
}

impl AxiChannels {
    /// Bit 0 read addresses, 1 write addresses, 2 write data.
    pub(crate) fn mask(self) -> u8 {
        match self {
            AxiChannels::ReadAddress => 1,
            AxiChannels::WriteAddress => 2,
            AxiChannels::WriteData => 4,
            AxiChannels::All => 7,
        }
    }
}

/// Time of a flip, in cycles of the sender's output register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlipTime {
    /// In this cycle, whatever the link carries.
    Cycle(u64),
    /// With the first flit (or barrier pulse) of this cycle or later.
    Flit(u64),
    /// With the first last flit of a packet of this cycle or later.
    Tail(u64),
    /// With the first credit of this cycle or later.
    Credit(u64),
}

impl FlipTime {
    /// The first cycle in which it can be.
    pub fn from_cycle(self) -> u64 {
        match self {
            Self::Cycle(cycle) | Self::Flit(cycle) | Self::Tail(cycle) | Self::Credit(cycle) => {
                cycle
            }
        }
    }
}

/// Wires of a link that are wrong for one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireFlip {
    /// Sending node.
    pub node: usize,
    /// Sending port, as in [`crate::LinkTransfer`].
    pub port: usize,
    /// When.
    pub time: FlipTime,
    /// Bits of the control word that flip; nothing on barrier wires.
    pub word: u32,
    /// Bits of the data that flip; of barrier wires one bit a barrier route.
    pub data: [u64; 2],
}

/// Changes the header of a packet on a link. Check bits of all its flits fit the changed packet: only checks of headers can
/// notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forgery {
    /// Sending node.
    pub node: usize,
    /// Sending port of the torus or tree, as in [`crate::LinkTransfer`].
    pub port: usize,
    /// The packet is the first whose head is sent in this cycle or later.
    pub from: u64,
    /// Bits of the header that are other ones, in 64-bit words, the lowest first.
    pub header: [u64; 2 * FLIT_WORDS],
}
