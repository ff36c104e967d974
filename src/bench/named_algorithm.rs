// SPDX-License-Identifier: MIT OR Apache-2.0
//! Algorithms of collectives as values of settings.

use std::fmt;
use std::str::FromStr;

use gyre_collectives::Algorithm;

/// One of them.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub(super) struct Named(pub Algorithm);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl FromStr for Named {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut all = Algorithm::ALL.into_iter();
        all.find(|a| a.name() == text).map(Self).ok_or(())
    }
}
