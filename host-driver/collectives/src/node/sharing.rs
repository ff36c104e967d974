// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sharing of nodes by endpoints of a geometry.

/// Sharing of nodes by the endpoints of a geometry: the same at all members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sharing {
    /// Some node has several of them.
    pub some: bool,
    /// All live on one node.
    pub all: bool,
    /// Maximum tasks on a node.
    pub most: usize,
}
