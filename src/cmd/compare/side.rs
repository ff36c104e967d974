// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sides of a comparison: machines that are measured, and results that were.

use std::path::{Path, PathBuf};
use std::process::Command;

use gyre::options::{MachineOptions, UsageError};
use gyre::outcome::Outcome;
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

/// Options of a machine, with the RTL of a commit while they are used.
pub(super) struct SideOptions {
    pub(super) options: MachineOptions,
    _tree: Option<TempDir>,
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

    /// Options of its machine: `base`, with its own values over them.
    ///
    /// # Errors
    /// A value that an option does not take, or one that is given twice; a commit that there is not.
    pub(super) fn options(&self, base: &MachineOptions) -> Result<SideOptions, UsageError> {
        let mut options = base.clone();
        let mut tree = None;
        let Kind::Machine(values) = &self.kind else {
            unreachable!("{}: a result has no options", self.name);
        };
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
        Ok(SideOptions {
            options,
            _tree: tree,
        })
    }

    /// Its figures: read, or measured by `subject`.
    ///
    /// # Errors
    /// A file that is no result; a machine that did not run to its end.
    pub(super) fn result(
        &self,
        subject: Option<&Subject<'_>>,
        base: &MachineOptions,
        command: &CommandLine,
    ) -> Result<Measured, CommandError> {
        let (parameters, figures, hash, passed) = match (&self.kind, subject) {
            (Kind::Recorded(file), _) => {
                let result = read(file)?;
                let member = |name: &str| result.get(name).cloned();
                let figures = member("metrics").or_else(|| member("curves"));
                let Some(figures) = figures else {
                    return Err(UsageError::Value {
                        option: "compare".into(),
                        value: self.name.clone(),
                        expected: "what --json of a command prints, with metrics or curves".into(),
                    }
                    .into());
                };
                let hash = member("hash").and_then(|hash| hash.as_str().map(String::from));
                let shape = member("shape").unwrap_or_default();
                (
                    parameters(&shape, member("params").unwrap_or_default()),
                    figures,
                    hash,
                    true,
                )
            }
            (Kind::Machine(_), Some(subject)) => {
                let side = self.options(base)?;
                let outcome: Outcome = subject.measure(&side.options, command)?;
                (
                    parameters(&json!(outcome.shape), Value::Object(outcome.params)),
                    Value::Object(outcome.metrics),
                    Some(outcome.hash),
                    outcome.passed,
                )
            }
            (Kind::Machine(_), None) => unreachable!("a machine is measured by a subject"),
        };
        Ok(Measured {
            name: self.name.clone(),
            hash,
            passed,
            parameters: flat(&parameters),
            figures: flat(&figures),
        })
    }
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

/// The result in a file.
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
    let steps = [
        Command::new("git")
            .arg("-C")
            .arg(root)
            .args(["archive", "--format=tar", "--output"])
            .arg(&archive)
            .args(["--end-of-options", commit, "rtl"]),
        Command::new("tar")
            .arg("-xf")
            .arg(&archive)
            .arg("-C")
            .arg(folder.path()),
    ]
    .map(gyre_files::run);
    for step in steps {
        let output = step.map_err(|error| wrong(&error.to_string()))?;
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
        let side = Side::parse("node.lanes=2,shape=4x4").expect("a side");
        let options = side.options(&base).expect("known").options;
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
