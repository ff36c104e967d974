// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes and threads that the program makes by system calls.

use std::ffi::c_long;
use std::sync::atomic::{AtomicBool, Ordering};

use gyre_remote::waiting;
use rustix::time::Timespec;

use super::call::{Call, system_call};
use crate::{boundary, clocks, job};

/// Flag of `clone` and `clone3`: parent and child share their memory.
const SHARES_MEMORY: usize = libc::CLONE_VM as usize;

/// Flag of `clone` and `clone3`: the child is a thread of its parent's process.
const THREAD: usize = libc::CLONE_THREAD as usize;

/// Whether the process has ever made another.
static MADE: AtomicBool = AtomicBool::new(false);

/// Whether the process has children: they run beside the machine, and may end a wait at any time.
pub fn any() -> bool {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    let arguments = [libc::P_ALL as usize, 0, 0, options as usize, 0, 0];
    // SAFETY: the call gets no place for a result.
    MADE.load(Ordering::Relaxed) && unsafe { system_call(libc::SYS_waitid, arguments) == 0 }
}

/// Looks of a wait that something beside the machine may end.
pub struct Looks {
    begin_ps: u64,
    count: u32,
}

impl Looks {
    /// Simulated time between looks, picoseconds, at first and at most.
    const FIRST_PS: u64 = 1_000_000;
    const MOST_PS: u64 = 1_000_000_000;

    /// Looks after which each takes time of the host, too: children need that.
    const MANY: u32 = 64;
    const PAUSE: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 1_000_000,
    };

    /// Of a wait that begins now.
    pub fn new() -> Self {
        Self {
            begin_ps: clocks::now_ps(),
            count: 0,
        }
    }

    /// Simulated time of the next look, picoseconds, where one is needed: `outside` says so, or the process has children.
    pub fn next_ps(&mut self, outside: bool) -> Option<u64> {
        let children = any();
        if !children && !outside && !waiting::has_others() {
            return None;
        }
        if children {
            // The task acts: its children do.
            clocks::note_look();
        }
        self.count += 1;
        if self.count > Self::MANY {
            // Not by the C library's name, which sleeps in simulated time.
            let _ = rustix::thread::nanosleep(&Self::PAUSE);
        }
        let now_ps = clocks::now_ps();
        let waited_ps = now_ps.saturating_sub(self.begin_ps);
        let pause_ps = (waited_ps / 8).clamp(Self::FIRST_PS, Self::MOST_PS);
        Some(now_ps.saturating_add(pause_ps))
    }
}

/// Whether parent and child go on where the program is, on one stack or the child on another: then nothing may run after the
/// call but the program.
pub fn continues_elsewhere(call: &Call) -> bool {
    let [a, b, ..] = call.arguments;
    let (elsewhere, flags) = match call.number {
        libc::SYS_vfork => (true, 0),
        libc::SYS_clone => (a & SHARES_MEMORY != 0 || b != 0, a),
        libc::SYS_clone3 => {
            // SAFETY: the program's arguments, which begin with the flags.
            let flags = unsafe { call.address::<u64>(0).as_ref() };
            (true, flags.map_or(0, |&flags| flags as usize))
        }
        _ => (false, 0),
    };
    if flags & THREAD != 0 {
        // The machine does not serve it: the C library makes it for its own work, such as asynchronous files.
        waiting::expect_others();
    } else if elsewhere {
        MADE.store(true, Ordering::Relaxed);
    }
    elsewhere
}

/// Prepares for [`leave`]. In `fork` the C library holds its locks later, and nothing may be asked of the machine.
extern "C" fn prepare_to_leave() {
    boundary::value(clocks::note_time);
}

/// Leaves the job, after `fork`, in the child: the connection is the parent's. The child's time goes on from the parent's.
extern "C" fn leave() {
    if job::leave() {
        clocks::leave();
    }
}

/// Has children of this process leave the job from now on.
pub fn follow() {
    // SAFETY: the functions last as long as the process, and take no lock in a child.
    unsafe { libc::pthread_atfork(Some(prepare_to_leave), None, Some(leave)) };
}

/// A child with a copy of the memory: it returns from here too.
pub fn fork(call: &Call) -> c_long {
    MADE.store(true, Ordering::Relaxed);
    let result = call.native();
    if result == 0 {
        leave();
        // The child's calls are not dispatched.
        gyre_remote::Native::dispatch(false);
    }
    result
}
