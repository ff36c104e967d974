//! Results of benches, and the cycles they are made of.

use gyre::machine_file::MachineSpec;
use gyre::outcome::{SimFigures, Stopwatch};
use gyre::progress;
use gyre::settings::Setting;
use indicatif::ProgressBar;
use serde_json::{Map, Value};

/// Tasks of a collective's bench on each node, which has resources for sixteen processes, some of them for the tree's memory.
pub(super) const TASKS: Setting<usize> =
    Setting::number("tasks", "", 1, (1, 8), "tasks on each node");

/// Result of a bench.
pub(super) struct Measured {
    /// Parameters beside those of the machine.
    pub(super) params: Map<String, Value>,
    pub(super) metrics: Map<String, Value>,
    pub(super) sim: SimFigures,
    pub(super) hash: u64,
}

/// Extent and speed of simulating `cycles` of the machine since `clock` was started.
pub(super) fn figures(spec: &MachineSpec, cycles: u64, clock: &Stopwatch) -> SimFigures {
    SimFigures::new(cycles, spec.nodes(), clock, spec.config.threads)
}

/// Cycles of the machines that a bench has run, and their hashes in one.
#[derive(Default)]
pub(super) struct Total {
    pub(super) cycles: u64,
    pub(super) hash: u64,
    bar: Option<ProgressBar>,
}

impl Total {
    /// Total of a bench of so many machines, with a progress bar.
    pub(super) fn of(machines: usize) -> Self {
        let bar = progress::bar(machines as u64, "runs");
        bar.tick();
        Self {
            bar: Some(bar),
            ..Self::default()
        }
    }

    /// Adds a machine that has run.
    pub(super) fn add(&mut self, cycles: u64, hash: u64) {
        self.cycles += cycles;
        self.hash = self.hash.rotate_left(1) ^ hash;
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }
}

impl Drop for Total {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
