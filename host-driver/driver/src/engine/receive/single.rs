// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets that are whole messages of the user's.

use gyre_layout::{HEADER_BYTES, WholeMessage};

use super::charge_packet;
use crate::am::AmIo;
use crate::am::assembly::{self, PacketOrigin, Path};
use crate::am::dispatch::Arrival;
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::error::Fault;
use crate::platform::Platform;
use crate::transport::envelope::Envelope;
use crate::transport::reception::Packet;
use crate::transport::wire::{ControlMessage, FIRST_CONTROL, Headed};
use crate::upcalls::Upcalls;

impl<P: Platform> Engine<P> {
    /// Takes and handles the next packet. The fast path is for a packet that is a whole message of the user's, while no
    /// other message is partly here.
    #[inline(always)]
    pub(super) fn receive_next(&mut self, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        let mut bytes = [0; HEADER_BYTES];
        self.reception.header(&mut bytes)?;
        let Some(message) = WholeMessage::decode(&bytes) else {
            return self.receive_part(&bytes, up);
        };
        let envelope = Envelope::unpack(message.software[0]);
        let from = PacketOrigin::of(message.src, message.software[0]);
        let Ok(peer) = self.peer(from, message.src, message.software[0]) else {
            return self.receive_part(&bytes, up);
        };
        if envelope.dispatch >= FIRST_CONTROL || !self.assemblies.is_empty() {
            let headed = envelope.dispatch == ControlMessage::Headed as u8;
            return match headed && self.assemblies.is_empty() {
                true => self.receive_headed(message, peer, up),
                false => self.receive_part(&bytes, up),
            };
        }
        let Self {
            core,
            io,
            acks,
            kept,
            reception,
            payload,
            ..
        } = self;
        let payload = reception.take(usize::from(message.len), payload)?;
        let packet = Packet::whole(message, payload);
        up.progress().packets += 1;
        charge_packet(&core.platform, Op::Packet, &packet);
        core.note(|at| packet.note(at, peer));
        let arrival = assembly::whole(peer, (envelope.comm, packet.sw1), packet.payload);
        let mut am = AmIo { io, acks, kept, up };
        assembly::dispatch_whole(&mut am, envelope.dispatch, &arrival)
    }

    /// Takes and handles the next packet, a headed message, while no other message is partly here.
    #[inline(never)] // Keeps the path of plain messages short.
    fn receive_headed(
        &mut self,
        message: WholeMessage,
        peer: Endpoint,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let length = usize::from(message.len);
        self.with_payload(length, up, |engine, taken, up| {
            let packet = Packet::whole(message, taken);
            up.progress().packets += 1;
            charge_packet(&engine.core.platform, Op::Packet, &packet);
            engine.headed(&packet, peer, up)
        })
    }

    /// Handles a headed message: as a user's message of one packet, if its data comes with it and it asks for no
    /// acknowledgement.
    #[inline(always)]
    fn headed(
        &mut self,
        packet: &Packet<'_>,
        peer: Endpoint,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let envelope = Envelope::unpack(packet.sw0);
        match Headed::open(packet.payload) {
            Ok((fields, header, data))
                if fields.cookie == 0 && data.len() == fields.length as usize =>
            {
                self.core.platform.charge(Op::Header, 1);
                self.core.note(|at| packet.note(at, peer));
                let arrival = Arrival {
                    header,
                    ..assembly::whole(peer, (envelope.comm, packet.sw1), data)
                };
                assembly::dispatch_whole(&mut self.am(up), fields.dispatch, &arrival)
            }
            _ => self.handle(packet, peer, Path::Network, up),
        }
    }
}
