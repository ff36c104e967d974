//! What recorded inputs and outputs of nodes say, for measurements at a node's ports.

use crate::observe::{NodeInput, NodeOutput};
use crate::record::{InReader, Out, OutReader};

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
