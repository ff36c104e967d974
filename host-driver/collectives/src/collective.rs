// SPDX-License-Identifier: MIT OR Apache-2.0
//! The collectives.

use strum::{IntoStaticStr, VariantArray};

/// The collectives (EP-13). The vector forms are those with [`Blocks::Listed`](crate::Blocks::Listed).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[repr(u8)]
pub enum Collective {
    /// No endpoint leaves before all have entered.
    Barrier,
    /// The root's receive buffer goes to all.
    Broadcast,
    /// Block `i` of the root's send buffer goes to position `i`.
    Scatter,
    /// The send buffer of position `i` becomes block `i` of the root's receive buffer.
    Gather,
    /// Gather to all positions.
    Allgather,
    /// The send buffers are combined into the root's receive buffer.
    Reduce,
    /// The send buffers are combined into all receive buffers.
    Allreduce,
    /// Block `i` of the send buffer of position `j` becomes block `j` of the receive buffer of position `i`.
    Alltoall,
    /// The send buffers of positions 0 to `i` are combined into the receive buffer of position `i`.
    Scan,
    /// The send buffers are combined; position `i` gets block `i`.
    ReduceScatter,
}

impl Collective {
    /// All variants, in declaration order.
    pub const ALL: [Self; Self::VARIANTS.len()] =
        *Self::VARIANTS.first_chunk().expect("all variants");

    /// Name, as configurations give it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}
