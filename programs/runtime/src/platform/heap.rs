// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pieces of a node's memory that are taken and freed.

use std::ops::Range;

use gyre_sim::Cpu;
use parking_lot::Mutex;
use range_alloc::RangeAllocator;

/// Granule of a heap in bytes: no two pieces share a memory beat.
pub const GRANULE: u64 = 64;

/// Bytes of node memory that each process owns; process `p` starts at `(p + 1)` times this. Below are the
/// node's shared segments.
pub const PROCESS_BYTES: u64 = 1 << 36;

/// Bytes of each process that are given out in pieces; those above stand for memory of the process outside the simulator, or
/// for nothing.
pub const HEAP_BYTES: u64 = PROCESS_BYTES / 2;

/// A range of addresses of node memory, half as long as that of a process, from which pieces are taken.
pub struct Heap {
    base: u64,
    granules: Mutex<Granules>,
}

struct Granules {
    free: RangeAllocator<u64>,
    /// End of the buffers allocated before: above it, memory is still zero.
    used: u64,
}

/// A piece of a heap, in bytes from the heap's base.
pub type Piece = Range<u64>;

impl Heap {
    /// A heap whose first byte has address `base`.
    pub fn new(base: u64) -> Self {
        Self {
            base,
            granules: Mutex::new(Granules {
                free: RangeAllocator::new(0..HEAP_BYTES / GRANULE),
                used: 0,
            }),
        }
    }

    /// Address of the byte at `offset`.
    pub fn address(&self, offset: u64) -> u64 {
        self.base + offset
    }

    /// Takes at least `bytes` bytes of zeros on `cpu`'s node, with room to begin at a multiple of `align`, and
    /// returns them with the offset of their first byte; `None` when no piece is free that is large enough.
    pub fn allocate(&self, cpu: &Cpu, bytes: usize, align: usize) -> Option<(Piece, u64)> {
        let (piece, used) = self.take(bytes, align)?;
        let offset = piece.start.next_multiple_of(align as u64);
        // Freed memory is used again: what was there must not show. The rest stays untouched, so that it
        // takes no room in the simulator.
        let used = used.saturating_sub(offset);
        let dirty = bytes.min(usize::try_from(used).unwrap_or(bytes));
        cpu.mem_write(self.address(offset), &vec![0; dirty]);
        Some((piece, offset))
    }

    /// Takes as much, for something that brings its own bytes.
    pub fn reserve(&self, bytes: usize) -> Option<Piece> {
        self.take(bytes, 1).map(|(piece, _)| piece)
    }

    /// Takes a piece, and says up to which offset pieces were taken before.
    fn take(&self, bytes: usize, align: usize) -> Option<(Piece, u64)> {
        // Over-allocation buys alignments above the granule.
        let slack = (align as u64).saturating_sub(GRANULE);
        let granules = (bytes as u64).saturating_add(slack);
        let granules = granules.div_ceil(GRANULE).max(1);
        let (range, used) = {
            let mut heap = self.granules.lock();
            let range = heap.free.allocate_range(granules).ok()?;
            let used = heap.used;
            heap.used = used.max(range.end);
            (range, used)
        };
        Some((range.start * GRANULE..range.end * GRANULE, used * GRANULE))
    }

    /// Gives a piece back.
    pub fn free(&self, piece: &Piece) {
        let range = piece.start / GRANULE..piece.end / GRANULE;
        self.granules.lock().free.free_range(range);
    }
}
