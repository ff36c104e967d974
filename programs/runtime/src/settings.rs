// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings: what `--set KEY=VALUE` gives to a command. Each command has a table of those that it knows; the
//! table reads the values, refuses the others, and is what `--help` shows.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use crate::options::UsageError;

/// A setting of type `T`.
#[derive(Debug)]
pub struct Setting<T: 'static> {
    /// Its name.
    pub key: &'static str,
    /// Meaning, for `--help`.
    pub about: &'static str,
    /// Unit of its values; empty where there is none.
    pub unit: &'static str,
    /// Value when it is not given.
    pub default: Default<T>,
    /// Accepted values.
    pub values: Values<T>,
}

/// Value of a setting that is not given.
#[derive(Debug, Clone, Copy)]
pub enum Default<T> {
    /// A value.
    Value(T),
    /// The command decides, as the words say.
    Words(&'static str),
}

/// Accepted values among those of the setting's type.
#[derive(Debug)]
pub enum Values<T: 'static> {
    /// Numbers from the first to the second.
    Between(T, T),
    /// Values that a function accepts; the words describe them.
    Such(fn(T) -> bool, &'static str),
}

/// Type of a setting's values.
pub trait Value: Clone + FromStr + Display + PartialOrd + 'static {}

impl<T: Clone + FromStr + Display + PartialOrd + 'static> Value for T {}

impl Setting<bool> {
    /// One that is on or off.
    #[must_use]
    pub const fn flag(key: &'static str, default: bool, about: &'static str) -> Self {
        Self {
            key,
            about,
            unit: "",
            default: Default::Value(default),
            values: Values::Such(|_| true, "true or false"),
        }
    }
}

impl<T: Value + Copy> Setting<T> {
    /// A number from `first` to `last`.
    #[must_use]
    pub const fn number(
        key: &'static str,
        unit: &'static str,
        default: T,
        (first, last): (T, T),
        about: &'static str,
    ) -> Self {
        Self {
            key,
            about,
            unit,
            default: Default::Value(default),
            values: Values::Between(first, last),
        }
    }

    /// One of several words.
    #[must_use]
    pub const fn choice(
        key: &'static str,
        default: T,
        words: &'static str,
        about: &'static str,
    ) -> Self {
        Self {
            key,
            about,
            unit: "",
            default: Default::Value(default),
            values: Values::Such(|_| true, words),
        }
    }
}

impl<T: Value> Setting<T> {
    /// Refuses `value`, which the command has found to be wrong.
    pub fn refuse(&self, value: impl Display, expected: impl Into<String>) -> UsageError {
        UsageError::Value {
            option: format!("--set {}", self.key),
            value: value.to_string(),
            expected: expected.into(),
        }
    }

    fn expected(&self) -> String {
        match &self.values {
            Values::Between(first, last) => format!("a number from {first} to {last}"),
            Values::Such(_, words) => (*words).into(),
        }
    }

    fn read(&self, text: &str) -> Result<T, UsageError> {
        let accepted = |value: &T| match &self.values {
            Values::Between(first, last) => (first..=last).contains(&value),
            Values::Such(accepts, _) => accepts(value.clone()),
        };
        let value = text.parse().ok().filter(accepted);
        value.ok_or_else(|| self.refuse(text, self.expected()))
    }
}

/// A setting of any type, as an entry of a table.
pub trait Entry: Sync {
    /// Its name.
    fn key(&self) -> &'static str;
    /// Reads a value of its type.
    ///
    /// # Errors
    /// [`UsageError::Value`]: a value that it does not accept.
    fn parse(&self, text: &str) -> Result<Box<dyn Any>, UsageError>;
    /// Meaning, for `--help`.
    fn about(&self) -> &'static str;
    /// Default and values with their unit, for people.
    fn accepted(&self) -> String;
}

impl<T: Value + Sync> Entry for Setting<T> {
    fn key(&self) -> &'static str {
        self.key
    }

    fn parse(&self, text: &str) -> Result<Box<dyn Any>, UsageError> {
        Ok(Box::new(self.read(text)?))
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn accepted(&self) -> String {
        let unit = match self.unit {
            "" => String::new(),
            unit => format!(" {unit}"),
        };
        let default = match &self.default {
            Default::Value(value) => format!("{value}{unit}"),
            Default::Words(words) => (*words).into(),
        };
        let values = match &self.values {
            Values::Between(first, last) => format!("{first} to {last}{unit}"),
            Values::Such(_, words) => (*words).into(),
        };
        format!("[default: {default}] [values: {values}]")
    }
}

/// The settings that a command knows.
pub type Table = [&'static dyn Entry];

/// The `--set` values of one command, all of them accepted by its tables.
#[derive(Debug)]
pub struct Settings {
    /// By key: every setting of the tables, with the value that was given, of the setting's type.
    values: BTreeMap<&'static str, Option<Box<dyn Any>>>,
}

impl Settings {
    /// Reads each `key=value`; the last of a repeated key counts.
    ///
    /// # Errors
    /// No `=`, a key of none of the `tables`, or a value that its setting does not accept.
    pub fn parse(set: &[String], tables: &[&Table]) -> Result<Self, UsageError> {
        let entries = || tables.iter().copied().flatten();
        let mut values: BTreeMap<_, Option<Box<dyn Any>>> =
            entries().map(|entry| (entry.key(), None)).collect();
        for text in set {
            let (key, value) = text
                .split_once('=')
                .ok_or_else(|| UsageError::NoValue(text.clone()))?;
            let (key, value) = (key.trim(), value.trim());
            let Some(entry) = entries().find(|entry| entry.key() == key) else {
                let known: Vec<_> = values.into_keys().collect();
                return Err(UsageError::UnknownSetting {
                    key: key.into(),
                    known: known.join(", "),
                });
            };
            let earlier = values.insert(entry.key(), Some(entry.parse(value)?));
            if earlier.flatten().is_some() {
                let text = format!("--set {key}: given twice, expected once");
                return Err(UsageError::Combination(text));
            }
        }
        Ok(Self { values })
    }

    /// The value given for `setting`.
    ///
    /// # Panics
    /// When no table of the command has it: `--help` would not show it, and it could never be given.
    pub fn given<T: Value>(&self, setting: &Setting<T>) -> Option<T> {
        let Some(value) = self.values.get(setting.key) else {
            panic!("{}: read, but in no table of the command", setting.key);
        };
        let value = value.as_ref()?.downcast_ref::<T>();
        Some(value.expect("a key has one type").clone())
    }

    /// The value of `setting`, or its default.
    ///
    /// # Panics
    /// When the default is in words, or as [`Settings::given`].
    pub fn get<T: Value>(&self, setting: &Setting<T>) -> T {
        match (self.given(setting), setting.default.clone()) {
            (Some(value), _) | (None, Default::Value(value)) => value,
            (None, Default::Words(words)) => unreachable!("{}: {words}", setting.key),
        }
    }
}

/// The tables for `--help`, each below a heading.
pub fn help<'a>(tables: impl IntoIterator<Item = (&'a str, &'a Table)>) -> String {
    let mut text = String::from("Settings, each by --set KEY=VALUE:\n");
    for (heading, table) in tables {
        if !table.is_empty() {
            text += &format!("\n  {heading}\n");
        }
        for entry in table {
            text += &format!("    {}  {}\n", entry.key(), entry.accepted());
            text += &format!("        {}\n", entry.about());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Setting<f64> = Setting::number("load", "flits", 0.1, (0.0, 1.0), "offered load");
    const RING: Setting<usize> = Setting {
        key: "ring",
        about: "size",
        unit: "bytes",
        default: Default::Words("as it fits"),
        values: Values::Such(
            |bytes| bytes.is_power_of_two() && (16..=64).contains(&bytes),
            "a power of two from 16 to 64",
        ),
    };
    const TABLE: &Table = &[&LOAD, &RING];

    fn settings(set: &[&str]) -> Result<Settings, String> {
        let set: Vec<String> = set.iter().map(|&text| text.into()).collect();
        Settings::parse(&set, &[TABLE]).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_have_defaults_and_are_given_once() {
        let twice = settings(&["ring=16", "ring = 32"]).expect_err("refused");
        assert_eq!(twice, "--set ring: given twice, expected once");
        let settings = settings(&["ring = 32"]).expect("it is known");
        assert_eq!(settings.get(&LOAD), 0.1);
        assert_eq!(settings.given(&RING), Some(32));
    }

    #[test]
    fn x5_settings_outside_the_table_are_refused() {
        let refused = |set: &[&str]| settings(set).expect_err("refused");
        assert_eq!(
            refused(&["lod=1"]),
            "--set lod: no such setting here; known are load, ring"
        );
        assert_eq!(refused(&["load"]), "--set load: expected key=value");
        for value in ["2", "-1", "NaN", "x", ""] {
            let expected = format!("--set load: expected a number from 0 to 1, found `{value}`");
            assert_eq!(refused(&[&format!("load={value}")]), expected);
        }
        for value in ["8", "24", "128"] {
            let error = refused(&[&format!("ring={value}")]);
            assert!(error.contains("a power of two from 16 to 64"), "{error}");
        }
    }

    #[test]
    #[should_panic(expected = "ring: read, but in no table of the command")]
    fn a_setting_that_is_in_no_table_is_never_read() {
        let settings = Settings::parse(&[], &[&[&LOAD]]).expect("nothing to refuse");
        settings.given(&RING);
    }

    #[test]
    fn help_has_meaning_unit_default_and_values_of_every_setting() {
        let help = help([("of a test", TABLE), ("of nothing", &[])]);
        for line in [
            "  of a test\n",
            "    load  [default: 0.1 flits] [values: 0 to 1 flits]\n        offered load\n",
            "    ring  [default: as it fits] [values: a power of two from 16 to 64]\n",
        ] {
            assert!(help.contains(line), "{help}");
        }
        assert!(!help.contains("of nothing"), "{help}");
    }
}
