// SPDX-License-Identifier: MIT OR Apache-2.0
//! C programs on `libpami.so`, run by `gyre exec` on the machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

// Has the library built.
use pami as _;

use crate::{error_of, gyre, printed_by, root, scratch, text};

/// The folder of `libpami.so`: that of this test, whose dependency it is.
pub fn library() -> PathBuf {
    let mut folder = std::env::current_exe().expect("a path");
    folder.pop();
    assert!(folder.join("libpami.so").exists(), "{}", folder.display());
    folder
}

/// Compiles a C program with more arguments, to a file of its own: tests that run at once write programs of their own.
pub fn compile(name: &str, source: &str, more: impl FnOnce(&mut Command)) -> PathBuf {
    static PROGRAMS: AtomicUsize = AtomicUsize::new(0);
    let number = PROGRAMS.fetch_add(1, Ordering::Relaxed);
    let program = scratch(&format!("{name}-{number}"));
    let mut command = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()));
    command
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(root().join(source));
    more(&mut command);
    let output = command.output().expect("a C compiler");
    let error = error_of(&output);
    assert!(output.status.success(), "{name}: {error}");
    program
}

/// Arguments of a compiler for a program with `libpami.so`.
pub fn with_pami(command: &mut Command, include: &Path, library: &Path) {
    command.arg("-I").arg(include).arg("-L").arg(library);
    let rpath = format!("-Wl,-rpath,{}", library.display());
    command.args(["-lpami", &rpath]);
}

/// Compiles a program of `programs/pami/tests/c`.
pub fn compiled(name: &str) -> PathBuf {
    let source = format!("programs/pami/tests/c/{name}.c");
    compile(&format!("pami-{name}"), &source, |command| {
        with_pami(command, &root().join("programs/pami/include"), &library());
    })
}

pub fn run(program: &Path, options: &[&str]) -> Output {
    let output = gyre(&[&["exec"], options, &["--", text(program)]].concat());
    let error = error_of(&output);
    let printed = printed_by(&output);
    assert!(output.status.success(), "{options:?}: {printed}{error}");
    output
}

/// Runs a program with each of `options`, which no result depends on, and in other environments: what it prints, the
/// cycles and the hash are the same.
pub fn repeats(name: &str, machine: &[&str]) -> String {
    let program = compiled(name);
    let first = run(&program, machine);
    let alike: [(usize, &[&str]); 5] = [
        (1, &[]),
        (15, &["--threads", "2", "--set", "window=1"]),
        (16, &[]),
        (17, &[]),
        (40, &[]),
    ];
    repeats_as(name, machine, &first, &alike);
    String::from_utf8(first.stdout).expect("text")
}

/// A program does the same as in its `first` run with as many more bytes in its environment, and these options of the machine.
fn repeats_as(name: &str, machine: &[&str], first: &Output, alike: &[(usize, &[&str])]) {
    let program = compiled(name);
    for &(length, options) in alike {
        let again = Command::new(env!("CARGO_BIN_EXE_gyre"))
            .current_dir(root())
            .arg("exec")
            .args(machine)
            .args(options)
            .arg("--")
            .arg(&program)
            .env("GYRE_TEST", "x".repeat(length))
            .output()
            .expect("starts");
        let more = "more bytes in the environment";
        assert_eq!(&again, first, "{name} {options:?}: {length} {more}");
    }
}

/// A program does the same where idle nodes are evaluated, which takes long.
fn evaluates_idle_nodes_alike(name: &str, machine: &[&str]) {
    let first = run(&compiled(name), machine);
    repeats_as(
        name,
        machine,
        &first,
        &[(16, &["--set", "skip_idle=false"])],
    );
}

#[test]
#[ignore = "deep: idle nodes are evaluated"]
fn x1_x6_c_programs_do_the_same_where_idle_nodes_are_evaluated() {
    let square = ["-n", "4", "--shape", "2x2"];
    let line = ["-n", "3", "--shape", "3"];
    let pair = ["-n", "2", "--shape", "2"];
    for (name, machine) in [
        ("messages", square),
        ("onesided", line),
        ("typed_rma", line),
        ("geometries", square),
        ("headers", pair),
        ("typed_messages", pair),
    ] {
        evaluates_idle_nodes_alike(name, &machine);
    }
}

#[test]
fn x1_x6_ep4_messages_of_c_programs_arrive_whole_in_any_memory() {
    let printed = repeats("messages", &["-n", "4", "--shape", "2x2"]);
    let mut lines: Vec<&str> = printed.lines().collect();
    lines.sort_unstable();
    let line = |task| format!("task {task} of 4: 144 messages");
    assert_eq!(lines, [line(0), line(1), line(2), line(3)]);
    // Two tasks on each node, and one that is alone.
    for machine in [["-n", "4", "--shape", "2"], ["-n", "1", "--shape", "1"]] {
        run(&compiled("messages"), &machine);
    }
}

#[test]
fn x6_ep2_posted_work_locks_fences_and_several_contexts_of_c_programs() {
    let machine = ["-n", "3", "--shape", "3"];
    let printed = repeats("progress", &machine);
    assert_eq!(printed.lines().count(), 3);
    evaluates_idle_nodes_alike("progress", &machine);
    run(&compiled("progress"), &["-n", "2", "--shape", "1"]);
}

/// A program that repeats on three nodes, and runs with two tasks on each node and with one that is alone.
fn repeats_anywhere(name: &str) {
    let printed = repeats(name, &["-n", "3", "--shape", "3"]);
    assert_eq!(printed.lines().count(), 3);
    for machine in [["-n", "4", "--shape", "2"], ["-n", "1", "--shape", "1"]] {
        run(&compiled(name), &machine);
    }
}

#[test]
fn x1_x6_ep3_one_sided_operations_of_c_programs_reach_other_processes() {
    repeats_anywhere("onesided");
}

#[test]
fn x1_x6_ep3_puts_and_gets_of_c_programs_have_a_layout_on_each_side() {
    repeats_anywhere("typed_rma");
}

#[test]
fn x5_x6_transfers_of_c_programs_to_missing_memory_fail_alone() {
    let output = run(&compiled("nowhere"), &["-n", "2", "--shape", "2"]);
    let printed = printed_by(&output);
    assert_eq!(printed, "task 1: nowhere\ntask 0: nowhere\n");
}

#[test]
fn x5_x6_transfers_of_c_programs_with_bad_local_memory_or_length_are_refused() {
    let output = run(&compiled("bad_local"), &["-n", "2", "--shape", "2"]);
    assert_eq!(output.stdout, b"bad_local\nbad_local\n");
}

#[test]
fn x5_x6_a_message_that_its_target_dropped_is_not_a_success_to_its_sender() {
    let printed = repeats("dropped", &["-n", "2", "--shape", "2"]);
    let expected = "dispatch 1: 3 of 3 failed\ndispatch 2: 3 of 3 failed\ndispatch 3: 0 of 3 failed\n\
                    context ended: 3 of 3 failed\n";
    assert_eq!(printed, expected);
}

#[test]
fn x1_x6_clocks_and_sleeps_of_c_programs_are_simulated() {
    // Seconds: the machine has to skip them.
    let program = compiled("time");
    let machine = ["-n", "2", "--shape", "2"];
    let output = run(&program, &machine);
    let printed = printed_by(&output);
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines.len() == 2 && lines[0] == lines[1], "{printed}");
    assert_eq!(run(&program, &machine), output);
    for wait in ["sleep", "nanosleep", "cond", "sem"] {
        let output = gyre(&["exec", "-n", "1", "--", text(&program), wait]);
        let error = error_of(&output);
        assert_eq!(output.status.code(), Some(1), "{wait}: {error}");
        assert!(error.contains("machine's time is over"), "{wait}: {error}");
    }
}

#[test]
fn x6_computation_takes_the_stated_or_the_measured_time() {
    // Seconds: the machine has to skip them.
    let machine = ["-n", "2", "--shape", "2"];
    let program = compiled("compute");
    let output = run(&program, &machine);
    assert_eq!(printed_by(&output), "0\n0\n");
    let threads = [&machine[..], &["--threads", "2"]].concat();
    assert_eq!(run(&program, &threads), output);

    let microseconds = |factor: &str| -> Vec<u64> {
        let output = run(&program, &[&machine[..], &["--compute", factor]].concat());
        let error = error_of(&output);
        assert!(
            error.contains("measured on the host: the run does not repeat"),
            "{error}"
        );
        let printed = String::from_utf8(output.stdout).expect("text");
        let lines = printed.lines();
        lines.map(|line| line.parse().expect("a time")).collect()
    };
    // 10^7 turns of a loop on any host: from a millisecond to some seconds.
    let of_both = |times: &[u64], factor: u64| {
        let range = factor * 1_000..factor * 10_000_000;
        times.len() == 2 && times.iter().all(|time| range.contains(time))
    };
    let once = microseconds("1");
    assert!(of_both(&once, 1), "{once:?}");
    let thousandfold = microseconds("1000");
    assert!(of_both(&thousandfold, 1_000), "{thousandfold:?}");
}

#[test]
fn x6_the_machine_goes_on_without_a_spinning_c_program() {
    let program = compiled("spin");
    let output = run(&program, &["-n", "2", "--shape", "2", "--host-slice", "1"]);
    let error = error_of(&output);
    assert!(error.contains("the run does not repeat"), "{error}");
    let output = gyre(&[
        "exec",
        "-n",
        "2",
        "--shape",
        "2",
        "--host-limit",
        "1",
        "--",
        text(&program),
    ]);
    assert_eq!(output.status.code(), Some(1));
    let error = error_of(&output);
    assert!(
        error.contains("task 1 program") && error.contains("did not end within 1 s"),
        "{error}"
    );
}

#[test]
fn x5_x6_what_c_programs_do_wrong_is_refused_in_words() {
    let output = run(&compiled("refusals"), &["-n", "2", "--shape", "2"]);
    assert_eq!(output.stdout, b"refused\nrefused\n");
}

#[test]
fn x5_x6_a_c_program_that_no_machine_started_is_told_so() {
    let output = Command::new(compiled("refusals")).output().expect("starts");
    assert_eq!(output.status.code(), Some(1));
    let printed = printed_by(&output);
    assert!(printed.contains("gyre exec starts programs"), "{printed}");
}

#[test]
fn x5_x6_a_c_program_that_leaves_its_client_behind_is_named() {
    // Task 0 comes to the end of the client, where task 1 will never come.
    let program = compiled("leaves");
    let output = gyre(&["exec", "-n", "2", "--shape", "2", "--", text(&program)]);
    assert_eq!(output.status.code(), Some(1));
    let error = error_of(&output);
    let reason = "task 1 has ended and will not come to the barrier of the job";
    assert!(
        error.contains("task 0 program") && error.contains(reason),
        "{error}"
    );
    // All tasks leave theirs.
    let output = gyre(&[
        "exec",
        "-n",
        "2",
        "--shape",
        "2",
        "--",
        text(&program),
        "all",
    ]);
    assert_eq!(output.status.code(), Some(0));
    let error = error_of(&output);
    let said = "tasks that ended without destroying their clients: 0, 1";
    assert!(error.contains(said), "{error}");
}

#[test]
fn x6_a_deadlock_is_found_although_a_task_ends_its_client_or_itself() {
    let program = compiled("no_message");
    for how in ["", "lock", "end"] {
        let output = gyre(&["exec", "-n", "2", "--shape", "2", "--", text(&program), how]);
        assert_eq!(output.status.code(), Some(1), "{how}");
        let error = error_of(&output);
        let waits = match how {
            "end" => {
                "tasks 1; tasks that have ended without destroying their clients: 0; the last progress was at "
            }
            _ => {
                "tasks 1; others wait for all tasks, at the start or end of a client or of MPI: tasks 0; "
            }
        };
        assert!(error.contains("deadlock: in 10000 polls"), "{how}: {error}");
        assert!(error.contains(waits), "{how}: {error}");
        // The machine has run ahead of its last progress; the window is there.
        assert!(error.contains(" ms: deadlock: "), "{how}: {error}");
        let window = error.split("--trace-window ").nth(1).expect("a window");
        let first: u64 = window
            .split(':')
            .next()
            .expect("a cycle")
            .parse()
            .expect("a number");
        assert!(first < 100_000, "{how}: {error}");
    }
}

#[test]
fn x5_x6_a_task_that_waits_for_one_that_has_ended_ends_the_run_with_its_name() {
    let program = compiled("peer_ended");
    for how in [&[][..], &["wait"]] {
        let machine = ["exec", "-n", "2", "--shape", "2", "--", text(&program)];
        let output = gyre(&[&machine, how].concat());
        assert_eq!(output.status.code(), Some(1), "{how:?}");
        let error = error_of(&output);
        let words = "tasks 0; tasks that have ended without destroying their clients: 1; ";
        assert!(
            error.contains("deadlock: ") && error.contains(words),
            "{how:?}: {error}"
        );
    }
}

#[test]
fn x1_x6_ep1_ep5_two_clients_of_a_c_program_have_equal_shares() {
    let printed = repeats("clients", &["-n", "2", "--shape", "2"]);
    assert_eq!(printed, "4 contexts each\n4 contexts each\n");
    let program = compiled("clients");
    let output = run(&program, &["-n", "4", "--shape", "2"]);
    assert_eq!(printed_by(&output), "4 contexts each\n".repeat(4));
    // Four tasks of one client have all contexts of a node, unless the clients are named.
    let crowded = ["exec", "-n", "4", "--shape", "1", "--", text(&program)];
    let output = gyre(&[&crowded[..], &["one"]].concat());
    assert!(output.status.success(), "{}", error_of(&output));
    let output = Command::new(env!("CARGO_BIN_EXE_gyre"))
        .current_dir(root())
        .args(crowded)
        .env("PAMI_CLIENTS", "A/2,B")
        .output()
        .expect("starts");
    assert!(output.status.success(), "{}", error_of(&output));
    assert_eq!(printed_by(&output), "2 contexts each\n".repeat(4));
}

#[test]
fn x1_x6_ep2_threads_of_c_programs_are_threads_of_the_machine() {
    let program = compiled("threads");
    let machine = ["-n", "2", "--shape", "2"];
    let first = run(&program, &machine);
    assert_eq!(first.stdout.split(|&byte| byte == b'\n').count(), 3);
    let again = [&machine[..], &["--threads", "2", "--set", "window=1"]].concat();
    assert_eq!(run(&program, &again), first);
    // Four tasks on four nodes, and one that is its own neighbour.
    for machine in [["-n", "4", "--shape", "4"], ["-n", "1", "--shape", "1"]] {
        run(&program, &machine);
    }
}

#[test]
fn x6_contexts_of_c_programs_advance_by_themselves_if_enabled() {
    let program = compiled("async_progress");
    let machine = ["-n", "3", "--shape", "3"];
    let first = run(&program, &machine);
    assert_eq!(first.stdout.split(|&byte| byte == b'\n').count(), 4);
    let again = [&machine[..], &["--threads", "2", "--set", "window=1"]].concat();
    assert_eq!(run(&program, &again), first);
    for machine in [["-n", "2", "--shape", "1"], ["-n", "1", "--shape", "1"]] {
        run(&program, &machine);
    }
}

/// Runs `thread_ends.c` on one task: exit status, standard output and standard error.
fn thread_end(program: &Path, how: &str) -> (Option<i32>, String, String) {
    let output = gyre(&["exec", "-n", "1", "--shape", "1", "--", text(program), how]);
    let said = |bytes| String::from_utf8(bytes).expect("text");
    let (printed, error) = (said(output.stdout), said(output.stderr));
    (output.status.code(), printed, error)
}

#[test]
fn x6_a_task_ends_with_its_process_whichever_thread_ends_that() {
    let program = compiled("thread_ends");
    for (how, expected) in [
        ("exit", "the process ends\n"),
        ("first", "argument 1\n"),
        ("return", "the first thread returns\n"),
    ] {
        let (status, printed, error) = thread_end(&program, how);
        assert_eq!(
            (status, printed.as_str()),
            (Some(0), expected),
            "{how}: {error}"
        );
        assert!(
            error.contains("without destroying their clients: 0"),
            "{how}: {error}"
        );
        assert_eq!(thread_end(&program, how).2, error, "{how} again");
    }
    // 300 threads, one after the other three at a time.
    let (status, printed, error) = thread_end(&program, "many");
    assert_eq!((status, printed.lines().count()), (Some(0), 300), "{error}");
}

#[test]
fn x5_x6_threads_that_crash_fail_or_wait_for_each_other_are_named() {
    let program = compiled("thread_ends");
    for (how, expected) in [
        (
            "fail",
            "the task's process ended before its task: exit status: 3",
        ),
        (
            "crash",
            "the task's process ended before its task: signal: 11",
        ),
    ] {
        let (status, _, error) = thread_end(&program, how);
        assert_eq!(status, Some(1), "{how}: {error}");
        assert!(error.contains(expected), "{how}: {error}");
    }
    let (status, _, error) = thread_end(&program, "deadlock");
    assert_eq!(status, Some(1), "{error}");
    assert!(
        error.contains("deadlock: nothing is left to happen"),
        "{error}"
    );
    for thread in ["program", "thread 1", "thread 2"] {
        let waits = format!("node 0 task 0 {thread}: since");
        let line = error.lines().find(|line| line.contains(&waits));
        let named = line.is_some_and(|line| line.ends_with("(another thread of its task)"));
        assert!(named, "{thread}: {error}");
    }
}
