// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dispatched calls by their numbers: those that wait or tell time are the machine's, all others the system's.

use std::ffi::{c_int, c_long};

use super::call::{Call, error};
use super::{children, descriptors, futex, signals};
use crate::clocks;

/// Result of a function of the C library that sets `errno`, as the system returns it.
fn by_errno(result: c_int) -> c_long {
    match result {
        -1 => error(errno()),
        result => result.into(),
    }
}

fn errno() -> c_int {
    // SAFETY: the address of this thread's `errno`.
    unsafe { *libc::__errno_location() }
}

/// Carries out a call that tells time or sleeps.
fn of_clock(call: &Call) -> c_long {
    let int = |index| call.int(index);
    // SAFETY: the program passes times and places for them.
    unsafe {
        match call.number {
            libc::SYS_nanosleep => {
                by_errno(clocks::sleep_as_asked(call.address(0), call.address(1)))
            }
            libc::SYS_clock_nanosleep => {
                let (time, left) = (call.address(2), call.address(3));
                error(clocks::sleep_by_clock(int(0), int(1), time, left))
            }
            libc::SYS_clock_gettime => by_errno(clocks::clock_gettime(int(0), call.address(1))),
            libc::SYS_gettimeofday => {
                by_errno(clocks::gettimeofday(call.address(0), call.address(1)))
            }
            _ => clocks::time(call.address(0)),
        }
    }
}

/// Carries out a call in the machine, or by the system.
pub fn carry_out(call: &Call) -> c_long {
    let [a, b, ..] = call.arguments;
    match call.number {
        libc::SYS_futex => futex::futex(call),
        libc::SYS_nanosleep
        | libc::SYS_clock_nanosleep
        | libc::SYS_clock_gettime
        | libc::SYS_gettimeofday
        | libc::SYS_time => of_clock(call),
        libc::SYS_sched_yield => by_errno(clocks::sched_yield()),
        libc::SYS_poll
        | libc::SYS_ppoll
        | libc::SYS_select
        | libc::SYS_pselect6
        | libc::SYS_epoll_wait
        | libc::SYS_epoll_pwait
        | libc::SYS_epoll_pwait2 => descriptors::await_any(call),
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_recvfrom
        | libc::SYS_recvmsg
        | libc::SYS_accept
        | libc::SYS_accept4 => descriptors::await_one(call, libc::POLLIN),
        libc::SYS_write | libc::SYS_writev | libc::SYS_sendto | libc::SYS_sendmsg => {
            descriptors::await_one(call, libc::POLLOUT)
        }
        // Closing an end lets others see it.
        libc::SYS_close
        | libc::SYS_shutdown
        | libc::SYS_dup2
        | libc::SYS_dup3
        | libc::SYS_close_range => descriptors::changed(call.native()),
        libc::SYS_rt_sigaction => signals::set_action(call),
        libc::SYS_clone if a & libc::CLONE_VM as usize == 0 && b == 0 => children::fork(call),
        libc::SYS_fork => children::fork(call),
        _ => call.native(),
    }
}
