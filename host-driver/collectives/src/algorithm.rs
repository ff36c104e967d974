// SPDX-License-Identifier: MIT OR Apache-2.0
//! Algorithms of collectives.

/// Algorithms of collectives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Algorithm {
    /// Dissemination among all endpoints in log2 rounds.
    Dissemination,
    /// A binomial tree of the tasks, from or to the root.
    Binomial,
    /// The root task's endpoints divide the direct transfers to or from every task (EP-10, EP-11, EP-12).
    EndpointParallel,
    /// Pipelined along the dimensions of the torus, in colours that share no links.
    DimensionPipelined,
    /// Data goes round a ring of the tasks, block by block.
    Ring,
    /// Exchanges between tasks at distance 1, 2, 4, ...
    RecursiveDoubling,
    /// A reduction or gather to one end, then a broadcast.
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
