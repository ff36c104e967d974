//! Injection FIFOs: rings of descriptors in node memory.

use std::collections::{BTreeMap, VecDeque};

use gyre_firmware::{InjectionConfig, Node, Register};
use gyre_layout::{
    Area, Coord, DESCRIPTOR_BYTES, Descriptor, ErrorReason, Kind, MAX_PAYLOAD_BYTES, Message,
    MessageTemplate, Source, Transfer,
};

use crate::buffer::BufferRange;
use crate::cost::Op;
use crate::done_table::DoneId;
use crate::error::{Error, Fault};
use crate::platform::{DmaBuffer, Platform, PlatformLock, RangeError};
use crate::resources::RING_ALIGN;
use crate::sync::{Arc, Mutex, lock, try_lock};
use crate::transport::registers::{self, Bus};
use crate::transport::wire::Bytes;

/// Bytes of an entry of the staging area.
const STAGING_BYTES: usize = MAX_PAYLOAD_BYTES;

/// User number of descriptors whose context has been destroyed.
const NOBODY: u32 = 0;

/// Payload of a descriptor.
pub(crate) enum Payload<P: Platform> {
    /// A range of the user's, in place.
    Data(BufferRange<P::Buffer>),
    /// A range in place that its owner keeps until it has been read.
    Kept(BufferRange<P::Buffer>),
    /// At most [`MAX_PAYLOAD_BYTES`] bytes, copied to the staging area when the descriptor is written.
    Staged(Bytes),
    /// No payload: the descriptor holds all.
    Inside,
}

/// The payload of a message that is injected at its call.
pub(crate) enum Direct<'a, P: Platform, const N: usize> {
    /// Pieces, together at most [`MAX_PAYLOAD_BYTES`] bytes, copied to the staging area.
    Copied([&'a [u8]; N]),
    /// Bytes and a range of the user's behind them, together at most as many, copied to the staging area.
    Gathered(&'a [u8], &'a BufferRange<P::Buffer>),
    /// A nonempty range of the user's, in place, and whether its completion is awaited.
    InPlace(&'a BufferRange<P::Buffer>, bool),
}

impl<P: Platform, const N: usize> Direct<'_, P, N> {
    /// Bytes of it.
    #[inline(always)]
    pub fn len(&self) -> usize {
        match self {
            Self::Copied(pieces) => pieces.iter().map(|piece| piece.len()).sum(),
            Self::Gathered(first, data) => first.len() + data.len(),
            Self::InPlace(data, _) => data.len(),
        }
    }

    /// A copy.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn to_bytes(&self) -> Result<Bytes, Fault> {
        let (first, data) = match self {
            Self::Copied(pieces) => {
                return Ok(pieces.iter().flat_map(|p| p.iter().copied()).collect());
            }
            Self::Gathered(first, data) => (*first, *data),
            Self::InPlace(data, _) => (&[][..], *data),
        };
        let mut bytes = Bytes::from(first);
        bytes.resize(first.len() + data.len(), 0);
        data.read(0, &mut bytes[first.len()..])?;
        Ok(bytes)
    }

    /// Cost of sending it, besides copies.
    #[inline(always)]
    pub fn op(&self) -> Op {
        match self {
            Self::Copied(_) | Self::Gathered(..) => Op::Inject,
            Self::InPlace(..) => Op::InjectInPlace,
        }
    }

    /// Whether its completion is awaited.
    #[inline(always)]
    pub fn is_awaited(&self) -> bool {
        matches!(self, Self::InPlace(_, true))
    }
}

impl Finish {
    /// Whether the completion of the descriptor without error has an effect.
    fn matters(self) -> bool {
        match self {
            Self::Send { local_done, .. } => local_done.is_some(),
            Self::Contribution { waits, .. } => waits,
            Self::Control | Self::Get { .. } | Self::Fence { .. } => false,
        }
    }
}

impl<P: Platform> Payload<P> {
    /// Bytes of it.
    pub fn len(&self) -> usize {
        match self {
            Self::Data(data) | Self::Kept(data) => data.len(),
            Self::Staged(bytes) => bytes.len(),
            Self::Inside => 0,
        }
    }
}

/// Operation that ends with a descriptor, or with a message in shared memory.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Finish {
    /// No operation: a control message.
    Control,
    /// A send or put: its data has been read. When the descriptor is refused, the operation that waits
    /// for `cookie` fails too; `answered` says that its acknowledgement comes nevertheless.
    Send {
        local_done: Option<DoneId>,
        cookie: Option<u32>,
        answered: bool,
    },
    /// The request of get `number`.
    Get { number: u32 },
    /// The message of fence `cookie`.
    Fence { cookie: u32 },
    /// The contribution of part `part` of a transfer on class route `route`. The part `waits` for it, or its result tells
    /// that it has been read.
    Contribution { route: u8, part: u64, waits: bool },
}

/// Contents of a descriptor, except the place of its payload.
pub(crate) enum Order {
    /// A message into a reception FIFO: the most frequent descriptor, with few nonzero fields.
    Message(Message),
    /// A put or a remote get by the fixed route.
    Transfer(Transfer),
    /// Any other, with the bytes of its payload.
    Other(Box<Descriptor>),
}

impl Order {
    /// Its destination.
    pub fn node(&self) -> Coord {
        match self {
            Self::Message(message) => message.dst.unpack(),
            Self::Transfer(transfer) => transfer.dst.unpack(),
            Self::Other(descriptor) => descriptor.dst,
        }
    }
}

impl From<Descriptor> for Order {
    fn from(descriptor: Descriptor) -> Self {
        Self::Other(Box::new(descriptor))
    }
}

impl<P: Platform> Outgoing<P> {
    /// Cost of making it.
    fn op(&self) -> Op {
        match (&self.order, self.finish) {
            (Order::Message(_), Finish::Control | Finish::Fence { .. }) => Op::SystemMessage,
            (Order::Message(_), _) => Op::Message,
            (Order::Transfer(_), _) => Op::Transfer,
            (Order::Other(descriptor), _) if descriptor.kind == Kind::Collective => Op::Transfer,
            (Order::Other(_), _) => Op::Descriptor,
        }
    }

    /// The descriptor, to be changed.
    pub fn descriptor(&mut self) -> &mut Descriptor {
        let source = Source::of_length(self.payload.len());
        match &self.order {
            Order::Message(message) => self.order = message.descriptor(source).into(),
            Order::Transfer(transfer) => self.order = transfer.descriptor(source).into(),
            Order::Other(_) => {}
        }
        match &mut self.order {
            Order::Other(descriptor) => descriptor,
            _ => unreachable!("the order is a descriptor now"),
        }
    }
}

/// An operation that is ready to become a descriptor.
pub(crate) struct Outgoing<P: Platform> {
    /// The descriptor; its source is filled in from the payload.
    pub order: Order,
    pub payload: Payload<P>,
    pub finish: Finish,
}

/// Consecutive descriptors in the ring that have not completed.
struct InFlight<P: Platform> {
    /// Their user.
    user: u32,
    /// Their number: more than one only if no operation ends with them.
    count: u32,
    /// Source of the descriptor, kept until it has been read.
    data: Option<BufferRange<P::Buffer>>,
    finish: Finish,
    /// An operation or memory waits for their completion.
    awaited: bool,
    refused: Option<Result<ErrorReason, u8>>,
}

impl<P: Platform> InFlight<P> {
    /// Whether their completion needs no look-up.
    fn is_plain(&self) -> bool {
        let finish = matches!(
            self.finish,
            Finish::Control | Finish::Contribution { waits: false, .. }
        );
        finish && self.data.is_none() && self.refused.is_none()
    }

    /// Whether their completion is to be polled soon.
    fn is_awaited(&self) -> bool {
        self.awaited || self.refused.is_some()
    }
}

/// Consecutive descriptors of a user with which no operation ends.
#[derive(Debug, Clone, Copy)]
struct Plain {
    user: u32,
    count: u32,
}

/// Completions of a user's descriptors that other users have seen.
#[derive(Default)]
struct Mailbox {
    count: usize,
    completed: Vec<Completed>,
}

/// A completed descriptor with which an operation ends.
pub(crate) struct Completed {
    pub finish: Finish,
    pub result: Result<(), Fault>,
}

/// The ring of an injection FIFO and its descriptors.
struct Ring<P: Platform> {
    id: u16,
    /// Its TAIL, written for every message.
    tail_register: Register,
    memory: Option<P::Buffer>,
    /// One entry for each descriptor, at the same index: it is free when the descriptor's place is.
    staging: Option<P::Buffer>,
    /// The place.
    area: Area,
    /// Bytes of descriptors written, modulo 2^32: the value of TAIL.
    tail: u32,
    /// Bytes of descriptors retired, modulo 2^32: follows HEAD.
    head: u32,
    /// Value of TAIL that the hardware knows.
    published: u32,
    /// Most descriptors in the ring: a power of two.
    capacity: usize,
    in_flight: VecDeque<InFlight<P>>,
    /// Behind those: consecutive descriptors of one user with which no operation ends.
    plain: Plain,
    /// Completions of each user that another user has seen.
    mailboxes: BTreeMap<u32, Mailbox>,
    /// Number of users so far, which gives the next number.
    users_ever: u32,
    users: usize,
    /// The FIFO is disabled for good.
    closed: bool,
}

/// An injection FIFO: of one context, or shared by all of a process under a lock (EP-2).
pub(crate) struct InjectionFifo<P: Platform> {
    /// Taken around every use; `None` when there is one user.
    lock: Option<P::Lock>,
    /// Used by the holder of `lock` alone. A single user takes it out.
    ring: Mutex<Option<Ring<P>>>,
}

impl<P: Platform> InjectionFifo<P> {
    /// Allocates a ring of `bytes` bytes and hands it to FIFO `id`. `shared`: several contexts use it.
    pub fn open(
        platform: &P,
        node: &mut Node<Bus<P>>,
        id: u16,
        bytes: usize,
        owner: u8,
        shared: bool,
    ) -> Result<Self, Fault> {
        platform.charge(Op::Allocate, 2);
        let memory = platform.alloc(bytes, RING_ALIGN)?;
        let staging = platform.alloc(bytes / DESCRIPTOR_BYTES * STAGING_BYTES, RING_ALIGN)?;
        let area = Area::new(staging.slot(), staging.offset(), staging.len() as u64)?;
        let config = InjectionConfig {
            base: memory.address(),
            size: bytes as u64,
            owner,
            remote_get: false,
            // Also the condition for the wake-up event; INT_MASK decides about interrupts.
            interrupt: true,
        };
        node.open_injection(id, &config)
            .map_err(|cause| Error::SetUp {
                what: "an injection FIFO",
                cause,
            })?;
        Ok(Self {
            lock: shared.then(|| platform.new_lock()),
            ring: Mutex::new(Some(Ring {
                id,
                tail_register: Register::injection_tail(id),
                memory: Some(memory),
                staging: Some(staging),
                area,
                tail: 0,
                head: 0,
                published: 0,
                capacity: bytes / DESCRIPTOR_BYTES,
                in_flight: VecDeque::new(),
                plain: Plain {
                    user: NOBODY,
                    count: 0,
                },
                mailboxes: BTreeMap::new(),
                users_ever: 0,
                users: 0,
                closed: false,
            })),
        })
    }

    /// Uses the ring, under the lock if it is shared.
    fn with<R>(
        &self,
        platform: &P,
        work: impl FnOnce(&mut Ring<P>) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        if let Some(lock) = &self.lock {
            platform.charge(Op::Lock, 1);
            lock.lock();
        }
        let result = match try_lock(&self.ring).as_deref_mut() {
            Some(Some(ring)) => work(ring),
            // Its only user has it.
            Some(None) | None => Err(Error::Busy.into()),
        };
        if let Some(lock) = &self.lock {
            platform.charge(Op::Lock, 1);
            lock.unlock();
        }
        result
    }

    /// Takes the ring out for the only user.
    ///
    /// # Errors
    /// [`Error::Busy`] when it has one.
    fn take(&self) -> Result<Ring<P>, Fault> {
        lock(&self.ring).take().ok_or_else(|| Error::Busy.into())
    }

    /// Whether the last user has closed it.
    pub fn is_closed(&self, platform: &P) -> bool {
        self.with(platform, |ring| Ok(ring.closed)).unwrap_or(true)
    }

    /// Disables a FIFO that has no user.
    pub fn close_unused(&self, platform: &P, node: &mut Node<Bus<P>>) -> Result<(), Fault> {
        self.with(platform, |ring| match ring.users {
            0 => ring.close(node),
            _ => Ok(()),
        })
    }
}

/// The use of an injection FIFO by one context: its descriptors, and operations that wait for room.
pub(crate) struct Lane<P: Platform> {
    fifo: Arc<InjectionFifo<P>>,
    /// The ring of a FIFO with a single user.
    own: Option<Ring<P>>,
    /// Number of the context among the FIFO's users.
    user: u32,
    waiting: VecDeque<Outgoing<P>>,
    /// Descriptors in the ring that the hardware does not know yet.
    written: usize,
    /// Operations that failed to make a descriptor.
    failed: Vec<Completed>,
    in_flight: usize,
    /// Descriptors in the ring may keep data, or operations may end with them.
    awaiting: bool,
    /// Half the capacity of the ring.
    many: usize,
    /// The ring was full when this context last wrote to it.
    full: bool,
    /// A refused descriptor of this context had not been skipped when it last looked.
    resuming: bool,
}

impl<P: Platform> Lane<P> {
    /// Makes a context a user of `fifo`.
    pub fn open(platform: &P, fifo: &Arc<InjectionFifo<P>>) -> Result<Self, Fault> {
        let mut own = match fifo.lock {
            Some(_) => None,
            None => Some(fifo.take()?),
        };
        let (user, many) = with_ring(&mut own, fifo, platform, |ring| {
            ring.users += 1;
            ring.users_ever = ring.users_ever.wrapping_add(1);
            Ok((ring.users_ever, ring.capacity.div_ceil(2)))
        })?;
        Ok(Self {
            fifo: Arc::clone(fifo),
            own,
            user,
            waiting: VecDeque::new(),
            written: 0,
            failed: Vec::new(),
            in_flight: 0,
            awaiting: false,
            many,
            full: false,
            resuming: false,
        })
    }

    /// Ends the use; the last user disables the FIFO. Uncompleted descriptors are given up.
    pub fn close(&mut self, platform: &P, node: &mut Node<Bus<P>>) -> Result<(), Fault> {
        self.waiting.clear();
        let closed = with_ring(&mut self.own, &self.fifo, platform, |ring| {
            ring.mailboxes.remove(&self.user);
            ring.enlist_plain();
            for entry in &mut ring.in_flight {
                if entry.user == self.user {
                    entry.user = NOBODY;
                    entry.finish = Finish::Control;
                }
            }
            ring.users -= 1;
            match ring.users {
                0 => ring.close(node),
                _ => Ok(()),
            }
        });
        if let Some(ring) = self.own.take() {
            *lock(&self.fifo.ring) = Some(ring);
        }
        closed
    }

    /// Descriptors of this context that have not been retired.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Operations that the DMA engine does not know yet.
    pub fn waiting(&self) -> usize {
        self.waiting.len() + self.written + self.failed.len()
    }

    /// Makes a descriptor of an operation, which the next [`start`](Self::start) publishes. The operation is queued
    /// instead where others wait, without room, and where several contexts share the FIFO.
    #[inline(always)]
    pub fn put(&mut self, platform: &P, outgoing: Outgoing<P>) {
        let Some(ring) = self.own.as_mut().filter(|_| self.waiting.is_empty()) else {
            self.waiting.push_back(outgoing);
            return;
        };
        if ring.is_full() {
            self.full = true;
            self.waiting.push_back(outgoing);
            return;
        }
        match ring.write(platform, self.user, outgoing) {
            Ok(()) => self.written += 1,
            Err(completed) => self.failed.push(completed),
        }
    }

    /// Whether a descriptor of this context is under way with which an operation ends, or room is short.
    pub fn awaits(&self) -> bool {
        self.in_flight > 0 && (self.awaiting || self.is_short_of_room())
    }

    /// Whether the next waiting operation found no room.
    pub fn blocked(&self) -> bool {
        self.full && !self.waiting.is_empty()
    }

    /// Whether a refused descriptor has not been skipped yet.
    pub fn resuming(&self) -> bool {
        self.resuming
    }

    /// Turns waiting operations into descriptors as far as there is room, and starts them all with one write of TAIL. A
    /// failed one goes to `completed` with its error. Returns how many left the queue.
    pub fn start(&mut self, platform: &P, completed: &mut Vec<Completed>) -> Result<usize, Fault> {
        completed.append(&mut self.failed);
        with_ring(&mut self.own, &self.fifo, platform, |ring| {
            while !ring.is_full() {
                let Some(outgoing) = self.waiting.pop_front() else {
                    break;
                };
                match ring.write(platform, self.user, outgoing) {
                    Ok(()) => self.written += 1,
                    Err(failed) => completed.push(failed),
                }
            }
            self.full = ring.is_full();
            self.awaiting = ring.awaits();
            ring.publish(platform)?;
            let started = core::mem::take(&mut self.written);
            self.in_flight += started;
            Ok(started)
        })
    }

    /// Makes and publishes the descriptor of a message by `template`, with software word 1 and message id of `words`,
    /// with which `finish` ends. Returns whether it did: not when others wait or the ring is full.
    #[inline(always)] // Every immediate message comes here.
    pub fn inject<const N: usize>(
        &mut self,
        platform: &P,
        template: &MessageTemplate,
        words: (u32, u32),
        payload: &Direct<'_, P, N>,
        finish: Finish,
    ) -> Result<bool, Fault> {
        if self.waiting() > 0 {
            return Ok(false);
        }
        let injected = match &mut self.own {
            Some(ring) => ring.inject(platform, self.user, template, words, payload, finish)?,
            None => self.inject_shared(platform, template, words, payload, finish)?,
        };
        self.in_flight += usize::from(injected);
        self.awaiting |= injected && payload.is_awaited();
        Ok(injected)
    }

    /// As [`inject`](Self::inject), in a shared FIFO.
    #[inline(never)]
    fn inject_shared<const N: usize>(
        &self,
        platform: &P,
        template: &MessageTemplate,
        words: (u32, u32),
        payload: &Direct<'_, P, N>,
        finish: Finish,
    ) -> Result<bool, Fault> {
        let user = self.user;
        self.fifo.with(platform, |ring| {
            ring.inject(platform, user, template, words, payload, finish)
        })
    }

    /// Whether so many descriptors are under way that room is short.
    #[inline]
    pub fn is_short_of_room(&self) -> bool {
        self.in_flight >= self.many
    }

    /// Reads HEAD and retires completed descriptors: those of this context go into `completed`. Returns how many.
    #[inline(always)] // Mostly there is one lane.
    pub fn poll(&mut self, platform: &P, completed: &mut Vec<Completed>) -> Result<usize, Fault> {
        self.with_completions(platform, completed, Ring::retire)
    }

    /// Looks whether the FIFO has halted at a descriptor that the DMA engine refuses; if so, retires what
    /// came before, notes the refusal for the descriptor's done callback and lets the FIFO skip it.
    pub fn check_halt(
        &mut self,
        platform: &P,
        completed: &mut Vec<Completed>,
    ) -> Result<(), Fault> {
        self.with_completions(platform, completed, Ring::check_halt)
            .map(drop)
    }

    /// Takes completed descriptors of this context: those that others have seen, then those that `look` finds. Returns
    /// how many.
    #[inline(always)]
    fn with_completions(
        &mut self,
        platform: &P,
        completed: &mut Vec<Completed>,
        look: impl FnOnce(&mut Ring<P>, &P, u32, &mut Vec<Completed>) -> (usize, Result<(), Fault>),
    ) -> Result<usize, Fault> {
        with_ring(&mut self.own, &self.fifo, platform, |ring| {
            let mut count = 0;
            if !ring.mailboxes.is_empty()
                && let Some(mine) = ring.mailboxes.remove(&self.user)
            {
                count = mine.count;
                completed.extend(mine.completed);
            }
            let (seen, looked) = look(ring, platform, self.user, completed);
            count += seen;
            self.in_flight -= count;
            self.full &= ring.is_full();
            self.awaiting = ring.awaits();
            self.resuming = ring.resuming() == Some(self.user);
            looked.map(|()| count)
        })
    }
}

/// Uses the ring of `fifo`, which is `own` of its only user.
#[inline(always)]
fn with_ring<P: Platform, R>(
    own: &mut Option<Ring<P>>,
    fifo: &InjectionFifo<P>,
    platform: &P,
    work: impl FnOnce(&mut Ring<P>) -> Result<R, Fault>,
) -> Result<R, Fault> {
    match own {
        Some(ring) => work(ring),
        None => fifo.with(platform, work),
    }
}

impl<P: Platform> Ring<P> {
    /// Whether the ring has no place for another descriptor.
    fn is_full(&self) -> bool {
        self.used() >= self.capacity
    }

    /// Whether a descriptor in the ring may be awaited.
    #[inline]
    fn awaits(&self) -> bool {
        // With several contexts, completions wait in mailboxes as well.
        let others = self.users > 1 && self.used() > 0;
        others || self.in_flight.iter().any(InFlight::is_awaited)
    }

    /// Descriptors in the ring that have not been retired.
    fn used(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize / DESCRIPTOR_BYTES
    }

    /// Writes the descriptor of an operation behind the others. A failed operation is returned with its error.
    #[inline(always)]
    fn write(
        &mut self,
        platform: &P,
        user: u32,
        mut outgoing: Outgoing<P>,
    ) -> Result<(), Completed> {
        platform.charge(outgoing.op(), 1);
        if let Err(error) = self.write_descriptor(platform, &mut outgoing) {
            return Err(Completed {
                finish: outgoing.finish,
                result: Err(error),
            });
        }
        let data = match outgoing.payload {
            Payload::Data(data) => Some(data),
            Payload::Kept(_) | Payload::Staged(_) | Payload::Inside => None,
        };
        let awaited = outgoing.finish.matters() || data.is_some();
        self.record(user, data, outgoing.finish, awaited);
        Ok(())
    }

    /// Writes a descriptor, with the place of its payload, behind the others.
    #[inline(always)]
    fn write_descriptor(&mut self, platform: &P, outgoing: &mut Outgoing<P>) -> Result<(), Fault> {
        let source = self.source(platform, &outgoing.payload)?;
        match &mut outgoing.order {
            Order::Message(message) => {
                self.append(&message.encode(source.unwrap_or(Source::of_length(0)))?)
            }
            Order::Transfer(transfer) => {
                self.append(&transfer.encode(source.unwrap_or(Source::of_length(0)))?)
            }
            Order::Other(descriptor) => {
                if let Some(Source { slot, offset, .. }) = source {
                    // The length of a read-modify-write is that of its operand.
                    descriptor.source.slot = slot;
                    descriptor.source.offset = offset;
                }
                self.append(&descriptor.encode()?)
            }
        }
    }

    /// Source of the payload of a descriptor, if it has any.
    #[inline(always)]
    fn source(&self, platform: &P, payload: &Payload<P>) -> Result<Option<Source>, Fault> {
        match payload {
            Payload::Data(data) | Payload::Kept(data) => self.in_place(data).map(Some),
            Payload::Staged(bytes) => {
                let staged = self.stage(platform, bytes.len(), |staging, at| {
                    if bytes.is_empty() {
                        return Ok(());
                    }
                    staging.write(at, bytes)
                });
                staged.map(|(area, at, length)| Some(area.source(at, length)))
            }
            Payload::Inside => Ok(None),
        }
    }

    /// The source of a payload that is read in place.
    #[inline(always)]
    fn in_place(&self, data: &BufferRange<P::Buffer>) -> Result<Source, Fault> {
        let memory = self.memory()?;
        // Zero-length data gets a source inside the ring, so that it names a valid slot.
        let (slot, offset) = data.location().unwrap_or((memory.slot(), memory.offset()));
        Ok(Source {
            slot,
            offset,
            // Checked when the operation was posted.
            length: data.len() as u32,
        })
    }

    /// Notes the operation that ends with the written descriptor.
    fn record(
        &mut self,
        user: u32,
        data: Option<BufferRange<P::Buffer>>,
        finish: Finish,
        awaited: bool,
    ) {
        if data.is_none() && matches!(finish, Finish::Control) {
            return self.record_plain(user);
        }
        self.enlist_plain();
        self.in_flight.push_back(InFlight {
            user,
            count: 1,
            data,
            finish,
            awaited,
            refused: None,
        });
    }

    /// Notes that no operation ends with the written descriptor.
    #[inline(always)]
    fn record_plain(&mut self, user: u32) {
        if self.plain.user != user {
            self.enlist_plain();
            self.plain.user = user;
        }
        self.plain.count += 1;
    }

    /// Moves the last plain descriptors to the others, before a descriptor with an operation.
    #[inline(never)]
    fn enlist_plain(&mut self) {
        let Plain { user, count } = self.plain;
        if count > 0 {
            self.plain.count = 0;
            self.in_flight.push_back(InFlight {
                user,
                count,
                data: None,
                finish: Finish::Control,
                awaited: false,
                refused: None,
            });
        }
    }

    /// Takes the last descriptor back, which the hardware does not know.
    fn unwrite(&mut self) {
        self.tail = self.tail.wrapping_sub(DESCRIPTOR_BYTES as u32);
        if self.plain.count > 0 {
            self.plain.count -= 1;
            return;
        }
        match self.in_flight.back_mut() {
            Some(last) if last.count > 1 => last.count -= 1,
            _ => drop(self.in_flight.pop_back()),
        }
    }

    /// Writes the descriptor of a message by `template` behind the others, and publishes it; returns whether there was
    /// room.
    #[inline(always)]
    fn inject<const N: usize>(
        &mut self,
        platform: &P,
        user: u32,
        template: &MessageTemplate,
        (sw1, id): (u32, u32),
        payload: &Direct<'_, P, N>,
        finish: Finish,
    ) -> Result<bool, Fault> {
        if self.is_full() {
            return Ok(false);
        }
        let source = match payload {
            Direct::Copied(pieces) => self.stage(platform, payload.len(), |staging, mut at| {
                for piece in pieces {
                    if !piece.is_empty() {
                        staging.write(at, piece)?;
                        at += piece.len();
                    }
                }
                Ok(())
            })?,
            Direct::Gathered(first, data) => {
                self.stage(platform, payload.len(), |staging, at| {
                    if !first.is_empty() {
                        staging.write(at, first)?;
                    }
                    data.copy_to(staging, at + first.len())
                })?
            }
            Direct::InPlace(data, _) => {
                let Source {
                    slot,
                    offset,
                    length,
                } = self.in_place(data)?;
                (Area::new(slot, offset, length.into())?, 0, length)
            }
        };
        self.append(&template.encode(source, sw1, id))?;
        if let Err(error) = self.publish(platform) {
            // The hardware does not know the descriptor.
            self.tail = self.tail.wrapping_sub(DESCRIPTOR_BYTES as u32);
            return Err(error);
        }
        // The message is under way: the following does not delay it.
        platform.charge(Op::Injected, 1);
        match (payload, finish) {
            (&Direct::InPlace(data, awaited), _) => {
                self.record(user, Some(data.clone()), finish, awaited);
            }
            (_, Finish::Control) => self.record_plain(user),
            (_, _) => self.record(user, None, finish, false),
        }
        Ok(true)
    }

    /// Place of the next descriptor.
    #[inline(always)]
    fn place(&self) -> usize {
        (self.tail as usize / DESCRIPTOR_BYTES) & (self.capacity - 1)
    }

    #[inline(always)]
    fn memory(&self) -> Result<&P::Buffer, Fault> {
        match &self.memory {
            Some(memory) => Ok(memory),
            None => Err(Error::Destroyed.into()),
        }
    }

    /// Stages the payload of the next descriptor, of `length` bytes, which `copy` copies; returns its place.
    #[inline(always)]
    fn stage(
        &self,
        platform: &P,
        length: usize,
        copy: impl FnOnce(&P::Buffer, usize) -> Result<(), RangeError>,
    ) -> Result<(Area, u64, u32), Fault> {
        let Some(staging) = &self.staging else {
            return Err(Error::Destroyed.into());
        };
        let at = self.place() * STAGING_BYTES;
        platform.charge_copy(Op::Stage, length);
        copy(staging, at)?;
        // At most the payload of a packet.
        Ok((self.area, at as u64, length as u32))
    }

    /// Writes a descriptor behind the others.
    #[inline(always)]
    fn append(&mut self, descriptor: &[u8; DESCRIPTOR_BYTES]) -> Result<(), Fault> {
        let place = self.place();
        self.memory()?.write(place * DESCRIPTOR_BYTES, descriptor)?;
        self.tail = self.tail.wrapping_add(DESCRIPTOR_BYTES as u32);
        Ok(())
    }

    /// Publishes new descriptors to the hardware.
    #[inline(always)]
    fn publish(&mut self, platform: &P) -> Result<(), Fault> {
        if self.published != self.tail {
            registers::write_within(platform, self.tail_register, u64::from(self.tail))?;
            self.published = self.tail;
        }
        Ok(())
    }

    /// Reads HEAD and takes completed descriptors: those of `user` go into `completed`, those of others into their
    /// mailboxes. Returns how many of `user`.
    #[inline(always)]
    fn retire(
        &mut self,
        platform: &P,
        user: u32,
        completed: &mut Vec<Completed>,
    ) -> (usize, Result<(), Fault>) {
        match self.completed_until(platform) {
            Ok(head) if head == self.head => (0, Ok(())),
            Ok(head) if self.in_flight.is_empty() => (self.take_plain_until(head, user), Ok(())),
            Ok(head) => (self.take_until(platform, head, user, completed), Ok(())),
            Err(error) => (0, Err(error)),
        }
    }

    /// HEAD, checked.
    #[inline(always)]
    fn completed_until(&self, platform: &P) -> Result<u32, Fault> {
        platform.charge(Op::Poll, 1);
        let value = registers::read_within(platform, Register::injection_head(self.id))?;
        let inconsistent = |reason| -> Fault {
            Error::Register {
                register: "HEAD",
                fifo: self.id,
                value,
                reason,
            }
            .into()
        };
        let head = u32::try_from(value).map_err(|_| inconsistent("more than 32 bits"))?;
        let bytes = head.wrapping_sub(self.head);
        if !bytes.is_multiple_of(DESCRIPTOR_BYTES as u32) {
            return Err(inconsistent("not a whole number of descriptors"));
        }
        if bytes > self.tail.wrapping_sub(self.head) {
            return Err(inconsistent("beyond the tail"));
        }
        Ok(head)
    }

    /// Takes the descriptors before `head`: those of `user` with which an operation ends go into `completed`, those of
    /// others into their mailboxes. Returns how many of `user`.
    fn take_until(
        &mut self,
        platform: &P,
        head: u32,
        user: u32,
        completed: &mut Vec<Completed>,
    ) -> usize {
        let mut left = head.wrapping_sub(self.head) / DESCRIPTOR_BYTES as u32;
        self.head = head;
        let mut mine = 0;
        while left > 0
            && let Some(first) = self.in_flight.front_mut()
        {
            let count = first.count.min(left);
            left -= count;
            first.count -= count;
            let owner = first.user;
            if !first.is_plain() {
                platform.charge(Op::Retire, 1);
            }
            let ended = match first.count {
                0 => self.in_flight.pop_front().and_then(|run| self.ended(run)),
                _ => None,
            };
            if owner == user {
                mine += count as usize;
                completed.extend(ended);
            } else if owner != NOBODY {
                let mailbox = self.mailboxes.entry(owner).or_default();
                mailbox.count += count as usize;
                mailbox.completed.extend(ended);
            }
        }
        mine + self.take_plain(left, user)
    }

    /// As [`take_until`](Self::take_until), where all descriptors are plain.
    #[inline(always)]
    fn take_plain_until(&mut self, head: u32, user: u32) -> usize {
        let count = head.wrapping_sub(self.head) / DESCRIPTOR_BYTES as u32;
        self.head = head;
        self.take_plain(count, user)
    }

    /// Takes `count` of the last plain descriptors. Returns how many of `user`.
    #[inline(always)]
    fn take_plain(&mut self, count: u32, user: u32) -> usize {
        let count = self.plain.count.min(count);
        self.plain.count -= count;
        let Plain { user: owner, .. } = self.plain;
        if owner == user {
            return count as usize;
        }
        if count > 0 && owner != NOBODY {
            self.mailboxes.entry(owner).or_default().count += count as usize;
        }
        0
    }

    /// The operation that ends with a completed descriptor.
    #[inline]
    fn ended(&self, run: InFlight<P>) -> Option<Completed> {
        let result = match run.refused {
            None if !run.finish.matters() => return None,
            None => Ok(()),
            Some(reason) => Err(Error::Descriptor {
                fifo: self.id,
                reason,
            }
            .into()),
        };
        Some(Completed {
            finish: run.finish,
            result,
        })
    }

    /// Looks whether the FIFO has halted; as [`retire`](Self::retire).
    fn check_halt(
        &mut self,
        platform: &P,
        user: u32,
        completed: &mut Vec<Completed>,
    ) -> (usize, Result<(), Fault>) {
        let halt = match registers::injection_halt(platform, self.id) {
            Ok(halt) => halt.filter(|_| self.resuming().is_none()),
            Err(error) => return (0, Err(error)),
        };
        let Some(reason) = halt else {
            return (0, Ok(()));
        };
        // The engine halts when nothing older is in flight: HEAD points at the descriptor.
        let (count, retired) = self.retire(platform, user, completed);
        let refused = retired.and_then(|()| self.refuse_first(reason));
        (
            count,
            refused.and_then(|()| registers::skip_refused(platform, self.id)),
        )
    }

    /// Notes that the DMA engine refuses the first descriptor that has not completed.
    fn refuse_first(&mut self, reason: Result<ErrorReason, u8>) -> Result<(), Fault> {
        self.enlist_plain();
        let Some(first) = self.in_flight.front_mut() else {
            return Err(Error::Descriptor {
                fifo: self.id,
                reason,
            }
            .into());
        };
        if first.count > 1 {
            first.count -= 1;
            let alone = InFlight {
                count: 1,
                data: None,
                refused: Some(reason),
                ..*first
            };
            self.in_flight.push_front(alone);
        } else {
            first.refused = Some(reason);
        }
        Ok(())
    }

    /// Disables the FIFO and frees its memory, unless the DMA engine may still read that.
    fn close(&mut self, node: &mut Node<Bus<P>>) -> Result<(), Fault> {
        node.close_injection(self.id)
            .map_err(|cause| Error::SetUp {
                what: "an injection FIFO",
                cause,
            })?;
        self.closed = true;
        while self.tail != self.published {
            self.unwrite();
        }
        if self.used() == 0 {
            self.memory = None;
            self.staging = None;
        }
        Ok(())
    }

    /// User of the refused descriptor that has not been skipped yet.
    fn resuming(&self) -> Option<u32> {
        let first = self.in_flight.front()?;
        first.refused.is_some().then_some(first.user)
    }
}

impl<P: Platform> Drop for Ring<P> {
    /// The DMA engine may still read a FIFO that was closed with descriptors in flight: its ring and the data of its
    /// descriptors are leaked rather than reused.
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            core::mem::forget(memory);
            core::mem::forget(self.staging.take());
            for entry in self.in_flight.drain(..) {
                core::mem::forget(entry.data);
            }
        }
    }
}
