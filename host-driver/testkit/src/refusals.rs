// SPDX-License-Identifier: MIT OR Apache-2.0
//! The log of packets that a node has refused.

use gyre_layout::registers::{refusal, refusals};
use gyre_layout::{ErrorReason, Header, Kind};

/// Bytes between the registers of two entries.
const ENTRY_BYTES: u64 = 0x10;
/// Bits of the software word that an entry keeps.
const WORD: u32 = 0x3fff_ffff;

/// The log: INFO and PLACE of each entry, and how many packets found none.
#[derive(Default)]
pub(crate) struct Refusals {
    entries: [Option<(u64, u64)>; refusals::ENTRY_COUNT as usize],
    lost: u64,
}

impl Refusals {
    /// Keeps a refused packet, with its software word.
    pub fn keep(&mut self, header: &Header, word: u32, reason: ErrorReason) {
        let word = u64::from(word & WORD);
        let info = refusal::info::SRC.put(header.src.pack().expect("a node").into())
            | refusal::info::KIND.put(u8::from(header.kind).into());
        for (first, place) in self.entries.iter_mut().flatten() {
            let last = refusal::place::LAST.get(*place);
            let there = refusal::place::WHERE.get(*place) == header.target.into();
            let same = refusal::info::SOFTWARE.set(*first, 0) == info
                && (there || header.kind == Kind::Put);
            if same && [last, (last + 1) & u64::from(WORD)].contains(&word) {
                *place = refusal::place::LAST.set(*place, word);
                return;
            }
        }
        let place = refusal::place::REASON.put(u8::from(reason).into())
            | refusal::place::WHERE.put(header.target.into())
            | refusal::place::LAST.put(word);
        match self.entries.iter_mut().find(|entry| entry.is_none()) {
            Some(free) => *free = Some((info | refusal::info::SOFTWARE.put(word), place)),
            None => self.lost += 1,
        }
    }

    /// Reads a register.
    pub fn read(&self, offset: u64) -> Option<u64> {
        if offset == refusals::REFUSED {
            let valid = (self.entries.iter().enumerate())
                .filter(|(_, entry)| entry.is_some())
                .map(|(e, _)| 1 << e);
            return Some(
                refusals::refused::VALID.put(valid.sum()) | refusals::refused::LOST.put(self.lost),
            );
        }
        let (entry, offset) = entry(offset)?;
        let (info, place) = self.entries[entry].unwrap_or_default();
        match offset {
            refusal::INFO => Some(info),
            refusal::PLACE => Some(place),
            _ => None,
        }
    }

    /// Writes a register: PLACE as it was read frees its entry.
    pub fn write(&mut self, offset: u64, value: u64) -> Option<()> {
        let (entry, offset) = entry(offset)?;
        if offset != refusal::PLACE {
            return None;
        }
        let last = |place| refusal::place::LAST.get(place);
        self.entries[entry].take_if(|entry| last(entry.1) == last(value));
        Some(())
    }
}

/// The entry that a register belongs to, and its offset there.
fn entry(offset: u64) -> Option<(usize, u64)> {
    let at = offset.checked_sub(refusals::entry(0))?;
    let entry = (at / ENTRY_BYTES) as usize;
    (entry < refusals::ENTRY_COUNT as usize).then_some((entry, at % ENTRY_BYTES))
}
