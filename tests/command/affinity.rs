// SPDX-License-Identifier: MIT OR Apache-2.0
//! The gain of knowing where software threads run, as `gyre bench affinity` measures it.

use std::fs;

use serde_json::Value;

use crate::{json, once, scratch, text};

/// The rows of the bench.
fn rows(arguments: &[&str]) -> Vec<Value> {
    rows_of(&json(&[&["bench", "affinity"], arguments].concat()))
}

fn rows_of(result: &Value) -> Vec<Value> {
    let rows = result["metrics"]["collectives"].as_array();
    rows.expect("a list").clone()
}

fn figure(row: &Value, name: &str) -> u64 {
    let value = row[name].as_u64();
    value.unwrap_or_else(|| panic!("{name} in {row}"))
}

#[test]
fn af5_af6_trees_along_domains_cross_fewer_cores_and_modules() {
    let first = rows_of(&once(&["bench", "affinity"]));
    assert_eq!(first.len(), 3 * 4);
    for row in &first {
        // 64 threads on 4 modules of 4 cores: each core but the root's is left once a way, and each module.
        let ways = match row["collective"].as_str() {
            Some("barrier" | "allreduce") => 2,
            _ => 1,
        };
        assert_eq!(figure(row, "cross_core"), 15 * ways, "{row}");
        assert_eq!(figure(row, "cross_module"), 3 * ways, "{row}");
        assert!(figure(row, "cross_core_blind") > 45 * ways, "{row}");
        assert!(figure(row, "cross_module_blind") > 30 * ways, "{row}");
        // Threads that lie in order suit a blind tree nearly as well.
        if row["placement"] != "in_order" {
            let (aware, blind) = (figure(row, "cycles"), figure(row, "cycles_blind"));
            assert!(blind * 10 > aware * 13, "{row}");
        }
    }
    assert_eq!(rows(&[]), first, "figures repeat");
    let other = rows(&["--seed", "2"]);
    assert_ne!(
        other[8..],
        first[8..],
        "the shuffled placement follows the seed"
    );
    assert_eq!(other[..8], first[..8]);
}

#[test]
fn af5_af6_one_leader_a_node_enters_the_network() {
    let alone = rows_of(&once(&["bench", "affinity"]));
    let together = rows(&["--shape", "2x2x1", "--set", "bytes=2000"]);
    for (row, alone) in together.iter().zip(&alone) {
        // Parts of 2000 B fill 32 lines and more; what crosses modules does so on each node by itself.
        let lines = figure(row, "cross_module") / figure(alone, "cross_module");
        let expected = match row["collective"].as_str() {
            // Leaders may first have to see that their parents took what went up before.
            Some("barrier") => 4..=8,
            _ => 4 * 32..=4 * 40,
        };
        assert!(expected.contains(&lines), "{lines} times in {row}");
        assert!(figure(row, "cycles") > figure(alone, "cycles"), "{row}");
    }
}

#[test]
fn af1_the_machine_file_sets_thread_places_and_cache_line_costs() {
    let path = scratch("processor.toml");
    let near = "[processor]\nmodules = 1\ncores = 2\nthreads = 3\nmodule_cycles = 6\n";
    fs::write(&path, near).expect("the build's folder can be written");
    let machine = ["--machine", text(&path)];
    let near = rows(&machine);
    assert_eq!(figure(&near[0], "cross_core"), 1);
    assert_eq!(figure(&near[0], "cross_module_blind"), 0);
    let far = "[processor]\nmodules = 1\ncores = 2\nthreads = 3\nmodule_cycles = 1600\nprocessor_cycles = 1600\n";
    fs::write(&path, far).expect("the build's folder can be written");
    let far = rows(&machine);
    // 1594 processor cycles of 1.6 GHz more are 498 cycles of 500 MHz.
    let more = figure(&far[0], "cycles") - figure(&near[0], "cycles");
    assert!((490..=506).contains(&more), "{more}");
    let params = json(&["bench", "affinity", "--machine", text(&path)]);
    assert_eq!(params["params"]["cores"], 2);
    assert_eq!(params["params"]["module_cycles"], 1600);
}
