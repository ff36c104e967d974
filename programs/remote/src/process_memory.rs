// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes of a task's process, as the machine's process reaches them.

use std::cell::{Cell, OnceCell};
use std::ffi::{c_ulong, c_void};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use libc::{iovec, process_vm_readv, process_vm_writev};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, RawPid};

use crate::copy_channel::{Channel, NoAnswer, PIECE};

/// The memory of a task's process: the one that has come to the machine, be it started by that which the machine has started.
/// Before, there is none.
///
/// The machine copies by `process_vm_readv` and `process_vm_writev`; where the system forbids them (a filter of system calls, a
/// process that nobody may look into, restricted debugging), the process copies itself. The results are the same: bytes that are
/// not there, or may not be written, are refused either way.
pub(crate) struct ProcessMemory {
    channel: Rc<Channel>,
    /// Limit of an answer of the process, in host time.
    limit: Duration,
    process: OnceCell<Attached>,
    /// Error with which the system forbade the machine to copy.
    forbidden: Cell<Option<Errno>>,
    /// Whether the process has not answered in time; it gets no more requests.
    silent: Cell<bool>,
}

/// `process_vm_readv` or `process_vm_writev`.
type Access =
    unsafe extern "C" fn(RawPid, *const iovec, c_ulong, *const iovec, c_ulong, c_ulong) -> isize;

/// Copies `len` bytes between `here` and address `there` of a process; returns how many the system has copied, counted from the
/// first.
///
/// # Safety
/// `access` may read or write `len` bytes at `here`, and may write at `there` if it writes to the process.
unsafe fn copy(
    access: Access,
    process: Pid,
    here: *mut u8,
    there: usize,
    len: usize,
) -> rustix::io::Result<usize> {
    let part = |iov_base: *mut c_void| iovec {
        iov_base,
        iov_len: len,
    };
    let (here, there) = (
        part(here.cast()),
        part(std::ptr::without_provenance_mut(there)),
    );
    // SAFETY: one part on each side; the caller answers for them, and the system checks every address of the other process.
    let copied = unsafe {
        access(
            process.as_raw_pid(),
            &raw const here,
            1,
            &raw const there,
            1,
            0,
        )
    };
    usize::try_from(copied).map_err(|_| last_error())
}

/// The error of the C library's call that has just failed.
fn last_error() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// A process that has identified itself to the machine.
struct Attached {
    number: Pid,
    /// Readable once it has ended; then its number may be reused.
    ended: OwnedFd,
}

impl ProcessMemory {
    /// Memory of the process that identifies itself on this channel.
    pub fn new(channel: Rc<Channel>, limit: Duration) -> Self {
        Self {
            channel,
            limit,
            process: OnceCell::new(),
            forbidden: Cell::new(None),
            silent: Cell::new(false),
        }
    }

    /// The process, if it runs.
    fn process(&self) -> Option<&Attached> {
        if self.process.get().is_none() {
            let number = self.channel.greeting()?;
            let ended = rustix::process::pidfd_open(number, PidfdFlags::empty()).ok()?;
            // It was empty.
            let _ = self.process.set(Attached { number, ended });
        }
        let process = self.process.get()?;
        let mut ready = [PollFd::new(&process.ended, PollFlags::IN)];
        let runs = rustix::event::poll(&mut ready, Some(&Timespec::default())) == Ok(0);
        runs.then_some(process)
    }

    /// Reason why the memory cannot be reached, if neither way works.
    fn trouble(&self) -> Option<String> {
        let errno = self.forbidden.get().filter(|_| self.silent.get())?;
        Some(format!(
            "the system forbids the machine to reach the memory of the task's process (process_vm_readv, process_vm_writev: \
             {errno}), and the process has not copied itself within {} s of the host's time, as it does when it gets SIGURG; \
             either of them must be possible",
            self.limit.as_secs_f64()
        ))
    }

    /// Result of the machine's own access: `None` if the system forbids it.
    fn allowed(&self, access: impl FnOnce() -> rustix::io::Result<usize>) -> Option<usize> {
        if self.forbidden.get().is_some() {
            return None;
        }
        match access() {
            Ok(bytes) => Some(bytes),
            Err(errno @ (Errno::PERM | Errno::ACCESS | Errno::NOSYS)) => {
                self.forbidden.set(Some(errno));
                None
            }
            Err(_) => Some(0),
        }
    }

    /// Makes a request to the process; returns whether it has copied all of `bytes` bytes.
    fn asked(&self, bytes: usize, ask: impl FnOnce() -> Result<usize, NoAnswer>) -> bool {
        if self.silent.get() {
            return false;
        }
        let copied = ask();
        self.silent.set(copied == Err(NoAnswer::Silent));
        copied == Ok(bytes)
    }

    fn read(&self, base: usize, out: &mut [u8]) -> bool {
        let Some(process) = self.process() else {
            return false;
        };
        let len = out.len();
        let access = || {
            // SAFETY: the system writes at most `len` bytes to `out`, and reads the other process alone.
            unsafe {
                copy(
                    process_vm_readv,
                    process.number,
                    out.as_mut_ptr(),
                    base,
                    len,
                )
            }
        };
        if let Some(read) = self.allowed(access) {
            return read == len;
        }
        out.chunks_mut(PIECE).enumerate().all(|(number, piece)| {
            let bytes = piece.len();
            let ended = process.ended.as_fd();
            let address = base + number * PIECE;
            self.asked(bytes, || {
                self.channel.read(ended, address, piece, self.limit)
            })
        })
    }

    fn write(&self, base: usize, data: &[u8]) -> bool {
        let Some(process) = self.process() else {
            return false;
        };
        let len = data.len();
        let access = || {
            // SAFETY: the system reads `len` bytes of `data`. The program has given the bytes at `base` to an operation, so nothing
            // relies on their value.
            unsafe {
                copy(
                    process_vm_writev,
                    process.number,
                    data.as_ptr().cast_mut(),
                    base,
                    len,
                )
            }
        };
        if let Some(written) = self.allowed(access) {
            return written == len;
        }
        data.chunks(PIECE).enumerate().all(|(number, piece)| {
            let ended = process.ended.as_fd();
            let address = base + number * PIECE;
            self.asked(piece.len(), || {
                self.channel.write(ended, address, piece, self.limit)
            })
        })
    }
}

/// Bytes of a task's process from an address on: static, on the heap or on a stack. Bytes that the process unmaps or protects
/// cannot be reached any more.
#[derive(Clone)]
pub struct ProcessRange {
    memory: Rc<ProcessMemory>,
    address: usize,
    bytes: usize,
}

impl fmt::Debug for ProcessRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessRange")
            .field("address", &self.address)
            .field("bytes", &self.bytes)
            .finish()
    }
}

impl ProcessRange {
    /// `bytes` bytes from `address` on of a process.
    pub(crate) fn new(memory: &Rc<ProcessMemory>, address: usize, bytes: usize) -> Self {
        Self {
            memory: Rc::clone(memory),
            address,
            bytes,
        }
    }

    /// Address of the first byte in the process.
    #[must_use]
    pub fn address(&self) -> usize {
        self.address
    }

    /// Number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether the range is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Copies bytes out, from `offset` on; false if they are not all there.
    #[must_use]
    pub fn read(&self, offset: u64, out: &mut [u8]) -> bool {
        self.base(offset, out.len())
            .is_some_and(|base| self.memory.read(base, out))
    }

    /// Copies bytes in, from `offset` on; false if they are not all there or may not be written.
    #[must_use]
    pub fn write(&self, offset: u64, data: &[u8]) -> bool {
        self.base(offset, data.len())
            .is_some_and(|base| self.memory.write(base, data))
    }

    /// Reason why the memory of the process cannot be reached at all, if so: every access fails from then on.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.memory.trouble()
    }

    /// Address of the byte at `offset`, of `len` bytes.
    fn base(&self, offset: u64, len: usize) -> Option<usize> {
        let offset = usize::try_from(offset).ok()?;
        let end = offset.checked_add(len)?;
        let base = self.address.checked_add(offset)?;
        (end <= self.bytes).then_some(base)
    }
}

#[cfg(test)]
pub(crate) mod tests;
