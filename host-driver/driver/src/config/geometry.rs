// SPDX-License-Identifier: MIT OR Apache-2.0
//! Geometries of configuration files, with their lists of algorithms (EP-5, EP-7, EP-8).

use core::fmt;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use toml::Spanned;

use super::all::All;
use super::error::ConfigError;

/// A geometry for collectives, as the file gives it (EP-7, EP-8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeometryConfig {
    /// Its file and line, for errors.
    pub place: String,
    /// Its name.
    pub name: String,
    /// Number of the geometry, different for each of a client.
    pub number: u16,
    /// Members.
    pub members: GeometryMembers,
    /// For each named collective, the algorithms to use, best first.
    pub algorithms: BTreeMap<String, AlgorithmList>,
}

/// The algorithms that a file gives for a collective (EP-8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlgorithmList {
    /// Its file and line, for errors.
    pub place: String,
    /// The algorithms, the best first.
    pub algorithms: Vec<AlgorithmConfig>,
}

/// An algorithm in such a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlgorithmConfig {
    /// Its file and line, for errors.
    pub place: String,
    /// Its name.
    pub name: String,
    /// Condition of its choice; `None` leaves that to the collectives.
    pub when: Option<Vec<ConditionConfig>>,
}

/// A condition of an algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionConfig {
    /// Its file and line, for errors.
    pub place: String,
    /// Its name.
    pub name: String,
    /// Conditions, all of which must hold.
    pub value: ConditionValue,
}

/// Required value of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionValue {
    /// A number.
    Number(u64),
    /// A word.
    Word(String),
}

impl fmt::Display for ConditionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Word(word) => write!(f, "`{word}`"),
        }
    }
}

/// Endpoints of a geometry, as the file gives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GeometryMembers {
    /// Contexts `0..contexts` of all tasks.
    World {
        /// Contexts of each task.
        contexts: u8,
    },
    /// Contexts `0..contexts` of tasks `first` to `last`.
    Range {
        /// First task.
        first: u32,
        /// Last task.
        last: u32,
        /// Contexts of each task.
        contexts: u8,
    },
    /// Contexts `0..contexts` of the listed tasks.
    Tasks {
        /// The tasks.
        tasks: Vec<u32>,
        /// Contexts of each task.
        contexts: u8,
    },
    /// Task and context of each endpoint.
    Endpoints(Vec<(u32, u8)>),
}

/// A geometry as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileGeometry {
    name: String,
    pub number: u16,
    tasks: Option<Spanned<FileGeometryTasks>>,
    contexts: Option<Spanned<u8>>,
    endpoints: Option<Spanned<Vec<(u32, u8)>>>,
    #[serde(default)]
    algorithms: BTreeMap<String, Spanned<Vec<Spanned<FileAlgorithm>>>>,
}

/// An algorithm of a list: its name, or a table.
struct FileAlgorithm {
    name: String,
    when: Option<BTreeMap<String, Spanned<toml::Value>>>,
}

impl<'de> Deserialize<'de> for FileAlgorithm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AlgorithmVisitor)
    }
}

/// Reads a [`FileAlgorithm`] by hand: an untagged enum would lose its line.
struct AlgorithmVisitor;

impl<'de> Visitor<'de> for AlgorithmVisitor {
    type Value = FileAlgorithm;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of an algorithm or { algorithm = ..., when = { ... } }")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<FileAlgorithm, E> {
        let name = name.to_owned();
        Ok(FileAlgorithm { name, when: None })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<FileAlgorithm, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            algorithm: String,
            when: Option<BTreeMap<String, Spanned<toml::Value>>>,
        }
        let table = Table::deserialize(MapAccessDeserializer::new(map))?;
        Ok(FileAlgorithm {
            name: table.algorithm,
            when: table.when,
        })
    }
}

/// Tasks of the client in a geometry.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "\"all\", a list of tasks or { first = ..., last = ... }"
)]
enum FileGeometryTasks {
    All(All),
    Some(Vec<u32>),
    Range { first: u32, last: u32 },
}

/// Lines of the members of a geometry.
#[derive(Debug)]
pub(super) struct MemberLines {
    /// Of the tasks or endpoints.
    listed: usize,
    /// Of the contexts.
    contexts: usize,
}

impl FileGeometry {
    /// Lines of the members; `line` maps a place in the text to its line, and `place` is that of the geometry.
    pub fn lines(&self, place: usize, line: impl Fn(usize) -> usize) -> MemberLines {
        let tasks = self.tasks.as_ref().map(|tasks| tasks.span().start);
        let endpoints = self.endpoints.as_ref().map(|list| list.span().start);
        let contexts = self.contexts.as_ref().map(|count| count.span().start);
        MemberLines {
            listed: line(tasks.or(endpoints).unwrap_or(place)),
            contexts: line(contexts.unwrap_or(place)),
        }
    }

    /// The geometry at `place` of the text.
    ///
    /// # Errors
    /// [`ConfigError::Field`].
    pub fn resolve(
        self,
        file: &str,
        place: usize,
        line: impl Fn(usize) -> usize,
    ) -> Result<GeometryConfig, ConfigError> {
        let Some(members) = self.members() else {
            return Err(ConfigError::Field {
                file: file.to_owned(),
                line: line(place),
                field: "geometry",
                value: format!("`{}`", self.name),
                expected: "either tasks, with contexts if wanted, or endpoints".to_owned(),
            });
        };
        let lists = self.algorithms.into_iter();
        let lists = lists.map(|(name, list)| Ok((name, algorithm_list((file, &line), list)?)));
        Ok(GeometryConfig {
            place: format!("{file}:{}", line(place)),
            name: self.name,
            number: self.number,
            members,
            algorithms: lists.collect::<Result<_, ConfigError>>()?,
        })
    }

    /// Members, if the file gives them in exactly one way.
    fn members(&self) -> Option<GeometryMembers> {
        let contexts = self.contexts.as_ref().map_or(1, |c| *c.get_ref());
        let tasks = self.tasks.as_ref().map(Spanned::get_ref);
        match (tasks, &self.endpoints) {
            (None, Some(endpoints)) if self.contexts.is_none() => {
                Some(GeometryMembers::Endpoints(endpoints.get_ref().clone()))
            }
            (Some(FileGeometryTasks::All(All::All)), None) => {
                Some(GeometryMembers::World { contexts })
            }
            (Some(FileGeometryTasks::Some(tasks)), None) => Some(GeometryMembers::Tasks {
                tasks: tasks.clone(),
                contexts,
            }),
            (Some(FileGeometryTasks::Range { first, last }), None) => {
                Some(GeometryMembers::Range {
                    first: *first,
                    last: *last,
                    contexts,
                })
            }
            _ => None,
        }
    }
}

/// The algorithms that a file gives for a collective; `line` maps a place in the text to its line.
fn algorithm_list(
    (file, line): (&str, &impl Fn(usize) -> usize),
    list: Spanned<Vec<Spanned<FileAlgorithm>>>,
) -> Result<AlgorithmList, ConfigError> {
    let place = |at: usize| format!("{file}:{}", line(at));
    let condition = |(name, value): (String, Spanned<toml::Value>)| {
        let at = value.span().start;
        let value = match value.into_inner() {
            toml::Value::Integer(number) if number >= 0 => ConditionValue::Number(number as u64),
            toml::Value::String(word) => ConditionValue::Word(word),
            other => {
                return Err(ConfigError::Field {
                    file: file.to_owned(),
                    line: line(at),
                    field: "when",
                    value: format!("{name} = {other}"),
                    expected: "a number from 0 on or a word".to_owned(),
                });
            }
        };
        Ok(ConditionConfig {
            place: place(at),
            name,
            value,
        })
    };
    let algorithm = |algorithm: Spanned<FileAlgorithm>| {
        let at = algorithm.span().start;
        let FileAlgorithm { name, when } = algorithm.into_inner();
        let when = when.map(|when| when.into_iter().map(condition).collect());
        Ok(AlgorithmConfig {
            place: place(at),
            name,
            when: when.transpose()?,
        })
    };
    Ok(AlgorithmList {
        place: place(list.span().start),
        algorithms: list
            .into_inner()
            .into_iter()
            .map(algorithm)
            .collect::<Result<_, _>>()?,
    })
}

impl GeometryConfig {
    /// Refuses a geometry without members, or with members beyond the tasks and contexts of the client.
    ///
    /// # Errors
    /// [`ConfigError::Field`].
    pub(super) fn check(
        &self,
        file: &str,
        lines: &MemberLines,
        (count, most_contexts): (usize, u8),
    ) -> Result<(), ConfigError> {
        let refuse = |line, field, value: String, expected: String| {
            Err(ConfigError::Field {
                file: file.to_owned(),
                line,
                field,
                value,
                expected,
            })
        };
        let (tasks, contexts): (Vec<u32>, u8) = match &self.members {
            GeometryMembers::World { contexts } => (vec![0], *contexts),
            GeometryMembers::Range {
                first,
                last,
                contexts,
            } if first <= last => (vec![*last], *contexts),
            GeometryMembers::Range { first, last, .. } => {
                let expected = format!("at least {first}, the first task");
                return refuse(lines.listed, "last", last.to_string(), expected);
            }
            GeometryMembers::Tasks { tasks, contexts } => (tasks.clone(), *contexts),
            GeometryMembers::Endpoints(list) => {
                let most = list
                    .iter()
                    .map(|(_, context)| context.saturating_add(1))
                    .max();
                if most.is_some_and(|most| most > most_contexts) {
                    let worst = list.iter().map(|(_, context)| *context).max().unwrap_or(0);
                    let expected =
                        format!("less than {}, the contexts of the client", most_contexts);
                    return refuse(
                        lines.listed,
                        "context of an endpoint",
                        worst.to_string(),
                        expected,
                    );
                }
                (list.iter().map(|(task, _)| *task).collect(), 1)
            }
        };
        if tasks.is_empty() {
            let expected = "at least one task or endpoint".to_owned();
            return refuse(lines.listed, "members", "none".to_owned(), expected);
        }
        if let Some(task) = tasks.iter().find(|&&task| task as usize >= count) {
            let expected = format!("less than {count}, the tasks of the client");
            return refuse(
                lines.listed,
                "task of a geometry",
                task.to_string(),
                expected,
            );
        }
        if contexts == 0 || contexts > most_contexts {
            let expected = format!("1 to {}, the contexts of the client", most_contexts);
            return refuse(lines.contexts, "contexts", contexts.to_string(), expected);
        }
        Ok(())
    }
}
