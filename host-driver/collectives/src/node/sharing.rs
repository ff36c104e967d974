//! Whether endpoints of a geometry share nodes.

/// How the endpoints of a geometry share nodes: the same at all members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sharing {
    /// Some node has several of them.
    pub some: bool,
    /// All live on one node.
    pub all: bool,
    /// Most tasks that a node has.
    pub most: usize,
}
