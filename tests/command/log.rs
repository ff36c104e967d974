// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver log: its lines, its filter, its refusals, and that it changes nothing.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::pami::{compiled, run};
use crate::program::all_to_all;
use crate::{gyre, json, scratch, text};

/// A line of a log.
#[derive(Debug)]
struct Line {
    ps: u64,
    level: String,
    target: String,
    /// Text and fields.
    rest: String,
}

impl Line {
    /// Value of a field.
    fn field(&self, name: &str) -> Option<&str> {
        let mut words = self.rest.split_whitespace();
        words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    /// The text before the fields.
    fn what(&self) -> &str {
        let end = self.rest.find('=').unwrap_or(self.rest.len());
        self.rest[..end]
            .rsplit_once(' ')
            .map_or("", |(what, _)| what)
    }
}

/// Reads a log.
fn read(path: &PathBuf) -> Vec<Line> {
    let file = fs::read_to_string(path).expect("the log is there");
    let lines = file.lines().map(|line| {
        let (time, rest) = line.split_once(" ns ").expect("a time");
        let (ns, ps) = time.trim().split_once('.').expect("nanoseconds");
        let (level, rest) = rest.trim_start().split_once(' ').expect("a level");
        let (target, rest) = rest.split_once(": ").expect("a target");
        let number = |text: &str| text.parse::<u64>().expect("a number");
        Line {
            ps: number(ns) * 1000 + number(ps),
            level: level.into(),
            target: target.into(),
            rest: rest.into(),
        }
    });
    lines.collect()
}

/// Runs a command with a log, which changes neither hash nor figures. Lines of a machine are in the order of simulated time.
fn logged(name: &str, filter: &str, arguments: &[&str]) -> Vec<Line> {
    let path = scratch(name);
    let option = format!("{}{filter}", text(&path));
    let with = json(&[arguments, &["--log", &option]].concat());
    let without = json(arguments);
    for field in ["hash", "metrics"] {
        assert_eq!(with[field], without[field], "{arguments:?}");
    }
    assert_eq!(with["sim"]["cycles"], without["sim"]["cycles"]);
    let lines = read(&path);
    let mut machines = lines.split(|line| line.target == "machine");
    let in_order = machines.all(|of| of.is_sorted_by_key(|line| line.ps));
    assert!(in_order, "{arguments:?}");
    lines
}

/// The texts of the lines whose field has this value, in order.
fn steps<'a>(lines: &'a [Line], field: &str, value: &str) -> Vec<&'a str> {
    let of = lines.iter().filter(|line| line.field(field) == Some(value));
    of.map(Line::what).collect()
}

/// Whether `part` occurs in `all` in this order, perhaps with others between.
fn contains(all: &[&str], part: &[&str]) -> bool {
    let mut rest = all.iter();
    part.iter().all(|step| rest.any(|other| other == step))
}

/// Writes a program of an eager and a rendezvous message.
fn two_ranks(name: &str) -> PathBuf {
    let path = scratch(name);
    let program = "num_ranks 2\n\
                   rank 0 {\ns: send 64b to 1 tag 1\nl: send 65536b to 1 tag 2\nl requires s\n}\n\
                   rank 1 {\nr: recv 64b from 0 tag 1\nw: calc 100000\nb: recv 65536b from 0 tag 2\nb requires w\n}\n";
    fs::write(&path, program).expect("written");
    path
}

#[test]
fn x2_a_log_has_the_steps_of_eager_and_rendezvous_messages() {
    let program = two_ranks("log-steps.goal");
    let lines = logged("steps.log", "", &["run", text(&program), "--shape", "2x1"]);
    let posted: Vec<&Line> = lines
        .iter()
        .filter(|line| line.what() == "message posted")
        .collect();
    assert_eq!(posted.len(), 2, "{lines:?}");
    for line in &posted {
        assert_eq!(
            (line.level.as_str(), line.target.as_str()),
            ("INFO", "driver::post")
        );
        assert_eq!(
            ["node", "task", "context", "peer"].map(|f| line.field(f)),
            [Some("0"), Some("0"), Some("0"), Some("1.0")]
        );
    }
    let by_bytes = |bytes: &str| {
        let line = posted
            .iter()
            .find(|line| line.field("bytes") == Some(bytes));
        line.and_then(|line| line.field("id")).expect("an id")
    };
    let eager = steps(&lines, "id", by_bytes("64"));
    let expected = [
        "message posted",
        "eager message sent",
        "message dispatched",
        "message matched",
        "receive completed",
    ];
    assert!(contains(&eager, &expected), "{eager:?}");
    let rendezvous = steps(&lines, "id", by_bytes("65536"));
    let expected = [
        "message posted",
        "rendezvous: request to send",
        "unexpected message",
        "receive matched an unexpected message",
        "receive completed",
    ];
    assert!(contains(&rendezvous, &expected), "{rendezvous:?}");
    for step in [
        "request to send received",
        "data fetched",
        "message acknowledged",
    ] {
        assert!(rendezvous.contains(&step), "{step}: {rendezvous:?}");
    }
}

#[test]
fn x2_fn1_a_log_has_the_steps_of_a_fence() {
    let lines = logged(
        "fence.log",
        ":machine=info,driver::fence=debug,driver::control=debug",
        &["bench", "fence"],
    );
    let begun: Vec<&Line> = lines
        .iter()
        .filter(|line| line.what() == "fence begun")
        .collect();
    assert!(!begun.is_empty());
    let ended = lines
        .iter()
        .filter(|line| line.what() == "fence ended")
        .count();
    assert_eq!(begun.len(), ended, "every fence ends");
    let first = begun[0].field("fence").expect("a number");
    let steps = steps(&lines, "fence", first);
    let expected = [
        "fence begun",
        "fence requested by peer",
        "fence answered",
        "answer received",
        "fence ended",
    ];
    assert!(contains(&steps, &expected), "{steps:?}");
    let sent = |message: &str| {
        lines
            .iter()
            .any(|line| line.field("control") == Some(message))
    };
    assert!(sent("\"FENCE\"") && sent("\"FENCE_ACK\""));
}

#[test]
fn x2_ep8_a_log_has_the_collectives_of_every_member() {
    let filter = ":driver::collective=info";
    let lines = logged(
        "collective.log",
        filter,
        &["bench", "barrier", "--shape", "2x1x1"],
    );
    assert!(lines.iter().all(|line| line.target == "driver::collective"));
    let count = |what: &str, task: &str| {
        let of = |line: &&Line| line.what() == what && line.field("task") == Some(task);
        lines.iter().filter(of).count()
    };
    for task in ["0", "1"] {
        assert!(count("collective begun", task) > 0);
        assert_eq!(
            count("collective begun", task),
            count("collective ended", task)
        );
    }
    assert!(
        lines
            .iter()
            .any(|line| line.field("collective") == Some("\"barrier\""))
    );
}

#[test]
fn x2_the_filter_of_a_log_selects_by_target_and_level() {
    let program = two_ranks("log-filter.goal");
    let arguments = ["run", text(&program), "--shape", "2x1"];
    let only = logged("rndv.log", ":driver::rndv=trace", &arguments);
    assert!(!only.is_empty() && only.iter().all(|line| line.target == "driver::rndv"));
    let hardware = logged("dma.log", ":dma=trace,link=trace,driver=off", &arguments);
    for target in ["dma", "link"] {
        assert!(
            hardware
                .iter()
                .any(|line| line.target == target && line.level == "TRACE")
        );
    }
    assert!(
        hardware
            .iter()
            .all(|line| line.target == "dma" || line.target == "link")
    );
    let info = logged("info.log", ":info", &arguments);
    assert!(info.iter().any(|line| line.target == "machine"));
    assert!(
        info.iter()
            .all(|line| line.level == "INFO" || line.level == "WARN")
    );
}

#[test]
fn x1_x2_a_log_is_the_same_for_any_number_of_threads() {
    let program = all_to_all("log-threads", 8);
    let log = |threads: &str| {
        let path = scratch(&format!("threads-{threads}.log"));
        let option = format!("{}:trace", text(&path));
        let arguments = [
            "run",
            text(&program),
            "--shape",
            "2x2x2",
            "--threads",
            threads,
        ];
        json(&[&arguments[..], &["--log", &option]].concat());
        fs::read(&path).expect("the log is there")
    };
    let one = log("1");
    assert!(!one.is_empty());
    assert_eq!(log("2"), one);
}

#[test]
fn x2_x5_wrong_logs_are_refused() {
    let program = two_ranks("log-refused.goal");
    let refused = |option: &str| {
        let output = gyre(&["run", text(&program), "--log", option]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{option}: {error}");
        assert!(
            error.contains("--log") && error.contains(option),
            "{option}: {error}"
        );
        error
    };
    for option in [
        "",
        "x.log:",
        ":debug",
        "x.log:driver=loud",
        "x.log:drvier=debug",
        "x.log:driver::fences=debug",
    ] {
        let error = refused(option);
        assert!(error.contains("expected FILE or FILE:FILTER"), "{error}");
        assert!(error.contains("driver::fence, "), "{error}");
    }
    assert!(refused("/no/such/folder/x.log").contains("No such file"));
    assert!(refused("/dev/full").contains("is a device: expected a regular file"));
    let output = gyre(&["why", text(&program), "--log", "x.log"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn x2_x6_tasks_as_processes_have_a_log_too() {
    let program = compiled("messages");
    let path = scratch("exec.log");
    let machine = ["-n", "2", "--shape", "2"];
    let figures = |options: &[&str]| -> Value {
        let file = scratch("exec-log.json");
        run(
            &program,
            &[&machine[..], options, &["--json", text(&file)]].concat(),
        );
        let figures = fs::read(&file).expect("written");
        serde_json::from_slice(&figures).expect("JSON")
    };
    let without = figures(&[]);
    let with = figures(&["--log", text(&path)]);
    assert_eq!(with["hash"], without["hash"]);
    assert_eq!(with["sim"]["cycles"], without["sim"]["cycles"]);
    let lines = read(&path);
    for what in [
        "message posted",
        "message dispatched",
        "rendezvous: request to send",
        "done callback",
    ] {
        assert!(lines.iter().any(|line| line.what() == what), "{what}");
    }
    let of = |task: &str| lines.iter().any(|line| line.field("task") == Some(task));
    assert!(of("0") && of("1"));
    let first = fs::read(&path).expect("the log is there");
    figures(&["--log", text(&path)]);
    assert_eq!(fs::read(&path).expect("the log is there"), first);
}
