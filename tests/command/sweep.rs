// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre sweep`.

use std::fs;

use serde_json::Value;

use crate::{error_of, gyre, json, once, printed_by};

/// Little traffic on few nodes.
const TRAFFIC: [&str; 7] = [
    "traffic",
    "--shape",
    "4x4",
    "--set",
    "cycles=500",
    "--set",
    "warmup=100",
];

/// Result of `gyre sweep` of the traffic, with more options.
fn sweep(options: &[&str]) -> Value {
    let arguments: Vec<&str> = [&["sweep"], &TRAFFIC[..], options].concat();
    json(&arguments)
}

fn curves(result: &Value) -> &[Value] {
    result["curves"].as_array().expect("curves")
}

fn points(curve: &Value) -> &[Value] {
    curve["points"].as_array().expect("points")
}

#[test]
fn x1_x7_points_of_a_sweep_are_those_of_benches_for_any_threads() {
    let axes = ["--set", "pattern=uniform,tornado", "--set", "load=0.1,0.3"];
    let on = |threads| {
        let mut result = sweep(&[&axes[..], &["--threads", threads]].concat());
        // Host times.
        result.as_object_mut().expect("an object").remove("sim");
        result
    };
    let result = on("1");
    assert_eq!(result, on("2"));
    assert_eq!(result["axes"], serde_json::json!(["pattern", "load"]));
    for curve in curves(&result) {
        let pattern = curve["values"]["pattern"].as_str().expect("a word");
        for point in points(curve) {
            let pattern = format!("pattern={pattern}");
            let load = format!("load={}", point["value"]);
            let own = ["--set", &pattern, "--set", &load];
            let bench = json(&[&["bench"], &TRAFFIC[..], &own].concat());
            assert_eq!(point["hash"], bench["hash"]);
            assert_eq!(point["metrics"], bench["metrics"]);
        }
    }
}

#[test]
fn x7_range_has_most_points_where_latency_rises() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let file = |name: &str| dir.path().join(name).to_str().expect("text").to_owned();
    let (csv, svg) = (file("f.csv"), file("f.svg"));
    let result = sweep(&["--set", "load=0.1:2.1", "--csv", &csv, "--plot", &svg]);
    let points = points(&curves(&result)[0]);
    let loads: Vec<f64> = points
        .iter()
        .map(|point| point["value"].as_f64().expect("a number"))
        .collect();
    assert!(loads.is_sorted(), "{loads:?}");
    assert_eq!((loads.len(), loads[0], loads[15]), (16, 0.1, 2.1));
    let latency = |point: &Value| {
        point["metrics"]["latency_mean_cycles"]
            .as_f64()
            .expect("a number")
    };
    assert!(latency(&points[15]) > 3.0 * latency(&points[0]));
    // Equal distances are of a quarter.
    let narrow = loads
        .windows(2)
        .filter(|pair| pair[1] - pair[0] < 0.2)
        .count();
    assert!(narrow >= 7, "{loads:?}");
    let table = fs::read_to_string(csv).expect("written");
    let mut lines = table.lines();
    let header = lines.next().expect("a header");
    assert!(
        header.starts_with("load,accepted_load,") && header.ends_with(",hash,rtl_digest,version"),
        "{header}"
    );
    assert_eq!(lines.count(), 16);
    let picture = fs::read_to_string(svg).expect("written");
    for words in [
        "accepted_load",
        "latency_mean_cycles",
        "latency_p99_cycles",
        "load",
    ] {
        assert!(picture.contains(words), "{words}");
    }
    assert!(picture.matches("<polyline").count() >= 3);
}

#[test]
fn x7_sweep_of_a_program_has_its_makespans_by_link_latency() {
    let result = json(&["sweep", "lulesh", "--set", "link_latency=4,60"]);
    let points = points(&curves(&result)[0]);
    let makespan = |point: &Value| point["metrics"]["makespan_ns"].as_u64().expect("a number");
    let run = once(&["run", "lulesh"]);
    assert_eq!(points[0]["hash"], run["hash"]);
    assert_eq!(makespan(&points[0]), makespan(&run));
    assert!(makespan(&points[1]) > makespan(&points[0]));
}

#[test]
fn x7_sweep_of_a_terminal_fits_80_columns() {
    let arguments = [
        &["sweep"],
        &TRAFFIC[..],
        &[
            "--set",
            "pattern=bit-complement,neighbour",
            "--set",
            "load=0.1,2.0",
        ],
    ]
    .concat();
    let text = printed_by(&gyre(&arguments));
    let widest = text
        .lines()
        .map(|line| line.chars().count())
        .filter(|&width| width > 80);
    // The line of the simulator's speed is for any width.
    assert!(widest.count() <= 1, "{text}");
    assert!(
        text.contains("bit-complement") && text.contains("latency_p99"),
        "{text}"
    );
}

#[test]
fn x5_sweeps_that_cannot_be_are_refused_before_they_begin() {
    for (options, words) in [
        (
            "--set load=sweep",
            "gyre: --set load: expected a number from 0.001 to 16, found `sweep`",
        ),
        (
            "--set load=0.1,17",
            "load=17: --set load: expected a number from 0.001 to 16",
        ),
        ("--set lod=1,2", "lod=1: --set lod: no such setting here"),
        (
            "--set seed=x,y",
            "--set seed: expected a whole number, 0 or more, found `x`",
        ),
        (
            "--set load=1:2 --set payload=0:512",
            "expected one range that chooses its values",
        ),
        (
            "--set load=0.1,0.2 --plot x.jpg",
            "--plot: expected a file name ending in .svg or .png, found `x.jpg`",
        ),
        (
            "--set pattern=uniform,tornado --plot x.svg",
            "--plot: expected an axis of numbers",
        ),
        (
            "--set load=0.1 --show nothing",
            "--show: expected figures joined by commas, of accepted_load, ",
        ),
        (
            "--set load=0.1,0.2 --trace x.vcd",
            "--trace: shows one machine, and a sweep makes many",
        ),
        (
            "--set load=0.1,0.2 --threads 0",
            "--threads: expected 1 to 256, found `0`",
        ),
    ] {
        let options: Vec<&str> = options.split(' ').collect();
        let output = gyre(&[&["sweep"], &TRAFFIC[..], &options[..]].concat());
        let error = error_of(&output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn x7_micro_architectures_are_machines_of_their_own() {
    let axis = ["--set", "node.arbiter=age,round_robin", "--set", "load=1.2"];
    let result = sweep(&axis);
    let points = points(&curves(&result)[0]);
    let own = sweep(&["--set", "load=1.2"]);
    let own = &self::points(&curves(&own)[0])[0];
    assert_eq!(points[0]["hash"], own["hash"], "age is what the RTL has");
    assert_ne!(points[1]["hash"], own["hash"]);
    assert_eq!(points[0]["rtl_digest"], points[1]["rtl_digest"]);
    assert_eq!(result["params"]["node"]["arbiter"], "age");
}

#[test]
fn x7_picture_is_a_png_where_its_name_says_so() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let file = dir.path().join("curves.png");
    sweep(&[
        "--set",
        "load=0.1,0.3",
        "--plot",
        file.to_str().expect("text"),
    ]);
    let bytes = fs::read(&file).expect("written");
    let decoder = png::Decoder::new(std::io::Cursor::new(&bytes));
    let mut reader = decoder.read_info().expect("a picture");
    let mut pixels = vec![0; reader.output_buffer_size().expect("small")];
    let info = reader.next_frame(&mut pixels).expect("a picture");
    assert_eq!((info.width, info.height), (800, 3 * 340));
    // Its curves, and letters.
    let blue = pixels.chunks(3).filter(|pixel| *pixel == [0, 114, 178]);
    assert!(blue.count() > 300);
    let dark = pixels
        .chunks(3)
        .filter(|pixel| pixel.iter().all(|&part| part < 80));
    assert!(dark.count() > 2000);
}
