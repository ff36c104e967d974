// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entries of the lists that a machine keeps for observers: link transfers, inputs and outputs of nodes.

use crate::record::{InReader, Out, OutReader};

/// A flit or a change of the control word on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkTransfer {
    /// Cycle of the sender's output register.
    pub cycle: u64,
    /// Sending node.
    pub node: usize,
    /// Sending port: torus, tree (parent, child 0, child 1), barrier wires of these three.
    pub port: usize,
    /// Control word, `link_word_t` of the RTL package. Of barrier wires its `valid` alone: with any pulse.
    pub word: u32,
    /// Debug side-band: message id.
    pub dbg: u32,
    /// Data, zero without a flit. Of barrier wires one bit a barrier route.
    pub data: [u64; 2],
}

/// Inputs of a node's memory and register ports before a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeInput {
    /// Cycle.
    pub cycle: u64,
    /// Node.
    pub node: usize,
    /// Records as in `cpp/records.h`, without link records.
    pub words: Vec<u64>,
}

/// Outputs of a node in a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOutput {
    /// First cycle of the window.
    pub cycle: u64,
    /// Node.
    pub node: usize,
    /// Records as in `cpp/records.h`.
    pub words: Vec<u64>,
}

/// A register write at a node's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterWrite {
    /// Cycle in which it is at the port.
    pub cycle: u64,
    /// Byte address.
    pub addr: u64,
    /// Value.
    pub data: u64,
}

impl NodeInput {
    /// The register writes of the host among the inputs, in their order.
    pub fn register_writes(&self) -> impl Iterator<Item = RegisterWrite> {
        InReader::new(&self.words)
            .filter(|request| request.write)
            .map(|request| RegisterWrite {
                cycle: request.cycle,
                addr: request.addr,
                data: request.data,
            })
    }
}

impl NodeOutput {
    /// The levels of wake-up (bit 0 on) and interrupt outputs (bit 16 on), with the cycles in which they
    /// change.
    pub fn levels(&self) -> impl Iterator<Item = (u64, u32)> {
        OutReader::new(&self.words, self.cycle).filter_map(|record| match record {
            Out::Levels { cycle, levels } => Some((cycle, levels)),
            _ => None,
        })
    }
}

/// An answer to an access of [`crate::Machine::access_register`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterAnswer {
    /// Node.
    pub node: usize,
    /// Register port: 0 the host's, 1 the debugger's. Accesses of a port are answered in order.
    pub port: u8,
    /// Cycle of the answer at the port.
    pub cycle: u64,
    /// The answer was a slave error.
    pub refused: bool,
    /// Data of a read.
    pub data: u64,
}

/// A beat that the hardware has written, 64 B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryWrite {
    /// Cycle in which the burst was complete.
    pub cycle: u64,
    /// Node.
    pub node: usize,
    /// Byte address of the 64 B line.
    pub line: u64,
    /// Data.
    pub data: [u64; 8],
    /// Bit `i`: byte `i` is written.
    pub strobe: u64,
}
