// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives in which several endpoints of the root's task work in parallel (EP-10, EP-11, EP-12), some on other
//! nodes (EP-15). With one endpoint they are the linear algorithms.

use gyre_driver::Routing;

use super::builder::Builder;
use super::steps::{Action, Slice, Space};
use super::torus::pieces;
use crate::collective::Collective;
use crate::transfer_schedule::TransferSchedule;

/// Maximum bytes of a message to a node with forwarding endpoints, which overlap receiving and sending.
const PIECE: usize = 16 << 10;

/// Maximum bytes under way to an endpoint of the root in a gather, unless one block is longer. More senders at once
/// congest the network.
const UNDER_WAY: usize = 64 << 10;

impl Builder<'_> {
    /// EP-10: each endpoint of the root's task serves a part of all endpoints with the data. A task's leader stores
    /// it, the others discard their copies. Another node with endpoints of the root gets the data once, in pieces
    /// spread over these endpoints, which forward it.
    pub(super) fn endpoint_parallel_broadcast(&mut self) {
        let data = self.output(0);
        let transfers = self
            .geometry
            .transfer_schedule(self.root, Collective::Broadcast);
        let parts: Vec<Slice> = pieces(0..data.len, PIECE)
            .into_iter()
            .map(|range| data.part(range))
            .collect();
        if self.me == self.root {
            let mine = self.endpoint();
            let mut fed = Vec::new();
            let feeds = transfers.feeds.iter().filter(|feed| feed.home == mine);
            for feed in feeds.filter(|_| data.len > 0) {
                let there = self.root_neighbours(self.root_endpoint(feed.away));
                for ((tag, &from), &to) in (0..).zip(&parts).zip(there.iter().cycle()) {
                    self.send_to(to, tag, from, &[]);
                }
                fed.push(self.receive_of(there[0], 0, Slice::nothing(), &[]));
            }
            if !self.geometry.is_away(self.rank) {
                // Data that others wait for must not be fetched last.
                for share in &transfers.parts[mine] {
                    let (to, from) = (share.rank, data);
                    self.send_to(to, 0, from, &fed);
                }
                return self.meet();
            }
            let there = self.pieces_here(&transfers, &parts);
            for share in &transfers.parts[mine] {
                let to = share.rank;
                for ((tag, &from), there) in (0..).zip(&parts).zip(&there) {
                    self.send_to(to, tag, from, &[*there]);
                }
            }
            return self.meet();
        }
        let (from, routing) = self.peer(&transfers);
        let whole = [data];
        let parts = match self.geometry.is_away(from) {
            true => &parts[..],
            false => &whole,
        };
        for (tag, &into) in (0..).zip(parts) {
            match self.is_leader() {
                true => self.receive_from((from, routing), tag, into, &[]),
                false => self.add(Action::Discard { from, tag }, &[]),
            };
        }
        self.tell_endpoints();
    }

    /// Steps after which each piece of the data is on this node, which is not the root task's. The endpoint that
    /// receives a piece notifies the others, and for the first piece also its sender. Empty if no data comes here.
    fn pieces_here(&mut self, transfers: &TransferSchedule, parts: &[Slice]) -> Vec<usize> {
        let neighbours = self.root_neighbours(self.rank);
        let mut feeds = transfers.feeds.iter();
        let Some(feed) = feeds.find(|feed| self.root_endpoint(feed.away) == neighbours[0]) else {
            return Vec::new();
        };
        let home = self.root_endpoint(feed.home);
        let nothing = Slice::nothing();
        let mut there = Vec::new();
        for ((tag, &part), &first) in (0..).zip(parts).zip(neighbours.iter().cycle()) {
            if first != self.rank {
                there.push(self.receive_of(first, tag, nothing, &[]));
                continue;
            }
            let step = self.receive_of(home, tag, part, &[]);
            if tag == 0 {
                let (to, from) = (home, nothing);
                self.send_to(to, tag, from, &[step]);
            }
            for &to in neighbours.iter().filter(|&&to| to != first) {
                let from = nothing;
                self.send_to(to, tag, from, &[step]);
            }
            there.push(step);
        }
        there
    }

    /// Ranks of the root task's endpoints on the node of one of them, ascending.
    fn root_neighbours(&self, rank: u32) -> Vec<u32> {
        let node = |rank| self.geometry.node(rank);
        let ranks = self.geometry.ranks_of(self.root).iter().copied();
        ranks.filter(|&other| node(other) == node(rank)).collect()
    }

    /// EP-11: each endpoint of the root's task sends the blocks of a part of the tasks; one endpoint a task receives.
    /// Endpoints on other nodes get the blocks of their part from one at home.
    pub(super) fn endpoint_parallel_scatter(&mut self) {
        let transfers = self
            .geometry
            .transfer_schedule(self.root, Collective::Scatter);
        if self.me == self.root {
            let mine = self.endpoint();
            for feed in transfers.feeds.iter().filter(|feed| feed.home == mine) {
                let (to, tag, from) = (
                    self.root_endpoint(feed.away),
                    tag_of(feed.rank),
                    self.block_for(feed.rank),
                );
                self.send_to(to, tag, from, &[]);
            }
            for share in &transfers.parts[mine] {
                let to = share.rank;
                let from = self.block_for(Some(to));
                let fed = transfers.feeds.iter().find(|feed| feed.rank == Some(to));
                let there = fed.map(|feed| {
                    let (from, tag) = (self.root_endpoint(feed.home), tag_of(feed.rank));
                    let into = self.block_for(feed.rank);
                    self.receive_of(from, tag, into, &[])
                });
                let after: Vec<usize> = there.into_iter().collect();
                self.send_to(to, 0, from, &after);
            }
            if self.is_leader() && !self.arguments.keeps_block {
                self.copy(self.input(self.me), self.received(), &[]);
            }
            return self.meet();
        }
        if self.is_leader() {
            let into = self.received();
            self.receive_from(self.peer(&transfers), 0, into, &[]);
        }
        self.tell_endpoints();
    }

    /// EP-12: the leader of each task sends to the root endpoint whose range contains its position. Endpoints on
    /// other nodes forward to one at home.
    pub(super) fn endpoint_parallel_gather(&mut self) {
        let transfers = self
            .geometry
            .transfer_schedule(self.root, Collective::Gather);
        if self.me == self.root {
            let mine = self.endpoint();
            let mut row: Vec<(usize, usize)> = Vec::new();
            for share in &transfers.parts[mine] {
                let from = share.rank;
                let into = self.output(self.geometry.position(from));
                let mut bytes = into.len;
                let full = row.iter().rev().find(|(_, len)| {
                    bytes += len;
                    bytes > UNDER_WAY
                });
                let after: Vec<usize> = full.iter().map(|(step, _)| *step).collect();
                let step = self.receive_from((from, share.routing), 0, into, &after);
                row.push((step, into.len));
                if let Some(feed) = transfers.feeds.iter().find(|feed| feed.rank == Some(from)) {
                    let (to, tag, from) = (self.root_endpoint(feed.home), tag_of(feed.rank), into);
                    self.send_to(to, tag, from, &[step]);
                }
            }
            for feed in transfers.feeds.iter().filter(|feed| feed.home == mine) {
                let (from, tag) = (self.root_endpoint(feed.away), tag_of(feed.rank));
                let into = self.output(feed.rank.map_or(0, |rank| self.geometry.position(rank)));
                self.receive_of(from, tag, into, &[]);
            }
            if self.is_leader() && !self.arguments.in_place {
                self.copy(self.input(0), self.output(self.me), &[]);
            }
            return self.meet();
        }
        if self.is_leader() {
            self.send_to(self.peer(&transfers).0, 0, self.input(0), &[]);
        }
        self.tell_endpoints();
    }

    /// Rank of the root endpoint that serves this member, and the routing between them.
    fn peer(&self, transfers: &TransferSchedule) -> (u32, Routing) {
        // Every member is in the transfer schedule.
        let (endpoint, routing) = transfers.of(self.rank).unwrap_or_default();
        (self.root_endpoint(endpoint), routing)
    }

    /// Rank of endpoint `number` of the root's task.
    fn root_endpoint(&self, number: usize) -> u32 {
        self.geometry.ranks_of(self.root)[number]
    }

    /// The block of the root's send buffer that goes to the task of an endpoint.
    fn block_for(&self, rank: Option<u32>) -> Slice {
        let position = rank.map_or(0, |rank| self.geometry.position(rank));
        Slice::new(Space::Send, self.arguments.send_blocks.block(position))
    }
}

/// Tag of the data of a member between endpoints of the root.
fn tag_of(rank: Option<u32>) -> u32 {
    1 + rank.unwrap_or(0)
}
