// SPDX-License-Identifier: MIT OR Apache-2.0
//! Semaphores.

use std::ffi::c_int;

use gyre_remote::waiting;
use libc::{clockid_t, sem_t, timespec};

use super::{is_served, is_simulated, wait_until};
use crate::cancellation;
use crate::clocks::{deadline_ps, fail};
use crate::real::real;

/// Takes one of a semaphore, waiting in simulated time until `deadline_ps` at most.
fn wait(semaphore: *mut sem_t, deadline_ps: Option<u64>) -> c_int {
    let attempt = || {
        if cancellation::is_pending() {
            return Some(fail(libc::EINTR));
        }
        // SAFETY: the program's semaphore, and this thread's `errno`.
        let (result, error) = unsafe { (libc::sem_trywait(semaphore), *libc::__errno_location()) };
        (result == 0 || error != libc::EAGAIN).then_some(result)
    };
    let taken = wait_until(semaphore.addr(), deadline_ps, attempt);
    let result = taken.unwrap_or_else(|| fail(libc::ETIMEDOUT));
    cancellation::point();
    result
}

/// C: `sem_wait`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_wait(semaphore: *mut sem_t) -> c_int {
    match is_simulated() {
        true => wait(semaphore, None),
        false => real!(c"sem_wait", (semaphore => *mut sem_t) -> c_int),
    }
}

/// C: `sem_timedwait`. All clocks are the machine's.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_timedwait(
    semaphore: *mut sem_t,
    time: *const timespec,
) -> c_int {
    if !is_served() {
        return real!(c"sem_timedwait", (semaphore => *mut sem_t, time => *const timespec) -> c_int);
    }
    // SAFETY: the program passes a time.
    match deadline_ps(unsafe { &*time }) {
        Some(deadline_ps) => wait(semaphore, Some(deadline_ps)),
        None => fail(libc::EINVAL),
    }
}

/// C: `sem_clockwait`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_clockwait(
    semaphore: *mut sem_t,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    if !is_served() {
        return real!(c"sem_clockwait",
            (semaphore => *mut sem_t, clock => clockid_t, time => *const timespec) -> c_int);
    }
    // SAFETY: the program passes a time.
    match deadline_ps(unsafe { &*time }) {
        Some(deadline_ps) => wait(semaphore, Some(deadline_ps)),
        None => fail(libc::EINVAL),
    }
}

/// C: `sem_post`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_post(semaphore: *mut sem_t) -> c_int {
    let result = real!(c"sem_post", (semaphore => *mut sem_t) -> c_int);
    waiting::wake(semaphore.addr(), 1);
    result
}
