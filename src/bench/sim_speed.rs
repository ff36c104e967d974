//! `gyre bench sim-speed`: how fast the simulator runs full nodes under load.

use std::time::Instant;

use serde_json::json;

use super::{raw_dma, traffic};
use crate::cli::CommandError;
use crate::machine_file::MachineSpec;
use crate::options::Settings;
use crate::outcome::{Outcome, SimFigures};

pub(super) fn run(spec: &MachineSpec, settings: &mut Settings) -> Result<Outcome, CommandError> {
    let offer = traffic::offer(spec, settings, 0.15)?;
    settings.finish()?;
    let nodes = spec.nodes();
    let started = Instant::now();
    let (tally, cycles, hash) = raw_dma::run_traffic(spec, &offer)?;
    let sim = SimFigures::new(cycles, nodes, started.elapsed().as_secs_f64(), spec.threads);
    let mut metrics = tally.metrics(&offer, nodes);
    metrics.insert("cycles_per_s".into(), json!(sim.cycles_per_s));
    metrics.insert("node_cycles_per_s".into(), json!(sim.node_cycles_per_s));
    Ok(Outcome {
        bench: String::new(),
        shape: String::new(),
        params: traffic::params(&offer, "dma"),
        metrics,
        sim,
        hash: format!("{hash:016x}"),
        pictures: Vec::new(),
        passed: true,
    })
}
