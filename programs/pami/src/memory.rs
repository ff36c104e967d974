// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registration of the program's memory with the DMA engine.

use gyre_driver::BufferRange;
use gyre_remote::windows::ALL_BYTES;
use gyre_remote::{RemoteBuffer, RemotePlatform};

use crate::failure::Failure;

/// Refuses more bytes than a task has.
///
/// # Errors
/// `PAMI_INVAL`.
pub fn check_length(bytes: usize) -> Result<(), Failure> {
    match bytes {
        0..=ALL_BYTES => Ok(()),
        _ => Err(Failure::invalid(format!(
            "{bytes} bytes are more than a task has"
        ))),
    }
}

/// `bytes` bytes of the program's memory as a buffer of the DMA engine.
///
/// # Errors
/// `PAMI_ENOMEM` when the machine has no addresses left; as [`check_length`].
pub fn map(
    platform: &RemotePlatform,
    memory: *mut u8,
    bytes: usize,
) -> Result<BufferRange<RemoteBuffer>, Failure> {
    check_length(bytes)?;
    // SAFETY: a buffer belongs to its operation, so the program leaves it alone until the callback which says that it is
    // done; the range goes before that.
    let buffer = unsafe { platform.map(memory, bytes) };
    Ok(BufferRange::whole(buffer?))
}
