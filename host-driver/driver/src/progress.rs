// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of one `advance`.

/// Counts of one or more turns of [`Context::advance`](crate::Context::advance).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Instructions taken off the work queue.
    pub instructions: usize,
    /// Descriptors handed to the DMA engine, and messages written to shared memory.
    pub started: usize,
    /// Descriptors completed.
    pub completed: usize,
    /// Packets received.
    pub packets: usize,
    /// Callbacks called.
    pub callbacks: usize,
}

impl Progress {
    /// Whether nothing has happened.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        // Tests all in one comparison.
        self.instructions | self.started | self.completed | self.packets | self.callbacks == 0
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.started += other.started;
        self.completed += other.completed;
        self.packets += other.packets;
        self.callbacks += other.callbacks;
    }
}
