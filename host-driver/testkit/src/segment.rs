// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory of a node.

use core::ops::Range;
use std::sync::Arc;

use gyre_driver::{PlatformLock, RangeError, SharedSegment};
use parking_lot::Mutex;

use crate::lock::DoubleLock;

/// A handle of a shared segment of the double.
pub struct Segment(pub(crate) Arc<SegmentState>);

/// A shared segment.
pub(crate) struct SegmentState {
    bytes: Mutex<Vec<u8>>,
    lock: DoubleLock,
}

impl SegmentState {
    /// A segment of `bytes` bytes of zeros.
    pub fn new(bytes: usize) -> Self {
        Self {
            bytes: Mutex::new(vec![0; bytes]),
            lock: DoubleLock::default(),
        }
    }

    /// Size in bytes.
    pub fn len(&self) -> usize {
        self.bytes.lock().len()
    }
}

impl SharedSegment for Segment {
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        let bytes = self.0.bytes.lock();
        let range = range(bytes.len(), offset, out.len())?;
        out.copy_from_slice(&bytes[range]);
        Ok(())
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        let mut bytes = self.0.bytes.lock();
        let range = range(bytes.len(), offset, data.len())?;
        bytes[range].copy_from_slice(data);
        Ok(())
    }
}

impl PlatformLock for Segment {
    fn lock(&self) {
        self.0.lock.lock();
    }

    fn trylock(&self) -> bool {
        self.0.lock.trylock()
    }

    fn unlock(&self) {
        self.0.lock.unlock();
    }
}

/// Bytes from `offset` on, inside `len`.
pub(crate) fn range(len: usize, offset: usize, bytes: usize) -> Result<Range<usize>, RangeError> {
    match offset.checked_add(bytes) {
        Some(end) if end <= len => Ok(offset..end),
        _ => Err(RangeError { offset, bytes, len }),
    }
}
