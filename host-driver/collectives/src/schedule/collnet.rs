// SPDX-License-Identifier: MIT OR Apache-2.0
//! Algorithms on the tree of the collective network (HW-5, AF-5): one endpoint of each node, its agent, enters. The
//! others of the node work with it in shared memory.

use core::ops::Range;

use super::builder::{BACK, Builder, SHARE};
use super::shared::Among;
use super::steps::{Action, Slice};
use crate::node::segment::SLOT;

impl Builder<'_> {
    /// Up the tree of each node to its agent, which enters the barrier, and down to all. An endpoint on another node
    /// than its task exchanges messages with the agent of its task's node.
    pub(super) fn hardware_barrier(&mut self) {
        let neighbours = self.arguments.neighbours;
        let agent = self.agent(self.me);
        let nothing = Slice::nothing();
        if !self.is_at_home(self.rank) {
            self.send_to(agent, SHARE, nothing, &[]);
            self.receive_of(agent, BACK, nothing, &[]);
            return;
        }
        let here = neighbours.here(self.rank).iter().copied();
        let here: Vec<u32> = here.filter(|&rank| self.is_at_home(rank)).collect();
        let away: Vec<u32> = match agent == self.rank {
            true => (0..self.geometry.endpoints().len() as u32)
                .filter(|&rank| !self.is_at_home(rank))
                .filter(|&rank| self.agent(self.geometry.position(rank)) == agent)
                .collect(),
            false => Vec::new(),
        };
        self.barrier_of_nodes(&here, neighbours.first_leaders(), |b, _, there| {
            let mut there = there.to_vec();
            for &rank in &away {
                there.push(b.receive_of(rank, SHARE, nothing, &[]));
            }
            let over = b.add(Action::CollnetBarrier, &there);
            for &rank in &away {
                b.send_to(rank, BACK, nothing, &[over]);
            }
            vec![over]
        });
    }

    /// Up the trees of the nodes, part by part; the agents' sums on the collective network; down to all.
    pub(super) fn hardware_allreduce(&mut self) {
        let parts = self.tree_parts(self.input(0).len);
        self.up_and_down(parts, |b, _, Among { from, sum, .. }, there| {
            vec![b.transfer(Some(from), Some(sum), None, there)]
        });
    }

    /// The same, only to the root's node, whose agent hands the result to the root.
    pub(super) fn hardware_reduce(&mut self) {
        let neighbours = self.arguments.neighbours;
        let root = self.root_leader();
        let above = neighbours.node(root) == neighbours.node(self.rank);
        let is_root = self.me == self.root;
        let parts = self.tree_parts(self.input(0).len);
        let count = parts.len();
        self.in_memory(None, |b, here| {
            let own = b.input(0);
            // The root node's agent receives for it.
            let sum = match here.parent {
                _ if is_root => b.output(0),
                None if above || !here.children.is_empty() => b.scratch(own.len),
                _ => own,
            };
            let (mut up, mut down) = (Vec::new(), Vec::new());
            for (part, range) in (0..).zip(parts) {
                let (own, sum) = (own.part(range.clone()), sum.part(range));
                if here.parent.is_some() {
                    up = vec![b.publish_up(here, part, own, false, &up)];
                    if is_root {
                        let there = b.awaited(here.first, part, &down);
                        let slot = b.slot(here.first, part, sum.len);
                        down = vec![b.copied(slot, sum, &[there])];
                    }
                } else {
                    let (from, there) = b.combined_here(here, part, [own, sum], &up);
                    let to = Some(b.root as u32);
                    let over = b.transfer(Some(from), above.then_some(sum), to, &there);
                    up = there;
                    if above && !is_root {
                        down = vec![b.publish_copy(here.own, part, sum, false, &[over], &down)];
                    }
                }
                if !here.children.is_empty() || is_root && here.parent.is_some() {
                    let mut through = up.clone();
                    through.extend(&down);
                    b.take_if_needed(part, count, &through);
                }
            }
            let first = is_root && here.parent.is_some();
            let memory = &mut b.schedule.memory;
            memory.readers = match here.parent {
                Some(parent) => vec![parent as usize],
                None if above && !is_root => vec![neighbours.number(root)],
                None => Vec::new(),
            };
            memory.writers = here.children.iter().map(|&c| c as usize).collect();
            memory.writers.extend(first.then_some(here.first as usize));
        });
    }

    /// The root publishes its data on its node; the agent there sends it on the collective network, and the other
    /// agents publish it.
    pub(super) fn hardware_broadcast(&mut self) {
        let neighbours = self.arguments.neighbours;
        let root = self.root_leader();
        let above = neighbours.node(root) == neighbours.node(self.rank);
        let enters = self.agent(self.me) == self.rank;
        let parts = self.tree_parts(self.output(0).len);
        let count = parts.len();
        self.in_memory(Some(root), |b, here| {
            let data = b.output(0);
            let mut before = Vec::new();
            for (part, range) in (0..).zip(parts) {
                let data = data.part(range);
                let mut there = Vec::new();
                if here.parent.is_some() {
                    let awaited = b.awaited(here.first, part, &before);
                    let slot = b.slot(here.first, part, data.len);
                    before = vec![b.copied(slot, data, &[awaited])];
                    b.take_if_needed(part, count, &before);
                    there.clone_from(&before);
                }
                if enters {
                    let over = b.transfer(above.then_some(data), Some(data), None, &there);
                    if !above {
                        there = vec![over];
                    }
                }
                if here.parent.is_none() && !here.others.is_empty() {
                    before = vec![b.publish_copy(here.own, part, data, false, &there, &before)];
                }
            }
            match here.parent {
                Some(_) => b.schedule.memory.writers = vec![here.first as usize],
                None => b.schedule.memory.readers.clone_from(&here.others),
            }
        });
    }

    fn transfer(
        &mut self,
        from: Option<Slice>,
        into: Option<Slice>,
        to: Option<u32>,
        after: &[usize],
    ) -> usize {
        self.add(Action::CollnetTransfer { from, into, to }, after)
    }

    /// Parts transferred in turn: one if all tasks enter the network themselves, otherwise of the size of a slot.
    /// Empty for no bytes.
    fn tree_parts(&self, bytes: usize) -> Vec<Range<usize>> {
        let agents = self.arguments.neighbours.first_leaders();
        let part = match agents.len() == self.tasks {
            true => bytes.max(1),
            false => SLOT,
        };
        let starts = (0..bytes).step_by(part);
        starts.map(|at| at..bytes.min(at + part)).collect()
    }

    /// Rank that enters the collective network for the node of the task at `position`.
    fn agent(&self, position: usize) -> u32 {
        self.arguments.neighbours.agent(self.leader(position))
    }

    /// Whether an endpoint is on the node of its task's leader.
    fn is_at_home(&self, rank: u32) -> bool {
        let neighbours = self.arguments.neighbours;
        let leader = self.leader(self.geometry.position(rank));
        neighbours.node(rank) == neighbours.node(leader)
    }
}
