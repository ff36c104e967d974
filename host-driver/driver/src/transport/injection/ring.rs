// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ring of an injection FIFO, and its sharing between contexts.

use std::collections::{BTreeMap, VecDeque};

use gyre_firmware::{InjectionConfig, Node, Register};
use gyre_layout::{
    Area, DESCRIPTOR_BYTES, ErrorReason, MAX_PAYLOAD_BYTES, MessageTemplate, Source,
};

use super::{Completed, Direct, Finish, Order, Outgoing, Payload};
use crate::buffer::BufferRange;
use crate::cost::Op;
use crate::error::{Error, Fault};
use crate::platform::{DmaBuffer, Platform, PlatformLock};
use crate::resources::RING_ALIGN;
use crate::sync::{Mutex, lock, try_lock};
use crate::transport::registers::{self, Bus};

/// Bytes of an entry of the staging area.
const STAGING_BYTES: usize = MAX_PAYLOAD_BYTES;

/// User number of descriptors whose context has been destroyed.
const NOBODY: u32 = 0;

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
pub struct Mailbox {
    pub count: usize,
    pub completed: Vec<Completed>,
}

/// The ring of an injection FIFO and its descriptors.
pub struct Ring<P: Platform> {
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
    pub lock: Option<P::Lock>,
    /// Used by the holder of `lock` alone. A single user takes it out.
    pub ring: Mutex<Option<Ring<P>>>,
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
    pub fn with<R>(
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
    pub fn take(&self) -> Result<Ring<P>, Fault> {
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

impl<P: Platform> Ring<P> {
    /// Adds a user. Returns its number and half the places of the ring.
    pub fn add_user(&mut self) -> (u32, usize) {
        self.users += 1;
        self.users_ever = self.users_ever.wrapping_add(1);
        (self.users_ever, self.capacity.div_ceil(2))
    }

    /// Removes a user; the last one disables the FIFO. Its uncompleted descriptors are given up.
    pub fn remove_user(&mut self, user: u32, node: &mut Node<Bus<P>>) -> Result<(), Fault> {
        self.mailboxes.remove(&user);
        self.enlist_plain();
        for entry in &mut self.in_flight {
            if entry.user == user {
                entry.user = NOBODY;
                entry.finish = Finish::Control;
            }
        }
        self.users -= 1;
        match self.users {
            0 => self.close(node),
            _ => Ok(()),
        }
    }

    /// Takes the completions of `user` that others have seen.
    #[inline(always)]
    pub fn take_mailbox(&mut self, user: u32) -> Option<Mailbox> {
        match self.mailboxes.is_empty() {
            true => None,
            false => self.mailboxes.remove(&user),
        }
    }

    /// Whether the ring has no place for another descriptor.
    pub fn is_full(&self) -> bool {
        self.used() >= self.capacity
    }

    /// Whether a descriptor in the ring may be awaited.
    #[inline]
    pub fn awaits(&self) -> bool {
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
    pub fn write(
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
                let (staging, at) = self.stage(platform, bytes.len())?;
                if !bytes.is_empty() {
                    staging.write(at, bytes)?;
                }
                Ok(Some(self.area.source(at as u64, bytes.len() as u32)))
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
    pub fn inject<const N: usize>(
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
            Direct::Copied(pieces) => {
                let (staging, mut at) = self.stage(platform, payload.len())?;
                let begin = at;
                for piece in pieces {
                    if !piece.is_empty() {
                        staging.write(at, piece)?;
                        at += piece.len();
                    }
                }
                (self.area, begin as u64, (at - begin) as u32)
            }
            Direct::Gathered(first, data) => {
                let (staging, at) = self.stage(platform, payload.len())?;
                if !first.is_empty() {
                    staging.write(at, first)?;
                }
                data.copy_to(staging, at + first.len())?;
                (self.area, at as u64, payload.len() as u32)
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

    /// The staging area, and the place in it of the payload of the next descriptor, of `length` bytes: at most those of a
    /// packet. Charges their copy, which is the caller's.
    #[inline(always)]
    fn stage(&self, platform: &P, length: usize) -> Result<(&P::Buffer, usize), Fault> {
        let Some(staging) = &self.staging else {
            return Err(Error::Destroyed.into());
        };
        platform.charge_copy(Op::Stage, length);
        Ok((staging, self.place() * STAGING_BYTES))
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
    pub fn publish(&mut self, platform: &P) -> Result<(), Fault> {
        if self.published != self.tail {
            registers::write_within(platform, self.tail_register, u64::from(self.tail))?;
            self.published = self.tail;
        }
        Ok(())
    }

    /// Reads HEAD and takes completed descriptors: those of `user` go into `completed`, those of others into their
    /// mailboxes. Returns how many of `user`.
    #[inline(always)]
    pub fn retire(
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
    pub fn check_halt(
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
    pub fn close(&mut self, node: &mut Node<Bus<P>>) -> Result<(), Fault> {
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
    pub fn resuming(&self) -> Option<u32> {
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
