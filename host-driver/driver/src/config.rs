// SPDX-License-Identifier: MIT OR Apache-2.0
//! Configuration files: the clients of an application with their tasks and resources (EP-5).
//!
//! ```toml
//! [[application.hello.client]]
//! name = "mpi"
//! tasks = "all"              # or processes of the application: [0, 2, 3]
//! contexts = 2
//! eager_limit = 8192         # bytes
//! same_node = "shared_memory"
//! ordered = "flow"
//!
//! [application.hello.client.resources]
//! injection_per_context = 2
//! remote_get_first = 16
//!
//! [application.hello.client.ack]
//! method = "coalesce"
//!
//! [[application.hello.client.geometry]]
//! name = "solvers"
//! number = 3
//! tasks = [0, 2]             # of the client; or "all", or { first = 0, last = 2 }
//! contexts = 2               # the first ones of each task
//!
//! [application.hello.client.geometry.algorithms]
//! broadcast = ["endpoint_parallel", "binomial"]
//! allreduce = [
//!     { algorithm = "ring", when = { at_least = 4096, aligned = 64, endpoints = "even" } },
//!     "recursive_doubling",
//! ]
//! ```
//!
//! A geometry may give `endpoints = [[0, 0], [0, 1], [2, 0]]`, task and context each, instead of tasks and contexts.
//! Collectives, algorithms and conditions have the names of the collectives above the driver.
//!
//! Entries left out have the values of [`Resources::default`], [`AckConfig::default`],
//! [`SameNode::default`], [`Ordered::default`] and [`DEFAULT_EAGER_LIMIT`].
//! A client's number is its place among the clients of its application.

mod all;
pub(crate) mod error;
pub(crate) mod geometry;

use std::collections::BTreeMap;

use gyre_firmware::Parameters;
use gyre_layout::Coord;
use serde::Deserialize;
use toml::Spanned;

use all::All;
use error::ConfigError;
use geometry::{FileGeometry, GeometryConfig, MemberLines};

use crate::ack::AckConfig;
use crate::flow::ordered::Ordered;
use crate::layout::{ClientConfig, DEFAULT_EAGER_LIMIT, SameNode};
use crate::resources::Resources;
use crate::sync::Arc;
use crate::task::TaskId;
use crate::task_map::TaskMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    application: BTreeMap<String, FileApplication>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileApplication {
    #[serde(default)]
    client: Vec<Spanned<FileClient>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileClient {
    name: Spanned<String>,
    tasks: Spanned<FileTasks>,
    contexts: Option<Spanned<u8>>,
    eager_limit: Option<u32>,
    #[serde(default)]
    same_node: SameNode,
    #[serde(default)]
    ordered: Ordered,
    #[serde(default)]
    resources: FileResources,
    ack: Option<AckConfig>,
    #[serde(default)]
    geometry: Vec<Spanned<FileGeometry>>,
}

/// Processes of the application that are tasks of the client, in task order.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(untagged, expecting = "\"all\" or a list of processes")]
enum FileTasks {
    All(All),
    Some(Vec<u32>),
}

/// Declares the fields of [`Resources`] as a file may give them, each with its line.
macro_rules! resources {
    ($($field:ident: $type:ty,)*) => {
        #[derive(Deserialize, Default)]
        #[serde(deny_unknown_fields)]
        struct FileResources {
            $($field: Option<Spanned<$type>>,)*
        }

        impl FileResources {
            /// The resources, with the place in the text of each given one.
            fn resolve(&self) -> (Resources, BTreeMap<&'static str, usize>) {
                let mut resources = Resources::default();
                let mut places = BTreeMap::new();
                $(if let Some(value) = &self.$field {
                    resources.$field = *value.get_ref();
                    places.insert(stringify!($field), value.span().start);
                })*
                (resources, places)
            }
        }
    };
}

resources! {
    injection_first: u16,
    shared_injection: bool,
    injection_per_context: u16,
    injection_ring: usize,
    remote_get_first: u16,
    remote_get_ring: usize,
    counters: u16,
    slot_first: u16,
    slots_per_process: u16,
    reception_first: u16,
    reception_ring: usize,
    shared_ring: usize,
    wake_first: u8,
    owner: u8,
}

/// A client as the file gives it.
#[derive(Debug)]
struct Entry {
    name: String,
    line: usize,
    tasks: FileTasks,
    tasks_line: usize,
    contexts: u8,
    eager_limit: usize,
    same_node: SameNode,
    ordered: Ordered,
    resources: Resources,
    ack: AckConfig,
    geometries: Vec<GeometryConfig>,
    /// Place of the members of each.
    member_lines: Vec<MemberLines>,
}

/// The applications of a configuration file.
#[derive(Debug)]
pub struct Configuration {
    file: String,
    applications: BTreeMap<String, Vec<Entry>>,
}

impl Configuration {
    /// Parses a configuration in TOML; `file` is the file named in errors.
    ///
    /// # Errors
    /// [`ConfigError::Toml`], [`ConfigError::Field`].
    pub fn from_toml(file: &str, text: &str) -> Result<Self, ConfigError> {
        let parsed: File = toml::from_str(text).map_err(|source| ConfigError::Toml {
            file: file.to_owned(),
            source,
        })?;
        let line = |place: usize| text[..place].matches('\n').count() + 1;
        let mut applications = BTreeMap::new();
        for (application, clients) in parsed.application {
            let mut entries: Vec<Entry> = Vec::new();
            for client in clients.client {
                let client_line = line(client.span().start);
                let client = client.into_inner();
                let refuse = |place: usize, field, value: String, expected: &str| {
                    Err(ConfigError::Field {
                        file: file.to_owned(),
                        line: line(place),
                        field,
                        value,
                        expected: expected.to_owned(),
                    })
                };
                let name_place = client.name.span().start;
                let name = client.name.into_inner();
                if entries.iter().any(|entry| entry.name == name) {
                    let expected = "a name that no other client of the application has";
                    return refuse(name_place, "name", format!("`{name}`"), expected);
                }
                if entries.len() > usize::from(u8::MAX) {
                    let expected = "at most 256 clients in an application";
                    return refuse(name_place, "name", format!("`{name}`"), expected);
                }
                let mut geometries: Vec<GeometryConfig> = Vec::new();
                let mut member_lines = Vec::new();
                for geometry in client.geometry {
                    let place = geometry.span().start;
                    let geometry = geometry.into_inner();
                    let known = |g: &GeometryConfig| g.number == geometry.number;
                    if geometries.iter().any(known) {
                        let expected = "a number that no other geometry of the client has";
                        return refuse(place, "number", geometry.number.to_string(), expected);
                    }
                    let lines = geometry.lines(place, line);
                    geometries.push(geometry.resolve(file, place, line)?);
                    member_lines.push(lines);
                }
                let (resources, places) = client.resources.resolve();
                let contexts_place = client.contexts.as_ref().map_or(0, |c| c.span().start);
                let entry = Entry {
                    line: client_line,
                    tasks_line: line(client.tasks.span().start),
                    tasks: client.tasks.into_inner(),
                    contexts: client.contexts.map_or(1, Spanned::into_inner),
                    eager_limit: client
                        .eager_limit
                        .map_or(DEFAULT_EAGER_LIMIT, |limit| limit as usize),
                    same_node: client.same_node,
                    ordered: client.ordered,
                    resources,
                    ack: client.ack.unwrap_or_default(),
                    geometries,
                    member_lines,
                    name,
                };
                if entry.contexts == 0 {
                    return refuse(contexts_place, "contexts", "0".into(), "at least 1");
                }
                if let Err((field, value, expected)) = entry.resources.check() {
                    let place = places.get(field).copied().unwrap_or(name_place);
                    return refuse(place, field, value.to_string(), expected);
                }
                if let Err(error) = crate::ack::AckDispatcher::new(entry.ack.clone()) {
                    return refuse(name_place, "ack", error.to_string(), "usable rules");
                }
                entries.push(entry);
            }
            applications.insert(application, entries);
        }
        Ok(Self {
            file: file.to_owned(),
            applications,
        })
    }

    /// Names of the applications.
    pub fn applications(&self) -> impl Iterator<Item = &str> {
        self.applications.keys().map(String::as_str)
    }

    /// The geometries of a client: none when the file does not have the client.
    #[must_use]
    pub fn geometries(&self, application: &str, client: &str) -> &[GeometryConfig] {
        let entries = self.applications.get(application).map_or(&[][..], |e| e);
        let entry = entries.iter().find(|entry| entry.name == client);
        entry.map_or(&[], |entry| &entry.geometries)
    }

    /// The clients that process `process` of an application has, where process `p` lives on node
    /// `nodes[p]`.
    ///
    /// # Errors
    /// [`ConfigError::UnknownApplication`], [`ConfigError::UnknownProcess`], [`ConfigError::Tasks`];
    /// [`ConfigError::Field`] for geometries of tasks or contexts that the client does not have;
    /// [`ConfigError::Overlap`] when two clients of the application, on any of its nodes, would use the
    /// same FIFO, wake group or base slot.
    pub fn clients(
        &self,
        application: &str,
        nodes: &[Coord],
        process: u32,
    ) -> Result<Vec<ClientConfig>, ConfigError> {
        let placed = self.placed(application, nodes)?;
        if process as usize >= nodes.len() {
            return Err(ConfigError::UnknownProcess {
                process,
                processes: nodes.len(),
            });
        }
        let mut mine = Vec::new();
        for (id, (entry, tasks)) in placed.into_iter().enumerate() {
            let processes = self.processes(entry, nodes.len())?;
            if let Some(task) = processes.iter().position(|&p| p == process) {
                mine.push(ClientConfig {
                    name: entry.name.clone(),
                    // At most 256 clients and 2^32 tasks.
                    id: id as u8,
                    tasks,
                    task: TaskId(task as u32),
                    contexts: entry.contexts,
                    resources: entry.resources,
                    eager_limit: entry.eager_limit,
                    ack: entry.ack.clone(),
                    same_node: entry.same_node,
                    ordered: entry.ordered,
                });
            }
        }
        Ok(mine)
    }

    /// The clients of an application with the places of their tasks; no two use the same resource.
    fn placed(
        &self,
        application: &str,
        nodes: &[Coord],
    ) -> Result<Vec<(&Entry, Arc<TaskMap>)>, ConfigError> {
        let entries =
            self.applications
                .get(application)
                .ok_or_else(|| ConfigError::UnknownApplication {
                    file: self.file.clone(),
                    application: application.to_owned(),
                    known: self.applications.keys().cloned().collect(),
                })?;
        let mut placed: Vec<(&Entry, Arc<TaskMap>)> = Vec::new();
        for entry in entries {
            let processes = self.processes(entry, nodes.len())?;
            let places = processes.iter().map(|&p| nodes[p as usize]);
            let tasks = TaskMap::new(places).map_err(|source| ConfigError::Tasks {
                file: self.file.clone(),
                line: entry.tasks_line,
                client: entry.name.clone(),
                source: Box::new(source),
            })?;
            let tasks = Arc::new(tasks);
            for (geometry, lines) in entry.geometries.iter().zip(&entry.member_lines) {
                geometry.check(&self.file, lines, (tasks.len(), entry.contexts))?;
            }
            for (other, other_tasks) in &placed {
                self.check_overlap((entry, &tasks), (other, other_tasks), nodes)?;
            }
            placed.push((entry, tasks));
        }
        Ok(placed)
    }

    /// Checks that nodes of `parameters` have the resources of all clients of an application whose process `p` lives on
    /// node `nodes[p]`: the checks of [`Client::create`](crate::Client::create).
    ///
    /// # Errors
    /// As [`Configuration::clients`]; [`ConfigError::Room`].
    pub fn check_room(
        &self,
        application: &str,
        nodes: &[Coord],
        parameters: &Parameters,
    ) -> Result<(), ConfigError> {
        for (entry, tasks) in self.placed(application, nodes)? {
            for &node in nodes {
                // At most 256.
                let processes = tasks.processes_on(node) as u32;
                let room =
                    entry
                        .resources
                        .check_room(&entry.name, processes, entry.contexts, parameters);
                room.map_err(|source| ConfigError::Room {
                    file: self.file.clone(),
                    line: entry.line,
                    source: Box::new(source),
                })?;
            }
        }
        Ok(())
    }

    /// The processes that are tasks of a client, in task order.
    fn processes(&self, entry: &Entry, count: usize) -> Result<Vec<u32>, ConfigError> {
        let listed = match &entry.tasks {
            // One for each process, as many as `nodes` has.
            FileTasks::All(All::All) => return Ok((0..count as u32).collect()),
            FileTasks::Some(listed) => listed,
        };
        for (index, &process) in listed.iter().enumerate() {
            let expected = if process as usize >= count {
                format!("less than {count}, the processes of the application")
            } else if listed[..index].contains(&process) {
                "each process once".to_owned()
            } else {
                continue;
            };
            return Err(ConfigError::Field {
                file: self.file.clone(),
                line: entry.tasks_line,
                field: "tasks",
                value: process.to_string(),
                expected,
            });
        }
        Ok(listed.clone())
    }

    /// Checks that two clients use different resources on every node.
    fn check_overlap(
        &self,
        (entry, tasks): (&Entry, &TaskMap),
        (other, other_tasks): (&Entry, &TaskMap),
        nodes: &[Coord],
    ) -> Result<(), ConfigError> {
        for &node in nodes {
            let used = |entry: &Entry, tasks: &TaskMap| {
                let processes = tasks.processes_on(node) as u64;
                entry.resources.used(processes, entry.contexts)
            };
            for (what, needs) in used(entry, tasks) {
                for (kind, has) in used(other, other_tasks) {
                    let pool = |what: &str| what.ends_with("injection FIFOs");
                    let same = kind == what || (pool(kind) && pool(what));
                    // A client without tasks on the node needs no resources there: its range is empty.
                    let first = needs.start.max(has.start);
                    if same && first < needs.end.min(has.end) {
                        return Err(ConfigError::Overlap {
                            file: self.file.as_str().into(),
                            line: entry.line,
                            client: entry.name.as_str().into(),
                            what,
                            needs,
                            other: other.name.as_str().into(),
                            has,
                            node,
                        });
                    }
                }
            }
        }
        Ok(())
    }
}
