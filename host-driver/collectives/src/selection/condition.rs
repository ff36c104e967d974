// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conditions of algorithms.

use strum::Display;

/// A condition of an algorithm. A condition on bytes does not hold if they are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
pub enum Condition {
    /// The number of tasks is a power of two.
    #[strum(to_string = "a number of tasks that is a power of two")]
    TasksPowerOfTwo,
    /// The number of endpoints is a power of two.
    #[strum(to_string = "a number of endpoints that is a power of two")]
    EndpointsPowerOfTwo,
    /// The number of endpoints is even.
    #[strum(to_string = "an even number of endpoints")]
    EndpointsEven,
    /// The number of endpoints is odd.
    #[strum(to_string = "an odd number of endpoints")]
    EndpointsOdd,
    /// Every node of the machine has one task, and each dimension is a ring.
    #[strum(to_string = "one task on every node of a torus")]
    WholeTorus,
    /// The root's task has at least this many endpoints.
    #[strum(to_string = "a root with at least {0} endpoints")]
    RootEndpoints(usize),
    /// The places of the tasks are known, and some node has several tasks.
    #[strum(to_string = "a node with several tasks")]
    NodesShared,
    /// Some node has several endpoints, which share a segment of its memory.
    #[strum(to_string = "a node with several endpoints that share memory")]
    SharedMemory,
    /// All endpoints live on one node.
    #[strum(to_string = "that all endpoints live on one node")]
    OneNode,
    /// The endpoints live on several nodes.
    #[strum(to_string = "that the endpoints live on several nodes")]
    SeveralNodes,
    /// No node has several endpoints, or one processor can combine the data of its node fast enough: for nodes of n
    /// tasks, at most this many bytes for each task of the geometry, divided by 2n - 3.
    #[strum(
        to_string = "at most {0} bytes for each task where nodes have two, fewer where they have more"
    )]
    IntraNodeCombineAtMost(usize),
    /// All blocks have the same number of bytes.
    #[strum(to_string = "that all blocks have the same length")]
    EqualBlocks,
    /// The operation is commutative: any built-in one but [`ReduceOp::Copy`](crate::ReduceOp::Copy), or a commutative
    /// user operation.
    #[strum(to_string = "an operation whose order does not matter")]
    Commutative,
    /// Elements have at most this many bytes.
    #[strum(to_string = "elements of at most {0} bytes")]
    ElementAtMost(usize),
    /// At least this many bytes.
    #[strum(to_string = "at least {0} bytes")]
    AtLeast(usize),
    /// At least this many bytes for each endpoint.
    #[strum(to_string = "at least {0} bytes for each endpoint")]
    AtLeastEach(usize),
    /// At most this many bytes.
    #[strum(to_string = "at most {0} bytes")]
    AtMost(usize),
    /// A multiple of this many bytes.
    #[strum(to_string = "a multiple of {0} bytes")]
    MultipleOf(usize),
    /// Buffers aligned to this many bytes at all members, by [`Request::aligned`](crate::Request::aligned).
    #[strum(to_string = "buffers at multiples of {0} bytes")]
    Aligned(usize),
    /// The geometry has a class route of the collective network (HW-9).
    #[strum(to_string = "a class route of the collective network")]
    ClassRoute,
    /// The geometry has a barrier route of the collective network (HW-9).
    #[strum(to_string = "a barrier route of the collective network")]
    BarrierRoute,
    /// The result arrives on the class route without a copy, or has at most this many bytes.
    #[strum(to_string = "a result that arrives without a copy, or has at most {0} bytes")]
    Window(usize),
    /// The ALU of the collective network supports the operation on the type.
    #[strum(to_string = "an operation that the collective network has on the type")]
    TreeOperation,
    /// The ALU of the collective network treats NaN like software: not for minimum and maximum of doubles, where the
    /// hardware ignores NaN.
    #[strum(to_string = "an operation that treats NaN as the collective network does")]
    TreeNan,
}
