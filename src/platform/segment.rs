//! Shared segments of a simulated node (HW-7).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::{Rc, Weak};

use gyre_driver::{PlatformLock, RangeError, SegmentError, SharedSegment};
use gyre_sim::{Cpu, Lock};
use range_alloc::RangeAllocator;

use super::{GRANULE, PROCESS_BYTES};

/// The shared segments of one node. Clones are handles to the same; all processes of the node have one.
#[derive(Clone)]
pub struct NodeSegments(Rc<Registry>);

struct Registry {
    /// Granules of the node's memory below that of its processes.
    memory: RefCell<RangeAllocator<u64>>,
    /// End of the granules that have been allocated before: above, memory is still zero.
    used: Cell<u64>,
    /// Those that some process has a handle of.
    open: RefCell<BTreeMap<u32, Weak<Segment>>>,
}

impl Default for NodeSegments {
    /// A node without segments.
    fn default() -> Self {
        Self(Rc::new(Registry {
            memory: RefCell::new(RangeAllocator::new(0..PROCESS_BYTES / GRANULE)),
            used: Cell::new(0),
            open: RefCell::default(),
        }))
    }
}

impl NodeSegments {
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
        let open = self.0.open.borrow().get(&number).and_then(Weak::upgrade);
        if let Some(segment) = open {
            if segment.len != bytes {
                return Err(refuse(format!("it has {} bytes", segment.len)));
            }
            return Ok(NodeSegment(segment));
        }
        let granules = (bytes as u64).div_ceil(GRANULE).max(1);
        let range = self.0.memory.borrow_mut().allocate_range(granules);
        let range = range.map_err(|_| refuse("the node's shared memory is used up".into()))?;
        let dirty = self.0.used.get().saturating_sub(range.start) * GRANULE;
        let dirty = bytes.min(usize::try_from(dirty).unwrap_or(bytes));
        cpu.mem_write(range.start * GRANULE, &vec![0; dirty]);
        self.0.used.set(self.0.used.get().max(range.end));
        let segment = Rc::new(Segment {
            cpu: cpu.clone(),
            lock: Lock::new(cpu),
            registry: Rc::clone(&self.0),
            number,
            range,
            len: bytes,
        });
        let mut open = self.0.open.borrow_mut();
        open.insert(number, Rc::downgrade(&segment));
        Ok(NodeSegment(segment))
    }
}

struct Segment {
    cpu: Cpu,
    lock: Lock,
    registry: Rc<Registry>,
    number: u32,
    range: Range<u64>,
    len: usize,
}

impl Segment {
    fn address(&self, offset: usize, bytes: usize) -> Result<u64, RangeError> {
        if offset.checked_add(bytes).is_some_and(|end| end <= self.len) {
            return Ok(self.range.start * GRANULE + offset as u64);
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
        self.registry.open.borrow_mut().remove(&self.number);
        let range = self.range.clone();
        self.registry.memory.borrow_mut().free_range(range);
    }
}

/// A process's handle of a shared segment.
pub struct NodeSegment(Rc<Segment>);

impl SharedSegment for NodeSegment {
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        let address = self.0.address(offset, out.len())?;
        self.0.cpu.mem_read(address, out);
        Ok(())
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        let address = self.0.address(offset, data.len())?;
        self.0.cpu.mem_write(address, data);
        Ok(())
    }
}

impl PlatformLock for NodeSegment {
    fn lock(&self) {
        self.0.lock.lock();
    }

    fn trylock(&self) -> bool {
        self.0.lock.try_lock()
    }

    fn unlock(&self) {
        self.0.lock.unlock();
    }
}
