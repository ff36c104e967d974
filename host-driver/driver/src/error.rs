// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of the driver.

use gyre_firmware::NodeError;
use gyre_layout::{Coord, ErrorReason, LayoutError};

use crate::ack::config::AckConfigError;
use crate::platform::{AllocError, BusError, RangeError, SegmentError};
use crate::task::{Rank, TaskId};

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
    /// No shared segment.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// An acknowledgement configuration that cannot be used.
    #[error(transparent)]
    Ack(#[from] AckConfigError),
    /// A range leaves its buffer.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// A value that does not fit into a descriptor or header, or a malformed packet in a reception FIFO.
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
    /// A task that occurs more than once in the group of a communicator.
    #[error("communicator {comm}: {task} is in its group twice")]
    GroupTask {
        /// The communicator.
        comm: u32,
        /// The task.
        task: TaskId,
    },
    /// A communicator that is in use with another group.
    #[error("communicator {comm} is in use with another group")]
    CommunicatorInUse {
        /// The communicator.
        comm: u32,
    },
    /// A rank that the group of a communicator does not have.
    #[error("{rank} is not in the group of communicator {comm}, which has {ranks} ranks")]
    UnknownRank {
        /// The communicator.
        comm: u32,
        /// The rank.
        rank: Rank,
        /// Ranks of the group.
        ranks: usize,
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
    /// A context of this node that does not exist, or no longer exists (shared memory).
    #[error("context {offset} of {task} is not open on this node")]
    ContextNotOpen {
        /// Its task.
        task: TaskId,
        /// Its offset.
        offset: u8,
    },
    /// Two processes of a node have created the same context.
    #[error("context {offset} of {task} is open in another process of this node")]
    ContextElsewhere {
        /// Its task.
        task: TaskId,
        /// Its offset.
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
    /// A node with too little of a resource for its processes.
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
    /// An invalid value of a client configuration.
    #[error("client `{client}`: {field} is {value}, expected {expected}")]
    Config {
        /// Name of the client.
        client: String,
        /// Field of [`ClientConfig`](crate::ClientConfig) or [`Resources`](crate::Resources).
        field: &'static str,
        /// Its value.
        value: u64,
        /// Expected value.
        expected: &'static str,
    },
    /// Contexts of a task that cannot live on the given node.
    #[error(
        "contexts {first}..{end} of {task} cannot live on node {node}: expected a range from 1 on without contexts \
         placed already, and a node where the task has no process"
    )]
    Away {
        /// The task.
        task: TaskId,
        /// First context.
        first: u8,
        /// One past the last context.
        end: u8,
        /// The node.
        node: Coord,
    },
    /// A node without a process of a task.
    #[error("{task} has no process on node {node}")]
    NoProcess {
        /// The task.
        task: TaskId,
        /// The node.
        node: Coord,
    },
    /// A context that lives on another node.
    #[error("context {offset} of {task} does not live on node {node}")]
    ContextAway {
        /// Its task.
        task: TaskId,
        /// Its offset.
        offset: u8,
        /// The node where it should have been created.
        node: Coord,
    },
    /// A memory region in a process on another node than its task: peers would look for it with the task.
    #[error("a memory region of {task} on node {node}, which is not the task's")]
    RegionAway {
        /// The task.
        task: TaskId,
        /// The node.
        node: Coord,
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
    /// A message longer than a header can hold.
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
    /// Eager data of a message whose receive is deferred, without room to hold it.
    #[error(
        "{bytes} bytes of a message whose receive is deferred, beside {held} bytes held: the limit is {limit}"
    )]
    HeldMemory {
        /// Bytes of the message.
        bytes: usize,
        /// Bytes held already.
        held: usize,
        /// Most bytes that may be.
        limit: usize,
    },
    /// A transfer on a class route whose range has another length.
    #[error("a range of {range} bytes in a transfer of {bytes} bytes on a class route")]
    CollnetLength {
        /// Bytes of the range.
        range: usize,
        /// Bytes of the transfer.
        bytes: usize,
    },
    /// Routes that lack the one that is needed.
    #[error("the node is no member of a {kind} route of these routes")]
    NoCollnetRoute {
        /// Class or barrier.
        kind: &'static str,
    },
    /// The receive was cancelled before a message matched it.
    #[error("the receive was cancelled")]
    Cancelled,
    /// An operation that the protocols of this driver do not support.
    #[error("not supported: {what}")]
    Unsupported {
        /// Operation that was requested.
        what: &'static str,
    },
    /// A header, or an immediate message, that does not fit into one packet.
    #[error("{what} of {bytes} bytes, expected at most {limit}")]
    PacketLength {
        /// Name of the message or header.
        what: &'static str,
        /// Its bytes.
        bytes: usize,
        /// Most it may have.
        limit: usize,
    },
    /// A dispatch identifier that belongs to the driver.
    #[error("dispatch identifier {id} belongs to the driver, expected 0 to 223")]
    ReservedDispatch {
        /// The identifier.
        id: u8,
    },
    /// A transfer that leaves the memory region.
    #[error(
        "bytes {offset}..{} leave a memory region of {len} bytes of {task}", .offset.saturating_add(*.bytes)
    )]
    RegionBounds {
        /// Owner of the region.
        task: TaskId,
        /// First byte of the transfer.
        offset: u64,
        /// Its bytes.
        bytes: u64,
        /// Bytes of the region.
        len: u64,
    },
    /// A transfer that the memory region does not allow.
    #[error("the memory region of {task} does not allow {what}")]
    RegionRights {
        /// Owner of the region.
        task: TaskId,
        /// Operation that was requested.
        what: &'static str,
    },
    /// A memory region of another task than the endpoint's.
    #[error("the memory region belongs to {found}, the endpoint to {expected}")]
    RegionTask {
        /// Task of the endpoint.
        expected: TaskId,
        /// Task of the region.
        found: TaskId,
    },
    /// A word of a read-modify-write that does not lie at a multiple of its width.
    #[error(
        "read-modify-write of {width} bytes at offset {offset}, expected a multiple of {width}"
    )]
    RmwAlignment {
        /// Byte offset in the region.
        offset: u64,
        /// Bytes of the word.
        width: usize,
    },
    /// A result buffer of a read-modify-write with another size than the word.
    #[error("result of {bytes} bytes for a read-modify-write of {width} bytes")]
    RmwResult {
        /// Bytes of the result.
        bytes: usize,
        /// Bytes of the word.
        width: usize,
    },
    /// A memory region for read-modify-writes that does not begin at a multiple of 8.
    #[error(
        "memory region at address {address:#x}, expected a multiple of 8 for read-modify-writes"
    )]
    RegionAlignment {
        /// Address of its first byte.
        address: u64,
    },
    /// A memory region without any byte.
    #[error("a memory region of 0 bytes, expected at least 1")]
    EmptyRegion,
    /// All base slots of the process are in use.
    #[error("client `{client}`: all {slots} base slots of the process are in use")]
    RegionSlots {
        /// Name of the client.
        client: String,
        /// Slots of the process.
        slots: usize,
    },
    /// Bytes that do not encode a memory region.
    #[error(
        "encoded memory region: {field} is {value:#x}, expected 0 in the bits that have no meaning"
    )]
    RegionEncoding {
        /// Field of the encoding.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// Data to be read as elements of a type that is not a whole number of them.
    #[error("{bytes} bytes of data, expected a multiple of {element}, the bytes of an element")]
    ElementLength {
        /// Bytes of the data.
        bytes: usize,
        /// Bytes of an element.
        element: usize,
    },
    /// A byte counter that is armed already.
    #[error("the byte counter waits for bytes already, expected one at zero")]
    CounterArmed,
    /// A byte counter of another node than the endpoint's.
    #[error(
        "the byte counter of {task} is on another node than {destination}, the destination of the put"
    )]
    CounterAway {
        /// Task of the counter.
        task: TaskId,
        /// Task of the endpoint.
        destination: TaskId,
    },
    /// Bytes that do not encode a [`RemoteCounter`](crate::RemoteCounter).
    #[error(
        "encoded byte counter: {field} is {value:#x}, expected 0 in the bits that have no meaning"
    )]
    CounterEncoding {
        /// Field of the encoding.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// The counters of a context lie beyond the addresses that puts can name.
    #[error("counters at bytes {offset}..{} of their slot, expected below 2^25: create contexts first", .offset + *.bytes as u64)]
    CounterReach {
        /// Byte offset in the slot.
        offset: u64,
        /// Bytes of the counters.
        bytes: usize,
    },
    /// A malformed control message; it is dropped.
    #[error("{message} from {origin}: {field} is {value}, expected {expected}")]
    ControlMessage {
        /// Sender.
        origin: TaskId,
        /// Which message.
        message: &'static str,
        /// Field of the message.
        field: &'static str,
        /// Its value.
        value: u64,
        /// Expected value.
        expected: &'static str,
    },
    /// An acknowledgement without a waiting operation: it came twice, or was never requested.
    #[error("acknowledgement {cookie} from {origin}: nothing waits for it")]
    UnknownCookie {
        /// Sender.
        origin: TaskId,
        /// The cookie.
        cookie: u32,
    },
    /// The node of the peer refused the request of a get.
    #[error("the node of {peer} refused a get: {}", Reason(.reason))]
    RemoteRefused {
        /// The peer.
        peer: TaskId,
        /// Why, or the code if it has no meaning.
        reason: Result<ErrorReason, u8>,
    },
    /// The node of the peer refused messages to it: this one, or others, so that whether this one has arrived is
    /// not known. Or it refused more packets than it could keep while the peer's context was not open.
    #[error("the node of {peer} refused messages to its context {context}: {}", Reason(.reason))]
    MessagesRefused {
        /// The peer.
        peer: TaskId,
        /// Offset of its context.
        context: u8,
        /// Why, or the code if it has no meaning.
        reason: Result<ErrorReason, u8>,
    },
    /// The node of this task refused data of a get: the missing data will not come.
    #[error("this node refused data of a get from {peer}")]
    GetDataRefused {
        /// Task that holds the data.
        peer: TaskId,
    },
    /// Data of gets was refused so often that the context has no safe byte counter left.
    #[error("no byte counter is left: data of so many gets has been refused")]
    NoCounters,
    /// A descriptor that arrived by remote get was refused; its requester has been told if it is known.
    #[error("remote-get FIFO {fifo} refused a descriptor: {}", Reason(.reason))]
    RemoteDescriptor {
        /// The FIFO.
        fifo: u16,
        /// Why, or the code if it has no meaning.
        reason: Result<ErrorReason, u8>,
    },
    /// The peer could not find out whether everything before the fence has completed.
    #[error("the fence failed at {peer}")]
    FenceFailed {
        /// The peer.
        peer: TaskId,
    },
    /// A peer that has not received the data of a message.
    #[error("{peer} could not fetch the data of a message: it has not been received")]
    NotFetched {
        /// The peer.
        peer: TaskId,
    },
    /// The node of the peer refused puts: this one, or some before this fence. Or it refused more packets than it can
    /// attribute.
    #[error("the node of {peer} refused puts: they have not been carried out")]
    PutsRefused {
        /// The peer.
        peer: TaskId,
    },
    /// The node of the peer refused a read-modify-write, or could not carry it out.
    #[error("the node of {peer} refused a read-modify-write: it has not been carried out")]
    RmwRefused {
        /// The peer.
        peer: TaskId,
    },
    /// `advance` was called from a callback of the same context.
    #[error("a callback called advance: callbacks run in advance and may only start operations")]
    AdvanceInCallback,
    /// Two threads advance one context: take its lock first.
    #[error("the context is being advanced by another thread: take its lock first")]
    Busy,
    /// The context has been destroyed.
    #[error("the context has been destroyed")]
    Destroyed,
    /// The context was destroyed with work left, which was given up.
    #[error(
        "the context was destroyed with work left: {posted} instructions posted, {waiting} sends waiting, {in_flight} descriptors in flight, {arriving} messages arriving, {operations} operations under way"
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
        /// Gets, fences, and sends and puts that have not been acknowledged, and acknowledgements owed.
        operations: usize,
    },
    /// A dispatch identifier that has a callback already.
    #[error("dispatch identifier {id} has a callback already")]
    DispatchInUse {
        /// The identifier.
        id: u8,
    },
    /// A put for a dispatch identifier without callback; its data is in memory.
    #[error(
        "put of {length} bytes from {origin} for dispatch identifier {id}, which has no callback for puts"
    )]
    UnknownPutDispatch {
        /// The identifier.
        id: u8,
        /// Task of the origin.
        origin: TaskId,
        /// Bytes of the put.
        length: usize,
    },
    /// A message for a dispatch identifier without callback; it is dropped.
    #[error(
        "message of {length} bytes from {origin} for dispatch identifier {id}, which has no callback"
    )]
    UnknownDispatch {
        /// The identifier.
        id: u8,
        /// Sender.
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
        /// Sender.
        origin: TaskId,
        /// Field of the header.
        field: &'static str,
        /// Its value.
        value: u64,
        /// Expected value.
        expected: u64,
    },
    /// A register of a FIFO with an impossible value: the hardware or its set-up is broken.
    #[error("{register} of FIFO {fifo} is {value:#x}: {reason}")]
    Register {
        /// The register.
        register: &'static str,
        /// The FIFO.
        fifo: u16,
        /// Value read.
        value: u64,
        /// Fault of the value.
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

/// A boxed [`Error`]: results of inner functions have the size of a word.
pub(crate) type Fault = Box<Error>;

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        *fault
    }
}

/// Errors that convert into a [`Fault`].
macro_rules! faults {
    ($($cause:ty),*) => {
        $(impl From<$cause> for Fault {
            #[cold]
            fn from(cause: $cause) -> Self {
                Self::new(cause.into())
            }
        })*
    };
}

faults!(
    BusError,
    AllocError,
    SegmentError,
    AckConfigError,
    RangeError,
    LayoutError
);

struct Reason<'a>(&'a Result<ErrorReason, u8>);

impl core::fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            Ok(reason) => write!(f, "{reason}"),
            Err(code) => write!(f, "code {code:#04x}"),
        }
    }
}
