// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench traffic`: offered against accepted load, and latency.

use serde_json::{Map, Value, json};
use std::fmt;
use std::str::FromStr;
use strum::{Display, EnumString};

use super::measure::{Measured, Total};
use super::pattern::{EXPECTED, Pattern};
use super::raw_dma;
use super::router_traffic::{Offer, RouterTraffic, Tally};
use gyre::error::RunError;
use gyre::machine_file::MachineSpec;
use gyre::settings::{Default as Unless, Setting, Settings, Table, Values};

/// Cycles for links to come up before traffic starts.
const START: u64 = 256;

/// Smallest and largest load to ask for, in flits a node and cycle.
pub(super) const LOADS: (f64, f64) = (0.001, 16.0);

/// Load that a node offers.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) enum Load {
    /// Flits a node and cycle.
    At(f64),
    /// Rising loads, until well beyond saturation.
    Sweep,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(load) => load.fmt(f),
            Self::Sweep => f.write_str("sweep"),
        }
    }
}

impl FromStr for Load {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "sweep" => Ok(Self::Sweep),
            number => number.parse().map(Self::At).map_err(|_| ()),
        }
    }
}

/// How packets go.
#[derive(Clone, Copy, Debug, Display, EnumString, PartialEq, Eq, PartialOrd)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum Routing {
    /// By fixed routes.
    Deterministic,
    /// By any shortest way.
    Dynamic,
}

/// Way into the network.
#[derive(Debug, Clone, Copy, Display, EnumString, PartialEq, Eq, PartialOrd)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum Via {
    /// The router's injection paths.
    Router,
    /// Descriptors through the DMA engine.
    Dma,
}

pub(super) const PATTERN: Setting<Pattern> =
    Setting::choice("pattern", Pattern::Uniform, EXPECTED, "who sends to whom");
const LOAD: Setting<Load> = Setting {
    key: "load",
    about: "offered load, at most one packet a cycle; sweep: rising loads, until well beyond saturation",
    unit: "flits a node and cycle",
    default: Unless::Value(Load::At(0.3)),
    values: Values::Such(
        |load| match load {
            Load::At(load) => LOADS.0 <= load && load <= LOADS.1,
            Load::Sweep => true,
        },
        "a number from 0.001 to 16, or sweep",
    ),
};
const ROUTING: Setting<Routing> = routing(Routing::Dynamic);
pub(super) const PAYLOAD: Setting<u16> =
    Setting::number("payload", "bytes", 512, (0, 512), "payload of each packet");
pub(super) const WARMUP: Setting<u64> = Setting::number(
    "warmup",
    "cycles",
    3000,
    (0, 100_000_000),
    "before figures are taken",
);
pub(super) const CYCLES: Setting<u64> = Setting::number(
    "cycles",
    "cycles",
    10_000,
    (1, 100_000_000),
    "over which figures are taken",
);
const VIA: Setting<Via> = Setting::choice(
    "via",
    Via::Router,
    "router or dma",
    "way in: the router's injection paths, or driverless descriptors through the DMA engine",
);
/// Its settings.
pub(super) const SETTINGS: &Table = &[&PATTERN, &LOAD, &ROUTING, &PAYLOAD, &WARMUP, &CYCLES, &VIA];

/// How packets go, if nothing else is said.
pub(super) const fn routing(default: Routing) -> Setting<Routing> {
    Setting::choice(
        "routing",
        default,
        "deterministic or dynamic",
        "how packets go: by fixed routes, or by any shortest way",
    )
}

/// Whether several loads are to be measured.
pub(super) fn sweeps(settings: &Settings) -> bool {
    settings.get(&LOAD) == Load::Sweep
}

/// Reads the settings that describe the traffic.
pub(super) fn offer(
    spec: &MachineSpec,
    settings: &Settings,
    load: f64,
    routing: &Setting<Routing>,
) -> Result<Offer, RunError> {
    let offer = Offer {
        pattern: settings.get(&PATTERN),
        shape: spec.config.dims.clone(),
        load,
        payload: settings.get(&PAYLOAD),
        dynamic: settings.get(routing) == Routing::Dynamic,
        seed: spec.seed,
        stream: 0,
        start: START,
        warmup: settings.get(&WARMUP),
        measure: settings.get(&CYCLES),
    };
    offer.pattern.check(&spec.config.dims)?;
    // A source draws at most one packet a cycle.
    let most = offer.flits() as f64;
    if offer.load > most {
        let expected = format!(
            "at most {most}, one packet a cycle with {} B of payload",
            offer.payload
        );
        return Err(LOAD.refuse(offer.load, expected).into());
    }
    Ok(offer)
}

/// The traffic's part of `params`.
pub(super) fn params(offer: &Offer, via: Via) -> Map<String, Value> {
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
    params.insert("via".into(), via.to_string().into());
    params
}

/// Runs the traffic once, by routers alone or through DMA engines.
fn measure(spec: &MachineSpec, offer: &Offer, via: Via) -> Result<TrafficOutcome, RunError> {
    match via {
        Via::Router => {
            let traffic = RouterTraffic::new(offer.clone(), spec.nodes());
            let mut machine = spec.routers(traffic)?;
            // Open loop: sources fall silent at the end of the window, what is queued still arrives.
            let report = machine.run_to_end()?;
            let tally = std::mem::take(&mut machine.traffic_mut().tally);
            Ok((tally, report.cycles, report.hash))
        }
        Via::Dma => {
            let mut run = raw_dma::run_traffic(spec, offer)?;
            Ok((run.tallies.remove(0), run.cycles, run.hash))
        }
    }
}

/// Arrived packets, cycles, hash.
type TrafficOutcome = (Tally, u64, u64);

pub(super) fn run(spec: &MachineSpec, settings: &Settings) -> Result<Measured, RunError> {
    let load = settings.get(&LOAD);
    let first = match load {
        Load::At(load) => load,
        Load::Sweep => FIRST_LOAD,
    };
    let offer = offer(spec, settings, first, &ROUTING)?;
    let via = settings.get(&VIA);
    let mut params = params(&offer, via);
    let mut total = Total::new();
    let metrics = match load {
        Load::At(_) => {
            let (tally, cycles, hash) = measure(spec, &offer, via)?;
            (total.cycles, total.hash) = (cycles, hash);
            tally.metrics(&offer, spec.nodes())
        }
        Load::Sweep => {
            params.insert("load".into(), load.to_string().into());
            sweep(spec, &offer, via, &mut total)?
        }
    };
    Ok(total.measured(spec, params, metrics))
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
) -> Result<Map<String, Value>, RunError> {
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
        if offered >= 2.0 * point || offer.load > LOADS.1 {
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
