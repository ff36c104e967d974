// SPDX-License-Identifier: MIT OR Apache-2.0
//! Algorithms of collectives.

use strum::{IntoStaticStr, VariantArray};

/// Algorithms of collectives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
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
    /// All variants, in declaration order.
    pub const ALL: [Self; Self::VARIANTS.len()] =
        *Self::VARIANTS.first_chunk().expect("all variants");

    /// Name, as configurations give it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}
