//! What the driver can answer instead of doing.

use gyre_firmware::NodeError;
use gyre_layout::{Coord, ErrorReason, LayoutError};

use crate::platform::{AllocError, BusError, RangeError};
use crate::task::TaskId;

/// An operation that cannot be done, or has failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A register access was refused.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// A FIFO cannot be set up.
    #[error("set-up of {what}: {cause}")]
    SetUp {
        /// The resource.
        what: &'static str,
        /// The firmware's answer.
        cause: NodeError<BusError>,
    },
    /// No DMA memory.
    #[error(transparent)]
    Alloc(#[from] AllocError),
    /// A range leaves its buffer.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// A value does not fit into a descriptor or header, or a packet in a reception FIFO is none.
    #[error("packet or descriptor: {0}")]
    Layout(#[from] LayoutError),
    /// A task that is not in the client's task list.
    #[error("{task} is not in a task list of {tasks} tasks")]
    UnknownTask {
        /// The task.
        task: TaskId,
        /// Tasks in the list.
        tasks: usize,
    },
    /// A context offset that the tasks of the client do not have.
    #[error("context offset {offset}: the tasks of client `{client}` have {contexts} contexts")]
    UnknownContext {
        /// Name of the client.
        client: String,
        /// The offset.
        offset: u8,
        /// Contexts of each task.
        contexts: u8,
    },
    /// A context that has been created already.
    #[error("context {offset} of client `{client}` exists already")]
    ContextExists {
        /// Name of the client.
        client: String,
        /// The offset.
        offset: u8,
    },
    /// An endpoint of another client.
    #[error("endpoint of client {found}, used in client {expected}")]
    ForeignEndpoint {
        /// Client of the context.
        expected: u8,
        /// Client of the endpoint.
        found: u8,
    },
    /// A node has not enough of a resource for its processes.
    #[error(
        "client `{client}`: {what} {first}..{end} are needed for {processes} processes with {contexts} contexts, the node has {available}"
    )]
    Resources {
        /// Name of the client.
        client: String,
        /// The resource.
        what: &'static str,
        /// First number needed.
        first: u32,
        /// One past the last number needed.
        end: u32,
        /// Processes on the node.
        processes: u32,
        /// Contexts of each process.
        contexts: u32,
        /// How many the node has.
        available: u32,
    },
    /// A client configuration value that makes no sense.
    #[error("client `{client}`: {field} is {value}, expected {expected}")]
    Config {
        /// Name of the client.
        client: String,
        /// Field of [`ClientConfig`](crate::ClientConfig) or [`Resources`](crate::Resources).
        field: &'static str,
        /// Its value.
        value: u64,
        /// What it must be.
        expected: &'static str,
    },
    /// More tasks of a client on one node than a packet can name.
    #[error("more than 256 tasks of one client on node {node}")]
    TooManyProcesses {
        /// The node.
        node: Coord,
    },
    /// More tasks than a task number can name.
    #[error("more than 2^32 - 1 tasks")]
    TooManyTasks,
    /// A message longer than a header can say.
    #[error("message of {bytes} bytes, expected at most {}", u32::MAX)]
    MessageLength {
        /// Bytes of the message.
        bytes: usize,
    },
    /// A message longer than the buffer of its receive.
    #[error("message of {message} bytes for a receive of {receive} bytes")]
    MessageTooLong {
        /// Bytes of the message.
        message: usize,
        /// Bytes of the receive.
        receive: usize,
    },
    /// Asked for something that the protocols of this driver do not do.
    #[error("not supported: {what}")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
    },
    /// `advance` was called from a callback of the same context.
    #[error("a callback called advance: callbacks run in advance and may only start operations")]
    AdvanceInCallback,
    /// Two threads advance one context: take its lock first.
    #[error("the context is being advanced by another thread: take its lock first")]
    Busy,
    /// `unlock` of a context that is not locked.
    #[error("unlock of a context that is not locked")]
    NotLocked,
    /// The context has been destroyed.
    #[error("the context has been destroyed")]
    Destroyed,
    /// The context still has work: it cannot be destroyed.
    #[error(
        "the context has work left: {posted} instructions posted, {waiting} sends waiting, {in_flight} descriptors in flight, {arriving} messages arriving"
    )]
    WorkLeft {
        /// Instructions on the work queue.
        posted: usize,
        /// Sends that wait for room in an injection FIFO.
        waiting: usize,
        /// Descriptors handed to the DMA engine and not completed.
        in_flight: usize,
        /// Messages of which some packets have arrived.
        arriving: usize,
    },
    /// A dispatch identifier that has a callback already.
    #[error("dispatch identifier {id} has a callback already")]
    DispatchInUse {
        /// The identifier.
        id: u8,
    },
    /// A message for a dispatch identifier without callback; it is dropped.
    #[error(
        "message of {length} bytes from {origin} for dispatch identifier {id}, which has no callback"
    )]
    UnknownDispatch {
        /// The identifier.
        id: u8,
        /// Who sent it.
        origin: TaskId,
        /// Bytes of the message.
        length: usize,
    },
    /// A packet from a place where no task of the client lives; it is dropped.
    #[error("packet from process {process} on node {node}, where no task of the client lives")]
    UnknownOrigin {
        /// Source node of the packet.
        node: Coord,
        /// Process named in the packet.
        process: u8,
    },
    /// A packet that does not continue its message; it is dropped, and the message with it.
    #[error("packet from {origin}: {field} is {value}, expected {expected}")]
    PacketOrder {
        /// Who sent it.
        origin: TaskId,
        /// Field of the header.
        field: &'static str,
        /// Its value.
        value: u64,
        /// What it must be.
        expected: u64,
    },
    /// A register of a FIFO went where it cannot go: the hardware or its set-up is broken.
    #[error("{register} of FIFO {fifo} is {value:#x}: {reason}")]
    Register {
        /// The register.
        register: &'static str,
        /// The FIFO.
        fifo: u16,
        /// Value read.
        value: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The DMA engine refused the descriptor of a send; nothing of the message has left, or not all.
    #[error("injection FIFO {fifo} refused a descriptor: {}", Reason(.reason))]
    Descriptor {
        /// The FIFO.
        fifo: u16,
        /// Why, or the code if it has no meaning.
        reason: Result<ErrorReason, u8>,
    },
}

struct Reason<'a>(&'a Result<ErrorReason, u8>);

impl core::fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            Ok(reason) => write!(f, "{reason}"),
            Err(code) => write!(f, "code {code:#04x}"),
        }
    }
}
