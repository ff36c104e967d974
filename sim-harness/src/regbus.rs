//! Register accesses of software on their way to a node and back.

use std::collections::VecDeque;

use crate::actor::ActorId;

/// A register access that the node refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// The register block answered a read with a slave error: no such register.
    #[error("read of register {addr:#x}: slave error")]
    Read {
        /// Byte address.
        addr: u64,
    },
    /// The register block answered a posted write with a slave error: no such register, or one that
    /// cannot be written.
    #[error("write of register {addr:#x}: slave error")]
    Write {
        /// Byte address.
        addr: u64,
    },
    /// The address is not a multiple of 8, or beyond the 24-bit register space.
    #[error("register address {addr:#x}: expected a multiple of 8 below 0x1000000")]
    Address {
        /// Byte address.
        addr: u64,
    },
    /// The node was reset, or the machine is gone, before the access was answered.
    #[error("register access to {addr:#x} was cut off by a reset")]
    Reset {
        /// Byte address.
        addr: u64,
    },
}

impl BusError {
    /// Byte address of the refused access.
    pub fn address(&self) -> u64 {
        match *self {
            BusError::Read { addr }
            | BusError::Write { addr }
            | BusError::Address { addr }
            | BusError::Reset { addr } => addr,
        }
    }
}

/// An access that the node has not answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) actor: ActorId,
    /// The wait of a read; none for a posted write.
    pub(crate) ticket: Option<u64>,
    pub(crate) addr: u64,
}

/// What came back for an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Response {
    pub(crate) access: Pending,
    pub(crate) value: Result<u64, BusError>,
}

/// An access as it goes to the model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// Cycle in which it reaches the register port.
    pub(crate) cycle: u64,
    pub(crate) write: bool,
    pub(crate) addr: u64,
    pub(crate) data: u64,
}

/// AXI4-Lite master of a node's software: accesses are answered in order.
#[derive(Default)]
pub(crate) struct RegBus {
    /// Issued, not yet handed to the model.
    pub(crate) outbox: Vec<Request>,
    pending: VecDeque<Pending>,
}

impl RegBus {
    pub(crate) fn issue(&mut self, request: Request, pending: Pending) {
        self.outbox.push(request);
        self.pending.push_back(pending);
    }

    /// The model answered the oldest access: `resp` is AXI's, 0 for success.
    pub(crate) fn answered(&mut self, resp: u8, data: u64) -> Option<Response> {
        let access = self.pending.pop_front()?;
        let addr = access.addr;
        let value = match (resp, access.ticket) {
            (0, _) => Ok(data),
            (_, Some(_)) => Err(BusError::Read { addr }),
            (_, None) => Err(BusError::Write { addr }),
        };
        Some(Response { access, value })
    }

    /// Cuts off what is under way.
    pub(crate) fn reset(&mut self) -> Vec<Response> {
        self.outbox.clear();
        self.pending
            .drain(..)
            .map(|access| Response {
                access,
                value: Err(BusError::Reset { addr: access.addr }),
            })
            .collect()
    }
}
