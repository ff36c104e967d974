// SPDX-License-Identifier: MIT OR Apache-2.0
//! Delivery of packets at their node.

use gyre_layout::registers::base_slot::ctrl as slot;
use gyre_layout::{DESCRIPTOR_BYTES, Descriptor, ErrorReason, Kind, VClass, event, packet_bytes};

use crate::counters;
use crate::fault::{Commit, Fault};
use crate::packet::{Lane, Packet};
use crate::refuse::refuse;
use crate::rmw;
use crate::slots::NoPlace;
use crate::state::{Decrement, State};

/// Executes a packet, or refuses it.
pub(crate) fn deliver(state: &mut State, packet: Packet) {
    if let Some((flow, number)) = packet.order
        && state.fault != Some(Fault::OvertakingSync)
    {
        let arrived = &mut state.nodes[packet.to].flows.targets[flow].packets;
        assert_eq!(
            *arrived, number,
            "a packet waits for ever for those before it"
        );
        *arrived += 1;
    }
    if let Some(reason) = state.absent(packet.to, &packet.header) {
        return refuse(state, packet.to, reason, &packet.header);
    }
    match packet.header.kind {
        Kind::MemFifo => message(state, &packet),
        Kind::Put | Kind::RmwResp => put(state, &packet),
        Kind::RmwReq => {
            let Some(answer) = rmw::carry_out(state, &packet) else {
                return;
            };
            if state.reordering {
                let lane = Lane::Class(u8::from(VClass::Response));
                let key = (packet.to, answer.to, lane);
                state.channels.entry(key).or_default().push_back(answer);
            } else {
                put(state, &answer);
            }
        }
        Kind::RemoteGet => remote_get(state, &packet),
        kind => panic!("{kind} is not served"),
    }
}

/// A packet of a message goes into its reception FIFO.
fn message(state: &mut State, packet: &Packet) {
    let (to, header) = (packet.to, &packet.header);
    let mut bytes = header.encode().expect("a header").to_vec();
    bytes.extend_from_slice(&packet.payload);
    bytes.resize(packet_bytes(packet.payload.len()), 0);
    let node = &mut state.nodes[to];
    node.reception[usize::from(header.target)].push(&mut node.memory, &bytes);
    if header.first {
        state.commits.push(Commit {
            node: to,
            fifo: header.target,
            message: packet.message,
        });
    }
    state.raise(to, event::reception(u32::from(header.target)));
}

/// A put is written, and lowers its counter some time after.
fn put(state: &mut State, packet: &Packet) {
    let (to, target, payload) = (packet.to, packet.put, &packet.payload);
    let node = &mut state.nodes[to];
    if !payload.is_empty() {
        let place = node
            .slots
            .place(target.slot, target.offset, payload.len(), &[slot::WRITE]);
        match place {
            Ok(at) => node.memory[at..at + payload.len()].copy_from_slice(payload),
            Err(NoPlace::Bounds) => {
                return refuse(state, to, ErrorReason::PktBounds, &packet.header);
            }
            Err(NoPlace::Slot) => return refuse(state, to, ErrorReason::PktSlot, &packet.header),
        }
    }
    let Some(counter) = target.counter else {
        return;
    };
    let offset = u64::from(counter.index) * 8;
    let Ok(address) = node.slots.place(counter.slot, offset, 8, &[slot::ATOMIC]) else {
        return refuse(state, to, ErrorReason::PktCounter, &packet.header);
    };
    state.decrements.push(Decrement {
        node: to,
        address: address as u64,
        // The answer of a read-modify-write counts its operand, fetched or not.
        by: match packet.request {
            Some(request) => u64::from(request.source.length),
            None => payload.len().max(1) as u64,
        },
    });
    if !state.reordering {
        counters::lower(state);
    }
}

/// Descriptors from another node go into an injection FIFO, stamped with their requester.
fn remote_get(state: &mut State, packet: &Packet) {
    let node = &mut state.nodes[packet.to];
    let fifo = &mut node.injection[usize::from(packet.header.target)];
    for bytes in packet.payload.as_chunks::<DESCRIPTOR_BYTES>().0 {
        let mut descriptor = Descriptor::decode(bytes).expect("a descriptor");
        descriptor.remote = true;
        descriptor.requester = packet.header.src;
        let bytes = descriptor.encode().expect("as it came");
        let at = fifo.address(fifo.tail);
        node.memory[at..at + DESCRIPTOR_BYTES].copy_from_slice(&bytes);
        fifo.tail = fifo.tail.wrapping_add(DESCRIPTOR_BYTES as u32);
    }
}
