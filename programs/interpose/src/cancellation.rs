// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cancellation of threads that the machine serves: they end at their next cancellation point, as if they had called `pthread_exit`
//! there. The C library's own cancellation is disabled for them: it would interrupt an exchange with the machine.

use std::cell::Cell;
use std::ffi::{c_int, c_long, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use gyre_remote::is_attached;

use crate::real::{Real, real};

/// States of a thread, as the C library names them.
const ENABLE: c_int = 0;
const DISABLE: c_int = 1;

/// Result of a cancelled thread.
const CANCELED: usize = usize::MAX;

thread_local! {
    /// Whether the program lets this thread be cancelled.
    static ENABLED: Cell<bool> = const { Cell::new(true) };
    /// Whether it is to end, if it can be cancelled.
    static CANCELLED: Cell<*const AtomicBool> = const { Cell::new(ptr::null()) };
}

/// Disables the C library's cancellation of this thread, which the machine serves from now on.
///
/// # Safety
/// `cancelled`, which others set, lasts until [`give_back`].
pub unsafe fn take_over(cancelled: &AtomicBool) {
    CANCELLED.set(cancelled);
    let before: *mut c_int = ptr::null_mut();
    real!(c"pthread_setcancelstate", (DISABLE => c_int, before => *mut c_int) -> c_int);
}

/// Ends the cancellation of this thread.
pub fn give_back() {
    CANCELLED.set(ptr::null());
}

/// Whether this thread is to end at its next cancellation point.
pub fn is_pending() -> bool {
    // SAFETY: null, or what `take_over` was given, which lasts.
    let cancelled = unsafe { CANCELLED.get().as_ref() };
    ENABLED.get() && cancelled.is_some_and(|cancelled| cancelled.load(Ordering::Acquire))
}

/// The C library's `pthread_exit`.
pub extern "C-unwind" fn exit(result: *mut c_void) -> ! {
    static REAL: Real = Real::new(c"pthread_exit");
    // SAFETY: the C library's function of this name has this type.
    unsafe {
        let function: unsafe extern "C-unwind" fn(*mut c_void) -> ! =
            std::mem::transmute(REAL.address());
        function(result)
    }
}

/// Ends this thread if it is cancelled. Nothing of the caller may have to be dropped.
pub extern "C-unwind" fn point() {
    if is_pending() {
        end();
    }
}

/// Ends this thread.
pub extern "C-unwind" fn end() {
    // No more points while it unwinds.
    ENABLED.set(false);
    exit(ptr::without_provenance_mut(CANCELED))
}

/// Whether the system call of this number is a cancellation point.
pub fn is_point(number: c_long) -> bool {
    matches!(
        number,
        libc::SYS_nanosleep
            | libc::SYS_clock_nanosleep
            | libc::SYS_poll
            | libc::SYS_ppoll
            | libc::SYS_select
            | libc::SYS_pselect6
            | libc::SYS_epoll_wait
            | libc::SYS_epoll_pwait
            | libc::SYS_epoll_pwait2
            | libc::SYS_read
            | libc::SYS_readv
            | libc::SYS_write
            | libc::SYS_writev
            | libc::SYS_recvfrom
            | libc::SYS_recvmsg
            | libc::SYS_sendto
            | libc::SYS_sendmsg
            | libc::SYS_accept
            | libc::SYS_accept4
    )
}

/// C: `pthread_setcancelstate`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int {
    if !is_attached() {
        return real!(c"pthread_setcancelstate", (state => c_int, before => *mut c_int) -> c_int);
    }
    if ![ENABLE, DISABLE].contains(&state) {
        return libc::EINVAL;
    }
    let enabled = ENABLED.replace(state == ENABLE);
    if !before.is_null() {
        // SAFETY: the program passes a place.
        unsafe { before.write(if enabled { ENABLE } else { DISABLE }) };
    }
    0
}

/// C: `pthread_testcancel`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pthread_testcancel() {
    if is_attached() {
        point();
        return;
    }
    static REAL: Real = Real::new(c"pthread_testcancel");
    // SAFETY: the C library's function of this name has this type.
    unsafe {
        let function: unsafe extern "C-unwind" fn() = std::mem::transmute(REAL.address());
        function();
    }
}
