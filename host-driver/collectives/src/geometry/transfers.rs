// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transfers of endpoint-parallel collectives (EP-10 to EP-12).

use std::sync::{Arc, PoisonError};

use gyre_driver::{Endpoint, Routing};

use super::Geometry;
use crate::collective::Collective;
use crate::transfer_schedule::{Served, TransferSchedule, Transit};

/// Data that moves between two endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Source rank.
    pub from: Endpoint,
    /// Destination rank.
    pub to: Endpoint,
    /// Routing of its packets.
    pub routing: Routing,
}

impl Geometry {
    /// Schedule of the endpoints of the task at `root` in an endpoint-parallel broadcast, scatter or gather. The
    /// leaders of the other tasks get data.
    pub(crate) fn transfer_schedule(
        &self,
        root: usize,
        collective: Collective,
    ) -> Arc<TransferSchedule> {
        let mut made = self
            .0
            .schedules
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(self.new_transfer_schedule(root, collective));
        Arc::clone(made.entry((root, collective)).or_insert_with(new))
    }

    fn new_transfer_schedule(&self, root: usize, collective: Collective) -> TransferSchedule {
        let places = self.0.places.as_ref();
        let node = |rank: u32| places.map(|places| places.node(rank));
        let nodes: Vec<_> = self.ranks_of(root).iter().map(|&rank| node(rank)).collect();
        let leaders = (0..self.tasks().len()).map(|position| self.ranks_of(position)[0]);
        let network = places.map(|places| &places.network);
        let served = |rank: u32| Served {
            rank,
            node: node(rank),
            data: self.ranks_of(self.position(rank))[0] == rank,
        };
        if collective == Collective::Gather {
            let root = self.ranks_of(root)[0];
            let mut schedule =
                TransferSchedule::into(network, &nodes, &leaders.map(served).collect::<Vec<_>>());
            // The root's own block is not transferred.
            let parts = schedule.parts.iter_mut();
            parts.for_each(|part| part.retain(|share| share.rank != root));
            schedule.feeds.retain(|feed| feed.rank != Some(root));
            return schedule;
        }
        let all = 0..self.endpoints().len() as u32;
        let (members, transit): (Vec<u32>, _) = match collective {
            Collective::Broadcast => (all.collect(), Transit::Once),
            _ => (leaders.collect(), Transit::Each),
        };
        let members = members.into_iter().filter(|&r| self.position(r) != root);
        TransferSchedule::out(
            network,
            &nodes,
            &members.map(served).collect::<Vec<_>>(),
            transit,
        )
    }

    /// Endpoint pairs between which an endpoint-parallel broadcast, scatter or gather from `root` moves data, for
    /// checks of link load.
    #[must_use]
    pub fn transfers(&self, root: usize, collective: Collective) -> Vec<Transfer> {
        let schedule = self.transfer_schedule(root, collective);
        let endpoint = |rank: u32| self.endpoints()[rank as usize];
        let own = |number: usize| endpoint(self.ranks_of(root)[number]);
        let leads = |rank: u32| self.ranks_of(self.position(rank))[0] == rank;
        let served = schedule
            .parts
            .iter()
            .enumerate()
            .flat_map(|(number, part)| {
                let leaders = part.iter().filter(|share| leads(share.rank));
                leaders.map(move |share| (own(number), endpoint(share.rank), share.routing))
            });
        let feeds = schedule.feeds.iter();
        let fed = feeds.map(|feed| (own(feed.home), own(feed.away), Routing::Fixed));
        let out = |(home, other, routing)| {
            let (from, to) = match collective {
                Collective::Gather => (other, home),
                _ => (home, other),
            };
            Transfer { from, to, routing }
        };
        served.chain(fed).map(out).collect()
    }
}
