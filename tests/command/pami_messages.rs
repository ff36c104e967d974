// SPDX-License-Identifier: MIT OR Apache-2.0
//! Headers of messages of C programs on `libpami.so`, and where its tasks are.

use crate::pami::{compiled, repeats, run};
use crate::printed_by;

#[test]
fn x6_ep4_headers_of_any_length_come_whole_and_in_order_to_c_programs() {
    let printed = repeats("headers", &["-n", "2", "--shape", "2"]);
    let mut lines: Vec<&str> = printed.lines().collect();
    lines.sort_unstable();
    let line = |task| format!("task {task} of 2: 144 messages");
    assert_eq!(lines, [line(0), line(1)]);
    // Two tasks on each node.
    run(&compiled("headers"), &["-n", "4", "--shape", "2"]);
}

#[test]
fn x6_c_programs_learn_the_torus_by_an_extension() {
    let output = run(
        &compiled("torus"),
        &["-n", "6", "--shape", "2x3", "--mesh", "a"],
    );
    let printed = printed_by(&output);
    assert_eq!(printed.lines().count(), 6, "{printed}");
    for line in printed.lines() {
        assert!(line.ends_with(": 2x3 01"), "{line}");
    }
}
