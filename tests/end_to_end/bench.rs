//! Benches: figures in simulated cycles that must hold on every machine that simulates.

use crate::json;

fn figure(arguments: &[&str], name: &str) -> f64 {
    let result = json(arguments);
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
fn hw3_every_pattern_delivers_every_packet_by_both_ways_in() {
    for pattern in [
        "uniform",
        "tornado",
        "transpose",
        "bit-complement",
        "neighbour",
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
fn benches_are_listed() {
    let output = crate::gyre(&["bench", "--list"]);
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    for name in ["hop-latency", "link-bandwidth", "sim-speed", "traffic"] {
        assert!(list.lines().any(|line| line.starts_with(name)), "{list}");
    }
}
