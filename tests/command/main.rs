// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command `gyre` from outside: programs, benches and refusals on the Verilated machine.

mod affinity;
mod below_libc;
mod bench;
mod check;
mod compare;
mod examples;
mod exec;
mod failure;
mod first_view;
mod forbidden;
mod fuzz;
mod guide;
mod hostile;
mod install;
mod log;
mod models;
mod own_crate;
mod page;
mod pami;
mod pami_collectives;
mod pami_messages;
mod pami_types;
mod pmi;
mod program;
mod refusal;
mod requirements;
mod run;
mod sweep;
mod timeline;
mod transfer;
mod waveform;
mod why;

/// The programs in `examples/`.
#[path = "../../examples"]
#[expect(dead_code, reason = "tests have no use for their `main`")]
mod programs {
    #[path = "heat/main.rs"]
    pub mod heat;
    pub mod hello;
    pub mod modules;
    pub mod norm;
    pub mod ping_pong;
    pub mod work_queue;
}

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;

/// Runs `gyre` with `arguments` in the project's folder.
fn gyre(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gyre"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments)
        .output()
        .expect("the command can be started")
}

/// Runs `gyre` with `--json`; it must succeed.
fn json(arguments: &[&str]) -> Value {
    let output = gyre(&[arguments, &["--json"]].concat());
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        error_of(&output)
    );
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// Result of a command with `--json` that reads no file of a test: one run serves all tests that call it.
fn once(arguments: &[&str]) -> Value {
    static RESULTS: Mutex<BTreeMap<String, Arc<OnceLock<Value>>>> = Mutex::new(BTreeMap::new());
    let mut results = RESULTS.lock().unwrap_or_else(PoisonError::into_inner);
    let result = Arc::clone(results.entry(arguments.join(" ")).or_default());
    // Other commands run at the same time.
    drop(results);
    result.get_or_init(|| json(arguments)).clone()
}

/// The project's folder.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A file for one test, in the build's own folder.
fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Standard error of a command.
fn error_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Standard output of a command.
fn printed_by(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A metric that is a whole number.
fn metric(result: &Value, name: &str) -> u64 {
    let value = &result["metrics"][name];
    let number = value.as_u64();
    number.unwrap_or_else(|| panic!("metric {name} is {value}"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the path is text")
}
