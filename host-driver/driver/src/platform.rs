// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interface to the machine under the driver: registers, memory that the DMA engine reaches,
//! time, waiting and locks (DESIGN, Simulation 8).
//!
//! Every method may let other threads of the node run (a simulated register access suspends its
//! coroutine), so the driver never calls the platform while it holds one of its own short locks.

use core::fmt;

use gyre_note::Note;

use crate::cost::{COPY_CHUNK, Op};

/// A register access that the node refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("register {} of address {address:#08x} answered with {kind}", if *.write { "write" } else { "read" })]
pub struct BusError {
    /// Byte address inside the node's register space.
    pub address: u64,
    /// Whether the access was a write.
    pub write: bool,
    /// Response of the bus.
    pub kind: BusErrorKind,
}

/// Refusal of a register access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BusErrorKind {
    /// SLVERR: the register does not exist or does not allow this access.
    Slave,
    /// DECERR: no slave at this address.
    Decode,
    /// No answer within the platform's limit.
    Timeout,
}

impl fmt::Display for BusErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slave => "a slave error",
            Self::Decode => "a decode error",
            Self::Timeout => "nothing in time",
        })
    }
}

/// Memory for the DMA engine that could not be allocated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no {bytes} bytes aligned to {align} for the DMA engine: {reason}")]
pub struct AllocError {
    /// Requested bytes.
    pub bytes: usize,
    /// Requested alignment, bytes.
    pub align: usize,
    /// The reason, in the platform's words.
    pub reason: String,
}

/// An access outside a [`DmaBuffer`] or a [`SharedSegment`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("bytes {offset}..{} leave a buffer of {len} bytes", .offset.saturating_add(*.bytes))]
pub struct RangeError {
    /// First byte of the access.
    pub offset: usize,
    /// Bytes of the access.
    pub bytes: usize,
    /// Bytes of the buffer.
    pub len: usize,
}

/// Memory that the DMA engine reads and writes: an owned handle, freed on drop. The driver keeps a
/// handle alive as long as a descriptor names it.
pub trait DmaBuffer {
    /// Size in bytes.
    fn len(&self) -> usize;
    /// Whether the buffer has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Base slot that covers the buffer.
    fn slot(&self) -> u16;
    /// Offset of the first byte inside that slot.
    fn offset(&self) -> u64;
    /// Address in node memory of the first byte, for the rings of the FIFOs.
    fn address(&self) -> u64;
    /// Copies `out.len()` bytes from `offset` on. Costs no simulated time: the caller charges copies.
    ///
    /// # Errors
    /// [`RangeError`] when the range leaves the buffer.
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError>;
    /// Copies `data` to `offset` on. Costs no simulated time: the caller charges copies.
    ///
    /// # Errors
    /// [`RangeError`] when the range leaves the buffer.
    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError>;
    /// Copies `bytes` bytes from `offset` on to `place` in `into` on. Costs no simulated time: the caller charges copies.
    ///
    /// # Errors
    /// [`RangeError`] when a range leaves its buffer.
    fn copy_to(
        &self,
        offset: usize,
        into: &Self,
        place: usize,
        bytes: usize,
    ) -> Result<(), RangeError> {
        let mut piece = [0; PIECE];
        let mut done = 0;
        while done < bytes {
            let piece = &mut piece[..PIECE.min(bytes - done)];
            self.read(offset + done, piece)?;
            into.write(place + done, piece)?;
            done += piece.len();
        }
        Ok(())
    }
}

/// Bytes of one step of the default copy between buffers.
const PIECE: usize = 512;

/// A shared segment that could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no shared segment {number:#x} of {bytes} bytes: {reason}")]
pub struct SegmentError {
    /// Number of the segment.
    pub number: u32,
    /// Requested bytes.
    pub bytes: usize,
    /// The reason, in the platform's words.
    pub reason: String,
}

/// Memory that every process of a node reaches, with a lock between them (HW-7): an owned handle. The
/// segment lasts as long as any process of the node has a handle. All processes see what is written to
/// it in the order in which it was written.
pub trait SharedSegment: PlatformLock {
    /// Copies `out.len()` bytes from `offset` on. The caller charges copies; the platform charges waits for cache lines
    /// of other threads.
    ///
    /// # Errors
    /// [`RangeError`] when the range leaves the segment.
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError>;
    /// Copies `data` to `offset` on. The caller charges copies; the platform charges waits for cache lines of other
    /// threads.
    ///
    /// # Errors
    /// [`RangeError`] when the range leaves the segment.
    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError>;
    /// Reads words of 4 bytes, little-endian.
    ///
    /// # Errors
    /// As [`SharedSegment::read`].
    fn read_words<const N: usize>(&self, offset: usize) -> Result<[u32; N], RangeError> {
        let mut bytes = [[0; 4]; N];
        self.read(offset, bytes.as_flattened_mut())?;
        Ok(bytes.map(u32::from_le_bytes))
    }
    /// Writes words of 4 bytes, little-endian.
    ///
    /// # Errors
    /// As [`SharedSegment::write`].
    fn write_words<const N: usize>(
        &self,
        offset: usize,
        words: [u32; N],
    ) -> Result<(), RangeError> {
        self.write(offset, words.map(u32::to_le_bytes).as_flattened())
    }
    /// Address in node memory of the first byte; `None` when the DMA engine does not reach the segment.
    fn address(&self) -> Option<u64> {
        None
    }
}

/// End of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeReason {
    /// The wake group was signalled, or there is work already.
    Wake,
    /// The deadline passed.
    Deadline,
}

/// A mutual-exclusion lock that lets the other threads of the node run while it waits; it never
/// blocks the operating-system thread under a simulated one.
pub trait PlatformLock {
    /// Waits until the lock is free and takes it.
    fn lock(&self);
    /// Takes the lock if it is free, and returns whether it did.
    fn trylock(&self) -> bool;
    /// Gives the lock back. Called by the holder only.
    fn unlock(&self);
}

/// The machine as one process of a node sees it. All threads of the process use it, so handles are `Send` and `Sync`;
/// a platform whose threads all run on one host thread may refuse others at run time.
pub trait Platform: Clone + Send + Sync + 'static {
    /// Memory for the DMA engine.
    type Buffer: DmaBuffer + Send + Sync + 'static;
    /// Lock shared by the threads of the process.
    type Lock: PlatformLock + Send + Sync + 'static;
    /// Memory shared by the processes of the node.
    type Segment: SharedSegment + Send + Sync + 'static;

    /// Reads the 64-bit register at byte address `address`.
    ///
    /// # Errors
    /// [`BusError`] when the node refuses; also one of an earlier posted write.
    fn read_reg(&self, address: u64) -> Result<u64, BusError>;
    /// Writes the 64-bit register at byte address `address`. Writes are posted: they reach the node in
    /// order and before any later read.
    ///
    /// # Errors
    /// [`BusError`] when the node refuses.
    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError>;
    /// Allocates `bytes` bytes of zeroed DMA memory at a multiple of `align` (a power of two).
    ///
    /// # Errors
    /// [`AllocError`] when there is none.
    fn alloc(&self, bytes: usize, align: usize) -> Result<Self::Buffer, AllocError>;
    /// A handle of the node's shared segment `number`, which is `bytes` bytes of zeros when no process has a
    /// handle of it yet.
    ///
    /// # Errors
    /// [`SegmentError`] when there is no memory for it, or when it has another size.
    fn share(&self, number: u32, bytes: usize) -> Result<Self::Segment, SegmentError>;
    /// Simulated time in picoseconds.
    fn now_ps(&self) -> u64;
    /// Lets the time of `count` operations `op` pass, by the platform's [`CostTable`](crate::CostTable).
    fn charge(&self, op: Op, count: u64);
    /// Lets the time of a copy of `bytes` bytes pass: `op` for the fixed part, and the chunks. A copy of 0 bytes is
    /// free.
    #[inline]
    fn charge_copy(&self, op: Op, bytes: usize) {
        if bytes > 0 {
            self.charge(op, 1);
            self.charge(Op::CopyChunk, bytes.div_ceil(COPY_CHUNK) as u64);
        }
    }
    /// Notes an event of a message, if the platform records it. Takes no time and lets no other thread run, so it may
    /// be called under any lock; the default notes nothing.
    #[inline(always)]
    fn note(&self, note: Note) {
        let _ = note;
    }
    /// Sleeps until wake group `group` is signalled, by the node (its wake line is high) or by
    /// [`Platform::notify`], or until `deadline_ps`. Returns at once when the group is signalled already.
    fn wait(&self, group: u8, deadline_ps: Option<u64>) -> WakeReason;
    /// Signals wake group `group` from software: every thread that waits on it wakes; when none waits,
    /// the next wait returns at once.
    fn notify(&self, group: u8);
    /// Lets the other threads of the node run.
    fn yield_now(&self);
    /// Makes a lock.
    fn new_lock(&self) -> Self::Lock;
}
