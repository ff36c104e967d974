// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of models: abilities and optimisation.

use serde::{Deserialize, Serialize};

/// Which Verilated models a machine is built from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// Without waveforms.
    #[default]
    Fast,
    /// Able to write waveforms; same behaviour, slower.
    Traced,
    /// Counts which lines and branches of the RTL are run, see [`crate::Machine::rtl_coverage`]; same behaviour, slower. No
    /// machine file asks for it.
    #[serde(skip)]
    Covered,
}

/// Dimensions of the model for a machine of `dims`: one of three serves those of fewer.
pub(crate) const fn model_dims(dims: usize) -> usize {
    if dims <= 3 { 3 } else { 5 }
}

/// How much a model is optimised. Behaviour is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimisation {
    /// Compiled soon.
    Quick,
    /// Runs fast.
    Full,
}

impl Optimisation {
    /// Its name: `quick` or `full`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }

    /// The C++ compiler's level.
    pub(crate) fn level(self) -> u32 {
        match self {
            Self::Quick => 1,
            Self::Full => 2,
        }
    }
}
