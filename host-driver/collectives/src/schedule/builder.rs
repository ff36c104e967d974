// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builder of schedules, used by all algorithms.

use gyre_driver::Routing;

use super::steps::{Action, Schedule, Slice, Space, Step};
use crate::blocks::Blocks;
use crate::collective::Collective;
use crate::geometry::Geometry;
use crate::node::neighbours::Neighbours;

/// Tag of the leader's message to the task's other endpoints that the result is complete.
pub(super) const LOCAL: u32 = u32::MAX;
/// Tag of the other endpoints' message to the leader that their share is done.
pub(super) const SHARE: u32 = u32::MAX - 1;
/// Tags of a second phase start here.
pub(super) const BACK: u32 = 1 << 16;

/// Arguments of [`schedule`](super::schedule), beside geometry and algorithm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments<'a> {
    pub collective: Collective,
    pub root: usize,
    pub send_blocks: &'a Blocks,
    pub receive_blocks: &'a Blocks,
    pub in_place: bool,
    /// Bytes of the receive buffer.
    pub receive: usize,
    /// Bytes of an element that is combined.
    pub unit: usize,
    /// Whether the root of a scatter leaves its block in its send buffer.
    pub keeps_block: bool,
    pub neighbours: &'a Neighbours,
}

/// Makes the schedule of one member.
pub(super) struct Builder<'a> {
    pub geometry: &'a Geometry,
    pub rank: u32,
    /// Position of the member's task.
    pub me: usize,
    /// Number of tasks.
    pub tasks: usize,
    pub root: usize,
    pub arguments: Arguments<'a>,
    pub schedule: Schedule,
}

impl<'a> Builder<'a> {
    /// A schedule without steps.
    pub fn new(geometry: &'a Geometry, rank: u32, arguments: Arguments<'a>) -> Self {
        Self {
            geometry,
            rank,
            me: geometry.position(rank),
            tasks: geometry.tasks().len(),
            root: arguments.root,
            arguments,
            schedule: Schedule::default(),
        }
    }
}

impl Builder<'_> {
    /// Adds a step that waits for `after`.
    pub fn add(&mut self, action: Action, after: &[usize]) -> usize {
        self.schedule.steps.push(Step {
            action,
            after: after.to_vec(),
        });
        self.schedule.steps.len() - 1
    }

    /// Sends to the leader of the task at `position`.
    pub fn send(&mut self, position: usize, tag: u32, from: Slice, after: &[usize]) -> usize {
        self.send_to(self.leader(position), tag, from, after)
    }

    /// Sends to the endpoint with rank `to`.
    pub fn send_to(&mut self, to: u32, tag: u32, from: Slice, after: &[usize]) -> usize {
        self.add(Action::Send { to, tag, from }, after)
    }

    /// Receives from the leader of the task at `position`.
    pub fn receive(&mut self, position: usize, tag: u32, into: Slice, after: &[usize]) -> usize {
        self.receive_of(self.leader(position), tag, into, after)
    }

    /// Receives from the endpoint with rank `from`, by its fixed route.
    pub fn receive_of(&mut self, from: u32, tag: u32, into: Slice, after: &[usize]) -> usize {
        self.receive_from((from, Routing::Fixed), tag, into, after)
    }

    /// Receives from the endpoint with rank `from`.
    pub fn receive_from(
        &mut self,
        (from, routing): (u32, Routing),
        tag: u32,
        into: Slice,
        after: &[usize],
    ) -> usize {
        let action = Action::Receive {
            from,
            tag,
            into,
            routing,
        };
        self.add(action, after)
    }

    /// Copies; returns the step, nothing for a no-op.
    pub fn copy(&mut self, from: Slice, to: Slice, after: &[usize]) -> Vec<usize> {
        debug_assert_eq!(from.len, to.len);
        match from.len > 0 && from != to {
            true => vec![self.add(Action::Copy { from, to }, after)],
            false => Vec::new(),
        }
    }

    pub fn combine(&mut self, other: Slice, into: Slice, earlier: bool, after: &[usize]) -> usize {
        let action = Action::Combine {
            other,
            into,
            earlier,
        };
        self.add(action, after)
    }

    /// Takes `bytes` bytes of scratch memory, at a multiple of 64.
    pub fn scratch(&mut self, bytes: usize) -> Slice {
        let start = self.schedule.scratch.next_multiple_of(64);
        self.schedule.scratch = start + bytes;
        Slice::new(Space::Scratch, start..start + bytes)
    }

    /// Block of the send buffer; of the receive buffer if in place.
    pub fn input(&self, position: usize) -> Slice {
        let block = self.arguments.send_blocks.block(position);
        let space = match self.arguments.in_place {
            true => Space::Receive,
            false => Space::Send,
        };
        Slice::new(space, block)
    }

    /// Block of the receive buffer.
    pub fn output(&self, position: usize) -> Slice {
        Slice::new(
            Space::Receive,
            self.arguments.receive_blocks.block(position),
        )
    }

    /// All of the receive buffer.
    pub fn received(&self) -> Slice {
        Slice::new(Space::Receive, 0..self.arguments.receive)
    }

    /// Rank of the leader of a task.
    pub fn leader(&self, position: usize) -> u32 {
        self.geometry.ranks_of(position)[0]
    }

    /// Whether this member is its task's leader.
    pub fn is_leader(&self) -> bool {
        self.leader(self.me) == self.rank
    }

    /// All steps so far.
    pub fn all(&self) -> Vec<usize> {
        (0..self.schedule.steps.len()).collect()
    }

    /// An algorithm among the leaders of the tasks; each leader notifies its task's other endpoints at the end.
    pub fn leaders(&mut self, algorithm: impl FnOnce(&mut Self)) {
        if self.is_leader() {
            algorithm(self);
        }
        self.tell_endpoints();
    }

    /// The leader notifies its task's other endpoints when all its steps so far have ended; they wait for it.
    pub fn tell_endpoints(&mut self) {
        let leader = self.leader(self.me);
        let nothing = Slice::nothing();
        if leader != self.rank {
            self.receive_of(leader, LOCAL, nothing, &[]);
            return;
        }
        let all = self.all();
        for &to in &self.geometry.ranks_of(self.me)[1..] {
            self.send_to(to, LOCAL, nothing, &all);
        }
    }

    /// Number of this endpoint among those of its task.
    pub fn endpoint(&self) -> usize {
        let ranks = self.geometry.ranks_of(self.me);
        ranks.iter().take_while(|&&rank| rank != self.rank).count()
    }

    /// No endpoint of the task ends before all have done their share, since they share buffers.
    pub fn meet(&mut self) {
        let ranks = self.geometry.ranks_of(self.me);
        let nothing = Slice::nothing();
        if self.is_leader() {
            for &from in &ranks[1..] {
                self.receive_of(from, SHARE, nothing, &[]);
            }
        } else {
            let all = self.all();
            self.send_to(ranks[0], SHARE, nothing, &all);
        }
        self.tell_endpoints();
    }

    /// Position at `distance` from the root, modulo the number of tasks.
    pub fn behind(&self, root: usize, distance: usize) -> usize {
        (root + distance) % self.tasks
    }

    /// Distance of this member from the root.
    pub fn distance(&self, root: usize) -> usize {
        (self.me + self.tasks - root) % self.tasks
    }

    /// Lowest set bit of a distance, the size of its subtree in a binomial tree; the whole tree for the root.
    pub fn reach(&self, distance: usize) -> usize {
        reach(self.tasks, distance)
    }
}

/// As [`Builder::reach`], in a tree of `count`.
pub(super) fn reach(count: usize, distance: usize) -> usize {
    match distance {
        0 => count.next_power_of_two(),
        _ => distance & distance.wrapping_neg(),
    }
}
