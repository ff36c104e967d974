// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cases as files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use crate::case::{Case, Shape, Stimulus};

/// Why a case cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Reason.
        source: io::Error,
    },
    /// It is no TOML, or a field is missing, unknown or of the wrong type.
    #[error("{}: {reason}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, field and expected values.
        reason: String,
    },
    /// A value cannot be.
    #[error("{}: line {line}: {reason}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// Line, from 1, where the machine or the stimulus begins.
        line: usize,
        /// Field, value and expected values.
        reason: String,
    },
    /// The case cannot be written as text.
    #[error("the case cannot be written: {0}")]
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    machine: Spanned<Shape>,
    #[serde(default)]
    stimulus: Vec<Spanned<Stimulus>>,
}

/// Bytes of a case, at most.
const CASE_BYTES: u64 = 64 << 20;

/// Reads a case.
///
/// # Errors
/// [`CaseError`], with file, line, field, value and expected values.
pub fn read_case(path: &Path) -> Result<Case, CaseError> {
    let text = gyre_files::read_text(path, CASE_BYTES).map_err(|source| CaseError::Io {
        path: path.to_owned(),
        source,
    })?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Case, CaseError> {
    let file: CaseFile = toml::from_str(text).map_err(|error| CaseError::Syntax {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    let mut starts: Vec<usize> = file.stimulus.iter().map(|s| s.span().start).collect();
    starts.push(file.machine.span().start);
    let case = Case {
        machine: file.machine.into_inner(),
        stimulus: file.stimulus.into_iter().map(Spanned::into_inner).collect(),
    };
    case.check().map_err(|(number, reason)| {
        let start = number.or(starts.len().checked_sub(1));
        let start = start.and_then(|at| starts.get(at)).copied().unwrap_or(0);
        let before = text.get(..start).unwrap_or_default();
        CaseError::Value {
            path: path.to_owned(),
            line: before.matches('\n').count() + 1,
            reason,
        }
    })?;
    Ok(case)
}

/// Writes a case, with its description as comments.
///
/// # Errors
/// [`CaseError`] if the file cannot be written.
pub fn write_case(path: &Path, case: &Case, about: &[String]) -> Result<(), CaseError> {
    let io = |source| CaseError::Io {
        path: path.to_owned(),
        source,
    };
    let body = toml::to_string(case).map_err(|error| CaseError::Text(error.to_string()))?;
    let mut text = String::new();
    for line in about.iter().flat_map(|line| line.lines()) {
        text.push_str(&format!("# {line}\n"));
    }
    text.push('\n');
    text.push_str(&body);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(io)?;
    }
    gyre_files::write(path, text.as_bytes()).map_err(io)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::draw_case;

    #[test]
    fn x5_cases_come_back_from_their_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("case.toml");
        for number in 0..20 {
            let case = draw_case(7, number, None);
            write_case(&path, &case, &["a case".to_owned()]).expect("written");
            assert_eq!(read_case(&path).expect("read"), case);
        }
    }

    fn error(change: impl Fn(&str) -> String) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("case.toml");
        write_case(&path, &draw_case(7, 1, None), &[]).expect("written");
        let text = fs::read_to_string(&path).expect("text");
        parse(Path::new("case.toml"), &change(&text))
            .expect_err("refused")
            .to_string()
    }

    #[test]
    fn x5_errors_name_file_line_field_value_and_expectation() {
        let node = error(|text| text.replacen("node = ", "node = 9", 1));
        assert!(node.starts_with("case.toml: line "), "{node}");
        assert!(node.contains("stimulus[0].node = 9"), "{node}");
        assert!(node.contains("expected 0 to "), "{node}");
        let unknown = error(|text| text.replacen("node = ", "nodes = ", 1));
        assert!(
            unknown.contains("line ") && unknown.contains("`nodes`"),
            "{unknown}"
        );
        let machine = error(|text| text.replacen("link_latency = ", "link_latency = 99", 1));
        assert!(machine.contains("machine.link_latency = 99"), "{machine}");
        let kind = error(|text| text.replacen("cycle = ", "cycle = \"x\" # ", 1));
        assert!(kind.contains("cycle") && kind.contains("u32"), "{kind}");
    }
}
