// SPDX-License-Identifier: MIT OR Apache-2.0
//! Byte counters, which puts and answers of read-modify-writes lower.

use gyre_layout::event;

use crate::state::{Decrement, State};

/// Lowers one counter that a put has left to lower; false when there is none.
pub(crate) fn lower(state: &mut State) -> bool {
    if state.decrements.is_empty() {
        return false;
    }
    let pick = state.random(state.decrements.len());
    let Decrement { node, address, by } = state.decrements.swap_remove(pick);
    let bytes = &mut state.nodes[node].memory[address as usize..][..8];
    let mut value = [0; 8];
    value.copy_from_slice(bytes);
    let left = u64::from_le_bytes(value)
        .checked_sub(by)
        .expect("a byte counter went below zero");
    bytes.copy_from_slice(&left.to_le_bytes());
    if left == 0 {
        state.raise(node, event::COUNTER);
    }
    true
}
