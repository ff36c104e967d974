// SPDX-License-Identifier: MIT OR Apache-2.0
//! The register space of a node.

use gyre_layout::registers::{
    FLOW, REFUSALS, flow_page, flow_source, group_page, node, page, wake,
};
use gyre_layout::{Coord, ID_MAGIC, ID_VERSION};

use crate::flows::{End, FLOWS, FlowRegister, register as flow_register};
use crate::node::{INJECTION_FIFOS, RECEPTION_FIFOS};
use crate::slots::Slots;
use crate::state::State;

/// Bytes of the registers of a FIFO, a base slot, a wake group.
const FIFO_BYTES: u64 = 0x40;
const SLOT_BYTES: u64 = 0x20;
const GROUP_BYTES: u64 = 0x10;
/// Bytes of the registers of all wake groups, and of the log of refused packets.
const WAKE_BYTES: u64 = 0x100;
const REFUSALS_BYTES: u64 = 0x200;

/// Where a register is: which of its kind, and its offset there.
enum Place {
    Node(u64),
    Refusals(u64),
    Wake(usize, u64),
    Injection(usize, u64),
    Reception(usize, u64),
    Slot(usize, u64),
    Flow(u64),
}

/// Where the register at an address is.
fn decode(address: u64) -> Place {
    let split = |offset: u64, each: u64| ((offset / each) as usize, offset % each);
    if let Some(offset) = address.checked_sub(FLOW) {
        return Place::Flow(offset);
    }
    if let Some(offset) = address.checked_sub(page(0)) {
        return if offset < group_page::rec(0) {
            let (f, offset) = split(offset, FIFO_BYTES);
            Place::Injection(f, offset)
        } else if offset < group_page::slot(0) {
            let (f, offset) = split(offset - group_page::rec(0), FIFO_BYTES);
            Place::Reception(f, offset)
        } else {
            let (s, offset) = split(offset - group_page::slot(0), SLOT_BYTES);
            Place::Slot(s, offset)
        };
    }
    match address.checked_sub(wake(0)) {
        Some(offset) if offset < WAKE_BYTES => {
            let (group, offset) = split(offset, GROUP_BYTES);
            Place::Wake(group, offset)
        }
        Some(_) if (REFUSALS..REFUSALS + REFUSALS_BYTES).contains(&address) => {
            Place::Refusals(address - REFUSALS)
        }
        _ => Place::Node(address),
    }
}

/// Reads a register of node `n`; `None` where there is none.
pub(crate) fn read(state: &mut State, n: usize, address: u64) -> Option<u64> {
    state.reads += 1;
    let node = &state.nodes[n];
    match decode(address) {
        Place::Node(offset) => read_node(state, n, offset),
        Place::Refusals(offset) => node.refusals.read(offset),
        Place::Wake(group, offset) => node.wake.read(group, offset),
        Place::Injection(f, offset) => node.injection.get(f)?.read(offset),
        Place::Reception(f, offset) => state.reception_register(n, f, offset),
        Place::Slot(s, offset) => node.slots.read(s, offset),
        Place::Flow(offset) => read_flow(state, n, offset),
    }
}

/// Writes a register of node `n`; `None` where there is none, or where it refuses the value.
pub(crate) fn write(state: &mut State, n: usize, address: u64, value: u64) -> Option<()> {
    state.writes += 1;
    let node = &mut state.nodes[n];
    match decode(address) {
        Place::Node(node::SCRATCH) => node.scratch = value,
        Place::Node(_) => return None,
        Place::Refusals(offset) => node.refusals.write(offset, value)?,
        Place::Wake(group, offset) => node.wake.write(group, offset, value)?,
        Place::Injection(f, offset) => node.injection.get_mut(f)?.write(offset, value)?,
        Place::Reception(f, offset) => node.reception.get_mut(f)?.write(offset, value)?,
        Place::Slot(s, offset) => node.slots.write(s, offset, value)?,
        Place::Flow(offset) => {
            let FlowRegister::Ctrl(end, flow) = flow_register(offset)? else {
                return None;
            };
            let in_use = state.in_use(n, end, flow);
            state.nodes[n].flows.write(end, flow, value, in_use)?;
        }
    }
    Some(())
}

/// Reads a register of the node as a whole.
fn read_node(state: &State, n: usize, offset: u64) -> Option<u64> {
    let node = &state.nodes[n];
    Some(match offset {
        node::ID => node::id::MAGIC.put(ID_MAGIC) | node::id::VERSION.put(ID_VERSION),
        node::PARAMS => {
            node::params::NDIM.put(3)
                | node::params::FLIT_BYTES.put(16)
                | node::params::NINJ.put(INJECTION_FIFOS as u64)
                | node::params::NREC.put(RECEPTION_FIFOS as u64)
                | node::params::NSLOT.put(Slots::count())
                | node::params::NAXI.put(2)
                | node::params::GROUPS.put(1)
                | node::params::AXI_BYTES.put(64)
        }
        node::SCRATCH => node.scratch,
        node::COORD => {
            let field = |(d, &c): (usize, &u8)| u64::from(c) << (6 * d);
            node.coord.0.iter().enumerate().map(field).sum()
        }
        // As many nodes in each dimension in which their coordinates differ, else one.
        node::SIZE => {
            let last = state.nodes.last().map_or(Coord([0; 5]), |node| node.coord);
            let field = |(d, &c): (usize, &u8)| (u64::from(c) + 1) << (7 * d);
            last.0.iter().enumerate().map(field).sum()
        }
        node::RING => u64::from(!state.line),
        // Dimension 0 first.
        node::DIM_ORDER => 0o43210,
        _ => return None,
    })
}

/// Reads a register of the flow page.
fn read_flow(state: &State, n: usize, offset: u64) -> Option<u64> {
    let flows = &state.nodes[n].flows;
    Some(match flow_register(offset)? {
        FlowRegister::Params => flow_page::params::FLOWS.put(FLOWS as u64),
        FlowRegister::Ctrl(End::Source, flow) => flows.sources[flow].ctrl,
        FlowRegister::Ctrl(End::Target, flow) => flows.targets[flow].ctrl,
        // IN_USE is the same bit at both ends.
        FlowRegister::Status(end, flow) => {
            flow_source::status::IN_USE.put(state.in_use(n, end, flow).into())
        }
    })
}
