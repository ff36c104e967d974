// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of a context's collectives.

use std::sync::Arc;

use parking_lot::Mutex;

/// Counts of a context's collectives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Completed collectives.
    pub ended: u64,
    /// Messages sent, announcements included.
    pub messages: u64,
    /// Bytes of data sent or fetched from here.
    pub sent_bytes: u64,
    /// Messages whose data was dropped because another endpoint of the task stores it.
    pub discarded: u64,
    /// Messages that arrived before their receive was ready.
    pub early: u64,
    /// Maximum bytes held in such messages at once.
    pub held_bytes: usize,
}

/// The counts, and the bytes held at present. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts(Arc<Mutex<(Stats, usize)>>);

impl Counts {
    /// Current counts.
    pub fn stats(&self) -> Stats {
        self.0.lock().0
    }

    /// Changes counts.
    pub fn count(&self, count: impl FnOnce(&mut Stats)) {
        count(&mut self.0.lock().0);
    }

    /// Counts an early message with `bytes` bytes of data.
    pub fn hold(&self, bytes: usize) {
        let (stats, held) = &mut *self.0.lock();
        *held += bytes;
        stats.early += 1;
        stats.held_bytes = stats.held_bytes.max(*held);
    }

    /// Subtracts `bytes` bytes of released early messages.
    pub fn release(&self, bytes: usize) {
        self.0.lock().1 -= bytes;
    }
}
