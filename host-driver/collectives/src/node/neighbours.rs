// SPDX-License-Identifier: MIT OR Apache-2.0
//! The endpoints of a geometry by node.

use std::collections::BTreeMap;

use gyre_driver::{Context, Coord, Platform};

use super::sharing::Sharing;
use crate::error::Error;
use crate::geometry::Geometry;

/// The endpoints of a geometry by node.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    /// Number of the node of each rank.
    nodes: Vec<usize>,
    /// Ranks on each node, ascending; nodes in the order in which they first appear.
    ranks: Vec<Vec<u32>>,
    /// Likewise for leaders of tasks only; a node may have none.
    leaders: Vec<Vec<u32>>,
}

impl Neighbours {
    pub fn of<P: Platform>(context: &Context<P>, geometry: &Geometry) -> Result<Self, Error> {
        let mut numbers: BTreeMap<Coord, usize> = BTreeMap::new();
        let mut this = Self::default();
        for (rank, endpoint) in (0..).zip(geometry.endpoints()) {
            let tasks = context.tasks();
            let node = tasks.place(endpoint.task(), endpoint.context_offset())?;
            let next = numbers.len();
            let number = *numbers.entry(node.node).or_insert(next);
            if number == next {
                this.ranks.push(Vec::new());
                this.leaders.push(Vec::new());
            }
            this.nodes.push(number);
            this.ranks[number].push(rank);
            if geometry.ranks_of(geometry.position(rank))[0] == rank {
                this.leaders[number].push(rank);
            }
        }
        Ok(this)
    }

    pub fn sharing(&self) -> Sharing {
        Sharing {
            some: self.ranks.len() < self.nodes.len(),
            all: self.ranks.len() == 1,
            most: self.leaders.iter().map(Vec::len).fold(0, usize::max),
        }
    }

    /// Number of a rank's node.
    pub fn node(&self, rank: u32) -> usize {
        self.nodes[rank as usize]
    }

    /// Ranks on the node of `rank`, numbered in this order.
    pub fn here(&self, rank: u32) -> &[u32] {
        &self.ranks[self.node(rank)]
    }

    /// Leaders of tasks on the node of `rank`.
    pub fn leaders_here(&self, rank: u32) -> &[u32] {
        &self.leaders[self.node(rank)]
    }

    /// Rank that enters the collective network for the node of `leader`, a leader of a task: that of the node's first
    /// task.
    pub fn agent(&self, leader: u32) -> u32 {
        self.leaders_here(leader)[0]
    }

    /// Number of `rank` among those on its node.
    pub fn number(&self, rank: u32) -> usize {
        self.here(rank).iter().take_while(|&&r| r != rank).count()
    }

    /// First rank of every node.
    pub fn first_of_nodes(&self) -> Vec<u32> {
        self.ranks.iter().map(|ranks| ranks[0]).collect()
    }

    /// First leader of every node that has one.
    pub fn first_leaders(&self) -> Vec<u32> {
        let leaders = self.leaders.iter();
        leaders.filter_map(|l| l.first().copied()).collect()
    }
}
