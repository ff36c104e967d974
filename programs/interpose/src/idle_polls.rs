// SPDX-License-Identifier: MIT OR Apache-2.0
//! Polls without a result: after some of them a thread sleeps, and the machine skips the time.

use std::sync::atomic::{AtomicU32, Ordering};

/// Consecutive polls without a result, after which a thread sleeps until an event.
const IDLE_POLLS: u32 = 8;

/// First sleep of a poll without a result, picoseconds. It is limited, as the program may wait for another event.
const FIRST_SLEEP_PS: u64 = 1_000_000;

/// Growth of consecutive sleeps; the numbers limit the doublings.
#[derive(Clone, Copy)]
pub enum Growth {
    /// No growth.
    None,
    /// Every eighth doubles: a sleep is at most a quarter of the sum of those before it, or the first.
    Slow(u32),
    /// Each doubles.
    Fast(u32),
}

/// Counts consecutive polls without a result.
#[derive(Default)]
pub struct IdlePolls {
    idle: AtomicU32,
}

impl IdlePolls {
    /// Notes whether a poll had a result.
    pub fn note(&self, found: bool) {
        let idle = match found {
            true => 0,
            false => self.idle.load(Ordering::Relaxed).saturating_add(1),
        };
        self.idle.store(idle, Ordering::Relaxed);
    }

    /// Longest sleep of the next poll without a result, picoseconds; `None` if it must not sleep.
    pub fn sleep_ps(&self, growth: Growth) -> Option<u64> {
        let many = self.idle.load(Ordering::Relaxed).checked_sub(IDLE_POLLS)?;
        let doublings = match growth {
            Growth::None => 0,
            Growth::Slow(most) => most.min(many / 8),
            Growth::Fast(most) => most.min(many),
        };
        Some(FIRST_SLEEP_PS << doublings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: Growth = Growth::Fast(3);
    const SLOW: Growth = Growth::Slow(5);

    #[test]
    fn x6_sleeps_begin_after_idle_polls_grow_and_end_with_a_result() {
        let idle_polls = IdlePolls::default();
        for _ in 0..IDLE_POLLS {
            assert_eq!(idle_polls.sleep_ps(FAST), None);
            idle_polls.note(false);
        }
        let mut slept = 0;
        for many in 0..200 {
            let times = 1 << many.min(3);
            assert_eq!(idle_polls.sleep_ps(FAST), Some(times * FIRST_SLEEP_PS));
            assert_eq!(idle_polls.sleep_ps(Growth::None), Some(FIRST_SLEEP_PS));
            let slow = idle_polls.sleep_ps(SLOW).expect("it sleeps");
            assert!(slow <= FIRST_SLEEP_PS.max(slept / 4));
            slept += slow;
            idle_polls.note(false);
        }
        assert_eq!(idle_polls.sleep_ps(SLOW), Some(FIRST_SLEEP_PS << 5));
        idle_polls.note(true);
        assert_eq!(idle_polls.sleep_ps(FAST), None);
    }
}
