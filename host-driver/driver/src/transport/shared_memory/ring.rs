// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ring of packets through which the contexts of a node reach one of them: the counterpart of a reception FIFO, in
//! the same format.

use gyre_layout::{HEADER_BYTES, Header, MAX_PAYLOAD_BYTES, packet_bytes};

use super::segment::segment_number;
use crate::cost::{COPY_CHUNK, Op};
use crate::error::{Error, Fault};
use crate::platform::{Platform, PlatformLock, SharedSegment};
use crate::transport::reception::Packet;

/// Words of a ring: how often it has been opened and closed (odd: it is open), bytes consumed and written modulo 2^32,
/// and the wake groups of contexts that wait for room, one bit each.
const STATE: usize = 0;
const HEAD: usize = 4;
const TAIL: usize = 8;
const WAITING: usize = 12;
/// First byte of the packets.
const PACKETS: usize = 64;

/// The ring of a context, which only that context reads.
pub(crate) struct Inbox<P: Platform> {
    segment: P::Segment,
    /// Reception FIFO of the context, for errors.
    fifo: u16,
    size: usize,
    head: u32,
    /// Value of HEAD that the writers know.
    published: u32,
    /// Value of TAIL as last read.
    tail: u32,
}

impl<P: Platform> Inbox<P> {
    /// Opens the ring, of `size` bytes, of context `index` of the node.
    ///
    /// # Errors
    /// [`Error::Segment`].
    pub fn open(
        platform: &P,
        client: u8,
        index: u16,
        fifo: u16,
        size: usize,
    ) -> Result<Self, Fault> {
        platform.charge(Op::Allocate, 1);
        let segment = platform.share(segment_number(client, 1 + index), PACKETS + size)?;
        platform.charge(Op::Lock, 2);
        segment.lock();
        let state = segment.read_words(STATE);
        let opened = state.and_then(|[state]: [u32; 1]| {
            segment.write_words(STATE, [state.wrapping_add(1), 0, 0, 0])
        });
        segment.unlock();
        opened?;
        Ok(Self {
            segment,
            fifo,
            size,
            head: 0,
            published: 0,
            tail: 0,
        })
    }

    /// Closes the ring and wakes contexts that wait for room. Packets in the ring can still be [taken](Self::next).
    pub fn close(&mut self, platform: &P) -> Result<(), Fault> {
        platform.charge(Op::Lock, 2);
        self.segment.lock();
        let words = self.segment.read_words(STATE);
        let closed = words.and_then(|[state, _, tail, waiting]: [u32; 4]| {
            self.segment
                .write_words(STATE, [state.wrapping_add(1), 0, 0, 0])?;
            Ok((tail, waiting))
        });
        self.segment.unlock();
        let (tail, waiting) = closed?;
        self.tail = tail;
        wake(platform, waiting);
        Ok(())
    }

    /// Reads TAIL; returns whether there are packets.
    pub fn poll(&mut self, platform: &P) -> Result<bool, Fault> {
        platform.charge(Op::Counter, 1);
        let [tail] = self.segment.read_words(TAIL)?;
        self.tail = tail;
        Ok(tail != self.head)
    }

    /// Takes the next packet of those that the last [`poll`](Self::poll) saw, and copies its payload to the
    /// start of `payload`.
    ///
    /// # Errors
    /// When the bytes in the ring are not a packet. All available packets are then given up.
    pub fn next<'a>(
        &mut self,
        platform: &P,
        payload: &'a mut [u8; MAX_PAYLOAD_BYTES],
    ) -> Result<Option<Packet<'a>>, Fault> {
        let available = self.tail.wrapping_sub(self.head) as usize;
        if available == 0 {
            return Ok(None);
        }
        let read = |place, out: &mut [u8]| Ok(self.segment.read(PACKETS + place, out)?);
        let broken = || -> Fault {
            Error::Register {
                register: "TAIL of the ring in shared memory",
                fifo: self.fifo,
                value: self.tail.into(),
                reason: "ends inside a packet",
            }
            .into()
        };
        let packet = Packet::read(self.size, self.head, available, payload, read)
            .and_then(|packet| packet.ok_or_else(broken));
        let Ok(packet) = packet else {
            self.head = self.tail;
            return packet.map(Some);
        };
        let bytes = packet_bytes(packet.payload.len());
        self.head = self.head.wrapping_add(bytes as u32);
        // Room is given back in steps, so that senders need not wait for the whole batch.
        if self.head.wrapping_sub(self.published) as usize >= self.size / 4 {
            self.give_back(platform)?;
        }
        Ok(Some(packet))
    }

    /// Publishes HEAD, and wakes contexts that wait for room.
    pub fn give_back(&mut self, platform: &P) -> Result<(), Fault> {
        if self.published == self.head {
            return Ok(());
        }
        platform.charge(Op::Counter, 2);
        self.segment.write_words(HEAD, [self.head])?;
        self.published = self.head;
        // A sender marks itself before it looks at HEAD for the last time.
        let [waiting] = self.segment.read_words(WAITING)?;
        if waiting == 0 {
            return Ok(());
        }
        platform.charge(Op::Lock, 2);
        self.segment.lock();
        let waiting = self
            .segment
            .read_words(WAITING)
            .and_then(|[waiting]: [u32; 1]| {
                self.segment.write_words(WAITING, [0])?;
                Ok(waiting)
            });
        self.segment.unlock();
        wake(platform, waiting?);
        Ok(())
    }
}

/// Wakes the contexts of a mask of wake groups.
fn wake<P: Platform>(platform: &P, groups: u32) {
    for group in (0..16).filter(|group| groups >> group & 1 != 0) {
        platform.notify(group);
    }
}

/// Result of writing a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// It is in the ring.
    Done,
    /// There is no room; the sender's wake group is notified when there is.
    Full,
    /// The ring has been closed since it was found.
    Closed,
}

/// Another context's ring, as a sender sees it.
pub(crate) struct Outbox<P: Platform> {
    segment: P::Segment,
    size: usize,
    state: u32,
    /// Wake group of the ring's context.
    group: u8,
}

impl<P: Platform> Outbox<P> {
    /// The ring, of `size` bytes, of context `index` of the node, which wakes by `group`.
    pub fn find(
        platform: &P,
        client: u8,
        index: u16,
        size: usize,
        group: u8,
    ) -> Result<Self, Fault> {
        platform.charge(Op::Allocate, 1);
        let segment = platform.share(segment_number(client, 1 + index), PACKETS + size)?;
        let [state] = segment.read_words(STATE)?;
        Ok(Self {
            segment,
            size,
            state,
            group,
        })
    }

    /// Writes a packet behind the others and wakes the ring's context. `own`: the sender's wake group.
    pub fn push(
        &self,
        platform: &P,
        header: &Header,
        payload: &[u8],
        own: u8,
    ) -> Result<Pushed, Fault> {
        platform.charge(Op::Deposit, 1);
        let header = header.encode()?;
        platform.charge(Op::Lock, 1);
        self.segment.lock();
        let pushed = self.push_locked(platform, &header, payload, own);
        platform.charge(Op::Lock, 1);
        self.segment.unlock();
        if pushed == Ok(Pushed::Done) {
            platform.notify(self.group);
        }
        pushed
    }

    fn push_locked(
        &self,
        platform: &P,
        header: &[u8],
        payload: &[u8],
        own: u8,
    ) -> Result<Pushed, Fault> {
        let segment = &self.segment;
        let bytes = packet_bytes(payload.len());
        let is_full = |head: u32, tail: u32| tail.wrapping_sub(head) as usize + bytes > self.size;
        platform.charge(Op::Counter, 2);
        let [state, mut head, tail, waiting] = segment.read_words(STATE)?;
        if state != self.state {
            return Ok(Pushed::Closed);
        }
        if is_full(head, tail) {
            segment.write_words(WAITING, [waiting | 1 << own])?;
            // The context may have made room, and looked for waiting senders, just before.
            [head] = segment.read_words(HEAD)?;
            if is_full(head, tail) {
                return Ok(Pushed::Full);
            }
        }
        let chunks = (HEADER_BYTES + payload.len()).div_ceil(COPY_CHUNK);
        platform.charge(Op::ShareChunk, chunks as u64);
        // Ring and packets are multiples of the header's size: a header never wraps.
        let place = tail as usize & (self.size - 1);
        segment.write(PACKETS + place, header)?;
        let start = place + HEADER_BYTES;
        let (before_wrap, rest) = payload.split_at(payload.len().min(self.size - start));
        segment.write(PACKETS + start, before_wrap)?;
        segment.write(PACKETS, rest)?;
        platform.charge(Op::Counter, 1);
        segment.write_words(TAIL, [tail.wrapping_add(bytes as u32)])?;
        Ok(Pushed::Done)
    }
}
