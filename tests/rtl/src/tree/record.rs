// SPDX-License-Identifier: MIT OR Apache-2.0
//! Set-up of a tree, and records of its activity.

use gyre_layout::ErrorReason;

use crate::Failure;
use crate::collective::Discrepancy;
use crate::fabric::Word;
use crate::packet::FramingError;

/// How a tree is made.
#[derive(Clone, Debug)]
pub struct Config {
    /// Unit of `build/models.rs`.
    pub unit: &'static str,
    /// Bytes of a flit.
    pub flit_bytes: usize,
    /// Flits of each buffer.
    pub depth: usize,
    /// Number of nodes.
    pub nodes: usize,
    /// Cycles from output register to input register.
    pub latency: usize,
    /// Of everything random.
    pub seed: u64,
}

/// Word and barrier wires of a link in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wire {
    /// The link.
    pub word: Word,
    /// Bit r = barrier route r.
    pub bar: u16,
}

impl Wire {
    /// Gives the word the parity that a sender gives it.
    pub fn seal(&mut self) {
        self.word.seal(self.bar);
    }
}

/// The tree and its traffic are in trouble.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// An assertion of the RTL.
    #[error("node {0}: {1}")]
    Assertion(usize, Failure),
    /// A packet that should not have come.
    #[error("cycle {0}: {1}")]
    Book(u64, Discrepancy),
    /// Flits that make no packet: node, class.
    #[error("cycle {0}: node {1}, class {2}: {3}")]
    Framing(u64, usize, usize, FramingError),
    /// Packets that do not come.
    #[error("cycle {0}: missing packets and nodes {1:?}")]
    Stuck(u64, Vec<(u32, Vec<usize>)>),
    /// Nothing is under way, and a node does not say that it is idle, or the reverse.
    #[error("cycle {0}: node {1}: {2}")]
    Idle(u64, usize, &'static str),
    /// An error report that nothing explains.
    #[error("unexpected {0:?}")]
    Report(Report),
}

/// An error that a node reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// When.
    pub cycle: u64,
    /// Which node.
    pub node: usize,
    /// Why.
    pub reason: ErrorReason,
    /// Route, or port.
    pub place: u16,
    /// Further words.
    pub info: u64,
}

/// A barrier route that let a member go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// When the pulse was on the output.
    pub cycle: u64,
    /// Where.
    pub node: usize,
    /// Barrier route.
    pub route: usize,
}

/// Flits on one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkUse {
    /// How many.
    pub flits: u64,
    /// Cycle of the first.
    pub first: u64,
    /// Cycle of the last.
    pub last: u64,
}
