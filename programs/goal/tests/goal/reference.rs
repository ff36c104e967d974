// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reference run and its matcher.

use gyre_goal::reference::{Arrival, Matcher, Receive, RunError, SendMode, run};
use gyre_goal::{Op, OpId, OpKind, Program, RankBuilder, parse};

fn program(text: &str) -> Program {
    parse("f", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn arrival(source: u32, tag: u32, message: u32) -> Arrival<u32> {
    Arrival {
        source,
        tag,
        bytes: 8,
        message,
    }
}

fn receive(source: Option<u32>, tag: Option<u32>, receive: u32) -> Receive<u32> {
    Receive {
        source,
        tag,
        bytes: 8,
        receive,
    }
}

#[test]
fn a_message_goes_to_the_receive_posted_first() {
    let mut matcher = Matcher::new();
    assert_eq!(matcher.post(receive(Some(1), Some(5), 0)), Ok(None));
    assert_eq!(matcher.post(receive(None, Some(6), 1)), Ok(None));
    assert_eq!(matcher.post(receive(Some(2), None, 2)), Ok(None));
    assert_eq!(matcher.post(receive(Some(2), Some(6), 3)), Ok(None));
    let mut taken = |source, tag| {
        let matched = matcher.arrive(arrival(source, tag, 0));
        matched.expect("large enough").map(|m| m.receive.receive)
    };
    assert_eq!(taken(2, 6), Some(1));
    assert_eq!(taken(2, 6), Some(2));
    assert_eq!(taken(1, 6), None);
    assert_eq!(taken(2, 6), Some(3));
    assert_eq!(taken(1, 5), Some(0));
    assert_eq!(matcher.unexpected().count(), 1);
    assert_eq!(matcher.posted().count(), 0);
}

#[test]
fn a_receive_takes_the_message_that_arrived_first() {
    let mut matcher = Matcher::new();
    for (message, (source, tag)) in (0..).zip([(1, 5), (2, 6), (1, 6), (1, 5)]) {
        assert_eq!(matcher.arrive(arrival(source, tag, message)), Ok(None));
    }
    let mut taken = |source, tag| {
        let matched = matcher.post(receive(source, tag, 0));
        matched.expect("large enough").map(|m| m.arrival.message)
    };
    assert_eq!(taken(None, Some(6)), Some(1));
    assert_eq!(taken(Some(2), None), None);
    assert_eq!(taken(Some(1), Some(5)), Some(0));
    assert_eq!(taken(None, None), Some(2));
    assert_eq!(taken(None, None), Some(3));
    assert_eq!(matcher.posted().count(), 1);
}

/// Both ranks send before they receive.
const HEAD_TO_HEAD: &str = "num_ranks 2
rank 0 {
s: send 8b to 1
r: recv 8b from 1
r requires s
}
rank 1 {
s: send 8b to 0
r: recv 8b from 0
r requires s
}
";

#[test]
fn sends_head_to_head_end_only_if_eager() {
    let program = program(HEAD_TO_HEAD);
    assert!(run(&program, SendMode::Eager).is_ok());
    assert!(run(&program, SendMode::EagerUpTo(8)).is_ok());
    assert!(run(&program, SendMode::EagerUpTo(7)).is_err());
    let error = run(&program, SendMode::Synchronous).expect_err("deadlock");
    assert!(matches!(&error, RunError::Deadlock { at_ns: 0, blocked } if blocked.len() == 2));
    assert_eq!(
        error.to_string(),
        "deadlock at 0 ns:\n\
         rank 0: line 3: send 8b to 1 started, not finished; 1 operation behind it\n\
         rank 1: line 8: send 8b to 0 started, not finished; 1 operation behind it"
    );
}

#[test]
fn time_is_that_of_calcs_on_their_processors() {
    // Two processors at once, two calcs one after the other on processor 0, then a message.
    let program = program(
        "num_ranks 2\nrank 0 {\na: calc 100\nb: calc 50\nc: calc 120 cpu 1\ns: send 1b to 1\n\
         s requires b\ns requires c\n}\nrank 1 {\nr: recv 1b from 0\nd: calc 7\nd requires r\n}\n",
    );
    let outcome = run(&program, SendMode::Synchronous).expect("ends");
    assert_eq!(outcome.makespan_ns, 157);
    assert_eq!(outcome.end_ns, [150, 157]);
    assert_eq!(program.floor_ns(), Ok(157));
}

#[test]
fn a_calc_holds_up_a_send_on_its_processor_only() {
    let text = |cpu| {
        format!(
            "num_ranks 2\nrank 0 {{\ncalc 100\nsend 1b to 1 cpu {cpu}\n}}\n\
             rank 1 {{\nr: recv 1b from 0\nd: calc 10\nd requires r\n}}\n"
        )
    };
    let end_of_receiver = |cpu| {
        let outcome = run(&program(&text(cpu)), SendMode::Eager).expect("ends");
        outcome.end_ns[1]
    };
    assert_eq!(end_of_receiver(0), 110);
    assert_eq!(end_of_receiver(1), 10);
}

#[test]
fn messages_are_numbered_in_send_order() {
    let program = program(
        "num_ranks 1\nrank 0 {\nsend 1b to 0 tag 5\nsend 2b to 0 tag 5\nsend 3b to 0 tag 6\n\
         recv 9b from -1 tag -1\nrecv 9b from -1 tag -1\nrecv 9b from 0 tag 5\n}\n",
    );
    let outcome = run(&program, SendMode::Eager).expect_err("tag 6 was meant for a wildcard");
    assert!(matches!(outcome, RunError::Deadlock { .. }));
    let program = self::program(
        "num_ranks 1\nrank 0 {\nsend 1b to 0 tag 5\nsend 2b to 0 tag 5\nsend 3b to 0 tag 6\n\
         recv 9b from 0 tag 5\nrecv 9b from -1 tag -1\nrecv 9b from -1 tag -1\n}\n",
    );
    let outcome = run(&program, SendMode::Eager).expect("ends");
    let seen: Vec<_> = outcome
        .deliveries
        .iter()
        .map(|d| (d.key.tag, d.key.number, d.bytes, d.send.0, d.recv.0))
        .collect();
    assert_eq!(seen, [(5, 0, 1, 0, 3), (5, 1, 2, 1, 4), (6, 0, 3, 2, 5)]);
}

#[test]
fn a_message_longer_than_its_receive_is_an_error() {
    // Either receive could take either message, so that only the run can tell.
    let program = program(
        "num_ranks 1\nrank 0 {\nsend 9b to 0\nsend 1b to 0\nrecv 1b from 0\nrecv 9b from 0\n}\n",
    );
    let error = run(&program, SendMode::Eager).expect_err("too long");
    assert_eq!(
        error.to_string(),
        "rank 0: message of 9 bytes from rank 0 with tag 0 matches a receive of 1 bytes"
    );
}

#[test]
fn a_message_that_nobody_receives_is_an_error() {
    let mut rank = RankBuilder::new(0);
    let kind = OpKind::Send {
        bytes: 1,
        to: 0,
        tag: 0,
        nic: 0,
    };
    rank.op(Op { kind, cpu: 0 });
    let program = Program::new(vec![rank.build().expect("no cycle")]);
    let error = run(&program, SendMode::Eager).expect_err("not received");
    assert_eq!(
        error,
        RunError::Unreceived {
            rank: 0,
            messages: 1
        }
    );
}

#[test]
fn built_programs_report_operations_without_lines() {
    let mut rank = RankBuilder::new(0);
    let kind = OpKind::Recv {
        bytes: 1,
        from: None,
        tag: None,
        nic: 0,
    };
    assert_eq!(rank.op(Op { kind, cpu: 0 }), OpId(0));
    let program = Program::new(vec![rank.build().expect("no cycle")]);
    let error = run(&program, SendMode::Eager).expect_err("no message");
    assert_eq!(
        error.to_string(),
        "deadlock at 0 ns:\n\
         rank 0: operation 0: recv 1b from -1 tag -1 posted, not arrived; 0 operations behind it"
    );
}
