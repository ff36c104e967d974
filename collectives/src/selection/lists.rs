//! The algorithms of each collective that a geometry chooses from (EP-8).

use std::collections::BTreeMap;

use super::defaults::defaults;
use super::entry::Entry;
use crate::algorithm::Algorithm;
use crate::collective::Collective;
use crate::error::Error;

/// The lists of algorithms of a geometry, one for each collective: the first entry whose conditions hold is
/// chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Algorithms {
    lists: BTreeMap<Collective, Vec<Entry>>,
}

impl Default for Algorithms {
    /// Every algorithm of every collective, the one that suits best first.
    fn default() -> Self {
        let lists = Collective::ALL.map(|collective| (collective, defaults(collective)));
        Self {
            lists: lists.into_iter().collect(),
        }
    }
}

impl Algorithms {
    /// The list of `collective`.
    #[must_use]
    pub fn list(&self, collective: Collective) -> &[Entry] {
        self.lists.get(&collective).map_or(&[], Vec::as_slice)
    }

    /// The same lists, with that of `collective` cut down to the algorithms named, in their order.
    ///
    /// # Errors
    /// [`Error::Algorithm`] for one that the collective does not have.
    pub fn with_only(mut self, collective: Collective, names: &[Algorithm]) -> Result<Self, Error> {
        let old = self.lists.remove(&collective).unwrap_or_default();
        let mut list = Vec::new();
        for &algorithm in names {
            let before = list.len();
            list.extend(old.iter().filter(|e| e.algorithm == algorithm).cloned());
            if list.len() == before {
                return Err(Error::Algorithm {
                    collective: collective.name(),
                    algorithm: algorithm.name().into(),
                    reason: "the collective has no such algorithm".into(),
                });
            }
        }
        self.lists.insert(collective, list);
        Ok(self)
    }
}
