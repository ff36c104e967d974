// SPDX-License-Identifier: MIT OR Apache-2.0
//! Open-loop random traffic for machines of routers and for DMA engines, and what is counted of it.

use gyre_sim::{Delivery, RawPacket, Traffic};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde_json::{Map, Value, json};

use super::pattern::{Pattern, coordinates, node_number};

/// Traffic that every node offers.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub pattern: Pattern,
    /// Nodes in each dimension.
    pub shape: Vec<u16>,
    /// Flits a node and cycle.
    pub load: f64,
    /// Payload bytes of each packet.
    pub payload: u16,
    /// Whether packets may take any shortest way.
    pub dynamic: bool,
    pub seed: u64,
    /// Number of the traffic among those of the seed: they draw independently.
    pub stream: u32,
    /// First cycle of traffic.
    pub start: u64,
    /// Cycles before figures are taken.
    pub warmup: u64,
    /// Cycles over which figures are taken.
    pub measure: u64,
}

impl Offer {
    /// Flits of each packet: header and payload rounded up to 32 B.
    pub fn flits(&self) -> u64 {
        (u64::from(self.payload).div_ceil(32) + 1) * 2
    }

    /// Nodes that send and receive.
    pub fn nodes(&self) -> usize {
        self.shape.iter().map(|&size| usize::from(size)).product()
    }

    fn from(&self) -> u64 {
        self.start + self.warmup
    }

    /// End of the measured window.
    pub fn to(&self) -> u64 {
        self.from() + self.measure
    }

    /// Whether a cycle counts.
    fn counts(&self, cycle: u64) -> bool {
        (self.from()..self.to()).contains(&cycle)
    }

    /// The source at `node`.
    pub fn source(&self, node: usize) -> Source {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(u64::from(self.stream) << 32 | node as u64);
        Source {
            at: coordinates(node as u32, &self.shape),
            rng,
            cycle: self.start,
        }
    }
}

/// Draws the packets of one node: a Bernoulli process a cycle, so gaps are geometric.
pub(super) struct Source {
    at: Vec<u16>,
    rng: ChaCha8Rng,
    cycle: u64,
}

impl Source {
    /// Cycle and destination of the next packet before the end of the measured window.
    pub fn next(&mut self, offer: &Offer) -> Option<(u64, usize)> {
        let rate = offer.load / offer.flits() as f64;
        let uniform: f64 = 1.0 - self.rng.random::<f64>();
        let gap = if rate >= 1.0 {
            0.0
        } else {
            uniform.ln() / (1.0 - rate).ln()
        };
        self.cycle += gap as u64 + 1;
        if self.cycle >= offer.to() {
            return None;
        }
        // A node that the pattern maps to itself sends nothing.
        let to = offer
            .pattern
            .destination(&self.at, &offer.shape, &mut self.rng)?;
        Some((self.cycle, node_number(&to, &offer.shape) as usize))
    }
}

/// Count of packets by the window in which they were offered or arrived.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub offered_flits: u64,
    accepted_flits: u64,
    latencies: Vec<u64>,
}

impl Tally {
    pub fn offered(&mut self, offer: &Offer, cycle: u64) {
        if offer.counts(cycle) {
            self.offered_flits += offer.flits();
        }
    }

    pub fn delivered(&mut self, offer: &Offer, sent: u64, arrived: u64) {
        if offer.counts(arrived) {
            self.accepted_flits += offer.flits();
        }
        if offer.counts(sent) {
            self.latencies.push(arrived - sent);
        }
    }

    /// Loads in flits a node and cycle, latencies in cycles.
    pub fn metrics(mut self, offer: &Offer, nodes: usize) -> Map<String, Value> {
        self.latencies.sort_unstable();
        let area = (nodes as u64 * offer.measure) as f64;
        let count = self.latencies.len();
        let mean = (count > 0).then(|| self.latencies.iter().sum::<u64>() as f64 / count as f64);
        let p99 = self.latencies.get((count * 99).div_ceil(100).max(1) - 1);
        let expected = self.offered_flits / offer.flits();
        let mut metrics = Map::new();
        metrics.insert(
            "offered_load".into(),
            json!(self.offered_flits as f64 / area),
        );
        metrics.insert(
            "accepted_load".into(),
            json!(self.accepted_flits as f64 / area),
        );
        metrics.insert("latency_mean_cycles".into(), json!(mean));
        metrics.insert("latency_p99_cycles".into(), json!(p99));
        metrics.insert("measured_packets".into(), json!(count));
        metrics.insert("undelivered_packets".into(), json!(expected - count as u64));
        metrics
    }
}

/// Open-loop sources and sinks at the injection paths.
pub(super) struct RouterTraffic {
    offer: Offer,
    sources: Vec<Source>,
    pub tally: Tally,
}

impl RouterTraffic {
    pub fn new(offer: Offer, nodes: usize) -> Self {
        Self {
            sources: (0..nodes).map(|node| offer.source(node)).collect(),
            offer,
            tally: Tally::default(),
        }
    }
}

impl Traffic for RouterTraffic {
    fn next_packet(&mut self, node: usize) -> Option<RawPacket> {
        let (cycle, dst) = self.sources[node].next(&self.offer)?;
        self.tally.offered(&self.offer, cycle);
        Some(RawPacket {
            cycle,
            dst,
            response: false,
            dynamic: self.offer.dynamic,
            len: self.offer.payload,
            tag: cycle,
        })
    }

    fn delivered(&mut self, delivery: &Delivery) {
        self.tally
            .delivered(&self.offer, delivery.tag, delivery.tail_cycle);
    }
}
