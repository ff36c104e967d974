// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reception FIFOs: rings of packets in node memory.

use gyre_firmware::{Node, ReceptionConfig, Register};
use gyre_layout::registers::reception_fifo::{STATUS, status};
use gyre_layout::{
    HEADER_BYTES, Kind, MAX_PAYLOAD_BYTES, MessageHeader, PackedCoord, WholeMessage, packet_bytes,
};

use crate::buffer::BufferRange;
use crate::cost::Op;
use crate::error::{Error, Fault};
use crate::platform::{DmaBuffer, Platform, RangeError};
use crate::resources::RING_ALIGN;
use crate::transport::registers::{self, Bus};

/// A reception FIFO with exclusive use.
pub(crate) struct ReceptionFifo<P: Platform> {
    id: u16,
    /// Its TAIL, read in every turn.
    tail_register: Register,
    ring: Option<P::Buffer>,
    enabled: bool,
    /// Bytes consumed, modulo 2^32.
    head: u32,
    /// Value of HEAD that the hardware knows.
    published: u32,
    /// Value of TAIL as last read.
    tail: u32,
    /// A quarter of the ring, bytes.
    quarter: u32,
}

/// One packet, copied out of the ring: the fields of its header that the driver needs, and its payload.
#[derive(Clone, Copy)]
pub(crate) struct Packet<'a> {
    /// Node that sent it.
    pub node: PackedCoord,
    pub kind: Kind,
    /// First packet of its message.
    pub first: bool,
    /// Last packet of its message.
    pub last: bool,
    /// Byte of the message at which the payload begins.
    pub offset: u32,
    /// Bytes of the message.
    pub length: u32,
    /// Software word 0.
    pub sw0: u32,
    /// Software word 1.
    pub sw1: u32,
    pub payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Whether it is a whole message.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.first && self.last && self.offset == 0 && self.length as usize == self.payload.len()
    }

    /// Copies the packet at `head` out of a ring of `size` bytes, of which `available` are packets, by `read` of bytes
    /// at a place in the ring; its payload goes to the start of `payload`. `None` when the packet does not end inside.
    #[inline(always)]
    pub fn read(
        size: usize,
        head: u32,
        available: usize,
        payload: &'a mut [u8],
        read: impl Fn(usize, &mut [u8]) -> Result<(), Fault>,
    ) -> Result<Option<Self>, Fault> {
        // Rings and packets are multiples of the header's size: a header never wraps.
        let place = head as usize & (size - 1);
        let mut bytes = [0; HEADER_BYTES];
        read(place, &mut bytes)?;
        let header = MessageHeader::decode(&bytes)?;
        let len = usize::from(header.len);
        if len > MAX_PAYLOAD_BYTES || packet_bytes(len) > available {
            return Ok(None);
        }
        each_piece(size, place, len, |from, at, bytes| {
            read(from, &mut payload[at..at + bytes])
        })?;
        Ok(Some(Self::of(&header, &payload[..len])))
    }

    /// The packet of this header and payload.
    #[inline(always)]
    pub fn of(header: &MessageHeader, payload: &'a [u8]) -> Self {
        Self {
            node: header.src,
            kind: header.kind,
            first: header.first,
            last: header.last,
            offset: header.offset,
            length: header.length,
            sw0: header.software[0],
            sw1: header.software[1],
            payload,
        }
    }

    /// The packet of a whole message and its payload.
    #[inline(always)]
    pub fn whole(message: WholeMessage, payload: &'a [u8]) -> Self {
        Self {
            node: message.src,
            kind: Kind::MemFifo,
            first: true,
            last: true,
            offset: 0,
            length: message.len.into(),
            sw0: message.software[0],
            sw1: message.software[1],
            payload,
        }
    }
}

/// Calls `copy` for each piece of the payload, of `len` bytes, of the packet at `place` in a ring of `size` bytes, which may
/// wrap: from which place in the ring, to which byte of the payload, how many.
#[inline(always)]
fn each_piece<E>(
    size: usize,
    place: usize,
    len: usize,
    mut copy: impl FnMut(usize, usize, usize) -> Result<(), E>,
) -> Result<(), E> {
    let (mut from, mut at) = (place + HEADER_BYTES, 0);
    while at < len {
        let bytes = (len - at).min(size - from);
        copy(from, at, bytes)?;
        (from, at) = (0, at + bytes);
    }
    Ok(())
}

impl<P: Platform> ReceptionFifo<P> {
    /// Allocates a ring of `bytes` bytes and hands it to FIFO `id`.
    pub fn open(
        platform: &P,
        node: &mut Node<Bus<P>>,
        id: u16,
        bytes: usize,
        owner: u8,
    ) -> Result<Self, Fault> {
        platform.charge(Op::Allocate, 1);
        let ring = platform.alloc(bytes, RING_ALIGN)?;
        let config = ReceptionConfig {
            base: ring.address(),
            size: bytes as u64,
            owner,
            threshold: 0,
        };
        node.open_reception(id, &config)
            .map_err(|cause| Error::SetUp {
                what: "a reception FIFO",
                cause,
            })?;
        Ok(Self {
            id,
            tail_register: Register::reception_tail(id),
            ring: Some(ring),
            enabled: true,
            head: 0,
            published: 0,
            tail: 0,
            // Rings have less than 2^32 bytes.
            quarter: (bytes / 4) as u32,
        })
    }

    /// Disables the FIFO: the node refuses packets from now on. Packets in the ring can still be taken.
    pub fn disable(&mut self, node: &mut Node<Bus<P>>) -> Result<(), Fault> {
        node.close_reception(self.id)
            .map_err(|cause| Error::SetUp {
                what: "a reception FIFO",
                cause,
            })?;
        self.enabled = false;
        Ok(())
    }

    /// Frees the ring of a FIFO that has been disabled.
    pub fn free(&mut self) {
        if !self.enabled {
            self.ring = None;
        }
    }

    /// Reads TAIL; returns the available bytes of packets.
    #[inline(always)]
    pub fn poll(&mut self, platform: &P) -> Result<usize, Fault> {
        let Some(ring) = &self.ring else {
            return Err(Error::Destroyed.into());
        };
        let value = registers::read_within(platform, self.tail_register)?;
        if value == u64::from(self.head) {
            // The usual case: all packets have been taken.
            self.tail = self.head;
            return Ok(0);
        }
        let inconsistent = |reason| -> Fault {
            Error::Register {
                register: "TAIL",
                fifo: self.id,
                value,
                reason,
            }
            .into()
        };
        let tail = u32::try_from(value).map_err(|_| inconsistent("more than 32 bits"))?;
        let available = tail.wrapping_sub(self.head) as usize;
        if available > ring.len() {
            return Err(inconsistent("more than the ring holds beyond the head"));
        }
        if !available.is_multiple_of(HEADER_BYTES) {
            return Err(inconsistent("not a whole number of chunks"));
        }
        self.tail = tail;
        Ok(available)
    }

    /// Bytes of packets of the last [`poll`](Self::poll) that have not been taken.
    #[inline(always)]
    pub fn available(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }

    /// Whether a packet of `len` payload bytes is [available](Self::available).
    #[inline(always)]
    pub fn holds(&self, len: usize) -> bool {
        packet_bytes(len) <= self.available()
    }

    /// Copies the header of the next packet, of which some are [available](Self::available).
    ///
    /// # Errors
    /// [`Error::Destroyed`].
    #[inline(always)]
    pub fn header(&self, header: &mut [u8; HEADER_BYTES]) -> Result<(), Fault> {
        let ring = self.ring()?;
        // Rings and packets are multiples of the header's size: a header never wraps.
        let place = self.head as usize & (ring.len() - 1);
        Ok(ring.read(place, header)?)
    }

    /// Takes the next packet, of `len` payload bytes, which are copied to the start of `payload`.
    ///
    /// # Errors
    /// As [`take_with`](Self::take_with).
    #[inline(always)]
    pub fn take<'a>(&mut self, len: usize, payload: &'a mut [u8]) -> Result<&'a [u8], Fault> {
        self.take_with(len, |ring, place, at, bytes| {
            ring.read(place, &mut payload[at..at + bytes])
        })?;
        Ok(&payload[..len])
    }

    /// Takes the next packet, of `len` payload bytes, which are copied to `at` in `into` on.
    ///
    /// # Errors
    /// As [`take_with`](Self::take_with).
    #[inline(always)]
    pub fn take_into(
        &mut self,
        len: usize,
        into: &BufferRange<P::Buffer>,
        offset: usize,
    ) -> Result<(), Fault> {
        self.take_with(len, |ring, place, at, bytes| {
            into.copy_from(offset + at, ring, place, bytes)
        })
    }

    /// Takes the next packet, of `len` payload bytes, which `copy` copies: from which place in the ring, to which byte of
    /// the payload, how many.
    ///
    /// # Errors
    /// When the bytes in the ring are not a packet. All available packets are then given up, since the next one cannot
    /// be found.
    #[inline(always)]
    fn take_with(
        &mut self,
        len: usize,
        mut copy: impl FnMut(&P::Buffer, usize, usize, usize) -> Result<(), RangeError>,
    ) -> Result<(), Fault> {
        let bytes = packet_bytes(len);
        if len > MAX_PAYLOAD_BYTES || !self.holds(len) {
            return Err(self.cut());
        }
        let ring = self.ring()?;
        if len > 0 {
            let size = ring.len();
            let place = self.head as usize & (size - 1);
            each_piece(size, place, len, |from, at, bytes| {
                copy(ring, from, at, bytes)
            })?;
        }
        self.head = self.head.wrapping_add(bytes as u32);
        Ok(())
    }

    /// Takes the next packet, if there is one, as [`take`](Self::take) does.
    ///
    /// # Errors
    /// As [`take_with`](Self::take_with).
    pub fn next<'a>(&mut self, payload: &'a mut [u8]) -> Result<Option<Packet<'a>>, Fault> {
        if self.available() == 0 {
            return Ok(None);
        }
        let mut header = [0; HEADER_BYTES];
        self.header(&mut header)?;
        let header = self.decode(&header)?;
        let payload = self.take(usize::from(header.len), payload)?;
        Ok(Some(Packet::of(&header, payload)))
    }

    /// Decodes the header of the next packet.
    ///
    /// # Errors
    /// As [`take_with`](Self::take_with).
    pub fn decode(&mut self, bytes: &[u8; HEADER_BYTES]) -> Result<MessageHeader, Fault> {
        MessageHeader::decode(bytes).map_err(|error| {
            self.head = self.tail;
            error.into()
        })
    }

    /// Gives up the available packets: they end inside a packet.
    #[cold]
    fn cut(&mut self) -> Fault {
        self.head = self.tail;
        Error::Register {
            register: "TAIL",
            fifo: self.id,
            value: u64::from(self.tail),
            reason: "ends inside a packet",
        }
        .into()
    }

    #[inline(always)]
    fn ring(&self) -> Result<&P::Buffer, Fault> {
        match &self.ring {
            Some(ring) => Ok(ring),
            None => Err(Error::Destroyed.into()),
        }
    }

    /// Looks whether the FIFO has halted because packets could not be written to the ring.
    pub fn check_halt(&self, platform: &P) -> Result<(), Fault> {
        let register = Register::reception(self.id, "reception FIFO STATUS", STATUS);
        let value = registers::read(platform, register)?;
        if status::HALTED.is_set(value) {
            return Err(Error::Register {
                register: "STATUS",
                fifo: self.id,
                value,
                reason: "halted, a packet could not be written to the ring",
            }
            .into());
        }
        Ok(())
    }

    /// Publishes HEAD after each consumed quarter of the ring: senders need not wait for room, and most packets cost no
    /// access.
    ///
    /// # Errors
    /// Errors of the bus.
    #[inline(always)]
    pub fn relieve(&mut self, platform: &P) -> Result<(), Fault> {
        if self.head.wrapping_sub(self.published) < self.quarter {
            return Ok(());
        }
        let register = Register::reception_head(self.id);
        registers::write(platform, register, u64::from(self.head))?;
        self.published = self.head;
        Ok(())
    }
}

impl<P: Platform> Drop for ReceptionFifo<P> {
    /// The DMA engine may still write to a FIFO that was not closed at rest: its ring is leaked rather than reused.
    fn drop(&mut self) {
        if let Some(ring) = self.ring.take() {
            core::mem::forget(ring);
        }
    }
}
