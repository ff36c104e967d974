// SPDX-License-Identifier: MIT OR Apache-2.0
//! Named shared memory in place of the C library's: in a task, names belong to its job.
//!
//! MPICH names memory by the job's name in the start-up protocol, which is the same for every job so that runs repeat. Without job
//! names, concurrent jobs, and jobs after a killed one, would share memory of the host.

use std::ffi::{CStr, c_char, c_int};
use std::hint::black_box;
use std::os::fd::IntoRawFd;
use std::sync::OnceLock;

use gyre_remote::{HostName, JobName};
use libc::mode_t;
use rustix::io::Errno;
use rustix::shm::{Mode, OFlags, open, unlink};

use crate::clocks::fail;

/// Name of the memory on the host.
///
/// # Safety
/// `name` is a text.
unsafe fn host_name(name: *const c_char) -> Result<HostName, Errno> {
    static JOB: OnceLock<Option<JobName>> = OnceLock::new();
    if name.is_null() {
        return Err(Errno::FAULT);
    }
    // SAFETY: as the caller says.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let job = JOB.get_or_init(JobName::inherited);
    Ok(match job {
        Some(job) => job.shared_memory(name),
        None => name.into(),
    })
}

/// Uses the host's name of the memory; on failure sets `errno` and returns -1. Leaves nothing of the name on the stack, as
/// [`HostName`] leaves nothing on the heap.
///
/// # Safety
/// `name` is a text.
unsafe fn named(name: *const c_char, action: impl FnOnce(&[u8]) -> Result<c_int, Errno>) -> c_int {
    // SAFETY: as the caller says.
    let result = unsafe { act(name, action) };
    overwrite_stack();
    result.unwrap_or_else(|error| fail(error.raw_os_error()))
}

/// The same in a frame of its own.
///
/// # Safety
/// `name` is a text.
#[inline(never)]
unsafe fn act(
    name: *const c_char,
    action: impl FnOnce(&[u8]) -> Result<c_int, Errno>,
) -> Result<c_int, Errno> {
    // SAFETY: as the caller says.
    unsafe { host_name(name) }.and_then(|name| action(&name))
}

/// Overwrites what calls of the same function have left on the stack.
#[inline(never)]
fn overwrite_stack() {
    black_box([0_u8; 4096]);
}

/// C: `shm_open`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shm_open(name: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    let (flags, mode) = (
        OFlags::from_bits_retain(flags.cast_unsigned()),
        Mode::from_bits_retain(mode),
    );
    // SAFETY: the program passes a text.
    unsafe {
        named(name, |name| {
            open(name, flags, mode).map(IntoRawFd::into_raw_fd)
        })
    }
}

/// C: `shm_unlink`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shm_unlink(name: *const c_char) -> c_int {
    // SAFETY: the program passes a text.
    unsafe { named(name, |name| unlink(name).map(|()| 0)) }
}
