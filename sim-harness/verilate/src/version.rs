// SPDX-License-Identifier: MIT OR Apache-2.0
//! Versions of Verilator.

use std::fmt;

/// The oldest Verilator that the RTL and this crate work with.
pub const MINIMUM: Version = Version {
    major: 5,
    minor: 48,
};

/// A Verilator version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 5 in 5.048.
    pub major: u32,
    /// 48 in 5.048.
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.major, self.minor)
    }
}
