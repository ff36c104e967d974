// SPDX-License-Identifier: MIT OR Apache-2.0
//! Formats of the messages of the primitives, and their decoding.

use super::label::Label;
use crate::am::assembly;
use crate::am::dispatch::Arrival;
use crate::buffer::RemoteAddress;
use crate::error::Fault;
use crate::transport::wire::{self, Fields, WireError, message};

message! {
    /// Request to send. Match data are origin and software words of the packet; behind the fields stands the number of
    /// the communicator where that needs it.
    pub(super) WireRts, "request to send of a matched message" {
        /// To be acknowledged when the data has arrived.
        cookie: u32,
        /// Bytes of the data.
        length: u32,
        /// Where the data is: byte offset in its slot; 0 when there is none.
        offset: u64,
        /// Base slot of the data at the origin; 0 when there is none.
        slot: u16,
    }
}

message! {
    /// Fields of a CTS.
    pub ClearToSend, "clear to send" {
        /// The cookie of the RTS.
        cookie: u32,
        /// Number by which the target labels the data.
        transfer: u64,
    }
}

message! {
    /// Header of data that a CTS has requested.
    pub(super) WireTransfer, "transfer" {
        /// Number of the message at the target.
        transfer: u64,
    }
}

/// Fields of an RTS besides match data (CT-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestToSend {
    /// Cookie by which the origin wants the message acknowledged.
    pub cookie: u32,
    /// Bytes of the data.
    pub length: u32,
    /// Place of the data; without meaning for no data.
    pub place: RemoteAddress,
}

/// Contents of the first packet of an eager message.
pub(super) struct EagerMessage<'a> {
    /// Number of the communicator.
    pub comm: u32,
    /// All of the data, where other bytes stand before it.
    pub inside: Option<&'a [u8]>,
}

impl<'a> EagerMessage<'a> {
    /// Decodes the arrived message.
    ///
    /// # Errors
    /// [`Error::ControlMessage`](crate::Error::ControlMessage) when it is malformed.
    #[inline]
    pub fn decode(arrival: &Arrival<'a>) -> Result<Self, Fault> {
        if let (Some(comm), true) = (Label::narrow(arrival.comm), arrival.header.is_empty()) {
            return Ok(Self { comm, inside: None });
        }
        Self::decode_wide(arrival)
    }

    /// As [`decode`](Self::decode), where the number of the communicator stands in the payload.
    fn decode_wide(arrival: &Arrival<'a>) -> Result<Self, Fault> {
        let message = "eager message";
        let decode = |bytes| {
            Label::decode(message, arrival.comm, bytes).map_err(|error| malformed(arrival, error))
        };
        let inside = arrival.immediate.filter(|_| arrival.header.is_empty());
        let (comm, rest) = decode(inside.unwrap_or(arrival.header))?;
        match inside {
            Some(data) => Ok(Self {
                comm,
                inside: (rest.len() < data.len()).then_some(rest),
            }),
            None => {
                let decoded = wire::end(message, (comm, rest));
                let comm = decoded.map_err(|error| malformed(arrival, error))?;
                Ok(Self { comm, inside: None })
            }
        }
    }
}

impl RequestToSend {
    /// The number of the communicator and the RTS that have arrived.
    ///
    /// # Errors
    /// [`Error::ControlMessage`](crate::Error::ControlMessage) when it is malformed.
    pub fn decode(arrival: &Arrival<'_>) -> Result<(u32, Self), Fault> {
        let message = WireRts::MESSAGE;
        let decoded = WireRts::decode(arrival.header).and_then(|(fields, rest)| {
            let (comm, rest) = Label::decode(message, arrival.comm, rest)?;
            wire::end(message, ((comm, fields), rest))
        });
        let (comm, fields) = decoded.map_err(|error| malformed(arrival, error))?;
        let rts = Self {
            cookie: fields.cookie,
            length: fields.length,
            place: RemoteAddress {
                slot: fields.slot,
                offset: fields.offset,
            },
        };
        Ok((comm, rts))
    }
}

impl ClearToSend {
    /// Decodes the arrived CTS.
    ///
    /// # Errors
    /// [`Error::ControlMessage`](crate::Error::ControlMessage) when it is malformed.
    pub fn decode(arrival: &Arrival<'_>) -> Result<Self, Fault> {
        let payload = arrival.immediate.unwrap_or_default();
        Self::decode_all(payload).map_err(|error| malformed(arrival, error))
    }
}

/// The number of the communicator of a message that has arrived by rendezvous.
///
/// # Errors
/// [`Error::ControlMessage`](crate::Error::ControlMessage) when its header is malformed.
pub(super) fn decode_rendezvous(arrival: &Arrival<'_>) -> Result<u32, Fault> {
    let message = WireRts::MESSAGE;
    Label::decode(message, arrival.comm, arrival.header)
        .and_then(|decoded| wire::end(message, decoded))
        .map_err(|error| malformed(arrival, error))
}

/// The number that the arrived data of a transfer is labelled with.
pub(super) fn decode_transfer(arrival: &Arrival<'_>) -> Result<u64, Fault> {
    WireTransfer::decode_all(arrival.header)
        .map(|fields| fields.transfer)
        .map_err(|error| malformed(arrival, error))
}

/// The error of data that was not requested.
pub(super) fn wrong_transfer(
    arrival: &Arrival<'_>,
    field: &'static str,
    value: u64,
    expected: &'static str,
) -> Fault {
    let error = WireError {
        message: WireTransfer::MESSAGE,
        field,
        value,
        expected,
    };
    malformed(arrival, error)
}

#[cold]
fn malformed(arrival: &Arrival<'_>, error: WireError) -> Fault {
    assembly::malformed(arrival.origin.task, error)
}
