// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mutexes and spin locks.

use std::ffi::c_int;

use gyre_remote::waiting;
use libc::{pthread_mutex_t, pthread_spinlock_t, timespec};

use super::{is_served, is_simulated, wait_until};
use crate::clocks::{self, deadline_ps};
use crate::real::real;

/// Locks a mutex, waiting in simulated time until `deadline_ps` at most.
pub fn lock(mutex: *mut pthread_mutex_t, deadline_ps: Option<u64>) -> c_int {
    let attempt = || {
        // SAFETY: the program's mutex.
        let result = unsafe { libc::pthread_mutex_trylock(mutex) };
        (result != libc::EBUSY).then_some(result)
    };
    wait_until(mutex.addr(), deadline_ps, attempt).unwrap_or(libc::ETIMEDOUT)
}

/// Unlocks a mutex, and wakes its first waiter.
pub fn release(mutex: *mut pthread_mutex_t) -> c_int {
    unlock(mutex).0
}

/// Unlocks a mutex, and wakes its first waiter; returns the number of those, too.
fn unlock(mutex: *mut pthread_mutex_t) -> (c_int, usize) {
    let result = real!(c"pthread_mutex_unlock", (mutex => *mut pthread_mutex_t) -> c_int);
    (result, waiting::wake(mutex.addr(), 1))
}

/// C: `pthread_mutex_lock`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int {
    match is_simulated() {
        true => lock(mutex, None),
        false => real!(c"pthread_mutex_lock", (mutex => *mut pthread_mutex_t) -> c_int),
    }
}

/// C: `pthread_mutex_timedlock`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_timedlock(
    mutex: *mut pthread_mutex_t,
    time: *const timespec,
) -> c_int {
    if !is_served() {
        return real!(c"pthread_mutex_timedlock",
            (mutex => *mut pthread_mutex_t, time => *const timespec) -> c_int);
    }
    // SAFETY: the program passes a time.
    match deadline_ps(unsafe { &*time }) {
        Some(deadline_ps) => lock(mutex, Some(deadline_ps)),
        None => libc::EINVAL,
    }
}

/// C: `pthread_mutex_unlock`. A waiter runs before this thread goes on, and so gets the lock before this one wants it again.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    let (result, woken) = unlock(mutex);
    if woken > 0 {
        clocks::pause();
    }
    result
}

/// C: `pthread_spin_lock`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_spin_lock(lock: *mut pthread_spinlock_t) -> c_int {
    if !is_simulated() {
        return real!(c"pthread_spin_lock", (lock => *mut pthread_spinlock_t) -> c_int);
    }
    let attempt = || {
        // SAFETY: the program's lock.
        let result = unsafe { libc::pthread_spin_trylock(lock) };
        (result != libc::EBUSY).then_some(result)
    };
    wait_until(lock.addr(), None, attempt).expect("there is no deadline")
}

/// C: `pthread_spin_unlock`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_spin_unlock(lock: *mut pthread_spinlock_t) -> c_int {
    let result = real!(c"pthread_spin_unlock", (lock => *mut pthread_spinlock_t) -> c_int);
    waiting::wake(lock.addr(), 1);
    result
}
