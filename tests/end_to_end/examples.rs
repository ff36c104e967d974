//! The programs in `examples/`, on small machines: rings of one and two nodes, several tasks a node.

use gyre::program::{Printed, Program};
use serde_json::Value;

use crate::programs::hello;

/// Runs a program with `arguments`, blanks between them.
fn execute(program: &Program, arguments: &str) -> Printed {
    program.execute(std::iter::once(program.name).chain(arguments.split_whitespace()))
}

/// Runs a program that must succeed; its metrics.
fn metrics(program: &Program, arguments: &str) -> Value {
    let printed = execute(program, &format!("{arguments} --json"));
    let error = &printed.error;
    assert_eq!(printed.status, 0, "{} {arguments}: {error}", program.name);
    let mut result: Value = serde_json::from_str(&printed.output).expect("one JSON object");
    assert_eq!(result["metrics"]["verified"], true);
    result["metrics"].take()
}

/// Runs a program that must be refused with status 2, naming all of `words`.
fn refused(program: &Program, arguments: &str, words: &[&str]) {
    let Printed { error, status, .. } = execute(program, arguments);
    assert_eq!(status, 2, "{} {arguments}: {error}", program.name);
    for word in words {
        assert!(
            error.contains(word),
            "{} {arguments}: no `{word}` in: {error}",
            program.name
        );
    }
}

#[test]
fn ep1_ep4_hello_every_task_greets() {
    for (arguments, tasks) in [
        ("--shape 2x1x3", 6),
        ("--shape 1", 1),
        ("--shape 1 --set tasks_per_node=3", 3),
        ("--shape 2x2 --mesh a --set tasks_per_node=2", 8),
    ] {
        assert_eq!(metrics(&hello::PROGRAM, arguments)["tasks"], tasks);
    }
    let printed = execute(&hello::PROGRAM, "--shape 2");
    assert!(printed.output.contains("\nHello from task 1 of 2\n"));
}

#[test]
fn x5_programs_refuse_options_and_settings() {
    let hello = &hello::PROGRAM;
    refused(hello, "--shape 2x0", &["hello: --shape", "`2x0`"]);
    refused(hello, "--set grid=4", &["--set grid", "tasks_per_node"]);
    refused(hello, "--set tasks_per_node=0", &["from 1 to 16", "`0`"]);
    refused(hello, "--trace w.vcd", &["--trace", "gyre run"]);
    refused(hello, "--shap 2", &["--shap"]);
    let help = execute(hello, "--help");
    assert_eq!(help.status, 0);
    assert!(help.output.contains("--set <KEY=VALUE>"), "{}", help.output);
}
