// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that sleep in a poll, where a thread that polls would give a lock back now and then: who waits for a lock wakes them.

use std::sync::Arc;

use gyre_remote::StartedThread;
use parking_lot::Mutex;

type Wake = Arc<dyn Fn() + Send + Sync>;

/// Those that sleep.
static ASLEEP: Mutex<Vec<Wake>> = Mutex::new(Vec::new());

/// A sleep of a thread in a poll, as long as it lasts.
pub struct Asleep(Option<Wake>);

impl Asleep {
    /// Begins a sleep, which `wake` ends.
    pub fn begin(wake: impl Fn() + Send + Sync + 'static) -> Self {
        if !StartedThread::several() {
            return Self(None);
        }
        let wake: Wake = Arc::new(wake);
        ASLEEP.lock().push(Arc::clone(&wake));
        Self(Some(wake))
    }
}

impl Drop for Asleep {
    fn drop(&mut self) {
        if let Some(own) = &self.0 {
            ASLEEP.lock().retain(|other| !Arc::ptr_eq(own, other));
        }
    }
}

/// Wakes all that sleep in polls.
pub fn wake_all() {
    let all: Vec<Wake> = ASLEEP.lock().clone();
    for wake in all {
        wake();
    }
}
