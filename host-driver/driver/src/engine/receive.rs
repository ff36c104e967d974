//! Reception: packets go to the messages that they are parts of, and control messages to their
//! protocols.

use gyre_layout::{
    Coord, HEADER_BYTES, Kind, MAX_PAYLOAD_BYTES, MessageHeader, PackedCoord, WholeMessage,
};
use gyre_note::Note;

use super::Engine;
use crate::am::AmIo;
use crate::am::assembly::{
    self, Assembly, Incoming, Origin, PacketOrigin, Path, malformed, out_of_order,
};
use crate::am::dispatch::{Arrival, Receive};
use crate::core::Core;
use crate::cost::{COPY_CHUNK, Op};
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::flow::peers::{self, PutsBy};
use crate::platform::Platform;
use crate::rma::fence::FenceIo;
use crate::rma::gets::Purpose;
use crate::rma::start::synchronise;
use crate::rndv;
use crate::task::TaskLocation;
use crate::transport::envelope::Envelope;
use crate::transport::reception::Packet;
use crate::transport::wire::{
    self, ControlMessage, FIRST_CONTROL, Fence, FenceAck, FlowGrant, FlowRequest, GetFailed,
    Headed, MessagesRefused, PutNotice, PutSync, Refused, Rts, WireError,
};
use crate::upcalls::Upcalls;

impl<P: Platform> Engine<P> {
    /// Takes the packets that there are: in the reception FIFO, of so many `bytes`, and in the ring in shared memory, if the
    /// last poll has seen some.
    #[inline(never)] // Keeps the way of plain messages short.
    pub(super) fn receive(
        &mut self,
        bytes: usize,
        shared: bool,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        if bytes > 0 {
            self.receive_network(up)?;
        }
        match shared {
            true => self.receive_shared(up),
            false => Ok(()),
        }
    }

    /// Takes the packets that the last poll has seen in the reception FIFO, up to one with an error: those
    /// behind it wait for the next turn, so that no error is lost.
    #[inline(always)]
    pub(super) fn receive_network(&mut self, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        self.core.platform.charge(Op::Receive, 1);
        while self.reception.available() > 0 {
            let handled = self.receive_next(up);
            self.core.note(|at| Note::Handled { at });
            // A failing access does not undo the handling.
            let relieved = self.reception.relieve(&self.core.platform);
            handled.and(relieved)?;
        }
        Ok(())
    }

    /// Takes and handles the next packet. The case that has to be fast is one that is all of a user's message, while no
    /// other message is half here.
    #[inline(always)]
    fn receive_next(&mut self, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
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
            return match envelope.dispatch == ControlMessage::Headed as u8
                && self.assemblies.is_empty()
            {
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
        match up.dispatch(envelope.dispatch, &arrival) {
            Some(Receive::Consumed) => Ok(()),
            receive => {
                let mut am = AmIo { io, acks, kept, up };
                assembly::receive_whole(&mut am, envelope.dispatch, &arrival, receive)
            }
        }
    }

    /// Takes and handles the next packet, which is a headed message, while no other message is half here.
    #[inline(never)] // Keeps the way of plain messages short.
    fn receive_headed(
        &mut self,
        message: WholeMessage,
        peer: Endpoint,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let mut payload = core::mem::take(&mut self.payload);
        let length = usize::from(message.len);
        let handled = match self.reception.take(length, &mut payload) {
            Ok(taken) => {
                let packet = Packet::whole(message, taken);
                up.progress().packets += 1;
                charge_packet(&self.core.platform, Op::Packet, &packet);
                self.headed(&packet, peer, up)
            }
            Err(error) => Err(error),
        };
        self.payload = payload;
        handled
    }

    /// Handles a headed message: one whose data comes with it and that nobody wants acknowledged, as a user's message of one
    /// packet.
    #[inline(always)]
    fn headed(
        &mut self,
        packet: &Packet<'_>,
        peer: Endpoint,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let envelope = Envelope::unpack(packet.sw0);
        let opened = Headed::open(packet.payload);
        let Ok((fields @ Headed { cookie: 0, .. }, header, data)) = opened else {
            return self.handle(packet, peer, Path::Network, up);
        };
        if data.len() != fields.length as usize {
            return self.handle(packet, peer, Path::Network, up);
        }
        self.core.platform.charge(Op::Header, 1);
        self.core.note(|at| packet.note(at, peer));
        let arrival = Arrival {
            header,
            ..assembly::whole(peer, (envelope.comm, packet.sw1), data)
        };
        match up.dispatch(fields.dispatch, &arrival) {
            Some(Receive::Consumed) => Ok(()),
            receive => {
                let mut am = self.am(up);
                assembly::receive_whole(&mut am, fields.dispatch, &arrival, receive)
            }
        }
    }

    /// Takes and handles the next packet, of header `bytes`, whatever it is. One of several of a user's message that is where
    /// it should be goes to its place at once.
    #[inline(never)] // Keeps the way of plain messages short.
    fn receive_part(
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

    /// The same of one that is copied first, since where it belongs is found out by looking into it, or is wrong.
    #[inline(never)]
    fn receive_other(
        &mut self,
        bytes: &[u8; HEADER_BYTES],
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let header = self.reception.decode(bytes)?;
        let length = usize::from(header.len);
        let from = PacketOrigin::of(header.src, header.software[0]);
        let peer = self.peer(from, header.src, header.software[0]);
        let mut payload = core::mem::take(&mut self.payload);
        let handled = match self.reception.take(length, &mut payload) {
            Ok(taken) => {
                let packet = Packet::of(&header, taken);
                up.progress().packets += 1;
                charge_packet(&self.core.platform, Op::Assemble, &packet);
                peer.and_then(|peer| self.handle(&packet, peer, Path::Network, up))
            }
            Err(error) => Err(error),
        };
        self.payload = payload;
        handled
    }

    /// Whether the next packet, with this header, is the first of several of a user's message, as it should be.
    fn begins(&self, header: &MessageHeader) -> bool {
        let dispatch = Envelope::unpack(header.software[0]).dispatch;
        let user = dispatch < FIRST_CONTROL || dispatch == ControlMessage::Data as u8;
        let several = header.first && !header.last && header.length as usize > MAX_PAYLOAD_BYTES;
        let full = usize::from(header.len) == MAX_PAYLOAD_BYTES && header.offset == 0;
        user && several && full && self.reception.holds(MAX_PAYLOAD_BYTES)
    }

    /// Takes and handles the next packet, of which [`begins`](Self::begins) is true: its payload goes to its place at once.
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

    /// Takes the next packet, which is one of a message that is arriving and has no buffer of the user's.
    #[inline(never)]
    fn receive_elsewhere(
        &mut self,
        header: &MessageHeader,
        peer: Endpoint,
        origin: Origin,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let mut payload = core::mem::take(&mut self.payload);
        let length = usize::from(header.len);
        let added = match self.reception.take(length, &mut payload) {
            Ok(taken) => {
                self.core.platform.charge_copy(Op::Unload, length);
                let (assemblies, mut am) = self.assemblies(up);
                assemblies.add(&mut am, &Packet::of(header, taken), &origin, peer.task)
            }
            Err(error) => Err(error),
        };
        self.payload = payload;
        added
    }

    /// Ends the message that got the last packet: it is complete.
    #[inline(never)] // Keeps the way of its other packets short.
    fn end_last(&mut self, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        self.core.leave_rest();
        self.changed = true;
        let (assemblies, mut am) = self.assemblies(up);
        assemblies.end_last(&mut am)
    }

    /// Takes the packets that the last poll has seen in the context's ring in shared memory, up to one with an error.
    fn receive_shared(&mut self, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        let core = std::sync::Arc::clone(&self.core);
        let platform = &core.platform;
        let mut payload = [0; MAX_PAYLOAD_BYTES];
        let result = loop {
            let Some(inbox) = &mut self.inbox else {
                return Ok(());
            };
            match inbox.next(platform, &mut payload) {
                Ok(Some(packet)) => {
                    up.progress().packets += 1;
                    platform.charge(Op::Assemble, 1);
                    let chunks = packet.payload.len().div_ceil(COPY_CHUNK) as u64;
                    platform.charge(Op::ShareChunk, chunks);
                    let from = PacketOrigin::of(packet.node, packet.sw0);
                    let peer = self.peer(from, packet.node, packet.sw0);
                    let handled =
                        peer.and_then(|peer| self.handle(&packet, peer, Path::SharedMemory, up));
                    core.note(|at| Note::Handled { at });
                    if handled.is_err() {
                        break handled;
                    }
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        match &mut self.inbox {
            Some(inbox) => {
                let given = inbox.give_back(platform);
                result.and(given)
            }
            None => result,
        }
    }

    /// Handles one packet of `peer`, which has come by this path.
    #[inline]
    fn handle(
        &mut self,
        packet: &Packet<'_>,
        peer: Endpoint,
        path: Path,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let envelope = Envelope::unpack(packet.sw0);
        let task = peer.task;
        if packet.kind != Kind::MemFifo {
            return Err(out_of_order(
                task,
                "kind",
                u64::from(u8::from(packet.kind)),
                u64::from(u8::from(Kind::MemFifo)),
            ));
        }
        self.core.note(|at| packet.note(at, peer));
        if self.is_plain(packet, envelope) {
            let arrival = assembly::whole(peer, (envelope.comm, packet.sw1), packet.payload);
            let receive = up.dispatch(envelope.dispatch, &arrival);
            let mut am = self.am(up);
            return assembly::receive_whole(&mut am, envelope.dispatch, &arrival, receive);
        }
        let from = TaskLocation {
            node: packet.node.unpack(),
            process: envelope.process,
        };
        self.part(packet, (from, envelope.context, path), peer, envelope, up)
    }

    /// The endpoint at `node` that software word 0 names, from whom packets are `from`.
    ///
    /// # Errors
    /// [`Error::UnknownOrigin`].
    #[inline(always)]
    fn peer(&mut self, from: PacketOrigin, node: PackedCoord, sw0: u32) -> Result<Endpoint, Fault> {
        match self.origins.last(from) {
            Some(peer) => Ok(peer),
            None => self.other_peer(from, node, sw0),
        }
    }

    /// The same of another one than that of the packet before it.
    #[inline(never)] // Keeps the way of plain messages short.
    fn other_peer(
        &mut self,
        from: PacketOrigin,
        node: PackedCoord,
        sw0: u32,
    ) -> Result<Endpoint, Fault> {
        self.core.platform.charge(Op::Origin, 1);
        let core = &self.core;
        self.origins
            .next(from, || origin(core, node, Envelope::unpack(sw0)))
    }

    /// Whether a packet is all of a user's message, and no other message is half here: the case that has to be
    /// fast.
    fn is_plain(&self, packet: &Packet<'_>, envelope: Envelope) -> bool {
        envelope.dispatch < FIRST_CONTROL && packet.is_whole() && self.assemblies.is_empty()
    }

    /// Handles a packet that is not all of a user's message.
    #[inline(never)] // Keeps the way of plain messages short.
    fn part(
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
            let incoming = Incoming {
                origin: peer,
                dispatch: envelope.dispatch,
                comm: envelope.comm,
                tag: packet.sw1,
                header: &[],
                length: packet.payload.len(),
                immediate: None,
            };
            return self
                .control_message(origin, incoming, packet.payload, up)
                .and(cut);
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

    /// First packet of a message: finds out where it goes. A message that cannot be understood goes
    /// nowhere, and the error says so once.
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
        let incoming = Incoming {
            origin: peer,
            dispatch,
            comm: envelope.comm,
            tag: packet.sw1,
            header: &[],
            length,
            immediate: (packet.payload.len() == length).then_some(packet.payload),
        };
        let (assemblies, mut am) = self.assemblies(up);
        let (assembly, known) = assemblies.user(&mut am, &incoming);
        (assembly, cut.and(known))
    }

    /// A message of the driver's own. `incoming` has what its packet header says.
    #[inline(never)]
    fn control_message(
        &mut self,
        origin: Origin,
        incoming: Incoming<'_>,
        payload: &[u8],
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let op = match incoming.dispatch == ControlMessage::Headed as u8 {
            true => Op::Header,
            false => Op::Control,
        };
        self.core.platform.charge(op, 1);
        let peer = incoming.origin;
        let node = origin.0.node;
        let wrong = |error| malformed(peer.task, error);
        match ControlMessage::from_id(incoming.dispatch) {
            Some(ControlMessage::Headed) => {
                let (fields, header, data) = Headed::open(payload).map_err(wrong)?;
                let incoming = Incoming {
                    dispatch: fields.dispatch,
                    header,
                    length: fields.length as usize,
                    ..incoming
                };
                let (assemblies, mut am) = self.assemblies(up);
                assemblies.headed(&mut am, origin, incoming, fields.cookie, data)
            }
            Some(ControlMessage::Rts) => {
                let (fields, rest) = Rts::decode(payload).map_err(wrong)?;
                let (header, rest) =
                    wire::split_header("request to send", rest, fields.header_length)
                        .map_err(wrong)?;
                wire::end("request to send", ((), rest)).map_err(wrong)?;
                let incoming = Incoming {
                    dispatch: fields.dispatch,
                    header,
                    length: fields.length as usize,
                    ..incoming
                };
                let (gets, mut am) = self.gets(up);
                rndv::requested(&mut am, gets, &incoming, fields)
            }
            Some(ControlMessage::Ack) => {
                let mut result = Ok(());
                for cookie in wire::decode_cookies(payload).map_err(wrong)? {
                    let acknowledged = self.acknowledged(peer, cookie, up);
                    result = result.and(acknowledged);
                }
                result.and(self.end_fences(peer, up))
            }
            Some(ControlMessage::PutSync) => {
                let fields = wire::end("put synchronisation", {
                    PutSync::decode(payload).map_err(wrong)?
                });
                let PutSync { cookie, number } = fields.map_err(wrong)?;
                let puts = PutsBy::unpack(incoming.tag);
                let purpose = Purpose::PutSync { cookie, number };
                synchronise(&mut self.gets, peer, puts, purpose);
                Ok(())
            }
            Some(ControlMessage::PutNotice) => {
                let fields = wire::end("put notice", PutNotice::decode(payload).map_err(wrong)?);
                let notice = fields.map_err(wrong)?;
                let puts = PutsBy::unpack(incoming.tag);
                let purpose = Purpose::PutNotice(Box::new(notice));
                synchronise(&mut self.gets, peer, puts, purpose);
                Ok(())
            }
            Some(ControlMessage::Fence) => {
                let fields = wire::end("fence", Fence::decode(payload).map_err(wrong)?);
                let fields = fields.map_err(wrong)?;
                let follows = fields.follows_puts().map_err(wrong)?;
                let puts = follows.then(|| PutsBy::unpack(incoming.tag));
                let with = FenceIo {
                    io: &mut self.io,
                    gets: &mut self.gets,
                    refusals: &mut self.refusals,
                };
                self.fences
                    .requested(with, &mut self.acks, peer, fields, puts)
            }
            Some(ControlMessage::FenceAck) => {
                let fields = wire::end("fence acknowledgement", {
                    FenceAck::decode(payload).map_err(wrong)?
                });
                let fields = fields.map_err(wrong)?;
                let (fences, with) = self.fences();
                fences.answered(with, peer, fields, up)
            }
            Some(ControlMessage::GetFailed) => {
                let fields = wire::end("failed get", GetFailed::decode(payload).map_err(wrong)?);
                self.get_failed(node, fields.map_err(wrong)?, up)
            }
            Some(ControlMessage::Refused) => {
                let fields = wire::end("refusal", Refused::decode(payload).map_err(wrong)?);
                let refused = self.refused_by_peer(peer, fields.map_err(wrong)?, up);
                refused.and(self.end_fences(peer, up))
            }
            Some(ControlMessage::MessagesRefused) => {
                let fields = wire::end("refused messages", {
                    MessagesRefused::decode(payload).map_err(wrong)?
                });
                self.messages_refused(node, fields.map_err(wrong)?, up)
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
                value: u64::from(incoming.dispatch),
                expected: "one of the driver's",
            })),
        }
    }

    /// Acknowledgements in a packet to this endpoint, or in the copy of one to another. It is exempt from
    /// per-origin ordering: it may come between the packets of a message.
    fn path_ack(
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
        let mut result = Ok(());
        for cookie in own.map_err(wrong)? {
            let acknowledged = self.acknowledged(peer, cookie, up);
            result = result.and(acknowledged);
        }
        result.and(self.end_fences(peer, up))
    }

    /// Ends the fences that waited for nothing but what `peer` has acknowledged or refused.
    fn end_fences(&mut self, peer: Endpoint, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        let (fences, with) = self.fences();
        fences.end_all_of(with, peer, up)
    }

    /// FLOW_REQUEST has come. As [`path_ack`](Self::path_ack) it is exempt from per-origin ordering.
    fn flow_requested(&mut self, packet: &Packet<'_>, peer: Endpoint) -> Result<(), Fault> {
        self.core.platform.charge(Op::Control, 1);
        let wrong = |error| malformed(peer.task, error);
        let fields = FlowRequest::decode(packet.payload).map_err(wrong)?;
        let request = wire::end("flow request", fields).map_err(wrong)?;
        let from: (Endpoint, Coord) = (peer, packet.node.unpack());
        peers::answer(self.io.flows.as_mut(), &self.io.lanes, from, request)
    }

    /// FLOW_GRANT has come, outside the order as well.
    fn flow_granted(&mut self, packet: &Packet<'_>, peer: Endpoint) -> Result<(), Fault> {
        self.core.platform.charge(Op::Control, 1);
        let wrong = |error| malformed(peer.task, error);
        let fields = FlowGrant::decode(packet.payload).map_err(wrong)?;
        let grant = wire::end("flow grant", fields).map_err(wrong)?;
        match &mut self.io.flows {
            Some(flows) => flows.granted(&self.io.lanes, peer, packet.node.unpack(), grant),
            None => Ok(()),
        }
    }
}

/// The endpoint at `node` that an envelope names.
///
/// # Errors
/// [`Error::UnknownOrigin`].
#[cold]
fn origin<P: Platform>(
    core: &Core<P>,
    node: PackedCoord,
    envelope: Envelope,
) -> Result<Endpoint, Fault> {
    let Envelope {
        process, context, ..
    } = envelope;
    let config = &core.layout.config;
    let task = config.tasks.task_of(node, process);
    let Some(task) = task.filter(|_| context < config.contexts) else {
        let node = node.unpack();
        return Err(Error::UnknownOrigin { node, process }.into());
    };
    Ok(core.peer(task, context))
}

/// The time that reading a packet has taken.
#[inline(always)]
fn charge_packet<P: Platform>(platform: &P, op: Op, packet: &Packet<'_>) {
    platform.charge(op, 1);
    platform.charge_copy(Op::Unload, packet.payload.len());
}
