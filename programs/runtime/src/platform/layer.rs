// SPDX-License-Identifier: MIT OR Apache-2.0
//! Something between the driver and the simulated machine: a measurement, or a fault.

use gyre_driver::{AllocError, BusError, Note, Op, Platform, SegmentError, WakeReason};

use super::{NodeBuffer, NodeLock, NodeSegment, SimPlatform};

/// Changes that a layer makes to the machine below it; the rest stays as it is.
pub trait Layer: Clone + Send + Sync + 'static {
    /// The machine below.
    fn below(&self) -> &SimPlatform;

    /// As [`Platform::read_reg`].
    ///
    /// # Errors
    /// As there.
    fn read_reg(&self, address: u64) -> Result<u64, BusError> {
        self.below().read_reg(address)
    }

    /// As [`Platform::write_reg`].
    ///
    /// # Errors
    /// As there.
    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError> {
        self.below().write_reg(address, value)
    }

    /// As [`Platform::charge`].
    fn charge(&self, op: Op, count: u64) {
        self.below().charge(op, count);
    }

    /// As [`Platform::wait`].
    fn wait(&self, group: u8, deadline_ps: Option<u64>) -> WakeReason {
        self.below().wait(group, deadline_ps)
    }
}

/// The machine through a layer.
#[derive(Clone)]
pub struct Layered<L>(pub L);

impl<L: Layer> Platform for Layered<L> {
    type Buffer = NodeBuffer;
    type Lock = NodeLock;
    type Segment = NodeSegment;

    fn read_reg(&self, address: u64) -> Result<u64, BusError> {
        self.0.read_reg(address)
    }

    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError> {
        self.0.write_reg(address, value)
    }

    fn alloc(&self, bytes: usize, align: usize) -> Result<NodeBuffer, AllocError> {
        self.0.below().alloc(bytes, align)
    }

    fn share(&self, number: u32, bytes: usize) -> Result<NodeSegment, SegmentError> {
        self.0.below().share(number, bytes)
    }

    fn now_ps(&self) -> u64 {
        self.0.below().now_ps()
    }

    fn charge(&self, op: Op, count: u64) {
        self.0.charge(op, count);
    }

    fn note(&self, note: Note) {
        self.0.below().note(note);
    }

    fn wait(&self, group: u8, deadline_ps: Option<u64>) -> WakeReason {
        self.0.wait(group, deadline_ps)
    }

    fn notify(&self, group: u8) {
        self.0.below().notify(group);
    }

    fn yield_now(&self) {
        self.0.below().yield_now();
    }

    fn new_lock(&self) -> NodeLock {
        self.0.below().new_lock()
    }
}
