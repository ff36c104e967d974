// SPDX-License-Identifier: MIT OR Apache-2.0
//! Side of a task's process that copies its own memory for the machine, where the system forbids other processes to do so.
//!
//! The copies run in a signal handler, on any thread, and use only system calls, so requests of the machine do not change the
//! memory of the process, its threads or their addresses.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::OnceLock;
use std::{mem, ptr};

use rustix::net::{self, RecvFlags, SendFlags};
use rustix::process::Pid;

use crate::copy_channel::{Ends, PIECE, REQUEST_BYTES, Request, SIGNAL};

/// Where requests come from, and the process that answers them.
static CHANNEL: OnceLock<(Ends, Pid)> = OnceLock::new();

/// Installs the handler, once in a process. A handler of the program for the signal stays; then requests get no answer.
pub(crate) fn answer_requests(ends: Ends) -> io::Result<()> {
    ends.greet()?;
    if CHANNEL.set((ends, rustix::process::getpid())).is_err() {
        return Ok(());
    }
    let signal = SIGNAL.as_raw();
    let handler: extern "C" fn(c_int) = on_signal;
    // SAFETY: the handler makes system calls and nothing else: it takes no lock, allocates nothing, leaves `errno` as it was, and
    // of what is shared it reads a cell that was filled before. What was there before goes back as the system gave it.
    // All zeros are a valid action (the default one) and a valid set (the empty one).
    unsafe {
        let mut listen: libc::sigaction = mem::zeroed();
        listen.sa_sigaction = handler as usize;
        // The interrupted call goes on.
        listen.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        let mut before: libc::sigaction = mem::zeroed();
        succeeded(libc::sigaction(signal, &raw const listen, &raw mut before))?;
        if ![libc::SIG_DFL, libc::SIG_IGN].contains(&before.sa_sigaction) {
            succeeded(libc::sigaction(signal, &raw const before, ptr::null_mut()))?;
        }
        let mut set: libc::sigset_t = mem::zeroed();
        succeeded(libc::sigaddset(&raw mut set, signal))?;
        match libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, ptr::null_mut()) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// The error of a call of the C library that returns -1.
fn succeeded(result: c_int) -> io::Result<()> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

extern "C" fn on_signal(_signal: c_int) {
    // SAFETY: the address of this thread's `errno`, which nothing else uses while the handler runs.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { errno.read() };
    answer_all();
    // SAFETY: as above.
    unsafe { errno.write(before) };
}

/// Answers the pending requests.
fn answer_all() {
    let Some((ends, process)) = CHANNEL.get() else {
        return;
    };
    // A process that was forked has a memory of its own.
    if rustix::process::getpid() == *process {
        while answer(ends, RecvFlags::DONTWAIT) {}
    }
}

/// Answers a request; returns whether there was one.
pub(crate) fn answer(ends: &Ends, flags: RecvFlags) -> bool {
    let mut message = [0; REQUEST_BYTES];
    let came = net::recv(&ends.bell, &mut message, flags);
    if !matches!(came, Ok((REQUEST_BYTES, _))) {
        return false;
    }
    let request = Request::decode(&message);
    let memory = ends.memory.as_fd();
    let copied = if request.write {
        // SAFETY: the machine's DMA engine writes where the program, or a task that it takes part in a job with, has had it write:
        // whoever gave it the bytes has promised that nothing relies on their value.
        unsafe { copy_in(memory, request, 0) }
    } else {
        copy_out(memory, request, 0)
    };
    net::send(&ends.bell, &copied.to_le_bytes(), SendFlags::NOSIGNAL).is_ok()
}

/// Whether at most [`PIECE`] bytes of this process can be read and written. They stay as they are.
pub(crate) fn is_writable(address: usize, bytes: usize) -> bool {
    // Without a channel the machine knows nothing of the process's memory.
    let Some((ends, _)) = CHANNEL.get() else {
        return true;
    };
    let request = Request {
        write: true,
        address: address as u64,
        bytes: bytes as u64,
    };
    // Behind the piece, which the machine may be using.
    let (memory, behind) = (ends.memory.as_fd(), PIECE as u64);
    let read = copy_out(memory, request, behind);
    // SAFETY: the bytes are written back as they were, by the thread that has its turn.
    read == request.bytes && unsafe { copy_in(memory, request, behind) } == read
}

/// Copies bytes of this process to offset `at` of `memory`; returns how many exist.
fn copy_out(memory: BorrowedFd<'_>, request: Request, at: u64) -> u64 {
    // Not by the C library's functions: a program may define functions of their names.
    // SAFETY: the call reads memory, and the system looks at every address: bytes that are not there end the call with an
    // error.
    let copied = unsafe {
        libc::syscall(
            libc::SYS_pwrite64,
            memory.as_raw_fd(),
            request.address,
            request.bytes,
            at,
        )
    };
    u64::try_from(copied).unwrap_or(0)
}

/// Copies bytes from offset `at` of `memory` into this process; returns how many could be written.
///
/// # Safety
/// Nothing may rely on the value of the bytes.
unsafe fn copy_in(memory: BorrowedFd<'_>, request: Request, at: u64) -> u64 {
    // SAFETY: the system looks at every address: bytes that are not there or may not be written end the call with an error.
    // The caller promises that the others may change.
    let copied = unsafe {
        libc::syscall(
            libc::SYS_pread64,
            memory.as_raw_fd(),
            request.address,
            request.bytes,
            at,
        )
    };
    u64::try_from(copied).unwrap_or(0)
}
