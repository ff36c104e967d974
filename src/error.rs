// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of commands, and the exit status of each.

use gyre::error::RunError;
use gyre::options::UsageError;
use gyre_replay::GoalError;
use thiserror::Error;

/// Why a command did not succeed.
#[derive(Debug, Error)]
pub enum CommandError {
    /// The run did not succeed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A program that cannot be understood: status 2.
    #[error("{0:?}")]
    Program(miette::Report),
    /// The program did not run to its end.
    #[error(transparent)]
    Goal(#[from] GoalError),
    /// A point of a sweep did not succeed.
    #[error(transparent)]
    Point(#[from] PointError),
}

/// Error of a point of a sweep, which may come from another thread.
#[derive(Debug, Error)]
#[error("{point}{text}")]
pub struct PointError {
    /// Its values, with a colon behind them; nothing of a sweep of one point.
    point: String,
    text: String,
    status: u8,
}

impl PointError {
    /// The error of the point of these values.
    pub fn new(values: &str, error: &CommandError) -> Self {
        let point = match values {
            "" => String::new(),
            values => format!("{values}: "),
        };
        Self {
            point,
            text: error.to_string(),
            status: error.status(),
        }
    }
}

impl From<UsageError> for CommandError {
    fn from(error: UsageError) -> Self {
        RunError::from(error).into()
    }
}

impl From<gyre_sim::SimError> for CommandError {
    fn from(error: gyre_sim::SimError) -> Self {
        RunError::from(error).into()
    }
}

impl CommandError {
    /// Exit status of a command that ended with it.
    pub fn status(&self) -> u8 {
        match self {
            Self::Run(error) => error.status(),
            Self::Goal(error) => error.status(),
            Self::Program(_) => 2,
            Self::Point(error) => error.status,
        }
    }
}
