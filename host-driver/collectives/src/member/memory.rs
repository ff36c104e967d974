// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory of a member's node: opened by the first collective that uses it, and told of ended collectives.

use std::sync::Arc;

use gyre_driver::{Context, Platform};

use super::state::{Key, States};
use crate::error::Error;
use crate::geometry::Geometry;
use crate::node::memory::NodeMemory;
use crate::node::neighbours::Neighbours;
use crate::node::steps::MemoryPeers;
use crate::node::turns::Turn;

/// Opens the memory of the member's node for the first collective that uses it.
///
/// # Errors
/// As [`NodeMemory::open`].
pub(super) fn open<P: Platform>(
    states: &States<P>,
    context: &Context<P>,
    (geometry, rank): (&Geometry, u32),
    neighbours: &Neighbours,
    sequence: u32,
) -> Result<Arc<NodeMemory<P>>, Error> {
    let number = geometry.number();
    if let Some(known) = states.memory(number) {
        return Ok(known);
    }
    let (ranks, own) = (neighbours.here(rank), neighbours.number(rank));
    let memory = Arc::new(NodeMemory::open(context, geometry, ranks, own, sequence)?);
    states.with(number, |state| state.memory = Some(Arc::clone(&memory)));
    Ok(memory)
}

/// Geometries with steps that wait in memory, with that memory.
pub(super) fn waiting<P: Platform>(states: &States<P>) -> Vec<(u16, Arc<NodeMemory<P>>)> {
    let mut waiting = Vec::new();
    states.each(|number, state| {
        let memory = state.memory.clone().filter(|memory| memory.waits());
        waiting.extend(memory.map(|memory| (number, memory)));
    });
    waiting
}

/// Ends a collective. Returns the next one in memory.
///
/// # Errors
/// [`Error::Driver`].
pub(super) fn end<P: Platform>(
    states: &States<P>,
    context: &Context<P>,
    (number, sequence): Key,
    peers: &MemoryPeers,
) -> Result<Turn, Error> {
    let Some(memory) = states.memory(number).filter(|_| peers.used) else {
        return Ok(None);
    };
    let turn = memory.end(context.platform(), sequence, peers)?;
    pass_left(states, context, number);
    Ok(turn)
}

/// Removes an abandoned collective. Returns the next one in memory. Further failures are ignored, since the
/// collective has already ended with an error.
pub(super) fn give_up<P: Platform>(
    states: &States<P>,
    context: &Context<P>,
    (number, sequence): Key,
) -> Turn {
    let memory = states.memory(number)?;
    let turn = memory.give_up(context.platform(), sequence);
    pass_left(states, context, number);
    turn.unwrap_or_default()
}

/// Releases abandoned collectives to neighbours once all earlier ones have ended. An unreachable neighbour finds out
/// when it waits.
pub(super) fn pass_left<P: Platform>(states: &States<P>, context: &Context<P>, number: u16) {
    let known = states.with(number, |state| (state.memory.clone(), state.history.next()));
    if let Some((Some(memory), next)) = known {
        let _ = memory.pass_left(context.platform(), next);
    }
}
