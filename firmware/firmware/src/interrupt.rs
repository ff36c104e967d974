// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupt service: who rang, what went wrong, and arming again.

use gyre_layout::ErrorReason;
use gyre_layout::registers::node::{self, err_status, int_cause};

use crate::access::{Register, RegisterAccess};
use crate::error::NodeError;
use crate::node::Node;

/// Causes of an interrupt, also as a mask.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Causes {
    /// The error register counted an error.
    pub error: bool,
    /// A reception FIFO rose above its threshold.
    pub threshold: bool,
    /// A descriptor completed in a FIFO that interrupts.
    pub descriptor: bool,
    /// A byte counter reached zero.
    pub counter: bool,
    /// A link changed its state.
    pub link: bool,
}

/// The first error since the error register was armed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorReport {
    /// Why, or the code if it has no meaning.
    pub reason: Result<ErrorReason, u8>,
    /// Number of the FIFO, slot or port, by reason.
    pub place: u16,
    /// Offending words: descriptor address, or header words.
    pub info: u64,
    /// Node cycle at which the error was recorded.
    pub cycle: u64,
    /// Errors since reset of the node, recorded or not.
    pub count: u32,
}

/// Causes of an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterruptReport {
    /// Causes that were set; they have been cleared.
    pub causes: Causes,
    /// The recorded error; the error register has been armed again.
    pub error: Option<ErrorReport>,
}

const INT_CAUSE: Register = Register::node("INT_CAUSE", node::INT_CAUSE);
const INT_MASK: Register = Register::node("INT_MASK", node::INT_MASK);
const ERR_STATUS: Register = Register::node("ERR_STATUS", node::ERR_STATUS);
const ERR_INFO: Register = Register::node("ERR_INFO", node::ERR_INFO);
const ERR_TIME: Register = Register::node("ERR_TIME", node::ERR_TIME);

impl Causes {
    /// Every cause.
    pub const ALL: Self = Self {
        error: true,
        threshold: true,
        descriptor: true,
        counter: true,
        link: true,
    };

    fn to_register(self) -> u64 {
        int_cause::ERROR.put(self.error.into())
            | int_cause::THRESHOLD.put(self.threshold.into())
            | int_cause::DESCRIPTOR.put(self.descriptor.into())
            | int_cause::COUNTER.put(self.counter.into())
            | int_cause::LINK.put(self.link.into())
    }

    fn from_register(value: u64) -> Self {
        Self {
            error: int_cause::ERROR.is_set(value),
            threshold: int_cause::THRESHOLD.is_set(value),
            descriptor: int_cause::DESCRIPTOR.is_set(value),
            counter: int_cause::COUNTER.is_set(value),
            link: int_cause::LINK.is_set(value),
        }
    }
}

impl<A: RegisterAccess> Node<A> {
    /// Lets exactly these causes raise the interrupt line.
    ///
    /// # Errors
    /// [`NodeError::Mismatch`], [`NodeError::Access`].
    pub fn enable_interrupts(&mut self, causes: Causes) -> Result<(), NodeError<A::Error>> {
        self.write_checked(INT_MASK, causes.to_register(), u64::MAX)
    }

    /// Reads and clears the causes, and takes the recorded error if there is one. A cause that arises
    /// meanwhile is seen by the next call.
    ///
    /// # Errors
    /// [`NodeError::Access`].
    pub fn service_interrupt(&mut self) -> Result<InterruptReport, NodeError<A::Error>> {
        let cause = self.read(INT_CAUSE)?;
        // Cleared before the details are read: what happens in between sets it again.
        if cause != 0 {
            self.write(INT_CAUSE, cause)?;
        }
        let causes = Causes::from_register(cause);
        let error = if causes.error {
            self.take_error()?
        } else {
            None
        };
        Ok(InterruptReport { causes, error })
    }

    /// Takes the recorded error and arms the error register again; `None` when nothing is recorded.
    ///
    /// # Errors
    /// [`NodeError::Access`].
    pub fn take_error(&mut self) -> Result<Option<ErrorReport>, NodeError<A::Error>> {
        let status = self.read(ERR_STATUS)?;
        if !err_status::VALID.is_set(status) {
            return Ok(None);
        }
        let info = self.read(ERR_INFO)?;
        let cycle = self.read(ERR_TIME)?;
        self.write(ERR_STATUS, err_status::VALID.put(1))?;
        // Each field is narrower than its type.
        let code = err_status::REASON.get(status) as u8;
        Ok(Some(ErrorReport {
            reason: ErrorReason::try_from(code).map_err(|_| code),
            place: err_status::WHERE.get(status) as u16,
            info,
            cycle,
            count: err_status::COUNT.get(status) as u32,
        }))
    }
}
