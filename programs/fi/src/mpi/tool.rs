// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions of a profiling tool that are loaded behind this library and in front of the program's MPI.

use std::ffi::c_void;
use std::sync::OnceLock;

use super::library::Library;

/// A function of MPI that a tool may have.
pub struct Tool {
    /// Its name, which ends with a zero.
    name: &'static str,
    found: OnceLock<Option<usize>>,
}

impl Tool {
    /// The function of this name, which ends with a zero.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            found: OnceLock::new(),
        }
    }

    /// Its address in a tool; `None` where MPI's own comes next.
    pub fn address(&self) -> Option<*mut c_void> {
        let find = || {
            // SAFETY: a text that ends with a zero.
            let next = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr().cast()) };
            let own = Library::get().map(|library| library.address(self.name));
            (!next.is_null() && own != Some(next)).then_some(next as usize)
        };
        self.found
            .get_or_init(find)
            .map(|found| found as *mut c_void)
    }
}
