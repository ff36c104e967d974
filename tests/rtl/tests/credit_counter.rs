// SPDX-License-Identifier: MIT OR Apache-2.0
//! `credit_counter` against a number in Rust.

use gyre_rtl_tests::{Failure, Unit};
use proptest::prelude::*;

const COUNTERS: [(&str, u64); 3] = [("credits1", 1), ("credits4", 4), ("credits64", 64)];

/// One cycle, and the credits after it; of two credits back one is a refund.
fn cycle(unit: &mut Unit, take: u64, back: u64, init: bool) -> Result<u64, Failure> {
    unit.set(unit.port("take_i"), 0, take);
    unit.set(unit.port("give_i"), 0, back & 1);
    unit.set(unit.port("refund_i"), 0, back >> 1);
    unit.set(unit.port("init_i"), 0, init.into());
    unit.tick()?;
    Ok(unit.get(unit.port("credits_o"), 0))
}

proptest! {
    #![proptest_config(gyre_rtl_tests::cases(40))]
    #[test]
    fn counter_counts_what_is_taken_and_given(
        cycles in prop::collection::vec((any::<u8>(), 0u64..4, prop::bool::weighted(0.02)), 1..300),
        greedy: bool,
    ) {
        for (name, max) in COUNTERS {
            let mut unit = Unit::new(name, 7);
            let mut credits = max;
            for &(take, back, init) in &cycles {
                let take = u64::from(take) % (if greedy { credits.min(3) + 1 } else { credits.min(1) + 1 });
                let back = match max - credits + take {
                    0 => 0,
                    1 => back % 3,
                    _ => back,
                };
                let count = u64::from(back.count_ones());
                credits = if init { max } else { credits - take + count };
                prop_assert_eq!(cycle(&mut unit, take, back, init), Ok(credits), "{}", name);
            }
        }
    }
}

#[test]
fn credits_below_zero_trip_the_assertion() {
    for (name, max) in COUNTERS {
        let mut unit = Unit::new(name, 7);
        assert_eq!(cycle(&mut unit, max, 0, false), Ok(0));
        let failure = cycle(&mut unit, 1, 0, false).expect_err("none left");
        assert!(failure.text.contains("credit underflow"), "{failure}");
    }
}

#[test]
fn credits_above_the_buffer_trip_the_assertion() {
    // A credit, a refund, both; and both for one that is taken.
    for (name, _) in COUNTERS {
        for (take, back) in [(0, 1), (0, 2), (0, 3), (1, 3)] {
            let mut unit = Unit::new(name, 7);
            let failure = cycle(&mut unit, take, back, false).expect_err("all are here");
            assert!(failure.text.contains("credit overflow"), "{failure}");
        }
    }
}

#[test]
fn init_loads_all_credits_whatever_else_is_asked() {
    for (name, max) in COUNTERS {
        let mut unit = Unit::new(name, 7);
        assert_eq!(cycle(&mut unit, 1, 0, false), Ok(max - 1));
        assert_eq!(cycle(&mut unit, 1, 1, true), Ok(max));
    }
}
