// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting between threads of a process: queues by address, like a futex. One thread that the
//! machine serves runs at a time, so none is woken between a check and the wait that follows; threads that it does not serve may run then.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::connection::{Link, is_attached};
use crate::protocol::Request;

/// Waiters by address, in their order.
static QUEUES: Mutex<BTreeMap<usize, VecDeque<Arc<Waiter>>>> = Mutex::new(BTreeMap::new());

/// Number of waiters, which a waker checks first.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Whether threads that the machine does not serve may wake one that it does; then waits are polls.
static OTHERS: AtomicBool = AtomicBool::new(false);

/// Time of the first poll, picoseconds, and later polls as a fraction of the wait.
const LOOK_AGAIN_PS: u64 = 1_000_000;
const WAIT_PARTS: u64 = 8;

struct Waiter {
    /// Number of the thread in its task.
    thread: u32,
    woken: AtomicBool,
}

fn queues() -> MutexGuard<'static, BTreeMap<usize, VecDeque<Arc<Waiter>>>> {
    // Each change is a single push or removal.
    QUEUES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets threads that the machine does not serve wake those that it does.
pub fn expect_others() {
    OTHERS.store(true, Ordering::Relaxed);
}

/// A wait of this thread, which the machine serves: it is woken by [`wake`] from now on.
pub struct Waiting {
    key: usize,
    waiter: Arc<Waiter>,
}

impl Waiting {
    /// Begins a wait with the key `key`, an address.
    #[must_use]
    pub fn begin(key: usize) -> Self {
        let waiter = Arc::new(Waiter {
            thread: Link.thread,
            woken: AtomicBool::new(false),
        });
        let own = Arc::clone(&waiter);
        COUNT.fetch_add(1, Ordering::SeqCst);
        queues().entry(key).or_default().push_back(own);
        Self { key, waiter }
    }

    /// Waits until it is woken, or until this simulated time, picoseconds; returns whether it was woken.
    pub fn wait(self, deadline_ps: Option<u64>) -> bool {
        let begin_ps = Link.time_ps();
        loop {
            if self.waiter.woken.load(Ordering::Acquire) {
                return true;
            }
            let now_ps = Link.time_ps();
            if deadline_ps.is_some_and(|deadline_ps| deadline_ps <= now_ps) {
                return false;
            }
            let waited_ps = now_ps.saturating_sub(begin_ps);
            let look_ps = now_ps + LOOK_AGAIN_PS.max(waited_ps / WAIT_PARTS);
            let look_ps = OTHERS.load(Ordering::Relaxed).then_some(look_ps);
            let deadline_ps = deadline_ps.into_iter().chain(look_ps).min();
            Link.truth(&Request::Park { deadline_ps });
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Ordering::SeqCst);
        let mut queues = queues();
        if let Some(queue) = queues.get_mut(&self.key) {
            queue.retain(|waiter| !Arc::ptr_eq(waiter, &self.waiter));
            if queue.is_empty() {
                queues.remove(&self.key);
            }
        }
    }
}

/// Wakes the first `count` waiters of `key`. Any thread of the process may call it.
pub fn wake(key: usize, count: usize) {
    if COUNT.load(Ordering::SeqCst) == 0 {
        return;
    }
    for _ in 0..count {
        let first = queues().get_mut(&key).and_then(VecDeque::pop_front);
        let Some(first) = first else {
            return;
        };
        first.woken.store(true, Ordering::Release);
        if is_attached() {
            let thread = first.thread;
            // At once: this thread may wait elsewhere for its effect.
            Link.tell(&Request::Unpark { thread });
        }
    }
}
