// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a run on the machine did not succeed.

use thiserror::Error;

use crate::options::UsageError;

/// Why a run did not succeed.
#[derive(Debug, Error)]
pub enum RunError {
    /// Wrong options or configuration: status 2.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// The machine was refused (status 2) or stopped (status 1).
    #[error(transparent)]
    Sim(#[from] gyre_sim::SimError),
    /// The tasks of a job cannot be placed (status 2), or its machine stopped.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A collective or geometry that the driver refuses: status 1.
    #[error(transparent)]
    Collectives(#[from] gyre_collectives::Error),
    /// A result of the machine is wrong: status 1.
    #[error("{0}")]
    Check(String),
    /// An output that could not be written after the run: status 1.
    #[error("{0}")]
    Output(String),
    /// A run that failed, with its waveform: the status of its error.
    #[error("{}\n{shown}", .source.to_string().trim_end())]
    Shown {
        /// Why it failed.
        source: Box<RunError>,
        /// The waveform, and how to repeat it, in lines.
        shown: String,
    },
}

/// A job that cannot be set up.
#[derive(Debug, Error)]
pub enum JobError {
    /// The machine refused its configuration or did not come up.
    #[error(transparent)]
    Machine(#[from] gyre_sim::SimError),
    /// The tasks cannot be placed.
    #[error(transparent)]
    Placement(#[from] gyre_driver::Error),
}

impl RunError {
    /// Exit status of a command that ended with it.
    #[must_use]
    pub fn status(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Job(JobError::Placement(_)) => 2,
            Self::Sim(error) | Self::Job(JobError::Machine(error)) => status_of(error),
            Self::Collectives(_) | Self::Check(_) | Self::Output(_) => 1,
            Self::Shown { source, .. } => source.status(),
        }
    }

    /// The same with its waveform.
    pub(crate) fn shown(self, shown: String) -> Self {
        Self::Shown {
            source: self.into(),
            shown,
        }
    }
}

/// Exit status of a command that the machine ended: 2 where it refused its configuration or the RTL it was to be made
/// of, 1 where it stopped.
#[must_use]
pub fn status_of(error: &gyre_sim::SimError) -> u8 {
    match error {
        gyre_sim::SimError::Config(_) => 2,
        gyre_sim::SimError::Build(error) if error.refuses_rtl() || error.refuses_environment() => 2,
        _ => 1,
    }
}
