// SPDX-License-Identifier: MIT OR Apache-2.0
//! Algorithms in shared memory (HW-7, EP-8, AF-5): the endpoints of a node work in a shared segment along their
//! affinity tree; one endpoint of each node exchanges messages with the other nodes.
//!
//! Up: each task's leader puts its data into a slot, combines its children's published data into it, and publishes
//! the result. Down: the node's first publishes, and all others read. Long data goes in parts, each in a slot. A
//! leader notifies the other endpoints of its task at the end.
//!
//! The algorithms on the collective network use this scheme within each node too.

use core::ops::Range;

use super::builder::{Builder, LOCAL};
use super::steps::{Action, Slice, Space};
use super::torus::pieces_of;
use crate::node::segment::{SLOT, SLOTS, slot};
use crate::node::steps::MemoryStep;

/// Tags of one part among nodes: more than the rounds.
const TAGS: u32 = 64;

/// Position of a member within its node.
pub(super) struct Here {
    /// The member's number.
    pub own: u32,
    /// Number of its parent on the node; `None` for the node's first.
    pub parent: Option<u32>,
    /// Numbers of its children, in the order of combination.
    pub children: Vec<u32>,
    /// Number of the node's first member.
    pub first: u32,
    /// Numbers of the other participants.
    pub others: Vec<usize>,
    /// Ranks that communicate between nodes, one a node, and the index of this node's.
    nodes: Vec<u32>,
    node: usize,
}

/// A part of the data that a node's first combines with the other nodes'.
pub(super) struct Among {
    /// Number of the part.
    part: u32,
    /// The node's partial result.
    pub from: Slice,
    /// Destination of the result.
    pub sum: Slice,
}

impl Builder<'_> {
    /// All endpoints take part: up the tree of the node, among the nodes, down to all.
    pub(super) fn shared_barrier(&mut self) {
        let neighbours = self.arguments.neighbours;
        let here = neighbours.here(self.rank);
        self.barrier_of_nodes(here, neighbours.first_of_nodes(), |b, here, there| {
            b.dissemination(&here.nodes, here.node, there)
        });
    }

    /// Barrier of the endpoints `ranks` of this node, whose first synchronizes with the other nodes. `among` adds
    /// those steps after the given ones, and returns the steps after which all have arrived.
    pub(super) fn barrier_of_nodes(
        &mut self,
        ranks: &[u32],
        nodes: Vec<u32>,
        among: impl FnOnce(&mut Self, &Here, &[usize]) -> Vec<usize>,
    ) {
        let here = self.here(ranks, ranks[0], nodes);
        if here.parent.is_some() {
            self.room(0, false, &[]);
        }
        let mut there = Vec::new();
        for &child in &here.children {
            there = vec![self.awaited(child, 0, &there)];
        }
        if let Some(parent) = here.parent {
            self.schedule.memory.readers = vec![parent as usize];
            self.schedule.memory.settled = true;
            self.schedule.memory.writers = vec![here.first as usize];
            let after = self.all();
            let published = self.publish(0, &after);
            self.awaited(here.first, 0, &[published]);
            return;
        }
        there = among(self, &here, &there);
        if !here.others.is_empty() {
            let room = self.room(0, true, &there);
            self.schedule.memory.readers = here.others;
            self.publish(0, &[room]);
        }
    }

    /// From the root's node along a binomial tree of the nodes.
    pub(super) fn shared_broadcast(&mut self) {
        self.in_memory(Some(self.root_leader()), |b, here| {
            let data = b.output(0);
            let parts = b.parts(data.len);
            let count = parts.len();
            let links = b.binomial_of(here.nodes.len(), here.root_node(b.root_leader()), here.node);
            let mut before = Vec::new();
            for (part, range) in (0..).zip(parts) {
                let data = data.part(range);
                if here.parent.is_some() {
                    let there = b.awaited(here.first, part, &before);
                    before = vec![b.copied(b.slot(here.first, part, data.len), data, &[there])];
                    b.take_if_needed(part, count, &before);
                    continue;
                }
                let mut there = Vec::new();
                if let Some(parent) = links.parent {
                    there = vec![b.receive_of(here.nodes[parent], part * TAGS, data, &[])];
                }
                for &child in links.children.iter().rev() {
                    b.send_to(here.nodes[child], part * TAGS, data, &there);
                }
                if !here.others.is_empty() {
                    before = vec![b.publish_copy(here.own, part, data, false, &there, &before)];
                }
            }
            match here.parent {
                Some(_) => b.schedule.memory.writers = vec![here.first as usize],
                None => b.schedule.memory.readers.clone_from(&here.others),
            }
        });
    }

    /// Up the trees of the nodes, and up a binomial tree of the nodes to the root's.
    pub(super) fn shared_reduce(&mut self) {
        self.in_memory(Some(self.root_leader()), |b, here| {
            let own = b.input(0);
            let parts = b.parts(own.len);
            let count = parts.len();
            let links = b.binomial_of(here.nodes.len(), here.root_node(b.root_leader()), here.node);
            // Accumulator of the node's first; its own data if there is nothing to combine.
            let sum = match here.parent {
                Some(_) => own,
                None if links.parent.is_none() => b.output(0),
                None if here.others.is_empty() && links.children.is_empty() => own,
                None => b.scratch(own.len),
            };
            let mut before = Vec::new();
            for (part, range) in (0..).zip(parts) {
                let (own, sum) = (own.part(range.clone()), sum.part(range));
                if here.parent.is_some() {
                    before = vec![b.publish_up(here, part, own, false, &before)];
                } else {
                    let copied = b.copy(own, sum, &[]);
                    before.extend(copied);
                    before = b.combine_children(here, part, sum, &before);
                    let mut there = before.clone();
                    for &child in &links.children {
                        let tag = part * TAGS;
                        let operand = b.scratch(own.len);
                        there.push(b.receive_of(here.nodes[child], tag, operand, &[]));
                        there = vec![b.combine(operand, sum, false, &there)];
                    }
                    if let Some(parent) = links.parent {
                        b.send_to(here.nodes[parent], part * TAGS, sum, &there);
                    }
                }
                if !here.children.is_empty() {
                    b.take_if_needed(part, count, &before);
                }
            }
            let memory = &mut b.schedule.memory;
            memory.readers = here.parent.iter().map(|&p| p as usize).collect();
            memory.writers = here.children.iter().map(|&c| c as usize).collect();
        });
    }

    /// Up the trees of the nodes, among the nodes by recursive doubling, down to all.
    pub(super) fn shared_allreduce(&mut self) {
        let parts = self.parts(self.input(0).len);
        self.up_and_down(parts, |b, here, Among { part, from, sum }, there| {
            let mut there = there.to_vec();
            there.extend(b.copy(from, sum, &[]));
            b.recursive_doubling(&here.nodes, here.node, sum, part * TAGS, &there)
        });
    }

    /// Up the trees of the nodes, among the nodes, down to all, part by part. `among` adds a part's steps of the
    /// nodes' first after the given ones, and returns the steps after which the result is complete. A member
    /// publishes a part only after it has read the earlier result that used the same slot.
    pub(super) fn up_and_down(
        &mut self,
        parts: Vec<Range<usize>>,
        among: impl Fn(&mut Self, &Here, Among, &[usize]) -> Vec<usize>,
    ) {
        self.in_memory(None, |b, here| {
            let (own, sum) = (b.input(0), b.output(0));
            // Copies down, by part.
            let mut down: Vec<usize> = Vec::new();
            let mut before = Vec::new();
            for (part, range) in (0..).zip(parts) {
                let (own, sum) = (own.part(range.clone()), sum.part(range));
                if here.parent.is_some() {
                    let read = (part as usize).checked_sub(SLOTS).map(|p| down[p]);
                    before.extend(read);
                    before = vec![b.publish_up(here, part, own, true, &before)];
                    let there = b.awaited(here.first, part, &before);
                    down.push(b.copied(b.slot(here.first, part, sum.len), sum, &[there]));
                    continue;
                }
                let (from, combined) = b.combined_here(here, part, [own, sum], &before);
                before = combined;
                let there = among(b, here, Among { part, from, sum }, &before);
                if !here.others.is_empty() {
                    down = vec![b.publish_copy(here.own, part, sum, true, &there, &down)];
                }
            }
            let memory = &mut b.schedule.memory;
            match here.parent {
                Some(parent) => {
                    memory.readers = vec![parent as usize];
                    memory.settled = true;
                    memory.writers = vec![here.first as usize];
                }
                None => memory.readers.clone_from(&here.others),
            }
        });
    }

    /// A node's partial result of a part, at its first: its own data, or the combination with its children's in
    /// `sum`. Returns it with the steps after which it is complete.
    pub(super) fn combined_here(
        &mut self,
        here: &Here,
        part: u32,
        [own, sum]: [Slice; 2],
        before: &[usize],
    ) -> (Slice, Vec<usize>) {
        if here.children.is_empty() {
            return (own, before.to_vec());
        }
        let mut before = before.to_vec();
        before.extend(self.copy(own, sum, &[]));
        (sum, self.combine_children(here, part, sum, &before))
    }

    /// An algorithm among the leaders of tasks, which notify the other endpoints of their tasks at the end. A node's
    /// first is the leader of its first task, but `first` on its own node.
    pub(super) fn in_memory(
        &mut self,
        first: Option<u32>,
        algorithm: impl FnOnce(&mut Self, &Here),
    ) {
        let neighbours = self.arguments.neighbours;
        let leader = self.leader(self.me);
        let number = |rank: u32| neighbours.number(rank);
        let nearby = |rank: u32| neighbours.node(rank) == neighbours.node(leader);
        let nothing = Slice::nothing();
        if leader != self.rank {
            if nearby(self.rank) {
                self.schedule.memory.writers = vec![number(leader)];
                self.awaited(number(leader) as u32, MemoryStep::END, &[]);
            } else {
                self.receive_of(leader, LOCAL, nothing, &[]);
            }
            return;
        }
        let of_node = |leader: u32| match first {
            Some(first) if neighbours.node(first) == neighbours.node(leader) => first,
            _ => leader,
        };
        let nodes: Vec<u32> = neighbours
            .first_leaders()
            .into_iter()
            .map(of_node)
            .collect();
        let first = of_node(neighbours.leaders_here(self.rank)[0]);
        let ranks = neighbours.leaders_here(self.rank).to_vec();
        let here = self.here(&ranks, first, nodes);
        let (near, away): (Vec<u32>, Vec<u32>) = {
            let others = self.geometry.ranks_of(self.me)[1..].iter();
            others.partition(|&&rank| nearby(rank))
        };
        algorithm(self, &here);
        let mut all = self.all();
        if !near.is_empty() {
            let publish = Action::Memory(MemoryStep::Publish { part: 0 });
            if self
                .schedule
                .steps
                .iter()
                .all(|step| step.action != publish)
            {
                all = vec![self.room(0, false, &all)];
            }
            self.schedule.memory.listeners = near.into_iter().map(number).collect();
            all = vec![self.publish(MemoryStep::END, &all)];
        }
        for rank in away {
            self.send_to(rank, LOCAL, nothing, &all);
        }
    }

    /// Position of this member among `ranks` of its node, led by `first`.
    fn here(&self, ranks: &[u32], first: u32, nodes: Vec<u32>) -> Here {
        let neighbours = self.arguments.neighbours;
        let number = |index: usize| neighbours.number(ranks[index]) as u32;
        let at = |rank: u32| ranks.iter().take_while(|&&r| r != rank).count();
        let positions: Vec<usize> = ranks.iter().map(|&r| self.geometry.position(r)).collect();
        let (parent, children) = self
            .geometry
            .along_node(&positions, at(self.rank), at(first));
        let others = ranks.iter().filter(|&&rank| rank != self.rank);
        Here {
            own: neighbours.number(self.rank) as u32,
            parent: parent.map(number),
            children: children.into_iter().map(number).collect(),
            first: neighbours.number(first) as u32,
            others: others.map(|&rank| neighbours.number(rank)).collect(),
            node: nodes
                .iter()
                .take_while(|&&r| neighbours.node(r) != neighbours.node(self.rank))
                .count(),
            nodes,
        }
    }

    /// Rank of the leader that has or gets the root's data.
    pub(super) fn root_leader(&self) -> u32 {
        self.leader(self.root)
    }

    /// Puts the member's own data into its slot, combines that of its children with it and publishes it.
    pub(super) fn publish_up(
        &mut self,
        here: &Here,
        part: u32,
        own: Slice,
        begun: bool,
        before: &[usize],
    ) -> usize {
        let into = self.slot(here.own, part, own.len);
        let room = self.room(part, begun && part > 0, before);
        let copied = self.copied(own, into, &[room]);
        let there = self.combine_children(here, part, into, &[copied]);
        self.publish(part, &there)
    }

    /// Combines what the member's children publish into `sum`, in their order.
    fn combine_children(
        &mut self,
        here: &Here,
        part: u32,
        sum: Slice,
        before: &[usize],
    ) -> Vec<usize> {
        let mut there = before.to_vec();
        for &child in &here.children {
            there = vec![self.awaited(child, part, &there)];
            let operand = self.slot(child, part, sum.len);
            there = vec![self.combine(operand, sum, false, &there)];
        }
        there
    }

    /// Publishes data that is complete after `there`, in order after `before`.
    pub(super) fn publish_copy(
        &mut self,
        own: u32,
        part: u32,
        data: Slice,
        begun: bool,
        there: &[usize],
        before: &[usize],
    ) -> usize {
        let mut after = there.to_vec();
        after.extend(before);
        let room = self.room(part, begun, &after);
        let copied = self.copied(data, self.slot(own, part, data.len), &[room]);
        self.publish(part, &[copied])
    }

    /// Confirms a part whose slot is reused in the same collective.
    pub(super) fn take_if_needed(&mut self, part: u32, count: usize, after: &[usize]) {
        if part as usize + SLOTS < count {
            self.memory(MemoryStep::Take { part }, after);
        }
    }

    fn room(&mut self, part: u32, begun: bool, after: &[usize]) -> usize {
        self.memory(MemoryStep::Room { part, begun }, after)
    }

    fn publish(&mut self, part: u32, after: &[usize]) -> usize {
        self.memory(MemoryStep::Publish { part }, after)
    }

    pub(super) fn awaited(&mut self, from: u32, part: u32, after: &[usize]) -> usize {
        self.memory(MemoryStep::Await { from, part }, after)
    }

    fn memory(&mut self, step: MemoryStep, after: &[usize]) -> usize {
        self.schedule.memory.used = true;
        self.add(Action::Memory(step), after)
    }

    /// Copies, even zero bytes: other steps wait for it.
    pub(super) fn copied(&mut self, from: Slice, to: Slice, after: &[usize]) -> usize {
        self.add(Action::Copy { from, to }, after)
    }

    /// Parts of `bytes` bytes in whole elements; one empty part for no bytes.
    fn parts(&self, bytes: usize) -> Vec<Range<usize>> {
        match bytes {
            0 => core::iter::once(0..0).collect(),
            _ => pieces_of(0..bytes, SLOT, self.arguments.unit),
        }
    }

    /// The slot of a part.
    pub(super) fn slot(&self, member: u32, part: u32, len: usize) -> Slice {
        let start = slot(member as usize, part);
        Slice::new(Space::Memory, start..start + len)
    }
}

impl Here {
    /// Index of the root's node, whose leader is `root`.
    fn root_node(&self, root: u32) -> usize {
        self.nodes.iter().take_while(|&&rank| rank != root).count()
    }
}
