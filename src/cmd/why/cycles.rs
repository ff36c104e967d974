// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times in cycles.

/// Picoseconds of a cycle.
#[derive(Clone, Copy)]
pub(super) struct Cycles(pub(super) u64);

impl Cycles {
    pub(super) fn of(self, ps: u64) -> f64 {
        ps as f64 / self.0 as f64
    }
}
