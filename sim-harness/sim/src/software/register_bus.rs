// SPDX-License-Identifier: MIT OR Apache-2.0
//! Register accesses of software on their way to a node and back.

use std::collections::VecDeque;

use super::wait::ActorId;
use crate::error::BusError;
use crate::record::Request;

/// An access that the node has not answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) actor: ActorId,
    /// The wait of a read; none for a posted write.
    pub(crate) ticket: Option<u64>,
    pub(crate) addr: u64,
}

/// Answer to an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Response {
    pub(crate) access: Pending,
    pub(crate) value: Result<u64, BusError>,
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

    /// Drops accesses under way.
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
