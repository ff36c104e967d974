// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random stimuli for machines of bare RTL (X-5, HW-1, HW-3), with a scoreboard of allowed effects.
//!
//! A [`Case`] is a machine and a list of stimuli. [`run_case`] returns a [`Verdict`]: findings and coverage.
//! [`Campaign`] draws cases by seed, keeps those that reach something new, and shrinks those that fail.
//! All of it is a function of seed and cases alone.

mod campaign;
mod case;
mod descriptor;
mod file;
mod generate;
mod map;
mod registers;
mod run;
mod scoreboard;
mod shrink;
#[cfg(test)]
mod tests;

pub use campaign::{Campaign, CampaignOptions, CampaignReport, FoundKind};
pub use case::{Action, Carried, Case, Flip, FlipWhen, Forge, Send, SendKind, Shape, Stimulus};
pub use file::{CaseError, read_case, write_case};
pub use generate::{SHAPES, draw_case, mutate_case};
pub use run::{FuzzError, Report, Rtl, RtlCoverage, Verdict, run_case};
pub use scoreboard::Finding;
pub use shrink::{Shrunk, shrink_case};
