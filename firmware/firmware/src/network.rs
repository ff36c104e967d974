// SPDX-License-Identifier: MIT OR Apache-2.0
//! Place of a node in the machine, and its links.

use gyre_layout::registers::node;
use gyre_layout::{Coord, Field, LinkState, MAX_DIM};

use crate::access::{Register, RegisterAccess};
use crate::error::NodeError;
use crate::node::Node;
use crate::tree::tree_links;

/// Shape of the machine and the place of a node in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkConfig {
    /// Coordinates of the node.
    pub coord: Coord,
    /// Nodes in each dimension, 1 to 64; absent dimensions are 1.
    pub size: [u8; MAX_DIM],
    /// Whether the dimension has its wrap link.
    pub ring: [bool; MAX_DIM],
    /// Dimensions in the order in which fixed routes take them: each once, the same on every node (HW-3).
    pub dimension_order: [u8; MAX_DIM],
}

const COORD: Register = Register::node("COORD", node::COORD);
const SIZE: Register = Register::node("SIZE", node::SIZE);
const RING: Register = Register::node("RING", node::RING);
const DIM_ORDER: Register = Register::node("DIM_ORDER", node::DIM_ORDER);
const LINK_ENABLE: Register = Register::node("LINK_ENABLE", node::LINK_ENABLE);
const LINK_STATUS: Register = Register::node("LINK_STATUS", node::LINK_STATUS);

/// Largest dimension.
const MAX_SIZE: u8 = 64;

impl NetworkConfig {
    /// Links that the node has: bit 2d is + of dimension d, bit 2d + 1 is -. A dimension of one node has
    /// none; the ends of a line lack the outer one.
    #[must_use]
    pub fn links(&self) -> u16 {
        let mut links = 0;
        for dimension in 0..MAX_DIM {
            let (size, at) = (self.size[dimension], self.coord.0[dimension]);
            if size <= 1 {
                continue;
            }
            if self.ring[dimension] || at + 1 < size {
                links |= 1 << (2 * dimension);
            }
            if self.ring[dimension] || at > 0 {
                links |= 2 << (2 * dimension);
            }
        }
        links
    }

    /// Nodes of the machine.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.size.iter().map(|&size| u32::from(size)).product()
    }

    /// Number of the node: dimension 0 runs fastest.
    #[must_use]
    pub fn number(&self) -> u32 {
        (0..MAX_DIM).rev().fold(0, |number, dimension| {
            number * u32::from(self.size[dimension]) + u32::from(self.coord.0[dimension])
        })
    }

    /// Tree links of the collective network that the node has: bit 0 to the parent, bits 1 and 2 to the children
    /// (HW-5).
    #[must_use]
    pub fn tree_links(&self) -> u8 {
        tree_links(self.nodes(), self.number())
    }

    /// The registers that hold coordinates, shape, rings and dimension order, with their values.
    #[must_use]
    pub fn registers(&self) -> [(Register, u64); 4] {
        use node::dim_order::{D0, D1, D2, D3, D4};
        use node::{coord, size};
        let pack = |fields: [Field; MAX_DIM], values: [u8; MAX_DIM]| {
            let parts = fields.iter().zip(values);
            parts.fold(0, |word, (field, value)| word | field.put(value.into()))
        };
        let coords = [coord::C0, coord::C1, coord::C2, coord::C3, coord::C4];
        let sizes = [size::S0, size::S1, size::S2, size::S3, size::S4];
        let places = [D0, D1, D2, D3, D4];
        let rings = self
            .ring
            .iter()
            .rev()
            .fold(0, |word, &ring| word << 1 | u64::from(ring));
        [
            (COORD, pack(coords, self.coord.0)),
            (SIZE, pack(sizes, self.size)),
            (RING, rings),
            (DIM_ORDER, pack(places, self.dimension_order)),
        ]
    }

    fn check<E: core::fmt::Debug + core::fmt::Display>(
        &self,
        dimensions: u8,
    ) -> Result<(), NodeError<E>> {
        for dimension in 0..MAX_DIM {
            let (size, at) = (self.size[dimension], self.coord.0[dimension]);
            let refuse = |what, value: u8, expected| {
                let index = Some(dimension as u16);
                Err(NodeError::config(what, index, value.into(), expected))
            };
            if size == 0 || size > MAX_SIZE {
                return refuse("size of dimension", size, "1 to 64 nodes");
            }
            if dimension >= usize::from(dimensions) && size != 1 {
                return refuse(
                    "size of dimension",
                    size,
                    "1: the node has no links in this dimension",
                );
            }
            if at >= size {
                return refuse(
                    "coordinate in dimension",
                    at,
                    "less than the size of the dimension",
                );
            }
            let place = self.dimension_order[dimension];
            if usize::from(place) >= MAX_DIM || self.dimension_order[..dimension].contains(&place) {
                return refuse("dimension order at place", place, "each of 0 to 4 once");
            }
        }
        Ok(())
    }
}

impl<A: RegisterAccess> Node<A> {
    /// Writes coordinates, shape, rings and dimension order; the links stay as they are.
    ///
    /// # Errors
    /// [`NodeError::Config`] for a shape the node cannot be part of, [`NodeError::Mismatch`] when a
    /// register does not keep its value, [`NodeError::Access`].
    pub fn configure_network(&mut self, config: &NetworkConfig) -> Result<(), NodeError<A::Error>> {
        config.check(self.parameters().dimensions)?;
        for (register, value) in config.registers() {
            self.write_checked(register, value, u64::MAX)?;
        }
        Ok(())
    }

    /// Enables exactly the links that `config` gives the node. They come up when the neighbours have
    /// enabled theirs.
    ///
    /// # Errors
    /// [`NodeError::Mismatch`], [`NodeError::Access`].
    pub fn enable_links(&mut self, config: &NetworkConfig) -> Result<(), NodeError<A::Error>> {
        self.write_checked(LINK_ENABLE, u64::from(config.links()), u64::MAX)
    }

    /// Waits until every link of `config` is up, with at most `polls` reads of LINK_STATUS.
    ///
    /// # Errors
    /// [`NodeError::LinkDown`] with the first port that is not up, [`NodeError::Access`].
    pub fn await_links(
        &mut self,
        config: &NetworkConfig,
        polls: u32,
    ) -> Result<(), NodeError<A::Error>> {
        let mut status = 0;
        for _ in 0..polls {
            status = self.read(LINK_STATUS)?;
            if first_not_up(config, status).is_none() {
                return Ok(());
            }
        }
        match first_not_up(config, status) {
            None => Ok(()),
            Some((port, state)) => Err(NodeError::LinkDown {
                port,
                dimension: port / 2,
                sign: if port.is_multiple_of(2) { '+' } else { '-' },
                state,
                polls,
            }),
        }
    }

    /// State of the link unit of `port`.
    ///
    /// # Errors
    /// [`NodeError::Access`].
    pub fn link_state(&mut self, port: u8) -> Result<LinkState, NodeError<A::Error>> {
        let status = self.read(LINK_STATUS)?;
        Ok(LinkState::of_port(status, u32::from(port)))
    }
}

fn first_not_up(config: &NetworkConfig, status: u64) -> Option<(u8, LinkState)> {
    (0..2 * MAX_DIM as u8)
        .filter(|port| config.links() & 1 << port != 0)
        .map(|port| (port, LinkState::of_port(status, u32::from(port))))
        .find(|(_, state)| *state != LinkState::Up)
}
