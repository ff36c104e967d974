//! The order in which a node enters the tree: that of the collectives, at all nodes.

use std::collections::VecDeque;

/// A step of a schedule: number of the collective, number of the step.
pub(crate) type Step = (u32, usize);

/// Steps that enter the tree, in the order in which they do so, and which of them are ready.
#[derive(Debug, Default)]
pub(crate) struct Order(VecDeque<(Step, bool)>);

impl Order {
    /// Puts a step behind the others.
    pub fn push(&mut self, step: Step) {
        self.0.push_back((step, false));
    }

    /// A step's turn has come, as far as its own collective is concerned.
    pub fn ready(&mut self, step: Step) {
        if let Some((_, ready)) = self.0.iter_mut().find(|(other, _)| *other == step) {
            *ready = true;
        }
    }

    /// The next step that enters, if it is ready.
    pub fn next(&mut self) -> Option<Step> {
        self.0.front().filter(|(_, ready)| *ready)?;
        self.0.pop_front().map(|(step, _)| step)
    }

    /// Forgets the steps of a collective.
    pub fn forget(&mut self, sequence: u32) {
        self.0.retain(|((other, _), _)| *other != sequence);
    }
}
