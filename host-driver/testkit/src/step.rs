// SPDX-License-Identifier: MIT OR Apache-2.0
//! One step of the machine: a descriptor's next packet leaves, a packet arrives, or a counter is lowered.

use gyre_layout::Kind;

use crate::counters;
use crate::delivery;
use crate::fault::Fault;
use crate::packet::{GROUPS, Packet};
use crate::send;
use crate::state::State;

/// Most steps for which a group of lanes is delayed.
const BEHIND: usize = 64;

/// Moves one packet, picked by the seed; false when nothing can move.
pub(crate) fn step(state: &mut State) -> bool {
    if !state.reordering {
        return send::inject(state);
    }
    let held = match state.held {
        Some((group, left)) if left > 0 => {
            state.held = Some((group, left - 1));
            Some(group)
        }
        _ => {
            // Delays one group for a while, or none.
            let group = state.random(GROUPS) as u8;
            state.held = Some((group, state.random(BEHIND) as u32));
            None
        }
    };
    let first = state.random(3);
    (0..3).any(|turn| match (first + turn) % 3 {
        0 => send::inject(state),
        1 => arrive(state, held),
        _ => counters::lower(state),
    }) || held.is_some_and(|group| state.channels.keys().any(|key| key.2.group() == group))
}

/// Delivers one packet that travels, of no lane of the group `held`.
fn arrive(state: &mut State, held: Option<u8>) -> bool {
    let keys = state.channels.keys().copied();
    let mut keys: Vec<_> = keys.filter(|key| Some(key.2.group()) != held).collect();
    while !keys.is_empty() {
        let key = keys.swap_remove(state.random(keys.len()));
        let Some(mut queue) = state.channels.remove(&key) else {
            continue;
        };
        let sync = |p: &Packet| p.header.kind == Kind::Put && p.header.len == 0;
        let next = match queue.iter().position(sync) {
            Some(at) if state.fault == Some(Fault::OvertakingSync) => at,
            _ => 0,
        };
        let room = state.room(queue[next].to, &queue[next].header, 1);
        let packet = if room { queue.remove(next) } else { None };
        if !queue.is_empty() {
            state.channels.insert(key, queue);
        }
        if let Some(packet) = packet {
            delivery::deliver(state, packet);
            return true;
        }
    }
    false
}
