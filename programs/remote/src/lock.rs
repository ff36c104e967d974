// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks between the threads of a process. Only a wait is a request to the machine.

use std::sync::atomic::{AtomicU32, Ordering};

use gyre_driver::PlatformLock;

use crate::connection::Link;
use crate::protocol::{NOT_HELD, WAITS_FOR_ITSELF};
use crate::waiting::{self, Waiting};

/// A lock that only this process has.
pub struct RemoteLock {
    /// Number of the thread that holds it, plus 1; 0: free.
    holder: AtomicU32,
}

impl RemoteLock {
    /// A free one.
    pub(crate) fn new() -> Self {
        Self {
            holder: AtomicU32::new(0),
        }
    }

    /// Key of its waiters: its address does not change while a thread waits.
    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Whether the calling thread holds it.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.holder.load(Ordering::Relaxed) == Self::own()
    }

    fn own() -> u32 {
        Link.thread + 1
    }
}

impl PlatformLock for RemoteLock {
    fn lock(&self) {
        while !self.trylock() {
            if self.is_own() {
                Link.misuse(WAITS_FOR_ITSELF);
            }
            Waiting::begin(self.key()).wait(None);
        }
    }

    fn trylock(&self) -> bool {
        let (free, own) = (0, Self::own());
        let taken = self
            .holder
            .compare_exchange(free, own, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    }

    fn unlock(&self) {
        let (own, free) = (Self::own(), 0);
        let given = self
            .holder
            .compare_exchange(own, free, Ordering::Release, Ordering::Relaxed);
        if given.is_err() {
            Link.misuse(NOT_HELD);
        }
        waiting::wake(self.key(), 1);
    }
}
