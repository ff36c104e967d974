// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects that programs hold by pointer: creation, lookup and close.

use std::ffi::{c_int, c_void};

use crate::abi::{Fid, Ops, not_there};
use crate::boundary::{self, Refusal};

/// `fi_bind`: object, bound object, flags.
pub type BindFn = unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int;

/// `fi_control`: object, command, argument.
pub type ControlFn = unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int;

/// An object that programs hold by the address of its `fid`.
///
/// # Safety
/// The type has the layout of C and begins with a [`Fid`].
pub unsafe trait Object: Sized + 'static {
    /// Its class.
    const CLASS: usize;

    /// Binds another object to it.
    const BIND: BindFn = no_bind;

    /// Carries out commands.
    const CONTROL: ControlFn = no_control;

    /// The functions of its `fid`.
    const OPS: &'static Ops = &Ops {
        size: size_of::<Ops>(),
        close: close::<Self>,
        bind: Self::BIND,
        control: Self::CONTROL,
        ops_open: not_there,
        tostr: not_there,
        ops_set: not_there,
    };

    /// Runs before the object is freed; a failure does not keep the object.
    ///
    /// # Errors
    /// Returned to the program.
    fn end(&self) -> Result<(), Refusal> {
        Ok(())
    }
}

/// Body of a function that opens an object: `make` makes it from its `fid`.
///
/// # Safety
/// `into` is null or a place for a pointer.
pub unsafe fn open<T: Object>(
    into: *mut *mut Fid,
    context: *mut c_void,
    make: impl FnOnce(Fid) -> Result<T, Refusal>,
) -> c_int {
    boundary::status(|| {
        if into.is_null() {
            return Err(Refusal::INVALID);
        }
        let made = make(Fid {
            fclass: T::CLASS,
            context,
            ops: T::OPS,
        })?;
        // SAFETY: what the caller promises.
        unsafe { into.write(Box::into_raw(Box::new(made)).cast()) };
        Ok(())
    })
}

/// The object of a pointer from the program.
///
/// # Errors
/// `FI_EINVAL` for null.
///
/// # Safety
/// The pointer is null or from [`open`] with this type, and stays valid.
pub unsafe fn of<'a, T: Object>(fid: *mut Fid) -> Result<&'a T, Refusal> {
    // SAFETY: what the caller promises.
    unsafe { fid.cast::<T>().as_ref() }.ok_or(Refusal::INVALID)
}

/// `fi_close`.
unsafe extern "C" fn close<T: Object>(fid: *mut Fid) -> c_int {
    boundary::status(|| {
        // SAFETY: what `open` has made, whose table of functions leads here.
        let object = unsafe { Box::from_raw(fid.cast::<T>()) };
        object.end()
    })
}

/// `fi_bind` of objects that take none.
unsafe extern "C" fn no_bind(_: *mut Fid, _: *mut Fid, _: u64) -> c_int {
    -libc::ENOSYS
}

/// `fi_control` of objects without commands.
unsafe extern "C" fn no_control(_: *mut Fid, _: c_int, _: *mut c_void) -> c_int {
    -libc::ENOSYS
}
