// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads between their last turn and their end.

use parking_lot::Mutex;
use rustix::process::Pid;

/// Threads that the machine serves no more, which may not have ended yet. The C library's locks are theirs as long.
static LEAVING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Notes that this thread leaves the machine.
pub fn leave() {
    LEAVING.lock().push(rustix::thread::gettid());
}

/// Whether threads that have left the machine have not ended yet.
pub fn are_leaving() -> bool {
    let mut leaving = LEAVING.lock();
    leaving.retain(|thread| is_there(*thread));
    !leaving.is_empty()
}

/// Whether this process has the thread.
fn is_there(thread: Pid) -> bool {
    let process = rustix::process::getpid().as_raw_nonzero().get();
    let thread = thread.as_raw_nonzero().get();
    // SAFETY: the call touches no memory, and sends nothing.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, 0) == 0 }
}
