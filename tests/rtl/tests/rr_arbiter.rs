// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rr_arbiter`: one grant, to a requester, fair, and only moving when the grant is used.

use gyre_rtl_tests::Unit;
use proptest::prelude::*;

/// Requesters of the arbiter under test and the unit.
struct Bench {
    arbiter: Unit,
    n: u32,
    /// Grants used by others since each requester began to wait without a break.
    waited: Vec<u32>,
}

impl Bench {
    fn new(n: u32) -> Self {
        Self {
            arbiter: Unit::new(&format!("arbiter{n}"), n),
            n,
            waited: vec![0; n as usize],
        }
    }

    /// The grant for these requests in this cycle.
    fn grant(&mut self, requests: u64) -> u64 {
        let arbiter = &mut self.arbiter;
        arbiter.set(arbiter.port("req_i"), 0, requests);
        arbiter.eval().expect("no assertion fails");
        arbiter.get(arbiter.port("gnt_o"), 0)
    }

    /// Ends the cycle; `advance` uses the grant.
    fn tick(&mut self, advance: bool) {
        let arbiter = &mut self.arbiter;
        arbiter.set(arbiter.port("advance_i"), 0, advance.into());
        arbiter.tick().expect("no assertion fails");
    }

    /// Counts the grants each requester waited; the longest wait.
    fn account(&mut self, requests: u64, grant: u64, advance: bool) -> u32 {
        for i in 0..self.n as usize {
            if requests >> i & 1 == 0 || (advance && grant >> i & 1 == 1) {
                self.waited[i] = 0;
            } else if advance {
                self.waited[i] += 1;
            }
        }
        self.waited.iter().copied().max().unwrap_or(0)
    }
}

proptest! {
    #![proptest_config(gyre_rtl_tests::cases(40))]
    #[test]
    fn arbiter_grants_one_requester_and_bounds_the_wait_of_each(
        cycles in prop::collection::vec((any::<u8>(), any::<u8>(), prop::bool::weighted(0.8)), 1..300),
        busy: bool,
    ) {
        for n in 1..=8 {
            let mut bench = Bench::new(n);
            for &(some, more, advance) in &cycles {
                let requests = u64::from(if busy { some | more } else { some & more }) & ((1 << n) - 1);
                let grant = bench.grant(requests);
                prop_assert_eq!(grant.count_ones(), u32::from(requests != 0));
                prop_assert_eq!(grant & !requests, 0);
                let wait = bench.account(requests, grant, advance);
                prop_assert!(wait < n, "a requester of {n} waited {wait} grants");
                bench.tick(advance);
            }
        }
    }
}

#[test]
fn unused_grant_stays_where_it_is() {
    for n in 1..=8 {
        let mut bench = Bench::new(n);
        let all = (1 << n) - 1;
        for round in 0..2 * n {
            let grant = bench.grant(all);
            assert_eq!(grant, 1 << (round % n), "round robin from requester 0");
            for _ in 0..3 {
                bench.tick(false);
                assert_eq!(bench.grant(all), grant);
            }
            bench.tick(true);
        }
    }
}

#[test]
fn idle_arbiter_does_not_rotate() {
    let mut bench = Bench::new(4);
    assert_eq!(bench.grant(0b0001), 0b0001);
    bench.tick(true);
    bench.grant(0);
    for _ in 0..5 {
        bench.tick(true);
    }
    assert_eq!(bench.grant(0b1111), 0b0010);
}

#[test]
fn fairness_account_reports_a_requester_that_is_passed_over() {
    let mut bench = Bench::new(3);
    let mut longest = 0;
    for _ in 0..4 {
        longest = longest.max(bench.account(0b111, 0b001, true));
    }
    assert!(longest >= 3);
}
