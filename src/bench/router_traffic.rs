// SPDX-License-Identifier: MIT OR Apache-2.0
//! Open-loop random traffic for machines of routers and for DMA engines, and what is counted of it.

use gyre_layout::packet_bytes;
use gyre_sim::{Delivery, RawPacket, Traffic};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde_json::{Map, Value, json};

use super::link_load::FLIT_BYTES;
use super::pattern::{Destinations, coordinates, node_number};

/// Traffic that every node offers.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub to: Destinations,
    /// Nodes in each dimension.
    pub shape: Vec<u16>,
    /// Flits a node and cycle.
    pub load: f64,
    /// Payload bytes of each packet, but for short ones.
    pub payload: u16,
    pub short: Short,
    /// Packets that follow each other, a packet a cycle, on average; 1 for none.
    pub burst: f64,
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

/// Short packets among others.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Short {
    /// Their payload bytes.
    pub payload: u16,
    /// Their part of all packets.
    pub share: f64,
}

/// Flits of a packet.
pub(super) fn flits(payload: u16) -> u64 {
    packet_bytes(payload.into()) as u64 / FLIT_BYTES
}

/// A packet that a source has drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packet {
    pub cycle: u64,
    /// Its destination.
    pub to: usize,
    pub payload: u16,
}

impl Offer {
    /// Flits of a packet on average.
    pub fn flits(&self) -> f64 {
        let long = flits(self.payload) as f64;
        long + self.short.share * (flits(self.short.payload) as f64 - long)
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
            in_burst: false,
        }
    }
}

/// Draws the packets of one node: a Bernoulli process a cycle, so gaps are geometric; or bursts with such gaps between,
/// of as many packets as a Bernoulli process gives.
pub(super) struct Source {
    at: Vec<u16>,
    rng: ChaCha8Rng,
    cycle: u64,
    /// A packet has left, and its burst may go on.
    in_burst: bool,
}

impl Source {
    /// The next packet before the end of the measured window.
    pub fn next(&mut self, offer: &Offer) -> Option<Packet> {
        let follows =
            self.in_burst && offer.burst > 1.0 && self.rng.random::<f64>() >= 1.0 / offer.burst;
        self.in_burst = true;
        self.cycle += match follows {
            true => 1,
            false => self.gap(offer) + 1,
        };
        if self.cycle >= offer.to() {
            return None;
        }
        // A node that the pattern maps to itself sends nothing.
        let to = offer
            .to
            .destination(&self.at, &offer.shape, &mut self.rng)?;
        let is_short = offer.short.share > 0.0 && self.rng.random::<f64>() < offer.short.share;
        Some(Packet {
            cycle: self.cycle,
            to: node_number(&to, &offer.shape) as usize,
            payload: match is_short {
                true => offer.short.payload,
                false => offer.payload,
            },
        })
    }

    /// Cycles without a packet before the next, or the next burst.
    fn gap(&mut self, offer: &Offer) -> u64 {
        // All packets of a burst but the first follow within a cycle.
        let rate = offer.load / (offer.burst * offer.flits() - (offer.burst - 1.0) * offer.load);
        let uniform: f64 = 1.0 - self.rng.random::<f64>();
        match rate >= 1.0 {
            true => 0,
            false => (uniform.ln() / (1.0 - rate).ln()) as u64,
        }
    }
}

/// Parts of the measured window whose mean latencies say how sure the mean of all is.
const BATCHES: usize = 10;

/// Student's t of 95 % for as many batches.
const STUDENT_T: f64 = 2.262;

/// Packets that were offered in a part of the measured window, and the sum of their latencies.
#[derive(Debug, Default, Clone, Copy)]
struct Batch {
    packets: u64,
    latency: u64,
}

/// Count of packets by the window in which they were offered or arrived.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub offered_flits: u64,
    offered_packets: u64,
    accepted_flits: u64,
    latencies: Vec<u64>,
    batches: [Batch; BATCHES],
}

impl Tally {
    pub fn offered(&mut self, offer: &Offer, packet: &Packet) {
        if offer.counts(packet.cycle) {
            self.offered_flits += flits(packet.payload);
            self.offered_packets += 1;
        }
    }

    /// A packet of so many flits arrived.
    pub fn delivered(&mut self, offer: &Offer, flits: u64, sent: u64, arrived: u64) {
        if offer.counts(arrived) {
            self.accepted_flits += flits;
        }
        if offer.counts(sent) {
            self.latencies.push(arrived - sent);
            let batch = (sent - offer.from()) as usize * BATCHES / offer.measure as usize;
            self.batches[batch].packets += 1;
            self.batches[batch].latency += arrived - sent;
        }
    }

    /// Half the confidence interval of 95 % of the mean latency, from the means of batches; and the mean of the second half
    /// of the window over that of the first. None where a batch has no packet.
    fn confidence(&self) -> Option<(f64, f64)> {
        if self.batches.iter().any(|batch| batch.packets == 0) {
            return None;
        }
        let mean = |batches: &[Batch]| {
            let latency: u64 = batches.iter().map(|batch| batch.latency).sum();
            let packets: u64 = batches.iter().map(|batch| batch.packets).sum();
            latency as f64 / packets as f64
        };
        let means = self.batches.map(|batch| mean(&[batch]));
        let centre = means.iter().sum::<f64>() / BATCHES as f64;
        let squares: f64 = means.iter().map(|mean| (mean - centre).powi(2)).sum();
        let deviation = (squares / (BATCHES - 1) as f64).sqrt();
        let (first, second) = self.batches.split_at(BATCHES / 2);
        Some((
            STUDENT_T * deviation / (BATCHES as f64).sqrt(),
            mean(second) / mean(first),
        ))
    }

    /// Loads in flits a node and cycle, latencies in cycles.
    pub fn metrics(mut self, offer: &Offer, nodes: usize) -> Map<String, Value> {
        self.latencies.sort_unstable();
        let confidence = self.confidence();
        let area = (nodes as u64 * offer.measure) as f64;
        let count = self.latencies.len();
        let mean = (count > 0).then(|| self.latencies.iter().sum::<u64>() as f64 / count as f64);
        let p99 = self.latencies.get((count * 99).div_ceil(100).max(1) - 1);
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
        let ci95 = confidence.map(|(ci95, _)| ci95);
        metrics.insert("latency_ci95_cycles".into(), json!(ci95));
        let drift = confidence.map(|(_, drift)| drift);
        metrics.insert("latency_drift".into(), json!(drift));
        metrics.insert("measured_packets".into(), json!(count));
        metrics.insert(
            "undelivered_packets".into(),
            json!(self.offered_packets - count as u64),
        );
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
        let packet = self.sources[node].next(&self.offer)?;
        self.tally.offered(&self.offer, &packet);
        Some(RawPacket {
            cycle: packet.cycle,
            dst: packet.to,
            response: false,
            dynamic: self.offer.dynamic,
            len: packet.payload,
            tag: packet.cycle,
        })
    }

    fn delivered(&mut self, delivery: &Delivery) {
        self.tally.delivered(
            &self.offer,
            delivery.flits,
            delivery.tag,
            delivery.tail_cycle,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::pattern::{Choice, Pattern};

    fn offer() -> Offer {
        let uniform = Choice {
            pattern: Pattern::Uniform,
            seed: 1,
            hot_node: 0,
            hot_share: 0.0,
            matrix: None,
        };
        Offer {
            to: Destinations::new(&uniform, &[2]).expect("two nodes"),
            shape: vec![2],
            load: 0.1,
            payload: 0,
            short: Short::default(),
            burst: 1.0,
            dynamic: false,
            seed: 1,
            stream: 0,
            start: 0,
            warmup: 100,
            measure: 100,
        }
    }

    #[test]
    fn x7_latency_that_rises_is_told_from_one_that_is_steady() {
        let tally = |latency: fn(u64) -> u64| {
            let (offer, mut tally) = (offer(), Tally::default());
            for sent in 0..300 {
                tally.delivered(&offer, 2, sent, sent + latency(sent));
            }
            tally.confidence()
        };
        assert_eq!(tally(|_| 20), Some((0.0, 1.0)));
        // Ten cycles more in each batch: 10 * sqrt(110 / 12) is the deviation of their means.
        let (ci95, drift) = tally(|sent| sent / 10 * 10).expect("all batches have packets");
        assert!((ci95 - 2.262 * 10.0 * (55.0_f64 / 6.0).sqrt() / 10.0_f64.sqrt()).abs() < 1e-9);
        assert!((drift - 170.0 / 120.0).abs() < 1e-9);
    }

    #[test]
    fn x7_batch_without_packets_leaves_confidence_open() {
        let (offer, mut tally) = (offer(), Tally::default());
        tally.delivered(&offer, 2, 100, 120);
        assert_eq!(tally.confidence(), None);
    }

    /// Packets of a source with such an offer, over many cycles.
    fn drawn(change: impl FnOnce(&mut Offer)) -> (Offer, Vec<Packet>) {
        let mut offer = offer();
        offer.measure = 400_000;
        change(&mut offer);
        let mut source = offer.source(0);
        let packets = std::iter::from_fn(|| source.next(&offer)).collect();
        (offer, packets)
    }

    fn load(packets: &[Packet], offer: &Offer) -> f64 {
        let sum: u64 = packets.iter().map(|packet| flits(packet.payload)).sum();
        sum as f64 / (offer.to() - offer.start) as f64
    }

    #[test]
    fn x7_bursts_are_as_long_as_asked_for_and_offer_the_same_load() {
        let (offer, packets) = drawn(|offer| (offer.load, offer.burst) = (0.3, 8.0));
        assert!((load(&packets, &offer) / 0.3 - 1.0).abs() < 0.05);
        let follows = packets
            .windows(2)
            .filter(|pair| pair[1].cycle == pair[0].cycle + 1);
        let bursts = packets.len() - follows.count();
        let mean = packets.len() as f64 / bursts as f64;
        // Some gaps are of one cycle.
        assert!((7.0..10.0).contains(&mean), "{mean}");
    }

    #[test]
    fn x7_short_packets_have_their_share_and_all_offer_the_load() {
        let (offer, packets) = drawn(|offer| {
            (offer.load, offer.payload) = (0.5, 512);
            offer.short = Short {
                payload: 8,
                share: 0.75,
            };
        });
        assert!((load(&packets, &offer) / 0.5 - 1.0).abs() < 0.05);
        let short = packets.iter().filter(|packet| packet.payload == 8).count();
        let share = short as f64 / packets.len() as f64;
        assert!((share - 0.75).abs() < 0.02, "{share}");
    }
}
