//! Progress: what comes is taken by who reads a queue or a counter.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::boundary::Refusal;

/// Something that makes progress.
pub trait Progress: Send + Sync {
    /// Looks for something so often at most; whether nothing was found.
    ///
    /// # Errors
    /// Errors of the driver.
    fn advance(&self, looks: usize) -> Result<bool, Refusal>;

    /// Counts a poll that has found nothing, and sleeps when there were many: longer and longer if it is the only endpoint
    /// that the thread waits for.
    ///
    /// # Errors
    /// Errors of the driver.
    fn rest(&self, alone: bool) -> Result<(), Refusal>;

    /// The machine's time, picoseconds.
    fn now_ps(&self) -> u64;
}

/// Picoseconds of a millisecond.
const MILLISECOND_PS: u64 = 1_000_000_000;

/// The endpoints for which a queue or a counter makes progress.
#[derive(Default)]
pub struct Served(Mutex<Vec<Weak<dyn Progress>>>);

impl Served {
    /// Adds one, if it is not there.
    pub fn add(&self, one: Weak<dyn Progress>) {
        let mut all = self.0.lock();
        all.retain(|known| known.strong_count() > 0);
        if !all.iter().any(|known| known.ptr_eq(&one)) {
            all.push(one);
        }
    }

    /// Makes progress for all; when nothing has come and `has_come` says the same, the thread sleeps a while.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn progress(&self, has_come: impl Fn() -> bool) -> Result<(), Refusal> {
        let all: Vec<_> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        let mut idle = true;
        for one in &all {
            idle &= one.advance(1)?;
        }
        if idle
            && !has_come()
            && let [one, others @ ..] = all.as_slice()
        {
            one.rest(others.is_empty())?;
        }
        Ok(())
    }

    /// A clock for a wait of so many milliseconds of simulated time; without limit for a negative number.
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

/// How long a thread waits.
pub struct Limit {
    clock: Option<Arc<dyn Progress>>,
    end_ps: Option<u64>,
}

impl Limit {
    /// Whether it has waited so long, or waits for what never comes.
    pub fn is_over(&self) -> bool {
        let over = |clock: &Arc<dyn Progress>| self.end_ps.is_some_and(|end| clock.now_ps() >= end);
        self.clock.as_ref().is_none_or(over)
    }
}
