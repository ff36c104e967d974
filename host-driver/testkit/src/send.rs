// SPDX-License-Identifier: MIT OR Apache-2.0
//! The transmit side: descriptors are checked, cut into packets and sent.

use gyre_layout::registers::{flow_source, flow_target, injection_fifo as inj};
use gyre_layout::{
    DESCRIPTOR_BYTES, Descriptor, ErrorReason, Header, Kind, MAX_PAYLOAD_BYTES, PutTarget, event,
};

use crate::delivery;
use crate::fault::Fault;
use crate::packet::{Lane, Packet, WAYS};
use crate::state::State;

/// Sequence numbers of packets of a message.
const SEQUENCE: usize = 1024;

/// Sends one packet of some injection FIFO, picked by the seed.
pub(crate) fn inject(state: &mut State) -> bool {
    let mut ready = Vec::new();
    for (n, node) in state.nodes.iter().enumerate() {
        let fifos = node.injection.iter().enumerate();
        ready.extend(
            fifos
                .filter(|(_, fifo)| fifo.is_ready())
                .map(|(f, _)| (n, f)),
        );
    }
    while !ready.is_empty() {
        let pick = state.random(ready.len());
        let (n, f) = ready.swap_remove(pick);
        if send_packet(state, n, f) {
            return true;
        }
    }
    false
}

/// Sends the next packet of injection FIFO `f` of node `n`; false when its destination is full.
fn send_packet(state: &mut State, n: usize, f: usize) -> bool {
    let Some((descriptor, sent)) = current(state, n, f) else {
        return true;
    };
    let length = descriptor.source.length as usize;
    let bytes = (length - sent).min(MAX_PAYLOAD_BYTES);
    let last = sent + bytes == length;
    let header = header(state, n, &descriptor, sent, bytes);
    let mut payload = match state.nodes[n].check(f, &descriptor) {
        Ok(at) if bytes > 0 => state.nodes[n].memory[at + sent..][..bytes].to_vec(),
        _ => vec![0; bytes],
    };
    let to = state.by_coord[&descriptor.dst];
    let copies = damage(state, &mut payload);
    let passed = if descriptor.deposit {
        between(state, n, to)
    } else {
        Vec::new()
    };
    let rooms: Vec<_> = passed.into_iter().chain([to]).collect();
    if !state.reordering && !rooms.iter().all(|&at| state.room(at, &header, copies)) {
        let started = sent > 0 || state.fault == Some(Fault::EarlyHead);
        state.nodes[n].injection[f].sent = started.then_some((descriptor, sent));
        return false;
    }
    state.packets += 1;
    state.nodes[n].messages += u64::from(descriptor.kind == Kind::MemFifo);
    let order = number(state, n, to, &descriptor);
    for at in rooms.into_iter().flat_map(|at| vec![at; copies]) {
        let packet = Packet {
            to: at,
            header,
            put: PutTarget {
                slot: descriptor.target,
                offset: descriptor.dst_offset + sent as u64,
                counter: descriptor.counter,
            },
            request: (descriptor.kind == Kind::RmwReq).then_some(descriptor),
            payload: payload.clone(),
            message: descriptor.msg_id,
            order,
        };
        if state.reordering {
            let lane = lane(state, &descriptor, at, to);
            let channel = state.channels.entry((n, at, lane));
            channel.or_default().push_back(packet);
        } else {
            delivery::deliver(state, packet);
        }
    }
    let fifo = &mut state.nodes[n].injection[f];
    fifo.sent = (!last).then_some((descriptor, sent + bytes));
    if last && state.fault != Some(Fault::EarlyHead) {
        complete(state, n, f);
    }
    true
}

/// The descriptor at HEAD, and how much of it has been sent; `None` when it has just been refused.
fn current(state: &mut State, n: usize, f: usize) -> Option<(Descriptor, usize)> {
    let fifo = &state.nodes[n].injection[f];
    if let Some(current) = fifo.sent {
        return Some(current);
    }
    let mut bytes = [0; DESCRIPTOR_BYTES];
    let at = fifo.address(fifo.head);
    bytes.copy_from_slice(&state.nodes[n].memory[at..][..DESCRIPTOR_BYTES]);
    let descriptor = Descriptor::decode(&bytes).expect("a descriptor");
    let message = Fault::RefuseMessage {
        node: n,
        after: state.nodes[n].messages,
    };
    let refuse = match descriptor.kind {
        Kind::Put => state.fault == Some(Fault::RefuseSync(n)) && descriptor.source.length == 0,
        Kind::MemFifo => state.fault == Some(message),
        _ => false,
    };
    let checked = if refuse {
        state.fault = None;
        Err(ErrorReason::DescSlot)
    } else {
        state.nodes[n].check(f, &descriptor)
    };
    if let Err(reason) = checked {
        state.nodes[n].injection[f].halted = Some(reason);
        state.refused.push(reason);
        state.raise(n, event::ERROR);
        return None;
    }
    if state.fault == Some(Fault::EarlyHead) {
        complete(state, n, f);
    }
    Some((descriptor, 0))
}

/// The header of the packet that carries `bytes` bytes of a descriptor from `sent` on.
fn header(state: &State, n: usize, descriptor: &Descriptor, sent: usize, bytes: usize) -> Header {
    let length = descriptor.source.length as usize;
    Header {
        dst: descriptor.dst,
        vclass: descriptor.vclass,
        src: match state.fault {
            Some(Fault::WrongSource { dispatch, node })
                if descriptor.kind == Kind::MemFifo
                    && descriptor.sw0.to_le_bytes()[0] == dispatch =>
            {
                state.nodes[node].coord
            }
            _ => state.nodes[n].coord,
        },
        deposit: descriptor.deposit,
        dynamic_route: descriptor.dynamic_route,
        kind: descriptor.kind,
        len: bytes as u16,
        hint: descriptor.hint,
        order: descriptor.order,
        flow: None,
        first: sent == 0,
        last: sent + bytes == length,
        seq: (sent / MAX_PAYLOAD_BYTES % SEQUENCE) as u16,
        target: descriptor.target,
        offset: sent as u32,
        aux: length as u32,
        sw0: descriptor.sw0,
        sw1: descriptor.sw1,
    }
}

/// Does to the next packet what the planted fault says; how often it arrives.
fn damage(state: &State, payload: &mut [u8]) -> usize {
    match state.fault {
        Some(Fault::LosePacket(k)) if k == state.packets => return 0,
        Some(Fault::DoublePacket(k)) if k == state.packets => return 2,
        Some(Fault::FlipByte(k)) if k == state.packets && !payload.is_empty() => {
            payload[payload.len() / 2] ^= 1;
        }
        Some(Fault::FlipAt { packet, at }) if packet == state.packets => payload[at] ^= 1,
        _ => {}
    }
    1
}

/// Numbers a packet of a flow: the flow at the target, and the packet's number there.
fn number(state: &mut State, n: usize, to: usize, descriptor: &Descriptor) -> Option<(usize, u64)> {
    use flow_target::ctrl::{PEER, PEER_FLOW, VCLASS};
    let flow = descriptor.flow?;
    state.nodes[n].by_flow += 1;
    let source = state.nodes[n].flows.sources[usize::from(flow)].ctrl;
    let number = flow_source::ctrl::PEER_FLOW.get(source) as usize;
    let target = state.nodes[to].flows.targets[number];
    assert!(target.is_open(), "a flow that ends nowhere");
    let coord = state.nodes[n].coord.pack().expect("a node");
    assert_eq!(
        PEER.get(target.ctrl),
        u64::from(coord),
        "somebody else's flow"
    );
    assert_eq!(PEER_FLOW.get(target.ctrl), u64::from(flow), "another flow");
    let vclass = u64::from(u8::from(descriptor.vclass));
    assert_eq!(VCLASS.get(target.ctrl), vclass, "a flow of another class");
    let sent = &mut state.nodes[n].flows.sources[usize::from(flow)].packets;
    *sent += 1;
    Some((number, *sent - 1))
}

/// The lane of a packet for node `to` on its way to node `at`.
fn lane(state: &mut State, descriptor: &Descriptor, at: usize, to: usize) -> Lane {
    match (descriptor.flow, descriptor.dynamic_route) {
        (Some(flow), _) => Lane::Flow(flow),
        // No two ways keep an order.
        (None, true) => Lane::Dynamic(state.random(WAYS)),
        (None, false) if at == to => Lane::Class(u8::from(descriptor.vclass)),
        (None, false) => Lane::Copies(to),
    }
}

/// The nodes that a packet passes, the shorter way round; half way round + from even nodes.
fn between(state: &State, from: usize, to: usize) -> Vec<usize> {
    let count = state.nodes.len();
    let up = (to + count - from) % count;
    let plus = match (state.line, 2 * up == count) {
        (true, _) => to > from,
        (false, true) => from.is_multiple_of(2),
        (false, false) => 2 * up < count,
    };
    let step = if plus { 1 } else { count - 1 };
    let steps = if plus { up } else { count - up };
    (1..steps).map(|k| (from + k * step) % count).collect()
}

/// The descriptor at HEAD has been carried out.
fn complete(state: &mut State, n: usize, f: usize) {
    let fifo = &mut state.nodes[n].injection[f];
    fifo.retire();
    if inj::ctrl::IRQ_COMPLETE.is_set(fifo.ctrl) {
        state.raise(n, event::injection(f as u32));
    }
}
