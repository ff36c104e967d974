// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sending of messages of collectives.

use gyre_driver::{
    BufferRange, Context, DoneFn, Endpoint, Op, Platform, SendImmediate, SendMessage, SendProtocol,
};

use super::stats::Counts;
use crate::error::Error;
use crate::geometry::Geometry;
use crate::header::{Form, Header};
use crate::signature::Signature;

/// Sends messages of a context's collectives.
pub(super) struct Messenger {
    /// Dispatch identifier of the messages, in all contexts.
    dispatch: u8,
    pub counts: Counts,
}

impl Messenger {
    /// A sender of messages with dispatch identifier `dispatch`.
    pub fn new(dispatch: u8) -> Self {
        Self {
            dispatch,
            counts: Counts::default(),
        }
    }

    /// Sends one message.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn send<P: Platform>(
        &self,
        context: &Context<P>,
        to: Endpoint,
        header: &Header,
        data: &[u8],
    ) -> Result<(), Error> {
        context.platform().charge(Op::Header, 1);
        self.counts.count(|stats| stats.messages += 1);
        let mut bytes = header.encode();
        bytes.extend_from_slice(data);
        Ok(context.send_immediate(&SendImmediate {
            data: &bytes,
            ..SendImmediate::new(to, self.dispatch)
        })?)
    }

    /// Announces data, which the receiver fetches when its receive is ready. `done` is called when the data is
    /// fetched or discarded, whatever becomes of the collective.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn announce<P: Platform>(
        &self,
        context: &Context<P>,
        to: Endpoint,
        header: &Header,
        data: BufferRange<P::Buffer>,
        done: DoneFn<P>,
    ) -> Result<(), Error> {
        // The driver charges the RTS that carries the header.
        self.counts.count(|stats| stats.messages += 1);
        Ok(context.send(SendMessage {
            header: header.encode().into_vec(),
            protocol: SendProtocol::Rendezvous,
            fenced: false,
            remote_done: Some(done),
            ..SendMessage::new(to, self.dispatch, data)
        })?)
    }

    /// Tells all other members that the member with rank `rank` has given a collective up. Send errors are ignored:
    /// an unreachable member gets an error of its own.
    pub fn give_up<P: Platform>(
        &self,
        context: &Context<P>,
        (geometry, rank): (&Geometry, u32),
        sequence: u32,
        signature: Signature,
    ) {
        let header = Header::control(geometry.number(), sequence, rank, signature, Form::GivenUp);
        for (other, &to) in (0..).zip(geometry.endpoints()) {
            if other != rank {
                let _ = self.send(context, to, &header, &[]);
            }
        }
    }
}
