// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counterfactuals of `gyre why --prove`: the program again on the RTL, without a cause.

use gyre::progress;
use gyre_why::Analysis;

use super::cycles::Cycles;
use super::observed::Observed;
use super::program::Program;
use crate::error::CommandError;

/// Causes that people are shown, and that `--prove` looks at.
pub(super) const CAUSES: usize = 6;

/// Gain of the removal of a cause.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proof {
    /// Picoseconds, negative where it has cost some; none where the program cannot be run without the cause.
    gain_ps: Option<i64>,
}

impl Proof {
    /// The gain in cycles.
    pub(super) fn cycles(self, cycles: Cycles) -> Option<f64> {
        self.gain_ps.map(|ps| ps as f64 / cycles.0 as f64)
    }
}

/// Removes each of the first causes in turn, and runs the program.
///
/// # Errors
/// A run that does not come to its end.
pub(super) fn all(
    program: &Program,
    observed: &Observed,
    analysis: &Analysis,
    causes: usize,
) -> Result<Vec<Proof>, CommandError> {
    let causes = &analysis.causes[..analysis.causes.len().min(causes)];
    let bar = progress::bar(causes.len() as u64, "counterfactuals");
    let before = observed.ended.makespan_ps;
    let proofs = causes.iter().map(|cause| {
        let after = program.without(cause.culprit, &observed.messages)?;
        bar.inc(1);
        Ok(Proof {
            gain_ps: after.map(|after| gain(before, after)),
        })
    });
    let proofs = proofs.collect();
    bar.finish_and_clear();
    proofs
}

/// Picoseconds from `after_ps` to `before_ps`, as far as they fit.
fn gain(before_ps: u64, after_ps: u64) -> i64 {
    let difference = i128::from(before_ps) - i128::from(after_ps);
    let most = i128::from(i64::MAX);
    // Within 64 bits.
    difference.clamp(-most, most) as i64
}
