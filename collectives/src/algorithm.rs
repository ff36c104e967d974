//! Algorithms of a geometry: which there are, and when each is valid (EP-8).

use std::collections::BTreeMap;
use std::fmt;

use crate::error::Error;
use crate::geometry::Geometry;
use crate::hardware::{RoutesTaken, tree_operation};
use crate::node::Sharing;
use crate::reduction::{DataType, ReduceOp};
use crate::request::Collective;

/// Ways to carry out collectives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Algorithm {
    /// Every endpoint hears from all others in log2 rounds.
    Dissemination,
    /// A binomial tree of the tasks, from or to the root.
    Binomial,
    /// The root task's endpoints divide the work and do it in parallel, straight to or from every task
    /// (EP-10, EP-11, EP-12).
    EndpointParallel,
    /// Along the dimensions of the torus, one after the other: parts of the data in colours that use different
    /// links, piece by piece.
    DimensionPipelined,
    /// Data goes round a ring of the tasks, block by block.
    Ring,
    /// Tasks exchange what they have with the one at distance 1, 2, 4, ...
    RecursiveDoubling,
    /// To one end and back: a reduction or gather to the root, then a broadcast.
    ThereAndBack,
    /// In step `i` every task sends to the one `i` positions on.
    Pairwise,
    /// One position after the other.
    Linear,
    /// A tree along the affinity domains of each node, whose leaders a binomial tree joins (AF-5).
    Affinity,
    /// The tree of the collective network (HW-5): one endpoint of each node enters it, and works with the others of the
    /// node in memory that they share (HW-7).
    Tree,
    /// Endpoints of a node work together in memory that they share, one of them with those of other nodes (HW-7).
    SharedMemory,
}

impl Algorithm {
    /// All of them, in declaration order.
    pub const ALL: [Self; 12] = [
        Self::Dissemination,
        Self::Binomial,
        Self::EndpointParallel,
        Self::DimensionPipelined,
        Self::Ring,
        Self::RecursiveDoubling,
        Self::ThereAndBack,
        Self::Pairwise,
        Self::Linear,
        Self::Affinity,
        Self::Tree,
        Self::SharedMemory,
    ];

    /// Name, as configurations give it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dissemination => "dissemination",
            Self::Binomial => "binomial",
            Self::EndpointParallel => "endpoint_parallel",
            Self::DimensionPipelined => "dimension_pipelined",
            Self::Ring => "ring",
            Self::RecursiveDoubling => "recursive_doubling",
            Self::ThereAndBack => "there_and_back",
            Self::Pairwise => "pairwise",
            Self::Linear => "linear",
            Self::Affinity => "affinity",
            Self::Tree => "tree",
            Self::SharedMemory => "shared_memory",
        }
    }
}

/// What the validity of an algorithm may depend on: the same for all members of a geometry.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The geometry.
    pub geometry: &'a Geometry,
    /// The collective.
    pub collective: Collective,
    /// Position of the root.
    pub root: usize,
    /// Bytes of a block or of the combined vector; `None` when not every member knows them.
    pub bytes: Option<usize>,
    /// Type of the data that is combined.
    pub data: DataType,
    /// How it is combined.
    pub op: ReduceOp,
    /// What the geometry has of the collective network: [`Member::routes`](crate::Member::routes).
    pub routes: RoutesTaken,
    /// How its endpoints share nodes: [`Member::sharing`](crate::Member::sharing).
    pub sharing: Sharing,
}

/// A condition of an algorithm, all of which must hold. A condition on bytes does not hold while they are
/// unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// The number of tasks is a power of two.
    TasksPowerOfTwo,
    /// The number of endpoints is a power of two.
    EndpointsPowerOfTwo,
    /// The number of endpoints is even.
    EndpointsEven,
    /// The number of endpoints is odd.
    EndpointsOdd,
    /// There is one task on every node of the machine, and each of its dimensions is a ring.
    WholeTorus,
    /// The root's task has at least so many endpoints.
    RootEndpoints(usize),
    /// The places of the tasks are known, and some node has several.
    NodesShared,
    /// Some node has several of the endpoints, which share a segment of its memory.
    SharedMemory,
    /// All endpoints live on one node.
    OneNode,
    /// The endpoints live on several nodes.
    SeveralNodes,
    /// No node has several of the endpoints, or there are at most `bytes` bytes, or at most `each` for each task: one
    /// processor may combine the data of its node.
    LittleForNodes {
        /// Bytes.
        bytes: usize,
        /// Bytes for each task.
        each: usize,
    },
    /// All blocks have the same number of bytes.
    EqualBlocks,
    /// The order in which data is combined does not matter: any operation but [`ReduceOp::Copy`].
    Commutative,
    /// At least so many bytes.
    AtLeast(usize),
    /// At most so many bytes.
    AtMost(usize),
    /// A multiple of so many bytes.
    MultipleOf(usize),
    /// The geometry has a class route of the collective network (HW-9).
    ClassRoute,
    /// The geometry has a barrier route of the collective network (HW-9).
    BarrierRoute,
    /// The result arrives on the class route without a copy, or is no longer than the bytes given.
    Window(usize),
    /// The ALU of the collective network has the operation on the type.
    TreeOperation,
    /// The ALU of the collective network has it as software does: minimum and maximum of doubles differ in
    /// what they make of NaN, which the hardware leaves out.
    TreeNan,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TasksPowerOfTwo => "a number of tasks that is a power of two",
            Self::EndpointsPowerOfTwo => "a number of endpoints that is a power of two",
            Self::EndpointsEven => "an even number of endpoints",
            Self::EndpointsOdd => "an odd number of endpoints",
            Self::WholeTorus => "one task on every node of a torus",
            Self::RootEndpoints(least) => {
                return write!(f, "a root with at least {least} endpoints");
            }
            Self::NodesShared => "a node with several tasks",
            Self::SharedMemory => "a node with several endpoints that share memory",
            Self::OneNode => "that all endpoints live on one node",
            Self::SeveralNodes => "that the endpoints live on several nodes",
            Self::LittleForNodes { bytes, each } => {
                return write!(
                    f,
                    "at most {bytes} bytes, or {each} for each task, where nodes have several endpoints"
                );
            }
            Self::EqualBlocks => "that all blocks have the same length",
            Self::Commutative => "an operation whose order does not matter",
            Self::AtLeast(bytes) => return write!(f, "at least {bytes} bytes"),
            Self::AtMost(bytes) => return write!(f, "at most {bytes} bytes"),
            Self::MultipleOf(bytes) => return write!(f, "a multiple of {bytes} bytes"),
            Self::ClassRoute => "a class route of the collective network",
            Self::BarrierRoute => "a barrier route of the collective network",
            Self::Window(bytes) => {
                return write!(f, "a result that arrives without a copy, or has at most {bytes} bytes");
            }
            Self::TreeOperation => "an operation that the collective network has on the type",
            Self::TreeNan => "an operation that treats NaN as the collective network does",
        })
    }
}

impl Condition {
    /// Whether the condition holds.
    #[must_use]
    pub fn holds(self, query: &Query<'_>) -> bool {
        let endpoints = query.geometry.endpoints().len();
        match self {
            Self::TasksPowerOfTwo => query.geometry.tasks().len().is_power_of_two(),
            Self::EndpointsPowerOfTwo => endpoints.is_power_of_two(),
            Self::EndpointsEven => endpoints.is_multiple_of(2),
            Self::EndpointsOdd => !endpoints.is_multiple_of(2),
            Self::WholeTorus => query.geometry.torus().is_some(),
            Self::RootEndpoints(least) => query.geometry.ranks_of(query.root).len() >= least,
            Self::NodesShared => query.geometry.shares_nodes(),
            Self::SharedMemory => query.sharing.some,
            Self::OneNode => query.sharing.all,
            Self::SeveralNodes => !query.sharing.all,
            Self::LittleForNodes { bytes, each } => {
                let most = bytes.max(each * query.geometry.tasks().len());
                !query.sharing.some || Self::AtMost(most).holds(query)
            }
            Self::EqualBlocks => query.bytes.is_some(),
            Self::Commutative => query.op != ReduceOp::Copy,
            Self::AtLeast(least) => query.bytes.is_some_and(|bytes| bytes >= least),
            Self::AtMost(most) => query.bytes.is_some_and(|bytes| bytes <= most),
            Self::MultipleOf(unit) => query.bytes.is_some_and(|b| b.is_multiple_of(unit)),
            Self::ClassRoute => query.routes.class,
            Self::BarrierRoute => query.routes.barrier,
            Self::Window(most) => query.routes.window || Self::AtMost(most).holds(query),
            Self::TreeOperation => tree_operation(query.op, query.data).is_some(),
            Self::TreeNan => {
                query.data != DataType::F64 || !matches!(query.op, ReduceOp::Min | ReduceOp::Max)
            }
        }
    }
}

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

impl Entry {
    /// Whether the algorithm works.
    #[must_use]
    pub fn is_valid(&self, query: &Query<'_>) -> bool {
        self.requires.iter().all(|c| c.holds(query))
    }

    /// Whether the algorithm works and is wanted.
    #[must_use]
    pub fn check(&self, query: &Query<'_>) -> bool {
        self.is_valid(query) && self.when.iter().all(|c| c.holds(query))
    }
}

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

    /// The algorithm to use: the one named, if it is valid, or else the first that is valid and wanted.
    ///
    /// # Errors
    /// [`Error::Algorithm`].
    pub fn choose(&self, query: &Query<'_>, named: Option<Algorithm>) -> Result<Algorithm, Error> {
        let list = self.list(query.collective);
        let refuse = |algorithm: &str, reason: String| Error::Algorithm {
            collective: query.collective.name(),
            algorithm: algorithm.into(),
            reason,
        };
        let Some(named) = named else {
            let chosen = list.iter().find(|entry| entry.check(query));
            return chosen
                .map(|entry| entry.algorithm)
                .ok_or_else(|| refuse("of the list", "none is valid".into()));
        };
        let Some(entry) = list.iter().find(|entry| entry.algorithm == named) else {
            return Err(refuse(named.name(), "it is not in the list".into()));
        };
        match entry.requires.iter().find(|c| !c.holds(query)) {
            Some(condition) => Err(refuse(named.name(), format!("{condition} is needed"))),
            None => Ok(named),
        }
    }
}

/// From how many bytes on bandwidth matters more than the number of rounds.
const LONG: usize = 16 << 10;
/// Up to how many bytes it hardly matters how often a block is sent on.
const SHORT: usize = 256;

/// Up to how many bytes a transfer on the tree is worth its copies.
const COPIED: usize = 4 << 10;

/// Up to how many bytes the first of a node combines the data of those there faster than all of them together; the same
/// for each task: `gyre bench allreduce --shape 2x2x1 --set tasks=8`, and other shapes and numbers of tasks.
const LITTLE: Condition = Condition::LittleForNodes {
    bytes: 20 << 10,
    each: 2 << 10,
};

fn defaults(collective: Collective) -> Vec<Entry> {
    use Algorithm as A;
    use Condition as C;
    let entry = |algorithm, requires: &[Condition], when: &[Condition]| Entry {
        algorithm,
        requires: requires.to_vec(),
        when: when.to_vec(),
    };
    match collective {
        Collective::Barrier => vec![
            entry(A::Tree, &[C::BarrierRoute], &[C::SeveralNodes]),
            entry(A::SharedMemory, &[C::SharedMemory], &[]),
            entry(A::Affinity, &[C::NodesShared], &[]),
            entry(A::Dissemination, &[], &[]),
        ],
        Collective::Broadcast => vec![
            entry(A::DimensionPipelined, &[C::WholeTorus], &[C::AtLeast(LONG)]),
            entry(
                A::Tree,
                &[C::ClassRoute, C::BarrierRoute],
                &[C::SeveralNodes, C::Window(COPIED)],
            ),
            entry(
                A::EndpointParallel,
                &[],
                &[C::SeveralNodes, C::RootEndpoints(2), C::AtLeast(LONG)],
            ),
            entry(A::SharedMemory, &[C::SharedMemory], &[]),
            entry(A::Affinity, &[C::NodesShared], &[C::AtMost(SHORT)]),
            entry(A::Binomial, &[], &[]),
        ],
        Collective::Scatter | Collective::Gather => vec![
            entry(A::Binomial, &[C::EqualBlocks], &[C::AtMost(SHORT)]),
            entry(A::EndpointParallel, &[], &[]),
        ],
        Collective::Allgather => vec![
            entry(
                A::RecursiveDoubling,
                &[C::TasksPowerOfTwo, C::EqualBlocks],
                &[C::AtMost(LONG)],
            ),
            entry(A::ThereAndBack, &[C::EqualBlocks], &[C::AtMost(SHORT)]),
            entry(A::Ring, &[], &[]),
        ],
        Collective::Reduce => vec![
            entry(
                A::Tree,
                &[C::ClassRoute, C::TreeOperation],
                &[C::SeveralNodes, C::Window(COPIED), C::TreeNan],
            ),
            entry(A::SharedMemory, &[C::SharedMemory, C::Commutative], &[]),
            entry(
                A::Affinity,
                &[C::NodesShared, C::Commutative],
                &[C::AtMost(SHORT)],
            ),
            entry(A::Binomial, &[C::Commutative], &[]),
            entry(A::Linear, &[], &[]),
        ],
        Collective::Allreduce => vec![
            entry(
                A::Tree,
                &[C::ClassRoute, C::TreeOperation],
                &[C::SeveralNodes, LITTLE, C::Window(COPIED), C::TreeNan],
            ),
            entry(
                A::SharedMemory,
                &[C::SharedMemory, C::Commutative],
                &[LITTLE],
            ),
            entry(A::Ring, &[C::Commutative], &[C::AtLeast(LONG)]),
            entry(
                A::Affinity,
                &[C::NodesShared, C::Commutative],
                &[C::AtMost(SHORT)],
            ),
            entry(A::RecursiveDoubling, &[], &[]),
            entry(A::ThereAndBack, &[], &[]),
        ],
        Collective::Alltoall => vec![
            entry(A::Linear, &[], &[C::AtMost(SHORT)]),
            entry(A::Pairwise, &[], &[]),
        ],
        Collective::Scan => vec![
            entry(A::RecursiveDoubling, &[], &[C::AtMost(LONG)]),
            entry(A::Linear, &[], &[]),
        ],
        Collective::ReduceScatter => vec![
            entry(A::Ring, &[C::Commutative], &[C::AtLeast(LONG)]),
            entry(A::Pairwise, &[], &[]),
        ],
    }
}
