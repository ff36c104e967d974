// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options that `run` and `bench` share, and the checks on them.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use gyre_sim::Optimisation;
use thiserror::Error;

use crate::driver_log::LogOption;

/// Cycles of a waveform on failure unless told otherwise.
pub const FAILURE_CYCLES: u64 = 2000;

/// Bytes of a configuration file, at most.
pub const CONFIGURATION_BYTES: u64 = 16 << 20;

/// Refuses the output of an option that could not be written, before anything is simulated.
///
/// # Errors
/// A file that cannot be written, that the command reads, or that another option writes.
pub fn check_output(option: &'static str, path: &Path) -> Result<(), UsageError> {
    gyre_files::check(option, path)
        .map_err(|error| UsageError::Combination(unwritable(option, path, error)))
}

/// Text of an error of the output of an option.
pub fn unwritable(option: &str, path: &Path, error: impl Display) -> String {
    format!("{option} {}: {error}", path.display())
}

/// A wrong option, setting or machine file; ends the command with status 2.
#[derive(Debug, Error)]
pub enum UsageError {
    /// An option's value cannot be understood.
    #[error("{option}: expected {expected}, found `{value}`")]
    Value {
        /// Option or setting as the user wrote it.
        option: String,
        /// Its value.
        value: String,
        /// Accepted values.
        expected: String,
    },
    /// `--set` without `=`.
    #[error("--set {0}: expected key=value")]
    NoValue(String),
    /// A setting that the command does not know.
    #[error("--set {key}: no such setting here; known are {known}")]
    UnknownSetting {
        /// The name given.
        key: String,
        /// Every name that it knows.
        known: String,
    },
    /// The machine file cannot be read or understood.
    #[error("{path}: {reason}")]
    MachineFile {
        /// The file.
        path: String,
        /// The error, with line and field.
        reason: String,
    },
    /// A combination of options that makes no machine or no run.
    #[error("{0}")]
    Combination(String),
}

/// Options common to `gyre run` and `gyre bench`.
#[derive(Debug, Clone, Default, Args)]
pub struct MachineOptions {
    /// Nodes in each of 1 to 5 dimensions, such as 4x4x4
    #[arg(long, value_name = "AxBxC", allow_negative_numbers = true)]
    pub shape: Option<String>,
    /// Dimensions without a wrap link: `all`, or letters from `a` on, such as `ac`
    #[arg(long, value_name = "DIMS")]
    pub mesh: Option<String>,
    /// Cycles that a flit spends on a link
    #[arg(long, value_name = "CYCLES", value_parser = whole::<u64>, allow_negative_numbers = true)]
    pub link_latency: Option<u64>,
    /// Seed of everything drawn at random [default: 1]
    #[arg(long, value_parser = whole::<u64>, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Threads of the simulator; results do not depend on it
    #[arg(long, default_value = "1", value_parser = whole::<usize>, allow_negative_numbers = true)]
    pub threads: usize,
    /// How much the models of the machine are optimised; results do not depend on it [default: full where it is compiled
    /// already or the command simulates much, else quick]
    #[arg(long, value_name = "quick|full", value_parser = optimisation)]
    pub model: Option<Optimisation>,
    /// Tree of RTL that takes the place of the checkout's rtl/
    #[arg(long, value_name = "DIR")]
    pub rtl: Option<PathBuf>,
    /// Machine description that replaces the reference machine
    #[arg(long, value_name = "FILE.toml")]
    pub machine: Option<PathBuf>,
    /// Writes a waveform; the ending chooses the format: .vcd or .fst
    #[arg(long, value_name = "FILE", group = "waveform")]
    pub trace: Option<PathBuf>,
    /// Writes a waveform of the last N cycles if the run fails, which is repeated then; .vcd or .fst [default for N: 2000]
    #[arg(
        long,
        value_name = "FILE[:N]",
        group = "waveform",
        value_parser = OnFailure::parse
    )]
    pub trace_on_failure: Option<OnFailure>,
    /// Cycles the waveform covers
    #[arg(
        long,
        value_name = "FROM:TO",
        requires = "trace",
        conflicts_with = "trace_on_failure",
        allow_hyphen_values = true
    )]
    pub trace_window: Option<String>,
    /// Nodes in the waveform: `all`, or numbers such as 0,3
    #[arg(
        long,
        value_name = "NODES",
        requires = "waveform",
        allow_negative_numbers = true
    )]
    pub trace_scope: Option<String>,
    /// Writes a timeline; the ending chooses the format: .html for a browser, .perfetto-trace for Perfetto
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
    /// Writes a log of the driver's steps; the filter is TARGET=LEVEL joined by commas, such as driver::fence=debug
    #[arg(long, value_name = "FILE[:FILTER]", value_parser = LogOption::parse)]
    pub log: Option<LogOption>,
    /// A setting, see below
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

impl MachineOptions {
    /// Refuses options that look into one machine, of a command of which `many` says that it makes others.
    ///
    /// # Errors
    /// [`UsageError::Combination`]: the option.
    pub fn refuse_observers(&self, many: &str) -> Result<(), UsageError> {
        match self.observer() {
            Some(option) => Err(UsageError::Combination(format!(
                "{option}: shows one machine, and {many}: expected with `gyre bench` or `gyre run`"
            ))),
            None => Ok(()),
        }
    }

    /// An option among them that writes a file of what one machine did.
    pub fn observer(&self) -> Option<&'static str> {
        let given = [
            ("--trace", self.trace.is_some()),
            ("--trace-on-failure", self.trace_on_failure.is_some()),
            ("--timeline", self.timeline.is_some()),
            ("--log", self.log.is_some()),
        ];
        given
            .into_iter()
            .find_map(|(option, given)| given.then_some(option))
    }
}

/// A waveform on failure as an option gives it: `FILE` or `FILE:N`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnFailure {
    /// The file.
    pub path: PathBuf,
    /// Cycles that it shows.
    pub cycles: u64,
}

impl OnFailure {
    /// Parses it.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const EXPECTED: &str =
            "expected FILE.vcd or FILE.fst, or one of them and :N for N cycles, 1 or more";
        let is_wave = |file: &str| file.ends_with(".vcd") || file.ends_with(".fst");
        let (file, cycles) = match text.rsplit_once(':') {
            Some((file, cycles)) if is_wave(file) => (file, cycles.parse().unwrap_or(0)),
            _ => (text, FAILURE_CYCLES),
        };
        if !is_wave(file) || cycles == 0 {
            return Err(EXPECTED);
        }
        Ok(Self {
            path: file.into(),
            cycles,
        })
    }
}

/// Parses a whole number.
///
/// # Errors
/// What was expected.
pub fn whole<T: FromStr>(text: &str) -> Result<T, &'static str> {
    text.parse()
        .map_err(|_| "expected a whole number, 0 or more")
}

fn optimisation(text: &str) -> Result<Optimisation, &'static str> {
    let all = [Optimisation::Quick, Optimisation::Full];
    let named = all.into_iter().find(|level| level.name() == text);
    named.ok_or("expected quick or full")
}

/// Optimisation that `--model` asks for, else the variable `GYRE_MODEL`.
///
/// # Errors
/// A value of the variable that is neither quick nor full.
pub fn model(options: &MachineOptions) -> Result<Option<Optimisation>, UsageError> {
    const VARIABLE: &str = "GYRE_MODEL";
    if options.model.is_some() {
        return Ok(options.model);
    }
    let value = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let Some(value) = value else {
        return Ok(None);
    };
    let value = value.to_string_lossy();
    optimisation(&value)
        .map(Some)
        .map_err(|_| UsageError::Value {
            option: VARIABLE.into(),
            value: value.into_owned(),
            expected: "quick or full".into(),
        })
}

/// Checks `--rtl` and makes it absolute.
pub fn rtl_tree(dir: Option<&Path>) -> Result<Option<PathBuf>, UsageError> {
    let Some(dir) = dir else {
        return Ok(None);
    };
    let wrong = |expected: String| UsageError::Value {
        option: "--rtl".into(),
        value: dir.display().to_string(),
        expected,
    };
    for file in ["gyre.f", "csr/gyre.rdl"] {
        if !dir.join(file).is_file() {
            return Err(wrong(format!("a folder like rtl/, with a file {file}")));
        }
    }
    dir.canonicalize()
        .map(Some)
        .map_err(|error| wrong(format!("a folder that can be read ({error})")))
}

/// Parses `4x4x4`: 1 to 5 sizes from 1 to 64.
pub fn parse_shape(text: &str) -> Result<Vec<u16>, UsageError> {
    let wrong = || UsageError::Value {
        option: "--shape".into(),
        value: text.into(),
        expected: "1 to 5 sizes from 1 to 64 joined by x, such as 4x4x4".into(),
    };
    let sizes: Result<Vec<u16>, _> = text.split('x').map(u16::from_str).collect();
    let sizes = sizes.map_err(|_| wrong())?;
    if sizes.is_empty() || sizes.len() > 5 || sizes.iter().any(|&s| s == 0 || s > 64) {
        return Err(wrong());
    }
    Ok(sizes)
}

/// Writes a shape as the user would: `4x4x4`.
pub fn shape_text(shape: &[u16]) -> String {
    let sizes: Vec<String> = shape.iter().map(u16::to_string).collect();
    sizes.join("x")
}

/// Parses `--mesh`: which of `dims` dimensions are lines.
pub fn parse_mesh(text: Option<&str>, dims: usize) -> Result<Vec<bool>, UsageError> {
    let Some(text) = text else {
        return Ok(vec![false; dims]);
    };
    if text == "all" {
        return Ok(vec![true; dims]);
    }
    let wrong = || UsageError::Value {
        option: "--mesh".into(),
        value: text.into(),
        expected: format!(
            "`all` or letters from a to {}, each once",
            dimension_letter(dims - 1)
        ),
    };
    if text.is_empty() {
        return Err(wrong());
    }
    let mut mesh = vec![false; dims];
    for letter in text.chars() {
        let d = (letter as usize).wrapping_sub('a' as usize);
        if d >= dims || mesh[d] {
            return Err(wrong());
        }
        mesh[d] = true;
    }
    Ok(mesh)
}

/// The letter of dimension `d`: a, b, c...
pub fn dimension_letter(d: usize) -> char {
    char::from(b'a' + d as u8)
}

/// Parses `from:to` in cycles.
pub fn parse_window(text: &str) -> Result<(u64, u64), UsageError> {
    let wrong = || UsageError::Value {
        option: "--trace-window".into(),
        value: text.into(),
        expected: "FROM:TO in cycles, FROM before TO".into(),
    };
    let (from, to) = text.split_once(':').ok_or_else(wrong)?;
    match (from.parse(), to.parse()) {
        (Ok(from), Ok(to)) if from < to => Ok((from, to)),
        _ => Err(wrong()),
    }
}

/// The near-cubic shape in three dimensions with exactly `nodes` nodes: sizes as equal as they can be,
/// largest first.
pub fn cubic_shape(nodes: usize) -> Result<Vec<u16>, UsageError> {
    const MOST: usize = 64;
    let mut best: Option<[usize; 3]> = None;
    // No size is larger than the first.
    for c in (1..=MOST.min(nodes)).filter(|c| nodes.is_multiple_of(*c)) {
        let rest = nodes / c;
        for b in (c..=MOST.min(rest)).filter(|b| rest.is_multiple_of(*b)) {
            let a = rest / b;
            if b <= a && a <= MOST && best.is_none_or(|[x, _, _]| a <= x) {
                best = Some([a, b, c]);
            }
        }
    }
    let shape = best.ok_or_else(|| {
        UsageError::Combination(format!(
            "no 3-D shape has exactly {nodes} nodes with sizes up to 64: give one with --shape"
        ))
    })?;
    Ok(shape.iter().map(|&s| s as u16).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_and_their_limits() {
        assert_eq!(parse_shape("4x1x2").unwrap(), [4, 1, 2]);
        for wrong in ["", "4x", "0x2", "65", "1x1x1x1x1x1", "4X4", "-1", "4x4 "] {
            let error = parse_shape(wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("`{wrong}`")), "{error}");
        }
    }

    #[test]
    fn cubic_shapes_hold_all_nodes() {
        assert_eq!(cubic_shape(8).unwrap(), [2, 2, 2]);
        assert_eq!(cubic_shape(27).unwrap(), [3, 3, 3]);
        assert_eq!(cubic_shape(16).unwrap(), [4, 2, 2]);
        assert_eq!(cubic_shape(4).unwrap(), [2, 2, 1]);
        assert_eq!(cubic_shape(1).unwrap(), [1, 1, 1]);
        for nodes in [0, 67, 1_000_000_007, usize::MAX, 1 << 62] {
            assert!(cubic_shape(nodes).is_err(), "{nodes}");
        }
    }

    #[test]
    fn meshes_name_dimensions_once() {
        assert_eq!(parse_mesh(Some("ac"), 3).unwrap(), [true, false, true]);
        assert_eq!(parse_mesh(Some("all"), 2).unwrap(), [true, true]);
        assert!(parse_mesh(Some("d"), 3).is_err());
        assert!(parse_mesh(Some("aa"), 3).is_err());
        assert!(parse_mesh(Some(""), 3).is_err());
    }

    #[test]
    fn x2_waveforms_on_failure_are_parsed_or_refused() {
        let parsed =
            |text| OnFailure::parse(text).map(|o| (o.path.display().to_string(), o.cycles));
        assert_eq!(parsed("w.fst"), Ok(("w.fst".into(), FAILURE_CYCLES)));
        assert_eq!(parsed("a:b/w.vcd:7"), Ok(("a:b/w.vcd".into(), 7)));
        assert_eq!(
            parsed("a:b/w.vcd"),
            Ok(("a:b/w.vcd".into(), FAILURE_CYCLES))
        );
        for text in ["w.txt", "w.vcd:0", "w.vcd:-1", "w.vcd:x", "w.vcd:", "7", ""] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }
}
