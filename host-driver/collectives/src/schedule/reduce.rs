// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reduce, allreduce, scan and reduce-scatter. The schedule fixes the order of combination, so that results repeat
//! bit for bit.

use super::builder::{BACK, Builder};
use super::steps::{Slice, Space};
use super::tree::Links;

impl Builder<'_> {
    /// Up a tree of the tasks: each combines its own data, then its children's in order. The result is in the root's
    /// receive buffer.
    pub(super) fn reduce_up(&mut self, links: &Links) {
        let own = self.input(0);
        let sum = match links.parent {
            None => self.output(0),
            Some(_) if links.children.is_empty() => own,
            Some(_) => self.scratch(own.len),
        };
        let mut there = self.copy(own, sum, &[]);
        for &child in &links.children {
            let part = self.scratch(own.len);
            there.push(self.receive(child, 0, part, &[]));
            there = vec![self.combine(part, sum, false, &there)];
        }
        if let Some(parent) = links.parent {
            self.send(parent, 0, sum, &there);
        }
    }

    /// All tasks send to the root, which combines in the order of positions.
    pub(super) fn linear_reduce(&mut self) {
        let own = self.input(0);
        if self.me != self.root {
            self.send(self.root, 0, own, &[]);
            return;
        }
        let sum = self.output(0);
        let parts: Vec<(Slice, Vec<usize>)> = (0..self.tasks)
            .map(|position| match position == self.me {
                true => (own, Vec::new()),
                false => {
                    let part = self.scratch(own.len);
                    (part, vec![self.receive(position, 0, part, &[])])
                }
            })
            .collect();
        self.combine_all(parts, sum);
    }

    /// Combines parts into `sum` in their order, each when its steps have ended. `sum` may be one of them.
    fn combine_all(&mut self, parts: Vec<(Slice, Vec<usize>)>, sum: Slice) {
        let at = parts.iter().position(|(part, _)| *part == sum).unwrap_or(0);
        let mut there = parts[at].1.clone();
        there.extend(self.copy(parts[at].0, sum, &parts[at].1));
        // Earlier parts from the nearest on, as first operands.
        let before = parts[..at].iter().rev().map(|part| (part, true));
        let after = parts[at + 1..].iter().map(|part| (part, false));
        for ((part, arrived), earlier) in before.chain(after) {
            there.extend(arrived);
            there = vec![self.combine(*part, sum, earlier, &there)];
        }
    }

    /// A reduction to the tree's root and a broadcast.
    pub(super) fn there_and_back_allreduce(&mut self, links: &Links) {
        self.reduce_up(links);
        let after = self.all();
        let data = self.output(0);
        self.broadcast_down(links, BACK, data, &after);
    }

    /// Tasks at distance 1, 2, 4, ... exchange partial results. If their number is not a power of two, the first ones
    /// pair up before, and get the result after.
    pub(super) fn recursive_doubling_allreduce(&mut self) {
        let (own, sum) = (self.input(0), self.output(0));
        let copied = self.copy(own, sum, &[]);
        let ranks: Vec<u32> = (0..self.tasks).map(|p| self.leader(p)).collect();
        self.recursive_doubling(&ranks, self.me, sum, 0, &copied);
    }

    /// The same among `ranks`, as number `me`, on `sum`, which holds the member's data after `before`. Tags start at
    /// `tag`. Returns the steps after which the result is complete.
    pub(super) fn recursive_doubling(
        &mut self,
        ranks: &[u32],
        me: usize,
        sum: Slice,
        mut tag: u32,
        before: &[usize],
    ) -> Vec<usize> {
        let mut there = before.to_vec();
        let power = (ranks.len() / 2 + 1).next_power_of_two();
        let pairs = ranks.len() - power;
        let paired = me < 2 * pairs;
        let back = BACK + tag;
        if paired && me.is_multiple_of(2) {
            let sent = self.send_to(ranks[me + 1], tag, sum, &there);
            return vec![self.receive_of(ranks[me + 1], back, sum, &[sent])];
        }
        if paired {
            let part = self.scratch(sum.len);
            there.push(self.receive_of(ranks[me - 1], tag, part, &[]));
            there = vec![self.combine(part, sum, true, &there)];
        }
        let number = match paired {
            true => me / 2,
            false => me - pairs,
        };
        let mut distance = 1;
        tag += 1;
        while distance < power {
            let peer = number ^ distance;
            let position = match peer < pairs {
                true => 2 * peer + 1,
                false => peer + pairs,
            };
            let part = self.scratch(sum.len);
            let sent = self.send_to(ranks[position], tag, sum, &there);
            let received = self.receive_of(ranks[position], tag, part, &[]);
            there.extend([sent, received]);
            there = vec![self.combine(part, sum, peer < number, &there)];
            distance *= 2;
            tag += 1;
        }
        if paired {
            self.send_to(ranks[me - 1], back, sum, &there);
        }
        there
    }

    /// A reduce-scatter round the ring, and an allgather round the ring. Chunk `i` is combined from
    /// position `i` on.
    pub(super) fn ring_allreduce(&mut self) {
        let (own, sum) = (self.input(0), self.output(0));
        let loaded = self.copy(own, sum, &[]);
        let (tasks, unit) = (self.tasks, self.arguments.unit);
        let elements = sum.len / unit;
        let bound = |chunk: usize| chunk * elements / tasks * unit;
        let chunk = |number: usize| {
            let number = number % tasks;
            sum.part(bound(number)..bound(number + 1))
        };
        let (next, before) = ((self.me + 1) % tasks, (self.me + tasks - 1) % tasks);
        let me = self.me + tasks;
        let mut there = loaded.clone();
        let mut sent = Vec::new();
        for step in 0..tasks - 1 {
            sent.push(self.send(next, step as u32, chunk(me - step), &there));
            let into = chunk(me - step - 1);
            let part = self.scratch(into.len);
            let mut after = loaded.clone();
            after.push(self.receive(before, step as u32, part, &[]));
            there = vec![self.combine(part, into, true, &after)];
        }
        for step in 0..tasks - 1 {
            let tag = BACK + step as u32;
            self.send(next, tag, chunk(me + 1 - step), &there);
            // The original chunk has left in the first round.
            there = vec![self.receive(before, tag, chunk(me - step), &sent[step..=step])];
        }
    }

    /// Each position receives the sum of the earlier ones and adds its own data.
    pub(super) fn linear_scan(&mut self) {
        let (own, sum) = (self.input(0), self.output(0));
        let mut there = self.copy(own, sum, &[]);
        if self.me > 0 {
            let part = self.scratch(own.len);
            there.push(self.receive(self.me - 1, 0, part, &[]));
            there = vec![self.combine(part, sum, true, &there)];
        }
        if self.me + 1 < self.tasks {
            self.send(self.me + 1, 0, sum, &there);
        }
    }

    /// In round `k` each position adds the sum of the 2^k positions before its own range.
    pub(super) fn recursive_doubling_scan(&mut self) {
        let (own, sum) = (self.input(0), self.output(0));
        let mut there = self.copy(own, sum, &[]);
        let mut distance = 1;
        let mut tag = 0;
        while distance < self.tasks {
            let mut sent = None;
            if self.me + distance < self.tasks {
                sent = Some(self.send(self.me + distance, tag, sum, &there));
            }
            if self.me >= distance {
                let part = self.scratch(own.len);
                there.push(self.receive(self.me - distance, tag, part, &[]));
                there.extend(sent);
                there = vec![self.combine(part, sum, true, &there)];
            }
            distance *= 2;
            tag += 1;
        }
    }

    /// Space, offset and steps of the input blocks for sends; copied if in place, since results overwrite them.
    pub(super) fn kept_input(&mut self) -> (Space, usize, Vec<usize>) {
        if !self.arguments.in_place {
            return (Space::Send, 0, Vec::new());
        }
        let end = self.arguments.send_blocks.end(self.tasks);
        let copy = self.scratch(end);
        let from = Slice::new(Space::Receive, 0..end);
        let copied = self.copy(from, copy, &[]);
        (Space::Scratch, copy.offset, copied)
    }

    /// In step `i` every task sends its block for the one `i` positions on.
    pub(super) fn pairwise_reduce_scatter(&mut self) {
        let (space, offset, kept) = self.kept_input();
        let blocks = self.arguments.send_blocks;
        let block = |position: usize| {
            let range = blocks.block(position);
            Slice::new(space, offset + range.start..offset + range.end)
        };
        let own = block(self.me);
        let sum = Slice::new(Space::Receive, 0..own.len);
        let mut parts: Vec<(Slice, Vec<usize>)> = vec![(own, kept.clone()); self.tasks];
        for step in 1..self.tasks {
            let to = (self.me + step) % self.tasks;
            let from = (self.me + self.tasks - step) % self.tasks;
            self.send(to, 0, block(to), &kept);
            let part = self.scratch(own.len);
            let mut arrived = kept.clone();
            arrived.push(self.receive(from, 0, part, &[]));
            parts[from] = (part, arrived);
        }
        self.combine_all(parts, sum);
    }

    /// Block `i` goes round the ring from position `i + 1` on, each position adding its own.
    pub(super) fn ring_reduce_scatter(&mut self) {
        let blocks = self.arguments.send_blocks;
        let end = blocks.end(self.tasks);
        let sum = self.scratch(end);
        let from = match self.arguments.in_place {
            true => Slice::new(Space::Receive, 0..end),
            false => Slice::new(Space::Send, 0..end),
        };
        let loaded = self.copy(from, sum, &[]);
        let tasks = self.tasks;
        let block = |number: usize| sum.part(blocks.block(number % tasks));
        let (next, before) = ((self.me + 1) % tasks, (self.me + tasks - 1) % tasks);
        let me = self.me + 2 * tasks;
        let mut there = loaded.clone();
        for step in 0..tasks - 1 {
            self.send(next, step as u32, block(me - 1 - step), &there);
            let into = block(me - 2 - step);
            let part = self.scratch(into.len);
            let mut after = loaded.clone();
            after.push(self.receive(before, step as u32, part, &[]));
            there = vec![self.combine(part, into, true, &after)];
        }
        let own = block(self.me);
        self.copy(own, Slice::new(Space::Receive, 0..own.len), &there);
    }
}
