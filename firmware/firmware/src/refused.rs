// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets of other nodes that the DMA engine of this node has refused.

use gyre_layout::registers::{REFUSALS, refusal, refusals};
use gyre_layout::{Coord, ErrorReason, Kind};

use crate::access::{Register, RegisterAccess};
use crate::error::NodeError;
use crate::node::Node;

/// Packets of one source that were refused: one at least of every software word from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedPackets {
    /// Sender.
    pub source: Coord,
    /// Kind of the packets, or its code if it has no meaning.
    pub kind: Result<Kind, u8>,
    /// Lower 30 bits of a software word: of a memory FIFO or read-modify-write word 0, of a put or remote get word 1.
    pub first_word: u32,
    /// The same of the last; it may have wrapped.
    pub last_word: u32,
    /// Why the first was refused, or the code if it has no meaning.
    pub reason: Result<ErrorReason, u8>,
    /// FIFO or slot that the first was for.
    pub place: u16,
}

/// Bits of [`RefusedPackets::first_word`].
pub const WORD_BITS: u32 = 30;

impl RefusedPackets {
    /// From the registers INFO and PLACE of an entry.
    #[must_use]
    pub fn decode(info: u64, place: u64) -> Self {
        // Each field is narrower than its type.
        let kind = refusal::info::KIND.get(info) as u8;
        let reason = refusal::place::REASON.get(place) as u8;
        Self {
            source: Coord::unpack(refusal::info::SRC.get(info) as u32),
            kind: Kind::try_from(kind).map_err(|_| kind),
            first_word: refusal::info::SOFTWARE.get(info) as u32,
            last_word: refusal::place::LAST.get(place) as u32,
            reason: ErrorReason::try_from(reason).map_err(|_| reason),
            place: refusal::place::WHERE.get(place) as u16,
        }
    }

    /// The software words, in order.
    pub fn words(&self) -> impl Iterator<Item = u32> + use<> {
        let mask = (1 << WORD_BITS) - 1;
        let first = self.first_word;
        let more = self.last_word.wrapping_sub(first) & mask;
        (0..=more).map(move |step| first.wrapping_add(step) & mask)
    }
}

impl Register {
    /// Which entries hold refused packets, and how many found none.
    pub const REFUSED: Self = Self::node("REFUSED", REFUSALS + refusals::REFUSED);

    /// INFO of entry `entry` of the refused packets.
    #[must_use]
    pub const fn refused_info(entry: u16) -> Self {
        Self::refused("refused packet INFO", entry, refusal::INFO)
    }

    /// PLACE of entry `entry` of the refused packets: written back, it frees the entry, unless a packet has joined
    /// it meanwhile.
    #[must_use]
    pub const fn refused_place(entry: u16) -> Self {
        Self::refused("refused packet PLACE", entry, refusal::PLACE)
    }

    const fn refused(name: &'static str, entry: u16, offset: u64) -> Self {
        Self {
            name,
            index: Some(entry),
            address: REFUSALS + refusals::entry(entry as u64) + offset,
        }
    }
}

impl<A: RegisterAccess> Node<A> {
    /// Gives the refused packets to `each` and frees their entries. The result is how many were refused since
    /// reset of the node while no entry was free.
    ///
    /// # Errors
    /// [`NodeError::Access`].
    pub fn take_refused(
        &mut self,
        mut each: impl FnMut(RefusedPackets),
    ) -> Result<u32, NodeError<A::Error>> {
        let status = self.read(Register::REFUSED)?;
        let valid = refusals::refused::VALID.get(status);
        for entry in (0..refusals::ENTRY_COUNT as u16).filter(|entry| valid >> entry & 1 != 0) {
            let info = self.read(Register::refused_info(entry))?;
            let place = self.read(Register::refused_place(entry))?;
            self.write(Register::refused_place(entry), place)?;
            each(RefusedPackets::decode(info, place));
        }
        // The field has 32 bits.
        Ok(refusals::refused::LOST.get(status) as u32)
    }
}
