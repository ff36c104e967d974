//! New work: from instructions to descriptors.

use gyre_layout::{Coord, Descriptor, MAX_PAYLOAD_BYTES, Source};

use super::flows::PutsBy;
use super::{Engine, GetWord, callback};
use crate::buffer::BufferRange;
use crate::context::{Context, Progress};
use crate::cookie::Pending;
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::envelope::Envelope;
use crate::error::{Error, Fault};
use crate::gets::{Purpose, Request, Started, Waiting};
use crate::injection::{Finish, Outgoing, Payload};
use crate::instruction::{
    Get, ImmediateMessage, Instruction, Put, RemoteAddress, Rmw, RmwWidth, SendMessage,
};
use crate::platform::Platform;
use crate::route::Routing;
use crate::shared_memory::Message;
use crate::task::TaskLocation;
use crate::wire::{Fence, Headed, PutSync, Refused, Rts, System};

/// What the packets of a message say about it.
#[derive(Clone, Copy)]
pub(super) struct Label {
    dispatch: u8,
    comm: u8,
    tag: u32,
    message_id: u32,
}

impl<P: Platform> Engine<P> {
    /// Carries out what has been posted, and starts as many operations as there is room for.
    pub(super) fn start_work(
        &mut self,
        context: &Context<P>,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let platform = context.platform();
        platform.charge(Op::Batch, 1);
        // Before what has been posted leaves the queue: in between it would look like nothing.
        context.leave_rest();
        context.take_work(&mut self.work)?;
        // What cannot be started does not hold up what was posted behind it: the first error is returned.
        let mut result = Ok(());
        while let Some(instruction) = self.work.pop_front() {
            platform.charge(Op::Start, 1);
            progress.instructions += 1;
            result = result.and(self.start(context, instruction, progress));
        }
        while self.gets.waiting() > 0 {
            let started = match self.gets.start(platform) {
                Ok(Some(get)) => self.send_get(context, get),
                Ok(None) => break,
                Err(error) => {
                    result = result.and(Err(error));
                    break;
                }
            };
            result = result.and(started);
        }
        while let Some(get) = self.gets.starved() {
            result = result.and(self.end_get(context, get, progress));
        }
        for lane in &mut self.lanes {
            if lane.waiting() > 0 {
                match lane.start(platform, &mut self.completed) {
                    Ok(started) => progress.started += started,
                    Err(error) => result = result.and(Err(error)),
                }
            }
        }
        match self.trees.start(platform, &mut self.completed) {
            Ok(started) => progress.started += started,
            Err(error) => result = result.and(Err(error)),
        }
        if let Some(shared) = &mut self.shared {
            progress.started += shared.lane.start(platform, &mut self.completed);
        }
        if self.completed.is_empty() {
            return result;
        }
        result.and(self.run_completions(context, progress))
    }

    /// Carries out one instruction, or has it wait for its turn.
    fn start(
        &mut self,
        context: &Context<P>,
        instruction: Instruction<P>,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        match instruction {
            Instruction::Send(send) => self.start_send(context, send),
            Instruction::SendImmediate(message) => self.start_immediate(context, message),
            Instruction::Put(put) => self.start_put(context, put),
            Instruction::Get(get) => {
                self.start_get(get);
                Ok(())
            }
            Instruction::Rmw(rmw) => {
                self.start_rmw(rmw);
                Ok(())
            }
            Instruction::Fence(fence) => self.start_fence(context, fence.destination, fence.done),
            Instruction::FenceAll(done) => self.start_fence_all(context, done, progress),
            Instruction::Acknowledge { peer, cookie } => {
                self.owe(context, peer, cookie);
                Ok(())
            }
            Instruction::Refuse { peer, cookie } => {
                self.refuse(context, peer, (cookie, Refused::DATA))
            }
            Instruction::Call(function) => {
                progress.callbacks += 1;
                callback(context, Op::Callback, || function(context));
                Ok(())
            }
            Instruction::TreeBarrier { routes, done } => {
                self.start_barrier(context, &routes, done, progress)
            }
            Instruction::TreeTransfer(transfer) => self.start_transfer(context, transfer, progress),
            Instruction::TreeRelease { routes, done } => {
                self.release_tree(context, &routes, done, progress)
            }
        }
    }

    /// SEND: chooses the protocol by the length of the data.
    fn start_send(&mut self, context: &Context<P>, send: SendMessage<P>) -> Result<(), Fault> {
        // All lengths were checked when the send was posted.
        let length = send.data.len() as u32;
        let message_id = self.message_id(context, send.message_id);
        let label = Label {
            dispatch: send.dispatch,
            comm: send.comm,
            tag: send.tag,
            message_id,
        };
        let peer = send.destination;
        if !send.eager && send.data.len() > context.shared().plan.config.eager_limit {
            return self.start_rendezvous(context, send, label);
        }
        if send.header.is_empty() && send.remote_done.is_none() {
            let finish = Finish::Send {
                local_done: send.local_done,
                cookie: None,
                answered: false,
            };
            return self.enqueue_message(context, peer, label, Payload::Data(send.data), finish);
        }
        let cookie = send.remote_done.map(|remote_done| {
            context.remember(Pending {
                peer,
                fenced: true,
                data: BufferRange::empty(),
                local_done: None,
                remote_done: Some(remote_done),
            })
        });
        let finish = Finish::Send {
            local_done: send.local_done,
            cookie,
            answered: false,
        };
        context.platform().charge(Op::Control, 1);
        let fields = Headed {
            cookie: cookie.unwrap_or(0),
            length,
            header_length: send.header.len() as u16,
            dispatch: send.dispatch,
        };
        let mut payload = fields.encode();
        payload.extend_from_slice(&send.header);
        let start = payload.len();
        let head = Label {
            dispatch: System::Headed as u8,
            ..label
        };
        if start + send.data.len() <= MAX_PAYLOAD_BYTES {
            payload.resize(start + send.data.len(), 0);
            send.data.read(0, &mut payload[start..])?;
            return self.enqueue_message(context, peer, head, Payload::Staged(payload), finish);
        }
        let data = Label {
            dispatch: System::Data as u8,
            ..label
        };
        let head_payload = Payload::Staged(payload);
        self.enqueue_message(context, peer, head, head_payload, Finish::Control)?;
        self.enqueue_message(context, peer, data, Payload::Data(send.data), finish)
    }

    /// The data stays here until the destination has fetched it.
    fn start_rendezvous(
        &mut self,
        context: &Context<P>,
        send: SendMessage<P>,
        label: Label,
    ) -> Result<(), Fault> {
        let peer = send.destination;
        let length = send.data.len() as u32;
        let Some((slot, offset)) = send.data.location() else {
            // A range with bytes has a buffer.
            return Err(Error::EmptyRegion.into());
        };
        let cookie = context.remember(Pending {
            peer,
            fenced: true,
            data: send.data,
            local_done: send.local_done,
            remote_done: send.remote_done,
        });
        context.platform().charge(Op::Control, 1);
        let fields = Rts {
            cookie,
            length,
            offset,
            slot,
            header_length: send.header.len() as u16,
            dispatch: send.dispatch,
        };
        let mut payload = fields.encode();
        payload.extend_from_slice(&send.header);
        let rts = Label {
            dispatch: System::Rts as u8,
            ..label
        };
        let finish = Finish::Send {
            local_done: None,
            cookie: Some(cookie),
            answered: false,
        };
        self.enqueue_message(context, peer, rts, Payload::Staged(payload), finish)
    }

    fn start_immediate(
        &mut self,
        context: &Context<P>,
        message: ImmediateMessage<'_>,
    ) -> Result<(), Fault> {
        let label = Label {
            dispatch: message.dispatch,
            comm: message.comm,
            tag: message.tag,
            message_id: self.message_id(context, None),
        };
        let payload = Payload::Staged(message.payload.into_owned());
        self.enqueue_message(
            context,
            message.destination,
            label,
            payload,
            Finish::Control,
        )
    }

    /// Sends an immediate message to `to`, where its destination is, at the call, if nothing waits that must go
    /// before it; says whether it did.
    pub fn inject(
        &mut self,
        context: &Context<P>,
        message: &ImmediateMessage<'_>,
        to: TaskLocation,
    ) -> Result<bool, Fault> {
        if self.shared.is_some() && to.node == context.shared().plan.location.node {
            return Ok(false);
        }
        // A flow may have to be asked for first.
        if self.flows.is_some() {
            return Ok(false);
        }
        context.platform().charge(Op::Inject, 1);
        let label = Label {
            dispatch: message.dispatch,
            comm: message.comm,
            tag: message.tag,
            message_id: self.message_id(context, None),
        };
        let length = message.payload.len();
        let mut descriptor = self.message(context, to, message.destination.context, label, length);
        let lane = self.lane(descriptor.dst);
        self.lanes[lane].inject(context.platform(), &mut descriptor, &message.payload)
    }

    fn start_put(&mut self, context: &Context<P>, put: Put<P>) -> Result<(), Fault> {
        let peer = put.destination;
        let to = self.location(context, peer)?;
        let source = Source {
            slot: 0,
            offset: 0,
            length: put.data.len() as u32,
        };
        let message_id = self.message_id(context, None);
        let number = self.refusals.number(put.remote_done.is_some());
        let word = self.put_word(context, peer, number)?;
        let descriptor = Descriptor::put(to.node, source, put.remote.slot, put.remote.offset)
            .with_software(0, word)
            .with_message_id(message_id);
        let cookie = put.remote_done.map(|remote_done| {
            context.remember(Pending {
                peer,
                fenced: true,
                data: BufferRange::empty(),
                local_done: None,
                remote_done: Some(remote_done),
            })
        });
        let outgoing = Outgoing {
            descriptor,
            payload: Payload::Data(put.data),
            finish: Finish::Send {
                local_done: put.local_done,
                cookie,
                answered: true,
            },
        };
        self.enqueue(context, peer, outgoing)?;
        match cookie {
            // Behind the put, in the same FIFO.
            Some(cookie) => {
                let label = self.system_label(context, System::PutSync);
                let payload = Payload::Staged(
                    PutSync {
                        cookie,
                        number: number.get(),
                    }
                    .encode(),
                );
                self.enqueue_descriptor(context, peer, label, payload, Finish::Control)
            }
            None => Ok(()),
        }
    }

    fn start_get(&mut self, get: Get<P>) {
        self.gets.push(Waiting {
            peer: get.source,
            remote: get.remote,
            request: Request::Get(get.routing),
            into: get.into,
            purpose: Purpose::User(get.done),
        });
    }

    fn start_rmw(&mut self, rmw: Rmw<P>) {
        self.gets.push(Waiting {
            peer: rmw.destination,
            remote: RemoteAddress {
                slot: rmw.region.slot,
                offset: rmw.offset,
            },
            request: Request::Rmw {
                op: rmw.op,
                width: rmw.width,
                value: rmw.value,
                test: rmw.test,
            },
            into: rmw.result.unwrap_or_else(BufferRange::empty),
            purpose: Purpose::User(rmw.done),
        });
    }

    /// Puts a get of no bytes behind all gets from `peer` so far: it comes back when they have landed, and
    /// when what the peer put here before it serves the request, which took the way of `puts`, has landed too
    /// (FN-3).
    pub(super) fn synchronise(&mut self, peer: Endpoint, puts: PutsBy, purpose: Purpose<P>) {
        self.gets.push(Waiting {
            peer,
            remote: RemoteAddress { slot: 0, offset: 0 },
            request: Request::Follow(puts.0),
            into: BufferRange::empty(),
            purpose,
        });
    }

    /// Asks the peer's DMA engine for what a get wants; the answer lowers the get's counter.
    fn send_get(&mut self, context: &Context<P>, get: Started<P>) -> Result<(), Fault> {
        let plan = &context.shared().plan;
        let to = self.location(context, get.peer)?;
        let (routing, flow) = match get.request {
            Request::Get(routing) => (routing, None),
            Request::Follow(flow) => (Routing::Fixed, flow),
            Request::Rmw {
                op,
                width,
                value,
                test,
            } => {
                let rmw = gyre_layout::Rmw {
                    op,
                    wide: width == RmwWidth::Eight,
                    value,
                    test,
                    fetch: get.into.location(),
                };
                let message_id = self.message_id(context, None);
                let descriptor = Descriptor::rmw(to.node, get.remote.slot, get.remote.offset, rmw)
                    .with_counter(get.counter)
                    .with_message_id(message_id);
                let outgoing = Outgoing {
                    descriptor,
                    payload: Payload::Inside,
                    finish: Finish::Get { number: get.number },
                };
                return self.enqueue(context, get.peer, outgoing);
            }
        };
        let source = Source {
            slot: get.remote.slot,
            offset: get.remote.offset,
            length: get.into.len() as u32,
        };
        // No bytes go to the counter's own slot, at its start.
        let (slot, offset) = get.into.location().unwrap_or((get.counter.slot, 0));
        let message_id = self.message_id(context, None);
        let word = GetWord {
            requester: context.query().reception_fifo,
            number: get.number,
        };
        let word = word.pack();
        // The software words of a put go nowhere; they name the requester and the get if the put is refused.
        let mut put = Descriptor::put(plan.location.node, source, slot, offset)
            .with_counter(get.counter)
            .with_software(self.envelope(context, 0, 0).pack(), word)
            .with_message_id(message_id);
        if let Routing::Dynamic { first, directions } = routing {
            put = put.with_dynamic_route().with_hint(directions);
            if let Some(dimension) = first {
                put = put.with_first_dimension(dimension);
            }
        }
        if let Some(flow) = flow {
            put = put.with_flow(flow);
        }
        let payload = put.encode()?.to_vec();
        let source = Source {
            slot: 0,
            offset: 0,
            length: payload.len() as u32,
        };
        let fifo = plan.remote_get_fifo(to.process, get.peer.context);
        let descriptor = Descriptor::remote_get(to.node, source, fifo)
            .with_software(0, word)
            .with_message_id(message_id);
        context.platform().charge(Op::Control, 1);
        let outgoing = Outgoing {
            descriptor,
            payload: Payload::Staged(payload),
            finish: Finish::Get { number: get.number },
        };
        self.enqueue(context, get.peer, outgoing)
    }

    /// Whether messages to `peer` go through shared memory.
    pub(super) fn shares_memory(
        &self,
        context: &Context<P>,
        peer: Endpoint,
    ) -> Result<bool, Fault> {
        let here = context.shared().plan.location.node;
        Ok(self.shared.is_some() && self.location(context, peer)?.node == here)
    }

    /// Sends FENCE behind everything that has been sent to `peer`, by every path that it may have taken.
    pub(super) fn send_fence(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        message: Fence,
    ) -> Result<(), Fault> {
        let label = self.system_label(context, System::Fence);
        let payload = || Payload::Staged(message.encode());
        let finish = Finish::Fence {
            cookie: message.cookie,
        };
        if self.shares_memory(context, peer)? {
            self.enqueue_descriptor(context, peer, label, payload(), Finish::Control)?;
        }
        self.enqueue_message(context, peer, label, payload(), finish)
    }

    /// What the packets of a message of the driver's own say about it. Charges for building it.
    pub(super) fn system_label(&mut self, context: &Context<P>, system: System) -> Label {
        context.platform().charge(Op::Control, 1);
        Label {
            dispatch: system as u8,
            comm: 0,
            tag: 0,
            message_id: self.message_id(context, None),
        }
    }

    /// Sends a message of the driver's own.
    pub(super) fn send_control(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        system: System,
        payload: Vec<u8>,
    ) -> Result<(), Fault> {
        let label = self.system_label(context, system);
        self.enqueue_message(
            context,
            peer,
            label,
            Payload::Staged(payload),
            Finish::Control,
        )
    }

    /// Puts a message on the lane that leads to `peer`.
    fn enqueue_message(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        label: Label,
        payload: Payload<P>,
        finish: Finish<P>,
    ) -> Result<(), Fault> {
        let plan = &context.shared().plan;
        let to = self.location(context, peer)?;
        let envelope = self.envelope(context, label.dispatch, label.comm);
        match &mut self.shared {
            Some(shared) if to.node == plan.location.node => {
                let index = plan.index(to.process, peer.context);
                let fifo = plan.reception_fifo(to.process, peer.context);
                let message = Message {
                    software: [envelope.pack(), label.tag],
                    payload,
                    finish,
                };
                shared.lane.enqueue(peer, index, fifo, message);
                Ok(())
            }
            _ => self.enqueue_descriptor(context, peer, label, payload, finish),
        }
    }

    /// Puts a message on the lane through the DMA engine that leads to `peer`'s node.
    fn enqueue_descriptor(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        label: Label,
        payload: Payload<P>,
        finish: Finish<P>,
    ) -> Result<(), Fault> {
        let to = self.location(context, peer)?;
        let descriptor = self.message(context, to, peer.context, label, payload.len());
        let outgoing = Outgoing {
            descriptor,
            payload,
            finish,
        };
        self.enqueue(context, peer, outgoing)
    }

    /// The descriptor of a memory-FIFO message of `length` bytes to the context at `offset` of `to`, without its
    /// source.
    #[inline(always)]
    pub(super) fn message(
        &self,
        context: &Context<P>,
        to: TaskLocation,
        offset: u8,
        label: Label,
        length: usize,
    ) -> Descriptor {
        let source = Source {
            slot: 0,
            offset: 0,
            // Checked when the message was posted.
            length: length as u32,
        };
        let envelope = self.envelope(context, label.dispatch, label.comm);
        let plan = &context.shared().plan;
        let target = plan.reception_fifo(to.process, offset);
        Descriptor {
            // A copy stays at every node on the way.
            deposit: label.dispatch == System::PathAck as u8,
            ..Descriptor::memory_fifo(to.node, source, target)
                .with_software(envelope.pack(), label.tag)
                .with_message_id(label.message_id)
        }
    }

    fn envelope(&self, context: &Context<P>, dispatch: u8, comm: u8) -> Envelope {
        Envelope {
            dispatch,
            process: context.shared().plan.location.process,
            context: context.query().endpoint.context,
            comm,
        }
    }

    pub(super) fn location(
        &self,
        context: &Context<P>,
        peer: Endpoint,
    ) -> Result<TaskLocation, Fault> {
        let tasks = &context.shared().plan.config.tasks;
        Ok(tasks.place(peer.task, peer.context)?)
    }

    pub(super) fn message_id(&mut self, context: &Context<P>, chosen: Option<u32>) -> u32 {
        chosen.unwrap_or_else(|| {
            self.next_message = self.next_message.wrapping_add(1);
            (context.task().0 << 16) | (self.next_message & 0xffff)
        })
    }

    /// Which injection FIFO carries everything to `node`: always the same, so that it stays in order, and
    /// spread over neighbours.
    pub(super) fn lane(&self, node: Coord) -> usize {
        if self.lanes.len() == 1 {
            return 0;
        }
        let mixed = node.0.iter().fold(0_u32, |hash, &c| {
            (hash ^ u32::from(c)).wrapping_mul(0x9e37_79b1)
        });
        (mixed >> 16) as usize % self.lanes.len()
    }
}
