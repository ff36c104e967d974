// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of a program that are recorded.

use gyre::timeline::with_operations;
use gyre_replay::{GoalError, GoalReport};
use gyre_sim::Recorder;
use gyre_timeline::{Messages, Recording};
use indicatif::ProgressBar;

use crate::cmd::workload::Workload;

/// A run of a program and its recording.
pub(super) struct Observed {
    pub(super) report: GoalReport,
    pub(super) recording: Recording,
    pub(super) messages: Messages,
}

impl Observed {
    /// Runs the program.
    pub(super) fn of(workload: &Workload, bar: &ProgressBar) -> Result<Self, GoalError> {
        let recorder = Recorder::default();
        let mut spec = workload.goal.spec.attempt(None);
        spec.config.recorder = Some(recorder.clone());
        let loaded = workload.goal.load(&spec, workload.program.clone(), bar)?;
        let report = loaded.run()?;
        let (cycle_ps, nodes) = (spec.config.cycle_ps, spec.nodes() as u32);
        // A machine gives its events when it ends.
        let recording = recorder
            .take()
            .pop()
            .unwrap_or_else(|| Recording::empty(cycle_ps, nodes, 0, 0));
        let recording = with_operations(recording);
        let messages = Messages::of(&recording);
        Ok(Self {
            report,
            recording,
            messages,
        })
    }
}
