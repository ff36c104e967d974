// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs as processes are caught below the C library: waits, threads and children on simulated time.

use crate::pami::{compile, library, with_pami};
use crate::{error_of, gyre, printed_by, root, text};

/// The machine of every test: two tasks, each on its node.
const MACHINE: [&str; 4] = ["-n", "2", "--shape", "2"];

/// These sections of the program end on both tasks; a run with other options is the same, bit for bit, if it `repeats`.
fn sections(names: &[&str], repeats: bool) {
    let program = compile("below-libc", "tests/command/below_libc.c", |command| {
        with_pami(command, &root().join("programs/pami/include"), &library());
        command.arg("-pthread");
    });
    let run_with = |options: &[&str]| {
        let machine = [&["exec", "--host-limit", "20"], &MACHINE[..], options].concat();
        let output = gyre(&[&machine[..], &["--", text(&program)], names].concat());
        let error = error_of(&output);
        assert!(output.status.success(), "{names:?}: {error}");
        output
    };
    let first = run_with(&[]);
    let mut printed: Vec<String> = printed_by(&first).lines().map(str::to_owned).collect();
    let mut expected: Vec<String> = [names, names]
        .concat()
        .iter()
        .map(|&name| name.into())
        .collect();
    printed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(printed, expected);
    if repeats {
        assert_eq!(run_with(&["--threads", "2", "--set", "window=1"]), first);
    }
}

#[test]
fn x6_x11_a_wait_of_a_lone_thread_takes_its_simulated_time() {
    sections(&["timed"], true);
}

#[test]
fn x1_x11_threads_wait_for_each_other_below_the_c_library() {
    sections(&["futexes", "pipes", "fair"], true);
}

#[test]
fn x1_x11_cancelled_threads_end_at_their_next_cancellation_point() {
    sections(&["cancelled"], true);
}

#[test]
fn x6_x11_signals_may_be_blocked_and_children_are_not_killed() {
    sections(&["signals", "children"], true);
}

#[test]
fn x6_x11_threads_wait_for_what_children_do() {
    // Children have the host's time.
    sections(&["shared"], false);
}
