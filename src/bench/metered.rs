//! The simulated machine's platform with a look at when descriptors are handed to the DMA engine.

use std::cell::Cell;
use std::rc::Rc;

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
    armed: Rc<Cell<Option<u64>>>,
    rung: Rc<Cell<Option<u64>>>,
}

impl Meter {
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

impl Layer for Meter {
    fn below(&self) -> &SimPlatform {
        &self.inner
    }

    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError> {
        if self.armed.get() == Some(address) {
            self.armed.set(None);
            self.rung.set(Some(self.inner.now_ps()));
        }
        self.inner.write_reg(address, value)
    }
}
