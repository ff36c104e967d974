// SPDX-License-Identifier: MIT OR Apache-2.0
//! Named shared memory in place of the C library's: in a task, names belong to its job.
//!
//! MPICH names memory by the job's name in the start-up protocol, which is the same for every job so that runs repeat. Without job
//! names, concurrent jobs, and jobs after a killed one, would share memory of the host.

use std::ffi::{CStr, c_char, c_int};
use std::os::fd::IntoRawFd as _;
use std::sync::OnceLock;

use gyre_remote::JobName;
use libc::mode_t;
use rustix::io::Errno;
use rustix::shm::{Mode, OFlags, open, unlink};

use crate::clocks::fail;

/// Name of the memory on the host.
///
/// # Safety
/// `name` is a text.
unsafe fn host_name(name: *const c_char) -> Result<Vec<u8>, Errno> {
    static JOB: OnceLock<Option<JobName>> = OnceLock::new();
    if name.is_null() {
        return Err(Errno::FAULT);
    }
    // SAFETY: as the caller says.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let job = JOB.get_or_init(JobName::inherited);
    Ok(match job {
        Some(job) => job.shared_memory(name),
        None => name.to_owned(),
    })
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
    let opened = unsafe { host_name(name) }.and_then(|name| open(name, flags, mode));
    opened.map_or_else(
        |error| fail(error.raw_os_error()),
        |file| file.into_raw_fd(),
    )
}

/// C: `shm_unlink`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shm_unlink(name: *const c_char) -> c_int {
    // SAFETY: the program passes a text.
    let unlinked = unsafe { host_name(name) }.and_then(unlink);
    unlinked.map_or_else(|error| fail(error.raw_os_error()), |()| 0)
}
