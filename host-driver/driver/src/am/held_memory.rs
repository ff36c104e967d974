// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory for payload without a receive, and its accounting (CT-3).

use crate::buffer::BufferRange;
use crate::cost::Op;
use crate::error::{Error, Fault};
use crate::platform::Platform;
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering, lock};

/// Bytes of the shortest kept block of DMA memory; each further size is twice as long.
const SHORTEST_BLOCK: usize = 64;
/// Number of sizes of kept blocks: up to 4 KiB.
const BLOCK_SIZES: usize = 7;
/// Most free blocks of a size.
const KEPT_BLOCKS: usize = 8;
/// Most free buffers for short payloads.
const KEPT_BUFFERS: usize = 32;

#[derive(Default)]
struct Account {
    held: AtomicUsize,
    peak: AtomicUsize,
}

/// Memory for payload, up to a limit. Free blocks of short payloads are kept for the next ones.
pub(crate) struct HeldMemory<P: Platform> {
    account: Arc<Account>,
    limit: usize,
    free: Mutex<FreeBlocks<P::Buffer>>,
}

/// Memory of one payload; counted as long as it lives.
pub(crate) struct HeldBuffer<P: Platform> {
    range: BufferRange<P::Buffer>,
    account: Arc<Account>,
}

/// A short payload, outside of DMA memory; counted as long as it lives.
pub(crate) struct HeldBytes {
    data: Vec<u8>,
    account: Arc<Account>,
}

/// Free buffers of short payloads.
pub(crate) struct FreeBuffers(Vec<Vec<u8>>);

/// Blocks of DMA memory that are free, by size.
struct FreeBlocks<B> {
    by_size: [Vec<BufferRange<B>>; BLOCK_SIZES],
    /// No blocks are kept any more.
    closed: bool,
}

/// Place among the sizes, and bytes, of the block for a payload; `None` for one that is not kept.
fn block_size(bytes: usize) -> Option<(usize, usize)> {
    let block = bytes.checked_next_power_of_two()?.max(SHORTEST_BLOCK);
    let place = (block / SHORTEST_BLOCK).trailing_zeros() as usize;
    (place < BLOCK_SIZES).then_some((place, block))
}

impl<P: Platform> HeldMemory<P> {
    /// Memory for at most `limit` bytes of payload.
    pub fn new(limit: usize) -> Self {
        Self {
            account: Arc::default(),
            limit,
            free: Mutex::new(FreeBlocks {
                by_size: core::array::from_fn(|_| Vec::new()),
                closed: false,
            }),
        }
    }

    /// Memory for `bytes` bytes, with any content.
    ///
    /// # Errors
    /// [`Error::HeldMemory`], [`Error::Alloc`].
    pub fn alloc(&self, platform: &P, bytes: usize) -> Result<HeldBuffer<P>, Fault> {
        self.account.add(bytes, self.limit)?;
        // Dropping gives the bytes back, so the range is made first.
        let range = self
            .range(platform, bytes)
            .inspect_err(|_| self.account.take(bytes))?;
        let account = Arc::clone(&self.account);
        Ok(HeldBuffer { range, account })
    }

    fn range(&self, platform: &P, bytes: usize) -> Result<BufferRange<P::Buffer>, Fault> {
        if bytes == 0 {
            return Ok(BufferRange::empty());
        }
        let size = block_size(bytes);
        let kept = size.and_then(|(place, _)| lock(&self.free).by_size[place].pop());
        let block = match kept {
            Some(block) => block,
            None => {
                platform.charge(Op::Allocate, 1);
                BufferRange::zeroed(platform, size.map_or(bytes, |(_, block)| block))?
            }
        };
        Ok(block.part(0, bytes)?)
    }

    /// Holds a payload of one packet in `buffer`.
    ///
    /// # Errors
    /// [`Error::HeldMemory`].
    #[inline]
    pub fn hold(&self, payload: &[u8], buffer: Vec<u8>) -> Result<HeldBytes, Fault> {
        self.account.add(payload.len(), self.limit)?;
        let mut data = buffer;
        data.clear();
        data.reserve_exact(payload.len());
        data.extend_from_slice(payload);
        let account = Arc::clone(&self.account);
        Ok(HeldBytes { data, account })
    }

    /// Copies a payload to the start of `into`, and keeps its memory or gives it back.
    ///
    /// # Errors
    /// [`Error::Range`]; those of the memory.
    pub fn copy_out(
        &self,
        platform: &P,
        held: HeldBuffer<P>,
        into: &BufferRange<P::Buffer>,
    ) -> Result<(), Fault> {
        let from = held.range();
        into.copy_from_range(from)?;
        platform.charge_copy(Op::Copy, from.len());
        if !from.is_empty() && !self.keep(held.into_range()) {
            platform.charge(Op::Allocate, 1);
        }
        Ok(())
    }

    /// Keeps the block of a range, unless it is in use or too long, or enough blocks are kept; returns whether it did.
    fn keep(&self, range: BufferRange<P::Buffer>) -> bool {
        let Some(block) = range.into_block() else {
            return false;
        };
        let Some((place, _)) = block_size(block.len()).filter(|&(_, size)| size == block.len())
        else {
            return false;
        };
        let mut free = lock(&self.free);
        let FreeBlocks { by_size, closed } = &mut *free;
        let blocks = &mut by_size[place];
        if *closed || blocks.len() == KEPT_BLOCKS {
            // Gives the memory back outside of the lock.
            drop(free);
            return false;
        }
        blocks.push(block);
        true
    }

    /// Gives the kept blocks back, and keeps none from now on.
    pub fn close(&self, platform: &P) {
        let blocks = {
            let mut free = lock(&self.free);
            free.closed = true;
            free.by_size.each_mut().map(core::mem::take)
        };
        let count: usize = blocks.iter().map(Vec::len).sum();
        platform.charge(Op::Allocate, count as u64);
    }

    /// Bytes held now, and most bytes held at any time.
    pub fn held_and_peak(&self) -> (usize, usize) {
        let held = self.account.held.load(Ordering::Acquire);
        // The entry just added may not be in it yet.
        (held, self.account.peak.load(Ordering::Acquire).max(held))
    }
}

impl Account {
    /// Adds `bytes`, unless the sum would exceed `limit`.
    ///
    /// # Errors
    /// [`Error::HeldMemory`].
    #[inline]
    fn add(&self, bytes: usize, limit: usize) -> Result<(), Fault> {
        let within = |held: usize| held.checked_add(bytes).filter(|&sum| sum <= limit);
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        match self.held.fetch_update(success, failure, within) {
            Ok(before) => {
                let held = before + bytes;
                // The peak never falls: a thread that finds it high enough need not raise it.
                if self.peak.load(Ordering::Acquire) < held {
                    self.peak.fetch_max(held, Ordering::AcqRel);
                }
                Ok(())
            }
            Err(held) => Err(Error::HeldMemory { bytes, held, limit }.into()),
        }
    }

    fn take(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::AcqRel);
    }
}

impl HeldBytes {
    /// The payload.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Releases the payload and returns its buffer.
    pub fn into_buffer(mut self) -> Vec<u8> {
        self.account.take(self.data.len());
        core::mem::take(&mut self.data)
    }
}

impl FreeBuffers {
    /// None.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// A free buffer, or a new one.
    #[inline]
    pub fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    /// Keeps a buffer, unless enough are kept.
    #[inline]
    pub fn put(&mut self, buffer: Vec<u8>) {
        if self.0.len() < KEPT_BUFFERS && buffer.capacity() > 0 {
            self.0.push(buffer);
        }
    }
}

impl<P: Platform> HeldBuffer<P> {
    /// The memory.
    pub fn range(&self) -> &BufferRange<P::Buffer> {
        &self.range
    }

    /// Releases the payload and returns its memory.
    fn into_range(mut self) -> BufferRange<P::Buffer> {
        self.account.take(self.range.len());
        core::mem::replace(&mut self.range, BufferRange::empty())
    }
}

impl<P: Platform> Drop for HeldBuffer<P> {
    fn drop(&mut self) {
        self.account.take(self.range.len());
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.account.take(self.data.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ct3_blocks_that_are_kept_have_few_sizes() {
        let size = |bytes| block_size(bytes).map(|(_, block)| block);
        let sizes = [1, 64, 65, 999, 1024, 1025, 4096].map(size);
        let expected = [64, 64, 128, 1024, 1024, 2048, 4096];
        assert_eq!(sizes, expected.map(Some));
        assert_eq!([4097, usize::MAX].map(size), [None; 2]);
        let places: Vec<_> = (6..13).map(|log| block_size(1 << log)).collect();
        assert!(
            places
                .iter()
                .flatten()
                .map(|size| size.0)
                .eq(0..BLOCK_SIZES)
        );
    }

    #[test]
    fn ct3_the_buffer_of_a_payload_is_reused() {
        let account = Arc::new(Account::default());
        assert!(account.add(3, 3).is_ok());
        let data = vec![1, 2, 3];
        let place = data.as_ptr();
        let held = HeldBytes {
            data,
            account: Arc::clone(&account),
        };
        let buffer = held.into_buffer();
        assert_eq!((buffer.as_ptr(), buffer.capacity()), (place, 3));
        assert_eq!(account.held.load(Ordering::Acquire), 0);
    }

    #[test]
    fn ct3_few_buffers_are_kept() {
        let mut buffers = FreeBuffers::new();
        for length in 0..100 {
            buffers.put(vec![7; length]);
        }
        assert_eq!(buffers.0.len(), KEPT_BUFFERS);
        assert!(buffers.0.iter().all(|buffer| buffer.capacity() > 0));
        (0..100).for_each(|_| drop(buffers.take()));
        assert!(buffers.0.is_empty());
    }
}
