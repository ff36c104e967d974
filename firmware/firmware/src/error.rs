// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of node set-up.

use core::fmt;

use gyre_layout::LinkState;

use crate::access::Register;

/// A failed step, with the register, the value found and the value expected. `E` is the bus's error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError<E: fmt::Debug + fmt::Display> {
    /// The bus refused an access.
    #[error("{register}: {cause}")]
    Access {
        /// The register.
        register: Register,
        /// The bus's answer.
        cause: E,
    },
    /// A register does not hold the required value.
    #[error("{register}: read {value:#x}, expected {expected:#x} in the bits {mask:#x}")]
    Mismatch {
        /// The register.
        register: Register,
        /// Value read.
        value: u64,
        /// Value expected.
        expected: u64,
        /// Bits compared.
        mask: u64,
    },
    /// A field of a register has a value that this firmware cannot use.
    #[error("{register}: {field} is {value}, expected {expected}")]
    Field {
        /// The register.
        register: Register,
        /// Field of the register.
        field: &'static str,
        /// Value read.
        value: u64,
        /// Accepted values.
        expected: &'static str,
    },
    /// A status did not come within the poll limit.
    #[error(
        "{register}: read {value:#x} after {polls} polls, expected {expected:#x} in the bits {mask:#x}"
    )]
    NotInTime {
        /// The register.
        register: Register,
        /// Last value read.
        value: u64,
        /// Value expected.
        expected: u64,
        /// Bits compared.
        mask: u64,
        /// Reads made.
        polls: u32,
    },
    /// A link did not come up within the poll limit.
    #[error(
        "link {port} ({sign} of dimension {dimension}) is in state {state:?} after {polls} polls, expected Up"
    )]
    LinkDown {
        /// Port: 2 * dimension, + 1 for the negative direction.
        port: u8,
        /// Dimension of the port.
        dimension: u8,
        /// `+` or `-`.
        sign: char,
        /// State of its link unit.
        state: LinkState,
        /// Reads made.
        polls: u32,
    },
    /// A link of the collective network's tree did not come up within the poll limit.
    #[error("tree link {port} to the {end} is in state {state:?} after {polls} polls, expected Up")]
    TreeLinkDown {
        /// Tree port: 0 parent, 1 and 2 children.
        port: u8,
        /// End that it leads to.
        end: &'static str,
        /// State of its link unit.
        state: LinkState,
        /// Reads made.
        polls: u32,
    },
    /// A configuration value that the node cannot take.
    #[error("{what}{}: {value:#x}, expected {expected}", IndexText(*.index))]
    Config {
        /// Part that was configured.
        what: &'static str,
        /// Number of the FIFO, slot or dimension.
        index: Option<u16>,
        /// The value.
        value: u64,
        /// Accepted values.
        expected: &'static str,
    },
    /// A FIFO or slot that is in use.
    #[error("{register}: enabled already (read {value:#x})")]
    InUse {
        /// Its control register.
        register: Register,
        /// Value read.
        value: u64,
    },
}

impl<E: fmt::Debug + fmt::Display> NodeError<E> {
    /// [`NodeError::Config`].
    pub(crate) const fn config(
        what: &'static str,
        index: Option<u16>,
        value: u64,
        expected: &'static str,
    ) -> Self {
        Self::Config {
            what,
            index,
            value,
            expected,
        }
    }
}

struct IndexText(Option<u16>);

impl fmt::Display for IndexText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(index) => write!(f, " {index}"),
            None => Ok(()),
        }
    }
}
