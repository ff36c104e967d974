// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of shared segments.

/// Number of a segment: the endpoint table of a client is its part 0, the ring of context `n` of the
/// client's on the node its part `1 + n`.
pub(super) fn segment_number(client: u8, part: u16) -> u32 {
    u32::from(client) << 16 | u32::from(part)
}
