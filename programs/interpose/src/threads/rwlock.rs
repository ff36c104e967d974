// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks of readers and writers.

use std::ffi::c_int;

use gyre_remote::waiting;
use libc::{pthread_rwlock_t, timespec};

use super::{is_served, is_simulated, wait_until};
use crate::clocks::deadline_ps;
use crate::real::real;

/// Locks by an attempt that answers `EBUSY` where others hold the lock.
fn lock(
    lock: *mut pthread_rwlock_t,
    deadline_ps: Option<u64>,
    attempt: unsafe extern "C" fn(*mut pthread_rwlock_t) -> c_int,
) -> c_int {
    let attempt = || {
        // SAFETY: the program's lock.
        let result = unsafe { attempt(lock) };
        (result != libc::EBUSY).then_some(result)
    };
    wait_until(lock.addr(), deadline_ps, attempt).unwrap_or(libc::ETIMEDOUT)
}

/// Exports the four ways to wait for a lock.
macro_rules! waits {
    ($($name:ident $real:literal by $attempt:ident;)*) => {
        $(
            #[doc = concat!("C: `", stringify!($name), "`.")]
            ///
            /// # Safety
            /// As the C library says.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(rwlock: *mut pthread_rwlock_t) -> c_int {
                match is_simulated() {
                    true => lock(rwlock, None, libc::$attempt),
                    false => real!($real, (rwlock => *mut pthread_rwlock_t) -> c_int),
                }
            }
        )*
    };
    (timed $($name:ident $real:literal by $attempt:ident;)*) => {
        $(
            #[doc = concat!("C: `", stringify!($name), "`. All clocks are the machine's.")]
            ///
            /// # Safety
            /// As the C library says.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(
                rwlock: *mut pthread_rwlock_t,
                time: *const timespec,
            ) -> c_int {
                if !is_served() {
                    return real!($real, (rwlock => *mut pthread_rwlock_t, time => *const timespec) -> c_int);
                }
                // SAFETY: the program passes a time.
                match deadline_ps(unsafe { &*time }) {
                    Some(deadline_ps) => lock(rwlock, Some(deadline_ps), libc::$attempt),
                    None => libc::EINVAL,
                }
            }
        )*
    };
}

waits! {
    pthread_rwlock_rdlock c"pthread_rwlock_rdlock" by pthread_rwlock_tryrdlock;
    pthread_rwlock_wrlock c"pthread_rwlock_wrlock" by pthread_rwlock_trywrlock;
}
waits! { timed
    pthread_rwlock_timedrdlock c"pthread_rwlock_timedrdlock" by pthread_rwlock_tryrdlock;
    pthread_rwlock_timedwrlock c"pthread_rwlock_timedwrlock" by pthread_rwlock_trywrlock;
}

/// C: `pthread_rwlock_unlock`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_rwlock_unlock(rwlock: *mut pthread_rwlock_t) -> c_int {
    let result = real!(c"pthread_rwlock_unlock", (rwlock => *mut pthread_rwlock_t) -> c_int);
    // Several readers may hold it.
    waiting::wake(rwlock.addr(), usize::MAX);
    result
}
