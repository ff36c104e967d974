// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shape and wiring of a machine.

use std::sync::OnceLock;

/// Dimensions that a packet header has room for.
pub const MAX_DIMS: usize = 5;

/// A torus or mesh of 1 to 5 dimensions (HW-3). Nodes are numbered with the first coordinate running fastest.
/// Port `2 * d` leads in + direction of dimension `d`, port `2 * d + 1` in - direction.
#[derive(Clone, Debug)]
pub struct Torus {
    sizes: Vec<u8>,
    rings: Vec<bool>,
    /// Made when first asked for: most machines are checked by their sizes alone.
    places: OnceLock<Places>,
}

/// Where each node is.
#[derive(Clone, Debug)]
struct Places {
    /// Coordinates of each node.
    coords: Vec<[u8; MAX_DIMS]>,
    /// The other end of each link, by node and port.
    neighbours: Vec<Option<u32>>,
}

impl Torus {
    /// A machine of (nodes, has a wrap link) in each dimension.
    ///
    /// # Panics
    /// With more than [`MAX_DIMS`] dimensions, or a size outside 1 to 64.
    pub fn new(dims: &[(u8, bool)]) -> Self {
        assert!(dims.len() <= MAX_DIMS, "{dims:?}: at most 5 dimensions");
        assert!(
            dims.iter().all(|(size, _)| (1..=64).contains(size)),
            "{dims:?}: sizes are 1 to 64"
        );
        Self {
            sizes: dims.iter().map(|dim| dim.0).collect(),
            rings: dims.iter().map(|dim| dim.1).collect(),
            places: OnceLock::new(),
        }
    }

    fn places(&self) -> &Places {
        self.places.get_or_init(|| {
            let nodes = 0..self.nodes();
            let links = nodes.clone().flat_map(|node| {
                let ports = 0..self.ports();
                ports.map(move |port| self.link(node, port))
            });
            Places {
                neighbours: links.collect(),
                coords: nodes.map(|node| self.place(node)).collect(),
            }
        })
    }

    /// Number of dimensions.
    pub fn dims(&self) -> usize {
        self.sizes.len()
    }

    /// Nodes in dimension `d`.
    pub fn size(&self, d: usize) -> u8 {
        self.sizes[d]
    }

    /// Whether dimension `d` has its wrap link.
    pub fn ring(&self, d: usize) -> bool {
        self.rings[d]
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.sizes.iter().map(|&size| usize::from(size)).product()
    }

    /// Ports of a node, with or without a link.
    pub fn ports(&self) -> usize {
        2 * self.dims()
    }

    /// Coordinates of a node, 0 in absent dimensions.
    pub fn coord(&self, node: usize) -> [u8; MAX_DIMS] {
        self.places().coords[node]
    }

    /// The node at the other end of a port's link; it arrives there by port `port ^ 1`.
    pub fn neighbour(&self, node: usize, port: usize) -> Option<usize> {
        let next = self.places().neighbours[node * self.ports() + port];
        next.map(|next| next as usize)
    }

    /// [`Self::coord`] from a node's number.
    fn place(&self, node: usize) -> [u8; MAX_DIMS] {
        let mut coord = [0; MAX_DIMS];
        let mut rest = node;
        for (c, &size) in coord.iter_mut().zip(&self.sizes) {
            *c = (rest % usize::from(size)) as u8;
            rest /= usize::from(size);
        }
        coord
    }

    /// [`Self::neighbour`] from a node's number.
    fn link(&self, node: usize, port: usize) -> Option<u32> {
        let d = port / 2;
        let size = usize::from(self.sizes[d]);
        let stride: usize = self.sizes[..d]
            .iter()
            .map(|&size| usize::from(size))
            .product();
        let c = node / stride % size;
        let edge = if port % 2 == 1 { 0 } else { size - 1 };
        let next = match (c == edge, port % 2 == 1) {
            (true, _) if size == 1 || !self.rings[d] => return None,
            (true, minus) => usize::from(minus) * (size - 1),
            (false, true) => c - 1,
            (false, false) => c + 1,
        };
        Some((node - c * stride + next * stride) as u32) // fewer than 64^5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hw3_links_lead_there_and_back() {
        let torus = Torus::new(&[(3, true), (2, false), (1, true), (2, true)]);
        for node in 0..torus.nodes() {
            for port in 0..torus.ports() {
                let Some(next) = torus.neighbour(node, port) else {
                    let (d, c) = (port / 2, torus.coord(node)[port / 2]);
                    let edge = c == if port % 2 == 1 { 0 } else { torus.size(d) - 1 };
                    assert!(edge && (torus.size(d) == 1 || !torus.ring(d)));
                    continue;
                };
                assert_eq!(torus.neighbour(next, port ^ 1), Some(node));
                let (from, to) = (torus.coord(node), torus.coord(next));
                let other = (0..MAX_DIMS).filter(|&d| from[d] != to[d]);
                assert_eq!(other.collect::<Vec<_>>(), [port / 2]);
            }
        }
    }
}
