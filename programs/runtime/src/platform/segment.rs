// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared segments of a simulated node (HW-7), and the way of their cache lines between its hardware
//! threads.
//!
//! A line is where it was written last. A thread that reads or writes a line which another one has written
//! since it last touched the line itself waits for it: as long as the processor's description says for
//! the smallest unit with both threads in it, or, when a thread of its own core has the line already, as
//! long as for one of the core's. That is a transfer, from the writer to the reader.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Weak};

use fragile::Fragile;
use gyre_affinity::{Place, Processor, Unit};
use gyre_driver::{PlatformLock, RangeError, SegmentError, SharedSegment};
use gyre_sim::{Cpu, Lock};
use parking_lot::Mutex;

use super::heap::{Heap, Piece};

/// The shared segments of one node. Clones are handles to the same; all processes of the node have one.
#[derive(Clone)]
pub struct NodeSegments(Arc<Registry>);

struct Registry {
    /// The node's memory below that of its processes.
    memory: Heap,
    processor: Processor,
    /// Segments that some process has a handle of.
    open: Mutex<BTreeMap<u32, Weak<Segment>>>,
    transfers: Mutex<Transfers>,
}

/// Cache lines that have gone from one hardware thread to another, by (writer, reader).
pub type Transfers = BTreeMap<(usize, usize), u64>;

/// A hardware thread.
#[derive(Clone, Copy)]
struct HardwareThread {
    number: usize,
    place: Place,
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Number of the line of a segment's lock: behind all of its data.
const LOCK: Range<usize> = usize::MAX - 1..usize::MAX;

/// A cache line that has been written.
struct Line {
    writer: HardwareThread,
    /// Hardware threads that have the written line.
    holders: Vec<HardwareThread>,
}

impl Line {
    /// Time that a thread waits for a line that it does not have.
    fn way(&self, reader: HardwareThread) -> Option<Unit> {
        if self.holders.iter().any(|h| h.number == reader.number) {
            return None;
        }
        let same_core = |h: &HardwareThread| h.place.common(reader.place) <= Unit::Core;
        match self.holders.iter().any(same_core) {
            true => Some(Unit::Core),
            false => Some(self.writer.place.common(reader.place)),
        }
    }
}

impl Default for NodeSegments {
    /// Segments of a node with the reference processor.
    fn default() -> Self {
        Self::new(&Processor::default())
    }
}

impl NodeSegments {
    /// Segments of a node with this processor: none at first.
    pub fn new(processor: &Processor) -> Self {
        Self(Arc::new(Registry {
            memory: Heap::new(0),
            processor: processor.clone(),
            open: Mutex::default(),
            transfers: Mutex::default(),
        }))
    }

    /// The node's processor.
    pub(super) fn processor(&self) -> &Processor {
        &self.0.processor
    }

    /// The transfers since the machine began.
    pub fn transfers(&self) -> Transfers {
        self.0.transfers.lock().clone()
    }

    /// A handle of segment `number`.
    pub(super) fn share(
        &self,
        cpu: &Cpu,
        number: u32,
        bytes: usize,
    ) -> Result<NodeSegment, SegmentError> {
        let refuse = |reason: String| SegmentError {
            number,
            bytes,
            reason,
        };
        // What other processes have done until now is done.
        cpu.yield_now();
        let open = self.0.open.lock().get(&number).and_then(Weak::upgrade);
        if let Some(segment) = open {
            if segment.len != bytes {
                return Err(refuse(format!("it has {} bytes", segment.len)));
            }
            return Ok(NodeSegment(segment));
        }
        let (piece, _) = self
            .0
            .memory
            .allocate(cpu, bytes, 1)
            .ok_or_else(|| refuse("the node's shared memory is used up".into()))?;
        let segment = Arc::new(Segment {
            cpu: Fragile::new(cpu.clone()),
            lock: Fragile::new(Lock::new(cpu)),
            registry: Arc::clone(&self.0),
            number,
            piece,
            len: bytes,
            lines: Mutex::default(),
        });
        let mut open = self.0.open.lock();
        open.insert(number, Arc::downgrade(&segment));
        Ok(NodeSegment(segment))
    }
}

struct Segment {
    cpu: Fragile<Cpu>,
    lock: Fragile<Lock>,
    registry: Arc<Registry>,
    number: u32,
    piece: Piece,
    len: usize,
    /// Written lines by number; the lock has a line of its own.
    lines: Mutex<BTreeMap<usize, Line>>,
}

impl Segment {
    fn address(&self, offset: usize, bytes: usize) -> Result<u64, RangeError> {
        if offset.checked_add(bytes).is_some_and(|end| end <= self.len) {
            return Ok(self.registry.memory.address(self.piece.start) + offset as u64);
        }
        Err(RangeError {
            offset,
            bytes,
            len: self.len,
        })
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        self.registry.open.lock().remove(&self.number);
        self.registry.memory.free(&self.piece);
    }
}

/// A process's handle of a shared segment. Software that is on no hardware thread waits for no line, and takes none
/// away.
pub struct NodeSegment(Arc<Segment>);

impl NodeSegment {
    /// Brings lines to the thread that accesses them, and lets the time pass that this takes.
    fn touch(&self, lines_of_access: Range<usize>, write: bool) {
        let cpu = self.0.cpu.get();
        let processor = &self.0.registry.processor;
        let Some(number) = cpu.hardware_thread() else {
            return;
        };
        let Some(place) = processor.place(number) else {
            return;
        };
        let thread = HardwareThread { number, place };
        let mut cycles = 0;
        let mut lines = self.0.lines.lock();
        let mut transfers = self.0.registry.transfers.lock();
        for number in lines_of_access {
            if let Some(line) = lines.get_mut(&number)
                && let Some(unit) = line.way(thread)
            {
                cycles += u64::from(processor.line_cycles(unit));
                let pair = (line.writer.number, thread.number);
                *transfers.entry(pair).or_default() += 1;
                line.holders.push(thread);
            }
            if write {
                let line = Line {
                    writer: thread,
                    holders: vec![thread],
                };
                lines.insert(number, line);
            }
        }
        drop((lines, transfers));
        cpu.charge_instructions(cycles);
    }
}

/// Numbers of the lines of an access.
fn lines(offset: usize, bytes: usize) -> Range<usize> {
    offset / LINE..(offset + bytes).div_ceil(LINE)
}

impl SharedSegment for NodeSegment {
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        let address = self.0.address(offset, out.len())?;
        self.0.cpu.get().mem_read(address, out);
        self.touch(lines(offset, out.len()), false);
        Ok(())
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        let address = self.0.address(offset, data.len())?;
        // What tasks say to each other this way is on no link.
        self.0.cpu.get().mem_share(address, data);
        self.touch(lines(offset, data.len()), true);
        Ok(())
    }

    fn address(&self) -> Option<u64> {
        self.0.address(0, 0).ok()
    }
}

impl PlatformLock for NodeSegment {
    fn lock(&self) {
        self.0.lock.get().lock();
        self.touch(LOCK, true);
    }

    fn trylock(&self) -> bool {
        let taken = self.0.lock.get().try_lock();
        self.touch(LOCK, taken);
        taken
    }

    fn unlock(&self) {
        self.0.lock.get().unlock();
    }
}
