// SPDX-License-Identifier: MIT OR Apache-2.0
//! `lrs_arbiter`: the requester whose last grant is the longest ago, and only moving when it is used.

use gyre_rtl_tests::{Unit, cases};
use proptest::prelude::*;

/// The unit beside the order in which its requesters were served, the longest ago first.
struct Bench {
    arbiter: Unit,
    order: Vec<u32>,
}

impl Bench {
    fn new(n: u32) -> Self {
        Self {
            arbiter: Unit::new(&format!("lrs{n}"), n),
            order: (0..n).collect(),
        }
    }

    /// One cycle: the grant of the unit, and that of the order.
    fn cycle(&mut self, requests: u64, advance: bool) -> (u64, u64) {
        let arbiter = &mut self.arbiter;
        arbiter.set(arbiter.port("req_i"), 0, requests);
        arbiter.set(arbiter.port("advance_i"), 0, advance.into());
        arbiter.eval().expect("no assertion fails");
        let granted = arbiter.get(arbiter.port("gnt_o"), 0);
        arbiter.tick().expect("no assertion fails");
        let place = (self.order.iter()).position(|&requester| requests >> requester & 1 != 0);
        let Some(place) = place else {
            return (granted, 0);
        };
        let winner = self.order[place];
        if advance {
            self.order.remove(place);
            self.order.push(winner);
        }
        (granted, 1 << winner)
    }
}

proptest! {
    #![proptest_config(cases(40))]
    #[test]
    fn least_recently_served_requester_is_granted(
        cycles in prop::collection::vec((any::<u8>(), any::<u8>(), prop::bool::weighted(0.8)), 1..300),
        busy: bool,
    ) {
        for n in [1, 2, 5, 8] {
            let mut bench = Bench::new(n);
            for &(some, more, advance) in &cycles {
                let requests = u64::from(if busy { some | more } else { some & more }) & ((1 << n) - 1);
                let (granted, expected) = bench.cycle(requests, advance);
                prop_assert_eq!(granted, expected, "{} requesters, requests {:#b}", n, requests);
            }
        }
    }
}

#[test]
fn groups_that_take_turns_are_each_served_evenly() {
    // A pointer moved by one group would pass over the same member of the other every time.
    let mut bench = Bench::new(8);
    let mut served = [0; 8];
    for turn in 0..400 {
        let (granted, _) = bench.cycle([0b0110_0101, 0b1001_1010][turn % 2], true);
        served[granted.trailing_zeros() as usize] += 1;
    }
    assert_eq!(served, [50; 8]);
}
