// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedule steps in the memory of a node.

/// A step in shared memory. Members are numbered within their node; parts count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryStep {
    /// Waits until the slot of a part is free. `begun`: its readers are known to have finished the earlier
    /// collectives.
    Room { part: u32, begun: bool },
    /// Publishes the part in its slot.
    Publish { part: u32 },
    /// Waits until a member has published a part.
    Await { from: u32, part: u32 },
    /// Confirms consumption of the parts up to this one.
    Take { part: u32 },
}

impl MemoryStep {
    /// Part by which a task's leader announces the task's result.
    pub const END: u32 = u32::MAX - 1;
}

/// Partners of a member in shared memory in one collective, by number on the node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MemoryPeers {
    /// Whether the member has steps in memory.
    pub used: bool,
    /// Readers of its parts.
    pub readers: Vec<usize>,
    /// Whether the readers have finished when the collective ends here.
    pub settled: bool,
    /// Readers of its [`MemoryStep::END`] only.
    pub listeners: Vec<usize>,
    /// Writers of parts for this member, which may wait for its consumption in this or a later collective.
    pub writers: Vec<usize>,
}
