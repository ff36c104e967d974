//! The simulated machine's platform with a look at when descriptors are handed to the DMA engine.

use std::cell::Cell;
use std::rc::Rc;

use gyre_driver::{AllocError, BusError, Op, Platform, SegmentError, WakeReason};
use gyre_firmware::Register;

use crate::platform::{NodeBuffer, NodeLock, NodeSegment, SimPlatform};

/// A [`SimPlatform`] that notes when the TAIL of an injection FIFO is written.
#[derive(Clone)]
pub(super) struct Metered {
    inner: SimPlatform,
    /// Address of the TAIL register whose writes are waited for.
    armed: Rc<Cell<Option<u64>>>,
    rung: Rc<Cell<Option<u64>>>,
}

impl Metered {
    pub fn new(inner: SimPlatform) -> Self {
        Self {
            inner,
            armed: Rc::default(),
            rung: Rc::default(),
        }
    }

    /// Forgets what it has noted, and notes the next write of TAIL of injection FIFO `fifo`.
    pub fn arm(&self, fifo: u16) {
        self.armed.set(Some(Register::injection_tail(fifo).address));
        self.rung.set(None);
    }

    /// Time at which the processor issued that write, picoseconds.
    pub fn rung_ps(&self) -> Option<u64> {
        self.rung.get()
    }
}

impl Platform for Metered {
    type Buffer = NodeBuffer;
    type Lock = NodeLock;
    type Segment = NodeSegment;

    fn read_reg(&self, address: u64) -> Result<u64, BusError> {
        self.inner.read_reg(address)
    }

    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError> {
        if self.armed.get() == Some(address) {
            self.armed.set(None);
            self.rung.set(Some(self.now_ps()));
        }
        self.inner.write_reg(address, value)
    }

    fn alloc(&self, bytes: usize, align: usize) -> Result<NodeBuffer, AllocError> {
        self.inner.alloc(bytes, align)
    }

    fn share(&self, number: u32, bytes: usize) -> Result<NodeSegment, SegmentError> {
        self.inner.share(number, bytes)
    }

    fn now_ps(&self) -> u64 {
        self.inner.now_ps()
    }

    fn charge(&self, op: Op, count: u64) {
        self.inner.charge(op, count);
    }

    fn wait(&self, group: u8, deadline_ps: Option<u64>) -> WakeReason {
        self.inner.wait(group, deadline_ps)
    }

    fn notify(&self, group: u8) {
        self.inner.notify(group);
    }

    fn yield_now(&self) {
        self.inner.yield_now();
    }

    fn new_lock(&self) -> NodeLock {
        self.inner.new_lock()
    }
}
