// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of programs that are recorded.

use gyre::machine_file::MachineSpec;
use gyre_timeline::{Messages, Recording};

use crate::cmd::recorded::recorded;

/// How far a run came, and its hash.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) makespan_ps: u64,
    pub(super) makespan_cycles: u64,
    /// Simulated cycles.
    pub(super) cycles: u64,
    /// State hash.
    pub(super) hash: u64,
}

/// A run of a program and its recording.
pub(super) struct Observed {
    pub(super) ended: Ended,
    pub(super) recording: Recording,
    pub(super) messages: Messages,
}

impl Observed {
    /// Has `run` run the program on a machine like `spec` that is recorded.
    ///
    /// # Errors
    /// Those of `run`.
    pub(super) fn of<E>(
        spec: &MachineSpec,
        run: impl FnOnce(&MachineSpec) -> Result<Ended, E>,
    ) -> Result<Self, E> {
        let (ended, recording) = recorded(spec, run)?;
        let messages = Messages::of(&recording);
        Ok(Self {
            ended,
            recording,
            messages,
        })
    }
}
