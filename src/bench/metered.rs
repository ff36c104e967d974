//! The simulated machine's platform with a look at when descriptors are handed to the DMA engine.

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{BusError, Platform};
use gyre_firmware::Register;

use gyre::platform::{Layer, Layered, SimPlatform};

/// A [`SimPlatform`] with a [`Meter`].
pub(super) type Metered = Layered<Meter>;

/// Notes when the TAIL of an injection FIFO is written.
#[derive(Clone)]
pub(super) struct Meter {
    inner: SimPlatform,
    /// Address of the TAIL register whose writes are waited for.
    armed: Arc<AtomicCell<Option<u64>>>,
    rung: Arc<AtomicCell<Option<u64>>>,
}

impl Meter {
    pub fn new(inner: SimPlatform) -> Self {
        Self {
            inner,
            armed: Arc::default(),
            rung: Arc::default(),
        }
    }

    /// Forgets what it has noted, and notes the next write of TAIL of injection FIFO `fifo`.
    pub fn arm(&self, fifo: u16) {
        self.armed
            .store(Some(Register::injection_tail(fifo).address));
        self.rung.store(None);
    }

    /// Time at which the processor issued that write, picoseconds.
    pub fn rung_ps(&self) -> Option<u64> {
        self.rung.load()
    }
}

impl Layer for Meter {
    fn below(&self) -> &SimPlatform {
        &self.inner
    }

    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError> {
        if self.armed.load() == Some(address) {
            self.armed.store(None);
            self.rung.store(Some(self.inner.now_ps()));
        }
        self.inner.write_reg(address, value)
    }
}
