// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a machine gets on.

use crate::config::EPOCH;

/// Counts that the watchdog compares. They advance at epochs, which no window crosses, so that they do not depend on the window.
#[derive(Default)]
pub(crate) struct Progress {
    /// Last cycle in which something useful happened.
    pub(crate) last: Option<u64>,
    /// Number of the epoch under way.
    epoch: u64,
    /// Cycles of the epochs in a row in which the machine ran and nothing useful happened.
    pub(crate) idle: u64,
}

impl Progress {
    /// Something useful happened in `cycle`.
    pub(crate) fn note(&mut self, cycle: Option<u64>) {
        self.last = self.last.max(cycle);
    }

    /// The machine runs on from `cycle`. Whether an epoch has ended.
    pub(crate) fn enter(&mut self, cycle: u64) -> bool {
        let epoch = cycle / EPOCH;
        let ended = epoch != self.epoch;
        if ended {
            let useful = self.last.is_some_and(|last| last >= self.epoch * EPOCH);
            self.idle = if useful { 0 } else { self.idle + EPOCH };
            self.epoch = epoch;
        }
        ended
    }
}
