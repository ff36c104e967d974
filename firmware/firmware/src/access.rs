// SPDX-License-Identifier: MIT OR Apache-2.0
//! How firmware reaches registers, and how it names them in errors.

use core::fmt;

use gyre_layout::registers::{base_slot, group_page, injection_fifo, page, reception_fifo};

/// A register bus: 64-bit registers at byte addresses.
pub trait RegisterAccess {
    /// Refusal of an access by the bus.
    type Error: fmt::Debug + fmt::Display;

    /// Reads the register at `address`.
    ///
    /// # Errors
    /// When the bus refuses; may be the refusal of an earlier posted write.
    fn read(&mut self, address: u64) -> Result<u64, Self::Error>;

    /// Writes the register at `address`.
    ///
    /// # Errors
    /// When the bus refuses.
    fn write(&mut self, address: u64, value: u64) -> Result<(), Self::Error>;
}

impl<A: RegisterAccess> RegisterAccess for &mut A {
    type Error = A::Error;

    fn read(&mut self, address: u64) -> Result<u64, Self::Error> {
        (**self).read(address)
    }

    fn write(&mut self, address: u64, value: u64) -> Result<(), Self::Error> {
        (**self).write(address, value)
    }
}

/// A register by name and place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Register {
    /// Name in the register map.
    pub name: &'static str,
    /// Number of the FIFO or slot it belongs to.
    pub index: Option<u16>,
    /// Byte address.
    pub address: u64,
}

impl Register {
    /// A register of the node block.
    #[must_use]
    pub const fn node(name: &'static str, address: u64) -> Self {
        Self {
            name,
            index: None,
            address,
        }
    }

    /// Register at `offset` of injection FIFO `fifo`.
    #[must_use]
    pub const fn injection(fifo: u16, name: &'static str, offset: u64) -> Self {
        let (group, index) = (
            fifo as u64 / group_page::INJ_COUNT,
            fifo as u64 % group_page::INJ_COUNT,
        );
        Self {
            name,
            index: Some(fifo),
            address: page(group) + group_page::inj(index) + offset,
        }
    }

    /// TAIL of injection FIFO `fifo`: a write starts work.
    #[must_use]
    pub const fn injection_tail(fifo: u16) -> Self {
        Self::injection(fifo, "injection FIFO TAIL", injection_fifo::TAIL)
    }

    /// HEAD of injection FIFO `fifo`.
    #[must_use]
    pub const fn injection_head(fifo: u16) -> Self {
        Self::injection(fifo, "injection FIFO HEAD", injection_fifo::HEAD)
    }

    /// STATUS of injection FIFO `fifo`.
    #[must_use]
    pub const fn injection_status(fifo: u16) -> Self {
        Self::injection(fifo, "injection FIFO STATUS", injection_fifo::STATUS)
    }

    /// CTRL of injection FIFO `fifo`.
    #[must_use]
    pub const fn injection_ctrl(fifo: u16) -> Self {
        Self::injection(fifo, "injection FIFO CTRL", injection_fifo::CTRL)
    }

    /// Register at `offset` of reception FIFO `fifo`.
    #[must_use]
    pub const fn reception(fifo: u16, name: &'static str, offset: u64) -> Self {
        let (group, index) = (
            fifo as u64 / group_page::REC_COUNT,
            fifo as u64 % group_page::REC_COUNT,
        );
        Self {
            name,
            index: Some(fifo),
            address: page(group) + group_page::rec(index) + offset,
        }
    }

    /// HEAD of reception FIFO `fifo`: bytes that software has consumed.
    #[must_use]
    pub const fn reception_head(fifo: u16) -> Self {
        Self::reception(fifo, "reception FIFO HEAD", reception_fifo::HEAD)
    }

    /// TAIL of reception FIFO `fifo`: bytes that the DMA engine has committed.
    #[must_use]
    pub const fn reception_tail(fifo: u16) -> Self {
        Self::reception(fifo, "reception FIFO TAIL", reception_fifo::TAIL)
    }

    /// CTRL of reception FIFO `fifo`.
    #[must_use]
    pub const fn reception_ctrl(fifo: u16) -> Self {
        Self::reception(fifo, "reception FIFO CTRL", reception_fifo::CTRL)
    }

    /// Register at `offset` of base slot `slot`.
    #[must_use]
    pub const fn slot(slot: u16, name: &'static str, offset: u64) -> Self {
        let (group, index) = (
            slot as u64 / group_page::SLOT_COUNT,
            slot as u64 % group_page::SLOT_COUNT,
        );
        Self {
            name,
            index: Some(slot),
            address: page(group) + group_page::slot(index) + offset,
        }
    }

    /// CTRL of base slot `slot`.
    #[must_use]
    pub const fn slot_ctrl(slot: u16) -> Self {
        Self::slot(slot, "base slot CTRL", base_slot::CTRL)
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        if let Some(index) = self.index {
            write!(f, "[{index}]")?;
        }
        write!(f, " ({:#08x})", self.address)
    }
}
