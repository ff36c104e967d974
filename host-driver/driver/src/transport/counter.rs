// SPDX-License-Identifier: MIT OR Apache-2.0
//! Byte counters of a context: 8 B each, little-endian, lowered by the DMA engine as puts arrive (HW-1). They are in
//! pairs: the target of a read-modify-write lowers the second one to refuse it.

use crate::cost::Op;
use crate::error::{Error, Fault};
use crate::platform::{DmaBuffer, Platform};
use gyre_layout::CounterRef;

/// Bytes of a counter.
pub(crate) const COUNTER_BYTES: usize = 8;
/// Bytes of a pair.
const PAIR_BYTES: usize = 2 * COUNTER_BYTES;
/// Counters that the header of a put can name in one slot.
pub(crate) const REACH: u32 = 1 << 22;

/// Number of the first of the counters in `memory`, all of which puts can name.
///
/// # Errors
/// [`Error::CounterReach`] when the memory lies too far into its slot.
pub(crate) fn index_of(memory: &impl DmaBuffer) -> Result<u32, Fault> {
    let counters = (memory.len() / COUNTER_BYTES) as u64;
    let first = memory.offset() / COUNTER_BYTES as u64;
    if first + counters > u64::from(REACH) {
        return Err(Error::CounterReach {
            offset: memory.offset(),
            bytes: memory.len(),
        }
        .into());
    }
    // Below 2^22.
    Ok(first as u32)
}

/// Contents of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// Bytes are outstanding.
    Open,
    /// All bytes have landed.
    Zero,
    /// The request was refused.
    Refused,
}

/// The counters of a context, and the free ones.
pub(crate) struct CounterBlock<P: Platform> {
    memory: Option<P::Buffer>,
    /// Number of counter 0 in its slot.
    first: u32,
    free: Vec<u16>,
}

impl<P: Platform> CounterBlock<P> {
    /// Allocates `count` pairs.
    ///
    /// # Errors
    /// [`Error::Alloc`], [`Error::CounterReach`] when the memory lies too far into its slot.
    pub fn open(platform: &P, count: u16) -> Result<Self, Fault> {
        platform.charge(Op::Allocate, 1);
        let memory = platform.alloc(usize::from(count) * PAIR_BYTES, PAIR_BYTES)?;
        let first = index_of(&memory)?;
        Ok(Self {
            memory: Some(memory),
            first,
            free: (0..count).rev().collect(),
        })
    }

    /// Whether a pair is free.
    pub fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Takes a free pair, sets both counters to `value`, and returns the first.
    pub fn take(&mut self, platform: &P, value: u64) -> Result<Option<(u16, CounterRef)>, Fault> {
        let Some(memory) = &self.memory else {
            return Err(Error::Destroyed.into());
        };
        let Some(index) = self.free.pop() else {
            return Ok(None);
        };
        platform.charge(Op::Counter, 1);
        let mut pair = [0; PAIR_BYTES];
        for counter in pair.as_chunks_mut::<COUNTER_BYTES>().0 {
            *counter = value.to_le_bytes();
        }
        memory.write(usize::from(index) * PAIR_BYTES, &pair)?;
        let counter = CounterRef {
            slot: memory.slot(),
            index: self.first + 2 * u32::from(index),
        };
        Ok(Some((index, counter)))
    }

    /// Whether the lower 30 bits of a packet's word name the first counter of pair `index`.
    pub fn is_named(&self, index: u16, word: u32) -> bool {
        let index = self.first + 2 * u32::from(index);
        let packs = |memory: &P::Buffer| (u32::from(memory.slot()) | index << 10) & 0x3fff_ffff;
        self.memory
            .as_ref()
            .is_some_and(|memory| packs(memory) == word)
    }

    /// Contents of pair `index`.
    pub fn count(&self, platform: &P, index: u16) -> Result<Count, Fault> {
        let Some(memory) = &self.memory else {
            return Err(Error::Destroyed.into());
        };
        platform.charge(Op::Counter, 1);
        let mut pair = [0; PAIR_BYTES];
        memory.read(usize::from(index) * PAIR_BYTES, &mut pair)?;
        Ok(match pair.as_chunks().0 {
            [[0, 0, 0, 0, 0, 0, 0, 0], _] => Count::Zero,
            [_, [0, 0, 0, 0, 0, 0, 0, 0]] => Count::Refused,
            _ => Count::Open,
        })
    }

    /// Gives back a pair that no packet will lower any more.
    pub fn give_back(&mut self, index: u16) {
        self.free.push(index);
    }

    /// Frees the memory. Only when no packet will lower a counter any more.
    pub fn close(&mut self) {
        self.memory = None;
    }
}

impl<P: Platform> Drop for CounterBlock<P> {
    /// The DMA engine may still lower counters of a block that was not closed: its memory is leaked rather than reused.
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            core::mem::forget(memory);
        }
    }
}
