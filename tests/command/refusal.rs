// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bad input: exit status 2 and a text that names place, value and what was expected.

use std::fs;
use std::process::{Command, Stdio};

use crate::{error_of, gyre, scratch, text};

/// Runs `gyre`; it must refuse with status 2 and name every word.
fn refused(arguments: &[&str], words: &[&str]) {
    let output = gyre(arguments);
    let error = error_of(&output);
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
        &["--link-latency", "0"],
    );
    refused(&["run", "lulesh", "--map", "ttt"], &["--map", "`ttt`"]);
    refused(&["run", "lulesh", "--threads", "0"], &["--threads", "0"]);
    refused(&["bench", "nonsense"], &["nonsense", "hop-latency"]);
    refused(&["bench", "traffic", "--list"], &["--list", "NAME"]);
    refused(
        &["bench", "traffic", "--set", "pattern=x"],
        &["pattern", "tornado"],
    );
    refused(&["run", "lulesh", "--trace", "w.txt"], &["w.txt", ".vcd"]);
}

#[test]
fn x5_values_of_options_are_refused_in_words() {
    refused(
        &["run", "lulesh", "--mesh", ""],
        &["--mesh: expected `all` or letters from a to c"],
    );
    refused(
        &["run", "lulesh", "--shape", "-2"],
        &["--shape: expected", "found `-2`"],
    );
    refused(
        &["run", "lulesh", "--shape", "64x64x64"],
        &["--shape", "at most 4096 nodes"],
    );
    refused(
        &["run", "lulesh", "--link-latency", "-1"],
        &["--link-latency", "whole number"],
    );
    refused(
        &["run", "lulesh", "--link-latency", "61"],
        &["--link-latency: expected 1 to 60", "`61`"],
    );
    refused(
        &["run", "lulesh", "--seed", "abc"],
        &["--seed", "'abc'", "whole number"],
    );
    refused(
        &["bench", "traffic", "--set", "payload=0", "--set", "load=3"],
        &["load", "at most 2", "`3`"],
    );
    refused(&["run", "Lulesh"], &["`Lulesh`", "no file", "lulesh27"]);
}

#[test]
fn x5_programs_beyond_the_machine_are_refused() {
    let write = |name: &str, program: &str| {
        let path = scratch(name);
        fs::write(&path, program).expect("the build's folder can be written");
        path
    };
    let path = write(
        "long-calc.goal",
        "num_ranks 1\nrank 0 {\ncalc 18446744073709551615\n}\n",
    );
    refused(
        &["run", text(&path)],
        &["long-calc.goal", "calc", "18446744073709551615"],
    );
    let path = write(
        "long-message.goal",
        "num_ranks 1\nrank 0 {\nsend 2147483649b to 0\nrecv 2147483649b from 0\n}\n",
    );
    refused(
        &["run", text(&path)],
        &["long-message.goal:3", "at most 2147483648 bytes"],
    );
    let ranks = |count: usize| {
        let blocks: String = (0..count)
            .map(|rank| format!("rank {rank} {{\n}}\n"))
            .collect();
        write(
            &format!("ranks-{count}.goal"),
            &format!("num_ranks {count}\n{blocks}"),
        )
    };
    refused(
        &["run", text(&ranks(17)), "--shape", "1"],
        &["16 ranks on node 0", "--shape"],
    );
    refused(&["run", text(&ranks(67))], &["67 nodes", "--shape"]);
}

#[test]
fn x5_settings_and_waveforms_are_refused_before_anything_runs() {
    refused(&["run", "lulesh", "--trace-window", "1:5"], &["--trace"]);
    refused(&["run", "lulesh", "--trace-scope", "0"], &["--trace"]);
    // Each of these would take minutes if it ran first.
    let slow = [
        "bench",
        "sim-speed",
        "--shape",
        "16x16",
        "--set",
        "cycles=100000000",
    ];
    refused(&[&slow[..], &["--set", "lod=1"]].concat(), &["lod", "load"]);
    let nobody_sends = [
        "bench",
        "traffic",
        "--shape",
        "8",
        "--set",
        "pattern=transpose",
    ];
    refused(&nobody_sends, &["transpose", "8", "send to itself"]);
    let slow = [
        "run",
        "cg",
        "--shape",
        "4x4",
        "--set",
        "memory_read_latency=90000",
    ];
    let with = |more: &[&'static str]| [&slow[..], more].concat();
    refused(
        &with(&["--trace", "no/such/folder/w.vcd"]),
        &["--trace no/such/folder/w.vcd"],
    );
    refused(
        &with(&["--trace", "w.vcd", "--trace-window", "9:5"]),
        &["--trace-window", "`9:5`"],
    );
    refused(
        &with(&["--trace", "w.vcd", "--trace-window", "-5:5"]),
        &["--trace-window", "`-5:5`"],
    );
    refused(
        &with(&["--trace", "w.vcd", "--trace-scope", "16"]),
        &["--trace-scope", "node15"],
    );
    refused(
        &with(&["--trace", "w.vcd", "--trace-scope", "0,node0.nonsense"]),
        &["--trace-scope", "`node0.nonsense`", "gyre_node"],
    );
    refused(
        &with(&[
            "--trace",
            "w.vcd",
            "--trace-scope",
            "node1.gyre_node.u_dma.u_txx",
        ]),
        &[
            "below node1.gyre_node.u_dma. one of",
            "u_rx, ",
            "u_tx",
            "`node1.gyre_node.u_dma.u_txx`",
        ],
    );
}

#[test]
fn x5_output_that_nobody_takes_is_no_panic() {
    let status = |sink: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gyre"));
        let mut child = command
            .args(["bench", "--list"])
            .stdout(sink)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command can be started");
        // A pipe whose reader has gone.
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the command ends");
        let error = error_of(&output);
        assert!(!error.contains("panicked"), "{error}");
        (output.status.code(), error)
    };
    assert!(matches!(status(Stdio::piped()).0, Some(0)));
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let (code, error) = status(full.expect("a device that is always full").into());
    assert_eq!(code, Some(1));
    assert!(error.contains("standard output"), "{error}");
}

#[test]
fn x5_machine_files_are_refused_with_line_and_field() {
    let path = scratch("machine.toml");
    fs::write(&path, "[machine]\nlink_latncy = 4\n").expect("the build's folder can be written");
    refused(
        &["run", "lulesh", "--machine", text(&path)],
        &["machine.toml", "line 2", "link_latncy"],
    );
    for (name, file, words) in [
        (
            "range.toml",
            "[machine]\nlink_latency = 99\n",
            &["machine.link_latency = 99", "1 to 60"][..],
        ),
        (
            "memory.toml",
            "[machine.memory]\nread_latency = 0\n",
            &["machine.memory.read_latency = 0"],
        ),
        (
            "costs.toml",
            "[costs]\npost = 30\nadvance = 25\n",
            &[
                "line 1",
                "missing entries: enlist, leave, turn, tick, full_turn, conclude, ",
                "acknowledge",
            ],
        ),
        (
            "dims.toml",
            "[machine]\ndims = [4, 65]\n",
            &["machine.dims[1] = 65", "1 to 64"],
        ),
        (
            "processor.toml",
            "[processor]\ncores = 0\n",
            &["processor.cores = 0", "1 to 64"],
        ),
        (
            "distance.toml",
            "[processor]\nmodule_cycles = 500\n",
            &["processor.processor_cycles = 164", "500 to 1000000"],
        ),
        (
            "node.toml",
            "[machine]\ndims = [2, 2]\n[node]\nlanes = 9\n",
            &["4: node.lanes = 9: expected 1 to 4"],
        ),
        (
            "node-memory.toml",
            "[machine]\ndims = [2, 2]\n[node]\nmemory_ports = 1\n",
            &["4: node.memory_ports = 1: expected 2 or 4, to feed 6 links"],
        ),
        (
            "node-field.toml",
            "[node]\nlane = 2\n",
            &["unknown field `lane`", "lanes"],
        ),
        ("open.toml", "[machine\n", &["line 1"]),
        (
            "type.toml",
            "[machine]\ndims = [4, \"5\"]\n",
            &[
                "line 2",
                "string \"5\"",
                "expected a whole number from 0 to 65535",
            ],
        ),
        (
            "sign.toml",
            "[machine]\nlink_latency = -4\n",
            &["line 2", "`-4`", "expected a whole number, 0 or more"],
        ),
        (
            "flag.toml",
            "[machine]\nskip_idle = 1\n",
            &["line 2", "expected true or false"],
        ),
        (
            "memory-list.toml",
            "[machine]\nmemory = 4\n",
            &["line 2", "expected a table"],
        ),
        (
            "list.toml",
            "[machine]\nmesh = true\n",
            &["line 2", "expected a list"],
        ),
    ] {
        let path = scratch(name);
        fs::write(&path, file).expect("the build's folder can be written");
        refused(
            &["run", "lulesh", "--machine", text(&path)],
            &[&[name], words].concat(),
        );
    }
}

#[test]
fn a_machine_file_without_a_shape_leaves_it_to_the_program() {
    let path = scratch("latency.toml");
    fs::write(&path, "[machine]\nlink_latency = 9\n").expect("the build's folder can be written");
    let result = crate::json(&["run", "stencil", "--machine", text(&path)]);
    assert_eq!(result["shape"], "4x2x2");
    assert_eq!(result["params"]["link_latency"], 9);
}

#[test]
fn x5_link_bandwidth_of_all_links_wants_a_neighbour_at_each() {
    for shape in ["4x1x1", "3x3x2"] {
        let arguments = ["bench", "link-bandwidth", "--shape", shape];
        let arguments = [&arguments[..], &["--set", "links=all"]].concat();
        refused(
            &arguments,
            &["rings of at least 3 nodes in every dimension"],
        );
    }
}
