// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks of the double.

use std::thread::{self, ThreadId};
use std::time::Duration;

use gyre_driver::PlatformLock;
use parking_lot::{Condvar, Mutex};

/// Host time after which a thread is taken to wait for ever.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A lock between host threads. A thread that waits for itself panics: it would wait for ever.
#[derive(Default)]
pub struct DoubleLock {
    holder: Mutex<Option<ThreadId>>,
    freed: Condvar,
}

impl PlatformLock for DoubleLock {
    fn lock(&self) {
        let me = thread::current().id();
        let mut holder = self.holder.lock();
        while let Some(other) = *holder {
            assert_ne!(other, me, "waits for ever for a lock");
            let waited = self.freed.wait_for(&mut holder, PATIENCE);
            assert!(!waited.timed_out(), "waits for ever for a lock");
        }
        *holder = Some(me);
    }

    fn trylock(&self) -> bool {
        let mut holder = self.holder.lock();
        if holder.is_some() {
            return false;
        }
        *holder = Some(thread::current().id());
        true
    }

    fn unlock(&self) {
        assert!(self.holder.lock().take().is_some(), "unlocks a free lock");
        self.freed.notify_one();
    }
}
