// SPDX-License-Identifier: MIT OR Apache-2.0
//! Read-modify-writes: a node changes a word of its memory and answers.

use gyre_layout::registers::base_slot::ctrl as slot;
use gyre_layout::{CounterRef, Descriptor, ErrorReason, Header, Kind, PutTarget, RmwOp, VClass};

use crate::fault::Fault;
use crate::packet::Packet;
use crate::refuse::refuse;
use crate::state::State;

/// Carries the request in `packet` out; the answer, unless the packet was damaged.
pub(crate) fn carry_out(state: &mut State, packet: &Packet) -> Option<Packet> {
    let request = packet.request.expect("a request");
    if state.fault == Some(Fault::CutRmw) {
        state.fault = None;
        let counter = request.counter.expect("it is answered");
        let header = Header {
            sw0: u32::from(counter.slot) | counter.index << 10,
            ..packet.header
        };
        refuse(state, packet.to, ErrorReason::PktTruncated, &header);
        return None;
    }
    let width = request.source.length as usize;
    let node = &mut state.nodes[packet.to];
    let place = node
        .slots
        .place(request.target, request.dst_offset, width, &[slot::ATOMIC]);
    let Ok(at) = place else {
        refuse(state, packet.to, ErrorReason::PktSlot, &packet.header);
        // The other counter of the pair.
        let other = |counter: CounterRef| CounterRef {
            index: counter.index ^ 1,
            ..counter
        };
        let counter = request.counter.map(other);
        return Some(answer(state, packet, request, counter, Vec::new()));
    };
    assert!(at.is_multiple_of(width), "not aligned");
    let mut word = [0; 8];
    word[..width].copy_from_slice(&node.memory[at..at + width]);
    let old = u64::from_le_bytes(word);
    if let Some(new) = changed(&request, old) {
        node.memory[at..at + width].copy_from_slice(&new.to_le_bytes()[..width]);
    }
    let payload = if request.rmw_fetch {
        word[..width].to_vec()
    } else {
        Vec::new()
    };
    Some(answer(state, packet, request, request.counter, payload))
}

/// The new value of a word that is `old`; `None` where the comparison fails.
fn changed(request: &Descriptor, old: u64) -> Option<u64> {
    let mask = match request.source.length {
        8 => u64::MAX,
        _ => u64::from(u32::MAX),
    };
    if request.rmw_compare && old != request.rmw_test & mask {
        return None;
    }
    let value = (u64::from(request.sw1) << 32 | u64::from(request.sw0)) & mask;
    Some(match request.rmw_op {
        RmwOp::Set => value,
        RmwOp::Add => old.wrapping_add(value) & mask,
        RmwOp::Or => old | value,
        RmwOp::And => old & value,
        RmwOp::Xor => old ^ value,
    })
}

/// The answer to the request in `packet`: the old value, for the requester's memory and a counter of it.
fn answer(
    state: &State,
    packet: &Packet,
    request: Descriptor,
    counter: Option<CounterRef>,
    payload: Vec<u8>,
) -> Packet {
    Packet {
        to: state.by_coord[&packet.header.src],
        header: Header {
            dst: packet.header.src,
            src: packet.header.dst,
            vclass: VClass::Response,
            kind: Kind::RmwResp,
            len: payload.len() as u16,
            ..packet.header
        },
        put: PutTarget {
            slot: request.source.slot,
            offset: request.source.offset,
            counter,
        },
        request: Some(request),
        payload,
        message: packet.message,
        order: None,
    }
}
