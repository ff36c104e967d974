// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs: every message through driver, DMA engine and torus, every byte checked.

use std::fs;

use serde_json::Value;

use crate::program::all_to_all;
use crate::{json, metric, once, scratch, text};

/// `gyre run lulesh`: what the trace contains, and the floor of an infinitely fast network.
const LULESH_MESSAGES: u64 = 1383;
const LULESH_BYTES: u64 = 868_944;
const LULESH_FLOOR_NS: u64 = 1_999_500;
const LULESH_CEILING_NS: u64 = 2_600_000;

fn assert_complete(result: &Value, messages: u64, bytes: u64) {
    assert_eq!(result["metrics"]["verified"], true);
    assert_eq!(metric(result, "messages"), messages);
    assert_eq!(metric(result, "bytes"), bytes);
}

#[test]
fn hw1_ct1_x1_lulesh_is_verified_within_bounds_and_repeats() {
    let arguments = ["run", "workloads/lulesh_8.goal", "--shape", "2x2x2"];
    let first = once(&arguments);
    assert_complete(&first, LULESH_MESSAGES, LULESH_BYTES);
    let makespan = metric(&first, "makespan_ns");
    assert!(
        (LULESH_FLOOR_NS..=LULESH_CEILING_NS).contains(&makespan),
        "{makespan} ns"
    );
    let second = json(&arguments);
    assert_eq!(first["hash"], second["hash"]);
    assert_eq!(first["metrics"], second["metrics"]);
}

#[test]
fn hw1_small_reception_fifos_hold_messages_back_and_lose_none() {
    let result = json(&["run", "lulesh", "--set", "reception_fifo=4096"]);
    assert_complete(&result, LULESH_MESSAGES, LULESH_BYTES);
}

#[test]
fn hw2_ct8_several_ranks_a_node_with_any_source_receives() {
    let result = json(&["run", "workloads/amg-anysrc_8.goal", "--shape", "3x1x2"]);
    assert_complete(&result, 9056, 471_332);
    assert_eq!(result["params"]["ranks_per_node"], 2);
}

/// Payload says which message it is, so a receive that got another one fails the run.
#[test]
fn ct1_open_tags_and_origins_match() {
    let path = scratch("open-tags.goal");
    let program = "num_ranks 3\n\
        rank 0 {\na: send 40b to 2 tag 5\nb: send 900b to 2 tag -1\nb requires a\n\
        c: send 70b to 2 tag 6\nc requires b\n}\n\
        rank 1 {\nw: calc 9000\ns: send 11b to 2 tag 8\ns requires w\n}\n\
        rank 2 {\nr1: recv 40b from 0 tag -1\nr2: recv 900b from 0 tag 6\nr3: recv 70b from 0 tag 6\n\
        r4: recv 11b from -1 tag -1\nr2 requires r1\nr3 requires r2\nr4 requires r3\n}\n";
    fs::write(&path, program).expect("the build's folder can be written");
    let result = json(&["run", text(&path), "--shape", "3"]);
    assert_complete(&result, 4, 40 + 900 + 70 + 11);
}

#[test]
fn a_program_without_operations_ends_at_once() {
    let path = scratch("empty.goal");
    fs::write(&path, "num_ranks 1\nrank 0 {\n}\n").expect("the build's folder can be written");
    assert_eq!(metric(&json(&["run", text(&path)]), "makespan_cycles"), 0);
}

#[test]
fn ct8_a_map_places_ranks_elsewhere_and_changes_only_time() {
    let result = json(&["run", "lulesh", "--map", "tabc"]);
    assert_complete(&result, LULESH_MESSAGES, LULESH_BYTES);
    assert_ne!(result["hash"], once(&["run", "lulesh"])["hash"]);
}

#[test]
fn hw7_ct1_ranks_of_one_node_use_its_shared_memory() {
    let run = |same_node: &str| {
        let same_node = format!("same_node={same_node}");
        json(&["run", "lulesh", "--shape", "2x1x1", "--set", &same_node])
    };
    let by_memory = run("shared_memory");
    assert_complete(&by_memory, LULESH_MESSAGES, LULESH_BYTES);
    let by_loop_back = run("loopback");
    assert_complete(&by_loop_back, LULESH_MESSAGES, LULESH_BYTES);
    assert_ne!(by_memory["hash"], by_loop_back["hash"]);
    assert_eq!(by_memory["hash"], run("shared_memory")["hash"]);
}

#[test]
fn x1_what_ranks_say_through_shared_memory_alone_is_in_the_hash() {
    let path = scratch("one-node.goal");
    let hash = |bytes: u32, window: &str| {
        let program = format!(
            "num_ranks 2\nrank 0 {{\nsend {bytes}b to 1\n}}\nrank 1 {{\nrecv {bytes}b from 0\n}}\n"
        );
        fs::write(&path, program).expect("the build's folder can be written");
        let settings = ["--set", "same_node=shared_memory", "--set", window];
        let run = ["run", text(&path), "--shape", "1"];
        let result = json(&[&run[..], &settings].concat());
        assert_eq!(metric(&result, "messages"), 1);
        result["hash"].clone()
    };
    // Both messages take one packet and as many copies.
    assert_ne!(hash(7, "window=4"), hash(8, "window=4"));
    assert_eq!(hash(7, "window=4"), hash(7, "window=1"));
}

#[test]
fn ct3_the_eager_limit_says_which_messages_wait_for_their_receive() {
    let peak = |limit: &str| {
        let result = once(&["run", "lulesh", "--set", &format!("eager_limit={limit}")]);
        assert_complete(&result, LULESH_MESSAGES, LULESH_BYTES);
        metric(&result, "peak_held_bytes")
    };
    // With nothing eager but empty messages, nothing is held.
    assert_eq!(peak("0"), 0);
    assert!(peak("100000") > peak("64"));
}

#[test]
fn ct1_without_communication_threads_every_message_arrives_too() {
    let result = json(&["run", "lulesh", "--set", "comm_thread=false"]);
    assert_complete(&result, LULESH_MESSAGES, LULESH_BYTES);
}

/// Shapes with dimensions of 1 to 4, rings and lines, in 1 to 5 dimensions.
#[test]
fn hw3_every_pair_on_many_shapes() {
    let shapes: [(&str, &str, usize); 10] = [
        ("1x1x1", "", 1),
        ("2x1x1", "", 2),
        ("1x3", "", 3),
        ("4", "a", 4),
        ("4x3x2", "", 24),
        ("3x3x3", "abc", 27),
        ("3x2x4", "b", 24),
        ("2x2", "", 8),
        ("2x2x2x2x2", "", 32),
        ("3x1x2x1x2", "ae", 12),
    ];
    for (shape, mesh, ranks) in shapes {
        let path = all_to_all(&format!("shape-{shape}-{mesh}"), ranks);
        let mut arguments = vec!["run", text(&path), "--shape", shape];
        if !mesh.is_empty() {
            arguments.extend(["--mesh", mesh]);
        }
        let result = json(&arguments);
        assert_eq!(result["metrics"]["verified"], true, "{shape} {mesh}");
        assert_eq!(
            metric(&result, "messages"),
            (ranks * ranks) as u64,
            "{shape} {mesh}"
        );
    }
}

#[test]
fn x1_window_and_skipping_change_nothing() {
    let path = all_to_all("window", 8);
    let plain = json(&["run", text(&path), "--shape", "2x2x2"]);
    for setting in ["window=1", "skip_idle=false"] {
        let other = json(&["run", text(&path), "--shape", "2x2x2", "--set", setting]);
        assert_eq!(plain["hash"], other["hash"], "{setting}");
        assert_eq!(plain["metrics"], other["metrics"], "{setting}");
    }
}

#[test]
fn hw1_memory_that_reorders_and_varies_its_latency_changes_no_byte() {
    let path = all_to_all("reorder", 12);
    for seed in ["1", "2", "3"] {
        let result = json(&[
            "run",
            text(&path),
            "--shape",
            "3x2x2",
            "--seed",
            seed,
            "--set",
            "memory_reorder=true",
            "--set",
            "memory_jitter=60",
        ]);
        assert_eq!(result["metrics"]["verified"], true, "seed {seed}");
    }
}

#[test]
fn x1_programs_and_collectives_repeat_with_any_number_of_threads() {
    let commands: [&[&str]; 3] = [
        &["run", "lulesh"],
        &["run", "amg", "--shape", "3x1x2", "--set", "ordered=flow"],
        &[
            "bench",
            "allreduce",
            "--shape",
            "2x2x2",
            "--set",
            "sizes=8,4096",
        ],
    ];
    for arguments in commands {
        let result = |threads| {
            let result = json(&[arguments, &["--threads", threads]].concat());
            assert_eq!(result["sim"]["threads"].to_string(), threads);
            let parts = ["hash", "metrics"].map(|part| result[part].clone());
            (result["sim"]["cycles"].clone(), parts)
        };
        let expected = result("1");
        assert_eq!(result("2"), expected, "{arguments:?}");
        assert_eq!(result("5"), expected, "{arguments:?}");
    }
}

#[test]
#[ignore = "deep: a model of its own"]
fn x7_hw3_node_of_the_least_buffers_and_lanes_loses_no_message() {
    let node = [
        "node.port_flits=116",
        "node.inject_flits=34",
        "node.lanes=1",
        "node.arbiter=round_robin",
        "node.memory_ports=4",
    ];
    let set = node.iter().flat_map(|value| ["--set", value]);
    let arguments: Vec<&str> = ["run", "lulesh"].into_iter().chain(set).collect();
    let result = json(&arguments);
    assert_complete(&result, LULESH_MESSAGES, LULESH_BYTES);
    assert_ne!(result["hash"], once(&["run", "lulesh"])["hash"]);
    assert_eq!(result["params"]["node"]["lanes"], 1);
}
