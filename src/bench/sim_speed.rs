// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench sim-speed`: how fast the simulator runs full nodes under load, beside routers alone under the same
//! traffic, itself on one thread, and itself with all nodes at work.

use std::time::Instant;

use gyre_sim::MachineConfig;
use serde_json::json;

use super::measure::{Measured, Total};
use super::pattern::Pattern;
use super::raw_dma::{self, TrafficRun};
use super::router_traffic::{Offer, RouterTraffic};
use super::traffic;
use super::traffic::Routing;
use gyre::error::RunError;
use gyre::machine_file::MachineSpec;
use gyre::options::UsageError;
use gyre::settings::{Default as Unless, Setting, Settings, Table, Values};

const LOAD: Setting<f64> = Setting::number(
    "load",
    "flits a node and cycle",
    0.15,
    traffic::LOADS,
    "offered load, at most one packet a cycle",
);
const ACTIVE: Setting<usize> = Setting {
    key: "active",
    about: "nodes that send and receive; with fewer than all, the speed with all stands beside",
    unit: "",
    default: Unless::Words("all nodes"),
    values: Values::Such(|nodes| nodes > 0, "1 to the nodes of the machine"),
};
const ROUTING: Setting<Routing> = traffic::routing(Routing::Deterministic);
const ROUNDS: Setting<usize> = Setting {
    key: "rounds",
    about: "times that each speed is measured, in turn; the fastest of each counts",
    unit: "",
    default: Unless::Value(3),
    values: Values::Such(|rounds| rounds > 0, "1 or more"),
};
/// Its settings.
pub(super) const SETTINGS: &Table = &[
    &traffic::PATTERN,
    &traffic::HOT_NODE,
    &traffic::HOT_SHARE,
    &traffic::MATRIX,
    &LOAD,
    &ROUTING,
    &ACTIVE,
    &traffic::PAYLOAD,
    &traffic::WARMUP,
    &traffic::CYCLES,
    &ROUNDS,
];

pub(super) fn run(spec: &MachineSpec, settings: &Settings) -> Result<Measured, RunError> {
    let everybody = traffic::offer(spec, settings, settings.get(&LOAD), &ROUTING)?;
    let nodes = spec.nodes();
    let active = settings.given(&ACTIVE).unwrap_or(nodes);
    // One alone has nobody to send to.
    if !(2..=nodes).contains(&active) {
        let expected = match nodes {
            2 => "2".into(),
            _ => format!("2 to {nodes}"),
        };
        return Err(ACTIVE.refuse(active, expected).into());
    }
    let offer = among_first(&everybody, active)?;

    let others = Other::of(spec, active);
    let mut total = Total::new();
    let mut measured = raw_dma::run_traffic(spec, &offer)?;
    total.add(measured.cycles, measured.hash);
    let sim = total.figures(spec);
    let mut speed = speed_of(&measured);
    let mut fastest = vec![0.0f64; others.len()];
    let mut same_hash = true;
    for round in 0..settings.get(&ROUNDS) {
        if round > 0 {
            speed = speed.max(speed_of(&raw_dma::run_traffic(spec, &offer)?));
        }
        for (other, fastest) in others.iter().zip(&mut fastest) {
            let (speed, hash) = other.run(spec, &offer, &everybody)?;
            *fastest = fastest.max(speed);
            same_hash &= hash.is_none_or(|hash| hash == measured.hash);
        }
    }
    let mut metrics = measured.tallies.remove(0).metrics(&offer, active);
    metrics.insert("cycles_per_s".into(), json!(speed));
    metrics.insert("node_cycles_per_s".into(), json!(speed * nodes as f64));
    for (other, fastest) in others.iter().zip(fastest) {
        let (name, times) = other.names();
        metrics.insert(name.into(), json!(fastest));
        metrics.insert(times.into(), json!(speed / fastest));
        if matches!(other, Other::OneThread) {
            metrics.insert("one_thread_same_hash".into(), json!(same_hash));
        }
    }
    let mut params = traffic::params(&offer, traffic::Via::Dma);
    params.insert("active".into(), active.into());
    params.insert("rounds".into(), settings.get(&ROUNDS).into());
    Ok(Measured {
        params,
        metrics,
        sim,
        hash: measured.hash,
    })
}

/// Machines to compare with.
enum Other {
    /// The same machine with all nodes at work.
    AllActive,
    /// The same on one thread.
    OneThread,
    /// The routers alone.
    Routers,
}

impl Other {
    fn of(spec: &MachineSpec, active: usize) -> Vec<Self> {
        let mut others = Vec::new();
        if active < spec.nodes() {
            others.push(Self::AllActive);
        }
        if spec.config.threads > 1 {
            others.push(Self::OneThread);
        }
        if others.is_empty() {
            others.push(Self::Routers);
        }
        others
    }

    /// Of the speed, and of how many times it the machine reaches.
    fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::AllActive => ("all_active_cycles_per_s", "times_all_active"),
            Self::OneThread => ("one_thread_cycles_per_s", "times_one_thread"),
            Self::Routers => ("router_cycles_per_s", "times_routers"),
        }
    }

    /// Cycles a second, and the hash where it must be that of the machine.
    fn run(
        &self,
        spec: &MachineSpec,
        offer: &Offer,
        everybody: &Offer,
    ) -> Result<(f64, Option<u64>), RunError> {
        Ok(match self {
            Self::AllActive => (speed_of(&raw_dma::run_traffic(spec, everybody)?), None),
            Self::OneThread => {
                let one_thread = MachineSpec {
                    config: MachineConfig {
                        threads: 1,
                        ..spec.config.clone()
                    },
                    ..spec.clone()
                };
                let run = raw_dma::run_traffic(&one_thread, offer)?;
                (speed_of(&run), Some(run.hash))
            }
            Self::Routers => (routers_speed(spec, offer)?, None),
        })
    }
}

/// Cycles a second of the loaded part of a run.
fn speed_of(run: &TrafficRun) -> f64 {
    run.loaded_cycles as f64 / run.loaded_s
}

/// The offer among the first `active` nodes: uniform, as other patterns are of whole machines.
fn among_first(offer: &Offer, active: usize) -> Result<Offer, UsageError> {
    if active == offer.nodes() {
        return Ok(offer.clone());
    }
    if offer.to.pattern() != Pattern::Uniform {
        let all = offer.nodes();
        let expected = format!("{all}, all nodes, with pattern={}", offer.to.pattern());
        return Err(ACTIVE.refuse(active, expected));
    }
    Ok(Offer {
        // At most as many as a machine has nodes.
        shape: vec![active as u16],
        ..offer.clone()
    })
}

/// Cycles a second of the routers alone under the same traffic; they run on one thread.
fn routers_speed(spec: &MachineSpec, offer: &Offer) -> Result<f64, RunError> {
    let traffic = RouterTraffic::new(offer.clone(), offer.nodes());
    let mut routers = spec.routers(traffic)?;
    routers.run_to(offer.start)?;
    let started = Instant::now();
    let report = routers.run_to(offer.to())?;
    Ok((report.cycles - offer.start) as f64 / started.elapsed().as_secs_f64())
}
