// SPDX-License-Identifier: MIT OR Apache-2.0
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::digest::SOURCE_BYTES;
use crate::root::{OWN_VERILATOR, Places, relative};
use crate::{Error, MINIMUM, Version};

/// A Verilator that can be run, and the C++ headers and sources that go with it.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// The program.
    pub verilator: PathBuf,
    /// `VERILATOR_ROOT`: holds `include/`.
    pub root: PathBuf,
    /// Version of the headers under `root`.
    pub version: Version,
}

impl Toolchain {
    /// A command that runs this Verilator, with its root set and no limit on its stack.
    pub fn command(&self) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -s unlimited 2>/dev/null; exec \"$0\" \"$@\""])
            .arg(&self.verilator)
            .env("VERILATOR_ROOT", &self.root);
        command
    }

    /// Name of the root in keys of caches: the project's own Verilator has one name in every checkout and installation.
    pub(crate) fn name(&self) -> &Path {
        match Places::own().verilator() {
            Ok(own) if own == self.root => Path::new(OWN_VERILATOR),
            _ => relative(&self.root),
        }
    }

    /// The directory of the C++ runtime.
    pub fn include(&self) -> PathBuf {
        self.root.join("include")
    }
}

/// Finds the Verilator to use and checks its version.
///
/// `VERILATOR` names a program, `VERILATOR_ROOT` the root of an installation, each absolute or from
/// the workspace root; with neither, the project's own: `.tools/verilator` of a checkout, put there by `make setup`, or
/// `lib/gyre/verilator` of an installation.
pub fn locate() -> Result<Toolchain, Error> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty());
    find(set("VERILATOR"), set("VERILATOR_ROOT"), Places::own())
}

/// [`locate`] with the environment and the folders as arguments.
fn find(
    program: Option<OsString>,
    root: Option<OsString>,
    places: &Places,
) -> Result<Toolchain, Error> {
    // Tests run in their package's directory. A bare name is looked up on PATH.
    let program = program.map(|program| match Path::new(&program).components().count() {
        1 => program,
        _ => places.root().join(program).into_os_string(),
    });
    let root = root.map(|root| places.root().join(root));
    let (verilator, root) = match (program, root) {
        (Some(program), Some(root)) => (PathBuf::from(program), root),
        (Some(program), None) => {
            let root = ask_root(&program)?;
            (PathBuf::from(program), root)
        }
        (None, Some(root)) => (program_in(&root), root),
        (None, None) => {
            let root = places.verilator()?;
            (program_in(&root), root)
        }
    };
    let version = read_version(&root)?;
    if version < MINIMUM {
        return Err(Error::TooOld {
            root,
            found: version,
        });
    }
    if verilator.components().count() > 1 && !verilator.is_file() {
        return Err(Error::NoProgram { verilator, root });
    }
    Ok(Toolchain {
        verilator,
        root,
        version,
    })
}

/// The program under a root: the compiled one, which unlike its wrapper needs no Perl, or else the
/// wrapper.
fn program_in(root: &Path) -> PathBuf {
    let compiled = root.join("bin/verilator_bin");
    if compiled.is_file() {
        compiled
    } else {
        root.join("bin/verilator")
    }
}

/// Asks the program that `VERILATOR` names for its root.
fn ask_root(program: &OsString) -> Result<PathBuf, Error> {
    let bad = |problem: String| Error::BadProgram {
        program: program.to_string_lossy().into_owned(),
        problem,
    };
    let output = Command::new(program)
        .args(["--getenv", "VERILATOR_ROOT"])
        .env_remove("VERILATOR_ROOT")
        .output()
        .map_err(|error| bad(format!("cannot run it: {error}")))?;
    let root = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() || root.is_empty() {
        return Err(bad(format!(
            "`--getenv VERILATOR_ROOT` gave no root ({}); set VERILATOR_ROOT too",
            output.status
        )));
    }
    Ok(PathBuf::from(root))
}

/// Reads the version from the runtime's own header: `--version` names none in some builds, and the
/// generated code is compiled against the header.
fn read_version(root: &Path) -> Result<Version, Error> {
    const HEADER: &str = "include/verilated_config.h";
    let header = root.join(HEADER);
    let text = gyre_files::read_text(&header, SOURCE_BYTES).map_err(|source| Error::NoRoot {
        root: root.to_owned(),
        header: HEADER,
        source,
    })?;
    parse_version(&text).ok_or(Error::UnreadableVersion { header })
}

/// Takes `5.048 2026-04-26` or `5.49` from the header's text.
fn parse_version(header: &str) -> Option<Version> {
    let value = header
        .lines()
        .find_map(|line| line.strip_prefix("#define VERILATOR_VERSION \""))?;
    let number = value.split(['"', ' ']).next()?;
    let (major, minor) = number.split_once('.')?;
    Some(Version {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn header(version: &str) -> String {
        format!("/// name\n#define VERILATOR_VERSION \"{version}\"\n#define OTHER\n")
    }

    /// A root with a program and the header of `version`.
    fn fake_root(version: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("temporary directory");
        fs::create_dir_all(root.path().join("bin")).expect("bin");
        fs::create_dir_all(root.path().join("include")).expect("include");
        fs::write(root.path().join("bin/verilator"), "#!/bin/sh\n").expect("program");
        fs::write(
            root.path().join("include/verilated_config.h"),
            header(version),
        )
        .expect("header");
        root
    }

    #[test]
    fn version_is_read_from_release_and_wheel_headers() {
        let read = |text: &str| parse_version(&header(text)).map(|v| (v.major, v.minor));
        assert_eq!(read("5.048 2026-04-26"), Some((5, 48)));
        assert_eq!(read("5.49"), Some((5, 49)));
        assert_eq!(read("5.006 2023-01-22"), Some((5, 6)));
        assert_eq!(read("UNKNOWN"), None);
        assert_eq!(parse_version("nothing"), None);
    }

    #[test]
    fn older_verilator_is_refused_with_found_and_needed_version() {
        let root = fake_root("5.006 2023-01-22");
        let error =
            find(None, Some(root.path().into()), &Places::checkout("/")).expect_err("too old");
        let text = error.to_string();
        assert!(text.contains("5.006") && text.contains("5.048"), "{text}");
    }

    #[test]
    fn root_override_is_used_when_new_enough() {
        let root = fake_root("5.048 2026-04-26");
        let tools = find(None, Some(root.path().into()), &Places::checkout("/")).expect("accepted");
        assert_eq!(tools.verilator, root.path().join("bin/verilator"));
        assert_eq!(tools.version, MINIMUM);
    }

    #[test]
    fn relative_override_starts_from_the_workspace_root() {
        let root = fake_root("5.048 2026-04-26");
        let workspace = root.path().join("bin");
        let tools = find(None, Some("..".into()), &Places::checkout(&workspace)).expect("accepted");
        assert_eq!(tools.root, workspace.join(".."));
    }

    #[test]
    fn missing_verilator_says_how_to_get_one() {
        let empty = tempfile::tempdir().expect("temporary directory");
        let error = find(None, None, &Places::checkout(empty.path())).expect_err("not there");
        assert!(matches!(error, Error::NotSetUp(_)));
        assert!(error.to_string().contains("make setup"));
    }

    #[test]
    fn override_that_does_not_exist_is_named() {
        let bad = Some("/no/such/verilator".into());
        let error = find(bad.clone(), None, &Places::checkout("/")).expect_err("no program");
        assert!(
            error
                .to_string()
                .starts_with("VERILATOR=/no/such/verilator: cannot run it")
        );
        let root = fake_root("5.048 2026-04-26");
        let error =
            find(bad, Some(root.path().into()), &Places::checkout("/")).expect_err("no program");
        assert!(error.to_string().contains("/no/such/verilator"), "{error}");
        let error =
            find(None, Some("/no/such/root".into()), &Places::checkout("/")).expect_err("no root");
        assert!(error.refuses_environment());
        assert!(error.to_string().contains("/no/such/root"), "{error}");
    }
}
