//! An algorithm of a list, with its conditions.

use super::condition::Condition;
use crate::algorithm::Algorithm;

/// An algorithm in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// What must hold for it to work; nothing: always valid.
    pub requires: Vec<Condition>,
    /// What must hold besides for it to be chosen without being named.
    pub when: Vec<Condition>,
}
