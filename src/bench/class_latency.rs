// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench class-latency`: what the classes above request are worth (HW-3, HW-4): latency of short messages of each
//! class from random nodes to random nodes, through DMA engines and links that long requests keep busy.

use gyre_layout::VClass;
use serde_json::{Map, json};

use super::measure::{Measured, Total};
use super::raw_dma::{self, Stream};
use super::router_traffic::Offer;
use super::traffic::{self, Routing};
use gyre::error::RunError;
use gyre::machine_file::MachineSpec;
use gyre::settings::{Setting, Settings, Table};

const LOAD: Setting<f64> = Setting::number(
    "load",
    "flits a node and cycle",
    2.0,
    traffic::LOADS,
    "offered load of long requests, at most one packet a cycle",
);
const ROUTING: Setting<Routing> = traffic::routing(Routing::Dynamic);
const SHORT: Setting<u16> = Setting::number(
    "short",
    "bytes",
    32,
    (0, 512),
    "payload of the short messages",
);
const GAP: Setting<u64> = Setting::number(
    "gap",
    "cycles",
    400,
    (10, 1_000_000),
    "between short messages of a class from a node, on average",
);
/// Its settings.
pub(super) const SETTINGS: &Table = &[
    &traffic::PATTERN,
    &traffic::HOT_NODE,
    &traffic::HOT_SHARE,
    &traffic::MATRIX,
    &LOAD,
    &ROUTING,
    &traffic::PAYLOAD,
    &SHORT,
    &GAP,
    &traffic::WARMUP,
    &traffic::CYCLES,
];

pub(super) fn run(spec: &MachineSpec, settings: &Settings) -> Result<Measured, RunError> {
    let long = traffic::offer(spec, settings, settings.get(&LOAD), &ROUTING)?;
    let mut streams = vec![Stream {
        offer: long.clone(),
        class: VClass::Request,
    }];
    for (number, class) in (1..).zip(VClass::MESSAGES) {
        let mut offer = Offer {
            payload: settings.get(&SHORT),
            stream: number,
            // Priority and system go by fixed routes; so do these requests, to compare.
            dynamic: false,
            ..long.clone()
        };
        offer.load = offer.flits() / settings.get(&GAP) as f64;
        streams.push(Stream { offer, class });
    }
    let mut total = Total::new();
    let run = raw_dma::run_streams(spec, &streams)?;
    let mut tallies = run.tallies.into_iter().zip(&streams);
    let mut metrics = Map::new();
    if let Some((tally, stream)) = tallies.next() {
        let long = tally.metrics(&stream.offer, spec.nodes());
        for name in ["offered_load", "accepted_load"] {
            metrics.insert(name.into(), long[name].clone());
        }
    }
    let classes = tallies.map(|(tally, stream)| {
        let of_class = tally.metrics(&stream.offer, spec.nodes());
        let figure = |name: &str| of_class[name].clone();
        json!({
            "class": stream.class.to_string(),
            "latency_mean_cycles": figure("latency_mean_cycles"),
            "latency_p99_cycles": figure("latency_p99_cycles"),
            "measured_packets": figure("measured_packets"),
            "undelivered_packets": figure("undelivered_packets"),
        })
    });
    metrics.insert("classes".into(), classes.collect());
    let mut params = traffic::params(&long, traffic::Via::Dma);
    params.insert("short".into(), settings.get(&SHORT).into());
    params.insert("gap".into(), settings.get(&GAP).into());
    total.add(run.cycles, run.hash);
    Ok(total.measured(spec, params, metrics))
}
