// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results of benches, and the cycles they are made of.

use gyre::machine_file::MachineSpec;
use gyre::options::UsageError;
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

/// Cycles of the machines that a bench has run, and their hashes in one.
pub(super) struct Total {
    pub(super) cycles: u64,
    pub(super) hash: u64,
    clock: Stopwatch,
    bar: Option<ProgressBar>,
}

impl Total {
    /// No machine yet; the host's time of the bench begins.
    pub(super) fn new() -> Self {
        Self {
            cycles: 0,
            hash: 0,
            clock: Stopwatch::start(),
            bar: None,
        }
    }

    /// Shows a progress bar of so many machines.
    pub(super) fn expect(&mut self, machines: usize) {
        let bar = progress::bar(machines as u64, "runs");
        bar.tick();
        self.bar = Some(bar);
    }

    /// Extent and speed of the simulation so far.
    pub(super) fn figures(&self, spec: &MachineSpec) -> SimFigures {
        SimFigures::new(self.cycles, spec.nodes(), &self.clock, spec.config.threads)
    }

    /// Result of the bench, whose machines are these.
    pub(super) fn measured(
        self,
        spec: &MachineSpec,
        params: Map<String, Value>,
        metrics: Map<String, Value>,
    ) -> Measured {
        Measured {
            params,
            metrics,
            sim: self.figures(spec),
            hash: self.hash,
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

/// Refuses a machine or settings that a bench cannot use.
pub(super) fn refuse_if(refused: bool, text: impl Into<String>) -> Result<(), UsageError> {
    match refused {
        true => Err(UsageError::Combination(text.into())),
        false => Ok(()),
    }
}
