// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shape of a machine: coordinates, neighbours, links.

use gyre_firmware::NetworkConfig;
use gyre_layout::Coord;
use gyre_timeline::Link;

/// Dimensions that a packet header has room for.
pub const MAX_DIMS: usize = 5;

/// Ports of a node in the tree of the collective network: parent, child 0, child 1.
pub const TREE_PORTS: usize = 3;

/// Shape and wiring. Nodes are numbered with the first coordinate running fastest. Port `2 * d` of a
/// node leads in + direction of dimension `d`, port `2 * d + 1` in - direction. In the tree of the collective
/// network node `n` has parent `(n - 1) / 2` and children `2 * n + 1` and `2 * n + 2` (HW-5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    sizes: [u16; MAX_DIMS],
    rings: [bool; MAX_DIMS],
    dims: usize,
    nodes: usize,
    order: [u8; MAX_DIMS],
}

impl Topology {
    /// `dims` and `mesh` as checked by [`crate::MachineConfig::validate`].
    pub fn new(dims: &[u16], mesh: &[bool]) -> Self {
        let mut sizes = [1; MAX_DIMS];
        let mut rings = [false; MAX_DIMS];
        for (d, &size) in dims.iter().enumerate() {
            sizes[d] = size;
            // A ring of one node has no link to wrap.
            rings[d] = size > 1 && !mesh.get(d).copied().unwrap_or(false);
        }
        let nodes = sizes.iter().map(|&size| usize::from(size)).product();
        Self {
            sizes,
            rings,
            dims: dims.len(),
            nodes,
            order: std::array::from_fn(|d| d as u8),
        }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Dimensions that were asked for.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Nodes in each of the five dimensions, 1 for those that were not asked for.
    pub fn sizes(&self) -> [u16; MAX_DIMS] {
        self.sizes
    }

    /// Which dimensions have a wrap link.
    pub fn rings(&self) -> [bool; MAX_DIMS] {
        self.rings
    }

    /// Coordinates of a node.
    pub fn coord(&self, node: usize) -> [u16; MAX_DIMS] {
        let mut rest = node;
        self.sizes.map(|size| {
            let size = usize::from(size);
            let c = rest % size;
            rest /= size;
            c as u16
        })
    }

    /// Coordinates of a node as packet headers and descriptors have them.
    pub fn header_coord(&self, node: usize) -> Coord {
        Coord(self.coord(node).map(|c| c as u8)) // below 64
    }

    /// Place of a node in the machine, for its firmware.
    pub fn network_config(&self, node: usize) -> NetworkConfig {
        NetworkConfig {
            coord: self.header_coord(node),
            size: self.sizes.map(|size| size as u8), // at most 64
            ring: self.rings,
            dimension_order: self.order,
        }
    }

    /// The node at some coordinates; none outside of the machine.
    pub fn node_at(&self, coord: &[u16]) -> Option<usize> {
        let mut node = 0;
        let mut stride = 1;
        for (d, &size) in self.sizes.iter().enumerate() {
            let c = coord.get(d).copied().unwrap_or(0);
            if c >= size {
                return None;
            }
            node += usize::from(c) * stride;
            stride *= usize::from(size);
        }
        Some(node)
    }

    /// The node and its port at the other end of a port's link; none where there is no link.
    pub fn neighbour(&self, node: usize, port: usize) -> Option<(usize, usize)> {
        let d = port / 2;
        let size = *self.sizes.get(d)?;
        let mut coord = self.coord(node);
        let minus = port % 2 == 1;
        let edge = if minus { 0 } else { size - 1 };
        if coord[d] == edge && !self.rings[d] {
            return None;
        }
        coord[d] = match (coord[d] == edge, minus) {
            (true, true) => size - 1,
            (true, false) => 0,
            (false, true) => coord[d] - 1,
            (false, false) => coord[d] + 1,
        };
        Some((self.node_at(&coord)?, port ^ 1))
    }

    /// The node and its tree port at the other end of a tree port's link; none where there is no link.
    pub fn tree_neighbour(&self, node: usize, port: usize) -> Option<(usize, usize)> {
        match port {
            0 => (node > 0).then(|| ((node - 1) / 2, 2 - node % 2)),
            1 | 2 => Some((2 * node + port, 0)).filter(|&(child, _)| child < self.nodes),
            _ => None,
        }
    }

    /// The links that leave a node with `torus` ports of the torus, by port: those of the torus, then those of the tree.
    pub(crate) fn link_names(&self, node: usize, torus: usize) -> Vec<Link> {
        let of_tree = (0..TREE_PORTS).filter_map(|port| {
            let (to, _) = self.tree_neighbour(node, port)?;
            let name = match port.checked_sub(1) {
                None => "tree parent".to_owned(),
                Some(child) => format!("tree child {child}"),
            };
            Some(link(node, torus + port, to, name))
        });
        let of_torus = self.torus_link_names(node, torus).into_iter();
        of_torus.chain(of_tree).collect()
    }

    /// Names of the torus links alone.
    pub(crate) fn torus_link_names(&self, node: usize, torus: usize) -> Vec<Link> {
        let named = |port| {
            let (to, _) = self.neighbour(node, port)?;
            let letter = char::from(b'a' + (port / 2) as u8);
            let sign = if port % 2 == 0 { '+' } else { '-' };
            Some(link(node, port, to, format!("{letter}{sign}")))
        };
        (0..torus).filter_map(named).collect()
    }

    /// Bit `p` is set if port `p` of the node has a link: the value of its LINK_ENABLE register.
    pub fn link_mask(&self, node: usize) -> u16 {
        (0..2 * MAX_DIMS)
            .filter(|&port| self.neighbour(node, port).is_some())
            .fold(0, |mask, port| mask | 1 << port)
    }

    /// The port that a packet from `src` to `dst` leaves its source by; none if they are the same
    /// node. The same function as `route_port` of the RTL package, at the source.
    pub fn first_port(&self, src: usize, dst: usize) -> Option<usize> {
        let order = self.order.map(usize::from);
        order.into_iter().find_map(|d| self.port_in(d, src, dst, 0))
    }

    /// The port by which a packet from `src` to `dst` goes all its way in dimension `d`; none if it has none to go.
    /// Half way round a ring, where both are equally short, it is that in `directions`, a bit a port; if there are
    /// both or none, even sources go + and odd ones -, in a ring of two the reverse if the distance in the other
    /// dimensions is odd.
    pub fn port_in(&self, d: usize, src: usize, dst: usize, directions: u64) -> Option<usize> {
        let shortest = self.minimal_ports(src, dst) & 3 << (2 * d);
        let ports = match shortest & directions {
            0 => shortest,
            wanted => wanted,
        };
        match ports.count_ones() {
            0 => None,
            1 => Some(ports.trailing_zeros() as usize),
            _ => Some(2 * d + usize::from(self.tie_minus(d, src, dst))),
        }
    }

    /// Whether a packet goes - in dimension `d` where both directions are equally short. `tie_minus` of the RTL package.
    fn tie_minus(&self, d: usize, src: usize, dst: usize) -> bool {
        let (from, to) = (self.coord(src), self.coord(dst));
        let others = (0..MAX_DIMS).filter(|&k| k != d);
        let distance: u16 = others.map(|k| from[k].abs_diff(to[k])).sum();
        let turned = self.sizes[d] == 2 && distance % 2 == 1;
        (from[d] % 2 == 1) != turned
    }

    /// Ports on shortest ways from `src` to `dst`, a bit each: both of a dimension half way round a ring.
    pub fn minimal_ports(&self, src: usize, dst: usize) -> u64 {
        let (from, to) = (self.coord(src), self.coord(dst));
        (0..MAX_DIMS)
            .filter(|&d| from[d] != to[d])
            .fold(0, |ports, d| {
                let size = self.sizes[d];
                let up = (to[d] + size - from[d]) % size;
                let (plus, minus) = match self.rings[d] {
                    true => (2 * up <= size, 2 * up >= size),
                    false => (to[d] > from[d], to[d] < from[d]),
                };
                ports | u64::from(plus) << (2 * d) | u64::from(minus) << (2 * d + 1)
            })
    }

    /// The same topology with these dimensions first, in this order, on fixed routes; the others follow, ascending.
    pub(crate) fn with_dimension_order(mut self, first: &[u8]) -> Self {
        let rest = (0..MAX_DIMS as u8).filter(|d| !first.contains(d));
        for (place, d) in self.order.iter_mut().zip(first.iter().copied().chain(rest)) {
            *place = d;
        }
        self
    }

    /// Dimensions in the order in which fixed routes take them.
    pub fn dimension_order(&self) -> [u8; MAX_DIMS] {
        self.order
    }

    /// Links that a packet from `src` to `dst` crosses.
    pub fn hops(&self, src: usize, dst: usize) -> usize {
        let (from, to) = (self.coord(src), self.coord(dst));
        (0..MAX_DIMS)
            .map(|d| {
                let direct = from[d].abs_diff(to[d]);
                let least = if self.rings[d] {
                    direct.min(self.sizes[d] - direct)
                } else {
                    direct
                };
                usize::from(least)
            })
            .sum()
    }

    /// Coordinates packed as in a header or a COORD register: 6 bits each, first dimension lowest.
    pub fn packed_coord(&self, node: usize) -> u32 {
        let coord = self.coord(node);
        (0..MAX_DIMS).fold(0, |word, d| word | u32::from(coord[d]) << (6 * d))
    }
}

fn link(node: usize, port: usize, to: usize, name: String) -> Link {
    Link {
        node: node as u32,
        port: port as u8,
        to: to as u32,
        name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_symmetric_in_every_shape() {
        for (dims, mesh) in [
            (vec![4, 3, 2], vec![]),
            (vec![2, 2, 2], vec![]),
            (vec![5], vec![true]),
            (vec![1, 7, 1, 2, 3], vec![false, true, false, false, true]),
        ] {
            let topology = Topology::new(&dims, &mesh);
            for node in 0..topology.nodes() {
                assert_eq!(topology.node_at(&topology.coord(node)), Some(node));
                for port in 0..10 {
                    if let Some((other, back)) = topology.neighbour(node, port) {
                        assert_ne!(other, node);
                        assert_eq!(topology.neighbour(other, back), Some((node, port)));
                    }
                }
            }
        }
    }

    #[test]
    fn hw5_tree_links_are_symmetric_and_reach_every_node() {
        for nodes in 1..40 {
            let topology = Topology::new(&[nodes], &[]);
            let mut links = 0;
            for node in 0..topology.nodes() {
                for port in 0..TREE_PORTS {
                    if let Some((other, back)) = topology.tree_neighbour(node, port) {
                        assert_eq!(topology.tree_neighbour(other, back), Some((node, port)));
                        links += 1;
                    }
                }
                let parent = topology.tree_neighbour(node, 0);
                assert!(parent.map_or(node == 0, |(parent, _)| parent < node));
            }
            assert_eq!(links, 2 * (topology.nodes() - 1));
            assert_eq!(topology.tree_neighbour(0, 3), None);
        }
    }

    #[test]
    fn rings_of_one_and_ends_of_lines_have_no_link() {
        let topology = Topology::new(&[3, 1, 2], &[true]);
        assert_eq!(topology.link_mask(0), 0b11_00_01);
        assert_eq!(topology.link_mask(1), 0b11_00_11);
        assert_eq!(topology.link_mask(2), 0b11_00_10);
    }

    #[test]
    fn following_the_first_port_takes_as_many_links_as_hops() {
        let topology = Topology::new(&[6, 5, 3], &[false, true]);
        for src in 0..topology.nodes() {
            for dst in 0..topology.nodes() {
                let (mut at, mut links) = (src, 0);
                while let Some(port) = topology.first_port(at, dst) {
                    at = topology.neighbour(at, port).expect("a link").0;
                    links += 1;
                }
                assert_eq!((at, links), (dst, topology.hops(src, dst)));
            }
        }
    }

    #[test]
    fn half_ring_ties_go_plus_from_even_and_minus_from_odd() {
        let topology = Topology::new(&[4], &[]);
        assert_eq!(topology.first_port(0, 2), Some(0));
        assert_eq!(topology.first_port(1, 3), Some(1));
    }

    #[test]
    fn hw3_pairs_in_rings_of_two_share_out_both_cables() {
        let topology = Topology::new(&[2, 3], &[]);
        let ports: Vec<_> = (0..6).map(|dst| topology.port_in(0, 0, dst, 0)).collect();
        assert_eq!(ports, [None, Some(0), None, Some(1), None, Some(0)]);
    }

    #[test]
    fn directions_decide_between_equally_short_ways_alone() {
        let topology = Topology::new(&[3, 4], &[]);
        let node = |x, y| topology.node_at(&[x, y]).expect("a node");
        let port = |to, directions| topology.port_in(1, node(0, 1), to, directions);
        let half = node(2, 3);
        assert_eq!(port(half, 0b01_00), Some(2));
        assert_eq!(port(half, 0b10_00), Some(3));
        // Both, and another dimension's: as without.
        assert_eq!(port(half, 0b11_00), Some(3));
        assert_eq!(port(half, 0b00_01), Some(3));
        assert_eq!(port(node(1, 2), 0b10_00), Some(2));
        assert_eq!(port(node(2, 1), 0b01_00), None);
    }
}
