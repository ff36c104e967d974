//! Bad input: exit status 2 and a text that names place, value and what was expected.

use std::fs;

use crate::{gyre, scratch, text};

/// Runs `gyre`; it must refuse with status 2 and name every word.
fn refused(arguments: &[&str], words: &[&str]) {
    let output = gyre(arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    for word in words {
        assert!(
            error.contains(word),
            "{arguments:?}: no `{word}` in: {error}"
        );
    }
}

#[test]
fn x5_malformed_programs_are_refused_with_line_and_column() {
    let path = scratch("malformed.goal");
    let program = "num_ranks 1\nrank 0 {\nl1: send 5 to 0\n}\n";
    fs::write(&path, program).expect("the build's folder can be written");
    refused(&["run", text(&path)], &["malformed.goal:3:12", "unit `b`"]);
    refused(&["run", "no-such-file.goal"], &["no-such-file.goal"]);
}

#[test]
fn x5_options_are_refused_with_value_and_expectation() {
    refused(&["run", "lulesh", "--shape", "2x0"], &["`2x0`", "1 to 64"]);
    refused(&["run", "lulesh", "--mesh", "d"], &["--mesh", "`d`"]);
    refused(
        &["run", "lulesh", "--set", "nonsense=1"],
        &["nonsense", "reception_fifo"],
    );
    refused(
        &["run", "lulesh", "--set", "reception_fifo=5000"],
        &["reception_fifo", "5000"],
    );
    refused(
        &["run", "lulesh", "--link-latency", "0"],
        &["link_latency", "0"],
    );
    refused(&["run", "lulesh", "--map", "ttt"], &["--map", "`ttt`"]);
    refused(&["run", "lulesh", "--threads", "0"], &["--threads", "0"]);
    refused(&["bench", "nonsense"], &["nonsense", "hop-latency"]);
    refused(
        &["bench", "traffic", "--set", "pattern=x"],
        &["pattern", "tornado"],
    );
    refused(&["run", "lulesh", "--trace", "w.txt"], &["w.txt", ".vcd"]);
}

#[test]
fn x5_machine_files_are_refused_with_line_and_field() {
    let path = scratch("machine.toml");
    fs::write(&path, "[machine]\nlink_latncy = 4\n").expect("the build's folder can be written");
    refused(
        &["run", "lulesh", "--machine", text(&path)],
        &["machine.toml", "line 2", "link_latncy"],
    );
}
