// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre exec`: the start-up protocol of MPI programs, spoken by small programs in Python.

use std::fs;
use std::process::{Command, Output};

use crate::{error_of, printed_by, root, scratch, text};

/// The client's end, and who the task is.
const CLIENT: &str = r#"
import os, sys
fd, rank, size = (int(os.environ["PMI_" + name]) for name in ("FD", "RANK", "SIZE"))
def say(line):
    os.write(fd, line.encode() + b"\n")
def ask(line):
    say(line)
    answer = b""
    while not answer.endswith(b"\n"):
        part = os.read(fd, 65536)
        if not part:
            sys.exit("the other end is closed")
        answer += part
    return answer.decode()[:-1]
"#;

/// Exchange of MPI programs when they start and end.
const EXCHANGE: &str = r#"
print(ask("cmd=init pmi_version=1 pmi_subversion=1"), ask("cmd=get_maxes"), ask("cmd=get_universe_size"))
space = ask("cmd=get_my_kvsname").split("kvsname=")[1].split()[0]
print(ask(f"cmd=get kvsname={space} key=PMI_process_mapping"))
for turn in range(3):
    put = ask(f"cmd=put kvsname={space} key=card-{rank} value=of-{rank}-{turn}")
    assert put.startswith("cmd=put_result rc=0"), put
    # Neighbours that have begun this turn have put a new value, which is seen only behind the barrier.
    before = ask(f"cmd=get kvsname={space} key=card-{(rank + 1) % size}")
    out = ask("cmd=barrier_in")
    assert out.startswith("cmd=barrier_out"), out
    print(before, ask(f"cmd=get kvsname={space} key=card-{(rank + 1) % size}"))
print(ask("cmd=finalize"))
"#;

/// Runs a program as every task; its text follows the client's.
fn python(name: &str, options: &[&str], program: &str) -> Output {
    let path = scratch(name);
    fs::write(&path, format!("{CLIENT}{program}")).expect("can be written");
    exec(options, &["python3", text(&path)])
}

fn exec(options: &[&str], program: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gyre"))
        .current_dir(root())
        .env_remove("FI_PROVIDER")
        .env("PMI_PORT", "of another launcher")
        .args(["exec", "--tag"])
        .args(options)
        .arg("--")
        .args(program)
        .output()
        .expect("the command can be started")
}

fn fails(name: &str, program: &str, words: &[&str]) {
    let output = python(name, &["-n", "2", "--shape", "2x1"], program);
    assert_eq!(output.status.code(), Some(1), "{program}");
    let error = error_of(&output);
    for word in words {
        assert!(error.contains(word), "{program}: {error}");
    }
}

#[test]
fn x6_tasks_exchange_values_at_start_up_and_the_run_repeats() {
    let options = ["-n", "5", "--shape", "3x1", "--map", "bat"];
    let run = |threads: &[&str]| python("pmi-exchange.py", &[&options, threads].concat(), EXCHANGE);
    let output = run(&[]);
    assert!(output.status.success(), "{}", error_of(&output));
    let printed = printed_by(&output);
    for task in 0..5 {
        let begin = format!("[{task}] ");
        let lines: Vec<&str> = printed
            .lines()
            .filter_map(|line| line.strip_prefix(&begin))
            .collect();
        let neighbour = (task + 1) % 5;
        let got = |turn: i32| match turn {
            -1 => "cmd=get_result rc=-1 msg=no_such_key".to_owned(),
            turn => format!("cmd=get_result rc=0 msg=success value=of-{neighbour}-{turn}"),
        };
        assert_eq!(
            lines,
            [
                "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0 \
                 cmd=maxes kvsname_max=256 keylen_max=256 vallen_max=1024 rc=0 cmd=universe_size size=5 rc=0",
                "cmd=get_result rc=0 msg=success value=(vector,(0,2,2),(2,1,1))",
                &format!("{} {}", got(-1), got(0)),
                &format!("{} {}", got(0), got(1)),
                &format!("{} {}", got(1), got(2)),
                "cmd=finalize_ack rc=0",
            ]
        );
    }
    let error = error_of(&output);
    assert!(
        !error.contains("\n0 cycles simulated"),
        "barriers take time: {error}"
    );
    for threads in [&[][..], &["--threads", "3"]] {
        let again = run(threads);
        assert_eq!(again.stdout, output.stdout);
        assert_eq!(error_of(&again), error, "{threads:?}");
    }
}

#[test]
fn x6_a_task_ending_before_a_start_up_barrier_fails_those_waiting() {
    let program = "ask('cmd=barrier_in')\nif rank == 0:\n    ask('cmd=barrier_in')\n";
    let words = [
        "task 0",
        "barrier of the start-up protocol",
        "task 1 has ended",
    ];
    fails("pmi-gone.py", program, &words);
}

#[test]
fn x6_an_abort_ends_the_run_and_names_task_code_and_message() {
    let program = "ask('cmd=barrier_in')\n\
                   if rank == 1:\n    say('cmd=abort exitcode=42 message=out of paper')\n    sys.exit(42)\n\
                   ask('cmd=barrier_in')\n";
    let words = ["task 1", "aborted the job with exit code 42: out of paper"];
    fails("pmi-abort.py", program, &words);
}

#[test]
fn x6_lines_that_are_no_request_of_start_up_name_task_and_line() {
    let cases = [
        ("say('dance=1')", "\"dance=1\""),
        ("say('cmd=dance')", "no command \"dance\""),
        (
            "say('cmd=get kvsname=other key=a')",
            "no key space \"other\"",
        ),
        (
            "say('cmd=' + 'x' * 70000); os.read(fd, 1)",
            "more than 65536 bytes",
        ),
        ("os.write(fd, b'\\xff\\n')", "not text"),
        (
            "while True: say('cmd=get_maxes')",
            "does not read the answers",
        ),
    ];
    for (number, (program, words)) in cases.into_iter().enumerate() {
        let name = format!("pmi-nonsense-{number}.py");
        fails(&name, program, &["task 0", words]);
    }
}

#[test]
fn x6_a_program_may_close_its_socket_or_leave_a_line_unfinished() {
    let program = "ask('cmd=init pmi_version=1 pmi_subversion=1')\nos.write(fd, b'cmd=fin')\n\
                   os.close(fd)\nprint('closed')\n";
    let output = python("pmi-close.py", &["-n", "2", "--shape", "2x1"], program);
    assert!(output.status.success(), "{}", error_of(&output));
    assert_eq!(output.stdout, b"[0] closed\n[1] closed\n");
}

#[test]
fn x6_a_program_that_has_left_its_mailbox_is_heard_to_its_end() {
    let program = "os.close(190)\nos.close(191)\nprint('x' * 200000, flush=True)\nask('cmd=barrier_in')\n\
                   print(ask('cmd=finalize'))\n";
    let output = python("pmi-late.py", &["-n", "2", "--shape", "2x1"], program);
    assert!(output.status.success(), "{}", error_of(&output));
    let printed = printed_by(&output);
    assert!(printed.len() > 400_000);
    for task in 0..2 {
        assert!(printed.contains(&format!("\n[{task}] cmd=finalize_ack")));
    }
    let program = "os.close(190)\nos.close(191)\nsay('cmd=abort exitcode=3')\n";
    let words = ["task 0", "aborted the job with exit code 3"];
    fails("pmi-late-abort.py", program, &words);
}

#[test]
fn x6_programs_find_the_variables_of_mpi_in_their_environment() {
    let program = "for name in ('PMI_FD', 'PMI_PORT', 'FI_PROVIDER', 'MPIR_CVAR_NOLOCAL', 'MPIR_CVAR_CH4_NETMOD'):\n    \
                   print(os.environ.get(name))\n";
    let output = python(
        "pmi-environment.py",
        &["-n", "1", "--shape", "2x1"],
        program,
    );
    assert!(output.status.success(), "{}", error_of(&output));
    let printed = printed_by(&output);
    assert_eq!(printed, "[0] 192\n[0] None\n[0] gyre\n[0] 1\n[0] ofi\n");
}
