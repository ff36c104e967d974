// SPDX-License-Identifier: MIT OR Apache-2.0
//! The node's ordered-dynamic flows (HW-4) as their registers show them.
//!
//! All contexts of a node share its flows. A context takes a flow by opening it: the node refuses to open a flow twice.

use gyre_firmware::Register;
use gyre_layout::registers::{FLOW, flow_page, flow_source};
use gyre_layout::{Coord, VClass};

use crate::error::{Error, Fault};
use crate::platform::Platform;
use crate::transport::registers;

/// Reads of a flow's status that closing waits for the last packets to be acknowledged.
const CLOSE_READS: u32 = 256;

/// End of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The source.
    Source,
    /// The target.
    Target,
}

/// Register values that open an end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowConfig {
    /// Node of the other end.
    pub peer: Coord,
    /// Number of the flow there.
    pub number: u8,
    /// Class of its packets: request or response.
    pub vclass: VClass,
    /// Owner of the injection FIFOs that may use it; of a source.
    pub owner: u8,
}

impl End {
    /// Register at `offset` of flow `flow`: both ends have the same registers, except the owner.
    const fn register(self, flow: u8, names: [&'static str; 2], offset: u64) -> Register {
        let (name, base) = match self {
            Self::Source => (names[0], flow_page::source(flow as u64)),
            Self::Target => (names[1], flow_page::target(flow as u64)),
        };
        Register {
            name,
            index: Some(flow as u16),
            address: FLOW + base + offset,
        }
    }

    const fn ctrl(self, flow: u8) -> Register {
        let names = ["flow source CTRL", "flow target CTRL"];
        self.register(flow, names, flow_source::CTRL)
    }

    const fn status(self, flow: u8) -> Register {
        let names = ["flow source STATUS", "flow target STATUS"];
        self.register(flow, names, flow_source::STATUS)
    }
}

impl FlowConfig {
    fn ctrl(&self, end: End) -> Result<u64, Fault> {
        use flow_source::ctrl;
        let owner = match end {
            End::Source => self.owner,
            End::Target => 0,
        };
        Ok(ctrl::OPEN.put(1)
            | ctrl::PEER.put(self.peer.pack().map_err(Error::from)?.into())
            | ctrl::PEER_FLOW.put(self.number.into())
            | ctrl::VCLASS.put(u8::from(self.vclass).into())
            | ctrl::OWNER.put(owner.into()))
    }
}

/// Flows that may start at the platform's node, and that may end there.
pub(crate) fn count<P: Platform>(platform: &P) -> Result<u8, Fault> {
    let params = Register::node("FLOW PARAMS", FLOW + flow_page::PARAMS);
    // The field has 4 bits.
    Ok(flow_page::params::FLOWS.get(registers::read(platform, params)?) as u8)
}

/// Opens flow `flow`; false when another context has it.
pub(crate) fn open<P: Platform>(
    platform: &P,
    end: End,
    flow: u8,
    config: &FlowConfig,
) -> Result<bool, Fault> {
    let register = end.ctrl(flow);
    if flow_source::ctrl::OPEN.is_set(registers::read(platform, register)?) {
        return Ok(false);
    }
    // The refusal of a write may be reported by the read behind it.
    let written = registers::write(platform, register, config.ctrl(end)?);
    match written.and_then(|()| registers::read(platform, register)) {
        Ok(_) => Ok(true),
        Err(error) => match Error::from(error) {
            Error::Bus(refused) if refused.write && refused.address == register.address => {
                Ok(false)
            }
            error => Err(error.into()),
        },
    }
}

/// Opens any free one of the node's `count` flows, and returns its number.
pub(crate) fn open_any<P: Platform>(
    platform: &P,
    end: End,
    count: u8,
    config: &FlowConfig,
) -> Result<Option<u8>, Fault> {
    for flow in 0..count {
        if open(platform, end, flow, config)? {
            return Ok(Some(flow));
        }
    }
    Ok(None)
}

/// Closes flow `flow`. A flow whose packets stay under way is left open until the node is reset: returns false.
pub(crate) fn close<P: Platform>(platform: &P, end: End, flow: u8) -> Result<bool, Fault> {
    for _ in 0..CLOSE_READS {
        let status = registers::read(platform, end.status(flow))?;
        if !flow_source::status::IN_USE.is_set(status) {
            registers::write(platform, end.ctrl(flow), 0)?;
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use gyre_layout::registers::flow_target;

    use super::*;

    #[test]
    fn hw4_both_ends_of_a_flow_have_the_same_registers() {
        assert_eq!(flow_source::CTRL, flow_target::CTRL);
        assert_eq!(flow_source::STATUS, flow_target::STATUS);
        let all = u64::MAX;
        use flow_source::{ctrl as here, status};
        use flow_target::ctrl as there;
        for (one, other) in [
            (here::PEER, there::PEER),
            (here::PEER_FLOW, there::PEER_FLOW),
            (here::VCLASS, there::VCLASS),
            (here::OPEN, there::OPEN),
            (status::IN_USE, flow_target::status::IN_USE),
        ] {
            assert_eq!(one.put(one.get(all)), other.put(other.get(all)));
        }
    }
}
