// SPDX-License-Identifier: MIT OR Apache-2.0
//! `age_arbiter`: the oldest of those that ask, by stamps that wrap; among equals each in turn.

use gyre_rtl_tests::Unit;
use proptest::prelude::*;

const N: usize = 6;
const RANGE: u64 = 64;

/// The unit with its requests, births and time set.
fn grant(unit: &mut Unit, requests: u64, births: &[u64; N], now: u64) -> u64 {
    unit.set(unit.port("req_i"), 0, requests);
    for (n, &birth) in births.iter().enumerate() {
        unit.set(unit.port("birth_i"), n, birth % RANGE);
    }
    unit.set(unit.port("now_i"), 0, now % RANGE);
    unit.eval().expect("no assertion fails");
    unit.get(unit.port("gnt_o"), 0)
}

fn tick(unit: &mut Unit, advance: bool) {
    unit.set(unit.port("advance_i"), 0, advance.into());
    unit.tick().expect("no assertion fails");
}

proptest! {
    #![proptest_config(gyre_rtl_tests::cases(100))]
    #[test]
    fn hw3_the_oldest_is_served_and_equals_take_turns(
        start: u64,
        cycles in prop::collection::vec((0..64u64, prop::array::uniform6(0..RANGE), any::<bool>()), 1..200),
    ) {
        let mut unit = Unit::new("age_arbiter", 1);
        for (step, &(requests, ages, advance)) in cycles.iter().enumerate() {
            let now = start.wrapping_add(step as u64);
            let births = ages.map(|age| now.wrapping_sub(age));
            let granted = grant(&mut unit, requests, &births, now);
            let oldest = (0..N).filter(|n| requests >> n & 1 == 1).map(|n| ages[n]).max();
            prop_assert_eq!(granted.count_ones(), u32::from(requests != 0));
            if let Some(oldest) = oldest {
                prop_assert!(requests & granted != 0);
                prop_assert_eq!(ages[granted.trailing_zeros() as usize], oldest);
            }
            tick(&mut unit, advance);
        }
    }

    #[test]
    fn hw3_none_of_equal_age_waits_for_more_than_the_others(born in 0..RANGE, now in 0..RANGE) {
        let mut unit = Unit::new("age_arbiter", 2);
        let mut served = [0; N];
        for _ in 0..10 * N {
            let granted = grant(&mut unit, 0b111111, &[born; N], now);
            served[granted.trailing_zeros() as usize] += 1;
            tick(&mut unit, true);
        }
        prop_assert_eq!(served, [10; N]);
    }
}
