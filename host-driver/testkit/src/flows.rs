// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ends of ordered-dynamic flows at a node.

use gyre_layout::registers::{flow_page, flow_source, flow_target};

/// Flows that may start at a node, and that may end there.
pub(crate) const FLOWS: usize = 4;

/// Which end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Source,
    Target,
}

/// One end of one flow.
#[derive(Default, Clone, Copy)]
pub(crate) struct FlowEnd {
    pub ctrl: u64,
    /// Packets that have left, or arrived, by the flow since it was opened.
    pub packets: u64,
}

impl FlowEnd {
    /// Whether the flow is open at this end.
    pub fn is_open(self) -> bool {
        flow_source::ctrl::OPEN.is_set(self.ctrl)
    }
}

/// The flows of a node.
#[derive(Default)]
pub(crate) struct Flows {
    pub sources: [FlowEnd; FLOWS],
    pub targets: [FlowEnd; FLOWS],
}

impl Flows {
    /// Writes CTRL of an end; an open flow is closed before it is opened again, and never `in_use`.
    pub fn write(&mut self, end: End, flow: usize, value: u64, in_use: bool) -> Option<()> {
        let of = match end {
            End::Source => &mut self.sources[flow],
            End::Target => &mut self.targets[flow],
        };
        match (flow_source::ctrl::OPEN.is_set(value), of.is_open()) {
            (true, true) => return None,
            (false, true) if in_use => return None,
            (true, false) => {
                *of = FlowEnd {
                    ctrl: value,
                    packets: 0,
                };
            }
            (false, _) => of.ctrl = 0,
        }
        Some(())
    }
}

/// A register of the flow page.
pub(crate) enum FlowRegister {
    Params,
    Ctrl(End, usize),
    Status(End, usize),
}

/// The register at `offset` of the flow page.
pub(crate) fn register(offset: u64) -> Option<FlowRegister> {
    if offset == flow_page::PARAMS {
        return Some(FlowRegister::Params);
    }
    let each = flow_page::source(1);
    let (end, offset) = match offset.checked_sub(flow_page::target(0)) {
        Some(offset) => (End::Target, offset),
        None => (End::Source, offset),
    };
    let flow = (offset / each) as usize;
    if flow >= FLOWS {
        return None;
    }
    match (end, offset % each) {
        (End::Source, flow_source::CTRL) | (End::Target, flow_target::CTRL) => {
            Some(FlowRegister::Ctrl(end, flow))
        }
        (End::Source, flow_source::STATUS) | (End::Target, flow_target::STATUS) => {
            Some(FlowRegister::Status(end, flow))
        }
        _ => None,
    }
}
