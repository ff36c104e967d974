// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated machine's platform with a look at when descriptors are handed to the DMA engine, and when turns of
//! `advance` begin. It takes no simulated time.

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{BusError, Op, Platform};
use gyre_firmware::Register;

use gyre::platform::{Layer, Layered, SimPlatform};

/// A [`SimPlatform`] with a [`Meter`].
pub(super) type Metered = Layered<Meter>;

/// Notes when the TAIL of an injection FIFO is written, and when turns of `advance` begin.
#[derive(Clone)]
pub(super) struct Meter {
    inner: SimPlatform,
    /// Address of the TAIL register whose writes are waited for.
    armed: Arc<AtomicCell<Option<u64>>>,
    rung: Arc<AtomicCell<Option<u64>>>,
    /// The turn under way began, picoseconds; `None` before the first of a call of `advance`.
    turned: Arc<AtomicCell<Option<u64>>>,
    /// Time slept or looked in vain so far, picoseconds.
    shadow: Arc<AtomicCell<u64>>,
}

impl Meter {
    pub fn new(inner: SimPlatform) -> Self {
        Self {
            inner,
            armed: Arc::default(),
            rung: Arc::default(),
            turned: Arc::default(),
            shadow: Arc::default(),
        }
    }

    /// Forgets its notes, and notes the next write of TAIL of injection FIFO `fifo`.
    pub fn arm(&self, fifo: u16) {
        self.armed
            .store(Some(Register::injection_tail(fifo).address));
        self.rung.store(None);
    }

    /// Time at which the processor issued that write, picoseconds.
    pub fn rung_ps(&self) -> Option<u64> {
        self.rung.load()
    }

    /// A call of `advance` follows.
    pub fn begin(&self) {
        self.turned.store(None);
    }

    /// Time at which the turn under way, or the last one, of the call of `advance` began, picoseconds.
    pub fn turned_ps(&self) -> Option<u64> {
        self.turned.load()
    }

    /// Adds the time since `from` to the time in the shadow.
    pub fn in_shadow(&self, from: u64) {
        self.shadow.fetch_add(self.inner.now_ps() - from);
    }

    /// Time slept or looked in vain so far, picoseconds.
    pub fn shadow_ps(&self) -> u64 {
        self.shadow.load()
    }
}

impl Layer for Meter {
    fn below(&self) -> &SimPlatform {
        &self.inner
    }

    fn charge(&self, op: Op, count: u64) {
        if op == Op::Turn {
            let now = self.inner.now_ps();
            // The turn before it, of the same call, has found nothing.
            if let Some(from) = self.turned.swap(Some(now)) {
                self.shadow.fetch_add(now - from);
            }
        }
        self.inner.charge(op, count);
    }

    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError> {
        if self.armed.load() == Some(address) {
            self.armed.store(None);
            self.rung.store(Some(self.inner.now_ps()));
        }
        self.inner.write_reg(address, value)
    }
}
