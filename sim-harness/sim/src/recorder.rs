// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the events of machines go.

use std::sync::{Arc, Mutex, PoisonError};

use gyre_timeline::Recording;

/// Takes the events of every machine that is made of a configuration with it, when the machine ends. Clones take them
/// together. Recording changes nothing in simulated time.
#[derive(Clone, Debug, Default)]
pub struct Recorder(Arc<Mutex<Vec<Recording>>>);

impl Recorder {
    /// The recordings so far, in the order in which their machines have ended.
    #[must_use]
    pub fn take(&self) -> Vec<Recording> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many recordings there are.
    #[must_use]
    pub fn count(&self) -> usize {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.len()
    }

    /// A copy of the recording of this number, from 0, which stays.
    #[must_use]
    pub fn copy(&self, number: usize) -> Option<Recording> {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.get(number).cloned()
    }

    pub(crate) fn put(&self, recording: Recording) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.push(recording);
    }
}

impl PartialEq for Recorder {
    /// Whether they take events together.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
