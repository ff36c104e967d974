// SPDX-License-Identifier: MIT OR Apache-2.0
//! `flow_reorder`: packets of ordered-dynamic flows go on once each, whole, in order, whatever order they come in (HW-4).

use gyre_layout::ErrorReason;
use gyre_layout::registers::{flow_page, flow_target};
use gyre_rtl_tests::cases;
use gyre_rtl_tests::flow::{Bench, Faults, MODELS, Trouble};
use proptest::prelude::*;

fn ok<T>(result: Result<T, Trouble>) -> T {
    result.unwrap_or_else(|trouble| panic!("{trouble}"))
}

proptest! {
    #![proptest_config(cases(60))]
    #[test]
    fn hw4_packets_of_flows_leave_once_and_in_order_from_any_arrival(
        model in prop::sample::select(&MODELS),
        packets in 1usize..150,
        willing in prop::array::uniform4(0.1f64..=1.0),
        damage in prop::sample::select(&[0.0, 0.0, 0.2]),
        intruders in prop::sample::select(&[0.0, 0.1]),
        seed: u64,
    ) {
        let mut bench = ok(Bench::new(model, packets, seed));
        bench.willing = willing;
        bench.faults = Faults { damage, intruders };
        let run = bench.finish(400_000);
        prop_assert!(run.is_ok(), "{}", run.unwrap_err());
        if damage + intruders == 0.0 {
            prop_assert_eq!(&bench.reports, &[]);
        }
    }
}

#[test]
fn hw4_full_reception_fifo_stops_a_flow_at_its_window_and_all_sink() {
    for model in MODELS {
        let mut bench = ok(Bench::new(model, 100, 3));
        bench.willing = [1.0, 0.0, 1.0, 1.0];
        for _ in 0..4_000 {
            ok(bench.step());
        }
        let taken: usize = (0..model.flows).filter(|f| f % 2 == 0).count() * model.window;
        assert!(bench.path_free(), "a packet waits on its path");
        assert!(bench.most <= taken, "more than the windows were under way");
        bench.willing[1] = 1.0;
        ok(bench.finish(400_000));
    }
}

#[test]
fn hw4_scoreboard_reports_a_packet_released_before_its_turn() {
    for model in &MODELS[..1] {
        let mut bench = ok(Bench::new(*model, 40, 5));
        bench.swap = Some(17);
        let trouble = bench
            .finish(100_000)
            .expect_err("packets 17 and 18 are exchanged");
        assert!(matches!(trouble, Trouble::Wrong(..)), "{trouble}");
    }
}

#[test]
fn hw4_packets_outside_the_window_or_repeated_are_refused() {
    let model = MODELS[0];
    let mut bench = ok(Bench::new(model, 0, 7));
    // Nothing leaves: sequence number 0 is the next to be released.
    for seq in [4, 5, 15, 16, 31, 1, 1, 3, 3] {
        bench.arrive(0, seq);
        while !bench.path_free() {
            ok(bench.step());
        }
        for _ in 0..60 {
            ok(bench.step());
        }
    }
    let refused = vec![ErrorReason::PktFlow; 7];
    assert_eq!(bench.reports, refused, "all but the first of 1 and of 3");
    let status = ok(bench.access(flow_target::STATUS, None)).expect("there is a flow 0");
    assert_eq!(flow_target::status::NEXT.get(status), 0);
    assert_eq!(flow_target::status::IN_USE.get(status), 1);
}

#[test]
fn hw4_flow_registers_refuse_what_would_break_a_flow() {
    for model in MODELS {
        let mut bench = ok(Bench::new(model, 3, 11));
        let open = bench.ctrl(0);
        assert!(ok(bench.write(0, open)), "opens an open flow");
        while bench.received == 0 {
            ok(bench.step());
            if ok(bench.access(flow_target::STATUS, None))
                .is_some_and(|s| flow_target::status::IN_USE.get(s) != 0)
            {
                assert!(ok(bench.write(0, 0)), "closes a flow that holds packets");
            }
        }
        ok(bench.finish(10_000));
        assert!(!ok(bench.write(0, 0)), "closes a flow at rest");
        bench.stop(0);
        let peer = flow_target::ctrl::PEER;
        for bad in [0, 4, 1 << 6] {
            let value = open & !peer.put(0x3fff_ffff) | peer.put(bad);
            assert!(ok(bench.write(0, value)), "from node {bad:#x}");
        }
        assert!(!ok(bench.write(0, open)), "opens it again");
        let params =
            ok(bench.access(flow_page::PARAMS - flow_page::target(0), None)).expect("is there");
        assert_eq!(params, model.flows as u64 | (model.window as u64) << 8);
        let beyond = flow_page::target(model.flows as u64) - flow_page::target(0);
        assert_eq!(
            ok(bench.access(beyond, None)),
            None,
            "there is no such flow"
        );
    }
}
