// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order of operations within a rank, and what a blocked rank says.

use gyre_goal::exec::{OpState, RankState, WaitingFor};
use gyre_goal::{OpId, Program, parse};

/// A program of one rank.
fn one_rank(statements: &str) -> Program {
    parse(
        "f",
        format!("num_ranks 1\nrank 0 {{\n{statements}}}\n").as_bytes(),
    )
    .unwrap_or_else(|error| panic!("{error}"))
}

/// Runs one operation after the other to its end; the order in which they ran.
fn serial_order(program: &Program) -> Vec<u32> {
    let mut state = RankState::new(&program.ranks()[0]);
    let mut order = Vec::new();
    while let Some(op) = state.next_ready(0) {
        state.started(op);
        state.finished(op);
        order.push(op.0);
    }
    assert!(state.is_done());
    order
}

#[test]
fn without_dependencies_file_order() {
    let program = one_rank("calc 1\ncalc 2\ncalc 3\n");
    assert_eq!(serial_order(&program), [0, 1, 2]);
}

#[test]
fn an_operation_may_require_a_later_one() {
    let program = one_rank("a: calc 1\nb: calc 2\nc: calc 3\na requires c\n");
    assert_eq!(serial_order(&program), [1, 2, 0]);
}

#[test]
fn earlier_ready_goes_first_and_ties_go_by_file_order() {
    // Finishing `d` frees `c` and `a` at once, after `e` was ready from the start.
    let program = one_rank(
        "a: calc 1\nb: calc 1\nc: calc 1\nd: calc 1\ne: calc 1\n\
         c requires d\na requires d\nb requires e\n",
    );
    assert_eq!(serial_order(&program), [3, 4, 0, 2, 1]);
}

#[test]
fn requires_waits_for_the_finish_and_irequires_for_the_start() {
    let program = one_rank("a: calc 1\nb: calc 1\nc: calc 1\nb requires a\nc irequires a\n");
    let mut state = RankState::new(&program.ranks()[0]);
    assert_eq!(state.next_ready(0), Some(OpId(0)));
    assert_eq!(state.next_ready(0), None);
    state.started(OpId(0));
    assert_eq!(state.next_ready(0), Some(OpId(2)));
    assert_eq!(state.next_ready(0), None);
    assert_eq!(state.state(OpId(1)), OpState::Waiting);
    state.finished(OpId(0));
    assert_eq!(state.state(OpId(1)), OpState::Ready);
    assert_eq!(state.next_ready(0), Some(OpId(1)));
}

#[test]
fn both_kinds_on_the_same_operation_wait_for_its_finish() {
    let program = one_rank("a: calc 1\nb: calc 1\nb irequires a\nb requires a\nb requires a\n");
    let mut state = RankState::new(&program.ranks()[0]);
    let a = state.next_ready(0).expect("ready");
    state.started(a);
    assert!(!state.has_ready(0));
    state.finished(a);
    assert!(state.has_ready(0));
}

#[test]
fn each_processor_has_its_own_queue() {
    let program = one_rank("calc 1 cpu 7\ncalc 1\ncalc 1 cpu 7\n");
    let mut state = RankState::new(&program.ranks()[0]);
    assert_eq!(state.cpus(), [0, 7]);
    assert_eq!(state.next_ready(7), Some(OpId(0)));
    assert_eq!(state.next_ready(7), Some(OpId(2)));
    assert_eq!(state.next_ready(7), None);
    assert_eq!(state.next_ready(3), None);
    assert_eq!(state.next_ready(0), Some(OpId(1)));
}

#[test]
#[should_panic(expected = "operation 0 is Ready")]
fn starting_what_was_not_taken_is_a_fault_of_the_caller() {
    let program = one_rank("calc 1\n");
    RankState::new(&program.ranks()[0]).started(OpId(0));
}

#[test]
#[should_panic(expected = "operation 0 is Finished")]
fn finishing_twice_is_a_fault_of_the_caller() {
    let program = one_rank("calc 1\n");
    let mut state = RankState::new(&program.ranks()[0]);
    let op = state.next_ready(0).expect("ready");
    state.started(op);
    state.finished(op);
    state.finished(op);
}

#[test]
fn an_empty_rank_is_done() {
    let program = one_rank("");
    let state = RankState::new(&program.ranks()[0]);
    assert!(state.is_done());
    assert_eq!(state.blocked_report().to_string(), "");
}

#[test]
fn blocked_report_names_what_is_waited_for() {
    let program = one_rank(
        "s: send 8b to 0 tag 5\nr: recv 336b from 0 tag 5\nc: calc 9 cpu 1\nd: calc 1 cpu 1\n\
         e: calc 1\ne requires r\nf: calc 1\nf requires e\nf irequires r\ng: calc 1 cpu 2\n",
    );
    let mut state = RankState::new(&program.ranks()[0]);
    for cpu in [0, 0, 1] {
        let op = state.next_ready(cpu).expect("ready");
        state.started(op);
    }
    state.next_ready(2).expect("ready");
    let report = state.blocked_report();
    let waiting: Vec<_> = report
        .ops
        .iter()
        .map(|b| (b.op.0, b.waiting_for, b.behind))
        .collect();
    assert_eq!(
        waiting,
        [
            (0, WaitingFor::Handover, 0),
            (1, WaitingFor::Arrival, 2),
            (2, WaitingFor::Time, 0),
            (3, WaitingFor::Processor, 0),
            (6, WaitingFor::Start, 0),
        ]
    );
    assert_eq!((report.unfinished, report.not_listed), (7, 0));
    let expected = [
        "rank 0: line 3: send 8b to 0 tag 5 started, not finished; 0 operations behind it",
        "rank 0: line 4: recv 336b from 0 tag 5 posted, not arrived; 2 operations behind it",
        "rank 0: line 5: calc 9 cpu 1 running; 0 operations behind it",
        "rank 0: line 6: calc 1 cpu 1 ready, waits for cpu 1; 0 operations behind it",
        "rank 0: line 12: calc 1 cpu 2 taken, not started; 0 operations behind it",
    ];
    assert_eq!(report.to_string().lines().collect::<Vec<_>>(), expected);
}

#[test]
fn blocked_report_stays_short() {
    let program = one_rank(&"calc 1\n".repeat(100));
    let report = RankState::new(&program.ranks()[0]).blocked_report();
    assert_eq!((report.ops.len(), report.not_listed), (16, 84));
    assert!(report.to_string().ends_with("rank 0: and 84 more"));
}

#[test]
fn a_shared_pointer_to_the_program_will_do() {
    let rank = one_rank("calc 1\n").into_ranks().remove(0);
    let mut state = RankState::new(std::sync::Arc::new(rank));
    assert_eq!(state.next_ready(0), Some(OpId(0)));
}
