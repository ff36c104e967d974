//! Work for a context (EP-3, EP-4).

use std::borrow::Cow;

use crate::buffer::BufferRange;
use crate::context::Context;
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::platform::Platform;
use crate::region::RemoteRegion;
use crate::route::Routing;
use crate::sync::Arc;
use crate::tree::TreeRoutes;
use gyre_layout::{CollOp, CollType, Coord, RmwOp};

/// Done callback: called once, by the thread that advances the context.
pub type DoneFn<P> = Box<dyn FnOnce(&Context<P>, Result<(), Error>)>;

/// A function that the context calls from `advance`.
pub type CallFn<P> = Box<dyn FnOnce(&Context<P>)>;

/// One entry of a context's work queue.
pub enum Instruction<P: Platform> {
    /// Send a message to an endpoint.
    Send(SendMessage<P>),
    /// Send a short message that has been copied already.
    SendImmediate(ImmediateMessage<'static>),
    /// Write into a peer's memory.
    Put(Put<P>),
    /// Fetch from a peer's memory.
    Get(Get<P>),
    /// Change a word in a peer's memory.
    Rmw(Rmw<P>),
    /// Tell when everything before it between two endpoints has completed.
    Fence(Fence<P>),
    /// Fence every endpoint of the client.
    FenceAll(Option<DoneFn<P>>),
    /// Acknowledge `cookie` to `peer`, through the acknowledgement dispatcher.
    Acknowledge {
        /// Who gave the cookie.
        peer: Endpoint,
        /// The cookie, see [`Context::expect_ack`].
        cookie: u32,
    },
    /// Tell `peer` that the data that it sent with `cookie` has not been received.
    Refuse {
        /// Who gave the cookie.
        peer: Endpoint,
        /// The cookie, see [`Context::expect_ack`].
        cookie: u32,
    },
    /// Call a function from `advance`, in order with the other instructions.
    Call(CallFn<P>),
    /// Enter a barrier on the barrier route of `routes`; `done` is called when all members have entered
    /// it.
    TreeBarrier {
        /// This node's part of the route.
        routes: Arc<TreeRoutes<P>>,
        /// Called when the barrier is over.
        done: Option<DoneFn<P>>,
    },
    /// Combine or broadcast on a class route.
    TreeTransfer(TreeTransfer<P>),
    /// Give routes back that nobody uses any more: what is under way on them is given up.
    TreeRelease {
        /// This node's part of the routes.
        routes: Arc<TreeRoutes<P>>,
        /// Called when they are free.
        done: Option<DoneFn<P>>,
    },
}

/// SEND: an active message that the dispatch callback `dispatch` of the destination receives.
///
/// Up to the client's `eager_limit` the data travels with the message (eager). Above it the destination
/// fetches the data straight into the receive buffer (rendezvous, FN-3).
pub struct SendMessage<P: Platform> {
    /// Where to.
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
    /// Send the data eagerly however long it is.
    pub eager: bool,
    /// Called when the data has been read: it may be changed again.
    pub local_done: Option<DoneFn<P>>,
    /// Called when the destination has all data and its receive is done.
    pub remote_done: Option<DoneFn<P>>,
    /// Number by which waves and timelines name the message; `None` lets the context choose.
    pub message_id: Option<u32>,
}

impl<P: Platform> SendMessage<P> {
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
            eager: false,
            local_done: None,
            remote_done: None,
            message_id: None,
        }
    }
}

/// SEND of one packet whose header and data are copied by [`Context::send_immediate`]: both may be
/// changed as soon as it returns.
#[derive(Debug, Clone, Copy)]
pub struct SendImmediate<'a> {
    /// Where to.
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

impl SendImmediate<'_> {
    /// Most bytes of data without a header: the payload of a packet.
    pub const MAX: usize = gyre_layout::MAX_PAYLOAD_BYTES;
    /// Most bytes of header and data together.
    pub const MAX_HEADED: usize = Self::MAX - crate::wire::Headed::BYTES;

    /// An immediate SEND of nothing.
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
}

/// A transfer on a class route. All members post the transfers of a route in the same order, with the same
/// operation, type, receivers and number of bytes.
pub struct TreeTransfer<P: Platform> {
    /// This node's part of the class route, and of the barrier route for a broadcast.
    pub routes: Arc<TreeRoutes<P>>,
    /// How contributions are combined; [`CollOp::Broadcast`]: there is one contribution.
    pub op: CollOp,
    /// Type of the elements; [`CollType::U32`] for a broadcast.
    pub data: CollType,
    /// Bytes of a contribution and of the result: whole elements.
    pub bytes: usize,
    /// This node's contribution. Do not change it before `done`.
    pub from: Option<BufferRange<P::Buffer>>,
    /// Where the result goes, if this node receives it. It may be the range of the contribution.
    pub into: Option<BufferRange<P::Buffer>>,
    /// The node that receives the result; `None`: all members.
    pub to: Option<Coord>,
    /// Called when the contribution has been read and the result is there.
    pub done: Option<DoneFn<P>>,
}

/// An immediate SEND as one packet: made by [`Context::send_immediate`].
pub struct ImmediateMessage<'a> {
    pub(crate) destination: Endpoint,
    /// Dispatch identifier of the packet.
    pub(crate) dispatch: u8,
    pub(crate) comm: u8,
    pub(crate) tag: u32,
    pub(crate) payload: Cow<'a, [u8]>,
}

/// A place in a peer's memory, as its hardware names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteAddress {
    /// Base slot of the peer's node.
    pub slot: u16,
    /// Byte offset in the slot, less than 2^40.
    pub offset: u64,
}

/// PUT: `data` is written at `remote` in the memory of `destination`'s node by the DMA engines alone.
/// Base slots of that node say what may be written; a refusal is an error of that node.
pub struct Put<P: Platform> {
    /// Whose memory.
    pub destination: Endpoint,
    /// The data, kept alive until it has been read. Do not change it before `local_done`.
    pub data: BufferRange<P::Buffer>,
    /// Where to.
    pub remote: RemoteAddress,
    /// Called when the data has been read: it may be changed again.
    pub local_done: Option<DoneFn<P>>,
    /// Called when the data is in the destination's memory, or with [`Error::PutsRefused`] when its node refused
    /// it. Only this needs the destination to advance.
    pub remote_done: Option<DoneFn<P>>,
}

/// GET: `into` is filled from `remote` in the memory of `source`'s node by the DMA engines alone.
pub struct Get<P: Platform> {
    /// Whose memory, and whose remote-get FIFO serves the request.
    pub source: Endpoint,
    /// Where from.
    pub remote: RemoteAddress,
    /// Where to. The length of the range is that of the transfer.
    pub into: BufferRange<P::Buffer>,
    /// How the packets come. Whatever it is, the get ends when all are there, and fences count it.
    pub routing: Routing,
    /// Called when all bytes are in `into`.
    pub done: Option<DoneFn<P>>,
}

/// RPUT: a [`Put`] into a memory region, checked against it when it is posted.
pub struct Rput<P: Platform> {
    /// Whose region.
    pub destination: Endpoint,
    /// The data, kept alive until it has been read. Do not change it before `local_done`.
    pub data: BufferRange<P::Buffer>,
    /// The region.
    pub region: RemoteRegion,
    /// First byte written in the region.
    pub offset: u64,
    /// As in [`Put`].
    pub local_done: Option<DoneFn<P>>,
    /// As in [`Put`].
    pub remote_done: Option<DoneFn<P>>,
}

/// RGET: a [`Get`] from a memory region, checked against it when it is posted.
pub struct Rget<P: Platform> {
    /// Whose region, and whose remote-get FIFO serves the request.
    pub source: Endpoint,
    /// The region.
    pub region: RemoteRegion,
    /// First byte read in the region.
    pub offset: u64,
    /// Where to. The length of the range is that of the transfer.
    pub into: BufferRange<P::Buffer>,
    /// Called when all bytes are in `into`.
    pub done: Option<DoneFn<P>>,
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

/// RMW: the little-endian word at `offset` of a memory region is changed by the DMA engine of its node,
/// with no software there. Read-modify-writes of one word, from wherever they come, happen one after
/// the other.
///
/// With `test`, the word changes only where it equals that. With `result`, the word before is fetched,
/// whether it changes or not. Where the region has been destroyed since, `done` gets [`Error::RmwRefused`].
pub struct Rmw<P: Platform> {
    /// Whose region.
    pub destination: Endpoint,
    /// The region.
    pub region: RemoteRegion,
    /// First byte of the word in the region: a multiple of its width.
    pub offset: u64,
    /// What is done.
    pub op: RmwOp,
    /// Bytes of the word.
    pub width: RmwWidth,
    /// Operand.
    pub value: u64,
    /// What the word is compared with.
    pub test: Option<u64>,
    /// Where the word before goes: as many bytes as the word has.
    pub result: Option<BufferRange<P::Buffer>>,
    /// Called when the word has changed and the one before is in `result`.
    pub done: Option<DoneFn<P>>,
}

/// FENCE: `done` is called when every send, put, get and read-modify-write that this context started to `destination`
/// before it has completed there (FN-1). Later ones go on meanwhile. The destination has to advance. If puts among them
/// were refused there it gets [`Error::PutsRefused`], whether their own callbacks have or not.
pub struct Fence<P: Platform> {
    /// The other endpoint.
    pub destination: Endpoint,
    /// Called when everything before has completed; all their done callbacks have run then.
    pub done: Option<DoneFn<P>>,
}
