//! Messages of collectives, as they are sent.

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

    /// Announces data, which the receiver fetches when the turn of its receive has come. `done` is called when it has, or
    /// has used the message up: that says nothing about the collective.
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
        // The RTS that carries the header is charged where it is built.
        self.counts.count(|stats| stats.messages += 1);
        Ok(context.send(SendMessage {
            header: header.encode().into_vec(),
            protocol: SendProtocol::Rendezvous,
            fenced: false,
            remote_done: Some(done),
            ..SendMessage::new(to, self.dispatch, data)
        })?)
    }

    /// Sends all members but the one with rank `rank` the message that it has given a collective up. A member that
    /// cannot be told that cannot be told the collective either: its own error will say so.
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
