// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver's platform on the simulated machine: the one place where driver and simulator meet.

mod heap;
mod layer;
mod segment;

use std::sync::Arc;

use fragile::Fragile;
use gyre_affinity::{Place, PlaceError, Processor, ThreadPlace};
use gyre_driver::{
    AllocError, BusError, BusErrorKind, CostTable, DmaBuffer, Note, Op, Platform, PlatformLock,
    RangeError, SegmentError, WakeReason,
};
use gyre_sim::{Cpu, Lock, OutsideMemory};

use heap::{Heap, Piece};

pub use heap::{HEAP_BYTES, PROCESS_BYTES};
pub use layer::{Layer, Layered};
pub use segment::{NodeSegment, NodeSegments, Transfers};

/// First address of the memory of process `process`.
pub fn process_base(process: u8) -> u64 {
    (u64::from(process) + 1) * PROCESS_BYTES
}

/// The machine as one process of a simulated node sees it: the node's processor, the process's heap
/// behind its base slot, and the costs of its software.
///
/// All threads of a machine's nodes are coroutines of one host thread, and so is what callbacks of their contexts
/// run on. A handle may travel as the driver asks, but another host thread that uses or drops it panics.
#[derive(Clone)]
pub struct SimPlatform {
    cpu: Fragile<Cpu>,
    costs: Arc<CostTable>,
    heap: Arc<Heap>,
    slot: u16,
    segments: NodeSegments,
}

impl SimPlatform {
    /// Process `process` of the node of `cpu`, whose memory lies behind base slot `slot` and whose node has
    /// the shared segments `segments`, and with them its processor.
    pub fn new(
        cpu: Cpu,
        process: u8,
        slot: u16,
        costs: Arc<CostTable>,
        segments: NodeSegments,
    ) -> Self {
        Self {
            cpu: Fragile::new(cpu),
            costs,
            heap: Arc::new(Heap::new(process_base(process))),
            slot,
            segments,
        }
    }

    /// Has the software thread that calls this run on hardware thread `number` of the node from now on: it waits for the
    /// cache lines of shared segments that others have written (AF-6). False, and nothing changes, when there is no such
    /// hardware thread.
    #[must_use]
    pub fn run_on(&self, number: usize) -> bool {
        let known = self.processor().place(number).is_some();
        if known {
            self.cpu().run_on(number);
        }
        known
    }

    /// Memory for the DMA engine that stands for `bytes` bytes outside the simulator, of which the first is `skew` bytes
    /// behind a multiple of a memory beat, at most 63.
    ///
    /// # Errors
    /// [`AllocError`] when the process has no addresses left for them.
    pub fn map(
        &self,
        bytes: usize,
        skew: usize,
        outside: Box<dyn OutsideMemory>,
    ) -> Result<NodeBuffer, AllocError> {
        let room = bytes.checked_add(skew);
        let piece = room.and_then(|room| self.heap.reserve(room));
        let piece = piece.ok_or_else(|| AllocError {
            bytes,
            align: 1,
            reason: "the memory of the process is used up".into(),
        })?;
        let offset = piece.start + skew as u64;
        let start = self.heap.address(offset);
        let mapped = bytes > 0;
        if mapped {
            self.cpu().map_memory(start..start + bytes as u64, outside);
        }
        Ok(NodeBuffer {
            platform: self.clone(),
            piece: Some(piece),
            offset,
            len: bytes,
            mapped,
        })
    }

    /// The same at `offset` behind the process's base slot, above [`HEAP_BYTES`], where nothing else is mapped.
    ///
    /// # Errors
    /// [`AllocError`] for bytes that do not lie there.
    pub fn map_at(
        &self,
        offset: u64,
        bytes: usize,
        outside: Box<dyn OutsideMemory>,
    ) -> Result<NodeBuffer, AllocError> {
        let end = offset.checked_add(bytes as u64);
        if offset < HEAP_BYTES || bytes == 0 || end.is_none_or(|end| end > PROCESS_BYTES) {
            return Err(AllocError {
                bytes,
                align: 1,
                reason: format!("offset {offset:#x}, expected above the heap of the process"),
            });
        }
        let start = self.heap.address(offset);
        self.cpu().map_memory(start..start + bytes as u64, outside);
        Ok(NodeBuffer {
            platform: self.clone(),
            piece: None,
            offset,
            len: bytes,
            mapped: true,
        })
    }

    /// The node as its software reaches it.
    pub fn cpu(&self) -> &Cpu {
        self.cpu.get()
    }

    /// The processor of the node: its hardware threads.
    pub fn processor(&self) -> &Processor {
        self.segments.processor()
    }
}

impl Platform for SimPlatform {
    type Buffer = NodeBuffer;
    type Lock = NodeLock;
    type Segment = NodeSegment;

    fn read_reg(&self, address: u64) -> Result<u64, BusError> {
        self.cpu()
            .read_reg(address)
            .map_err(|error| refused(&error, false))
    }

    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError> {
        self.cpu()
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
        let (piece, offset) = self
            .heap
            .allocate(self.cpu(), bytes, align)
            .ok_or_else(|| refuse("the memory of the process is used up"))?;
        Ok(NodeBuffer {
            platform: self.clone(),
            piece: Some(piece),
            offset,
            len: bytes,
            mapped: false,
        })
    }

    fn share(&self, number: u32, bytes: usize) -> Result<NodeSegment, SegmentError> {
        self.segments.share(self.cpu(), number, bytes)
    }

    fn now_ps(&self) -> u64 {
        self.cpu().now_ps()
    }

    fn charge(&self, op: Op, count: u64) {
        let instructions = self.costs.instructions(op).saturating_mul(count);
        // A search of a receive's match may take longer than the watchdog waits.
        if matches!(
            op,
            Op::Packet | Op::Assemble | Op::Place | Op::Dispatch | Op::Hold
        ) {
            self.cpu().note_progress();
        }
        // Operations are numbered in their order in `Op::ALL`.
        self.cpu().charge_operation(instructions, op as u8, count);
    }

    #[inline]
    fn note(&self, note: Note) {
        let cpu = self.cpu();
        if cpu.is_recording() {
            cpu.record_note(note);
        }
    }

    fn wait(&self, group: u8, deadline_ps: Option<u64>) -> WakeReason {
        // For the report of a machine that hangs.
        self.cpu()
            .describe_wait("a packet, a completion or posted work");
        match self.cpu().wait_wake(group, deadline_ps) {
            gyre_sim::WakeReason::Wake => WakeReason::Wake,
            gyre_sim::WakeReason::Deadline => WakeReason::Deadline,
        }
    }

    fn notify(&self, group: u8) {
        self.cpu().signal(group);
    }

    fn yield_now(&self) {
        self.cpu().yield_now();
    }

    fn new_lock(&self) -> NodeLock {
        NodeLock(Fragile::new(Lock::new(self.cpu())))
    }
}

impl ThreadPlace for SimPlatform {
    /// The hardware thread that the job has given the calling thread, or that it [runs on](SimPlatform::run_on) since: the
    /// machine file's `[processor]` says where it is.
    fn thread_place(&self) -> Result<Place, PlaceError> {
        let number = self.cpu().hardware_thread().ok_or_else(|| PlaceError {
            reason: "it has been given none".into(),
        })?;
        let processor = self.processor();
        processor.place(number).ok_or_else(|| PlaceError {
            reason: format!(
                "it is number {number}, expected one below {}, as many as the node's processor has",
                processor.hardware_threads()
            ),
        })
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

/// Bytes outside the simulator that no longer exist.
struct Nowhere;

impl OutsideMemory for Nowhere {
    fn read(&self, _offset: u64, _out: &mut [u8]) -> bool {
        false
    }

    fn write(&self, _offset: u64, _data: &[u8]) -> bool {
        false
    }
}

/// A piece of a process's memory, freed on drop.
pub struct NodeBuffer {
    platform: SimPlatform,
    /// Its part of the heap, if it has one.
    piece: Option<Piece>,
    offset: u64,
    len: usize,
    /// Whether it stands for bytes outside the simulator.
    mapped: bool,
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
        self.platform.heap.address(self.offset)
    }

    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        let address = self.check(offset, out.len())?;
        self.platform.cpu().mem_read(address, out);
        Ok(())
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        let address = self.check(offset, data.len())?;
        self.platform.cpu().mem_write(address, data);
        Ok(())
    }
}

impl Drop for NodeBuffer {
    fn drop(&mut self) {
        let start = self.address();
        if self.mapped {
            self.platform.cpu().unmap_memory(start);
        }
        match &self.piece {
            Some(piece) => self.platform.heap.free(piece),
            // What is under way must not find memory there.
            None => self
                .platform
                .cpu()
                .map_memory(start..start + self.len as u64, Box::new(Nowhere)),
        }
    }
}

/// A lock between the threads of a node: for their host thread, as [`SimPlatform`].
pub struct NodeLock(Fragile<Lock>);

impl PlatformLock for NodeLock {
    fn lock(&self) {
        self.0.get().lock();
    }

    fn trylock(&self) -> bool {
        self.0.get().try_lock()
    }

    fn unlock(&self) {
        self.0.get().unlock();
    }
}
