// SPDX-License-Identifier: MIT OR Apache-2.0
//! Paths of packets through the network.
//!
//! They follow `route_port` of the RTL's package hop by hop, so that software knows the nodes and links on the path of
//! a packet: for packets that leave copies on their way (AK-4), and for transfers that are to use different links
//! (EP-14).

use gyre_firmware::Register;
use gyre_layout::registers::node;
use gyre_layout::{Coord, MAX_DIM};

use crate::error::Error;
use crate::platform::Platform;
use crate::transport::registers;

/// Bits of a size in SIZE.
const SIZE_BITS: usize = 7;

/// Bits of a place in DIM_ORDER.
const ORDER_BITS: usize = 3;

/// The network that a node belongs to, as its registers describe it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    size: [u8; MAX_DIM],
    ring: [bool; MAX_DIM],
    /// Dimensions in the order in which fixed routes take them.
    order: [u8; MAX_DIM],
}

/// Routing of packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Routing {
    /// All by one path, in order: the dimensions in the order programmed by the machine.
    #[default]
    Fixed,
    /// Each by any shortest path, in any order (HW-4).
    Dynamic {
        /// Dimension to finish first, then the following ones cyclically, as long as there is room on that path.
        first: Option<u8>,
        /// Directions to take where both ways round a ring are equally short, one bit for each port: at least one of
        /// each dimension; 0 for any.
        directions: u16,
    },
}

/// A link on the path of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// Port by which the packet leaves: twice the dimension, one more in the direction of smaller coordinates.
    pub port: usize,
    /// Node at its other end.
    pub to: Coord,
}

/// Nodes in each dimension by the register SIZE, 1 in absent dimensions.
pub(crate) fn read_sizes<P: Platform>(platform: &P) -> Result<[u8; MAX_DIM], Error> {
    let size = registers::read(platform, Register::node("SIZE", node::SIZE))?;
    let one = |d| (size >> (SIZE_BITS * d)) as u8 & 0x7f;
    Ok(core::array::from_fn(|d| one(d).max(1)))
}

impl Network {
    /// The network of the platform's node.
    pub(crate) fn read<P: Platform>(platform: &P) -> Result<Self, Error> {
        let read = |name, address| registers::read(platform, Register::node(name, address));
        let size = read_sizes(platform)?;
        let ring = read("RING", node::RING)?;
        let order = read("DIM_ORDER", node::DIM_ORDER)?;
        let mut network = Self {
            size,
            ring: [false; MAX_DIM],
            order: [0; MAX_DIM],
        };
        for d in 0..MAX_DIM {
            network.ring[d] = ring >> d & 1 != 0;
            network.order[d] = (order >> (ORDER_BITS * d)) as u8 & 7;
        }
        Ok(network)
    }

    /// Nodes in each dimension, 1 in absent dimensions.
    #[must_use]
    pub fn sizes(&self) -> [u8; MAX_DIM] {
        self.size
    }

    /// Dimensions with a link between their ends.
    #[must_use]
    pub fn rings(&self) -> [bool; MAX_DIM] {
        self.ring
    }

    /// The links on the path of a packet, in order: none for the node itself or a node outside of the machine. A
    /// dynamic packet takes these as long as there is room.
    #[must_use]
    pub fn way(&self, from: Coord, to: Coord, routing: Routing) -> Vec<Hop> {
        if (0..MAX_DIM).any(|d| to.0[d] >= self.size[d]) {
            return Vec::new();
        }
        let (order, allowed) = match routing {
            Routing::Dynamic { first, directions } => {
                let cyclic = |first| core::array::from_fn(|i| (usize::from(first) + i) % MAX_DIM);
                let allowed = if directions == 0 { !0 } else { directions };
                (first.map(cyclic), allowed)
            }
            Routing::Fixed => (None, !0),
        };
        let order: [usize; MAX_DIM] = order.unwrap_or(self.order.map(usize::from));
        let mut at = from;
        let mut way = Vec::new();
        for d in order.into_iter().filter(|&d| d < MAX_DIM) {
            let (size, end) = (self.size[d], to.0[d]);
            let plus = match self.shorter(d, from.0[d], end) {
                Some(plus) => plus,
                None => match allowed >> (2 * d) & 3 {
                    0b01 => true,
                    0b10 => false,
                    _ => self.tie_plus(d, from, to),
                },
            };
            while at.0[d] != end {
                at.0[d] = (at.0[d] + if plus { 1 } else { size - 1 }) % size;
                let port = 2 * d + usize::from(!plus);
                way.push(Hop { port, to: at });
            }
        }
        way
    }

    /// Whether a packet goes + in dimension `d` where both directions are equally short and allowed: even sources do, in
    /// a ring of two the odd ones if the distance in the other dimensions is odd.
    fn tie_plus(&self, d: usize, from: Coord, to: Coord) -> bool {
        let others = (0..MAX_DIM).filter(|&k| k != d);
        let distance = others.fold(0, |sum, k| sum ^ from.0[k] ^ to.0[k]);
        let turned = self.size[d] == 2 && distance % 2 == 1;
        from.0[d].is_multiple_of(2) != turned
    }

    /// Whether the shorter path in dimension `d` is in + direction; `None` when both are equally short.
    fn shorter(&self, d: usize, from: u8, to: u8) -> Option<bool> {
        let size = self.size[d];
        if !self.ring[d] {
            return Some(to > from);
        }
        let up = (to + size - from) % size;
        match (2 * up).cmp(&size) {
            core::cmp::Ordering::Less => Some(true),
            core::cmp::Ordering::Greater => Some(false),
            core::cmp::Ordering::Equal => None,
        }
    }

    /// Paths between two nodes that a transfer can be directed to: each differing dimension first, each direction where
    /// both are equally short.
    #[must_use]
    pub fn choices(&self, from: Coord, to: Coord) -> Vec<Routing> {
        let differs: Vec<usize> = (0..MAX_DIM).filter(|&d| from.0[d] != to.0[d]).collect();
        let mut allowed: Vec<u16> = vec![(1 << (2 * MAX_DIM)) - 1];
        for &d in &differs {
            if self.shorter(d, from.0[d], to.0[d]).is_none() {
                let without = |port: usize| allowed.iter().map(move |&a| a & !(1 << port));
                allowed = without(2 * d + 1).chain(without(2 * d)).collect();
            }
        }
        let dynamic = |&d: &usize| {
            // Below the number of dimensions.
            let first = Some(d as u8);
            let choice = move |&directions: &u16| Routing::Dynamic { first, directions };
            allowed.iter().map(choice).collect::<Vec<_>>()
        };
        differs.iter().flat_map(dynamic).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(here: [u8; 2], size: [u8; 2], ring: bool) -> (Coord, Network) {
        let network = Network {
            size: [size[0], size[1], 1, 1, 1],
            ring: [ring, ring, false, false, false],
            order: [0, 1, 2, 3, 4],
        };
        (Coord([here[0], here[1], 0, 0, 0]), network)
    }

    fn way((here, network): &(Coord, Network), to: [u8; 2]) -> Vec<[u8; 2]> {
        let way = network.way(*here, Coord([to[0], to[1], 0, 0, 0]), Routing::Fixed);
        // A link's port says in which coordinate its ends differ.
        let mut at = *here;
        for hop in &way {
            let differs = |d: usize| at.0[d] != hop.to.0[d];
            assert!((0..MAX_DIM).all(|d| differs(d) == (d == hop.port / 2)));
            at = hop.to;
        }
        way.iter().map(|hop| [hop.to.0[0], hop.to.0[1]]).collect()
    }

    #[test]
    fn hw4_ep14_dynamic_paths_begin_in_the_chosen_direction() {
        let (here, network) = routes([0, 1], [4, 4], true);
        let to = Coord([2, 0, 0, 0, 0]);
        let choices = network.choices(here, to);
        let links = |routing| {
            let way = network.way(here, to, routing);
            way.iter().map(|hop| hop.port).collect::<Vec<_>>()
        };
        // Two ways round in the first dimension, one in the second.
        let ways: Vec<_> = choices.iter().map(|&routing| links(routing)).collect();
        assert_eq!(
            ways,
            [vec![0, 0, 3], vec![1, 1, 3], vec![3, 0, 0], vec![3, 1, 1]]
        );
        assert_eq!(links(Routing::Fixed), [0, 0, 3]);
        for routing in choices {
            let Routing::Dynamic { directions, .. } = routing else {
                panic!("{routing:?}");
            };
            // No dimension is without a direction.
            assert!(
                (0..MAX_DIM).all(|d| directions >> (2 * d) & 3 != 0),
                "{routing:?}"
            );
        }
        assert_eq!(network.choices(here, here), []);
    }

    #[test]
    fn ak4_paths_follow_dimension_order_and_the_shorter_way() {
        let ring = routes([1, 1], [5, 4], true);
        assert_eq!(way(&ring, [1, 1]), [] as [[u8; 2]; 0]);
        assert_eq!(way(&ring, [4, 2]), [[0, 1], [4, 1], [4, 2]]);
        assert_eq!(way(&ring, [3, 0]), [[2, 1], [3, 1], [3, 0]]);
        // Half way round: - from an odd source, + from an even one.
        assert_eq!(way(&ring, [1, 3]), [[1, 0], [1, 3]]);
        assert_eq!(way(&routes([0, 2], [5, 4], true), [0, 0]), [[0, 3], [0, 0]]);
        // In a ring of two the other cable, if the rest of the distance is odd.
        let two = routes([0, 0], [2, 4], true).1;
        let port = |to| two.way(Coord([0; 5]), Coord([1, to, 0, 0, 0]), Routing::Fixed)[0].port;
        assert_eq!([0, 1, 2, 3].map(port), [0, 1, 0, 1]);
        let line = routes([1, 1], [5, 4], false);
        assert_eq!(way(&line, [3, 0]), [[2, 1], [3, 1], [3, 0]]);
        assert_eq!(way(&line, [1, 3]), [[1, 2], [1, 3]]);
        assert_eq!(way(&line, [5, 0]), [] as [[u8; 2]; 0]);
        let order = [1, 0, 2, 3, 4];
        let other = (line.0, Network { order, ..line.1 });
        assert_eq!(way(&other, [3, 0]), [[1, 0], [2, 0], [3, 0]]);
    }
}
