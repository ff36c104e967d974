// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the events of machines go.

use std::env;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gyre_timeline::{Recording, Spool};

/// Events of a machine in memory while it runs, some ten MiB; the others are on disk.
const HELD: usize = 1 << 17;

/// Events of a node in memory at least: less is not worth a write.
const LEAST: usize = 64;

/// Takes the events of every machine that is made of a configuration with it, when the machine ends. Clones take them
/// together. Recording changes nothing in simulated time.
#[derive(Clone, Debug)]
pub struct Recorder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    held: usize,
    list: Mutex<Vec<Recording>>,
}

impl Default for Recorder {
    /// One with its files in the folder for temporary ones.
    fn default() -> Self {
        Self::in_folder(env::temp_dir())
    }
}

impl Recorder {
    /// One with its files in a folder. They have no name there, and are made for what memory should not hold.
    #[must_use]
    pub fn in_folder(folder: PathBuf) -> Self {
        Self::holding(HELD, folder)
    }

    /// One that holds so many events of a machine in memory while it runs, or some more of a machine of many nodes.
    #[must_use]
    pub fn holding(held: usize, folder: PathBuf) -> Self {
        Self(Arc::new(Inner {
            folder,
            held,
            list: Mutex::default(),
        }))
    }

    /// Where the events of a machine go.
    pub(crate) fn spool(&self) -> Spool {
        Spool::new(self.0.folder.clone())
    }

    /// How many events software holds in memory.
    pub(crate) fn of_software(&self) -> usize {
        self.0.held / 2
    }

    /// How many each of some nodes holds.
    pub(crate) fn of_node(&self, nodes: usize) -> usize {
        let share = self.0.held / 2 / nodes.max(1);
        share.max(LEAST.min(self.0.held))
    }

    fn list(&self) -> MutexGuard<'_, Vec<Recording>> {
        self.0.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The recordings so far, in the order in which their machines have ended.
    #[must_use]
    pub fn take(&self) -> Vec<Recording> {
        std::mem::take(&mut *self.list())
    }

    /// How many recordings there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.list().len()
    }

    /// A copy of the recording of this number, from 0, which stays.
    #[must_use]
    pub fn copy(&self, number: usize) -> Option<Recording> {
        self.list().get(number).cloned()
    }

    pub(crate) fn put(&self, recording: Recording) {
        self.list().push(recording);
    }
}

impl PartialEq for Recorder {
    /// Whether they take events together.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
