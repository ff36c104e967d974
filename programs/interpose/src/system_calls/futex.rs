// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futexes: threads of a task wait for each other in simulated time.

use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use gyre_remote::StartedThread;
use gyre_remote::waiting::{self, Waiting};
use libc::timespec;

use super::call::{Call, error, system_call};
use super::children::Looks;

use crate::cancellation;
use crate::clocks::{self, deadline_ps};
use crate::threads::leaving::are_leaving;

/// Operation without its flags.
const OPERATION: c_int = !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);

/// `futex`. Operations that neither wait nor wake in these ways are the system's.
pub fn futex(call: &Call) -> c_long {
    let operation = call.int(1) & OPERATION;
    let count = call.word(2) as usize;
    let key = call.arguments[0];
    match operation {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => wait(call, operation),
        libc::FUTEX_WAKE => woken(call, waiting::wake(key, count)),
        libc::FUTEX_WAKE_BITSET => woken(call, waiting::wake_masked(key, count, call.word(5))),
        libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE => {
            if operation == libc::FUTEX_CMP_REQUEUE && value(key) != call.word(5) {
                return error(libc::EAGAIN);
            }
            let woken = waiting::wake(key, count);
            let to = call.arguments[4];
            let moved = waiting::requeue(key, to, call.word(3) as usize);
            (woken + moved) as c_long
        }
        libc::FUTEX_WAKE_OP => wake_by_operation(call),
        _ => call.native(),
    }
}

/// The word of a futex.
fn word<'a>(key: usize) -> &'a AtomicU32 {
    // SAFETY: the program's futex: a word that lasts as long as the call. Programs change it by atomic operations.
    unsafe { &*std::ptr::with_exposed_provenance(key) }
}

fn value(key: usize) -> u32 {
    word(key).load(Ordering::SeqCst)
}

/// The result of a call that has woken so many, after it has woken those that the machine does not serve: threads before their first
/// turn, and after their last.
fn woken(call: &Call, woken: usize) -> c_long {
    woken as c_long + call.native().max(0)
}

/// Longest wait of the host for a change of a futex by a thread that is ending.
static MOMENT: timespec = timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};

/// Waits for threads that have left the machine, as they may hold what the caller wants, or for a change of the futex.
fn let_others_end(key: usize, expected: u32) {
    while value(key) == expected && are_leaving() {
        let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        let moment = (&raw const MOMENT).expose_provenance();
        let arguments = [key, operation as usize, expected as usize, moment, 0, 0];
        // SAFETY: the program's futex, and a time.
        unsafe { system_call(libc::SYS_futex, arguments) };
    }
}

fn wait(call: &Call, operation: c_int) -> c_long {
    let (key, expected) = (call.arguments[0], call.word(2));
    if !key.is_multiple_of(align_of::<u32>()) {
        return error(libc::EINVAL);
    }
    if key == 0 {
        return error(libc::EFAULT);
    }
    let time = call.address::<timespec>(3).cast_const();
    // SAFETY: the program passes a time or nothing.
    let time = unsafe { time.as_ref() };
    let deadline_ps = match time {
        None => None,
        Some(time) => {
            let until = match operation {
                libc::FUTEX_WAIT => clocks::after(time),
                _ => deadline_ps(time),
            };
            match until {
                Some(until) => Some(until),
                None => return error(libc::EINVAL),
            }
        }
    };
    let mask = match operation {
        libc::FUTEX_WAIT => u32::MAX,
        _ => call.word(5),
    };
    // Another process, or the system, may wake a shared one.
    let is_shared = call.int(1) & libc::FUTEX_PRIVATE_FLAG == 0;
    let alone = !StartedThread::several() && !waiting::has_others();
    if alone && is_shared && deadline_ps.is_none() {
        return call.native();
    }
    if value(key) != expected {
        return error(libc::EAGAIN);
    }
    let_others_end(key, expected);
    if value(key) != expected {
        return 0;
    }
    let mut looks = Looks::new();
    loop {
        let waiting = Waiting::begin_masked(key, mask);
        let look_ps = looks.next_ps(is_shared);
        let until_ps = deadline_ps.into_iter().chain(look_ps).min();
        let woken = waiting.wait_until(until_ps);
        if cancellation::is_pending() {
            return error(libc::EINTR);
        }
        if woken || value(key) != expected {
            return 0;
        }
        if deadline_ps.is_some_and(|deadline_ps| deadline_ps <= clocks::now_ps()) {
            return error(libc::ETIMEDOUT);
        }
    }
}

/// `FUTEX_WAKE_OP`: changes a second futex, and wakes waiters of both.
fn wake_by_operation(call: &Call) -> c_long {
    let (key, second, code) = (call.arguments[0], call.arguments[4], call.word(5));
    let sign_extended = |shift: u32| (((code >> shift) << 20).cast_signed()) >> 20;
    let (operand, compared) = (sign_extended(12), sign_extended(0));
    let operand = match code >> 31 {
        1 => 1i32.wrapping_shl(operand.cast_unsigned()),
        _ => operand,
    };
    // SAFETY: the program's second futex, as in `word`.
    let word: &AtomicI32 = unsafe { &*std::ptr::with_exposed_provenance(second) };
    let order = Ordering::SeqCst;
    let before = match (code >> 28) & 7 {
        0 => word.swap(operand, order),
        1 => word.fetch_add(operand, order),
        2 => word.fetch_or(operand, order),
        3 => word.fetch_and(!operand, order),
        4 => word.fetch_xor(operand, order),
        _ => return error(libc::ENOSYS),
    };
    let holds = match (code >> 24) & 15 {
        0 => before == compared,
        1 => before != compared,
        2 => before < compared,
        3 => before <= compared,
        4 => before > compared,
        5 => before >= compared,
        _ => return error(libc::ENOSYS),
    };
    let mut woken = waiting::wake(key, call.word(2) as usize);
    if holds {
        woken += waiting::wake(second, call.word(3) as usize);
    }
    woken as c_long
}
