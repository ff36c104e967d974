//! Conditions of algorithms.

use std::fmt;

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
    /// No node has several of the endpoints, or there are few enough bytes that one processor may combine the data of its
    /// node: where nodes have two tasks, at most so many for each task of the geometry; where they have n, one (2n - 3)th of
    /// that.
    LittleForNodes(usize),
    /// All blocks have the same number of bytes.
    EqualBlocks,
    /// The order in which data is combined does not matter: any built-in operation but
    /// [`ReduceOp::Copy`](crate::ReduceOp::Copy), and what the user calls commutative.
    Commutative,
    /// Elements that are combined have at most so many bytes.
    ElementAtMost(usize),
    /// At least so many bytes.
    AtLeast(usize),
    /// At least so many bytes for each endpoint.
    AtLeastEach(usize),
    /// At most so many bytes.
    AtMost(usize),
    /// A multiple of so many bytes.
    MultipleOf(usize),
    /// Buffers whose addresses are multiples of so many bytes at all members: what the request says of them,
    /// [`Request::aligned`](crate::Request::aligned).
    Aligned(usize),
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
