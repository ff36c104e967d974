// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files, settings and folders that nobody should name: refused by name, and nothing lost.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use crate::{error_of, models, root};

/// `gyre` in `dir`.
fn gyre_in(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gyre"));
    command.current_dir(dir).args(arguments);
    command
}

/// A line of the shell in `dir`, in which `GYRE` is the command.
fn in_shell(dir: &Path, line: &str) -> Command {
    let mut command = Command::new("sh");
    let line = line.replace("GYRE", env!("CARGO_BIN_EXE_gyre"));
    command.current_dir(dir).args(["-c", &line]);
    command
}

/// Output of a command that must end with a status and say all of `words`.
fn ends_with(command: &mut Command, status: i32, words: &[&str]) -> Output {
    let output = command.output().expect("started");
    let text = error_of(&output);
    assert_eq!(output.status.code(), Some(status), "{command:?}: {text}");
    for word in words {
        assert!(text.contains(word), "{command:?}: no `{word}` in: {text}");
    }
    output
}

#[test]
fn x5_cache_with_other_content_is_refused_and_nothing_of_it_lost() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let files = [
        "Documents/thesis.tex",
        "video.part/data",
        "Cargo.lock",
        "download.part",
    ];
    for file in files {
        let path = dir.path().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        fs::write(path, file).expect("file");
    }
    let mut command = gyre_in(root(), &["bench", "hop-latency", "--model=quick"]);
    command
        .env("GYRE_CACHE", dir.path())
        .env("GYRE_CACHE_MB", "0");
    ends_with(&mut command, 2, &["is no cache of models", "GYRE_CACHE"]);
    for file in files {
        let left = fs::read_to_string(dir.path().join(file));
        assert_eq!(left.expect("not lost"), file);
    }
    let found = fs::read_dir(dir.path()).expect("a folder").count();
    assert_eq!(found, 4, "nothing is added");
}

/// A folder of a test with these files.
fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("temporary directory");
    for (name, text) in files {
        fs::write(dir.path().join(name), text).expect("file");
    }
    dir
}

const EMPTY: &str = "num_ranks 1\nrank 0 {\n}\n";
const PING: &str = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n";

fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.expect("a program of the system").success());
}

#[test]
fn x5_numbers_beyond_every_machine_are_refused() {
    let costs: Vec<String> = gyre_driver::Op::ALL
        .iter()
        .map(|op| format!("{} = 4294967295\n", op.key()))
        .collect();
    let machine = format!("[machine]\ncpu_ps = 1000000\n[costs]\n{}", costs.concat());
    let dir = folder_with(&[
        ("costs.toml", &machine),
        (
            "why.goal",
            "num_ranks 2\nrank 0 {\na: calc 9223372036854000\nc: send 8b to 1\nc requires a\n}\n\
             rank 1 {\nrecv 8b from 0\n}\n",
        ),
    ]);
    let gyre = |arguments: &[&str]| gyre_in(dir.path(), arguments);
    let many = ["exec", "-n", "1000000007", "--", "true"];
    ends_with(
        &mut gyre(&many),
        2,
        &["no 3-D shape has exactly 1000000007 nodes"],
    );
    for (shape, expected) in [("2x2x1", "2 to 4"), ("2x1x1", "2")] {
        let alone = format!("bench sim-speed --shape {shape} --set active=1");
        let words = format!("--set active: expected {expected}, found `1`");
        ends_with(
            &mut gyre(&alone.split(' ').collect::<Vec<_>>()),
            2,
            &[&words],
        );
    }
    // A time that is charged beyond the end of all time ends the run there.
    let costs = ["run", "lulesh", "--machine", "costs.toml"];
    let output = gyre(&costs).output().expect("started");
    let text = error_of(&output);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{text}");
    assert!(!text.contains("panicked"), "{text}");
    let output = gyre(&["why", "why.goal", "--prove"])
        .output()
        .expect("started");
    let text = error_of(&output);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{text}");
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn x5_inputs_that_are_pipes_devices_or_too_large_are_refused_by_name() {
    let dir = folder_with(&[("empty.goal", EMPTY)]);
    pipe(&dir.path().join("pipe"));
    pipe(&dir.path().join("pipe.toml"));
    let huge = fs::File::create(dir.path().join("huge")).expect("file");
    huge.set_len(1 << 42).expect("sparse");
    let refused = |arguments: &[&str], words: &[&str]| {
        ends_with(&mut gyre_in(dir.path(), arguments), 2, words);
    };
    refused(
        &["run", "pipe"],
        &["pipe: ", "is a pipe: expected a regular file"],
    );
    refused(&["run", "/dev/zero"], &["/dev/zero: ", "is a device"]);
    refused(
        &["run", "huge"],
        &["huge: ", "has more than 4294967295 bytes"],
    );
    let machine = ["run", "empty.goal", "--machine"];
    refused(
        &[&machine[..], &["pipe.toml"]].concat(),
        &["pipe.toml: is a pipe"],
    );
    refused(
        &[&machine[..], &["/dev/zero"]].concat(),
        &["/dev/zero: is a device"],
    );
    refused(
        &[&machine[..], &["huge"]].concat(),
        &["huge: has more than 16777216 bytes"],
    );
    refused(&["fuzz", "--repeat", "pipe"], &["pipe: is a pipe"]);
}

#[test]
fn x5_outputs_that_are_no_files_are_refused_before_the_run() {
    let dir = folder_with(&[("ping.goal", PING)]);
    for name in ["pipe.vcd", "pipe.html", "pipe.json", "pipe.svg"] {
        pipe(&dir.path().join(name));
    }
    let refused = |arguments: &[&str], option: &str| {
        let words = [
            option,
            "is a pipe: expected a regular file, standard output or /dev/null",
        ];
        ends_with(&mut gyre_in(dir.path(), arguments), 2, &words);
    };
    refused(&["run", "ping.goal", "--trace", "pipe.vcd"], "--trace");
    refused(
        &["run", "ping.goal", "--trace-on-failure", "pipe.vcd"],
        "--trace-on-failure",
    );
    refused(
        &["run", "ping.goal", "--timeline", "pipe.html"],
        "--timeline",
    );
    refused(&["exec", "--json", "pipe.json", "--", "true"], "--json");
    let sweep = [
        "sweep",
        "traffic",
        "--set",
        "load=0.1,0.2",
        "--plot",
        "pipe.svg",
    ];
    refused(&sweep, "--plot");
}

#[test]
fn x5_neighbours_of_outputs_keep_every_byte() {
    let names = [
        "x.fst.vcd",
        "x.vcd.part",
        "x.scopes",
        "x.part",
        "x.fst.part",
        "x.html.part",
        "x.gtkw~",
        ".x.swp",
        "x.vcd.gtkw",
        "x",
    ];
    let files: Vec<(&str, &str)> = names.iter().map(|&name| (name, name)).collect();
    let dir = folder_with(&files);
    fs::write(dir.path().join("ping.goal"), PING).expect("file");
    for output in ["x.fst", "x.vcd"] {
        let run = [
            "run",
            "ping.goal",
            "--trace",
            output,
            "--trace-scope",
            "node0.gyre_node",
        ];
        ends_with(&mut gyre_in(dir.path(), &run), 0, &[]);
    }
    let run = ["run", "ping.goal", "--timeline", "x.html"];
    ends_with(&mut gyre_in(dir.path(), &run), 0, &[]);
    for name in names {
        assert_eq!(
            fs::read_to_string(dir.path().join(name)).expect("not lost"),
            name
        );
    }
    let found = fs::read_dir(dir.path()).expect("a folder").count();
    // The program, two waveforms, their view, and a page.
    assert_eq!(found, names.len() + 5);
}

/// All files and links below a folder, with their bytes.
fn files_below(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).expect("a folder").flatten() {
        let path = entry.path();
        let kind = entry.file_type().expect("there");
        if kind.is_dir() {
            found.extend(files_below(&path));
        } else if kind.is_symlink() {
            let to = fs::read_link(&path).expect("a link");
            found.insert(path, to.into_os_string().into_encoded_bytes());
        } else {
            let bytes = fs::read(&path).expect("readable");
            found.insert(path, bytes);
        }
    }
    found
}

#[test]
fn x5_files_beside_outputs_keep_every_byte_in_30_mixtures() {
    let outputs = [
        ("run WHAT --trace-window 0:64 --trace", "x.vcd", ""),
        ("run WHAT --trace-window 0:64 --trace", "x.fst", ""),
        ("run WHAT --timeline", "x.html", ""),
        ("run WHAT --timeline", "x.perfetto-trace", ""),
        ("run WHAT --log", "x.log", ""),
        ("exec -n 1 --json", "x.json", " -- /bin/true"),
    ];
    // How the command is called, its program, and whether its output may be another afterwards.
    let ends = [
        ("exec GYRE", "ping.goal", true),
        ("exec GYRE --memory-limit 1", "ping.goal", false),
        ("ulimit -f 0; exec GYRE", "ping.goal", false),
        ("exec timeout 0.3 GYRE", "lulesh27", true),
        (
            "GYRE_CACHE=$PWD GYRE_CACHE_MB=0 exec GYRE",
            "ping.goal",
            false,
        ),
    ];
    let mut mixtures = 0;
    for (command, output, tail) in outputs {
        for (call, what, replaces) in ends {
            mixtures += 1;
            let outside = folder_with(&[("thesis.tex", "of years")]);
            let dir = folder_with(&[("ping.goal", PING), (output, "earlier")]);
            let place = |name: &str| dir.path().join(name);
            for ending in [".part", ".tmp", "~", ".lock", ".vcd", ".gtkw", ".1"] {
                fs::write(place(&format!("{output}{ending}")), ending).expect("file");
            }
            let stem = output.split('.').next().expect("a name");
            for name in [stem, "x.scopes", ".x.swp", "target", "out", "model.so"] {
                fs::write(place(name), name).expect("file");
            }
            fs::create_dir_all(place("photos.part/x")).expect("folder");
            fs::write(place("photos.part/x/1.jpg"), "1").expect("file");
            std::os::unix::fs::symlink(outside.path().join("thesis.tex"), place("x.link"))
                .expect("a link");
            let (before, afar) = (files_below(dir.path()), files_below(outside.path()));
            let command = command.replace("WHAT", what);
            let line = format!("{call} {command} {output}{tail}");
            let ended = in_shell(dir.path(), &line).output().expect("started");
            assert!(
                ended.status.code() != Some(101),
                "{line}: {}",
                error_of(&ended)
            );
            let after = files_below(dir.path());
            for (path, bytes) in &before {
                if replaces && *path == place(output) {
                    continue;
                }
                let left = after.get(path);
                assert_eq!(left, Some(bytes), "{line}: {}", path.display());
            }
            assert_eq!(files_below(outside.path()), afar, "{line}");
        }
    }
    assert_eq!(mixtures, 30);
}

#[test]
fn x5_full_disk_and_limit_of_file_size_end_with_the_files_name() {
    let dir = folder_with(&[("ping.goal", PING)]);
    let limited = |arguments: &str, words: &[&str]| {
        let line = format!("ulimit -f 8; exec GYRE {arguments}");
        ends_with(&mut in_shell(dir.path(), &line), 1, words);
    };
    // The model is there before the limit.
    let elsewhere = folder_with(&[("ping.goal", PING)]);
    let traced = ["run", "ping.goal", "--trace", "x.vcd"];
    ends_with(&mut gyre_in(elsewhere.path(), &traced), 0, &[]);
    limited(
        "run ping.goal --trace x.vcd --trace-window 0:100000",
        &["x.vcd", "File too large"],
    );
    limited(
        "run ping.goal --trace x.fst --trace-window 0:100000",
        &["x.fst", "File too large"],
    );
    limited(
        "run ping.goal --timeline x.html",
        &["--timeline x.html: File too large"],
    );
    // More events than memory holds.
    let many = |operation: &str| format!("{operation}\n").repeat(4000);
    let (sends, receives) = (many("send 8b to 1"), many("recv 8b from 0"));
    let text = format!("num_ranks 2\nrank 0 {{\n{sends}}}\nrank 1 {{\n{receives}}}\n");
    fs::write(dir.path().join("many.goal"), text).expect("file");
    let folder = dir.path().canonicalize().expect("a folder");
    let lost = format!(
        "recorded events: temporary file in {}: File too large",
        folder.display()
    );
    limited("run many.goal --timeline x.html", &[&lost]);
    limited("run many.goal --log x.log", &[&lost]);
    let left = fs::read_dir(dir.path()).expect("a folder").flatten();
    let mut left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    left.sort();
    // As of every run that failed, the log goes up to there.
    let expected = ["many.goal", "ping.goal", "x.log"];
    assert_eq!(left, expected, "nothing half written is left");
}

#[test]
fn x5_outputs_replace_no_input_and_no_other_output() {
    let script = "#!/bin/sh\n";
    let files = [
        ("ping.goal", PING),
        ("m.toml", "[machine]\n"),
        ("a.sh", script),
    ];
    let dir = folder_with(&files);
    std::os::unix::fs::symlink("ping.goal", dir.path().join("in.html")).expect("a link");
    for arguments in [
        "run ping.goal --log ./ping.goal",
        "run ping.goal --timeline in.html",
        "run ping.goal --machine m.toml --log m.toml",
        "exec -n 2 --shape 2x1x1 --json a.sh -- ./a.sh",
        "run ping.goal --timeline a.html --log ./a.html",
        "run ping.goal --trace a.vcd --log a.vcd",
    ] {
        let words: Vec<&str> = arguments.split(' ').collect();
        ends_with(
            &mut gyre_in(dir.path(), &words),
            2,
            &["expected another file"],
        );
    }
    for (name, text) in files {
        assert_eq!(
            fs::read_to_string(dir.path().join(name)).expect("there"),
            text
        );
    }
    assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 4);
    // A source of the RTL.
    let tree = models::tree("rtl-as-output", "gyre.f", |text| text);
    let source = tree.join("router/router_output.sv");
    let text = fs::read_to_string(&source).expect("a source");
    let (tree, log) = (crate::text(&tree), crate::text(&source));
    let run = ["run", "ping.goal", "--rtl", tree, "--log", log];
    ends_with(
        &mut gyre_in(dir.path(), &run),
        2,
        &["is the output of --log"],
    );
    assert_eq!(fs::read_to_string(&source).expect("there"), text);
}

#[test]
fn x5_refused_bench_leaves_earlier_results() {
    let dir = folder_with(&[("v.html", "mine"), ("v.log", "mine")]);
    let bench = "bench ack --shape 1x1x1 --timeline v.html --log v.log";
    let words: Vec<&str> = bench.split(' ').collect();
    ends_with(&mut gyre_in(dir.path(), &words), 2, &[]);
    for name in ["v.html", "v.log"] {
        let left = fs::read_to_string(dir.path().join(name));
        assert_eq!(left.expect("not lost"), "mine");
    }
}

#[test]
fn x5_absurd_numbers_of_tasks_repeated_settings_and_files_as_caches_are_refused() {
    let dir = folder_with(&[("ping.goal", PING)]);
    for (arguments, word) in [
        (
            "exec -n 4294967296 --shape 2x1x1 -- true",
            "reception FIFOs",
        ),
        (
            "exec -n 18446744073709551615 --shape 2x1x1 -- true",
            "reception FIFOs",
        ),
        (
            "run ping.goal --set window=1 --set window=2",
            "--set window: given twice, expected once",
        ),
    ] {
        let words: Vec<&str> = arguments.split(' ').collect();
        ends_with(&mut gyre_in(dir.path(), &words), 2, &[word]);
    }
    for cache in ["ping.goal", "ping.goal/x", "/dev/null"] {
        let mut command = gyre_in(dir.path(), &["run", "ping.goal"]);
        ends_with(command.env("GYRE_CACHE", cache), 2, &["is no folder"]);
    }
    let mut command = gyre_in(dir.path(), &["run", "ping.goal"]);
    let words = ["GYRE_MODEL: expected quick or full, found `fast`"];
    ends_with(command.env("GYRE_MODEL", "fast"), 2, &words);
}

#[test]
fn x5_small_stacks_run_and_lost_output_of_tasks_is_an_error() {
    let dir = folder_with(&[("ping.goal", PING)]);
    let small = "ulimit -s 64; exec GYRE run ping.goal";
    ends_with(&mut in_shell(dir.path(), small), 0, &[]);
    let full = "GYRE exec -n 2 --shape 2x1x1 -- echo hi > /dev/full";
    let words = ["standard output: No space left"];
    ends_with(&mut in_shell(dir.path(), full), 1, &words);
}

#[test]
fn x5_traces_with_long_tags_run_and_say_what_was_cut() {
    let text = "num_ranks 2\nrank 0 {\nl1: send 64b to 1 tag 4010007104 cpu 1 nic 0\n\
                l2: send 64b to 1 tag 5010007104 cpu 1 nic 0\n}\nrank 1 {\n\
                l1: recv 64b from 0 tag 4010007104 cpu 1 nic 0\nl2: recv 64b from 0 tag 5010007104 cpu 1 nic 0\n}\n";
    let dir = folder_with(&[("tags.goal", text)]);
    let words = ["tags.goal:4: `tag` of more than 32 bits, 2 in all"];
    let mut command = gyre_in(dir.path(), &["run", "tags.goal", "--json"]);
    let output = ends_with(&mut command, 0, &words);
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["metrics"]["messages"], 2);
    assert_eq!(result["metrics"]["verified"], true);
}

#[test]
fn x5_watchdog_counts_messages_that_software_receives() {
    watchdog_counts_receives(1000, "[machine]\nwatchdog = 50000\n");
}

#[test]
#[ignore = "deep: a minute"]
fn x5_watchdog_of_the_reference_machine_counts_messages_that_software_receives() {
    watchdog_counts_receives(3000, "");
}

/// Messages that are received in the reverse of their order: each search of a match is long, and the ring of the receiver
/// stays full meanwhile, for longer than the watchdog of the machine waits.
fn watchdog_counts_receives(n: usize, machine: &str) {
    let sends: String = (0..n)
        .map(|i| format!("send 8192b to 1 tag {i}\n"))
        .collect();
    let receives: String = (0..n)
        .rev()
        .map(|i| format!("recv 8192b from 0 tag {i}\n"))
        .collect();
    let text = format!("num_ranks 2\nrank 0 {{\n{sends}}}\nrank 1 {{\n{receives}}}\n");
    let dir = folder_with(&[("reverse.goal", &text), ("m.toml", machine)]);
    let run = "run reverse.goal --shape 2x1x1 --json --machine m.toml";
    let run: Vec<&str> = run.split(' ').collect();
    let output = ends_with(&mut gyre_in(dir.path(), &run), 0, &[]);
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["metrics"]["messages"], n);
}

#[test]
fn x5_memory_that_is_not_there_is_asked_for_before_the_run() {
    let message = |to: &str| format!("{to}\n").repeat(8);
    let (sends, receives) = (
        message("send 2147483648b to 1"),
        message("recv 2147483648b from 0"),
    );
    let text = format!("num_ranks 2\nrank 0 {{\n{sends}}}\nrank 1 {{\n{receives}}}\n");
    let dir = folder_with(&[("huge.goal", &text)]);
    let limited = "ulimit -v 4194304; exec GYRE run huge.goal";
    let words =
        ["huge.goal: its messages need about 34816 MiB of memory at once: expected at most"];
    ends_with(&mut in_shell(dir.path(), limited), 2, &words);
    let limited = ["run", "huge.goal", "--memory-limit", "4096"];
    ends_with(&mut gyre_in(dir.path(), &limited), 2, &words);
}

#[test]
fn x5_memory_limit_ends_a_run_by_its_name_and_leaves_earlier_files() {
    let dir = folder_with(&[("x.html", "earlier")]);
    let run = "run lulesh27 --timeline x.html --memory-limit 45";
    let words: Vec<&str> = run.split(' ').collect();
    let said = "MiB are held: expected at most 45 MiB, --memory-limit";
    ends_with(&mut gyre_in(dir.path(), &words), 1, &[said]);
    let left = files_below(dir.path());
    assert_eq!(left.into_values().collect::<Vec<_>>(), [b"earlier"]);
}

#[test]
fn x5_want_of_memory_for_nodes_and_their_threads_is_an_error_of_its_name() {
    let dir = folder_with(&[]);
    // The model is there before the limit.
    ends_with(&mut gyre_in(dir.path(), &["run", "lulesh"]), 0, &[]);
    for kib in [100_000, 150_000, 200_000, 250_000] {
        let limited = format!("ulimit -v {kib}; exec GYRE run lulesh");
        let output = ends_with(&mut in_shell(dir.path(), &limited), 1, &[]);
        let error = error_of(&output);
        // Of a node, or of whatever asks when nothing is left.
        let said = error.contains("no memory")
            || error.contains("memory allocation of") && error.contains("failed");
        assert!(said, "{limited}: {error}");
    }
    let operations = "calc 1\n".repeat(3_000_000);
    let text = format!("num_ranks 1\nrank 0 {{\n{operations}}}\n");
    fs::write(dir.path().join("many.goal"), text).expect("file");
    let limited = "ulimit -v 400000; exec GYRE run many.goal";
    let words = ["memory allocation of", "failed"];
    ends_with(&mut in_shell(dir.path(), limited), 1, &words);
}

#[test]
fn x5_missing_temporary_folder_is_not_made() {
    let dir = folder_with(&[("ping.goal", PING)]);
    let run = ["run", "ping.goal"];
    let mut command = gyre_in(dir.path(), &run);
    command.env("TMPDIR", dir.path().join("no/such"));
    ends_with(&mut command, 1, &["no/such"]);
    assert!(!dir.path().join("no").exists());
}

#[test]
fn x5_wrong_fields_of_machine_files_name_their_line_and_range() {
    let dir = folder_with(&[
        ("ping.goal", PING),
        (
            "memory.toml",
            "# a machine\n[machine]\nlink_latency = 4\n[machine.memory]\n\nread_latency = 1\n",
        ),
        ("noise.toml", "[machine]\nnoise = 4294967296\n"),
        ("nl.toml", "[machine]\n\"a\\ngyre: forged\" = 1\n"),
    ]);
    let refused = |machine: &str, words: &[&str]| {
        let run = ["run", "ping.goal", "--machine", machine];
        ends_with(&mut gyre_in(dir.path(), &run), 2, words);
    };
    refused(
        "memory.toml",
        &["memory.toml: 6: machine.memory.read_latency = 1: expected 2 to 100000"],
    );
    refused("nl.toml", &["unknown field `a\\ngyre: forged`"]);
    refused(
        "noise.toml",
        &["line 2", "a whole number from 0 to 4294967295"],
    );
}

#[test]
fn x5_control_characters_of_names_and_files_do_not_reach_the_terminal() {
    let dir = folder_with(&[("a\u{1b}[2Jb.goal", "num_ranks \u{1b}[31m\n")]);
    for arguments in [
        &["run", "a\u{1b}[2Jb.goal"] as &[&str],
        &["run", "no\u{1b}[2J.goal"],
        &["run", "lulesh", "--machine", "no\u{1b}[2J.toml"],
        &["bench", "no\u{1b}[2J"],
    ] {
        let output = ends_with(&mut gyre_in(dir.path(), arguments), 2, &[]);
        let text = error_of(&output);
        let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!text.contains(steers), "{arguments:?}: {text:?}");
    }
}

#[test]
fn x5_interrupt_leaves_no_half_waveform_and_says_which() {
    let dir = folder_with(&[]);
    let run = [
        "run",
        "lulesh27",
        "--trace",
        "x.fst",
        "--trace-window",
        "0:600000",
    ];
    // Whoever runs the tests may have it ignored.
    let child = Command::new("env")
        .args(["--default-signal=INT", env!("CARGO_BIN_EXE_gyre")])
        .args(run)
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let names = || {
        let found = fs::read_dir(dir.path()).expect("a folder").flatten();
        let names = found.map(|entry| entry.metadata().map_or(0, |found| found.len()));
        names.collect::<Vec<u64>>()
    };
    for _ in 0..3000 {
        if names().iter().any(|&bytes| bytes > 0) {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(killed.expect("a program of the system").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.signal(), Some(2));
    let text = error_of(&output);
    assert!(
        text.contains("interrupted: ") && text.contains("x.fst is not written"),
        "{text}"
    );
    assert!(names().is_empty(), "{:?}", names());
}
