// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps of the program for traces (`gyre record`): what it sends and receives, when it learns of their ends, and how long it
//! computes in between. Only recorded runs have them.

use std::cell::Cell;

use gyre_driver::Platform as _;
use gyre_interpose::Job;
use gyre_note::{Context, Note, ProgramStep};

thread_local! {
    /// Calls of the library that this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// When this thread left the library, picoseconds.
    static LEFT_PS: Cell<Option<u64>> = const { Cell::new(None) };
    /// Time that it has spent outside since its last step, picoseconds.
    static OUTSIDE_PS: Cell<u64> = const { Cell::new(0) };
}

/// The job of this thread, if its machine records events.
fn recorded() -> Option<&'static Job> {
    Job::of_this_thread().filter(|job| job.description.recorded)
}

/// A call of the library, as long as it lasts.
pub struct Inside(());

impl Inside {
    /// Enters the library.
    pub fn begin() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        if let (1, Some(left_ps)) = (DEPTH.get(), LEFT_PS.take())
            && let Some(job) = recorded()
        {
            let outside_ps = job.platform.now_ps().saturating_sub(left_ps);
            OUTSIDE_PS.set(OUTSIDE_PS.get() + outside_ps);
        }
        Self(())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        if DEPTH.get() == 0 {
            LEFT_PS.set(recorded().map(|job| job.platform.now_ps()));
        }
    }
}

/// A step that the program learns of later.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    at: Context,
    step: ProgramStep,
}

impl Step {
    /// The step at an endpoint.
    pub const fn new(at: Context, step: ProgramStep) -> Self {
        Self { at, step }
    }

    /// Tells the machine that it happens now.
    pub fn take(self) {
        let Some(job) = recorded() else {
            return;
        };
        let Self { at, step } = self;
        job.platform.note(Note::Program {
            at,
            outside_ps: OUTSIDE_PS.take(),
            step,
        });
    }
}
