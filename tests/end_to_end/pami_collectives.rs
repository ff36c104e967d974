//! Geometries and collectives of C programs on `libpami.so`.

use crate::pami::{compiled, repeats, run};

/// What every task prints, in the order of the tasks.
fn lines(printed: &[u8]) -> Vec<String> {
    let printed = String::from_utf8_lossy(printed);
    let mut lines: Vec<String> = printed.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn x6_ep7_ep8_geometries_of_c_programs_come_and_go_and_have_algorithms_that_work() {
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
fn x6_ep8_ep13_ep18_collectives_of_c_programs_of_every_kind_type_operation_and_algorithm() {
    every_task_counts("collectives", |rest| rest.split(' ').next(), 500);
}

#[test]
fn x6_ep7_ep8_collectives_of_c_programs_on_several_endpoints_of_a_task_and_on_types_with_holes() {
    every_task_counts("endpoints", |rest| rest.strip_suffix(" collectives"), 150);
}
