// SPDX-License-Identifier: MIT OR Apache-2.0
//! Refused puts of one origin that no fence has reported.

use super::word::PutNumber;

/// A refused put, which represents the ones behind it up to a number: no fence, which takes a number too, is among
/// them.
struct Run {
    first: PutNumber,
    last: u32,
}

/// Refused puts of one origin: as few as each fence needs for its report.
#[derive(Default)]
pub(super) struct RefusedPuts(Vec<Run>);

impl RefusedPuts {
    /// Notes that a put has been refused.
    pub fn note(&mut self, put: PutNumber) {
        if self.0.iter().all(|run| run.first != put) {
            self.0.push(Run {
                first: put,
                last: put.get(),
            });
        }
    }

    /// Whether no put is noted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a put before fence `number` has been refused; reported once.
    pub fn covers_fence(&mut self, number: u32) -> bool {
        let before = self.0.len();
        self.0.retain(|run| !run.first.covered_by(number));
        self.0.len() < before
    }

    /// Whether put `number` has been refused; otherwise it is in memory. The entries for fences before and behind it
    /// stay, since those may end later.
    pub fn is_refused(&mut self, number: u32) -> bool {
        let put = PutNumber::synchronised(number);
        let refused = self.0.iter().any(|run| run.first == put);
        let goes_on = |run: &&mut Run| PutNumber::synchronised(run.last).next() == put;
        if let Some(run) = self.0.iter_mut().find(goes_on) {
            run.last = put.get();
            let (first, last) = (run.first, run.last);
            let inside =
                |run: &Run| run.first.covered_by(last) && first.covered_by(run.first.get());
            self.0.retain(|run| run.first == first || !inside(run));
        }
        refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(number: u32) -> PutNumber {
        PutNumber::synchronised(number)
    }

    #[test]
    fn fn1_x5_a_fence_reports_a_put_before_it_after_later_puts() {
        let mut puts = RefusedPuts::default();
        // Number 2 is a fence's.
        for number in [1, 3] {
            puts.note(put(number));
        }
        assert!(puts.is_refused(1) && puts.is_refused(3));
        assert!(puts.covers_fence(1));
        assert!(puts.covers_fence(3));
        assert!(!puts.covers_fence(4) && puts.is_empty());
    }

    #[test]
    fn fn1_x5_refused_puts_between_fences_share_an_entry() {
        let mut puts = RefusedPuts::default();
        for number in (0..).map(put).take(100) {
            if !number.get().is_multiple_of(3) {
                puts.note(number);
            }
            puts.note(number.plain());
            assert_eq!(
                puts.is_refused(number.get()),
                !number.get().is_multiple_of(3)
            );
            assert!(puts.0.len() <= 2);
        }
        assert!(puts.covers_fence(99) && puts.is_empty());
    }
}
