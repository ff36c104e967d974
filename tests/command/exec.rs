// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre exec`: programs as processes, whatever they do.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::pami::compile;
use crate::{error_of, gyre, printed_by, root, scratch, text};

/// Runs a shell script as every task of two on two nodes.
fn script(options: &[&str], script: &str) -> Output {
    let common = ["exec", "-n", "2", "--shape", "2x1"];
    gyre(&[&common, options, &["--", "bash", "-c", script]].concat())
}

#[test]
fn x6_programs_print_whole_lines_in_order_of_simulated_time() {
    let run = || script(&["--tag"], "printf 'a\\nb'; echo; echo out >&2; printf c");
    let output = run();
    assert_eq!(output.status.code(), Some(0));
    let printed = printed_by(&output);
    assert_eq!(printed, "[0] a\n[0] b\n[1] a\n[1] b\n[0] c[1] c");
    let error = error_of(&output);
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines[..2], ["[0] out", "[1] out"]);
    assert!(lines[2].ends_with(" cycles simulated"), "{error}");
    assert!(lines[3].starts_with("hash ") && lines.len() == 4, "{error}");
    let again = run();
    assert_eq!((again.stdout, again.stderr), (output.stdout, output.stderr));
}

#[test]
fn x6_x11_a_program_that_is_linked_statically_is_refused_by_name() {
    let program = compile("static", "tests/command/static.c", |command| {
        command.arg("-static");
    });
    let output = gyre(&["exec", "-n", "2", "--shape", "2", "--", text(&program)]);
    assert_eq!(output.status.code(), Some(2));
    let error = error_of(&output);
    let expected = format!("{}: is linked statically: expected", text(&program));
    assert!(error.contains(&expected), "{error}");
    // As a child of a task it runs as on the host.
    let output = script(&[], &format!("{}; true", text(&program)));
    assert_eq!(output.status.code(), Some(0), "{}", error_of(&output));
    assert_eq!(printed_by(&output), "slept\nslept\n");
}

#[test]
fn x6_long_lines_and_output_that_cannot_be_written() {
    // Searched for its end each time, this would take minutes.
    let output = gyre(&[
        "exec",
        "-n",
        "1",
        "--",
        "head",
        "-c",
        "100000000",
        "/dev/zero",
    ]);
    assert!(output.status.success(), "{}", error_of(&output));
    assert_eq!(output.stdout.len(), 100_000_000);
    let full = fs::File::options().write(true).open("/dev/full");
    let output = Command::new(env!("CARGO_BIN_EXE_gyre"))
        .current_dir(root())
        .args(["exec", "-n", "1", "--", "echo", "hi"])
        .stdout(full.expect("can be written"))
        .output()
        .expect("starts");
    assert_eq!(output.status.code(), Some(1));
    let error = error_of(&output);
    assert!(error.contains("standard output: No space left"), "{error}");
}

#[test]
fn x6_more_tasks_run_than_the_soft_limit_has_descriptors_for() {
    let run = |script: &str| {
        let output = Command::new("bash")
            .current_dir(root())
            .args(["-c", script, env!("CARGO_BIN_EXE_gyre")])
            .output();
        output.expect("starts")
    };
    let output = run("ulimit -Sn 128; exec $0 exec -n 40 -- bash -c 'ulimit -Sn'");
    assert!(output.status.success(), "{}", error_of(&output));
    // Programs have the limit that they expect.
    assert_eq!(printed_by(&output), "128\n".repeat(40));
}

#[test]
fn x1_x6_a_long_environment_changes_no_hash_or_is_told() {
    let run = |bytes: usize| {
        let output = Command::new(env!("CARGO_BIN_EXE_gyre"))
            .current_dir(root())
            .args(["exec", "-n", "1", "--", "true"])
            .env("GYRE_TEST", "x".repeat(bytes))
            .output()
            .expect("starts");
        assert!(output.status.success(), "{}", error_of(&output));
        error_of(&output)
    };
    let told = "longer than 64 KiB: the stack is elsewhere";
    assert!(!run(30_000).contains(told));
    assert!(run(70_000).contains(told));
}

#[test]
fn x5_x6_a_hostile_programs_messages_are_refused_and_never_panic() {
    for seed in ["1", "2", "3", "drop", "sleep", "wait", "park", "charge"] {
        let program = root().join("tests/command/mailbox.py");
        let limits = ["exec", "-n", "1", "--host-limit", "20", "--"];
        let output = gyre(&[&limits[..], &["python3", text(&program), seed]].concat());
        let error = error_of(&output);
        assert_eq!(output.status.code(), Some(1), "{seed}: {error}");
        assert!(!error.contains("panicked"), "{seed}: {error}");
    }
}

#[test]
fn x6_task_0_gets_standard_input_and_all_get_the_environment() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_gyre"))
        .current_dir(root())
        .args(["exec", "-n", "3", "--tag", "--", "bash", "-c"])
        .arg("echo $(cat) $OWN")
        .env("OWN", "value")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"typed").expect("is read");
    drop(input);
    let output = child.wait_with_output().expect("ends");
    let printed = printed_by(&output);
    assert_eq!(printed, "[0] typed value\n[1] value\n[2] value\n");
}

#[test]
fn x6_figures_of_a_program_are_written_where_the_option_says() {
    let path = scratch("exec.json");
    let output = script(&["--json", text(&path)], "true");
    assert!(output.status.success(), "{}", error_of(&output));
    assert!(output.stdout.is_empty());
    let figures = fs::read(&path).expect("written");
    let figures: Value = serde_json::from_slice(&figures).expect("JSON");
    assert_eq!(figures["bench"], "exec");
    assert_eq!(figures["shape"], "2x1");
    assert_eq!(figures["params"]["tasks"], 2);
    assert_eq!(figures["params"]["program"][2], "true");
    assert_eq!(figures["metrics"]["makespan_cycles"], 0);
    let hash = format!("hash {}", figures["hash"].as_str().expect("text"));
    assert!(error_of(&output).contains(&hash));
}

#[test]
fn x6_programs_that_fail_are_named_with_status_or_signal() {
    let cases: [(&[&str], &str, &[&str]); 5] = [
        (&[], "exit 3", &["task 0", "exit status: 3"]),
        (&[], "kill -9 $$", &["task 0", "signal: 9 (SIGKILL)"]),
        (&[], "kill -FPE $$", &["task 0", "signal: 8 (SIGFPE)"]),
        (
            &["--host-limit", "1"],
            "echo printed; while :; do :; done",
            &["task 0", "did not end within 1 s of the host's time"],
        ),
        // Rings without a message.
        (&[], "printf x >&191; sleep 1000", &["task 0", "protocol"]),
    ];
    for (options, program, words) in cases {
        let output = script(options, program);
        assert_eq!(output.status.code(), Some(1), "{program}");
        let error = error_of(&output);
        for word in words {
            assert!(error.contains(word), "{program}: {error}");
        }
        // The program is not run again; how to see more is said.
        let command = "for a waveform of it: gyre exec --trace failure.fst --trace-window ";
        assert!(error.contains(command), "{program}: {error}");
    }
    // A program that prints all the time asks for nothing.
    let output = script(&["--host-limit", "1"], "while :; do echo; done");
    assert_eq!(output.status.code(), Some(1));
    let error = error_of(&output);
    assert!(error.contains("did not end within 1 s"), "{error}");
    let output = script(&["--host-limit", "1"], "echo printed; sleep 1000");
    assert_eq!(output.stdout, b"printed\n");
    let output = gyre(&["exec", "-n", "2", "--", "/no/such/program"]);
    assert_eq!(output.status.code(), Some(1));
    let error = error_of(&output);
    assert!(
        error.contains("task 0 program") && error.contains("/no/such/program cannot be started: "),
        "{error}"
    );
}

#[test]
fn x6_a_program_gets_a_waveform_from_its_own_run_only() {
    let wave = scratch("exec.vcd");
    let window = ["--trace", text(&wave), "--trace-window", "10:20"];
    let output = script(&window, "true");
    assert!(output.status.success(), "{}", error_of(&output));
    assert!(error_of(&output).contains("waveform of cycles 10 to 20"));
    assert!(wave.exists());

    let output = script(&["--trace-on-failure", text(&wave)], "true");
    assert_eq!(output.status.code(), Some(2));
    let error = error_of(&output);
    assert!(error.contains("never run twice by itself"), "{error}");
}

#[test]
fn x5_x6_options_of_programs_that_cannot_be_are_refused() {
    let cases: [(&[&str], &str); 9] = [
        (&["-n", "2"], "<PROGRAM>"),
        (
            &["--compute", "0", "--", "true"],
            "expected a number from 0.000001 to 1000000",
        ),
        (
            &["--compute", "nan", "--", "true"],
            "expected a number from",
        ),
        (&["--compute", "x1", "--", "true"], "expected a number from"),
        (
            &["-n", "0", "--", "true"],
            "expected a whole number, 1 or more",
        ),
        (
            &["--host-limit", "0", "--", "true"],
            "expected a whole number of seconds",
        ),
        (&["-n", "35", "--shape", "2x1", "--", "true"], "node"),
        (&["--map", "zz", "-n", "2", "--", "true"], "zz"),
        (
            &["--json", "/no/such/file", "-n", "1", "--", "true"],
            "--json /no/such/file: ",
        ),
    ];
    for (arguments, word) in cases {
        let output = gyre(&[&["exec"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = error_of(&output);
        assert!(error.contains(word), "{arguments:?}: {error}");
    }
}

/// Processes whose command line has `word`.
fn processes_with(word: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("there").flatten();
    let command = |path: &Path| fs::read(path.join("cmdline")).unwrap_or_default();
    let has = |line: &[u8]| line.windows(word.len()).any(|part| part == word.as_bytes());
    processes
        .filter(|entry| has(&command(&entry.path())))
        .count()
}

/// A process that does not outlive a test that fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // Fails for one that was waited for.
        let _ = self.0.kill();
    }
}

fn wait_until(holds: impl Fn() -> bool) {
    for _ in 0..1500 {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("it has not come");
}

/// Waits for so many processes with `word`.
fn wait_for(word: &str, count: usize) {
    wait_until(|| processes_with(word) == count);
}

/// A command whose tasks each start a process that leaves their group, and have shared memory by name, and then do `rest`.
/// Command lines have `word`.
fn scattering(word: &str, rest: &str) -> Command {
    let program = format!(
        ": {word}; touch /dev/shm/{word}.$GYRE_JOB; setsid bash -c ': {word}; sleep 1000; :' & {rest}"
    );
    // Whoever runs the tests may ignore signals, as nohup does.
    let mut command = Command::new("env");
    command
        .current_dir(root())
        .args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_gyre")])
        .args(["exec", "-n", "2", "--", "bash", "-c", &program])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// The process that guards the job of a command.
fn guardian_of(command: u32) -> u32 {
    // Any of its threads may have started it.
    let threads = fs::read_dir(format!("/proc/{command}/task")).expect("there");
    let children: String = threads
        .map(|thread| fs::read_to_string(thread.expect("there").path().join("children")))
        .map(|children| children.expect("there") + " ")
        .collect();
    let guards = |child: &u32| {
        let line = fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
        line.contains("guard-job")
    };
    let mut children = children
        .split_whitespace()
        .map(|child| child.parse().expect("a number"));
    children.find(guards).expect("there")
}

/// Whether there is shared memory whose name begins with `word`.
fn shares_memory(word: &str) -> bool {
    let entries = fs::read_dir("/dev/shm").expect("there").flatten();
    let mut names = entries.map(|entry| entry.file_name());
    names.any(|name| name.to_string_lossy().starts_with(word))
}

#[test]
fn x6_nothing_is_left_behind_when_the_command_is_killed() {
    for signal in ["KILL", "TERM", "INT", "HUP"] {
        let word = format!("gyre-exec-{signal}-{}", std::process::id());
        let child = scattering(&word, "sleep 1000; :").spawn().expect("starts");
        let mut child = Killed(child);
        wait_until(|| shares_memory(&word));
        // The command, the task whose turn it is and what that has started.
        wait_for(&word, 3);
        let send = |signal: &str, process: u32| {
            let mut kill = Command::new("kill");
            kill.args([format!("-{signal}"), process.to_string()]);
            assert!(kill.status().expect("starts").success());
        };
        // What tells the guardian to end, too, does not keep it from its work.
        for signal in ["TERM", "INT", "HUP"] {
            send(signal, guardian_of(child.0.id()));
        }
        send(signal, child.0.id());
        child.0.wait().expect("ends");
        wait_for(&word, 0);
        // Removed when no process is left.
        wait_until(|| !shares_memory(&word));
    }
}

#[test]
fn x6_nothing_is_left_behind_when_the_command_ends() {
    for (rest, status) in [("exit 0", 0), ("exit 3", 1)] {
        let word = format!("gyre-exec-ended-{}-{status}", std::process::id());
        let ended = scattering(&word, rest).status().expect("starts");
        assert_eq!(ended.code(), Some(status));
        assert_eq!(processes_with(&word), 0);
        assert!(!shares_memory(&word));
    }
}
