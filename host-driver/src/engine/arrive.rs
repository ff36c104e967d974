//! What arrives: packets, the messages that they make up, and the driver's own messages.

use gyre_layout::{Kind, MAX_PAYLOAD_BYTES};

use super::flows::PutsBy;
use super::{Announced, Assembly, Engine, Origin, Path, Target, callback, deliver};
use crate::buffer::BufferRange;
use crate::context::{Context, Progress};
use crate::cost::{COPY_CHUNK, Op};
use crate::dispatch::{Arrival, Receive};
use crate::endpoint::Endpoint;
use crate::envelope::Envelope;
use crate::error::{Error, Fault};
use crate::gets::{Purpose, Request, Waiting};
use crate::instruction::{DoneFn, RemoteAddress};
use crate::platform::Platform;
use crate::reception::Packet;
use crate::route::Routing;
use crate::sync::short;
use crate::task::{TaskId, TaskLocation};
use crate::wire::{
    self, FIRST_SYSTEM, Fence, FenceAck, FlowAsk, FlowGrant, GetFailed, Headed, MessagesRefused,
    PutSync, Refused, Rts, System, WireError,
};

/// A message as its dispatch callback gets it.
struct Incoming<'a> {
    origin: Endpoint,
    dispatch: u8,
    comm: u8,
    tag: u32,
    header: &'a [u8],
    length: usize,
    immediate: Option<&'a [u8]>,
}

impl<P: Platform> Engine<P> {
    /// Takes all packets that are there.
    pub(super) fn receive(
        &mut self,
        context: &Context<P>,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let network = match self.reception.poll(context.platform())? {
            0 => Ok(()),
            _ => self.receive_network(context, progress),
        };
        if self.shared.is_none() {
            return network;
        }
        let shared = self.receive_shared(context, progress);
        network.and(shared)
    }

    /// Takes the packets that are in the reception FIFO.
    fn receive_network(
        &mut self,
        context: &Context<P>,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let platform = context.platform();
        platform.charge(Op::Receive, 1);
        let mut result = Ok(());
        let mut payload = core::mem::take(&mut self.payload);
        loop {
            match self.reception.next(platform, &mut payload) {
                Ok(Some(ref packet)) => {
                    progress.packets += 1;
                    charge_packet(platform, packet);
                    let handled = self.handle(context, packet, Path::Network, progress);
                    if handled.is_err() && result.is_ok() {
                        result = handled;
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    result = result.and(Err(error));
                    break;
                }
            }
        }
        self.payload = payload;
        self.reception.give_back(platform)?;
        result
    }

    /// Takes the packets that are in the context's ring in shared memory.
    fn receive_shared(
        &mut self,
        context: &Context<P>,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let platform = context.platform();
        let Some(shared) = &mut self.shared else {
            return Ok(());
        };
        shared.inbox.poll(platform)?;
        let mut result = Ok(());
        let mut payload = [0; MAX_PAYLOAD_BYTES];
        while let Some(shared) = &mut self.shared {
            match shared.inbox.next(platform, &mut payload) {
                Ok(Some(packet)) => {
                    progress.packets += 1;
                    charge_packet(platform, &packet);
                    let handled = self.handle(context, &packet, Path::SharedMemory, progress);
                    result = result.and(handled);
                }
                Ok(None) => {
                    let given = shared.inbox.give_back(platform);
                    return result.and(given);
                }
                Err(error) => result = result.and(Err(error)),
            }
        }
        result
    }

    /// Handles one packet.
    fn handle(
        &mut self,
        context: &Context<P>,
        packet: &Packet<'_>,
        path: Path,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let envelope = Envelope::unpack(packet.sw0);
        let from = TaskLocation {
            node: packet.node,
            process: envelope.process,
        };
        let plan = &context.shared().plan;
        let known = plan.config.tasks.task_at(from);
        let Some(task) = known.filter(|_| envelope.context < plan.config.contexts) else {
            return Err(Error::UnknownOrigin {
                node: packet.node,
                process: envelope.process,
            }
            .into());
        };
        if packet.kind != Kind::MemFifo {
            return Err(out_of_order(
                task,
                "kind",
                u64::from(u8::from(packet.kind)),
                u64::from(u8::from(Kind::MemFifo)),
            ));
        }
        if self.is_plain(packet, envelope) {
            return self.plain_message(context, packet, task, envelope, progress);
        }
        self.part(
            context,
            packet,
            (from, envelope.context, path),
            task,
            envelope,
            progress,
        )
    }

    /// Handles a packet that is not all of a user's message.
    #[inline(never)] // Keeps the way of plain messages short.
    fn part(
        &mut self,
        context: &Context<P>,
        packet: &Packet<'_>,
        origin: Origin,
        task: TaskId,
        envelope: Envelope,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        context.leave_rest();
        match System::from_id(envelope.dispatch) {
            Some(System::PathAck) => {
                return self.path_ack(context, packet, task, envelope, progress);
            }
            Some(System::FlowAsk | System::FlowGrant) => {
                return self.flow_message(context, packet, task, envelope);
            }
            _ => {}
        }
        if packet.first {
            let cut = match self.arriving.remove(&origin) {
                Some(cut) => fail(
                    context,
                    cut.target,
                    out_of_order(task, "first", 1, 0),
                    progress,
                ),
                None => Ok(()),
            };
            let (assembly, known) = self.begin(context, packet, origin, task, envelope, progress);
            let continued =
                self.continue_message(context, packet, origin, task, assembly, progress);
            return known.and(continued).and(cut);
        }
        match self.arriving.remove(&origin) {
            Some(assembly) => {
                self.continue_message(context, packet, origin, task, assembly, progress)
            }
            None => Err(out_of_order(task, "first", 0, 1)),
        }
    }

    /// Whether a packet is all of a user's message, and no other message is half here: the case that has to be
    /// fast.
    fn is_plain(&self, packet: &Packet<'_>, envelope: Envelope) -> bool {
        envelope.dispatch < FIRST_SYSTEM
            && (packet.first, packet.last, packet.offset) == (true, true, 0)
            && packet.length as usize == packet.payload.len()
            && self.arriving.is_empty()
            && self.announced.is_empty()
    }

    /// A user's message of one packet.
    fn plain_message(
        &mut self,
        context: &Context<P>,
        packet: &Packet<'_>,
        task: TaskId,
        envelope: Envelope,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let length = packet.payload.len();
        let incoming = Incoming {
            origin: Endpoint {
                client: context.query().endpoint.client,
                context: envelope.context,
                task,
            },
            dispatch: envelope.dispatch,
            comm: envelope.comm,
            tag: packet.sw1,
            header: &[],
            length,
            immediate: Some(packet.payload),
        };
        match self.dispatch(context, &incoming, progress)? {
            Target::Nowhere => Ok(()),
            Target::Buffer { into, done } => {
                store(context, &into, 0, packet.payload)?;
                deliver(context, done, Ok(()), progress)
            }
            too_long => self.end_message(context, too_long, length, None, progress),
        }
    }

    /// First packet of a message: finds out where it goes. A message that cannot be understood goes
    /// nowhere, and the error says so once.
    fn begin(
        &mut self,
        context: &Context<P>,
        packet: &Packet<'_>,
        origin: Origin,
        task: TaskId,
        envelope: Envelope,
        progress: &mut Progress,
    ) -> (Assembly<P>, Result<(), Fault>) {
        let length = packet.length as usize;
        let peer = Endpoint {
            client: context.query().endpoint.client,
            context: envelope.context,
            task,
        };
        let assembly = |target, cookie| Assembly {
            length,
            received: 0,
            target,
            cookie,
        };
        let announced = self.announced.remove(&origin);
        if envelope.dispatch == System::Data as u8 {
            return match announced {
                Some(announced) if announced.length == length => {
                    (assembly(announced.target, announced.cookie), Ok(()))
                }
                other => {
                    let error = Error::PacketOrder {
                        origin: task,
                        field: "length",
                        value: length as u64,
                        expected: other.as_ref().map_or(0, |a| a.length as u64),
                    }
                    .into();
                    let failed = match other {
                        Some(other) => fail(context, other.target, error, progress),
                        None => Err(error),
                    };
                    (assembly(Target::Nowhere, None), failed)
                }
            };
        }
        let cut = match announced {
            Some(announced) => {
                let error = Error::PacketOrder {
                    origin: task,
                    field: "dispatch",
                    value: u64::from(envelope.dispatch),
                    expected: System::Data as u64,
                };
                fail(context, announced.target, error.into(), progress)
            }
            None => Ok(()),
        };
        let mut incoming = Incoming {
            origin: peer,
            dispatch: envelope.dispatch,
            comm: envelope.comm,
            tag: packet.sw1,
            header: &[],
            length,
            immediate: (packet.payload.len() == length).then_some(packet.payload),
        };
        if envelope.dispatch < FIRST_SYSTEM {
            return match self.dispatch(context, &incoming, progress) {
                Ok(target) => (assembly(target, None), cut),
                Err(error) => (assembly(Target::Nowhere, None), cut.and(Err(error))),
            };
        }
        let handled = match incoming.immediate {
            // All system messages but data have one packet.
            Some(payload) => {
                incoming.immediate = None;
                self.system(context, origin, incoming, payload, progress)
            }
            None => Err(malformed(
                task,
                WireError {
                    message: "system message",
                    field: "length",
                    value: length as u64,
                    expected: "one packet",
                },
            )),
        };
        (assembly(Target::Nowhere, None), cut.and(handled))
    }

    /// A message of the driver's own. `incoming` has what its packet header says.
    fn system(
        &mut self,
        context: &Context<P>,
        origin: Origin,
        incoming: Incoming<'_>,
        payload: &[u8],
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        context.platform().charge(Op::Control, 1);
        let peer = incoming.origin;
        let task = peer.task;
        let wrong = |error| malformed(task, error);
        match System::from_id(incoming.dispatch) {
            Some(System::Headed) => {
                let (fields, rest) = Headed::decode(payload).map_err(wrong)?;
                let (header, data) =
                    wire::split_header("headed message", rest, fields.header_length)
                        .map_err(wrong)?;
                let incoming = Incoming {
                    dispatch: fields.dispatch,
                    header,
                    length: fields.length as usize,
                    ..incoming
                };
                self.headed(context, origin, incoming, fields.cookie, data, progress)
            }
            Some(System::Rts) => {
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
                self.request_to_send(context, incoming, fields, progress)
            }
            Some(System::Ack) => {
                let mut result = Ok(());
                for cookie in wire::decode_cookies(payload).map_err(wrong)? {
                    let acknowledged = self.acknowledged(context, peer, cookie, progress);
                    result = result.and(acknowledged);
                }
                result
            }
            Some(System::PutSync) => {
                let fields = wire::end("put synchronisation", {
                    PutSync::decode(payload).map_err(wrong)?
                });
                let PutSync { cookie, number } = fields.map_err(wrong)?;
                let puts = PutsBy::unpack(incoming.tag);
                self.synchronise(peer, puts, Purpose::PutSync { cookie, number });
                Ok(())
            }
            Some(System::Fence) => {
                let fields = wire::end("fence", Fence::decode(payload).map_err(wrong)?);
                let puts = PutsBy::unpack(incoming.tag);
                self.peer_fence(context, peer, fields.map_err(wrong)?, puts)
            }
            Some(System::FenceAck) => {
                let fields = wire::end("fence acknowledgement", {
                    FenceAck::decode(payload).map_err(wrong)?
                });
                self.fence_answered(context, peer, fields.map_err(wrong)?, progress)
            }
            Some(System::GetFailed) => {
                let fields = wire::end("failed get", GetFailed::decode(payload).map_err(wrong)?);
                let fields = fields.map_err(wrong)?;
                self.get_failed(context, origin.0.node, fields, progress)
            }
            Some(System::Refused) => {
                let fields = wire::end("refusal", Refused::decode(payload).map_err(wrong)?);
                self.refused_by_peer(context, peer, fields.map_err(wrong)?, progress)
            }
            Some(System::MessagesRefused) => {
                let fields = wire::end("refused messages", {
                    MessagesRefused::decode(payload).map_err(wrong)?
                });
                self.messages_refused(context, origin.0.node, fields.map_err(wrong)?, progress)
            }
            Some(System::Data | System::PathAck | System::FlowAsk | System::FlowGrant) | None => {
                Err(wrong(WireError {
                    message: "system message",
                    field: "dispatch identifier",
                    value: u64::from(incoming.dispatch),
                    expected: "one of the driver's",
                }))
            }
        }
    }

    /// An eager message with a header, or with an acknowledgement asked for.
    fn headed<'a>(
        &mut self,
        context: &Context<P>,
        origin: Origin,
        mut incoming: Incoming<'a>,
        cookie: u32,
        data: &'a [u8],
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let peer = incoming.origin;
        let length = incoming.length;
        let inside = data.len() == length;
        if !inside && !data.is_empty() {
            return Err(malformed(
                peer.task,
                WireError {
                    message: "headed message",
                    field: "length",
                    value: length as u64,
                    expected: "the bytes after the header, or none of them",
                },
            ));
        }
        incoming.immediate = inside.then_some(data);
        let (target, known) = match self.dispatch(context, &incoming, progress) {
            Ok(target) => (target, Ok(())),
            Err(error) => (Target::Nowhere, Err(error)),
        };
        let cookie = (cookie != 0).then_some((peer, cookie));
        if !inside {
            self.announced.insert(
                origin,
                Announced {
                    length,
                    target,
                    cookie,
                },
            );
            return known;
        }
        if let Target::Buffer { into, .. } = &target {
            store(context, into, 0, data)?;
        }
        let ended = self.end_message(context, target, length, cookie, progress);
        known.and(ended)
    }

    /// RTS has come: the data is fetched straight into the receive buffer.
    fn request_to_send(
        &mut self,
        context: &Context<P>,
        incoming: Incoming<'_>,
        rts: Rts,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let peer = incoming.origin;
        let length = incoming.length;
        let (target, known) = match self.dispatch(context, &incoming, progress) {
            Ok(target) => (target, Ok(())),
            Err(error) => (Target::Nowhere, Err(error)),
        };
        match target {
            Target::Buffer { into, done } if length > 0 => {
                let into = into.part(0, length)?;
                self.gets.push(Waiting {
                    peer,
                    remote: RemoteAddress {
                        slot: rts.slot,
                        offset: rts.offset,
                    },
                    request: Request::Get(Routing::Fixed),
                    into,
                    purpose: Purpose::Receive {
                        done,
                        cookie: rts.cookie,
                    },
                });
                known
            }
            // Nothing is fetched: the origin is told that its data is free.
            other => {
                let cookie = Some((peer, rts.cookie));
                let ended = self.end_message(context, other, length, cookie, progress);
                known.and(ended)
            }
        }
    }

    /// The peer has acknowledged `cookie`.
    fn acknowledged(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        cookie: u32,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let acknowledged = short(&context.shared().cookies).acknowledged(peer, cookie)?;
        let Some(pending) = acknowledged else {
            return Ok(());
        };
        drop(pending.data);
        progress.completed += 1;
        for done in [pending.local_done, pending.remote_done] {
            deliver(context, done, Ok(()), progress)?;
        }
        Ok(())
    }

    /// Acknowledgements in a packet to this endpoint, or in the copy of one to another. It is no part of the
    /// row of messages of its origin: it may come between the packets of one.
    fn path_ack(
        &mut self,
        context: &Context<P>,
        packet: &Packet,
        task: TaskId,
        envelope: Envelope,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        context.platform().charge(Op::Control, 1);
        let (payload, length) = (packet.payload, packet.length as usize);
        if payload.len() != length {
            return Err(malformed(
                task,
                WireError {
                    message: "path acknowledgement",
                    field: "length",
                    value: length as u64,
                    expected: "one packet",
                },
            ));
        }
        let own = wire::decode_path_ack(payload, context.task());
        let peer = Endpoint {
            client: context.query().endpoint.client,
            context: envelope.context,
            task,
        };
        let mut result = Ok(());
        for cookie in own.map_err(|error| malformed(task, error))? {
            let acknowledged = self.acknowledged(context, peer, cookie, progress);
            result = result.and(acknowledged);
        }
        let ended = self.end_fences_of(context, peer, progress);
        result.and(ended)
    }

    /// A message about a flow. As [`Self::path_ack`] it is no part of the row of messages of its origin.
    fn flow_message(
        &mut self,
        context: &Context<P>,
        packet: &Packet<'_>,
        task: TaskId,
        envelope: Envelope,
    ) -> Result<(), Fault> {
        context.platform().charge(Op::Control, 1);
        let wrong = |error| malformed(task, error);
        let peer = Endpoint {
            client: context.query().endpoint.client,
            context: envelope.context,
            task,
        };
        if envelope.dispatch == System::FlowAsk as u8 {
            let fields = FlowAsk::decode(packet.payload).map_err(wrong)?;
            let ask = wire::end("question for a flow", fields).map_err(wrong)?;
            self.flow_asked(context, peer, packet.node, ask)
        } else {
            let fields = FlowGrant::decode(packet.payload).map_err(wrong)?;
            let grant = wire::end("answer about a flow", fields).map_err(wrong)?;
            self.flow_granted(context, peer, packet.node, grant)
        }
    }

    /// Adds a packet to its message, and ends the message with its last byte.
    fn continue_message(
        &mut self,
        context: &Context<P>,
        packet: &Packet<'_>,
        origin: Origin,
        task: TaskId,
        mut assembly: Assembly<P>,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        context.platform().charge(Op::Assemble, 1);
        let bytes = packet.payload.len();
        // Packets of a message are full but for the last, and come in order.
        let expected_bytes = (assembly.length - assembly.received).min(MAX_PAYLOAD_BYTES);
        let ends = assembly.received + expected_bytes == assembly.length;
        for (field, value, expected) in [
            ("offset", u64::from(packet.offset), assembly.received as u64),
            ("length", u64::from(packet.length), assembly.length as u64),
            ("len", bytes as u64, expected_bytes as u64),
            ("last", u64::from(packet.last), u64::from(ends)),
        ] {
            if value != expected {
                let error = Error::PacketOrder {
                    origin: task,
                    field,
                    value,
                    expected,
                };
                return fail(context, assembly.target, error.into(), progress);
            }
        }
        if let Target::Buffer { into, .. } = &assembly.target {
            store(context, into, assembly.received, packet.payload)?;
        }
        assembly.received += bytes;
        if !ends {
            self.arriving.insert(origin, assembly);
            return Ok(());
        }
        let Assembly {
            length,
            target,
            cookie,
            ..
        } = assembly;
        self.end_message(context, target, length, cookie, progress)
    }

    /// All of a message has been taken off the network, or nothing of it will come.
    fn end_message(
        &mut self,
        context: &Context<P>,
        target: Target<P>,
        length: usize,
        cookie: Option<(Endpoint, u32)>,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let (done, result) = match target {
            Target::Nowhere => (None, Ok(())),
            Target::Buffer { done, .. } => (done, Ok(())),
            Target::TooLong { receive, done } => (
                done,
                Err(Error::MessageTooLong {
                    message: length,
                    receive,
                }
                .into()),
            ),
        };
        let delivered = deliver(context, done, result, progress);
        if let Some((peer, cookie)) = cookie {
            self.owe(context, peer, cookie);
        }
        delivered
    }

    /// Calls the dispatch callback of a message, and says where the message goes.
    fn dispatch(
        &mut self,
        context: &Context<P>,
        incoming: &Incoming<'_>,
        progress: &mut Progress,
    ) -> Result<Target<P>, Fault> {
        let id = incoming.dispatch;
        let Some(mut function) = self.dispatch.take(id, &context.shared().dispatch) else {
            return Err(Error::UnknownDispatch {
                id,
                origin: incoming.origin.task,
                length: incoming.length,
            }
            .into());
        };
        let arrival = Arrival {
            origin: incoming.origin,
            comm: incoming.comm,
            tag: incoming.tag,
            header: incoming.header,
            length: incoming.length,
            immediate: incoming.immediate,
        };
        progress.callbacks += 1;
        let receive = callback(context, Op::Dispatch, || function(context, &arrival));
        self.dispatch.put_back(id, function);
        match receive {
            Receive::Consumed => Ok(Target::Nowhere),
            Receive::Refused(error) => Err(error),
            Receive::Into { into, done } if into.len() < incoming.length => Ok(Target::TooLong {
                receive: into.len(),
                done,
            }),
            Receive::Into { into, done } => Ok(Target::Buffer { into, done }),
        }
    }
}

/// The time that reading a packet has taken.
fn charge_packet<P: Platform>(platform: &P, packet: &Packet<'_>) {
    platform.charge(Op::Packet, 1);
    if !packet.payload.is_empty() {
        let chunks = packet.payload.len().div_ceil(COPY_CHUNK);
        platform.charge(Op::CopyChunk, chunks as u64);
    }
}

/// Copies payload to its place.
fn store<P: Platform>(
    context: &Context<P>,
    into: &BufferRange<P::Buffer>,
    offset: usize,
    payload: &[u8],
) -> Result<(), Fault> {
    let chunks = payload.len().div_ceil(COPY_CHUNK);
    context.platform().charge(Op::CopyChunk, chunks as u64);
    Ok(into.write(offset, payload)?)
}

/// Ends a message with an error.
fn fail<P: Platform>(
    context: &Context<P>,
    target: Target<P>,
    error: Fault,
    progress: &mut Progress,
) -> Result<(), Fault> {
    let done: Option<DoneFn<P>> = match target {
        Target::Nowhere => None,
        Target::Buffer { done, .. } | Target::TooLong { done, .. } => done,
    };
    deliver(context, done, Err(error), progress)
}

/// A packet that does not continue its message.
fn out_of_order(origin: TaskId, field: &'static str, value: u64, expected: u64) -> Fault {
    Error::PacketOrder {
        origin,
        field,
        value,
        expected,
    }
    .into()
}

/// A system message that cannot be understood.
fn malformed(origin: TaskId, error: WireError) -> Fault {
    Error::SystemMessage {
        origin,
        message: error.message,
        field: error.field,
        value: error.value,
        expected: error.expected,
    }
    .into()
}
