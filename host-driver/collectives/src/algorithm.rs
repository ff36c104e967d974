//! Algorithms of collectives.

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
