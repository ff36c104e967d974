//! The system messaging module: the primitives of which protocols for matched messages are made (CT-7).
//!
//! | primitive | what it does |
//! |---|---|
//! | RTS | tells a peer about a message: match data, where its data is, its size |
//! | CTS | tells the sender of an RTS to send the data |
//! | memory FIFO | sends data that the peer's processor receives |
//! | remote get | fetches data from a peer, whose DMA engine answers with direct puts |
//! | direct put | writes data into a peer's memory |
//! | acknowledge | ends an operation of a peer, by the acknowledgement dispatcher |

use crate::am::dispatch::Arrival;
use crate::api::context::{Context, DoneFn};
use crate::api::operation::{Get, Put, SendMessage};
use crate::buffer::{BufferRange, RemoteAddress};
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::operation::SendImmediate;
use crate::platform::Platform;
use crate::route::Routing;
use crate::transport::wire::{self, WireError, message};

/// Dispatch identifiers that the primitives use, from the module's first on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handler {
    /// A message in memory-FIFO packets.
    Eager = 0,
    RequestToSend = 1,
    ClearToSend = 2,
    /// The data that a CTS asked for.
    Transfer = 3,
}

message! {
    /// Request to send. Match data are origin and software words of the packet.
    WireRts, "request to send of a matched message" {
        /// To be acknowledged when the data has arrived.
        cookie: u32,
        /// Bytes of the data.
        length: u32,
        /// Where the data is: byte offset in its slot; 0 when there is none.
        offset: u64,
        /// Base slot of the data at the origin; 0 when there is none.
        slot: u16,
        /// Whether the target is to answer with a CTS (1) or to fetch the data (0).
        answer: u8,
    }
}

message! {
    /// Clear to send.
    WireCts, "clear to send" {
        /// The cookie of the RTS.
        cookie: u32,
        /// Number of the message at the target.
        transfer: u64,
    }
}

message! {
    /// Header of the data that a CTS asked for.
    WireTransfer, "transfer" {
        /// Number of the message at the target.
        transfer: u64,
    }
}

/// What an RTS says besides match data (CT-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestToSend {
    /// By which the origin wants the message acknowledged.
    pub cookie: u32,
    /// Bytes of the data.
    pub length: u32,
    /// Where the data is; of no meaning when there is none.
    pub place: RemoteAddress,
    /// Whether the target is to answer with a CTS, rather than to fetch the data.
    pub answer: bool,
}

/// What a CTS says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClearToSend {
    /// The cookie of the RTS.
    pub cookie: u32,
    /// Number by which the target wants the data labelled.
    pub transfer: u64,
}

/// The primitives, with dispatch identifiers of their own: four from the one they are made with on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Primitives {
    first: u8,
}

impl Primitives {
    /// Primitives with dispatch identifiers `first..first + 4`, the same in all tasks.
    ///
    /// # Errors
    /// [`Error::SystemDispatch`] when these reach into those of the driver.
    pub fn new(first: u8) -> Result<Self, Error> {
        match first.checked_add(Handler::Transfer as u8) {
            Some(last) if last < wire::FIRST_SYSTEM => Ok(Self { first }),
            last => Err(Error::SystemDispatch {
                id: last.unwrap_or(u8::MAX),
            }),
        }
    }

    pub(super) fn id(self, handler: Handler) -> u8 {
        self.first + handler as u8
    }

    /// RTS: tells `to` about a message with `comm` and `tag`. `done` is called when the RTS has left, or
    /// with the reason why it cannot.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn request_to_send<P: Platform>(
        self,
        context: &Context<P>,
        to: Endpoint,
        (comm, tag): (u8, u32),
        rts: RequestToSend,
        done: DoneFn<P>,
    ) -> Result<(), Error> {
        context.platform().charge(Op::Control, 1);
        let fields = WireRts {
            cookie: rts.cookie,
            length: rts.length,
            offset: rts.place.offset,
            slot: rts.place.slot,
            answer: rts.answer.into(),
        };
        context.send(SendMessage {
            comm,
            tag,
            header: fields.encode(),
            local_done: Some(done),
            ..SendMessage::new(to, self.id(Handler::RequestToSend), BufferRange::empty())
        })
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
        let fields = WireCts {
            cookie: cts.cookie,
            transfer: cts.transfer,
        };
        context.send_immediate(&SendImmediate {
            data: &fields.encode(),
            ..SendImmediate::new(to, self.id(Handler::ClearToSend))
        })
    }

    /// Memory FIFO: sends `data` with `comm` and `tag`, in the order of RTS and other memory-FIFO messages
    /// to `to`. `done` is called when `data` may be changed again.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn memory_fifo<P: Platform>(
        self,
        context: &Context<P>,
        to: Endpoint,
        (comm, tag): (u8, u32),
        data: BufferRange<P::Buffer>,
        done: Option<DoneFn<P>>,
    ) -> Result<(), Error> {
        context.send(SendMessage {
            comm,
            tag,
            eager: true,
            local_done: done,
            ..SendMessage::new(to, self.id(Handler::Eager), data)
        })
    }

    /// Memory FIFO, for the data that CTS number `transfer` of `to` asked for.
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
            header: WireTransfer { transfer }.encode(),
            eager: true,
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
        context.endpoint(peer.task, peer.context)?;
        Ok(context.await_ack(peer, data, done))
    }
}

impl RequestToSend {
    /// The RTS that has arrived.
    ///
    /// # Errors
    /// [`Error::SystemMessage`] when it is none.
    pub fn decode(arrival: &Arrival<'_>) -> Result<Self, Error> {
        let fields = WireRts::decode(arrival.header)
            .and_then(|decoded| wire::end("request to send of a matched message", decoded))
            .map_err(|error| malformed(arrival, error))?;
        let answer = match fields.answer {
            0 => false,
            1 => true,
            value => {
                let error = WireError {
                    message: "request to send of a matched message",
                    field: "answer",
                    value: value.into(),
                    expected: "0 or 1",
                };
                return Err(malformed(arrival, error));
            }
        };
        Ok(Self {
            cookie: fields.cookie,
            length: fields.length,
            place: RemoteAddress {
                slot: fields.slot,
                offset: fields.offset,
            },
            answer,
        })
    }
}

impl ClearToSend {
    /// The CTS that has arrived.
    ///
    /// # Errors
    /// [`Error::SystemMessage`] when it is none.
    pub fn decode(arrival: &Arrival<'_>) -> Result<Self, Error> {
        let payload = arrival.immediate.unwrap_or_default();
        let fields = WireCts::decode(payload)
            .and_then(|decoded| wire::end("clear to send", decoded))
            .map_err(|error| malformed(arrival, error))?;
        Ok(Self {
            cookie: fields.cookie,
            transfer: fields.transfer,
        })
    }
}

/// The number that the arrived data of a transfer is labelled with.
pub(super) fn decode_transfer(arrival: &Arrival<'_>) -> Result<u64, Error> {
    let fields = WireTransfer::decode(arrival.header)
        .and_then(|decoded| wire::end("transfer", decoded))
        .map_err(|error| malformed(arrival, error))?;
    Ok(fields.transfer)
}

/// Data that nobody asked for, or not so.
pub(super) fn wrong_transfer(
    arrival: &Arrival<'_>,
    field: &'static str,
    value: u64,
    expected: &'static str,
) -> Error {
    let error = WireError {
        message: "transfer",
        field,
        value,
        expected,
    };
    malformed(arrival, error)
}

fn malformed(arrival: &Arrival<'_>, error: WireError) -> Error {
    Error::SystemMessage {
        origin: arrival.origin.task,
        message: error.message,
        field: error.field,
        value: error.value,
        expected: error.expected,
    }
}
