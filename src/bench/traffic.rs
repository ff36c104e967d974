// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench traffic`: offered against accepted load, and latency.

use std::path::Path;

use serde_json::{Map, Value, json};
use strum::{Display, EnumString};

use super::measure::{Measured, Total};
use super::pattern::{Choice, Destinations, EXPECTED, Pattern};
use super::raw_dma;
use super::router_traffic::{Offer, RouterTraffic, Short, Tally, flits};
use gyre::error::RunError;
use gyre::machine_file::MachineSpec;
use gyre::settings::{Default as Unless, Setting, Settings, Table, Values};

/// Cycles for links to come up before traffic starts.
const START: u64 = 256;

/// Smallest and largest load to ask for, in flits a node and cycle.
pub(super) const LOADS: (f64, f64) = (0.001, 16.0);

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
pub(super) const HOT_NODE: Setting<usize> = Setting::number(
    "hot_node",
    "",
    0,
    (0, 1 << 30),
    "the node of pattern=hot-spot",
);
pub(super) const HOT_SHARE: Setting<f64> = Setting::number(
    "hot_share",
    "",
    0.25,
    (0.0, 1.0),
    "part of all packets that goes to the hot spot; the rest is uniform",
);
pub(super) const MATRIX: Setting<String> = Setting {
    key: "matrix",
    about: "file of pattern=matrix: a line for each node, of how much it sends to each node",
    unit: "",
    default: Unless::Words("none"),
    values: Values::Such(|_| true, "a text file of weights"),
};
const LOAD: Setting<f64> = Setting::number(
    "load",
    "flits a node and cycle",
    0.3,
    LOADS,
    "offered load, at most one packet a cycle",
);
const ROUTING: Setting<Routing> = routing(Routing::Dynamic);
pub(super) const PAYLOAD: Setting<u16> =
    Setting::number("payload", "bytes", 512, (0, 512), "payload of each packet");
const SHORT_PAYLOAD: Setting<u16> = Setting::number(
    "short_payload",
    "bytes",
    0,
    (0, 512),
    "payload of short packets",
);
const SHORT_SHARE: Setting<f64> = Setting::number(
    "short_share",
    "",
    0.0,
    (0.0, 1.0),
    "part of all packets that is short",
);
const BURST: Setting<f64> = Setting::number(
    "burst",
    "packets",
    1.0,
    (1.0, 1000.0),
    "that follow each other, a packet a cycle, on average; gaps between are longer",
);
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
pub(super) const SETTINGS: &Table = &[
    &PATTERN,
    &HOT_NODE,
    &HOT_SHARE,
    &MATRIX,
    &LOAD,
    &BURST,
    &ROUTING,
    &PAYLOAD,
    &SHORT_PAYLOAD,
    &SHORT_SHARE,
    &WARMUP,
    &CYCLES,
    &VIA,
];

/// How packets go, if nothing else is said.
pub(super) const fn routing(default: Routing) -> Setting<Routing> {
    Setting::choice(
        "routing",
        default,
        "deterministic or dynamic",
        "how packets go: by fixed routes, or by any shortest way",
    )
}

/// Reads the settings that describe the traffic.
pub(super) fn offer(
    spec: &MachineSpec,
    settings: &Settings,
    load: f64,
    routing: &Setting<Routing>,
) -> Result<Offer, RunError> {
    let matrix = settings.given(&MATRIX);
    let choice = Choice {
        pattern: settings.get(&PATTERN),
        seed: spec.seed,
        hot_node: settings.get(&HOT_NODE),
        hot_share: settings.get(&HOT_SHARE),
        matrix: matrix.as_ref().map(Path::new),
    };
    let offer = Offer {
        to: Destinations::new(&choice, &spec.config.dims)?,
        shape: spec.config.dims.clone(),
        load,
        payload: settings.get(&PAYLOAD),
        short: Short::default(),
        burst: 1.0,
        dynamic: settings.get(routing) == Routing::Dynamic,
        seed: spec.seed,
        stream: 0,
        start: START,
        warmup: settings.get(&WARMUP),
        measure: settings.get(&CYCLES),
    };
    bounded(offer)
}

/// Refuses a load of more than a packet a cycle: a source draws no more.
fn bounded(offer: Offer) -> Result<Offer, RunError> {
    let most = offer.flits();
    if offer.load > most {
        let expected = match offer.short.share > 0.0 {
            true => format!("at most {most}, one packet a cycle"),
            false => format!(
                "at most {most}, one packet a cycle with {} B of payload",
                offer.payload
            ),
        };
        return Err(LOAD.refuse(offer.load, expected).into());
    }
    Ok(offer)
}

/// The traffic's part of `params`.
pub(super) fn params(offer: &Offer, via: Via) -> Map<String, Value> {
    let mut params = Map::new();
    params.insert("pattern".into(), offer.to.pattern().to_string().into());
    params.extend(offer.to.params());
    params.insert("load".into(), json!(offer.load));
    let routing = if offer.dynamic {
        "dynamic"
    } else {
        "deterministic"
    };
    params.insert("routing".into(), routing.into());
    params.insert("payload".into(), offer.payload.into());
    params.insert("packet_flits".into(), flits(offer.payload).into());
    params.insert("short_payload".into(), offer.short.payload.into());
    params.insert("short_share".into(), json!(offer.short.share));
    params.insert("burst".into(), json!(offer.burst));
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
    let plain = offer(spec, settings, settings.get(&LOAD), &ROUTING)?;
    let offer = bounded(Offer {
        short: Short {
            payload: settings.get(&SHORT_PAYLOAD),
            share: settings.get(&SHORT_SHARE),
        },
        burst: settings.get(&BURST),
        ..plain
    })?;
    let via = settings.get(&VIA);
    let mut total = Total::new();
    let (tally, cycles, hash) = measure(spec, &offer, via)?;
    (total.cycles, total.hash) = (cycles, hash);
    let metrics = tally.metrics(&offer, spec.nodes());
    Ok(total.measured(spec, params(&offer, via), metrics))
}
