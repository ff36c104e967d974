// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists of algorithms of a geometry (EP-8).

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

    /// The entries of `algorithm` in the list of `collective`.
    ///
    /// # Errors
    /// [`Error::Algorithm`] when there is none.
    pub(super) fn entries(
        &self,
        collective: Collective,
        algorithm: Algorithm,
    ) -> Result<Vec<Entry>, Error> {
        let list = self.list(collective).iter();
        let entries: Vec<Entry> = list.filter(|e| e.algorithm == algorithm).cloned().collect();
        match entries.is_empty() {
            false => Ok(entries),
            true => Err(Error::Algorithm {
                collective: collective.name(),
                algorithm: algorithm.name().into(),
                reason: "the collective has no such algorithm".into(),
            }),
        }
    }

    /// The same lists, with `list` as that of `collective`.
    pub(super) fn with(mut self, collective: Collective, list: Vec<Entry>) -> Self {
        self.lists.insert(collective, list);
        self
    }

    /// The same lists, with that of `collective` cut down to the algorithms named, in their order.
    ///
    /// # Errors
    /// [`Error::Algorithm`] for one that the collective does not have.
    pub fn with_only(self, collective: Collective, names: &[Algorithm]) -> Result<Self, Error> {
        let entries = names.iter().map(|&name| self.entries(collective, name));
        let list = entries.collect::<Result<Vec<_>, _>>()?.concat();
        Ok(self.with(collective, list))
    }
}
