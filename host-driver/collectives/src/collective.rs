// SPDX-License-Identifier: MIT OR Apache-2.0
//! The collectives.

/// The collectives (EP-13). The vector forms are those with [`Blocks::Listed`](crate::Blocks::Listed).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// All of them, in declaration order.
    pub const ALL: [Self; 10] = [
        Self::Barrier,
        Self::Broadcast,
        Self::Scatter,
        Self::Gather,
        Self::Allgather,
        Self::Reduce,
        Self::Allreduce,
        Self::Alltoall,
        Self::Scan,
        Self::ReduceScatter,
    ];

    /// Name, as configurations give it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Broadcast => "broadcast",
            Self::Scatter => "scatter",
            Self::Gather => "gather",
            Self::Allgather => "allgather",
            Self::Reduce => "reduce",
            Self::Allreduce => "allreduce",
            Self::Alltoall => "alltoall",
            Self::Scan => "scan",
            Self::ReduceScatter => "reduce_scatter",
        }
    }
}
