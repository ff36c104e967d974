// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routing of ordered traffic between nodes (HW-4).

use core::fmt;
use core::str::FromStr;

use serde::Deserialize;

/// Routing of ordered traffic between nodes (HW-4): messages, puts, and requests of gets and read-modify-writes. The
/// data of gets needs no order, and has its own [`Routing`](crate::Routing).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ordered {
    /// All by one fixed route.
    #[default]
    Fixed,
    /// By ordered-dynamic flows, each from one context to another, where there are several shortest paths and both
    /// nodes have a free flow; else by the fixed route. The first operation waits for the response of software at the
    /// destination.
    Flow,
}

impl Ordered {
    /// Its name in configuration files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Flow => "flow",
        }
    }
}

impl fmt::Display for Ordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Ordered {
    type Err = ();

    /// The setting of that [name](Self::name).
    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Fixed, Self::Flow]
            .into_iter()
            .find(|ordered| ordered.name() == text)
            .ok_or(())
    }
}
