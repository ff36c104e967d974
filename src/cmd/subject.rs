// SPDX-License-Identifier: MIT OR Apache-2.0
//! A bench or a program that a command measures on several machines.

use gyre::options::{MachineOptions, UsageError, whole};
use gyre::outcome::Outcome;
use gyre::waves::CommandLine;

use crate::bench;
use crate::cmd::run::{self, RunArgs};
use crate::cmd::workload::{Workload, WorkloadArgs};
use crate::error::CommandError;

/// What is measured.
#[derive(Debug)]
pub(super) enum Subject<'a> {
    Bench(&'a str),
    Program(&'a str),
}

impl<'a> Subject<'a> {
    /// The bench of this name, else the program.
    pub(super) fn named(name: &'a str) -> Self {
        match bench::exists(name) {
            true => Self::Bench(name),
            false => Self::Program(name),
        }
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Bench(name) | Self::Program(name) => name,
        }
    }

    /// Refuses options that make no point, before anything is simulated.
    pub(super) fn check(&self, options: &MachineOptions) -> Result<(), CommandError> {
        match self {
            Self::Bench(name) => bench::check(name, options).map_err(CommandError::from),
            Self::Program(name) => Workload::prepare(&program(name, options)).map(drop),
        }
    }

    /// Measures it on a machine of these options.
    ///
    /// # Errors
    /// Wrong options; a run that does not end.
    pub(super) fn measure(
        &self,
        options: &MachineOptions,
        command: &CommandLine,
    ) -> Result<Outcome, CommandError> {
        match self {
            Self::Bench(name) => Ok(bench::measure(name, options)?),
            Self::Program(name) => {
                let workload = program(name, options);
                run::run(&RunArgs { workload }, command)
            }
        }
    }

    /// Figures that are shown unless told otherwise.
    pub(super) fn shown(&self) -> Vec<String> {
        let names: &[&str] = match self {
            Self::Bench("traffic") => {
                &["accepted_load", "latency_mean_cycles", "latency_p99_cycles"]
            }
            Self::Bench(_) => &[],
            Self::Program(_) => &["makespan_ns"],
        };
        names.iter().map(|&name| name.into()).collect()
    }
}

fn program(name: &str, options: &MachineOptions) -> WorkloadArgs {
    WorkloadArgs {
        workload: name.into(),
        map: None,
        machine: options.clone(),
        json: false,
    }
}

/// Sets what `key` is about: a setting, or an option by its name.
///
/// # Errors
/// A value that is no number where the option takes one.
pub(super) fn apply(
    options: &mut MachineOptions,
    key: &str,
    value: &str,
) -> Result<(), UsageError> {
    let number = || {
        whole::<u64>(value).map_err(|expected| UsageError::Value {
            option: format!("--set {key}"),
            value: value.into(),
            expected: expected.trim_start_matches("expected ").into(),
        })
    };
    match key {
        "shape" => options.shape = Some(value.into()),
        "mesh" => options.mesh = Some(value.into()),
        "link_latency" => options.link_latency = Some(number()?),
        "seed" => options.seed = Some(number()?),
        "rtl" => options.rtl = Some(value.into()),
        "machine" => options.machine = Some(value.into()),
        _ => options.set.push(format!("{key}={value}")),
    }
    Ok(())
}
