// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps of schedules.

use core::ops::Range;

use gyre_driver::Routing;

use crate::node::steps::{MemoryPeers, MemoryStep};

/// Buffers of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Send,
    Receive,
    Scratch,
    /// Shared segment of the node; only for copies and combinations.
    Memory,
}

/// Bytes of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slice {
    pub space: Space,
    pub offset: usize,
    pub len: usize,
}

impl Slice {
    pub fn new(space: Space, range: Range<usize>) -> Self {
        Self {
            space,
            offset: range.start,
            len: range.len(),
        }
    }

    /// No bytes.
    pub fn nothing() -> Self {
        Self::new(Space::Scratch, 0..0)
    }

    /// Subrange `range`.
    pub fn part(self, range: Range<usize>) -> Self {
        Self {
            offset: self.offset + range.start,
            len: range.len(),
            ..self
        }
    }
}

/// Action of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Send to the endpoint with rank `to`; `tag` tells the messages between two ranks apart.
    Send { to: u32, tag: u32, from: Slice },
    /// Receive from rank `from`; `routing` applies to long data.
    Receive {
        from: u32,
        tag: u32,
        into: Slice,
        routing: Routing,
    },
    /// Receive from rank `from` and drop the data, which another endpoint of the task stores (EP-10).
    Discard { from: u32, tag: u32 },
    /// Copy between buffers.
    Copy { from: Slice, to: Slice },
    /// Combine both into `into`; `earlier`: `other` is the first operand.
    Combine {
        other: Slice,
        into: Slice,
        earlier: bool,
    },
    /// Enter a barrier of the collective network.
    CollnetBarrier,
    /// Transfer on the class route: contribute `from`, receive `into`. The result goes to the node of
    /// position `to`, or to all.
    CollnetTransfer {
        from: Option<Slice>,
        into: Option<Slice>,
        to: Option<u32>,
    },
    /// A step in the memory of the node.
    Memory(MemoryStep),
}

/// A step and the steps that must have ended before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub action: Action,
    pub after: Vec<usize>,
}

/// Steps of one member. Steps wait only for earlier steps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Schedule {
    pub steps: Vec<Step>,
    /// Bytes of the scratch buffer.
    pub scratch: usize,
    pub memory: MemoryPeers,
}
