// SPDX-License-Identifier: MIT OR Apache-2.0
//! Register accesses with their software cost, and the firmware's view of the same bus.

use gyre_firmware::{Node, Register, RegisterAccess};
use gyre_layout::registers::injection_fifo::status;
use gyre_layout::registers::node::COORD;
use gyre_layout::registers::{wake, wake_group};
use gyre_layout::{Coord, ErrorReason};

use crate::cost::Op;
use crate::error::{Error, Fault};
use crate::platform::{BusError, Platform};

/// Bits of a coordinate in COORD.
const COORD_BITS: usize = 6;

/// Reads a register.
#[inline(always)] // The register's name is for errors alone.
pub(crate) fn read<P: Platform>(platform: &P, register: Register) -> Result<u64, Fault> {
    platform.charge(Op::Register, 1);
    Ok(platform.read_reg(register.address)?)
}

/// Writes a register.
#[inline(always)]
pub(crate) fn write<P: Platform>(
    platform: &P,
    register: Register,
    value: u64,
) -> Result<(), Fault> {
    platform.charge(Op::Register, 1);
    Ok(platform.write_reg(register.address, value)?)
}

/// Reads a register in an operation whose charge includes the access.
#[inline(always)]
pub(crate) fn read_within<P: Platform>(platform: &P, register: Register) -> Result<u64, Fault> {
    Ok(platform.read_reg(register.address)?)
}

/// Writes a register in an operation whose charge includes the access.
#[inline(always)]
pub(crate) fn write_within<P: Platform>(
    platform: &P,
    register: Register,
    value: u64,
) -> Result<(), Fault> {
    Ok(platform.write_reg(register.address, value)?)
}

/// Coordinates of the platform's node.
pub(crate) fn coord<P: Platform>(platform: &P) -> Result<Coord, Error> {
    let packed = read(platform, Register::node("COORD", COORD))?;
    // Each field has 6 bits.
    let field = |d: usize| (packed >> (COORD_BITS * d)) as u8 & 0x3f;
    Ok(Coord(core::array::from_fn(field)))
}

/// The reason why injection FIFO `fifo` has halted at a refused descriptor, or its code if it is unknown. `None` also
/// while the reason is not available yet: the error event follows.
pub(crate) fn injection_halt<P: Platform>(
    platform: &P,
    fifo: u16,
) -> Result<Option<Result<ErrorReason, u8>>, Fault> {
    let value = read(platform, Register::injection_status(fifo))?;
    // The field has 8 bits.
    let code = status::REASON.get(value) as u8;
    if !status::HALTED.is_set(value) || code == u8::from(ErrorReason::None) {
        return Ok(None);
    }
    Ok(Some(ErrorReason::try_from(code).map_err(|_| code)))
}

/// Lets injection FIFO `fifo` skip the descriptor at which it has halted.
pub(crate) fn skip_refused<P: Platform>(platform: &P, fifo: u16) -> Result<(), Fault> {
    write(
        platform,
        Register::injection_status(fifo),
        status::HALTED.put(1),
    )
}

/// Event mask of wake-up group `group`.
pub(crate) const fn wake_mask(group: u8) -> Register {
    Register {
        name: "WAKE_MASK",
        index: Some(group as u16),
        address: wake(group as u64) + wake_group::MASK,
    }
}

/// Events of wake-up group `group`, cleared by writing ones.
pub(crate) const fn wake_cause(group: u8) -> Register {
    Register {
        name: "WAKE_CAUSE",
        index: Some(group as u16),
        address: wake(group as u64) + wake_group::CAUSE,
    }
}

/// The platform's registers as firmware reaches them.
pub(crate) struct Bus<P>(P);

impl<P: Platform> RegisterAccess for Bus<P> {
    type Error = BusError;

    fn read(&mut self, address: u64) -> Result<u64, BusError> {
        self.0.charge(Op::Register, 1);
        self.0.read_reg(address)
    }

    fn write(&mut self, address: u64, value: u64) -> Result<(), BusError> {
        self.0.charge(Op::Register, 1);
        self.0.write_reg(address, value)
    }
}

/// The node, identified, for set-up through firmware.
pub(crate) fn node<P: Platform>(platform: &P) -> Result<Node<Bus<P>>, Fault> {
    Ok(
        Node::identify(Bus(platform.clone())).map_err(|cause| Error::SetUp {
            what: "the node",
            cause,
        })?,
    )
}
