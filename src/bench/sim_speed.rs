//! `gyre bench sim-speed`: how fast the simulator runs full nodes under load, beside routers alone under the same
//! traffic, itself on one thread, and itself with all nodes at work.

use std::time::Instant;

use gyre_sim::{MachineConfig, RouterMachine};
use serde_json::json;

use super::pattern::Pattern;
use super::raw_dma::{self, TrafficRun};
use super::router_traffic::{Offer, RouterTraffic};
use super::traffic::Routing;
use super::{Measured, figures, traffic};
use crate::cli::CommandError;
use crate::machine_file::MachineSpec;
use crate::options::UsageError;
use crate::settings::{Default as Unless, Setting, Settings, Table, Values};

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
/// Its settings.
pub(super) const SETTINGS: &Table = &[
    &traffic::PATTERN,
    &LOAD,
    &ROUTING,
    &ACTIVE,
    &traffic::PAYLOAD,
    &traffic::WARMUP,
    &traffic::CYCLES,
];

pub(super) fn run(spec: &MachineSpec, settings: &Settings) -> Result<Measured, CommandError> {
    let everybody = traffic::offer(spec, settings, settings.get(&LOAD), &ROUTING)?;
    let nodes = spec.nodes();
    let active = settings.given(&ACTIVE).unwrap_or(nodes);
    if active > nodes {
        return Err(ACTIVE.refuse(active, format!("1 to {nodes}")).into());
    }
    let offer = among_first(&everybody, active)?;

    let speed_of = |run: &TrafficRun| run.loaded_cycles as f64 / run.loaded_s;
    let started = Instant::now();
    let measured = raw_dma::run_traffic(spec, &offer)?;
    let sim = figures(spec, measured.cycles, started);
    let speed = speed_of(&measured);
    let mut metrics = measured.tally.metrics(&offer, active);
    metrics.insert("cycles_per_s".into(), json!(speed));
    metrics.insert("node_cycles_per_s".into(), json!(speed * nodes as f64));
    if active < nodes {
        let all_active = speed_of(&raw_dma::run_traffic(spec, &everybody)?);
        metrics.insert("all_active_cycles_per_s".into(), json!(all_active));
        metrics.insert("times_all_active".into(), json!(speed / all_active));
    }
    if spec.config.threads > 1 {
        let one_thread = MachineSpec {
            config: MachineConfig {
                threads: 1,
                ..spec.config.clone()
            },
            ..spec.clone()
        };
        let run = raw_dma::run_traffic(&one_thread, &offer)?;
        let alone = speed_of(&run);
        metrics.insert(
            "one_thread_same_hash".into(),
            json!(run.hash == measured.hash),
        );
        metrics.insert("one_thread_cycles_per_s".into(), json!(alone));
        metrics.insert("times_one_thread".into(), json!(speed / alone));
    } else if active == nodes {
        let routers = routers_speed(spec, &offer)?;
        metrics.insert("router_cycles_per_s".into(), json!(routers));
        metrics.insert("times_routers".into(), json!(speed / routers));
    }
    let mut params = traffic::params(&offer, traffic::Via::Dma);
    params.insert("active".into(), active.into());
    Ok(Measured {
        params,
        metrics,
        sim,
        hash: measured.hash,
    })
}

/// The offer among the first `active` nodes: uniform, as other patterns are of whole machines.
fn among_first(offer: &Offer, active: usize) -> Result<Offer, UsageError> {
    if active == offer.nodes() {
        return Ok(offer.clone());
    }
    if offer.pattern != Pattern::Uniform {
        let all = offer.nodes();
        let expected = format!("{all}, all nodes, with pattern={}", offer.pattern);
        return Err(ACTIVE.refuse(active, expected));
    }
    Ok(Offer {
        // At most as many as a machine has nodes.
        shape: vec![active as u16],
        ..offer.clone()
    })
}

/// Cycles a second of the routers alone under the same traffic; they run on one thread.
fn routers_speed(spec: &MachineSpec, offer: &Offer) -> Result<f64, CommandError> {
    let traffic = RouterTraffic::new(offer.clone(), offer.nodes());
    let mut routers = RouterMachine::new(&spec.config, traffic)?;
    routers.run_to(offer.start)?;
    let started = Instant::now();
    let report = routers.run_to(offer.to())?;
    Ok((report.cycles - offer.start) as f64 / started.elapsed().as_secs_f64())
}
