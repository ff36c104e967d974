//! Byte counters of a context: 8 B each, little-endian, lowered by the DMA engine as puts arrive (HW-1).

use crate::cost::Op;
use crate::error::Error;
use crate::platform::{DmaBuffer, Platform};
use gyre_layout::CounterRef;

/// Bytes of a counter.
const COUNTER_BYTES: usize = 8;
/// Counters that the header of a put can name in one slot.
const REACH: u64 = 1 << 22;

/// The counters of a context and those of them that are free.
pub(crate) struct CounterBlock<P: Platform> {
    memory: Option<P::Buffer>,
    /// Number of counter 0 in its slot.
    first: u32,
    free: Vec<u16>,
}

impl<P: Platform> CounterBlock<P> {
    /// Allocates `count` counters.
    ///
    /// # Errors
    /// [`Error::Alloc`], [`Error::CounterReach`] when the memory lies too far into its slot.
    pub fn open(platform: &P, count: u16) -> Result<Self, Error> {
        platform.charge(Op::Allocate, 1);
        let memory = platform.alloc(usize::from(count) * COUNTER_BYTES, COUNTER_BYTES)?;
        let first = memory.offset() / COUNTER_BYTES as u64;
        if first + u64::from(count) > REACH {
            return Err(Error::CounterReach {
                offset: memory.offset(),
                bytes: memory.len(),
            });
        }
        Ok(Self {
            memory: Some(memory),
            // Below 2^22.
            first: first as u32,
            free: (0..count).rev().collect(),
        })
    }

    /// Takes a free counter and sets it to `value`.
    pub fn take(&mut self, platform: &P, value: u64) -> Result<Option<(u16, CounterRef)>, Error> {
        let Some(memory) = &self.memory else {
            return Err(Error::Destroyed);
        };
        let Some(index) = self.free.pop() else {
            return Ok(None);
        };
        platform.charge(Op::Counter, 1);
        memory.write(usize::from(index) * COUNTER_BYTES, &value.to_le_bytes())?;
        let counter = CounterRef {
            slot: memory.slot(),
            index: self.first + u32::from(index),
        };
        Ok(Some((index, counter)))
    }

    /// What counter `index` holds.
    pub fn value(&self, platform: &P, index: u16) -> Result<u64, Error> {
        let Some(memory) = &self.memory else {
            return Err(Error::Destroyed);
        };
        platform.charge(Op::Counter, 1);
        let mut bytes = [0; COUNTER_BYTES];
        memory.read(usize::from(index) * COUNTER_BYTES, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Gives a counter back that nothing will lower any more.
    pub fn give_back(&mut self, index: u16) {
        self.free.push(index);
    }

    /// Frees the memory. Only when nothing will lower a counter any more.
    pub fn close(&mut self) {
        self.memory = None;
    }
}

impl<P: Platform> Drop for CounterBlock<P> {
    /// The DMA engine may still lower counters of a block that was not closed: its memory is leaked
    /// rather than given to somebody else.
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            core::mem::forget(memory);
        }
    }
}
