// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives of MPI on the collective network: `MPI_Barrier`, `MPI_Bcast`, `MPI_Reduce` and `MPI_Allreduce` in place of
//! MPICH's own.
//!
//! The library is loaded before the program's, so the program finds these functions first; by the profiling interface
//! (`PMPI_`) they reach MPICH's. A communicator of all tasks becomes a geometry of the driver at its first collective,
//! and takes routes of the collective network; which algorithm carries a collective out is chosen by its size, as the
//! driver's lists say. All else is MPICH's: other communicators, types and operations of the program, and where no routes
//! are left. `GYRE_MPI_COLLECTIVES=mpich` leaves all to MPICH.

mod calls;
pub mod communicator;
mod data;
mod functions;
mod library;
mod shared;
mod tool;
