// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads of a program are threads of the machine: functions of the C library that start threads, or that wait for other threads,
//! in place of the C library's own.
//!
//! A thread started by one that the machine serves is a further thread of the task: it has its own time, and runs in its turn. A
//! thread that waited for another in the C library would keep its turn and wait for ever, so it waits in simulated time. The objects
//! stay the C library's: a mutex is locked by its `trylock`, and its unlock wakes the waiter. Waiters of conditions and barriers are
//! known only here.
//!
//! Before the first such thread, in threads that were started before there was a machine, and outside of a task, all functions
//! are the C library's, but for waits with a deadline of a thread that the machine serves. If there are threads of both kinds, waits
//! of threads that the machine serves are polls.

mod barrier;
mod condition;
mod creation;
pub(crate) mod leaving;
mod mutex;
mod rwlock;
mod semaphore;

pub use creation::{pthread_create, pthread_join};
use gyre_remote::StartedThread;
use gyre_remote::waiting::Waiting;

use crate::asleep;
use crate::job::Job;
use crate::system_calls::children::Looks;
use crate::{boundary, clocks};

/// Whether this thread waits for others of its task in simulated time.
fn is_simulated() -> bool {
    StartedThread::several() && is_served()
}

/// Whether the machine serves this thread. Waits with a deadline are in simulated time then, also where no other thread can end
/// them: the deadline is one of the machine's clock.
fn is_served() -> bool {
    Job::of_this_thread().is_some()
}

/// Repeats `attempt` until it succeeds, with waits for `key` between; returns its result, or `None` after `deadline_ps`.
fn wait_until<T>(
    key: usize,
    deadline_ps: Option<u64>,
    mut attempt: impl FnMut() -> Option<T>,
) -> Option<T> {
    let mut looks = None;
    loop {
        if let Some(outcome) = attempt() {
            return Some(outcome);
        }
        let waiting = Waiting::begin(key);
        // A thread that the machine does not serve may have changed it.
        if let Some(outcome) = attempt() {
            return Some(outcome);
        }
        // One may have it that sleeps in a poll.
        boundary::value(asleep::wake_all);
        let reached = boundary::value(|| {
            let look_ps = looks.get_or_insert_with(Looks::new).next_ps(false);
            waiting.wait(deadline_ps.into_iter().chain(look_ps).min());
            deadline_ps.is_some_and(|deadline_ps| deadline_ps <= clocks::now_ps())
        });
        if reached {
            return attempt();
        }
    }
}
