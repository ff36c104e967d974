//! Polls that find nothing: after some of them a thread sleeps, and the machine jumps over the time.

use std::sync::atomic::{AtomicU32, Ordering};

/// Polls in a row that find nothing, after which a thread sleeps until something comes.
const IDLE_POLLS: u32 = 8;

/// First sleep of a poll that finds nothing, picoseconds; each further one is twice as long. The program may wait for
/// something else.
const FIRST_SLEEP_PS: u64 = 1_000_000;

/// Counts polls in a row that have found nothing.
#[derive(Default)]
pub struct Patience {
    idle: AtomicU32,
}

impl Patience {
    /// Notes whether a poll has found something.
    pub fn note(&self, found: bool) {
        let idle = match found {
            true => 0,
            false => self.idle.load(Ordering::Relaxed).saturating_add(1),
        };
        self.idle.store(idle, Ordering::Relaxed);
    }

    /// How long a poll that finds nothing is to sleep at most, picoseconds, by what was noted, if at all; sleeps are doubled so
    /// often.
    pub fn sleep_ps(&self, doublings: u32) -> Option<u64> {
        let many = self.idle.load(Ordering::Relaxed).checked_sub(IDLE_POLLS)?;
        Some(FIRST_SLEEP_PS << many.min(doublings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x6_sleeps_begin_after_some_idle_polls_double_and_end_with_what_is_found() {
        let patience = Patience::default();
        for _ in 0..IDLE_POLLS {
            assert_eq!(patience.sleep_ps(2), None);
            patience.note(false);
        }
        for times in [1, 2, 4, 4] {
            assert_eq!(patience.sleep_ps(2), Some(times * FIRST_SLEEP_PS));
            assert_eq!(patience.sleep_ps(0), Some(FIRST_SLEEP_PS));
            patience.note(false);
        }
        patience.note(true);
        assert_eq!(patience.sleep_ps(2), None);
    }
}
