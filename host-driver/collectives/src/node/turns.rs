// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order in which the collectives of a geometry work in the memory of a node.

use std::collections::{BTreeMap, VecDeque};

/// The collective that is next in memory, with its queued steps.
pub(crate) type Turn = Option<(u32, Vec<usize>)>;

/// Collectives that have begun, in order: the first is active, the others wait.
#[derive(Debug, Default)]
pub(super) struct Turns {
    order: VecDeque<u32>,
    /// Steps of collectives that are not active.
    parked: BTreeMap<u32, Vec<usize>>,
    /// Steps of the active collective that wait for other members.
    waiting: Vec<usize>,
}

impl Turns {
    /// Appends a collective to the order.
    pub fn begin(&mut self, sequence: u32) {
        self.order.push_back(sequence);
    }

    /// The active collective.
    pub fn first(&self) -> Option<u32> {
        self.order.front().copied()
    }

    /// Queues a step until its collective is active.
    pub fn park(&mut self, sequence: u32, step: usize) {
        self.parked.entry(sequence).or_default().push(step);
    }

    /// Queues a step of the active collective until other members progress.
    pub fn wait(&mut self, step: usize) {
        self.waiting.push(step);
    }

    /// Whether steps wait for other members.
    pub fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes out the steps that wait for other members, with the number of their collective.
    pub fn take_waiting(&mut self) -> Turn {
        if self.waiting.is_empty() {
            return None;
        }
        Some((self.first()?, core::mem::take(&mut self.waiting)))
    }

    /// Removes a collective from the order. Returns the next with its steps, if it was active.
    pub fn remove(&mut self, sequence: u32) -> Turn {
        self.parked.remove(&sequence);
        let first = self.first() == Some(sequence);
        self.order.retain(|&other| other != sequence);
        if !first {
            return None;
        }
        self.waiting.clear();
        let next = self.first()?;
        Some((next, self.parked.remove(&next).unwrap_or_default()))
    }
}
