// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C library's own functions, which those of this library call.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function of the C library, looked up when it is called first.
pub struct Real {
    name: &'static CStr,
    /// Its version, if an older one has the same name.
    version: Option<&'static CStr>,
    found: AtomicPtr<c_void>,
}

impl Real {
    /// The function of this name.
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            version: None,
            found: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// The function of this name and version.
    pub const fn of_version(name: &'static CStr, version: &'static CStr) -> Self {
        Self {
            name,
            version: Some(version),
            found: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Its address.
    pub fn address(&self) -> *mut c_void {
        let known = self.found.load(Ordering::Relaxed);
        if !known.is_null() {
            return known;
        }
        let name = self.name.as_ptr();
        let by_version = self.version.map(|version| {
            // SAFETY: both are texts that end with a zero.
            unsafe { libc::dlvsym(libc::RTLD_NEXT, name, version.as_ptr()) }
        });
        let found = by_version.filter(|found| !found.is_null());
        // SAFETY: a text that ends with a zero.
        let found = found.unwrap_or_else(|| unsafe { libc::dlsym(libc::RTLD_NEXT, name) });
        assert!(!found.is_null(), "the C library has no {:?}", self.name);
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

/// Calls a function of the C library by name with arguments of these types.
macro_rules! real {
    ($name:literal $(of $version:literal)?, ($($argument:expr => $kind:ty),*) -> $result:ty) => {{
        static REAL: $crate::real::Real =
            $crate::real::real!(@new $name $(, $version)?);
        // SAFETY: the C library's function of this name has this type, and gets the program's arguments.
        unsafe {
            let function: unsafe extern "C" fn($($kind),*) -> $result =
                std::mem::transmute(REAL.address());
            function($($argument),*)
        }
    }};
    (@new $name:literal) => { $crate::real::Real::new($name) };
    (@new $name:literal, $version:literal) => {
        $crate::real::Real::of_version($name, $version)
    };
}
pub(crate) use real;
