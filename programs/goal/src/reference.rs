// SPDX-License-Identifier: MIT OR Apache-2.0
//! A perfect network for tests: messages arrive at once, calls cost nothing, and only `calc`
//! takes time.
//!
//! It says how a program must end ([`run`]): which messages are delivered, that nothing
//! deadlocks, and the makespan that no machine can beat. [`Matcher`] is MPI matching by itself,
//! as an oracle for other implementations.

mod matcher;
mod run;

pub use matcher::{Arrival, Matched, Matcher, Receive, Truncated};
pub use run::{Delivery, Outcome, RunError, SendMode, run};
