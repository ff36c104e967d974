// SPDX-License-Identifier: MIT OR Apache-2.0
//! Order of entry into the collective network: that of the collectives, at all nodes.

use std::collections::VecDeque;

/// A schedule step: number of the collective, number of the step.
pub(crate) type Step = (u32, usize);

/// Steps on the collective network, in order of entry, with the ready ones.
#[derive(Debug, Default)]
pub(crate) struct Order(VecDeque<(Step, bool)>);

impl Order {
    /// Appends a step.
    pub fn push(&mut self, step: Step) {
        self.0.push_back((step, false));
    }

    /// Marks a step as ready within its collective.
    pub fn ready(&mut self, step: Step) {
        if let Some((_, ready)) = self.0.iter_mut().find(|(other, _)| *other == step) {
            *ready = true;
        }
    }

    /// Next step, if it is ready.
    pub fn next(&mut self) -> Option<Step> {
        self.0.front().filter(|(_, ready)| *ready)?;
        self.0.pop_front().map(|(step, _)| step)
    }

    /// Removes the steps of a collective.
    pub fn forget(&mut self, sequence: u32) {
        self.0.retain(|((other, _), _)| *other != sequence);
    }
}
