// SPDX-License-Identifier: MIT OR Apache-2.0
//! `make install`: an installed `gyre` works from any folder, without the checkout.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{error_of, models, pami, printed_by, root, scratch, text};

/// Installs the command under test below a scratch folder of this name; gives the prefix.
fn installed(name: &str) -> PathBuf {
    let folder = scratch(name);
    fs::remove_dir_all(&folder).ok();
    // The provider is of a crate that these tests do not build: a library without functions takes its place.
    let build = folder.join("build");
    fs::create_dir_all(&build).expect("the build's folder can be written");
    fs::copy(env!("CARGO_BIN_EXE_gyre"), build.join("gyre")).expect("copied");
    fs::copy(pami::library().join("libpami.so"), build.join("libpami.so")).expect("copied");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let provider = Command::new(compiler)
        .args(["-shared", "-x", "c", "/dev/null", "-o"])
        .arg(build.join("libgyre_fi.so"))
        .status();
    assert!(provider.expect("a C compiler").success());
    let output = Command::new(root().join("tools/install.sh"))
        .env("BUILD", &build)
        .env("DESTDIR", &folder)
        .env("PREFIX", "/prefix")
        .output()
        .expect("started");
    assert!(output.status.success(), "{}", error_of(&output));
    folder.join("prefix")
}

/// A command in an empty folder of a user whose environment names nothing of the checkout.
fn elsewhere(program: &Path, home: &Path) -> Command {
    let folder = home.join("empty");
    fs::create_dir_all(&folder).expect("the build's folder can be written");
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .current_dir(folder);
    command
}

#[test]
fn installed_command_works_from_any_folder() {
    let prefix = installed("installed");
    let home = prefix.with_file_name("home");
    let gyre = |arguments: &[&str]| {
        let mut command = elsewhere(&prefix.join("bin/gyre"), &home);
        command.args(arguments);
        command
    };

    // Compiles by the installed Verilator, into the user's folder of caches.
    models::keep_runtime(&home.join(".cache/gyre"));
    let rtl = root().join("rtl");
    let check = models::SMALLEST.map(|word| match word {
        "rtl" => text(&rtl),
        word => word,
    });
    let found = |command: &mut Command| models::found(&command.output().expect("started"));
    let expected = found(
        Command::new(env!("CARGO_BIN_EXE_gyre"))
            .args(check)
            .current_dir(root()),
    );
    assert_eq!(found(&mut gyre(&check)), expected);
    let models = fs::read_dir(home.join(".cache/gyre")).expect("a cache");
    let mut names = models.map(|entry| entry.expect("readable").file_name());
    assert!(names.any(|name| name.to_string_lossy().starts_with("routing-")));

    // Models of the checkout's cache are those of the installation.
    let cache = models::cache_of_all();
    let hash = |command: &mut Command| models::hash(&command.output().expect("started"));
    let run = ["run", "lulesh", "--json"];
    let expected = crate::once(&["run", "lulesh"])["hash"].clone();
    let mut command = gyre(&run);
    assert_eq!(hash(command.env("GYRE_CACHE", &cache)), expected);

    // A C program, compiled and linked with what is installed.
    let source = "programs/pami/tests/c/messages.c";
    let program = pami::compile("installed-messages", source, |command| {
        pami::with_pami(command, &prefix.join("include"), &prefix.join("lib"));
    });
    let mut command = gyre(&["exec", "-n", "2", "--shape", "2", "--"]);
    let output = command.arg(&program).env("GYRE_CACHE", &cache).output();
    let output = output.expect("started");
    assert!(output.status.success(), "{}", error_of(&output));
    assert_eq!(output.stdout.split(|&byte| byte == b'\n').count(), 3);
    // Programs of MPI find the provider.
    let mut command = gyre(&[
        "exec",
        "-n",
        "1",
        "--",
        "sh",
        "-c",
        "echo $FI_PROVIDER_PATH",
    ]);
    let output = command.env("GYRE_CACHE", &cache).output().expect("started");
    let printed = printed_by(&output);
    let folder = prefix.join("lib/gyre/libfabric");
    let folder = folder.canonicalize().expect("installed");
    assert_eq!(
        Path::new(printed.trim_end()),
        folder,
        "{}",
        error_of(&output)
    );

    // Beside the command.
    for (file, words) in [
        ("bash-completion/completions/gyre", "--shape"),
        ("zsh/site-functions/_gyre", "--shape"),
        ("fish/vendor_completions.d/gyre.fish", "deadlock"),
        ("man/man1/gyre.1", "gyre\\-run(1)"),
        ("man/man1/gyre-run.1", "\\-\\-shape"),
    ] {
        let page = fs::read_to_string(prefix.join("share").join(file)).expect("installed");
        assert!(page.contains(words), "{file}: no `{words}`");
    }

    // Missing parts are named.
    let bench = ["bench", "hop-latency", "--json", "--model=quick"];
    let verilator = prefix.join("lib/gyre/verilator");
    let rtl = prefix.join("share/gyre/rtl/gyre.f");
    for missing in [&verilator, &rtl] {
        let aside = prefix.join("aside");
        fs::rename(missing, &aside).expect("installed");
        let output = gyre(&bench).output().expect("started");
        fs::rename(&aside, missing).expect("moved before");
        let error = error_of(&output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        let named = missing.canonicalize().expect("installed");
        let named = format!("{} does not exist", named.display());
        assert!(error.contains(&named), "no `{named}` in: {error}");
    }
    let output = gyre(&bench).env_remove("HOME").output().expect("started");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        error_of(&output).contains("GYRE_CACHE names one"),
        "{}",
        error_of(&output)
    );
}

#[test]
#[ignore = "deep: models of its own"]
fn installed_command_compiles_the_models_of_its_machine() {
    let prefix = installed("installed-models");
    let home = prefix.with_file_name("home");
    let bench = ["bench", "hop-latency", "--json", "--model=quick"];
    let expected = models::hash(
        &Command::new(env!("CARGO_BIN_EXE_gyre"))
            .args(bench)
            .current_dir(root())
            .output()
            .expect("started"),
    );
    let mut command = elsewhere(&prefix.join("bin/gyre"), &home);
    let output = command.args(bench).output().expect("started");
    assert_eq!(models::hash(&output), expected);
    let models = fs::read_dir(home.join(".cache/gyre")).expect("a cache");
    let mut names = models.map(|entry| entry.expect("readable").file_name());
    assert!(names.any(|name| name.to_string_lossy().starts_with("network3_quick-")));
}

#[test]
fn installation_refuses_a_missing_build_and_a_relative_prefix() {
    for (variable, value, words) in [
        ("PREFIX", "here", "PREFIX=here: expected an absolute path"),
        ("BUILD", "/no/such", "/no/such/gyre does not exist"),
    ] {
        let output = Command::new(root().join("tools/install.sh"))
            .env("DESTDIR", scratch("not-installed"))
            .env(variable, value)
            .output()
            .expect("started");
        assert_eq!(output.status.code(), Some(2));
        assert!(error_of(&output).contains(words), "{}", error_of(&output));
    }
}
