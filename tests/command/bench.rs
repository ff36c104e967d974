// SPDX-License-Identifier: MIT OR Apache-2.0
//! Benches: figures in simulated cycles that must hold on every machine that simulates.

use serde_json::Value;

use crate::{json, once, printed_by, scratch, text};

fn figure(arguments: &[&str], name: &str) -> f64 {
    let result = once(arguments);
    let value = &result["metrics"][name];
    value
        .as_f64()
        .unwrap_or_else(|| panic!("metric {name} is {value}"))
}

#[test]
fn hw3_a_hop_takes_at_most_three_cycles_beyond_the_link() {
    let cycles = figure(
        &["bench", "hop-latency", "--shape", "8x1x1"],
        "router_cycles_per_hop",
    );
    assert!(cycles > 0.0 && cycles <= 3.0, "{cycles}");
}

#[test]
fn hw1_long_puts_fill_a_link_one_way_and_both_ways() {
    let share = figure(
        &["bench", "link-bandwidth", "--shape", "4x1x1"],
        "payload_share",
    );
    assert!((0.92..=512.0 / 544.0 + 1e-3).contains(&share), "{share}");
}

#[test]
fn hw3_long_puts_fill_all_links_of_a_node_at_once_both_ways() {
    let arguments = ["bench", "link-bandwidth", "--shape", "3x3x3"];
    let result = json(&[&arguments[..], &["--set", "links=all"]].concat());
    let share = result["metrics"]["payload_share"].as_f64();
    let share = share.expect("a figure");
    assert!((0.90..=512.0 / 544.0 + 1e-3).contains(&share), "{share}");
    let transfers = result["metrics"]["transfers"].as_array();
    assert_eq!(
        transfers.map(Vec::len),
        Some(3 * 12),
        "sizes, links and ways"
    );
}

#[test]
fn hw3_moderate_uniform_load_is_accepted_whole() {
    let arguments = [
        "bench",
        "traffic",
        "--shape",
        "8x8",
        "--set",
        "pattern=uniform",
        "--set",
        "load=0.3",
    ];
    let offered = figure(&arguments, "offered_load");
    let accepted = figure(&arguments, "accepted_load");
    assert!((0.28..0.32).contains(&offered), "{offered}");
    assert!(accepted / offered >= 0.98, "{accepted} of {offered}");
    assert!(figure(&arguments, "latency_p99_cycles") >= figure(&arguments, "latency_mean_cycles"));
}

#[test]
fn hw3_priority_and_system_pass_requests_that_fill_the_network() {
    // In an empty network all classes take the same time; in a full one those above request hardly more.
    let of_load = |load: &str| {
        let set = ["--set", load, "--set", "cycles=3000", "--set", "gap=200"];
        let result = json(&[&["bench", "class-latency", "--shape", "4x4"], &set[..]].concat());
        let classes = result["metrics"]["classes"].as_array().expect("a list");
        let means: Vec<f64> = (classes.iter().zip(["request", "priority", "system"]))
            .map(|(class, name)| {
                assert_eq!(class["class"], name);
                assert_eq!(class["undelivered_packets"], 0, "{class}");
                class["latency_mean_cycles"].as_f64().expect("a figure")
            })
            .collect();
        assert_eq!(means.len(), 3);
        means
    };
    let (empty, full) = (of_load("load=0.01"), of_load("load=2.0"));
    assert!((empty[1] / empty[0] - 1.0).abs() < 0.1, "{empty:?}");
    assert!(full[0] > 1.3 * empty[0], "{empty:?}, {full:?}");
    for class in [1, 2] {
        let added = (full[class] - empty[class]) / (full[0] - empty[0]);
        assert!(added < 0.5, "{empty:?}, {full:?}");
    }
}

#[test]
fn hw3_every_pattern_delivers_every_packet_by_both_ways_in() {
    for pattern in [
        "uniform",
        "tornado",
        "transpose",
        "bit-complement",
        "bit-reverse",
        "shuffle",
        "neighbour",
        "permutation",
        "hot-spot",
    ] {
        for via in ["router", "dma"] {
            let pattern = format!("pattern={pattern}");
            let via = format!("via={via}");
            let mut arguments = vec!["bench", "traffic", "--shape", "4x4"];
            for setting in [&pattern, &via, "load=0.2", "warmup=500", "cycles=1500"] {
                arguments.extend(["--set", setting]);
            }
            let result = json(&arguments);
            assert_eq!(
                result["metrics"]["undelivered_packets"], 0,
                "{pattern} {via}"
            );
            assert_ne!(result["metrics"]["measured_packets"], 0, "{pattern} {via}");
        }
    }
}

#[test]
fn x7_matrix_of_a_file_says_who_sends_to_whom() {
    let file = scratch("one-way.txt");
    std::fs::write(&file, "# node 0 to node 1 alone\n0 1\n0 0\n").expect("written");
    let matrix = format!("matrix={}", text(&file));
    let of = |pattern: &[&str]| {
        let traffic = "bench traffic --shape 2 --set load=0.4 --set cycles=2000";
        let arguments: Vec<&str> = traffic.split(' ').chain(pattern.iter().copied()).collect();
        json(&arguments)
    };
    let one_way = of(&["--set", "pattern=matrix", "--set", &matrix]);
    assert_eq!(one_way["params"]["matrix"], text(&file));
    assert_eq!(one_way["metrics"]["undelivered_packets"], 0);
    let load = |result: &Value| {
        result["metrics"]["offered_load"]
            .as_f64()
            .expect("a number")
    };
    let (half, all) = (load(&one_way), load(&of(&[])));
    assert!((0.4..0.6).contains(&(half / all)), "{half} of {all}");
}

#[test]
fn ep4_half_round_trip_and_hardware_part_are_below_the_limits() {
    let result = json(&["bench", "pingpong", "--shape", "2x1x1"]);
    let sizes = result["metrics"]["sizes"].as_array().expect("a row a size");
    let of = |row: &Value, name: &str| {
        let value = row[name].as_f64();
        value.unwrap_or_else(|| panic!("{name} is {}", row[name]))
    };
    let expected = [
        (0, "immediate"),
        (8, "immediate"),
        (64, "immediate"),
        (512, "immediate"),
        (4 << 10, "eager"),
        (64 << 10, "rendezvous"),
        (512 << 10, "rendezvous"),
    ];
    assert_eq!(sizes.len(), expected.len());
    let mut shorter = 0.0;
    for (row, (bytes, protocol)) in sizes.iter().zip(expected) {
        assert_eq!(row["message_bytes"], bytes);
        assert_eq!(row["protocol"], protocol);
        let [whole, hardware, software] = [
            "half_round_trip_cycles",
            "hardware_cycles",
            "software_cycles",
        ]
        .map(|name| of(row, name));
        assert!((whole - hardware - software).abs() < 1e-6, "{row}");
        assert!(hardware > 0.0 && software > 0.0, "{row}");
        // No message is faster than its payload on the link, 512 of 544 B, and longer ones take longer.
        assert!(whole > f64::from(bytes) * 544.0 / 512.0 / 16.0, "{row}");
        assert!(whole > shorter, "{row}");
        if bytes == 0 {
            assert!(whole <= 460.0, "{row}");
        }
        if bytes <= 8 {
            assert!(hardware <= 200.0, "{row}");
        }
        shorter = whole;
    }
    let on_node = result["metrics"]["loop_back"]
        .as_array()
        .expect("a row a size");
    for row in on_node {
        assert!(of(row, "half_round_trip_cycles") > 0.0, "{row}");
    }
}

#[test]
fn ep4_ct4_long_messages_fill_a_link_by_rendezvous_rput_and_rget() {
    // As the reference figure, with shorter messages.
    let result = json(&[
        "bench",
        "bandwidth",
        "--shape",
        "2x1x1",
        "--set",
        "message_bytes=65536",
    ]);
    let transfers = result["metrics"]["transfers"].as_array();
    let transfers = transfers.expect("a row a transfer");
    let names: Vec<&Value> = transfers.iter().map(|row| &row["transfer"]).collect();
    assert_eq!(names, ["rendezvous", "rput", "rget"]);
    for row in transfers {
        let of = |name: &str| row[name].as_f64().expect("a figure");
        let (steady, single) = (of("payload_share"), of("single_message_payload_share"));
        // Software sees the ends, some tens of cycles late or less so: of messages as short as these that is half a percent.
        assert!((0.92..=512.0 / 544.0 + 5e-3).contains(&steady), "{row}");
        // One message alone shows the software of both ends, most that of a put with its acknowledgement.
        assert!(single > 0.4 && single < steady, "{row}");
    }
}

#[test]
fn ep2_the_message_rate_grows_with_the_contexts() {
    let result = json(&["bench", "message-rate", "--shape", "3x3x3"]);
    assert_eq!(result["metrics"]["neighbours"], 6);
    let rates = result["metrics"]["rates"].as_array().expect("a row each");
    let contexts: Vec<&Value> = rates.iter().map(|row| &row["contexts"]).collect();
    assert_eq!(contexts, [1, 2, 4, 8, 16]);
    let mut fewer = 0.0;
    for row in rates {
        let rate = row["messages_per_cycle"].as_f64().expect("a rate");
        // Twice the contexts send clearly more.
        assert!(rate > 1.3 * fewer && rate > 0.0, "{rates:?}");
        fewer = rate;
    }
}

#[test]
fn fn2_fn8_messages_and_memory_of_a_fence_are_constant() {
    let result = json(&["bench", "fence"]);
    let metrics = &result["metrics"];
    // FENCE and its acknowledgement; a get and a put of no bytes where the target still gets data.
    let number = |value: &Value| value.as_u64().expect("a number");
    assert!(number(&metrics["control_messages_per_fence"]) <= 4);
    assert!((2..=4).contains(&number(&metrics["control_messages_per_task_of_fence_all"])));
    let fences = metrics["fences"].as_array().expect("rows");
    for fence in fences {
        let messages = number(&fence["control_messages"]);
        if fence["sends"] == 0 || fence["protocol"] == "eager" {
            assert_eq!(messages, 2, "{fence}");
        } else {
            assert!(matches!(messages, 2 | 4), "{fence}");
        }
    }
    for peer in ["neighbour", "same-node"] {
        let sends = |protocol: &str| -> Vec<u64> {
            fences
                .iter()
                .filter(|fence| fence["peer"] == peer && fence["protocol"] == protocol)
                .filter_map(|fence| fence["sends"].as_u64())
                .collect()
        };
        assert_eq!(sends("both"), [0, 1, 10, 1000]);
        assert_eq!(sends("eager"), [10]);
        assert_eq!(sends("rendezvous"), [10]);
    }
    assert!(number(&metrics["cycles"]) > 0);
    let bytes = |row: usize, endpoints: u64| {
        let row = &metrics["memory"][row];
        assert_eq!(row["endpoints"], endpoints);
        assert_eq!(row["bytes_after_fence"], 0, "{row}");
        row["fence_state_bytes"].as_i64().expect("a number")
    };
    let few = bytes(0, 2);
    assert!(few > 0, "nothing was counted");
    assert_eq!(bytes(1, 1_000_000), few);
}

#[test]
fn ak6_the_dispatcher_saves_packets_within_the_latency_limit() {
    let result = json(&["bench", "ack", "--set", "messages=64"]);
    let metrics = &result["metrics"];
    let fewer = metrics["heavy_load_fewer_times"].as_f64();
    assert!(fewer.is_some_and(|times| times >= 8.0), "{fewer:?}");
    assert_eq!(metrics["latency_p99_within_limit"], true);
    let compared = metrics["default_rules"].as_array().expect("rows");
    for kind in ["eager remote-done", "rendezvous SEND-done", "CT ACK"] {
        for load in ["light", "heavy"] {
            let same = |row: &&Value| row["acknowledged"] == kind && row["load"] == load;
            let row = compared.iter().find(same).expect("a comparison");
            let cycles = |name: &str| row[name].as_f64().expect("a number");
            assert!(
                cycles("latency_p99_cycles") <= cycles("latency_limit_cycles"),
                "{row}"
            );
            let packets = |method: &str| {
                let runs = metrics["runs"].as_array().expect("rows");
                let run = runs.iter().filter(same).find(|run| run["method"] == method);
                run.expect("a run")["ack_packets_per_message"]
                    .as_f64()
                    .expect("a number")
            };
            assert_eq!(packets("off"), 1.0, "{kind} {load}");
            assert_eq!(packets("threshold"), 1.0, "{kind} {load}");
            if load == "light" {
                // A ring has two paths from the receiver to all senders.
                assert!(
                    packets("on-arrival, path") < packets("on-arrival"),
                    "{kind}"
                );
            } else {
                // Packets are as full as the rules let them be anyway.
                assert!(packets("on-arrival, path") <= 1.0 / 8.0, "{kind}");
                assert!(packets("coalesce") <= 1.0 / 8.0, "{kind}");
                assert!(packets("on-arrival") <= 1.0 / 8.0, "{kind}");
            }
        }
    }
}

#[test]
fn ct3_ct7_ct8_late_receives_hold_payload_only_eager_or_prior_art() {
    let result = json(&["bench", "match-memory"]);
    let metrics = &result["metrics"];
    let payload = 3 * 8 * 4096;
    assert_eq!(metrics["peak_held_bytes"], 0);
    assert_eq!(metrics["eager_peak_held_bytes"], payload);
    assert_eq!(metrics["prior_art_peak_held_bytes"], payload);
    for row in metrics["protocols"].as_array().expect("rows") {
        assert_eq!(row["payload_bytes"], payload, "{row}");
    }
}

#[test]
fn ep10_ep11_ep12_ep14_endpoints_of_the_root_share_the_work() {
    for bench in ["broadcast", "scatter", "gather"] {
        let metrics = &json(&[
            "bench",
            bench,
            "--shape",
            "3x3x1",
            "--set",
            "endpoints=3",
            "--set",
            "bytes=16384",
        ])["metrics"];
        assert_eq!(metrics["redundant_transmissions"], 0, "{bench}");
        let figure = |name: &str| metrics[name].as_f64().expect("a number");
        // Blocks of 32 packets of 34 flits over the busiest link: of eight over four links, out of the root; what comes
        // in is divided among endpoints by position.
        let blocks = if bench == "gather" { 3.0 } else { 2.0 };
        assert_eq!(figure("bound_cycles"), blocks * 32.0 * 34.0, "{bench}");
        assert_eq!(figure("bound"), 16.0 * blocks * 32.0 * 34.0, "{bench}");
        assert!(
            figure("cycles") >= figure("bound_cycles"),
            "{bench}: {metrics}"
        );
        // In messages as short as these much of the time is software.
        assert!(figure("speedup") >= 1.3, "{bench}: {metrics}");
    }
}

#[test]
fn ep15_helpers_on_a_neighbour_take_load_off_the_links_of_a_corner() {
    for bench in ["broadcast", "scatter", "gather"] {
        let mut args = vec!["bench", bench, "--shape", "4x4x1", "--mesh", "ab"];
        for setting in ["endpoints=2", "helpers=2", "bytes=16384"] {
            args.extend(["--set", setting]);
        }
        let metrics = &json(&args)["metrics"];
        let figure = |name: &str| metrics[name].as_f64().expect("a number");
        assert_eq!(metrics["redundant_transmissions"], 0, "{bench}");
        // Data that is another for each member passes the corner's own links in any case.
        let least = figure("bound_without_helpers");
        assert!(
            bench != "broadcast" || figure("bound") < least,
            "{bench}: {metrics}"
        );
        assert!(
            figure("cycles") >= figure("bound_cycles"),
            "{bench}: {metrics}"
        );
    }
}

#[test]
fn ep15_helpers_speed_up_broadcasts_of_busy_nodes_and_corners() {
    let busy = "--shape 4x4x4 --set endpoints=3 --set helpers=3 --set busy=true";
    let corner = "--shape 3x3x3 --mesh abc --set endpoints=3 --set helpers=3";
    for case in [busy, corner] {
        let args = format!("bench broadcast {case} --set bytes=65536");
        let args: Vec<&str> = args.split(' ').collect();
        let metrics = &json(&args)["metrics"];
        assert_eq!(metrics["redundant_transmissions"], 0);
        let bytes = |name: &str| metrics[name].as_u64().expect("a number");
        assert!(bytes("bound") < bytes("bound_without_helpers"), "{metrics}");
        let speedup = metrics["helper_speedup"].as_f64().expect("a number");
        assert!(speedup > 1.08, "{case}: {metrics}");
    }
}

#[test]
fn ep13_broadcast_along_dimensions_beats_the_binomial_tree() {
    let metrics = &json(&[
        "bench",
        "broadcast",
        "--shape",
        "3x3x1",
        "--set",
        "endpoints=2",
    ])["metrics"];
    let rows = metrics["others"].as_array().expect("rows");
    let cycles = |name: &str| {
        let row = rows.iter().find(|row| row["algorithm"] == name);
        row.and_then(|row| row["cycles"].as_u64()).expect("a row")
    };
    assert!(
        cycles("dimension_pipelined") < cycles("binomial"),
        "{metrics}"
    );
}

#[test]
fn hw5_ep13_allreduce_runs_by_every_algorithm_and_the_tree_link_is_busy() {
    let result = json(&[
        "bench",
        "allreduce",
        "--shape",
        "3x2x1",
        "--set",
        "sizes=8,512,65536",
    ]);
    let rows = result["metrics"]["sizes"].as_array().expect("rows");
    assert_eq!(rows.len(), 3);
    for row in rows {
        let cycles = |name: &str| row[format!("{name}_cycles")].as_f64().expect("a number");
        let names = ["ring", "recursive_doubling", "there_and_back"];
        let least = names.map(cycles).into_iter().fold(f64::INFINITY, f64::min);
        assert_eq!(cycles("best_software"), least, "{row}");
        assert!(cycles("tree") < least, "{row}");
        assert_eq!(row["chosen"], "tree", "{row}");
    }
    let steady = &result["metrics"]["steady_state"];
    let share = steady["payload_share"].as_f64().expect("a number");
    // 512 of every 544 bytes are payload; software sees both ends of the time some cycles late.
    assert!((0.92..=512.0 / 544.0 + 1e-2).contains(&share), "{steady}");
    let output = crate::gyre(&["bench", "allreduce", "--set", "sizes=8,12"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn ep13_alltoall_of_every_algorithm_respects_the_link_bound() {
    // On a line of three two packets of 34 flits go by each link each way.
    for (shape, mesh, bytes, bound) in [("3x1x1", "a", 512, 2 * 34), ("3x2x1", "a", 100, 4 * 10)] {
        let bytes = format!("bytes={bytes}");
        let args = [
            "bench", "alltoall", "--shape", shape, "--mesh", mesh, "--set", &bytes,
        ];
        let metrics = json(&args)["metrics"].take();
        assert_eq!(metrics["bound_cycles"], bound, "{metrics}");
        let rows = metrics["algorithms"].as_array().expect("rows");
        let names: Vec<_> = rows.iter().map(|row| &row["algorithm"]).collect();
        assert_eq!(names, ["linear", "pairwise"]);
        for row in rows {
            assert!(row["cycles"].as_u64().expect("a number") > bound, "{row}");
        }
        let one = json(&[&args[..], &["--set", "algorithm=pairwise"]].concat());
        assert_eq!(one["metrics"]["algorithms"][0]["algorithm"], "pairwise");
    }
    let output = crate::gyre(&["bench", "alltoall", "--set", "algorithm=tree"]);
    assert_ne!(output.status.code(), Some(0));
    let output = crate::gyre(&["bench", "alltoall", "--set", "algorithm=circle"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn hw5_barrier_on_the_tree_takes_little_more_than_its_hops() {
    let metrics = json(&["bench", "barrier", "--shape", "3x3x1"])["metrics"].take();
    let figure = |key: &str| metrics[key].as_f64().expect("a number");
    // Nine nodes: depth 3; two cycles a node, four a link.
    assert_eq!(figure("bound_cycles"), 2.0 * 3.0 * 6.0, "{metrics}");
    let hardware = figure("hardware_cycles");
    assert!(hardware >= figure("bound_cycles"), "{metrics}");
    assert!(hardware <= figure("bound_cycles") + 60.0, "{metrics}");
    assert!(
        figure("tree_cycles") < figure("dissemination_cycles"),
        "{metrics}"
    );
}

#[test]
fn benches_are_listed() {
    let output = crate::gyre(&["bench", "--list"]);
    let list = printed_by(&output);
    for name in [
        "ack",
        "affinity",
        "allreduce",
        "bandwidth",
        "barrier",
        "broadcast",
        "fence",
        "gather",
        "hop-latency",
        "link-bandwidth",
        "match-memory",
        "message-rate",
        "pingpong",
        "scatter",
        "sim-speed",
        "traffic",
    ] {
        assert!(list.lines().any(|line| line.starts_with(name)), "{list}");
    }
}
