// SPDX-License-Identifier: MIT OR Apache-2.0
//! Progress: reads of a queue or a counter take arrived messages.

use std::cell::Cell;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::boundary::Refusal;

/// An object that makes progress.
pub trait Progress: Send + Sync {
    /// Polls at most this often; returns whether nothing was found.
    ///
    /// # Errors
    /// Errors of the driver.
    fn advance(&self, looks: usize) -> Result<bool, Refusal>;

    /// Polls once for a program that does not wait; returns whether nothing was found.
    ///
    /// # Errors
    /// Errors of the driver.
    fn look(&self) -> Result<bool, Refusal>;

    /// Counts a poll without a result, and sleeps until an event after many; looks again meanwhile, less and less often if the
    /// thread waits for this endpoint only.
    ///
    /// # Errors
    /// Errors of the driver.
    fn rest(&self, alone: bool) -> Result<(), Refusal>;

    /// The machine's time, picoseconds.
    fn now_ps(&self) -> u64;
}

/// Picoseconds of a millisecond.
const MILLISECOND_PS: u64 = 1_000_000_000;

thread_local! {
    /// Calls of MPI that test or probe, in which this thread is.
    static LOOKS: Cell<u32> = const { Cell::new(0) };
}

/// A call of MPI that tests or probes, as long as it lasts: polls in it do not wait.
pub struct Looking(());

impl Looking {
    /// Begins it.
    pub fn begin() -> Self {
        LOOKS.set(LOOKS.get() + 1);
        Self(())
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        LOOKS.set(LOOKS.get() - 1);
    }
}

/// The endpoints for which a queue or a counter makes progress.
#[derive(Default)]
pub struct Served(Mutex<Vec<Weak<dyn Progress>>>);

impl Served {
    /// Adds an endpoint, if it is missing.
    pub fn add(&self, one: Weak<dyn Progress>) {
        let mut all = self.0.lock();
        all.retain(|known| known.strong_count() > 0);
        if !all.iter().any(|known| known.ptr_eq(&one)) {
            all.push(one);
        }
    }

    /// Makes progress for all; if nothing was found and `has_come` is false, a thread that waits sleeps.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn progress(&self, has_come: impl Fn() -> bool) -> Result<(), Refusal> {
        let all: Vec<_> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        let waits = LOOKS.get() == 0;
        if !waits && let [one] = all.as_slice() {
            one.look()?;
            return Ok(());
        }
        let mut idle = true;
        for one in &all {
            idle &= one.advance(1)?;
        }
        if idle
            && waits
            && !has_come()
            && let [one, others @ ..] = all.as_slice()
        {
            one.rest(others.is_empty())?;
        }
        Ok(())
    }

    /// Limit of a wait, milliseconds of simulated time; none for a negative number.
    pub fn limit(&self, milliseconds: i32) -> Limit {
        let clock = self.0.lock().iter().find_map(Weak::upgrade);
        let milliseconds = u64::try_from(milliseconds).ok();
        let end_ps = clock
            .as_ref()
            .zip(milliseconds)
            .map(|(clock, limit)| clock.now_ps() + limit * MILLISECOND_PS);
        Limit { clock, end_ps }
    }
}

/// Limit of a wait.
pub struct Limit {
    clock: Option<Arc<dyn Progress>>,
    end_ps: Option<u64>,
}

impl Limit {
    /// Whether the limit is reached, or the event can never happen.
    pub fn is_over(&self) -> bool {
        let over = |clock: &Arc<dyn Progress>| self.end_ps.is_some_and(|end| clock.now_ps() >= end);
        self.clock.as_ref().is_none_or(over)
    }
}
