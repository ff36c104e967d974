// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions of the C library that every program of `gyre exec` gets from here: threads, clocks, sleep and shared memory by name
//! . `libpami.so` and `libgyre-fi.so` export them.
//!
//! * [`threads`]: a thread of the program is a thread of the machine, and waits in simulated time.
//! * `clocks`: time is the machine's. `computation`: measured processor time becomes simulated time.
//! * `system_calls`: calls of the system that come from elsewhere wait in simulated time, too.
//! * `shared_memory`: names belong to the job.
//! * [`Job`]: the machine and the task that this process is. [`Taken`]: the share of the node that a client has. [`boundary`]: wraps every exported function.
//! * [`Staging`], [`idle_polls`]: memory for data in transit, and polls in vain.
//!
//! `unsafe` is confined to the C boundary: memory and functions that the program passes by address, and exported names.

pub mod asleep;
mod attach;
pub mod boundary;
mod cancellation;
mod clocks;
mod computation;
pub mod idle_polls;
mod job;
mod real;
mod share;
mod shared_memory;
mod staging;
mod system_calls;
pub mod threads;

pub use job::{Job, NoJob};
pub use share::{NoShare, Taken};
pub use staging::{NoMemory, Staging};
