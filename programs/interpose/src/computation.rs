// SPDX-License-Identifier: MIT OR Apache-2.0
//! Computation of the program: measured processor time that takes simulated time with `gyre exec --compute`, and time that the
//! program states by [`gyre_compute`](crate::clocks::gyre_compute).

use std::cell::Cell;

use gyre_remote::Native;
use rustix::time::{ClockId, clock_gettime};

use crate::job::Job;

thread_local! {
    /// Calls of the library that this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Processor time of this thread, nanoseconds, when it left the library, if computation is measured.
    static LEFT_NS: Cell<Option<u64>> = const { Cell::new(None) };
}

/// A call of the library, as long as it lasts. Its beginning charges the computation since the last one.
pub struct Call {
    _native: Native,
}

impl Call {
    /// Enters the library.
    pub fn begin() -> Self {
        let native = Native::begin();
        DEPTH.set(DEPTH.get() + 1);
        if let (1, Some(left_ns)) = (DEPTH.get(), LEFT_NS.take()) {
            charge(processor_time_ns().saturating_sub(left_ns));
        }
        Self { _native: native }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        if DEPTH.get() == 0 && measured().is_some() {
            LEFT_NS.set(Some(processor_time_ns()));
        }
    }
}

/// The job, and the simulated time of a microsecond of processor time in picoseconds, if computation is measured.
fn measured() -> Option<(&'static Job, u64)> {
    let job = Job::of_this_thread()?;
    let ps = job.description.compute_ps;
    (ps > 0).then_some((job, ps))
}

fn charge(ns: u64) {
    if let Some((job, ps)) = measured() {
        let ps = u128::from(ns) * u128::from(ps) / 1000;
        job.platform.compute(u64::try_from(ps).unwrap_or(u64::MAX));
    }
}

/// Processor time of this thread: of the system, not of the machine.
fn processor_time_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // Never negative.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
