// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data types of C programs on `libpami.so`.

use crate::error_of;
use crate::pami::{compiled, repeats, run};

#[test]
fn x6_ep4_typed_data_of_c_programs_is_combined_in_place() {
    let printed = repeats("typed_messages", &["-n", "2", "--shape", "2"]);
    let mut lines: Vec<&str> = printed.lines().collect();
    lines.sort_unstable();
    let line = |task| format!("task {task} of 2: 112 columns");
    assert_eq!(lines, [line(0), line(1)]);
    // Two tasks on each node, and one that is alone.
    for machine in [["-n", "4", "--shape", "2"], ["-n", "1", "--shape", "1"]] {
        run(&compiled("typed_messages"), &machine);
    }
}

#[test]
fn x6_ep4_a_wrong_receive_of_c_programs_is_named() {
    let program = compiled("typed_messages");
    let output = run(&program, &["-n", "1", "--shape", "1"]);
    let error = error_of(&output);
    for words in [
        "a message of 8 bytes is dropped: 8 bytes of data from byte 4 on divide units of 8 bytes",
        "a message of 72000 bytes is dropped: Bxor is not an operation on type number 13",
        "is not a valid type",
    ] {
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn x5_x6_types_of_c_programs_are_transformed_queried_and_refused() {
    let output = run(&compiled("types"), &["-n", "1", "--shape", "1"]);
    assert_eq!(output.stdout, b"types\n");
}
