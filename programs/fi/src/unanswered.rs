// SPDX-License-Identifier: MIT OR Apache-2.0
//! Short one-sided writes that their targets have not answered.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use gyre_driver::{Error, TaskId};
use parking_lot::Mutex;

/// Is called with the outcome of a write.
pub type WriteDone = Box<dyn FnOnce(Result<(), Error>) + Send>;

/// Writes that have not been answered.
#[derive(Default)]
pub struct Unanswered(Mutex<Writes>);

#[derive(Default)]
struct Writes {
    /// Number of the last one.
    last: u32,
    /// The target of each, and its end.
    by_number: BTreeMap<u32, (TaskId, WriteDone)>,
}

impl Unanswered {
    /// Adds a write to `peer`; returns its number.
    pub fn add(&self, peer: TaskId, done: WriteDone) -> u32 {
        let Writes { last, by_number } = &mut *self.0.lock();
        loop {
            *last = last.wrapping_add(1);
            if let Entry::Vacant(place) = by_number.entry(*last) {
                place.insert((peer, done));
                return *last;
            }
        }
    }

    /// Takes out a write to `peer`.
    pub fn take(&self, number: u32, peer: TaskId) -> Option<WriteDone> {
        match self.0.lock().by_number.entry(number) {
            Entry::Occupied(write) if write.get().0 == peer => Some(write.remove().1),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x6_a_write_is_ended_once_and_by_its_target_alone() {
        let unanswered = Unanswered::default();
        let first = unanswered.add(TaskId(1), Box::new(|_| ()));
        let second = unanswered.add(TaskId(2), Box::new(|_| ()));
        assert_ne!(first, second);
        assert!(unanswered.take(first, TaskId(2)).is_none());
        assert!(unanswered.take(first, TaskId(1)).is_some());
        assert!(unanswered.take(first, TaskId(1)).is_none());
    }
}
