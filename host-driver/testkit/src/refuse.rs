// SPDX-License-Identifier: MIT OR Apache-2.0
//! Refusal of a packet by the node that it came to.

use gyre_layout::{ErrorReason, Header, Kind, event};

use crate::state::State;

/// Node `at` refuses a packet, and keeps it as the hardware does.
pub(crate) fn refuse(state: &mut State, at: usize, reason: ErrorReason, header: &Header) {
    state.refused.push(reason);
    state.raise(at, event::ERROR);
    let word = match header.kind {
        Kind::MemFifo => header.sw0,
        Kind::Put | Kind::RemoteGet => header.sw1,
        // Refused ones are answered.
        Kind::RmwReq if reason == ErrorReason::PktTruncated => header.sw0,
        _ => return,
    };
    state.nodes[at].refusals.keep(header, word, reason);
}
