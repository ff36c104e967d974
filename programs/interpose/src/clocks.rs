// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of the C library that tell time or sleep, in place of the C library's own: in a task, time is the machine's.
//!
//! A program linked with one of the libraries finds these first. Outside of a task, and in threads that the machine does not serve
//! (`threads`), they are the system's. The clocks count from the beginning of 2026, so that runs on different days print the same.
//! Before the first client there is no machine: clocks then advance by a millisecond when the thread yields, and once every
//! 100,000 reads, so times recorded by libraries at load repeat too. With a machine, a read takes 20 ns,
//! so a loop that polls a clock ends.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use gyre_driver::Platform as _;
use gyre_remote::StartedThread;
use gyre_remote::waiting::Waiting;
use libc::{clockid_t, time_t, timespec, timeval};
use rustix::thread::{NanosleepRelativeResult, nanosleep as system_sleep};
use rustix::time::Timespec;

use crate::boundary;
use crate::cancellation;
use crate::job::Job;

/// Beginning of the machine's time: seconds since 1970.
const EPOCH_S: u64 = 1_767_225_600;

/// Picoseconds of a second and of a nanosecond.
const SECOND_PS: u64 = 1_000_000_000_000;
const NANOSECOND_PS: u64 = 1_000;

/// Time before there is a machine, from yields, reads of a clock and sleeps, picoseconds. The machine's time continues from it.
static BEFORE_PS: AtomicU64 = AtomicU64::new(0);

/// Reads of a clock so far, before there is a machine.
static LOOKS: AtomicU64 = AtomicU64::new(0);

/// Reads that advance the time by a step; a yield advances it too. The number is large, as runs differ by a few reads.
const MANY_LOOKS: u64 = 100_000;
const STEP_PS: u64 = 1_000_000_000;

/// Length of a yield to other threads of the task, picoseconds.
const YIELD_PS: u64 = 100_000;

/// The machine's time in picoseconds, for the thread of a task.
fn machine_ps() -> Option<u64> {
    if Job::is_apart() {
        if LOOKS.fetch_add(1, Ordering::Relaxed) % MANY_LOOKS == MANY_LOOKS - 1 {
            BEFORE_PS.fetch_add(STEP_PS, Ordering::Relaxed);
        }
        return Some(BEFORE_PS.load(Ordering::Relaxed));
    }
    boundary::value(|| {
        Job::of_this_thread().map(|job| BEFORE_PS.load(Ordering::Relaxed) + job.platform.clock_ps())
    })
}

/// The machine's time at a fork, picoseconds.
static FORKED_PS: AtomicU64 = AtomicU64::new(0);

/// Notes the time for [`leave`].
pub fn note_time() {
    FORKED_PS.store(now_ps(), Ordering::Relaxed);
}

/// Goes on from the time that was noted, in a child that the machine does not serve.
pub fn leave() {
    BEFORE_PS.fetch_add(FORKED_PS.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// C: `sched_yield`. Lets other threads of the task run for a little while; no time passes if there are none.
#[unsafe(no_mangle)]
pub extern "C" fn sched_yield() -> c_int {
    if Job::is_apart() {
        BEFORE_PS.fetch_add(STEP_PS, Ordering::Relaxed);
    }
    if Job::of_this_thread().is_none() {
        rustix::thread::sched_yield();
    } else if StartedThread::several() {
        machine_sleep(YIELD_PS);
    }
    0
}

/// Sleeps in the machine's time; returns false outside of a task.
fn machine_sleep(ps: u64) -> bool {
    boundary::value(|| {
        let Some(job) = Job::of_this_thread() else {
            return false;
        };
        let until = job.platform.now_ps().saturating_add(ps);
        job.platform.sleep_until(until);
        true
    })
}

/// The machine's time for this thread, which it serves, picoseconds.
pub fn now_ps() -> u64 {
    Job::of_this_thread().map_or(0, |job| job.platform.now_ps())
}

/// Notes that this thread, which the machine serves, does not wait in vain.
pub fn note_look() {
    if let Some(job) = Job::of_this_thread() {
        // Its time is not of interest.
        let _ = job.platform.clock_ps();
    }
}

/// Sleeps until this time of the machine, which serves the thread.
pub fn sleep_until(ps: u64) {
    machine_sleep(ps.saturating_sub(now_ps()));
}

/// Lets a little simulated time pass after a call in vain, or for one whom this thread has woken.
pub fn pause() {
    machine_sleep(YIELD_PS);
}

/// The machine's time after a pause, picoseconds; none for nanoseconds beyond a second.
pub fn after(pause: &timespec) -> Option<u64> {
    let seconds = u64::try_from(pause.tv_sec).ok()?;
    let nanoseconds = u64::try_from(pause.tv_nsec).ok()?;
    let ps = seconds
        .saturating_mul(SECOND_PS)
        .saturating_add(nanoseconds * NANOSECOND_PS);
    (nanoseconds < 1_000_000_000).then(|| now_ps().saturating_add(ps))
}

/// Sleeps in the machine's time, as the program wants, until another thread cancels this one at most; returns false outside of a task.
fn interruptible_sleep(ps: u64) -> bool {
    if !StartedThread::several() {
        return machine_sleep(ps);
    }
    boundary::value(|| {
        let Some(job) = Job::of_this_thread() else {
            return false;
        };
        // Others need not act meanwhile.
        let until_ps = job.platform.clock_ps().saturating_add(ps);
        let waiting = Waiting::begin((&raw const until_ps).addr());
        waiting.wait_until(Some(until_ps));
        true
    })
}

/// Converts a time on the program's clocks to the machine's time, picoseconds; none for nanoseconds beyond a second.
pub fn deadline_ps(time: &timespec) -> Option<u64> {
    let nanoseconds = u64::try_from(time.tv_nsec).ok()?;
    if nanoseconds >= 1_000_000_000 {
        return None;
    }
    // A time before the epoch has passed.
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let since = seconds.saturating_sub(EPOCH_S).saturating_mul(SECOND_PS);
    let ps = since.saturating_add(nanoseconds * NANOSECOND_PS);
    let ps = if seconds < EPOCH_S { 0 } else { ps };
    Some(ps.saturating_sub(BEFORE_PS.load(Ordering::Relaxed)))
}

/// Converts to a clock's time: seconds and picoseconds of a second.
fn clock(ps: u64) -> (i64, u64) {
    // Far below 2^63.
    ((EPOCH_S + ps / SECOND_PS) as i64, ps % SECOND_PS)
}

/// The system's clock.
fn system_clock(id: clockid_t) -> Option<Timespec> {
    let id = match id {
        libc::CLOCK_MONOTONIC => rustix::time::ClockId::Monotonic,
        libc::CLOCK_REALTIME => rustix::time::ClockId::Realtime,
        libc::CLOCK_PROCESS_CPUTIME_ID => rustix::time::ClockId::ProcessCPUTime,
        libc::CLOCK_THREAD_CPUTIME_ID => rustix::time::ClockId::ThreadCPUTime,
        libc::CLOCK_MONOTONIC_RAW => rustix::time::ClockId::MonotonicRaw,
        libc::CLOCK_REALTIME_COARSE => rustix::time::ClockId::RealtimeCoarse,
        libc::CLOCK_MONOTONIC_COARSE => rustix::time::ClockId::MonotonicCoarse,
        libc::CLOCK_BOOTTIME => rustix::time::ClockId::Boottime,
        _ => return None,
    };
    Some(rustix::time::clock_gettime(id))
}

/// Sets `errno` and returns -1.
pub fn fail(error: c_int) -> c_int {
    // SAFETY: the address of this thread's `errno`.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// C: `clock_gettime`. All clocks of a task are the machine's, those of processor time too: computation takes none.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(id: clockid_t, into: *mut timespec) -> c_int {
    let Some(system) = system_clock(id) else {
        return fail(libc::EINVAL);
    };
    let time = match machine_ps() {
        Some(ps) => {
            let (tv_sec, rest) = clock(ps);
            // Below 10^9.
            let tv_nsec = (rest / NANOSECOND_PS) as i64;
            timespec { tv_sec, tv_nsec }
        }
        None => timespec {
            tv_sec: system.tv_sec,
            tv_nsec: system.tv_nsec,
        },
    };
    if into.is_null() {
        return fail(libc::EFAULT);
    }
    // SAFETY: the program passes a place for the time.
    unsafe { into.write(time) };
    0
}

/// C: `gettimeofday`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(into: *mut timeval, _zone: *mut c_void) -> c_int {
    let mut time = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a place for the time.
    let result = unsafe { clock_gettime(libc::CLOCK_REALTIME, &raw mut time) };
    if result == 0 && !into.is_null() {
        let tv_usec = time.tv_nsec / 1000;
        let tv_sec = time.tv_sec;
        // SAFETY: the program passes a place for the time.
        unsafe { into.write(timeval { tv_sec, tv_usec }) };
    }
    result
}

/// C: `time`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(into: *mut time_t) -> time_t {
    let mut time = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a place for the time.
    unsafe { clock_gettime(libc::CLOCK_REALTIME, &raw mut time) };
    if !into.is_null() {
        // SAFETY: the program passes a place for the time.
        unsafe { into.write(time.tv_sec) };
    }
    time.tv_sec
}

/// Sleeps, in the machine's time if this is the thread of a task. The error is the rest of a sleep that a signal has ended.
fn sleep_for(time: &timespec) -> Result<(), timespec> {
    // Both were checked.
    let (seconds, nanoseconds) = (time.tv_sec as u64, time.tv_nsec as u64);
    let ps = seconds
        .saturating_mul(SECOND_PS)
        .saturating_add(nanoseconds * NANOSECOND_PS);
    if interruptible_sleep(ps) {
        return Ok(());
    }
    if Job::is_apart() {
        BEFORE_PS.fetch_add(ps, Ordering::Relaxed);
    }
    let time = Timespec {
        tv_sec: time.tv_sec,
        tv_nsec: time.tv_nsec,
    };
    match system_sleep(&time) {
        NanosleepRelativeResult::Interrupted(left) => Err(timespec {
            tv_sec: left.tv_sec,
            tv_nsec: left.tv_nsec,
        }),
        _ => Ok(()),
    }
}

/// C: `nanosleep`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: as the caller says.
    let result = unsafe { sleep_as_asked(time, left) };
    cancellation::point();
    result
}

/// [`nanosleep`], without its cancellation point.
///
/// # Safety
/// As the C library says.
pub unsafe fn sleep_as_asked(time: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the program passes a time.
    let Some(time) = (unsafe { time.as_ref() }) else {
        return fail(libc::EFAULT);
    };
    if time.tv_sec < 0 || !(0..1_000_000_000).contains(&time.tv_nsec) {
        return fail(libc::EINVAL);
    }
    match sleep_for(time) {
        Ok(()) => 0,
        Err(rest) => {
            if !left.is_null() {
                // SAFETY: the program passes a place for what is left.
                unsafe { left.write(rest) };
            }
            fail(libc::EINTR)
        }
    }
}

/// C: `clock_nanosleep`. All clocks are the machine's.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    // SAFETY: as the caller says.
    let result = unsafe { sleep_by_clock(clock, flags, time, left) };
    cancellation::point();
    result
}

/// [`clock_nanosleep`], without its cancellation point.
///
/// # Safety
/// As the C library says.
pub unsafe fn sleep_by_clock(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    // SAFETY: the program passes a time.
    let Some(until) = (unsafe { time.as_ref() }) else {
        return libc::EFAULT;
    };
    if system_clock(clock).is_none() || !(0..1_000_000_000).contains(&until.tv_nsec) {
        return libc::EINVAL;
    }
    if flags & libc::TIMER_ABSTIME == 0 {
        // SAFETY: the program passes a time and a place for what is left.
        return match unsafe { sleep_as_asked(time, left) } {
            0 => 0,
            // SAFETY: the address of this thread's `errno`.
            _ => unsafe { *libc::__errno_location() },
        };
    }
    let mut now = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a place for the time.
    if unsafe { clock_gettime(clock, &raw mut now) } != 0 {
        return libc::EINVAL;
    }
    let borrow = until.tv_nsec < now.tv_nsec;
    let pause = timespec {
        tv_sec: until.tv_sec.saturating_sub(now.tv_sec) - i64::from(borrow),
        tv_nsec: until.tv_nsec - now.tv_nsec + if borrow { 1_000_000_000 } else { 0 },
    };
    if pause.tv_sec < 0 {
        return 0;
    }
    sleep_for(&pause).map_or(libc::EINTR, |()| 0)
}

/// C: `usleep`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn usleep(microseconds: c_uint) -> c_int {
    let time = timespec {
        tv_sec: i64::from(microseconds / 1_000_000),
        tv_nsec: i64::from(microseconds % 1_000_000) * 1000,
    };
    // SAFETY: a time, and no place for what is left.
    unsafe { nanosleep(&raw const time, ptr::null_mut()) }
}

/// C: `sleep`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    let time = timespec {
        tv_sec: i64::from(seconds),
        tv_nsec: 0,
    };
    // The rest is not longer than the argument.
    let left = sleep_for(&time).map_or_else(|left| left.tv_sec as c_uint, |()| 0);
    cancellation::point();
    left
}

/// C: `gyre_compute`. Charges computation, nanoseconds of simulated time. No effect outside of a task.
#[unsafe(no_mangle)]
pub extern "C" fn gyre_compute(nanoseconds: u64) {
    boundary::value(|| {
        if let Some(job) = Job::of_this_thread() {
            job.platform.compute(nanoseconds.saturating_mul(1000));
        }
    });
}
