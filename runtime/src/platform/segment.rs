//! Shared segments of a simulated node (HW-7), and the way of their cache lines between its hardware
//! threads.
//!
//! A line is where it was written last. A thread that reads or writes a line which another one has written
//! since it last touched the line itself waits for it: as long as the processor's description says for
//! the smallest unit with both threads in it, or, when a thread of its own core has the line already, as
//! long as for one of the core's. That is a transfer, from the writer to the reader.

use std::collections::BTreeMap;
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
    /// Those that some process has a handle of.
    open: Mutex<BTreeMap<u32, Weak<Segment>>>,
    transfers: Mutex<Transfers>,
}

/// Cache lines that have gone from one hardware thread to another, by (writer, reader).
pub type Transfers = BTreeMap<(usize, usize), u64>;

/// The hardware thread that a software thread runs on.
#[derive(Clone)]
pub(super) struct HardwareThread {
    processor: Arc<Processor>,
    number: usize,
    place: Place,
}

impl HardwareThread {
    /// Hardware thread `number` of `processor`, if there is one.
    pub fn new(processor: &Arc<Processor>, number: usize) -> Option<Self> {
        Some(Self {
            processor: Arc::clone(processor),
            number,
            place: processor.place(number)?,
        })
    }

    /// Where it is.
    pub fn place(&self) -> Place {
        self.place
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// A cache line that has been written.
struct Line {
    writer: HardwareThread,
    /// Hardware threads that have what was written.
    holders: Vec<HardwareThread>,
}

impl Line {
    /// What a thread has to wait for that does not have the line.
    fn way(&self, reader: &HardwareThread) -> Option<Unit> {
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
    /// A node without segments.
    fn default() -> Self {
        Self(Arc::new(Registry {
            memory: Heap::new(0),
            open: Mutex::default(),
            transfers: Mutex::default(),
        }))
    }
}

impl NodeSegments {
    /// The transfers since the machine began.
    pub fn transfers(&self) -> Transfers {
        self.0.transfers.lock().clone()
    }

    /// A handle of segment `number`, for a software thread on `thread` if it is bound to one.
    pub(super) fn share(
        &self,
        cpu: &Cpu,
        thread: Option<HardwareThread>,
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
            return Ok(NodeSegment { segment, thread });
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
        Ok(NodeSegment { segment, thread })
    }
}

struct Segment {
    cpu: Fragile<Cpu>,
    lock: Fragile<Lock>,
    registry: Arc<Registry>,
    number: u32,
    piece: Piece,
    len: usize,
    /// By number, those that a bound thread has written.
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

/// A process's handle of a shared segment. Threads that are bound to no hardware thread wait for no line,
/// and take none away.
pub struct NodeSegment {
    segment: Arc<Segment>,
    thread: Option<HardwareThread>,
}

impl NodeSegment {
    /// Brings the lines of an access to its thread, and lets the time pass that this takes.
    fn touch(&self, offset: usize, bytes: usize, write: bool) {
        let Some(thread) = &self.thread else { return };
        let mut cycles = 0;
        let mut lines = self.segment.lines.lock();
        let mut transfers = self.segment.registry.transfers.lock();
        for number in offset / LINE..(offset + bytes).div_ceil(LINE) {
            if let Some(line) = lines.get_mut(&number)
                && let Some(unit) = line.way(thread)
            {
                cycles += u64::from(thread.processor.line_cycles(unit));
                let pair = (line.writer.number, thread.number);
                *transfers.entry(pair).or_default() += 1;
                line.holders.push(thread.clone());
            }
            if write {
                let line = Line {
                    writer: thread.clone(),
                    holders: vec![thread.clone()],
                };
                lines.insert(number, line);
            }
        }
        drop((lines, transfers));
        self.segment.cpu.get().charge_instructions(cycles);
    }
}

impl SharedSegment for NodeSegment {
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        let address = self.segment.address(offset, out.len())?;
        self.segment.cpu.get().mem_read(address, out);
        self.touch(offset, out.len(), false);
        Ok(())
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        let address = self.segment.address(offset, data.len())?;
        // What tasks say to each other this way is on no link.
        self.segment.cpu.get().mem_share(address, data);
        self.touch(offset, data.len(), true);
        Ok(())
    }

    fn address(&self) -> Option<u64> {
        self.segment.address(0, 0).ok()
    }
}

impl PlatformLock for NodeSegment {
    fn lock(&self) {
        self.segment.lock.get().lock();
    }

    fn trylock(&self) -> bool {
        self.segment.lock.get().try_lock()
    }

    fn unlock(&self) {
        self.segment.lock.get().unlock();
    }
}
