//! The functions that a program of MPI finds first. Where the program has no library of MPI after all they fail.

use std::ffi::{c_int, c_void};

use super::calls::{self, Reduced};
use super::library::{Count, Handle, Library, OTHER};

/// C: `MPI_Barrier`.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Barrier(comm: Handle) -> c_int {
    calls::barrier(comm).unwrap_or_else(|| {
        // SAFETY: the program's arguments.
        Library::get().map_or(OTHER, |library| unsafe { (library.Barrier)(comm) })
    })
}

/// Functions with counts of a width: what C calls them, what they are called in [`Library`], and the width.
macro_rules! functions {
    ($($bcast:ident $reduce:ident $allreduce:ident, $pbcast:ident $preduce:ident $pallreduce:ident, $width:ty;)*) => {$(
        #[doc = concat!("C: `", stringify!($bcast), "`.")]
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $bcast(
            buffer: *mut c_void,
            count: $width,
            data: Handle,
            root: c_int,
            comm: Handle,
        ) -> c_int {
            calls::bcast(buffer, Count::from(count), data, root, comm).unwrap_or_else(|| {
                // SAFETY: the program's arguments.
                Library::get().map_or(OTHER, |library| unsafe {
                    (library.$pbcast)(buffer, count, data, root, comm)
                })
            })
        }

        #[doc = concat!("C: `", stringify!($reduce), "`.")]
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $reduce(
            send: *const c_void,
            receive: *mut c_void,
            count: $width,
            data: Handle,
            op: Handle,
            root: c_int,
            comm: Handle,
        ) -> c_int {
            let reduced = Reduced {
                send,
                receive,
                count: Count::from(count),
                data,
                op,
            };
            calls::reduce(reduced, root, comm).unwrap_or_else(|| {
                // SAFETY: the program's arguments.
                Library::get().map_or(OTHER, |library| unsafe {
                    (library.$preduce)(send, receive, count, data, op, root, comm)
                })
            })
        }

        #[doc = concat!("C: `", stringify!($allreduce), "`.")]
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $allreduce(
            send: *const c_void,
            receive: *mut c_void,
            count: $width,
            data: Handle,
            op: Handle,
            comm: Handle,
        ) -> c_int {
            let reduced = Reduced {
                send,
                receive,
                count: Count::from(count),
                data,
                op,
            };
            calls::allreduce(reduced, comm).unwrap_or_else(|| {
                // SAFETY: the program's arguments.
                Library::get().map_or(OTHER, |library| unsafe {
                    (library.$pallreduce)(send, receive, count, data, op, comm)
                })
            })
        }
    )*};
}

functions! {
    MPI_Bcast MPI_Reduce MPI_Allreduce, Bcast Reduce Allreduce, c_int;
    MPI_Bcast_c MPI_Reduce_c MPI_Allreduce_c, Bcast_c Reduce_c Allreduce_c, Count;
}
