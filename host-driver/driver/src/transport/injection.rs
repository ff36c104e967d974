// SPDX-License-Identifier: MIT OR Apache-2.0
//! Injection FIFOs: rings of descriptors in node memory.

mod lane;
mod ring;

pub(crate) use lane::Lane;
pub(crate) use ring::InjectionFifo;

use gyre_layout::{Coord, Descriptor, Kind, Message, Source, Transfer};

use crate::buffer::BufferRange;
use crate::cost::Op;
use crate::done_table::DoneId;
use crate::error::Fault;
use crate::platform::Platform;
use crate::transport::wire::Bytes;

/// Payload of a descriptor.
pub(crate) enum Payload<P: Platform> {
    /// A range of the user's, in place.
    Data(BufferRange<P::Buffer>),
    /// A range in place that its owner keeps until it has been read.
    Kept(BufferRange<P::Buffer>),
    /// At most [`MAX_PAYLOAD_BYTES`](gyre_layout::MAX_PAYLOAD_BYTES) bytes, copied to the staging area when the
    /// descriptor is written.
    Staged(Bytes),
    /// No payload: the descriptor holds all.
    Inside,
}

/// The payload of a message that is injected at its call.
pub(crate) enum Direct<'a, P: Platform, const N: usize> {
    /// Pieces, together at most [`MAX_PAYLOAD_BYTES`](gyre_layout::MAX_PAYLOAD_BYTES) bytes, copied to the staging area.
    Copied([&'a [u8]; N]),
    /// Bytes and a range of the user's behind them, together at most as many, copied to the staging area.
    Gathered(&'a [u8], &'a BufferRange<P::Buffer>),
    /// A nonempty range of the user's, in place, and whether its completion is awaited.
    InPlace(&'a BufferRange<P::Buffer>, bool),
}

impl<P: Platform, const N: usize> Direct<'_, P, N> {
    /// Bytes of it.
    #[inline(always)]
    pub fn len(&self) -> usize {
        match self {
            Self::Copied(pieces) => pieces.iter().map(|piece| piece.len()).sum(),
            Self::Gathered(first, data) => first.len() + data.len(),
            Self::InPlace(data, _) => data.len(),
        }
    }

    /// A copy.
    ///
    /// # Errors
    /// [`Error::Range`](crate::Error::Range).
    pub fn to_bytes(&self) -> Result<Bytes, Fault> {
        let (first, data) = match self {
            Self::Copied(pieces) => {
                let mut bytes = Bytes::with_capacity(self.len());
                for piece in pieces {
                    bytes.extend_from_slice(piece);
                }
                return Ok(bytes);
            }
            Self::Gathered(first, data) => (*first, *data),
            Self::InPlace(data, _) => (&[][..], *data),
        };
        let mut bytes = Bytes::from(first);
        bytes.resize(first.len() + data.len(), 0);
        data.read(0, &mut bytes[first.len()..])?;
        Ok(bytes)
    }

    /// Cost of sending it, besides copies.
    #[inline(always)]
    pub fn op(&self) -> Op {
        match self {
            Self::Copied(_) | Self::Gathered(..) => Op::Inject,
            Self::InPlace(..) => Op::InjectInPlace,
        }
    }

    /// Whether its completion is awaited.
    #[inline(always)]
    pub fn is_awaited(&self) -> bool {
        matches!(self, Self::InPlace(_, true))
    }
}

impl Finish {
    /// Whether the completion of the descriptor without error has an effect.
    fn matters(self) -> bool {
        match self {
            Self::Send { local_done, .. } => local_done.is_some(),
            Self::Contribution { waits, .. } => waits,
            Self::Control | Self::Get { .. } | Self::Fence { .. } => false,
        }
    }
}

impl<P: Platform> Payload<P> {
    /// Bytes of it.
    pub fn len(&self) -> usize {
        match self {
            Self::Data(data) | Self::Kept(data) => data.len(),
            Self::Staged(bytes) => bytes.len(),
            Self::Inside => 0,
        }
    }
}

/// Operation that ends with a descriptor, or with a message in shared memory.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Finish {
    /// No operation: a control message.
    Control,
    /// A send or put: its data has been read. When the descriptor is refused, the operation that waits
    /// for `cookie` fails too; `answered` says that its acknowledgement comes nevertheless.
    Send {
        local_done: Option<DoneId>,
        cookie: Option<u32>,
        answered: bool,
    },
    /// The request of get `number`.
    Get { number: u32 },
    /// The message of fence `cookie`.
    Fence { cookie: u32 },
    /// The contribution of part `part` of a transfer on class route `route`. The part `waits` for it, or its result tells
    /// that it has been read.
    Contribution { route: u8, part: u64, waits: bool },
}

/// Contents of a descriptor, except the place of its payload.
pub(crate) enum Order {
    /// A message into a reception FIFO: the most frequent descriptor, with few nonzero fields.
    Message(Message),
    /// A put or a remote get by the fixed route.
    Transfer(Transfer),
    /// Any other, with the bytes of its payload.
    Other(Box<Descriptor>),
}

impl Order {
    /// Its destination.
    pub fn node(&self) -> Coord {
        match self {
            Self::Message(message) => message.dst.unpack(),
            Self::Transfer(transfer) => transfer.dst.unpack(),
            Self::Other(descriptor) => descriptor.dst,
        }
    }
}

impl From<Descriptor> for Order {
    fn from(descriptor: Descriptor) -> Self {
        Self::Other(Box::new(descriptor))
    }
}

impl<P: Platform> Outgoing<P> {
    /// Cost of making it.
    fn op(&self) -> Op {
        match (&self.order, self.finish) {
            (Order::Message(_), Finish::Control | Finish::Fence { .. }) => Op::SystemMessage,
            (Order::Message(_), _) => Op::Message,
            (Order::Transfer(_), _) => Op::Transfer,
            (Order::Other(descriptor), _) if descriptor.kind == Kind::Collective => Op::Transfer,
            (Order::Other(_), _) => Op::Descriptor,
        }
    }

    /// The descriptor, to be changed.
    pub fn descriptor(&mut self) -> &mut Descriptor {
        let source = Source::of_length(self.payload.len());
        match &self.order {
            Order::Message(message) => self.order = message.descriptor(source).into(),
            Order::Transfer(transfer) => self.order = transfer.descriptor(source).into(),
            Order::Other(_) => {}
        }
        match &mut self.order {
            Order::Other(descriptor) => descriptor,
            _ => unreachable!("the order is a descriptor now"),
        }
    }
}

/// An operation that is ready to become a descriptor.
pub(crate) struct Outgoing<P: Platform> {
    /// The descriptor; its source is filled in from the payload.
    pub order: Order,
    pub payload: Payload<P>,
    pub finish: Finish,
}

/// A completed descriptor with which an operation ends.
pub(crate) struct Completed {
    pub finish: Finish,
    pub result: Result<(), Fault>,
}
