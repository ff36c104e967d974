// SPDX-License-Identifier: MIT OR Apache-2.0
//! Oracle for descriptors: request read from the bits, and required reaction of the hardware (HW-1, X-5).

use bitvec::order::Lsb0;
use bitvec::view::BitView;
use gyre_layout::fields::descriptor::*;
use gyre_layout::{BitField, DESCRIPTOR_BYTES, Descriptor, ErrorReason};
use gyre_sim::Topology;

use crate::map;

/// Bytes of a packet's payload at most.
pub const PACKET: u64 = 512;

/// A descriptor's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits(pub [u8; DESCRIPTOR_BYTES]);

impl Bits {
    /// Flips bits.
    #[must_use]
    pub fn spoilt(mut self, bits: &[u16]) -> Self {
        let view = self.0.view_bits_mut::<Lsb0>();
        for &bit in bits {
            let bit = usize::from(bit);
            let flipped = !view[bit];
            view.set(bit, flipped);
        }
        self
    }
}

/// Request of a good descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Kind's code.
    pub kind: u64,
    /// Target.
    pub to: usize,
    /// Class.
    pub class: u64,
    /// Bytes.
    pub length: u64,
    /// Source slot.
    pub slot: u64,
    /// Byte offset in it.
    pub source: u64,
    /// Reception FIFO, slot or injection FIFO at the target.
    pub target: u64,
    /// Byte offset in the target's slot.
    pub offset: u64,
    /// Slot and word of the counter.
    pub counter: Option<(u64, u64)>,
    /// Software word 0.
    pub sw0: u64,
    /// Packets take any way.
    pub dynamic: bool,
    /// By a flow.
    pub flow: bool,
    /// Leaves copies.
    pub deposit: bool,
}

/// Reaction of the transmit side to a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out.
    Good(Asked),
    /// It is refused for this reason, and its FIFO halts.
    Refused(ErrorReason),
    /// The oracle does not say.
    Unknown(Asked),
}

/// The fate of a descriptor in an injection FIFO of `node` that `remote` gets fill, or software does.
pub fn fate(bits: &Bits, topology: &Topology, node: usize, remote: bool) -> Fate {
    let field = |field: BitField| field.get(&bits.0);
    let is_set = |flag| field(flag) == 1;
    let (kind, class, length) = (field(KIND), field(VCLASS), field(LENGTH));
    let (deposit, dynamic) = (is_set(DEPOSIT), is_set(DYNAMIC));
    let (hint, order) = (field(HINT), field(ORDER));
    let (flow, flow_id) = (is_set(FLOW_VALID), field(FLOW));
    let offset = field(DST_OFF_LO) | field(DST_OFF_HI) << 32;
    let source = field(SRC_OFF_LO) | field(SRC_OFF_HI) << 32;
    let slot = field(SRC_SLOT);
    let is_rmw = kind == 4;
    let to = (0..topology.nodes()).find(|&n| u64::from(topology.packed_coord(n)) == field(DST));
    let asked = Asked {
        kind,
        to: to.unwrap_or(0),
        class,
        length,
        slot,
        source,
        target: field(TARGET),
        offset,
        counter: is_set(CTR_VALID).then(|| (field(CTR_SLOT), field(CTR_OFFSET))),
        sw0: field(SW0),
        dynamic,
        flow,
        deposit,
    };
    let known = [1, 2, 3, 4, 6].contains(&kind);
    let bad_class = match kind {
        1 => class == 1,
        2 => class != 1,
        6 => class > 1,
        _ => class != 0,
    };
    let any = |fields: &[BitField]| fields.iter().any(|&f| field(f) != 0);
    let rmw_fields = any(&[RMW_OP, RMW_COMPARE, RMW_FETCH, RMW_TEST]);
    let reserved = any(&Descriptor::RESERVED) || (!flow && flow_id != 0) || (!is_rmw && rmw_fields);
    let marked = any(&[REMOTE, REQUESTER]);
    if !known {
        return Fate::Refused(ErrorReason::DescKind);
    }
    if bad_class {
        return Fate::Refused(ErrorReason::DescClass);
    }
    if reserved || (!remote && marked) {
        return Fate::Refused(ErrorReason::DescReserved);
    }
    // Unplanned collectives, hints of directions, flows and marks of hardware are left to the RTL.
    let foreign_flow = flow && (flow_id != 0 || kind != 2 || !dynamic);
    if kind == 6 || (dynamic && hint != 0) || foreign_flow || (remote && kind != 2) {
        return Fate::Unknown(asked);
    }
    let max_order = if topology.dims() > 3 { 5 } else { 3 };
    let bad_route = (deposit && (kind != 1 || dynamic || class > 1))
        || (dynamic && (order > max_order || class > 1))
        || (!dynamic && (hint != 0 || order != 0));
    if bad_route {
        return Fate::Refused(ErrorReason::DescRouting);
    }
    if to.is_none() {
        return Fate::Refused(ErrorReason::DescDest);
    }
    let (flow_to, _) = map::flow_peers(topology.nodes(), node);
    if flow && asked.to != flow_to {
        return Fate::Refused(ErrorReason::DescFlow);
    }
    if kind == 3 && (length % 64 != 0 || length == 0 || length > PACKET) {
        return Fate::Refused(ErrorReason::DescLength);
    }
    if is_rmw && (field(RMW_OP) > 4 || (length != 4 && length != 8)) {
        return Fate::Refused(ErrorReason::DescRmw);
    }
    let ends_beyond = offset + length > 1 << 40;
    if (kind == 2 || is_rmw) && ends_beyond {
        return Fate::Refused(ErrorReason::DescBounds);
    }
    let fetches = is_set(RMW_FETCH);
    let looks_at_slot = if is_rmw { fetches } else { length != 0 };
    if looks_at_slot {
        if map::GRANTED.contains(&(slot as u16)) || is_rmw {
            return Fate::Unknown(asked);
        }
        let Some(&(_, base, bytes, rights, owner)) =
            map::SLOTS.iter().find(|s| u64::from(s.0) == slot)
        else {
            return Fate::Refused(ErrorReason::DescSlot);
        };
        if rights & 2 == 0 || (remote && rights & 16 == 0) {
            return Fate::Refused(ErrorReason::DescSlot);
        }
        if owner != map::OWNER {
            return Fate::Refused(ErrorReason::DescOwner);
        }
        if source + length > bytes || base + source + length > 1 << 48 {
            return Fate::Refused(ErrorReason::DescBounds);
        }
    }
    Fate::Good(asked)
}

/// Reaction of the receiving side to a good descriptor's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is taken.
    Taken,
    /// Every packet is refused.
    Refused,
    /// The oracle does not say.
    Unknown,
}

/// Reaction of the target to the packets of a good descriptor.
pub fn arrival(asked: &Asked) -> Arrival {
    match asked.kind {
        1 => match map::RECEPTION
            .iter()
            .any(|r| u64::from(r.fifo) == asked.target)
        {
            true => Arrival::Taken,
            false => Arrival::Refused,
        },
        3 => match asked.target == u64::from(map::REMOTE.fifo) {
            true => Arrival::Taken,
            false => Arrival::Refused,
        },
        2 | 4 => {
            let slot = |number: u64| map::SLOTS.iter().find(|s| u64::from(s.0) == number);
            let granted = |number: u64| map::GRANTED.contains(&(number as u16));
            if granted(asked.target) || asked.counter.is_some_and(|(number, _)| granted(number)) {
                return Arrival::Unknown;
            }
            let right = if asked.kind == 4 { 8 } else { 4 };
            let Some(&(_, _, bytes, rights, _)) = slot(asked.target) else {
                return Arrival::Refused;
            };
            if rights & right == 0 {
                return Arrival::Refused;
            }
            if asked.offset + asked.length > bytes {
                // Packets before the end of the slot are taken.
                let first = asked.offset + asked.length.min(PACKET);
                return match first > bytes {
                    true => Arrival::Refused,
                    false => Arrival::Unknown,
                };
            }
            if asked.kind == 4 {
                return match asked.offset.is_multiple_of(asked.length.max(1)) {
                    true => Arrival::Taken,
                    false => Arrival::Refused,
                };
            }
            let Some((number, word)) = asked.counter else {
                return Arrival::Taken;
            };
            let Some(&(_, _, bytes, rights, _)) = slot(number) else {
                return Arrival::Refused;
            };
            match rights & 8 != 0 && 8 * word + 8 <= bytes {
                true => Arrival::Taken,
                false => Arrival::Refused,
            }
        }
        _ => Arrival::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gyre_layout::Source;

    fn topology() -> Topology {
        Topology::new(&[3], &[])
    }

    fn put(length: u32, slot: u16) -> Descriptor {
        let source = Source {
            slot,
            offset: 0,
            length,
        };
        Descriptor::put(topology().header_coord(1), source, 1, 64)
    }

    fn fate_of(descriptor: &Descriptor) -> Fate {
        let bits = Bits(descriptor.encode().expect("fits"));
        fate(&bits, &topology(), 0, false)
    }

    #[test]
    fn hw1_a_good_put_is_read_back_from_its_bits() {
        let Fate::Good(asked) = fate_of(&put(100, 0)) else {
            panic!("good");
        };
        assert_eq!((asked.kind, asked.to, asked.length), (2, 1, 100));
        assert_eq!((asked.target, asked.offset), (1, 64));
        assert_eq!(arrival(&asked), Arrival::Taken);
    }

    #[test]
    fn x5_every_reason_to_refuse_is_the_registers_reference() {
        let refused = |descriptor: &Descriptor| match fate_of(descriptor) {
            Fate::Refused(reason) => Some(reason),
            _ => None,
        };
        assert_eq!(refused(&put(100, 7)), Some(ErrorReason::DescSlot));
        assert_eq!(refused(&put(100, 6)), Some(ErrorReason::DescOwner));
        assert_eq!(refused(&put(0x1_0001, 0)), Some(ErrorReason::DescBounds));
        let blank = fate(&Bits([0; 64]), &topology(), 0, false);
        assert_eq!(blank, Fate::Refused(ErrorReason::DescKind));
        let bits = Bits(put(100, 0).encode().expect("fits"));
        let spoilt = |bit: u16| fate(&bits.spoilt(&[bit]), &topology(), 0, false);
        assert_eq!(spoilt(23), Fate::Refused(ErrorReason::DescReserved));
        assert_eq!(spoilt(4), Fate::Refused(ErrorReason::DescRouting));
        assert_eq!(spoilt(62), Fate::Refused(ErrorReason::DescClass));
        assert_eq!(spoilt(38), Fate::Refused(ErrorReason::DescDest));
    }

    #[test]
    fn x5_puts_beyond_the_slot_or_without_its_right_are_refused() {
        let arrives = |change: fn(&mut Asked)| {
            let Fate::Good(mut asked) = fate_of(&put(100, 0)) else {
                panic!("good");
            };
            change(&mut asked);
            arrival(&asked)
        };
        assert_eq!(arrives(|a| a.target = 5), Arrival::Refused);
        assert_eq!(arrives(|a| a.offset = 0x6_0000 - 50), Arrival::Refused);
        assert_eq!(arrives(|a| a.counter = Some((1, 0))), Arrival::Refused);
        assert_eq!(arrives(|a| a.counter = Some((2, 512))), Arrival::Refused);
        assert_eq!(arrives(|a| a.counter = Some((2, 511))), Arrival::Taken);
    }
}
