// SPDX-License-Identifier: MIT OR Apache-2.0
//! A crate of a user's own, as README makes it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::{error_of, printed_by, root, text};

/// The lines of README that make the crate and run it, with the path of this checkout.
fn lines() -> Vec<String> {
    let readme = fs::read_to_string(root().join("README.md")).expect("a file of the project");
    let from = readme
        .lines()
        .skip_while(|line| !line.contains("cargo new"));
    let lines = from.map_while(|line| line.strip_prefix("    "));
    lines
        .map(|line| line.replace("../gyre", text(root())))
        .collect()
}

fn shell(folder: &Path, line: &str) -> Output {
    let output = Command::new("sh")
        .args(["-ec", line])
        .current_dir(folder)
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CARGO_TARGET_DIR")
        .env("CARGO_NET_OFFLINE", "true")
        .env("GYRE_MODEL", "quick")
        .output();
    let output = output.expect("a shell");
    assert!(output.status.success(), "{line}: {}", error_of(&output));
    output
}

#[test]
#[ignore = "deep: compiles the library for a crate of its own"]
fn x7_crate_of_ones_own_runs_by_the_lines_of_readme() {
    let lines = lines();
    let [new, others @ .., run] = &lines[..] else {
        panic!("lines of README: {lines:?}");
    };
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    shell(folder.path(), new);
    let folder = folder.path().join("mine");
    // The versions of the checkout are there without a network.
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("copied");
    for line in others {
        shell(&folder, line);
    }
    let printed = printed_by(&shell(&folder, run));
    for task in 0..8 {
        let greeting = format!("Hello from task {task} of 8");
        assert!(printed.contains(&greeting), "no `{greeting}` in: {printed}");
    }
}
