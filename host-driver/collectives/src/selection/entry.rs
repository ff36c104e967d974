// SPDX-License-Identifier: MIT OR Apache-2.0
//! An algorithm of a list, with its conditions.

use super::condition::Condition;
use crate::algorithm::Algorithm;

/// An algorithm in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Requirements for validity; always valid if empty.
    pub requires: Vec<Condition>,
    /// Further conditions for the choice if the algorithm is not named.
    pub when: Vec<Condition>,
}
