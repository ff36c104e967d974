// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench hop-latency`: the RTL's cycles a hop without contention.

use gyre_sim::{Delivery, MachineConfig, RawPacket, SimError, Traffic};
use serde_json::{Map, json};

use super::measure::{Measured, Total, refuse_if};
use gyre::error::RunError;
use gyre::machine_file::MachineSpec;
use gyre::settings::Settings;

/// Cycles between the packets: no two packets meet.
const GAP: u64 = 2000;

/// Link latency of the reference machine's fastest links, measured as well.
const SHORT_LINK: u64 = 1;

/// Node 0 sends one packet without payload to each destination, one after the other.
struct OneByOne {
    destinations: Vec<usize>,
    sent: usize,
    /// Cycles from offer to the first flit taken, by destination.
    latency: Vec<u64>,
}

impl Traffic for OneByOne {
    fn next_packet(&mut self, node: usize) -> Option<RawPacket> {
        let &dst = self.destinations.get(self.sent).filter(|_| node == 0)?;
        let packet = RawPacket {
            cycle: GAP * (self.sent as u64 + 1),
            dst,
            response: false,
            dynamic: false,
            len: 0,
            tag: self.sent as u64,
        };
        self.sent += 1;
        Some(packet)
    }

    fn delivered(&mut self, delivery: &Delivery) {
        let offered = GAP * (delivery.tag + 1);
        self.latency[delivery.tag as usize] = delivery.head_cycle - offered;
    }
}

/// Cycles from offer to the first flit taken for 1, 2, ... hops along the first dimension.
fn measure(spec: &MachineSpec, hops: u16) -> Result<(Vec<u64>, u64, u64), SimError> {
    let traffic = OneByOne {
        destinations: (1..=usize::from(hops)).collect(),
        sent: 0,
        latency: vec![0; usize::from(hops)],
    };
    let mut machine = spec.routers(traffic)?;
    let report = machine.run_to_end()?;
    Ok((
        machine.traffic().latency.clone(),
        report.cycles,
        report.hash,
    ))
}

pub(super) fn run(spec: &MachineSpec, _settings: &Settings) -> Result<Measured, RunError> {
    let ring = !spec.config.mesh.first().copied().unwrap_or(false);
    let size = spec.config.dims[0];
    let hops = if ring { (size - 1) / 2 } else { size - 1 };
    let text = format!(
        "hop-latency needs two destinations in a row along the first dimension; shape {} has {hops}",
        spec.shape()
    );
    refuse_if(hops < 2, text)?;
    let mut total = Total::new();
    let mut rows = Vec::new();
    let mut reference = None;
    for link_latency in [spec.config.link_latency, SHORT_LINK] {
        let spec = MachineSpec {
            config: MachineConfig {
                link_latency,
                ..spec.config.clone()
            },
            ..spec.clone()
        };
        let (latency, ran, digest) = measure(&spec, hops)?;
        total.cycles += ran;
        total.hash ^= digest.rotate_left(rows.len() as u32);
        let span = latency[latency.len() - 1] - latency[0];
        let per_hop = span as f64 / f64::from(hops - 1) - link_latency as f64;
        reference.get_or_insert((per_hop, latency[0]));
        for (hop, cycles) in (1..).zip(&latency) {
            rows.push(json!({
                "link_latency": link_latency,
                "hops": hop,
                "latency_cycles": cycles,
                "router_cycles_per_hop": per_hop,
            }));
        }
    }
    let (per_hop, first) = reference.unwrap_or((f64::NAN, 0));
    let mut metrics = Map::new();
    metrics.insert("router_cycles_per_hop".into(), json!(per_hop));
    metrics.insert("first_hop_latency_cycles".into(), json!(first));
    metrics.insert("hops".into(), json!(rows));
    Ok(total.measured(spec, Map::new(), metrics))
}
