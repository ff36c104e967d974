// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packet header: 32 bytes, the first flits of every packet.

use crate::field::{Packer, members, to_bytes, to_words};
use crate::fields::header::*;
use crate::fields::rmw_aux::{CTR_VALID, OFFSET_HI};
use crate::{BitField, Coord, HEADER_BYTES, Kind, LayoutError, PackedCoord, VClass};

/// A byte counter at a put's target, or at the requester of a read-modify-write: 8 bytes at `8 * index` in slot `slot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterRef {
    /// Base slot of the counter, 10 bits.
    pub slot: u16,
    /// Number of the 8-byte word in the slot, 22 bits.
    pub index: u32,
}

/// Where the payload of a direct put, or of the answer to a read-modify-write, goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutTarget {
    /// Base slot at the target.
    pub slot: u16,
    /// Byte offset in the slot, 40 bits.
    pub offset: u64,
    /// Counter to decrement by the payload bytes.
    pub counter: Option<CounterRef>,
}

/// Place of a packet in an ordered-dynamic flow (HW-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPlace {
    /// Number of the flow at its target, 3 bits.
    pub flow: u8,
    /// Number of the packet in the flow, modulo 32.
    pub seq: u8,
}

/// A packet header (HW-1, HW-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Destination.
    pub dst: Coord,
    /// Virtual-channel class.
    pub vclass: VClass,
    /// Source.
    pub src: Coord,
    /// Leave a copy at every node on the way.
    pub deposit: bool,
    /// The packet may take any shortest way.
    pub dynamic_route: bool,
    /// Purpose of the packet.
    pub kind: Kind,
    /// Payload bytes, 0..=512.
    pub len: u16,
    /// Directions allowed to a dynamic packet where both are shortest, one bit a port; 0 = any.
    pub hint: u16,
    /// Dimension that a dynamic packet is to finish first, from 1; 0 = any.
    pub order: u8,
    /// Place in its flow, on the way from source to target; removed before software sees the packet.
    pub flow: Option<FlowPlace>,
    /// First packet of its message.
    pub first: bool,
    /// Last packet of its message.
    pub last: bool,
    /// Packet number in its message, modulo 2^10. Control: number of the flow's packet to be released next.
    pub seq: u16,
    /// Reception FIFO, base slot, or injection FIFO (remote get). Control: number of the flow at its source.
    pub target: u16,
    /// Memory FIFO: byte offset in the message. Put, read-modify-write: low 32 bits of the offset in the slot.
    pub offset: u32,
    /// Memory FIFO: bytes of the message. Put, read-modify-write response: upper offset bits, counter mark.
    /// Read-modify-write request: see [`crate::fields::rmw_aux`].
    pub aux: u32,
    /// Memory FIFO: software word 0. Put, read-modify-write: counter.
    pub sw0: u32,
    /// Memory FIFO: software word 1. Read-modify-write request: low 32 bits of the offset of the result.
    pub sw1: u32,
}

members! {
    Header, 4 words;
    dst DST, vclass VCLASS, src SRC, deposit DEPOSIT, dynamic_route DYNAMIC, kind KIND, len LEN, hint HINT, order ORDER,
    first FIRST, last LAST, seq SEQ, target TARGET, offset OFFSET, aux AUX, sw0 SW0, sw1 SW1,;
    flow: Option<FlowPlace>
}

impl Header {
    /// The header's bytes.
    ///
    /// # Errors
    /// [`LayoutError::Range`] if a value does not fit into its field.
    #[inline]
    pub fn encode(&self) -> Result<[u8; HEADER_BYTES], LayoutError> {
        let mut words = Packer::new();
        self.put_members(&mut words)?;
        if let Some(place) = self.flow {
            words.put(FLOW_VALID, 1);
            words.put(FLOW, place.flow.into());
            words.put(FLOW_SEQ, place.seq.into());
        }
        Ok(to_bytes(words.words()?))
    }

    /// The header in `bytes`.
    ///
    /// # Errors
    /// [`LayoutError::Reserved`] if a packet without flow names one, [`LayoutError::Code`] if the bytes are no header.
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Self, LayoutError> {
        check_reserved(&to_words(bytes))?;
        let flow = (FLOW_VALID.get(bytes) != 0).then(|| FlowPlace {
            flow: FLOW.get(bytes) as u8,
            seq: FLOW_SEQ.get(bytes) as u8,
        });
        Self::from_members(bytes, flow)
    }

    /// Where the payload goes; `None` unless the packet is a put or a read-modify-write response.
    #[must_use]
    pub fn put_target(&self) -> Option<PutTarget> {
        let aux = [self.aux.into()];
        matches!(self.kind, Kind::Put | Kind::RmwResp).then(|| PutTarget {
            slot: self.target,
            offset: OFFSET_HI.of(&aux) << 32 | u64::from(self.offset),
            counter: (CTR_VALID.of(&aux) != 0).then_some(CounterRef {
                slot: (self.sw0 & 0x3ff) as u16,
                index: self.sw0 >> 10,
            }),
        })
    }
}

/// Refuses a birth, and a place in a flow without a flow.
#[inline(always)]
fn check_reserved(words: &[u64; 4]) -> Result<(), LayoutError> {
    let reserved = |field: BitField| Err(LayoutError::Reserved { field: field.name });
    if BIRTH.of(words) != 0 {
        return reserved(BIRTH);
    }
    if FLOW_VALID.of(words) == 0 && FLOW.of(words) | FLOW_SEQ.of(words) != 0 {
        return reserved(if FLOW.of(words) != 0 { FLOW } else { FLOW_SEQ });
    }
    Ok(())
}

/// Fields that software needs of the header of a packet in a reception FIFO; it reads one for every packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHeader {
    /// Source.
    pub src: PackedCoord,
    /// Purpose of the packet.
    pub kind: Kind,
    /// Payload bytes, as the header says.
    pub len: u16,
    /// First packet of its message.
    pub first: bool,
    /// Last packet of its message.
    pub last: bool,
    /// Byte of the message at which the payload begins.
    pub offset: u32,
    /// Bytes of the message.
    pub length: u32,
    /// Software words 0 and 1.
    pub software: [u32; 2],
}

/// The fields in a header's words. As a function it costs software three instructions a packet.
macro_rules! message_header {
    ($words:ident, $kind:expr) => {
        MessageHeader {
            src: PackedCoord::from_bits(SRC.of(&$words) as u32),
            kind: $kind,
            len: LEN.of(&$words) as u16,
            first: FIRST.of(&$words) != 0,
            last: LAST.of(&$words) != 0,
            offset: OFFSET.of(&$words) as u32,
            length: AUX.of(&$words) as u32,
            software: [SW0.of(&$words) as u32, SW1.of(&$words) as u32],
        }
    };
}

impl MessageHeader {
    /// These fields of the header in `bytes`.
    ///
    /// # Errors
    /// As [`Header::decode`].
    #[inline(always)]
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Self, LayoutError> {
        let words = to_words::<4, _>(bytes);
        check_reserved(&words)?;
        Ok(message_header!(
            words,
            Kind::try_from(KIND.of(&words) as u8)?
        ))
    }

    /// These fields of one packet of a multi-packet memory-FIFO message; `None` for every other packet, and where
    /// [`decode`](Self::decode) refuses it.
    #[must_use]
    #[inline(always)]
    pub fn decode_part(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        const LOOKED_AT: u64 = mask(1, &[KIND, FLOW, BIRTH, FLOW_VALID, FLOW_SEQ]);
        const PART: u64 = (Kind::MemFifo as u64) << (KIND.lsb % 64);
        const ALL: u64 = mask(1, &[FIRST, LAST]);
        let words = to_words::<4, _>(bytes);
        if words[1] & LOOKED_AT != PART || words[1] & ALL == ALL {
            return None;
        }
        Some(message_header!(words, Kind::MemFifo))
    }
}

/// Bits of word `word` of the header that belong to `fields`.
const fn mask(word: usize, fields: &[BitField]) -> u64 {
    let mut mask = 0;
    let mut index = 0;
    while index < fields.len() {
        mask |= fields[index].mask(word);
        index += 1;
    }
    mask
}

/// Fields that software needs of the header of a single-packet message in a reception FIFO: most messages are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeMessage {
    /// Source.
    pub src: PackedCoord,
    /// Payload bytes of the message, as the header says.
    pub len: u16,
    /// Software words 0 and 1.
    pub software: [u32; 2],
}

impl WholeMessage {
    /// These fields of the header in `bytes`; `None` if the packet is no single-packet memory-FIFO message, or if
    /// [`MessageHeader::decode`] refuses it.
    #[must_use]
    #[inline(always)]
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        const LOOKED_AT: u64 = mask(1, &[KIND, FIRST, LAST, FLOW, BIRTH, FLOW_VALID, FLOW_SEQ]);
        const WHOLE: u64 = (Kind::MemFifo as u64) << (KIND.lsb % 64) | mask(1, &[FIRST, LAST]);
        let words = to_words::<4, _>(bytes);
        let len = LEN.of(&words);
        // Offset 0, and as many bytes in the message as in the packet.
        if words[1] & LOOKED_AT != WHOLE || words[2] != len << (AUX.lsb % 64) {
            return None;
        }
        Some(Self {
            src: PackedCoord::from_bits(SRC.of(&words) as u32),
            len: len as u16,
            software: [SW0.of(&words) as u32, SW1.of(&words) as u32],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put() -> Header {
        Header {
            dst: Coord([1, 2, 3, 4, 5]),
            vclass: VClass::Response,
            src: Coord([63, 62, 61, 60, 59]),
            deposit: false,
            dynamic_route: true,
            kind: Kind::Put,
            len: 512,
            hint: 0x155,
            order: 3,
            flow: Some(FlowPlace { flow: 5, seq: 30 }),
            first: true,
            last: false,
            seq: 0x2ef,
            target: 0x2a5,
            offset: 0x8765_4321,
            aux: 0x1fe,
            sw0: 7 << 10 | 3,
            sw1: 0xffff_ffff,
        }
    }

    #[test]
    fn header_round_trips() {
        let bytes = put().encode().expect("every value fits");
        assert_eq!(Header::decode(&bytes), Ok(put()));
    }

    #[test]
    fn message_header_agrees_with_header() {
        let header = Header {
            kind: Kind::MemFifo,
            ..put()
        };
        let bytes = header.encode().expect("every value fits");
        let message = MessageHeader::decode(&bytes).expect("a header");
        assert_eq!(message.src.unpack(), header.src);
        assert_eq!((message.kind, message.len), (header.kind, header.len));
        assert_eq!((message.first, message.last), (header.first, header.last));
        assert_eq!(
            (message.offset, message.length),
            (header.offset, header.aux)
        );
        assert_eq!(message.software, [header.sw0, header.sw1]);
        // A flow's place without a flow, a birth, a kind that does not exist.
        for (byte, value) in [(15, 0x80), (13, 0x04), (8, 0xff)] {
            let mut wrong = put().encode().expect("every value fits");
            wrong[11] = 0;
            wrong[15] = 0;
            wrong[byte] = value;
            let refused = Header::decode(&wrong).map(drop);
            assert!(refused.is_err(), "byte {byte}");
            assert_eq!(
                MessageHeader::decode(&wrong).map(drop),
                refused,
                "byte {byte}"
            );
        }
    }

    #[test]
    fn hw1_whole_message_takes_single_packet_messages_alone() {
        let header = Header {
            kind: Kind::MemFifo,
            flow: None,
            first: true,
            last: true,
            offset: 0,
            aux: 512,
            ..put()
        };
        let whole =
            |header: &Header| WholeMessage::decode(&header.encode().expect("every value fits"));
        for (len, dynamic_route, deposit) in
            [(512, true, false), (0, false, true), (1, false, false)]
        {
            let header = Header {
                len,
                aux: len.into(),
                dynamic_route,
                deposit,
                ..header
            };
            let message = whole(&header).expect("all of it");
            assert_eq!((message.src.unpack(), message.len), (header.src, len));
            assert_eq!(message.software, [header.sw0, header.sw1]);
        }
        for other in [
            Header {
                kind: Kind::Put,
                ..header
            },
            Header {
                first: false,
                ..header
            },
            Header {
                last: false,
                ..header
            },
            Header {
                offset: 1,
                ..header
            },
            Header { aux: 513, ..header },
            Header { len: 511, ..header },
            Header {
                flow: put().flow,
                ..header
            },
        ] {
            assert_eq!(whole(&other), None, "{other:?}");
        }
        // A flow's place without a flow, a birth.
        for (byte, value) in [(15, 0x80), (13, 0x04), (11, 0x20)] {
            let mut wrong = header.encode().expect("every value fits");
            wrong[byte] |= value;
            assert_eq!(WholeMessage::decode(&wrong), None, "byte {byte}");
        }
    }

    #[test]
    fn hw1_decode_part_takes_multi_packet_messages_alone() {
        for (first, last) in [(true, false), (false, false), (false, true)] {
            let header = Header {
                kind: Kind::MemFifo,
                flow: None,
                first,
                last,
                ..put()
            };
            let bytes = header.encode().expect("every value fits");
            assert_eq!(
                MessageHeader::decode_part(&bytes),
                MessageHeader::decode(&bytes).ok()
            );
            for other in [
                Header {
                    kind: Kind::Put,
                    ..header
                },
                Header {
                    first: true,
                    last: true,
                    ..header
                },
                Header {
                    flow: put().flow,
                    ..header
                },
            ] {
                let bytes = other.encode().expect("every value fits");
                assert_eq!(MessageHeader::decode_part(&bytes), None, "{other:?}");
            }
            // A flow's place without a flow, a birth.
            for (byte, value) in [(15, 0x80), (13, 0x04), (11, 0x20)] {
                let mut wrong = bytes;
                wrong[byte] |= value;
                assert_eq!(MessageHeader::decode_part(&wrong), None, "byte {byte}");
            }
        }
    }

    #[test]
    fn put_target_joins_offset_and_counter() {
        let target = put().put_target().expect("the header is a put");
        assert_eq!(target.offset, 0xfe_8765_4321);
        assert_eq!(target.counter, Some(CounterRef { slot: 3, index: 7 }));
        let fifo = Header {
            kind: Kind::MemFifo,
            ..put()
        };
        assert_eq!(fifo.put_target(), None);
    }

    #[test]
    fn hw4_place_without_flow_is_refused() {
        let header = Header {
            flow: None,
            ..put()
        };
        let mut bytes = header.encode().expect("every value fits");
        bytes[15] = 0x80;
        assert_eq!(
            Header::decode(&bytes),
            Err(LayoutError::Reserved { field: "flow_seq" })
        );
    }

    #[test]
    fn value_wider_than_its_field_is_refused() {
        let header = Header {
            target: 1024,
            ..put()
        };
        assert_eq!(
            header.encode(),
            Err(LayoutError::Range {
                field: "target",
                value: 1024,
                width: 10
            })
        );
    }
}
