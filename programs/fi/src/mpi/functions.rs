// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions that a program of MPI finds first, under both of their names. Where the program has no library of MPI after all they
//! fail.
//!
//! A profiling tool defines functions of the same names, counts or measures, and calls those that begin with `PMPI_`. It may be loaded
//! behind this library: then `MPI_` functions pass their calls on to it.

use std::ffi::{c_int, c_void};

use gyre_note::ProgramStep;

use super::calls::{self, Reduced};
use super::communicator;
use super::library::{Count, Handle, Library, OTHER};
use super::shared;
use super::tool::Tool;
use crate::progress::Looking;

/// Exports a function under both of its names.
macro_rules! exported {
    ($name:ident $profiled:ident($($argument:ident: $type:ty),*) $body:block) => {
        #[doc = concat!("C: `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            static TOOL: Tool = Tool::new(concat!(stringify!($name), "\0"));
            match TOOL.address() {
                // SAFETY: a function of this name, which has this type, and the program's arguments.
                Some(address) => unsafe {
                    let function: unsafe extern "C" fn($($type),*) -> c_int = std::mem::transmute(address);
                    function($($argument),*)
                },
                // SAFETY: the program's arguments.
                None => unsafe { $profiled($($argument),*) },
            }
        }

        #[doc = concat!("C: `", stringify!($profiled), "`.")]
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $profiled($($argument: $type),*) -> c_int $body
    };
}

/// Exports functions of MPI that the driver carries out, if it can: their names, arguments, name in [`Library`], and the call by the
/// driver.
macro_rules! functions {
    ($($name:ident $profiled:ident $real:ident($($argument:ident: $type:ty),*) = $call:expr;)*) => {$(
        exported! { $name $profiled($($argument: $type),*) {
            $call.unwrap_or_else(|| {
                // SAFETY: the program's arguments.
                Library::get().map_or(OTHER, |library| unsafe { (library.$real)($($argument),*) })
            })
        } }
    )*};
}

functions! {
    MPI_Barrier PMPI_Barrier Barrier(comm: Handle) = calls::barrier(comm);
}

/// The functions with counts of a width: their names, their names in [`Library`], and the width.
macro_rules! counted {
    ($([$bcast:ident $pbcast:ident $rbcast:ident] [$reduce:ident $preduce:ident $rreduce:ident]
        [$allreduce:ident $pallreduce:ident $rallreduce:ident] $width:ty;)*) => {$(
        functions! {
            $bcast $pbcast $rbcast(buffer: *mut c_void, count: $width, data: Handle, root: c_int, comm: Handle) =
                calls::bcast(buffer, Count::from(count), data, root, comm);
            $reduce $preduce $rreduce(
                send: *const c_void, receive: *mut c_void, count: $width, data: Handle, op: Handle, root: c_int, comm: Handle
            ) = calls::reduce(Reduced { send, receive, count: Count::from(count), data, op }, root, comm);
            $allreduce $pallreduce $rallreduce(
                send: *const c_void, receive: *mut c_void, count: $width, data: Handle, op: Handle, comm: Handle
            ) = calls::allreduce(Reduced { send, receive, count: Count::from(count), data, op }, comm);
        }
    )*};
}

counted! {
    [MPI_Bcast PMPI_Bcast Bcast] [MPI_Reduce PMPI_Reduce Reduce] [MPI_Allreduce PMPI_Allreduce Allreduce] c_int;
    [MPI_Bcast_c PMPI_Bcast_c Bcast_c] [MPI_Reduce_c PMPI_Reduce_c Reduce_c] [MPI_Allreduce_c PMPI_Allreduce_c Allreduce_c] Count;
}

functions! {
    MPI_Comm_split_type PMPI_Comm_split_type Comm_split_type(
        comm: Handle, split: c_int, key: c_int, info: Handle, into: *mut c_void
    ) = shared::split(comm, split, key, into);
    MPI_Win_allocate_shared PMPI_Win_allocate_shared Win_allocate_shared(
        size: Count, unit: c_int, info: Handle, comm: Handle, base: *mut c_void, win: *mut c_int
    ) = shared::allocate((size, Count::from(unit)), info, comm, base, win);
    MPI_Win_allocate_shared_c PMPI_Win_allocate_shared_c Win_allocate_shared_c(
        size: Count, unit: Count, info: Handle, comm: Handle, base: *mut c_void, win: *mut c_int
    ) = shared::allocate((size, unit), info, comm, base, win);
    MPI_Win_shared_query PMPI_Win_shared_query Win_shared_query(
        win: Handle, rank: c_int, size: *mut Count, unit: *mut c_int, base: *mut c_void
    ) = shared::query(win, rank, size, shared::Unit::Int(unit), base);
    MPI_Win_shared_query_c PMPI_Win_shared_query_c Win_shared_query_c(
        win: Handle, rank: c_int, size: *mut Count, unit: *mut Count, base: *mut c_void
    ) = shared::query(win, rank, size, shared::Unit::Count(unit), base);
    MPI_Win_get_attr PMPI_Win_get_attr Win_get_attr(win: Handle, key: c_int, value: *mut c_void, there: *mut c_int) =
        shared::attribute(win, key, value, there);
    MPI_Win_free PMPI_Win_free Win_free(win: *mut c_int) = shared::free(win);
}

/// Exports functions of MPI that test or probe. MPICH polls in them as where it waits, so they say that the program does not wait.
macro_rules! looks {
    ($($name:ident $profiled:ident $real:ident($($argument:ident: $type:ty),*);)*) => {$(
        exported! { $name $profiled($($argument: $type),*) {
            let _looking = Looking::begin();
            // SAFETY: the program's arguments.
            Library::get().map_or(OTHER, |library| unsafe { (library.$real)($($argument),*) })
        } }
    )*};
}

/// Exports functions of MPI that begin or end its use, with the steps that they take before and after the call.
macro_rules! ends {
    ($($name:ident $profiled:ident $real:ident($($argument:ident: $type:ty),*) $before:expr, $after:expr;)*) => {$(
        exported! { $name $profiled($($argument: $type),*) {
            note($before);
            // SAFETY: the program's arguments.
            let result = Library::get().map_or(OTHER, |library| unsafe { (library.$real)($($argument),*) });
            note($after);
            result
        } }
    )*};
}

fn note(step: Option<ProgramStep>) {
    gyre_interpose::boundary::value(|| {
        if let (Some(port), Some(step)) = (communicator::port(), step) {
            port.step(step).take();
        }
    });
}

ends! {
    MPI_Init PMPI_Init Init(count: *mut c_void, arguments: *mut c_void) None, Some(ProgramStep::Begun);
    MPI_Init_thread PMPI_Init_thread Init_thread(
        count: *mut c_void, arguments: *mut c_void, wanted: c_int, provided: *mut c_int
    ) None, Some(ProgramStep::Begun);
    MPI_Finalize PMPI_Finalize Finalize() Some(ProgramStep::Ending), None;
}

type Flag = *mut c_int;
type Numbers = *mut c_int;
type Handles = *mut c_void;
type Status = *mut c_void;

looks! {
    MPI_Test PMPI_Test Test(request: Handles, flag: Flag, status: Status);
    MPI_Testall PMPI_Testall Testall(count: c_int, requests: Handles, flag: Flag, statuses: Status);
    MPI_Testany PMPI_Testany Testany(count: c_int, requests: Handles, index: Numbers, flag: Flag, status: Status);
    MPI_Testsome PMPI_Testsome Testsome(count: c_int, requests: Handles, ended: Numbers, indices: Numbers, statuses: Status);
    MPI_Iprobe PMPI_Iprobe Iprobe(source: c_int, tag: c_int, comm: Handle, flag: Flag, status: Status);
    MPI_Improbe PMPI_Improbe Improbe(source: c_int, tag: c_int, comm: Handle, flag: Flag, message: Handles, status: Status);
    MPI_Request_get_status PMPI_Request_get_status Request_get_status(request: Handle, flag: Flag, status: Status);
    MPI_Request_get_status_all PMPI_Request_get_status_all Request_get_status_all(
        count: c_int, requests: Handles, flag: Flag, statuses: Status
    );
    MPI_Request_get_status_any PMPI_Request_get_status_any Request_get_status_any(
        count: c_int, requests: Handles, index: Numbers, flag: Flag, status: Status
    );
    MPI_Request_get_status_some PMPI_Request_get_status_some Request_get_status_some(
        count: c_int, requests: Handles, ended: Numbers, indices: Numbers, statuses: Status
    );
    MPI_Win_test PMPI_Win_test Win_test(win: Handle, flag: Flag);
    MPI_Parrived PMPI_Parrived Parrived(request: Handle, partition: c_int, flag: Flag);
}
