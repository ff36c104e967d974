// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conditions. Threads in simulated time wait here; others in the C library.

use std::ffi::c_int;

use gyre_remote::waiting::{self, Waiting};
use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, timespec};

use super::mutex;
use super::{is_served, is_simulated};
use crate::boundary;
use crate::cancellation;
use crate::clocks::deadline_ps;
use crate::real::real;

/// Waits in simulated time until the condition is signalled, or until `deadline_ps`.
fn wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    deadline_ps: Option<u64>,
) -> c_int {
    let waiting = Waiting::begin(condition.addr());
    let unlocked = mutex::release(mutex);
    if unlocked != 0 {
        return unlocked;
    }
    let woken = boundary::value(|| waiting.wait(deadline_ps));
    let locked = mutex::lock(mutex, None);
    cancellation::point();
    match locked {
        0 if !woken => libc::ETIMEDOUT,
        locked => locked,
    }
}

/// C: `pthread_cond_wait`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
) -> c_int {
    match is_simulated() {
        true => wait(condition, mutex, None),
        false => real!(c"pthread_cond_wait" of c"GLIBC_2.3.2",
            (condition => *mut pthread_cond_t, mutex => *mut pthread_mutex_t) -> c_int),
    }
}

/// C: `pthread_cond_timedwait`. All clocks are the machine's.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_timedwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    time: *const timespec,
) -> c_int {
    if !is_served() {
        return real!(c"pthread_cond_timedwait" of c"GLIBC_2.3.2",
            (condition => *mut pthread_cond_t, mutex => *mut pthread_mutex_t, time => *const timespec) -> c_int);
    }
    // SAFETY: the program passes a time.
    match deadline_ps(unsafe { &*time }) {
        Some(deadline_ps) => wait(condition, mutex, Some(deadline_ps)),
        None => libc::EINVAL,
    }
}

/// C: `pthread_cond_clockwait`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_clockwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    if !is_served() {
        return real!(c"pthread_cond_clockwait",
            (condition => *mut pthread_cond_t, mutex => *mut pthread_mutex_t, clock => clockid_t, time => *const timespec)
            -> c_int);
    }
    // SAFETY: the program passes a time.
    match deadline_ps(unsafe { &*time }) {
        Some(deadline_ps) => wait(condition, mutex, Some(deadline_ps)),
        None => libc::EINVAL,
    }
}

/// C: `pthread_cond_signal`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_signal(condition: *mut pthread_cond_t) -> c_int {
    waiting::wake(condition.addr(), 1);
    real!(c"pthread_cond_signal" of c"GLIBC_2.3.2", (condition => *mut pthread_cond_t) -> c_int)
}

/// C: `pthread_cond_broadcast`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_broadcast(condition: *mut pthread_cond_t) -> c_int {
    waiting::wake(condition.addr(), usize::MAX);
    real!(c"pthread_cond_broadcast" of c"GLIBC_2.3.2", (condition => *mut pthread_cond_t) -> c_int)
}
