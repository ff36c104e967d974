// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sides of a comparison: machines that are measured, and results that were.

use std::path::{Path, PathBuf};
use std::process::Command;

use gyre::options::{MachineOptions, UsageError};
use gyre::waves::CommandLine;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::figures::flat;
use crate::cmd::subject::{Subject, apply};
use crate::error::CommandError;

/// Bytes of a result, at most.
const RESULT_BYTES: u64 = 256 << 20;

/// Parameters that name a place of this computer, and no property of the machine.
const PLACES: [&str; 1] = ["rtl"];

/// A side as the user names it.
#[derive(Debug)]
pub(super) struct Side {
    name: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// A result in a file.
    Recorded(PathBuf),
    /// A machine with these values.
    Machine(Vec<(String, String)>),
}

/// A side that can be measured.
pub(super) enum Ready<'a> {
    /// It is measured already.
    Recorded(Measured),
    /// A machine, and what is measured on it.
    Machine {
        name: String,
        subject: &'a Subject<'a>,
        options: Box<MachineOptions>,
        /// The RTL of a commit, while it is used.
        _tree: Option<TempDir>,
    },
}

/// A side with its figures.
pub(super) struct Measured {
    pub(super) name: String,
    pub(super) hash: Option<String>,
    pub(super) passed: bool,
    pub(super) parameters: Vec<(String, Value)>,
    pub(super) figures: Vec<(String, Value)>,
}

impl Side {
    /// The side that `text` names.
    ///
    /// # Errors
    /// [`UsageError::Value`]: nothing that makes a side.
    pub(super) fn parse(text: &str) -> Result<Self, UsageError> {
        let path = Path::new(text);
        let values: Option<Vec<(String, String)>> = text
            .split(',')
            .map(|pair| {
                let (key, value) = pair.split_once('=')?;
                Some((key.trim().into(), value.trim().into()))
            })
            .collect();
        let kind = match values {
            _ if text == "base" => Kind::Machine(Vec::new()),
            _ if path.is_dir() => Kind::Machine(vec![("rtl".into(), text.into())]),
            Some(values) => Kind::Machine(values),
            None if path.extension().is_some_and(|ending| ending == "json") => {
                Kind::Recorded(path.into())
            }
            None => {
                return Err(UsageError::Value {
                    option: "compare".into(),
                    value: text.into(),
                    expected:
                        "a result FILE.json, a tree of RTL, KEY=VALUE joined by commas, or base"
                            .into(),
                });
            }
        };
        Ok(Self {
            name: text.into(),
            kind,
        })
    }

    pub(super) const fn is_recorded(&self) -> bool {
        matches!(self.kind, Kind::Recorded(_))
    }

    /// The side ready to be measured by `subject`: a result read, a machine of the options `base` with its own values over
    /// them.
    ///
    /// # Errors
    /// A file that is no result; options that make no machine for the subject; a commit that there is not.
    pub(super) fn prepare<'a>(
        self,
        subject: Option<&'a Subject<'a>>,
        base: &MachineOptions,
    ) -> Result<Ready<'a>, CommandError> {
        let values = match self.kind {
            Kind::Recorded(file) => return Ok(Ready::Recorded(recorded(self.name, &file)?)),
            Kind::Machine(values) => values,
        };
        let subject = subject.unwrap_or_else(|| unreachable!("a machine is measured by a subject"));
        let (options, tree) = options(&values, base)?;
        subject.check(&options)?;
        Ok(Ready::Machine {
            name: self.name,
            subject,
            options: Box::new(options),
            _tree: tree,
        })
    }
}

impl Ready<'_> {
    /// Its figures.
    ///
    /// # Errors
    /// A machine that did not run to its end.
    pub(super) fn measure(self, command: &CommandLine) -> Result<Measured, CommandError> {
        match self {
            Self::Recorded(measured) => Ok(measured),
            Self::Machine {
                name,
                subject,
                options,
                ..
            } => {
                let outcome = subject.measure(&options, command)?;
                let parameters = parameters(&json!(outcome.shape), Value::Object(outcome.params));
                Ok(Measured {
                    name,
                    hash: Some(outcome.hash),
                    passed: outcome.passed,
                    parameters: flat(&parameters),
                    figures: flat(&Value::Object(outcome.metrics)),
                })
            }
        }
    }
}

/// Options of a machine: `base`, with `values` over them; and the RTL of a commit, if one of these asks for it.
fn options(
    values: &[(String, String)],
    base: &MachineOptions,
) -> Result<(MachineOptions, Option<TempDir>), UsageError> {
    let mut options = base.clone();
    let mut tree = None;
    for (key, value) in values {
        if key == "commit" {
            let folder = checked_out(value)?;
            options.rtl = Some(folder.path().join("rtl"));
            tree = Some(folder);
            continue;
        }
        options.set.retain(|given| {
            given.split_once('=').map(|(given, _)| given.trim()) != Some(key.as_str())
        });
        apply(&mut options, key, value)?;
    }
    Ok((options, tree))
}

/// The result in a file.
fn recorded(name: String, file: &Path) -> Result<Measured, UsageError> {
    let result = read(file)?;
    let member = |name: &str| result.get(name).cloned();
    let Some(figures) = member("metrics").or_else(|| member("curves")) else {
        return Err(UsageError::Value {
            option: "compare".into(),
            value: name,
            expected: "what --json of a command prints, with metrics or curves".into(),
        });
    };
    let shape = member("shape").unwrap_or_default();
    let parameters = parameters(&shape, member("params").unwrap_or_default());
    Ok(Measured {
        name,
        hash: member("hash").and_then(|hash| hash.as_str().map(String::from)),
        passed: true,
        parameters: flat(&parameters),
        figures: flat(&figures),
    })
}

/// Parameters of a result, with the shape first.
fn parameters(shape: &Value, given: Value) -> Value {
    let mut all = Map::new();
    all.insert("shape".into(), shape.clone());
    if let Value::Object(members) = given {
        let own = members
            .into_iter()
            .filter(|(name, _)| !PLACES.contains(&&**name));
        all.extend(own);
    }
    Value::Object(all)
}

/// The members of a result in a file.
fn read(file: &Path) -> Result<Map<String, Value>, UsageError> {
    let wrong = |error: String| UsageError::Combination(format!("{}: {error}", file.display()));
    let text = gyre_files::keep(file).and_then(|()| gyre_files::read_text(file, RESULT_BYTES));
    let text = text.map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| wrong(format!("no result: {error}")))
}

/// A folder with the RTL of a commit of the checkout.
fn checked_out(commit: &str) -> Result<TempDir, UsageError> {
    let wrong = |error: &str| UsageError::Value {
        option: "commit".into(),
        value: commit.into(),
        expected: format!("a commit of the checkout: {}", error.trim()),
    };
    let root = gyre_verilate::checkout().map_err(|error| wrong(&error.to_string()))?;
    let folder = tempfile::tempdir().map_err(|error| wrong(&error.to_string()))?;
    let archive = folder.path().join("rtl.tar");
    let mut git = Command::new("git");
    git.arg("-C")
        .arg(root)
        .args(["archive", "--format=tar", "--output"])
        .arg(&archive)
        .args(["--end-of-options", commit, "rtl"]);
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(&archive).arg("-C").arg(folder.path());
    for mut step in [git, tar] {
        let output = gyre_files::run(&mut step).map_err(|error| wrong(&error.to_string()))?;
        if !output.status.success() {
            return Err(wrong(&String::from_utf8_lossy(&output.stderr)));
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x7_values_of_a_side_go_over_those_of_the_command() {
        let base = MachineOptions {
            set: vec!["load=0.3".into(), "node.lanes=4".into()],
            ..MachineOptions::default()
        };
        let values = [("node.lanes", "2"), ("shape", "4x4")];
        let values = values.map(|(key, value)| (key.into(), value.into()));
        let (options, _) = super::options(&values, &base).expect("known");
        assert_eq!(options.set, ["load=0.3", "node.lanes=2"]);
        assert_eq!(options.shape.as_deref(), Some("4x4"));
    }

    #[test]
    fn x5_words_that_name_no_side_are_refused() {
        for text in ["", "lulesh", "load", "a=1,b"] {
            let error = Side::parse(text).map(drop).expect_err("refused");
            assert!(error.to_string().contains("a result FILE.json"), "{error}");
        }
        assert!(Side::parse("x.json").expect("a file").is_recorded());
    }
}
