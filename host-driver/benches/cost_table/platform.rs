//! The platform on which the driver is measured: the test double of the machine, whose own work is not
//! counted. Counted are what a processor would do for the driver: its instructions, the copies between
//! ring and registers or payload and buffer, and an uncontended lock.

use core::hint::black_box;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{
    AllocError, BusError, DmaBuffer, Op, Platform, PlatformLock, RangeError, SegmentError,
    SharedSegment, WakeReason,
};
use parking_lot::Mutex;

use gyre_testkit::{Memory, Process, Segment};

// Three functions that the compiler must neither inline nor take for one: each names itself.

/// Callgrind switches counting on when this is entered, and off when it is left.
#[inline(never)]
fn counted_section<R>(work: impl FnOnce() -> R) -> R {
    black_box("counted");
    black_box(work())
}

/// Callgrind switches counting off when this is entered, and on when it is left.
#[inline(never)]
fn uncounted_section<R>(work: impl FnOnce() -> R) -> R {
    black_box("uncounted");
    black_box(work())
}

/// The same where nothing is counted anyway.
#[inline(never)]
fn plain_section<R>(work: impl FnOnce() -> R) -> R {
    black_box("plain");
    black_box(work())
}

/// Books a charge, uncounted.
#[inline(never)]
fn uncounted_charge(account: &Account, op: Op, count: u64) {
    account.calls.fetch_add(1);
    *account.charged.lock().entry(op).or_default() += count;
}

/// Whether a counted section is being executed.
static COUNTING: AtomicBool = AtomicBool::new(false);

/// What the driver does with the machine again and again. Around each there is something that is counted and
/// that hardware knows nothing of: its instructions are measured alone, and subtracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    ReadRegister,
    WriteRegister,
    ReadMemory,
    WriteMemory,
}

impl Access {
    pub const ALL: [Self; 4] = [
        Self::ReadRegister,
        Self::WriteRegister,
        Self::ReadMemory,
        Self::WriteMemory,
    ];
}

/// Accesses of each kind in counted sections.
static ACCESSES: [AtomicU64; Access::ALL.len()] = [const { AtomicU64::new(0) }; Access::ALL.len()];

/// Accesses of each kind that have been counted so far.
pub fn accesses() -> [u64; Access::ALL.len()] {
    ACCESSES
        .each_ref()
        .map(|count| count.load(Ordering::Relaxed))
}

/// Executes what is no work of the driver's processor.
fn outside<R>(work: impl FnOnce() -> R) -> R {
    if COUNTING.load(Ordering::Relaxed) {
        uncounted_section(work)
    } else {
        plain_section(work)
    }
}

/// The same, for an access that is counted by itself.
fn access<R>(kind: Access, work: impl FnOnce() -> R) -> R {
    outside(|| {
        if COUNTING.load(Ordering::Relaxed) {
            ACCESSES[kind as usize].fetch_add(1, Ordering::Relaxed);
        }
        work()
    })
}

/// What has been charged in counted sections.
#[derive(Default)]
pub struct Account {
    /// Sections are counted from when this is set.
    pub open: AtomicCell<bool>,
    charged: Mutex<BTreeMap<Op, u64>>,
    calls: AtomicCell<u64>,
}

impl Account {
    /// Executes `work`, and counts it once the account is open.
    pub fn count<R>(&self, work: impl FnOnce() -> R) -> R {
        if !self.open.load() {
            return plain_section(work);
        }
        COUNTING.store(true, Ordering::Relaxed);
        let result = counted_section(work);
        COUNTING.store(false, Ordering::Relaxed);
        result
    }

    /// Operations charged in counted sections.
    pub fn charged(&self) -> BTreeMap<Op, u64> {
        self.charged.lock().clone()
    }

    /// Calls of `charge` in counted sections: on hardware there are none.
    pub fn calls(&self) -> u64 {
        self.calls.load()
    }
}

/// One process of a node of the test double.
#[derive(Clone)]
pub struct Counted {
    pub process: Process,
    pub account: Arc<Account>,
}

/// Memory of the test double, behind one copy that is counted.
pub struct CountedMemory {
    memory: Option<Memory>,
    len: usize,
    copy: Mutex<Vec<u8>>,
    /// A block of the C library's allocator stands for one of the node's.
    _block: Box<[u8; 64]>,
}

/// An uncontended spin lock.
pub struct SpinLock(AtomicBool);

/// A shared segment of the test double, behind one copy that is counted, with a lock of its own.
pub struct CountedSegment {
    segment: Segment,
    copy: Mutex<Vec<u8>>,
    lock: SpinLock,
}

impl Platform for Counted {
    type Buffer = CountedMemory;
    type Lock = SpinLock;
    type Segment = CountedSegment;

    fn read_reg(&self, address: u64) -> Result<u64, BusError> {
        access(Access::ReadRegister, || self.process.read_reg(address))
    }

    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError> {
        access(Access::WriteRegister, || {
            self.process.write_reg(address, value)
        })
    }

    fn alloc(&self, bytes: usize, align: usize) -> Result<CountedMemory, AllocError> {
        let block = black_box(Box::new([0; 64]));
        outside(|| {
            Ok(CountedMemory {
                memory: Some(self.process.alloc(bytes, align)?),
                len: bytes,
                copy: Mutex::new(vec![0; bytes]),
                _block: block,
            })
        })
    }

    fn share(&self, number: u32, bytes: usize) -> Result<CountedSegment, SegmentError> {
        outside(|| {
            Ok(CountedSegment {
                segment: self.process.share(number, bytes)?,
                copy: Mutex::new(vec![0; bytes]),
                lock: self.new_lock(),
            })
        })
    }

    fn now_ps(&self) -> u64 {
        outside(|| self.process.now_ps())
    }

    fn charge(&self, op: Op, count: u64) {
        if COUNTING.load(Ordering::Relaxed) {
            uncounted_charge(&self.account, op, count);
        }
    }

    fn wait(&self, group: u8, deadline_ps: Option<u64>) -> WakeReason {
        outside(|| self.process.wait(group, deadline_ps))
    }

    fn notify(&self, group: u8) {
        outside(|| self.process.notify(group));
    }

    fn yield_now(&self) {
        outside(|| self.process.yield_now());
    }

    fn new_lock(&self) -> SpinLock {
        SpinLock(AtomicBool::new(false))
    }
}

impl CountedMemory {
    fn memory(&self) -> &Memory {
        self.memory.as_ref().expect("taken by drop alone")
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

impl DmaBuffer for CountedMemory {
    fn len(&self) -> usize {
        self.len
    }

    fn slot(&self) -> u16 {
        self.memory().slot()
    }

    fn offset(&self) -> u64 {
        self.memory().offset()
    }

    fn address(&self) -> u64 {
        self.memory().address()
    }

    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        self.check(offset, out.len())?;
        let mut copy = self.copy.lock();
        let place = &mut copy[offset..offset + out.len()];
        access(Access::ReadMemory, || self.memory().read(offset, place))?;
        out.copy_from_slice(place);
        Ok(())
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        self.check(offset, data.len())?;
        let mut copy = self.copy.lock();
        let place = &mut copy[offset..offset + data.len()];
        place.copy_from_slice(data);
        access(Access::WriteMemory, || self.memory().write(offset, place))
    }
}

impl Drop for CountedMemory {
    fn drop(&mut self) {
        let (memory, copy) = (self.memory.take(), std::mem::take(self.copy.get_mut()));
        outside(|| drop((memory, copy)));
    }
}

impl SharedSegment for CountedSegment {
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        let mut copy = self.copy.lock();
        access(Access::ReadMemory, || {
            self.segment.read(offset, &mut copy[..out.len()])
        })?;
        out.copy_from_slice(&copy[..out.len()]);
        Ok(())
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        let mut copy = self.copy.lock();
        copy[..data.len()].copy_from_slice(data);
        access(Access::WriteMemory, || {
            self.segment.write(offset, &copy[..data.len()])
        })
    }
}

impl PlatformLock for CountedSegment {
    fn lock(&self) {
        self.lock.lock();
    }

    fn trylock(&self) -> bool {
        self.lock.trylock()
    }

    fn unlock(&self) {
        self.lock.unlock();
    }
}

impl PlatformLock for SpinLock {
    fn lock(&self) {
        assert!(
            !self.0.swap(true, Ordering::Acquire),
            "one thread waits for ever"
        );
    }

    fn trylock(&self) -> bool {
        !self.0.swap(true, Ordering::Acquire)
    }

    fn unlock(&self) {
        self.0.store(false, Ordering::Release);
    }
}
