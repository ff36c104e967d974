//! What a context does in `advance`: its FIFOs, and the messages that are arriving.

use std::collections::BTreeMap;

use gyre_layout::{Coord, Descriptor, Kind, MAX_PAYLOAD_BYTES, Source, event};

use crate::buffer::BufferRange;
use crate::client::Plan;
use crate::context::{Context, ContextInfo, Progress};
use crate::cost::Op;
use crate::dispatch::{Arrival, Receive};
use crate::endpoint::Endpoint;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::injection::{Completed, InjectionFifo, Outgoing};
use crate::instruction::{DoneFn, Instruction, SendMessage};
use crate::platform::Platform;
use crate::reception::{Packet, ReceptionFifo};
use crate::registers;
use crate::sync::{Ordering, short};
use crate::task::{TaskId, TaskLocation};

/// Turns that may start work or take packets without looking at completions or packets, so that neither
/// starves.
const PATIENCE: u32 = 8;
/// Bytes that one [`Op::CopyChunk`] stands for.
const COPY_CHUNK: usize = 32;

/// Who sends: messages of one origin arrive one after the other.
type Origin = (TaskLocation, u8);

/// A message of which the first packet has arrived and the last has not.
struct Assembly<P: Platform> {
    length: usize,
    received: usize,
    target: Target<P>,
}

/// Where a message goes.
enum Target<P: Platform> {
    Nowhere,
    Buffer {
        into: BufferRange<P::Buffer>,
        done: Option<DoneFn<P>>,
    },
    /// Longer than its receive.
    TooLong {
        receive: usize,
        done: Option<DoneFn<P>>,
    },
}

/// The part of a context that one thread at a time works on.
pub(crate) struct Engine<P: Platform> {
    injection: Vec<InjectionFifo<P>>,
    reception: ReceptionFifo<P>,
    arriving: BTreeMap<Origin, Assembly<P>>,
    /// Events of this context's FIFOs in the wake cause.
    events: u64,
    /// Completions have not been looked at since the wake cause was cleared.
    completions_unseen: bool,
    /// Turns since packets were last looked for.
    since_poll: u32,
    /// Turns since completions were last looked for.
    since_completions: u32,
    next_message: u32,
}

impl<P: Platform> Engine<P> {
    /// Sets up the FIFOs and the wake group of a context.
    pub fn open(platform: &P, plan: &Plan, info: &ContextInfo) -> Result<Self, Error> {
        let resources = &plan.config.resources;
        let mut node = registers::node(platform)?;
        let mut events = event::reception(u32::from(info.reception_fifo));
        let mut injection = Vec::new();
        for id in info.injection_fifos.clone() {
            events |= event::injection(u32::from(id));
            injection.push(InjectionFifo::open(
                platform,
                &mut node,
                id,
                resources.injection_ring,
                resources.owner,
            )?);
        }
        let reception = ReceptionFifo::open(
            platform,
            &mut node,
            info.reception_fifo,
            resources.reception_ring,
            resources.owner,
        )?;
        let mask = events | event::ERROR;
        registers::write(platform, registers::wake_mask(info.wake_group), mask)?;
        Ok(Self {
            injection,
            reception,
            arriving: BTreeMap::new(),
            events,
            completions_unseen: false,
            since_poll: 0,
            since_completions: 0,
            next_message: 0,
        })
    }

    /// Disables everything again, if nothing is under way.
    pub fn close(&mut self, context: &Context<P>, posted: usize) -> Result<(), Error> {
        let platform = context.platform();
        let mut completed = Vec::new();
        for fifo in &mut self.injection {
            if fifo.in_flight() > 0 {
                fifo.poll(platform, &mut completed)?;
            }
        }
        let mut progress = Progress::default();
        self.run_completions(context, completed, &mut progress)?;
        let waiting: usize = self.injection.iter().map(InjectionFifo::waiting).sum();
        let in_flight: usize = self.injection.iter().map(InjectionFifo::in_flight).sum();
        let arriving = self.arriving.len();
        if posted + waiting + in_flight + arriving > 0 {
            return Err(Error::WorkLeft {
                posted,
                waiting,
                in_flight,
                arriving,
            });
        }
        let mut node = registers::node(platform)?;
        registers::write(
            platform,
            registers::wake_mask(context.query().wake_group),
            0,
        )?;
        for fifo in &mut self.injection {
            fifo.close(&mut node)?;
        }
        self.reception.close(&mut node)
    }

    /// Whether there is something to do that no wake-up will announce.
    pub fn unfinished(&self) -> bool {
        self.completions_unseen
    }

    /// One turn: new work first, then packets and completions when they are due.
    pub fn turn(&mut self, context: &Context<P>, progress: &mut Progress) -> Result<(), Error> {
        let platform = context.platform();
        platform.charge(Op::Advance, 1);
        self.start_work(context, progress)?;
        let woken = context.shared().woken.swap(false, Ordering::AcqRel);
        // A wake-up follows every event after the cause was cleared, so a turn that had work to start
        // need not look for packets.
        let due = woken
            || self.completions_unseen
            || progress.is_idle()
            || self.since_poll >= PATIENCE
            || self.injection.iter().any(InjectionFifo::blocked);
        if !due {
            self.since_poll += 1;
            return Ok(());
        }
        let polled = self.poll(context, woken, progress);
        if polled.is_err() {
            // What the failed poll has not seen must be looked at again.
            context.shared().woken.store(true, Ordering::Release);
        }
        polled?;
        // What callbacks have posted starts now, not a turn later.
        self.start_work(context, progress)
    }

    fn poll(
        &mut self,
        context: &Context<P>,
        woken: bool,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        let platform = context.platform();
        if woken {
            // Cleared before the FIFOs are read: what comes later sets it again.
            let cause = registers::wake_cause(context.query().wake_group);
            registers::write(platform, cause, self.events)?;
            self.completions_unseen = self.injection.iter().any(|f| f.in_flight() > 0);
        }
        self.since_poll = 0;
        let packets = self.receive(context, progress)?;

        // Completions cost a read per FIFO: they can wait while packets come in.
        self.since_completions += 1;
        let blocked = self.injection.iter().any(InjectionFifo::blocked);
        if packets > 0 && !blocked && self.since_completions < PATIENCE {
            return Ok(());
        }
        self.since_completions = 0;
        let mut completed = Vec::new();
        let mut outcome = Ok(());
        let mut retired = 0;
        for fifo in &mut self.injection {
            if fifo.in_flight() > 0 {
                match fifo.poll(platform, &mut completed) {
                    Ok(count) => retired += count,
                    Err(error) => outcome = outcome.and(Err(error)),
                }
            }
        }
        if woken && packets == 0 && retired == 0 && outcome.is_ok() {
            outcome = self.check_errors(context, &mut completed);
        }
        progress.completed += completed.len();
        self.completions_unseen = self.injection.iter().any(InjectionFifo::resuming);
        let called = self.run_completions(context, completed, progress);
        outcome.and(called)
    }

    /// Woken for nothing that was expected: looks whether an error is the reason. The error event keeps
    /// waking the context until this has run.
    fn check_errors(
        &mut self,
        context: &Context<P>,
        completed: &mut Vec<Completed<P>>,
    ) -> Result<(), Error> {
        let platform = context.platform();
        let cause = registers::wake_cause(context.query().wake_group);
        if registers::read(platform, cause)? & event::ERROR == 0 {
            return Ok(());
        }
        registers::write(platform, cause, event::ERROR)?;
        for fifo in &mut self.injection {
            if fifo.in_flight() > 0 {
                fifo.check_halt(platform, completed)?;
            }
        }
        self.reception.check_halt(platform)
    }

    /// Carries out what has been posted, and starts as many sends as there is room for.
    fn start_work(&mut self, context: &Context<P>, progress: &mut Progress) -> Result<(), Error> {
        let platform = context.platform();
        for instruction in context.take_work() {
            platform.charge(Op::Start, 1);
            progress.instructions += 1;
            match instruction {
                Instruction::Send(send) => self.enqueue(context, send)?,
                Instruction::Call(function) => {
                    progress.callbacks += 1;
                    callback(context, || function(context));
                }
            }
        }
        let mut completed = Vec::new();
        for fifo in &mut self.injection {
            if fifo.waiting() > 0 {
                progress.started += fifo.start(platform, &mut completed)?;
            }
        }
        self.run_completions(context, completed, progress)
    }

    fn enqueue(&mut self, context: &Context<P>, send: SendMessage<P>) -> Result<(), Error> {
        let plan = &context.shared().plan;
        let to = plan.config.tasks.location(send.destination.task)?;
        let length = u32::try_from(send.data.len()).map_err(|_| Error::MessageLength {
            bytes: send.data.len(),
        })?;
        let message = send.message_id.unwrap_or_else(|| {
            self.next_message = self.next_message.wrapping_add(1);
            (context.task().0 << 16) | (self.next_message & 0xffff)
        });
        let source = Source {
            slot: 0,
            offset: 0,
            length,
        };
        let envelope = Envelope {
            dispatch: send.dispatch,
            process: plan.location.process,
            context: context.query().endpoint.context,
            comm: send.comm,
        };
        let target = plan.reception_fifo(to.process, send.destination.context);
        let descriptor = Descriptor::memory_fifo(to.node, source, target)
            .with_software(envelope.pack(), send.tag)
            .with_message_id(message);
        let lane = lane(to.node, self.injection.len());
        self.injection[lane].enqueue(Outgoing {
            descriptor,
            data: send.data,
            local_done: send.local_done,
        });
        Ok(())
    }

    /// Calls the done callbacks; an error that has none is returned.
    fn run_completions(
        &mut self,
        context: &Context<P>,
        completed: Vec<Completed<P>>,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        let mut result = Ok(());
        for entry in completed {
            match (entry.local_done, entry.result) {
                (Some(done), outcome) => {
                    progress.callbacks += 1;
                    callback(context, || done(context, outcome));
                }
                (None, Err(error)) => result = result.and(Err(error)),
                (None, Ok(())) => {}
            }
        }
        result
    }

    /// Takes all packets that are there.
    fn receive(&mut self, context: &Context<P>, progress: &mut Progress) -> Result<usize, Error> {
        let platform = context.platform();
        self.reception.poll(platform)?;
        let before = progress.packets;
        let mut result = Ok(());
        loop {
            match self.reception.next(platform) {
                Ok(Some(packet)) => {
                    progress.packets += 1;
                    platform.charge(Op::Packet, 1);
                    let handled = self.handle(context, &packet, progress);
                    result = result.and(handled);
                }
                Ok(None) => break,
                Err(error) => {
                    result = result.and(Err(error));
                    break;
                }
            }
        }
        self.reception.give_back(platform)?;
        result.map(|()| progress.packets - before)
    }

    /// Handles one packet.
    fn handle(
        &mut self,
        context: &Context<P>,
        packet: &Packet,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        let header = &packet.header;
        let envelope = Envelope::unpack(header.sw0);
        let from = TaskLocation {
            node: header.src,
            process: envelope.process,
        };
        let plan = &context.shared().plan;
        let task = plan
            .config
            .tasks
            .task_at(from)
            .filter(|_| envelope.context < plan.config.contexts)
            .ok_or(Error::UnknownOrigin {
                node: header.src,
                process: envelope.process,
            })?;
        let order = |field, value: u64, expected: u64| Error::PacketOrder {
            origin: task,
            field,
            value,
            expected,
        };
        if header.kind != Kind::MemFifo {
            return Err(order(
                "kind",
                u64::from(u8::from(header.kind)),
                u64::from(u8::from(Kind::MemFifo)),
            ));
        }
        let origin = (from, envelope.context);
        if header.first {
            let cut = self.arriving.remove(&origin);
            let (target, known) = self.begin(context, packet, task, envelope, progress);
            let assembly = Assembly {
                length: header.aux as usize,
                received: 0,
                target,
            };
            let continued =
                self.continue_message(context, packet, origin, task, assembly, progress);
            let failed = match cut {
                Some(cut) => fail(context, cut, order("first", 1, 0), progress),
                None => Ok(()),
            };
            return known.and(continued).and(failed);
        }
        match self.arriving.remove(&origin) {
            Some(assembly) => {
                self.continue_message(context, packet, origin, task, assembly, progress)
            }
            None => Err(order("first", 0, 1)),
        }
    }

    /// First packet of a message: asks its dispatch callback where it goes. A message without callback
    /// goes nowhere, and the error says so once.
    fn begin(
        &mut self,
        context: &Context<P>,
        packet: &Packet,
        task: TaskId,
        envelope: Envelope,
        progress: &mut Progress,
    ) -> (Target<P>, Result<(), Error>) {
        let header = &packet.header;
        let length = header.aux as usize;
        let Some(mut dispatch) = short(&context.shared().dispatch).take(envelope.dispatch) else {
            let error = Error::UnknownDispatch {
                id: envelope.dispatch,
                origin: task,
                length,
            };
            return (Target::Nowhere, Err(error));
        };
        let arrival = Arrival {
            origin: Endpoint {
                client: context.query().endpoint.client,
                context: envelope.context,
                task,
            },
            comm: envelope.comm,
            tag: header.sw1,
            length,
            immediate: (packet.payload().len() == length).then(|| packet.payload()),
        };
        progress.callbacks += 1;
        let receive = callback(context, || dispatch(context, &arrival));
        short(&context.shared().dispatch).put_back(envelope.dispatch, dispatch);
        let target = match receive {
            Receive::Consumed => Target::Nowhere,
            Receive::Into { into, done } if into.len() < length => Target::TooLong {
                receive: into.len(),
                done,
            },
            Receive::Into { into, done } => Target::Buffer { into, done },
        };
        (target, Ok(()))
    }

    /// Adds a packet to its message, and ends the message with its last byte.
    fn continue_message(
        &mut self,
        context: &Context<P>,
        packet: &Packet,
        origin: Origin,
        task: TaskId,
        mut assembly: Assembly<P>,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        let header = &packet.header;
        let bytes = packet.payload().len();
        // Packets of a message are full but for the last, and come in order.
        let expected_bytes = (assembly.length - assembly.received).min(MAX_PAYLOAD_BYTES);
        let ends = assembly.received + expected_bytes == assembly.length;
        for (field, value, expected) in [
            ("offset", u64::from(header.offset), assembly.received as u64),
            ("length", u64::from(header.aux), assembly.length as u64),
            ("len", bytes as u64, expected_bytes as u64),
            ("last", u64::from(header.last), u64::from(ends)),
        ] {
            if value != expected {
                let error = Error::PacketOrder {
                    origin: task,
                    field,
                    value,
                    expected,
                };
                return fail(context, assembly, error, progress);
            }
        }
        if let Target::Buffer { into, .. } = &assembly.target {
            context
                .platform()
                .charge(Op::CopyChunk, bytes.div_ceil(COPY_CHUNK) as u64);
            into.write(assembly.received, packet.payload())?;
        }
        assembly.received += bytes;
        if !ends {
            self.arriving.insert(origin, assembly);
            return Ok(());
        }
        let (done, result) = match assembly.target {
            Target::Nowhere => (None, Ok(())),
            Target::Buffer { done, .. } => (done, Ok(())),
            Target::TooLong { receive, done } => (
                done,
                Err(Error::MessageTooLong {
                    message: assembly.length,
                    receive,
                }),
            ),
        };
        deliver(context, done, result, progress)
    }
}

/// Which of `lanes` injection FIFOs carries the messages to `node`: always the same, so that they stay in
/// order, and spread over neighbours.
fn lane(node: Coord, lanes: usize) -> usize {
    let mixed = node.0.iter().fold(0_u32, |hash, &c| {
        (hash ^ u32::from(c)).wrapping_mul(0x9e37_79b1)
    });
    (mixed >> 16) as usize % lanes
}

/// Ends a message with an error.
fn fail<P: Platform>(
    context: &Context<P>,
    assembly: Assembly<P>,
    error: Error,
    progress: &mut Progress,
) -> Result<(), Error> {
    let done = match assembly.target {
        Target::Nowhere => None,
        Target::Buffer { done, .. } | Target::TooLong { done, .. } => done,
    };
    deliver(context, done, Err(error), progress)
}

/// Gives a result to its done callback; an error that has none is returned.
fn deliver<P: Platform>(
    context: &Context<P>,
    done: Option<DoneFn<P>>,
    result: Result<(), Error>,
    progress: &mut Progress,
) -> Result<(), Error> {
    match done {
        Some(done) => {
            progress.callbacks += 1;
            callback(context, || done(context, result));
            Ok(())
        }
        None => result,
    }
}

/// Runs a callback, during which the context may not be advanced.
fn callback<P: Platform, R>(context: &Context<P>, call: impl FnOnce() -> R) -> R {
    context.platform().charge(Op::Callback, 1);
    let flag = &context.shared().in_callback;
    flag.store(true, Ordering::Release);
    let result = call();
    flag.store(false, Ordering::Release);
    result
}
