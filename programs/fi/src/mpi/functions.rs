// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions that a program of MPI finds first. Where the program has no library of MPI after all they fail.

use std::ffi::{c_int, c_void};

use super::calls::{self, Reduced};
use super::library::{Count, Handle, Library, OTHER};

/// Exports functions of MPI: the arguments of each, its name in [`Library`], and the call by the driver.
macro_rules! functions {
    ($($name:ident $real:ident($($argument:ident: $type:ty),*) = $call:expr;)*) => {$(
        #[doc = concat!("C: `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            $call.unwrap_or_else(|| {
                // SAFETY: the program's arguments.
                Library::get().map_or(OTHER, |library| unsafe { (library.$real)($($argument),*) })
            })
        }
    )*};
}

functions! {
    MPI_Barrier Barrier(comm: Handle) = calls::barrier(comm);
}

/// The functions with counts of a width: their names, their names in [`Library`], and the width.
macro_rules! counted {
    ($($bcast:ident $reduce:ident $allreduce:ident, $pbcast:ident $preduce:ident $pallreduce:ident, $width:ty;)*) => {$(
        functions! {
            $bcast $pbcast(buffer: *mut c_void, count: $width, data: Handle, root: c_int, comm: Handle) =
                calls::bcast(buffer, Count::from(count), data, root, comm);
            $reduce $preduce(
                send: *const c_void, receive: *mut c_void, count: $width, data: Handle, op: Handle, root: c_int, comm: Handle
            ) = calls::reduce(Reduced { send, receive, count: Count::from(count), data, op }, root, comm);
            $allreduce $pallreduce(
                send: *const c_void, receive: *mut c_void, count: $width, data: Handle, op: Handle, comm: Handle
            ) = calls::allreduce(Reduced { send, receive, count: Count::from(count), data, op }, comm);
        }
    )*};
}

counted! {
    MPI_Bcast MPI_Reduce MPI_Allreduce, Bcast Reduce Allreduce, c_int;
    MPI_Bcast_c MPI_Reduce_c MPI_Allreduce_c, Bcast_c Reduce_c Allreduce_c, Count;
}
