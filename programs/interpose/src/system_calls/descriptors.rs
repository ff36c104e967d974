// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits for descriptors: poll, select, epoll, and reads and writes that would block.

use std::ffi::{c_int, c_long, c_short};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use gyre_remote::StartedThread;
use gyre_remote::waiting::{self, Waiting};
use libc::{pollfd, timespec, timeval};

use super::call::{Call, error, system_call};
use super::children::{self, Looks};
use super::signals;
use crate::{cancellation, clocks};

/// Address that stands for all descriptors: waiters look again after each call that may change one.
static DESCRIPTORS: AtomicUsize = AtomicUsize::new(0);

fn key() -> usize {
    (&raw const DESCRIPTORS).addr()
}

/// Notes that a call may have changed a descriptor.
pub fn changed(result: c_long) -> c_long {
    if DESCRIPTORS.load(Ordering::Relaxed) > 0 {
        waiting::wake(key(), usize::MAX);
    }
    result
}

/// A result of a call that would have waited.
fn is_vain(result: c_long) -> bool {
    result == 0 || result == error(libc::EAGAIN)
}

/// Repeats `look` until its result is not in vain or the deadline has come, with waits between; returns the last result.
fn wait(deadline_ps: Option<u64>, look: impl Fn() -> c_long) -> c_long {
    DESCRIPTORS.fetch_add(1, Ordering::Relaxed);
    let mut looks = Looks::new();
    let result = loop {
        let waiting = Waiting::begin(key());
        let result = look();
        let over = deadline_ps.is_some_and(|deadline_ps| deadline_ps <= clocks::now_ps());
        if !is_vain(result) || over {
            break result;
        }
        // Other threads of the task say when a descriptor may have changed; other programs do not.
        let look_ps = looks.next_ps(deadline_ps.is_none());
        waiting.wait_until(deadline_ps.into_iter().chain(look_ps).min());
        if cancellation::is_pending() {
            break error(libc::EINTR);
        }
    };
    DESCRIPTORS.fetch_sub(1, Ordering::Relaxed);
    result
}

/// Time limit of a wait.
enum Limit {
    /// None: it waits for an event.
    Never,
    /// Until this simulated time, picoseconds.
    At(u64),
    /// No wait.
    Now,
}

fn after(time: Option<&timespec>) -> Result<Limit, c_long> {
    match time {
        None => Ok(Limit::Never),
        Some(timespec {
            tv_sec: 0,
            tv_nsec: 0,
        }) => Ok(Limit::Now),
        Some(time) if time.tv_sec < 0 => Err(error(libc::EINVAL)),
        Some(time) => match clocks::after(time) {
            Some(until_ps) => Ok(Limit::At(until_ps)),
            None => Err(error(libc::EINVAL)),
        },
    }
}

fn after_ms(milliseconds: c_int) -> Result<Limit, c_long> {
    if milliseconds < 0 {
        return Ok(Limit::Never);
    }
    let milliseconds = i64::from(milliseconds);
    after(Some(&timespec {
        tv_sec: milliseconds / 1000,
        tv_nsec: milliseconds % 1000 * 1_000_000,
    }))
}

/// The time limit of a call that waits for descriptors.
fn limit(call: &Call) -> Result<Limit, c_long> {
    match call.number {
        libc::SYS_poll => after_ms(call.int(2)),
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => after_ms(call.int(3)),
        libc::SYS_select => {
            // SAFETY: the program passes a time or nothing.
            let Some(time) = (unsafe { call.address::<timeval>(4).as_ref() }) else {
                return Ok(Limit::Never);
            };
            if time.tv_usec < 0 {
                return Err(error(libc::EINVAL));
            }
            after(Some(&timespec {
                tv_sec: time.tv_sec + time.tv_usec / 1_000_000,
                tv_nsec: time.tv_usec % 1_000_000 * 1000,
            }))
        }
        number => {
            let time = call.address::<timespec>(place_of_time(number));
            // SAFETY: the program passes a time or nothing.
            after(unsafe { time.as_ref() })
        }
    }
}

/// Argument of a call that is the address of its time limit.
fn place_of_time(number: c_long) -> usize {
    match number {
        libc::SYS_ppoll => 2,
        libc::SYS_epoll_pwait2 => 3,
        _ => 4,
    }
}

/// A call that waits for descriptors, as the system gets it.
struct Look {
    call: Call,
    /// Where the program's sets of descriptors are, and what they held: each call changes them.
    sets: Vec<(*mut u64, Vec<u64>)>,
    /// The set of signals that are blocked meanwhile.
    mask: Option<u64>,
}

/// A set of signals and its length, as `pselect6` takes them.
#[repr(C)]
#[derive(Clone, Copy)]
struct SetAndLength(usize, usize);

impl Look {
    fn new(call: &Call) -> Self {
        let is_select = matches!(call.number, libc::SYS_select | libc::SYS_pselect6);
        let words = match is_select {
            true => usize::try_from(call.int(0)).unwrap_or(0).div_ceil(64),
            false => 0,
        };
        let sets = (1..4).map(|index| call.address::<u64>(index));
        let sets = sets.filter(|set| is_select && !set.is_null());
        let held = |set: *mut u64| {
            // SAFETY: the program's set has so many words.
            let word = |word| unsafe { set.add(word).read_unaligned() };
            (set, (0..words).map(word).collect())
        };
        let mask = match call.number {
            libc::SYS_ppoll => call.arguments[3],
            libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => call.arguments[4],
            libc::SYS_pselect6 if call.arguments[5] != 0 => {
                // SAFETY: the program passes both.
                unsafe { call.address::<SetAndLength>(5).read() }.0
            }
            _ => 0,
        };
        Self {
            call: *call,
            sets: sets.map(held).collect(),
            mask: signals::set_of(std::ptr::with_exposed_provenance(mask)),
        }
    }

    /// Makes the call; without a wait if it is to return `at_once`.
    fn make(&self, at_once: bool) -> c_long {
        let mut call = self.call;
        let mask = self.mask.unwrap_or(0);
        let at = (&raw const mask).addr();
        let with_length = SetAndLength(at, size_of::<u64>());
        if self.mask.is_some() {
            match call.number {
                libc::SYS_ppoll => call.arguments[3] = at,
                libc::SYS_pselect6 => call.arguments[5] = (&raw const with_length).addr(),
                _ => call.arguments[4] = at,
            }
        }
        for (set, held) in &self.sets {
            for (index, word) in held.iter().enumerate() {
                // SAFETY: the program's set has so many words.
                unsafe { set.add(index).write_unaligned(*word) };
            }
        }
        // The system may change it.
        let mut no_time = [0u64; 2];
        if at_once {
            match call.number {
                libc::SYS_poll => call.arguments[2] = 0,
                libc::SYS_epoll_wait | libc::SYS_epoll_pwait => call.arguments[3] = 0,
                number => {
                    let place = place_of_time(number);
                    call.arguments[place] = (&raw mut no_time).expose_provenance();
                }
            }
        }
        call.native()
    }
}

/// Whether no other thread of the task can end a wait of this one.
fn is_alone() -> bool {
    !StartedThread::several() && !waiting::has_others()
}

/// `poll`, `select`, `epoll_wait` and their kin.
pub fn await_any(call: &Call) -> c_long {
    let look = Look::new(call);
    let limit = match limit(call) {
        Ok(limit) => limit,
        Err(error) => return error,
    };
    match limit {
        Limit::Now => {
            let result = look.make(true);
            if result == 0 {
                clocks::pause();
            }
            result
        }
        // The machine stands still meanwhile.
        Limit::Never if is_alone() => look.make(false),
        Limit::Never => wait(None, || look.make(true)),
        Limit::At(until_ps) => {
            if is_alone() && children::any() {
                // Children take the host's time.
                let result = look.make(false);
                if result == 0 {
                    clocks::sleep_until(until_ps);
                }
                return result;
            }
            let result = wait(Some(until_ps), || look.make(true));
            tell_left(call, until_ps);
            result
        }
    }
}

/// Tells the program what is left of its time limit, where the system does.
fn tell_left(call: &Call, until_ps: u64) {
    let left_ns = until_ps.saturating_sub(clocks::now_ps()) / 1000;
    // Seconds are far below 2^63.
    let (seconds, nanoseconds) = (
        (left_ns / 1_000_000_000) as i64,
        (left_ns % 1_000_000_000) as i64,
    );
    let parts = match call.number {
        libc::SYS_select => nanoseconds / 1000,
        libc::SYS_pselect6 | libc::SYS_ppoll => nanoseconds,
        _ => return,
    };
    let place = call.address::<[i64; 2]>(place_of_time(call.number));
    // SAFETY: the program's place for the time, which is there: there is a limit.
    unsafe { place.write_unaligned([seconds, parts]) };
}

/// Bytes of which a pipe that can be written takes all at once.
const PIPE_BYTES: usize = 4096;

/// Files by which the machine serves the process: their other end is the machine's, which stands still meanwhile.
static MACHINES: OnceLock<Vec<(u64, u64)>> = OnceLock::new();

/// Notes these files, which the process has inherited.
pub fn note_machines() {
    let inherited = [0, 1, 2, gyre_remote::PMI_FD];
    MACHINES.get_or_init(|| inherited.into_iter().filter_map(identity).collect());
}

/// Whether the machine has the other end of a descriptor.
fn is_machines(descriptor: c_int) -> bool {
    let identity = identity(descriptor);
    MACHINES
        .get()
        .is_some_and(|files| files.iter().any(|file| Some(*file) == identity))
}

/// Device and number of an open file.
fn identity(descriptor: c_int) -> Option<(u64, u64)> {
    about(descriptor).map(|about| (about.st_dev, about.st_ino))
}

/// A call that reads or writes a descriptor, and may wait for it.
pub fn await_one(call: &Call, events: c_short) -> c_long {
    if is_alone() || !blocks(call) || is_machines(call.int(0)) {
        return changed(call.native());
    }
    if call.number != libc::SYS_write || call.arguments[2] <= PIPE_BYTES || !is_pipe(call.int(0)) {
        return when_ready(call, events);
    }
    let mut written = 0;
    while written < call.arguments[2] {
        let mut piece = *call;
        piece.arguments[1] += written;
        piece.arguments[2] = (call.arguments[2] - written).min(PIPE_BYTES);
        match when_ready(&piece, events) {
            failed if failed < 0 && written == 0 => return failed,
            some if some <= 0 => break,
            some => written += some as usize,
        }
    }
    written as c_long
}

/// Makes the call once its descriptor is ready.
fn when_ready(call: &Call, events: c_short) -> c_long {
    let ready = wait(None, || {
        let mut one = pollfd {
            fd: call.int(0),
            events,
            revents: 0,
        };
        let arguments = [(&raw mut one).expose_provenance(), 1, 0, 0, 0, 0];
        // SAFETY: one description.
        unsafe { system_call(libc::SYS_poll, arguments) }
    });
    match ready {
        failed if failed < 0 => failed,
        _ => changed(call.native()),
    }
}

/// Whether the call waits if its descriptor is not ready.
fn blocks(call: &Call) -> bool {
    let flags = match call.number {
        libc::SYS_recvfrom | libc::SYS_sendto => call.int(3),
        libc::SYS_recvmsg | libc::SYS_sendmsg => call.int(2),
        _ => 0,
    };
    let arguments = [call.arguments[0], libc::F_GETFL as usize, 0, 0, 0, 0];
    // SAFETY: the call touches no memory.
    let status = unsafe { system_call(libc::SYS_fcntl, arguments) };
    flags & libc::MSG_DONTWAIT == 0 && status >= 0 && status & c_long::from(libc::O_NONBLOCK) == 0
}

fn is_pipe(descriptor: c_int) -> bool {
    about(descriptor).is_some_and(|about| about.st_mode & libc::S_IFMT == libc::S_IFIFO)
}

/// Description of an open file.
fn about(descriptor: c_int) -> Option<libc::stat> {
    let mut about = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: a place for the description.
    let described = unsafe { libc::fstat(descriptor, about.as_mut_ptr()) } == 0;
    // SAFETY: it was written.
    described.then(|| unsafe { about.assume_init() })
}
