// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registration of the program's memory with the DMA engine.

use gyre_driver::BufferRange;
use gyre_remote::{RemoteBuffer, RemotePlatform};

use crate::failure::Failure;

/// `bytes` bytes of the program's memory as a buffer of the DMA engine.
///
/// # Errors
/// `PAMI_ENOMEM` when the machine has no addresses left.
pub fn map(
    platform: &RemotePlatform,
    memory: *mut u8,
    bytes: usize,
) -> Result<BufferRange<RemoteBuffer>, Failure> {
    // SAFETY: a buffer belongs to its operation, so the program leaves it alone until the callback which says that it is
    // done; the range goes before that.
    let buffer = unsafe { platform.map(memory, bytes) };
    Ok(BufferRange::whole(buffer?))
}
