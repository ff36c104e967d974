// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files, settings and folders that nobody should name: refused by name, and nothing lost.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::{error_of, root};

/// `gyre` in `dir`.
fn gyre_in(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gyre"));
    command.current_dir(dir).args(arguments);
    command
}

/// Output of a command that must end with a status and say all of `words`.
fn ends_with(command: &mut Command, status: i32, words: &[&str]) -> Output {
    let output = command.output().expect("started");
    let text = error_of(&output);
    assert_eq!(output.status.code(), Some(status), "{command:?}: {text}");
    for word in words {
        assert!(text.contains(word), "{command:?}: no `{word}` in: {text}");
    }
    output
}

#[test]
fn x5_cache_with_other_content_is_refused_and_nothing_of_it_lost() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let files = [
        "Documents/thesis.tex",
        "video.part/data",
        "Cargo.lock",
        "download.part",
    ];
    for file in files {
        let path = dir.path().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        fs::write(path, file).expect("file");
    }
    let mut command = gyre_in(root(), &["bench", "hop-latency", "--model=quick"]);
    command
        .env("GYRE_CACHE", dir.path())
        .env("GYRE_CACHE_MB", "0");
    ends_with(&mut command, 2, &["is no cache of models", "GYRE_CACHE"]);
    for file in files {
        let left = fs::read_to_string(dir.path().join(file));
        assert_eq!(left.expect("not lost"), file);
    }
    let found = fs::read_dir(dir.path()).expect("a folder").count();
    assert_eq!(found, 4, "nothing is added");
}
