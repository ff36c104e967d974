// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of requests against the geometry and the buffers.

use gyre_driver::{BufferRange, DmaBuffer};

use super::Request;
use crate::blocks::Blocks;
use crate::collective::Collective;
use crate::error::Error;
use crate::geometry::Geometry;

impl<B: DmaBuffer> Request<B> {
    /// Bytes by which algorithms are chosen: of a block, or of the combined vector. `None` if not known to every
    /// member.
    pub(crate) fn bytes(&self) -> Option<usize> {
        match self.collective {
            Collective::Barrier => Some(0),
            Collective::Broadcast | Collective::Gather | Collective::Allgather => {
                self.receive_blocks.equal()
            }
            Collective::Scatter
            | Collective::Reduce
            | Collective::Allreduce
            | Collective::Scan
            | Collective::Alltoall
            | Collective::ReduceScatter => self.send_blocks.equal(),
        }
    }

    /// Refuses a request that does not fit the geometry or its buffers, for a member at `position`.
    pub(crate) fn check(&self, geometry: &Geometry, position: usize) -> Result<(), Error> {
        let tasks = geometry.tasks().len();
        let refuse = |field, value: usize, expected: String| {
            Err(Error::Request {
                geometry: geometry.name().into(),
                collective: self.collective.name(),
                field,
                value: value as u64,
                expected,
            })
        };
        if self.root >= tasks {
            return refuse("root", self.root, format!("a position below {tasks}"));
        }
        if !self.alignment.is_power_of_two() {
            return refuse("alignment", self.alignment, "a power of two".into());
        }
        for (field, range) in [
            ("send", self.send.as_ref()),
            ("receive", Some(&self.receive)),
        ] {
            let address = range.and_then(BufferRange::address).unwrap_or(0);
            if !address.is_multiple_of(self.alignment as u64) {
                let expected = format!("an address at a multiple of {}", self.alignment);
                return refuse(field, address as usize, expected);
            }
        }
        let root = self.root == position;
        let (sends, receives) = match self.collective {
            Collective::Barrier => (0, 0),
            Collective::Broadcast => (0, 1),
            Collective::Scatter => (if root { tasks } else { 0 }, 0),
            Collective::Gather => (1, if root { tasks } else { 0 }),
            Collective::Allgather => (1, tasks),
            Collective::Reduce => (1, usize::from(root)),
            Collective::Allreduce | Collective::Scan => (1, 1),
            Collective::Alltoall => (tasks, tasks),
            Collective::ReduceScatter => (tasks, 0),
        };
        for (field, blocks, count) in [
            ("send_blocks", &self.send_blocks, sends),
            ("receive_blocks", &self.receive_blocks, receives),
        ] {
            if let Blocks::Listed(ranges) = blocks
                && count > 0
            {
                if ranges.len() != count {
                    return refuse(field, ranges.len(), format!("{count} blocks"));
                }
                if let Some(range) = ranges.iter().find(|r| r.start > r.end) {
                    return refuse(field, range.end, format!("at least {}", range.start));
                }
            }
        }
        let data = self.send.as_ref().unwrap_or(&self.receive);
        if sends > 0 && self.send_blocks.end(sends) > data.len() {
            let end = self.send_blocks.end(sends);
            return refuse("send", data.len(), format!("at least {end} bytes"));
        }
        if receives > 0 && self.receive_blocks.end(receives) > self.receive.len() {
            let end = self.receive_blocks.end(receives);
            return refuse(
                "receive",
                self.receive.len(),
                format!("at least {end} bytes"),
            );
        }
        if self.combines() {
            self.reduction.check()?;
            let size = self.reduction.kind().bytes();
            for i in 0..sends {
                let bytes = self.send_blocks.block(i).len();
                if !bytes.is_multiple_of(size) {
                    return refuse("send_blocks", bytes, format!("a multiple of {size} bytes"));
                }
            }
        }
        self.check_own(geometry, position)
    }

    /// Refuses a member's own block whose size differs from the blocks'.
    fn check_own(&self, geometry: &Geometry, position: usize) -> Result<(), Error> {
        let root = self.root == position;
        let (field, own, expected) = match self.collective {
            Collective::Scatter if root && !self.keeps_block() => (
                "receive",
                self.receive.len(),
                self.send_blocks.block(position).len(),
            ),
            Collective::Scatter if !root => match self.send_blocks.equal() {
                Some(bytes) => ("receive", self.receive.len(), bytes),
                None => return Ok(()),
            },
            Collective::Gather if !root => match (&self.send, self.receive_blocks.equal()) {
                (Some(send), Some(bytes)) => ("send", send.len(), bytes),
                (Some(_), None) => return Ok(()),
                (None, _) => ("in place", 1, 0),
            },
            Collective::Reduce if !root && self.send.is_none() => ("in place", 1, 0),
            Collective::Gather | Collective::Allgather => match &self.send {
                Some(send) => (
                    "send",
                    send.len(),
                    self.receive_blocks.block(position).len(),
                ),
                None => return Ok(()),
            },
            Collective::ReduceScatter => {
                let bytes = self.send_blocks.block(position).len();
                ("receive", self.receive.len().min(bytes), bytes)
            }
            Collective::Alltoall => (
                "own block",
                self.send_blocks.block(position).len(),
                self.receive_blocks.block(position).len(),
            ),
            _ => return Ok(()),
        };
        if own == expected {
            return Ok(());
        }
        Err(Error::Request {
            geometry: geometry.name().into(),
            collective: self.collective.name(),
            field,
            value: own as u64,
            expected: expected.to_string(),
        })
    }

    /// Whether data is combined.
    pub(crate) fn combines(&self) -> bool {
        matches!(
            self.collective,
            Collective::Reduce
                | Collective::Allreduce
                | Collective::Scan
                | Collective::ReduceScatter
        )
    }

    /// Whether the root of a scatter leaves its block in its send buffer.
    pub(crate) fn keeps_block(&self) -> bool {
        matches!(&self.receive_blocks, Blocks::Listed(_))
    }
}
