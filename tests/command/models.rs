// SPDX-License-Identifier: MIT OR Apache-2.0
//! Models that are compiled when they are asked for: the cache, other trees of RTL, and what is refused.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::{error_of, gyre, json, root, text};

/// Arguments of a command that needs a small model: routers alone.
const SMALL: [&str; 4] = ["bench", "hop-latency", "--json", "--model=quick"];

/// Arguments of a command that needs the smallest, in the checkout: the routing functions.
pub const SMALLEST: [&str; 7] = [
    "check", "deadlock", "--shape", "2x2", "--json", "--rtl", "rtl",
];

/// An empty folder of a test.
fn folder(name: &str) -> PathBuf {
    let folder = crate::scratch(name);
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).expect("the build's folder can be written");
    folder
}

/// `gyre` with a cache of its own.
fn command(cache: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gyre"));
    command
        .current_dir(root())
        .env("GYRE_CACHE", cache)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The cache of all commands.
pub fn cache_of_all() -> PathBuf {
    let cache = std::env::var_os("GYRE_CACHE").map(PathBuf::from);
    cache.unwrap_or_else(|| root().join(".tools/models"))
}

pub fn hash(output: &Output) -> Value {
    assert!(output.status.success(), "{}", error_of(output));
    let result: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    result["hash"].clone()
}

/// What a check has found, without the time that it took.
pub fn found(output: &Output) -> Value {
    assert!(output.status.success(), "{}", error_of(output));
    let mut result: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let time = result.as_object_mut().and_then(|all| all.remove("wall_s"));
    assert!(time.is_some(), "{result}");
    result
}

/// Names in a folder that end with `ending`.
fn names(folder: &Path, ending: &str) -> Vec<String> {
    let names = fs::read_dir(folder).expect("readable").map(|entry| {
        let name = entry.expect("readable").file_name();
        name.to_string_lossy().into_owned()
    });
    let mut names: Vec<String> = names.filter(|name| name.ends_with(ending)).collect();
    names.sort();
    names
}

/// A copy of the RTL, with `change` made to one of its files.
pub fn tree(name: &str, file: &str, change: impl FnOnce(String) -> String) -> PathBuf {
    let tree = folder(name);
    copy(&root().join("rtl"), &tree);
    let file = tree.join(file);
    let old = fs::read_to_string(&file).expect("a file of the RTL");
    let new = change(old.clone());
    fs::write(&file, new).expect("a copy of the test's own");
    tree
}

/// Copies models whose names begin with `name` from the cache of all commands, where the test is about others.
pub fn keep(name: &str, cache: &Path) {
    for entry in fs::read_dir(cache_of_all()).expect("a cache").flatten() {
        let file = entry.file_name();
        if file.to_string_lossy().starts_with(name) && entry.path().is_dir() {
            copy(&entry.path(), &cache.join(file));
        }
    }
}

/// Copies Verilator's runtime, which every model has, from the cache of all commands.
pub fn keep_runtime(cache: &Path) {
    found(&gyre(&SMALLEST));
    keep("runtime-", cache);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("readable") {
        let path = entry.expect("readable").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("copied");
        }
    }
}

/// Replaces the first of each pair, which must be there, by the second, one after the other.
pub fn with<const N: usize>(
    pairs: [(&'static str, &'static str); N],
) -> impl FnOnce(String) -> String {
    move |text| {
        pairs.iter().fold(text, |text, (from, to)| {
            assert!(text.contains(from), "no `{from}`");
            text.replacen(from, to, 1)
        })
    }
}

#[test]
fn x8_model_is_built_once_after_a_killed_build_or_damage() {
    let cache = folder("cache-of-two").join("made-here");
    let start = || command(&cache, &SMALLEST).spawn().expect("started");
    let mut killed = start();
    while !cache.is_dir() || names(&cache, ".part").is_empty() {
        assert!(killed.try_wait().expect("asked").is_none(), "it builds");
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(200));
    killed.kill().expect("it runs");
    killed.wait().expect("it ended");
    assert!(!names(&cache, ".part").is_empty());
    let mode = fs::metadata(&cache).expect("made").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    keep_runtime(&cache);
    // Remains of other models.
    let key = "0".repeat(24);
    fs::create_dir(cache.join(format!("node3_quick-{key}.a1.part"))).expect("own folder");
    for name in ["node3_quick", "node4_quick"] {
        fs::write(cache.join(format!("{name}-{key}.lock")), "").expect("own folder");
    }

    // Of two processes one builds it, and removes what is left of killed builds.
    let outputs: Vec<Output> = [start(), start()]
        .into_iter()
        .map(|child| child.wait_with_output().expect("ended"))
        .collect();
    let expected = found(&outputs[0]);
    assert_eq!(found(&outputs[1]), expected);
    let texts = error_of(&outputs[0]) + &error_of(&outputs[1]);
    let count = |what| texts.matches(what).count();
    let compiles = "gyre: compiling the model routing";
    assert_eq!(count(compiles), 1, "{texts}");
    assert!(count("another process compiles") <= 1, "{texts}");
    // The model, and Verilator's runtime.
    let is_clean = || names(&cache, ".part").is_empty() && names(&cache, ".lock").len() == 2;
    assert!(is_clean());

    // A third finds it, and says nothing.
    let again = command(&cache, &SMALLEST).output().expect("started");
    let silent = (expected.clone(), "");
    assert_eq!((found(&again), error_of(&again).as_str()), silent);

    // So does one on a system without the compiler.
    let mut without = command(&cache, &SMALLEST);
    let again = without.env("CXX", "/no/such/g++").output();
    let again = again.expect("started");
    assert_eq!((found(&again), error_of(&again).as_str()), silent);

    // Damaged, it is built anew.
    let entry = cache.join(names(&cache, ".lock")[0].replace(".lock", ""));
    let library = entry.join("model.so");
    let mut bytes = fs::read(&library).expect("a library");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&library, bytes).expect("own file");
    let mended = command(&cache, &SMALLEST).output().expect("started");
    assert_eq!(found(&mended), expected);
    let error = error_of(&mended);
    assert!(error.contains("is damaged in the cache"), "{error}");
    assert!(is_clean());
}

#[test]
fn x5_x8_interrupted_build_leaves_no_part_and_no_compiler() {
    let cache = folder("cache-of-an-interrupted").join("made-here");
    // Whoever runs the tests may have the signal ignored.
    let mut build = Command::new("env")
        .args(["--default-signal=INT", env!("CARGO_BIN_EXE_gyre")])
        .args(SMALLEST)
        .current_dir(root())
        .env("GYRE_CACHE", &cache)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    // Compilers of Verilator's runtime, which take seconds.
    let runtime = cache.join("runtime-");
    let workers = || {
        let all = fs::read_dir("/proc").expect("Linux").flatten();
        let called = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        let name = text(&runtime).as_bytes();
        called
            .filter(|called| called.windows(name.len()).any(|part| part == name))
            .count()
    };
    while workers() == 0 {
        assert!(build.try_wait().expect("asked").is_none(), "it builds");
        thread::sleep(Duration::from_millis(5));
    }
    // They have read their sources, without which they would end by themselves.
    thread::sleep(Duration::from_millis(500));
    let interrupted = Command::new("kill")
        .args(["-INT", &build.id().to_string()])
        .status();
    assert!(interrupted.expect("a program of the system").success());
    let status = build.wait().expect("it ends");
    assert_eq!(status.signal(), Some(2), "{status}");
    assert_eq!(names(&cache, ".part"), [""; 0]);
    // They are killed, which takes a moment; their work would take longer.
    for _ in 0..200 {
        if workers() == 0 {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("compilers are left");
}

#[test]
fn x8_cache_that_others_can_write_is_refused() {
    let cache = folder("cache-of-all");
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).expect("own folder");
    let output = command(&cache, &SMALL).output().expect("started");
    assert_eq!(output.status.code(), Some(1));
    let text = error_of(&output);
    let expected = format!("{}: has mode 0777", cache.display());
    assert!(
        text.contains(&expected) && text.contains("GYRE_CACHE"),
        "{text}"
    );
}

#[test]
fn x8_missing_compiler_has_status_1_and_a_bad_variable_2() {
    let cache = folder("cache-without-compiler");
    for (variable, value, status, words) in [
        ("CXX", "/no/such/g++", 1, &["/no/such/g++"] as &[_]),
        (
            "GYRE_CACHE_MB",
            "much",
            2,
            &["GYRE_CACHE_MB=much", "megabytes"],
        ),
        (
            "VERILATOR",
            "/no/such/verilator",
            2,
            &["VERILATOR=/no/such/verilator"],
        ),
    ] {
        let output = command(&cache, &SMALL).env(variable, value).output();
        let output = output.expect("started");
        let text = error_of(&output);
        assert_eq!(output.status.code(), Some(status), "{text}");
        for word in words {
            assert!(text.contains(word), "no `{word}` in: {text}");
        }
    }
}

#[test]
fn x8_copy_of_the_rtl_does_the_same_and_a_changed_one_its_own() {
    let cache = folder("cache-of-variants");
    // The checkout's own model comes from the cache of all commands.
    let expected = hash(&gyre(&SMALL));
    keep("network3_quick-", &cache);
    keep_runtime(&cache);
    let same = tree("rtl-copy", "gyre.f", |text| text);
    let silent = (expected.clone(), "");
    let copied = command(&cache, &[&SMALL[..], &["--rtl", text(&same)]].concat()).output();
    let copied = copied.expect("started");
    assert_eq!((hash(&copied), error_of(&copied).as_str()), silent);

    // The other dateline channel for packets that cross no wrap link.
    let changed = tree(
        "rtl-changed",
        "pkg/gyre_pkg.sv",
        with([("return ^{c, t};", "return ~^{c, t};")]),
    );
    // What the deadlock check follows are the functions of this tree, and not of that.
    let check = |tree: &Path| {
        let shape = ["check", "deadlock", "--shape", "3x3", "--rtl", text(tree)];
        command(&cache, &shape).output().expect("started")
    };
    let free = check(&same);
    assert!(free.status.success(), "{}", error_of(&free));
    let refused = check(&changed);
    assert_eq!(refused.status.code(), Some(2));
    let words = error_of(&refused);
    for word in [
        "compiling the model routing",
        "routing functions",
        text(&changed),
        "dateline",
        "expected",
    ] {
        assert!(words.contains(word), "no `{word}` in: {words}");
    }
}

#[test]
#[ignore = "deep: models of its own"]
fn x8_changed_rtl_has_a_model_and_a_hash_of_its_own() {
    let cache = folder("cache-of-the-changed");
    let run = |tree: &[&str]| {
        let mut command = command(&cache, &SMALL);
        command.args(tree).output().expect("started")
    };
    let first = run(&[]);
    // The other dateline channel for packets that cross no wrap link.
    let changed = tree(
        "rtl-simulated",
        "pkg/gyre_pkg.sv",
        with([("return ^{c, t};", "return ~^{c, t};")]),
    );
    let other = run(&["--rtl", text(&changed)]);
    let error = error_of(&other);
    assert!(
        error.contains("compiling the model network3_quick"),
        "{error}"
    );
    assert_ne!(hash(&other), hash(&first));
    // The first again, from the cache.
    let again = run(&[]);
    let silent = (hash(&first), "");
    assert_eq!((hash(&again), error_of(&again).as_str()), silent);
}

#[test]
#[ignore = "deep: models of its own"]
fn x8_rtl_whose_node_has_other_ports_is_refused() {
    let change = with([(
        "output logic              irq_o,",
        "output logic [1:0]        irq_o,",
    )]);
    let wide = tree("rtl-wide-node", "node/gyre_node.sv", change);
    let expected = "gyre_node: port irq_o is output of 2 bits: expected output of 1 bits";
    refused(&wide, &["run", "lulesh"], &[expected]);
}

/// `gyre ARGUMENTS --rtl` with a tree must end with status 2 and name every word, and the tree.
fn refused(tree: &Path, arguments: &[&str], words: &[&str]) {
    let cache = crate::scratch("cache-of-the-refused");
    let output = command(&cache, arguments).arg("--rtl").arg(tree).output();
    let output = output.expect("started");
    let error = error_of(&output);
    assert_eq!(output.status.code(), Some(2), "{error}");
    for word in words.iter().chain(&[text(tree)]) {
        assert!(error.contains(word), "no `{word}` in: {error}");
    }
}

#[test]
fn x8_rtl_that_does_not_elaborate_is_refused_with_file_and_line() {
    let change = with([("assign plenty_o", "assign plenty_x")]);
    let tree = tree("rtl-unknown-signal", "router/router_output.sv", change);
    let place = format!("{}/router/router_output.sv:", text(&tree));
    refused(&tree, &SMALL, &["Verilator", &place, "plenty_x"]);
}

#[test]
fn x8_rtl_with_other_ports_or_without_a_probed_register_is_refused() {
    let change = with([(
        "output logic                         idle_o ",
        "output logic [1:0] idle_o ",
    )]);
    let wide = tree("rtl-wide-port", "router/gyre_network.sv", change);
    let expected = "gyre_network: port idle_o is output of 2 bits: expected output of 1 bits";
    refused(&wide, &SMALL, &[expected]);
    let change = with([("u_soft_reset (", "u_other_reset (")]);
    let renamed = tree("rtl-no-reset", "node/gyre_node.sv", change);
    let expected = "no register gyre_node.u_soft_reset.core_rst_nq";
    refused(&renamed, &["run", "lulesh"], &[expected]);
}

#[test]
fn x8_rtl_with_another_register_map_is_refused_by_field() {
    let change = with([("drain[1:1]", "drain[3:3]")]);
    let moved = tree("rtl-field-moved", "csr/gyre.rdl", change);
    let words = [
        "gyre.rdl: node_regs.ctrl.drain is `field drain[3:3]",
        "expected `field drain[1:1]",
    ];
    refused(&moved, &SMALL, &words);
    let change = with([("(cpuif_addr == 8'h8)", "(cpuif_addr == 8'h9)")]);
    let block = tree("rtl-register-moved", "csr/generated/gyre_csr.sv", change);
    refused(&block, &SMALL, &["gyre_csr.sv:", "8'h9", "8'h8"]);
}

#[test]
fn x8_rtl_with_another_packet_layout_is_refused_by_field_and_code() {
    let swapped = [
        ("logic [31:0] sw1; ", "logic [31:0] swx; "),
        ("logic [31:0] sw0; ", "logic [31:0] sw1; "),
        ("logic [31:0] swx; ", "logic [31:0] sw0; "),
    ];
    let fields = tree("rtl-fields-swapped", "pkg/gyre_pkg.sv", with(swapped));
    refused(&fields, &SMALL, &["header_t.sw0: expected bits 223:192"]);
    let change = with([
        ("LinkInit  = 2'd1", "LinkInit  = 2'd2"),
        ("LinkAck   = 2'd2", "LinkAck   = 2'd1"),
    ]);
    let codes = tree("rtl-codes-swapped", "pkg/gyre_pkg.sv", change);
    refused(&codes, &SMALL, &["LinkInit: is 2: expected 1"]);
    refused(Path::new("/no/such/tree"), &SMALL, &["--rtl", "gyre.f"]);
    let empty = folder("rtl-without-registers");
    fs::write(empty.join("gyre.f"), "").expect("own folder");
    refused(&empty, &SMALL, &["--rtl", "csr/gyre.rdl"]);
}

#[test]
#[ignore = "deep: models of its own"]
fn x8_result_says_which_model_was_used() {
    for model in ["quick", "full"] {
        let result = json(&["bench", "hop-latency", "--model", model]);
        assert_eq!(result["sim"]["model"], model);
    }
}
