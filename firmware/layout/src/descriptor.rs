// SPDX-License-Identifier: MIT OR Apache-2.0
//! The injection descriptor: 64 bytes in the ring of an injection FIFO.

use crate::field::{Packer, members, to_bytes, to_words};
use crate::fields::descriptor::*;
use crate::{
    BitField, Collective, Coord, CounterRef, DESCRIPTOR_BYTES, Kind, LayoutError, PackedCoord, Rmw,
    RmwOp, VClass,
};

/// Payload of a descriptor: `length` bytes from byte `offset` of base slot `slot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Base slot, 10 bits.
    pub slot: u16,
    /// Byte offset in the slot, 40 bits.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
}

impl Source {
    /// `length` bytes at a place that is not known yet.
    #[must_use]
    pub const fn of_length(length: usize) -> Self {
        Self {
            slot: 0,
            offset: 0,
            // A descriptor's length has 32 bits.
            length: length as u32,
        }
    }

    /// Whether the place does not fit into the fields of a descriptor.
    #[inline(always)]
    fn is_misplaced(&self) -> bool {
        (u64::from(self.slot) >> SRC_SLOT.width) | (self.offset >> OFFSET_BITS) != 0
    }
}

/// A range of a base slot that was checked once: payloads in it need no check of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    slot: u16,
    offset: u64,
    bytes: u64,
}

impl Area {
    /// `bytes` bytes from byte `offset` of base slot `slot` on.
    ///
    /// # Errors
    /// [`LayoutError::Range`] if slot or offsets do not fit into the fields of a descriptor.
    pub fn new(slot: u16, offset: u64, bytes: u64) -> Result<Self, LayoutError> {
        let last = offset.saturating_add(bytes.saturating_sub(1));
        for place in [offset, last] {
            let source = Source {
                slot,
                offset: place,
                length: 0,
            };
            if source.is_misplaced() {
                return Err(misplaced(source));
            }
        }
        Ok(Self {
            slot,
            offset,
            bytes,
        })
    }

    /// A payload of `length` bytes from byte `at` of the area on, which is inside it.
    #[inline(always)]
    #[must_use]
    pub fn source(self, at: u64, length: u32) -> Source {
        debug_assert!(at < self.bytes, "byte {at} of an area of {}", self.bytes);
        Source {
            slot: self.slot,
            offset: self.offset + at,
            length,
        }
    }
}

/// An injection descriptor (HW-1). Make one with [`Descriptor::memory_fifo`], [`Descriptor::put`],
/// [`Descriptor::remote_get`], [`Descriptor::rmw`], [`Descriptor::collective_put`] or
/// [`Descriptor::collective_fifo`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Purpose.
    pub kind: Kind,
    /// Leave a copy at every node on the way.
    pub deposit: bool,
    /// Packets may take any shortest way, each its own: without order (HW-4).
    pub dynamic_route: bool,
    /// Directions that dynamic packets may take, a bit a port; 0: any shortest. Of a collective: see [`Collective`].
    pub hint: u16,
    /// Dimension that dynamic packets are to finish first, from 1, then cyclically; 0: any.
    pub order: u8,
    /// Packets go by this ordered-dynamic flow, by its number at the source; with `dynamic_route` (HW-4).
    pub flow: Option<u8>,
    /// Arrived by remote get; written by the DMA engine, else false.
    pub remote: bool,
    /// Destination.
    pub dst: Coord,
    /// Virtual-channel class.
    pub vclass: VClass,
    /// Payload. Read-modify-write: where the value before goes, and the bytes of the operand.
    pub source: Source,
    /// Reception FIFO, base slot, or remote-get injection FIFO at the destination.
    pub target: u16,
    /// Put, read-modify-write: byte offset in the destination's slot, 40 bits.
    pub dst_offset: u64,
    /// Put: counter at the destination to lower by the payload bytes, by one if there are none.
    /// Read-modify-write: counter at this node to lower by the bytes of the operand when the answer is here.
    pub counter: Option<CounterRef>,
    /// Software word 0, delivered in the header of a memory-FIFO packet. Read-modify-write: low half of the
    /// operand.
    pub sw0: u32,
    /// Software word 1. Read-modify-write: high half of the operand.
    pub sw1: u32,
    /// Read-modify-write: operation; else [`RmwOp::Set`].
    pub rmw_op: RmwOp,
    /// Read-modify-write: only where memory equals `rmw_test`.
    pub rmw_compare: bool,
    /// Read-modify-write: the value before is wanted.
    pub rmw_fetch: bool,
    /// Read-modify-write: what memory is compared with.
    pub rmw_test: u64,
    /// Message id for waves and timelines; no function.
    pub msg_id: u32,
    /// Node that a remote get came from; written by the DMA engine, else zero.
    pub requester: Coord,
}

/// A message into a reception FIFO: the arguments of [`Descriptor::memory_fifo`] without the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Destination.
    pub dst: PackedCoord,
    /// Leave a copy at every node on the way.
    pub deposit: bool,
    /// Reception FIFO at the destination.
    pub fifo: u16,
    /// Software words 0 and 1.
    pub software: [u32; 2],
    /// Message id for waves and timelines.
    pub msg_id: u32,
}

impl Message {
    /// The descriptor of the message with payload `source`.
    #[must_use]
    pub fn descriptor(&self, source: Source) -> Descriptor {
        Descriptor {
            deposit: self.deposit,
            ..Descriptor::memory_fifo(self.dst.unpack(), source, self.fifo)
                .with_software(self.software[0], self.software[1])
                .with_message_id(self.msg_id)
        }
    }

    /// The bytes of [`Message::descriptor`].
    ///
    /// # Errors
    /// [`LayoutError::Range`] if a value does not fit into its field.
    #[inline(always)] // Most fields are constants.
    pub fn encode(&self, source: Source) -> Result<[u8; DESCRIPTOR_BYTES], LayoutError> {
        let (slot, offset) = (u64::from(source.slot), source.offset);
        let fifo = u64::from(self.fifo);
        if (slot >> SRC_SLOT.width) | (fifo >> TARGET.width) | (offset >> OFFSET_BITS) != 0 {
            return self.descriptor(source).encode();
        }
        // Two fields of one word.
        let pair = |low: BitField, value: u64, high: BitField, other: u64| {
            value << (low.lsb % 64) | other << (high.lsb % 64)
        };
        let kind = pair(
            KIND,
            u8::from(Kind::MemFifo).into(),
            DEPOSIT,
            self.deposit.into(),
        );
        let class = u8::from(VClass::Request).into();
        Ok(to_bytes([
            kind | pair(DST, self.dst.bits().into(), VCLASS, class),
            pair(LENGTH, source.length.into(), SRC_OFF_HI, offset >> 32)
                | pair(SRC_SLOT, slot, TARGET, fifo),
            offset & 0xffff_ffff,
            0,
            pair(SW0, self.software[0].into(), SW1, self.software[1].into()),
            self.msg_id.into(),
            0,
            0,
        ]))
    }

    /// Common part of the descriptors of messages to the same place with the same software word 0; payload, software
    /// word 1 and message id may differ.
    ///
    /// # Errors
    /// [`LayoutError::Range`] if a value does not fit into its field.
    pub fn template(&self) -> Result<MessageTemplate, LayoutError> {
        let alike = Self {
            software: [self.software[0], 0],
            msg_id: 0,
            ..*self
        };
        let bytes = alike.encode(Source::of_length(0))?;
        Ok(MessageTemplate(to_words(&bytes)))
    }
}

/// A transfer by the DMA engines alone, by the fixed route: the arguments of [`Descriptor::put`] or
/// [`Descriptor::remote_get`] without the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Remote get, which takes descriptors to a remote-get injection FIFO; else a put.
    pub remote_get: bool,
    /// Destination.
    pub dst: PackedCoord,
    /// Base slot, or remote-get injection FIFO, at the destination.
    pub target: u16,
    /// Put: byte offset in that slot.
    pub offset: u64,
    /// Put: counter at the destination.
    pub counter: Option<CounterRef>,
    /// Software words 0 and 1.
    pub software: [u32; 2],
    /// Message id for waves and timelines.
    pub msg_id: u32,
}

impl Transfer {
    /// The descriptor of the transfer with payload `source`.
    #[must_use]
    pub fn descriptor(&self, source: Source) -> Descriptor {
        let dst = self.dst.unpack();
        let descriptor = match self.remote_get {
            true => Descriptor::remote_get(dst, source, self.target),
            false => Descriptor::put(dst, source, self.target, self.offset),
        };
        Descriptor {
            counter: self.counter,
            ..descriptor
                .with_software(self.software[0], self.software[1])
                .with_message_id(self.msg_id)
        }
    }

    /// The bytes of [`Transfer::descriptor`].
    ///
    /// # Errors
    /// [`LayoutError::Range`] if a value does not fit into its field.
    #[inline]
    pub fn encode(&self, source: Source) -> Result<[u8; DESCRIPTOR_BYTES], LayoutError> {
        let counter = self.counter.unwrap_or(CounterRef { slot: 0, index: 0 });
        let (slot, target) = (u64::from(source.slot), u64::from(self.target));
        let (ctr_slot, ctr_offset) = (u64::from(counter.slot), u64::from(counter.index));
        let misfits = (slot >> SRC_SLOT.width)
            | (target >> TARGET.width)
            | (ctr_slot >> CTR_SLOT.width)
            | (ctr_offset >> CTR_OFFSET.width)
            | (source.offset >> OFFSET_BITS)
            | (self.offset >> OFFSET_BITS);
        if misfits != 0 {
            return self.descriptor(source).encode();
        }
        let (kind, class) = match self.remote_get {
            true => (Kind::RemoteGet, VClass::Request),
            false => (Kind::Put, VClass::Response),
        };
        // The fields are zero.
        let mut words = [0; DESCRIPTOR_BYTES / 8];
        let mut put = |field: BitField, value| field.put(&mut words, value);
        put(KIND, u8::from(kind).into());
        put(DST, self.dst.bits().into());
        put(VCLASS, u8::from(class).into());
        put(LENGTH, source.length.into());
        put(SRC_OFF_HI, source.offset >> 32);
        put(SRC_SLOT, slot);
        put(TARGET, target);
        put(SRC_OFF_LO, source.offset & 0xffff_ffff);
        put(CTR_SLOT, ctr_slot);
        put(CTR_OFFSET, ctr_offset);
        put(DST_OFF_LO, self.offset & 0xffff_ffff);
        put(DST_OFF_HI, self.offset >> 32);
        put(CTR_VALID, self.counter.is_some().into());
        put(SW0, self.software[0].into());
        put(SW1, self.software[1].into());
        put(MSG_ID, self.msg_id.into());
        Ok(to_bytes(words))
    }
}

/// The words of a message's descriptor; software fills in the fields that change from message to message. See
/// [`Message::template`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageTemplate([u64; DESCRIPTOR_BYTES / 8]);

impl MessageTemplate {
    /// Template of no message.
    pub const BLANK: Self = Self([0; DESCRIPTOR_BYTES / 8]);

    /// The bytes of the descriptor with a payload of `length` bytes from byte `at` of `area` on, software word 1 `sw1` and
    /// message id `msg_id`.
    #[inline(always)] // Software encodes one for every message.
    #[must_use]
    pub fn encode(
        &self,
        (area, at, length): (Area, u64, u32),
        sw1: u32,
        msg_id: u32,
    ) -> [u8; DESCRIPTOR_BYTES] {
        let Source {
            slot,
            offset,
            length,
        } = area.source(at, length);
        let mut words = self.0;
        // The fields are zero in a template.
        let mut put = |field: BitField, value| field.put(&mut words, value);
        put(LENGTH, length.into());
        put(SRC_OFF_HI, offset >> 32);
        put(SRC_SLOT, slot.into());
        put(SRC_OFF_LO, offset & 0xffff_ffff);
        put(SW1, sw1.into());
        put(MSG_ID, msg_id.into());
        to_bytes(words)
    }
}

/// Bits of a byte offset in a base slot.
const OFFSET_BITS: u32 = 40;

/// Error of a payload at a place that does not fit into a descriptor.
#[cold]
fn misplaced(source: Source) -> LayoutError {
    match u64::from(source.slot) >> SRC_SLOT.width {
        0 => SRC_OFF_HI.misfit(source.offset >> 32),
        _ => SRC_SLOT.misfit(source.slot.into()),
    }
}

members! {
    Descriptor, 8 words;
    kind KIND, deposit DEPOSIT, dynamic_route DYNAMIC, hint HINT, order ORDER, remote REMOTE, dst DST, vclass VCLASS,
    target TARGET, sw0 SW0, sw1 SW1, rmw_op RMW_OP, rmw_compare RMW_COMPARE, rmw_fetch RMW_FETCH, rmw_test RMW_TEST,
    msg_id MSG_ID, requester REQUESTER,;
    flow: Option<u8>, source: Source, dst_offset: u64, counter: Option<CounterRef>
}

impl Descriptor {
    /// Fields that are zero in every descriptor.
    pub const RESERVED: [BitField; 6] = [RSVD0, RSVD1, RSVD2, RSVD3, RSVD4, RSVD5];

    const fn new(kind: Kind, vclass: VClass, dst: Coord, source: Source, target: u16) -> Self {
        Self {
            kind,
            deposit: false,
            dynamic_route: false,
            hint: 0,
            order: 0,
            flow: None,
            remote: false,
            dst,
            vclass,
            source,
            target,
            dst_offset: 0,
            counter: None,
            sw0: 0,
            sw1: 0,
            rmw_op: RmwOp::Set,
            rmw_compare: false,
            rmw_fetch: false,
            rmw_test: 0,
            msg_id: 0,
            requester: Coord([0; crate::MAX_DIM]),
        }
    }

    /// Sends `source` into reception FIFO `fifo` of `dst`.
    #[must_use]
    pub const fn memory_fifo(dst: Coord, source: Source, fifo: u16) -> Self {
        Self::new(Kind::MemFifo, VClass::Request, dst, source, fifo)
    }

    /// Writes `source` at byte `offset` of base slot `slot` of `dst`.
    #[must_use]
    pub const fn put(dst: Coord, source: Source, slot: u16, offset: u64) -> Self {
        let mut descriptor = Self::new(Kind::Put, VClass::Response, dst, source, slot);
        descriptor.dst_offset = offset;
        descriptor
    }

    /// Has the descriptors in `source` (1 to 8 puts to this node) injected by remote-get injection FIFO
    /// `fifo` of `dst`.
    #[must_use]
    pub const fn remote_get(dst: Coord, source: Source, fifo: u16) -> Self {
        Self::new(Kind::RemoteGet, VClass::Request, dst, source, fifo)
    }

    /// Has `rmw` done at byte `offset` of base slot `slot` of `dst`, which needs the atomic right and the owner of
    /// the injection FIFO. Its answer moves the counter of [`Descriptor::with_counter`], at this node.
    #[must_use]
    pub const fn rmw(dst: Coord, slot: u16, offset: u64, rmw: Rmw) -> Self {
        let (result_slot, result_offset) = match rmw.fetch {
            Some(place) => place,
            None => (0, 0),
        };
        let source = Source {
            slot: result_slot,
            offset: result_offset,
            length: if rmw.wide { 8 } else { 4 },
        };
        let mut descriptor = Self::new(Kind::RmwReq, VClass::Request, dst, source, slot);
        descriptor.dst_offset = offset;
        descriptor.sw0 = rmw.value as u32;
        descriptor.sw1 = (rmw.value >> 32) as u32;
        descriptor.rmw_op = rmw.op;
        descriptor.rmw_fetch = rmw.fetch.is_some();
        if let Some(test) = rmw.test {
            descriptor.rmw_compare = true;
            descriptor.rmw_test = test;
        }
        descriptor
    }

    /// Contributes `source` to `collective`. The result is written at byte `offset` of base slot `slot` of node `to`,
    /// or without it of every member of the class route; [`Descriptor::with_counter`] names a counter there (HW-5).
    ///
    /// # Errors
    /// [`LayoutError::Range`] if the class route does not fit into its field.
    pub fn collective_put(
        collective: Collective,
        to: Option<Coord>,
        source: Source,
        slot: u16,
        offset: u64,
    ) -> Result<Self, LayoutError> {
        let mut descriptor = Self::put(to.unwrap_or_default(), source, slot, offset);
        descriptor.kind = Kind::Collective;
        descriptor.hint = collective.hint()?;
        descriptor.deposit = to.is_none();
        Ok(descriptor)
    }

    /// Contributes `source` to `collective`. The result goes into reception FIFO `fifo` of node `to`, or without it of
    /// every member of the class route (HW-5).
    ///
    /// # Errors
    /// [`LayoutError::Range`] if the class route does not fit into its field.
    pub fn collective_fifo(
        collective: Collective,
        to: Option<Coord>,
        source: Source,
        fifo: u16,
    ) -> Result<Self, LayoutError> {
        let mut descriptor = Self::memory_fifo(to.unwrap_or_default(), source, fifo);
        descriptor.kind = Kind::Collective;
        descriptor.hint = collective.hint()?;
        descriptor.deposit = to.is_none();
        Ok(descriptor)
    }

    /// Sets the counter that a put decrements at its target, or the answer of a read-modify-write here.
    #[must_use]
    pub const fn with_counter(mut self, counter: CounterRef) -> Self {
        self.counter = Some(counter);
        self
    }

    /// Sets the software words that a memory-FIFO packet carries.
    #[must_use]
    pub const fn with_software(mut self, sw0: u32, sw1: u32) -> Self {
        self.sw0 = sw0;
        self.sw1 = sw1;
        self
    }

    /// Lets every packet take any shortest way (HW-4): they arrive in any order.
    #[must_use]
    pub const fn with_dynamic_route(mut self) -> Self {
        self.dynamic_route = true;
        self
    }

    /// Sends every packet by the ordered-dynamic flow `flow` of this node (HW-4): by any shortest way, and in order.
    #[must_use]
    pub const fn with_flow(mut self, flow: u8) -> Self {
        self.dynamic_route = true;
        self.flow = Some(flow);
        self
    }

    /// With [`Self::with_dynamic_route`]: directions that packets may take where both round a ring are shortest, a bit a
    /// port (2 d: + of dimension d, 2 d + 1: -). One of the shortest of each dimension must be among them.
    #[must_use]
    pub const fn with_hint(mut self, ports: u16) -> Self {
        self.hint = ports;
        self
    }

    /// With [`Self::with_dynamic_route`]: dimension that packets finish first, then those after it cyclically, as long
    /// as there is room on that way.
    #[must_use]
    pub const fn with_first_dimension(mut self, dimension: u8) -> Self {
        self.order = dimension + 1;
        self
    }

    /// Sets the message id of waves and timelines.
    #[must_use]
    pub const fn with_message_id(mut self, id: u32) -> Self {
        self.msg_id = id;
        self
    }

    /// The descriptor's bytes.
    ///
    /// # Errors
    /// [`LayoutError::Range`] if a value does not fit into its field.
    #[inline(always)] // Most fields of most descriptors are constants.
    pub fn encode(&self) -> Result<[u8; DESCRIPTOR_BYTES], LayoutError> {
        let mut words = Packer::new();
        self.put_members(&mut words)?;
        let counter = self.counter.unwrap_or(CounterRef { slot: 0, index: 0 });
        let mut put = |field, value| words.put(field, value);
        put(FLOW_VALID, self.flow.is_some().into());
        put(FLOW, self.flow.unwrap_or(0).into());
        put(LENGTH, self.source.length.into());
        put(SRC_OFF_HI, self.source.offset >> 32);
        put(SRC_OFF_LO, self.source.offset & 0xffff_ffff);
        put(SRC_SLOT, self.source.slot.into());
        put(CTR_VALID, self.counter.is_some().into());
        put(CTR_SLOT, counter.slot.into());
        put(CTR_OFFSET, counter.index.into());
        put(DST_OFF_HI, self.dst_offset >> 32);
        put(DST_OFF_LO, self.dst_offset & 0xffff_ffff);
        Ok(to_bytes(words.words()?))
    }

    /// The descriptor in `bytes`.
    ///
    /// # Errors
    /// [`LayoutError::Reserved`] or [`LayoutError::Code`] if the bytes are no descriptor.
    pub fn decode(bytes: &[u8; DESCRIPTOR_BYTES]) -> Result<Self, LayoutError> {
        let flow = (FLOW_VALID.get(bytes) != 0).then(|| FLOW.get(bytes) as u8);
        let no_flow = flow.is_none().then_some(FLOW);
        let mut zero = Self::RESERVED.into_iter().chain(no_flow);
        if let Some(field) = zero.find(|field| field.get(bytes) != 0) {
            return Err(LayoutError::Reserved { field: field.name });
        }
        let source = Source {
            slot: SRC_SLOT.get(bytes) as u16,
            offset: SRC_OFF_HI.get(bytes) << 32 | SRC_OFF_LO.get(bytes),
            length: LENGTH.get(bytes) as u32,
        };
        let dst_offset = DST_OFF_HI.get(bytes) << 32 | DST_OFF_LO.get(bytes);
        let counter = (CTR_VALID.get(bytes) != 0).then(|| CounterRef {
            slot: CTR_SLOT.get(bytes) as u16,
            index: CTR_OFFSET.get(bytes) as u32,
        });
        Self::from_members(bytes, flow, source, dst_offset, counter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CollOp, CollType};

    const SOURCE: Source = Source {
        slot: 0x3ff,
        offset: 0xff_0123_4567,
        length: 1 << 20,
    };

    const COLLECTIVE: Collective = Collective {
        op: CollOp::Max,
        dtype: CollType::I64,
        route: 15,
    };

    #[test]
    fn hw5_class_route_16_is_refused() {
        let collective = Collective {
            route: 16,
            ..COLLECTIVE
        };
        assert_eq!(
            Descriptor::collective_fifo(collective, None, SOURCE, 0),
            Err(LayoutError::Range {
                field: "route",
                value: 16,
                width: 4
            })
        );
    }

    #[test]
    fn hw1_message_and_template_encode_as_their_descriptor() {
        let dst = PackedCoord::try_from(Coord([5, 4, 63, 2, 1])).expect("below 64");
        let message = Message {
            dst,
            deposit: true,
            fifo: 0x2a5,
            software: [0xdead_beef, 0x1234_5678],
            msg_id: 0x8765_4321,
        };
        let wide = Message {
            fifo: 0x400,
            ..message
        };
        let plain = Message {
            deposit: false,
            ..message
        };
        let slot = Source {
            slot: 0x400,
            ..SOURCE
        };
        let offset = Source {
            offset: 1 << 40,
            ..SOURCE
        };
        for (message, source, valid) in [
            (message, SOURCE, true),
            (plain, SOURCE, true),
            (wide, SOURCE, false),
            (message, slot, false),
            (message, offset, false),
        ] {
            let [sw1, id] = [message.software[1], message.msg_id];
            // The payload at the end of an area.
            let place = Area::new(source.slot, source.offset - 64, 65);
            let encoded = message.template().and_then(|template| {
                let payload = (place?, 64, source.length);
                Ok(template.encode(payload, sw1, id))
            });
            assert_eq!(encoded, message.encode(source));
            assert_eq!(encoded, message.descriptor(source).encode());
            assert_eq!(encoded.is_ok(), valid, "{message:?} {source:?}");
        }
    }

    #[test]
    fn hw1_transfer_encodes_as_its_descriptor() {
        let counter = CounterRef {
            slot: 0x3ff,
            index: 0x3f_ffff,
        };
        let put = Transfer {
            remote_get: false,
            dst: PackedCoord::try_from(Coord([5, 4, 63, 2, 1])).expect("below 64"),
            target: 0x2a5,
            offset: 0xfe_dcba_9876,
            counter: Some(counter),
            software: [0xdead_beef, 0x1234_5678],
            msg_id: 0x8765_4321,
        };
        let get = Transfer {
            remote_get: true,
            offset: 0,
            counter: None,
            ..put
        };
        let slot = Source {
            slot: 0x400,
            ..SOURCE
        };
        let wide = |slot, index| Transfer {
            counter: Some(CounterRef { slot, index }),
            ..put
        };
        for (transfer, source, valid) in [
            (put, SOURCE, true),
            (get, SOURCE, true),
            (
                Transfer {
                    counter: None,
                    ..put
                },
                SOURCE,
                true,
            ),
            (
                Transfer {
                    target: 0x400,
                    ..put
                },
                SOURCE,
                false,
            ),
            (
                Transfer {
                    offset: 1 << 40,
                    ..put
                },
                SOURCE,
                false,
            ),
            (wide(0x400, 0), SOURCE, false),
            (wide(0, 0x40_0000), SOURCE, false),
            (get, slot, false),
        ] {
            let encoded = transfer.encode(source);
            assert_eq!(encoded, transfer.descriptor(source).encode());
            assert_eq!(encoded.is_ok(), valid, "{transfer:?} {source:?}");
        }
    }

    #[test]
    fn descriptors_round_trip() {
        let dst = Coord([5, 4, 3, 2, 1]);
        let counter = CounterRef {
            slot: 0x155,
            index: 0x2a_aaaa,
        };
        for descriptor in [
            Descriptor::memory_fifo(dst, SOURCE, 15).with_software(0xdead_beef, 0x1234_5678),
            Descriptor::put(dst, SOURCE, 7, 0xaa_8000_0001).with_counter(counter),
            Descriptor::memory_fifo(dst, SOURCE, 2).with_flow(7),
            Descriptor::collective_put(COLLECTIVE, None, SOURCE, 7, 5)
                .expect("the route fits")
                .with_counter(counter),
            Descriptor::collective_fifo(COLLECTIVE, Some(dst), SOURCE, 3).expect("the route fits"),
            Descriptor::remote_get(dst, SOURCE, 31).with_message_id(0xffff_ffff),
            Descriptor::rmw(
                dst,
                3,
                0xff_ffff_fff8,
                Rmw {
                    op: RmwOp::Xor,
                    wide: true,
                    value: 0x0123_4567_89ab_cdef,
                    test: Some(u64::MAX),
                    fetch: Some((0x2aa, 0x55_5555_5555)),
                },
            )
            .with_counter(counter),
        ] {
            let bytes = descriptor.encode().expect("every value fits");
            assert_eq!(Descriptor::decode(&bytes), Ok(descriptor));
        }
    }

    #[test]
    fn offset_beyond_40_bits_is_refused() {
        let descriptor = Descriptor::put(Coord::default(), SOURCE, 0, 1 << 40);
        assert_eq!(
            descriptor.encode(),
            Err(LayoutError::Range {
                field: "dst_off_hi",
                value: 0x100,
                width: 8
            })
        );
    }

    #[test]
    fn reserved_bits_are_refused() {
        let mut bytes = [0; DESCRIPTOR_BYTES];
        bytes[55] = 1;
        assert_eq!(
            Descriptor::decode(&bytes),
            Err(LayoutError::Reserved { field: "rsvd3" })
        );
    }
}
