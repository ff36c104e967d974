// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control messages: each goes to its protocol.

use gyre_layout::Coord;

use crate::am::assembly::{Origin, malformed};
use crate::am::dispatch::Arrival;
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::error::Fault;
use crate::flow::peers::{self, PutsBy};
use crate::platform::Platform;
use crate::rendezvous;
use crate::rma::descriptors::synchronise;
use crate::rma::fence::FenceIo;
use crate::rma::gets::Purpose;
use crate::transport::reception::Packet;
use crate::transport::wire::{
    self, ControlMessage, Fence, FenceAck, Fields, FlowGrant, FlowRequest, GetFailed, Headed,
    MessagesRefused, PutNotice, PutSync, Refused, Rts, WireError,
};
use crate::upcalls::Upcalls;

impl<P: Platform> Engine<P> {
    /// Handles control message `id`; `arrival` has its packet header.
    #[inline(never)]
    pub(super) fn control_message(
        &mut self,
        origin: Origin,
        id: u8,
        arrival: Arrival<'_>,
        payload: &[u8],
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let op = match id == ControlMessage::Headed as u8 {
            true => Op::Header,
            false => Op::Control,
        };
        self.core.platform.charge(op, 1);
        let peer = arrival.origin;
        let node = origin.0.node;
        let wrong = |error| malformed(peer.task, error);
        match ControlMessage::from_id(id) {
            Some(ControlMessage::Headed) => {
                let (fields, header, data) = Headed::open(payload).map_err(wrong)?;
                let arrival = Arrival {
                    header,
                    length: fields.length as usize,
                    ..arrival
                };
                let (assemblies, mut am) = self.assemblies(up);
                let with = (fields.cookie, data);
                assemblies.headed(&mut am, origin, fields.dispatch, arrival, with)
            }
            Some(ControlMessage::Rts) => {
                let (fields, header) = Rts::open(payload).map_err(wrong)?;
                let arrival = Arrival {
                    header,
                    length: fields.length as usize,
                    ..arrival
                };
                let (gets, mut am) = self.gets(up);
                rendezvous::requested(&mut am, gets, &arrival, fields)
            }
            Some(ControlMessage::Ack) => {
                let cookies = wire::decode_cookies(payload).map_err(wrong)?;
                self.all_acknowledged(peer, cookies, up)
            }
            Some(ControlMessage::PutSync) => {
                let PutSync { cookie, number } = PutSync::decode_all(payload).map_err(wrong)?;
                let puts = PutsBy::unpack(arrival.tag);
                let purpose = Purpose::PutSync { cookie, number };
                synchronise(&mut self.gets, peer, puts, purpose);
                Ok(())
            }
            Some(ControlMessage::PutNotice) => {
                let notice = PutNotice::decode_all(payload).map_err(wrong)?;
                let puts = PutsBy::unpack(arrival.tag);
                let purpose = Purpose::PutNotice(Box::new(notice));
                synchronise(&mut self.gets, peer, puts, purpose);
                Ok(())
            }
            Some(ControlMessage::Fence) => {
                let fields = Fence::decode_all(payload).map_err(wrong)?;
                let follows = fields.follows_puts().map_err(wrong)?;
                let puts = follows.then(|| PutsBy::unpack(arrival.tag));
                let with = FenceIo {
                    io: &mut self.io,
                    gets: &mut self.gets,
                    refusals: &mut self.refusals,
                };
                self.fences
                    .requested(with, &mut self.acks, peer, fields, puts)
            }
            Some(ControlMessage::FenceAck) => {
                let fields = FenceAck::decode_all(payload).map_err(wrong)?;
                let (fences, with) = self.fences();
                fences.answered(with, peer, fields, up)
            }
            Some(ControlMessage::GetFailed) => {
                let fields = GetFailed::decode_all(payload).map_err(wrong)?;
                self.get_failed(node, fields, up)
            }
            Some(ControlMessage::Refused) => {
                let fields = Refused::decode_all(payload).map_err(wrong)?;
                let refused = self.refused_by_peer(peer, fields, up);
                refused.and(self.end_fences(peer, up))
            }
            Some(ControlMessage::MessagesRefused) => {
                let fields = MessagesRefused::decode_all(payload).map_err(wrong)?;
                self.messages_refused(node, fields, up)
            }
            Some(
                ControlMessage::Data
                | ControlMessage::PathAck
                | ControlMessage::FlowRequest
                | ControlMessage::FlowGrant,
            )
            | None => Err(wrong(WireError {
                message: "control message",
                field: "dispatch identifier",
                value: u64::from(id),
                expected: "one of the driver's",
            })),
        }
    }

    /// Handles acknowledgements in a packet to this endpoint, or in the copy of one to another. It is exempt from
    /// per-origin ordering: it may come between the packets of a message.
    pub(super) fn path_ack(
        &mut self,
        packet: &Packet<'_>,
        peer: Endpoint,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        self.core.platform.charge(Op::Control, 1);
        let (payload, length) = (packet.payload, packet.length as usize);
        let wrong = |error| malformed(peer.task, error);
        if payload.len() != length {
            return Err(wrong(WireError {
                message: "path acknowledgement",
                field: "length",
                value: length as u64,
                expected: "one packet",
            }));
        }
        let own = wire::decode_path_ack(payload, self.core.info.endpoint.task);
        self.all_acknowledged(peer, own.map_err(wrong)?, up)
    }

    /// Ends the operations that `peer` has acknowledged.
    fn all_acknowledged(
        &mut self,
        peer: Endpoint,
        cookies: impl IntoIterator<Item = u32>,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let mut result = Ok(());
        for cookie in cookies {
            let acknowledged = self.acknowledged(peer, cookie, up);
            result = result.and(acknowledged);
        }
        result.and(self.end_fences(peer, up))
    }

    /// Ends the fences that waited only for operations that `peer` has acknowledged or refused.
    fn end_fences(&mut self, peer: Endpoint, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        let (fences, with) = self.fences();
        fences.end_all_of(with, peer, up)
    }

    /// Handles a flow request. As [`path_ack`](Self::path_ack) it is exempt from per-origin ordering.
    pub(super) fn flow_requested(
        &mut self,
        packet: &Packet<'_>,
        peer: Endpoint,
    ) -> Result<(), Fault> {
        self.core.platform.charge(Op::Control, 1);
        let wrong = |error| malformed(peer.task, error);
        let request = FlowRequest::decode_all(packet.payload).map_err(wrong)?;
        let from: (Endpoint, Coord) = (peer, packet.node.unpack());
        peers::answer(self.io.flows.as_mut(), &self.io.lanes, from, request)
    }

    /// Handles a flow grant, which is exempt from per-origin ordering as well.
    pub(super) fn flow_granted(
        &mut self,
        packet: &Packet<'_>,
        peer: Endpoint,
    ) -> Result<(), Fault> {
        self.core.platform.charge(Op::Control, 1);
        let wrong = |error| malformed(peer.task, error);
        let grant = FlowGrant::decode_all(packet.payload).map_err(wrong)?;
        match &mut self.io.flows {
            Some(flows) => flows.granted(&self.io.lanes, peer, packet.node.unpack(), grant),
            None => Ok(()),
        }
    }
}
