// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre fuzz` from outside: its files, its object, and what it refuses.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;

use crate::error_of;

fn folder(name: &str) -> PathBuf {
    let folder = crate::scratch(name);
    fs::create_dir_all(&folder).expect("made");
    folder
}

fn gyre(arguments: &[&str]) -> Output {
    crate::gyre(&[&["fuzz"], arguments].concat())
}

fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

#[test]
fn x5_a_case_is_written_and_repeats_from_its_file() {
    let out = folder("fuzz-repeat");
    let out = out.to_str().expect("text");
    let first = gyre(&[
        "--seed", "3", "--case", "4", "--shape", "2", "--out", out, "--json",
    ]);
    let file = format!("{out}/seed-3-case-4.toml");
    let again = gyre(&["--repeat", &file, "--json"]);
    let (first, again) = (object(&first), object(&again));
    assert_eq!(first["hash"], again["hash"]);
    assert_eq!(first["cycles"], again["cycles"]);
    assert_eq!(first["coverage"], again["coverage"]);
}

#[test]
fn x5_bad_cases_name_file_line_field_and_value_with_status_2() {
    let out = folder("fuzz-refused");
    let text = out.to_str().expect("text");
    gyre(&["--seed", "3", "--case", "4", "--shape", "2", "--out", text]);
    let good = fs::read_to_string(out.join("seed-3-case-4.toml")).expect("a case");
    for (from, to, words) in [
        (
            "node = ",
            "node = 7",
            vec!["line ", "stimulus[0].node = 7", "expected 0 to 1"],
        ),
        ("cycle = ", "cycel = ", vec!["line ", "cycel"]),
        (
            "jitter = ",
            "jitter = true # ",
            vec!["line ", "jitter", "boolean `true`"],
        ),
        (
            "dims = [2]",
            "dims = [1]",
            vec!["line ", "machine.dims = [1]", "2 to 32 nodes"],
        ),
    ] {
        let path = out.join("bad.toml");
        fs::write(&path, good.replacen(from, to, 1)).expect("written");
        let output = gyre(&["--repeat", path.to_str().expect("text")]);
        let said = error_of(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("bad.toml"), "{said}");
        for word in words {
            assert!(said.contains(word), "no `{word}` in: {said}");
        }
    }
    let missing = gyre(&["--repeat", "/no/such/case.toml"]);
    assert_eq!(missing.status.code(), Some(2));
    let shape = gyre(&["--shape", "64x64", "--cases", "1"]);
    assert_eq!(shape.status.code(), Some(2));
    // What cannot be kept is not looked for.
    let nowhere = gyre(&["--cases", "1", "--out", "/dev/null/out"]);
    assert_eq!(nowhere.status.code(), Some(2));
    let said = error_of(&nowhere);
    assert!(
        said.contains("--out: expected a folder that can be written"),
        "{said}"
    );
}
