//! Memory for payload that no receive waits for, and the account of it (CT-3).

use crate::buffer::BufferRange;
use crate::cost::{COPY_CHUNK, Op};
use crate::error::{Error, Fault};
use crate::platform::Platform;
use crate::sync::{Arc, Mutex, lock};

#[derive(Default)]
struct Account {
    held: usize,
    peak: usize,
}

/// Memory for payload, up to a limit.
pub(crate) struct HeldMemory {
    account: Arc<Mutex<Account>>,
    limit: usize,
}

/// Memory of one payload; counted as long as it lives.
pub(crate) struct HeldBuffer<P: Platform> {
    range: BufferRange<P::Buffer>,
    _share: Share,
}

/// A short payload, outside of DMA memory; counted as long as it lives.
pub(crate) struct HeldBytes {
    data: Box<[u8]>,
    _share: Share,
}

/// Bytes of the account that are given back when they are dropped.
struct Share {
    bytes: usize,
    account: Arc<Mutex<Account>>,
}

impl HeldMemory {
    /// Memory of which `limit` bytes may be held.
    pub fn new(limit: usize) -> Self {
        Self {
            account: Arc::default(),
            limit,
        }
    }

    /// Memory for `bytes` bytes.
    ///
    /// # Errors
    /// [`Error::HeldMemory`], [`Error::Alloc`].
    pub fn alloc<P: Platform>(&self, platform: &P, bytes: usize) -> Result<HeldBuffer<P>, Error> {
        let share = self.share(bytes)?;
        if bytes > 0 {
            platform.charge(Op::Allocate, 1);
        }
        let range = BufferRange::zeroed(platform, bytes)?;
        Ok(HeldBuffer {
            range,
            _share: share,
        })
    }

    /// A copy of a payload that is here.
    ///
    /// # Errors
    /// [`Error::HeldMemory`].
    pub fn copy<P: Platform>(&self, platform: &P, data: &[u8]) -> Result<HeldBytes, Error> {
        let share = self.share(data.len())?;
        platform.charge(Op::CopyChunk, data.len().div_ceil(COPY_CHUNK) as u64);
        Ok(HeldBytes {
            data: data.into(),
            _share: share,
        })
    }

    fn share(&self, bytes: usize) -> Result<Share, Error> {
        let mut account = lock(&self.account);
        let held = account.held;
        if held.saturating_add(bytes) > self.limit {
            return Err(Error::HeldMemory {
                bytes,
                held,
                limit: self.limit,
            });
        }
        account.held += bytes;
        account.peak = account.peak.max(account.held);
        Ok(Share {
            bytes,
            account: Arc::clone(&self.account),
        })
    }

    /// Bytes held now, and most bytes held at any time.
    pub fn held_and_peak(&self) -> (usize, usize) {
        let account = lock(&self.account);
        (account.held, account.peak)
    }
}

impl HeldBytes {
    /// The payload.
    pub fn data(&self) -> &[u8] {
        &self.data
    }
}

impl<P: Platform> HeldBuffer<P> {
    /// The memory.
    pub fn range(&self) -> &BufferRange<P::Buffer> {
        &self.range
    }

    /// Copies the payload to the start of `into`, and gives the memory back.
    ///
    /// # Errors
    /// [`Error::Range`]; those of the memory.
    pub fn copy_out(self, platform: &P, into: &BufferRange<P::Buffer>) -> Result<(), Fault> {
        let from = &self.range;
        let mut chunk = [0; 512];
        let mut offset = 0;
        while offset < from.len() {
            let bytes = chunk.len().min(from.len() - offset);
            from.read(offset, &mut chunk[..bytes])?;
            into.write(offset, &chunk[..bytes])?;
            offset += bytes;
        }
        platform.charge(Op::CopyChunk, from.len().div_ceil(COPY_CHUNK) as u64);
        if !from.is_empty() {
            platform.charge(Op::Allocate, 1);
        }
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        lock(&self.account).held -= self.bytes;
    }
}
