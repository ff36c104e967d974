// SPDX-License-Identifier: MIT OR Apache-2.0
//! Geometries and collectives of C programs on `libpami.so`.

use std::path::Path;

use crate::pami::{compiled, repeats, run};

/// Lines that the tasks print, in the order of the tasks.
fn lines(printed: &[u8]) -> Vec<String> {
    let printed = String::from_utf8_lossy(printed);
    let mut lines: Vec<String> = printed.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn x6_ep7_ep8_geometries_of_c_programs_have_working_algorithms() {
    let printed = repeats("geometries", &["-n", "4", "--shape", "2x2"]);
    let line = |task| format!("task {task} of 4: geometries");
    let all = [line(0), line(1), line(2), line(3)];
    assert_eq!(lines(printed.as_bytes()), all);
    // Several tasks on a node, and one that is alone.
    for machine in [["-n", "5", "--shape", "3"], ["-n", "1", "--shape", "1"]] {
        run(&compiled("geometries"), &machine);
    }
}

/// Every task of a program says how many collectives it has called, in words of which `count` finds the number: more than
/// `least`. One task a node, with the collective network, then three on one.
fn every_task_counts(program: &str, count: fn(&str) -> Option<&str>, least: usize) {
    let program = compiled(program);
    for (tasks, shape) in [("4", "2x2"), ("3", "1")] {
        let output = run(&program, &["-n", tasks, "--shape", shape]);
        let lines = lines(&output.stdout);
        assert_eq!(lines.len().to_string(), tasks, "{shape}: {lines:?}");
        for (task, line) in lines.iter().enumerate() {
            let begin = format!("task {task} of {tasks}: ");
            let count = line.strip_prefix(&begin).and_then(count);
            let count: usize = count.and_then(|c| c.parse().ok()).expect("a count");
            assert!(count > least, "{shape}: {line}");
        }
    }
}

#[test]
fn x6_ep8_ep13_ep18_collectives_of_c_programs_by_every_algorithm() {
    every_task_counts("collectives", |rest| rest.split(' ').next(), 500);
}

#[test]
fn x6_ep7_ep8_collectives_of_c_programs_on_endpoints_and_holed_types() {
    every_task_counts("endpoints", |rest| rest.strip_suffix(" collectives"), 150);
}

/// Runs a program twice, in different ways that no result depends on: what it prints, the cycles and the hash are the same.
fn twice(program: &Path, machine: &[&str]) -> Vec<String> {
    let first = run(program, machine);
    let again = [machine, &["--threads", "2", "--set", "window=1"]].concat();
    assert_eq!(run(program, &again), first, "{machine:?}");
    lines(&first.stdout)
}

#[test]
fn x6_active_message_collectives_of_c_programs_from_every_root() {
    let program = compiled("am_collectives");
    let lines = twice(&program, &["-n", "4", "--shape", "2x2"]);
    let roots: Vec<usize> = (0..4)
        .map(|task| {
            let line = lines[task].strip_prefix(&format!("task {task} of 4: root of "));
            let count = line.and_then(|rest| rest.strip_suffix(" collectives"));
            count.and_then(|count| count.parse().ok()).expect("a count")
        })
        .collect();
    // Task 0 does not belong to all geometries.
    assert!(roots.iter().all(|&count| count > 30), "{roots:?}");
    // Several tasks on a node, and one that is alone.
    for machine in [["-n", "3", "--shape", "1"], ["-n", "1", "--shape", "1"]] {
        run(&program, &machine);
    }
}

#[test]
fn x5_x6_active_message_collectives_of_c_programs_combine_and_refuse() {
    let program = compiled("am_operations");
    let lines = twice(&program, &["-n", "4", "--shape", "2x2"]);
    let line = |task| format!("task {task} of 4: operations");
    assert_eq!(lines, [line(0), line(1), line(2), line(3)]);
    for machine in [["-n", "5", "--shape", "2"], ["-n", "1", "--shape", "1"]] {
        run(&program, &machine);
    }
}
