// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operands of copies and combinations.

use std::sync::Arc;

use gyre_driver::{BufferRange, Platform};

use crate::error::Error;
use crate::node::memory::NodeMemory;
use crate::schedule::steps::Slice;

/// Bytes of a buffer or of the node's segment. The caller charges copies.
pub(super) enum Data<P: Platform> {
    Buffer(BufferRange<P::Buffer>),
    Memory(Arc<NodeMemory<P>>, Slice),
}

impl<P: Platform> Data<P> {
    /// Reads all bytes.
    pub fn read(&self) -> Result<Vec<u8>, Error> {
        match self {
            Self::Buffer(range) => {
                let mut bytes = vec![0; range.len()];
                range.read(0, &mut bytes)?;
                Ok(bytes)
            }
            Self::Memory(memory, slice) => {
                let mut bytes = vec![0; slice.len];
                memory.read(slice.offset, &mut bytes)?;
                Ok(bytes)
            }
        }
    }

    /// Writes all bytes.
    pub fn write(&self, data: &[u8]) -> Result<(), Error> {
        match self {
            Self::Buffer(range) => Ok(range.write(0, data)?),
            Self::Memory(memory, slice) => memory.write(slice.offset, data),
        }
    }
}
