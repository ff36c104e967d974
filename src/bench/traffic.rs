//! `gyre bench traffic`: offered against accepted load, and latency.

use std::time::Instant;

use gyre_sim::RouterMachine;
use serde_json::{Map, json};

use super::pattern::{EXPECTED, Pattern};
use super::raw_dma;
use super::router_traffic::{Offer, RouterTraffic};
use super::{Measured, figures};
use crate::cli::CommandError;
use crate::machine_file::MachineSpec;
use crate::options::{Settings, UsageError};

/// Cycles for links to come up before traffic starts.
const START: u64 = 256;

/// How packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Routing {
    /// By fixed routes.
    Deterministic,
    /// By any shortest way.
    Dynamic,
}

impl std::str::FromStr for Routing {
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
) -> Result<Offer, CommandError> {
    let offer = Offer {
        pattern: settings.take("pattern", Pattern::Uniform, EXPECTED)?,
        shape: spec.config.dims.clone(),
        load: settings.take_in("load", load, 0.001..=16.0)?,
        payload: settings.take_in("payload", 512, 0..=512)?,
        dynamic: settings.take("routing", Routing::Dynamic, "deterministic or dynamic")? == Routing::Dynamic,
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
pub(super) fn params(offer: &Offer, via: &str) -> Map<String, serde_json::Value> {
    let mut params = Map::new();
    params.insert("pattern".into(), offer.pattern.to_string().into());
    params.insert("load".into(), json!(offer.load));
    params.insert("payload".into(), offer.payload.into());
    params.insert("packet_flits".into(), offer.flits().into());
    params.insert("warmup".into(), offer.warmup.into());
    params.insert("cycles".into(), offer.measure.into());
    params.insert("via".into(), via.into());
    params
}

pub(super) fn run(spec: &MachineSpec, settings: &mut Settings) -> Result<Measured, CommandError> {
    let offer = offer(spec, settings, 0.3)?;
    let via: String = settings.take("via", "router".to_string(), "router or dma")?;
    settings.finish()?;
    let nodes = spec.nodes();
    let started = Instant::now();
    let (tally, cycles, hash) = match via.as_str() {
        "router" => {
            let traffic = RouterTraffic::new(offer.clone(), nodes);
            let mut machine = RouterMachine::new(&spec.config, traffic)?;
            // Open loop: sources fall silent at the end of the window, what is queued still arrives.
            let report = machine.run_to_end()?;
            let tally = std::mem::take(&mut machine.traffic_mut().tally);
            (tally, report.cycles, report.hash)
        }
        "dma" => {
            let run = raw_dma::run_traffic(spec, &offer)?;
            (run.tally, run.cycles, run.hash)
        }
        _ => {
            return Err(UsageError::Value {
                option: "--set via".into(),
                value: via,
                expected: "router or dma".into(),
            }
            .into());
        }
    };
    Ok(Measured {
        params: params(&offer, &via),
        metrics: tally.metrics(&offer, nodes),
        sim: figures(spec, cycles, started),
        hash,
    })
}
