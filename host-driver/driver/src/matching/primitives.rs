// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messaging primitives, of which protocols for matched messages are made (CT-7).
//!
//! | primitive | action |
//! |---|---|
//! | rendezvous | announces a message by the RTS of a SEND; the peer fetches its data when it has the receive |
//! | RTS | announces a message that the peer requests by a CTS: match data, place of its data, its size |
//! | CTS | tells the sender of an RTS to send the data |
//! | memory FIFO | sends data that the peer's processor receives |
//! | remote get | fetches data from a peer, whose DMA engine answers with direct puts |
//! | direct put | writes data into a peer's memory |
//! | acknowledge | ends an operation of a peer, by the acknowledgement dispatcher |

use super::format::{WireRts, WireTransfer};
use super::label::Label;
use crate::api::context::{Context, Done, DoneFn};
use crate::api::operation::{Get, Put, SendMessage};
use crate::buffer::{BufferRange, RemoteAddress};
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::operation::{SendImmediate, SendProtocol};
use crate::platform::Platform;
use crate::rma::notify::PutNotify;
use crate::route::Routing;
use crate::sync::lock;
use crate::transport::injection::Direct;
use crate::transport::wire;

pub use super::format::{ClearToSend, RequestToSend};

/// Dispatch identifiers of the primitives, relative to the module's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handler {
    /// A message in memory-FIFO packets.
    Eager = 0,
    RequestToSend = 1,
    ClearToSend = 2,
    /// Data that a CTS has requested.
    Transfer = 3,
}

/// The primitives, with four dispatch identifiers from the one given on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Primitives {
    first: u8,
}

impl Primitives {
    /// Primitives with dispatch identifiers `first..first + 4`, the same in all tasks.
    ///
    /// # Errors
    /// [`Error::ReservedDispatch`] when these reach into those of the driver.
    pub fn new(first: u8) -> Result<Self, Error> {
        match first.checked_add(Handler::Transfer as u8) {
            Some(last) if last < wire::FIRST_CONTROL => Ok(Self { first }),
            last => Err(Error::ReservedDispatch {
                id: last.unwrap_or(u8::MAX),
            }),
        }
    }

    pub(super) fn id(self, handler: Handler) -> u8 {
        self.first + handler as u8
    }

    /// RTS: tells `to` about a message with `label`. `done` is called when the RTS has left, or with the error.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn request_to_send<P: Platform>(
        self,
        context: &Context<P>,
        to: Endpoint,
        label: Label,
        rts: RequestToSend,
        done: DoneFn<P>,
    ) -> Result<(), Error> {
        context.platform().charge(Op::Control, 1);
        let fields = WireRts {
            cookie: rts.cookie,
            length: rts.length,
            offset: rts.place.offset,
            slot: rts.place.slot,
        };
        let mut header = fields.encode().into_vec();
        header.extend(label.wide().into_iter().flatten());
        context.send(SendMessage {
            comm: label.byte(),
            tag: label.tag,
            header,
            local_done: Some(done),
            ..SendMessage::new(to, self.id(Handler::RequestToSend), BufferRange::empty())
        })
    }

    /// Rendezvous: tells `to` about a message with `label`, whose `data` it fetches. `done` is called when the peer has
    /// fetched or dropped the data: `data` may be changed again. Fences cover its arrival alone.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn rendezvous<P: Platform>(
        self,
        context: &Context<P>,
        to: Endpoint,
        label: Label,
        data: BufferRange<P::Buffer>,
        done: DoneFn<P>,
    ) -> Result<(), Error> {
        self.rendezvous_with(context, to, label, data, done.into())
    }

    /// As the public function, with a done callback of any kind.
    pub(super) fn rendezvous_with<P: Platform>(
        self,
        context: &Context<P>,
        to: Endpoint,
        label: Label,
        data: BufferRange<P::Buffer>,
        done: Done<P>,
    ) -> Result<(), Error> {
        let message = SendMessage {
            comm: label.byte(),
            tag: label.tag,
            header: label.wide().map_or_else(Vec::new, Vec::from),
            protocol: SendProtocol::Rendezvous,
            fenced: false,
            ..SendMessage::new(to, self.id(Handler::RequestToSend), data)
        };
        context.send_for(message, [None, Some(done)])
    }

    /// CTS: answers the RTS of `to`.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn clear_to_send<P: Platform>(
        self,
        context: &Context<P>,
        to: Endpoint,
        cts: ClearToSend,
    ) -> Result<(), Error> {
        context.platform().charge(Op::Control, 1);
        context.send_immediate(&SendImmediate {
            data: &cts.encode(),
            ..SendImmediate::new(to, self.id(Handler::ClearToSend))
        })
    }

    /// Memory FIFO: sends `data` with `label`, in the order of RTS and other memory-FIFO messages to `to`. `done` is
    /// called when `data` may be changed again.
    ///
    /// The number of a communicator that does not fit into the packet header is sent before the data of a message of
    /// one packet, which is copied for that, and as the header of a longer message.
    ///
    /// # Errors
    /// As [`Context::post`]; [`Error::Range`].
    pub fn memory_fifo<P: Platform>(
        self,
        context: &Context<P>,
        to: Endpoint,
        label: Label,
        data: BufferRange<P::Buffer>,
        done: Option<DoneFn<P>>,
    ) -> Result<(), Error> {
        self.memory_fifo_with(context, to, label, data, done.map(Done::from))
    }

    /// As the public function, with a done callback of any kind.
    pub(super) fn memory_fifo_with<P: Platform>(
        self,
        context: &Context<P>,
        to: Endpoint,
        label: Label,
        data: BufferRange<P::Buffer>,
        done: Option<Done<P>>,
    ) -> Result<(), Error> {
        let wide = label.wide();
        let number = wide.as_ref().map_or(&[][..], |number| number);
        let inside = number.len() + data.len() <= SendImmediate::MAX;
        let message = SendImmediate {
            comm: label.byte(),
            tag: label.tag,
            data: number,
            ..SendImmediate::new(to, self.id(Handler::Eager))
        };
        if inside && !done.as_ref().is_some_and(Done::calls) {
            context.send_gathered(&message, &data)?;
            if let Some(Done::Request(outcome, _)) = done {
                *lock(&outcome) = Some(Ok(()));
            }
            return Ok(());
        }
        if inside && !number.is_empty() {
            let payload = Direct::<P, 0>::Gathered(number, &data);
            return context.post_copy(&message, &payload, number.len() + data.len(), done);
        }
        let message = SendMessage {
            comm: label.byte(),
            tag: label.tag,
            header: wide.map_or_else(Vec::new, Vec::from),
            protocol: SendProtocol::Eager,
            ..SendMessage::new(to, self.id(Handler::Eager), data)
        };
        context.send_eager(message, done)
    }

    /// Memory FIFO, for the data that CTS number `transfer` of `to` has requested.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn transfer<P: Platform>(
        self,
        context: &Context<P>,
        to: Endpoint,
        transfer: u64,
        data: BufferRange<P::Buffer>,
        done: DoneFn<P>,
    ) -> Result<(), Error> {
        context.platform().charge(Op::Control, 1);
        context.send(SendMessage {
            header: WireTransfer { transfer }.encode().into_vec(),
            protocol: SendProtocol::Eager,
            local_done: Some(done),
            ..SendMessage::new(to, self.id(Handler::Transfer), data)
        })
    }

    /// Remote get: fills `into` from `place` at `from`, whose DMA engine sends direct puts. `done` is called
    /// when the byte counter, set to the length of `into`, is zero (CT-4, CT-5).
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn remote_get<P: Platform>(
        self,
        context: &Context<P>,
        from: Endpoint,
        place: RemoteAddress,
        into: BufferRange<P::Buffer>,
        done: DoneFn<P>,
    ) -> Result<(), Error> {
        context.get(Get {
            source: from,
            remote: place,
            into,
            routing: Routing::Fixed,
            done: Some(done),
        })
    }

    /// Direct put: writes `data` to `place` at `to`. `done` is called when it is there.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn direct_put<P: Platform>(
        self,
        context: &Context<P>,
        to: Endpoint,
        data: BufferRange<P::Buffer>,
        place: RemoteAddress,
        done: Option<DoneFn<P>>,
    ) -> Result<(), Error> {
        context.put(Put {
            destination: to,
            data,
            remote: place,
            notify: PutNotify::None,
            local_done: None,
            remote_done: done,
        })
    }

    /// Acknowledge: ends the operation that `to` knows as `cookie`.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn acknowledge<P: Platform>(
        self,
        context: &Context<P>,
        to: Endpoint,
        cookie: u32,
    ) -> Result<(), Error> {
        context.acknowledge(to, cookie)
    }

    /// The other end of acknowledge: returns the cookie by which `peer` ends an operation. Until then `data`
    /// is kept alive; `done` is called then.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::UnknownContext`].
    pub fn await_acknowledge<P: Platform>(
        self,
        context: &Context<P>,
        peer: Endpoint,
        data: BufferRange<P::Buffer>,
        done: DoneFn<P>,
    ) -> Result<u32, Error> {
        self.await_with(context, peer, data, done.into())
    }

    /// As the public function, with a done callback of any kind.
    pub(super) fn await_with<P: Platform>(
        self,
        context: &Context<P>,
        peer: Endpoint,
        data: BufferRange<P::Buffer>,
        done: Done<P>,
    ) -> Result<u32, Error> {
        context.endpoint(peer.task, peer.context)?;
        Ok(context.await_ack(peer, data, done))
    }
}
