// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barriers of threads. Waiters in simulated time are counted here, as the C library does not tell the count of a barrier.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint};

use gyre_remote::waiting::{self, Waiting};
use libc::{pthread_barrier_t, pthread_barrierattr_t};
use parking_lot::Mutex;

use super::is_simulated;
use crate::boundary;
use crate::real::real;

/// Count of each barrier, and its waiting threads, by its address.
static BARRIERS: Mutex<BTreeMap<usize, (c_uint, c_uint)>> = Mutex::new(BTreeMap::new());

/// Result for one of the threads of a barrier.
const LAST: c_int = libc::PTHREAD_BARRIER_SERIAL_THREAD;

/// C: `pthread_barrier_init`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_barrier_init(
    barrier: *mut pthread_barrier_t,
    attributes: *const pthread_barrierattr_t,
    count: c_uint,
) -> c_int {
    let result = real!(c"pthread_barrier_init",
        (barrier => *mut pthread_barrier_t, attributes => *const pthread_barrierattr_t, count => c_uint) -> c_int);
    if result == 0 {
        BARRIERS.lock().insert(barrier.addr(), (count, 0));
    }
    result
}

/// C: `pthread_barrier_destroy`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_barrier_destroy(barrier: *mut pthread_barrier_t) -> c_int {
    BARRIERS.lock().remove(&barrier.addr());
    real!(c"pthread_barrier_destroy", (barrier => *mut pthread_barrier_t) -> c_int)
}

/// C: `pthread_barrier_wait`. The machine must serve all threads of a barrier, or none.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_barrier_wait(barrier: *mut pthread_barrier_t) -> c_int {
    if !is_simulated() {
        return real!(c"pthread_barrier_wait", (barrier => *mut pthread_barrier_t) -> c_int);
    }
    let key = barrier.addr();
    {
        let mut barriers = BARRIERS.lock();
        let Some((count, come)) = barriers.get_mut(&key) else {
            return libc::EINVAL;
        };
        *come += 1;
        if come == count {
            *come = 0;
            drop(barriers);
            waiting::wake(key, usize::MAX);
            return LAST;
        }
    }
    let waiting = Waiting::begin(key);
    boundary::value(|| waiting.wait(None));
    0
}
