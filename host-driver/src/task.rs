//! Tasks and where they live, and their ranks.

use core::fmt;

use gyre_layout::Coord;

/// A task: one process of the parallel application, numbered from 0 in its client's task list (EP-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.0)
    }
}

/// The number of a task in the group of a communicator, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub u32);

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}", self.0)
    }
}

/// Where a task lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskLocation {
    /// Coordinates of its node.
    pub node: Coord,
    /// Number of the process among the client's processes of that node, from 0.
    pub process: u8,
}

impl TaskLocation {
    /// The location as a number, which is hashed faster.
    pub(crate) fn key(self) -> u64 {
        let [a, b, c, d, e] = self.node.0;
        u64::from_le_bytes([a, b, c, d, e, self.process, 0, 0])
    }
}
