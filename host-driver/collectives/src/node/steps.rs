//! Steps of schedules in the memory of a node.

/// A step of a schedule. Members are numbered as on their node; parts from 0 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryStep {
    /// Waits until the slot of a part may be written. `begun`: its readers are known to be through with those before.
    Room { part: u32, begun: bool },
    /// Says that a part is in its slot.
    Publish { part: u32 },
    /// Waits until a member has published a part.
    Await { from: u32, part: u32 },
    /// Says that the parts up to this are needed no longer.
    Take { part: u32 },
}

impl MemoryStep {
    /// The part by which the leader of a task says that the task has its result.
    pub const END: u32 = u32::MAX - 1;
}

/// Who has to do with a member in memory in one collective, as numbers on the node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MemoryPeers {
    /// The member has steps in memory.
    pub used: bool,
    /// Those that read what it publishes.
    pub readers: Vec<usize>,
    /// When the collective has ended here, these are through.
    pub settled: bool,
    /// Those that wait for its [`MemoryStep::END`] alone.
    pub listeners: Vec<usize>,
    /// Those that have published something for this member, and so may wait for it to be through, in this collective or
    /// in one after it.
    pub writers: Vec<usize>,
}
