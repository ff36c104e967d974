//! `gyre bench traffic`: offered against accepted load, and latency.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Instant;

use gyre_sim::RouterMachine;
use serde_json::{Map, Value, json};

use super::pattern::{EXPECTED, Pattern};
use super::raw_dma;
use super::router_traffic::{Offer, RouterTraffic, Tally};
use super::{Measured, Total, figures};
use crate::cli::CommandError;
use crate::machine_file::MachineSpec;
use crate::options::{Settings, UsageError};

/// Cycles for links to come up before traffic starts.
const START: u64 = 256;

/// Smallest and largest load to ask for, in flits a node and cycle.
pub(super) const LOADS: RangeInclusive<f64> = 0.001..=16.0;

/// What a node offers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Load {
    /// Flits a node and cycle.
    At(f64),
    /// Rising loads, until well beyond saturation.
    Sweep,
}

impl FromStr for Load {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "sweep" {
            return Ok(Self::Sweep);
        }
        let load = text.parse().map_err(|_| ())?;
        if LOADS.contains(&load) {
            Ok(Self::At(load))
        } else {
            Err(())
        }
    }
}

/// How packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Routing {
    /// By fixed routes.
    Deterministic,
    /// By any shortest way.
    Dynamic,
}

impl FromStr for Routing {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "deterministic" => Ok(Self::Deterministic),
            "dynamic" => Ok(Self::Dynamic),
            _ => Err(()),
        }
    }
}

/// Reads the settings that describe the traffic.
pub(super) fn offer(
    spec: &MachineSpec,
    settings: &mut Settings,
    load: f64,
    routing: Routing,
) -> Result<Offer, CommandError> {
    let offer = Offer {
        pattern: settings.take("pattern", Pattern::Uniform, EXPECTED)?,
        shape: spec.config.dims.clone(),
        load,
        payload: settings.take_in("payload", 512, 0..=512)?,
        dynamic: settings.take("routing", routing, "deterministic or dynamic")? == Routing::Dynamic,
        seed: spec.seed,
        start: START,
        warmup: settings.take_in("warmup", 3000, 0..=100_000_000)?,
        measure: settings.take_in("cycles", 10_000, 1..=100_000_000)?,
    };
    offer.pattern.check(&spec.config.dims)?;
    // A source draws at most one packet a cycle.
    let most = offer.flits() as f64;
    if offer.load > most {
        return Err(UsageError::Value {
            option: "--set load".into(),
            value: offer.load.to_string(),
            expected: format!(
                "at most {most}, one packet a cycle with {} B of payload",
                offer.payload
            ),
        }
        .into());
    }
    Ok(offer)
}

/// The traffic's part of `params`.
pub(super) fn params(offer: &Offer, via: &str) -> Map<String, Value> {
    let mut params = Map::new();
    params.insert("pattern".into(), offer.pattern.to_string().into());
    params.insert("load".into(), json!(offer.load));
    let routing = if offer.dynamic {
        "dynamic"
    } else {
        "deterministic"
    };
    params.insert("routing".into(), routing.into());
    params.insert("payload".into(), offer.payload.into());
    params.insert("packet_flits".into(), offer.flits().into());
    params.insert("warmup".into(), offer.warmup.into());
    params.insert("cycles".into(), offer.measure.into());
    params.insert("via".into(), via.into());
    params
}

/// Runs the traffic once, by routers alone or through DMA engines.
fn measure(spec: &MachineSpec, offer: &Offer, via: Via) -> Result<TrafficOutcome, CommandError> {
    match via {
        Via::Router => {
            let traffic = RouterTraffic::new(offer.clone(), spec.nodes());
            let mut machine = RouterMachine::new(&spec.config, traffic)?;
            // Open loop: sources fall silent at the end of the window, what is queued still arrives.
            let report = machine.run_to_end()?;
            let tally = std::mem::take(&mut machine.traffic_mut().tally);
            Ok((tally, report.cycles, report.hash))
        }
        Via::Dma => {
            let run = raw_dma::run_traffic(spec, offer)?;
            Ok((run.tally, run.cycles, run.hash))
        }
    }
}

/// What arrived, cycles, hash.
type TrafficOutcome = (Tally, u64, u64);

/// What carries the packets to the routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Via {
    Router,
    Dma,
}

impl FromStr for Via {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "router" => Ok(Self::Router),
            "dma" => Ok(Self::Dma),
            _ => Err(()),
        }
    }
}

pub(super) fn run(spec: &MachineSpec, settings: &mut Settings) -> Result<Measured, CommandError> {
    let expected = format!(
        "a number from {} to {}, or sweep",
        LOADS.start(),
        LOADS.end()
    );
    let load = settings.take("load", Load::At(0.3), &expected)?;
    let first = match load {
        Load::At(load) => load,
        Load::Sweep => FIRST_LOAD,
    };
    let offer = offer(spec, settings, first, Routing::Dynamic)?;
    let via = settings.take("via", Via::Router, "router or dma")?;
    settings.finish()?;
    let via_name = if via == Via::Router { "router" } else { "dma" };
    let mut params = params(&offer, via_name);
    let started = Instant::now();
    let mut total = Total::default();
    let metrics = match load {
        Load::At(_) => {
            let (tally, cycles, hash) = measure(spec, &offer, via)?;
            (total.cycles, total.hash) = (cycles, hash);
            tally.metrics(&offer, spec.nodes())
        }
        Load::Sweep => {
            params.insert("load".into(), "sweep".into());
            sweep(spec, &offer, via, &mut total)?
        }
    };
    Ok(Measured {
        params,
        metrics,
        sim: figures(spec, total.cycles, started),
        hash: total.hash,
    })
}

/// Of a sweep, in flits a node and cycle.
const FIRST_LOAD: f64 = 0.1;
/// Each load of a sweep to the one before.
const LOAD_STEP: f64 = 1.25;

/// Measures rising loads until one is twice what the network accepts of it.
fn sweep(
    spec: &MachineSpec,
    first: &Offer,
    via: Via,
    total: &mut Total,
) -> Result<Map<String, Value>, CommandError> {
    let mut curve = Vec::new();
    let mut accepted = Vec::new();
    let mut offer = first.clone();
    loop {
        let (tally, cycles, hash) = measure(spec, &offer, via)?;
        total.add(cycles, hash);
        let metrics = tally.metrics(&offer, spec.nodes());
        let point = metrics["accepted_load"].as_f64().unwrap_or_default();
        let offered = metrics["offered_load"].as_f64().unwrap_or_default();
        accepted.push(point);
        curve.push(Value::Object(metrics));
        offer.load *= LOAD_STEP;
        if offered >= 2.0 * point || offer.load > *LOADS.end() {
            break;
        }
    }
    let most = accepted.iter().copied().fold(0.0, f64::max);
    let at = accepted.iter().position(|&point| point == most);
    let least = accepted[at.unwrap_or(0)..]
        .iter()
        .copied()
        .fold(most, f64::min);
    let mut metrics = Map::new();
    metrics.insert("accepted_load_max".into(), json!(most));
    // Beyond the load of the maximum, in parts of it.
    metrics.insert("accepted_beyond".into(), json!(least / most));
    metrics.insert("curve".into(), curve.into());
    Ok(metrics)
}
