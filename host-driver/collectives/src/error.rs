//! Errors of geometries and collectives.

use gyre_affinity::PlaceError;
use gyre_driver::TaskId;
use thiserror::Error;

/// What can go wrong.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Error {
    /// The driver refused.
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
    /// A task of which the first endpoint in a geometry lives on another node.
    #[error("geometry `{name}`: the first endpoint of {task} must live on the node of its task")]
    LeaderAway {
        /// Name of the geometry.
        name: String,
        /// The task.
        task: TaskId,
    },
    /// A geometry that has endpoints on other nodes than their tasks, and does not know where.
    #[error(
        "geometry `{name}` has endpoints away from their tasks, expected one made with `on_network`"
    )]
    UnknownPlaces {
        /// Name of the geometry.
        name: String,
    },
    /// Two geometries of one number in a context.
    #[error("a geometry with number {number} has been joined already")]
    NumberInUse {
        /// The number.
        number: u16,
    },
    /// A geometry of a configuration file that cannot be made.
    #[error("{place}: {source}")]
    Configured {
        /// File and line.
        place: String,
        /// Why.
        source: Box<Error>,
    },
    /// A condition of an algorithm in a configuration file that cannot be.
    #[error(
        "condition {field} of an algorithm of geometry `{geometry}` is {value}, expected {expected}"
    )]
    Condition {
        /// Name of the geometry.
        geometry: String,
        /// Name of the condition.
        field: String,
        /// What it asks for.
        value: String,
        /// What it may ask for.
        expected: &'static str,
    },
    /// A name that means nothing.
    #[error("{what} `{name}` of geometry `{geometry}`, expected one of: {}", .known.join(", "))]
    UnknownName {
        /// Name of the geometry.
        geometry: String,
        /// What it should name.
        what: &'static str,
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<&'static str>,
    },
    /// A context that is none of the geometry's endpoints.
    #[error("context {context} of {task} is no endpoint of geometry `{name}`")]
    NoMember {
        /// Name of the geometry.
        name: String,
        /// Task of the context.
        task: TaskId,
        /// Offset of the context.
        context: u8,
    },
    /// A request that makes no sense.
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
        /// What it must be.
        expected: String,
    },
    /// A call of a group of threads that makes no sense.
    #[error("group of threads `{group}`: {field} is {value}, expected {expected}")]
    Thread {
        /// Name of the group.
        group: String,
        /// What is wrong.
        field: &'static str,
        /// Its value.
        value: u64,
        /// What it must be.
        expected: String,
    },
    /// A thread of a group that nobody knows where it runs.
    #[error("group of threads `{group}`: {source}")]
    ThreadPlace {
        /// Name of the group.
        group: String,
        /// Why not.
        source: PlaceError,
    },
    /// An operation that the type of the data does not have.
    #[error("operation {op} is not defined on {data}")]
    Operation {
        /// The operation.
        op: &'static str,
        /// The type.
        data: &'static str,
    },
    /// An operation of the user on elements of a size that there is not.
    #[error("operation {number} of the user: bytes of an element is {bytes}, expected 1 to 65535")]
    ElementBytes {
        /// Number of the operation.
        number: u16,
        /// Bytes of an element.
        bytes: usize,
    },
    /// An algorithm that is not in the list, or whose condition does not hold.
    #[error("algorithm {algorithm} of {collective}: {reason}")]
    Algorithm {
        /// The collective.
        collective: &'static str,
        /// The algorithm.
        algorithm: String,
        /// Why not.
        reason: String,
    },
    /// Routes of the collective network asked for by a geometry that has some, or that is taking them or
    /// giving them back.
    #[error("geometry `{geometry}` has routes of the collective network already")]
    Routes {
        /// Name of the geometry.
        geometry: String,
    },
    /// Members of a geometry called different collectives, or the same one with different arguments.
    #[error(
        "collective {sequence} of geometry `{geometry}`: {field} is {ours} here and {theirs} at rank {rank}"
    )]
    Disagreement {
        /// Name of the geometry.
        geometry: String,
        /// Number of the collective on the geometry, from 0.
        sequence: u32,
        /// What differs.
        field: &'static str,
        /// Value of this member.
        ours: u64,
        /// Value of the other.
        theirs: u64,
        /// The other.
        rank: u32,
    },
    /// Another member of the geometry has found a disagreement, or could not go on.
    #[error("collective {sequence} of geometry `{geometry}` was given up by rank {rank}")]
    GivenUp {
        /// Name of the geometry.
        geometry: String,
        /// Number of the collective on the geometry, from 0.
        sequence: u32,
        /// Who gave up.
        rank: u32,
    },
}

impl Error {
    /// The same, of what stands at `place` of a configuration file; the first place that is named stays.
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
