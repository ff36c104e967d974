// SPDX-License-Identifier: MIT OR Apache-2.0
//! Notes to the platform about messages and packets.

use gyre_note::{Context, Note};

use crate::endpoint::Endpoint;
use crate::transport::envelope::Envelope;
use crate::transport::lanes::Label;
use crate::transport::reception::Packet;

impl Label {
    /// Note of a message of the program with `bytes` bytes of data.
    #[inline(always)]
    pub fn message(self, at: Context, to: Endpoint, bytes: u32) -> Note {
        Note::Message {
            at,
            to: to.into(),
            id: self.message_id,
            tag: self.tag,
            bytes,
        }
    }

    /// Note of the sent message.
    #[inline(always)]
    pub fn note(self, at: Context, to: Endpoint, envelope: Envelope) -> Note {
        Note::Sent {
            at,
            to: to.into(),
            id: self.message_id,
            dispatch: self.dispatch,
            word: envelope.pack(),
            tag: self.tag,
        }
    }
}

impl Packet<'_> {
    /// Note of the packet.
    #[inline(always)]
    pub fn note(&self, at: Context, from: Endpoint) -> Note {
        Note::Packet {
            at,
            from: from.into(),
            dispatch: Envelope::unpack(self.sw0).dispatch,
            tag: self.sw1,
            first: self.first,
            last: self.last,
        }
    }
}
