// SPDX-License-Identifier: MIT OR Apache-2.0
//! Report of a program's function.

use gyre_sim::RunReport;
use serde_json::{Map, Value};

/// Results of a program, in simulated cycles, bytes and ratios.
#[derive(Debug, Clone)]
pub struct Report {
    pub(crate) machine: RunReport,
    cycles: u64,
    pub(crate) params: Map<String, Value>,
    pub(crate) metrics: Map<String, Value>,
    pub(crate) pictures: Vec<String>,
    pub(crate) passed: bool,
}

impl Report {
    /// A report on a run of the machine in which the program took `cycles` cycles.
    pub(crate) fn new(machine: RunReport, cycles: u64) -> Self {
        Self {
            machine,
            cycles,
            params: Map::new(),
            metrics: Map::new(),
            pictures: Vec::new(),
            passed: true,
        }
    }

    /// Cycles that the program took: from when all contexts were there to the end of its last task.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Adds a parameter that the figures depend on.
    #[must_use]
    pub fn param(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.into(), value.into());
        self
    }

    /// Adds a figure, or replaces the one of that name. A list of objects is shown as a table.
    #[must_use]
    pub fn metric(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.metrics.insert(name.into(), value.into());
        self
    }

    /// Adds text for people, shown below the tables.
    #[must_use]
    pub fn picture(mut self, text: impl Into<String>) -> Self {
        self.pictures.push(text.into());
        self
    }

    /// As [`Report::check`] of a condition, which `expected` describes.
    #[must_use]
    pub fn check_that(self, holds: bool, expected: &str) -> Self {
        self.check(holds.then_some(()).ok_or_else(|| expected.into()))
    }

    /// Says whether the program's own check held, as metric `verified`; if not, what it found, as metric
    /// `faults`. Then the exit status is 1.
    #[must_use]
    pub fn check(self, result: Result<(), String>) -> Self {
        let report = self.metric("verified", result.is_ok());
        match result {
            Ok(()) => report,
            Err(found) => Self {
                passed: false,
                ..report
                    .metric("faults", vec![found.as_str()])
                    .picture(format!("NOT VERIFIED: {found}"))
            },
        }
    }
}
