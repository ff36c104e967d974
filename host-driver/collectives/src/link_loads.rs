// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads of links between nodes.

use std::collections::BTreeMap;

use gyre_driver::{Coord, Network, Routing};

/// Number of messages on each link, by sending node and port.
#[derive(Default)]
pub(crate) struct LinkLoads {
    links: BTreeMap<(Coord, usize), usize>,
}

impl LinkLoads {
    pub fn add(&mut self, way: &[(Coord, usize)]) {
        for &link in way {
            *self.links.entry(link).or_default() += 1;
        }
    }

    pub fn remove(&mut self, way: &[(Coord, usize)]) {
        for link in way {
            if let Some(load) = self.links.get_mut(link) {
                *load -= 1;
            }
        }
    }

    /// Load of the busiest link of a path, and of all its links together.
    pub fn of(&self, way: &[(Coord, usize)]) -> (usize, usize) {
        let loads = way
            .iter()
            .map(|link| self.links.get(link).copied().unwrap_or(0));
        loads.fold((0, 0), |(most, sum), load| (most.max(load), sum + load))
    }
}

/// Links of the path between two nodes; empty if the network is unknown.
pub(crate) fn links(
    network: Option<&Network>,
    from: Option<Coord>,
    to: Option<Coord>,
    routing: Routing,
) -> Vec<(Coord, usize)> {
    let (Some(network), Some(from), Some(to)) = (network, from, to) else {
        return Vec::new();
    };
    let mut at = from;
    let hops = network.way(from, to, routing).into_iter();
    hops.map(|hop| (std::mem::replace(&mut at, hop.to), hop.port))
        .collect()
}

/// Possible routings of data between two nodes.
pub(crate) fn choices(
    network: Option<&Network>,
    from: Option<Coord>,
    to: Option<Coord>,
) -> Vec<Routing> {
    let choices = match (network, from, to) {
        (Some(network), Some(from), Some(to)) => network.choices(from, to),
        _ => Vec::new(),
    };
    match choices.is_empty() {
        true => vec![Routing::Fixed],
        false => choices,
    }
}
