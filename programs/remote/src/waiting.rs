// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting between threads of a process: queues by address, like a futex. One thread that the
//! machine serves runs at a time, so none is woken between a check and the wait that follows; threads that it does not serve may run then.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

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
    /// The bits of a [`wake_masked`] that wake it.
    mask: u32,
    woken: AtomicBool,
}

/// Waiters that are in no queue any more.
type Waiters = SmallVec<[Arc<Waiter>; 4]>;

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
    waiter: Arc<Waiter>,
}

impl Waiting {
    /// Begins a wait with the key `key`, an address.
    #[must_use]
    pub fn begin(key: usize) -> Self {
        Self::begin_masked(key, u32::MAX)
    }

    /// Begins a wait that only those wake whose mask has a bit of `mask`.
    #[must_use]
    pub fn begin_masked(key: usize, mask: u32) -> Self {
        let waiter = Arc::new(Waiter {
            thread: Link.thread,
            mask,
            woken: AtomicBool::new(false),
        });
        let own = Arc::clone(&waiter);
        COUNT.fetch_add(1, Ordering::SeqCst);
        queues().entry(key).or_default().push_back(own);
        Self { waiter }
    }

    /// Waits until it is woken, or until this simulated time, picoseconds; returns whether it was woken.
    pub fn wait(self, deadline_ps: Option<u64>) -> bool {
        let look = |waited_ps| has_others().then_some(LOOK_AGAIN_PS.max(waited_ps / WAIT_PARTS));
        self.wait_looking(deadline_ps, look)
    }

    /// Waits as [`wait`](Self::wait) where nobody wakes it but threads that the machine serves.
    pub fn wait_until(self, deadline_ps: Option<u64>) -> bool {
        self.wait_looking(deadline_ps, |_| None)
    }

    /// Waits, and looks again after the time that `look` returns for that of the wait, picoseconds.
    fn wait_looking(self, deadline_ps: Option<u64>, look: impl Fn(u64) -> Option<u64>) -> bool {
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
            let look_ps = look(waited_ps).map(|pause_ps| now_ps.saturating_add(pause_ps));
            let deadline_ps = deadline_ps.into_iter().chain(look_ps).min();
            Link.truth(&Request::Park { deadline_ps });
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Ordering::SeqCst);
        // Under its key, or that which a requeue has given it.
        queues().retain(|_, queue| {
            queue.retain(|waiter| !Arc::ptr_eq(waiter, &self.waiter));
            !queue.is_empty()
        });
    }
}

/// Whether threads that the machine does not serve may change what others wait for.
pub fn has_others() -> bool {
    OTHERS.load(Ordering::Relaxed)
}

/// Wakes the first `count` waiters of `key`; returns how many there were. Any thread of the process may call it.
pub fn wake(key: usize, count: usize) -> usize {
    wake_masked(key, count, u32::MAX)
}

/// Wakes the first `count` waiters of `key` whose mask has a bit of `mask`; returns how many there were.
pub fn wake_masked(key: usize, count: usize, mask: u32) -> usize {
    if COUNT.load(Ordering::SeqCst) == 0 {
        return 0;
    }
    let mut woken = Waiters::new();
    {
        let mut queues = queues();
        let Some(queue) = queues.get_mut(&key) else {
            return 0;
        };
        queue.retain(|waiter| {
            let wakes = woken.len() < count && waiter.mask & mask != 0;
            if wakes {
                woken.push(Arc::clone(waiter));
            }
            !wakes
        });
    }
    end_waits(&woken);
    woken.len()
}

/// Ends the wait of a thread of the task, whatever it waits for.
pub fn interrupt(thread: u32) {
    let waiters: Waiters = queues()
        .values_mut()
        .filter_map(|queue| {
            let place = queue.iter().position(|waiter| waiter.thread == thread)?;
            queue.remove(place)
        })
        .collect();
    end_waits(&waiters);
}

/// Ends waits that are in no queue any more: a thread whose wait has ended may run before the others' do, and wait again.
fn end_waits(waiters: &[Arc<Waiter>]) {
    for waiter in waiters {
        waiter.woken.store(true, Ordering::Release);
    }
    if is_attached() {
        for waiter in waiters {
            let thread = waiter.thread;
            // At once: this thread may wait elsewhere for its effect.
            Link.tell(&Request::Unpark { thread });
        }
    }
}

/// Lets the first `count` waiters of `from` wait for `to` instead; returns how many there were.
pub fn requeue(from: usize, to: usize, count: usize) -> usize {
    let mut queues = queues();
    let Some(mut queue) = queues.remove(&from) else {
        return 0;
    };
    let rest = queue.split_off(count.min(queue.len()));
    if !rest.is_empty() {
        queues.insert(from, rest);
    }
    let moved = queue.len();
    queues.entry(to).or_default().extend(queue);
    moved
}
