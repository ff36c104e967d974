// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre exec` where the system forbids what it is there for: to reach the memory of other processes, to look into them, to
//! have them at addresses that are not random.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::pami::{compile, compiled, run};
use crate::{error_of, printed_by, root, scratch, text};

/// Exit status of a program that cannot forbid what it is to forbid.
const IMPOSSIBLE: i32 = 77;

/// Runs a program with `what` forbidden to the command and its tasks; `None`, with the reason on standard error, where this
/// system does not let that be forbidden.
fn run_without(what: &[&str], program: &Path, options: &[&str]) -> Option<Output> {
    // A process that does not answer fails a test soon.
    let limit: &[&str] = match options.contains(&"--host-limit") {
        true => &[],
        false => &["--host-limit", "60"],
    };
    let output = Command::new(compile("forbid", "tests/command/forbid.c", |_| ()))
        .current_dir(root())
        .args(what)
        .args(["--", env!("CARGO_BIN_EXE_gyre"), "exec"])
        .args(limit)
        .args(options)
        .args(["--", text(program)])
        .output()
        .expect("starts");
    if output.status.code() == Some(IMPOSSIBLE) {
        let error = error_of(&output);
        eprintln!("skipped: {}", error.trim_end());
        return None;
    }
    Some(output)
}

#[test]
fn x1_x6_runs_are_the_same_without_access_to_process_memory() {
    for (name, machine) in [
        // Two tasks on the first node.
        ("messages", ["-n", "3", "--shape", "2"]),
        ("onesided", ["-n", "3", "--shape", "3"]),
        ("nowhere", ["-n", "2", "--shape", "2"]),
    ] {
        let program = compiled(name);
        let expected = run(&program, &machine);
        let options = [&machine[..], &["--threads", "2"]].concat();
        let Some(output) = run_without(&["memory"], &program, &options) else {
            return;
        };
        assert_eq!(output, expected, "{name}");
    }
}

#[test]
fn x1_x6_runs_are_the_same_where_nobody_may_look_into_processes() {
    let program = compiled("onesided");
    let machine = ["-n", "2", "--shape", "2"];
    let expected = run(&program, &machine);
    // The system lets nobody look into what may be executed but not read.
    let mode = fs::Permissions::from_mode(0o111);
    fs::set_permissions(&program, mode).expect("it is the test's own");
    let Some(output) = run_without(&["debugging"], &program, &machine) else {
        return;
    };
    assert_eq!(output, expected);
}

#[test]
fn x6_memory_is_that_of_the_program_and_not_of_what_has_started_it() {
    let program = compiled("messages");
    let script = scratch("forbidden-script");
    let lines = format!("#!/bin/sh\n{}\necho $?\n", text(&program));
    fs::write(&script, lines).expect("can be written");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&script, mode).expect("it is the test's own");
    let machine = ["-n", "2", "--shape", "2"];
    let output = run(&script, &machine);
    let printed = printed_by(&output);
    let mut lines: Vec<&str> = printed.lines().collect();
    lines.sort_unstable();
    let done = ["task 0 of 2: 72 messages", "task 1 of 2: 72 messages"];
    assert_eq!(lines, [&["0", "0"], &done[..]].concat());
    if let Some(forbidden) = run_without(&["memory"], &script, &machine) {
        assert_eq!(forbidden, output);
    }
}

#[test]
fn x11_a_run_without_dispatched_calls_says_so_once() {
    let program = compiled("threads");
    let machine = ["-n", "2", "--shape", "2"];
    let expected = run(&program, &machine);
    let Some(output) = run_without(&["dispatch"], &program, &machine) else {
        return;
    };
    let error = error_of(&output);
    assert!(output.status.success(), "{error}");
    assert_eq!(output.stdout, expected.stdout);
    let told = error.matches("the system forbids the dispatch of system calls");
    assert_eq!(told.count(), 1, "{error}");
}

#[test]
fn x6_the_machine_goes_on_without_an_unreachable_c_program() {
    // What is put there comes while the program asks for nothing.
    let options = ["-n", "2", "--shape", "2", "--host-slice", "1"];
    let Some(output) = run_without(&["memory"], &compiled("spin"), &options) else {
        return;
    };
    let error = error_of(&output);
    assert!(output.status.success(), "{error}");
    assert_eq!(output.stdout, b"spun\nspun\n");
    assert!(error.contains("the run does not repeat"), "{error}");
}

#[test]
fn x5_x6_a_program_whose_memory_cannot_be_reached_either_way_is_named() {
    let program = compiled("deaf");
    let machine = ["-n", "2", "--shape", "2", "--host-limit", "1"];
    assert_eq!(run(&program, &machine).stdout, b"deaf\ndeaf\n");
    let Some(output) = run_without(&["memory"], &program, &machine) else {
        return;
    };
    assert_eq!(output.status.code(), Some(1));
    let error = error_of(&output);
    let words = [
        "task 1: the system forbids",
        "process_vm_readv",
        "Operation not permitted",
        "SIGURG",
        "within 1 s",
    ];
    for word in words {
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn x6_a_run_at_random_addresses_says_that_it_need_not_repeat() {
    let switch = fs::read_to_string("/proc/sys/kernel/randomize_va_space");
    if switch.is_ok_and(|switch| switch.trim() == "0") {
        eprintln!("skipped: this system places nothing at random");
        return;
    }
    let said = "the system places processes at random addresses: the run need not repeat";
    let program = compiled("messages");
    let machine = ["-n", "2", "--shape", "2"];
    let repeats = run(&program, &machine);
    assert!(!error_of(&repeats).contains(said));
    for what in [&["personality"][..], &["personality", "memory"]] {
        let Some(output) = run_without(what, &program, &machine) else {
            return;
        };
        let error = error_of(&output);
        assert!(output.status.success(), "{error}");
        assert_eq!(output.stdout, repeats.stdout);
        assert!(error.contains(said), "{error}");
    }
    // Its memory may be where no other task can name it; a run that fails says so, too.
    let output = run_without(&["personality"], &compiled("leaves"), &machine);
    let output = output.expect("it was possible before");
    assert_eq!(output.status.code(), Some(1));
    let error = error_of(&output);
    assert!(error.contains(said), "{error}");
}
