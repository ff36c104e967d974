// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of configurations.

use core::ops::Range;

use gyre_layout::Coord;

use crate::error::Error;

/// A configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Invalid TOML or unknown fields; the message names line and column.
    #[error("{file}: {source}")]
    Toml {
        /// The file.
        file: String,
        /// Fault and its place.
        #[source]
        source: toml::de::Error,
    },
    /// A field with an invalid value.
    #[error("{file}:{line}: {field} is {value}, expected {expected}")]
    Field {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The field.
        field: &'static str,
        /// Its value.
        value: String,
        /// Expected value.
        expected: String,
    },
    /// An application that the file does not have.
    #[error("{file}: no application `{application}`, expected one of: {}", .known.join(", "))]
    UnknownApplication {
        /// The file.
        file: String,
        /// The application.
        application: String,
        /// Names that exist.
        known: Vec<String>,
    },
    /// A process that the application does not have.
    #[error("process {process} of an application of {processes} processes")]
    UnknownProcess {
        /// The process.
        process: u32,
        /// Processes of the application.
        processes: usize,
    },
    /// The driver refuses the tasks of a client.
    #[error("{file}:{line}: tasks of client `{client}`: {source}")]
    Tasks {
        /// The file.
        file: String,
        /// Line of the tasks.
        line: usize,
        /// The client.
        client: String,
        /// Why.
        source: Box<Error>,
    },
    /// The machine's nodes lack resources of a client.
    #[error("{file}:{line}: {source}")]
    Room {
        /// The file.
        file: String,
        /// Line of the client.
        line: usize,
        /// Missing part.
        source: Box<Error>,
    },
    /// Two clients of one application would use the same resource of a node.
    #[error(
        "{file}:{line}: client `{client}` needs {what} {}..{} of node {node}, which overlap {}..{} of client `{other}`",
        .needs.start, .needs.end, .has.start, .has.end
    )]
    Overlap {
        /// The file.
        file: Box<str>,
        /// Line of the client that comes later.
        line: usize,
        /// The client.
        client: Box<str>,
        /// The resource.
        what: &'static str,
        /// Numbers that it needs.
        needs: Range<u64>,
        /// The client before it.
        other: Box<str>,
        /// Numbers of the earlier client.
        has: Range<u64>,
        /// The node.
        node: Coord,
    },
}
