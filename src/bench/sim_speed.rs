//! `gyre bench sim-speed`: how fast the simulator runs full nodes under load.

use std::time::Instant;

use serde_json::json;

use super::{Measured, figures, raw_dma, traffic};
use crate::cli::CommandError;
use crate::machine_file::MachineSpec;
use crate::options::Settings;

pub(super) fn run(spec: &MachineSpec, settings: &mut Settings) -> Result<Measured, CommandError> {
    let offer = traffic::offer(spec, settings, 0.15)?;
    settings.finish()?;
    let started = Instant::now();
    let (tally, cycles, hash) = raw_dma::run_traffic(spec, &offer)?;
    let sim = figures(spec, cycles, started);
    let mut metrics = tally.metrics(&offer, spec.nodes());
    metrics.insert("cycles_per_s".into(), json!(sim.cycles_per_s));
    metrics.insert("node_cycles_per_s".into(), json!(sim.node_cycles_per_s));
    Ok(Measured {
        params: traffic::params(&offer, "dma"),
        metrics,
        sim,
        hash,
    })
}
