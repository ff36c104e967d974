// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists of algorithms from configuration files (EP-5, EP-8).

use gyre_driver::{
    AlgorithmConfig, AlgorithmList, ConditionConfig, ConditionValue, GeometryConfig,
};

use super::condition::Condition;
use super::entry::Entry;
use super::lists::Algorithms;
use crate::algorithm::Algorithm;
use crate::collective::Collective;
use crate::error::Error;

/// Names of conditions in files.
const CONDITIONS: [&str; 6] = [
    "at_least",
    "at_most",
    "multiple_of",
    "aligned",
    "endpoints",
    "tasks",
];

impl Algorithms {
    /// The default lists, overridden by those of a geometry in a configuration file.
    ///
    /// An algorithm given by name only keeps the conditions of the default list. With `when`, the conditions there
    /// replace those of the default list. The requirements of the algorithm hold in either case. Conditions are
    /// `at_least`, `at_most` and `multiple_of` bytes, `aligned` bytes ([`Condition::Aligned`]), `endpoints = "even"`,
    /// `"odd"` or `"power_of_two"`, and `tasks = "power_of_two"`.
    ///
    /// # Errors
    /// [`Error::Configured`] with file and line.
    pub fn from_config(config: &GeometryConfig) -> Result<Self, Error> {
        let geometry = config.name.as_str();
        let mut algorithms = Self::default();
        for (name, list) in &config.algorithms {
            let all = Collective::ALL.map(|c| (c.name(), c));
            let collective =
                find(geometry, "collective", name, &all).map_err(|error| error.at(&list.place))?;
            algorithms = algorithms.with_list(geometry, collective, list)?;
        }
        Ok(algorithms)
    }

    fn with_list(
        self,
        geometry: &str,
        collective: Collective,
        list: &AlgorithmList,
    ) -> Result<Self, Error> {
        let mut entries = Vec::new();
        for config in &list.algorithms {
            let given = self.given(geometry, collective, config);
            entries.extend(given.map_err(|error| error.at(&config.place))?);
        }
        Ok(self.with(collective, entries))
    }

    /// Entries of an algorithm in a file.
    fn given(
        &self,
        geometry: &str,
        collective: Collective,
        config: &AlgorithmConfig,
    ) -> Result<Vec<Entry>, Error> {
        let all = Algorithm::ALL.map(|a| (a.name(), a));
        let algorithm = find(geometry, "algorithm", &config.name, &all)?;
        let mut entries = self.entries(collective, algorithm)?;
        if let Some(when) = &config.when {
            let conditions = when
                .iter()
                .map(|given| condition(geometry, given).map_err(|error| error.at(&given.place)));
            let conditions: Vec<Condition> = conditions.collect::<Result<_, _>>()?;
            for entry in &mut entries {
                entry.when.clone_from(&conditions);
            }
        }
        Ok(entries)
    }
}

/// Parses a condition of a file.
fn condition(geometry: &str, given: &ConditionConfig) -> Result<Condition, Error> {
    let known = CONDITIONS.map(|name| (name, name));
    let name = find(geometry, "condition", &given.name, &known)?;
    let refuse = |expected| {
        Err(Error::Condition {
            geometry: geometry.into(),
            field: name.into(),
            value: given.value.to_string(),
            expected,
        })
    };
    let number = match &given.value {
        ConditionValue::Number(number) => usize::try_from(*number).ok(),
        ConditionValue::Word(_) => None,
    };
    let word = match &given.value {
        ConditionValue::Number(_) => None,
        ConditionValue::Word(word) => Some(word.as_str()),
    };
    Ok(match (name, number, word) {
        ("at_least", Some(bytes), _) => Condition::AtLeast(bytes),
        ("at_most", Some(bytes), _) => Condition::AtMost(bytes),
        ("multiple_of", Some(bytes @ 1..), _) => Condition::MultipleOf(bytes),
        ("aligned", Some(bytes), _) if bytes.is_power_of_two() => Condition::Aligned(bytes),
        ("endpoints", _, Some("even")) => Condition::EndpointsEven,
        ("endpoints", _, Some("odd")) => Condition::EndpointsOdd,
        ("endpoints", _, Some("power_of_two")) => Condition::EndpointsPowerOfTwo,
        ("tasks", _, Some("power_of_two")) => Condition::TasksPowerOfTwo,
        ("at_least" | "at_most", ..) => return refuse("a number of bytes"),
        ("multiple_of", ..) => return refuse("a number of bytes, at least 1"),
        ("aligned", ..) => return refuse("a power of two"),
        ("tasks", ..) => return refuse("\"power_of_two\""),
        _ => return refuse("\"even\", \"odd\" or \"power_of_two\""),
    })
}

/// Looks up a name.
fn find<T: Copy>(
    geometry: &str,
    what: &'static str,
    name: &str,
    known: &[(&'static str, T)],
) -> Result<T, Error> {
    let found = known.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| Error::UnknownName {
            geometry: geometry.into(),
            what,
            name: name.into(),
            known: known.iter().map(|(name, _)| *name).collect(),
        })
}
