// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre compare`.

use std::fs;

use serde_json::Value;

use crate::{error_of, gyre, json, printed_by, root};

/// Little traffic on few nodes.
const TRAFFIC: [&str; 9] = [
    "traffic",
    "--shape",
    "4x4",
    "--set",
    "load=0.6",
    "--set",
    "cycles=500",
    "--set",
    "warmup=100",
];

/// The row of a name.
fn row<'a>(compared: &'a Value, list: &str, name: &str) -> &'a Value {
    let rows = compared[list].as_array().expect("rows");
    let named = rows.iter().find(|row| row["name"] == name);
    named.unwrap_or_else(|| panic!("{name} is not in {list}"))
}

#[test]
fn x7_sides_of_a_comparison_are_the_benches_alone() {
    let compared = json(&[&["compare", "base", "link_latency=12"], &TRAFFIC[..]].concat());
    let bench = |more: &[&str]| json(&[&["bench"], &TRAFFIC[..], more].concat());
    let (a, b) = (bench(&[]), bench(&["--link-latency", "12"]));
    assert_eq!(compared["a"]["hash"], a["hash"]);
    assert_eq!(compared["b"]["hash"], b["hash"]);
    let latency = row(&compared, "figures", "latency_mean_cycles");
    assert_eq!(latency["a"], a["metrics"]["latency_mean_cycles"]);
    assert_eq!(latency["b"], b["metrics"]["latency_mean_cycles"]);
    let mean = |side: &str| latency[side].as_f64().expect("a number");
    let change = latency["change_percent"].as_f64().expect("a number");
    assert!((change - (mean("b") / mean("a") - 1.0) * 100.0).abs() < 1e-9);
    let parameter = row(&compared, "parameters", "link_latency");
    assert_eq!((&parameter["a"], &parameter["b"]), (&4.into(), &12.into()));
}

#[test]
fn x7_limit_that_is_broken_ends_the_comparison_of_results_with_status_1() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let record = |name: &str, latency: &str| {
        let result = [
            &["bench"],
            &TRAFFIC[..],
            &["--link-latency", latency, "--json"],
        ]
        .concat();
        let file = dir.path().join(name);
        fs::write(&file, printed_by(&gyre(&result))).expect("written");
        file.to_str().expect("text").to_owned()
    };
    let (near, far) = (record("near.json", "4"), record("far.json", "12"));
    let limited = |limit: &str| gyre(&["compare", &near, &far, "--limit", limit]);
    let kept = limited("accepted_load=-10%");
    assert_eq!(kept.status.code(), Some(0), "{}", error_of(&kept));
    let broken = limited("latency_mean_cycles=+5%");
    assert_eq!(broken.status.code(), Some(1));
    let text = String::from_utf8_lossy(&broken.stdout).into_owned();
    assert!(
        text.contains("limit latency_mean_cycles=+5%: BROKEN (+"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let same = printed_by(&gyre(&["compare", &near, &near]));
    assert!(
        !same.contains("latency_mean_cycles") && same.contains("are equal"),
        "{same}"
    );
}

#[test]
fn x7_commit_and_tree_of_the_same_rtl_have_the_same_digest_and_hash() {
    let commit = std::process::Command::new("git")
        .args(["rev-parse", "--verify", "--quiet", "HEAD:rtl"])
        .current_dir(root())
        .output();
    let clean = std::process::Command::new("git")
        .args(["diff", "--quiet", "HEAD", "--", "rtl"])
        .current_dir(root())
        .status();
    // A checkout without its history, or with changes, has no such commit.
    if !commit.is_ok_and(|found| found.status.success())
        || !clean.is_ok_and(|clean| clean.success())
    {
        return;
    }
    let compared = json(&[&["compare", "commit=HEAD", "rtl"], &TRAFFIC[..]].concat());
    assert_eq!(compared["a"]["hash"], compared["b"]["hash"]);
    let digest = row(&compared, "parameters", "rtl_digest");
    assert!(digest["a"].is_string() && digest["a"] == digest["b"]);
}

#[test]
fn x5_comparisons_that_cannot_be_are_refused_before_anything_runs() {
    let refused = |arguments: &[&str], words: &[&str]| {
        let output = gyre(&[&["compare"], arguments].concat());
        let text = error_of(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        for word in words {
            assert!(text.contains(word), "{arguments:?}: no `{word}` in: {text}");
        }
    };
    refused(&["base", "base"], &["expected a bench or a program"]);
    refused(
        &["base", "lulesh", "traffic"],
        &["a result FILE.json", "found `lulesh`"],
    );
    refused(
        &["base", "node.lanes=9", "traffic"],
        &["--set node.lanes", "1 to 4"],
    );
    refused(
        &["base", "commit=no-such", "traffic"],
        &["commit", "no-such"],
    );
    refused(
        &["base", "base", "traffic", "--limit", "x"],
        &["--limit", "METRIC=20%"],
    );
    refused(
        &["base", "base", "traffic", "--timeline", "x.html"],
        &["--timeline", "makes two"],
    );
    refused(&["a.json", "b.json"], &["a.json"]);
    refused(&["Cargo.toml", "b.json"], &["a result FILE.json"]);
    refused(&["a.json", "b.json", "traffic"], &["measured already"]);
}
