// SPDX-License-Identifier: MIT OR Apache-2.0
//! The platform on which the driver is measured: the test double of the machine. The work of the double is in functions
//! called `uncounted_*`, which are not counted and call none of each other. The counts cover the work of a processor
//! for the driver: its instructions, the calls that stand for accesses, the copies between ring and registers or
//! payload and buffer, and an uncontended lock.

use core::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use gyre_driver::{
    AllocError, BusError, DmaBuffer, Op, Platform, PlatformLock, RangeError, SegmentError,
    SharedSegment, WakeReason,
};
use parking_lot::Mutex;

use crate::book::{Access, note_access, uncounted_charge};
use gyre_testkit::{Memory, Process, Segment};

/// One process of a node of the test double.
#[derive(Clone)]
pub struct Counted(pub Process);

/// Memory of the test double.
pub struct CountedMemory {
    /// Taken by `drop` alone.
    memory: Option<Memory>,
    len: usize,
    slot: u16,
    offset: u64,
    address: u64,
    /// A block of the C library's allocator stands for one of the node's.
    _block: Box<[u8; 64]>,
}

/// A shared segment of the test double.
pub struct CountedSegment {
    segment: Segment,
    len: usize,
    lock: SpinLock,
}

/// An uncontended spin lock.
pub struct SpinLock(AtomicBool);

#[inline(never)]
fn uncounted_read_reg(process: &Process, address: u64) -> Result<u64, BusError> {
    process.read_reg(address)
}

#[inline(never)]
fn uncounted_write_reg(process: &Process, address: u64, value: u64) -> Result<(), BusError> {
    process.write_reg(address, value)
}

#[inline(never)]
fn uncounted_alloc(process: &Process, bytes: usize, align: usize) -> Result<Memory, AllocError> {
    process.alloc(bytes, align)
}

#[inline(never)]
fn uncounted_free(memory: &mut Option<Memory>) {
    *memory = None;
}

#[inline(never)]
fn uncounted_share(process: &Process, number: u32, bytes: usize) -> Result<Segment, SegmentError> {
    process.share(number, bytes)
}

#[inline(never)]
fn uncounted_now_ps(process: &Process) -> u64 {
    process.now_ps()
}

#[inline(never)]
fn uncounted_wait(process: &Process, group: u8, deadline_ps: Option<u64>) -> WakeReason {
    process.wait(group, deadline_ps)
}

#[inline(never)]
fn uncounted_notify(process: &Process, group: u8) {
    process.notify(group);
}

#[inline(never)]
fn uncounted_yield(process: &Process) {
    process.yield_now();
}

/// Room for copies of memory, of which none is given back: pieces of large blocks, so that the driver finds the
/// allocator as it has left it.
static ROOM: Mutex<&'static mut [u8]> = Mutex::new(&mut []);

/// Bytes of a block.
const BLOCK: usize = 16 << 20;

/// A piece of the room.
fn room(bytes: usize) -> &'static mut [u8] {
    let mut room = ROOM.lock();
    if room.len() < bytes {
        *room = vec![0; BLOCK].leak();
    }
    let (piece, rest) = std::mem::take(&mut *room).split_at_mut(bytes);
    *room = rest;
    piece
}

#[inline(never)]
fn uncounted_room(bytes: usize) -> &'static mut [u8] {
    room(bytes)
}

#[inline(never)]
fn uncounted_read(memory: &Option<Memory>, offset: usize, bytes: usize) -> &'static [u8] {
    note_access(Access::Read);
    let memory = memory.as_ref().expect("taken by drop alone");
    let out = room(bytes);
    memory.read(offset, out).expect("inside");
    out
}

#[inline(never)]
fn uncounted_write(memory: &Option<Memory>, offset: usize, data: &[u8]) {
    note_access(Access::Write);
    let memory = memory.as_ref().expect("taken by drop alone");
    memory.write(offset, data).expect("inside");
}

#[inline(never)]
fn uncounted_read_segment(segment: &Segment, offset: usize, bytes: usize) -> &'static [u8] {
    note_access(Access::Read);
    let out = room(bytes);
    segment.read(offset, out).expect("inside");
    out
}

#[inline(never)]
fn uncounted_write_segment(segment: &Segment, offset: usize, data: &[u8]) {
    note_access(Access::Write);
    segment.write(offset, data).expect("inside");
}

impl Platform for Counted {
    type Buffer = CountedMemory;
    type Lock = SpinLock;
    type Segment = CountedSegment;

    fn read_reg(&self, address: u64) -> Result<u64, BusError> {
        uncounted_read_reg(&self.0, address)
    }

    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError> {
        uncounted_write_reg(&self.0, address, value)
    }

    fn alloc(&self, bytes: usize, align: usize) -> Result<CountedMemory, AllocError> {
        let block = black_box(Box::new([0; 64]));
        let memory = uncounted_alloc(&self.0, bytes, align)?;
        Ok(CountedMemory {
            len: bytes,
            slot: memory.slot(),
            offset: memory.offset(),
            address: memory.address(),
            memory: Some(memory),
            _block: block,
        })
    }

    fn share(&self, number: u32, bytes: usize) -> Result<CountedSegment, SegmentError> {
        Ok(CountedSegment {
            segment: uncounted_share(&self.0, number, bytes)?,
            len: bytes,
            lock: self.new_lock(),
        })
    }

    fn now_ps(&self) -> u64 {
        uncounted_now_ps(&self.0)
    }

    fn charge(&self, op: Op, count: u64) {
        uncounted_charge(op, count);
    }

    fn wait(&self, group: u8, deadline_ps: Option<u64>) -> WakeReason {
        uncounted_wait(&self.0, group, deadline_ps)
    }

    fn notify(&self, group: u8) {
        uncounted_notify(&self.0, group);
    }

    fn yield_now(&self) {
        uncounted_yield(&self.0);
    }

    fn new_lock(&self) -> SpinLock {
        SpinLock(AtomicBool::new(false))
    }
}

/// Refuses bytes outside memory of `len` bytes.
fn check(len: usize, offset: usize, bytes: usize) -> Result<(), RangeError> {
    match offset.checked_add(bytes) {
        Some(end) if end <= len => Ok(()),
        _ => Err(RangeError { offset, bytes, len }),
    }
}

impl DmaBuffer for CountedMemory {
    fn len(&self) -> usize {
        self.len
    }

    fn slot(&self) -> u16 {
        self.slot
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn address(&self) -> u64 {
        self.address
    }

    #[inline(always)] // Stands for loads and stores.
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        check(self.len, offset, out.len())?;
        out.copy_from_slice(uncounted_read(&self.memory, offset, out.len()));
        Ok(())
    }

    #[inline(always)] // Stands for loads and stores.
    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        check(self.len, offset, data.len())?;
        let copy = uncounted_room(data.len());
        copy.copy_from_slice(data);
        uncounted_write(&self.memory, offset, copy);
        Ok(())
    }

    #[inline(always)] // Stands for loads and stores.
    fn copy_to(
        &self,
        offset: usize,
        into: &Self,
        place: usize,
        bytes: usize,
    ) -> Result<(), RangeError> {
        check(self.len, offset, bytes)?;
        check(into.len, place, bytes)?;
        let copy = uncounted_room(bytes);
        copy.copy_from_slice(uncounted_read(&self.memory, offset, bytes));
        uncounted_write(&into.memory, place, copy);
        Ok(())
    }
}

impl Drop for CountedMemory {
    fn drop(&mut self) {
        uncounted_free(&mut self.memory);
    }
}

impl SharedSegment for CountedSegment {
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        check(self.len, offset, out.len())?;
        out.copy_from_slice(uncounted_read_segment(&self.segment, offset, out.len()));
        Ok(())
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        check(self.len, offset, data.len())?;
        let copy = uncounted_room(data.len());
        copy.copy_from_slice(data);
        uncounted_write_segment(&self.segment, offset, copy);
        Ok(())
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
