// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks, their places and their ranks.

use core::fmt;

use gyre_layout::{Coord, LayoutError, PackedCoord};

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

/// Place of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskLocation {
    /// Coordinates of its node.
    pub node: Coord,
    /// Number of the process among the client's processes of that node, from 0.
    pub process: u8,
}

/// The node as descriptors and packets name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Destination {
    /// Its node.
    pub node: PackedCoord,
    /// Number of the process among the client's processes of that node.
    pub process: u8,
}

impl Destination {
    /// The place.
    pub fn location(self) -> TaskLocation {
        TaskLocation {
            node: self.node.unpack(),
            process: self.process,
        }
    }
}

impl TryFrom<TaskLocation> for Destination {
    type Error = LayoutError;

    /// Refuses a node that no packet can name.
    fn try_from(location: TaskLocation) -> Result<Self, LayoutError> {
        Ok(Self {
            node: location.node.try_into()?,
            process: location.process,
        })
    }
}
