// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre why`: its sums, recomputed from timelines; causes that were planted, and what their removal gains on the RTL.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::pami::compiled;
use crate::program::{all_to_all, hot_spot, late_receive, ring, slow_rank};
use crate::timeline::Timeline;
use crate::{error_of, gyre, json, printed_by, scratch, text};

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("a number: {value}"))
}

fn sum(value: &Value) -> f64 {
    let members = value.as_object().expect("an object");
    members.values().map(number).sum()
}

/// Checks the sums in a result.
fn check(metrics: &Value) {
    assert_eq!(metrics["makespan_cycles"], metrics["critical_path_cycles"]);
    assert_eq!(metrics["makespan_ps"], metrics["critical_path_ps"]);
    assert!((sum(&metrics["shares"]) - 1.0).abs() < 1e-9, "{metrics:#}");
    assert!((sum(&metrics["critical_path_shares"]) - 1.0).abs() < 1e-9);
    let unexplained = number(&metrics["critical_path_shares"]["other"]);
    assert!(unexplained <= 0.01, "{metrics:#}");
    assert!(number(&metrics["shares"]["other"]) <= 0.01, "{metrics:#}");
    let parts = metrics["critical_path"].as_array().expect("parts");
    let parts: u64 = parts
        .iter()
        .map(|part| part["ps"].as_u64().expect("ps"))
        .sum();
    assert_eq!(metrics["critical_path_ps"], parts);
    for rank in metrics["per_rank"].as_array().expect("ranks") {
        let shares = sum(rank) - number(&rank["rank"]);
        assert!((shares - 1.0).abs() < 1e-9, "{rank}");
    }
    for message in metrics["messages"].as_array().expect("messages") {
        let exact: u64 = message["stages_ps"]
            .as_object()
            .expect("stages")
            .values()
            .map(|ps| ps.as_u64().expect("ps"))
            .sum();
        assert_eq!(message["ps"], exact, "{message:#}");
        let cycles = sum(&message["stages"]);
        assert!(
            (cycles - number(&message["cycles"])).abs() < 1e-6,
            "{message:#}"
        );
        // Nothing that happened meanwhile took longer than the stage.
        for blame in message["blame"].as_array().expect("blame") {
            let stage = &message["stages"][blame["stage"].as_str().expect("a stage")];
            assert!(number(&blame["cycles"]) <= number(stage) + 1e-6, "{blame}");
        }
    }
}

/// The result for a program, whose first cause has these words, and loses or gains what was predicted within a quarter.
fn proven(path: &Path, arguments: &[&str], words: &[&str]) -> Value {
    let shape = ["--shape", "2x2x2", "--prove"];
    let result = json(&[&["why", text(path)][..], &shape, arguments].concat());
    let metrics = &result["metrics"];
    check(metrics);
    let causes = metrics["causes"].as_array().expect("causes");
    assert!(causes.len() >= 3, "{causes:#?}");
    let first = &causes[0];
    let cause = first["cause"].as_str().expect("words");
    assert!(words.iter().all(|word| cause.contains(word)), "{causes:#?}");
    let predicted = number(&first["predicted_cycles"]);
    let measured = number(&first["measured_cycles"]);
    assert!(measured > 0.0, "{causes:#?}");
    assert!((predicted / measured - 1.0).abs() <= 0.25, "{causes:#?}");
    result
}

#[test]
fn x7_slow_memory_is_the_first_cause_of_a_ring() {
    let path = ring("why-ring", 8, 6);
    let slow = [
        "--set",
        "memory_read_latency=140",
        "--set",
        "memory_write_latency=120",
    ];
    proven(&path, &slow, &["memory latency 2", "140", "120"]);
    // Of fast memory it is not.
    let fast = json(&[
        "why",
        text(&path),
        "--shape",
        "2x2x2",
        "--set",
        "memory_read_latency=4",
    ]);
    let first = fast["metrics"]["causes"][0]["cause"]
        .as_str()
        .expect("words");
    assert!(first.contains("operation"), "{first}");
}

#[test]
fn x7_the_message_holding_the_link_is_the_cause_of_a_hot_spot() {
    let path = hot_spot("why-hot-spot", 8, 200_000);
    let result = proven(
        &path,
        // One cable in each dimension.
        &["--mesh", "abc"],
        &["message", "withheld", "to rank 0", "in the way on node"],
    );
    let shares = &result["metrics"]["critical_path_shares"];
    assert!(number(&shares["network"]) > 0.5, "{shares}");
    // It is blamed, too, by those that waited.
    let messages = result["metrics"]["messages"].as_array().expect("messages");
    let blamed = messages
        .iter()
        .flat_map(|m| m["blame"].as_array().expect("blame"));
    let links = blamed.filter(|b| b["stage"] == "data_network");
    assert!(links.count() > 0, "{messages:#?}");
}

#[test]
fn x7_the_dma_copy_within_a_node_is_memory_time() {
    let path = crate::scratch("why-copy.goal");
    let text_of = "num_ranks 2\nrank 0 {\nsend 100000b to 1\n}\nrank 1 {\nrecv 100000b from 0\n}\n";
    std::fs::write(&path, text_of).expect("a file");
    let result = json(&["why", text(&path), "--shape", "1x1x1"]);
    let shares = &result["metrics"]["critical_path_shares"];
    assert!(number(&shares["memory"]) > 0.5, "{shares}");
    assert_eq!(shares["other"], 0.0, "{shares}");
}

#[test]
fn x7_a_receive_posted_late_is_the_first_cause_of_its_senders_wait() {
    let path = late_receive("why-late", 8, 40_000, 400_000);
    let result = proven(&path, &[], &["computation of rank 1", "late receiver"]);
    let rank = &result["metrics"]["per_rank"][0];
    assert!(number(&rank["late_receiver"]) > 0.8, "{rank}");
    assert_eq!(rank["late_sender"], 0.0, "{rank}");
    let slowest = &result["metrics"]["messages"][0];
    let waits = number(&slowest["stages"]["wait_for_receive"]);
    assert!(waits > 0.9 * number(&slowest["cycles"]), "{slowest}");
}

#[test]
fn x7_a_slow_rank_is_the_first_cause_of_the_others_waits() {
    let path = slow_rank("why-slow", 8, 5, 3);
    let result = proven(&path, &[], &["computation of rank 5", "late sender"]);
    // The next one waits for it most of all.
    let ranks = result["metrics"]["per_rank"].as_array().expect("ranks");
    let late = |rank: &Value| number(&rank["late_sender"]);
    let most = ranks.iter().max_by(|a, b| late(a).total_cmp(&late(b)));
    let most = most.expect("ranks");
    assert_eq!(most["rank"], 6, "{ranks:#?}");
    assert!(late(most) > 0.3, "{most}");
}

#[test]
fn x2_x7_why_says_of_lulesh_what_its_timeline_says() {
    let path = scratch("why.perfetto-trace");
    let ran = json(&["run", "lulesh", "--timeline", text(&path)]);
    let result = json(&["why", "lulesh"]);
    assert_eq!(ran["hash"], result["hash"]);
    let metrics = &result["metrics"];
    assert_eq!(
        ran["metrics"]["makespan_cycles"],
        metrics["makespan_cycles"]
    );
    check(metrics);
    let timeline = Timeline::read(&path);
    let total = metrics["makespan_ps"].as_u64().expect("ps");
    // The critical path: segments that abut, each from one event to another; their sums by kind and by part.
    for (name, shares) in [
        ("critical path", kinds(metrics)),
        ("critical path in parts", parts(metrics)),
    ] {
        let mut times: BTreeMap<String, u64> = BTreeMap::new();
        let mut last = None;
        let mut whole = 0;
        for (what, notes) in timeline.slices(name) {
            let (from, to) = (notes["from_ps"], notes["to_ps"]);
            assert!(
                last.is_none_or(|last| last == from),
                "{name}: no gap at {from}"
            );
            last = Some(to);
            whole += to - from;
            *times.entry(what).or_default() += to - from;
        }
        assert_eq!(whole, total, "{name}");
        assert_eq!(times, shares, "{name}");
    }
    // Ranks compute for as long as their threads have slices that say so.
    for rank in metrics["per_rank"].as_array().expect("ranks") {
        let number_of = rank["rank"].as_u64().expect("a rank");
        let computed = timeline.time_of(&format!("rank {number_of} cpu 0"), "compute");
        let said = number(&rank["computation"]) * total as f64;
        // Slices are rounded to nanoseconds.
        let slices = timeline.count_of(&format!("rank {number_of} cpu 0"), "compute");
        assert!(
            (computed as f64 - said).abs() <= 1000.0 * slices as f64,
            "{rank}"
        );
    }
    // Messages: by serial, the stages that the timeline has.
    let stages = timeline.stages();
    for message in metrics["messages"].as_array().expect("messages") {
        let serial = message["message"].as_u64().expect("a serial");
        for (stage, ps) in message["stages_ps"].as_object().expect("stages") {
            assert_eq!(ps, stages[&serial][stage.as_str()], "{message}");
        }
    }
}

fn kinds(metrics: &Value) -> BTreeMap<String, u64> {
    times(metrics, "kind")
}

fn parts(metrics: &Value) -> BTreeMap<String, u64> {
    times(metrics, "what")
}

/// Picoseconds of the parts of the critical path, by one of their words.
fn times(metrics: &Value, by: &str) -> BTreeMap<String, u64> {
    let mut times = BTreeMap::new();
    for part in metrics["critical_path"].as_array().expect("parts") {
        let word = part[by].as_str().expect("a word").to_owned();
        *times.entry(word).or_default() += part["ps"].as_u64().expect("ps");
    }
    times
}

#[test]
fn x1_x7_why_says_the_same_whatever_the_simulator_does() {
    let path = all_to_all("why", 8);
    let run = ["why", text(&path), "--shape", "2x2x2"];
    let plain = json(&run);
    check(&plain["metrics"]);
    for arguments in [
        &["--threads", "2"][..],
        &["--set", "window=1"],
        &["--set", "skip_idle=false"],
    ] {
        let other = json(&[&run[..], arguments].concat());
        assert_eq!(plain["metrics"], other["metrics"], "{arguments:?}");
        assert_eq!(plain["hash"], other["hash"]);
    }
}

#[test]
fn x7_every_wait_of_a_program_is_explained_on_any_machine() {
    let path = all_to_all("why-ways", 8);
    for arguments in [
        &["--shape", "2x2", "--set", "same_node=shared_memory"][..],
        &["--shape", "2x2", "--set", "eager_limit=0"],
        &["--shape", "2x2x2", "--set", "ordered=flow"],
        &["--shape", "1", "--set", "comm_thread=false"],
        &["--shape", "8", "--mesh", "all", "--set", "memory_jitter=50"],
    ] {
        let result = json(&[&["why", text(&path)][..], arguments].concat());
        check(&result["metrics"]);
    }
}

#[test]
fn x7_one_message_is_explained() {
    let path = all_to_all("why-one", 8);
    let arguments = ["why", text(&path), "--shape", "2x2x2", "--message", "33"];
    let result = json(&arguments);
    let messages = result["metrics"]["messages"].as_array().expect("messages");
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["message"], 33);
    let shown = gyre(&arguments);
    let shown = printed_by(&shown);
    assert!(shown.contains("message 33 of"), "{shown}");
    assert!(shown.contains("reception"), "{shown}");
}

#[test]
fn x5_x7_questions_without_an_answer_are_refused() {
    let few = all_to_all("why-few", 8);
    let few = text(&few);
    let silent = scratch("silent.goal");
    std::fs::write(&silent, "num_ranks 2\nrank 0 {\n}\nrank 1 {\n}\n").expect("a file");
    for (arguments, words) in [
        (&[few, "--message", "0"][..], ["--message", "1 to 64"]),
        (&[few, "--message", "65"], ["--message", "1 to 64"]),
        (&["lulesh", "--message", "x"], ["--message", "whole number"]),
        (&["lulesh", "--trace", "x.vcd"], ["--trace", "gyre run"]),
        (
            &["lulesh", "--timeline", "x.html"],
            ["--timeline", "gyre run"],
        ),
        (&["nothing"], ["nothing", "bundled"]),
        (&[text(&silent)], ["silent.goal", "nothing to explain"]),
    ] {
        let output = gyre(&[&["why"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = error_of(&output);
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
}

/// Result of `gyre why exec` of a C program on two tasks.
fn of_processes(name: &str, more: &[&str]) -> Value {
    let file = scratch(&format!("why-{name}.json"));
    let options = ["-n", "2", "--shape", "2", "--json", text(&file)];
    let program = compiled(name);
    let arguments = [
        &["why", "exec"],
        &options[..],
        more,
        &["--", text(&program)],
    ]
    .concat();
    let output = gyre(&arguments);
    assert!(output.status.success(), "{name}: {}", error_of(&output));
    let text = std::fs::read_to_string(&file).expect("written");
    serde_json::from_str(&text).expect("one JSON object")
}

#[test]
fn x2_x6_time_of_processes_is_explained_to_its_last_picosecond() {
    for name in ["messages", "onesided", "collectives"] {
        let result = of_processes(name, &[]);
        check(&result["metrics"]);
        let messages = result["metrics"]["messages"].as_array().expect("messages");
        assert!(!messages.is_empty(), "{name}");
    }
}

#[test]
fn x2_x6_late_sender_among_processes_is_named_first_and_links_are_proven() {
    let result = of_processes("late_sender", &["--prove", "--link-latency", "40"]);
    let metrics = &result["metrics"];
    check(metrics);
    let causes = metrics["causes"].as_array().expect("causes");
    let first = causes[0]["cause"].as_str().expect("words");
    assert!(first.starts_with("computation of rank 1"), "{first}");
    assert!(
        causes[0]["measured_cycles"].is_null(),
        "a process computes what it will"
    );
    let waits = &metrics["per_rank"][0];
    assert!(number(&waits["late_sender"]) > 0.5, "{waits}");
    let proven = causes
        .iter()
        .find(|cause| !cause["measured_cycles"].is_null());
    let proven = proven.expect("a cause of the machine");
    let (predicted, measured) = (&proven["predicted_cycles"], &proven["measured_cycles"]);
    let off = (number(predicted) - number(measured)).abs();
    assert!(off <= 0.25 * number(measured).abs().max(100.0), "{proven}");
}
