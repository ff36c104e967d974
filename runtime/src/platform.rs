//! The driver's platform on the simulated machine: the one place where driver and simulator meet.

mod layer;
mod segment;

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use gyre_affinity::Processor;
use gyre_driver::{
    AllocError, BusError, BusErrorKind, CostTable, DmaBuffer, Op, Platform, PlatformLock,
    RangeError, SegmentError, WakeReason,
};
use gyre_sim::{Cpu, Lock};
use range_alloc::RangeAllocator;

use segment::HardwareThread;

pub use layer::{Layer, Layered};
pub use segment::{NodeSegment, NodeSegments, Transfers};

/// Granule of the heap in bytes: no two buffers share a memory beat.
const GRANULE: u64 = 64;

/// Bytes of node memory that each process owns; process `p` starts at `(p + 1)` times this. Below are the
/// node's shared segments.
pub const PROCESS_BYTES: u64 = 1 << 36;

/// First address of the memory of process `process`.
pub fn process_base(process: u8) -> u64 {
    (u64::from(process) + 1) * PROCESS_BYTES
}

/// The machine as one process of a simulated node sees it: the node's processor, the process's heap
/// behind its base slot, and the costs of its software.
#[derive(Clone)]
pub struct SimPlatform {
    cpu: Cpu,
    costs: Rc<CostTable>,
    heap: Rc<RefCell<RangeAllocator<u64>>>,
    /// End of the granules that have been allocated before: above, memory is still zero.
    used: Rc<Cell<u64>>,
    slot: u16,
    base: u64,
    segments: NodeSegments,
    thread: Option<HardwareThread>,
}

impl SimPlatform {
    /// Process `process` of the node of `cpu`, whose memory lies behind base slot `slot` and whose node has
    /// the shared segments `segments`.
    pub fn new(
        cpu: Cpu,
        process: u8,
        slot: u16,
        costs: Rc<CostTable>,
        segments: NodeSegments,
    ) -> Self {
        Self {
            cpu,
            costs,
            heap: Rc::new(RefCell::new(RangeAllocator::new(
                0..PROCESS_BYTES / GRANULE,
            ))),
            used: Rc::new(Cell::new(0)),
            slot,
            base: process_base(process),
            segments,
            thread: None,
        }
    }

    /// The same process as a software thread sees it that runs on hardware thread `thread` of `processor`:
    /// it waits for the cache lines of shared segments that others have written (AF-6). `None` when there is
    /// no such hardware thread.
    #[must_use]
    pub fn bound(&self, processor: &Rc<Processor>, thread: usize) -> Option<Self> {
        Some(Self {
            thread: Some(HardwareThread::new(processor, thread)?),
            ..self.clone()
        })
    }

    /// The node's processor.
    pub fn cpu(&self) -> &Cpu {
        &self.cpu
    }
}

impl Platform for SimPlatform {
    type Buffer = NodeBuffer;
    type Lock = NodeLock;
    type Segment = NodeSegment;

    fn read_reg(&self, address: u64) -> Result<u64, BusError> {
        self.cpu
            .read_reg(address)
            .map_err(|error| refused(&error, false))
    }

    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError> {
        self.cpu
            .write_reg(address, value)
            .map_err(|error| refused(&error, true))
    }

    fn alloc(&self, bytes: usize, align: usize) -> Result<NodeBuffer, AllocError> {
        let refuse = |reason: &str| AllocError {
            bytes,
            align,
            reason: reason.into(),
        };
        if !align.is_power_of_two() {
            return Err(refuse("the alignment is no power of two"));
        }
        // Over-allocation buys alignments above the granule.
        let slack = (align as u64).saturating_sub(GRANULE);
        let granules = (bytes as u64)
            .saturating_add(slack)
            .div_ceil(GRANULE)
            .max(1);
        let range = self
            .heap
            .borrow_mut()
            .allocate_range(granules)
            .map_err(|_| refuse("the memory of the process is used up"))?;
        let offset = (range.start * GRANULE).next_multiple_of(align as u64);
        let buffer = NodeBuffer {
            platform: self.clone(),
            range,
            offset,
            len: bytes,
        };
        // Freed memory is used again: what was there must not show. The rest stays untouched, so that it
        // takes no room in the simulator.
        let used = (self.used.get() * GRANULE).saturating_sub(offset);
        let dirty = bytes.min(usize::try_from(used).unwrap_or(bytes));
        self.cpu.mem_write(buffer.address(), &vec![0; dirty]);
        self.used.set(self.used.get().max(buffer.range.end));
        Ok(buffer)
    }

    fn share(&self, number: u32, bytes: usize) -> Result<NodeSegment, SegmentError> {
        self.segments
            .share(&self.cpu, self.thread.clone(), number, bytes)
    }

    fn now_ps(&self) -> u64 {
        self.cpu.now_ps()
    }

    fn charge(&self, op: Op, count: u64) {
        self.cpu
            .charge_instructions(self.costs.instructions(op) * count);
    }

    fn wait(&self, group: u8, deadline_ps: Option<u64>) -> WakeReason {
        // For the report of a machine that hangs.
        self.cpu
            .describe_wait("a packet, a completion or posted work");
        match self.cpu.wait_wake(group, deadline_ps) {
            gyre_sim::WakeReason::Wake => WakeReason::Wake,
            gyre_sim::WakeReason::Deadline => WakeReason::Deadline,
        }
    }

    fn notify(&self, group: u8) {
        self.cpu.signal(group);
    }

    fn yield_now(&self) {
        self.cpu.yield_now();
    }

    fn new_lock(&self) -> NodeLock {
        NodeLock(Lock::new(&self.cpu))
    }
}

fn refused(error: &gyre_sim::BusError, write: bool) -> BusError {
    BusError {
        address: error.address(),
        // A read tells of a posted write before it, too.
        write: write || matches!(error, gyre_sim::BusError::Write { .. }),
        kind: BusErrorKind::Slave,
    }
}

/// A piece of a process's memory, freed on drop.
pub struct NodeBuffer {
    platform: SimPlatform,
    range: Range<u64>,
    offset: u64,
    len: usize,
}

impl NodeBuffer {
    fn check(&self, offset: usize, bytes: usize) -> Result<u64, RangeError> {
        if offset.checked_add(bytes).is_some_and(|end| end <= self.len) {
            return Ok(self.address() + offset as u64);
        }
        Err(RangeError {
            offset,
            bytes,
            len: self.len,
        })
    }
}

impl DmaBuffer for NodeBuffer {
    fn len(&self) -> usize {
        self.len
    }

    fn slot(&self) -> u16 {
        self.platform.slot
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn address(&self) -> u64 {
        self.platform.base + self.offset
    }

    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        let address = self.check(offset, out.len())?;
        self.platform.cpu.mem_read(address, out);
        Ok(())
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        let address = self.check(offset, data.len())?;
        self.platform.cpu.mem_write(address, data);
        Ok(())
    }
}

impl Drop for NodeBuffer {
    fn drop(&mut self) {
        let range = self.range.clone();
        self.platform.heap.borrow_mut().free_range(range);
    }
}

/// A lock between the threads of a node.
pub struct NodeLock(Lock);

impl PlatformLock for NodeLock {
    fn lock(&self) {
        self.0.lock();
    }

    fn trylock(&self) -> bool {
        self.0.try_lock()
    }

    fn unlock(&self) {
        self.0.unlock();
    }
}
