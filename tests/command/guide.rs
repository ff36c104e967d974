// SPDX-License-Identifier: MIT OR Apache-2.0
//! The documents for users, `docs/guide.md` and `docs/waveforms.md`: what they show is what the commands
//! print.
//!
//! A block marked `console` holds commands and their output; a block marked `goal NAME`, `toml NAME` or
//! `awk NAME` is a file that later commands use; one with the path of a file of the project is a part of
//! that. `GYRE_UPDATE_GUIDE=1` writes the outputs anew instead of comparing them.

use std::fs;
use std::path::Path;
use std::process::Command;

use gyre::program::Program;

use crate::programs::{heat, hello, modules, norm, ping_pong, work_queue};
use crate::{error_of, printed_by, root};

/// Programs that documents call.
const PROGRAMS: [Program; 6] = [
    heat::PROGRAM,
    hello::PROGRAM,
    modules::PROGRAM,
    norm::PROGRAM,
    ping_pong::PROGRAM,
    work_queue::PROGRAM,
];

const GUIDE: &str = "docs/guide.md";
/// How lines on the building of models begin.
const BUILDS: [&str; 2] = [
    "gyre: compiling the model",
    "gyre: another process compiles the model",
];

const UPDATE: &str = "GYRE_UPDATE_GUIDE";

/// Stands for host times, which differ from run to run.
const SPEED: &str = "cycles simulated in ";

/// Runs a command of a document in `folder`: both outputs together and the exit status.
fn output(command: &str, folder: &Path) -> (String, Option<i32>) {
    let words: Vec<&str> = command.split_whitespace().collect();
    // Programs are linked into this test: what runs is what has been compiled with it.
    if let [
        "cargo",
        "run",
        "--release",
        "--locked",
        "--example",
        name,
        rest @ ..,
    ] = &words[..]
    {
        let program = PROGRAMS.iter().find(|program| program.name == *name);
        let program = program.unwrap_or_else(|| panic!("no program {name}"));
        let arguments = rest.iter().filter(|word| **word != "--");
        let printed = program.execute(std::iter::once(name).chain(arguments));
        return (printed.output + &printed.error, Some(printed.status.into()));
    }
    let program = match words[0] {
        "gyre" => env!("CARGO_BIN_EXE_gyre"),
        other => other,
    };
    let output = Command::new(program)
        .current_dir(folder)
        // Reports are drawn with what the terminal can show.
        .env("LC_ALL", "C.UTF-8")
        .env("NO_COLOR", "1")
        .args(&words[1..])
        .output()
        .expect("the command can be started");
    let mut text = printed_by(&output);
    text.push_str(&error_of(&output));
    (text, output.status.code())
}

/// Output of a command of a document, without host times and build notices.
fn run(command: &str, folder: &Path) -> String {
    let (text, status) = output(command, folder);
    let mut shown = String::new();
    let lines = text.trim_end().lines();
    // Who is first to want a model hears that it is compiled.
    let is_notice = |line: &&str| BUILDS.iter().any(|notice| line.starts_with(notice));
    for line in lines.filter(|line| !is_notice(line)) {
        match line.split_once(SPEED) {
            Some((cycles, _)) => shown.push_str(&format!("{cycles}{SPEED}...")),
            None => shown.push_str(line.trim_end()),
        }
        shown.push('\n');
    }
    match status {
        Some(0) => shown,
        code => {
            shown
                + &format!(
                    "$ echo $?\n{}\n",
                    code.map_or("?".into(), |c| c.to_string())
                )
        }
    }
}

/// A document with every output as it is now.
fn as_it_is(document: &str, folder: &Path) -> String {
    let mut text = String::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        text.push_str(line);
        text.push('\n');
        let Some(kind) = line.strip_prefix("```").filter(|kind| !kind.is_empty()) else {
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let body: String = block.iter().map(|line| format!("{line}\n")).collect();
        match kind.split_once(' ') {
            None if kind == "console" => {
                let commands = block.iter().filter_map(|line| line.strip_prefix("$ "));
                for command in commands.filter(|command| !command.starts_with("echo ")) {
                    text.push_str(&format!("$ {command}\n{}", run(command, folder)));
                }
            }
            Some((_, path)) if root().join(path).is_file() => {
                let source = fs::read_to_string(root().join(path)).expect("a source");
                assert!(source.contains(&body), "not in {path}:\n{body}");
                text.push_str(&body);
            }
            file => {
                if let Some((_, name)) = file {
                    fs::write(folder.join(name), &body).expect("the build's folder can be written");
                }
                text.push_str(&body);
            }
        }
        text.push_str("```\n");
    }
    text
}

/// Compares a document with what its commands print, or writes it anew.
fn shows_what_is(document: &str) {
    let path = root().join(document);
    let name = path.file_stem().expect("a name").to_string_lossy();
    let folder = crate::scratch(&name);
    fs::create_dir_all(folder.join("out")).expect("the build's folder can be written");
    let shown = fs::read_to_string(&path).expect("the document is there");
    let now = as_it_is(&shown, &folder);
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&path, now).expect("the document can be written");
        return;
    }
    for (number, (shown, is)) in (1..).zip(shown.lines().zip(now.lines())) {
        assert_eq!(
            shown, is,
            "{document}:{number}: {UPDATE}=1 writes the outputs anew"
        );
    }
    assert_eq!(shown.lines().count(), now.lines().count(), "{document}");
}

#[test]
fn the_guide_shows_what_the_command_prints() {
    shows_what_is(GUIDE);
}

#[test]
fn x2_the_document_on_waveforms_follows_a_message_by_commands() {
    shows_what_is("docs/waveforms.md");
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

#[test]
fn figures_of_the_readme_are_those_of_their_commands() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README is there");
    let metrics = |command: &str| {
        assert!(
            readme.contains(&format!("`gyre {command}`")),
            "no {command}"
        );
        let arguments: Vec<&str> = command.split(' ').collect();
        crate::once(&arguments)["metrics"].clone()
    };
    let lulesh = metrics("run workloads/lulesh_8.goal --shape 2x2x2");
    let figure = |name: &str| grouped(lulesh[name].as_u64().expect("a whole number"));
    let hop = metrics("bench hop-latency --shape 8x1x1");
    let traffic = metrics("bench traffic --shape 8x8 --set pattern=uniform --set load=0.3");
    let share = |name: &str| traffic[name].as_f64().expect("a number");
    for expected in [
        format!(
            "{} messages, {} B, all verified | {} ns",
            figure("messages"),
            figure("bytes"),
            figure("makespan_ns")
        ),
        format!(
            "{} cycles a hop",
            hop["router_cycles_per_hop"].as_f64().expect("a number")
        ),
        format!(
            "{:.2}; {:.0}, {} cycles",
            share("accepted_load") / share("offered_load"),
            share("latency_mean_cycles"),
            traffic["latency_p99_cycles"]
        ),
    ] {
        assert!(readme.contains(&expected), "README.md: no `{expected}`");
    }
}

#[test]
fn the_guide_explains_every_setting() {
    let guide = fs::read_to_string(root().join(GUIDE));
    let guide = guide.expect("the guide is there");
    let explained = |refusal: &str| {
        let (_, known) = refusal
            .split_once("known are ")
            .expect("a list of settings");
        for name in known.trim().split(", ") {
            let line = format!("\n    {name}  [default: ");
            let cell = format!("| `{name}` |");
            assert!(
                guide.contains(&line) || guide.contains(&cell),
                "{GUIDE}: nothing about the setting {name}"
            );
        }
    };
    for command in [
        &["run", "lulesh"][..],
        &["bench", "traffic"],
        &["bench", "sim-speed"],
        &["bench", "hop-latency"],
        &["bench", "link-bandwidth"],
    ] {
        let output = crate::gyre(&[command, &["--set", "?=1"]].concat());
        explained(&error_of(&output));
    }
    for program in PROGRAMS {
        explained(&program.execute([program.name, "--set", "?=1"]).error);
    }
    let output = crate::gyre(&["run", "--help"]);
    let help = printed_by(&output);
    let words = help.split_whitespace();
    for option in words.filter_map(|word| word.strip_prefix("--").filter(|o| !o.is_empty())) {
        let option = option.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        assert!(
            guide.contains(&format!("`--{option}")),
            "{GUIDE}: no --{option}"
        );
    }
}
