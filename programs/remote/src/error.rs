// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors and ends of tasks in processes.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use gyre_driver::BusError;
use thiserror::Error;

use crate::activity::Stuck;
use crate::mailbox::MailboxError;
use crate::pmi::PmiError;

/// Failure to carry out the requests of a task's process.
#[derive(Debug, Error)]
pub enum SessionError {
    /// No request came.
    #[error(transparent)]
    Mailbox(#[from] MailboxError),
    /// A request names something that does not exist, or breaks a rule of the platform.
    #[error("invalid request {request}: {reason}")]
    Invalid {
        /// The request.
        request: String,
        /// Reason.
        reason: String,
    },
    /// Its start-up has failed.
    #[error(transparent)]
    Pmi(#[from] PmiError),
    /// It waits for an event that never happens.
    #[error("{}", .0.text)]
    Stuck(Stuck),
    /// The platform gave an answer that cannot be passed on.
    #[error("no word in the mailbox for: {0}")]
    Answer(BusError),
}

/// Failure of a task in a process. The process is ended in any case.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// The mailbox could not be made.
    #[error("no mailbox for the task's process: {0}")]
    Mailbox(io::Error),
    /// The process could not be started.
    #[error("{program} cannot be started: {source}")]
    Start {
        /// The program.
        program: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The process ended before its task did.
    #[error("the task's process ended before its task: {0}")]
    Ended(ExitStatus),
    /// The process did nothing for too long.
    #[error("the task's process asked for nothing and did not end within {} s of the host's time", .limit.as_secs_f64())]
    Hung {
        /// The limit.
        limit: Duration,
    },
    /// The process made an invalid request.
    #[error("the task's process does not keep to the protocol: {0}")]
    Protocol(SessionError),
    /// Its start-up has failed, or it has aborted the job.
    #[error(transparent)]
    Pmi(PmiError),
    /// It waits for an event that never happens.
    #[error("{}", .0.text)]
    Stuck(Stuck),
    /// The task says that it failed.
    #[error("the task failed: {0}")]
    Task(String),
    /// The task ended well, its process did not.
    #[error("the task ended, then its process failed: {0}")]
    Exit(ExitStatus),
    /// Output of the process cannot be read.
    #[error("no way to what the task's process prints: {0}")]
    Output(io::Error),
    /// The operating system would not say how the process ended.
    #[error("the state of the task's process is unknown: {0}")]
    Unknown(io::Error),
}

impl ProcessError {
    /// Simulated time of the last progress of a job that is stuck, picoseconds, if it is known.
    #[must_use]
    pub fn stuck_since_ps(&self) -> Option<u64> {
        match self {
            Self::Stuck(stuck) | Self::Pmi(PmiError::Stuck(stuck)) => stuck.since_ps,
            _ => None,
        }
    }
}

/// Successful end of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskEnd {
    /// It had freed all resources of the node.
    Clean,
    /// It still had buffers, locks or segments of the node, and open clients. They are freed: messages to it are refused, or
    /// stay undelivered.
    Amid,
}
