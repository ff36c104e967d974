//! The order in which the collectives of a geometry work in the memory of a node.

use std::collections::{BTreeMap, VecDeque};

/// A collective whose turn it is in memory, and those of its steps that have waited for that.
pub(crate) type Turn = Option<(u32, Vec<usize>)>;

/// Collectives that have begun, in their order: the first works, the others wait.
#[derive(Debug, Default)]
pub(super) struct Turns {
    order: VecDeque<u32>,
    /// Steps that wait for their collective's turn.
    parked: BTreeMap<u32, Vec<usize>>,
    /// Steps of the first that wait for other members.
    waiting: Vec<usize>,
}

impl Turns {
    /// Puts a collective behind those that have begun.
    pub fn begin(&mut self, sequence: u32) {
        self.order.push_back(sequence);
    }

    /// The collective that works.
    pub fn first(&self) -> Option<u32> {
        self.order.front().copied()
    }

    /// Has a step wait for the turn of its collective.
    pub fn park(&mut self, sequence: u32, step: usize) {
        self.parked.entry(sequence).or_default().push(step);
    }

    /// Has a step of the first collective wait for other members.
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

    /// Takes a collective out of the order. Returns the next with its steps, if it was the first.
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
