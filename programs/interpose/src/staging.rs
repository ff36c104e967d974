// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of the library for data in transit: contiguous, aligned for values of every type.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Memory of this many bytes cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no memory for {0} bytes of data")]
pub struct NoMemory(usize);

/// Alignment, bytes: a line of memory.
const ALIGN: usize = 64;

/// Bytes that are freed with it.
pub struct Staging {
    address: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory is the struct's alone, like that of a box.
unsafe impl Send for Staging {}

impl Staging {
    /// `bytes` zeros, more than 0.
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn zeroed(bytes: usize) -> Result<Self, NoMemory> {
        let none = || NoMemory(bytes);
        let layout = Layout::from_size_align(bytes.max(1), ALIGN).map_err(|_| none())?;
        // SAFETY: the layout has a byte or more.
        let address = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(none)?;
        Ok(Self { address, layout })
    }

    /// Its address, for writes while its bytes are not borrowed.
    pub fn address(&self) -> *mut u8 {
        self.address.as_ptr()
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: they are initialized, and last as long as the struct.
        unsafe { std::slice::from_raw_parts(self.address(), self.layout.size()) }
    }

    /// Its bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.address(), self.layout.size()) }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.address(), self.layout) };
    }
}
