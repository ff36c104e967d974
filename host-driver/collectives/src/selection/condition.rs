// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conditions of algorithms.

use std::fmt;

/// A condition of an algorithm. A condition on bytes does not hold if they are unknown.
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
    /// Every node of the machine has one task, and each dimension is a ring.
    WholeTorus,
    /// The root's task has at least this many endpoints.
    RootEndpoints(usize),
    /// The places of the tasks are known, and some node has several tasks.
    NodesShared,
    /// Some node has several endpoints, which share a segment of its memory.
    SharedMemory,
    /// All endpoints live on one node.
    OneNode,
    /// The endpoints live on several nodes.
    SeveralNodes,
    /// No node has several endpoints, or one processor can combine the data of its node fast enough: for nodes of n
    /// tasks, at most this many bytes for each task of the geometry, divided by 2n - 3.
    LittleForNodes(usize),
    /// All blocks have the same number of bytes.
    EqualBlocks,
    /// The operation is commutative: any built-in one but [`ReduceOp::Copy`](crate::ReduceOp::Copy), or a commutative
    /// user operation.
    Commutative,
    /// Elements have at most this many bytes.
    ElementAtMost(usize),
    /// At least this many bytes.
    AtLeast(usize),
    /// At least this many bytes for each endpoint.
    AtLeastEach(usize),
    /// At most this many bytes.
    AtMost(usize),
    /// A multiple of this many bytes.
    MultipleOf(usize),
    /// Buffers aligned to this many bytes at all members, by [`Request::aligned`](crate::Request::aligned).
    Aligned(usize),
    /// The geometry has a class route of the collective network (HW-9).
    ClassRoute,
    /// The geometry has a barrier route of the collective network (HW-9).
    BarrierRoute,
    /// The result arrives on the class route without a copy, or has at most this many bytes.
    Window(usize),
    /// The ALU of the collective network supports the operation on the type.
    TreeOperation,
    /// The ALU of the collective network treats NaN like software: not for minimum and maximum of doubles, where the
    /// hardware ignores NaN.
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
            Self::LittleForNodes(each) => {
                return write!(
                    f,
                    "at most {each} bytes for each task where nodes have two, fewer where they have more"
                );
            }
            Self::EqualBlocks => "that all blocks have the same length",
            Self::Commutative => "an operation whose order does not matter",
            Self::ElementAtMost(bytes) => return write!(f, "elements of at most {bytes} bytes"),
            Self::AtLeast(bytes) => return write!(f, "at least {bytes} bytes"),
            Self::AtLeastEach(bytes) => {
                return write!(f, "at least {bytes} bytes for each endpoint");
            }
            Self::AtMost(bytes) => return write!(f, "at most {bytes} bytes"),
            Self::Aligned(bytes) => return write!(f, "buffers at multiples of {bytes} bytes"),
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
