// SPDX-License-Identifier: MIT OR Apache-2.0
//! States of tasks, by which the machine finds out that no task will go on.

/// State of a task that others may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It writes a register, sleeps, reads a clock or asks for memory: it makes progress.
    Acts,
    /// It has polled, slept and not been woken.
    Polls,
    /// It sleeps until it is woken.
    Parks,
    /// It has looked whether all tasks have come to a barrier, and some have not.
    Meets,
}

/// Reason why no task will go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// Who waits for what.
    pub text: String,
    /// Simulated time of the last progress, picoseconds, if it is known.
    pub since_ps: Option<u64>,
}
