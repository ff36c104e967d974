// SPDX-License-Identifier: MIT OR Apache-2.0
//! The word `"all"` of configuration files.

use serde::Deserialize;

/// `"all"`.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(super) enum All {
    All,
}
