// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of geometries and collectives.

use gyre_affinity::PlaceError;
use gyre_driver::TaskId;
use thiserror::Error;

/// Errors of geometries and collectives.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Error {
    /// Error of the driver.
    #[error(transparent)]
    Driver(#[from] gyre_driver::Error),
    /// A geometry without endpoints.
    #[error("geometry `{name}` has no endpoint, expected at least 1")]
    EmptyGeometry {
        /// Name of the geometry.
        name: String,
    },
    /// Trees without children.
    #[error("trees of geometry `{name}` have arity 0, expected at least 1")]
    Arity {
        /// Name of the geometry.
        name: String,
    },
    /// An endpoint twice in a geometry.
    #[error("geometry `{name}` has the endpoint (context {context} of {task}) twice")]
    RepeatedEndpoint {
        /// Name of the geometry.
        name: String,
        /// Task of the endpoint.
        task: TaskId,
        /// Its context.
        context: u8,
    },
    /// A task's first endpoint in a geometry is on another node.
    #[error("geometry `{name}`: the first endpoint of {task} must live on the node of its task")]
    LeaderAway {
        /// Name of the geometry.
        name: String,
        /// The task.
        task: TaskId,
    },
    /// A geometry has endpoints on other nodes than their tasks, but no network places.
    #[error(
        "geometry `{name}` has endpoints away from their tasks, expected one made with `on_network`"
    )]
    UnknownPlaces {
        /// Name of the geometry.
        name: String,
    },
    /// Two geometries with the same number in a context.
    #[error("a geometry with number {number} has been joined already")]
    NumberInUse {
        /// The number.
        number: u16,
    },
    /// An invalid geometry of a configuration file.
    #[error("{place}: {source}")]
    Configured {
        /// File and line.
        place: String,
        /// Why.
        source: Box<Error>,
    },
    /// An invalid condition of an algorithm in a configuration file.
    #[error(
        "condition {field} of an algorithm of geometry `{geometry}` is {value}, expected {expected}"
    )]
    Condition {
        /// Name of the geometry.
        geometry: String,
        /// Name of the condition.
        field: String,
        /// Given value.
        value: String,
        /// Valid values.
        expected: &'static str,
    },
    /// An unknown name.
    #[error("{what} `{name}` of geometry `{geometry}`, expected one of: {}", .known.join(", "))]
    UnknownName {
        /// Name of the geometry.
        geometry: String,
        /// Kind of thing named.
        what: &'static str,
        /// The name.
        name: String,
        /// Known names.
        known: Vec<&'static str>,
    },
    /// A context that is not an endpoint of the geometry.
    #[error("context {context} of {task} is no endpoint of geometry `{name}`")]
    NoMember {
        /// Name of the geometry.
        name: String,
        /// Task of the context.
        task: TaskId,
        /// Offset of the context.
        context: u8,
    },
    /// An invalid request.
    #[error("{collective} on geometry `{geometry}`: {field} is {value}, expected {expected}")]
    Request {
        /// Name of the geometry.
        geometry: String,
        /// The collective.
        collective: &'static str,
        /// Field of the request.
        field: &'static str,
        /// Its value.
        value: u64,
        /// Valid values.
        expected: String,
    },
    /// An invalid call of a group of threads.
    #[error("group of threads `{group}`: {field} is {value}, expected {expected}")]
    Thread {
        /// Name of the group.
        group: String,
        /// Name of the argument.
        field: &'static str,
        /// Its value.
        value: u64,
        /// Valid values.
        expected: String,
    },
    /// The place of a thread of a group is unknown.
    #[error("group of threads `{group}`: {source}")]
    ThreadPlace {
        /// Name of the group.
        group: String,
        /// Reason.
        source: PlaceError,
    },
    /// An operation that is not defined on the data type.
    #[error("operation {op} is not defined on {data}")]
    Operation {
        /// The operation.
        op: &'static str,
        /// The type.
        data: &'static str,
    },
    /// A user operation with an invalid element size.
    #[error("operation {number} of the user: bytes of an element is {bytes}, expected 1 to 65535")]
    ElementBytes {
        /// Number of the operation.
        number: u16,
        /// Bytes of an element.
        bytes: usize,
    },
    /// An algorithm that is not listed, or whose condition does not hold.
    #[error("algorithm {algorithm} of {collective}: {reason}")]
    Algorithm {
        /// The collective.
        collective: &'static str,
        /// The algorithm.
        algorithm: String,
        /// Reason.
        reason: String,
    },
    /// Routes requested by a geometry that has some, or is taking or releasing them.
    #[error("geometry `{geometry}` has routes of the collective network already")]
    Routes {
        /// Name of the geometry.
        geometry: String,
    },
    /// Members of a geometry called different collectives, or one with different arguments.
    #[error(
        "collective {sequence} of geometry `{geometry}`: {field} is {ours} here and {theirs} at rank {rank}"
    )]
    Disagreement {
        /// Name of the geometry.
        geometry: String,
        /// Number of the collective on the geometry, from 0.
        sequence: u32,
        /// Differing field.
        field: &'static str,
        /// Value of this member.
        ours: u64,
        /// Value of the other.
        theirs: u64,
        /// Rank of the other.
        rank: u32,
    },
    /// Another member found a disagreement or could not continue.
    #[error("collective {sequence} of geometry `{geometry}` was given up by rank {rank}")]
    GivenUp {
        /// Name of the geometry.
        geometry: String,
        /// Number of the collective on the geometry, from 0.
        sequence: u32,
        /// Rank that gave up.
        rank: u32,
    },
}

impl Error {
    /// Adds `place` of a configuration file, unless a place is already given.
    pub(crate) fn at(self, place: &str) -> Self {
        match self {
            Self::Configured { .. } => self,
            source => Self::Configured {
                place: place.into(),
                source: Box::new(source),
            },
        }
    }
}

macro_rules! from_driver {
    ($($error:ident),*) => {
        $(
            impl From<gyre_driver::$error> for Error {
                fn from(error: gyre_driver::$error) -> Self {
                    Self::Driver(error.into())
                }
            }
        )*
    };
}

from_driver!(AllocError, RangeError, SegmentError);
