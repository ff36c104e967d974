// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of encoding and decoding.

use core::fmt;

/// A value that does not fit into its field, or bytes that are no valid header or descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// A value needs more bits than its field has.
    Range {
        /// Field name as in SystemVerilog.
        field: &'static str,
        /// The value.
        value: u64,
        /// Bits of the field.
        width: usize,
    },
    /// A field holds a code without a meaning.
    Code {
        /// Field name as in SystemVerilog.
        field: &'static str,
        /// The code.
        value: u8,
    },
    /// A reserved field is not zero.
    Reserved {
        /// Field name as in SystemVerilog.
        field: &'static str,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Range {
                field,
                value,
                width,
            } => write!(f, "{field}: {value:#x} needs more than {width} bits"),
            Self::Code { field, value } => write!(f, "{field}: no meaning for code {value:#x}"),
            Self::Reserved { field } => write!(f, "{field}: reserved, must be zero"),
        }
    }
}

impl core::error::Error for LayoutError {}
