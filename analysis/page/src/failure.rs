// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a run has not come to its end.

use serde::Serialize;

/// A run that has failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The error, as the command prints it.
    pub text: String,
    /// The node that it concerns most, where that is known.
    pub node: Option<u32>,
    /// The cycle in which it was, or that of the last progress.
    pub cycle: Option<u64>,
    /// Waits of tasks and threads, if the machine stood still.
    pub waits: Vec<Wait>,
}

/// Somebody who waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// A rank's operation, or a thread.
    pub who: String,
    /// The rank, if it is one's.
    pub rank: Option<u32>,
    /// Its node.
    pub node: u32,
    /// Since when, picoseconds, where that is known.
    pub since_ps: Option<u64>,
    /// Reason of the wait, in words.
    pub what: String,
    /// The rank that must do something first, where that is known.
    pub on: Option<u32>,
}
