// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work for a context (EP-3, EP-4).
//!
//! The operations are generic over their done callback `D`, and over the function `C` of a call. A post takes the
//! callbacks out; protocols get [their numbers](crate::done_table) beside the operation.

use crate::buffer::{BufferRange, RemoteAddress};
use crate::collnet::routes::CollnetRoutes;
use crate::done_table::DoneId;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::platform::Platform;
use crate::region::RemoteRegion;
use crate::rma::notify::PutNotify;
use crate::rma::target_counter::TargetCounter;
use crate::route::Routing;
use crate::sync::Arc;
use crate::transport::wire::Bytes;
use gyre_layout::{CollOp, CollType, Coord, RmwOp};

/// One entry of a context's work queue.
pub enum Instruction<P: Platform, D, C> {
    /// Send a message to an endpoint.
    Send(SendMessage<P, D>),
    /// Send a short message that has been copied already.
    SendImmediate(ImmediateMessage),
    /// Write into a peer's memory.
    Put(Put<P, D>),
    /// Fetch from a peer's memory.
    Get(Get<P, D>),
    /// Change a word in a peer's memory.
    Rmw(Rmw<P, D>),
    /// Report when all earlier operations between two endpoints have completed.
    Fence(Fence<D>),
    /// Fence every endpoint of the client.
    FenceAll(Option<D>),
    /// Acknowledge `cookie` to `peer`, through the acknowledgement dispatcher.
    Acknowledge {
        /// Endpoint that gave the cookie.
        peer: Endpoint,
        /// The cookie, see [`Context::expect_ack`](crate::Context::expect_ack).
        cookie: u32,
    },
    /// Tell `peer` that the data that it sent with `cookie` has not been received.
    Refuse {
        /// Endpoint that gave the cookie.
        peer: Endpoint,
        /// The cookie, see [`Context::expect_ack`](crate::Context::expect_ack).
        cookie: u32,
    },
    /// Receive a message whose receive was deferred: posted by
    /// [`DeferredReceive::receive`](crate::DeferredReceive::receive).
    Receive(ReceiveDeferred<P, D>),
    /// Discard the data of such a message.
    Discard {
        /// The message.
        message: DeferredId,
        /// Tell its origin that the data has not been received.
        refused: bool,
    },
    /// Call a function from `advance`, in order with the other instructions.
    Call(C),
    /// Wait until a byte counter of this context is zero, see [`ByteCounter::arm`](crate::ByteCounter::arm).
    Count(Count<P, D>),
    /// Enter a barrier on the barrier route of `routes`; `done` is called when all members have entered
    /// it.
    CollnetBarrier {
        /// This node's part of the route.
        routes: Arc<CollnetRoutes<P>>,
        /// Called when the barrier is over.
        done: Option<D>,
    },
    /// Combine or broadcast on a class route.
    CollnetTransfer(CollnetTransfer<P, D>),
    /// Give unused routes back: operations under way on them are given up.
    CollnetRelease {
        /// This node's part of the routes.
        routes: Arc<CollnetRoutes<P>>,
        /// Called when the routes are free.
        done: Option<D>,
    },
}

/// Names a message of a context whose receive is deferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeferredId(pub(crate) u64);

/// The receive of a message whose dispatch callback has deferred it.
pub struct ReceiveDeferred<P: Platform, D> {
    pub(crate) message: DeferredId,
    pub(crate) into: BufferRange<P::Buffer>,
    pub(crate) routing: Routing,
    pub(crate) done: Option<D>,
}

/// Protocol for the data of a SEND (FN-3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SendProtocol {
    /// Eager up to the client's `eager_limit`, by rendezvous above.
    #[default]
    ByLength,
    /// With the message, at any length.
    Eager,
    /// Stays at the origin until the destination fetches it, at any length.
    Rendezvous,
}

/// SEND: an active message that the dispatch callback `dispatch` of the destination receives.
///
/// Up to the client's `eager_limit` the data travels with the message (eager). Above it the destination
/// fetches the data straight into the receive buffer (rendezvous, FN-3).
pub struct SendMessage<P: Platform, D> {
    /// Destination.
    pub destination: Endpoint,
    /// Dispatch identifier at the destination, 0 to 223.
    pub dispatch: u8,
    /// Communication context, handed to the dispatch callback.
    pub comm: u8,
    /// Tag, handed to the dispatch callback.
    pub tag: u32,
    /// Header, handed to the dispatch callback: at most [`MAX_HEADER`](crate::MAX_HEADER) bytes.
    pub header: Vec<u8>,
    /// The data, kept alive until it has been read. Do not change it before `local_done`.
    pub data: BufferRange<P::Buffer>,
    /// Protocol for the data.
    pub protocol: SendProtocol,
    /// Whether fences of the destination wait for its acknowledgement where it may come behind the fence's, as when
    /// acknowledgements are copied on their path ([`Together::Path`](crate::Together::Path)). `false` for a message
    /// whose receive the destination may defer until after the fence, which covers its arrival alone.
    pub fenced: bool,
    /// Called when the data has been read: it may be changed again.
    pub local_done: Option<D>,
    /// Called when the destination has all data and its receive is done.
    pub remote_done: Option<D>,
    /// Number of the message in waves and timelines; `None` lets the context choose.
    pub message_id: Option<u32>,
}

impl<P: Platform, D> SendMessage<P, D> {
    /// A SEND without communication context, tag, header, callbacks and message number.
    #[must_use]
    pub fn new(destination: Endpoint, dispatch: u8, data: BufferRange<P::Buffer>) -> Self {
        Self {
            destination,
            dispatch,
            comm: 0,
            tag: 0,
            header: Vec::new(),
            data,
            protocol: SendProtocol::ByLength,
            fenced: true,
            local_done: None,
            remote_done: None,
            message_id: None,
        }
    }
}

/// SEND of one packet whose header and data are copied by
/// [`Context::send_immediate`](crate::Context::send_immediate): both may be changed as soon as it returns.
#[derive(Debug, Clone, Copy)]
pub struct SendImmediate<'a> {
    /// Destination.
    pub destination: Endpoint,
    /// Dispatch identifier at the destination, 0 to 223.
    pub dispatch: u8,
    /// Communication context, handed to the dispatch callback.
    pub comm: u8,
    /// Tag, handed to the dispatch callback.
    pub tag: u32,
    /// Header, handed to the dispatch callback.
    pub header: &'a [u8],
    /// The data: with the header at most [`Self::MAX`] bytes, or [`Self::MAX_HEADED`] if there is a
    /// header.
    pub data: &'a [u8],
}

impl<'a> SendImmediate<'a> {
    /// Most bytes of data without a header: the payload of a packet.
    pub const MAX: usize = gyre_layout::MAX_PAYLOAD_BYTES;
    /// Most bytes of header and data together.
    pub const MAX_HEADED: usize = Self::MAX - crate::transport::wire::Headed::BYTES;

    /// An immediate SEND without header and data.
    #[must_use]
    pub const fn new(destination: Endpoint, dispatch: u8) -> Self {
        Self {
            destination,
            dispatch,
            comm: 0,
            tag: 0,
            header: &[],
            data: &[],
        }
    }

    /// The message with this data.
    #[must_use]
    pub const fn with_data(self, data: &'a [u8]) -> Self {
        Self { data, ..self }
    }
}

/// A transfer on a class route. All members post the transfers of a route in the same order, with the same
/// operation, type, receivers and number of bytes.
pub struct CollnetTransfer<P: Platform, D> {
    /// This node's part of the class route, and of the barrier route for a broadcast.
    pub routes: Arc<CollnetRoutes<P>>,
    /// Operation that combines contributions; [`CollOp::Broadcast`]: there is one contribution.
    pub op: CollOp,
    /// Type of the elements; [`CollType::U32`] for a broadcast.
    pub data: CollType,
    /// Bytes of a contribution and of the result: whole elements.
    pub bytes: usize,
    /// This node's contribution. Do not change it before `done`.
    pub from: Option<BufferRange<P::Buffer>>,
    /// Place for the result, if this node receives it. It may be the range of the contribution.
    pub into: Option<BufferRange<P::Buffer>>,
    /// The node that receives the result; `None`: all members.
    pub to: Option<Coord>,
    /// Called when the contribution has been read and the result is there.
    pub done: Option<D>,
}

/// An immediate SEND as one packet: made by [`Context::send_immediate`](crate::Context::send_immediate).
pub struct ImmediateMessage {
    pub(crate) envelope: ImmediateEnvelope,
    pub(crate) payload: Bytes,
}

/// Envelope of an immediate message.
#[derive(Clone, Copy)]
pub(crate) struct ImmediateEnvelope {
    pub destination: Endpoint,
    /// Dispatch identifier of the packet.
    pub dispatch: u8,
    pub comm: u8,
    pub tag: u32,
}

/// PUT: `data` is written at `remote` in the memory of `destination`'s node by the DMA engines alone. Base slots of
/// that node limit the writable memory; a refusal is an error of that node.
pub struct Put<P: Platform, D> {
    /// Owner of the memory.
    pub destination: Endpoint,
    /// The data, kept alive until it has been read. Do not change it before `local_done`.
    pub data: BufferRange<P::Buffer>,
    /// Destination.
    pub remote: RemoteAddress,
    /// Notification of the destination (EP-16).
    pub notify: PutNotify,
    /// Called when the data has been read: it may be changed again.
    pub local_done: Option<D>,
    /// Called when the data is in the destination's memory, or with [`Error::PutsRefused`] when its node refused
    /// it. Only this needs the destination to advance.
    pub remote_done: Option<D>,
}

impl<P: Platform, D> Put<P, D> {
    /// A PUT without callbacks and notification.
    #[must_use]
    pub fn new(destination: Endpoint, data: BufferRange<P::Buffer>, remote: RemoteAddress) -> Self {
        Self {
            destination,
            data,
            remote,
            notify: PutNotify::None,
            local_done: None,
            remote_done: None,
        }
    }
}

/// A wait for a byte counter: made by [`ByteCounter::arm`](crate::ByteCounter::arm).
pub struct Count<P: Platform, D> {
    pub(crate) counter: Arc<TargetCounter<P>>,
    pub(crate) done: Option<D>,
}

/// GET: `into` is filled from `remote` in the memory of `source`'s node by the DMA engines alone.
pub struct Get<P: Platform, D> {
    /// Owner of the memory, whose remote-get FIFO serves the request.
    pub source: Endpoint,
    /// Source of the data.
    pub remote: RemoteAddress,
    /// Destination. The length of the range is that of the transfer.
    pub into: BufferRange<P::Buffer>,
    /// Routing of the data. In each case the get ends when all packets have landed, and fences cover it.
    pub routing: Routing,
    /// Called when all bytes are in `into`.
    pub done: Option<D>,
}

/// RPUT: a [`Put`] into a memory region, checked against it when it is posted.
pub struct Rput<P: Platform, D> {
    /// Owner of the region.
    pub destination: Endpoint,
    /// The data, kept alive until it has been read. Do not change it before `local_done`.
    pub data: BufferRange<P::Buffer>,
    /// The region.
    pub region: RemoteRegion,
    /// First byte written in the region.
    pub offset: u64,
    /// As in [`Put`].
    pub notify: PutNotify,
    /// As in [`Put`].
    pub local_done: Option<D>,
    /// As in [`Put`].
    pub remote_done: Option<D>,
}

impl<P: Platform, D> Rput<P, D> {
    /// An RPUT to the start of `region`, without callbacks and notification.
    #[must_use]
    pub fn new(destination: Endpoint, data: BufferRange<P::Buffer>, region: RemoteRegion) -> Self {
        Self {
            destination,
            data,
            region,
            offset: 0,
            notify: PutNotify::None,
            local_done: None,
            remote_done: None,
        }
    }
}

/// RGET: a [`Get`] from a memory region, checked against it when it is posted.
pub struct Rget<P: Platform, D> {
    /// Owner of the region, whose remote-get FIFO serves the request.
    pub source: Endpoint,
    /// The region.
    pub region: RemoteRegion,
    /// First byte read in the region.
    pub offset: u64,
    /// Destination. The length of the range is that of the transfer.
    pub into: BufferRange<P::Buffer>,
    /// Called when all bytes are in `into`.
    pub done: Option<D>,
}

/// Bytes of the operand of a read-modify-write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RmwWidth {
    /// 4 bytes; the upper halves of value and test do not matter.
    Four,
    /// 8 bytes.
    Eight,
}

impl RmwWidth {
    /// The number.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

/// RMW: the little-endian word at `offset` of a memory region is changed by the DMA engine of its node, with no
/// software there. Read-modify-writes of one word from all origins happen one after the other.
///
/// With `test`, the word changes only where it equals that. With `result`, the word before is fetched,
/// whether it changes or not. Where the region has been destroyed since, `done` gets [`Error::RmwRefused`].
pub struct Rmw<P: Platform, D> {
    /// Owner of the region.
    pub destination: Endpoint,
    /// The region.
    pub region: RemoteRegion,
    /// First byte of the word in the region: a multiple of its width.
    pub offset: u64,
    /// Operation on the word.
    pub op: RmwOp,
    /// Bytes of the word.
    pub width: RmwWidth,
    /// Operand.
    pub value: u64,
    /// Value that the word is compared with.
    pub test: Option<u64>,
    /// Place for the previous word: as many bytes as the word has.
    pub result: Option<BufferRange<P::Buffer>>,
    /// Called when the word has changed and the one before is in `result`.
    pub done: Option<D>,
}

/// FENCE: `done` is called when every send, put, get and read-modify-write that this context started to `destination`
/// before it has completed there (FN-1). Later ones go on meanwhile. The destination has to advance. If puts among them
/// were refused there, it gets [`Error::PutsRefused`], besides their own callbacks.
pub struct Fence<D> {
    /// The other endpoint.
    pub destination: Endpoint,
    /// Called when all earlier operations have completed and their done callbacks have run.
    pub done: Option<D>,
}

impl<P: Platform, D> CollnetTransfer<P, D> {
    /// Refuses ranges that do not have the transfer's bytes.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let bytes = self.bytes;
        u32::try_from(bytes).map_err(|_| Error::MessageLength { bytes })?;
        for range in [&self.from, &self.into].into_iter().flatten() {
            if range.len() != bytes {
                return Err(Error::CollnetLength {
                    range: range.len(),
                    bytes,
                }
                .into());
            }
        }
        Ok(())
    }
}

impl<P: Platform, D, C> Instruction<P, D, C> {
    /// Takes the done callbacks out: the local and the remote one, or the only one first.
    pub(crate) fn take_done(&mut self) -> [Option<D>; 2] {
        match self {
            Self::Send(SendMessage {
                local_done,
                remote_done,
                ..
            })
            | Self::Put(Put {
                local_done,
                remote_done,
                ..
            }) => [local_done.take(), remote_done.take()],
            Self::Get(Get { done, .. })
            | Self::Count(Count { done, .. })
            | Self::Rmw(Rmw { done, .. })
            | Self::Fence(Fence { done, .. })
            | Self::FenceAll(done)
            | Self::Receive(ReceiveDeferred { done, .. })
            | Self::CollnetBarrier { done, .. }
            | Self::CollnetTransfer(CollnetTransfer { done, .. })
            | Self::CollnetRelease { done, .. } => [done.take(), None],
            Self::SendImmediate(_)
            | Self::Acknowledge { .. }
            | Self::Refuse { .. }
            | Self::Discard { .. }
            | Self::Call(_) => [None, None],
        }
    }
}

/// Posted work: an instruction, with the numbers of its done callbacks beside it.
pub(crate) struct Work<P: Platform, D, C> {
    /// Without done callbacks.
    pub instruction: Instruction<P, D, C>,
    /// As [`Instruction::take_done`] has them.
    pub done: Ends,
}

/// Numbers of an instruction's done callbacks: of the local and the remote one, or of the only one first.
pub(crate) type Ends = [Option<DoneId>; 2];
