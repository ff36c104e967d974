//! The way of a packet through the network: dimension order, the shorter way round in each ring.
//!
//! It is what `route_port` of the RTL's package computes hop by hop, so that software knows which nodes a
//! packet passes. Only packets that leave copies on their way ask for it (AK-4).

use gyre_layout::registers::node;
use gyre_layout::{Coord, MAX_DIM};

use crate::error::Error;
use crate::platform::Platform;
use crate::registers;
use gyre_firmware::Register;

/// Bits of a size in SIZE.
const SIZE_BITS: usize = 7;

/// The network as a node sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Routes {
    here: Coord,
    size: [u8; MAX_DIM],
    ring: [bool; MAX_DIM],
}

impl Routes {
    /// Those from `here`, in a network that the registers of the node describe.
    pub fn read<P: Platform>(platform: &P, here: Coord) -> Result<Self, Error> {
        let read = |name, address| registers::read(platform, Register::node(name, address));
        let size = read("SIZE", node::SIZE)?;
        let ring = read("RING", node::RING)?;
        let mut routes = Self {
            here,
            size: [1; MAX_DIM],
            ring: [false; MAX_DIM],
        };
        for d in 0..MAX_DIM {
            routes.size[d] = (size >> (SIZE_BITS * d)) as u8 & 0x7f;
            routes.ring[d] = ring >> d & 1 != 0;
        }
        Ok(routes)
    }

    /// The nodes that a packet to `to` comes to, in that order: `to` last, none for the node itself.
    pub fn way(&self, to: Coord) -> Vec<Coord> {
        let mut at = self.here;
        let mut way = Vec::new();
        for d in 0..MAX_DIM {
            let (size, from, end) = (self.size[d].max(1), at.0[d], to.0[d]);
            if end >= size {
                // Outside of the machine: there is no way.
                return Vec::new();
            }
            let up = (end + size - from) % size;
            let plus = if self.ring[d] {
                match (2 * up).cmp(&size) {
                    core::cmp::Ordering::Less => true,
                    core::cmp::Ordering::Greater => false,
                    // Half way round: even sources go +, odd ones -.
                    core::cmp::Ordering::Equal => from.is_multiple_of(2),
                }
            } else {
                end > from
            };
            while at.0[d] != end {
                at.0[d] = (at.0[d] + if plus { 1 } else { size - 1 }) % size;
                way.push(at);
            }
        }
        way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(here: [u8; 2], size: [u8; 2], ring: bool) -> Routes {
        let wide = |[a, b]: [u8; 2], rest| [a, b, rest, rest, rest];
        Routes {
            here: Coord(wide(here, 0)),
            size: wide(size, 1),
            ring: [ring, ring, false, false, false],
        }
    }

    fn way(routes: &Routes, to: [u8; 2]) -> Vec<[u8; 2]> {
        let way = routes.way(Coord([to[0], to[1], 0, 0, 0]));
        way.iter().map(|at| [at.0[0], at.0[1]]).collect()
    }

    #[test]
    fn ak4_ways_go_in_dimension_order_and_the_shorter_way_round() {
        let ring = routes([1, 1], [5, 4], true);
        assert_eq!(way(&ring, [1, 1]), [] as [[u8; 2]; 0]);
        assert_eq!(way(&ring, [4, 2]), [[0, 1], [4, 1], [4, 2]]);
        assert_eq!(way(&ring, [3, 0]), [[2, 1], [3, 1], [3, 0]]);
        // Half way round: - from an odd source, + from an even one.
        assert_eq!(way(&ring, [1, 3]), [[1, 0], [1, 3]]);
        assert_eq!(way(&routes([0, 2], [5, 4], true), [0, 0]), [[0, 3], [0, 0]]);
        let line = routes([1, 1], [5, 4], false);
        assert_eq!(way(&line, [3, 0]), [[2, 1], [3, 1], [3, 0]]);
        assert_eq!(way(&line, [1, 3]), [[1, 2], [1, 3]]);
        assert_eq!(way(&line, [5, 0]), [] as [[u8; 2]; 0]);
    }
}
