//! Threads of a program are threads of the machine: functions of the C library that start threads, or that wait for other threads,
//! in place of the C library's own.
//!
//! A thread that is started by one that the machine serves is another thread of the task there: it has its own time, and runs
//! when its turn comes. So one that waits for another, which has no turn meanwhile, would wait for ever: it waits in
//! simulated time instead. What the waits are for stays the C library's: a mutex is locked by its `trylock`, and the waiter is
//! woken by who unlocks it. Conditions and barriers have their waiters here alone.
//!
//! Before the first such thread, in threads that were started before there was a machine, and outside of a task, all of them are
//! the C library's. Where there are threads of both kinds, one that the machine serves looks now and then whether
//! another one has woken it.

mod barrier;
mod condition;
mod creation;
mod mutex;
mod real;
mod rwlock;
mod semaphore;

pub use creation::{pthread_create, pthread_join};
use gyre_remote::StartedThread;
use gyre_remote::waiting::Waiting;

use crate::boundary;
use crate::job::Job;

/// Whether this thread waits for others of its task in simulated time.
fn is_simulated() -> bool {
    StartedThread::several() && Job::of_this_thread().is_some()
}

/// Tries until it succeeds, and waits for what has the address `key` to change between; until `deadline_ps` at most. What
/// `attempt` answers, or `None` when that has come.
fn wait_until<T>(
    key: usize,
    deadline_ps: Option<u64>,
    mut attempt: impl FnMut() -> Option<T>,
) -> Option<T> {
    loop {
        if let Some(outcome) = attempt() {
            return Some(outcome);
        }
        let waiting = Waiting::begin(key);
        // It may have changed by a thread that the machine does not serve.
        if let Some(outcome) = attempt() {
            return Some(outcome);
        }
        if !boundary::value(|| waiting.wait(deadline_ps)) {
            return attempt();
        }
    }
}
