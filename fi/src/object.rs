//! Functions that objects of several classes have.

use std::ffi::{c_int, c_void};

use crate::abi::Fid;

/// `fi_bind` of what takes none.
pub unsafe extern "C" fn no_bind(_: *mut Fid, _: *mut Fid, _: u64) -> c_int {
    -libc::ENOSYS
}

/// `fi_control` of what knows no command.
pub unsafe extern "C" fn no_control(_: *mut Fid, _: c_int, _: *mut c_void) -> c_int {
    -libc::ENOSYS
}
