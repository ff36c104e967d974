// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places of a geometry's endpoints in the network.

use gyre_driver::{Client, Coord, Endpoint, Network, Platform, TaskId};

use crate::error::Error;
use crate::torus::Torus;

/// The network under a geometry.
#[derive(Debug, Clone)]
pub(crate) struct NetworkPlaces {
    pub network: Network,
    /// Node of each rank.
    nodes: Vec<Coord>,
    torus: Option<Torus>,
}

impl NetworkPlaces {
    /// The places of `endpoints`, by rank; `leaders` are the tasks, by position, and the rank of the first endpoint of
    /// each.
    pub fn new<P: Platform>(
        client: &Client<P>,
        name: &str,
        endpoints: &[Endpoint],
        leaders: impl Iterator<Item = (TaskId, u32)>,
    ) -> Result<Self, Error> {
        let network = client.network()?;
        let tasks = client.tasks();
        let mut nodes = Vec::new();
        for endpoint in endpoints {
            let place = tasks.place(endpoint.task(), endpoint.context_offset())?;
            nodes.push(place.node);
        }
        let mut homes = Vec::new();
        for (task, leader) in leaders {
            let home = tasks.location(task)?.node;
            if nodes[leader as usize] != home {
                let name = name.into();
                return Err(Error::LeaderAway { name, task });
            }
            homes.push(home);
        }
        let torus = Torus::new(&network, &homes);
        Ok(Self {
            network,
            nodes,
            torus,
        })
    }

    /// Node of the endpoint with rank `rank`.
    pub fn node(&self, rank: u32) -> Coord {
        self.nodes[rank as usize]
    }

    /// The torus, if there is one task on every node of the machine and each dimension is a ring.
    pub fn torus(&self) -> Option<&Torus> {
        self.torus.as_ref()
    }
}
