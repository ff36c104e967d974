// SPDX-License-Identifier: MIT OR Apache-2.0
//! Result of a comparison.

use serde::Serialize;

use super::figures::Row;
use super::limit::Verdict;
use super::side::Measured;

/// Two machines or results, compared.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// Bench or program; none for two results.
    pub(super) subject: Option<String>,
    /// The first.
    pub(super) a: Named,
    /// The second.
    pub(super) b: Named,
    /// Parameters, those that are equal as well.
    pub(super) parameters: Vec<Row>,
    /// Figures, those that are equal as well.
    pub(super) figures: Vec<Row>,
    /// Limits, kept or broken.
    pub(super) limits: Vec<Verdict>,
    /// Numbers of the figures to show; none chooses them.
    #[serde(skip)]
    pub(super) show: Option<Vec<usize>>,
}

/// A side by its name.
#[derive(Debug, Serialize)]
pub(super) struct Named {
    /// As the user wrote it.
    pub(super) name: String,
    /// State hash; none of a sweep.
    pub(super) hash: Option<String>,
    /// Whether it verified itself; true of a recorded result.
    pub(super) passed: bool,
}

impl From<Measured> for Named {
    fn from(side: Measured) -> Self {
        Self {
            name: side.name,
            hash: side.hash,
            passed: side.passed,
        }
    }
}

impl Compared {
    /// Whether both sides verified themselves and no limit is broken.
    pub fn passed(&self) -> bool {
        let kept = self.limits.iter().all(|verdict| !verdict.broken);
        kept && self.a.passed && self.b.passed
    }
}
