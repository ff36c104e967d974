// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends the acknowledgements that a context owes, as the dispatcher groups them.

use crate::ack::{AckDispatcher, AckPacket, AckStats};
use crate::core::Core;
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::error::Fault;
use crate::io::Io;
use crate::platform::Platform;
use crate::transport::wire::{ControlMessage, Refused, encode_cookies, encode_path_ack};

/// The acknowledgement dispatcher of a context with the buffer of its packets.
pub(crate) struct AckSender {
    dispatcher: AckDispatcher,
}

impl AckSender {
    pub fn new(dispatcher: AckDispatcher) -> Self {
        Self { dispatcher }
    }

    /// Counts of the dispatcher.
    pub fn stats(&self) -> AckStats {
        self.dispatcher.stats()
    }

    /// Whether nothing is owed.
    pub fn is_empty(&self) -> bool {
        self.dispatcher.is_empty()
    }

    /// Messages whose acknowledgement has not been sent.
    pub fn unsent(&self) -> usize {
        self.dispatcher.unsent()
    }

    /// Owes `peer` the acknowledgement of `cookie`.
    pub fn owe<P: Platform>(&mut self, core: &Core<P>, peer: Endpoint, cookie: u32) {
        let before = self.dispatcher.stats().looked_at;
        self.dispatcher.enqueue(peer, cookie);
        self.charge(core, before);
    }

    /// One iteration of the dispatcher.
    ///
    /// # Errors
    /// Errors of a send.
    pub fn iterate<P: Platform>(&mut self, io: &mut Io<P>) -> Result<(), Fault> {
        if self.dispatcher.is_empty() {
            return Ok(());
        }
        let before = self.dispatcher.stats().looked_at;
        let packets = self.dispatcher.iterate();
        self.charge(&io.core, before);
        send(io, packets)
    }

    /// Sends all acknowledgements owed to `peer`.
    ///
    /// # Errors
    /// Errors of a send.
    pub fn flush<P: Platform>(&mut self, io: &mut Io<P>, peer: Endpoint) -> Result<(), Fault> {
        let packets = self.dispatcher.flush(peer);
        send(io, packets)
    }

    /// Sends all owed acknowledgements.
    ///
    /// # Errors
    /// Errors of a send.
    pub fn flush_all<P: Platform>(&mut self, io: &mut Io<P>) -> Result<(), Fault> {
        let packets = self.dispatcher.flush_all();
        send(io, packets)
    }

    /// Charges a step of the dispatcher that began when it had looked at `before` recipients.
    fn charge<P: Platform>(&self, core: &Core<P>, before: u64) {
        let looked_at = self.dispatcher.stats().looked_at - before;
        core.platform.charge(Op::Acknowledge, 1 + looked_at);
    }
}

fn send<P: Platform>(io: &mut Io<P>, packets: Vec<AckPacket>) -> Result<(), Fault> {
    for packet in packets {
        if packet.on_the_way.is_empty() {
            let payload = encode_cookies(&packet.cookies);
            io.send_control(packet.peer, ControlMessage::Ack, payload)?;
            continue;
        }
        let tasks = packet
            .recipients()
            .map(|(peer, cookies)| (peer.task, cookies));
        let payload = encode_path_ack(tasks);
        io.send_control(packet.peer, ControlMessage::PathAck, payload)?;
    }
    Ok(())
}

/// Tells `peer` that its put or message with this cookie has not arrived.
///
/// # Errors
/// Errors of a send.
pub(crate) fn refuse<P: Platform>(
    io: &mut Io<P>,
    peer: Endpoint,
    (cookie, what): (u32, u8),
) -> Result<(), Fault> {
    let message = Refused { cookie, what };
    io.send_control(peer, ControlMessage::Refused, message.encode())
}
