// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets of messages of several packets, and packets that are not messages of the user's.

use gyre_layout::{HEADER_BYTES, MAX_PAYLOAD_BYTES, MessageHeader};

use super::charge_packet;
use crate::am::assembly::{self, Assembly, Origin, PacketOrigin, Path, malformed};
use crate::am::dispatch::Arrival;
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::error::Fault;
use crate::platform::Platform;
use crate::task::TaskLocation;
use crate::transport::envelope::Envelope;
use crate::transport::reception::Packet;
use crate::transport::wire::{ControlMessage, FIRST_CONTROL, WireError};
use crate::upcalls::Upcalls;

impl<P: Platform> Engine<P> {
    /// Takes and handles the next packet, of header `bytes`. The payload of one that continues a user's message in order is
    /// copied to its place at once.
    #[inline(never)] // Keeps the path of plain messages short.
    pub(super) fn receive_part(
        &mut self,
        bytes: &[u8; HEADER_BYTES],
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let Some(header) = MessageHeader::decode_part(bytes) else {
            return self.receive_other(bytes, up);
        };
        let from = PacketOrigin::of(header.src, header.software[0]);
        let Ok(peer) = self.peer(from, header.src, header.software[0]) else {
            return self.receive_other(bytes, up);
        };
        let Some((into, at)) = self.assemblies.next_place(from, &header) else {
            return match self.begins(&header) {
                true => self.receive_first(&header, peer, from, up),
                false => self.receive_other(bytes, up),
            };
        };
        let length = usize::from(header.len);
        let platform = &self.core.platform;
        platform.charge(Op::Place, 1);
        platform.charge_copy(Op::Copy, length);
        up.progress().packets += 1;
        self.core.note(|at| Packet::of(&header, &[]).note(at, peer));
        self.reception.take_into(length, into, at)?;
        match header.last {
            true => self.end_last(up),
            false => Ok(()),
        }
    }

    /// Takes and handles the next packet, of header `bytes`, by a copy of its payload.
    #[inline(never)]
    fn receive_other(
        &mut self,
        bytes: &[u8; HEADER_BYTES],
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let header = self.reception.decode(bytes)?;
        let from = PacketOrigin::of(header.src, header.software[0]);
        let peer = self.peer(from, header.src, header.software[0]);
        self.with_payload(usize::from(header.len), up, |engine, taken, up| {
            let packet = Packet::of(&header, taken);
            up.progress().packets += 1;
            charge_packet(&engine.core.platform, Op::Assemble, &packet);
            peer.and_then(|peer| engine.handle(&packet, peer, Path::Network, up))
        })
    }

    /// Whether the next packet, with this header, is a correct first one of several of a user's message.
    fn begins(&self, header: &MessageHeader) -> bool {
        let dispatch = Envelope::unpack(header.software[0]).dispatch;
        let user = dispatch < FIRST_CONTROL || dispatch == ControlMessage::Data as u8;
        let several = header.first && !header.last && header.length as usize > MAX_PAYLOAD_BYTES;
        let full = usize::from(header.len) == MAX_PAYLOAD_BYTES && header.offset == 0;
        user && several && full && self.reception.holds(MAX_PAYLOAD_BYTES)
    }

    /// Takes and handles the next packet, the first of several: its payload is copied to its place at once.
    #[inline(never)]
    fn receive_first(
        &mut self,
        header: &MessageHeader,
        peer: Endpoint,
        from: PacketOrigin,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        self.core.platform.charge(Op::Assemble, 1);
        up.progress().packets += 1;
        let packet = Packet::of(header, &[]);
        self.core.note(|at| packet.note(at, peer));
        self.core.leave_rest();
        self.changed = true;
        let envelope = Envelope::unpack(packet.sw0);
        let location = TaskLocation {
            node: packet.node.unpack(),
            process: envelope.process,
        };
        let origin = (location, envelope.context, Path::Network);
        let (assemblies, mut am) = self.assemblies(up);
        let cut = assemblies.cut(&mut am, &origin, peer.task);
        let (assembly, known) = self.begin(&packet, origin, peer, envelope, up);
        self.assemblies.open(assembly, origin, from);
        let taken = match self.assemblies.next_place(from, header) {
            Some((into, at)) => {
                self.core.platform.charge_copy(Op::Copy, MAX_PAYLOAD_BYTES);
                self.reception.take_into(MAX_PAYLOAD_BYTES, into, at)
            }
            None => self.receive_elsewhere(header, peer, origin, up),
        };
        known.and(taken).and(cut)
    }

    /// Takes the next packet, of an arriving message that has no buffer of the user's.
    #[inline(never)]
    fn receive_elsewhere(
        &mut self,
        header: &MessageHeader,
        peer: Endpoint,
        origin: Origin,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let length = usize::from(header.len);
        self.with_payload(length, up, |engine, taken, up| {
            engine.core.platform.charge_copy(Op::Unload, length);
            let (assemblies, mut am) = engine.assemblies(up);
            assemblies.add(&mut am, &Packet::of(header, taken), &origin, peer.task)
        })
    }

    /// Ends the message that got the last packet: it is complete.
    #[inline(never)] // Keeps the path of its other packets short.
    fn end_last(&mut self, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        self.core.leave_rest();
        self.changed = true;
        let (assemblies, mut am) = self.assemblies(up);
        assemblies.end_last(&mut am)
    }

    /// Handles a packet that is not a whole message of the user's.
    #[inline(never)] // Keeps the path of plain messages short.
    pub(super) fn part(
        &mut self,
        packet: &Packet<'_>,
        origin: Origin,
        peer: Endpoint,
        envelope: Envelope,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        self.core.leave_rest();
        self.changed = true;
        match ControlMessage::from_id(envelope.dispatch) {
            Some(ControlMessage::PathAck) => return self.path_ack(packet, peer, up),
            Some(ControlMessage::FlowRequest) => return self.flow_requested(packet, peer),
            Some(ControlMessage::FlowGrant) => return self.flow_granted(packet, peer),
            _ => {}
        }
        let control =
            envelope.dispatch >= FIRST_CONTROL && envelope.dispatch != ControlMessage::Data as u8;
        if control && packet.is_whole() {
            let cut = match self.assemblies.is_empty() {
                true => Ok(()),
                false => {
                    let (assemblies, mut am) = self.assemblies(up);
                    let dispatch = envelope.dispatch;
                    let cut = assemblies.cut(&mut am, &origin, peer.task);
                    cut.and(assemblies.cut_announced(&mut am, &origin, peer.task, dispatch))
                }
            };
            let arrival = Arrival {
                immediate: None,
                ..assembly::whole(peer, (envelope.comm, packet.sw1), packet.payload)
            };
            let id = envelope.dispatch;
            let handled = self.control_message(origin, id, arrival, packet.payload, up);
            return handled.and(cut);
        }
        if packet.first {
            let (assemblies, mut am) = self.assemblies(up);
            let cut = assemblies.cut(&mut am, &origin, peer.task);
            let (assembly, known) = self.begin(packet, origin, peer, envelope, up);
            let (assemblies, mut am) = self.assemblies(up);
            let continued = assemblies.begin(&mut am, packet, origin, peer.task, assembly);
            return known.and(continued).and(cut);
        }
        let (assemblies, mut am) = self.assemblies(up);
        assemblies.add(&mut am, packet, &origin, peer.task)
    }

    /// Begins a message by its first packet: finds its target. A malformed message is dropped, and the error is returned
    /// once.
    fn begin(
        &mut self,
        packet: &Packet<'_>,
        origin: Origin,
        peer: Endpoint,
        envelope: Envelope,
        up: &mut impl Upcalls<P>,
    ) -> (Assembly<P>, Result<(), Fault>) {
        let length = packet.length as usize;
        let dispatch = envelope.dispatch;
        if dispatch == ControlMessage::Data as u8 {
            let (assemblies, mut am) = self.assemblies(up);
            return assemblies.data(&mut am, &origin, peer.task, length);
        }
        let (assemblies, mut am) = self.assemblies(up);
        let cut = assemblies.cut_announced(&mut am, &origin, peer.task, dispatch);
        if dispatch >= FIRST_CONTROL {
            let wrong = malformed(
                peer.task,
                WireError {
                    message: "control message",
                    field: "length",
                    value: length as u64,
                    expected: "one packet",
                },
            );
            return (Assembly::nowhere(length), cut.and(Err(wrong)));
        }
        let arrival = Arrival {
            length,
            immediate: (packet.payload.len() == length).then_some(packet.payload),
            ..assembly::whole(peer, (envelope.comm, packet.sw1), &[])
        };
        let (assemblies, mut am) = self.assemblies(up);
        let (assembly, known) = assemblies.user(&mut am, dispatch, &arrival);
        (assembly, cut.and(known))
    }
}
