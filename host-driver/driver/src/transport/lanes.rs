// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends of a context through the DMA engine: its injection FIFOs, and the descriptors of its messages.

use core::mem;

use gyre_firmware::Node;
use gyre_layout::{Coord, Message, MessageTemplate};
use gyre_note::Note;

use crate::attention::Reason;
use crate::core::Core;
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::error::Fault;
use crate::flow::ordered::Ordered;
use crate::layout::SameNode;
use crate::operation::SendImmediate;
use crate::platform::{Platform, PlatformLock};
use crate::sync::{Arc, AtomicU64, Exclusive, ExclusiveGuard, Ordering, Unordered, try_take};
use crate::task::Destination;
use crate::transport::envelope::Envelope;
use crate::transport::injection::{
    Completed, Direct, Finish, InjectionFifo, Lane, Order, Outgoing, Payload,
};
use crate::transport::registers::Bus;
use crate::transport::wire::{Bytes, ControlMessage, FIRST_CONTROL};

/// Number of kept templates of immediate messages: a power of two.
const TEMPLATES: usize = 16;

/// Fields that all packets of a message carry.
#[derive(Clone, Copy)]
pub(crate) struct Label {
    pub dispatch: u8,
    pub comm: u8,
    pub tag: u32,
    pub message_id: u32,
}

/// The injection FIFOs of a context: for the advancing thread, and for threads that send immediate messages.
pub(crate) struct Lanes<P: Platform> {
    core: Arc<Core<P>>,
    /// Taken around every use of the FIFOs, and held across platform calls.
    lock: P::Lock,
    /// Taken by the holder of `lock` alone.
    fifos: Exclusive<Fifos<P>>,
    /// State of the FIFOs since their last use.
    status: Status,
    next_message: Unordered,
    /// Immediate messages need not wait for a route.
    injects: bool,
}

/// State of the FIFOs that is read often, in one word.
struct Status(AtomicU64);

/// Bit of [`Summary::awaits`] in the word.
const AWAITS: u32 = 48;

/// State of FIFOs.
#[derive(Clone, Copy, Default)]
struct Summary {
    /// Descriptors handed to the DMA engine and not completed.
    in_flight: u32,
    /// Operations that wait for room, or for the next [`start`](Lanes::start); saturates.
    waiting: u16,
    /// An awaited descriptor is under way, or room is short.
    awaits: bool,
    /// An operation has found no room.
    blocked: bool,
    /// A refused descriptor has not been skipped.
    resuming: bool,
}

impl Status {
    fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    #[inline]
    fn note(&self, all: Summary) {
        let [a, b, c, d] = all.in_flight.to_le_bytes();
        let [e, f] = all.waiting.to_le_bytes();
        let flags = u8::from(all.awaits) | u8::from(all.blocked) << 1 | u8::from(all.resuming) << 2;
        let word = u64::from_le_bytes([a, b, c, d, e, f, flags, 0]);
        self.0.store(word, Ordering::Release);
    }

    /// Adds one descriptor in flight, awaited or not. Returns the word for [`restore`](Self::restore).
    #[inline]
    fn add_one(&self, awaited: bool) -> u64 {
        let word = self.0.load(Ordering::Acquire);
        // A ring has fewer than 2^32 descriptors: the count stays in the lower half.
        let more = (word + 1) | u64::from(awaited) << AWAITS;
        self.0.store(more, Ordering::Release);
        word
    }

    /// Sets the word back to the one that [`add_one`](Self::add_one) has found.
    #[inline]
    fn restore(&self, word: u64) {
        self.0.store(word, Ordering::Release);
    }

    #[inline]
    fn get(&self) -> Summary {
        let [a, b, c, d, e, f, flags, _] = self.0.load(Ordering::Acquire).to_le_bytes();
        Summary {
            in_flight: u32::from_le_bytes([a, b, c, d]),
            waiting: u16::from_le_bytes([e, f]),
            awaits: flags & 1 != 0,
            blocked: flags & 2 != 0,
            resuming: flags & 4 != 0,
        }
    }
}

impl Summary {
    #[inline]
    fn of<P: Platform>(lane: &Lane<P>) -> Self {
        Self {
            // A ring has fewer than 2^32 descriptors.
            in_flight: lane.in_flight() as u32,
            waiting: lane.waiting().try_into().unwrap_or(u16::MAX),
            awaits: lane.awaits(),
            blocked: lane.blocked(),
            resuming: lane.resuming(),
        }
    }

    /// The state of these and others together.
    fn with(self, other: Self) -> Self {
        Self {
            in_flight: self.in_flight + other.in_flight,
            waiting: self.waiting.saturating_add(other.waiting),
            awaits: self.awaits || other.awaits,
            blocked: self.blocked || other.blocked,
            resuming: self.resuming || other.resuming,
        }
    }
}

struct Fifos<P: Platform> {
    lanes: Vec<Lane<P>>,
    /// By [`TemplateKey::place`].
    templates: [Kept; TEMPLATES],
}

/// The descriptor of immediate messages to one endpoint with one dispatch identifier.
struct Kept {
    key: TemplateKey,
    template: MessageTemplate,
    /// The lane to its node.
    lane: usize,
}

impl Kept {
    /// The entry of no message.
    const NONE: Self = Self {
        // Dispatch identifier 255 is not used.
        key: TemplateKey(u64::MAX),
        template: MessageTemplate::BLANK,
        lane: 0,
    };
}

/// Common fields of the immediate messages of one template.
#[derive(Clone, Copy, PartialEq, Eq)]
struct TemplateKey(u64);

impl TemplateKey {
    #[inline(always)]
    fn of(message: &SendImmediate<'_>) -> Self {
        let Endpoint {
            client,
            context,
            task,
        } = message.destination;
        let bytes = [context, client, message.dispatch, message.comm];
        Self(u64::from(task.0) | u64::from(u32::from_le_bytes(bytes)) << 32)
    }

    /// Place of the template.
    #[inline(always)]
    fn place(self) -> usize {
        // Tasks, contexts and dispatch identifiers differ in the lower bits.
        (self.0 ^ self.0 >> 32 ^ self.0 >> 48) as usize & (TEMPLATES - 1)
    }
}

impl<P: Platform> Lanes<P> {
    /// Makes a context the user of `fifos`, all or none.
    ///
    /// # Errors
    /// [`Error::Busy`](crate::Error::Busy).
    pub fn open(
        core: &Arc<Core<P>>,
        node: &mut Node<Bus<P>>,
        fifos: &[Arc<InjectionFifo<P>>],
    ) -> Result<Self, Fault> {
        let mut opened = Fifos {
            lanes: Vec::with_capacity(fifos.len()),
            templates: [Kept::NONE; TEMPLATES],
        };
        for fifo in fifos {
            match Lane::open(&core.platform, fifo) {
                Ok(lane) => opened.lanes.push(lane),
                Err(error) => {
                    // The first error is returned.
                    let _ = opened.close(&core.platform, node);
                    return Err(error);
                }
            }
        }
        Ok(Self {
            lock: core.platform.new_lock(),
            fifos: Exclusive::new(opened),
            status: Status::new(),
            next_message: Unordered::new(0),
            injects: core.layout.config.ordered == Ordered::Fixed,
            core: Arc::clone(core),
        })
    }

    /// The FIFOs, for the holder of their lock.
    #[inline(always)]
    fn take(&self) -> ExclusiveGuard<'_, Fifos<P>> {
        match try_take(&self.fifos) {
            Some(fifos) => fifos,
            None => unreachable!("the platform lock admitted two threads"),
        }
    }

    /// Uses the FIFOs under their lock, and notes their state after that.
    #[inline(always)]
    fn with<R>(&self, work: impl FnOnce(&mut Fifos<P>) -> R) -> R {
        self.lock.lock();
        let mut fifos = self.take();
        let result = work(&mut fifos);
        match &fifos.lanes[..] {
            [lane] => self.status.note(Summary::of(lane)),
            lanes => {
                let summaries = lanes.iter().map(Summary::of);
                let all = summaries.fold(Summary::default(), Summary::with);
                self.status.note(all);
            }
        }
        drop(fifos);
        self.lock.unlock();
        result
    }

    /// Puts an operation on the lane to its node.
    #[inline(always)] // An operation is not moved on its way.
    pub fn put(&self, outgoing: Outgoing<P>) {
        self.with(|fifos| {
            let lane = fifos.lane(&outgoing.order);
            fifos.lanes[lane].put(&self.core.platform, outgoing);
        });
    }

    /// Hands an immediate message of one packet with this payload to the DMA engine at once, if nothing waits before it
    /// and there is room; returns whether it did. `own`: the operation that ends with it, `None` for a plain one, and
    /// its message number, if chosen.
    ///
    /// # Errors
    /// As [`Core::checked`]; those of the bus.
    #[inline(always)] // Each kind of payload has a path of its own.
    pub fn inject<const N: usize>(
        &self,
        message: &SendImmediate<'_>,
        payload: &Direct<'_, P, N>,
        own: (Option<Finish>, Option<u32>),
    ) -> Result<bool, Fault> {
        self.lock.lock();
        let mut fifos = self.take();
        let injected = self.inject_to(&mut fifos, message, payload, own);
        drop(fifos);
        self.lock.unlock();
        injected
    }

    /// Injects a message, for the holder of the lock.
    #[inline(always)]
    fn inject_to<const N: usize>(
        &self,
        fifos: &mut Fifos<P>,
        message: &SendImmediate<'_>,
        payload: &Direct<'_, P, N>,
        (finish, number): (Option<Finish>, Option<u32>),
    ) -> Result<bool, Fault> {
        let core = &*self.core;
        let Fifos { lanes, templates } = fifos;
        let key = TemplateKey::of(message);
        let kept = &mut templates[key.place()];
        if kept.key != key {
            match self.template(lanes.len(), message)? {
                Some(made) => *kept = made,
                None => return Ok(false),
            }
        }
        core.platform.charge(payload.op(), 1);
        let label = Label {
            dispatch: message.dispatch,
            comm: message.comm,
            tag: message.tag,
            message_id: self.message_id(number),
        };
        let peer = message.destination;
        let own = message.dispatch >= FIRST_CONTROL && finish.is_some();
        if !own {
            core.note(|at| Note::Injecting { at });
            core.note(|at| label.message(at, peer, payload.len() as u32));
        }
        core.note(|at| label.note(at, peer, self.envelope(label.dispatch, label.comm)));
        let (lane, words) = (&mut lanes[kept.lane], (label.tag, label.message_id));
        // Before the injection: the advancing thread may see its completion before this thread goes on. The lock is
        // held, so that no other thread changes the word.
        let before = self.status.add_one(payload.is_awaited());
        core.leave_rest();
        let finish = finish.unwrap_or(Finish::Control);
        let injected = lane.inject(&core.platform, &kept.template, words, payload, finish);
        if injected != Ok(true) {
            self.status.restore(before);
        }
        let injected = injected?;
        if injected {
            if lane.is_short_of_room() {
                core.attention.call(Reason::Room);
            }
            if payload.is_awaited() {
                core.attention.call(Reason::Awaited);
            }
        } else if !own {
            core.note(|at| Note::Withdrawn {
                at,
                id: label.message_id,
            });
        }
        Ok(injected)
    }

    /// The template of an immediate message over `lanes` lanes; `None` where it cannot be injected, as through shared
    /// memory.
    #[cold]
    fn template(&self, lanes: usize, message: &SendImmediate<'_>) -> Result<Option<Kept>, Fault> {
        let core = &*self.core;
        let peer = message.destination;
        let to = core.checked(peer)?;
        // The post detects a destroyed context.
        if lanes == 0 || !self.injects {
            return Ok(None);
        }
        let shares = core.layout.config.same_node == SameNode::SharedMemory;
        if shares && to.node == core.layout.here.node {
            return Ok(None);
        }
        core.platform.charge(Op::Template, 1);
        let label = Label {
            dispatch: message.dispatch,
            comm: message.comm,
            tag: 0,
            message_id: 0,
        };
        Ok(Some(Kept {
            key: TemplateKey::of(message),
            template: self.message(to, peer.context, label).template()?,
            lane: lane_to(to.node.unpack(), lanes),
        }))
    }

    /// Puts a control message to `peer` on its lane, past traffic that flows hold back.
    ///
    /// # Errors
    /// [`Error::UnknownTask`](crate::Error::UnknownTask).
    pub fn put_control(
        &self,
        peer: Endpoint,
        kind: ControlMessage,
        payload: Bytes,
    ) -> Result<(), Fault> {
        self.core.platform.charge(Op::Control, 1);
        let label = self.control_label(kind);
        let to = self.core.destination(peer)?;
        let message = self.message(to, peer.context, label);
        self.put(Outgoing {
            order: Order::Message(message),
            payload: Payload::Staged(payload),
            finish: Finish::Control,
        });
        Ok(())
    }

    /// The label of a control message.
    pub fn control_label(&self, kind: ControlMessage) -> Label {
        Label {
            dispatch: kind as u8,
            comm: 0,
            tag: 0,
            message_id: self.message_id(None),
        }
    }

    /// The number by which waves and timelines name a message: `chosen`, or the next one.
    #[inline]
    pub fn message_id(&self, chosen: Option<u32>) -> u32 {
        chosen.unwrap_or_else(|| {
            // Concurrent threads may draw the same number: it only names messages to readers.
            let next = self.next_message.load(Ordering::Relaxed).wrapping_add(1);
            self.next_message.store(next, Ordering::Relaxed);
            (self.core.info.endpoint.task.0 << 16) | (next & 0xffff)
        })
    }

    /// A memory-FIFO message to the context at `offset` of `to`.
    #[inline(always)]
    pub fn message(&self, to: Destination, offset: u8, label: Label) -> Message {
        let envelope = self.envelope(label.dispatch, label.comm);
        Message {
            dst: to.node,
            // A copy stays at every node on the path.
            deposit: label.dispatch == ControlMessage::PathAck as u8,
            fifo: self.core.layout.reception_fifo(to.process, offset),
            software: [envelope.pack(), label.tag],
            msg_id: label.message_id,
        }
    }

    /// Software word 0 of the context's packets.
    #[inline]
    pub fn envelope(&self, dispatch: u8, comm: u8) -> Envelope {
        Envelope {
            dispatch,
            process: self.core.layout.location.process,
            context: self.core.offset(),
            comm,
        }
    }

    /// Descriptors handed to the DMA engine and not completed.
    #[inline]
    pub fn in_flight(&self) -> usize {
        self.status.get().in_flight as usize
    }

    /// Whether an awaited descriptor is under way, or room is short.
    pub fn awaits(&self) -> bool {
        self.status.get().awaits
    }

    /// Operations that wait for room.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.status.get().waiting.into()
    }

    /// Whether an operation has found no room.
    pub fn blocked(&self) -> bool {
        self.status.get().blocked
    }

    /// Whether a refused descriptor has not been skipped.
    pub fn resuming(&self) -> bool {
        self.status.get().resuming
    }

    /// Turns waiting operations into descriptors as far as there is room; returns how many.
    ///
    /// # Errors
    /// The first error of a lane; the others have been started nevertheless.
    pub fn start(&self, completed: &mut Vec<Completed>) -> (usize, Result<(), Fault>) {
        if self.waiting() == 0 {
            return (0, Ok(()));
        }
        let platform = &self.core.platform;
        self.with(|fifos| {
            let lanes = fifos.lanes.iter_mut().filter(|lane| lane.waiting() > 0);
            each(lanes, |lane| lane.start(platform, completed))
        })
    }

    /// Retires completed descriptors; returns how many.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn poll(&self, completed: &mut Vec<Completed>) -> (usize, Result<(), Fault>) {
        let platform = &self.core.platform;
        self.with(|fifos| each(fifos.in_use(), |lane| lane.poll(platform, completed)))
    }

    /// Looks whether the DMA engine refuses a descriptor.
    ///
    /// # Errors
    /// Errors of the bus.
    pub fn check_halt(&self, completed: &mut Vec<Completed>) -> Result<(), Fault> {
        let platform = &self.core.platform;
        self.with(|fifos| {
            let mut lanes = fifos.in_use();
            lanes.try_for_each(|lane| lane.check_halt(platform, completed))
        })
    }

    /// Ends the use of the FIFOs; uncompleted descriptors are given up.
    ///
    /// # Errors
    /// The first error of a lane; the others have been closed nevertheless.
    pub fn close(&self, node: &mut Node<Bus<P>>) -> Result<(), Fault> {
        self.with(|fifos| fifos.close(&self.core.platform, node))
    }
}

impl<P: Platform> Fifos<P> {
    /// The lane to the node of `order`.
    fn lane(&self, order: &Order) -> usize {
        match self.lanes.len() {
            1 => 0,
            lanes => lane_to(order.node(), lanes),
        }
    }

    /// The lanes with descriptors that have not completed.
    fn in_use(&mut self) -> impl Iterator<Item = &mut Lane<P>> {
        self.lanes.iter_mut().filter(|lane| lane.in_flight() > 0)
    }

    fn close(&mut self, platform: &P, node: &mut Node<Bus<P>>) -> Result<(), Fault> {
        let mut outcome = Ok(());
        // No message is injected any more.
        self.templates = [Kept::NONE; TEMPLATES];
        for mut lane in mem::take(&mut self.lanes) {
            outcome = outcome.and(lane.close(platform, node));
        }
        outcome
    }
}

/// Sum of the counts of `work` over all `lanes`, and the first error.
fn each<'a, P: Platform>(
    lanes: impl Iterator<Item = &'a mut Lane<P>>,
    mut work: impl FnMut(&mut Lane<P>) -> Result<usize, Fault>,
) -> (usize, Result<(), Fault>) {
    let (mut count, mut result) = (0, Ok(()));
    for lane in lanes {
        match work(lane) {
            Ok(more) => count += more,
            Err(error) => result = result.and(Err(error)),
        }
    }
    (count, result)
}

/// The injection FIFO among `lanes` to `node`: always the same, for order, and spread over neighbours.
fn lane_to(node: Coord, lanes: usize) -> usize {
    if lanes == 1 {
        return 0;
    }
    let mixed = node.0.iter().fold(0_u32, |hash, &c| {
        (hash ^ u32::from(c)).wrapping_mul(0x9e37_79b1)
    });
    (mixed >> 16) as usize % lanes
}
