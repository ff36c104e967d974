//! The user guide, `docs/guide.md`: what it shows is what the command prints.
//!
//! A block marked `console` holds commands and their output; a block marked `goal NAME` or `toml NAME` is a
//! file that later commands use. `GYRE_UPDATE_GUIDE=1` writes the outputs anew instead of comparing them.

use std::fs;
use std::path::Path;
use std::process::Command;

const GUIDE: &str = "docs/guide.md";
const UPDATE: &str = "GYRE_UPDATE_GUIDE";

/// Stands for host times, which differ from run to run.
const SPEED: &str = "cycles simulated in ";

/// Runs a line of the guide in `folder`; both outputs together, without what differs from run to run.
fn run(line: &str, folder: &Path) -> String {
    let words = line.split_whitespace().skip(1);
    let output = Command::new(env!("CARGO_BIN_EXE_gyre"))
        .current_dir(folder)
        // Reports are drawn with what the terminal can show.
        .env("LC_ALL", "C.UTF-8")
        .env("NO_COLOR", "1")
        .args(words)
        .output()
        .expect("the command can be started");
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    let mut shown = String::new();
    for line in text.trim_end().lines() {
        match line.split_once(SPEED) {
            Some((cycles, _)) => shown.push_str(&format!("{cycles}{SPEED}...")),
            None => shown.push_str(line.trim_end()),
        }
        shown.push('\n');
    }
    match output.status.code() {
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

/// The guide with every output as it is now.
fn as_it_is(guide: &str, folder: &Path) -> String {
    let mut text = String::new();
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        text.push_str(line);
        text.push('\n');
        let Some(kind) = line.strip_prefix("```").filter(|kind| !kind.is_empty()) else {
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if kind == "console" {
            for command in block.iter().filter_map(|line| line.strip_prefix("$ gyre ")) {
                text.push_str(&format!("$ gyre {command}\n"));
                text.push_str(&run(&format!("gyre {command}"), folder));
            }
        } else {
            let body: String = block.iter().map(|line| format!("{line}\n")).collect();
            if let Some((_, name)) = kind.split_once(' ') {
                fs::write(folder.join(name), &body).expect("the build's folder can be written");
            }
            text.push_str(&body);
        }
        text.push_str("```\n");
    }
    text
}

#[test]
fn the_guide_shows_what_the_command_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(GUIDE);
    let folder = crate::scratch("guide");
    fs::create_dir_all(folder.join("out")).expect("the build's folder can be written");
    let guide = fs::read_to_string(&path).expect("the guide is there");
    let now = as_it_is(&guide, &folder);
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&path, now).expect("the guide can be written");
        return;
    }
    for (number, (shown, is)) in (1..).zip(guide.lines().zip(now.lines())) {
        assert_eq!(
            shown, is,
            "{GUIDE}:{number}: {UPDATE}=1 writes the guide's outputs anew"
        );
    }
    assert_eq!(guide.lines().count(), now.lines().count(), "{GUIDE}");
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
fn the_figures_of_the_readme_are_those_of_the_commands_beside_them() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(path).expect("the README is there");
    let metrics = |command: &str| {
        assert!(
            readme.contains(&format!("`gyre {command}`")),
            "no {command}"
        );
        let arguments: Vec<&str> = command.split(' ').collect();
        crate::json(&arguments)["metrics"].clone()
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
    let guide = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(GUIDE));
    let guide = guide.expect("the guide is there");
    for command in [
        &["run", "lulesh"][..],
        &["bench", "traffic"],
        &["bench", "sim-speed"],
        &["bench", "hop-latency"],
        &["bench", "link-bandwidth"],
    ] {
        let output = crate::gyre(&[command, &["--set", "?=1"]].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let (_, known) = error.split_once("known are ").expect("a list of settings");
        for name in known.trim().split(", ") {
            let cell = format!("| `{name}` |");
            assert!(
                guide.contains(&cell),
                "{GUIDE}: no row for the setting {name}"
            );
        }
    }
    let output = crate::gyre(&["run", "--help"]);
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = help.split_whitespace();
    for option in words.filter_map(|word| word.strip_prefix("--").filter(|o| !o.is_empty())) {
        let option = option.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        assert!(
            guide.contains(&format!("`--{option}")),
            "{GUIDE}: no --{option}"
        );
    }
}
