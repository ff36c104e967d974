//! The functions that a program of MPI finds first.

use std::ffi::{c_int, c_void};

use super::calls::{self, Reduced};
use super::library::{Count, Handle, Library};

/// `MPI_ERR_OTHER` of MPICH, where the program has no library of MPI after all.
const OTHER: c_int = 15;

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

/// C: `MPI_Bcast`.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Bcast(
    buffer: *mut c_void,
    count: c_int,
    data: Handle,
    root: c_int,
    comm: Handle,
) -> c_int {
    calls::bcast(buffer, count.into(), data, root, comm).unwrap_or_else(|| {
        // SAFETY: the program's arguments.
        Library::get().map_or(OTHER, |library| unsafe {
            (library.Bcast)(buffer, count, data, root, comm)
        })
    })
}

/// C: `MPI_Bcast_c`.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Bcast_c(
    buffer: *mut c_void,
    count: Count,
    data: Handle,
    root: c_int,
    comm: Handle,
) -> c_int {
    calls::bcast(buffer, count, data, root, comm).unwrap_or_else(|| {
        // SAFETY: the program's arguments.
        Library::get().map_or(OTHER, |library| unsafe {
            (library.Bcast_c)(buffer, count, data, root, comm)
        })
    })
}

/// C: `MPI_Reduce`.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Reduce(
    send: *const c_void,
    receive: *mut c_void,
    count: c_int,
    data: Handle,
    op: Handle,
    root: c_int,
    comm: Handle,
) -> c_int {
    let reduced = Reduced {
        send,
        receive,
        count: count.into(),
        data,
        op,
    };
    calls::reduce(reduced, root, comm).unwrap_or_else(|| {
        // SAFETY: the program's arguments.
        Library::get().map_or(OTHER, |library| unsafe {
            (library.Reduce)(send, receive, count, data, op, root, comm)
        })
    })
}

/// C: `MPI_Reduce_c`.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Reduce_c(
    send: *const c_void,
    receive: *mut c_void,
    count: Count,
    data: Handle,
    op: Handle,
    root: c_int,
    comm: Handle,
) -> c_int {
    let reduced = Reduced {
        send,
        receive,
        count,
        data,
        op,
    };
    calls::reduce(reduced, root, comm).unwrap_or_else(|| {
        // SAFETY: the program's arguments.
        Library::get().map_or(OTHER, |library| unsafe {
            (library.Reduce_c)(send, receive, count, data, op, root, comm)
        })
    })
}

/// C: `MPI_Allreduce`.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Allreduce(
    send: *const c_void,
    receive: *mut c_void,
    count: c_int,
    data: Handle,
    op: Handle,
    comm: Handle,
) -> c_int {
    let reduced = Reduced {
        send,
        receive,
        count: count.into(),
        data,
        op,
    };
    calls::allreduce(reduced, comm).unwrap_or_else(|| {
        // SAFETY: the program's arguments.
        Library::get().map_or(OTHER, |library| unsafe {
            (library.Allreduce)(send, receive, count, data, op, comm)
        })
    })
}

/// C: `MPI_Allreduce_c`.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Allreduce_c(
    send: *const c_void,
    receive: *mut c_void,
    count: Count,
    data: Handle,
    op: Handle,
    comm: Handle,
) -> c_int {
    let reduced = Reduced {
        send,
        receive,
        count,
        data,
        op,
    };
    calls::allreduce(reduced, comm).unwrap_or_else(|| {
        // SAFETY: the program's arguments.
        Library::get().map_or(OTHER, |library| unsafe {
            (library.Allreduce_c)(send, receive, count, data, op, comm)
        })
    })
}
