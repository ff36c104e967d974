// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of DMA buffers, as sends and receives name them.

use crate::error::Error;
use crate::platform::{AllocError, DmaBuffer, Platform, RangeError};
use crate::sync::Arc;

/// A place in a peer's memory, as its hardware names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteAddress {
    /// Base slot of the peer's node.
    pub slot: u16,
    /// Byte offset in the slot, less than 2^40.
    pub offset: u64,
}

/// A part of a [`DmaBuffer`], which it keeps alive. Cheap to clone.
#[derive(Debug)]
pub struct BufferRange<B> {
    buffer: Option<Arc<B>>,
    offset: usize,
    len: usize,
}

impl<B> Clone for BufferRange<B> {
    fn clone(&self) -> Self {
        Self {
            buffer: self.buffer.clone(),
            offset: self.offset,
            len: self.len,
        }
    }
}

/// Alignment of buffers made by ranges, bytes: a line of memory.
const ALIGN: usize = 64;

impl<B: DmaBuffer> BufferRange<B> {
    /// A new buffer of `bytes` zeroed bytes, 64 B aligned.
    ///
    /// # Errors
    /// [`AllocError`] when there is no memory.
    pub fn zeroed<P: Platform<Buffer = B>>(platform: &P, bytes: usize) -> Result<Self, AllocError> {
        match bytes {
            0 => Ok(Self::empty()),
            _ => Ok(Self::whole(platform.alloc(bytes, ALIGN)?)),
        }
    }

    /// A new buffer with a copy of `data`, 64 B aligned. Costs no simulated time.
    ///
    /// # Errors
    /// [`Error::Alloc`] when there is no memory.
    pub fn copied<P: Platform<Buffer = B>>(platform: &P, data: &[u8]) -> Result<Self, Error> {
        let range = Self::zeroed(platform, data.len())?;
        range.write(0, data)?;
        Ok(range)
    }

    /// All of `buffer`.
    #[must_use]
    pub fn whole(buffer: B) -> Self {
        let len = buffer.len();
        Self {
            buffer: Some(Arc::new(buffer)),
            offset: 0,
            len,
        }
    }

    /// Bytes `offset..offset + len` of this range, sharing its buffer.
    ///
    /// # Errors
    /// [`RangeError`] when they leave the range.
    pub fn part(&self, offset: usize, len: usize) -> Result<Self, RangeError> {
        self.check(offset, len)?;
        Ok(Self {
            buffer: self.buffer.clone(),
            offset: self.offset + offset,
            len,
        })
    }

    /// No bytes at all: the data of an empty message, or a receive for one.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            buffer: None,
            offset: 0,
            len: 0,
        }
    }

    /// Bytes in the range.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the range has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its whole buffer, if no other range has it, so that no operation under way uses it.
    #[must_use]
    pub fn into_block(self) -> Option<Self> {
        let mut buffer = self.buffer?;
        let len = Arc::get_mut(&mut buffer)?.len();
        Some(Self {
            buffer: Some(buffer),
            offset: 0,
            len,
        })
    }

    /// Base slot and offset inside it, or `None` for a range without a buffer.
    #[must_use]
    pub fn location(&self) -> Option<(u16, u64)> {
        self.buffer
            .as_ref()
            .map(|buffer| (buffer.slot(), buffer.offset() + self.offset as u64))
    }

    /// Place of the first byte as peers name it, or `None` for a range without a buffer.
    #[must_use]
    pub fn remote_address(&self) -> Option<RemoteAddress> {
        self.location()
            .map(|(slot, offset)| RemoteAddress { slot, offset })
    }

    /// Address of the first byte in node memory, or `None` for a range without a buffer.
    #[must_use]
    pub fn address(&self) -> Option<u64> {
        self.buffer
            .as_ref()
            .map(|buffer| buffer.address() + self.offset as u64)
    }

    /// Copies `out.len()` bytes from `offset` inside the range on.
    ///
    /// # Errors
    /// [`RangeError`] when they leave the range.
    pub fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        self.check(offset, out.len())?;
        match &self.buffer {
            Some(buffer) => buffer.read(self.offset + offset, out),
            None => Ok(()),
        }
    }

    /// Copies `data` to `offset` inside the range on.
    ///
    /// # Errors
    /// [`RangeError`] when they leave the range.
    pub fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        self.check(offset, data.len())?;
        match &self.buffer {
            Some(buffer) => buffer.write(self.offset + offset, data),
            None => Ok(()),
        }
    }

    /// Copies `bytes` bytes from `place` in `from` on to `offset` inside the range on.
    ///
    /// # Errors
    /// [`RangeError`] when they leave the range, or `from`.
    pub(crate) fn copy_from(
        &self,
        offset: usize,
        from: &B,
        place: usize,
        bytes: usize,
    ) -> Result<(), RangeError> {
        self.check(offset, bytes)?;
        match &self.buffer {
            Some(buffer) => from.copy_to(place, buffer, self.offset + offset, bytes),
            None => Ok(()),
        }
    }

    /// Copies all bytes of `from` to the start of the range.
    ///
    /// # Errors
    /// [`RangeError`] when they leave the range.
    pub(crate) fn copy_from_range(&self, from: &Self) -> Result<(), RangeError> {
        match &from.buffer {
            Some(buffer) => self.copy_from(0, buffer, from.offset, from.len),
            None => Ok(()),
        }
    }

    /// Copies all bytes of the range to `place` in `into` on.
    ///
    /// # Errors
    /// [`RangeError`] when they leave `into`.
    pub(crate) fn copy_to(&self, into: &B, place: usize) -> Result<(), RangeError> {
        match &self.buffer {
            Some(buffer) => buffer.copy_to(self.offset, into, place, self.len),
            None => Ok(()),
        }
    }

    fn check(&self, offset: usize, bytes: usize) -> Result<(), RangeError> {
        if offset.checked_add(bytes).is_none_or(|end| end > self.len) {
            return Err(RangeError {
                offset,
                bytes,
                len: self.len,
            });
        }
        Ok(())
    }
}
