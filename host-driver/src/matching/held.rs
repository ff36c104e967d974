//! Memory for payload that no receive waits for, and the account of it (CT-3).

use crate::buffer::BufferRange;
use crate::cost::Op;
use crate::error::Error;
use crate::platform::Platform;
use crate::sync::{Arc, Mutex, lock};

#[derive(Default)]
struct Account {
    held: usize,
    peak: usize,
}

/// The one place where a messaging module gets memory for payload.
#[derive(Default)]
pub(super) struct HeldMemory {
    account: Arc<Mutex<Account>>,
}

/// Memory of one payload; counted as long as it lives.
pub(super) struct HeldBuffer<P: Platform> {
    range: BufferRange<P::Buffer>,
    account: Arc<Mutex<Account>>,
}

impl HeldMemory {
    /// Memory for `bytes` bytes.
    pub fn alloc<P: Platform>(&self, platform: &P, bytes: usize) -> Result<HeldBuffer<P>, Error> {
        if bytes > 0 {
            platform.charge(Op::Allocate, 1);
        }
        let range = BufferRange::zeroed(platform, bytes)?;
        let mut account = lock(&self.account);
        account.held += bytes;
        account.peak = account.peak.max(account.held);
        Ok(HeldBuffer {
            range,
            account: Arc::clone(&self.account),
        })
    }

    /// Bytes held now, and most bytes held at any time.
    pub fn held_and_peak(&self) -> (usize, usize) {
        let account = lock(&self.account);
        (account.held, account.peak)
    }
}

impl<P: Platform> HeldBuffer<P> {
    /// The memory.
    pub fn range(&self) -> &BufferRange<P::Buffer> {
        &self.range
    }
}

impl<P: Platform> Drop for HeldBuffer<P> {
    fn drop(&mut self) {
        lock(&self.account).held -= self.range.len();
    }
}
