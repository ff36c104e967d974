//! Algorithms on the tree of the collective network (HW-5): one endpoint of each node, its agent, enters.

use core::ops::Range;

use gyre_driver::Routing;

use super::{Action, BACK, Builder, SHARE, Slice};

/// Bytes of a piece of what several tasks of a node combine: long enough for the tree, short enough to overlap
/// the work of the processors with it.
const PIECE: usize = 16 << 10;

impl Builder<'_> {
    /// The other endpoints of the node tell the agent, which enters the barrier and tells them when it is
    /// over.
    pub(super) fn hardware_barrier(&mut self) {
        let agent = self.agent(self.me);
        let nothing = Slice::nothing();
        let send = |to, tag| Action::Send {
            to,
            tag,
            from: nothing,
        };
        let receive = |from, tag| Action::Receive {
            from,
            tag,
            into: nothing,
            routing: Routing::Fixed,
        };
        if agent != self.rank {
            self.add(send(agent, SHARE), &[]);
            self.add(receive(agent, BACK), &[]);
            return;
        }
        let others = self.endpoints_here();
        let there: Vec<usize> = others
            .iter()
            .map(|&rank| self.add(receive(rank, SHARE), &[]))
            .collect();
        let over = self.add(Action::TreeBarrier, &there);
        for rank in others {
            self.add(send(rank, BACK), &[over]);
        }
    }

    /// The tasks of each node are combined by its agent, piece by piece; the agents' sums on the tree.
    pub(super) fn hardware_allreduce(&mut self) {
        let (own, sum) = (self.input(0), self.output(0));
        let agent = self.agent_position(self.me);
        for (tag, piece) in (0..).zip(self.pieces(own.len)) {
            let (own, sum) = (own.part(piece.clone()), sum.part(piece));
            if agent != self.me {
                self.send(agent, tag, own, &[]);
                self.receive(agent, BACK + tag, sum, &[]);
                continue;
            }
            let (from, there) = self.combined_here(own, sum, tag);
            let there = vec![self.transfer(Some(from), Some(sum), None, &there)];
            for position in self.tasks_here() {
                self.send(position, BACK + tag, sum, &there);
            }
        }
    }

    /// The same, to the node of the root alone.
    pub(super) fn hardware_reduce(&mut self) {
        let own = self.input(0);
        let (agent, above) = (self.agent_position(self.me), self.agent_position(self.root));
        // The agent beside the root receives for it.
        let sum = match self.me {
            me if me == self.root => self.output(0),
            me if me == agent => self.scratch(own.len),
            _ => own,
        };
        for (tag, piece) in (0..).zip(self.pieces(own.len)) {
            let (own, sum) = (own.part(piece.clone()), sum.part(piece));
            if agent != self.me {
                self.send(agent, tag, own, &[]);
                if self.me == self.root {
                    self.receive(agent, BACK + tag, sum, &[]);
                }
                continue;
            }
            let (from, there) = self.combined_here(own, sum, tag);
            let into = (agent == above).then_some(sum);
            let there = vec![self.transfer(Some(from), into, Some(self.root as u32), &there)];
            if agent == above && self.me != self.root {
                self.send(self.root, BACK + tag, sum, &there);
            }
        }
    }

    /// The root gives its data to its node's agent; the tree to the other agents; each to the tasks of its node.
    pub(super) fn hardware_broadcast(&mut self) {
        let data = self.output(0);
        let (agent, above) = (self.agent_position(self.me), self.agent_position(self.root));
        for (tag, piece) in (0..).zip(self.pieces(data.len)) {
            let data = data.part(piece);
            if agent != self.me {
                match self.me == self.root {
                    true => self.send(agent, tag, data, &[]),
                    false => self.receive(agent, BACK + tag, data, &[]),
                };
                continue;
            }
            let mut there = Vec::new();
            if agent == above && self.me != self.root {
                there.push(self.receive(self.root, tag, data, &[]));
            }
            let from = (agent == above).then_some(data);
            let there = vec![self.transfer(from, Some(data), None, &there)];
            for position in self.tasks_here() {
                if position != self.root {
                    self.send(position, BACK + tag, data, &there);
                }
            }
        }
    }

    /// Combines the data of the node's tasks into `sum`, in the order of positions. Gives where the result is,
    /// which is `own` when this is the only task, and the step after which it is there.
    fn combined_here(&mut self, own: Slice, sum: Slice, tag: u32) -> (Slice, Vec<usize>) {
        let others = self.tasks_here();
        if others.is_empty() {
            return (own, Vec::new());
        }
        let mut there: Vec<usize> = self.copy(own, sum, &[]).into_iter().collect();
        for position in others {
            // The agent's is the first of its node's positions.
            let part = self.scratch(own.len);
            there.push(self.receive(position, tag, part, &[]));
            there = vec![self.combine(part, sum, false, &there)];
        }
        (sum, there)
    }

    fn transfer(
        &mut self,
        from: Option<Slice>,
        into: Option<Slice>,
        to: Option<u32>,
        after: &[usize],
    ) -> usize {
        self.add(Action::TreeTransfer { from, into, to }, after)
    }

    /// Pieces that follow each other through a node: one when there is nothing to overlap. None of no bytes.
    fn pieces(&self, bytes: usize) -> Vec<Range<usize>> {
        let alone = self
            .arguments
            .agents
            .iter()
            .enumerate()
            .all(|(position, &agent)| self.leader(position) == agent);
        let piece = match alone {
            true => bytes.max(1),
            // Few enough to be told apart by their tags.
            false => PIECE.max((bytes / 1024).next_multiple_of(64)),
        };
        let starts = (0..bytes).step_by(piece);
        starts.map(|at| at..bytes.min(at + piece)).collect()
    }

    fn agent_position(&self, position: usize) -> usize {
        self.geometry.position(self.agent(position))
    }

    /// The other tasks of this node, by position.
    fn tasks_here(&self) -> Vec<usize> {
        let agent = self.agent(self.me);
        let here = |&position: &usize| self.agent(position) == agent && position != self.me;
        (0..self.tasks).filter(here).collect()
    }

    /// The rank that enters the tree for the node of the task at `position`.
    fn agent(&self, position: usize) -> u32 {
        self.arguments.agents[position]
    }

    /// The other endpoints of this node, by rank.
    fn endpoints_here(&self) -> Vec<u32> {
        let agent = self.agent(self.me);
        let here = |&rank: &u32| self.agent(self.geometry.position(rank)) == agent;
        let ranks = 0..self.geometry.endpoints().len() as u32;
        ranks
            .filter(here)
            .filter(|&rank| rank != self.rank)
            .collect()
    }
}
