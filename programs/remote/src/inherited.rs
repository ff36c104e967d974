// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptors that a task's process inherits: those of its mailbox and of the channel for its memory, numbered in
//! the environment.

use std::env;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::FdFlags;

use crate::copy_channel;
use crate::mailbox::{Ends, MailboxError};

/// The variable with the numbers of the mailbox's memory and doorbell, and of the channel's.
pub(crate) const VARIABLE: &str = "GYRE_MAILBOX";

/// Numbers of the mailbox's descriptors in the task's process, beyond those that programs and shells take by number.
pub(crate) const MEMORY_FD: RawFd = 190;
/// See [`MEMORY_FD`].
pub(crate) const BELL_FD: RawFd = 191;
/// The socket of the start-up protocol, which the process's MPI library takes.
pub const PMI_FD: RawFd = 192;

/// Numbers of the descriptors of the channel by which the machine reads and writes memory of the process.
pub(crate) const COPY_MEMORY_FD: RawFd = 188;
/// See [`COPY_MEMORY_FD`].
pub(crate) const COPY_BELL_FD: RawFd = 189;

/// Whether the descriptors have an owner in this process.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Value of the variable.
pub(crate) fn value() -> String {
    format!("{MEMORY_FD},{BELL_FD},{COPY_MEMORY_FD},{COPY_BELL_FD}")
}

/// Whether the process was started as a task, or by one.
#[must_use]
pub fn is_task() -> bool {
    env::var(VARIABLE).is_ok_and(|found| found == value())
}

/// Takes the descriptors that the process was started with. Works once in a process; child processes do not inherit them.
pub(crate) fn take() -> Result<(Ends, copy_channel::Ends), MailboxError> {
    if !is_task() || TAKEN.swap(true, Ordering::Relaxed) {
        return Err(MailboxError::NotInherited);
    }
    let mailbox = Ends {
        memory: owned(MEMORY_FD)?,
        bell: owned(BELL_FD)?,
    };
    let channel = copy_channel::Ends {
        memory: owned(COPY_MEMORY_FD)?,
        bell: owned(COPY_BELL_FD)?,
    };
    Ok((mailbox, channel))
}

fn owned(number: RawFd) -> Result<OwnedFd, MailboxError> {
    // SAFETY: a descriptor that is not open is refused by the system call, which is all that borrows it.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    rustix::io::fcntl_setfd(borrowed, FdFlags::CLOEXEC).map_err(|_| MailboxError::NotInherited)?;
    // SAFETY: the descriptor is open, and the environment says that it was opened for the machine; `take` comes here
    // once, so nothing else in the process owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
