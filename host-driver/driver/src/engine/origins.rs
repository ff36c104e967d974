// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints of recent packets.

use crate::am::assembly::PacketOrigin;
use crate::endpoint::Endpoint;

/// Number of kept endpoints: a power of two.
const KEPT: u32 = 16;

/// Endpoints by the sender in packets.
pub(crate) struct Origins {
    /// Endpoint of the last packet, in most cases also that of the next one.
    last: Option<(PacketOrigin, Endpoint)>,
    /// By [`place`].
    kept: [Option<(PacketOrigin, Endpoint)>; KEPT as usize],
}

impl Origins {
    /// None.
    pub fn new() -> Self {
        Self {
            last: None,
            kept: [None; KEPT as usize],
        }
    }

    /// The endpoint of the last packet, if its packets have sender `from`.
    #[inline(always)]
    pub fn last(&self, from: PacketOrigin) -> Option<Endpoint> {
        match self.last {
            Some((last, peer)) if last == from => Some(peer),
            _ => None,
        }
    }

    /// The endpoint of sender `from`, which becomes that of the last packet. `find` looks it up if it is not kept.
    pub fn next<E>(
        &mut self,
        from: PacketOrigin,
        find: impl FnOnce() -> Result<Endpoint, E>,
    ) -> Result<Endpoint, E> {
        let kept = &mut self.kept[place(from)];
        let (from, peer) = match *kept {
            Some(known) if known.0 == from => known,
            _ => (from, find()?),
        };
        *kept = Some((from, peer));
        self.last = *kept;
        Ok(peer)
    }
}

/// Place of an endpoint. The product with the golden ratio carries differences in any bits to the upper ones.
fn place(from: PacketOrigin) -> usize {
    (from.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - KEPT.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use gyre_layout::{Coord, PackedCoord};

    use super::*;
    use crate::task::TaskId;

    #[test]
    fn ep4_endpoints_that_share_a_place_are_found() {
        let node = PackedCoord::try_from(Coord([1, 2, 3, 0, 0])).expect("inside");
        let origin = |process: u32| PacketOrigin::of(node, process << 16);
        let endpoint = |process: u32| Endpoint {
            client: 0,
            context: 0,
            task: TaskId(process),
        };
        let mut origins = Origins::new();
        let mut looked_up = 0;
        for _ in 0..2 {
            for process in 0..4 * KEPT {
                let from = origin(process);
                assert_eq!(origins.last(from), None);
                for _ in 0..2 {
                    let found = origins.next(from, || {
                        looked_up += 1;
                        Ok::<_, ()>(endpoint(process))
                    });
                    assert_eq!(found, Ok(endpoint(process)));
                    assert_eq!(origins.last(from), Some(endpoint(process)));
                }
            }
        }
        assert!((4 * KEPT..=8 * KEPT).contains(&looked_up));
        assert_eq!(origins.next(origin(200), || Err("unknown")), Err("unknown"));
        assert_eq!(origins.last(origin(200)), None);
    }
}
