//! The simulated machine's platform with an account of the memory that the driver takes from the host's
//! allocator: what the simulator allocates while the driver waits for it does not count.

use std::alloc::System;
use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{
    AllocError, BusError, DmaBuffer, Op, Platform, PlatformLock, RangeError, SegmentError,
    SharedSegment, WakeReason,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use gyre::platform::{NodeBuffer, NodeLock, NodeSegment, SimPlatform};

/// The allocator that counts: the command's global one.
pub static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes allocated and not freed since the program began.
fn live() -> i64 {
    let stats = COUNTING.stats();
    // No machine has 2^63 bytes.
    stats.bytes_allocated as i64 - stats.bytes_deallocated as i64
}

/// Whether the counting allocator is the program's: else all accounts would read 0.
pub(super) fn counts() -> bool {
    let before = COUNTING.stats().allocations;
    std::hint::black_box(Box::new(before));
    COUNTING.stats().allocations > before
}

/// Bytes that the driver holds of the host's memory.
#[derive(Default)]
struct Account {
    /// Bytes of the process when the driver was entered.
    entered: AtomicCell<i64>,
    held: AtomicCell<i64>,
    peak: AtomicCell<i64>,
}

impl Account {
    fn enter(&self) {
        self.entered.store(live());
    }

    fn leave(&self) {
        self.held
            .store(self.held.load() + live() - self.entered.load());
        self.peak.store(self.peak.load().max(self.held.load()));
    }

    /// Runs what is not the driver's.
    fn outside<R>(&self, work: impl FnOnce() -> R) -> R {
        self.leave();
        let result = work();
        self.enter();
        result
    }
}

/// What the driver has taken in a stretch of work.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    /// Most bytes at any time.
    pub peak: i64,
    /// Bytes at the end.
    pub left: i64,
}

/// A [`SimPlatform`] with an account.
#[derive(Clone)]
pub(super) struct Heap {
    inner: SimPlatform,
    account: Arc<Account>,
}

impl Heap {
    pub fn new(inner: SimPlatform) -> Self {
        Self {
            inner,
            account: Arc::default(),
        }
    }

    /// Runs `work`, which does nothing but call the driver, and says what memory the driver took for it.
    pub fn measure<R>(&self, work: impl FnOnce() -> R) -> (R, Taken) {
        self.account.held.store(0);
        self.account.peak.store(0);
        self.account.enter();
        let result = work();
        self.account.leave();
        let taken = Taken {
            peak: self.account.peak.load(),
            left: self.account.held.load(),
        };
        (result, taken)
    }
}

impl Platform for Heap {
    type Buffer = HeapBuffer;
    type Lock = HeapLock;
    type Segment = HeapSegment;

    fn read_reg(&self, address: u64) -> Result<u64, BusError> {
        self.account.outside(|| self.inner.read_reg(address))
    }

    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError> {
        self.account
            .outside(|| self.inner.write_reg(address, value))
    }

    fn alloc(&self, bytes: usize, align: usize) -> Result<HeapBuffer, AllocError> {
        let inner = self.account.outside(|| self.inner.alloc(bytes, align))?;
        Ok(HeapBuffer {
            inner: Some(inner),
            account: Arc::clone(&self.account),
        })
    }

    fn share(&self, number: u32, bytes: usize) -> Result<HeapSegment, SegmentError> {
        let inner = self.account.outside(|| self.inner.share(number, bytes))?;
        Ok(HeapSegment {
            inner: Some(inner),
            account: Arc::clone(&self.account),
        })
    }

    fn now_ps(&self) -> u64 {
        self.inner.now_ps()
    }

    fn charge(&self, op: Op, count: u64) {
        self.account.outside(|| self.inner.charge(op, count));
    }

    fn wait(&self, group: u8, deadline_ps: Option<u64>) -> WakeReason {
        self.account.outside(|| self.inner.wait(group, deadline_ps))
    }

    fn notify(&self, group: u8) {
        self.account.outside(|| self.inner.notify(group));
    }

    fn yield_now(&self) {
        self.account.outside(|| self.inner.yield_now());
    }

    fn new_lock(&self) -> HeapLock {
        HeapLock {
            inner: self.account.outside(|| self.inner.new_lock()),
            account: Arc::clone(&self.account),
        }
    }
}

/// A buffer in the memory of the node.
pub(super) struct HeapBuffer {
    /// `None` only while it is dropped.
    inner: Option<NodeBuffer>,
    account: Arc<Account>,
}

impl HeapBuffer {
    fn inner(&self) -> &NodeBuffer {
        self.inner.as_ref().expect("taken by drop alone")
    }
}

impl DmaBuffer for HeapBuffer {
    fn len(&self) -> usize {
        self.inner().len()
    }

    fn slot(&self) -> u16 {
        self.inner().slot()
    }

    fn offset(&self) -> u64 {
        self.inner().offset()
    }

    fn address(&self) -> u64 {
        self.inner().address()
    }

    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        self.account.outside(|| self.inner().read(offset, out))
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        self.account.outside(|| self.inner().write(offset, data))
    }
}

impl Drop for HeapBuffer {
    fn drop(&mut self) {
        let inner = self.inner.take();
        self.account.outside(|| drop(inner));
    }
}

/// A shared segment of the node.
pub(super) struct HeapSegment {
    /// `None` only while it is dropped.
    inner: Option<NodeSegment>,
    account: Arc<Account>,
}

impl HeapSegment {
    fn inner(&self) -> &NodeSegment {
        self.inner.as_ref().expect("taken by drop alone")
    }
}

impl SharedSegment for HeapSegment {
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        self.account.outside(|| self.inner().read(offset, out))
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        self.account.outside(|| self.inner().write(offset, data))
    }
}

impl PlatformLock for HeapSegment {
    fn lock(&self) {
        self.account.outside(|| self.inner().lock());
    }

    fn trylock(&self) -> bool {
        self.account.outside(|| self.inner().trylock())
    }

    fn unlock(&self) {
        self.account.outside(|| self.inner().unlock());
    }
}

impl Drop for HeapSegment {
    fn drop(&mut self) {
        let inner = self.inner.take();
        self.account.outside(|| drop(inner));
    }
}

/// A lock between the threads of a node.
pub(super) struct HeapLock {
    inner: NodeLock,
    account: Arc<Account>,
}

impl PlatformLock for HeapLock {
    fn lock(&self) {
        self.account.outside(|| self.inner.lock());
    }

    fn trylock(&self) -> bool {
        self.account.outside(|| self.inner.trylock())
    }

    fn unlock(&self) {
        self.account.outside(|| self.inner.unlock());
    }
}
